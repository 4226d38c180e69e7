/* runtime/device/cuda_environment: variables that change what the libraries of a GPU compute. */
#include "runtime/device/cuda_environment.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu_rig.h"

static uint32_t hash_of(const char *a, const char *b) {
  char first[64], second[64], *environment[] = {first, second, NULL};
  (void)snprintf(first, sizeof first, "%s", a);
  (void)snprintf(second, sizeof second, "%s", b);
  return plim_cuda_environment_hash(environment);
}

Test(cuda_environment, variables_that_change_bits_are_hashed_in_any_order_and_those_of_logs_are_not) {
  static const char *const kept[] = {"NVIDIA_TF32_OVERRIDE=0", "CUBLAS_WORKSPACE_CONFIG=:4096:8",
                                     "CUBLASLT_HEURISTICS_LUT_FILE=a_LOG", "CUDNN_FORCE_KERNEL_INIT=1"};
  static const char *const ignored[] = {"PATH=/bin", "CUBLAS_LOGINFO_DBG=1", "CUDNN_LOGLEVEL_DBG=3",
                                        "CUBLASLT_LOG_LEVEL=2", "MY_CUDNN_X=1"};
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) cr_assert_eq(hash_of("A=1", ignored[i]), 0);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
    const uint32_t hash = hash_of("A=1", kept[i]);
    cr_assert_neq(hash, 0, "%s", kept[i]);
    cr_assert_eq(hash_of(kept[i], ignored[1]), hash);
    for (size_t k = 0; k < i; k++) {
      cr_assert_neq(hash_of("A=1", kept[k]), hash);
      cr_assert_eq(hash_of(kept[i], kept[k]), hash_of(kept[k], kept[i]));
      cr_assert_neq(hash_of(kept[i], kept[k]), hash);
    }
  }
  cr_assert_neq(hash_of("A=1", "NVIDIA_TF32_OVERRIDE=1"), hash_of("A=1", kept[0]));
}

/* What the machine's document says of its libraries under that value. */
static void libraries_of(const char *tf32, char *text, size_t bytes) {
  const fake_cuda_options options = fake_cuda_options_default();
  gpu_rig r;
  cr_assert_eq(tf32 ? setenv("NVIDIA_TF32_OVERRIDE", tf32, 1) : unsetenv("NVIDIA_TF32_OVERRIDE"), 0);
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  const plim_machine *machine = &r.device->machine;
  (void)snprintf(text, bytes, "%s", machine->library);
  gpu_rig_close(&r);
}

Test(cuda_environment, two_environments_are_two_machines_for_profiles_plans_and_checkpoints) {
  enum { BYTES = sizeof(((plim_machine *)0)->library) };
  char without[BYTES], off[BYTES], on[BYTES];
  libraries_of(NULL, without, BYTES);
  libraries_of("0", off, BYTES);
  libraries_of("1", on, BYTES);
  cr_assert_str_neq(without, off);
  cr_assert_str_neq(on, off);
  cr_assert_not_null(strstr(on, ", environment "), "%s", on);
}
