/* Makes the set of variants that are measured, and a profile of it. A hash table over canonical descriptions finds the
 * groups. */
#include "runtime/profile/profile_set.h"

#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/hash_table.h"
#include "runtime/device/desc.h"
#include "runtime/device/guarded.h"
#include "runtime/profile/profile_cache.h"

enum { WHY_BYTES = 384 };

static int is_group_of(const void *set, int32_t group, const void *desc) {
  return plim_desc_equal(&((const plim_profile_set *)set)->group[group].desc, desc);
}

static plim_status find_group(plim_profile_set *set, plim_hash_table *table, int32_t op) {
  plim_op_desc desc;
  plim_desc_of(set->graph, op, &desc);
  const uint64_t hash = plim_desc_hash(&desc);
  int32_t group = plim_hash_find(table, hash, is_group_of, set, &desc);
  if (group < 0) {
    PLIM_TRY(plim_hash_reserve(table));
    PLIM_TRY(plim_array_reserve(set->device->ctx, &set->group, &set->group_capacity, (int64_t)set->n_groups + 1,
                                sizeof *set->group));
    group = set->n_groups++;
    set->group[group] = (plim_profile_group){.desc = desc, .op = op};
    plim_hash_add(table, hash, group);
  }
  set->group_of[op] = group;
  return PLIM_OK;
}

static plim_status find_groups(plim_profile_set *set) {
  plim_hash_table table = {.ctx = set->device->ctx};
  plim_status status = PLIM_OK;
  for (int32_t op = 0; op < set->graph->n_ops && status == PLIM_OK; op++) status = find_group(set, &table, op);
  plim_hash_release(&table);
  return status;
}

/* Check what a program's own kernels may have said: a size, and a name that no other variant has. */
static plim_status check_listed(plim_context *ctx, const char *op, const plim_kernel_info *info, int n) {
  for (int i = 0; i < n; i++) {
    if (info[i].workspace_bytes < 0) {
      return plim_fail(ctx, PLIM_EDATA, "op \"%s\", variant \"%.31s\": its workspace has %lld bytes", op, info[i].name,
                       (long long)info[i].workspace_bytes);
    }
    for (int k = 0; k < i; k++) {
      if (strncmp(info[k].name, info[i].name, sizeof info[i].name) != 0) continue;
      return plim_fail(ctx, PLIM_EDATA, "op \"%s\" has two variants \"%.31s\": each needs a name of its own", op,
                       info[i].name);
    }
  }
  return PLIM_OK;
}

/* List the device's variants of a group: *n of them, and the bytes that each needs. No kernel takes an op that does not
 * follow the rule of its kind, which the error then says. */
static plim_status list_variants(const plim_profile_set *set, const plim_profile_group *group, plim_kernel_info *info,
                                 int64_t *bytes, int *n) {
  plim_context *ctx = set->device->ctx;
  const char *name = set->graph->op[group->op].name;
  memset(info, 0, PLIM_KERNEL_VARIANTS * sizeof *info);
  PLIM_TRY(plim_profile_cache_recall(set->device, &group->desc));
  PLIM_TRY(plim_guarded_has_addresses(set->device->ctx));
  *n = set->device->api->kernels.variants(set->device, &group->desc, info, PLIM_KERNEL_VARIANTS);
  if (*n <= 0) {
    char why[WHY_BYTES] = "";
    const int fits = plim_op_fits(&group->desc, NULL, why, sizeof why);
    return plim_fail(ctx, PLIM_EUNSUPPORTED, "device %s has no kernel for op \"%s\" (%s)%s%s", set->device->api->name,
                     name, plim_op_kind_name(group->desc.kind), fits ? "" : ": ", why);
  }
  if (*n > PLIM_KERNEL_VARIANTS) *n = PLIM_KERNEL_VARIANTS;
  PLIM_TRY(check_listed(ctx, name, info, *n));
  for (int i = 0; i < *n; i++) {
    int64_t block[2];
    plim_operands_place(&group->desc, &group->cache_states, info[i].workspace_bytes, NULL, block);
    bytes[i] = plim_add_checked(block[0], block[1]);
    if (bytes[i] < 0) return plim_fail(ctx, PLIM_EOVERFLOW, "the operands of op \"%s\" overflow a size", name);
  }
  return PLIM_OK;
}

/* Append the variants of a group that fit to the cases, or the smallest when none fits. */
static plim_status add_cases(plim_profile_set *set, plim_profile_group *group, int64_t arena_bytes) {
  plim_kernel_info info[PLIM_KERNEL_VARIANTS];
  int64_t bytes[PLIM_KERNEL_VARIANTS] = {0}, allowed = arena_bytes > 0 ? arena_bytes : PLIM_BYTES_UNLIMITED;
  plim_context *ctx = set->device->ctx;
  int n, smallest = 0, fitting = 0;
  PLIM_TRY(list_variants(set, group, info, bytes, &n));
  for (int i = 0; i < n; i++) {
    if (bytes[i] < bytes[smallest]) smallest = i;
  }
  if (allowed < bytes[smallest]) allowed = bytes[smallest];
  for (int i = 0; i < n; i++) fitting += bytes[i] <= allowed;
  PLIM_TRY(plim_resize_array(ctx, &set->cases, set->n_cases, set->n_cases + fitting, sizeof *set->cases));
  group->first = set->n_cases;
  group->n = fitting;
  for (int i = 0; i < n; i++) {
    if (bytes[i] > allowed) continue;
    plim_profile_case *profile_case = &set->cases[set->n_cases++];
    *profile_case = (plim_profile_case){
        .variant = {.time_ns = PLIM_UNKNOWN, .workspace_bytes = info[i].workspace_bytes}, .builds = info[i].builds};
    memcpy(profile_case->how, info[i].how, sizeof profile_case->how);
    memcpy(profile_case->variant.name, info[i].name, sizeof profile_case->variant.name);
    memcpy(profile_case->variant.numerics_key, info[i].numerics_key, sizeof profile_case->variant.numerics_key);
  }
  return PLIM_OK;
}

