/* runtime/exec: random plans with repeats, in-place pairs and workspaces do what program order does, and what they use
 * is what the plan says. */
#include "runtime/exec/exec.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/exec/exec_unchecked.h"
#include "runtime/graph/graph.h"
#include "tests/support/exec_rig.h"
#include "tests/support/failing_memory.h"
#include "tests/support/fake_device.h"
#include "tests/support/hash_kernels.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

enum { CASES = 150, STEPS = 3, BUFFERS = 4096 };

/* The value that is all of a storage; -1: none (an output of two halves). */
static int32_t whole_value(const plim_graph *graph, int32_t storage) {
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (graph->value[v].storage == storage && graph->value[v].bytes == graph->storage[storage].bytes) return v;
  }
  return -1;
}

static void write_sources(const exec_rig *r, int32_t which, int persistent, int64_t step) {
  hash_write_sources(r->exec, which, r->graph, r->plan, persistent, step);
}

/* Every value over a persistent storage, and with `outputs` over an output, has the reference's bytes. */
static void expect_equal(const exec_rig *r, const hash_reference *reference, int outputs, uint64_t seed) {
  static unsigned char bytes[16384];
  for (int32_t v = 0; v < r->graph->n_values; v++) {
    const plim_value *value = &r->graph->value[v];
    plim_role role = r->graph->storage[value->storage].role;
    if (!plim_role_persistent(role) && !(outputs && role == PLIM_ROLE_OUTPUT)) continue;
    cr_assert_eq(plim_exec_read(r->exec, 0, v, bytes, value->bytes), PLIM_OK, "%s", plim_context_error(r->ctx));
    cr_assert_arr_eq(bytes, reference->storage[value->storage] + value->offset, (size_t)value->bytes,
                     "seed %llu value \"%s\"", (unsigned long long)seed, value->name);
  }
}

static void run_and_compare(uint64_t seed, plim_exec_addresses addresses) {
  exec_rig r = {0};
  exec_rig_make(&r, seed, addresses);
  hash_reference reference = hash_reference_new(r.graph);
  hash_kernels kernels = {.fault = HASH_RIGHT};
  write_sources(&r, 0, 1, 0);
  for (int64_t step = 0; step < STEPS; step++) {
    write_sources(&r, 0, 0, step);
    plim_exec_set_step(r.exec, seed, step);
    hash_reference_step(&reference, seed, step);
    plim_status status = plim_exec_step(r.exec, 0, hash_run, &kernels);
    cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(r.ctx));
    expect_equal(&r, &reference, 1, seed);
    plim_exec_use use = plim_exec_measured(r.exec, 0);
    cr_assert_eq(use.space[0].peak_bytes, r.plan->peak_bytes);
    cr_assert_eq(use.space[0].packed_bytes, addresses == PLIM_ADDRESSES_PLANNED ? r.plan->arena_bytes : 0);
    cr_assert_eq(use.own_allocations, 0);
  }
  cr_assert_eq(kernels.calls, STEPS * (int64_t)r.plan->n_commands);
  hash_reference_free(&reference);
  exec_rig_free(&r);
}

Test(exec, random_plans_leave_what_program_order_leaves) {
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++)
    run_and_compare(seed, PLIM_ADDRESSES_PLANNED);
}

Test(exec, so_do_they_with_an_allocation_a_buffer) {
  for (uint64_t seed = test_seed(1), end = seed + CASES / 5; test_seed_at(seed) < end; seed++)
    run_and_compare(seed, PLIM_ADDRESSES_EACH);
}

/* ---- an allocation a buffer ---- */

typedef struct ledger {
  void *ptr[BUFFERS];
  int64_t bytes[BUFFERS], held, held_most, refuse_at, served;
} ledger;

static void *ledger_alloc(void *user, int64_t bytes) {
  ledger *l = user;
  if (++l->served == l->refuse_at) return NULL;
  for (int i = 0; i < BUFFERS; i++) {
    if (l->ptr[i]) continue;
    l->ptr[i] = aligned_alloc(PLIM_ALIGN, (size_t)plim_align_up(bytes, PLIM_ALIGN));
    l->bytes[i] = bytes;
    l->held += plim_align_up(bytes, PLIM_ALIGN);
    if (l->held > l->held_most) l->held_most = l->held;
    return l->ptr[i];
  }
  return NULL;
}

