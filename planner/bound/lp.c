/* The bounded dual simplex method on a dense dictionary.
 *
 * The dictionary writes each basic variable, and the objective, as a constant plus a combination of the nonbasic ones:
 * one dense line each. The slack of a row is a variable >= 0. Invariant: a nonbasic variable with positive reduced cost
 * is at its lower bound, with negative at its upper one. So the objective is a bound at any time. The line farthest
 * outside its bounds leaves the basis. The ratio test lets columns go to their other bound, as long as the line stays
 * outside (long steps). Lines have entries only for columns that some row has; the others keep their cheaper bound.
 * Source: Koberstein, "Progress in the dual simplex algorithm", 2008. */
#include "planner/bound/lp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/bound/bound_tuning.h"
#include "runtime/base/array.h"
#include "runtime/base/integers.h"

typedef struct candidate {
  double ratio;
  int32_t at;
} candidate;

struct plim_lp {
  plim_context *ctx;
  int32_t n, capacity, m; /* columns, rows at most, rows */
  int32_t entries;        /* of a line: nonbasic variables; as many as there are columns in rows */
  double *cost;           /* [n] */
  double *low, *high;     /* [n + capacity] by variable: columns, then slacks */
  double *line;           /* [capacity][n] */
  double *constant;       /* [capacity] of a line */
  double *reduced;        /* [n] line of the objective */
  int32_t *basic;         /* [capacity] variable of a line */
  int32_t *nonbasic;      /* [n] variable of an entry */
  int32_t *where;         /* [n + capacity] line (>= 0) or -1 - entry; NOWHERE: a column that no row has */
  double *value;          /* [n + capacity] */
  double *length;         /* [capacity] squared, of a line */
  candidate *candidates;
  int64_t work;
  /* why there is no solution: the line that cannot be brought back, by how much, and whether it is too low */
  int32_t stuck_line, stuck_low;
  double stuck_by;
  plim_block block;
};

enum { NOWHERE = INT32_MIN };

static void lay_out(plim_lp *lp, plim_block *memory) {
  int64_t n = lp->n, capacity = lp->capacity;
  lp->cost = plim_block_take(memory, n, sizeof *lp->cost);
  lp->low = plim_block_take(memory, n + capacity, sizeof *lp->low);
  lp->high = plim_block_take(memory, n + capacity, sizeof *lp->high);
  lp->line = plim_block_take(memory, capacity * n, sizeof *lp->line);
  lp->constant = plim_block_take(memory, capacity, sizeof *lp->constant);
  lp->reduced = plim_block_take(memory, n, sizeof *lp->reduced);
  lp->basic = plim_block_take(memory, capacity, sizeof *lp->basic);
  lp->nonbasic = plim_block_take(memory, n, sizeof *lp->nonbasic);
  lp->where = plim_block_take(memory, n + capacity, sizeof *lp->where);
  lp->length = plim_block_take(memory, capacity, sizeof *lp->length);
  lp->value = plim_block_take(memory, n + capacity, sizeof *lp->value);
  lp->candidates = plim_block_take(memory, n, sizeof *lp->candidates);
}

plim_status plim_lp_new(plim_context *ctx, int32_t n_columns, const double *cost, int32_t capacity, plim_lp **out) {
  plim_lp *lp = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *lp, &lp));
  *lp = (plim_lp){.ctx = ctx, .n = n_columns, .capacity = capacity};
  lay_out(lp, &lp->block);
  plim_status status = plim_block_allocate(ctx, &lp->block);
  if (status != PLIM_OK) {
    plim_release(ctx, lp, 1, sizeof *lp);
    return status;
  }
  lay_out(lp, &lp->block);
  for (int32_t j = 0; j < n_columns; j++) {
    lp->cost[j] = cost[j];
    lp->high[j] = 1;
  }
  plim_lp_clear(lp);
  *out = lp;
  return PLIM_OK;
}

void plim_lp_free(plim_lp *lp) {
  if (!lp) return;
  plim_context *ctx = lp->ctx;
  plim_block_release(ctx, &lp->block);
  plim_release(ctx, lp, 1, sizeof *lp);
}

int plim_lp_full(const plim_lp *lp) {
  return lp->m == lp->capacity;
}

int64_t plim_lp_work(const plim_lp *lp) {
  return lp->work;
}

static double *line_of(const plim_lp *lp, int32_t r) {
  return &lp->line[(int64_t)r * lp->n];
}

void plim_lp_clear(plim_lp *lp) {
  lp->m = lp->entries = 0;
  for (int32_t j = 0; j < lp->n; j++) {
    lp->where[j] = NOWHERE;
    lp->value[j] = lp->low[j];
  }
}

/* Length of a line, against which its distance from a bound is measured. */
static void measure_line(plim_lp *lp, int32_t r) {
  const double *line = line_of(lp, r);
  double sum = 1;
  for (int32_t k = 0; k < lp->entries; k++) sum += line[k] * line[k];
  lp->length[r] = sum;
}

