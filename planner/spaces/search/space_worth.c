/* What local search over spaces may do, by which weights, and how good a sequence is. The objective is that of the
 * plan: where it is no sum over commands, sequences are arranged and simulated. */
#include <math.h>
#include <string.h>

#include "planner/spaces/search/space_search_internal.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/array.h"
#include "runtime/base/integers.h"

int plim_space_worth_is_better(plim_space_worth a, plim_space_worth b) {
  if (a.late > 0 || b.late > 0) return a.late < b.late || (a.late <= b.late && a.value < b.value);
  return a.value < b.value;
}

/* ---- rules and weights ---- */

void plim_space_set_rules(plim_space_search_state *search) {
  const plim_platform *p = search->problem->platform;
  double bound = search->options->keep_all > 0 && search->options->bound > 0
                     ? fmax(0, 100 * (search->options->bound / search->options->keep_all - 1))
                     : -1;
  search->progress = (plim_progress){.stage = "search",
                                     .total = search->options->rounds > 0 ? search->options->rounds : -1,
                                     .best_percent = -1,
                                     .bound_percent = bound};
  search->rules = (plim_space_rules){.budget = search->options->budget,
                                     .link_taken = search->link_taken,
                                     .recompute = search->options->recompute,
                                     .progress = &search->progress,
                                     .started_ns = plim_now_ns(),
                                     .devices = search->options->place ? p->n_devices : 1};
  for (int32_t l = 0; l < p->n_links; l++) {
    const int places = plim_platform_link_places(p, l);
    search->link_places[l] = (uint8_t)places;
    search->link_taken[l] = (uint8_t)(places ? search->options->place : search->options->page);
    search->pages |= !places && search->options->page;
  }
}

plim_space_weights plim_space_weights_of(const plim_space_search_state *search, double copies) {
  plim_space_weights w = {.by_bytes = 1, .by_time = 1};
  if (search->options->objective == PLIM_OBJECTIVE_ENERGY) {
    w.run_joule = w.copy_joule = 1;
    w.run_ns = search->haste * search->joule_per_ns;
    w.copy_ns = search->options->deadline_on_runs ? 0 : copies * w.run_ns;
  } else {
    w.run_ns = 1;
    w.copy_ns = search->options->objective == PLIM_OBJECTIVE_SERIAL ? 1 : copies;
  }
  return w;
}

plim_space_weights plim_space_draw_weights(plim_space_search_state *search) {
  plim_random *r = &search->random;
  plim_space_weights w =
      plim_space_weights_of(search, spaces_tuning.draw.copies[plim_random_below(r, PLIM_SPACE_DRAWN_COPIES)]);
  w.copy_joule *= spaces_tuning.draw.prices[plim_random_below(r, PLIM_SPACE_DRAWN_PRICES)];
  w.by_bytes = spaces_tuning.draw.by_bytes[plim_random_below(r, PLIM_SPACE_DRAWN_BYTES)];
  w.by_time = spaces_tuning.draw.by_time[plim_random_below(r, PLIM_SPACE_DRAWN_TIMES)];
  w.hidden_share = search->pages ? spaces_tuning.draw.hidden_shares[plim_random_below(r, PLIM_SPACE_DRAWN_HIDDEN)] : 0;
  w.noise =
      plim_random_percent(r, spaces_tuning.draw.noise_percent) ? spaces_tuning.draw.noise * plim_random_unit(r) : 0;
  w.first = plim_random_percent(r, spaces_tuning.draw.first_percent);
  w.stay = plim_random_percent(r, spaces_tuning.draw.stay_percent);
  return w;
}

/* ---- costs and reports ---- */

void plim_space_report(plim_context *ctx, const plim_space_rules *rules) {
  if (!rules->progress) return;
  rules->progress->elapsed_ns = plim_now_ns() - rules->started_ns;
  plim_context_report(ctx, rules->progress);
}

int32_t plim_space_cheapest_device(const plim_space_problem *p, const plim_space_rules *rules,
                                   const plim_space_weights *w, int32_t node, int32_t space) {
  int32_t best = -1;
  for (int32_t d = 0; d < rules->devices; d++) {
    if (p->platform->device[d].space != space || plim_space_run_ns(p, node, d) < 0) continue;
    if (best < 0 || plim_space_run_cost(p, w, node, d) < plim_space_run_cost(p, w, node, best)) best = d;
  }
  return best;
}

/* ---- worth ---- */

/* Is the objective a sum over the commands? */
static int objective_is_sum(const plim_space_search_state *search) {
  if (search->options->objective == PLIM_OBJECTIVE_TIME) return 0;
  for (int32_t d = 0; d < search->problem->platform->n_devices && search->options->objective == PLIM_OBJECTIVE_ENERGY;
       d++) {
    if (search->problem->platform->device[d].idle_watt > 0) return 0;
  }
  return 1;
}

/* The objective is one, and so is what the deadline bounds. */
int plim_space_is_sum(const plim_space_search_state *search) {
  return objective_is_sum(search) && (search->options->deadline_ns == INT64_MAX || search->options->deadline_on_runs);
}

/* The plan of the sequence, as events, and what it takes. */
static plim_status arrange(plim_space_search_state *search, const plim_space_sequence *s, plim_space_totals *totals) {
  PLIM_TRY(plim_space_sequence_copy_analysed(&search->arranged, s));
  search->events.n = 0;
  return plim_space_arrange(&search->arranged, search->options->budget, 1, totals, &search->events);
}

