/* Variants that run the groups' fastest variants in parts: which are useful, which give the bits of the whole, and what
 * they cost.
 *
 * Equality is measured: whole and parts run on the same random operands, and every byte is compared. The operands are
 * random because sums of repeated numbers may be equal in any order. Parts are visited by descending workspace. One
 * that saves less than a fifth of the last equal one is skipped. Whole and parts are timed in turns, and the times of
 * parts are scaled by the time of the whole. So a change of the machine's speed favours neither. */
#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/profile/busy_devices.h"
#include "runtime/profile/equal_parts.h"

/* A workspace is divided when it has at least 1/SHARE of the bytes of a step. */
enum { SHARE = 64, PART_PASSES = 3 };

static int saves(int64_t bytes, int64_t than_bytes) {
  return bytes <= than_bytes / 5 * 4;
}

/* ---- which ---- */

/* Set the group's whole: its fastest case. */
static void find_whole(const plim_profile_set *set, plim_profile_group *group) {
  plim_variant variant[PLIM_KERNEL_VARIANTS];
  int32_t at[PLIM_KERNEL_VARIANTS], n = 0;
  for (int32_t i = group->first; i < group->first + group->n; i++) {
    if (set->cases[i].dropped) continue;
    variant[n] = set->cases[i].variant;
    at[n++] = i;
  }
  group->whole = at[plim_variants_fastest(variant, n, NULL)];
}

/* Add the parts of the group's whole as cases, each dropped until it is found equal. None where the workspace of the
 * whole is small. */
static plim_status add_parts(plim_profile_set *set, plim_profile_group *group, int64_t least_bytes) {
  plim_kernel_info info[PLIM_KERNEL_VARIANTS], whole = {.name = ""};
  find_whole(set, group);
  const plim_variant *fastest = &set->cases[group->whole].variant;
  group->first_part = set->n_cases;
  if (fastest->workspace_bytes < least_bytes) return PLIM_OK;
  memcpy(whole.name, fastest->name, sizeof whole.name);
  whole.workspace_bytes = fastest->workspace_bytes;
  int n = set->device->api->kernels.parts(set->device, &group->desc, &whole, info, PLIM_KERNEL_VARIANTS);
  if (n > PLIM_KERNEL_VARIANTS) n = PLIM_KERNEL_VARIANTS;
  PLIM_TRY(plim_resize_array(set->device->ctx, &set->cases, set->n_cases, set->n_cases + n, sizeof *set->cases));
  for (int i = 0; i < n; i++) {
    plim_profile_case *profile_case = &set->cases[set->n_cases++];
    *profile_case = (plim_profile_case){
        .variant = {.time_ns = PLIM_UNKNOWN, .workspace_bytes = info[i].workspace_bytes}, .dropped = 1};
    memcpy(profile_case->variant.name, info[i].name, sizeof profile_case->variant.name);
    memcpy(profile_case->variant.numerics_key, info[i].numerics_key, sizeof profile_case->variant.numerics_key);
  }
  group->n_parts = n;
  return PLIM_OK;
}

plim_status plim_profile_set_add_parts(plim_profile_set *set, int32_t *added) {
  int32_t before = set->n_cases;
  *added = 0;
  if (!set->device->api->kernels.parts) return PLIM_OK;
  int64_t least_bytes = plim_measure_step_bytes(set->graph) / SHARE;
  for (int32_t g = 0; g < set->n_groups; g++) PLIM_TRY(add_parts(set, &set->group[g], least_bytes));
  *added = set->n_cases - before;
  return PLIM_OK;
}

/* ---- equal or not ---- */

typedef struct comparison {
  plim_measurement measurement;
  plim_busy_devices *busy;
  plim_profile_set *set;
  int32_t measured;
  int64_t result_bytes;
  void *result;                        /* [result_bytes] of a whole on the random operands of its group */
  const plim_profile_group *result_of; /* group whose whole `result` is; NULL: none yet */
} comparison;

