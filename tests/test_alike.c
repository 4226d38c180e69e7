/* Ops that are alike: blocks of a network are paired op by op, and what is made again in one is copied to the other. */
#include "planner/search/alike.h"

#include <criterion/criterion.h>
#include <string.h>

#include "planner/search/moves.h"
#include "planner/timeline.h"
#include "runtime/graph/generate.h"
#include "tests/support/planner_case.h"

typedef struct rig {
  planner_case c;
  plim_mover mover;
  plim_schedule schedule;
} rig;

static void rig_begin(rig *r, const char *shape, int32_t n) {
  plim_context *ctx;
  plim_graph *graph = NULL;
  plim_generate_options options = plim_generate_options_default(shape);
  plim_plan_options plan = plim_plan_options_default();
  options.n = n;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_graph_generate(ctx, &options, &graph), PLIM_OK);
  r->c = planner_case_make(ctx, graph, NULL, &plan);
  r->schedule.ctx = r->c.ctx;
  r->mover.random.state = 1;
  r->mover.most_ns = INT64_MAX;
  cr_assert_eq(plim_alike_new(r->c.problem, &r->mover.alike), PLIM_OK);
  cr_assert_eq(plim_track_new(r->c.problem, 4 * n + 100, &r->mover.track), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(r->c.problem, &r->schedule), PLIM_OK);
  plim_track_load(r->mover.track, &r->schedule);
}

static void rig_end(rig *r) {
  plim_alike_free(r->mover.alike);
  plim_track_free(r->mover.track);
  plim_schedule_free(&r->schedule);
  planner_case_free(&r->c);
}

static int is_read_by(const plim_problem *p, int32_t op, int32_t reader) {
  const plim_list *reads = &p->op[reader].reads;
  for (int32_t i = 0; i < reads->n; i++) {
    if (p->item[reads->at[i]].producer == op) return 1;
  }
  return 0;
}

/* Links within one side are links within the other, and no op is paired twice. */
static void check_match(const plim_problem *p, const plim_alike *a) {
  for (int32_t i = 0; i < a->n; i++) {
    cr_assert_eq(a->other[a->from[i]], a->to[i]);
    cr_assert_eq(a->other[a->to[i]], a->from[i]);
    for (int32_t k = 0; k < a->n; k++) {
      cr_assert_neq(a->from[i], a->to[k]);
      cr_assert_eq(is_read_by(p, a->from[i], a->from[k]), is_read_by(p, a->to[i], a->to[k]), "%d and %d", i, k);
    }
  }
}

/* Blocks of a transformer have 13 forward ops, and as many backward. */
enum { BLOCK = 13 };

Test(alike, blocks_of_a_transformer_are_paired_op_by_op) {
  rig r = {.mover.limit = 0};
  rig_begin(&r, "transformer", 400);
  plim_alike *a = r.mover.alike;
  int32_t v = 1 + 5 * BLOCK + 9; /* the wide op of a block in the middle, which no other op of the block is like */
  cr_assert_eq(a->next[v], v + BLOCK);
  cr_assert_eq(a->prev[v], v - BLOCK);
  plim_alike_match(a, v, a->next[v], 20);
  cr_assert_eq(a->n, 20);
  check_match(r.c.problem, a);
  int forward = 0, backward = 0;
  for (int32_t i = 0; i < a->n; i++) {
    forward += a->to[i] - a->from[i] == BLOCK;
    backward += a->to[i] - a->from[i] == -BLOCK;
  }
  cr_assert_eq(forward + backward, a->n);
  cr_assert(forward > 5 && backward > 5, "%d forward, %d backward", forward, backward);
  plim_alike_match(a, v, a->prev[v], 4);
  cr_assert_eq(a->n, 4);
  check_match(r.c.problem, a);
  rig_end(&r);
}

Test(alike, ops_of_random_layers_are_hardly_ever_alike) {
  rig r = {.mover.limit = 0};
  rig_begin(&r, "layered", 300);
  int alike = 0;
  for (int32_t v = 0; v < r.c.problem->n_ops; v++) alike += r.mover.alike->next[v] >= 0;
  cr_assert_lt(alike, 30, "%d", alike);
  rig_end(&r);
}

/* Between the two convolutions of a block: a sum is not what it reads. */
static int is_act_of_a_block(const rig *r, int32_t op) {
  const plim_op *name = r->c.graph->op;
  return strncmp(name[op].name, "act#", 4) == 0 && strncmp(name[op - 1].name, "conv#", 5) == 0;
}

/* The act of one block of a residual network is made again in front of the gradient that reads it: so it is, after
 * copies, in others, and nothing else is made again. */
Test(alike, what_is_made_again_in_one_block_is_copied_to_others) {
  rig r = {.mover.limit = 0};
  rig_begin(&r, "residual", 300);
  plim_track *t = r.mover.track;
  const plim_problem *p = r.c.problem;
  plim_timeline *timeline = NULL;
  int32_t v = 60, made = 0;
  while (!is_act_of_a_block(&r, v)) v++;
  int32_t reader = p->item[p->op[v].writes.at[0]].readers.at[1];
  (void)plim_track_insert(t, v, 0, t->first[reader]);
  plim_track_keep(t);
  for (int i = 0; i < 200; i++) {
    if (t->n_repeats < 12) made += plim_move_make(&r.mover, PLIM_MOVE_COPY);
    plim_track_keep(t);
  }
  cr_assert(made > 0 && t->n_repeats > 2, "%d made, %d repeats", made, t->n_repeats);
  for (int32_t x = t->head; x >= 0; x = t->run[x].next) {
    if (t->run[x].op_prev < 0) continue;
    int32_t op = t->run[x].op;
    cr_assert(is_act_of_a_block(&r, op), "op %d", op);
    cr_assert(is_read_by(p, op, t->run[t->run[x].next].op), "op %d", op);
  }
  cr_assert_eq(plim_track_store(t, &r.schedule), PLIM_OK);
  cr_assert_eq(plim_timeline_new(p, &timeline), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(timeline, &r.schedule), PLIM_OK, "%s", plim_context_error(r.c.ctx));
  plim_timeline_free(timeline);
  rig_end(&r);
}
