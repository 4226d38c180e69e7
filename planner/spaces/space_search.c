/* Local search from the best start. A round takes some repeats and copies out, moves a run or changes devices, repairs,
 * covers with drawn weights, prunes, and keeps what is hardly worse than before. */
#include "planner/spaces/space_search.h"

#include <math.h>
#include <string.h>

#include "planner/spaces/space_searching.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

static void drop_marked_items(plim_space_sequence *s) {
  int32_t n = 0;
  for (int32_t e = 0; e < s->n; e++) {
    if (s->item[e].kind != PLIM_SPACE_DROP) s->item[n++] = s->item[e];
  }
  s->n = n;
}

/* Take out repeats and copies of a window, some or all. */
static void take_out(plim_space_searching *k) {
  plim_space_sequence *s = &k->next;
  int32_t half = s->n / 2 < tuning.move.out_width ? s->n / 2 : tuning.move.out_width;
  int32_t width = 1 + plim_random_below(&k->random, s->n < tuning.move.out_whole ? s->n : half);
  int32_t from = plim_random_below(&k->random, s->n), least = tuning.move.out_percent;
  int32_t percent = least + plim_random_below(&k->random, 101 - least);
  memset(k->marked, 0, (size_t)k->problem->n);
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
static void change_devices(plim_space_searching *k) {
  plim_space_sequence *s = &k->next;
  int32_t n = k->problem->n, devices = k->rules.devices, first = plim_random_below(&k->random, n);
  int32_t to = plim_random_below(&k->random, devices), turn = plim_random_percent(&k->random, tuning.move.turn_percent);
  int32_t most = n < tuning.move.devices_width ? n : tuning.move.devices_width;
  int32_t width =
      plim_random_percent(&k->random, tuning.move.one_percent) ? 1 : 1 + plim_random_below(&k->random, most);
  for (int32_t e = 0; e < s->n; e++) {
    plim_space_event *v = &s->item[e];
    if (v->node < first || v->node >= first + width) continue;
    int32_t device = turn ? (v->at + to) % devices : to;
    if (v->kind == PLIM_SPACE_COPY) v->kind = PLIM_SPACE_DROP;
    if (v->kind == PLIM_SPACE_RUN && plim_space_has_room(k->problem, k->options->budget, v->node, device))
      v->at = device;
  }
  drop_marked_items(s);
}

/* A run moves as late as its first reader allows, or as early as its inputs do. */
static void move_run(plim_space_searching *k) {
  plim_space_sequence *s = &k->next;
  const plim_space_sequence *now = &k->now;
  int32_t e = plim_random_below(&k->random, s->n), to = e, most = s->n;
  const plim_space_event v = s->item[e];
  for (int32_t i = now->first_read[e]; i < now->first_read[e + 1]; i++) {
    if (i == now->first_read[e] || now->read[i] > to) to = now->read[i];
  }
  if (plim_random_percent(&k->random, tuning.move.later_percent)) {
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

static plim_status change(plim_space_searching *k, int32_t *fits) {
  plim_space_weights w = plim_space_draw_weights(k);
  int32_t draw = plim_random_below(&k->random, 10);
  PLIM_TRY(plim_space_sequence_copy(&k->next, &k->now));
  if (draw < tuning.move.devices_below && k->rules.devices > 1) {
    change_devices(k);
  } else if (draw < tuning.move.run_below) {
    move_run(k);
  }
  if (draw >= tuning.move.out_from) take_out(k);
  PLIM_TRY(plim_space_repair(&k->next, &k->rules, &w, fits));
  if (*fits) PLIM_TRY(plim_space_cover(&k->next, &k->rules, &w, &k->random, fits));
  return *fits ? plim_space_prune(&k->next, &k->rules) : PLIM_OK;
}

static void swap_sequences(plim_space_searching *k) {
  plim_space_sequence now = k->now;
  k->now = k->next;
  k->next = now;
}

static plim_status back_to_best(plim_space_searching *k) {
  k->now_worth = k->best_worth;
  PLIM_TRY(plim_space_sequence_copy(&k->now, &k->best));
  return plim_space_sequence_analyse(&k->now);
}

/* Another start in place of the best sequence, where one fits: what lies around the best is searched already. */
static plim_status begin_anew(plim_space_searching *k) {
  plim_space_weights w = plim_space_draw_weights(k);
  int32_t devices = k->rules.devices, fits, first = devices > 1 ? plim_random_below(&k->random, devices + 2) - 2 : 0;
  plim_space_choose_order(k, plim_random_percent(&k->random, tuning.move.drawn_order_percent));
  PLIM_TRY(plim_space_begin_start(k, &w, first, 1, &fits));
  if (fits) PLIM_TRY(plim_space_cover(&k->now, &k->rules, &w, &k->random, &fits));
  if (!fits) return back_to_best(k);
  PLIM_TRY(plim_space_prune(&k->now, &k->rules));
  return plim_space_weigh(k, &k->now, NULL, &k->now_worth);
}

/* A round takes what is better than this: hardly worse than before, by a drawn share of what lies above the bound. */
static plim_space_worth worst_taken(plim_space_searching *k, int64_t round) {
  double share = tuning.search.slack * plim_random_unit(&k->random) * (1 - (double)round / (double)k->options->rounds);
  plim_space_worth most = k->now_worth;
  most.value += share * fmax(0, most.value - fmax(0, k->options->bound));
  return most;
}

/* The weight of time where a deadline is set. */
static double draw_haste(plim_space_searching *k) {
  if (k->options->deadline_ns == INT64_MAX) return 0;
  double haste = tuning.search.haste * plim_random_unit(&k->random);
  return k->best_worth.late > 0 ? tuning.search.haste_late * haste : haste;
}

static plim_status search_rounds(plim_space_searching *k) {
  int64_t stale = 0;
  int small = k->options->rounds >= tuning.search.rounds_anew * ((int64_t)k->problem->n + 10);
  int32_t patience = small ? tuning.search.patience_anew : tuning.search.patience;
  PLIM_TRY(back_to_best(k));
  for (int64_t round = 0; round < k->options->rounds && !plim_space_is_done(k); round++) {
    int32_t fits;
    plim_space_worth found;
    if (plim_effort_over(k->problem->ctx, PLIM_EFFORT_LOOK)) break;
    k->progress.done = round;
    const plim_space_worth most = worst_taken(k, round);
    k->haste = draw_haste(k);
    PLIM_TRY(change(k, &fits));
    if (!fits) continue;
    PLIM_TRY(plim_space_weigh(k, &k->next, &most, &found));
    stale = plim_space_worth_is_better(found, k->best_worth) ? 0 : stale + 1;
    PLIM_TRY(plim_space_keep_best(k, &k->next, found));
    if (plim_space_worth_is_better(found, most)) {
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
    sum = plim_add_checked(sum, p->node[i].bytes);
    if (sum >= 0) sum = plim_add_checked(sum, p->node[i].workspace);
  }
  if (sum >= 0 && sum < INT64_MAX / 4) return PLIM_OK;
  return plim_fail(p->ctx, PLIM_EOVERFLOW, "the bytes of all outputs and workspaces add up to more than 61 bits hold");
}

static plim_status search_sequence(plim_space_searching *k, plim_space_found *found, plim_space_events *out) {
  plim_space_totals totals;
  PLIM_TRY(need_sums(k->problem));
  PLIM_TRY(plim_space_sequence_init(&k->now, k->problem));
  PLIM_TRY(plim_space_sequence_init(&k->next, k->problem));
  PLIM_TRY(plim_space_sequence_init(&k->best, k->problem));
  PLIM_TRY(plim_space_sequence_init(&k->arranged, k->problem));
  plim_space_set_rules(k);
  if (k->problem->device_ns > 0 && k->problem->device_ns < INT64_MAX)
    k->joule_per_ns = k->problem->device_joule / (double)k->problem->device_ns;
  if (k->problem->n >= tuning.search.large_nodes) PLIM_TRY(plim_space_try_known(k));
  if (!plim_context_cancelled(k->problem->ctx)) PLIM_TRY(plim_space_try_on_demand(k));
  if (!plim_context_cancelled(k->problem->ctx)) PLIM_TRY(plim_space_try_starts(k));
  if (k->problem->n < tuning.search.large_nodes) PLIM_TRY(plim_space_try_known(k));
  if (k->has_best && k->options->rounds > 0) PLIM_TRY(search_rounds(k));
  found->fits = k->has_best && !(k->best_worth.late > 0);
  found->value = k->best_worth.value;
  if (!found->fits) return PLIM_OK;
  if (k->best_events.n > 0) {
    *out = k->best_events;
    k->best_events = (plim_space_events){.ctx = k->problem->ctx};
    return PLIM_OK;
  }
  PLIM_TRY(plim_space_sequence_copy(&k->arranged, &k->best));
  PLIM_TRY(plim_space_sequence_analyse(&k->arranged));
  return plim_space_arrange(&k->arranged, k->options->budget, !plim_space_is_sum(k), &totals, out);
}

plim_status plim_space_search(const plim_space_problem *problem, const plim_space_search_options *options,
                              plim_space_found *found, plim_space_events *out) {
  plim_context *ctx = problem->ctx;
  plim_space_searching k = {.problem = problem,
                            .options = options,
                            .random = {1 + options->seed},
                            .events = {.ctx = ctx},
                            .best_events = {.ctx = ctx}};
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
  PLIM_CHECK(search_sequence(&k, found, out));
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
