/* The anytime search: what is known without searching first (keep-all, the cut model and its plan, replays of the
 * arena), then annealing by one searcher or several. */
#include "planner/bound.h"
#include "planner/cut/cut.h"
#include "planner/planning.h"
#include "planner/search/portfolio.h"
#include "planner/search/seed_replay.h"

enum { STRONG = 24 /* effort of packing */, MANY_OPS = 3000 };

/* Effort of the cut model: about a tenth of a second, more where a single look at all cuts takes as long, or up to a
 * quarter of the time. */
static int64_t cut_work(const plim_planning *pl) {
  enum { LEAST_WORK = 300000000, WORK_AN_OP = 300000 };
  if (pl->options->time_limit_ns > 0) return pl->options->time_limit_ns / 4;
  int64_t work = WORK_AN_OP * (int64_t)pl->problem->n_ops;
  return work > LEAST_WORK ? work : LEAST_WORK;
}

/* Of many ops an annealer takes long to come near a deep budget. A chain of stages meets it at once where the graph is
 * one; it is the start where the cut model suggests none. */
static plim_status begin_many(plim_planning *pl, plim_schedule *order) {
  if (pl->problem->n_ops <= MANY_OPS || pl->found) return PLIM_OK;
  PLIM_TRY(plim_rotor_run(pl));
  int suggested = order->n > pl->problem->n_ops;
  return pl->found && !suggested ? plim_schedule_copy(order, &pl->best) : PLIM_OK;
}

plim_status plim_search_run(plim_planning *pl) {
  const plim_problem *p = pl->problem;
  plim_schedule order = {.ctx = p->ctx};
  plim_status status;
  int32_t op;
  PLIM_TRY(plim_keep_all_run(pl));
  if (pl->found && pl->best_ns <= pl->bound_ns) return PLIM_OK;
  if (pl->budget_bytes < plim_bound_bytes(p, &op)) return PLIM_OK;
  PLIM_CHECK(plim_schedule_program_order(p, &order));
  PLIM_CHECK(plim_cut_begin(pl, cut_work(pl), &order));
  if (pl->bound_ns == INT64_MAX || (pl->found && pl->best_ns <= pl->bound_ns)) goto done;
  PLIM_CHECK(begin_many(pl, &order));
  PLIM_CHECK(plim_seed_replay(pl, STRONG, &order));
  PLIM_CHECK(plim_portfolio_run(pl, &order));
done:
  plim_schedule_free(&order);
  return status;
}
