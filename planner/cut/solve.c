/* Branch and cut. Rows come from flows where the point of the linear program does not fit; nodes are left with the
 * least bound first, each followed down to a solution; every bound that decides anything is a certificate in integers.
 * Costs are divided by their greatest common divisor, so that bounds round up far. */
#include "planner/cut/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/cut/ascent.h"
#include "planner/cut/certificate.h"
#include "planner/cut/lp.h"
#include "planner/cut/rows.h"
#include "planner/cut/tree.h"
#include "runtime/base/array.h"

enum {
  MOST_ROWS = 400,          /* in the program */
  MOST_DICTIONARY = 4000000 /* numbers of it */
};
enum { ROWS_A_ROUND = 32, ROUNDS_AT_ROOT = 200, ROUNDS_A_NODE = 6 };
/* So many columns and the program may not get done with its rows: part of the time is kept for rounding, which then
 * takes many columns at once and is left as it is. */
enum { MANY_COLUMNS = 3000, ROOT_PERCENT = 60 };
/* So many columns and multipliers are raised first without the program, in a share of the effort; it begins with the
 * rows that bind there. */
enum { ASCENT_COLUMNS = 800, ASCENT_PERCENT = 25, ASCENT_PERCENT_OF_MANY = 70 };
enum { ALWAYS_ASKED = 3, SELDOM_ASKED = 16, NODES_A_PROGRAM = 200 };

/* Of the bound for each unit that a column was moved by branching. */
typedef struct gain {
  double sum;
  int32_t n;
} gain;

typedef struct violation {
  double share;
  int32_t cut;
} violation;

struct plim_cut_solver {
  const plim_cut_model *model;
  plim_context *ctx;
  plim_cut_flow *flow;
  plim_lp *lp;
  plim_cut_ascent *ascent; /* while it is at work */
  plim_cut_rows rows;      /* those of the program, in its order */
  int32_t n_columns, n_cuts;
  int64_t unit_ns;
  int64_t *cost; /* [n_columns] in units */
  double scale;  /* units for one of the program's */
  uint8_t *low, *high, *root_low, *root_high;
  double *x, *multiplier, *price, *real_cost; /* real_cost: the cost in units, as a number for the ascent */
  int64_t *scratch, *reduced;
  uint8_t *best, *trial, *fits, *keep_row;
  gain *gains;           /* [n_columns][2] by the value that the column was fixed to */
  violation *violations; /* [n_cuts] */
  int32_t *fitted;       /* [n_cuts] points in a row that did not violate it */
  int32_t passes;
  int32_t *turn; /* [n_cuts] cuts, those that refused a choice lately first */
  plim_cut_tree tree;
  /* of one call */
  int64_t other_work; /* of certificates and nodes */
  int64_t budget_bytes, best_cost, n_done, n_rows;
  int64_t given_up;         /* least bound of nodes that were left without a proof */
  int64_t all_cost, cutoff; /* nodes with bounds from there on are done */
  const plim_cut_limits *limits;
  int32_t impossible;
  int64_t end_work, end_ns; /* where the phase under way ends */
  plim_block block;
};

static void carve(plim_cut_solver *s, plim_block *b, int32_t rows) {
  int64_t n = s->n_columns;
  s->cost = plim_block_take(b, n, sizeof *s->cost);
  s->low = plim_block_take(b, n, 1);
  s->high = plim_block_take(b, n, 1);
  s->root_low = plim_block_take(b, n, 1);
  s->root_high = plim_block_take(b, n, 1);
  s->x = plim_block_take(b, n, sizeof *s->x);
  s->price = plim_block_take(b, n, sizeof *s->price);
  s->real_cost = plim_block_take(b, n, sizeof *s->real_cost);
  s->multiplier = plim_block_take(b, rows, sizeof *s->multiplier);
  s->scratch = plim_block_take(b, n, sizeof *s->scratch);
  s->reduced = plim_block_take(b, n, sizeof *s->reduced);
  s->best = plim_block_take(b, n, 1);
  s->trial = plim_block_take(b, n, 1);
  s->keep_row = plim_block_take(b, rows, 1);
  s->gains = plim_block_take(b, 2 * n, sizeof *s->gains);
  s->fitted = plim_block_take(b, s->model->n_cuts, sizeof *s->fitted);
  s->violations = plim_block_take(b, s->model->n_cuts, sizeof *s->violations);
  s->turn = plim_block_take(b, s->model->n_cuts, sizeof *s->turn);
}

