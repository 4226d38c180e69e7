/* The kernels of a program. Each distinct pair of op description and variant is prepared once on the device. Functions
 * run on the thread of the executor. */
#ifndef PLIM_RUNTIME_EXEC_PREPARE_H
#define PLIM_RUNTIME_EXEC_PREPARE_H

#include "runtime/base/hash_table.h"
#include "runtime/device/device.h"

typedef struct plim_prepared_row {
  uint64_t hash;
  const plim_graph *graph; /* of an op with the description */
  int32_t op;
  char variant[PLIM_VARIANT_NAME_BYTES];
  char numerics_key[PLIM_VARIANT_NAME_BYTES]; /* the bits that it gives here; "": the device does not say */
  void *kernel;
  int32_t kept;      /* 1: plim_prepared_keep has marked it since plim_prepared_sweep_begin */
  int32_t rehearsed; /* 1: the device has run it in every way that a step does */
} plim_prepared_row;

typedef struct plim_prepared {
  plim_context *ctx;
  plim_device *device;
  plim_prepared_row *row; /* [n] of n_rows allocated */
  int64_t n_rows;
  int32_t n;
  plim_hash_table number; /* of a row, by description and variant */
} plim_prepared;

/* Begin an empty set, which grows as needed. Free it with plim_prepared_free. */
void plim_prepared_begin(plim_context *ctx, plim_device *device, plim_prepared *out);
/* Has the set begun, and not been freed? */
static inline int plim_prepared_has_begun(const plim_prepared *prepared) {
  return prepared->ctx != NULL;
}
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
