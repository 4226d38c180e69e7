/* runtime/exec over several spaces: ops placed at random on devices that run at once, persistent storages at home
 * in memory or in a file, and copies between all of them, leave what program order leaves. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "planner/paging/command_list.h"
#include "runtime/exec/exec.h"
#include "runtime/graph/check/check.h"
#include "tests/support/hash_kernels.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { CASES = 120, STEPS = 3, MOST_STORAGES = 400, MOST_OPS = 400, BYTES = 16384 };
enum { FIRST, SECOND, COPY_QUEUES = 3 };

typedef struct rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *plan;
  plim_exec *exec;
  plim_command_list list;
  uint64_t seed;
  int32_t devices, spaces;     /* of the spaces all but the last compute, each on the queue of its number */
  int32_t home[MOST_STORAGES]; /* space of a storage that is there from the start; -1: none */
  int32_t now[PLIM_PLAN_SPACES][MOST_STORAGES]; /* buffer with the latest contents; -1: none */
  int32_t away;                                 /* persistent storages that are at home elsewhere */
} rig;

static uint64_t draw(rig *r, uint64_t below) {
  r->seed = test_mix(r->seed, 77);
  return r->seed % below;
}

/* ---- the plan ---- */

static void add_source(rig *r, int32_t s) {
  const plim_storage *storage = &r->graph->storage[s];
  int persistent = plim_role_persistent(storage->role);
  r->home[s] = -1;
  for (int32_t k = 0; k < r->spaces; k++) r->now[k][s] = -1;
  int used = r->graph->reader_first[s + 1] > r->graph->reader_first[s];
  if (storage->producer >= 0 || storage->bytes == 0 || (!persistent && !used)) return;
  r->home[s] = persistent ? (int32_t)draw(r, (uint64_t)r->spaces) : FIRST;
  r->away += persistent && r->home[s] != FIRST;
  int64_t bytes = plim_align_up(storage->bytes, PLIM_ALIGN);
  int32_t id = plim_command_list_add_buffer(&r->list, s, r->home[s], -1, bytes, -1);
  r->list.buffer[id].stays = persistent;
  r->now[r->home[s]][s] = id;
}

static void add_copy(rig *r, int32_t s, int32_t from, int32_t to) {
  plim_command command = {.kind = PLIM_COMMAND_COPY,
                          .queue = r->devices + (int32_t)draw(r, COPY_QUEUES),
                          .storage = s,
                          .from = from,
                          .to = to};
  plim_command_list_add_use(&r->list, r->now[from][s], 0);
  if (r->home[s] == to) { /* the buffer is there, with an earlier version */
    for (int32_t i = 0; i < r->list.n_buffers; i++) {
      if (r->list.buffer[i].storage == s && r->list.buffer[i].begin < 0) r->now[to][s] = i;
    }
  } else {
    int64_t bytes = plim_align_up(r->graph->storage[s].bytes, PLIM_ALIGN);
    r->now[to][s] = plim_command_list_add_buffer(&r->list, s, to, r->list.n, bytes, -1);
  }
  plim_command_list_add_use(&r->list, r->now[to][s], 1);
  (void)plim_command_list_add(&r->list, &command, (int64_t)draw(r, 1000));
}

/* A storage in a space, by a copy from a space that has it, drawn at random. */
static void need(rig *r, int32_t s, int32_t space) {
  if (r->graph->storage[s].bytes == 0 || r->now[space][s] >= 0) return;
  int32_t from = (int32_t)draw(r, (uint64_t)r->spaces);
  while (r->now[from][s] < 0) from = (from + 1) % r->spaces;
  add_copy(r, s, from, space);
}

