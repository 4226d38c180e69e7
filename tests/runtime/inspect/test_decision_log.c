/* runtime/inspect/decision_log: what a replay tells is what the run did, at every policy and budget; and reasons by
 * hand. */
#include "runtime/inspect/decision_log.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/graph/check/check.h"
#include "runtime/inspect/inspect.h"
#include "tests/support/dtr_logs.h"
#include "tests/support/failing_memory.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_seed.h"

enum { UNIT = 512 };

typedef struct rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *order;
  plim_decision_log *decisions;
} rig;

static void order_rig(rig *r) {
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  options.order = PLIM_ORDER_FIXED;
  cr_assert_eq(plim_plan_keep_all(r->ctx, r->graph, r->profile, &options, &r->order), PLIM_OK);
}

static rig random_rig(uint64_t seed) {
  rig r = {.ctx = NULL};
  cr_assert_eq(plim_context_new(NULL, NULL, &r.ctx), PLIM_OK);
  cr_assert_eq(random_chain_make(r.ctx, 6, seed, &r.graph), PLIM_OK);
  cr_assert_eq(random_profile_make(r.graph, seed, 1, &r.profile), PLIM_OK);
  order_rig(&r);
  return r;
}

/* Its inputs are read at any time: what is computed from one that was read early may be recomputed late. */
static rig random_graph_rig(uint64_t seed) {
  rig r = {.ctx = NULL};
  random_graph_options options = random_graph_options_default(seed);
  options.n_ops = 50;
  cr_assert_eq(plim_context_new(NULL, NULL, &r.ctx), PLIM_OK);
  cr_assert_eq(random_graph_make(r.ctx, &options, &r.graph), PLIM_OK);
  cr_assert_eq(random_profile_make(r.graph, seed, 1, &r.profile), PLIM_OK);
  order_rig(&r);
  return r;
}

/* x1 = f(x0) ... x6 = f(x5), each of a kilobyte; then every xi is read again from the end. */
static rig log_rig(void) {
  rig r = {.ctx = NULL};
  cr_assert_eq(plim_context_new(NULL, NULL, &r.ctx), PLIM_OK);
  plim_text log = {r.ctx, NULL, 0, 0, PLIM_OK};
  plim_text_add(&log, "{\"ANNOTATION\":\"START\",\"INSTRUCTION\":\"ANNOTATE\"}\n");
  dtr_constant(&log, "x0", 1024);
  for (int i = 1; i <= 6; i++) {
    char from[16], to[16];
    (void)snprintf(from, sizeof from, "x%d", i - 1);
    (void)snprintf(to, sizeof to, "x%d", i);
    dtr_call(&log, "f", from, to, 1024, -1, 100 * i);
  }
  for (int i = 5; i >= 1; i--) {
    char args[32], to[16];
    (void)snprintf(args, sizeof args, "%c%d x%d", i == 5 ? 'x' : 'g', i + 1, i);
    (void)snprintf(to, sizeof to, "g%d", i);
    dtr_call(&log, "b", args, to, 1024, -1, 50);
    *strchr(args, ' ') = 0;
    dtr_release(&log, args);
    dtr_release(&log, args + strlen(args) + 1);
  }
  r.graph = dtr_graph(r.ctx, log.chars);
  plim_text_free(&log);
  cr_assert_eq(plim_profile_from_graph(r.graph, &r.profile), PLIM_OK);
  order_rig(&r);
  return r;
}

static plim_status tell(rig *r, const char *policy, int64_t bytes) {
  plim_decision_log_options options = {r->graph, r->order, plim_policy_find(policy), bytes, 0};
  return plim_decision_log_new(r->ctx, &options, &r->decisions);
}

static void forget(rig *r) {
  plim_decision_log_free(r->decisions);
  r->decisions = NULL;
}

static void free_rig(rig *r) {
  forget(r);
  plim_plan_free(r->order);
  plim_profile_free(r->profile);
  plim_graph_free(r->graph);
  cr_assert_eq(plim_context_memory(r->ctx).bytes, 0);
  plim_context_free(r->ctx);
}

/* ---- the replay equals the run ---- */

