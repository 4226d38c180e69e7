/* A hash table from (op description, variant name) to prepared kernels. Rows point back to an op with the description
 * instead of copying it. */
#include "runtime/exec/prepare.h"

#include <string.h>

#include "kernels/parts.h"
#include "kernels/table.h"
#include "runtime/device/desc.h"

_Static_assert((int)PLIM_KERNEL_NAME_BYTES == (int)PLIM_VARIANT_NAME_BYTES, "names and keys are copied whole");

plim_status plim_prepared_new(plim_context *ctx, plim_device *device, int64_t capacity, plim_prepared *out) {
  int64_t rows = 16;
  while (rows < 2 * capacity) rows *= 2;
  plim_prepared_row *row = NULL;
  PLIM_TRY(plim_allocate(ctx, rows, sizeof *row, &row));
  *out = (plim_prepared){ctx, device, rows, 0, row};
  return PLIM_OK;
}

void plim_prepared_free(plim_prepared *prepared) {
  for (int64_t i = 0; i < prepared->n_rows; i++) {
    if (prepared->row[i].kernel) prepared->device->api->unprepare(prepared->device, prepared->row[i].kernel);
  }
  if (prepared->ctx) plim_release(prepared->ctx, prepared->row, prepared->n_rows, sizeof *prepared->row);
  *prepared = (plim_prepared){0};
}

static int is_row_of(const plim_prepared_row *row, uint64_t hash, const plim_op_desc *desc, const char *variant) {
  if (row->hash != hash || strcmp(row->variant, variant) != 0) return 0;
  plim_op_desc other;
  plim_desc_of(row->graph, row->op, &other);
  return plim_desc_equal(desc, &other);
}

/* The row of the key, or the empty row where the key belongs. */
static plim_prepared_row *find(const plim_prepared *prepared, uint64_t hash, const plim_op_desc *desc,
                               const char *variant) {
  uint64_t mask = (uint64_t)prepared->n_rows - 1, i = hash & mask;
  while (prepared->row[i].kernel && !is_row_of(&prepared->row[i], hash, desc, variant)) i = (i + 1) & mask;
  return &prepared->row[i];
}

/* Make room for one more row: at most half of the rows are used. */
static plim_status reserve(plim_prepared *prepared) {
  if (2 * (prepared->n_used + 1) <= prepared->n_rows) return PLIM_OK;
  plim_prepared larger = *prepared;
  larger.n_rows = 2 * prepared->n_rows;
  PLIM_TRY(plim_allocate(prepared->ctx, larger.n_rows, sizeof *larger.row, &larger.row));
  for (int64_t i = 0; i < prepared->n_rows; i++) {
    const plim_prepared_row *row = &prepared->row[i];
    if (!row->kernel) continue;
    plim_op_desc desc;
    plim_desc_of(row->graph, row->op, &desc);
    *find(&larger, row->hash, &desc, row->variant) = *row;
  }
  plim_release(prepared->ctx, prepared->row, prepared->n_rows, sizeof *prepared->row);
  *prepared = larger;
  return PLIM_OK;
}

/* Find the numerics key that the device gives the variant. For a variant in parts it is the key of its whole
 * variant, whose bits the parts may have. */
static void find_key(plim_device *device, const plim_op_desc *desc, const char *variant, char *numerics_key) {
  plim_kernel_info info[PLIM_KERNEL_VARIANTS];
  char whole[PLIM_VARIANT_NAME_BYTES];
  int n = device->api->variants(device, desc, info, PLIM_KERNEL_VARIANTS);
  if (plim_parts_whole(variant, whole)) variant = whole;
  for (int i = 0; i < n && i < PLIM_KERNEL_VARIANTS; i++) {
    if (strcmp(info[i].name, variant) == 0) memcpy(numerics_key, info[i].numerics_key, sizeof info[i].numerics_key);
  }
}

plim_status plim_prepared_get(plim_prepared *prepared, const plim_graph *graph, const plim_plan_variant *variant,
                              void **kernel, const char **numerics_key) {
  plim_op_desc desc;
  plim_desc_of(graph, variant->op, &desc);
  uint64_t hash = plim_desc_hash(&desc);
  PLIM_TRY(reserve(prepared));
  plim_prepared_row *row = find(prepared, hash, &desc, variant->variant.name);
  if (!row->kernel) {
    void *made = NULL;
    PLIM_TRY(prepared->device->api->prepare(prepared->device, &desc, variant->variant.name, &made));
    *row = (plim_prepared_row){.hash = hash, .graph = graph, .op = variant->op, .kernel = made};
    memcpy(row->variant, variant->variant.name, sizeof row->variant);
    find_key(prepared->device, &desc, row->variant, row->numerics_key);
    prepared->n_used++;
  }
  *kernel = row->kernel;
  *numerics_key = row->numerics_key;
  return PLIM_OK;
}

int plim_prepared_mark_rehearsed(plim_prepared *prepared, const plim_graph *graph, const plim_plan_variant *variant) {
  plim_op_desc desc;
  plim_desc_of(graph, variant->op, &desc);
  plim_prepared_row *row = find(prepared, plim_desc_hash(&desc), &desc, variant->variant.name);
  const int before = row->rehearsed;
  row->rehearsed = 1;
  return before;
}

void plim_prepared_sweep_begin(plim_prepared *prepared) {
  for (int64_t i = 0; i < prepared->n_rows; i++) prepared->row[i].kept = 0;
}

void plim_prepared_keep(plim_prepared *prepared, const plim_graph *graph, const plim_plan *plan) {
  for (int32_t i = 0; i < plan->n_variants; i++) {
    plim_op_desc desc;
    plim_desc_of(graph, plan->variant[i].op, &desc);
    find(prepared, plim_desc_hash(&desc), &desc, plan->variant[i].variant.name)->kept = 1;
  }
}

/* Delete row i. A search stops at an empty row, so later rows that it would miss move up. Source: Knuth, The Art of
 * Computer Programming, volume 3, section 6.4, algorithm R. */
static void erase(plim_prepared *prepared, uint64_t i) {
  uint64_t mask = (uint64_t)prepared->n_rows - 1;
  for (uint64_t k = (i + 1) & mask; prepared->row[k].kernel; k = (k + 1) & mask) {
    uint64_t distance = (k - prepared->row[k].hash) & mask; /* from the slot of its hash to its own */
    if (distance < ((k - i) & mask)) continue;
    prepared->row[i] = prepared->row[k];
    i = k;
  }
  prepared->row[i] = (plim_prepared_row){.kernel = NULL};
  prepared->n_used--;
}

void plim_prepared_sweep_end(plim_prepared *prepared) {
  for (int64_t i = 0; i < prepared->n_rows;) {
    plim_prepared_row *row = &prepared->row[i];
    if (!row->kernel || row->kept) {
      i++;
      continue;
    }
    prepared->device->api->unprepare(prepared->device, row->kernel);
    erase(prepared, (uint64_t)i); /* erase may have moved another row to index i */
  }
}
