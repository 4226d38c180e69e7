/* The table of strategies: what plim_plan_options.planner may name, in the order in which help lists it. The first row
 * is the default. */
#include "planner/strategies/strategy.h"

#include <assert.h>

#include "planner/search/searches.h"
#include "runtime/base/name.h"

/* Options that change what a strategy does. */
enum {
  TIME = 1U << PLIM_EFFORT_TIME,
  MOVES = 1U << PLIM_EFFORT_ITERATIONS,
  THREADS = 1U << PLIM_EFFORT_THREADS,
  COPIES = 1U << PLIM_EFFORT_COPIES
};

static const plim_strategy strategies[] = {
    {"search", "annealing over sequences with repeats, order free, packing in the loop", PLIM_CLASS_FREE,
     TIME | MOVES | THREADS, plim_search_run, plim_min_memory_run, plim_portfolio_improve},
    {"keep-all", "every op once, fastest variants; the order of the smallest arena", PLIM_CLASS_FREE, TIME,
     plim_keep_all_run, plim_keep_all_run, NULL},
    {"sqrt", "Chen et al. 2016: every sqrt(n)-th checkpoint", PLIM_CLASS_FIXED, TIME, plim_chen_sqrt_run,
     plim_chen_sqrt_run, NULL},
    {"greedy", "Chen et al. 2016: checkpoints by bytes, swept over the threshold", PLIM_CLASS_FIXED, TIME,
     plim_chen_greedy_run, plim_chen_greedy_run, NULL},
    {"rotor", "Beaumont et al. 2019: heterogeneous chains, over stages with several options", PLIM_CLASS_FIXED, TIME,
     plim_rotor_run, plim_rotor_run, NULL},
    {"moccasin", "Bartan et al. 2023: retention intervals, each op computed at most `copies` times", PLIM_CLASS_COPIES,
     TIME | MOVES | THREADS | COPIES, plim_moccasin_run, plim_moccasin_min_memory_run, NULL},
    {"cut", "least time of what must be computed twice to pass every op; a bound, and plans from it", PLIM_CLASS_FREE,
     TIME | MOVES, plim_cut_run, plim_min_memory_run, NULL},
    {"milp", "Jain et al. 2020 (Checkmate): stages by integer programming; runs until it is proved or stopped",
     PLIM_CLASS_STAGES, TIME | MOVES | THREADS, plim_milp_run, plim_stage_min_memory_run, NULL},
    {"lp-round", "Jain et al. 2020 (Checkmate): stages by rounding the linear relaxation", PLIM_CLASS_STAGES,
     TIME | MOVES | THREADS, plim_lp_round_run, plim_stage_min_memory_run, NULL},
};
enum { STRATEGIES = sizeof strategies / sizeof strategies[0] };

/* Rows of the program, after those above. */
static const plim_strategy *added;
static int32_t n_added;

void plim_strategies_add(const plim_strategy *rows, int32_t n) {
  added = rows;
  n_added = n;
}

static const plim_strategy *row_at(int32_t row) {
  if (row < 0 || row >= STRATEGIES + n_added) return NULL;
  return row < STRATEGIES ? &strategies[row] : &added[row - STRATEGIES];
}

const char *plim_planner_name(int32_t row) {
  return row_at(row) ? row_at(row)->name : NULL;
}

const char *plim_planner_source(int32_t row) {
  return row_at(row) ? row_at(row)->source : NULL;
}

int plim_planner_obeys(int32_t row, plim_plan_effort effort) {
  return row_at(row) && (row_at(row)->obeys >> effort & 1U);
}

plim_status plim_strategy_find(plim_context *ctx, const char *name, const plim_strategy **out) {
  char advice[PLIM_NAME_ADVICE_BYTES];
  int32_t row = name ? plim_name_find(plim_planner_name, name) : 0;
  const plim_strategy *found = row < 0 ? NULL : row_at(row);
  if (!found) {
    return plim_fail(ctx, PLIM_EUSAGE, "no planner is called \"%s\"%s", name,
                     plim_name_advice(plim_planner_name, name, advice));
  }
  *out = found;
  return PLIM_OK;
}

static plim_status class_of(plim_context *ctx, const plim_strategy *strategy, plim_plan_order order,
                            plim_plan_class *out) {
  if (strategy->plan_class != PLIM_CLASS_FREE && order == PLIM_ORDER_FREE) {
    return plim_fail(ctx, PLIM_EUSAGE, "\"%s\" makes plans of class %s only: its order is not free", strategy->name,
                     plim_plan_class_name(strategy->plan_class));
  }
  *out = order == PLIM_ORDER_FIXED && strategy->plan_class == PLIM_CLASS_FREE ? PLIM_CLASS_FIXED : strategy->plan_class;
  return PLIM_OK;
}

plim_status plim_strategy_begin(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                const plim_plan_options *options, plim_strategy_call *out) {
  plim_strategy_call call = {.options = options};
  plim_plan_class plan_class = PLIM_CLASS_FREE;
  PLIM_TRY(plim_strategy_find(ctx, options->planner, &call.strategy));
  assert(call.strategy);
  PLIM_TRY(class_of(ctx, call.strategy, options->order, &plan_class));
  PLIM_TRY(plim_problem_make(ctx, graph, profile, options, plan_class, &call.problem));
  *out = call;
  return PLIM_OK;
}

void plim_strategy_end(plim_strategy_call *call) {
  plim_problem_free(call->problem);
  *call = (plim_strategy_call){0};
}
