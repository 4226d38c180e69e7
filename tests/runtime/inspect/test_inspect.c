/* runtime/inspect: against plain loops over random plans with repeats, and a plan whose reasons are known. */
#include "runtime/inspect/inspect.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/arena/replay_search.h"
#include "runtime/base/size.h"
#include "runtime/graph/check/check.h"
#include "runtime/net/net.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_seed.h"

typedef struct rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *plan;
  plim_inspect *inspect;
} rig;

/* The plan under a cap that it just fits into. */
static plim_plan *cap(const plim_graph *graph, plim_plan *plan) {
  plim_plan draft = *plan, *capped = NULL;
  draft.budget_bytes = plan->arena_bytes;
  cr_assert_eq(plim_plan_from_parts(graph, &draft, &capped), PLIM_OK);
  plim_plan_free(plan);
  return capped;
}

static rig make_rig(uint64_t seed) {
  rig r = {.ctx = plim_test_context()};
  random_graph_options graph = random_graph_options_default(seed);
  random_plan_options plan = random_plan_options_default(seed);
  plan.repeat_percent = 30;
  plan.packed = 1;
  cr_assert_eq(random_graph_make(r.ctx, &graph, &r.graph), PLIM_OK);
  cr_assert_eq(random_profile_make(r.graph, seed, 2, &r.profile), PLIM_OK);
  cr_assert_eq(random_plan_make(r.graph, r.profile, &plan, &r.plan), PLIM_OK);
  r.plan = cap(r.graph, r.plan);
  cr_assert_eq(plim_inspect_new(r.graph, r.plan, &r.inspect), PLIM_OK, "%s", plim_context_error(r.ctx));
  return r;
}

static void free_rig(rig *r) {
  plim_inspect_free(r->inspect);
  plim_plan_free(r->plan);
  plim_profile_free(r->profile);
  plim_graph_free(r->graph);
  cr_assert_eq(plim_context_memory(r->ctx).bytes, 0);
  plim_context_free(r->ctx);
}

static int reads(const rig *r, int32_t step, int32_t storage) {
  const plim_op *op = &r->graph->op[r->plan->command[step].op];
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (op->reads[i] == storage) return 1;
  }
  return 0;
}

static int is_resident(const rig *r, int32_t storage, int32_t step) {
  for (int32_t i = 0; i < r->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &r->plan->buffer[i];
    if (buffer->storage == storage && buffer->begin <= step && step < buffer->end) return 1;
  }
  return 0;
}

Test(inspect, residents_bytes_uses_and_repeats_are_those_of_plain_loops) {
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    rig r = make_rig(seed);
    int64_t peak = 0;
    for (int32_t j = 0; j < r.plan->n_commands; j++) {
      plim_resident row[512];
      int32_t n = plim_inspect_residents(r.inspect, j, row, 512), before = 0;
      int64_t bytes = 0;
      for (int32_t i = 0; i < n; i++) {
        const plim_plan_buffer *buffer = &r.plan->buffer[row[i].buffer];
        cr_assert(buffer->begin <= j && j < buffer->end);
        cr_assert(i == 0 || r.plan->buffer[row[i - 1].buffer].offset < buffer->offset, "seed %d: by address",
                  (int)seed);
        bytes += buffer->bytes;
      }
      cr_assert_eq(bytes, plim_inspect_live_bytes(r.inspect, j), "seed %d step %d", (int)seed, (int)j);
      if (bytes > peak) peak = bytes;
      for (int32_t i = 0; i < j; i++) before += r.plan->command[i].op == r.plan->command[j].op;
      cr_assert_eq(plim_inspect_is_repeat(r.inspect, j), before > 0);
      for (int32_t s = 0; s < r.graph->n_storages; s++) {
        int32_t next = j;
        while (next < r.plan->n_commands && !reads(&r, next, s)) next++;
        cr_assert_eq(plim_inspect_next_use(r.inspect, s, j), next == r.plan->n_commands ? -1 : next);
      }
    }
    cr_assert_eq(peak, r.plan->peak_bytes);
    free_rig(&r);
  }
}