/* A column's first row: an entry for it. */
static void enter(plim_lp *lp, int32_t column) {
  int32_t entry = lp->entries++;
  for (int32_t r = 0; r < lp->m; r++) line_of(lp, r)[entry] = 0;
  lp->nonbasic[entry] = column;
  lp->where[column] = -1 - entry;
  lp->reduced[entry] = lp->cost[column];
}

/* Weights are divided by the demand: lines of like size. */
void plim_lp_add(plim_lp *lp, const plim_cut_row *row) {
  for (int32_t k = 0; k < row->n; k++) {
    if (lp->where[row->column[k]] == NOWHERE) enter(lp, row->column[k]);
  }
  int32_t r = lp->m++, slack = lp->n + r;
  double *to = line_of(lp, r), value = 0, constant = -1;
  memset(to, 0, (size_t)lp->entries * sizeof *to);
  for (int32_t k = 0; k < row->n; k++) {
    double weight = (double)row->weight[k] / (double)row->demand;
    int32_t where = lp->where[row->column[k]];
    if (where < 0) {
      to[-1 - where] += weight;
      continue;
    }
    const double *from = line_of(lp, where);
    for (int32_t j = 0; j < lp->entries; j++) to[j] += weight * from[j];
    constant += weight * lp->constant[where];
  }
  for (int32_t j = 0; j < lp->entries; j++) value += to[j] * lp->value[lp->nonbasic[j]];
  lp->basic[r] = slack;
  lp->where[slack] = r;
  lp->low[slack] = 0;
  lp->high[slack] = INFINITY;
  lp->constant[r] = constant;
  lp->value[slack] = value + constant;
  measure_line(lp, r);
}

/* A nonbasic variable goes to another value. */
static void move_nonbasic(plim_lp *lp, int32_t entry, double to) {
  double change = to - lp->value[lp->nonbasic[entry]];
  if (change == 0) return;
  for (int32_t r = 0; r < lp->m; r++) lp->value[lp->basic[r]] += change * line_of(lp, r)[entry];
  lp->value[lp->nonbasic[entry]] = to;
}

/* Put a nonbasic variable where its reduced cost wants it. */
static void settle_nonbasic(plim_lp *lp, int32_t entry) {
  int32_t variable = lp->nonbasic[entry];
  int up = lp->reduced[entry] < -bound_tuning.lp.zero ||
           (lp->reduced[entry] < bound_tuning.lp.zero && lp->value[variable] > lp->low[variable]);
  move_nonbasic(lp, entry, up && isfinite(lp->high[variable]) ? lp->high[variable] : lp->low[variable]);
}

void plim_lp_bound(plim_lp *lp, int32_t column, double low, double high) {
  if (lp->low[column] == low && lp->high[column] == high) return;
  lp->low[column] = low;
  lp->high[column] = high;
  if (lp->where[column] == NOWHERE) {
    lp->value[column] = low;
  } else if (lp->where[column] < 0) {
    settle_nonbasic(lp, -1 - lp->where[column]);
  }
}

/* By how much a line is outside its bounds: negative below, positive above. */
static double bound_violation(const plim_lp *lp, int32_t r) {
  int32_t variable = lp->basic[r];
  if (lp->value[variable] < lp->low[variable] - bound_tuning.lp.tight) return lp->value[variable] - lp->low[variable];
  if (lp->value[variable] > lp->high[variable] + bound_tuning.lp.tight) return lp->value[variable] - lp->high[variable];
  return 0;
}

static int by_ratio(const void *a, const void *b) {
  const candidate *p = a, *q = b;
  if (p->ratio < q->ratio || p->ratio > q->ratio) return p->ratio < q->ratio ? -1 : 1;
  return plim_integers_compare(p->at, q->at);
}

/* The entry that enters for line r; entries on the way jump to their other bound. -1: none, the program is infeasible.
 * An entry helps when moving it off its bound brings the line back. */
static int32_t choose_entry(plim_lp *lp, int32_t r, double miss) {
  const double *line = line_of(lp, r);
  int32_t n = 0;
  for (int32_t j = 0; j < lp->entries; j++) {
    int32_t variable = lp->nonbasic[j];
    double pull = miss < 0 ? line[j] : -line[j];
    if (fabs(pull) < bound_tuning.lp.zero || lp->low[variable] == lp->high[variable]) continue;
    int at_high = lp->value[variable] > lp->low[variable];
    if (at_high ? pull > 0 : pull < 0) continue;
    lp->candidates[n++] = (candidate){fabs(lp->reduced[j]) / fabs(pull), j};
  }
  qsort(lp->candidates, (size_t)n, sizeof *lp->candidates, by_ratio);
  double left = fabs(miss);
  int32_t k = 0;
  for (; k < n; k++) {
    int32_t j = lp->candidates[k].at, variable = lp->nonbasic[j];
    left -= fabs(line[j]) * (lp->high[variable] - lp->low[variable]);
    if (left <= bound_tuning.lp.tight) break; /* all of it may be just enough */
  }
  if (k == n) {
    lp->stuck_line = r;
    lp->stuck_low = miss < 0;
    lp->stuck_by = left;
    return -1;
  }
  /* among nearly equal ratios the largest pivot is the safest */
  int32_t best = k;
  for (int32_t i = k; i > 0 && lp->candidates[i - 1].ratio > lp->candidates[k].ratio - bound_tuning.lp.zero; i--) {
    if (fabs(line[lp->candidates[i - 1].at]) > fabs(line[lp->candidates[best].at])) best = i - 1;
  }
  for (int32_t i = 0; i < k; i++) {
    int32_t j = lp->candidates[i].at, variable = lp->nonbasic[j];
    if (i == best) continue;
    move_nonbasic(lp, j, lp->value[variable] > lp->low[variable] ? lp->low[variable] : lp->high[variable]);
  }
  return lp->candidates[best].at;
}