static plim_status make_program(plim_cut_solver *s, int32_t rows) {
  const plim_cut_model *m = s->model;
  int64_t most = 1;
  s->unit_ns = 0;
  for (int32_t j = 0; j < s->n_columns; j++) s->unit_ns = plim_cut_divisor(s->unit_ns, m->cost_ns[j]);
  if (s->unit_ns == 0) s->unit_ns = 1;
  for (int32_t j = 0; j < s->n_columns; j++) {
    s->cost[j] = m->cost_ns[j] / s->unit_ns;
    s->real_cost[j] = (double)s->cost[j];
    if (s->cost[j] > most) most = s->cost[j];
  }
  s->scale = (double)most;
  for (int32_t j = 0; j < s->n_columns; j++) s->x[j] = (double)s->cost[j] / s->scale;
  return plim_lp_new(s->ctx, s->n_columns, s->x, rows, &s->lp);
}

plim_status plim_cut_solver_new(const plim_cut_model *m, plim_cut_solver **out) {
  plim_context *ctx = m->problem->ctx;
  plim_cut_solver *s = NULL;
  plim_status status;
  int32_t rows = MOST_DICTIONARY / (m->n_columns + 1);
  if (rows > MOST_ROWS) rows = MOST_ROWS;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *s, &s));
  *s = (plim_cut_solver){.model = m, .ctx = ctx, .n_columns = m->n_columns, .rows = {.ctx = ctx}, .tree = {.ctx = ctx}};
  carve(s, &s->block, rows);
  PLIM_CHECK(plim_block_allocate(ctx, &s->block));
  carve(s, &s->block, rows);
  PLIM_CHECK(plim_cut_flow_new(m, &s->flow));
  PLIM_CHECK(make_program(s, rows));
  *out = s;
done:
  if (status != PLIM_OK) plim_cut_solver_free(s);
  return status;
}

void plim_cut_solver_free(plim_cut_solver *s) {
  if (!s) return;
  plim_context *ctx = s->ctx;
  plim_cut_flow_free(s->flow);
  plim_lp_free(s->lp);
  plim_cut_rows_free(&s->rows);
  plim_cut_tree_free(&s->tree);
  plim_release(ctx, s->block.base, s->block.base ? s->block.bytes : 0, 1);
  plim_release(ctx, s, 1, sizeof *s);
}

static int64_t work_of(const plim_cut_solver *s) {
  int64_t ascent = s->ascent ? plim_cut_ascent_work(s->ascent) : 0;
  return plim_lp_work(s->lp) + 8 * plim_cut_flow_work(s->flow) + ascent + s->other_work;
}

static int out_of_time(const plim_cut_solver *s) {
  return work_of(s) >= s->end_work || plim_context_cancelled(s->ctx) ||
         (s->end_ns < INT64_MAX && plim_now_ns() >= s->end_ns);
}

static int is_large(const plim_cut_solver *s) {
  return s->n_columns > MANY_COLUMNS;
}

/* Let the phase that begins take so many percent of what is left. */
static void begin_phase(plim_cut_solver *s, int32_t percent) {
  int64_t work = work_of(s), now_ns = plim_now_ns(), deadline_ns = s->limits->deadline_ns;
  s->end_work = work + (s->limits->work - work) / 100 * percent;
  s->end_ns = deadline_ns == INT64_MAX ? INT64_MAX : now_ns + (deadline_ns - now_ns) / 100 * percent;
}

/* ---- rows ---- */

/* Make the program anew with the rows that bind. */
static void sift_rows(plim_cut_solver *s) {
  plim_lp_multipliers(s->lp, 0, s->multiplier);
  for (int32_t r = 0; r < s->rows.n; r++) s->keep_row[r] = s->multiplier[r] > 0;
  plim_cut_rows_sift(&s->rows, s->keep_row);
  plim_lp_clear(s->lp);
  for (int32_t r = 0; r < s->rows.n; r++) plim_lp_add(s->lp, &s->rows.row[r]);
}

