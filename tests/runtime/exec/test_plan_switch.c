/* runtime/exec/plan_switch.c: a plan of the caller's that takes over in the middle of a step. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/exec_rig.h"
#include "tests/support/failing_memory.h"
#include "tests/support/hash_kernels.h"
#include "tests/support/test_seed.h"

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
  const exec_rig *r;
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

Test(plan_switch, a_plan_that_takes_over_is_checked_before_it_is_read) {
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    for (int how = 0; how < WRONGS; how++) {
      exec_rig r = {0}, other = {0};
      exec_rig_documents(&other, seed + 1);
      exec_rig_make(&r, seed, PLIM_ADDRESSES_PLANNED);
      intruder w = {&r, other.graph, (wrong)how};
      hash_kernels kernels = {.fault = HASH_RIGHT};
      hash_write_sources(r.exec, 0, r.graph, r.plan, 1, 0);
      hash_write_sources(r.exec, 0, r.graph, r.plan, 0, 0);
      plim_exec_set_before_command(r.exec, intrude, &w);
      plim_status status = plim_exec_step(r.exec, 0, hash_run, &kernels);
      int harmless = (how == NO_SUCCESSOR && successor(r.plan, r.graph) < 0) || r.plan->n_commands < 2;
      cr_expect(status == PLIM_EPLAN || status == PLIM_EDATA || (harmless && status == PLIM_OK),
                "seed %d, fault %d: %s", (int)seed, how, plim_status_name(status));
      exec_rig_free(&r);
      exec_rig_free(&other);
    }
  }
}

/* The rig's plan with a workspace that has ended at the very end of 2^63 bytes. */
static plim_status put_last(void *user, int32_t which, int32_t step, const plim_plan *plan,
                            plim_plan_switch *plan_switch) {
  const exec_rig *r = user;
  (void)which;
  if (step != plan->n_commands / 2) return PLIM_OK;
  for (int32_t i = 0; i < plan->n_buffers && !plan_switch->plan; i++) {
    if (plan->buffer[i].storage >= 0 || plan->buffer[i].end > step) continue;
    PLIM_TRY(plim_plan_from_parts(r->graph, plan, &plan_switch->plan));
    plim_plan_buffer *last = (plim_plan_buffer *)&plan_switch->plan->buffer[i];
    last->offset = (INT64_MAX - last->bytes) / PLIM_ALIGN * PLIM_ALIGN;
    plan_switch->plan->arena_bytes = last->offset + last->bytes;
    plan_switch->plan->budget_bytes = INT64_MAX;
  }
  return PLIM_OK;
}

Test(plan_switch, a_plan_whose_ended_buffers_need_more_than_a_number_of_bytes_can_say_is_refused) {
  int refused = 0;
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    exec_rig r = {0};
    exec_rig_make(&r, seed, PLIM_ADDRESSES_PLANNED);
    hash_kernels kernels = {.fault = HASH_RIGHT};
    hash_write_sources(r.exec, 0, r.graph, r.plan, 1, 0);
    hash_write_sources(r.exec, 0, r.graph, r.plan, 0, 0);
    plim_exec_set_before_command(r.exec, put_last, &r);
    const plim_status status = plim_exec_step(r.exec, 0, hash_run, &kernels);
    if (status != PLIM_OK) {
      cr_expect(strstr(plim_context_error(r.ctx), "above 2^63 bytes") != NULL, "%s", plim_context_error(r.ctx));
      refused += status == PLIM_EPLAN;
      cr_expect_eq(plim_exec_switches(r.exec), 0);
    }
    exec_rig_free(&r);
  }
  cr_assert_gt(refused, 0);
}

enum { NO_STORAGE = -2 /* workspaces have -1 */ };

