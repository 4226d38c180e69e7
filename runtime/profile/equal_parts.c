/* Compares variants in parts with their wholes, and remembers those of equal bits in a list. It is searched from end
 * to end: a network has a few tens of such variants. */
#include "runtime/profile/equal_parts.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/device/desc.h"
#include "runtime/profile/device_memo.h"
#include "runtime/profile/measurement.h"

typedef struct equal_part {
  plim_op_desc desc;
  char variant[PLIM_VARIANT_NAME_BYTES];
} equal_part;

struct plim_equal_parts {
  equal_part *part; /* [n] */
  int64_t n, capacity;
};

static int is_known_equal(const plim_device *device, const plim_op_desc *desc, const char *variant) {
  const plim_equal_parts *k = plim_device_memo_of(device).parts;
  for (int64_t i = 0; k && i < k->n; i++) {
    if (strcmp(k->part[i].variant, variant) == 0 && plim_desc_equal(&k->part[i].desc, desc)) return 1;
  }
  return 0;
}

plim_status plim_equal_parts_add(plim_device *device, const plim_op_desc *desc, const char *variant) {
  if (is_known_equal(device, desc, variant)) return PLIM_OK;
  plim_device_memo *memo = NULL;
  PLIM_TRY(plim_device_memo_attach(device, &memo));
  if (!memo->parts) PLIM_TRY(plim_allocate(device->ctx, 1, sizeof *memo->parts, &memo->parts));
  plim_equal_parts *k = memo->parts;
  PLIM_TRY(plim_array_reserve(device->ctx, &k->part, &k->capacity, k->n + 1, sizeof *k->part));
  equal_part *added = &k->part[k->n++];
  *added = (equal_part){.desc = *desc};
  (void)snprintf(added->variant, sizeof added->variant, "%s", variant);
  return PLIM_OK;
}

void plim_equal_parts_free(plim_context *ctx, plim_equal_parts *parts) {
  if (!parts) return;
  plim_release(ctx, parts->part, parts->capacity, sizeof *parts->part);
  plim_release(ctx, parts, 1, sizeof *parts);
}

/* ---- comparing ---- */

static plim_status prepare_case(plim_profile_set *set, const plim_profile_group *group, const char *variant,
                                plim_profile_case *profile_case, plim_measure_needs *most) {
  const plim_device_api *api = set->device->api;
  (void)snprintf(profile_case->variant.name, sizeof profile_case->variant.name, "%s", variant);
  PLIM_TRY(api->kernels.prepare(set->device, &group->desc, variant, &profile_case->kernel));
  profile_case->variant.workspace_bytes = api->kernels.workspace(set->device, profile_case->kernel);
  plim_measure_need(group, profile_case, most);
  return PLIM_OK;
}

static plim_status compare(plim_profile_set *set, const char *whole, const char *variant, int *equal) {
  const plim_profile_group *group = set->group;
  plim_context *ctx = set->device->ctx;
  plim_measure_needs most = {0};
  plim_measurement memory = {0};
  const void *out;
  void *result = NULL;
  int64_t time_ns, bytes = plim_shape_bytes(&group->desc.out[0]);
  plim_status status;
  PLIM_TRY_OR_DONE(prepare_case(set, group, whole, &set->cases[0], &most));
  PLIM_TRY_OR_DONE(prepare_case(set, group, variant, &set->cases[1], &most));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, bytes, 1, &result));
  PLIM_TRY_OR_DONE(plim_measure_begin(set, &most, most.bytes, &memory));
  PLIM_TRY_OR_DONE(plim_measure_result(&memory, group, &set->cases[0], &time_ns, &out));
  memcpy(result, out, (size_t)bytes);
  PLIM_TRY_OR_DONE(plim_measure_result(&memory, group, &set->cases[1], &time_ns, &out));
  *equal = memcmp(result, out, (size_t)bytes) == 0;
done:
  plim_measure_end(&memory);
  plim_release(ctx, result, bytes, 1);
  for (int i = 0; i < 2; i++) {
    if (set->cases[i].kernel) set->device->api->kernels.unprepare(set->device, set->cases[i].kernel);
  }
  return status;
}

plim_status plim_equal_parts_compare(plim_device *device, const plim_graph *graph, int32_t op, const char *whole,
                                     const char *variant, int *equal) {
  plim_profile_group group = {.op = op};
  plim_profile_case cases[2] = {{.kernel = NULL}};
  plim_profile_set set = {
      .device = device, .graph = graph, .n_groups = 1, .n_cases = 2, .group = &group, .cases = cases};
  plim_desc_of(graph, op, &group.desc);
  *equal = is_known_equal(device, &group.desc, variant);
  if (*equal || !device->api->kernels.parts) return PLIM_OK;
  PLIM_TRY(compare(&set, whole, variant, equal));
  return *equal ? plim_equal_parts_add(device, &group.desc, variant) : PLIM_OK;
}