static int by_share(const void *a, const void *b) {
  const violation *p = a, *q = b;
  if (p->share < q->share || p->share > q->share) return p->share > q->share ? -1 : 1;
  return (p->cut > q->cut) - (p->cut < q->cut);
}

/* Cuts that have fitted at the last points are seldom asked. */
static int is_due(const plim_cut_solver *s, int32_t c) {
  return s->fitted[c] < ALWAYS_ASKED || (s->passes + c) % SELDOM_ASKED == 0;
}

/* Cuts that x violates by at least `tolerance` of what they have too much: those that are due, or all of them. */
static int32_t find_violations(plim_cut_solver *s, const double *x, double tolerance, int all) {
  int32_t n = 0;
  s->passes++;
  for (int32_t c = 0; c < s->n_cuts; c++) {
    const plim_cut *cut = &s->model->cut[c];
    if (!all && !is_due(s, c)) continue;
    double share = plim_cut_flow_run(s->flow, cut, x, NULL, s->budget_bytes) /
                   (double)(cut->base_bytes + cut->needed_bytes - s->budget_bytes);
    s->fitted[c] = share > tolerance ? 0 : s->fitted[c] + 1;
    if (share > tolerance) s->violations[n++] = (violation){share, c};
  }
  qsort(s->violations, (size_t)n, sizeof *s->violations, by_share);
  return n;
}

/* Add rows of the cuts that x violates most. `all` 0: where a missed one does no harm. *added: how many. */
static plim_status separate(plim_cut_solver *s, const double *x, double tolerance, int all, int32_t *added) {
  int32_t n = find_violations(s, x, tolerance, 0);
  if (n == 0 && all) n = find_violations(s, x, tolerance, 1);
  *added = 0;
  plim_lp_prices(s->lp, s->price);
  for (int32_t k = 0; k < n && k < ROWS_A_ROUND && !s->impossible && !plim_lp_full(s->lp); k++) {
    plim_cut_row row;
    (void)plim_cut_flow_run(s->flow, &s->model->cut[s->violations[k].cut], x, s->price, s->budget_bytes);
    plim_cut_flow_row(s->flow, &row);
    if (row.demand <= 0) continue;
    s->impossible = row.n == 0;
    PLIM_TRY(plim_cut_rows_add(&s->rows, &row));
    plim_lp_add(s->lp, &row);
    s->n_rows++;
    ++*added;
  }
  return PLIM_OK;
}

/* ---- solutions ---- */

static int64_t cost_of(const plim_cut_solver *s, const uint8_t *chosen) {
  int64_t sum = 0;
  for (int32_t j = 0; j < s->n_columns; j++) sum += chosen[j] ? s->cost[j] : 0;
  return sum;
}

static void take_solution(plim_cut_solver *s, const uint8_t *chosen) {
  int64_t cost = cost_of(s, chosen);
  if (cost >= s->best_cost) return;
  memcpy(s->best, chosen, (size_t)s->n_columns);
  s->best_cost = cost;
  if (cost < s->cutoff) s->cutoff = cost;
}

/* Do the collected rows let the choice pass? Much faster than asking the cuts. */
static int rows_hold(const plim_cut_solver *s, const uint8_t *chosen) {
  for (int32_t r = 0; r < s->rows.n; r++) {
    const plim_cut_row *row = &s->rows.row[r];
    int64_t left = row->demand;
    for (int32_t k = 0; k < row->n && left > 0; k++) left -= chosen[row->column[k]] ? row->weight[k] : 0;
    if (left > 0) return 0;
  }
  return 1;
}

