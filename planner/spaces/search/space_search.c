/* Local search from the best start. A round takes some repeats and copies out, moves a run or changes devices, repairs,
 * covers with drawn weights, prunes, and keeps what is hardly worse than before. */
#include "planner/spaces/search/space_search.h"

#include <math.h>
#include <string.h>

#include "planner/spaces/search/space_search_internal.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

/* Take out repeats and copies of a window, some or all. */
static void take_out_window(plim_space_search_state *search) {
  plim_space_sequence *s = &search->next;
  int32_t half = s->n / 2 < spaces_tuning.move.out_width ? s->n / 2 : spaces_tuning.move.out_width;
  int32_t width = 1 + plim_random_below(&search->random, s->n < spaces_tuning.move.out_whole ? s->n : half);
  int32_t from = plim_random_below(&search->random, s->n), min_percent = spaces_tuning.move.out_percent;
  int32_t percent = min_percent + plim_random_below(&search->random, 101 - min_percent);
  memset(search->marked, 0, (size_t)search->problem->n);
  for (int32_t e = 0; e < s->n; e++) {
    plim_space_event *v = &s->event[e];
    const int is_repeat = v->kind == PLIM_SPACE_COPY || search->marked[v->node];
    if (v->kind == PLIM_SPACE_RUN) search->marked[v->node] = 1;
    if (is_repeat && e >= from && e < from + width && plim_random_percent(&search->random, percent)) {
      v->kind = PLIM_SPACE_VOID;
    }
  }
  plim_space_sequence_close_up(s);
}

/* Some nodes next to each other run elsewhere: all on one device, or each as many devices on, so that nodes of two
 * devices change places. */
static void change_devices(plim_space_search_state *search) {
  plim_space_sequence *s = &search->next;
  int32_t n = search->problem->n, devices = search->rules.devices, first = plim_random_below(&search->random, n);
  const int32_t to = plim_random_below(&search->random, devices);
  const int turns = plim_random_percent(&search->random, spaces_tuning.move.turn_percent);
  int32_t max_width = n < spaces_tuning.move.devices_width ? n : spaces_tuning.move.devices_width;
  int32_t width = plim_random_percent(&search->random, spaces_tuning.move.one_percent)
                      ? 1
                      : 1 + plim_random_below(&search->random, max_width);
  for (int32_t e = 0; e < s->n; e++) {
    plim_space_event *v = &s->event[e];
    if (v->node < first || v->node >= first + width) continue;
    const int32_t device = turns ? (v->at + to) % devices : to;
    if (v->kind == PLIM_SPACE_COPY) v->kind = PLIM_SPACE_VOID;
    if (v->kind == PLIM_SPACE_RUN && plim_space_has_room(search->problem, search->options->budget, v->node, device))
      v->at = device;
  }
  plim_space_sequence_close_up(s);
}

/* The last event before e that fills what e reads; -1: it reads nothing. */
static int32_t last_input(const plim_space_sequence *s, int32_t e) {
  int32_t last = -1;
  for (int32_t i = s->first_read[e]; i < s->first_read[e + 1]; i++) {
    if (s->read[i] > last) last = s->read[i];
  }
  return last;
}

/* The first event that reads what e fills; n: none does. */
static int32_t first_reader(const plim_space_sequence *s, int32_t e) {
  for (int32_t u = e + 1; u < s->n; u++) {
    for (int32_t i = s->first_read[u]; i < s->first_read[u + 1]; i++) {
      if (s->read[i] == e) return u;
    }
  }
  return s->n;
}

/* An event moves later, up to its first reader, or earlier, down to its last input. */
static void move_event(plim_space_search_state *search) {
  plim_space_event *event = search->next.event;
  const plim_space_sequence *now = &search->now; /* next is a copy of it, not analysed */
  const int32_t e = plim_random_below(&search->random, now->n);
  const plim_space_event moved = event[e];
  int32_t to;
  if (plim_random_percent(&search->random, spaces_tuning.move.later_percent)) {
    to = e + plim_random_below(&search->random, first_reader(now, e) - e);
    memmove(event + e, event + e + 1, (size_t)(to - e) * sizeof *event);
  } else {
    const int32_t first = last_input(now, e) + 1;
    to = first + plim_random_below(&search->random, e - first + 1);
    memmove(event + to + 1, event + to, (size_t)(e - to) * sizeof *event);
  }
  event[to] = moved;
}

/* Is the next sequence the one in hand? That one is legal, fits, and is weighed. */
static int has_returned(const plim_space_search_state *search) {
  const plim_space_sequence *now = &search->now, *next = &search->next;
  return next->n == now->n && memcmp(next->event, now->event, (size_t)now->n * sizeof *now->event) == 0;
}