static void check_blocks(const rig *r, const plim_decision_reasons *why, int64_t budget) {
  int64_t at = 0, free_bytes = 0;
  for (int32_t i = 0; i < why->n_blocks; i++) {
    const plim_decision_block *p = &why->block[i];
    cr_assert_eq(p->offset, at, "pieces tile the arena");
    at += p->bytes;
    if (p->state == PLIM_ARENA_BLOCK_UNUSED) free_bytes += p->bytes;
    if (p->state == PLIM_ARENA_BLOCK_PINNED && p->by >= 0) cr_assert(plim_op_touches(&r->graph->op[p->by], p->storage));
    if (p->state == PLIM_ARENA_BLOCK_TOO_LATE && p->by >= 0) {
      cr_assert(plim_role_persistent(r->graph->storage[p->by].role));
    }
    if (p->state == PLIM_ARENA_BLOCK_EVICTABLE) cr_assert(p->own_ns >= 0 && p->neighbour_ns >= 0 && p->score >= 0);
  }
  cr_assert_eq(at, budget - budget % PLIM_ALIGN);
  cr_assert_eq(free_bytes, why->free_bytes);
}

static int is_evicted(const plim_decision *c, int32_t storage) {
  for (int32_t i = 0; i < c->n_evicted; i++) {
    if (c->evicted[i] == storage) return 1;
  }
  return 0;
}

/* What was taken is what went, and nothing that was looked at beside it was cheaper. */
static void check_choice(const plim_decision *c, const plim_decision_reasons *why, int is_perturbed) {
  int32_t n = 0;
  if (why->n_windows == 0) {
    cr_assert_eq(c->n_evicted, 1);
    cr_assert_eq(why->block[why->taken].storage, c->evicted[0]);
    if (why->runner_up >= 0) cr_assert_leq(why->block[why->taken].score, why->block[why->runner_up].score);
    return;
  }
  const plim_decision_window *w = &why->window[0];
  cr_assert_geq(w->bytes, c->request.bytes);
  for (int32_t i = w->begin; i < w->end; i++) {
    const plim_decision_block *p = &why->block[i];
    cr_assert(p->state == PLIM_ARENA_BLOCK_UNUSED || p->state == PLIM_ARENA_BLOCK_EVICTABLE);
    if (p->state == PLIM_ARENA_BLOCK_EVICTABLE) n += is_evicted(c, p->storage);
  }
  cr_assert_eq(n, c->n_evicted);
  const int32_t first = is_perturbed ? 2 : 1; /* a local search may take a window that is not the cheapest */
  for (int32_t i = first; i < why->n_windows; i++) cr_assert_leq(why->window[i - 1].together, why->window[i].together);
}

/* What asked for room was placed in the hole that the decision made. */
static void check_place(const plim_decision_log *decisions, const plim_decision *c, const plim_decision_reasons *why) {
  const plim_plan *plan = plim_decision_log_plan(decisions);
  if (why->n_windows == 0) return;
  int32_t first = why->window[0].begin, last = why->window[0].end - 1; /* free neighbours join the hole */
  while (first > 0 && why->block[first - 1].state == PLIM_ARENA_BLOCK_UNUSED) first--;
  while (last + 1 < why->n_blocks && why->block[last + 1].state == PLIM_ARENA_BLOCK_UNUSED) last++;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &plan->buffer[i];
    if (buffer->begin != c->command || buffer->storage != c->request.storage) continue;
    cr_assert_geq(buffer->offset, why->block[first].offset);
    cr_assert_leq(buffer->offset + buffer->bytes, why->block[last].offset + why->block[last].bytes);
    return;
  }
  cr_assert_fail("step %d: what asked for room has no buffer", (int)c->command);
}

/* After a run that serves another comes one that is less deep; the steps of the program are all there. */
static void check_depths(const rig *r) {
  const plim_plan *plan = plim_decision_log_plan(r->decisions);
  int32_t n = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    int32_t depth = plim_decision_log_depth(r->decisions, j), k = j + 1;
    n += depth == 0;
    while (k < plan->n_commands && plim_decision_log_depth(r->decisions, k) >= depth) k++;
    if (depth > 1) cr_assert(k < plan->n_commands && plim_decision_log_depth(r->decisions, k) == depth - 1);
  }
  cr_assert_eq(n, r->order->n_commands);
}

