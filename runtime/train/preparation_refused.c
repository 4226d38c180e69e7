/* Variants that the device refuses, found before training begins. Nothing has been computed then. So a new plan may use
 * other kernels, as if the profile had never had the refused one. The numerics that were asked for stay. */
#include <string.h>

#include "runtime/train/preparation_internal.h"
#include "runtime/train/rehearsal.h"

static int has_key(const plim_profile *profile, int32_t op, const char *numerics_key) {
  for (int32_t v = profile->first[op]; v < profile->first[op + 1]; v++) {
    if (strcmp(profile->variant[v].numerics_key, numerics_key) == 0) return 1;
  }
  return 0;
}

/* The first refused variant whose op has no other variant with the numerics key that was asked for; NULL: none. */
static const plim_refused_variant *refused_for_all(plim_preparing *work, const plim_refused_list *list) {
  const plim_plan_options *planning = &work->preparation->planning;
  for (int32_t i = 0; i < list->n && planning->numerics == PLIM_NUMERICS_GIVEN; i++) {
    const plim_refused_variant *row = &list->row[i];
    const char *numerics_key =
        row->graph == work->program->graph[PLIM_PROGRAM_TRAIN] ? planning->numerics_key[row->op] : NULL;
    if (numerics_key && !has_key(work->program->profile[PLIM_PROGRAM_TRAIN], row->op, numerics_key)) return row;
  }
  return NULL;
}

/* Fix the numerics of PLIM_NUMERICS_FASTEST to those that were fastest before the device refused a variant. */
static plim_status fix_numerics(plim_preparing *work) {
  plim_preparation *preparation = work->preparation;
  if (preparation->planning.numerics != PLIM_NUMERICS_FASTEST) return PLIM_OK;
  if (!preparation->numerics_key) { /* an earlier run may have needed them too */
    PLIM_TRY(plim_allocate(work->ctx, work->program->graph[PLIM_PROGRAM_TRAIN]->n_ops,
                           sizeof *preparation->numerics_key, &preparation->numerics_key));
  }
  plim_plan_numerics_keys(preparation->keep_all, preparation->numerics_key);
  preparation->planning.numerics = PLIM_NUMERICS_GIVEN;
  preparation->planning.numerics_key = preparation->numerics_key;
  return PLIM_OK;
}

static plim_status keep_numerics(plim_preparing *work, const plim_refused_list *list) {
  PLIM_TRY(fix_numerics(work));
  const plim_refused_variant *row = refused_for_all(work, list);
  if (!row) return PLIM_OK;
  return plim_fail(
      work->ctx, PLIM_EDEVICE,
      "op \"%s\": the device refuses variant \"%s\" (%s), and no other has the numerics that are asked for: "
      "give --numerics auto",
      row->graph->op[row->op].name, row->variant, row->why);
}

static plim_status drop_refused(plim_preparing *work, const plim_refused_list *list) {
  const plim_refused_variant *first = &list->row[0];
  plim_preparation *preparation = work->preparation;
  plim_plan *keep_all = NULL;
  if (work->options->plan) {
    return plim_fail(work->ctx, PLIM_EDEVICE,
                     "%s: the device refuses variant \"%s\" of op \"%s\" (%s): plan again here", work->options->plan,
                     first->variant, first->graph->op[first->op].name, first->why);
  }
  PLIM_TRY(plim_rehearsal_drop(work->program, preparation->device, list));
  PLIM_TRY(keep_numerics(work, list));
  if (preparation->planning.numerics == PLIM_NUMERICS_GIVEN) return PLIM_OK; /* keep_all may own the keys */
  PLIM_TRY(plim_program_keep_all(work->program, &keep_all));
  plim_plan_free(preparation->keep_all);
  preparation->keep_all = keep_all;
  return PLIM_OK;
}

plim_status plim_preparing_rehearse(plim_preparing *work, int *refused) {
  plim_refused_list list;
  PLIM_TRY(plim_rehearsal_for_plans(work->program, work->preparation->device, &list, refused));
  return *refused ? drop_refused(work, &list) : PLIM_OK;
}
