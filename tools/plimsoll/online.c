/* Online runs: the policy decides the training step, or the refusal says what would do. */
#include "tools/plimsoll/online.h"

#include <stdio.h>

#include "runtime/base/size.h"
#include "runtime/program/online_plan.h"

static plim_online_plan_options online_plan_options(const session *s) {
  plim_online_plan_options wanted = plim_online_plan_options_default();
  wanted.policy = plim_policy_find(s->o->online);
  wanted.planning = s->planning;
  wanted.thrash = s->o->thrash;
  if (wanted.planning.budget_bytes == INT64_MAX) wanted.planning.budget_bytes = s->keep_all->arena_bytes;
  return wanted;
}

/* Keep the context's sentence: what is asked next may fail and replace it. */
static const char *keep_sentence(const session *s, char sentence[PLIM_ERROR_BYTES]) {
  (void)snprintf(sentence, PLIM_ERROR_BYTES, "%s", plim_context_error(s->ctx));
  return sentence;
}

/* Plans need less than the policy does: say so. */
static plim_status fail_policy(session *s, int64_t budget_bytes, const plim_plan_floor *floor, const char *sentence) {
  char budget[PLIM_SIZE_TEXT_BYTES];
  refusal *r = &s->refusal;
  r->budget_bytes = budget_bytes;
  r->smallest_bytes = floor->smallest_bytes;
  r->bound_bytes = floor->bound_bytes;
  r->largest_batch = -1; /* this batch fits with a plan */
  return plim_fail(s->ctx, PLIM_ENOFIT, "--online %s finds no way within %s, where a plan does (without --online): %s",
                   s->o->online, plim_size_print(r->budget_bytes, budget), sentence);
}

plim_status online_refuse(session *s) {
  const plim_program *p = s->program;
  const plim_online_plan_options wanted = online_plan_options(s);
  char sentence[PLIM_ERROR_BYTES];
  plim_plan_floor floor;
  int32_t step;
  int64_t *needed = &s->refusal.online_bytes, most = 2 * s->keep_all->arena_bytes;
  (void)keep_sentence(s, sentence);
  PLIM_TRY(plim_online_plan_smallest(s->ctx, p->graph[PLIM_PROGRAM_TRAIN], p->profile[PLIM_PROGRAM_TRAIN], &wanted,
                                     most, needed));
  PLIM_TRY(plim_program_floor(p, &s->planning, &floor, &step));
  int64_t limit = wanted.planning.budget_bytes; /* without --memory that of keep-all */
  plim_status status = floor.smallest_bytes <= limit ? fail_policy(s, limit, &floor, sentence) : refusal_explain(s);
  return status == PLIM_ENOFIT ? refusal_add_policy(s) : status;
}

plim_status online_run(session *s) {
  const plim_program *p = s->program;
  plim_online_plan_options wanted = online_plan_options(s);
  plim_plan *plan = NULL;
  plim_status status = plim_online_plan_make(s->ctx, p->graph[PLIM_PROGRAM_TRAIN], p->profile[PLIM_PROGRAM_TRAIN],
                                             &wanted, &s->replay, &plan);
  progress_clear(&s->bar);
  if (status == PLIM_ENOFIT) return online_refuse(s);
  return status == PLIM_OK ? plim_program_adopt(s->program, plan) : status;
}

plim_status online_last(session *s) {
  char sentence[PLIM_ERROR_BYTES];
  plim_online_plan_options wanted = plim_online_plan_options_default();
  if (s->o->online) wanted.policy = plim_policy_find(s->o->online);
  wanted.planning = s->planning;
  wanted.thrash = s->o->thrash;
  if (wanted.planning.labels == PLIM_NUMERICS_GIVEN)
    wanted.planning.labels = PLIM_NUMERICS_AUTO; /* of the whole batch */
  plim_status status = plim_program_decide_last(s->program, &wanted, &s->last);
  if (status != PLIM_ENOFIT) return status;
  return plim_fail(s->ctx, PLIM_ENOFIT, "the last batch of %d images: %s", session_last_batch(s),
                   keep_sentence(s, sentence));
}