static void check_run(rig *r, const plim_policy *policy, int64_t bytes) {
  plim_replay_counts counts;
  plim_plan *plan = NULL;
  const plim_decision *choice;
  int32_t step;
  int64_t evicted = 0;
  plim_status status =
      plim_arena_online(r->ctx, r->graph, r->order, policy, (plim_replay_limits){bytes, INT64_MAX}, &counts, &plan);
  cr_assert_eq(tell(r, policy->name, bytes), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_assert_eq(status == PLIM_ENOFIT, plim_decision_log_failure(r->decisions) != NULL);
  int32_t n = plim_decision_log_decisions(r->decisions, &choice);
  for (int32_t i = 0; i < n; i++) {
    const plim_decision_reasons *why;
    cr_assert_eq(plim_decision_log_explain(r->decisions, i, &why), PLIM_OK, "%s", plim_context_error(r->ctx));
    check_blocks(r, why, bytes);
    evicted += choice[i].n_evicted;
    if (choice[i].n_evicted == 0) continue;
    check_choice(&choice[i], why, plim_decision_log_config(r->decisions)->n_perturbations > 0);
    check_place(r->decisions, &choice[i], why);
  }
  if (status == PLIM_OK) {
    cr_assert(plim_decision_log_equals(r->decisions, plan, &step), "%s, %lld bytes: step %d", policy->name,
              (long long)bytes, (int)step);
    cr_assert_eq(evicted, counts.evictions);
    check_depths(r);
  }
  forget(r);
  plim_plan_free(plan);
}

Test(decisions, what_is_told_is_what_every_policy_did_step_by_step_and_address_by_address) {
  for (uint64_t seed = test_seed(1), end = seed + 12; test_seed_at(seed) < end; seed++) {
    rig r = random_rig(seed);
    for (int32_t i = 0; plim_policy_at(i); i++) {
      for (int64_t tenths = 4; tenths <= 9; tenths++) {
        check_run(&r, plim_policy_at(i), r.order->peak_bytes * tenths / 10 + 512);
      }
    }
    free_rig(&r);
  }
}

Test(decisions, a_plan_names_the_policy_that_it_can_be_told_from) {
  rig r = log_rig();
  plim_plan *plan = NULL;
  cr_assert_eq(plim_arena_online(r.ctx, r.graph, r.order, plim_policy_find("dtr-eq"),
                                 (plim_replay_limits){12 * UNIT, INT64_MAX}, NULL, &plan),
               PLIM_OK);
  cr_expect_str_eq(plan->planner, "online dtr-eq");
  plim_plan_free(plan);
  free_rig(&r);
}

Test(decisions, another_plan_is_not_what_was_told) {
  rig r = log_rig();
  plim_plan *plan = NULL;
  int32_t step = -1;
  cr_assert_eq(plim_arena_online(r.ctx, r.graph, r.order, plim_policy_find("size"),
                                 (plim_replay_limits){12 * UNIT, INT64_MAX}, NULL, &plan),
               PLIM_OK);
  cr_assert_eq(tell(&r, "coop", 10 * UNIT), PLIM_OK);
  cr_expect_not(plim_decision_log_equals(r.decisions, plan, &step));
  cr_expect(step >= 0 && step < plan->n_commands);
  plim_plan_free(plan);
  free_rig(&r);
}

/* ---- another policy from a step on ---- */

static void check_what_if(const rig *r, const plim_plan *plan, const plim_policy *policy, int32_t from) {
  plim_plan *other = NULL;
  plim_replay_counts counts;
  const plim_arena_change change = {.policy = policy, .from = from, .arena_bytes = plan->budget_bytes};
  plim_status status = plim_arena_what_if(r->ctx, r->graph, plan, &change, &counts, &other);
  if (status == PLIM_ENOFIT) return;
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_assert_eq(plim_plan_check(r->ctx, r->graph, other), PLIM_OK, "%s from step %d: %s", policy->name, (int)from,
               plim_context_error(r->ctx));
  for (int32_t j = 0; j < from; j++) cr_assert_eq(other->command[j].op, plan->command[j].op);
  plim_plan_free(other);
}

Test(decisions, another_policy_goes_on_from_any_step_with_what_was_there) {
  for (uint64_t seed = test_seed(1), end = seed + 6; test_seed_at(seed) < end; seed++) {
    rig r = random_rig(seed);
    plim_plan *plan = NULL;
    for (int64_t tenths = 6; !plan; tenths++) {
      int64_t bytes = r.order->peak_bytes * tenths / 10;
      plim_status status = plim_arena_online(r.ctx, r.graph, r.order, plim_policy_find("coop"),
                                             (plim_replay_limits){bytes, INT64_MAX}, NULL, &plan);
      cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(r.ctx));
    }
    for (int32_t from = 0; from < plan->n_commands; from += 5) {
      for (int32_t i = 0; plim_policy_at(i); i++) check_what_if(&r, plan, plim_policy_at(i), from);
    }
    plim_plan_free(plan);
    free_rig(&r);
  }
}

