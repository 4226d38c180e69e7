/* Starts differ in devices and weights; each is repaired (copies where another device reads) and covered. A round of
 * local search takes some repeats and copies out, moves a run or changes devices, repairs, covers with drawn weights,
 * prunes, and keeps what is hardly worse than before. The objective is that of the plan: where it is no sum over
 * commands, sequences are arranged and simulated. */
#include "planner/spaces/space_search.h"

#include <math.h>
#include <string.h>

#include "planner/spaces/space_arrange.h"
#include "planner/spaces/space_budget.h"
#include "planner/spaces/space_demand.h"
#include "planner/spaces/space_repair.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

/* How good a sequence is: without lateness first, then by objective. */
typedef struct worth {
  double late, value;
} worth;

typedef struct searching {
  const plim_space_problem *p;
  const plim_space_search_options *o;
  plim_space_rules rules;
  uint8_t *link_taken;  /* [n_links] */
  uint8_t *link_places; /* [n_links] 1: between spaces where devices compute */
  int32_t pages;        /* 1: a link may be taken to or from a space where no device computes */
  int32_t *device;      /* [nodes] of a start */
  int32_t *order;       /* [nodes] of a start */
  int32_t *waiting;     /* [2][nodes] inputs that have not run, readers that have not */
  uint8_t *marked;      /* [nodes] */
  double *load_ns;      /* [n_devices + n_links] scratch */
  double joule_per_ns;  /* of keep-all: what lateness is weighed with */
  double haste;         /* weight of time where a deadline is missed */
  plim_random random;
  plim_space_sequence now, next, best, arranged;
  worth now_worth, best_worth;
  int32_t has_best;
  plim_progress progress;
  plim_space_events events;      /* arranged, of the last that was weighed; where is_sum: empty */
  plim_space_events best_events; /* of the best */
} searching;

static int is_late_first(worth a, worth b) {
  if (a.late > 0 || b.late > 0) return a.late < b.late || (a.late <= b.late && a.value < b.value);
  return a.value < b.value;
}

/* ---- rules and weights ---- */

static int is_home(const plim_platform *p, int32_t space, int32_t devices) {
  for (int32_t d = 0; d < devices; d++) {
    if (p->device[d].space == space) return 1;
  }
  return 0;
}

/* A link between spaces where devices compute places; every other one pages. */
static void set_rules(searching *k) {
  const plim_platform *p = k->p->platform;
  double bound = k->o->keep_all > 0 && k->o->bound > 0 ? fmax(0, 100 * (k->o->bound / k->o->keep_all - 1)) : -1;
  k->progress = (plim_progress){
      .stage = "search", .total = k->o->rounds > 0 ? k->o->rounds : -1, .best_percent = -1, .bound_percent = bound};
  k->rules = (plim_space_rules){.budget = k->o->budget,
                                .link_taken = k->link_taken,
                                .recompute = k->o->recompute,
                                .progress = &k->progress,
                                .started_ns = plim_now_ns(),
                                .devices = k->o->place ? p->n_devices : 1};
  for (int32_t l = 0; l < p->n_links; l++) {
    int places = is_home(p, p->link[l].from, p->n_devices) && is_home(p, p->link[l].to, p->n_devices);
    k->link_places[l] = (uint8_t)places;
    k->link_taken[l] = (uint8_t)(places ? k->o->place : k->o->page);
    k->pages |= !places && k->o->page;
  }
}

static plim_space_weights weights_of(const searching *k, double copies) {
  plim_space_weights w = {.by_bytes = 1, .by_time = 1};
  if (k->o->objective == PLIM_OBJECTIVE_ENERGY) {
    w.run_joule = w.copy_joule = 1;
    w.run_ns = k->haste * k->joule_per_ns;
    w.copy_ns = k->o->deadline_on_runs ? 0 : copies * w.run_ns;
  } else {
    w.run_ns = 1;
    w.copy_ns = k->o->objective == PLIM_OBJECTIVE_SERIAL ? 1 : copies;
  }
  return w;
}