static void ledger_free(void *user, void *ptr, int64_t bytes) {
  ledger *l = user;
  int i = 0;
  while (i < BUFFERS && l->ptr[i] != ptr) i++;
  cr_assert_lt(i, BUFFERS, "a pointer that was never handed out");
  cr_assert_eq(l->bytes[i], bytes);
  free(ptr);
  l->ptr[i] = NULL;
  l->held -= plim_align_up(bytes, PLIM_ALIGN);
}

static void open_with_ledger(exec_rig *r, ledger *l, plim_status wanted) {
  plim_exec_options options = exec_rig_options(PLIM_ADDRESSES_EACH);
  options.buffer_alloc = ledger_alloc;
  options.buffer_free = ledger_free;
  options.user = l;
  const plim_graph *graph = r->graph;
  const plim_plan *plan = r->plan;
  cr_assert_eq(plim_exec_open(r->ctx, NULL, &options, 1, &graph, &plan, &r->exec), wanted);
}

Test(exec, buffers_of_their_own_hold_the_peak_that_the_plan_says_and_are_all_given_back) {
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    exec_rig r = {0};
    static ledger l;
    memset(&l, 0, sizeof l);
    exec_rig_documents(&r, seed);
    open_with_ledger(&r, &l, PLIM_OK);
    hash_kernels kernels = {.fault = HASH_RIGHT};
    for (int64_t step = 0; step < STEPS; step++) {
      write_sources(&r, 0, 0, step);
      cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK, "%s", plim_context_error(r.ctx));
    }
    cr_assert_eq(l.held_most, r.plan->peak_bytes, "seed %llu", (unsigned long long)seed);
    exec_rig_free(&r);
    cr_assert_eq(l.held, 0);
  }
}

Test(exec, a_buffer_that_is_refused_ends_the_step_and_nothing_is_lost) {
  exec_rig r = {0};
  static ledger l;
  exec_rig_documents(&r, test_seed(5));
  for (int64_t refused = 1;; refused++) {
    memset(&l, 0, sizeof l);
    int32_t persistent = 0;
    for (int32_t s = 0; s < r.graph->n_storages; s++) persistent += plim_role_persistent(r.graph->storage[s].role);
    l.refuse_at = refused;
    if (refused <= persistent) {
      open_with_ledger(&r, &l, PLIM_ENOMEM);
      continue;
    }
    open_with_ledger(&r, &l, PLIM_OK);
    l.refuse_at = l.served + refused - persistent + 2; /* the random graph has at most two inputs */
    write_sources(&r, 0, 0, 0);
    hash_kernels kernels = {.fault = HASH_RIGHT};
    plim_status status = plim_exec_step(r.exec, 0, hash_run, &kernels);
    cr_assert(status == PLIM_OK || status == PLIM_ENOMEM);
    plim_exec_close(r.exec);
    r.exec = NULL;
    cr_assert_eq(l.held, 0);
    if (status == PLIM_OK) break;
  }
  exec_rig_free(&r);
}

/* ---- measured against planned ---- */

/* Run one step of a plan that the checker would refuse. */
static plim_status run_unchecked(exec_rig *r, const plim_plan *plan) {
  plim_exec_options options = exec_rig_options(PLIM_ADDRESSES_PLANNED);
  const plim_graph *graph = r->graph;
  hash_kernels kernels = {.fault = HASH_RIGHT};
  cr_assert_eq(plim_exec_open(r->ctx, NULL, &options, 1, &graph, &plan, &r->exec), PLIM_EPLAN);
  cr_assert_eq(plim_exec_open_unchecked(r->ctx, NULL, &options, 1, &graph, &plan, &r->exec), PLIM_OK);
  write_sources(r, 0, 0, 0);
  plim_status status = plim_exec_step(r->exec, 0, hash_run, &kernels);
  plim_exec_close(r->exec);
  r->exec = NULL;
  return status;
}