static double value_of(const plim_space_search_state *search, const plim_space_totals *t) {
  if (search->options->objective == PLIM_OBJECTIVE_ENERGY) return t->energy_joule;
  return (double)(search->options->objective == PLIM_OBJECTIVE_SERIAL ? t->serial_ns : t->makespan_ns);
}

/* What the events of a sequence come to, one by one. */
typedef struct sums {
  double joule, run_ns, serial_ns;
  double longest_ns; /* the makespan of no plan of the sequence is shorter */
  double delay_ns;   /* of copies to and from pages */
} sums;

/* When event e ends, if no command waits for bytes, and no copy for another copy: however copies are arranged, a
 * device has its runs in this order, and an event reads what it reads here. A device is busy until its last run ends, a
 * link at least for the sum of its copies. */
static int64_t first_end(plim_space_search_state *search, const plim_space_sequence *s, int32_t e, int64_t ns) {
  const plim_space_event *v = &s->event[e];
  const int run = v->kind == PLIM_SPACE_RUN;
  int64_t *busy_ns = &search->busy_ns[run ? v->at : search->problem->platform->n_devices + v->at];
  int64_t begin = run ? *busy_ns : 0;
  for (int32_t i = s->first_read[e]; i < s->first_read[e + 1]; i++) {
    if (search->end_ns[s->read[i]] > begin) begin = search->end_ns[s->read[i]];
  }
  const int64_t end = plim_integers_add_capped(begin, ns);
  search->end_ns[e] = end;
  *busy_ns = run ? end : plim_integers_add_capped(*busy_ns, ns);
  return plim_integers_larger(end, *busy_ns);
}

static sums add_up(plim_space_search_state *search, const plim_space_sequence *s) {
  const plim_platform *p = search->problem->platform;
  sums sum = {0, 0, 0, 0, 0};
  memset(search->busy_ns, 0, (size_t)(p->n_devices + p->n_links) * sizeof *search->busy_ns);
  for (int32_t e = 0; e < s->n; e++) {
    const plim_space_event *v = &s->event[e];
    int run = v->kind == PLIM_SPACE_RUN;
    int64_t ns =
        run ? plim_space_run_ns(search->problem, v->node, v->at) : plim_space_copy_ns(search->problem, v->node, v->at);
    sum.joule += run ? plim_space_run_joule(search->problem, v->node, v->at)
                     : plim_space_copy_joule(search->problem, v->node, v->at);
    sum.serial_ns += (double)ns;
    sum.run_ns += run ? (double)ns : 0;
    sum.delay_ns += run || search->link_places[v->at] ? 0 : search->options->page_delay_share * (double)ns;
    const double end = (double)first_end(search, s, e, ns);
    if (end > sum.longest_ns) sum.longest_ns = end;
  }
  return sum;
}

static double lateness(const plim_space_search_state *search, double ns) {
  return search->options->deadline_ns < INT64_MAX && ns > (double)search->options->deadline_ns
             ? ns - (double)search->options->deadline_ns
             : 0;
}

/* No plan of the sequence is better. *exact 1: its plan is that good: the objective is a sum, and so is the time that
 * has a deadline, or the sum of all times keeps it. */
static plim_space_worth least_worth(const plim_space_search_state *search, const sums *sum, int32_t *exact) {
  plim_space_worth least = {lateness(search, search->options->deadline_on_runs ? sum->run_ns : sum->longest_ns),
                            sum->joule};
  *exact = plim_space_is_sum(search) || (objective_is_sum(search) && !(lateness(search, sum->serial_ns) > 0));
  if (search->options->objective == PLIM_OBJECTIVE_SERIAL) least.value = sum->serial_ns;
  if (search->options->objective == PLIM_OBJECTIVE_TIME) least.value = sum->longest_ns + sum->delay_ns;
  return least;
}

/* *out: the worth of the sequence's plan, or where that cannot be below `worst`, what it is not below. */
plim_status plim_space_weigh(plim_space_search_state *search, const plim_space_sequence *s,
                             const plim_space_worth *worst, plim_space_worth *out) {
  plim_space_totals totals;
  int32_t exact;
  PLIM_TRY(
      plim_array_reserve(search->problem->ctx, &search->end_ns, &search->end_capacity, s->n, sizeof *search->end_ns));
  const sums sum = add_up(search, s);
  *out = least_worth(search, &sum, &exact);
  search->events.n = 0;
  if (exact || (worst && !plim_space_worth_is_better(*out, *worst))) return PLIM_OK;
  PLIM_TRY(arrange(search, s, &totals));
  out->value = value_of(search, &totals) + (search->options->objective == PLIM_OBJECTIVE_TIME ? sum.delay_ns : 0);
  if (!search->options->deadline_on_runs) out->late = lateness(search, (double)totals.makespan_ns);
  return PLIM_OK;
}

/* Keep what was weighed last. */
plim_status plim_space_keep_best(plim_space_search_state *search, const plim_space_sequence *s, plim_space_worth w) {
  plim_space_report(search->problem->ctx, &search->rules);
  if (search->has_best && !plim_space_worth_is_better(w, search->best_worth)) return PLIM_OK;
  if (search->options->keep_all > 0 && !(w.late > 0))
    search->progress.best_percent = 100 * (w.value / search->options->keep_all - 1);
  const plim_space_events events = search->events;
  search->has_best = 1;
  search->best_worth = w;
  search->events = search->best_events;
  search->best_events = events;
  return plim_space_sequence_copy(&search->best, s);
}