/* The first buffer that is in the way of [offset, offset + bytes) in steps [begin, end); NULL: it is free. */
static const plim_plan_buffer *in_the_way(const plim_plan *plan, int64_t offset, int64_t bytes, int32_t begin,
                                          int32_t end) {
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &plan->buffer[i];
    int in_time = buffer->begin < end && begin < buffer->end;
    if (in_time && buffer->offset < offset + bytes && offset < buffer->offset + buffer->bytes) return buffer;
  }
  return NULL;
}

/* The lowest range that is free: whatever is in the way, the range begins after it at least. */
static int64_t lowest_free(const plim_plan *plan, int64_t bytes, int32_t begin, int32_t end) {
  const plim_plan_buffer *buffer;
  int64_t at = 0;
  while ((buffer = in_the_way(plan, at, bytes, begin, end))) at = buffer->offset + buffer->bytes;
  return at;
}

/* The storage is kept in [gone, back): the load of every step is added up again, then addresses are tried. */
static void check_break(const rig *r, int64_t bytes, const plim_absence *a) {
  const plim_plan *plan = r->plan;
  int32_t step = -1;
  int64_t over = 0, most = plan->budget_bytes - bytes;
  for (int32_t j = a->gone; j < a->back && step < 0; j++) {
    int64_t live = bytes;
    for (int32_t i = 0; i < plan->n_buffers; i++) {
      if (plan->buffer[i].begin <= j && j < plan->buffer[i].end) live += plan->buffer[i].bytes;
    }
    if (live <= plan->budget_bytes) continue;
    step = j;
    over = live - plan->budget_bytes;
  }
  plim_break breaks = step >= 0 ? PLIM_BREAKS_BUDGET : PLIM_BREAKS_NOTHING;
  if (step < 0 && plan->packed && lowest_free(plan, bytes, a->gone, a->back) > most) {
    breaks = PLIM_BREAKS_ADDRESSES;
    over = lowest_free(plan, bytes, a->gone, a->back) - most;
    for (step = a->gone; lowest_free(plan, bytes, a->gone, step + 1) <= most;) step++;
    int64_t held = step > a->gone ? lowest_free(plan, bytes, a->gone, step) : -1;
    cr_assert_eq(a->free_offset, held);
    cr_assert(held < 0 || is_resident(r, a->blocker, step));
  }
  cr_assert_eq(a->breaks, breaks, "%d, not %d", (int)a->breaks, (int)breaks);
  cr_assert_eq(a->full_command, step, "step %d, not %d", (int)a->full_command, (int)step);
  cr_assert_eq(a->over_bytes, over, "%lld bytes, not %lld", (long long)a->over_bytes, (long long)over);
}

/* Without the buffer of `instead` that is there, a range is free up to the full step. */
static int makes_room(const plim_plan *plan, int64_t bytes, const plim_absence *a) {
  plim_plan rest = *plan;
  plim_plan_buffer *buffer = malloc((size_t)plan->n_buffers * sizeof *buffer);
  cr_assert_not_null(buffer);
  rest.n_buffers = 0;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_plan_buffer *held = &plan->buffer[i];
    if (held->storage != a->other || held->begin > a->gone || held->end <= a->gone) buffer[rest.n_buffers++] = *held;
  }
  rest.buffer = buffer;
  int64_t offset = lowest_free(&rest, bytes, a->gone, a->full_command + 1);
  free(buffer);
  return rest.n_buffers < plan->n_buffers && offset <= plan->budget_bytes - bytes;
}

/* The first command from `from` on that reads the storage; n_commands: none does. */
static int32_t next_read(const rig *r, int32_t storage, int32_t from) {
  int32_t j = from;
  while (j < r->plan->n_commands && !reads(r, j, storage)) j++;
  return j;
}

