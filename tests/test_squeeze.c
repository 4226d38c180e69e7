/* The search for fewest bytes where ops are many, and what the search makes of a budget far below that. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/planning.h"
#include "planner/search/portfolio.h"
#include "runtime/graph/generate.h"
#include "tests/support/planner_case.h"

enum { OPS = 3100 /* just above what counts as many */ };

typedef struct many {
  planner_case c;
  plim_schedule order;
  plim_planning *pl;
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
  cr_assert_eq(plim_planning_begin(m->c.problem, &m->c.options, &m->pl), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(m->c.problem, &m->order), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(m->pl->timeline, &m->order), PLIM_OK);
  m->whole_bytes = m->pl->timeline->peak_bytes;
}

static void end(many *m) {
  plim_planning_end(m->pl);
  plim_schedule_free(&m->order);
  planner_case_free(&m->c);
}

static void count_cooling(void *user, const plim_progress *progress) {
  *(int *)user += strcmp(progress->stage, "search") == 0;
}

Test(squeeze, many_ops_are_brought_far_down) {
  many m;
  begin(&m);
  m.pl->lowest = 1;
  m.pl->keep_all = &m.order;
  cr_assert_eq(plim_squeeze_run(m.pl), PLIM_OK);
  cr_assert_lt(m.pl->best_bytes, m.whole_bytes / 10, "%lld", (long long)m.pl->best_bytes);
  end(&m);
}

Test(squeeze, many_ops_far_above_the_budget_are_refused_without_annealing) {
  many m;
  begin(&m);
  int reports = 0;
  m.pl->keep_all = &m.order;
  m.pl->budget_bytes = m.whole_bytes / 1000;
  plim_context_set_progress(m.c.ctx, count_cooling, &reports);
  cr_assert_eq(plim_portfolio_run(m.pl, &m.order), PLIM_OK);
  cr_assert_not(m.pl->found);
  cr_assert_eq(reports, 0, "%d", reports);
  cr_assert_lt(m.pl->least_bytes, m.whole_bytes / 10, "the refusal has the smallest budget found");
  end(&m);
}