/* A plan with `gap` free bytes at the low end of its arena; the buffers of storage `low`, if any, lie there. */
static plim_plan *with_gap(const exec_rig *r, const plim_plan *plan, int64_t gap, int32_t low) {
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
  const exec_rig *r;
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

Test(plan_switch, a_plan_that_takes_over_may_not_move_what_the_next_step_reads_at_its_old_place) {
  int refused = 0;
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    exec_rig r = {0};
    exec_rig_documents(&r, seed);
    int32_t storage = first_persistent(r.graph);
    if (storage >= 0 && r.plan->n_commands >= 2) {
      mover m = {&r, r.plan, plim_align_up(r.graph->storage[storage].bytes, PLIM_ALIGN), storage, 0};
      plim_plan *shifted = with_gap(&r, r.plan, m.gap, NO_STORAGE);
      const plim_graph *graph = r.graph;
      const plim_plan *plan = shifted;
      plim_exec_options options = exec_rig_options(PLIM_ADDRESSES_PLANNED);
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
    exec_rig_free(&r);
  }
  cr_assert_gt(refused, 0);
}

/* ---- what is kept, and what is given back ---- */

/* A rig with persistent storages and inputs written. */
static void open_written(exec_rig *r, uint64_t seed) {
  exec_rig_make(r, seed, PLIM_ADDRESSES_PLANNED);
  hash_write_sources(r->exec, 0, r->graph, r->plan, 1, 0);
  hash_write_sources(r->exec, 0, r->graph, r->plan, 0, 0);
}

Test(plan_switch, commands_before_a_switch_keep_their_times) {
  exec_rig r = {0};
  hash_kernels kernels = {.fault = HASH_RIGHT};
  open_written(&r, test_seed(1));
  mover m = {&r, r.plan, 0, NO_STORAGE, 0};
  plim_exec_timing_begin(r.exec);
  plim_exec_set_before_command(r.exec, move_persistent, &m);
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_eq(m.asked, 1);
  int64_t before_ns = 0;
  for (int32_t j = 0; j < r.plan->n_commands / 2; j++) before_ns += plim_exec_times(r.exec, 0)[j];
  cr_assert_gt(before_ns, 0);
  exec_rig_free(&r);
}

static plim_status give_and_fail(void *user, int32_t which, int32_t step, const plim_plan *plan,
                                 plim_plan_switch *plan_switch) {
  const exec_rig *r = user;
  (void)which;
  if (step != plan->n_commands / 2) return PLIM_OK;
  PLIM_TRY(plim_plan_from_parts(r->graph, plan, &plan_switch->plan));
  return plim_fail(r->ctx, PLIM_ENOFIT, "no room after all");
}

Test(plan_switch, a_plan_that_comes_with_a_failure_is_freed) {
  exec_rig r = {0};
  hash_kernels kernels = {.fault = HASH_RIGHT};
  open_written(&r, test_seed(1));
  const int64_t bytes = plim_context_memory(r.ctx).bytes;
  plim_exec_set_before_command(r.exec, give_and_fail, &r);
  cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_ENOFIT, "%s", plim_context_error(r.ctx));
  cr_assert_eq(plim_context_memory(r.ctx).bytes, bytes);
  exec_rig_free(&r);
}

/* A hook that gives a plan, and then has the memory refuse a request. */
typedef struct starver {
  const exec_rig *r;
  plim_failing_memory memory;
  int64_t refused; /* which of the requests after the hook */
} starver;

static plim_status give_and_starve(void *user, int32_t which, int32_t step, const plim_plan *plan,
                                   plim_plan_switch *plan_switch) {
  starver *s = user;
  (void)which;
  if (step != plan->n_commands / 2) return PLIM_OK;
  PLIM_TRY(plim_plan_from_parts(s->r->graph, plan, &plan_switch->plan));
  s->memory.refuse_at = s->memory.requests + s->refused;
  return PLIM_OK;
}