static int updates_what_it_reads(const rig *r, int32_t j, const plim_op *op) {
  const plim_op *by = &r->graph->op[r->plan->command[j].op];
  for (int32_t u = 0; u < by->n_updates; u++) {
    for (int32_t i = 0; i < op->n_reads; i++) {
      if (op->reads[i] == by->updates[u]) return 1;
    }
  }
  return 0;
}

/* The time to recompute what buffer i holds, if it can be absent at `full`; INT64_MAX: it cannot. */
static int64_t time_without(const rig *r, int32_t i, int32_t full) {
  const plim_plan *plan = r->plan;
  const plim_plan_buffer *buffer = &plan->buffer[i];
  if (buffer->storage < 0 || buffer->begin >= full || buffer->end <= full) return INT64_MAX;
  const plim_storage *storage = &r->graph->storage[buffer->storage];
  if (plim_role_persistent(storage->role) || storage->producer < 0) return INT64_MAX;
  const plim_op *op = &r->graph->op[storage->producer];
  const int32_t next = next_read(r, buffer->storage, full);
  if (plim_op_class_once(op->cls) || next == full) return INT64_MAX;
  for (int32_t j = buffer->begin; j < next; j++) {
    if (updates_what_it_reads(r, j, op)) return INT64_MAX;
  }
  for (int32_t j = 0; j < plan->n_commands; j++) {
    if (plan->command[j].op == storage->producer) return plan->variant[plan->command[j].variant].variant.time_ns;
  }
  return INT64_MAX;
}

/* Of all other buffers with enough bytes the cheapest could have been evicted. */
static void check_cheapest(const rig *r, int32_t s, const plim_absence *a) {
  int64_t best_ns = INT64_MAX;
  for (int32_t i = 0; i < r->plan->n_buffers; i++) {
    if (r->plan->buffer[i].storage == s || r->plan->buffer[i].bytes < a->over_bytes) continue;
    const int64_t time_ns = time_without(r, i, a->full_command);
    if (time_ns < best_ns) best_ns = time_ns;
  }
  cr_assert_eq(a->other >= 0, best_ns < INT64_MAX);
  if (a->other >= 0) cr_assert_eq(a->other_ns, best_ns);
}

/* What an absence says, from plain loops. */
static void check_absence(const rig *r, int32_t s, int32_t step, const plim_absence *a) {
  const plim_plan *plan = r->plan;
  if (is_resident(r, s, step)) {
    cr_assert_eq(a->kind, PLIM_ABSENT_NOT);
    return;
  }
  int32_t gone = -1, back = -1;
  int64_t bytes = 0;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &plan->buffer[i];
    if (buffer->storage != s) continue;
    bytes = buffer->bytes;
    if (buffer->end <= step && buffer->end > gone) gone = buffer->end;
    if (buffer->begin > step && (back < 0 || buffer->begin < back)) back = buffer->begin;
  }
  cr_assert_eq(a->kind, gone < 0 ? PLIM_ABSENT_UNMADE : back < 0 ? PLIM_ABSENT_DONE : PLIM_ABSENT_DROPPED);
  if (a->kind != PLIM_ABSENT_DROPPED) return;
  cr_assert(a->gone == gone && a->back == back);
  check_break(r, bytes, a);
  cr_assert_geq(a->again_runs, 1);
  cr_assert_leq(a->again_depth, a->again_runs);
  cr_assert_geq(a->again_ns, plan->variant[plan->command[back].variant].variant.time_ns);
  if (a->breaks == PLIM_BREAKS_BUDGET) check_cheapest(r, s, a);
  if (a->other < 0) return;
  int32_t from = a->breaks == PLIM_BREAKS_BUDGET ? a->full_command : gone;
  cr_assert(is_resident(r, a->other, from - 1) && is_resident(r, a->other, a->full_command));
  cr_assert(a->breaks == PLIM_BREAKS_BUDGET ? a->other_bytes >= a->over_bytes : makes_room(plan, bytes, a));
  for (int32_t j = from; j <= a->full_command; j++) cr_assert(!reads(r, j, a->other));
}