/* The first cut in turn that does not fit; its row is there to be asked for. */
static const plim_cut *find_violated(plim_cut_solver *s, const uint8_t *chosen) {
  for (int32_t j = 0; j < s->n_columns; j++) s->x[j] = chosen[j];
  for (int32_t k = 0; k < s->n_cuts; k++) {
    int32_t c = s->turn[k];
    if (plim_cut_flow_run(s->flow, &s->model->cut[c], s->x, NULL, s->budget_bytes) <= 0) continue;
    memmove(&s->turn[1], &s->turn[0], (size_t)k * sizeof *s->turn);
    s->turn[0] = c;
    return &s->model->cut[c];
  }
  return NULL;
}

/* The column of the row, not chosen yet, that gives most for its cost; -1: none. */
static int32_t best_of_row(const plim_cut_solver *s, const plim_cut_row *row, const uint8_t *chosen) {
  int32_t best = -1;
  double best_worth = -1;
  for (int32_t k = 0; k < row->n; k++) {
    double worth = (double)row->weight[k] / ((double)s->cost[row->column[k]] + 1e-3);
    if (chosen[row->column[k]] || worth <= best_worth) continue;
    best = k;
    best_worth = worth;
  }
  return best;
}

/* Add columns, always the one that gives most for its cost, until every cut fits; 0: that cannot be. */
static int repair(plim_cut_solver *s, uint8_t *chosen) {
  while (find_violated(s, chosen)) {
    plim_cut_row row;
    plim_cut_flow_row(s->flow, &row);
    int64_t left = is_large(s) ? row.demand : 1;
    int32_t best = best_of_row(s, &row, chosen);
    if (best < 0 || out_of_time(s)) return 0;
    for (; best >= 0 && left > 0; best = best_of_row(s, &row, chosen)) {
      left -= row.weight[best];
      chosen[row.column[best]] = 1;
    }
  }
  return 1;
}

/* Take away what is not needed, the dearest first, down to those that cost `least`. */
static void reduce(plim_cut_solver *s, uint8_t *chosen, int64_t least) {
  int64_t last = INT64_MAX;
  int32_t last_column = -1;
  for (;;) {
    int32_t best = -1;
    for (int32_t j = 0; j < s->n_columns; j++) {
      int behind = s->cost[j] < last || (s->cost[j] == last && j > last_column);
      if (!chosen[j] || s->cost[j] < least || !behind) continue;
      if (best < 0 || s->cost[j] > s->cost[best]) best = j;
    }
    if (best < 0 || ((least > 0 || is_large(s)) && out_of_time(s))) return;
    last = s->cost[best];
    last_column = best;
    chosen[best] = 0;
    if (!rows_hold(s, chosen) || find_violated(s, chosen)) chosen[best] = 1;
  }
}

/* Round a point, repair, reduce. */
static void round_point(plim_cut_solver *s, const double *x) {
  for (int32_t j = 0; j < s->n_columns; j++) s->trial[j] = x[j] >= 0.5 || s->cost[j] == 0;
  if (!repair(s, s->trial)) return;
  reduce(s, s->trial, 1);
  take_solution(s, s->trial);
}

/* ---- nodes ---- */

static int64_t certify(plim_cut_solver *s, int64_t *reduced) {
  plim_cut_box box = {s->n_columns, s->cost, s->low, s->high};
  plim_lp_multipliers(s->lp, (double)s->cutoff / s->scale, s->multiplier);
  s->other_work += 8 * (int64_t)s->n_columns;
  for (int32_t r = 0; r < s->rows.n; r++) {
    s->multiplier[r] *= s->scale / (double)s->rows.row[r].demand;
    s->other_work += 2 * (int64_t)s->rows.row[r].n;
  }
  return plim_cut_certify(&box, s->rows.n, s->rows.row, s->multiplier, s->scratch, reduced);
}

static double ceiling_of(const plim_cut_solver *s) {
  return ((double)s->cutoff + 0.01) / s->scale;
}

/* What the bound is expected to gain when column j is fixed to `value`: by what it gained before. */
static double expected_gain(const plim_cut_solver *s, int32_t j, int value) {
  const gain *g = &s->gains[2 * j + value];
  double way = value ? 1 - s->x[j] : s->x[j];
  return way * (g->n > 0 ? g->sum / g->n : (double)s->cost[j]) + 1e-3;
}