static plim_space_weights draw_weights(searching *k) {
  static const double copies[] = {0.02, 0.2, 0.5, 1}, powers[] = {0, 0.5, 1}, price[] = {1, 1, 1, 0.5, 2, 0.1, 10};
  static const double beside[] = {0, 0, 0.5, 1};
  plim_space_weights w = weights_of(k, copies[plim_random_below(&k->random, 4)]);
  w.copy_joule *= price[plim_random_below(&k->random, 7)]; /* so that some rounds would rather page, some recompute */
  w.by_bytes = powers[1 + plim_random_below(&k->random, 2)];
  w.by_time = powers[plim_random_below(&k->random, 3)];
  w.beside = k->pages ? beside[plim_random_below(&k->random, 4)] : 0;
  w.noise = plim_random_percent(&k->random, 50) ? 1.5 * plim_random_unit(&k->random) : 0;
  w.first = plim_random_percent(&k->random, 30);
  w.stay = plim_random_percent(&k->random, 30);
  return w;
}

/* ---- worth ---- */

/* Is the objective a sum over the commands? */
static int objective_is_sum(const searching *k) {
  if (k->o->objective == PLIM_OBJECTIVE_TIME) return 0;
  for (int32_t d = 0; d < k->p->platform->n_devices && k->o->objective == PLIM_OBJECTIVE_ENERGY; d++) {
    if (k->p->platform->device[d].idle_watt > 0) return 0;
  }
  return 1;
}

/* Is the worth of every sequence one? */
static int is_sum(const searching *k) {
  return objective_is_sum(k) && (k->o->deadline_ns == INT64_MAX || k->o->deadline_on_runs);
}

/* The plan of the sequence, as events, and what it takes. */
static plim_status arrange(searching *k, const plim_space_sequence *s, plim_space_totals *totals) {
  PLIM_TRY(plim_space_sequence_copy(&k->arranged, s));
  PLIM_TRY(plim_space_sequence_analyse(&k->arranged));
  k->events.n = 0;
  return plim_space_arrange(&k->arranged, k->o->budget, 1, totals, &k->events);
}

static double value_of(const searching *k, const plim_space_totals *t) {
  if (k->o->objective == PLIM_OBJECTIVE_ENERGY) return t->energy_joule;
  return (double)(k->o->objective == PLIM_OBJECTIVE_SERIAL ? t->serial_ns : t->makespan_ns);
}

/* What the items of a sequence come to, one by one. */
typedef struct sums {
  double joule, run_ns, serial_ns;
  double longest_ns; /* of all items of one device or link: the makespan is no shorter */
  double delay_ns;   /* of copies to and from pages */
} sums;

static sums add_up(const searching *k, const plim_space_sequence *s) {
  const int32_t devices = k->p->platform->n_devices;
  sums sum = {0, 0, 0, 0, 0};
  memset(k->load_ns, 0, (size_t)(devices + k->p->platform->n_links) * sizeof *k->load_ns);
  for (int32_t e = 0; e < s->n; e++) {
    const plim_space_event *v = &s->item[e];
    int run = v->kind == PLIM_SPACE_RUN;
    int64_t ns = run ? plim_space_run_ns(k->p, v->node, v->at) : plim_space_copy_ns(k->p, v->node, v->at);
    double *load = &k->load_ns[run ? v->at : devices + v->at];
    sum.joule += run ? plim_space_run_joule(k->p, v->node, v->at) : plim_space_copy_joule(k->p, v->node, v->at);
    sum.serial_ns += (double)ns;
    sum.run_ns += run ? (double)ns : 0;
    sum.delay_ns += run || k->link_places[v->at] ? 0 : k->o->page_delay_share * (double)ns;
    *load += (double)ns;
    if (*load > sum.longest_ns) sum.longest_ns = *load;
  }
  return sum;
}

static double lateness(const searching *k, double ns) {
  return k->o->deadline_ns < INT64_MAX && ns > (double)k->o->deadline_ns ? ns - (double)k->o->deadline_ns : 0;
}