Test(inspect, absences_are_explained_as_plain_loops_would) {
  int dropped = 0, full = 0, deep = 0, instead[2] = {0, 0}; /* by load, by addresses */
  for (uint64_t seed = test_seed(1), end = seed + 150; test_seed_at(seed) < end; seed++) {
    rig r = make_rig(seed);
    for (int32_t j = 0; j < r.plan->n_commands; j += 3) {
      for (int32_t s = 0; s < r.graph->n_storages; s++) {
        plim_absence a;
        cr_assert_eq(plim_inspect_absence(r.inspect, s, j, &a), PLIM_OK);
        check_absence(&r, s, j, &a);
        dropped += a.kind == PLIM_ABSENT_DROPPED;
        full += a.full_command >= 0;
        if (a.other >= 0) instead[a.breaks == PLIM_BREAKS_ADDRESSES]++;
        deep += a.again_depth > 1;
      }
    }
    free_rig(&r);
  }
  cr_assert(dropped > 20, "%d", dropped);
  cr_assert(full > 100 && deep > 20 && instead[0] > 50 && instead[1] > 50, "%d %d %d %d", full, deep, instead[0],
            instead[1]);
}

/* A training chain under a budget: what the search drops, it had to. */
Test(inspect, under_a_cap_most_drops_name_the_step_that_is_full) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  plim_plan *keep = NULL, *plan = NULL;
  plim_inspect *inspect = NULL;
  plim_plan_options options = plim_plan_options_default();
  int dropped = 0, full = 0, instead = 0;
  cr_assert_eq(random_chain_make(ctx, 14, test_seed(3), &graph), PLIM_OK);
  cr_assert_eq(random_profile_make(graph, test_seed(3), 1, &profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &keep), PLIM_OK);
  plim_plan_floor floor;
  cr_assert_eq(plim_plan_smallest(ctx, graph, profile, &options, &floor, NULL), PLIM_OK);
  options.budget_bytes = (keep->arena_bytes + floor.smallest_bytes) / 2;
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_inspect_new(graph, plan, &inspect), PLIM_OK);
  for (int32_t s = 0; s < graph->n_storages; s++) {
    for (int32_t j = 0; j < plan->n_commands; j++) {
      plim_absence a;
      cr_assert_eq(plim_inspect_absence(inspect, s, j, &a), PLIM_OK);
      if (a.kind != PLIM_ABSENT_DROPPED || a.gone != j) continue;
      dropped++;
      full += a.full_command >= 0;
      instead += a.other >= 0;
      cr_assert(a.full_command < 0 || (a.over_bytes > 0 && a.full_command >= a.gone && a.full_command < a.back));
    }
  }
  cr_assert_gt(dropped, 0);
  cr_assert_gt(2 * full, dropped, "%d of %d", full, dropped);
  plim_inspect_free(inspect);
  plim_plan_free(plan);
  plim_plan_free(keep);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(ctx);
}

