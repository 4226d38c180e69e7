/* Kernels of a program: each distinct (op description, variant) prepared once on the device. */
#ifndef PLIM_RUNTIME_EXEC_PREPARE_H
#define PLIM_RUNTIME_EXEC_PREPARE_H

#include "runtime/device/device.h"

typedef struct plim_prepared_row {
  uint64_t hash;
  const plim_graph *graph; /* where the description is */
  int32_t op;
  char variant[PLIM_VARIANT_NAME_BYTES];
  char label[PLIM_VARIANT_NAME_BYTES]; /* the bits that it gives here; "": the device does not say */
  void *kernel;                        /* NULL: an empty row */
  int32_t kept;                        /* 1: a plan marked it since plim_prepared_sweep_begin */
  int32_t rehearsed;                   /* 1: the device has run it in every way that a step does */
} plim_prepared_row;

typedef struct plim_prepared {
  plim_context *ctx;
  plim_device *device;
  int64_t n_rows, n_used;
  plim_prepared_row *row; /* [n_rows] open addressing, n_rows a power of two */
} plim_prepared;

/* An empty set with room for `capacity` kernels, and for more when they come. */
PLIM_MUST_USE plim_status plim_prepared_new(plim_context *ctx, plim_device *device, int64_t capacity,
                                            plim_prepared *out);
void plim_prepared_free(plim_prepared *prepared); /* a zeroed one is legal */

/* The kernel of a variant of a plan, prepared when there is none of its kind yet; *label is the numerics key that the
 * device gives it (in parts: its whole), "" when the device does not list it, borrowed until the next call. The graph
 * must outlive the set. */
PLIM_MUST_USE plim_status plim_prepared_get(plim_prepared *prepared, const plim_graph *graph,
                                            const plim_plan_variant *variant, void **kernel, const char **label);

/* 1 when the variant's kernel, which must be prepared, was rehearsed before this call. The call marks it as rehearsed.
 * */
int plim_prepared_rehearsed(plim_prepared *prepared, const plim_graph *graph, const plim_plan_variant *variant);

/* Free the kernels that no plan needs any more: between begin and end every plan that does is kept. Allocates
 * nothing. */
void plim_prepared_sweep_begin(plim_prepared *prepared);
void plim_prepared_keep(plim_prepared *prepared, const plim_graph *graph, const plim_plan *plan);
void plim_prepared_sweep_end(plim_prepared *prepared);

#endif