plim_status plim_profile_set_make(plim_device *device, const plim_graph *graph, int64_t arena_bytes,
                                  plim_profile_set *out) {
  plim_context *ctx = device->ctx;
  plim_status status;
  *out = (plim_profile_set){.device = device, .graph = graph};
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_ops, sizeof *out->group_of, &out->group_of));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 0, sizeof *out->cases, &out->cases));
  PLIM_TRY_OR_DONE(find_groups(out));
  PLIM_TRY_OR_DONE(plim_profile_set_find_cache_states(out));
  for (int32_t g = 0; g < out->n_groups; g++) PLIM_TRY_OR_DONE(add_cases(out, &out->group[g], arena_bytes));
  plim_profile_set_rounds(out);
done:
  if (status != PLIM_OK) plim_profile_set_free(out);
  return status;
}

void plim_profile_set_free(plim_profile_set *set) {
  if (!set->device) return;
  plim_context *ctx = set->device->ctx;
  for (int32_t i = 0; i < set->n_cases; i++) {
    if (set->cases[i].kernel) set->device->api->kernels.unprepare(set->device, set->cases[i].kernel);
  }
  plim_release(ctx, set->cases, set->n_cases, sizeof *set->cases);
  plim_release(ctx, set->group, set->group_capacity, sizeof *set->group);
  plim_release(ctx, set->group_of, set->graph->n_ops, sizeof *set->group_of);
  *set = (plim_profile_set){0};
}

/* Append the cases [from, from + n) that are not dropped to the *rows rows. */
static void copy_rows(const plim_profile_set *set, int32_t from, int32_t n, plim_variant *variant, int32_t *rows) {
  for (int32_t i = from; i < from + n; i++) {
    if (!set->cases[i].dropped) variant[(*rows)++] = set->cases[i].variant;
  }
}

static plim_status note_dropped(const plim_profile_set *set, plim_profile **profile) {
  plim_context *ctx = set->device->ctx;
  plim_dropped *dropped = NULL;
  int32_t n = 0, rows = 0;
  for (int32_t i = 0; i < set->n_cases; i++) rows += set->cases[i].dropped && set->cases[i].why[0];
  if (rows == 0) return PLIM_OK;
  PLIM_TRY(plim_allocate(ctx, rows, sizeof *dropped, &dropped));
  for (int32_t g = 0; g < set->n_groups; g++) {
    const plim_profile_group *group = &set->group[g];
    for (int32_t i = group->first; i < group->first + group->n; i++) {
      const plim_profile_case *profile_case = &set->cases[i];
      if (!profile_case->dropped || !profile_case->why[0]) continue;
      plim_dropped *d = &dropped[n++];
      d->op = group->op;
      memcpy(d->name, profile_case->variant.name, sizeof d->name);
      memcpy(d->why, profile_case->why, sizeof d->why);
    }
  }
  plim_status status = plim_profile_note_dropped(profile, n, dropped);
  plim_release(ctx, dropped, rows, sizeof *dropped);
  return status;
}

plim_status plim_profile_set_finish(const plim_profile_set *set, int measured, plim_profile **out) {
  const plim_graph *graph = set->graph;
  plim_context *ctx = graph->ctx;
  int32_t *first = NULL;
  plim_variant *variant = NULL;
  plim_profile *made = NULL;
  int64_t rows = 0;
  plim_status status;
  for (int32_t op = 0; op < graph->n_ops; op++) {
    rows += set->group[set->group_of[op]].n + set->group[set->group_of[op]].n_parts;
  }
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)graph->n_ops + 1, sizeof *first, &first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, rows, sizeof *variant, &variant));
  for (int32_t op = 0; op < graph->n_ops; op++) {
    const plim_profile_group *group = &set->group[set->group_of[op]];
    first[op + 1] = first[op];
    copy_rows(set, group->first, group->n, variant, &first[op + 1]);
    copy_rows(set, group->first_part, group->n_parts, variant, &first[op + 1]);
  }
  PLIM_TRY_OR_DONE(plim_profile_make(graph, &set->device->machine, measured, first, variant, &made));
  PLIM_TRY_OR_DONE(note_dropped(set, &made));
  *out = made;
  made = NULL;
done:
  plim_profile_free(made);
  plim_release(ctx, variant, rows, sizeof *variant);
  plim_release(ctx, first, (int64_t)graph->n_ops + 1, sizeof *first);
  return status;
}
