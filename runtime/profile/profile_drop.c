/* Removes variants from a set and from a profile. A failure of the device itself ends the run, because no later call
 * would succeed. A failure of one kernel drops its variant. */
#include "runtime/profile/profile_drop.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/device/desc.h"

plim_status plim_profile_drop(plim_profile_set *set, const plim_profile_group *group, plim_profile_case *profile_case,
                              const char *why) {
  int32_t left = 0;
  if (profile_case->kernel) set->device->api->kernels.unprepare(set->device, profile_case->kernel);
  profile_case->kernel = NULL;
  profile_case->dropped = 1;
  profile_case->left_out_ns = PLIM_TIME_INFINITE; /* so that no later start tries it with more time */
  profile_case->variant.time_ns = PLIM_UNKNOWN;
  (void)snprintf(profile_case->why, sizeof profile_case->why, "%s", why);
  plim_text_make_printable(profile_case->why); /* it is written to documents */
  for (int32_t i = group->first; i < group->first + group->n; i++) left += !set->cases[i].dropped;
  if (left > 0) return PLIM_OK;
  return plim_fail(set->device->ctx, PLIM_EDEVICE, "op \"%s\" has no variant left; the last, \"%s\": %s",
                   set->graph->op[group->op].name, profile_case->variant.name, profile_case->why);
}

plim_status plim_profile_drop_failed(plim_profile_set *set, const plim_profile_group *group,
                                     plim_profile_case *profile_case, plim_status failed) {
  char why[PLIM_ERROR_BYTES / 2];
  PLIM_TRY(plim_device_outlives(set->device, failed, set->graph->op[group->op].name, profile_case->variant.name, why,
                                sizeof why));
  return plim_profile_drop(set, group, profile_case, why);
}

/* ---- removing a variant from a profile ---- */

static int is_of(const plim_graph *graph, int32_t op, const plim_op_desc *desc) {
  plim_op_desc other;
  plim_desc_of(graph, op, &other);
  return plim_desc_equal(desc, &other);
}

/* Copy the rows without those of the variant. *found is the first op that had one, PLIM_NONE: none had. */
static plim_status copy_rows(const plim_graph *graph, const plim_profile *profile, const plim_op_desc *desc,
                             const char *name, int32_t *first, plim_variant *row, int32_t *found) {
  *found = PLIM_NONE;
  for (int32_t op = 0; op < profile->n_ops; op++) {
    const int same = is_of(graph, op, desc);
    first[op + 1] = first[op];
    for (int32_t v = profile->first[op]; v < profile->first[op + 1]; v++) {
      if (!same || strcmp(profile->variant[v].name, name) != 0) {
        row[first[op + 1]++] = profile->variant[v];
      } else if (*found < 0) {
        *found = op;
      }
    }
    if (first[op + 1] > first[op]) continue;
    return plim_fail(graph->ctx, PLIM_EDEVICE, "op \"%s\" has no variant left", graph->op[op].name);
  }
  return PLIM_OK;
}

/* Copy the notes of the profile, and append one. */
static plim_status copy_notes(const plim_profile *from, int32_t op, const char *name, const char *why,
                              plim_profile **to) {
  plim_dropped *note = NULL;
  const int32_t n = from->n_dropped + 1;
  PLIM_TRY(plim_allocate(from->ctx, n, sizeof *note, &note));
  if (n > 1) memcpy(note, from->dropped, (size_t)(n - 1) * sizeof *note);
  note[n - 1].op = op;
  (void)snprintf(note[n - 1].name, sizeof note->name, "%s", name);
  (void)snprintf(note[n - 1].why, sizeof note->why, "%s", why);
  plim_status status = plim_profile_note_dropped(to, n, note);
  plim_release(from->ctx, note, n, sizeof *note);
  return status;
}

plim_status plim_profile_drop_variant(const plim_graph *graph, plim_profile **profile, const plim_op_desc *desc,
                                      const char *name, const char *why) {
  const plim_profile *old = *profile;
  const int32_t n_ops = old->n_ops, n = old->first[n_ops];
  int32_t *first = NULL, found;
  plim_variant *row = NULL;
  plim_profile *made = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(graph->ctx, (int64_t)n_ops + 1, sizeof *first, &first));
  PLIM_TRY_OR_DONE(plim_allocate(graph->ctx, n, sizeof *row, &row));
  PLIM_TRY_OR_DONE(copy_rows(graph, old, desc, name, first, row, &found));
  if (found < 0) goto done;
  PLIM_TRY_OR_DONE(plim_profile_make(graph, &old->machine, old->measured, first, row, &made));
  PLIM_TRY_OR_DONE(copy_notes(old, found, name, why, &made));
  plim_profile_free(*profile);
  *profile = made;
  made = NULL;
done:
  plim_profile_free(made);
  plim_release(graph->ctx, row, n, sizeof *row);
  plim_release(graph->ctx, first, (int64_t)n_ops + 1, sizeof *first);
  return status;
}