/* No plan of the sequence is better. *exact 1: its plan is that good: the objective is a sum, and so is the time that
 * has a deadline, or the sum of all times keeps it. */
static worth least_worth(const searching *k, const sums *sum, int *exact) {
  worth least = {lateness(k, k->o->deadline_on_runs ? sum->run_ns : sum->longest_ns), sum->joule};
  *exact = is_sum(k) || (objective_is_sum(k) && !(lateness(k, sum->serial_ns) > 0));
  if (k->o->objective == PLIM_OBJECTIVE_SERIAL) least.value = sum->serial_ns;
  if (k->o->objective == PLIM_OBJECTIVE_TIME) least.value = sum->longest_ns + sum->delay_ns;
  return least;
}

/* *out: the worth of the sequence's plan, or where that cannot be below `most`, what it is not below. */
static plim_status weigh(searching *k, const plim_space_sequence *s, const worth *most, worth *out) {
  plim_space_totals totals;
  int exact;
  const sums sum = add_up(k, s);
  *out = least_worth(k, &sum, &exact);
  k->events.n = 0;
  if (exact || (most && !is_late_first(*out, *most))) return PLIM_OK;
  PLIM_TRY(arrange(k, s, &totals));
  out->value = value_of(k, &totals) + (k->o->objective == PLIM_OBJECTIVE_TIME ? sum.delay_ns : 0);
  if (!k->o->deadline_on_runs) out->late = lateness(k, (double)totals.makespan_ns);
  return PLIM_OK;
}

/* Keep what was weighed last. */
static plim_status keep_best(searching *k, const plim_space_sequence *s, worth w) {
  plim_space_report(k->p->ctx, &k->rules);
  if (k->has_best && !is_late_first(w, k->best_worth)) return PLIM_OK;
  if (k->o->keep_all > 0 && !(w.late > 0)) k->progress.best_percent = 100 * (w.value / k->o->keep_all - 1);
  const plim_space_events events = k->events;
  k->has_best = 1;
  k->best_worth = w;
  k->events = k->best_events;
  k->best_events = events;
  return plim_space_sequence_copy(&k->best, s);
}

/* ---- starts ---- */

/* What bringing the inputs of a node to a space costs, from the devices of the start. */
static double arrival_cost(const searching *k, const plim_space_weights *w, int32_t node, int32_t space) {
  const plim_space_node *v = &k->p->node[node];
  const plim_platform *p = k->p->platform;
  double cost = 0;
  for (int32_t i = 0; i < v->n_preds; i++) {
    int32_t from = p->device[k->device[v->pred[i]]].space;
    int32_t l = from == space ? -1 : plim_platform_find_link(p, from, space);
    if (from == space) continue;
    cost += l >= 0 && plim_space_copy_ns(k->p, v->pred[i], l) >= 0 ? plim_space_copy_cost(k->p, w, v->pred[i], l)
                                                                   : (double)INT64_MAX;
  }
  return cost;
}

/* How a start places its runs: a device, on which all run that it has room for, or one of these. */
enum {
  PLACE_BY_COPIES = -2, /* each where it is cheapest with the copies of its inputs */
  PLACE_CHEAPEST = -1   /* each where it is cheapest */
};

/* The first of them that is worth trying; the others follow, to the last device. */
static int32_t first_placing(const searching *k) {
  return k->rules.devices > 1 ? PLACE_BY_COPIES : 0;
}

/* Devices of a start. *complete: 0 where some op has no device with room. */
static void choose_devices(searching *k, const plim_space_weights *w, int32_t placing, int32_t *complete) {
  enum { BELOW_ALL = -1 }; /* no run costs less than 0 */
  *complete = 1;
  for (int32_t o = 0; o < k->p->n; o++) {
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t d = 0; d < k->rules.devices; d++) {
      if (!plim_space_has_room(k->p, k->o->budget, o, d)) continue;
      double cost = plim_space_run_cost(k->p, w, o, d);
      if (placing == PLACE_BY_COPIES) cost += arrival_cost(k, w, o, k->p->platform->device[d].space);
      if (d == placing) cost = BELOW_ALL;
      if (cost < least) {
        least = cost;
        best = d;
      }
    }
    if (best < 0) *complete = 0;
    k->device[o] = best < 0 ? 0 : best;
  }
}

