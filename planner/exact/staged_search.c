/* The constraint search of class copies: the least time of a schedule in stages, with a limit on bytes and on copies.
 *
 * Variables are the stages of repeats (moccasin_model.c). A decision moves a bound of a variable. What follows from it
 * is propagated: bytes by moccasin_model.c, time by moccasin_cost.c. A conflict gives a clause (lazy_clauses.c), so
 * that the same mistake is made once. When nothing more follows and the decided repeats keep the limit, they are a
 * schedule: more repeats only cost time. From then on only faster ones are searched. A conflict without a decision ends
 * the search: the best is proved.
 *
 * Decisions, with restarts between them:
 *   BY_BYTES       at the command that is hardest to bring within the limit, the repeat that frees most bytes for its
 *                  time, as late as its reader allows; a little at random
 *   BY_CONFLICTS   the variable of most recent conflicts, at its stage in the best schedule
 *   neighbourhood  most of the best schedule is decided at once, and the rest is searched within few conflicts
 *
 * Clauses hold everywhere, and all searches share them. Sources: Luby, Sinclair, Zuckerman 1993;
 * Moskewicz et al., Chaff, DAC 2001; Shaw, CP 1998. */
#include "planner/exact/moccasin_internal.h"

#include <assert.h>

#include "planner/exact/dag.h"
#include "planner/exact/exact_tuning.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"
#include "runtime/base/random.h"

typedef enum choice_rule { BY_BYTES, BY_CONFLICTS } choice_rule;

typedef struct tree_search {
  plim_staged_search *task; /* the caller's: what is asked for, and the results */
  plim_moccasin_model model;
  plim_moccasin_cost cost;
  plim_random random;
  int32_t *phase;                   /* [variables] value in the best schedule; without one, in the start */
  plim_lazy_clauses_bound *assumed; /* [2 variables] a neighbourhood's decisions */
  int32_t n_assumed;
  int32_t is_phase_within; /* 1: the schedule of `phase` keeps the limit */
  int64_t nodes, conflicts;
  int32_t kept_clauses, stopped;
  double noise;
  choice_rule rule;
} tree_search;

static int may_go_on(tree_search *search) {
  plim_staged_search *task = search->task;
  if (search->nodes >= task->nodes || plim_effort_over(task->dag->ctx, PLIM_EFFORT_LOOK)) search->stopped = 1;
  if (task->deadline_ns < PLIM_TIME_UNLIMITED && plim_now_ns() >= task->deadline_ns) search->stopped = 1;
  if (task->found && task->best_ns <= task->bound_ns) search->stopped = 1;
  return !search->stopped;
}

/* ---- schedules ---- */

static void set_phase(tree_search *search, const plim_repeats *repeats) {
  const plim_moccasin_model *model = &search->model;
  for (int32_t x = 0; x < model->n_variables; x++) search->phase[x] = model->absent[x];
  for (int32_t i = 0; i < repeats->n; i++) {
    int32_t x = model->first[repeats->at[i].node];
    while (x < model->first[repeats->at[i].node + 1] && search->phase[x] < model->absent[x]) x++;
    if (x < model->first[repeats->at[i].node + 1]) search->phase[x] = repeats->at[i].stage;
  }
}

static plim_status keep_best(tree_search *search) {
  plim_staged_search *task = search->task;
  PLIM_TRY(plim_moccasin_repeats(&search->model, &task->best));
  task->best_ns = task->faster_than_ns = task->dag->time_ns + search->cost.present_ns;
  task->found = 1;
  set_phase(search, &task->best);
  search->is_phase_within = 1;
  return task->on_better ? task->on_better(task->user, &task->best) : PLIM_OK;
}

/* ---- decisions ---- */

/* Time of a repeat of u, and half that of what it reads and is not alive at position j. */
static double relief_time(const tree_search *search, int32_t u, int32_t j) {
  const plim_dag_node *node = &search->task->dag->node[u];
  double cost_ns = (double)node->time_ns + 1;
  for (int32_t i = 0; i < node->preds.n; i++) {
    int32_t p = node->preds.at[i];
    if (search->model.covered[p] <= j) {
      cost_ns += exact_tuning.search.input_time * (double)search->task->dag->node[p].time_ns;
    }
  }
  return cost_ns;
}