/* Run the whole, unless the group's result is there, then the part. Equal bytes give the part the numerics key of the
 * whole. */
static plim_status compare(comparison *compared, const plim_profile_group *group, plim_profile_case *profile_case) {
  plim_profile_case *whole = &compared->set->cases[group->whole];
  const void *out;
  int64_t time_ns;
  PLIM_TRY(plim_measure_prepare(compared->set, group, profile_case));
  if (compared->result_of != group) {
    PLIM_TRY(plim_measure_result(&compared->measurement, group, whole, &time_ns, &out));
    memcpy(compared->result, out, (size_t)plim_shape_bytes(&group->desc.out[0]));
    compared->result_of = group;
  }
  PLIM_TRY(plim_measure_result(&compared->measurement, group, profile_case, &time_ns, &out));
  if (memcmp(compared->result, out, (size_t)plim_shape_bytes(&group->desc.out[0])) == 0) {
    memcpy(profile_case->variant.numerics_key, whole->variant.numerics_key, sizeof profile_case->variant.numerics_key);
  } else {
    profile_case->variant.time_ns = time_ns; /* known: not to be run again */
  }
  compared->measured = 1;
  return PLIM_OK;
}

static int is_equal(const plim_profile_set *set, const plim_profile_group *group,
                    const plim_profile_case *profile_case) {
  return strcmp(profile_case->variant.numerics_key, set->cases[group->whole].variant.numerics_key) == 0;
}

/* Find the next part to compare, from number *at on, which becomes its number. NULL after the last.
 *   last_bytes  in  workspace of the last equal part */
static plim_profile_case *next_part(plim_profile_set *set, const plim_profile_group *group, int64_t last_bytes,
                                    int32_t *at) {
  for (; *at < group->n_parts; ++*at) {
    plim_profile_case *profile_case = &set->cases[group->first_part + *at];
    if (saves(profile_case->variant.workspace_bytes, last_bytes)) return profile_case;
  }
  return NULL;
}

/* Visit the parts of a group, and keep those that give the bits of the whole.
 *   compared  in   NULL: nothing runs, and the visit ends at the first part that was never compared
 *   unknown   out  becomes 1 when there is such a part; otherwise untouched */
static plim_status visit(plim_profile_set *set, const plim_profile_group *group, comparison *compared, int *unknown) {
  int64_t last_bytes = set->cases[group->whole].variant.workspace_bytes;
  plim_context *ctx = set->device->ctx;
  plim_profile_case *profile_case;
  for (int32_t at = 0; (profile_case = next_part(set, group, last_bytes, &at)) != NULL; at++) {
    if (profile_case->variant.time_ns < 0) {
      *unknown = 1;
      if (!compared) return PLIM_OK;
      PLIM_TRY(plim_measure_check_cancelled(set));
      plim_status status = compare(compared, group, profile_case);
      if (status != PLIM_OK) {
        return plim_fail(ctx, status, "op \"%s\", variant \"%s\": %s", set->graph->op[group->op].name,
                         profile_case->variant.name, plim_context_error(ctx));
      }
    }
    profile_case->dropped = !is_equal(set, group, profile_case);
    if (profile_case->dropped) continue;
    last_bytes = profile_case->variant.workspace_bytes;
    PLIM_TRY(plim_equal_parts_add(set->device, &group->desc, profile_case->variant.name));
  }
  return PLIM_OK;
}

/* ---- times ---- */

/* Is the case kept, and its time not known yet? */
static int wants_time(const plim_profile_case *profile_case) {
  return !profile_case->dropped && profile_case->variant.time_ns < 0;
}