/* What running a node now adds to the bytes in use: its output, less the inputs that it reads last. */
static int64_t growth(const searching *k, int32_t node) {
  const plim_space_node *v = &k->p->node[node];
  int64_t bytes = v->n_succs > 0 ? v->bytes : 0;
  for (int32_t i = 0; i < v->n_preds; i++) {
    if (k->waiting[k->p->n + v->pred[i]] == 1) bytes -= k->p->node[v->pred[i]].bytes;
  }
  return bytes;
}

/* Program order, or (drawn) of the nodes that can run the one that adds least bytes, or now and then any. */
static void choose_order(searching *k, int drawn) {
  int32_t n = k->p->n, percent = plim_random_below(&k->random, 60);
  for (int32_t o = 0; o < n; o++) {
    k->order[o] = o;
    k->waiting[o] = k->p->node[o].n_preds;
    k->waiting[n + o] = k->p->node[o].n_succs;
  }
  for (int32_t at = 0; at < n && drawn && !plim_effort_over(k->p->ctx, n - at); at++) {
    int32_t best = -1, ready = 0, any = plim_random_percent(&k->random, percent);
    for (int32_t i = at; i < n; i++) {
      int32_t o = k->order[i];
      if (k->waiting[o] > 0) continue;
      ready++;
      int take = any ? plim_random_below(&k->random, ready) == 0 : best < 0 || growth(k, o) < growth(k, k->order[best]);
      if (take) best = i;
    }
    int32_t o = k->order[best];
    memmove(k->order + at + 1, k->order + at, (size_t)(best - at) * sizeof o); /* the rest stays in program order */
    k->order[at] = o;
    for (int32_t i = 0; i < k->p->node[o].n_succs; i++) k->waiting[k->p->node[o].succ[i]]--;
    for (int32_t i = 0; i < k->p->node[o].n_preds; i++) k->waiting[n + k->p->node[o].pred[i]]--;
  }
}

/* repaired: what the runs read is brought where they run. */
static plim_status begin_start(searching *k, const plim_space_weights *w, int32_t placing, int repaired,
                               int32_t *legal) {
  choose_devices(k, w, placing, legal);
  if (!*legal) return PLIM_OK;
  PLIM_TRY(plim_space_sequence_reserve(&k->now, k->p->n));
  k->now.n = k->p->n;
  for (int32_t i = 0; i < k->p->n; i++) {
    k->now.item[i] = (plim_space_event){PLIM_SPACE_RUN, k->order[i], k->device[k->order[i]]};
  }
  return repaired ? plim_space_repair(&k->now, &k->rules, w, legal) : PLIM_OK;
}

static int is_done(const searching *k) {
  if (!k->has_best || k->best_worth.late > 0) return 0;
  return k->best_worth.value <= k->o->bound || k->o->rounds == 0;
}

static plim_status try_start(searching *k, const plim_space_weights *w, int32_t placing, int on_demand, int32_t *fits) {
  worth found;
  PLIM_TRY(begin_start(k, w, placing, !on_demand, fits));
  if (*fits && on_demand) PLIM_TRY(plim_space_demand(&k->now, &k->rules, w, fits));
  if (*fits && !on_demand) PLIM_TRY(plim_space_cover(&k->now, &k->rules, w, &k->random, fits));
  if (!*fits) return PLIM_OK;
  PLIM_TRY(plim_space_prune(&k->now, &k->rules));
  PLIM_TRY(weigh(k, &k->now, k->has_best ? &k->best_worth : NULL, &found));
  return keep_best(k, &k->now, found);
}

