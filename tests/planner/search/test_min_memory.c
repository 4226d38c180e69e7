/* planner/search/min_memory.c: the search for fewest bytes where ops are many, and what the search makes of a budget
 * far below that. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/core/evaluation.h"
#include "planner/search/searches.h"
#include "runtime/import/generate.h"
#include "tests/support/planner_case.h"
#include "tests/support/test_seed.h"

enum { OPS = 3100 /* just above what counts as many */ };

typedef struct many {
  planner_case c;
  plim_schedule order;
  plim_incumbent *inc;
  int64_t whole_bytes; /* peak of program order */
} many;

/* The order of keep-all is taken as known: to look for it takes longer than what is tested. */
static void begin(many *m) {
  plim_generate_options generate = plim_generate_options_default("chain");
  plim_plan_options options = plim_plan_options_default();
  plim_context *ctx = NULL;
  plim_graph *graph = NULL;
  generate.n = OPS;
  options.unpacked = 1;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_graph_generate(ctx, &generate, &graph), PLIM_OK);
  *m = (many){.c = planner_case_make(ctx, graph, NULL, &options), .order = {.ctx = ctx}};
  cr_assert_eq(plim_incumbent_begin(m->c.problem, &m->c.options, &m->inc), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(m->c.problem, &m->order), PLIM_OK);
  const plim_timeline *timeline = NULL;
  cr_assert_eq(plim_incumbent_evaluate(m->inc, &m->order, &timeline), PLIM_OK);
  m->whole_bytes = timeline->peak_bytes;
}

static void end(many *m) {
  plim_incumbent_end(m->inc);
  plim_schedule_free(&m->order);
  planner_case_free(&m->c);
}

static void count_annealing(void *user, const plim_progress *progress) {
  *(int *)user += strcmp(progress->stage, "search") == 0;
}

Test(min_memory, many_ops_are_brought_far_down) {
  many m;
  begin(&m);
  m.inc->task.min_memory = 1;
  m.inc->shared.keep_all = &m.order;
  cr_assert_eq(plim_min_memory_run(m.inc), PLIM_OK);
  cr_assert_lt(m.inc->best_bytes, m.whole_bytes / 10, "%lld", (long long)m.inc->best_bytes);
  end(&m);
}

/* Every run `times` over; the copies that nothing reads end at once, so that the peak stays. */
static void lengthen(const plim_problem *p, int32_t times, plim_schedule *s) {
  plim_schedule longer = {.ctx = s->ctx};
  for (int32_t j = 0; j < s->n; j++) {
    int32_t runs = p->op[s->op[j]].runs_once ? 1 : times;
    while (runs-- > 0) cr_assert_eq(plim_schedule_add(&longer, s->op[j], s->choice[j]), PLIM_OK);
  }
  cr_assert_eq(plim_schedule_copy(s, &longer), PLIM_OK);
  plim_schedule_free(&longer);
}

Test(min_memory, a_known_plan_may_be_longer_than_any_of_this_search) {
  planner_case c = planner_case_random(test_seed(21), 30);
  plim_incumbent *inc = NULL;
  plim_schedule known = {.ctx = c.ctx};
  int32_t op;
  cr_assert_eq(plim_incumbent_begin(c.problem, &c.options, &inc), PLIM_OK);
  inc->task.min_memory = 1;
  cr_assert_eq(plim_schedule_program_order(c.problem, &known), PLIM_OK);
  lengthen(c.problem, 64, &known);
  cr_assert_gt(known.n, 20 * c.problem->n_ops);
  cr_assert_eq(plim_incumbent_submit(inc, &known, 4, NULL), PLIM_OK);
  inc->best_bytes = plim_bound_bytes(c.problem, &op) + 1; /* nothing beats it: the last rounds begin there */
  cr_assert_eq(plim_min_memory_run(inc), PLIM_OK, "%s", plim_context_error(c.ctx));
  plim_incumbent_end(inc);
  plim_schedule_free(&known);
  planner_case_free(&c);
}

Test(min_memory, many_ops_far_above_the_budget_are_refused_without_annealing) {
  many m;
  begin(&m);
  int reports = 0;
  m.inc->shared.keep_all = &m.order;
  m.inc->task.budget_bytes = m.whole_bytes / 1000;
  plim_context_set_progress(m.c.ctx, count_annealing, &reports);
  cr_assert_eq(plim_portfolio_run(m.inc, &m.order), PLIM_OK);
  cr_assert_not(m.inc->has_best);
  cr_assert_eq(reports, 0, "%d", reports);
  cr_assert_lt(m.inc->least_bytes, m.whole_bytes / 10, "the refusal has the smallest budget found");
  end(&m);
}