Test(exec, a_plan_whose_figures_were_changed_is_found_by_measuring) {
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    exec_rig r = {0};
    exec_rig_documents(&r, seed);
    plim_plan peak = *r.plan, height = *r.plan;
    peak.peak_bytes += seed % 2 ? PLIM_ALIGN : -PLIM_ALIGN;
    cr_assert_eq(run_unchecked(&r, &peak), PLIM_EDIFF);
    cr_assert(strstr(plim_context_error(r.ctx), "peak"));
    height.arena_bytes += PLIM_ALIGN;
    cr_assert_eq(run_unchecked(&r, &height), PLIM_EDIFF);
    cr_assert(strstr(plim_context_error(r.ctx), "arena"));
    exec_rig_free(&r);
  }
}

/* Buffers that are larger than what they hold, with peak and packed size to match: only sizes asked elsewhere can tell.
 */
Test(exec, sizes_are_not_taken_from_the_plan) {
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    exec_rig r = {0};
    exec_rig_documents(&r, seed);
    plim_plan draft = *r.plan, *padded = NULL;
    plim_plan_buffer *buffer = malloc((size_t)draft.n_buffers * sizeof *buffer);
    int64_t at = 0;
    for (int32_t i = 0; i < draft.n_buffers; i++) {
      buffer[i] = draft.buffer[i];
      buffer[i].bytes += PLIM_ALIGN;
      buffer[i].offset = at;
      at += buffer[i].bytes;
    }
    draft.buffer = buffer;
    cr_assert_eq(plim_plan_from_parts(r.graph, &draft, &padded), PLIM_OK);
    cr_assert_eq(run_unchecked(&r, padded), PLIM_EDIFF);
    plim_plan_free(padded);
    free(buffer);
    exec_rig_free(&r);
  }
}

Test(exec, the_allocation_counter_moves_when_a_kernel_allocates_by_the_hook) {
  exec_rig r = {0};
  exec_rig_make(&r, test_seed(3), PLIM_ADDRESSES_PLANNED);
  hash_kernels kernels = {.fault = HASH_RIGHT, .spends = r.ctx};
  write_sources(&r, 0, 0, 0);
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK);
  cr_assert_eq(plim_exec_measured(r.exec, 0).own_allocations, r.plan->n_commands);
  exec_rig_free(&r);
}

/* ---- what a caller may do ---- */

Test(exec, a_kernel_that_fails_ends_the_step_with_its_op_named_and_the_next_step_can_run) {
  exec_rig r = {0};
  exec_rig_make(&r, test_seed(4), PLIM_ADDRESSES_PLANNED);
  hash_kernels kernels = {.fault = HASH_FAILS, .op = r.graph->n_ops / 2};
  write_sources(&r, 0, 0, 0);
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_ENOTFINITE);
  cr_assert(strstr(plim_context_error(r.ctx), r.graph->op[kernels.op].name), "%s", plim_context_error(r.ctx));
  kernels.fault = HASH_RIGHT;
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_EUSAGE, "inputs are gone");
  cr_assert(strstr(plim_context_error(r.ctx), "written"));
  write_sources(&r, 0, 0, 0);
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK);
  exec_rig_free(&r);
}

/* The first storage of a role that has a value of its own and a buffer: an input that is read, an output that an op
 * writes. */
static int32_t first_of_role(const plim_graph *graph, plim_role role) {
  for (int32_t s = 0; s < graph->n_storages; s++) {
    const int is_read = graph->reader_first[s + 1] > graph->reader_first[s];
    if (graph->storage[s].role != role || (role == PLIM_ROLE_INPUT && !is_read)) continue;
    if (role == PLIM_ROLE_OUTPUT && graph->storage[s].producer < 0) continue;
    if (whole_value(graph, s) >= 0) return whole_value(graph, s);
  }
  return -1;
}