/* A repeat that may free the bytes of a use at position j; -1: there is none. */
static int32_t repeat_for(const tree_search *search, const plim_moccasin_use *use, int32_t j, int32_t high) {
  const plim_moccasin_model *model = &search->model;
  int32_t low = plim_moccasin_stage_after(&model->position[j], use->node);
  for (int32_t x = model->first[use->node]; x < model->first[use->node + 1]; x++) {
    if (!plim_moccasin_present(model, x) && plim_moccasin_may_run(model, x, low, high)) return x;
  }
  return -1;
}

/* At the row with the least slack, the repeat of least time for the bytes that it frees. */
static plim_lazy_clauses_bound find_relief(tree_search *search) {
  const plim_moccasin_model *model = &search->model;
  const plim_moccasin_row *row = search->cost.row;
  plim_lazy_clauses_bound found = {-1, 0};
  double least = 0;
  for (int32_t r = 1; r < search->cost.n_rows; r++) {
    row = search->cost.row[r].tight > row->tight ? &search->cost.row[r] : row;
  }
  for (int32_t k = 0; k < model->n_uses; k++) {
    const plim_moccasin_use *use = &model->use[k];
    int64_t bytes = model->bytes[use->node];
    if (use->begin > row->position || use->certain_from <= row->position || bytes == 0) continue;
    double worth = relief_time(search, use->node, row->position) / (double)bytes;
    if (search->noise > 0) worth *= 1 + search->noise * plim_random_unit(&search->random);
    if (found.side >= 0 && worth >= least) continue;
    int32_t high = plim_moccasin_stage_before(model, use), x = repeat_for(search, use, row->position, high);
    if (x < 0) continue;
    found = plim_lazy_clauses_at_most(x, high);
    least = worth;
  }
  return found;
}

/* The variable of most recent conflicts, at its value in the best schedule. */
static plim_lazy_clauses_bound find_active(const tree_search *search) {
  const plim_moccasin_model *model = &search->model;
  int32_t best = -1;
  for (int32_t x = 0; x < model->n_variables; x++) {
    double activity = model->clauses.activity[x];
    if (activity <= (best >= 0 ? model->clauses.activity[best] : 0) || plim_moccasin_fixed(model, x)) continue;
    best = x;
  }
  if (best < 0) return (plim_lazy_clauses_bound){-1, 0};
  int32_t stage = search->phase[best], absent = model->absent[best];
  if (stage < plim_lazy_clauses_low(&model->clauses, best)) stage = absent;
  return stage < absent ? plim_lazy_clauses_at_most(best, stage) : plim_lazy_clauses_at_least(best, absent);
}

/* A repeat that must run, but may take several stages: the latest of them. */
static plim_lazy_clauses_bound find_open(const tree_search *search) {
  const plim_moccasin_model *model = &search->model;
  for (int32_t x = 0; x < model->n_variables; x++) {
    if (plim_moccasin_present(model, x) && !plim_moccasin_fixed(model, x)) {
      return plim_lazy_clauses_at_least(x, plim_lazy_clauses_high(&model->clauses, x));
    }
  }
  return (plim_lazy_clauses_bound){-1, 0};
}

/* Make the decisions of a neighbourhood that are not made yet, each on a level of its own. *denied 1: one contradicts.
 */
static plim_status decide_assumed(tree_search *search, int32_t *denied) {
  plim_lazy_clauses *clauses = &search->model.clauses;
  while (clauses->n_levels < search->n_assumed && !*denied) {
    plim_lazy_clauses_bound b = search->assumed[clauses->n_levels];
    *denied = plim_lazy_clauses_denied(clauses, b);
    if (*denied) return PLIM_OK;
    PLIM_TRY(plim_lazy_clauses_open(clauses));
    if (!plim_lazy_clauses_holds(clauses, b)) PLIM_TRY(plim_lazy_clauses_decide(clauses, b));
  }
  return PLIM_OK;
}

static plim_status decide_bound(tree_search *search, plim_lazy_clauses_bound b) {
  PLIM_TRY(plim_lazy_clauses_open(&search->model.clauses));
  return plim_lazy_clauses_decide(&search->model.clauses, b);
}

/* Make a decision, or keep a schedule where none is needed. *over 1: the neighbourhood has no schedule. A repeat that
 * must run runs as late as it can. */
