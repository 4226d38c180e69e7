/* runtime/exec: random plans with repeats, in-place pairs and workspaces do what program order does, and what they use
 * is what the plan says. */
#include "runtime/exec/exec.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/exec/exec_unchecked.h"
#include "runtime/graph/builder.h"
#include "tests/support/failing_memory.h"
#include "tests/support/hash_kernels.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/test_seed.h"

enum { CASES = 150, STEPS = 3, BUFFERS = 4096 };

/* One graph, one plan and an executor over them. */
typedef struct rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *plan;
  plim_exec *exec;
} rig;

static plim_exec_options own_kernels(plim_exec_addresses addresses) {
  plim_exec_options options = {.struct_bytes = sizeof options, .addresses = addresses, .own_kernels = 1};
  return options;
}

static void make_documents(rig *r, uint64_t seed) {
  random_graph_options graph = random_graph_options_default(seed);
  random_plan_options plan = random_plan_options_default(seed);
  cr_assert_eq(plim_context_new(NULL, NULL, &r->ctx), PLIM_OK);
  cr_assert_eq(random_graph_make(r->ctx, &graph, &r->graph), PLIM_OK, "seed %llu", (unsigned long long)seed);
  cr_assert_eq(random_profile_make(r->graph, seed, 3, &r->profile), PLIM_OK);
  cr_assert_eq(random_plan_make(r->graph, r->profile, &plan, &r->plan), PLIM_OK);
}

static void make_rig(rig *r, uint64_t seed, plim_exec_addresses addresses) {
  make_documents(r, seed);
  plim_exec_options options = own_kernels(addresses);
  const plim_graph *graph = r->graph;
  const plim_plan *plan = r->plan;
  plim_status status = plim_exec_open(r->ctx, NULL, &options, 1, &graph, &plan, &r->exec);
  cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(r->ctx));
}

static void free_rig(rig *r) {
  plim_exec_close(r->exec);
  plim_plan_free(r->plan);
  plim_profile_free(r->profile);
  plim_graph_free(r->graph);
  plim_context_free(r->ctx);
}

/* The value that is all of a storage; -1: none (an output of two halves). */
static int32_t whole_value(const plim_graph *graph, int32_t storage) {
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (graph->value[v].storage == storage && graph->value[v].bytes == graph->storage[storage].bytes) return v;
  }
  return -1;
}

static void write_sources(const rig *r, int32_t which, int persistent, int64_t step) {
  hash_write_sources(r->exec, which, r->graph, r->plan, persistent, step);
}

/* Every value over a persistent storage, and with `outputs` over an output, has the reference's bytes. */
static void expect_equal(const rig *r, const hash_reference *reference, int outputs, uint64_t seed) {
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
  rig r = {0};
  make_rig(&r, seed, addresses);
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
    cr_assert_eq(use.peak_bytes, r.plan->peak_bytes);
    cr_assert_eq(use.packed_bytes, addresses == PLIM_ADDRESSES_PLANNED ? r.plan->arena_bytes : 0);
    cr_assert_eq(use.own_allocations, 0);
  }
  cr_assert_eq(kernels.calls, STEPS * (int64_t)r.plan->n_commands);
  hash_reference_free(&reference);
  free_rig(&r);
}

Test(exec, random_plans_leave_what_program_order_leaves) {
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++)
    run_and_compare(seed, PLIM_ADDRESSES_PLANNED);
}

Test(exec, so_do_they_with_an_allocation_a_buffer) {
  for (uint64_t seed = test_seed(1), end = seed + CASES / 5; test_seed_at(seed) < end; seed++)
    run_and_compare(seed, PLIM_ADDRESSES_EACH);
}

/* ---- a plan of the caller's that takes over ---- */

/* What is wrong with it. */
typedef enum wrong {
  NO_SUCH_OP,
  NO_SUCH_VARIANT,
  NO_SUCH_STORAGE,
  NO_BUFFERS,
  NO_SUCCESSOR,
  HUGE_ARENA,
  FOREIGN,
  WRONGS
} wrong;

typedef struct intruder {
  const rig *r;
  const plim_graph *other; /* another graph */
  wrong how;
} intruder;