/* The first graph from a seed on that has a value of each of the roles. */
static void make_with_roles(exec_rig *r, uint64_t seed, int32_t n, const plim_role *role) {
  for (int32_t found = 0; found < n; seed++) {
    if (r->ctx) exec_rig_free(r);
    *r = (exec_rig){0};
    exec_rig_make(r, test_seed_at(seed), PLIM_ADDRESSES_PLANNED);
    found = 0;
    for (int32_t i = 0; i < n; i++) found += first_of_role(r->graph, role[i]) >= 0;
  }
}

Test(exec, values_can_be_read_and_written_only_where_they_are) {
  static const plim_role roles[] = {PLIM_ROLE_INPUT, PLIM_ROLE_OUTPUT, PLIM_ROLE_ACTIVATION};
  static unsigned char bytes[16384];
  exec_rig r = {0};
  make_with_roles(&r, test_seed(3), 3, roles);
  hash_kernels kernels = {.fault = HASH_RIGHT};
  int32_t input = first_of_role(r.graph, PLIM_ROLE_INPUT), output = first_of_role(r.graph, PLIM_ROLE_OUTPUT);
  int32_t activation = first_of_role(r.graph, PLIM_ROLE_ACTIVATION);
  const plim_value *v = r.graph->value;
  cr_assert_eq(plim_exec_read(r.exec, 0, output, bytes, v[output].bytes), PLIM_EUSAGE);
  cr_assert_eq(plim_exec_read(r.exec, 0, input, bytes, v[input].bytes), PLIM_EUSAGE);
  cr_assert_eq(plim_exec_write(r.exec, 0, activation, bytes, v[activation].bytes), PLIM_EUSAGE);
  cr_assert_eq(plim_exec_write(r.exec, 0, output, bytes, v[output].bytes), PLIM_EUSAGE);
  cr_assert_eq(plim_exec_write(r.exec, 0, input, bytes, v[input].bytes + 1), PLIM_EUSAGE);
  cr_assert_eq(plim_exec_write(r.exec, 1, input, bytes, v[input].bytes), PLIM_EUSAGE);
  cr_assert_eq(plim_exec_write(r.exec, 0, r.graph->n_values, bytes, 1), PLIM_EUSAGE);
  cr_assert_eq(plim_exec_set_results(r.exec, 1, NULL, 0), PLIM_EUSAGE, "there is one plan");
  write_sources(&r, 0, 0, 0);
  cr_assert_eq(plim_exec_read(r.exec, 0, input, bytes, v[input].bytes), PLIM_OK);
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK);
  cr_assert_eq(plim_exec_read(r.exec, 0, output, bytes, v[output].bytes), PLIM_OK);
  cr_assert_eq(plim_exec_read(r.exec, 0, activation, bytes, v[activation].bytes), PLIM_EUSAGE);
  cr_assert_eq(plim_exec_write(r.exec, 0, input, bytes, v[input].bytes), PLIM_OK);
  cr_assert_eq(plim_exec_read(r.exec, 0, output, bytes, v[output].bytes), PLIM_EUSAGE, "an input may lie over it");
  exec_rig_free(&r);
}

Test(exec, a_pointer_is_given_to_persistent_values_alone_and_is_where_write_writes) {
  unsigned char bytes[16384];
  exec_rig r = {0};
  static const plim_role roles[] = {PLIM_ROLE_PARAM, PLIM_ROLE_INPUT};
  make_with_roles(&r, test_seed(3), 2, roles);
  const int32_t param = first_of_role(r.graph, roles[0]), input = first_of_role(r.graph, roles[1]);
  hash_fill_source(1, 2, bytes, r.graph->value[param].bytes);
  cr_assert_eq(plim_exec_write(r.exec, 0, param, bytes, r.graph->value[param].bytes), PLIM_OK);
  cr_assert_arr_eq(plim_exec_pointer(r.exec, 0, param), bytes, (size_t)r.graph->value[param].bytes);
  cr_assert_null(plim_exec_pointer(r.exec, 0, input));
  cr_assert_null(plim_exec_pointer(r.exec, 1, param));
  exec_rig_free(&r);
}

