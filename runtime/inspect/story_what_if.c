/* Another policy from the middle of a story on. A story that ended early is made whole first: what it did not reach is
 * put behind its steps, once and in the order of the program, with the variants of that; the policy decides the rest.
 */
#include "runtime/inspect/own_story.h"

typedef struct whole {
  plim_plan plan; /* borrowed but for its steps */
  plim_step *step;
  int64_t n_room;
} whole;

/* Rows of variants are those of the order, of which the story runs no others. row [n_ops] is scratch. */
static void fill(const plim_story *s, int32_t *row, whole *w) {
  const plim_plan *order = s->options.order;
  int32_t n_ran = s->plan->n_steps - 1, n = n_ran; /* the last step was not run */
  for (int32_t j = 0; j < order->n_steps; j++) row[order->step[j].op] = order->step[j].variant;
  for (int32_t j = 0; j < n_ran; j++) {
    w->step[j] = s->plan->step[j];
    w->step[j].variant = row[w->step[j].op];
  }
  for (int32_t j = 0; j < n_ran; j++) row[w->step[j].op] = -1;
  for (int32_t j = 0; j < order->n_steps; j++) {
    if (row[order->step[j].op] >= 0) w->step[n++] = order->step[j];
  }
  w->plan.n_steps = n;
}

static plim_status make_whole(const plim_story *s, whole *w) {
  const plim_plan *order = s->options.order;
  int32_t *row = NULL, n_ops = s->options.graph->n_ops;
  *w = (whole){.plan = *s->plan, .n_room = (int64_t)s->plan->n_steps + n_ops};
  PLIM_TRY(plim_allocate(s->ctx, n_ops, sizeof *row, &row));
  plim_status status = plim_allocate(s->ctx, w->n_room, sizeof *w->step, &w->step);
  if (status == PLIM_OK) fill(s, row, w);
  plim_release(s->ctx, row, n_ops, sizeof *row);
  w->plan.step = w->step;
  w->plan.variant = order->variant;
  w->plan.n_variants = order->n_variants;
  return status;
}

plim_status plim_story_what_if(const plim_story *s, const plim_policy *policy, int32_t from, int64_t arena_bytes,
                               plim_replay_counts *counts, plim_plan **out) {
  const plim_graph *graph = s->options.graph;
  whole w;
  if (!s->plan || from < 0 || from >= s->plan->n_steps) {
    return plim_fail(s->ctx, PLIM_EUSAGE, "step %d of a run of %d", (int)from, s->plan ? (int)s->plan->n_steps : 0);
  }
  if (!s->failure) return plim_arena_what_if(s->ctx, graph, s->plan, policy, from, arena_bytes, counts, out);
  PLIM_TRY(make_whole(s, &w));
  if (w.plan.budget_bytes < arena_bytes) w.plan.budget_bytes = arena_bytes;
  plim_status status = plim_arena_what_if(s->ctx, graph, &w.plan, policy, from, arena_bytes, counts, out);
  plim_release(s->ctx, w.step, w.n_room, sizeof *w.step);
  return status;
}