static void add_run(rig *r, int32_t o, int32_t space) {
  const plim_op *op = &r->graph->op[o];
  const plim_variant *variant = &r->profile->variant[r->profile->first[o]];
  plim_command command = {.kind = PLIM_COMMAND_RUN, .op = o, .variant = o, .space = space, .queue = space};
  for (int32_t i = 0; i < op->n_reads; i++) need(r, op->reads[i], space);
  for (int32_t i = 0; i < op->n_updates; i++) need(r, op->updates[i], space);
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (r->now[space][op->reads[i]] >= 0) plim_command_list_add_use(&r->list, r->now[space][op->reads[i]], 0);
  }
  for (int32_t i = 0; i < op->n_writes; i++) {
    int32_t s = op->writes[i];
    if (r->graph->storage[s].bytes == 0) continue;
    int64_t bytes = plim_align_up(r->graph->storage[s].bytes, PLIM_ALIGN);
    r->now[space][s] = plim_command_list_add_buffer(&r->list, s, space, r->list.n, bytes, -1);
    plim_command_list_add_use(&r->list, r->now[space][s], 1);
    if (r->graph->storage[s].role == PLIM_ROLE_OUTPUT) r->list.buffer[r->now[space][s]].stays = 1;
  }
  for (int32_t i = 0; i < op->n_updates; i++) {
    if (r->now[space][op->updates[i]] >= 0) plim_command_list_add_use(&r->list, r->now[space][op->updates[i]], 1);
  }
  if (variant->workspace_bytes > 0) {
    int64_t bytes = plim_align_up(variant->workspace_bytes, PLIM_ALIGN);
    plim_command_list_add_use(&r->list, plim_command_list_add_buffer(&r->list, -1, space, r->list.n, bytes, -1), 1);
  }
  (void)plim_command_list_add(&r->list, &command, variant->time_ns);
  for (int32_t i = 0; i < op->n_updates; i++) { /* at once back home; elsewhere the version is an earlier one */
    int32_t s = op->updates[i];
    for (int32_t k = 0; k < r->spaces; k++) {
      if (k != space) r->now[k][s] = -1;
    }
    if (r->home[s] >= 0 && r->home[s] != space) add_copy(r, s, space, r->home[s]);
  }
}

static int has_output(const plim_graph *g, const plim_op *op) {
  for (int32_t i = 0; i < op->n_writes; i++) {
    if (g->storage[op->writes[i]].role == PLIM_ROLE_OUTPUT) return 1;
  }
  return 0;
}

static void finish_plan(rig *r, const char *space) {
  static plim_plan_variant variant[MOST_OPS];
  plim_plan_space page[PLIM_PAGE_SPACES];
  plim_plan draft = {.planner = "test",
                     .plan_class = PLIM_CLASS_FREE,
                     .packed = 1,
                     .n_variants = r->graph->n_ops,
                     .variant = variant,
                     .budget_bytes = INT64_MAX,
                     .n_page_spaces = r->spaces - 1,
                     .page = page};
  for (int32_t k = 0; k < r->spaces - 1; k++) {
    page[k] = (plim_plan_space){.budget_bytes = INT64_MAX, .computes = k + 1 < r->devices};
    if (page[k].computes) (void)snprintf(page[k].name, sizeof page[k].name, "cpu:%d", (int)k + 1);
    if (!page[k].computes) (void)snprintf(page[k].name, sizeof page[k].name, "%s", space);
  }
  for (int32_t o = 0; o < r->graph->n_ops; o++) {
    variant[o] = (plim_plan_variant){o, r->profile->variant[r->profile->first[o]]};
  }
  cr_assert_eq(plim_command_list_begin(&r->list), PLIM_OK, "%s", plim_context_error(r->ctx));
  for (int32_t k = 0; k < r->spaces; k++) {
    int32_t fits = 0;
    cr_assert_eq(plim_command_list_pack(&r->list, k, INT64_MAX, 20, &fits), PLIM_OK, "%s", plim_context_error(r->ctx));
  }
  cr_assert_eq(plim_command_list_plan(&r->list, &draft, &r->plan), PLIM_OK, "%s", plim_context_error(r->ctx));
  plim_status status = plim_plan_check(r->ctx, r->graph, r->plan);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(r->ctx));
}