/* The buffer that the output of a pair begins, -1: no step has a pair. */
static int32_t successor(const plim_plan *plan, const plim_graph *graph) {
  for (int32_t j = 0; j < plan->n_commands; j++) {
    if (plan->command[j].n_pairs == 0) continue;
    int32_t out = graph->value[graph->op[plan->command[j].op].out[plan->command[j].pair[0].out]].storage;
    for (int32_t i = 0; i < plan->n_buffers; i++) {
      if (plan->buffer[i].storage == out && plan->buffer[i].begin == j) return i;
    }
  }
  return -1;
}

static void spoil(plim_plan *plan, const intruder *w) {
  plim_command *command = (plim_command *)plan->command; /* plans are constant to everybody but this test */
  plim_plan_buffer *buffer = (plim_plan_buffer *)plan->buffer;
  int32_t last = plan->n_commands - 1, successor_buffer = successor(plan, w->r->graph);
  if (w->how == NO_SUCH_OP) command[last].op = 1 << 30;
  if (w->how == NO_SUCH_VARIANT) command[last].variant = 1 << 30;
  if (w->how == NO_SUCH_STORAGE) buffer[plan->n_buffers - 1].storage = 1 << 30;
  if (w->how == NO_BUFFERS) plan->n_buffers = 1;
  if (w->how == NO_SUCCESSOR && successor_buffer >= 0) buffer[successor_buffer].storage = buffer[0].storage;
  if (w->how == HUGE_ARENA) plan->arena_bytes = INT64_MAX;
  if (w->how == FOREIGN) memcpy(plan->fingerprint, w->other->fingerprint, sizeof plan->fingerprint);
}

static plim_status intrude(void *user, int32_t which, int32_t step, const plim_plan *plan,
                           plim_plan_switch *plan_switch) {
  const intruder *w = user;
  (void)which;
  if (step != plan->n_commands / 2) return PLIM_OK;
  PLIM_TRY(plim_plan_from_parts(w->r->graph, plan, &plan_switch->plan));
  spoil(plan_switch->plan, w);
  return PLIM_OK;
}

Test(exec, a_plan_that_takes_over_is_checked_before_it_is_read) {
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    for (int how = 0; how < WRONGS; how++) {
      rig r = {0}, other = {0};
      make_documents(&other, seed + 1);
      make_rig(&r, seed, PLIM_ADDRESSES_PLANNED);
      intruder w = {&r, other.graph, (wrong)how};
      hash_kernels kernels = {.fault = HASH_RIGHT};
      write_sources(&r, 0, 1, 0);
      write_sources(&r, 0, 0, 0);
      plim_exec_set_before_command(r.exec, intrude, &w);
      plim_status status = plim_exec_step(r.exec, 0, hash_run, &kernels);
      int harmless = (how == NO_SUCCESSOR && successor(r.plan, r.graph) < 0) || r.plan->n_commands < 2;
      cr_expect(status == PLIM_EPLAN || status == PLIM_EDATA || (harmless && status == PLIM_OK),
                "seed %d, fault %d: %s", (int)seed, how, plim_status_name(status));
      free_rig(&r);
      free_rig(&other);
    }
  }
}

enum { NO_STORAGE = -2 /* workspaces have -1 */ };

/* A plan with `gap` free bytes at the low end of its arena; the buffers of storage `low`, if any, lie there. */
static plim_plan *with_gap(const rig *r, const plim_plan *plan, int64_t gap, int32_t low) {
  plim_plan draft = *plan, *made = NULL;
  plim_plan_buffer *buffer = calloc((size_t)plan->n_buffers, sizeof *buffer);
  draft.buffer = memcpy(buffer, plan->buffer, (size_t)plan->n_buffers * sizeof *buffer);
  draft.budget_bytes = INT64_MAX;
  draft.arena_bytes = 0;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    buffer[i].offset = buffer[i].storage == low ? 0 : buffer[i].offset + gap;
    int64_t top = buffer[i].offset + buffer[i].bytes;
    if (top > draft.arena_bytes) draft.arena_bytes = top;
  }
  cr_assert_eq(plim_plan_from_parts(r->graph, &draft, &made), PLIM_OK, "%s", plim_context_error(r->ctx));
  free(buffer);
  return made;
}

/* The first persistent storage, -1: none. */
static int32_t first_persistent(const plim_graph *graph) {
  for (int32_t s = 0; s < graph->n_storages; s++) {
    if (plim_role_persistent(graph->storage[s].role)) return s;
  }
  return -1;
}