Test(exec, plans_of_one_program_share_persistent_storages_and_take_turns) {
  exec_rig r = {0};
  for (int each = 0; each < 2; each++) {
    exec_rig_documents(&r, test_seed(7));
    plim_exec_options options = exec_rig_options(each ? PLIM_ADDRESSES_EACH : PLIM_ADDRESSES_PLANNED);
    const plim_graph *graph[] = {r.graph, r.graph};
    const plim_plan *plan[] = {r.plan, r.plan};
    cr_assert_eq(plim_exec_open(r.ctx, NULL, &options, 2, graph, plan, &r.exec), PLIM_OK);
    hash_reference reference = hash_reference_new(r.graph);
    hash_kernels kernels = {.fault = HASH_RIGHT};
    write_sources(&r, 1, 1, 0);
    for (int64_t step = 0; step < 6; step++) {
      int32_t which = (int32_t)(step % 2);
      write_sources(&r, 1 - which, 0, step); /* abandoned: the other plan's inputs take the arena */
      write_sources(&r, which, 0, step);
      plim_exec_set_step(r.exec, 7, step);
      hash_reference_step(&reference, 7, step);
      cr_assert_eq(plim_exec_step(r.exec, 1 - which, hash_run, &kernels), PLIM_EUSAGE);
      cr_assert_eq(plim_exec_step(r.exec, which, hash_run, &kernels), PLIM_OK, "%s", plim_context_error(r.ctx));
      expect_equal(&r, &reference, which == 0, 7);
    }
    hash_reference_free(&reference);
    exec_rig_free(&r);
    r = (exec_rig){0};
  }
}

/* out = f(w). With an input out = f(x, w), or x is there and no op reads it. */
typedef enum small_input { NO_INPUT, READ_INPUT, UNREAD_INPUT } small_input;
static plim_graph *make_small(plim_context *ctx, small_input input) {
  plim_graph_builder *builder = NULL;
  plim_graph *graph = NULL;
  int64_t bytes = 600;
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
  int32_t w, x, out, op;
  cr_assert_eq(plim_graph_begin(ctx, "small", 1, &builder), PLIM_OK);
  cr_assert_eq(plim_graph_add(builder, "w", PLIM_ROLE_PARAM, &shape, &w), PLIM_OK);
  plim_op_spec spec = {.name = "f", .n_in = 1, .n_out = 1, .in = {w}, .time_ns = 1};
  if (input != NO_INPUT) cr_assert_eq(plim_graph_add(builder, "x", PLIM_ROLE_INPUT, &shape, &x), PLIM_OK);
  if (input == READ_INPUT) spec.in[spec.n_in++] = x;
  cr_assert_eq(plim_graph_add(builder, "out", PLIM_ROLE_OUTPUT, &shape, &out), PLIM_OK);
  spec.out[0] = out;
  cr_assert_eq(plim_graph_add_op(builder, &spec, &op), PLIM_OK);
  cr_assert_eq(plim_graph_end(builder, &graph), PLIM_OK);
  return graph;
}

Test(exec, a_write_that_is_refused_leaves_the_outputs_of_the_last_step) {
  plim_context *ctx = NULL;
  char bytes[600] = {0};
  random_plan_options in_order = {.seed = 1, .packed = 1};
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  plim_graph *graph = make_small(ctx, UNREAD_INPUT);
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  plim_exec *exec = NULL;
  plim_exec_options options = exec_rig_options(PLIM_ADDRESSES_PLANNED);
  hash_kernels kernels = {.fault = HASH_RIGHT};
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  cr_assert_eq(random_plan_make(graph, profile, &in_order, &plan), PLIM_OK);
  cr_assert_eq(
      plim_exec_open(ctx, NULL, &options, 1, (const plim_graph *const *)&graph, (const plim_plan *const *)&plan, &exec),
      PLIM_OK);
  const int32_t x = plim_graph_find_value(graph, "x"), out = plim_graph_find_value(graph, "out");
  cr_assert_eq(plim_exec_step(exec, 0, hash_run, &kernels), PLIM_OK);
  cr_assert_eq(plim_exec_write(exec, 0, x, bytes, sizeof bytes), PLIM_EUSAGE, "it has no buffer");
  cr_assert_eq(plim_exec_read(exec, 0, out, bytes, sizeof bytes), PLIM_OK, "%s", plim_context_error(ctx));
  plim_exec_close(exec);
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(ctx);
}