/* The column to branch on, -1: the point is a choice. */
static int32_t choose_column(const plim_cut_solver *s) {
  int32_t best = -1;
  double best_score = -1;
  for (int32_t j = 0; j < s->n_columns; j++) {
    if (s->x[j] < 1e-6 || s->x[j] > 1 - 1e-6) continue;
    double score = expected_gain(s, j, 0) * expected_gain(s, j, 1);
    if (score <= best_score) continue;
    best_score = score;
    best = j;
  }
  return best;
}

/* Is there a row that the box cannot meet? */
static int box_fails(const plim_cut_solver *s) {
  for (int32_t r = 0; r < s->rows.n; r++) {
    const plim_cut_row *row = &s->rows.row[r];
    int64_t left = row->demand;
    for (int32_t k = 0; k < row->n && left > 0; k++) left -= s->high[row->column[k]] ? row->weight[k] : 0;
    if (left > 0) return 1;
  }
  return 0;
}

/* A node that the program gave up without a proof is left as it is; its bound counts to the end. */
static void give_up(plim_cut_solver *s, int64_t *bound) {
  if (box_fails(s)) {
    *bound = s->all_cost + 1;
  } else if (*bound < s->given_up) {
    s->given_up = *bound;
  }
}

/* Bound the node whose box is set. *branch: the column to branch on, -1: the node is done. */
static plim_status bound_node(plim_cut_solver *s, int32_t rounds, int64_t *bound, int32_t *branch) {
  int32_t added = 0, rebuilt = 0;
  *branch = -1;
  for (int32_t round = 0;; round++) {
    if (plim_lp_full(s->lp)) sift_rows(s);
    plim_lp_end end = plim_lp_solve(s->lp, ceiling_of(s));
    int64_t proven = certify(s, NULL);
    if (proven > *bound) *bound = proven;
    if (*bound >= s->cutoff) return PLIM_OK;
    if (end != PLIM_LP_OPTIMAL && !rebuilt) { /* rounding errors may have added up */
      rebuilt = 1;
      sift_rows(s);
      continue;
    }
    if (end != PLIM_LP_OPTIMAL) {
      give_up(s, bound);
      return PLIM_OK;
    }
    plim_lp_point(s->lp, s->x);
    *branch = choose_column(s);
    if (*branch >= 0 && (round >= rounds || out_of_time(s))) return PLIM_OK;
    if (*branch < 0) {
      for (int32_t j = 0; j < s->n_columns; j++) s->x[j] = s->trial[j] = s->x[j] > 0.5;
    }
    PLIM_TRY(separate(s, s->x, *branch < 0 ? 0 : 1e-6, *branch < 0 || rounds == ROUNDS_AT_ROOT, &added));
    if (s->impossible) return PLIM_OK;
    if (added == 0 && *branch < 0) {
      take_solution(s, s->trial);
      *bound = cost_of(s, s->trial);
    }
    if (added == 0) return PLIM_OK;
  }
}

/* Columns that no solution below the cutoff has otherwise stay as they are in the root's point. */
static void fix_columns(plim_cut_solver *s) {
  int64_t bound = certify(s, s->reduced);
  for (int32_t j = 0; j < s->n_columns; j++) {
    if (s->low[j] == s->high[j] || bound + s->reduced[j] < s->cutoff) continue;
    if (s->scratch[j] > 0) s->high[j] = 0;
    if (s->scratch[j] < 0) s->low[j] = 1;
  }
  memcpy(s->root_low, s->low, (size_t)s->n_columns);
  memcpy(s->root_high, s->high, (size_t)s->n_columns);
}

static void bound_columns(plim_cut_solver *s) {
  for (int32_t j = 0; j < s->n_columns; j++) plim_lp_bound(s->lp, j, s->low[j], s->high[j]);
}

static void set_box(plim_cut_solver *s, int32_t at) {
  if (s->n_done % NODES_A_PROGRAM == NODES_A_PROGRAM - 1) sift_rows(s);
  memcpy(s->low, s->root_low, (size_t)s->n_columns);
  memcpy(s->high, s->root_high, (size_t)s->n_columns);
  for (; at >= 0 && s->tree.node[at].parent >= 0; at = s->tree.node[at].parent) {
    s->low[s->tree.node[at].column] = s->high[s->tree.node[at].column] = s->tree.node[at].value;
  }
  bound_columns(s);
}