/* Time the kept parts of a group. In every pass the whole runs once, then each part. */
static plim_status time_parts(comparison *compared, const plim_profile_group *group, int32_t passes) {
  plim_profile_case *part = &compared->set->cases[group->first_part];
  const plim_profile_case *whole = &compared->set->cases[group->whole];
  int64_t part_ns[PLIM_KERNEL_VARIANTS], whole_ns = PLIM_TIME_INFINITE, time_ns;
  for (int32_t i = 0; i < group->n_parts; i++) part_ns[i] = PLIM_TIME_INFINITE;
  for (int32_t pass = 0; pass < passes; pass++) {
    PLIM_TRY(plim_measure_check_cancelled(compared->set));
    PLIM_TRY(plim_busy_devices_run(compared->busy, &compared->measurement, group, whole, &time_ns));
    whole_ns = plim_integers_smaller(whole_ns, time_ns);
    for (int32_t i = 0; i < group->n_parts; i++) {
      if (!wants_time(&part[i])) continue;
      PLIM_TRY(plim_measure_check_cancelled(compared->set));
      PLIM_TRY(plim_busy_devices_run(compared->busy, &compared->measurement, group, &part[i], &time_ns));
      part_ns[i] = plim_integers_smaller(part_ns[i], time_ns);
    }
  }
  double scale = (double)whole->variant.time_ns / (double)(whole_ns + 1);
  for (int32_t i = 0; i < group->n_parts; i++) {
    if (wants_time(&part[i])) part[i].variant.time_ns = (int64_t)((double)part_ns[i] * scale) + 1;
  }
  return PLIM_OK;
}

static plim_status measure_group(comparison *compared, const plim_profile_group *group, int32_t passes) {
  int unknown = 0, wanted = 0;
  PLIM_TRY(visit(compared->set, group, compared, &unknown));
  for (int32_t i = group->first_part; i < group->first_part + group->n_parts; i++) {
    wanted |= wants_time(&compared->set->cases[i]);
  }
  return wanted ? time_parts(compared, group, passes) : PLIM_OK;
}

/* Prepare the whole of each group with parts to measure. *most out: the needs of all, 0 when there is none. */
static plim_status prepare_wholes(comparison *compared, plim_measure_needs *most) {
  *most = (plim_measure_needs){0};
  for (int32_t g = 0; g < compared->set->n_groups; g++) {
    const plim_profile_group *group = &compared->set->group[g];
    int unknown = 0;
    if (group->n_parts > 0) PLIM_TRY(visit(compared->set, group, NULL, &unknown));
    if (!unknown) continue;
    plim_measure_need(group, &compared->set->cases[group->whole], most);
    PLIM_TRY(plim_measure_prepare(compared->set, group, &compared->set->cases[group->whole]));
    int64_t bytes = plim_shape_bytes(&group->desc.out[0]);
    if (bytes > compared->result_bytes) compared->result_bytes = bytes;
  }
  return PLIM_OK;
}

plim_status plim_profile_set_measure_parts(plim_profile_set *set, int32_t passes, int64_t limit, int32_t *measured) {
  comparison compared = {.set = set};
  const int32_t part_passes = passes < PART_PASSES ? passes : PART_PASSES;
  int64_t result_bytes = 0;
  plim_measure_needs most;
  plim_status status;
  PLIM_TRY_OR_DONE(prepare_wholes(&compared, &most));
  if (most.bytes > 0) {
    PLIM_TRY_OR_DONE(plim_allocate(set->device->ctx, compared.result_bytes, 1, &compared.result));
    result_bytes = compared.result_bytes;
    PLIM_TRY_OR_DONE(plim_measure_begin(set, &most, limit, &compared.measurement));
    PLIM_TRY_OR_DONE(plim_busy_devices_open(set, &most, limit, &compared.busy));
    for (int32_t g = 0; g < set->n_groups; g++) {
      int unknown = 0;
      PLIM_TRY_OR_DONE(visit(set, &set->group[g], NULL, &unknown));
      if (unknown) PLIM_TRY_OR_DONE(measure_group(&compared, &set->group[g], part_passes));
    }
  }
  *measured |= compared.measured;
  status = PLIM_OK;
done:
  plim_busy_devices_close(compared.busy);
  plim_measure_end(&compared.measurement);
  plim_release(set->device->ctx, compared.result, result_bytes, 1);
  return status;
}
