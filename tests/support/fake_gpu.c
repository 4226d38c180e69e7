/* A fake GPU for whole programs: where the environment has PLIM_TEST_GPU, "cuda:0" is the fake of
 * tests/support/fake_cuda.h with the options named there, as in PLIM_TEST_GPU=memory_bytes=8388608,blas=1; empty: its
 * defaults. Without it "cuda:0" is what the machine has. Linked into programs by the linker's --wrap, so that they are
 * the product's own code down to the driver's table.
 * A name that is no option ends the program: a test means it. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_cuda.h"
#include "tests/support/fake_cudnn.h"

/* Row of a table: where an option is, and whether it has 64 bits. */
typedef struct fake_gpu_option {
  const char *name;
  size_t at;
  int wide;
} fake_gpu_option;

#define NARROW(member) \
  { #member, offsetof(fake_cuda_options, member), 0 }
#define WIDE(member) \
  { #member, offsetof(fake_cuda_options, member), 1 }
static const fake_gpu_option table[] = {
    NARROW(devices),
    NARROW(no_driver),
    NARROW(major),
    NARROW(minor),
    WIDE(memory_bytes),
    WIDE(context_bytes),
    WIDE(module_bytes),
    WIDE(graph_bytes),
    NARROW(blas),
    WIDE(blas_bytes),
    NARROW(report_calls),
    WIDE(alignment),
    WIDE(timing_event_ns),
    WIDE(jitter_ns),
    WIDE(timing_event_step_ns),
    NARROW(no_bf16),
    NARROW(dnn),
    WIDE(leak_bytes),
    WIDE(fail_at),
    WIDE(fail_alloc_at),
    WIDE(refuse_plan),
    WIDE(refuse_run),
    WIDE(refuse_capture),
    WIDE(wrong_engine),
    WIDE(illegal_engine),
    NARROW(refuse_kernel),
    NARROW(refuse_blas),
    NARROW(no_config_workspace),
    NARROW(fail_stays),
    WIDE(plan_us),
    WIDE(energy_mj),
    NARROW(hollow),
};
enum { OPTIONS = sizeof table / sizeof *table };

static void set(fake_cuda_options *options, const char *name, size_t length, long long value) {
  for (int i = 0; i < OPTIONS; i++) {
    if (strlen(table[i].name) != length || strncmp(table[i].name, name, length) != 0) continue;
    void *to = (char *)options + table[i].at;
    if (table[i].wide) {
      *(int64_t *)to = value;
    } else {
      *(int32_t *)to = (int32_t)value;
    }
    return;
  }
  (void)fprintf(stderr, "PLIM_TEST_GPU: no option is called %.*s\n", (int)length, name);
  exit(99);
}

static fake_cuda_options parse(const char *text) {
  fake_cuda_options options = fake_cuda_options_default();
  while (*text) {
    const char *equals = strchr(text, '=');
    char *end = NULL;
    if (equals) set(&options, text, (size_t)(equals - text), strtoll(equals + 1, &end, 10));
    if (!end || (*end && *end != ',')) {
      (void)fprintf(stderr, "PLIM_TEST_GPU: %s is not NAME=NUMBER\n", text);
      exit(99);
    }
    text = end + (*end == ',');
  }
  return options;
}

static void report_calls(void) {
  const fake_cudnn_counts plans = fake_cudnn_count();
  (void)fprintf(stderr, "calls %lld\n", (long long)fake_cuda_count().calls);
  (void)fprintf(stderr, "plans %lld, never run %lld, made while an equal one was open %lld\n", (long long)plans.plans,
                (long long)plans.plans_idle, (long long)plans.plans_again);
}

/* The linker's names for what the program calls, and for what it would have called. */
const plim_cuda_driver *__real_plim_cuda_driver_real(void);
const plim_cuda_driver *__wrap_plim_cuda_driver_real(void);

const plim_cuda_driver *__wrap_plim_cuda_driver_real(void) {
  static const plim_cuda_driver *made;
  const char *text = getenv("PLIM_TEST_GPU");
  if (!text) return __real_plim_cuda_driver_real();
  if (!made) {
    const fake_cuda_options options = parse(text);
    made = fake_cuda_driver(&options);
    if (options.report_calls) (void)atexit(report_calls);
  }
  return made;
}