/* Starts on demand with copies that cost so much of what they do. *fits: there was one. */
static plim_status try_demand(searching *k, double copies, int32_t *fits) {
  const int32_t devices = k->rules.devices;
  plim_space_weights w = weights_of(k, 1);
  w.copy_ns = w.copy_ns > 0 ? copies * w.copy_ns : 0;
  w.copy_joule *= copies;
  *fits = 0;
  for (int32_t placing = first_placing(k); placing < devices && !is_done(k); placing++) {
    int32_t found;
    PLIM_TRY(try_start(k, &w, placing, 1, &found));
    *fits |= found;
    if (plim_effort_over(k->p->ctx, PLIM_EFFORT_LOOK)) return PLIM_OK;
  }
  return PLIM_OK;
}

/* In time that grows little faster than the graph. First copies cost next to nothing, as recomputes may need others;
 * then more and more, as long as there are plans. */
static plim_status try_on_demand(searching *k) {
  double copies = tuning.search.least_copies;
  int32_t missed = 0, fits;
  const int32_t recompute = k->rules.recompute;
  choose_order(k, 0);
  if (k->p->n < tuning.search.large_nodes) return PLIM_OK;
  k->rules.recompute = recompute && !k->pages; /* first pages alone: a plan of theirs is one where both are allowed */
  PLIM_TRY(try_demand(k, 1e-12, &fits));
  k->rules.recompute = recompute;
  if (recompute && k->pages) PLIM_TRY(try_demand(k, 1e-12, &fits));
  for (; copies <= tuning.search.most_copies && missed < 2 && !is_done(k); copies *= tuning.search.more_copies) {
    if (plim_effort_over(k->p->ctx, PLIM_EFFORT_LOOK)) return PLIM_OK;
    PLIM_TRY(try_demand(k, copies, &fits));
    missed = fits ? 0 : missed + 1;
  }
  return PLIM_OK;
}

static plim_status try_starts(searching *k) {
  static const double copies[] = {1, 0.2, 0.02}, by_time[] = {1, 0.5, 0};
  int32_t devices = k->rules.devices, large = k->has_best && k->p->n >= tuning.search.large_nodes;
  int32_t starts = large ? tuning.search.large_starts : tuning.search.starts;
  for (int32_t i = 0; i < starts + (k->has_best ? 0 : tuning.search.drawn_starts) && !is_done(k); i++) {
    k->haste = i % 6 < 3 ? 0 : 1;
    plim_space_weights w = weights_of(k, copies[i % 3]);
    w.by_time = by_time[i / 6 % 3];
    w.first = i % 2;
    w.stay = i / 3 % 2;
    choose_order(k, i >= tuning.search.starts);
    for (int32_t placing = first_placing(k); placing < devices && !is_done(k); placing++) {
      int32_t fits;
      PLIM_TRY(try_start(k, &w, placing, 0, &fits));
      if (plim_effort_over(k->p->ctx, PLIM_EFFORT_LOOK)) return PLIM_OK;
    }
  }
  return PLIM_OK;
}

/* What is known, or another search found, is a start. */
static plim_status start_from(searching *k, const plim_space_events *events) {
  worth found;
  PLIM_TRY(plim_space_sequence_reserve(&k->now, events->n));
  k->now.n = 0;
  for (int64_t e = 0; e < events->n; e++) {
    plim_space_event v = events->event[e];
    if (v.kind == PLIM_SPACE_DROP) continue;
    if (v.kind == PLIM_SPACE_JOIN) v.kind = PLIM_SPACE_COPY;
    k->now.item[k->now.n++] = v;
  }
  PLIM_TRY(plim_space_sequence_analyse(&k->now));
  if (!k->now.valid || !plim_space_sequence_is_within(&k->now, k->o->budget)) return PLIM_OK;
  PLIM_TRY(weigh(k, &k->now, k->has_best ? &k->best_worth : NULL, &found));
  return keep_best(k, &k->now, found);
}