Test(plan_switch, a_step_goes_on_with_its_plan_where_there_is_no_memory_for_another) {
  int32_t n = 0;
  for (int switched = 0; !switched; n++) {
    starver s = {.refused = n + 1};
    exec_rig r = {0};
    hash_kernels kernels = {.fault = HASH_RIGHT};
    cr_assert_eq(plim_context_new(plim_failing_resize, &s.memory, &r.ctx), PLIM_OK);
    s.r = &r;
    open_written(&r, test_seed(1));
    const int64_t bytes = plim_context_memory(r.ctx).bytes;
    plim_exec_set_before_command(r.exec, give_and_starve, &s);
    cr_assert_eq(plim_exec_step(r.exec, 0, hash_run, &kernels), PLIM_OK, "%s", plim_context_error(r.ctx));
    switched = plim_exec_plan_of(r.exec, 0) != r.plan;
    cr_expect_eq(plim_exec_switches(r.exec), switched);
    if (!switched) cr_expect_eq(plim_context_memory(r.ctx).bytes, bytes, "request %d", (int)n);
    exec_rig_free(&r);
  }
  cr_assert_gt(n, 5);
}

/* ---- collisions of moves ---- */

/* Does a buffer that outlives command j lie `gap` bytes above bytes to which another one moves down by `gap`? */
static int collides(const plim_plan *packed, int32_t j, int64_t gap) {
  for (int32_t i = 0; i < packed->n_buffers; i++) {
    const plim_plan_buffer *to = &packed->buffer[i];
    if (to->begin >= j || to->end <= j) continue;
    for (int32_t k = 0; k < packed->n_buffers; k++) {
      const plim_plan_buffer *from = &packed->buffer[k];
      if (from->begin >= j || from->end <= j) continue;
      if (to->offset < from->offset + gap + from->bytes && from->offset + gap < to->offset + to->bytes) return 1;
    }
  }
  return 0;
}

/* A rig whose plan lies `gap` bytes higher than r->plan, which takes over in the middle. Returns the status. */
static plim_status move_all(exec_rig *r, int64_t gap) {
  mover m = {r, r->plan, 0, NO_STORAGE, 0};
  plim_plan *shifted = with_gap(r, r->plan, gap, NO_STORAGE);
  const plim_graph *graph = r->graph;
  const plim_plan *plan = shifted;
  plim_exec_options options = exec_rig_options(PLIM_ADDRESSES_PLANNED);
  hash_kernels kernels = {.fault = HASH_RIGHT};
  cr_assert_eq(plim_exec_open(r->ctx, NULL, &options, 1, &graph, &plan, &r->exec), PLIM_OK, "%s",
               plim_context_error(r->ctx));
  hash_write_sources(r->exec, 0, r->graph, shifted, 1, 0);
  hash_write_sources(r->exec, 0, r->graph, shifted, 0, 0);
  plim_exec_set_before_command(r->exec, move_persistent, &m);
  plim_status status = plim_exec_step(r->exec, 0, hash_run, &kernels);
  plim_exec_close(r->exec);
  r->exec = NULL;
  plim_plan_free(shifted);
  return status;
}

Test(plan_switch, a_plan_that_takes_over_may_not_move_a_buffer_onto_bytes_that_move) {
  int colliding = 0, free_moves = 0;
  for (uint64_t seed = test_seed(1), end = seed + 20; test_seed_at(seed) < end; seed++) {
    exec_rig r = {0};
    exec_rig_documents(&r, seed);
    const int32_t j = r.plan->n_commands / 2;
    const int64_t gaps[] = {PLIM_ALIGN, 4 * PLIM_ALIGN, r.plan->arena_bytes};
    for (int g = 0; g < 3 && j > 0 && r.plan->arena_bytes > 0; g++) {
      const plim_status status = move_all(&r, gaps[g]);
      const int is_collision =
          status != PLIM_OK && strstr(plim_context_error(r.ctx), "bytes that another one leaves") != NULL;
      if (collides(r.plan, j, gaps[g])) {
        cr_expect(status == PLIM_EPLAN && is_collision, "seed %d, gap %d: %s", (int)seed, g, plim_context_error(r.ctx));
        colliding++;
      }
      if (gaps[g] < r.plan->arena_bytes) continue;
      cr_expect(status == PLIM_OK || !is_collision, "seed %d: %s", (int)seed, plim_context_error(r.ctx));
      free_moves++;
    }
    exec_rig_free(&r);
  }
  cr_assert_gt(colliding, 0);
  cr_assert_gt(free_moves, 0);
}