typedef struct mover {
  const rig *r;
  const plim_plan *packed; /* that of the rig, without the gap */
  int64_t gap;
  int32_t storage;
  int asked;
} mover;

static plim_status move_persistent(void *user, int32_t which, int32_t step, const plim_plan *plan,
                                   plim_plan_switch *plan_switch) {
  mover *m = user;
  (void)which;
  if (step != plan->n_commands / 2) return PLIM_OK;
  plan_switch->plan = with_gap(m->r, m->packed, m->gap, m->storage);
  plan_switch->arena_bytes = plan_switch->plan->arena_bytes;
  m->asked = 1;
  return PLIM_OK;
}

Test(exec, a_plan_that_takes_over_may_not_move_what_the_next_step_reads_at_its_old_place) {
  int refused = 0;
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    rig r = {0};
    make_documents(&r, seed);
    int32_t storage = first_persistent(r.graph);
    if (storage >= 0 && r.plan->n_commands >= 2) {
      mover m = {&r, r.plan, plim_align_up(r.graph->storage[storage].bytes, PLIM_ALIGN), storage, 0};
      plim_plan *shifted = with_gap(&r, r.plan, m.gap, NO_STORAGE);
      const plim_graph *graph = r.graph;
      const plim_plan *plan = shifted;
      plim_exec_options options = own_kernels(PLIM_ADDRESSES_PLANNED);
      cr_assert_eq(plim_exec_open(r.ctx, NULL, &options, 1, &graph, &plan, &r.exec), PLIM_OK, "%s",
                   plim_context_error(r.ctx));
      hash_kernels kernels = {.fault = HASH_RIGHT};
      hash_write_sources(r.exec, 0, r.graph, shifted, 1, 0);
      hash_write_sources(r.exec, 0, r.graph, shifted, 0, 0);
      plim_exec_set_before_command(r.exec, move_persistent, &m);
      cr_expect_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_EPLAN, "seed %llu", (unsigned long long)seed);
      refused += m.asked;
      plim_exec_close(r.exec);
      r.exec = NULL;
      plim_plan_free(shifted);
    }
    free_rig(&r);
  }
  cr_assert_gt(refused, 0);
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

static void open_with_ledger(rig *r, ledger *l, plim_status wanted) {
  plim_exec_options options = own_kernels(PLIM_ADDRESSES_EACH);
  options.buffer_alloc = ledger_alloc;
  options.buffer_free = ledger_free;
  options.user = l;
  const plim_graph *graph = r->graph;
  const plim_plan *plan = r->plan;
  cr_assert_eq(plim_exec_open(r->ctx, NULL, &options, 1, &graph, &plan, &r->exec), wanted);
}

Test(exec, buffers_of_their_own_hold_the_peak_that_the_plan_says_and_are_all_given_back) {
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    rig r = {0};
    static ledger l;
    memset(&l, 0, sizeof l);
    make_documents(&r, seed);
    open_with_ledger(&r, &l, PLIM_OK);
    hash_kernels kernels = {.fault = HASH_RIGHT};
    for (int64_t step = 0; step < STEPS; step++) {
      write_sources(&r, 0, 0, step);
      cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK, "%s", plim_context_error(r.ctx));
    }
    cr_assert_eq(l.held_most, r.plan->peak_bytes, "seed %llu", (unsigned long long)seed);
    free_rig(&r);
    cr_assert_eq(l.held, 0);
  }
}

Test(exec, a_buffer_that_is_refused_ends_the_step_and_nothing_is_lost) {
  rig r = {0};
  static ledger l;
  make_documents(&r, 5);
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
  free_rig(&r);
}

/* ---- measured against planned ---- */

/* Run one step of a plan that the checker would refuse. */
static plim_status run_unchecked(rig *r, const plim_plan *plan) {
  plim_exec_options options = own_kernels(PLIM_ADDRESSES_PLANNED);
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
    rig r = {0};
    make_documents(&r, seed);
    plim_plan peak = *r.plan, height = *r.plan;
    peak.peak_bytes += seed % 2 ? PLIM_ALIGN : -PLIM_ALIGN;
    cr_assert_eq(run_unchecked(&r, &peak), PLIM_EDIFF);
    cr_assert(strstr(plim_context_error(r.ctx), "peak"));
    height.arena_bytes += PLIM_ALIGN;
    cr_assert_eq(run_unchecked(&r, &height), PLIM_EDIFF);
    cr_assert(strstr(plim_context_error(r.ctx), "arena"));
    free_rig(&r);
  }
}

