/* The kernels of a program. Each distinct pair of op description and variant is prepared once on the device. */
#ifndef PLIM_RUNTIME_EXEC_PREPARE_H
#define PLIM_RUNTIME_EXEC_PREPARE_H

#include "runtime/device/device.h"

typedef struct plim_prepared_row {
  uint64_t hash;
  const plim_graph *graph; /* of an op with the description */
  int32_t op;
  char variant[PLIM_VARIANT_NAME_BYTES];
  char numerics_key[PLIM_VARIANT_NAME_BYTES]; /* the bits that it gives here; "": the device does not say */
  void *kernel;                               /* NULL: an empty row */
  int32_t kept;                               /* 1: plim_prepared_keep has marked it since plim_prepared_sweep_begin */
  int32_t rehearsed;                          /* 1: the device has run it in every way that a step does */
} plim_prepared_row;

typedef struct plim_prepared {
  plim_context *ctx;
  plim_device *device;
  int64_t n_rows, n_used;
  plim_prepared_row *row; /* [n_rows] open addressing, n_rows a power of two */
} plim_prepared;

/* Make an empty set with room for `capacity` kernels; it grows as needed. Free it with plim_prepared_free.
 * PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_prepared_new(plim_context *ctx, plim_device *device, int64_t capacity,
                                            plim_prepared *out);
void plim_prepared_free(plim_prepared *prepared); /* a zeroed one is legal */

/* Get the kernel of a variant of a plan. Prepares it when the set has none for this op description and variant.
 *   numerics_key  out  that the device gives the variant, or, for a variant in parts, its whole variant; "" when the
 *                      device does not list it; borrowed until the next call
 * The graph must outlive the set. Otherwise the status of the device. */
PLIM_MUST_USE plim_status plim_prepared_get(plim_prepared *prepared, const plim_graph *graph,
                                            const plim_plan_variant *variant, void **kernel, const char **numerics_key);

/* Mark the variant's kernel, which must be prepared, as rehearsed. Returns 1 when it was marked before this call. */
int plim_prepared_mark_rehearsed(plim_prepared *prepared, const plim_graph *graph, const plim_plan_variant *variant);

/* Free the kernels that no plan needs any more. Call begin, then keep for each plan whose kernels must stay, then end.
 * Allocates nothing. */
void plim_prepared_sweep_begin(plim_prepared *prepared);
void plim_prepared_keep(plim_prepared *prepared, const plim_graph *graph, const plim_plan *plan);
void plim_prepared_sweep_end(plim_prepared *prepared);

#endif
