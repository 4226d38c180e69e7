/* Telling a story: the policy plays to find its way, then that way is played once more, watched. */
#include "runtime/inspect/story.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/halving.h"
#include "runtime/inspect/own_story.h"

static int64_t limit_of(const plim_story *s) {
  return s->options.limit_ns > 0 ? s->options.limit_ns : INT64_MAX;
}

plim_status plim_story_play(const plim_story *s, const plim_arena_watch *watch, plim_plan **out) {
  plim_replay_counts counts;
  const plim_story_options *o = &s->options;
  return plim_arena_replay_watched(s->ctx, o->graph, o->order, s->way, o->budget_bytes, limit_of(s), watch, &counts,
                                   out);
}

/* ---- the end of a run that did not end well ---- */

/* What is resident stays for the step that could not be run, and that step ends the plan. */
static plim_status draw_failure(plim_story *s, const plim_tenants *t, int32_t op) {
  const plim_plan *order = s->options.order;
  int32_t n_steps = t->n_steps + 1;
  plim_step *step = NULL;
  plim_life *life = NULL;
  plim_status status = PLIM_OK;
  if (op < 0) return PLIM_OK;
  PLIM_CHECK(plim_allocate(s->ctx, n_steps, sizeof *step, &step));
  PLIM_CHECK(plim_allocate(s->ctx, t->n_lives, sizeof *life, &life));
  if (t->n_steps > 0) memcpy(step, t->step, (size_t)t->n_steps * sizeof *step);
  if (t->n_lives > 0) memcpy(life, t->life, (size_t)t->n_lives * sizeof *life);
  step[t->n_steps] = (plim_step){.kind = PLIM_STEP_RUN, .op = op, .variant = t->forecast->variant[op]};
  for (int32_t i = 0; i < s->options.graph->n_storages; i++) {
    if (plim_tenants_resident(t, i) && !plim_tenants_empty(t, i)) life[t->tenant[i].life].end = n_steps;
  }
  plim_plan draft = *order;
  draft.packed = 1;
  draft.n_steps = n_steps;
  draft.n_lives = t->n_lives;
  draft.step = step;
  draft.life = life;
  draft.budget_bytes = s->options.budget_bytes;
  draft.proved = 0;
  status = plim_plan_from_parts(s->options.graph, &draft, &s->plan);
done:
  plim_release(s->ctx, step, n_steps, sizeof *step);
  plim_release(s->ctx, life, t->n_lives, sizeof *life);
  return status;
}

/* ---- listening ---- */

static plim_status add_evicted(plim_story *s, int32_t storage) {
  PLIM_TRY(plim_array_reserve(s->ctx, &s->evicted, &s->evicted_capacity, s->n_evicted + 1, sizeof *s->evicted));
  s->evicted[s->n_evicted++] = storage;
  return PLIM_OK;
}

static plim_status hear_choice(void *user, plim_tenants *t, const plim_arena_request *request,
                               const plim_arena_choice *choice) {
  plim_story *s = user;
  int32_t before = s->n_evicted;
  PLIM_TRY(plim_array_reserve(s->ctx, &s->choice, &s->choice_capacity, s->n_choices + 1, sizeof *s->choice));
  if (choice->storage >= 0) PLIM_TRY(add_evicted(s, choice->storage));
  for (int32_t i = choice->n > 0 ? choice->window[choice->chosen].begin : 0;
       choice->n > 0 && i < choice->window[choice->chosen].end; i++) {
    if (t->row[i].state == PLIM_ROW_HELD) PLIM_TRY(add_evicted(s, t->pieces->piece[t->row_piece[i]].owner));
  }
  s->choice[s->n_choices++] = (plim_story_choice){t->n_steps, *request, s->n_evicted - before, NULL};
  return s->n_evicted > before ? PLIM_OK : draw_failure(s, t, request->op);
}

static plim_status hear_run(void *user, const plim_tenants *t, int32_t depth) {
  plim_story *s = user;
  PLIM_TRY(plim_array_reserve(s->ctx, &s->depth, &s->depth_capacity, t->n_steps, sizeof *s->depth));
  s->depth[t->n_steps - 1] = depth;
  s->n_steps = t->n_steps;
  return PLIM_OK;
}

static plim_status hear_end(void *user, const plim_tenants *t, int32_t op) {
  plim_story *s = user;
  s->thrashed = 1;
  return draw_failure(s, t, op);
}

static plim_status keep_failure(plim_story *s) {
  const char *sentence = plim_context_error(s->ctx);
  s->failure_bytes = (int64_t)strlen(sentence) + 1;
  PLIM_TRY(plim_allocate(s->ctx, s->failure_bytes, 1, &s->failure));
  memcpy(s->failure, sentence, (size_t)s->failure_bytes);
  return PLIM_OK;
}

/* The way that a policy takes: that of the plan it keeps, or the first it tried when it finds none. */
static plim_status find_way(plim_story *s) {
  const plim_story_options *o = &s->options;
  plim_replay_counts counts = {.thrashed = 0};
  plim_plan *plan = NULL;
  plim_status status =
      plim_arena_online(s->ctx, o->graph, o->order, o->policy, o->budget_bytes, limit_of(s), &counts, &plan);
  plim_plan_free(plan);
  s->way = counts.way;
  return status == PLIM_ENOFIT && s->way.policy ? PLIM_OK : status;
}