/* Is the step the first of what is computed for a step of the program? */
static int begins_a_tree(const plim_decision_log *decisions, int32_t step) {
  return step == 0 || plim_decision_log_depth(decisions, step - 1) == 0;
}

/* Do the plans run the same ops with everything at the same addresses? */
static int is_same_run(const plim_plan *a, const plim_plan *b) {
  if (a->n_commands != b->n_commands || a->n_buffers != b->n_buffers || a->time_ns != b->time_ns) return 0;
  for (int32_t i = 0; i < a->n_buffers; i++) {
    const plim_plan_buffer *x = &a->buffer[i], *y = &b->buffer[i];
    if (x->storage != y->storage || x->begin != y->begin || x->offset != y->offset) return 0;
  }
  return 1;
}

/* How many of the steps at which a run is continued with by its own policy within its own memory end as the run did. */
static int32_t count_as_before(const rig *r, const plim_policy *policy, int64_t bytes, int32_t *asked) {
  const plim_plan *plan = plim_decision_log_plan(r->decisions);
  int32_t as_before = 0;
  for (int32_t from = 0; from < plan->n_commands; from++) {
    plim_plan *other = NULL;
    plim_replay_counts counts;
    if (!begins_a_tree(r->decisions, from)) continue;
    ++*asked;
    plim_status status = plim_decision_log_what_if(r->decisions, policy, from, bytes, &counts, &other);
    cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s from %d: %s", policy->name, (int)from,
              plim_context_error(r->ctx));
    if (status == PLIM_ENOFIT) continue;
    as_before += is_same_run(plan, other);
    plim_plan_free(other);
  }
  return as_before;
}

/* Classes of missing storages join and never part (DTR, ICLR 2021, appendix C.2). A run that goes on has the classes of
 * what is missing now, and that may be smaller ones. So a policy that weighs classes may choose otherwise, seldom. */
Test(decisions, a_run_that_goes_on_as_it_was_ends_as_it_did) {
  int32_t asked[2] = {0}, as_before[2] = {0};
  for (uint64_t seed = test_seed(1), end = seed + 24; test_seed_at(seed) < end; seed++) {
    rig r = seed % 2 == 0 ? random_rig(seed) : random_graph_rig(seed);
    for (int32_t i = 0; plim_policy_at(i); i++) {
      const plim_policy *policy = plim_policy_at(i);
      const int classes = policy->cost == PLIM_COST_CLASSES;
      if (policy->forecast) continue;
      for (int64_t tenths = 6; tenths <= 9; tenths++) {
        const int64_t bytes = r.order->peak_bytes * tenths / 10 / PLIM_ALIGN * PLIM_ALIGN;
        cr_assert_eq(tell(&r, policy->name, bytes), PLIM_OK);
        if (!plim_decision_log_failure(r.decisions))
          as_before[classes] += count_as_before(&r, policy, bytes, &asked[classes]);
        forget(&r);
      }
    }
    free_rig(&r);
  }
  cr_assert_gt(asked[0], 200, "%d", asked[0]);
  cr_assert_gt(asked[1], 200, "%d", asked[1]);
  cr_assert_eq(as_before[0], asked[0], "%d of %d", as_before[0], asked[0]);
  cr_assert_gt(as_before[1], asked[1] - asked[1] / 20, "%d of %d", as_before[1], asked[1]);
}