static plim_status decide_next(tree_search *search, int *over) {
  plim_lazy_clauses *clauses = &search->model.clauses;
  plim_lazy_clauses_bound b = {-1, 0};
  if (clauses->n_levels < search->n_assumed) return decide_assumed(search, over);
  b = find_open(search);
  if (b.side >= 0) return decide_bound(search, b);
  if (search->model.decided_peak <= search->model.limit_bytes) return keep_best(search);
  if (search->rule == BY_CONFLICTS) b = find_active(search);
  if (b.side < 0) b = find_relief(search);
  assert(b.side >= 0);
  PLIM_TRY(decide_bound(search, b));
  int32_t x = b.side / 2;
  if (b.side % 2 == 0 || plim_moccasin_fixed(&search->model, x)) return PLIM_OK;
  return decide_bound(search, plim_lazy_clauses_at_least(x, plim_lazy_clauses_high(clauses, x)));
}

/* ---- search ---- */

static plim_status propagate(tree_search *search) {
  const plim_staged_search *task = search->task;
  plim_lazy_clauses *clauses = &search->model.clauses;
  int64_t allowed = task->faster_than_ns == PLIM_TIME_INFINITE
                        ? INT64_MAX / 2
                        : task->faster_than_ns - task->dag->time_ns - task->dag->time_unit;
  do {
    PLIM_TRY(plim_moccasin_propagate(&search->model));
    if (!clauses->has_failed) PLIM_TRY(plim_moccasin_cost_bound(&search->cost, &search->model, allowed));
  } while (!clauses->has_failed && clauses->next < clauses->n_trail);
  return PLIM_OK;
}

/* Search until so many conflicts are met, or the neighbourhood has nothing more (*over), or all is proved. */
static plim_status search_within(tree_search *search, int64_t conflicts, int *over) {
  plim_lazy_clauses *clauses = &search->model.clauses;
  int refuted = 0;
  *over = 0;
  while (conflicts > 0 && !*over && may_go_on(search)) {
    search->nodes++;
    PLIM_TRY(propagate(search));
    if (clauses->has_failed) {
      conflicts--;
      search->conflicts++;
      PLIM_TRY(plim_lazy_clauses_learn(clauses, &refuted));
    } else {
      PLIM_TRY(decide_next(search, over));
    }
    if (refuted) {
      search->task->is_exhausted = search->stopped = 1;
      return PLIM_OK;
    }
  }
  plim_lazy_clauses_back(clauses, 0);
  search->n_assumed = 0;
  return PLIM_OK;
}

/* Between searches: propagate without decisions, and forget clauses where there are too many. */
static plim_status clean_up(tree_search *search) {
  plim_lazy_clauses *clauses = &search->model.clauses;
  int refuted = 0;
  PLIM_TRY(propagate(search));
  if (clauses->has_failed) PLIM_TRY(plim_lazy_clauses_learn(clauses, &refuted));
  if (refuted) search->task->is_exhausted = search->stopped = 1;
  if (refuted || clauses->n_clauses < search->kept_clauses) return PLIM_OK;
  PLIM_TRY(plim_lazy_clauses_forget(clauses, search->kept_clauses / 2));
  search->kept_clauses += search->kept_clauses / exact_tuning.search.clauses_part;
  return PLIM_OK;
}

static plim_status search_tree(tree_search *search, int64_t round) {
  int over;
  search->rule = round % 2 == 1 && (search->is_phase_within || round % 4 == 3) ? BY_CONFLICTS : BY_BYTES;
  search->noise = round == 0 ? 0 : 1;
  PLIM_TRY(clean_up(search));
  return search->stopped
             ? PLIM_OK
             : search_within(search, exact_tuning.search.restart_conflicts * plim_integers_luby(round / 2), &over);
}

static void assume_bound(tree_search *search, plim_lazy_clauses_bound b) {
  search->assumed[search->n_assumed++] = b;
}

/* Decide x as it is in the best schedule. */
static void assume_phase(tree_search *search, int32_t x) {
  if (search->phase[x] < search->model.absent[x]) assume_bound(search, plim_lazy_clauses_at_most(x, search->phase[x]));
  assume_bound(search, plim_lazy_clauses_at_least(x, search->phase[x]));
}

/* Choose a neighbourhood. Free are the repeats of some stages, or some repeats of all stages; everything else is
 * assumed as in the best schedule. */