static plim_status make_next(plim_space_search_state *search, int32_t *fits) {
  plim_space_weights w = plim_space_draw_weights(search);
  const int32_t devices = spaces_tuning.move.devices_of_ten, run = spaces_tuning.move.run_of_ten;
  const int32_t draw = plim_random_below(&search->random, 10);
  PLIM_TRY(plim_space_sequence_copy(&search->next, &search->now));
  if (draw < devices && search->rules.devices > 1) {
    change_devices(search);
  } else if (draw < devices + run) {
    move_event(search);
  }
  if (draw >= 10 - spaces_tuning.move.out_of_ten) take_out_window(search);
  *fits = 1;
  if (has_returned(search)) {
    PLIM_TRY(plim_space_sequence_copy_analysed(&search->next, &search->now));
  } else {
    PLIM_TRY(plim_space_repair(&search->next, &search->rules, &w, fits));
    if (*fits && !has_returned(search))
      PLIM_TRY(plim_space_cover(&search->next, &search->rules, &w, &search->random, fits));
  }
  return *fits ? plim_space_prune(&search->next, &search->rules) : PLIM_OK;
}

static void swap_sequences(plim_space_search_state *search) {
  plim_space_sequence now = search->now;
  search->now = search->next;
  search->next = now;
}

static plim_status back_to_best(plim_space_search_state *search) {
  search->now_worth = search->best_worth;
  PLIM_TRY(plim_space_sequence_copy(&search->now, &search->best));
  return plim_space_sequence_analyse(&search->now);
}

/* Another start in place of the best sequence, where one fits: what lies around the best is searched already. */
static plim_status begin_anew(plim_space_search_state *search) {
  plim_space_weights w = plim_space_draw_weights(search);
  const int32_t placing = plim_space_draw_placing(search);
  int32_t fits;
  plim_space_choose_order(search, plim_random_percent(&search->random, spaces_tuning.move.drawn_order_percent));
  PLIM_TRY(plim_space_begin_start(search, &w, placing, 1, &fits));
  if (fits) PLIM_TRY(plim_space_cover(&search->now, &search->rules, &w, &search->random, &fits));
  if (!fits) return back_to_best(search);
  PLIM_TRY(plim_space_prune(&search->now, &search->rules));
  PLIM_TRY(plim_space_weigh(search, &search->now, NULL, &search->now_worth));
  return plim_space_keep_best(search, &search->now, search->now_worth);
}

/* A round takes what is better than this: hardly worse than before, by a drawn share of what lies above the bound. */
static plim_space_worth worst_taken(plim_space_search_state *search, int64_t round) {
  double share = spaces_tuning.search.slack * plim_random_unit(&search->random) *
                 (1 - (double)round / (double)search->options->rounds);
  plim_space_worth worst = search->now_worth;
  worst.value += share * fmax(0, worst.value - fmax(0, search->options->bound));
  return worst;
}

/* The weight of time where a deadline is set. */
static double draw_haste(plim_space_search_state *search) {
  if (search->options->deadline_ns == INT64_MAX) return 0;
  double haste = spaces_tuning.search.haste * plim_random_unit(&search->random);
  return search->best_worth.late > 0 ? spaces_tuning.search.haste_late * haste : haste;
}

static plim_status search_rounds(plim_space_search_state *search) {
  int64_t stale = 0;
  const int is_long = search->options->rounds >= spaces_tuning.search.rounds_anew * ((int64_t)search->problem->n + 10);
  int32_t patience = is_long ? spaces_tuning.search.patience_anew : spaces_tuning.search.patience;
  PLIM_TRY(back_to_best(search));
  for (int64_t round = 0; round < search->options->rounds && !plim_space_is_done(search); round++) {
    int32_t fits;
    plim_space_worth found;
    if (plim_effort_over(search->problem->ctx, PLIM_EFFORT_LOOK)) break;
    search->progress.done = round;
    const plim_space_worth worst = worst_taken(search, round);
    search->haste = draw_haste(search);
    PLIM_TRY(make_next(search, &fits));
    if (!fits) continue;
    if (has_returned(search)) {
      stale++;
      plim_space_report(search->problem->ctx, &search->rules);
    } else {
      PLIM_TRY(plim_space_weigh(search, &search->next, &worst, &found));
      stale = plim_space_worth_is_better(found, search->best_worth) ? 0 : stale + 1;
      PLIM_TRY(plim_space_keep_best(search, &search->next, found));
      if (plim_space_worth_is_better(found, worst)) {
        search->now_worth = found;
        swap_sequences(search);
      }
    }
    if (stale < patience) continue;
    stale = 0;
    PLIM_TRY(is_long && plim_random_percent(&search->random, spaces_tuning.search.anew) ? begin_anew(search)
                                                                                        : back_to_best(search));
  }
  return PLIM_OK;
}