Test(exec, inputs_of_a_plan_are_gone_when_another_plan_has_run) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  plim_graph *graph[2];
  plim_profile *profile[2];
  plim_plan *plan[2];
  for (int i = 0; i < 2; i++) {
    random_plan_options in_order = {.seed = 1, .packed = 1};
    graph[i] = make_small(ctx, i == 0 ? NO_INPUT : READ_INPUT);
    cr_assert_eq(plim_profile_from_graph(graph[i], &profile[i]), PLIM_OK);
    cr_assert_eq(random_plan_make(graph[i], profile[i], &in_order, &plan[i]), PLIM_OK);
  }
  for (int each = 0; each < 2; each++) {
    plim_exec_options options = exec_rig_options(each ? PLIM_ADDRESSES_EACH : PLIM_ADDRESSES_PLANNED);
    plim_exec *exec = NULL;
    hash_kernels kernels = {.fault = HASH_RIGHT};
    cr_assert_eq(plim_exec_open_unchecked(ctx, NULL, &options, 2, (const plim_graph *const *)graph,
                                          (const plim_plan *const *)plan, &exec),
                 PLIM_OK);
    hash_write_sources(exec, 1, graph[1], plan[1], 0, 0);
    cr_assert_eq(plim_exec_step(exec, 0, hash_run, &kernels), PLIM_OK);
    cr_assert_eq(plim_exec_step(exec, 1, hash_run, &kernels), PLIM_EUSAGE);
    hash_write_sources(exec, 1, graph[1], plan[1], 0, 0);
    cr_assert_eq(plim_exec_step(exec, 1, hash_run, &kernels), PLIM_OK);
    plim_exec_close(exec);
  }
  for (int i = 0; i < 2; i++) {
    plim_plan_free(plan[i]);
    plim_profile_free(profile[i]);
    plim_graph_free(graph[i]);
  }
  plim_context_free(ctx);
}

Test(exec, options_that_make_no_sense_are_refused) {
  exec_rig r = {0};
  exec_rig_documents(&r, test_seed(2));
  const plim_graph *graph = r.graph;
  const plim_plan *plan = r.plan;
  plim_exec_options none = {.struct_bytes = sizeof none};
  cr_assert_eq(plim_exec_open(r.ctx, NULL, &none, 1, &graph, &plan, &r.exec), PLIM_EUSAGE);
  plim_exec_options half = exec_rig_options(PLIM_ADDRESSES_EACH);
  half.buffer_alloc = ledger_alloc;
  cr_assert_eq(plim_exec_open(r.ctx, NULL, &half, 1, &graph, &plan, &r.exec), PLIM_EUSAGE);
  plim_exec_options old = exec_rig_options(PLIM_ADDRESSES_PLANNED);
  old.struct_bytes = 8;
  cr_assert_eq(plim_exec_open(r.ctx, NULL, &old, 1, &graph, &plan, &r.exec), PLIM_EUSAGE);
  plim_exec_options right = exec_rig_options(PLIM_ADDRESSES_PLANNED);
  cr_assert_eq(plim_exec_open(r.ctx, NULL, &right, 1, &graph, &plan, &r.exec), PLIM_OK);
  cr_assert_eq(plim_exec_step(r.exec, 0, NULL, NULL), PLIM_EUSAGE);
  cr_assert_eq(plim_exec_step(r.exec, 1, hash_run, NULL), PLIM_EUSAGE);
  exec_rig_free(&r);
}

Test(exec, a_device_of_another_context_is_refused) {
  exec_rig r = {0};
  exec_rig_documents(&r, test_seed(2));
  const plim_graph *graph = r.graph;
  const plim_plan *plan = r.plan;
  const plim_exec_options options = exec_rig_options(PLIM_ADDRESSES_PLANNED);
  plim_context *other = plim_test_context();
  fake_device fake;
  fake_device_make(&fake, other, "any");
  cr_assert_eq(plim_exec_open(r.ctx, &fake.device, &options, 1, &graph, &plan, &r.exec), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "needs the context of the device"));
  exec_rig_free(&r);
  plim_context_free(other);
}