static void make_plan(rig *r, uint64_t seed, int32_t devices, const char *space) {
  random_graph_options graph = random_graph_options_default(seed);
  *r = (rig){.seed = seed, .devices = devices, .spaces = devices + 1};
  r->ctx = plim_test_context();
  cr_assert_eq(random_graph_make(r->ctx, &graph, &r->graph), PLIM_OK);
  cr_assert_eq(random_profile_make(r->graph, seed, 1, &r->profile), PLIM_OK);
  cr_assert_leq(r->graph->n_storages, MOST_STORAGES);
  cr_assert_leq(r->graph->n_ops, MOST_OPS);
  r->list = (plim_command_list){.ctx = r->ctx, .graph = r->graph};
  for (int32_t s = 0; s < r->graph->n_storages; s++) add_source(r, s);
  for (int32_t o = 0; o < r->graph->n_ops; o++) {
    add_run(r, o, has_output(r->graph, &r->graph->op[o]) ? FIRST : (int32_t)draw(r, (uint64_t)devices));
  }
  finish_plan(r, space);
}

static void free_rig(rig *r) {
  plim_exec_close(r->exec);
  plim_command_list_free(&r->list);
  plim_plan_free(r->plan);
  plim_profile_free(r->profile);
  plim_graph_free(r->graph);
  plim_test_context_end(r->ctx);
}

/* ---- the run ---- */

/* Each call has kernels of its own, since two may run at once. */
static plim_status run_right(void *user, const plim_run_call *call) {
  hash_kernels kernels = {.fault = HASH_RIGHT};
  (void)user;
  return hash_run(&kernels, call);
}

static plim_status fail_on_second(void *user, const plim_run_call *call) {
  (void)user;
  return call->queue == SECOND ? PLIM_ENOTFINITE : run_right(NULL, call);
}

static void open_exec(rig *r) {
  plim_exec_options options = plim_exec_options_default();
  const plim_graph *graph = r->graph;
  const plim_plan *plan = r->plan;
  options.own_kernels = 1;
  cr_assert_eq(plim_exec_open(r->ctx, NULL, &options, 1, &graph, &plan, &r->exec), PLIM_OK, "%s",
               plim_context_error(r->ctx));
}

static void expect_equal(const rig *r, const hash_reference *reference, uint64_t seed) {
  static unsigned char bytes[BYTES];
  for (int32_t v = 0; v < r->graph->n_values; v++) {
    const plim_value *value = &r->graph->value[v];
    plim_role role = r->graph->storage[value->storage].role;
    if ((!plim_role_persistent(role) && role != PLIM_ROLE_OUTPUT) || value->bytes == 0) continue;
    cr_assert_eq(plim_exec_read(r->exec, 0, v, bytes, value->bytes), PLIM_OK, "%s", plim_context_error(r->ctx));
    cr_assert_arr_eq(bytes, reference->storage[value->storage] + value->offset, (size_t)value->bytes,
                     "seed %llu value \"%s\"", (unsigned long long)seed, value->name);
  }
}

static void run_and_compare(rig *r, uint64_t seed) {
  hash_reference reference = hash_reference_new(r->graph);
  open_exec(r);
  hash_write_sources(r->exec, 0, r->graph, r->plan, 1, 0);
  for (int64_t step = 0; step < STEPS; step++) {
    hash_write_sources(r->exec, 0, r->graph, r->plan, 0, step);
    plim_exec_set_step(r->exec, seed, step);
    hash_reference_step(&reference, seed, step);
    plim_status status = plim_exec_step(r->exec, 0, run_right, NULL);
    cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(r->ctx));
    expect_equal(r, &reference, seed);
    plim_exec_use use = plim_exec_measured(r->exec, 0);
    for (int32_t k = 0; k < r->spaces - 1; k++) {
      cr_assert_eq(use.space[k + 1].peak_bytes, r->plan->page[k].peak_bytes);
      cr_assert_eq(use.space[k + 1].packed_bytes, r->plan->page[k].arena_bytes);
    }
    cr_assert_eq(use.own_allocations, 0);
  }
  hash_reference_free(&reference);
}