static plim_status need_sums(const plim_space_problem *p) {
  int64_t sum = 0;
  for (int32_t i = 0; i < p->n && sum >= 0; i++) {
    sum = plim_add_checked(sum, p->node[i].bytes);
    if (sum >= 0) sum = plim_add_checked(sum, p->node[i].workspace);
  }
  if (sum >= 0 && sum < INT64_MAX / 4) return PLIM_OK;
  return plim_fail(p->ctx, PLIM_EOVERFLOW, "the bytes of all outputs and workspaces add up to more than 61 bits hold");
}

static plim_status search_sequence(plim_space_search_state *search, plim_space_found *found, plim_space_events *out) {
  plim_space_totals totals;
  PLIM_TRY(need_sums(search->problem));
  PLIM_TRY(plim_space_sequence_init(&search->now, search->problem));
  PLIM_TRY(plim_space_sequence_init(&search->next, search->problem));
  PLIM_TRY(plim_space_sequence_init(&search->best, search->problem));
  PLIM_TRY(plim_space_sequence_init(&search->arranged, search->problem));
  plim_space_set_rules(search);
  if (search->problem->device_ns > 0 && search->problem->device_ns < INT64_MAX)
    search->joule_per_ns = search->problem->device_joule / (double)search->problem->device_ns;
  if (search->problem->n >= spaces_tuning.search.large_nodes) PLIM_TRY(plim_space_try_known(search));
  if (!plim_context_cancelled(search->problem->ctx)) PLIM_TRY(plim_space_try_on_demand(search));
  if (!plim_context_cancelled(search->problem->ctx)) PLIM_TRY(plim_space_try_starts(search));
  if (search->problem->n < spaces_tuning.search.large_nodes) PLIM_TRY(plim_space_try_known(search));
  if (search->has_best && search->options->rounds > 0) PLIM_TRY(search_rounds(search));
  found->fits = search->has_best && !(search->best_worth.late > 0);
  found->value = search->best_worth.value;
  if (!found->fits) return PLIM_OK;
  if (search->best_events.n > 0) {
    *out = search->best_events;
    search->best_events = (plim_space_events){.ctx = search->problem->ctx};
    return PLIM_OK;
  }
  PLIM_TRY(plim_space_sequence_copy(&search->arranged, &search->best));
  PLIM_TRY(plim_space_sequence_analyse(&search->arranged));
  return plim_space_arrange(&search->arranged, search->options->budget, !plim_space_is_sum(search), &totals, out);
}

plim_status plim_space_search(const plim_space_problem *problem, const plim_space_search_options *options,
                              plim_space_found *found, plim_space_events *out) {
  plim_context *ctx = problem->ctx;
  plim_space_search_state search = {.problem = problem,
                                    .options = options,
                                    .random = {1 + options->seed},
                                    .events = {.ctx = ctx},
                                    .best_events = {.ctx = ctx}};
  int64_t n_busy = (int64_t)problem->platform->n_devices + problem->platform->n_links;
  plim_status status;
  *found = (plim_space_found){.fits = 0};
  PLIM_TRY_OR_DONE(plim_allocate(ctx, problem->platform->n_links, sizeof *search.link_taken, &search.link_taken));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, problem->platform->n_links, sizeof *search.link_places, &search.link_places));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, problem->n, sizeof *search.device, &search.device));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, problem->n, sizeof *search.order, &search.order));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 2 * (int64_t)problem->n, sizeof *search.waiting, &search.waiting));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, problem->n, sizeof *search.marked, &search.marked));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n_busy, sizeof *search.busy_ns, &search.busy_ns));
  PLIM_TRY_OR_DONE(search_sequence(&search, found, out));
done:
  plim_space_sequence_free(&search.now);
  plim_space_sequence_free(&search.next);
  plim_space_sequence_free(&search.best);
  plim_space_sequence_free(&search.arranged);
  plim_space_events_free(&search.events);
  plim_space_events_free(&search.best_events);
  plim_release(ctx, search.link_taken, problem->platform->n_links, sizeof *search.link_taken);
  plim_release(ctx, search.link_places, problem->platform->n_links, sizeof *search.link_places);
  plim_release(ctx, search.device, problem->n, sizeof *search.device);
  plim_release(ctx, search.order, problem->n, sizeof *search.order);
  plim_release(ctx, search.waiting, 2 * (int64_t)problem->n, sizeof *search.waiting);
  plim_release(ctx, search.marked, problem->n, sizeof *search.marked);
  plim_release(ctx, search.busy_ns, n_busy, sizeof *search.busy_ns);
  plim_release(ctx, search.end_ns, search.end_capacity, sizeof *search.end_ns);
  return status;
}