/* ---- a copy that fails ---- */

static int copies_fail;

static plim_status copy_or_fail(plim_device *device, int32_t queue, void *to, const void *from, int64_t bytes) {
  (void)queue;
  if (copies_fail) return plim_fail(device->ctx, PLIM_EDEVICE, "no copy today");
  memcpy(to, from, (size_t)bytes);
  return PLIM_OK;
}

Test(exec, an_input_whose_copy_failed_is_not_written) {
  exec_rig r = {0};
  exec_rig_documents(&r, test_seed(3));
  const plim_graph *graph = r.graph;
  const plim_plan *plan = r.plan;
  const plim_exec_options options = exec_rig_options(PLIM_ADDRESSES_PLANNED);
  hash_kernels kernels = {.fault = HASH_RIGHT};
  static unsigned char bytes[16384];
  fake_device fake;
  fake_device_make(&fake, r.ctx, "any");
  plim_device_api api = *fake.device.api;
  api.queues.copy = copy_or_fail;
  fake.device.api = &api;
  copies_fail = 0;
  cr_assert_eq(plim_exec_open(r.ctx, &fake.device, &options, 1, &graph, &plan, &r.exec), PLIM_OK, "%s",
               plim_context_error(r.ctx));
  write_sources(&r, 0, 1, 0);
  write_sources(&r, 0, 0, 0);
  const int32_t input = first_of_role(r.graph, PLIM_ROLE_INPUT);
  copies_fail = 1;
  cr_assert_eq(plim_exec_write(r.exec, 0, input, bytes, r.graph->value[input].bytes), PLIM_EDEVICE);
  copies_fail = 0;
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_EUSAGE, "%s", plim_context_error(r.ctx));
  cr_assert_eq(plim_exec_write(r.exec, 0, input, bytes, r.graph->value[input].bytes), PLIM_OK);
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK, "%s", plim_context_error(r.ctx));
  exec_rig_free(&r);
}

Test(exec, times_are_kept_when_asked_for) {
  exec_rig r = {0};
  exec_rig_make(&r, test_seed(6), PLIM_ADDRESSES_PLANNED);
  hash_kernels kernels = {.fault = HASH_RIGHT};
  cr_assert_null(plim_exec_times(r.exec, 0));
  plim_exec_timing_begin(r.exec);
  write_sources(&r, 0, 0, 0);
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK);
  int64_t sum = 0;
  for (int32_t j = 0; j < r.plan->n_commands; j++) sum += plim_exec_times(r.exec, 0)[j];
  cr_assert_gt(sum, 0);
  exec_rig_free(&r);
}

static plim_status open_step_close(plim_context *ctx, void *user) {
  (void)user;
  exec_rig r = {.ctx = ctx};
  random_graph_options graph = random_graph_options_default(test_seed(9));
  random_plan_options plan = random_plan_options_default(test_seed(9));
  plim_exec_options options = exec_rig_options(PLIM_ADDRESSES_EACH);
  plim_status status;
  PLIM_TRY_OR_DONE(random_graph_make(ctx, &graph, &r.graph));
  PLIM_TRY_OR_DONE(random_profile_make(r.graph, test_seed(9), 3, &r.profile));
  PLIM_TRY_OR_DONE(random_plan_make(r.graph, r.profile, &plan, &r.plan));
  const plim_graph *graphs = r.graph;
  const plim_plan *plans = r.plan;
  PLIM_TRY_OR_DONE(plim_exec_open(ctx, NULL, &options, 1, &graphs, &plans, &r.exec));
done:
  plim_exec_close(r.exec);
  plim_plan_free(r.plan);
  plim_profile_free(r.profile);
  plim_graph_free(r.graph);
  return status;
}

Test(exec, every_refused_allocation_is_reported_and_leaves_nothing_after) {
  cr_assert_gt(plim_test_each_allocation(open_step_close, NULL), 5);
}

/* ---- an input in parts ---- */

enum { PART = 16, WHOLE_VALUE = 0, FIRST_PART, SECOND_PART, SUM, PART_VALUES };

