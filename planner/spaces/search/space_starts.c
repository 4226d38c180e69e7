/* Where local search over spaces starts. Starts differ in devices and weights; each is repaired (copies where another
 * device reads) and covered, or brings what a budget asks for on demand. */
#include <math.h>
#include <string.h>

#include "planner/spaces/search/space_search_internal.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

/* What bringing the inputs of a node to a space costs, from the devices of the start. */
static double arrival_cost(const plim_space_search_state *search, const plim_space_weights *w, int32_t node,
                           int32_t space) {
  const plim_space_node *v = &search->problem->node[node];
  const plim_platform *p = search->problem->platform;
  double cost = 0;
  for (int32_t i = 0; i < v->n_preds; i++) {
    int32_t from = p->device[search->device[v->pred[i]]].space;
    int32_t l = from == space ? -1 : plim_platform_find_link(p, from, space);
    if (from == space) continue;
    cost += l >= 0 && plim_space_copy_ns(search->problem, v->pred[i], l) >= 0
                ? plim_space_copy_cost(search->problem, w, v->pred[i], l)
                : (double)INT64_MAX;
  }
  return cost;
}

/* How a start places its runs: a device, on which all run that it has room for, or one of these. */
enum {
  PLACE_DRAWN = -3,     /* each on a drawn one */
  PLACE_BY_COPIES = -2, /* each where it is cheapest with the copies of its inputs */
  PLACE_CHEAPEST = -1   /* each where it is cheapest */
};

/* The first of them that is worth trying without a draw; the others follow, to the last device. */
static int32_t first_placing(const plim_space_search_state *search) {
  return search->rules.devices > 1 ? PLACE_BY_COPIES : 0;
}

int32_t plim_space_draw_placing(plim_space_search_state *search) {
  const int32_t first = first_placing(search), devices = search->rules.devices;
  if (devices > 1 && plim_random_percent(&search->random, spaces_tuning.move.drawn_devices_percent)) return PLACE_DRAWN;
  return devices > 1 ? first + plim_random_below(&search->random, devices - first) : first;
}

/* Devices of a start. *complete: 0 where some op has no device with room. */
static void choose_devices(plim_space_search_state *search, const plim_space_weights *w, int32_t placing,
                           int32_t *complete) {
  enum { BELOW_ALL = -1 }; /* no run costs less than 0 */
  *complete = 1;
  for (int32_t o = 0; o < search->problem->n; o++) {
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t d = 0; d < search->rules.devices; d++) {
      if (!plim_space_has_room(search->problem, search->options->budget, o, d)) continue;
      double cost = plim_space_run_cost(search->problem, w, o, d);
      if (placing == PLACE_BY_COPIES) cost += arrival_cost(search, w, o, search->problem->platform->device[d].space);
      if (placing == PLACE_DRAWN) cost = plim_random_unit(&search->random);
      if (d == placing) cost = BELOW_ALL;
      if (cost < least) {
        least = cost;
        best = d;
      }
    }
    if (best < 0) *complete = 0;
    search->device[o] = best < 0 ? 0 : best;
  }
}

/* What running a node now adds to the bytes in use: its output, less the inputs that it reads last. */
static int64_t growth(const plim_space_search_state *search, int32_t node) {
  const plim_space_node *v = &search->problem->node[node];
  int64_t bytes = v->n_succs > 0 ? v->bytes : 0;
  for (int32_t i = 0; i < v->n_preds; i++) {
    if (search->waiting[search->problem->n + v->pred[i]] == 1) bytes -= search->problem->node[v->pred[i]].bytes;
  }
  return bytes;
}

void plim_space_choose_order(plim_space_search_state *search, int drawn) {
  int32_t n = search->problem->n, percent = plim_random_below(&search->random, 60);
  for (int32_t o = 0; o < n; o++) {
    search->order[o] = o;
    search->waiting[o] = search->problem->node[o].n_preds;
    search->waiting[n + o] = search->problem->node[o].n_succs;
  }
  for (int32_t at = 0; at < n && drawn && !plim_effort_over(search->problem->ctx, n - at); at++) {
    int32_t best = -1, ready = 0, any = plim_random_percent(&search->random, percent);
    for (int32_t i = at; i < n; i++) {
      int32_t o = search->order[i];
      if (search->waiting[o] > 0) continue;
      ready++;
      int take = any ? plim_random_below(&search->random, ready) == 0
                     : best < 0 || growth(search, o) < growth(search, search->order[best]);
      if (take) best = i;
    }
    int32_t o = search->order[best];
    memmove(search->order + at + 1, search->order + at,
            (size_t)(best - at) * sizeof o); /* the rest stays in program order */
    search->order[at] = o;
    for (int32_t i = 0; i < search->problem->node[o].n_succs; i++) search->waiting[search->problem->node[o].succ[i]]--;
    for (int32_t i = 0; i < search->problem->node[o].n_preds; i++)
      search->waiting[n + search->problem->node[o].pred[i]]--;
  }
}

/* repaired: what the runs read is brought where they run. */
plim_status plim_space_begin_start(plim_space_search_state *search, const plim_space_weights *w, int32_t placing,
                                   int repaired, int32_t *legal) {
  choose_devices(search, w, placing, legal);
  if (!*legal) return PLIM_OK;
  PLIM_TRY(plim_space_sequence_reserve(&search->now, search->problem->n));
  search->now.n = search->problem->n;
  for (int32_t i = 0; i < search->problem->n; i++) {
    search->now.event[i] = (plim_space_event){PLIM_SPACE_RUN, search->order[i], search->device[search->order[i]]};
  }
  return repaired ? plim_space_repair(&search->now, &search->rules, w, legal) : PLIM_OK;
}