/* From every step of a run without room on, the last too, in the memory of keep-all. */
static int go_on_with_more(const rig *r) {
  const plim_plan *plan = plim_decision_log_plan(r->decisions);
  int found = 0;
  for (int32_t from = plan->n_commands - 1; from >= 0; from--) {
    plim_plan *other = NULL;
    plim_replay_counts counts;
    plim_status status = plim_decision_log_what_if(r->decisions, plim_policy_find("coop"), from,
                                                   2 * r->order->peak_bytes, &counts, &other);
    cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(r->ctx));
    cr_assert_geq(counts.n_commands, from);
    if (status == PLIM_ENOFIT) continue;
    cr_assert_eq(plim_plan_check(r->ctx, r->graph, other), PLIM_OK, "from %d: %s", (int)from,
                 plim_context_error(r->ctx));
    cr_assert_eq(counts.n_commands, other->n_commands);
    for (int32_t j = 0; j < from; j++) cr_assert_eq(other->command[j].op, plan->command[j].op);
    plim_plan_free(other);
    found += from == plan->n_commands - 1;
  }
  return found;
}

Test(decisions, another_policy_goes_on_from_any_step_of_a_run_that_found_no_room) {
  int found = 0;
  for (uint64_t seed = test_seed(1), end = seed + 8; test_seed_at(seed) < end; seed++) {
    rig r = random_rig(seed);
    for (int64_t tenths = 6; tenths >= 3; tenths--) {
      cr_assert_eq(tell(&r, "dtr", r.order->peak_bytes * tenths / 10), PLIM_OK);
      if (plim_decision_log_failure(r.decisions) && plim_decision_log_plan(r.decisions)) found += go_on_with_more(&r);
      forget(&r);
    }
    free_rig(&r);
  }
  cr_assert_gt(found, 0, "%d", found);
}

