/* Nothing has been computed yet, so that a plan may choose other kernels as if the profile had never had the one that
 * was refused. Where the options fix the numerics, the others of the op must give the same bits. */
#include "tools/plimsoll/variants.h"

#include <string.h>

#include "runtime/train/rehearsal.h"
#include "tools/plimsoll/numerics.h"

static int has_label(const plim_profile *profile, int32_t op, const char *label) {
  for (int32_t v = profile->first[op]; v < profile->first[op + 1]; v++) {
    if (strcmp(profile->variant[v].label, label) == 0) return 1;
  }
  return 0;
}

/* The first that was refused and whose op has no other variant of the label that is given; NULL: there is none. */
static const plim_exec_failure *needed(const session *s, const plim_exec_failures *failures) {
  const plim_graph *graph = s->program->graph[PLIM_PROGRAM_TRAIN];
  for (int32_t i = 0; i < failures->n && s->planning.labels == PLIM_NUMERICS_GIVEN; i++) {
    const plim_exec_failure *row = &failures->row[i];
    const char *label = row->graph == graph ? s->planning.label[row->op] : NULL;
    if (label && !has_label(s->program->profile[PLIM_PROGRAM_TRAIN], row->op, label)) return row;
  }
  return NULL;
}

/* The fastest variants stay those that were fastest when numerics were chosen. */
static plim_status keep_numerics(session *s, const plim_exec_failures *failures) {
  if (s->planning.labels == PLIM_NUMERICS_FASTEST) PLIM_TRY(numerics_of_plan(s, s->keep_all, &s->planning));
  const plim_exec_failure *row = needed(s, failures);
  if (!row) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EDEVICE,
                   "op \"%s\": the device refuses variant \"%s\" (%s), and no other has its numerics, which %s %s "
                   "asks for: give --numerics auto",
                   row->graph->op[row->op].name, row->variant, row->why, s->o->numerics ? "--numerics" : "--load",
                   s->o->numerics ? s->o->numerics : s->o->load);
}

static plim_status drop(session *s, const plim_exec_failures *failures) {
  const plim_exec_failure *first = &failures->row[0];
  if (s->o->plan) {
    return plim_fail(s->ctx, PLIM_EDEVICE, "%s: the device refuses variant \"%s\" of op \"%s\" (%s): plan again here",
                     s->o->plan, first->variant, first->graph->op[first->op].name, first->why);
  }
  PLIM_TRY(plim_program_drop(s->program, s->device, failures));
  PLIM_TRY(keep_numerics(s, failures));
  if (s->planning.labels == PLIM_NUMERICS_GIVEN) return PLIM_OK; /* keep-all may own them */
  plim_plan_free(s->keep_all);
  s->keep_all = NULL;
  return plim_program_keep_all(s->program, &s->keep_all);
}

/* failures->n is 0 where no variant is refused. */
static plim_status rehearse(const session *s, const plim_program *program, plim_exec_failures *failures) {
  plim_status status = plim_program_rehearse(program, s->device, failures);
  if (status == PLIM_ENOFIT) return PLIM_OK; /* who trains with it explains that */
  return failures->n > 0 ? PLIM_OK : status;
}

plim_status variants_rehearse(session *s, int *again) {
  plim_exec_failures failures;
  PLIM_TRY(rehearse(s, s->program, &failures));
  *again = failures.n > 0;
  return *again ? drop(s, &failures) : PLIM_OK;
}

plim_status variants_rehearse_in(const session *s, plim_program *program, int *again) {
  plim_exec_failures failures;
  PLIM_TRY(rehearse(s, program, &failures));
  *again = failures.n > 0;
  return *again ? plim_program_drop(program, s->device, &failures) : PLIM_OK;
}