static plim_status try_known(searching *k) {
  for (int32_t i = 0; i < k->o->n_starts; i++) PLIM_TRY(start_from(k, k->o->start[i]));
  return PLIM_OK;
}

/* ---- rounds ---- */

static void drop_marked_items(plim_space_sequence *s) {
  int32_t n = 0;
  for (int32_t e = 0; e < s->n; e++) {
    if (s->item[e].kind != PLIM_SPACE_DROP) s->item[n++] = s->item[e];
  }
  s->n = n;
}

/* Take out repeats and copies of a window, some or all. */
static void take_out(searching *k) {
  plim_space_sequence *s = &k->next;
  int32_t width = 1 + plim_random_below(&k->random, s->n < 8 ? s->n : (s->n < 400 ? s->n / 2 : 200));
  int32_t from = plim_random_below(&k->random, s->n), percent = 20 + plim_random_below(&k->random, 81);
  memset(k->marked, 0, (size_t)k->p->n);
  for (int32_t e = 0; e < s->n; e++) {
    plim_space_event *v = &s->item[e];
    int repeat = v->kind == PLIM_SPACE_COPY || k->marked[v->node];
    if (v->kind == PLIM_SPACE_RUN) k->marked[v->node] = 1;
    if (repeat && e >= from && e < from + width && plim_random_percent(&k->random, percent)) {
      v->kind = PLIM_SPACE_DROP;
    }
  }
  drop_marked_items(s);
}

/* Some nodes next to each other run elsewhere: all on one device, or each as many devices on, so that nodes of two
 * devices change places. */
static void change_devices(searching *k) {
  plim_space_sequence *s = &k->next;
  int32_t n = k->p->n, devices = k->rules.devices, first = plim_random_below(&k->random, n);
  int32_t to = plim_random_below(&k->random, devices), turn = plim_random_percent(&k->random, 30);
  int32_t width = plim_random_percent(&k->random, 50) ? 1 : 1 + plim_random_below(&k->random, n < 12 ? n : 12);
  for (int32_t e = 0; e < s->n; e++) {
    plim_space_event *v = &s->item[e];
    if (v->node < first || v->node >= first + width) continue;
    int32_t device = turn ? (v->at + to) % devices : to;
    if (v->kind == PLIM_SPACE_COPY) v->kind = PLIM_SPACE_DROP;
    if (v->kind == PLIM_SPACE_RUN && plim_space_has_room(k->p, k->o->budget, v->node, device)) v->at = device;
  }
  drop_marked_items(s);
}

/* A run moves as late as its first reader allows, or as early as its inputs do. */
static void move_run(searching *k) {
  plim_space_sequence *s = &k->next;
  const plim_space_sequence *now = &k->now;
  int32_t e = plim_random_below(&k->random, s->n), to = e, most = s->n;
  const plim_space_event v = s->item[e];
  for (int32_t i = now->first_read[e]; i < now->first_read[e + 1]; i++) {
    if (i == now->first_read[e] || now->read[i] > to) to = now->read[i];
  }
  if (plim_random_percent(&k->random, 60)) { /* later */
    for (int32_t u = e + 1; u < most; u++) {
      for (int32_t i = now->first_read[u]; i < now->first_read[u + 1]; i++) {
        if (now->read[i] == e) most = u;
      }
    }
    to = e + plim_random_below(&k->random, most - e);
    memmove(s->item + e, s->item + e + 1, (size_t)(to - e) * sizeof v);
  } else {
    to = to == e ? plim_random_below(&k->random, e + 1) : to + 1 + plim_random_below(&k->random, e - to);
    memmove(s->item + to + 1, s->item + to, (size_t)(e - to) * sizeof v);
  }
  s->item[to] = v;
}