/* Buffers that are larger than what they hold, with peak and packed size to match: only sizes asked elsewhere can tell.
 */
Test(exec, sizes_are_not_taken_from_the_plan) {
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    rig r = {0};
    make_documents(&r, seed);
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
    free_rig(&r);
  }
}

Test(exec, the_allocation_counter_moves_when_a_kernel_allocates_by_the_hook) {
  rig r = {0};
  make_rig(&r, 3, PLIM_ADDRESSES_PLANNED);
  hash_kernels kernels = {.fault = HASH_RIGHT, .spends = r.ctx};
  write_sources(&r, 0, 0, 0);
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK);
  cr_assert_eq(plim_exec_measured(r.exec, 0).own_allocations, r.plan->n_commands);
  free_rig(&r);
}

/* ---- what a caller may do ---- */

Test(exec, a_kernel_that_fails_ends_the_step_with_its_op_named_and_the_next_step_can_run) {
  rig r = {0};
  make_rig(&r, 4, PLIM_ADDRESSES_PLANNED);
  hash_kernels kernels = {.fault = HASH_FAILS, .op = r.graph->n_ops / 2};
  write_sources(&r, 0, 0, 0);
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_ENOTFINITE);
  cr_assert(strstr(plim_context_error(r.ctx), r.graph->op[kernels.op].name), "%s", plim_context_error(r.ctx));
  kernels.fault = HASH_RIGHT;
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_EUSAGE, "inputs are gone");
  cr_assert(strstr(plim_context_error(r.ctx), "written"));
  write_sources(&r, 0, 0, 0);
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK);
  free_rig(&r);
}

static int32_t first_of_role(const plim_graph *graph, plim_role role) {
  for (int32_t s = 0; s < graph->n_storages; s++) {
    if (graph->storage[s].role == role) return whole_value(graph, s);
  }
  return -1;
}

Test(exec, values_can_be_read_and_written_only_where_they_are) {
  static unsigned char bytes[16384];
  rig r = {0};
  make_rig(&r, 3, PLIM_ADDRESSES_PLANNED);
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
  free_rig(&r);
}

Test(exec, a_pointer_is_given_to_persistent_values_alone_and_is_where_write_writes) {
  unsigned char bytes[16384];
  rig r = {0};
  make_rig(&r, 3, PLIM_ADDRESSES_PLANNED);
  int32_t param = first_of_role(r.graph, PLIM_ROLE_PARAM), input = first_of_role(r.graph, PLIM_ROLE_INPUT);
  cr_assert_geq(param, 0);
  hash_fill_source(1, 2, bytes, r.graph->value[param].bytes);
  cr_assert_eq(plim_exec_write(r.exec, 0, param, bytes, r.graph->value[param].bytes), PLIM_OK);
  cr_assert_arr_eq(plim_exec_pointer(r.exec, 0, param), bytes, (size_t)r.graph->value[param].bytes);
  cr_assert_null(plim_exec_pointer(r.exec, 0, input));
  cr_assert_null(plim_exec_pointer(r.exec, 1, param));
  free_rig(&r);
}

Test(exec, plans_of_one_program_share_persistent_storages_and_take_turns) {
  rig r = {0};
  for (int each = 0; each < 2; each++) {
    make_documents(&r, 7);
    plim_exec_options options = own_kernels(each ? PLIM_ADDRESSES_EACH : PLIM_ADDRESSES_PLANNED);
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
    free_rig(&r);
    r = (rig){0};
  }
}