/* Entry j and line r change places. */
static void pivot(plim_lp *lp, int32_t r, int32_t j) {
  int32_t n = lp->entries, leaves = lp->basic[r], enters = lp->nonbasic[j];
  double *line = line_of(lp, r), at = line[j];
  double target = lp->value[leaves] < lp->low[leaves] ? lp->low[leaves] : lp->high[leaves];
  move_nonbasic(lp, j, lp->value[enters] + (target - lp->value[leaves]) / at);
  lp->value[leaves] = target;
  for (int32_t k = 0; k < n; k++) line[k] = -line[k] / at;
  line[j] = 1 / at;
  lp->constant[r] = -lp->constant[r] / at;
  for (int32_t i = 0; i <= lp->m; i++) {
    double *other = i < lp->m ? line_of(lp, i) : lp->reduced, share = other[j];
    if (i == r || share == 0) continue;
    for (int32_t k = 0; k < n; k++) other[k] += share * line[k];
    other[j] = share * line[j];
    if (i == lp->m) continue;
    lp->constant[i] += share * lp->constant[r];
    measure_line(lp, i);
  }
  measure_line(lp, r);
  lp->basic[r] = enters;
  lp->nonbasic[j] = leaves;
  lp->where[enters] = r;
  lp->where[leaves] = -1 - j;
  lp->work += (int64_t)(lp->m + 1) * n;
}

plim_lp_end plim_lp_solve(plim_lp *lp, double ceiling, int64_t work_limit) {
  int32_t max_pivots = bound_tuning.program.pivots + bound_tuning.program.pivots_an_entry * (lp->m + lp->entries);
  int64_t end_work = work_limit < INT64_MAX - lp->work ? lp->work + work_limit : INT64_MAX;
  lp->stuck_line = -1;
  for (int32_t round = 0; round < max_pivots && lp->work < end_work; round++) {
    int32_t worst = -1;
    double miss = 0, most_far = 0;
    for (int32_t r = 0; r < lp->m; r++) {
      double out = bound_violation(lp, r), far = out * out / lp->length[r];
      if (far > most_far) {
        miss = out;
        worst = r;
        most_far = far;
      }
    }
    if (worst < 0 || plim_lp_objective(lp) > ceiling) return PLIM_LP_OPTIMAL;
    int32_t entry = choose_entry(lp, worst, miss);
    if (entry < 0) return PLIM_LP_INFEASIBLE;
    pivot(lp, worst, entry);
  }
  return PLIM_LP_TIRED;
}

double plim_lp_objective(const plim_lp *lp) {
  double sum = 0;
  for (int32_t j = 0; j < lp->n; j++) sum += lp->cost[j] * lp->value[j];
  return sum;
}

void plim_lp_point(const plim_lp *lp, double *x) {
  for (int32_t j = 0; j < lp->n; j++) x[j] = lp->value[j] < 0 ? 0 : lp->value[j] > 1 ? 1 : lp->value[j];
}

/* A line that stays outside its bounds whatever the columns do is a combination of rows that nothing satisfies: so much
 * of it is added that the value passes the ceiling. */
void plim_lp_multipliers(const plim_lp *lp, double ceiling, double *multiplier) {
  int stuck = lp->stuck_line >= 0;
  const double *line = stuck ? line_of(lp, lp->stuck_line) : NULL;
  double much = stuck ? 2 * (fabs(ceiling) + fabs(plim_lp_objective(lp))) / lp->stuck_by : 0;
  memset(multiplier, 0, (size_t)lp->m * sizeof *multiplier);
  for (int32_t j = 0; j < lp->entries; j++) {
    int32_t row = lp->nonbasic[j] - lp->n;
    if (row < 0) continue;
    double sum = lp->reduced[j] + (stuck ? much * (lp->stuck_low ? -line[j] : line[j]) : 0);
    if (sum > 0) multiplier[row] = sum;
  }
  if (stuck && lp->basic[lp->stuck_line] >= lp->n) multiplier[lp->basic[lp->stuck_line] - lp->n] += much;
}

void plim_lp_prices(const plim_lp *lp, double *price) {
  for (int32_t j = 0; j < lp->n; j++) {
    int32_t where = lp->where[j];
    price[j] = where == NOWHERE ? lp->cost[j] : where < 0 ? lp->reduced[-1 - where] : 0;
  }
}