/* ResNet-20 in a share of its bytes, planned, or by an online policy in the arena. */
static void make_capped(rig *r, int percent, int online) {
  plim_net_options net_options = plim_net_options_default();
  plim_plan_options options = plim_plan_options_default();
  plim_roofline roofline = {.flops_per_ns = 100, .bytes_per_ns = 10};
  plim_net *net = NULL;
  plim_plan *keep = NULL, *order = NULL;
  net_options.batch = 8;
  r->ctx = plim_test_context();
  cr_assert_eq(plim_model_make(r->ctx, "resnet20", &net_options, &net), PLIM_OK);
  cr_assert_eq(plim_net_train_graph(net, &r->graph), PLIM_OK);
  plim_net_free(net);
  cr_assert_eq(plim_profile_model(r->graph, &roofline, &r->profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(r->ctx, r->graph, r->profile, &options, &keep), PLIM_OK);
  options.budget_bytes = plim_align_up(keep->arena_bytes * percent / 100, PLIM_ALIGN);
  options.iterations = 3000;
  plim_plan_options in_order = plim_plan_options_default();
  in_order.unpacked = 1;
  in_order.order = PLIM_ORDER_FIXED;
  cr_assert_eq(plim_plan_keep_all(r->ctx, r->graph, r->profile, &in_order, &order), PLIM_OK);
  plim_status status = online ? plim_arena_online(r->ctx, r->graph, order, plim_policy_find("coop"),
                                                  (plim_replay_limits){options.budget_bytes, INT64_MAX}, NULL, &r->plan)
                              : plim_plan_make(r->ctx, r->graph, r->profile, &options, &r->plan);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(r->ctx));
  plim_plan_free(order);
  plim_plan_free(keep);
  cr_assert_eq(plim_inspect_new(r->graph, r->plan, &r->inspect), PLIM_OK);
}

Test(inspect, every_absence_of_resnet20_under_a_cap_is_what_keeping_it_would_break) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  int breaks[3] = {0};
  for (int i = 0; i < 6; i++) {
    rig r;
    make_capped(&r, 45 + i / 2 * 5, i % 2);
    for (int32_t k = 0; k < r.plan->n_buffers; k++) {
      const plim_plan_buffer *buffer = &r.plan->buffer[k];
      plim_absence a;
      if (buffer->storage < 0 || buffer->end >= r.plan->n_commands) continue;
      cr_assert_eq(plim_inspect_absence(r.inspect, buffer->storage, buffer->end, &a), PLIM_OK);
      if (a.kind != PLIM_ABSENT_DROPPED) continue;
      check_break(&r, buffer->bytes, &a);
      breaks[a.breaks]++;
    }
    free_rig(&r);
  }
  cr_assert(breaks[PLIM_BREAKS_NOTHING] > 0 && breaks[PLIM_BREAKS_BUDGET] > 0 && breaks[PLIM_BREAKS_ADDRESSES] > 0,
            "%d, %d, %d", breaks[PLIM_BREAKS_NOTHING], breaks[PLIM_BREAKS_BUDGET], breaks[PLIM_BREAKS_ADDRESSES]);
}

Test(inspect, refuses_a_plan_of_another_graph_and_steps_that_are_none) {
  rig r = make_rig(test_seed(5)), other = make_rig(test_seed(5) + 1);
  plim_inspect *none = NULL;
  plim_absence a;
  cr_assert_eq(plim_inspect_new(other.graph, r.plan, &none), PLIM_EDATA);
  cr_assert_null(none);
  cr_assert_eq(plim_inspect_absence(r.inspect, 0, r.plan->n_commands, &a), PLIM_EUSAGE);
  cr_assert_eq(plim_inspect_absence(r.inspect, -1, 0, &a), PLIM_EUSAGE);
  cr_assert_str_eq(plim_inspect_name(r.inspect, -1), "workspace");
  free_rig(&r);
  free_rig(&other);
}

/* Live bytes and residents are those of the arena: a plan with other spaces has buffers elsewhere too. */
Test(inspect, a_plan_with_page_spaces_is_refused) {
  rig r = make_rig(test_seed(3));
  const plim_plan_space page = {.name = "host", .budget_bytes = 1 << 20};
  plim_plan draft = *r.plan, *paged = NULL;
  plim_inspect *none = NULL;
  draft.n_page_spaces = 1;
  draft.page = &page;
  cr_assert_eq(plim_plan_from_parts(r.graph, &draft, &paged), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_eq(plim_inspect_new(r.graph, paged, &none), PLIM_EUNSUPPORTED);
  cr_assert_null(none);
  plim_plan_free(paged);
  free_rig(&r);
}
