/* The default strategy: decides which ops run again, and in which order. The best plan so far is there at any time.
 *
 * First come plans that need no annealing: keep-all, the cut model's bound and plan, Rotor's and covered schedules, and
 * replays in the arena. Then one or several searchers anneal (planner/search/portfolio.c). Everything found goes to the
 * incumbent, which packs it and keeps the best. */
#include "planner/bound/cut.h"
#include "planner/core/core.h"
#include "planner/search/search_internal.h"
#include "planner/search/searches.h"
#include "planner/strategies/strategies_internal.h"
#include "planner/strategies/strategy.h"
#include "runtime/base/effort.h"

enum { STRONG = 24 /* effort of packing */ };
/* Covering starts graphs of more ops than COVERING_OPS. On 1,000 random ops, annealing from program order ends as low
 * as from a covered schedule; on 2,000 ops its overhead is a sixth higher. COVERING_ROUNDS is a cap: from six
 * rounds on, annealing gains more in the same time. */
enum { COVERING_OPS = 1500, COVERING_ROUNDS = 12, COVERING_PERCENT = 60 /* of the time left */ };
/* A budget is deep from this proved overhead on. Rotor then also runs on a short graph, unless the time limit is less
 * than deep_ns. */
enum { DEEP_PERCENT = 10 };
static const int64_t deep_ns = INT64_C(5000000000);

/* Covering gets a share of the time left: the cut model and Rotor may have used most of the limit. */
static int64_t covering_deadline(const plim_incumbent *inc) {
  int64_t now_ns = plim_now_ns(), end_ns = plim_incumbent_deadline(inc, 100);
  return end_ns == INT64_MAX || end_ns <= now_ns ? end_ns : now_ns + (end_ns - now_ns) / 100 * COVERING_PERCENT;
}

/* Is the overhead proved to be so large that the forward part has to be recomputed, much of it several times over? */
static int is_deep(const plim_incumbent *inc) {
  int64_t keep_ns = inc->problem->keep_all_ns, limit_ns = inc->options->time_limit_ns;
  return inc->bound_ns - keep_ns >= keep_ns / 100 * DEEP_PERCENT && (limit_ns <= 0 || limit_ns >= deep_ns);
}

/* First plans for long graphs and deep budgets, which annealing alone reaches late. Rotor's plan takes a second at most
 * where the graph is a chain. Above COVERING_OPS it replaces `order` where the cut model suggested no start, and
 * covering then lowers what is too high. In shorter graphs Rotor's plan goes to the incumbent alone: annealing runs
 * that begin at the best plan continue from it. */
static plim_status begin_many(plim_incumbent *inc, plim_schedule *order) {
  int32_t n = inc->problem->n_ops;
  int suggested = order->n > n;
  if (inc->found) return PLIM_OK;
  if (n > PLIM_LONG_OPS || is_deep(inc)) PLIM_TRY(plim_rotor_run(inc));
  if (n <= COVERING_OPS) return PLIM_OK;
  if (inc->found && !suggested) PLIM_TRY(plim_schedule_copy(order, &inc->best));
  return plim_seed_covering(inc, inc->budget_bytes, COVERING_ROUNDS, covering_deadline(inc), order);
}

enum { CHEAP_PARTS = 4 };
static const int64_t last_ns = 200000000;

/* In a long graph the cut model and Rotor may use up a short time limit. Chen's rules make a plan in a fraction of it.
 * It is kept in an incumbent of its own, because it is a poor start. Where the time is over already, it is the answer.
 */
static plim_status plan_cheaply(const plim_incumbent *inc, plim_incumbent **cheap) {
  if (inc->found || inc->options->time_limit_ns <= 0) return PLIM_OK;
  if (inc->problem->n_ops <= PLIM_LONG_OPS && !plim_incumbent_over(inc)) return PLIM_OK;
  const plim_child how = {.time_limit_ns = plim_incumbent_part_ns(inc, CHEAP_PARTS)};
  PLIM_TRY(plim_incumbent_child(inc, &how, cheap));
  plim_context *ctx = inc->problem->ctx;
  int64_t outer_ns = plim_effort_begin_last(ctx, plim_now_ns() + last_ns);
  plim_status status = plim_effort_end(ctx, outer_ns, plim_chen_sqrt_run(*cheap));
  if (status != PLIM_OK) return status;
  outer_ns = plim_effort_begin(ctx, plim_incumbent_deadline(*cheap, 100));
  return plim_effort_end(ctx, outer_ns, plim_chen_greedy_run(*cheap));
}

plim_status plim_search_run(plim_incumbent *inc) {
  const plim_problem *p = inc->problem;
  plim_incumbent *cheap = NULL;
  plim_schedule order = {.ctx = p->ctx};
  plim_status status;
  int32_t op;
  PLIM_TRY(plim_keep_all_run(inc));
  if (inc->found && inc->best_ns <= inc->bound_ns) return PLIM_OK;
  if (inc->budget_bytes < plim_bound_bytes(p, &op)) return PLIM_OK;
  PLIM_CHECK(plan_cheaply(inc, &cheap));
  PLIM_CHECK(plim_incumbent_program_order(inc, inc->budget_bytes, &order));
  PLIM_CHECK(plim_cut_begin(inc, plim_cut_search_work(inc), plim_incumbent_deadline(inc, PLIM_CUT_PERCENT), &order));
  if (inc->bound_ns == INT64_MAX || (inc->found && inc->best_ns <= inc->bound_ns)) goto done;
  PLIM_CHECK(begin_many(inc, &order));
  PLIM_CHECK(plim_seed_replay(inc, STRONG, &order));
  PLIM_CHECK(plim_portfolio_run(inc, &order));
done:
  plim_schedule_free(&order);
  return plim_incumbent_join(inc, cheap, status);
}