/* out = f(w), and with an input out = f(x, w). */
static plim_graph *make_small(plim_context *ctx, int with_input) {
  plim_graph_builder *builder = NULL;
  plim_graph *graph = NULL;
  int64_t bytes = 600;
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
  int32_t w, x, out, op;
  cr_assert_eq(plim_graph_begin(ctx, "small", 1, &builder), PLIM_OK);
  cr_assert_eq(plim_graph_add(builder, "w", PLIM_ROLE_PARAM, &shape, &w), PLIM_OK);
  plim_op_spec spec = {.name = "f", .n_in = 1, .n_out = 1, .in = {w}, .time_ns = 1};
  if (with_input) {
    cr_assert_eq(plim_graph_add(builder, "x", PLIM_ROLE_INPUT, &shape, &x), PLIM_OK);
    spec.in[spec.n_in++] = x;
  }
  cr_assert_eq(plim_graph_add(builder, "out", PLIM_ROLE_OUTPUT, &shape, &out), PLIM_OK);
  spec.out[0] = out;
  cr_assert_eq(plim_graph_add_op(builder, &spec, &op), PLIM_OK);
  cr_assert_eq(plim_graph_end(builder, &graph), PLIM_OK);
  return graph;
}

Test(exec, inputs_of_a_plan_are_gone_when_another_plan_has_run) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  plim_graph *graph[2];
  plim_profile *profile[2];
  plim_plan *plan[2];
  for (int i = 0; i < 2; i++) {
    random_plan_options in_order = {.seed = 1, .packed = 1};
    graph[i] = make_small(ctx, i);
    cr_assert_eq(plim_profile_from_graph(graph[i], &profile[i]), PLIM_OK);
    cr_assert_eq(random_plan_make(graph[i], profile[i], &in_order, &plan[i]), PLIM_OK);
  }
  for (int each = 0; each < 2; each++) {
    plim_exec_options options = own_kernels(each ? PLIM_ADDRESSES_EACH : PLIM_ADDRESSES_PLANNED);
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
  rig r = {0};
  make_documents(&r, 2);
  const plim_graph *graph = r.graph;
  const plim_plan *plan = r.plan;
  plim_exec_options none = {.struct_bytes = sizeof none};
  cr_assert_eq(plim_exec_open(r.ctx, NULL, &none, 1, &graph, &plan, &r.exec), PLIM_EUSAGE);
  plim_exec_options half = own_kernels(PLIM_ADDRESSES_EACH);
  half.buffer_alloc = ledger_alloc;
  cr_assert_eq(plim_exec_open(r.ctx, NULL, &half, 1, &graph, &plan, &r.exec), PLIM_EUSAGE);
  plim_exec_options old = own_kernels(PLIM_ADDRESSES_PLANNED);
  old.struct_bytes = 8;
  cr_assert_eq(plim_exec_open(r.ctx, NULL, &old, 1, &graph, &plan, &r.exec), PLIM_EUSAGE);
  plim_exec_options right = own_kernels(PLIM_ADDRESSES_PLANNED);
  cr_assert_eq(plim_exec_open(r.ctx, NULL, &right, 1, &graph, &plan, &r.exec), PLIM_OK);
  cr_assert_eq(plim_exec_step(r.exec, 0, NULL, NULL), PLIM_EUSAGE);
  cr_assert_eq(plim_exec_step(r.exec, 1, hash_run, NULL), PLIM_EUSAGE);
  free_rig(&r);
}

Test(exec, times_are_kept_when_asked_for) {
  rig r = {0};
  make_rig(&r, 6, PLIM_ADDRESSES_PLANNED);
  hash_kernels kernels = {.fault = HASH_RIGHT};
  cr_assert_null(plim_exec_times(r.exec, 0));
  plim_exec_timing_begin(r.exec);
  write_sources(&r, 0, 0, 0);
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK);
  int64_t sum = 0;
  for (int32_t j = 0; j < r.plan->n_commands; j++) sum += plim_exec_times(r.exec, 0)[j];
  cr_assert_gt(sum, 0);
  free_rig(&r);
}

static plim_status open_step_close(plim_context *ctx, void *user) {
  (void)user;
  rig r = {.ctx = ctx};
  random_graph_options graph = random_graph_options_default(9);
  random_plan_options plan = random_plan_options_default(9);
  plim_exec_options options = own_kernels(PLIM_ADDRESSES_EACH);
  plim_status status;
  PLIM_CHECK(random_graph_make(ctx, &graph, &r.graph));
  PLIM_CHECK(random_profile_make(r.graph, 9, 3, &r.profile));
  PLIM_CHECK(random_plan_make(r.graph, r.profile, &plan, &r.plan));
  const plim_graph *graphs = r.graph;
  const plim_plan *plans = r.plan;
  PLIM_CHECK(plim_exec_open(ctx, NULL, &options, 1, &graphs, &plans, &r.exec));
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
