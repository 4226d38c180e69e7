/* Shared by the files of gpu_probe: the GPU by its driver alone, failures that end the program, statistics. */
#ifndef PLIM_TOOLS_GPU_PROBE_H
#define PLIM_TOOLS_GPU_PROBE_H

#include <jansson.h>

#include "kernels/cuda/driver.h"
#include "runtime/base/context.h"

enum { PROBE_SMALL = 1 << 16 /* elements: a kernel of about 2 us */ };
static const double us = 1e3, ms = 1e6; /* of nanoseconds */

/* What the command line says, and the driver. */
typedef struct probe_options {
  int32_t index, batch, side, seconds;
  const plim_cuda_driver *driver;
} probe_options;
extern probe_options probe;

/* A failure is a sentence on standard error, and the end. */
void gpu(int code, const char *what);
void well(const plim_context *ctx, plim_status status);
void *room(size_t count, size_t bytes); /* zeroed */
void new_timing_events(void **timing_event, int n);
void free_timing_events(void **timing_event, int n);

typedef struct summary {
  double mean, sigma, median, most;
} summary;
summary summarize(double *value, int n); /* sorts them */

/* One JSON object each. */
json_t *probe_timer(void);
json_t *probe_memory(void);
json_t *probe_sums(void);
json_t *probe_lost(void);
json_t *probe_replay(void);
json_t *probe_plans(void);
json_t *probe_bodies(void);
json_t *probe_families(void);
json_t *probe_large(void);
json_t *probe_devices(void);

#endif