static plim_status change(searching *k, int32_t *fits) {
  plim_space_weights w = draw_weights(k);
  int32_t what = plim_random_below(&k->random, 10);
  PLIM_TRY(plim_space_sequence_copy(&k->next, &k->now));
  if (what < 3 && k->rules.devices > 1) {
    change_devices(k);
  } else if (what < 5) {
    move_run(k);
  }
  if (what > 3) take_out(k);
  PLIM_TRY(plim_space_repair(&k->next, &k->rules, &w, fits));
  if (*fits) PLIM_TRY(plim_space_cover(&k->next, &k->rules, &w, &k->random, fits));
  return *fits ? plim_space_prune(&k->next, &k->rules) : PLIM_OK;
}

static void swap_sequences(searching *k) {
  plim_space_sequence now = k->now;
  k->now = k->next;
  k->next = now;
}

static plim_status back_to_best(searching *k) {
  k->now_worth = k->best_worth;
  PLIM_TRY(plim_space_sequence_copy(&k->now, &k->best));
  return plim_space_sequence_analyse(&k->now);
}

/* Another start in place of the best sequence, where one fits: what lies around the best is searched already. */
static plim_status begin_anew(searching *k) {
  plim_space_weights w = draw_weights(k);
  int32_t devices = k->rules.devices, fits, first = devices > 1 ? plim_random_below(&k->random, devices + 2) - 2 : 0;
  choose_order(k, plim_random_percent(&k->random, 50));
  PLIM_TRY(begin_start(k, &w, first, 1, &fits));
  if (fits) PLIM_TRY(plim_space_cover(&k->now, &k->rules, &w, &k->random, &fits));
  if (!fits) return back_to_best(k);
  PLIM_TRY(plim_space_prune(&k->now, &k->rules));
  return weigh(k, &k->now, NULL, &k->now_worth);
}

/* A round takes what is better than this: hardly worse than before, by a drawn share of what lies above the bound. */
static worth worst_taken(searching *k, int64_t round) {
  double share = tuning.search.slack * plim_random_unit(&k->random) * (1 - (double)round / (double)k->o->rounds);
  worth most = k->now_worth;
  most.value += share * fmax(0, most.value - fmax(0, k->o->bound));
  return most;
}

static plim_status search_rounds(searching *k) {
  int64_t stale = 0;
  int small = k->o->rounds >= tuning.search.rounds_anew * ((int64_t)k->p->n + 10);
  int32_t patience = small ? tuning.search.patience_anew : tuning.search.patience;
  PLIM_TRY(back_to_best(k));
  for (int64_t round = 0; round < k->o->rounds && !is_done(k); round++) {
    int32_t fits;
    worth found;
    if (plim_effort_over(k->p->ctx, PLIM_EFFORT_LOOK)) break;
    k->progress.done = round;
    const worth most = worst_taken(k, round);
    k->haste = k->o->deadline_ns < INT64_MAX ? 2 * plim_random_unit(&k->random) * (k->best_worth.late > 0 ? 4 : 1) : 0;
    PLIM_TRY(change(k, &fits));
    if (!fits) continue;
    PLIM_TRY(weigh(k, &k->next, &most, &found));
    stale = is_late_first(found, k->best_worth) ? 0 : stale + 1;
    PLIM_TRY(keep_best(k, &k->next, found));
    if (is_late_first(found, most)) {
      k->now_worth = found;
      swap_sequences(k);
    }
    if (stale < patience) continue;
    stale = 0;
    PLIM_TRY(small && plim_random_percent(&k->random, tuning.search.anew) ? begin_anew(k) : back_to_best(k));
  }
  return PLIM_OK;
}

static plim_status need_sums(const plim_space_problem *p) {
  int64_t sum = 0;
  for (int32_t i = 0; i < p->n && sum >= 0; i++) {
    sum = plim_add_bytes(sum, p->node[i].bytes);
    if (sum >= 0) sum = plim_add_bytes(sum, p->node[i].workspace);
  }
  if (sum >= 0 && sum < INT64_MAX / 4) return PLIM_OK;
  return plim_fail(p->ctx, PLIM_EOVERFLOW, "the bytes of all outputs and workspaces add up to more than 61 bits hold");
}