Test(decisions, a_run_that_computes_too_much_again_ends_with_the_run_that_would_have_come) {
  rig r = log_rig();
  plim_decision_log_options options = {r.graph, r.order, plim_policy_find("coop"), 10 * UNIT, 150};
  plim_plan *other = NULL;
  plim_replay_counts counts;
  cr_assert_eq(plim_decision_log_new(r.ctx, &options, &r.decisions), PLIM_OK);
  const plim_plan *plan = plim_decision_log_plan(r.decisions);
  cr_assert_not_null(plim_decision_log_failure(r.decisions));
  cr_assert_not_null(strstr(plim_decision_log_failure(r.decisions), "again for longer than the limit"), "%s",
                     plim_decision_log_failure(r.decisions));
  cr_expect(plim_decision_log_thrashed(r.decisions));
  cr_assert_not_null(plan);
  cr_expect_gt(plan->n_commands, 6);
  cr_assert_eq(plim_decision_log_what_if(r.decisions, plim_policy_find("coop"), plan->n_commands - 1, 30 * UNIT,
                                         &counts, &other),
               PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_expect_eq(plim_plan_check(r.ctx, r.graph, other), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_expect_eq(
      plim_decision_log_what_if(r.decisions, plim_policy_find("coop"), plan->n_commands, 30 * UNIT, &counts, &other),
      PLIM_EUSAGE);
  plim_plan_free(other);
  free_rig(&r);
}

/* ---- reasons by hand ---- */

/* Room for x0 and five values: x6 asks for a sixth. x5 is being read; of x1 .. x4, by least recently used, x1 goes. */
Test(decisions, the_least_recently_used_goes_and_what_is_being_read_is_pinned_by_its_reader) {
  rig r = log_rig();
  const plim_decision *choice;
  const plim_decision_reasons *why;
  cr_assert_eq(tell(&r, "lru", 12 * UNIT), PLIM_OK);
  cr_assert_gt(plim_decision_log_decisions(r.decisions, &choice), 0);
  cr_expect_eq(choice[0].command, 5);
  cr_expect_eq(choice[0].request.op, 5);
  cr_expect_eq(choice[0].request.bytes, 2 * UNIT);
  cr_assert_eq(plim_decision_log_explain(r.decisions, 0, &why), PLIM_OK);
  cr_assert_eq(why->n_blocks, 6);
  cr_expect_eq(why->block[0].state, PLIM_ARENA_BLOCK_PERSISTENT);
  cr_expect_eq(why->taken, 1);
  cr_expect_eq(why->runner_up, 2);
  cr_expect_eq(why->block[1].own_ns, 100);
  cr_expect_eq(why->block[5].state, PLIM_ARENA_BLOCK_PINNED);
  cr_expect_eq(why->block[5].by, 5);
  free_rig(&r);
}

Test(decisions, a_run_without_room_ends_with_its_request_and_with_the_bytes_that_would_do) {
  rig r = log_rig();
  const plim_decision *choice;
  const plim_decision_reasons *why;
  plim_inspect *inspect = NULL;
  int64_t enough;
  cr_assert_eq(tell(&r, "coop", 5 * UNIT), PLIM_OK);
  cr_assert_not_null(plim_decision_log_failure(r.decisions));
  int32_t n = plim_decision_log_decisions(r.decisions, &choice);
  const plim_plan *plan = plim_decision_log_plan(r.decisions);
  cr_assert_eq(choice[n - 1].n_evicted, 0);
  cr_assert_eq(choice[n - 1].command, plan->n_commands - 1);
  cr_assert_eq(plim_decision_log_explain(r.decisions, n - 1, &why), PLIM_OK);
  cr_expect_eq(why->extra_bytes, UNIT); /* x0, what is read, and half of what is made */
  cr_assert_eq(plim_inspect_new(r.graph, plan, &inspect), PLIM_OK);
  cr_expect_eq(plim_inspect_live_bytes(inspect, plan->n_commands - 1), 4 * UNIT);
  plim_inspect_free(inspect);
  cr_assert_eq(plim_decision_log_enough(r.decisions, 30 * UNIT, &enough), PLIM_OK);
  cr_assert_geq(enough, 5 * UNIT + why->extra_bytes);
  forget(&r);
  cr_assert_eq(tell(&r, "coop", enough), PLIM_OK);
  cr_expect_null(plim_decision_log_failure(r.decisions));
  forget(&r);
  cr_assert_eq(tell(&r, "coop", enough - UNIT), PLIM_OK);
  cr_expect_not_null(plim_decision_log_failure(r.decisions));
  free_rig(&r);
}

/* A watcher stops its simulation by the status of a cancel. One of the caller's is no answer. */
Test(decisions, a_cancelled_question_has_no_answer) {
  rig r = log_rig();
  const plim_decision_reasons *why = NULL;
  plim_plan *other = NULL;
  plim_replay_counts counts;
  cr_assert_eq(tell(&r, "lru", 12 * UNIT), PLIM_OK);
  plim_context_cancel(r.ctx);
  cr_expect_eq(plim_decision_log_explain(r.decisions, 0, &why), PLIM_ECANCEL);
  cr_expect_null(why);
  cr_expect_eq(plim_decision_log_what_if(r.decisions, plim_policy_find("coop"), 5, 12 * UNIT, &counts, &other),
               PLIM_ECANCEL);
  cr_expect_null(other);
  plim_context_resume(r.ctx);
  cr_expect_eq(plim_decision_log_explain(r.decisions, 0, &why), PLIM_OK);
  plim_plan_free(other);
  free_rig(&r);
}

Test(decisions, an_arena_too_small_for_what_is_always_there_has_a_sentence_and_no_steps) {
  rig r = log_rig();
  const plim_decision *choice;
  cr_assert_eq(tell(&r, "best", UNIT), PLIM_OK);
  cr_expect_not_null(plim_decision_log_failure(r.decisions));
  cr_expect_null(plim_decision_log_plan(r.decisions));
  cr_expect_eq(plim_decision_log_decisions(r.decisions, &choice), 0);
  free_rig(&r);
}

static plim_status tell_and_explain(plim_context *ctx, void *user) {
  const rig *r = user;
  plim_decision_log_options options = {r->graph, r->order, plim_policy_find("coop"), 10 * UNIT, 0};
  const plim_decision_reasons *why;
  plim_decision_log *decisions = NULL;
  plim_status status = plim_decision_log_new(ctx, &options, &decisions);
  if (status == PLIM_OK) status = plim_decision_log_explain(decisions, 0, &why);
  plim_decision_log_free(decisions);
  return status;
}

Test(decisions, survives_every_allocation_that_fails) {
  rig r = log_rig();
  cr_expect_gt(plim_test_each_allocation(tell_and_explain, &r), 10);
  free_rig(&r);
}