int plim_space_is_done(const plim_space_search_state *search) {
  if (!search->has_best || search->best_worth.late > 0) return 0;
  return search->best_worth.value <= search->options->bound || search->options->rounds == 0;
}

static plim_status try_start(plim_space_search_state *search, const plim_space_weights *w, int32_t placing,
                             int on_demand, int32_t *fits) {
  plim_space_worth found;
  PLIM_TRY(plim_space_begin_start(search, w, placing, !on_demand, fits));
  if (*fits && on_demand) PLIM_TRY(plim_space_demand(&search->now, &search->rules, w, fits));
  if (*fits && !on_demand) PLIM_TRY(plim_space_cover(&search->now, &search->rules, w, &search->random, fits));
  if (!*fits) return PLIM_OK;
  PLIM_TRY(plim_space_prune(&search->now, &search->rules));
  PLIM_TRY(plim_space_weigh(search, &search->now, search->has_best ? &search->best_worth : NULL, &found));
  return plim_space_keep_best(search, &search->now, found);
}

/* Try starts on demand. copies: the share of what a copy costs that counts. *fits 1: one of them fits. */
static plim_status try_demand(plim_space_search_state *search, double copies, int32_t *fits) {
  const int32_t devices = search->rules.devices;
  plim_space_weights w = plim_space_weights_of(search, 1);
  w.copy_ns = w.copy_ns > 0 ? copies * w.copy_ns : 0;
  w.copy_joule *= copies;
  *fits = 0;
  for (int32_t placing = first_placing(search); placing < devices && !plim_space_is_done(search); placing++) {
    int32_t found;
    PLIM_TRY(try_start(search, &w, placing, 1, &found));
    *fits |= found;
    if (plim_effort_over(search->problem->ctx, PLIM_EFFORT_LOOK)) return PLIM_OK;
  }
  return PLIM_OK;
}

/* Takes time that grows little faster than the graph. At first copies cost next to nothing, since recomputes may need
 * recomputes in turn. Then copies cost more and more, as long as there are plans. */
plim_status plim_space_try_on_demand(plim_space_search_state *search) {
  const int32_t recompute = search->rules.recompute;
  int32_t missed = 0, fits;
  plim_space_choose_order(search, 0);
  if (search->problem->n < spaces_tuning.search.large_nodes) return PLIM_OK;
  search->rules.recompute = recompute && !search->pages; /* first pages alone: a plan of theirs is one of both */
  PLIM_TRY(try_demand(search, spaces_tuning.search.copies_free, &fits));
  search->rules.recompute = recompute;
  if (recompute && search->pages) PLIM_TRY(try_demand(search, spaces_tuning.search.copies_free, &fits));
  double copies = spaces_tuning.search.copies_first;
  while (copies <= spaces_tuning.search.copies_last && missed < 2 && !plim_space_is_done(search)) {
    if (plim_effort_over(search->problem->ctx, PLIM_EFFORT_LOOK)) break;
    PLIM_TRY(try_demand(search, copies, &fits));
    missed = fits ? 0 : missed + 1;
    copies *= spaces_tuning.search.copies_factor;
  }
  return PLIM_OK;
}

/* Start i in program order. Shares of what copies cost change from one start to the next, haste and `stay` after every
 * three starts, the exponent of the events relieved after every six. */
static plim_space_weights weights_of_start(plim_space_search_state *search, int32_t i) {
  const int32_t second = i / PLIM_SPACE_START_COPIES % 2, third = i / (2 * PLIM_SPACE_START_COPIES);
  search->haste = second;
  plim_space_weights w = plim_space_weights_of(search, spaces_tuning.search.start_copies[i % PLIM_SPACE_START_COPIES]);
  w.by_time = spaces_tuning.search.start_by_time[third % PLIM_SPACE_START_TIMES];
  w.first = i % 2;
  w.stay = second;
  return w;
}

/* After those in program order come drawn orders, as long as nothing fits. */
plim_status plim_space_try_starts(plim_space_search_state *search) {
  const int32_t devices = search->rules.devices, in_order = spaces_tuning.search.starts;
  const int is_large = search->has_best && search->problem->n >= spaces_tuning.search.large_nodes;
  const int32_t starts = is_large ? spaces_tuning.search.large_starts : in_order;
  for (int32_t i = 0; !plim_space_is_done(search); i++) {
    if (i >= starts + (search->has_best ? 0 : spaces_tuning.search.drawn_starts)) break;
    const plim_space_weights w = weights_of_start(search, i);
    plim_space_choose_order(search, i >= in_order);
    for (int32_t placing = first_placing(search); placing < devices && !plim_space_is_done(search); placing++) {
      int32_t fits;
      PLIM_TRY(try_start(search, &w, placing, 0, &fits));
      if (plim_effort_over(search->problem->ctx, PLIM_EFFORT_LOOK)) return PLIM_OK;
    }
  }
  return PLIM_OK;
}

/* What is known, or another search found, is a start. */
static plim_status start_from(plim_space_search_state *search, const plim_space_events *events) {
  plim_space_worth found;
  PLIM_TRY(plim_space_sequence_take(&search->now, events));
  if (!search->now.valid || !plim_space_sequence_is_within(&search->now, search->options->budget)) return PLIM_OK;
  PLIM_TRY(plim_space_weigh(search, &search->now, search->has_best ? &search->best_worth : NULL, &found));
  return plim_space_keep_best(search, &search->now, found);
}

plim_status plim_space_try_known(plim_space_search_state *search) {
  for (int32_t i = 0; i < search->options->n_starts; i++) PLIM_TRY(start_from(search, search->options->start[i]));
  return PLIM_OK;
}