/* A node far above the least open bound waits. */
static int may_wait(const plim_cut_solver *s, int64_t bound) {
  if (s->tree.n_open == 0 || s->best_cost == INT64_MAX) return 0;
  int64_t least = plim_cut_tree_least(&s->tree);
  return bound - least > (s->cutoff - least) / 4;
}

/* What fixing the node's column has brought. */
static void learn(plim_cut_solver *s, const plim_cut_node *done, int64_t before) {
  if (done->parent < 0 || done->way < 1e-6 || done->bound >= s->cutoff) return;
  gain *g = &s->gains[2 * done->column + done->value];
  g->sum += (double)(done->bound - before) / done->way;
  g->n++;
}

static plim_status branch_on(plim_cut_solver *s, int32_t at, int32_t column, int32_t *next) {
  double x = s->x[column];
  int32_t brother;
  plim_cut_node one = {at, column, x >= 0.5, s->tree.node[at].bound, x >= 0.5 ? 1 - x : x};
  plim_cut_node other = {at, column, !one.value, one.bound, 1 - one.way};
  PLIM_TRY(plim_cut_tree_add(&s->tree, other, &brother));
  PLIM_TRY(plim_cut_tree_open(&s->tree, brother));
  return plim_cut_tree_add(&s->tree, one, next);
}

/* Follow one node down until it is done; its brothers stay open. */
static plim_status dive(plim_cut_solver *s, int32_t at) {
  for (int32_t depth = 0;; depth++) {
    int32_t column;
    int64_t before = s->tree.node[at].bound;
    if (before >= s->cutoff) return PLIM_OK;
    if (out_of_time(s) || (depth > 0 && may_wait(s, before)))
      return plim_cut_tree_open(&s->tree, at); /* its bound counts */
    set_box(s, at);
    s->n_done++;
    PLIM_TRY(bound_node(s, at == 0 ? ROUNDS_AT_ROOT : ROUNDS_A_NODE, &s->tree.node[at].bound, &column));
    learn(s, &s->tree.node[at], before);
    if (s->impossible || column < 0 || s->tree.node[at].bound >= s->cutoff) return PLIM_OK;
    if (at == 0) {
      begin_phase(s, 100);
      plim_lp_point(s->lp, s->x);
      if (!s->limits->bound_only || !is_large(s)) round_point(s, s->x);
      fix_columns(s);
      plim_lp_point(s->lp, s->x);
    }
    PLIM_TRY(branch_on(s, at, column, &at));
  }
}

static int stop_ascent(void *user) {
  return out_of_time(user);
}

/* What the ascent proves, the rows that bind there for the program, a solution from its point. */
static plim_status use_ascent(plim_cut_solver *s, int64_t *bound) {
  const plim_cut_rows *rows = plim_cut_ascent_rows(s->ascent);
  const double *multiplier = plim_cut_ascent_multipliers(s->ascent);
  plim_cut_box box = {s->n_columns, s->cost, s->root_low, s->root_high};
  int64_t proven = plim_cut_certify(&box, rows->n, rows->row, multiplier, s->scratch, NULL);
  if (proven > *bound) *bound = proven;
  for (int32_t r = 0; r < rows->n && !plim_lp_full(s->lp); r++) {
    if (multiplier[r] <= 0) continue;
    PLIM_TRY(plim_cut_rows_add(&s->rows, &rows->row[r]));
    plim_lp_add(s->lp, &rows->row[r]);
    s->n_rows++;
  }
  if (!s->limits->bound_only) {
    begin_phase(s, 100);
    round_point(s, plim_cut_ascent_point(s->ascent));
  }
  return PLIM_OK;
}