/* An op that reads the parts x0, x1 of an input x, and writes the output y. */
static plim_graph *graph_of_parts(plim_context *c) {
  static const struct {
    const char *name;
    int64_t offset, bytes;
  } row[] = {{"x", 0, 2 * PART}, {"x0", 0, PART}, {"x1", PART, PART}};
  plim_op_spec spec = {.name = "add", .kind = PLIM_OP_CUSTOM, .n_in = 2, .n_out = 1, .time_ns = 5};
  plim_graph_builder *builder = NULL;
  plim_graph *graph = NULL;
  int32_t storage, value[PART_VALUES], op;
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, (int64_t[]){PART});
  cr_assert_eq(plim_graph_begin(c, "parts", 1, &builder), PLIM_OK);
  cr_assert_eq(plim_graph_add_storage(builder, PLIM_ROLE_INPUT, 2 * PART, &storage), PLIM_OK);
  for (int i = 0; i < SUM; i++) {
    const plim_shape part = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, (int64_t[]){row[i].bytes});
    cr_assert_eq(plim_graph_add_value(builder, row[i].name, storage, row[i].offset, &part, &value[i]), PLIM_OK);
  }
  cr_assert_eq(plim_graph_add(builder, "y", PLIM_ROLE_OUTPUT, &shape, &value[SUM]), PLIM_OK);
  spec.in[0] = value[FIRST_PART], spec.in[1] = value[SECOND_PART], spec.out[0] = value[SUM];
  cr_assert_eq(plim_graph_add_op(builder, &spec, &op), PLIM_OK, "%s", plim_context_error(c));
  cr_assert_eq(plim_graph_end(builder, &graph), PLIM_OK, "%s", plim_context_error(c));
  return graph;
}

/* Row of a table: the values that are written before a step, -1: none, and whether all bytes then are. */
static const struct {
  int32_t value[2];
  int all;
} part_writes[] = {{{WHOLE_VALUE, -1}, 1},         {{FIRST_PART, SECOND_PART}, 1}, {{SECOND_PART, FIRST_PART}, 1},
                   {{FIRST_PART, -1}, 0},          {{SECOND_PART, -1}, 0},         {{-1, -1}, 0},
                   {{WHOLE_VALUE, SECOND_PART}, 1}};

Test(exec, an_input_is_written_when_every_part_of_it_is) {
  plim_context *c = plim_test_context();
  plim_graph *graph = graph_of_parts(c);
  const plim_plan_options planning = plim_plan_options_default();
  const plim_exec_options options = exec_rig_options(PLIM_ADDRESSES_PLANNED);
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  plim_exec *exec = NULL;
  unsigned char bytes[2 * PART] = {1};
  hash_kernels kernels = {.fault = HASH_RIGHT};
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(c, graph, profile, &planning, &plan), PLIM_OK);
  cr_assert_eq(
      plim_exec_open(c, NULL, &options, 1, (const plim_graph *const[]){graph}, (const plim_plan *const[]){plan}, &exec),
      PLIM_OK, "%s", plim_context_error(c));
  for (size_t i = 0; i < sizeof part_writes / sizeof *part_writes; i++) {
    for (int k = 0; k < 2; k++) {
      const int32_t v = part_writes[i].value[k];
      if (v >= 0) cr_assert_eq(plim_exec_write(exec, 0, v, bytes, graph->value[v].bytes), PLIM_OK);
    }
    cr_expect_eq(plim_exec_read(exec, 0, WHOLE_VALUE, bytes, 2 * PART), part_writes[i].all ? PLIM_OK : PLIM_EUSAGE);
    cr_expect_eq(plim_exec_step(exec, 0, hash_run, &kernels), part_writes[i].all ? PLIM_OK : PLIM_EUSAGE, "row %zu", i);
    cr_assert_eq(plim_exec_write(exec, 0, WHOLE_VALUE, bytes, 2 * PART), PLIM_OK); /* for a step that ends the row */
    cr_assert_eq(plim_exec_step(exec, 0, hash_run, &kernels), PLIM_OK);
  }
  plim_exec_close(exec);
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(c);
}