static void run_random(int32_t devices, const char *space, uint64_t from, uint64_t to) {
  int away = 0;
  for (uint64_t seed = test_seed(from), end = seed + (to - from); test_seed_at(seed) < end; seed++) {
    rig r;
    make_plan(&r, seed, devices, space);
    run_and_compare(&r, seed);
    away += r.away;
    free_rig(&r);
  }
  cr_assert_gt(away, (int)(to - from), "only %d storages are at home elsewhere", away);
}

Test(exec_spaces, two_devices_and_homes_in_any_space_leave_what_program_order_leaves) {
  run_random(2, "host", 1, CASES);
}

Test(exec_spaces, so_they_do_where_homes_are_in_a_page_file) {
  run_random(2, "disk", CASES, CASES + CASES / 4);
}

Test(exec_spaces, so_do_three_and_eight_devices) {
  run_random(3, "disk", 1, CASES / 4);
  run_random(PLIM_PAGE_DEVICES + 1, "host", 1, CASES / 4);
}

Test(exec_spaces, a_kernel_that_fails_on_the_second_device_ends_the_step_and_is_named) {
  int tried = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES / 3 - 1; test_seed_at(seed) < end; seed++) {
    rig r;
    make_plan(&r, seed, 2, "host");
    open_exec(&r);
    int placed = 0;
    for (int32_t j = 0; j < r.plan->n_commands; j++) placed += r.plan->command[j].queue == SECOND;
    for (int step = 0; step < 2 && placed > 0; step++) { /* the executor can be used on */
      hash_write_sources(r.exec, 0, r.graph, r.plan, 1, 0);
      hash_write_sources(r.exec, 0, r.graph, r.plan, 0, 0);
      cr_assert_eq(plim_exec_step(r.exec, 0, fail_on_second, NULL), PLIM_ENOTFINITE);
      cr_assert(strstr(plim_context_error(r.ctx), "(op \""), "%s", plim_context_error(r.ctx));
    }
    tried += placed > 0;
    free_rig(&r);
  }
  cr_assert_gt(tried, CASES / 6, "%d plans run anything there", tried);
}

/* Runs of both devices fail, each with a status of its own, as far as can be at the same time. */
typedef struct both_fail {
  _Atomic int32_t queues[2]; /* 1: a run of this queue has failed */
} both_fail;

static plim_status fail_on_both(void *user, const plim_run_call *call) {
  both_fail *both = user;
  int second = call->queue == SECOND;
  atomic_store(&both->queues[second], 1);
  int64_t end_ns = plim_now_ns() + 2000000;
  while (!atomic_load(&both->queues[!second]) && plim_now_ns() < end_ns) continue;
  return second ? PLIM_ENOTFINITE : PLIM_EDEVICE;
}

Test(exec_spaces, of_two_devices_that_fail_in_one_step_the_status_and_the_sentence_are_of_one) {
  int32_t both_failed = 0;
  for (uint64_t seed = test_seed(1), end = seed + 2 * CASES - 1; test_seed_at(seed) < end; seed++) {
    rig r;
    both_fail both = {{0, 0}};
    make_plan(&r, seed, 2, "host");
    open_exec(&r);
    hash_write_sources(r.exec, 0, r.graph, r.plan, 1, 0);
    hash_write_sources(r.exec, 0, r.graph, r.plan, 0, 0);
    plim_status status = plim_exec_step(r.exec, 0, fail_on_both, &both);
    const char *sentence = plim_context_error(r.ctx);
    cr_expect(status == PLIM_ENOTFINITE || status == PLIM_EDEVICE, "seed %llu: status %d", (unsigned long long)seed,
              status);
    cr_expect(strstr(sentence, plim_status_name(status)), "seed %llu: '%s' is not in: %s", (unsigned long long)seed,
              plim_status_name(status), sentence);
    both_failed += atomic_load(&both.queues[0]) && atomic_load(&both.queues[1]);
    free_rig(&r);
  }
  cr_assert_gt(both_failed, CASES / 6, "%d", both_failed);
}