/* *bound: of every solution. */
static plim_status ascend(plim_cut_solver *s, int64_t *bound) {
  plim_status status;
  int32_t impossible = 0;
  if (s->n_columns <= ASCENT_COLUMNS || s->n_cuts == 0) return PLIM_OK;
  begin_phase(s, is_large(s) ? ASCENT_PERCENT_OF_MANY : ASCENT_PERCENT);
  PLIM_TRY(plim_cut_ascent_new(s->model, s->flow, s->real_cost, s->n_cuts, s->budget_bytes, &s->ascent));
  status = plim_cut_ascend(s->ascent, stop_ascent, s, &impossible);
  if (status == PLIM_OK && !impossible) status = use_ascent(s, bound);
  if (impossible) s->impossible = 1;
  s->other_work += plim_cut_ascent_work(s->ascent);
  plim_cut_ascent_free(s->ascent);
  s->ascent = NULL;
  begin_phase(s, is_large(s) && !s->limits->bound_only ? ROOT_PERCENT : 100);
  return status;
}

static void begin(plim_cut_solver *s, int64_t budget_bytes, const plim_cut_limits *limits) {
  const plim_cut_model *m = s->model;
  s->budget_bytes = budget_bytes;
  s->limits = limits;
  s->best_cost = INT64_MAX;
  s->all_cost = 0;
  for (int32_t j = 0; j < s->n_columns; j++) s->all_cost += s->cost[j];
  s->cutoff = s->all_cost + 1;
  int64_t enough = (limits->enough_ns - m->least_ns) / s->unit_ns;
  if (enough < s->all_cost) s->cutoff = enough + ((limits->enough_ns - m->least_ns) % s->unit_ns > 0);
  s->tree.n_nodes = s->tree.n_open = 0;
  s->n_done = s->n_rows = s->impossible = 0;
  s->given_up = INT64_MAX;
  for (s->n_cuts = 0; s->n_cuts < m->n_cuts; s->n_cuts++) {
    const plim_cut *cut = &m->cut[s->n_cuts];
    if (cut->base_bytes + cut->needed_bytes <= budget_bytes) break;
    s->turn[s->n_cuts] = s->n_cuts;
    s->fitted[s->n_cuts] = 0;
  }
  for (int32_t j = 0; j < s->n_columns; j++) {
    s->root_low[j] = s->cost[j] == 0;
    s->root_high[j] = 1;
  }
  memset(s->keep_row, 0, (size_t)(s->rows.n));
  plim_cut_rows_sift(&s->rows, s->keep_row);
  plim_lp_clear(s->lp);
  begin_phase(s, is_large(s) && !limits->bound_only ? ROOT_PERCENT : 100);
}

plim_status plim_cut_solve(plim_cut_solver *s, int64_t budget_bytes, const plim_cut_limits *limits,
                           plim_cut_answer *answer) {
  const plim_cut_model *m = s->model;
  plim_cut_limits own = *limits;
  own.work = work_of(s) + limits->work;
  begin(s, budget_bytes, &own);
  int32_t root;
  PLIM_TRY(plim_cut_tree_add(&s->tree, (plim_cut_node){.parent = -1}, &root));
  PLIM_TRY(ascend(s, &s->tree.node[root].bound));
  PLIM_TRY(plim_cut_tree_open(&s->tree, root));
  while (s->tree.n_open > 0 && !s->impossible && plim_cut_tree_least(&s->tree) < s->cutoff && !out_of_time(s)) {
    PLIM_TRY(dive(s, plim_cut_tree_pop(&s->tree)));
  }
  int64_t bound = s->cutoff;
  if (s->tree.n_open > 0 && plim_cut_tree_least(&s->tree) < bound) bound = plim_cut_tree_least(&s->tree);
  if (s->given_up < bound) bound = s->given_up;
  if (bound > s->all_cost) s->impossible = 1;
  *answer = (plim_cut_answer){.bound_ns = s->impossible ? INT64_MAX : m->least_ns + bound * s->unit_ns,
                              .cost_ns = INT64_MAX,
                              .solution = s->best,
                              .n_nodes = s->n_done,
                              .n_rows = s->n_rows};
  if (s->best_cost < INT64_MAX) {
    reduce(s, s->best, 0);
    answer->cost_ns = m->least_ns + s->best_cost * s->unit_ns;
  }
  return plim_context_cancelled(s->ctx) ? PLIM_ECANCEL : PLIM_OK;
}
