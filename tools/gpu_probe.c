/* Measures what the commands of plimsoll do not show, for tools/gpu_check. One JSON object on standard output. */
#include "tools/gpu_probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

probe_options probe = {0, 128, 32, 10, NULL};

void gpu(int code, const char *what) {
  if (code == 0) return;
  (void)fprintf(stderr, "gpu_probe: %s: %s (CUDA error %d)\n", what, probe.driver->error(code), code);
  exit(plim_status_exit(PLIM_EDEVICE));
}

void well(const plim_context *ctx, plim_status status) {
  if (status == PLIM_OK) return;
  (void)fprintf(stderr, "gpu_probe: %s\n", plim_context_error(ctx));
  exit(plim_status_exit(status));
}

void *room(size_t count, size_t bytes) {
  void *made = calloc(count, bytes);
  if (made) return made;
  (void)fprintf(stderr, "gpu_probe: no memory for %zu x %zu bytes\n", count, bytes);
  exit(plim_status_exit(PLIM_ENOMEM));
}

void new_timing_events(void **timing_event, int n) {
  for (int i = 0; i < n; i++) gpu(probe.driver->timing_event_new(&timing_event[i]), "timing event");
}

void free_timing_events(void **timing_event, int n) {
  for (int i = 0; i < n; i++) gpu(probe.driver->timing_event_free(timing_event[i]), "timing event");
}

/* ---- mean, deviation, median ---- */

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts them. */
summary summarize(double *value, int n) {
  summary s = {0, 0, 0, 0};
  if (n == 0) return s;
  qsort(value, (size_t)n, sizeof *value, by_value);
  for (int i = 0; i < n; i++) s.mean += value[i] / n;
  for (int i = 0; i < n; i++) s.sigma += (value[i] - s.mean) * (value[i] - s.mean) / n;
  s.sigma = sqrt(s.sigma);
  s.median = value[n / 2];
  s.most = value[n - 1];
  return s;
}

/* ---- the command line ---- */

static const struct {
  const char *name;
  json_t *(*run)(void);
} probes[] = {
    {"timer", probe_timer},     {"memory", probe_memory},     {"sums", probe_sums},     {"lost", probe_lost},
    {"replay", probe_replay},   {"plans", probe_plans},       {"bodies", probe_bodies}, {"large", probe_large},
    {"devices", probe_devices}, {"families", probe_families},
};

static int usage(FILE *to) {
  (void)fprintf(to, "usage: gpu_probe NAME [--device cuda:N] [--batch N] [--side N] [--seconds N]; NAME:");
  for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) (void)fprintf(to, " %s", probes[i].name);
  (void)fputc('\n', to);
  return to == stdout ? 0 : plim_status_exit(PLIM_EUSAGE);
}

static int32_t number(const char *text) {
  char *end;
  const long value = strtol(text, &end, 10);
  return *end == 0 && value >= 0 && value <= 4096 ? (int32_t)value : -1;
}

/* 0: an option that is none. */
static int read_option(const char *name, const char *value) {
  if (strcmp(name, "--device") == 0 && strncmp(value, "cuda:", 5) == 0) return (probe.index = number(value + 5)) >= 0;
  if (strcmp(name, "--batch") == 0) return (probe.batch = number(value)) > 0;
  if (strcmp(name, "--side") == 0) return (probe.side = number(value)) > 0;
  if (strcmp(name, "--seconds") == 0) return (probe.seconds = number(value)) > 0;
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout);
  if (argc < 2 || argc % 2 != 0) return usage(stderr);
  for (int i = 2; i < argc; i += 2) {
    if (!read_option(argv[i], argv[i + 1])) return usage(stderr);
  }
  probe.driver = plim_cuda_driver_real();
  if (!probe.driver) {
    (void)fprintf(stderr, "gpu_probe: this build has no CUDA\n");
    return plim_status_exit(PLIM_EDEVICE);
  }
  for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
    if (strcmp(argv[1], probes[i].name) != 0) continue;
    json_t *result = probes[i].run();
    (void)json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    (void)putchar('\n');
    json_decref(result);
    return 0;
  }
  return usage(stderr);
}