static plim_status search(searching *k, plim_space_found *found, plim_space_events *out) {
  plim_space_totals totals;
  PLIM_TRY(need_sums(k->p));
  PLIM_TRY(plim_space_sequence_init(&k->now, k->p));
  PLIM_TRY(plim_space_sequence_init(&k->next, k->p));
  PLIM_TRY(plim_space_sequence_init(&k->best, k->p));
  PLIM_TRY(plim_space_sequence_init(&k->arranged, k->p));
  set_rules(k);
  if (k->p->device_ns > 0 && k->p->device_ns < INT64_MAX)
    k->joule_per_ns = k->p->device_joule / (double)k->p->device_ns;
  if (k->p->n >= tuning.search.large_nodes) PLIM_TRY(try_known(k));
  if (!plim_context_cancelled(k->p->ctx)) PLIM_TRY(try_on_demand(k));
  if (!plim_context_cancelled(k->p->ctx)) PLIM_TRY(try_starts(k));
  if (k->p->n < tuning.search.large_nodes) PLIM_TRY(try_known(k));
  if (k->has_best && k->o->rounds > 0) PLIM_TRY(search_rounds(k));
  found->fits = k->has_best && !(k->best_worth.late > 0);
  found->value = k->best_worth.value;
  if (!found->fits) return PLIM_OK;
  if (k->best_events.n > 0) {
    *out = k->best_events;
    k->best_events = (plim_space_events){.ctx = k->p->ctx};
    return PLIM_OK;
  }
  PLIM_TRY(plim_space_sequence_copy(&k->arranged, &k->best));
  PLIM_TRY(plim_space_sequence_analyse(&k->arranged));
  return plim_space_arrange(&k->arranged, k->o->budget, !is_sum(k), &totals, out);
}

plim_status plim_space_search(const plim_space_problem *problem, const plim_space_search_options *options,
                              plim_space_found *found, plim_space_events *out) {
  plim_context *ctx = problem->ctx;
  searching k = {
      .p = problem, .o = options, .random = {1 + options->seed}, .events = {.ctx = ctx}, .best_events = {.ctx = ctx}};
  int64_t loads = (int64_t)problem->platform->n_devices + problem->platform->n_links;
  plim_status status;
  *found = (plim_space_found){.fits = 0};
  PLIM_CHECK(plim_allocate(ctx, problem->platform->n_links, sizeof *k.link_taken, &k.link_taken));
  PLIM_CHECK(plim_allocate(ctx, problem->platform->n_links, sizeof *k.link_places, &k.link_places));
  PLIM_CHECK(plim_allocate(ctx, problem->n, sizeof *k.device, &k.device));
  PLIM_CHECK(plim_allocate(ctx, problem->n, sizeof *k.order, &k.order));
  PLIM_CHECK(plim_allocate(ctx, 2 * (int64_t)problem->n, sizeof *k.waiting, &k.waiting));
  PLIM_CHECK(plim_allocate(ctx, problem->n, sizeof *k.marked, &k.marked));
  PLIM_CHECK(plim_allocate(ctx, loads, sizeof *k.load_ns, &k.load_ns));
  PLIM_CHECK(search(&k, found, out));
done:
  plim_space_sequence_free(&k.now);
  plim_space_sequence_free(&k.next);
  plim_space_sequence_free(&k.best);
  plim_space_sequence_free(&k.arranged);
  plim_space_events_free(&k.events);
  plim_space_events_free(&k.best_events);
  plim_release(ctx, k.link_taken, problem->platform->n_links, sizeof *k.link_taken);
  plim_release(ctx, k.link_places, problem->platform->n_links, sizeof *k.link_places);
  plim_release(ctx, k.device, problem->n, sizeof *k.device);
  plim_release(ctx, k.order, problem->n, sizeof *k.order);
  plim_release(ctx, k.waiting, 2 * (int64_t)problem->n, sizeof *k.waiting);
  plim_release(ctx, k.marked, problem->n, sizeof *k.marked);
  plim_release(ctx, k.load_ns, loads, sizeof *k.load_ns);
  return status;
}
