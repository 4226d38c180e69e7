/* A fine sweep of budgets: where does more memory fail, or cost more, than less? Online policies do; plans from one
 * curve do not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plimsoll-bench/bench_online.h"

enum { SHARE = 48, MOST_POINTS = 100000 };

/* Budgets from `low` to `high` in thousandths of a percent, `step` apart. */
typedef struct shares {
  int64_t low, high, step;
} shares;

typedef struct sweep {
  const plim_simulation *sim;
  const char *by;
  int32_t n, done; /* results [done]: fewer than n after Ctrl-C */
  int64_t *budget; /* [n] */
  plim_simulated *result;
  const shares *range;
} sweep;

static int read_share(const char **text, int64_t *thousandths) {
  char *end = NULL;
  double x = strtod(*text, &end);
  if (end == *text || *end != '%' || !(x > 0 && x <= 100)) return 0;
  *thousandths = (int64_t)(x * 1000 + 0.5);
  *text = end + 1;
  return 1;
}

/* "9%:16%:0.2%" */
static plim_status read_range(plim_context *ctx, const char *text, shares *out) {
  const char *at = text;
  int right = read_share(&at, &out->low) && *at++ == ':' && read_share(&at, &out->high) && *at++ == ':' &&
              read_share(&at, &out->step) && *at == 0;
  if (right && out->low <= out->high && out->step > 0 && (out->high - out->low) / out->step < MOST_POINTS) {
    return PLIM_OK;
  }
  return plim_fail(ctx, PLIM_EUSAGE, "--sweep %s is not FROM%%:TO%%:STEP%%, as in 9%%:16%%:0.2%%", text);
}

static const char *share_at(const sweep *w, int32_t i, char *text) {
  int64_t thousandths = w->range->low + i * w->range->step;
  (void)snprintf(text, SHARE, "%lld.%03lld%%", (long long)(thousandths / 1000), (long long)(thousandths % 1000));
  return text;
}

/* After Ctrl-C a budget without a plan is one that was not tried: what follows is no result. */
static plim_status run_curve(const session *s, sweep *w, const plim_plan_options *planning) {
  PLIM_TRY(plim_simulation_sweep(w->sim, planning, w->n, w->budget, w->result));
  w->done = w->n;
  plim_status status = bench_go_on(s);
  while (status != PLIM_OK && w->done > 0 && !w->result[w->done - 1].plan) w->done--;
  return status;
}

static plim_status run_points(session *s, sweep *w) {
  const plim_policy *policy = plim_policy_find(w->by);
  plim_plan_options planning = bench_planning(s, w->by);
  char share[SHARE];
  for (int32_t i = 0; i < w->n; i++) {
    PLIM_TRY(plim_simulation_budget(w->sim, share_at(w, i, share), PLIM_SIMULATE_ARENA, &w->budget[i]));
  }
  if (!policy) {
    planning.time_limit_ns *= w->n; /* a curve shares it out */
    return run_curve(s, w, &planning);
  }
  plim_simulate_options wanted = plim_simulate_options_default();
  wanted.policy = policy;
  wanted.addresses = PLIM_SIMULATE_ARENA;
  for (int32_t i = 0; i < w->n; i++) {
    wanted.budget_bytes = w->budget[i];
    PLIM_TRY(plim_simulate(w->sim, &wanted, &w->result[i]));
    w->done = i + 1;
    PLIM_TRY(bench_go_on(s));
  }
  return PLIM_OK;
}

/* The cheapest result below point i that ended; -1: none did. */
static int32_t best_below(const sweep *w, int32_t i) {
  int32_t best = -1;
  for (int32_t k = 0; k < i; k++) {
    const plim_simulated *r = &w->result[k];
    if (r->end != PLIM_ONLINE_OK) continue;
    if (best < 0 || r->overhead_percent < w->result[best].overhead_percent) best = k;
  }
  return best;
}

static const char *inversion_at(const sweep *w, int32_t i) {
  int32_t below = best_below(w, i);
  if (below < 0) return NULL;
  if (w->result[i].end != PLIM_ONLINE_OK) return "feasibility";
  return w->result[i].overhead_percent > w->result[below].overhead_percent ? "cost" : NULL;
}

static void print_sweep(session *s, const sweep *w, json_t *rows) {
  char share[SHARE];
  int32_t failed = 0, costlier = 0;
  if (!s->o->json) printf("%s, %s: overhead in %%, by share of the program's peak\n", w->sim->graph->name, w->by);
  for (int32_t i = 0; i < w->done; i++) {
    const plim_simulated *r = &w->result[i];
    const char *inversion = inversion_at(w, i);
    failed += inversion && inversion[0] == 'f';
    costlier += inversion && inversion[0] == 'c';
    if (s->o->json) {
      json_t *row = bench_online_row(w->sim, w->by, r);
      (void)json_object_set_new(row, "budget_percent", json_real((double)(w->range->low + i * w->range->step) / 1000));
      (void)json_object_set_new(row, "inversion", inversion ? json_string(inversion) : json_null());
      bench_row_add(s, rows, row);
      continue;
    }
    printf("%9s", share_at(w, i, share));
    bench_online_cell(r);
    printf("%s%s\n", inversion ? "  inversion of " : "", inversion ? inversion : "");
  }
  if (s->o->json) return;
  printf("%d inversions of feasibility, %d of cost, at %d budgets\n\n", failed, costlier, w->done);
}

static plim_status sweep_one(const bench_online_table *t, const plim_simulation *sim, const shares *range,
                             const char *by) {
  sweep w = {.sim = sim, .by = by, .range = range, .n = (int32_t)((range->high - range->low) / range->step) + 1};
  plim_status status;
  PLIM_CHECK(plim_allocate(sim->ctx, w.n, sizeof *w.budget, &w.budget));
  PLIM_CHECK(plim_allocate(sim->ctx, w.n, sizeof *w.result, &w.result));
  status = run_points(t->s, &w);
  progress_clear(&t->s->bar);
  if (w.done > 0) print_sweep(t->s, &w, t->rows);
done:
  for (int32_t i = 0; w.result && i < w.n; i++) plim_simulated_free(&w.result[i]);
  plim_release(sim->ctx, w.budget, w.n, sizeof *w.budget);
  plim_release(sim->ctx, w.result, w.n, sizeof *w.result);
  return status;
}

plim_status bench_online_sweep(const bench_online_table *t, const plim_simulation *sim) {
  shares range = {0, 0, 1};
  PLIM_TRY(read_range(t->s->ctx, t->s->o->sweep, &range));
  const char *name = t->s->o->planners ? t->s->o->planners : "search";
  while (*name) {
    char one[BENCH_NAME];
    name = bench_next_name(name, one);
    PLIM_TRY(sweep_one(t, sim, &range, one));
  }
  return PLIM_OK;
}