static plim_status tell(plim_story *s) {
  plim_arena_watch watch = {s, hear_choice, hear_run, hear_end};
  plim_plan *plan = NULL;
  PLIM_TRY(find_way(s));
  plim_status status = plim_story_play(s, &watch, &plan);
  if (status == PLIM_ENOFIT) PLIM_TRY(keep_failure(s));
  if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  if (plan) s->plan = plan;
  if (s->plan) {
    (void)snprintf(s->plan->planner, sizeof s->plan->planner, "online %s", s->options.policy->name);
  }
  const int32_t *next = s->evicted;
  for (int32_t i = 0; i < s->n_choices; i++) {
    s->choice[i].evicted = next;
    if (next) next += s->choice[i].n_evicted;
  }
  return PLIM_OK;
}

plim_status plim_story_new(plim_context *ctx, const plim_story_options *options, plim_story **out) {
  plim_story *s = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *s, &s));
  s->ctx = ctx;
  s->options = *options;
  plim_status status = tell(s);
  if (status != PLIM_OK) {
    plim_story_free(s);
    return status;
  }
  *out = s;
  return PLIM_OK;
}

void plim_story_free(plim_story *s) {
  if (!s) return;
  plim_plan_free(s->plan);
  plim_release(s->ctx, s->failure, s->failure_bytes, 1);
  plim_release(s->ctx, s->depth, s->depth_capacity, sizeof *s->depth);
  plim_release(s->ctx, s->choice, s->choice_capacity, sizeof *s->choice);
  plim_release(s->ctx, s->evicted, s->evicted_capacity, sizeof *s->evicted);
  plim_release(s->ctx, s->reasons.piece, s->piece_capacity, sizeof *s->reasons.piece);
  plim_release(s->ctx, s, 1, sizeof *s);
}

/* ---- reading ---- */

const plim_plan *plim_story_plan(const plim_story *s) {
  return s->plan;
}

const char *plim_story_failure(const plim_story *s) {
  return s->failure;
}

int plim_story_thrashed(const plim_story *s) {
  return s->thrashed;
}

const plim_replay_way *plim_story_way(const plim_story *s) {
  return &s->way;
}

int32_t plim_story_depth(const plim_story *s, int32_t step) {
  return step < s->n_steps ? s->depth[step] : 0;
}

int32_t plim_story_choices(const plim_story *s, const plim_story_choice **out) {
  *out = s->choice;
  return s->n_choices;
}

static int same_step(const plim_plan *a, const plim_plan *b, int32_t j) {
  const plim_step *x = &a->step[j], *y = &b->step[j];
  if (x->kind != y->kind || x->op != y->op || x->n_pairs != y->n_pairs) return 0;
  for (int32_t i = 0; i < x->n_pairs; i++) {
    if (x->pair[i].in != y->pair[i].in || x->pair[i].out != y->pair[i].out) return 0;
  }
  return strcmp(a->variant[x->variant].variant.name, b->variant[y->variant].variant.name) == 0;
}

int plim_story_equals(const plim_story *s, const plim_plan *plan, int32_t *step) {
  const plim_plan *own = s->plan;
  *step = 0;
  if (!own || s->failure) return 0;
  int32_t differ = own->n_steps < plan->n_steps ? own->n_steps : plan->n_steps;
  int same = own->n_steps == plan->n_steps && own->n_lives == plan->n_lives;
  for (int32_t j = 0; j < differ; j++) {
    if (same_step(own, plan, j)) continue;
    differ = j;
    same = 0;
  }
  for (int32_t i = 0; i < own->n_lives && i < plan->n_lives; i++) {
    const plim_life *x = &own->life[i], *y = &plan->life[i];
    if (x->storage == y->storage && x->begin == y->begin && x->end == y->end && x->offset == y->offset) continue;
    int32_t first = x->begin < y->begin ? x->begin : y->begin;
    if (first < differ) differ = first;
    same = 0;
    break;
  }
  *step = differ;
  return same;
}

/* ---- how much would do ---- */

enum { TO_THE_UNIT = 64 /* halvings of any range */ };

static plim_status ends_within(void *user, int64_t bytes, int *yes) {
  const plim_story *s = user;
  const plim_story_options *o = &s->options;
  return plim_arena_gets_through(s->ctx, o->graph, o->order, o->policy, bytes, limit_of(s), yes);
}

plim_status plim_story_enough(plim_story *s, int64_t most_bytes, int64_t *bytes) {
  if (s->enough_most != most_bytes) {
    PLIM_TRY(plim_halve_bytes(ends_within, s, s->options.budget_bytes, most_bytes, PLIM_ALIGN, TO_THE_UNIT,
                              &s->enough_bytes));
    s->enough_most = most_bytes;
  }
  *bytes = s->enough_bytes;
  return PLIM_OK;
}