static void assume_outside(tree_search *search, double width) {
  const plim_moccasin_model *model = &search->model;
  plim_random *random = &search->random;
  int32_t n = model->dag->n, length = 1 + (int32_t)(width * n), low = plim_random_below(random, n) - length / 2;
  int scattered = plim_random_percent(random, exact_tuning.search.scattered_percent);
  int narrow = plim_random_percent(random, exact_tuning.search.narrow_percent);
  int percent = exact_tuning.search.scattered_min + (int)(width * 100);
  search->n_assumed = 0;
  for (int32_t x = 0; x < model->n_variables; x++) {
    int32_t v = model->node_of[x], absent = model->absent[x];
    const plim_ids *readers = &model->dag->node[v].succs;
    int32_t end = readers->n > 0 ? readers->at[readers->n - 1] : v;
    if (search->phase[x] < absent) {
      int inside = search->phase[x] >= low && search->phase[x] < low + length;
      if (scattered ? !plim_random_percent(random, percent) : !inside) assume_phase(search, x);
    } else if (narrow && !scattered && (v >= low + length || end < low)) {
      assume_phase(search, x);
    }
  }
}

static plim_status search_near(tree_search *search, double *width) {
  int over;
  PLIM_TRY(clean_up(search));
  if (search->stopped) return PLIM_OK;
  search->rule =
      plim_random_percent(&search->random, exact_tuning.search.by_conflicts_percent) ? BY_CONFLICTS : BY_BYTES;
  search->noise = 1;
  assume_outside(search, *width * (exact_tuning.search.width_spread + plim_random_unit(&search->random)));
  PLIM_TRY(search_within(search, exact_tuning.search.near_conflicts, &over));
  *width *= over ? exact_tuning.search.wider : exact_tuning.search.narrower;
  if (*width > exact_tuning.search.width_max) *width = exact_tuning.search.width_max;
  if (*width < exact_tuning.search.width_min) *width = exact_tuning.search.width_min;
  return PLIM_OK;
}

/* Search the whole tree and neighbourhoods of the best in turn, with equally many nodes. */
static plim_status alternate(tree_search *search) {
  double width = exact_tuning.search.width_first;
  int64_t near_nodes = 0;
  for (int64_t round = 0; may_go_on(search);) {
    int64_t before = search->nodes;
    if (search->is_phase_within && round > 0 && near_nodes < search->nodes - near_nodes) {
      PLIM_TRY(search_near(search, &width));
      near_nodes += search->nodes - before;
    } else {
      PLIM_TRY(search_tree(search, round++));
    }
  }
  return PLIM_OK;
}

/* Begin from a set of repeats. Where it keeps the limit, it is the best so far; else the search completes it. */
static plim_status begin_from(tree_search *search, const plim_repeats *start) {
  plim_staged_search *task = search->task;
  plim_staged staged;
  int over;
  PLIM_TRY(plim_staged_make(task->dag, &staged));
  plim_status status = plim_staged_evaluate(&staged, start);
  int fits = status == PLIM_OK && staged.peak_bytes <= task->limit_bytes;
  int64_t time_ns = staged.time_ns;
  plim_staged_free(&staged);
  PLIM_TRY(status);
  set_phase(search, start);
  search->is_phase_within = fits;
  if (fits && time_ns < task->faster_than_ns) {
    PLIM_TRY(plim_repeats_copy(&task->best, start));
    task->best_ns = task->faster_than_ns = time_ns;
    task->found = 1;
  }
  if (fits) return PLIM_OK;
  for (int32_t x = 0; x < search->model.n_variables; x++) {
    if (search->phase[x] < search->model.absent[x]) assume_phase(search, x);
  }
  return search_within(search, exact_tuning.search.near_conflicts, &over);
}

plim_status plim_staged_search_run(plim_staged_search *task, const plim_repeats *start) {
  plim_context *ctx = task->dag->ctx;
  tree_search search = {.task = task, .random = {task->seed}, .kept_clauses = exact_tuning.search.clauses_min};
  plim_repeats none = {.ctx = ctx};
  int64_t n = 0;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_moccasin_make(task->dag, task->copies, task->limit_bytes, &search.model));
  n = (int64_t)search.model.n_variables + 1;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *search.phase, &search.phase));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 2 * n, sizeof *search.assumed, &search.assumed));
  PLIM_TRY_OR_DONE(begin_from(&search, start ? start : &none));
  PLIM_TRY_OR_DONE(alternate(&search));
  if (plim_context_cancelled(ctx)) status = plim_fail(ctx, PLIM_ECANCEL, "planning was cancelled");
done:
  plim_release(ctx, search.phase, n, sizeof *search.phase);
  plim_release(ctx, search.assumed, 2 * n, sizeof *search.assumed);
  plim_moccasin_cost_free(ctx, &search.cost);
  plim_moccasin_free(&search.model);
  return status;
}
