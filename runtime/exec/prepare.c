/* Kernels by op description and variant name: rows, and a hash table of their numbers. A row points back to an op with
 * the description instead of copying it. */
#include "runtime/exec/prepare.h"

#include <assert.h>
#include <string.h>

#include "kernels/parts.h"
#include "kernels/table.h"
#include "runtime/base/array.h"
#include "runtime/device/desc.h"

_Static_assert((int)PLIM_KERNEL_NAME_BYTES == (int)PLIM_VARIANT_NAME_BYTES, "names and keys are copied whole");

void plim_prepared_begin(plim_context *ctx, plim_device *device, plim_prepared *out) {
  *out = (plim_prepared){.ctx = ctx, .device = device, .number = {.ctx = ctx}};
}

void plim_prepared_free(plim_prepared *prepared) {
  if (!prepared->ctx) return;
  for (int32_t i = 0; i < prepared->n; i++) {
    prepared->device->api->kernels.unprepare(prepared->device, prepared->row[i].kernel);
  }
  plim_release(prepared->ctx, prepared->row, prepared->n_rows, sizeof *prepared->row);
  plim_hash_release(&prepared->number);
  *prepared = (plim_prepared){.ctx = NULL};
}

/* What a kernel is found by. */
typedef struct key {
  const plim_op_desc *desc;
  const char *variant;
} key;

static int is_row_of(const void *prepared, int32_t number, const void *wanted) {
  const plim_prepared_row *row = &((const plim_prepared *)prepared)->row[number];
  const key *k = wanted;
  plim_op_desc desc;
  if (strcmp(row->variant, k->variant) != 0) return 0;
  plim_desc_of(row->graph, row->op, &desc);
  return plim_desc_equal(k->desc, &desc);
}

/* The row of a variant of a plan; NULL: it has none. Sets *desc and its hash. */
static plim_prepared_row *find(const plim_prepared *prepared, const plim_graph *graph, const plim_plan_variant *variant,
                               plim_op_desc *desc, uint64_t *hash) {
  const key wanted = {desc, variant->variant.name};
  plim_desc_of(graph, variant->op, desc);
  *hash = plim_desc_hash(desc);
  const int32_t number = plim_hash_find(&prepared->number, *hash, is_row_of, prepared, &wanted);
  return number < 0 ? NULL : &prepared->row[number];
}

/* Find the numerics key that the device gives the variant. For a variant in parts it is the key of its whole
 * variant, whose bits the parts may have. */
static void find_key(plim_device *device, const plim_op_desc *desc, const char *variant, char *numerics_key) {
  plim_kernel_info info[PLIM_KERNEL_VARIANTS];
  char whole[PLIM_VARIANT_NAME_BYTES];
  int n = device->api->kernels.variants(device, desc, info, PLIM_KERNEL_VARIANTS);
  if (plim_parts_whole(variant, whole)) variant = whole;
  for (int i = 0; i < n && i < PLIM_KERNEL_VARIANTS; i++) {
    if (strcmp(info[i].name, variant) == 0) memcpy(numerics_key, info[i].numerics_key, sizeof info[i].numerics_key);
  }
}

static plim_status add_row(plim_prepared *prepared, const plim_graph *graph, const plim_plan_variant *variant,
                           const plim_op_desc *desc, uint64_t hash) {
  plim_device *device = prepared->device;
  plim_prepared_row made = {.hash = hash, .graph = graph, .op = variant->op};
  PLIM_TRY(plim_hash_reserve(&prepared->number));
  PLIM_TRY(plim_array_reserve(prepared->ctx, &prepared->row, &prepared->n_rows, (int64_t)prepared->n + 1,
                              sizeof *prepared->row));
  PLIM_TRY(device->api->kernels.prepare(device, desc, variant->variant.name, &made.kernel));
  memcpy(made.variant, variant->variant.name, sizeof made.variant);
  find_key(device, desc, made.variant, made.numerics_key);
  plim_hash_add(&prepared->number, hash, prepared->n);
  prepared->row[prepared->n++] = made;
  return PLIM_OK;
}

plim_status plim_prepared_get(plim_prepared *prepared, const plim_graph *graph, const plim_plan_variant *variant,
                              void **kernel, const char **numerics_key) {
  plim_op_desc desc;
  uint64_t hash;
  const plim_prepared_row *row = find(prepared, graph, variant, &desc, &hash);
  if (!row) {
    PLIM_TRY(add_row(prepared, graph, variant, &desc, hash));
    row = &prepared->row[prepared->n - 1];
  }
  *kernel = row->kernel;
  *numerics_key = row->numerics_key;
  return PLIM_OK;
}

int plim_prepared_mark_rehearsed(plim_prepared *prepared, const plim_graph *graph, const plim_plan_variant *variant) {
  plim_op_desc desc;
  uint64_t hash;
  plim_prepared_row *row = find(prepared, graph, variant, &desc, &hash);
  assert(row);
  const int before = row->rehearsed;
  row->rehearsed = 1;
  return before;
}

void plim_prepared_sweep_begin(plim_prepared *prepared) {
  for (int32_t i = 0; i < prepared->n; i++) prepared->row[i].kept = 0;
}

void plim_prepared_keep(plim_prepared *prepared, const plim_graph *graph, const plim_plan *plan) {
  for (int32_t i = 0; i < plan->n_variants; i++) {
    plim_op_desc desc;
    uint64_t hash;
    plim_prepared_row *row = find(prepared, graph, &plan->variant[i], &desc, &hash);
    if (row) row->kept = 1; /* a variant that another space runs has none */
  }
}

void plim_prepared_sweep_end(plim_prepared *prepared) {
  int32_t kept = 0;
  plim_hash_clear(&prepared->number);
  for (int32_t i = 0; i < prepared->n; i++) {
    if (!prepared->row[i].kept) {
      prepared->device->api->kernels.unprepare(prepared->device, prepared->row[i].kernel);
      continue;
    }
    plim_hash_add(&prepared->number, prepared->row[i].hash, kept);
    prepared->row[kept++] = prepared->row[i];
  }
  prepared->n = kept;
}
