/* Other plans than those of open: one that takes over in the middle of a step, or new ones between two steps; and an
 * arena that gives its tail back, since what persists lies at its low end.
 *
 * A plan that takes over begins with the steps that have run, so that the step as a whole is that plan's: the gauge
 * counts it from its start and is compared with it at its end. It serves this step alone. A storage that goes on may
 * have another place from here on: it is copied there. */
#include <string.h>

#include "runtime/device/guarded.h"
#include "runtime/exec/own_exec.h"
#include "runtime/graph/check.h"

void plim_exec_set_between(plim_exec *exec, plim_between *between, void *user) {
  exec->between = between;
  exec->between_user = user;
}

static int same_step(const plim_plan *a, const plim_plan *b, int32_t j) {
  const plim_step *x = &a->step[j], *y = &b->step[j];
  return x->op == y->op && strcmp(a->variant[x->variant].variant.name, b->variant[y->variant].variant.name) == 0;
}

/* Lives are sorted by begin, then storage, so those that have begun match one by one. *n is their number. */
static int same_beginning(const plim_plan *a, const plim_plan *b, int32_t step, int32_t *n) {
  int32_t j = 0, i = 0;
  if (a->n_steps < step || b->n_steps < step) return 0;
  while (j < step && same_step(a, b, j)) j++;
  for (; i < a->n_lives && a->life[i].begin < step; i++) {
    const plim_life *x = &a->life[i], *y = &b->life[i];
    if (i >= b->n_lives || x->storage != y->storage || x->begin != y->begin) return 0;
  }
  *n = i;
  return j == step && (i == b->n_lives || b->life[i].begin >= step);
}

/* The life that is written over life i at its end, -1: none. */
static int32_t heir_of(const plim_graph *graph, const plim_plan *plan, int32_t i) {
  const plim_life *life = &plan->life[i];
  if (life->storage < 0 || life->end >= plan->n_steps) return -1;
  const plim_step *step = &plan->step[life->end];
  const plim_op *op = &graph->op[step->op];
  for (int32_t k = 0; k < step->n_pairs; k++) {
    if (graph->value[op->in[step->pair[k].in]].storage != life->storage) continue;
    int32_t out = graph->value[op->out[step->pair[k].out]].storage;
    for (int32_t h = i + 1; h < plan->n_lives; h++) {
      if (plan->life[h].begin >= life->end && plan->life[h].storage == out) return h;
    }
  }
  return -1;
}

/* Does life i, which has begun, go on at `step`? */
static int goes_on(const plim_graph *graph, const plim_plan *plan, int32_t i, int32_t step) {
  int32_t end = plan->life[i].end;
  return end > step || (end == step && heir_of(graph, plan, i) >= 0);
}

/* Two plans that begin alike, and what the second one takes over at a step. */
typedef struct takeover {
  const plim_graph *graph;
  const plim_plan *from, *to;
  int32_t step, n; /* n: lives that have begun */
} takeover;

static int moved(const takeover *o, int32_t i) {
  return o->from->life[i].offset != o->to->life[i].offset && goes_on(o->graph, o->to, i, o->step);
}

static int overlap(const plim_life *x, const plim_life *y) {
  return x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

/* Nothing moves over what has yet to move, so that the order of the copies does not matter. */
static int moves_apart(const takeover *o) {
  for (int32_t i = 0; i < o->n; i++) {
    for (int32_t k = 0; k < o->n && moved(o, i); k++) {
      if (moved(o, k) && overlap(&o->to->life[i], &o->from->life[k])) return 0;
    }
  }
  return 1;
}

/* Bytes of the arena that the plan needs from step j on. */
static int64_t bytes_from(const plim_plan *plan, int32_t j) {
  int64_t most = 0;
  for (int32_t i = 0; i < plan->n_lives; i++) {
    int64_t top = plan->life[i].offset + plan->life[i].bytes;
    if (plan->life[i].end > j && top > most) most = top;
  }
  return most;
}

static plim_status resize(plim_exec *exec, int64_t bytes) {
  int64_t returned = 0;
  if (bytes == exec->arena_bytes) return PLIM_OK;
  if (!exec->device) {
    PLIM_TRY(plim_guarded_resize(exec->ctx, exec->arena, exec->arena_bytes, bytes, 1, &returned));
  } else if (exec->device->api->resize) {
    PLIM_TRY(exec->device->api->resize(exec->device, exec->arena, exec->arena_bytes, bytes, &returned));
  }
  exec->arena_bytes = bytes;
  exec->returned_bytes += returned;
  return PLIM_OK;
}

int64_t plim_exec_returned_bytes(const plim_exec *exec) {
  return exec->returned_bytes;
}

int64_t plim_exec_moved_bytes(const plim_exec *exec) {
  return exec->moved_bytes;
}

int64_t plim_exec_first_bytes(const plim_exec *exec) {
  return exec->first_bytes;
}

/* ---- in the middle of a step ---- */

/* Where something moves, here or in an earlier turn, no address holds for the whole step. What is over by `step` has
 * been checked with the plan that it ran by: give it places above all others, an input of a pair that of its output,
 * and check all that with the rest. */
static plim_status check_apart(const plim_exec *exec, const takeover *o) {
  plim_plan draft = *o->to, *apart = NULL;
  int64_t top = draft.arena_bytes, n_lives = draft.n_lives;
  plim_life *life = NULL;
  PLIM_TRY(plim_allocate(exec->ctx, n_lives, sizeof *life, &life));
  memcpy(life, draft.life, (size_t)n_lives * sizeof *life);
  for (int32_t i = o->n - 1; i >= 0; i--) {
    if (goes_on(o->graph, o->to, i, o->step)) continue;
    int32_t heir = heir_of(o->graph, o->to, i);
    life[i].offset = heir >= 0 ? life[heir].offset : top;
    if (heir < 0) top = plim_add_bytes(top, life[i].bytes); /* -1 where there is no such place: refused below */
  }
  draft.life = life;
  draft.budget_bytes = INT64_MAX;
  plim_status status = plim_plan_from_parts(o->graph, &draft, &apart);
  plim_release(exec->ctx, life, n_lives, sizeof *life);
  if (status == PLIM_OK) status = plim_plan_check(exec->ctx, o->graph, apart);
  plim_plan_free(apart);
  return status;
}

/* The plan comes from outside: nothing is read of it before its form is known to be right. */
static plim_status check_turn(const plim_exec *exec, int32_t which, takeover *o, int64_t arena_bytes) {
  int32_t step = o->step;
  PLIM_TRY(plim_exec_check_machine(exec, which, o->to));
  PLIM_TRY(plim_plan_check_form(exec->ctx, o->graph, o->to));
  if (!o->to->packed || o->to->arena_bytes != bytes_from(o->to, 0)) {
    return plim_fail(exec->ctx, PLIM_EPLAN,
                     "a plan that takes over at step %d says an arena of %lld bytes; it has %lld", (int)step,
                     (long long)o->to->arena_bytes, (long long)bytes_from(o->to, 0));
  }
  if (!same_beginning(o->from, o->to, step, &o->n) || !moves_apart(o)) {
    return plim_fail(exec->ctx, PLIM_EPLAN, "a plan that takes over at step %d does not begin with what has run",
                     (int)step);
  }
  PLIM_TRY(check_apart(exec, o));
  int64_t needed = bytes_from(o->to, step);
  if (needed <= arena_bytes && arena_bytes <= exec->arena_bytes) return PLIM_OK;
  return plim_fail(exec->ctx, PLIM_EPLAN,
                   "a plan that takes over at step %d needs %lld bytes, it is to have %lld of an arena of %lld",
                   (int)step, (long long)needed, (long long)arena_bytes, (long long)exec->arena_bytes);
}

/* What goes on elsewhere is copied there. */
static plim_status move_lives(plim_exec *exec, const takeover *o) {
  char *base = exec->arena;
  for (int32_t i = 0; i < o->n; i++) {
    const plim_life *old = &o->from->life[i];
    char *to = base + o->to->life[i].offset;
    if (!moved(o, i)) continue;
    exec->moved_bytes += old->bytes;
    if (!exec->device) {
      memcpy(to, base + old->offset, (size_t)old->bytes);
    } else {
      PLIM_TRY(exec->device->api->copy(exec->device, 0, to, base + old->offset, old->bytes));
    }
  }
  return exec->device ? exec->device->api->sync(exec->device) : PLIM_OK;
}

/* Kernels of plans that have left are of no use, and take memory of the device. */
static void free_kernels(plim_exec *exec) {
  if (exec->options.own_kernels || exec->prepared.n_rows == 0) return; /* the latter: closing */
  plim_prepared_sweep_begin(&exec->prepared);
  for (int32_t i = 0; i < exec->n; i++) {
    const plim_exec_plan *p = &exec->plan[i];
    plim_prepared_keep(&exec->prepared, p->bound.graph, p->bound.plan);
    if (p->taken_over) plim_prepared_keep(&exec->prepared, p->planned.graph, p->planned.plan);
  }
  plim_prepared_sweep_end(&exec->prepared);
}

/* The plan's own bound is put aside; that of an earlier turn in this step is done with. */
static void install(plim_exec_plan *p, const plim_bound *fresh, plim_plan *plan) {
  if (p->taken_over) {
    plim_bound_free(&p->bound);
    plim_plan_free(p->taken_over);
  } else {
    p->planned = p->bound;
  }
  p->bound = *fresh;
  p->taken_over = plan;
}

static plim_status take_turn(plim_exec *exec, plim_exec_plan *p, int32_t step, const plim_turn *turn,
                             plim_gauge *gauge) {
  plim_bound fresh = {.ctx = NULL};
  takeover o = {p->bound.graph, p->bound.plan, turn->plan, step, 0};
  PLIM_TRY(check_turn(exec, (int32_t)(p - exec->plan), &o, turn->arena_bytes));
  plim_exec_refuse_none(exec);
  plim_status status = plim_exec_bind(exec, p->bound.graph, turn->plan, 1, &fresh);
  if (status == PLIM_OK) status = move_lives(exec, &o);
  if (status == PLIM_OK) status = resize(exec, turn->arena_bytes);
  if (status != PLIM_OK) {
    plim_bound_free(&fresh);
    return status;
  }
  install(p, &fresh, turn->plan);
  plim_bind_arena(&p->bound, exec->arena);
  plim_gauge_begin(gauge, &p->bound, exec->arena);
  for (int32_t j = 0; j < step; j++) plim_gauge_step(gauge, &p->bound, j);
  return PLIM_OK;
}

plim_status plim_turn_ask(plim_exec *exec, plim_exec_plan *p, int32_t step, plim_gauge *gauge) {
  plim_turn turn = {NULL, exec->arena_bytes};
  PLIM_TRY(exec->between(exec->between_user, (int32_t)(p - exec->plan), step, p->bound.plan, &turn));
  if (!turn.plan) return PLIM_OK;
  plim_status status = take_turn(exec, p, step, &turn, gauge);
  if (status != PLIM_OK) plim_plan_free(turn.plan);
  return status;
}

void plim_turn_end(plim_exec *exec, plim_exec_plan *p) {
  if (!p->taken_over) return;
  plim_bound_free(&p->bound);
  plim_plan_free(p->taken_over);
  p->bound = p->planned;
  p->taken_over = NULL;
  free_kernels(exec);
}

/* ---- between two steps ---- */

/* The new plans together, and with the old ones what persists: it stays where it is. */
static plim_status check_plans(const plim_exec *exec, const plim_plan *const *plan, int64_t arena_bytes) {
  if (!exec->arena || arena_bytes > exec->first_bytes) {
    return plim_fail(exec->ctx, PLIM_EUSAGE, "an arena of %lld bytes cannot become one of %lld",
                     (long long)exec->first_bytes, (long long)arena_bytes);
  }
  for (int32_t i = 0; i < exec->n; i++) {
    const plim_graph *const graph[] = {exec->plan[0].bound.graph, exec->plan[i].bound.graph};
    const plim_plan *const pair[] = {exec->plan[0].bound.plan, plan[i]};
    PLIM_TRY(plim_exec_check_machine(exec, i, plan[i]));
    PLIM_TRY(plim_program_check(exec->ctx, 2, graph, pair));
    if (plan[i]->arena_bytes <= arena_bytes) continue;
    return plim_fail(exec->ctx, PLIM_EUSAGE, "plan %d needs %lld bytes, the arena is to have %lld", (int)i,
                     (long long)plan[i]->arena_bytes, (long long)arena_bytes);
  }
  return PLIM_OK;
}

/* What the device has recorded of the plans that leave names their kernels: it forgets that before they are freed. */
static void forget_steps(const plim_exec *exec) {
  const plim_device_watch *watch = exec->device ? exec->device->api->watch : NULL;
  if (watch && watch->replace) watch->replace(exec->device, exec->arena);
}

plim_status plim_exec_replace(plim_exec *exec, const plim_plan *const *plan, int64_t arena_bytes) {
  plim_bound *fresh = NULL;
  plim_status status = PLIM_OK;
  plim_exec_refuse_none(exec);
  plim_exec_claim(exec, -1);
  PLIM_TRY(check_plans(exec, plan, arena_bytes));
  PLIM_TRY(plim_allocate(exec->ctx, exec->n, sizeof *fresh, &fresh));
  for (int32_t i = 0; i < exec->n; i++) {
    PLIM_CHECK(plim_exec_bind(exec, exec->plan[i].bound.graph, plan[i], 1, &fresh[i]));
  }
  for (int32_t i = 0; i < exec->n; i++) {
    plim_bind_arena(&fresh[i], exec->arena);
    PLIM_CHECK(plim_exec_rehearse(exec, &fresh[i])); /* no device that has it gives a part of an arena back */
  }
  PLIM_CHECK(resize(exec, arena_bytes));
  forget_steps(exec);
  for (int32_t i = 0; i < exec->n; i++) {
    plim_bound old = exec->plan[i].bound;
    exec->plan[i].bound = fresh[i];
    fresh[i] = old;
  }
done:
  for (int32_t i = 0; i < exec->n; i++) plim_bound_free(&fresh[i]);
  free_kernels(exec); /* of the plans that left, or of those that could not come */
  plim_release(exec->ctx, fresh, exec->n, sizeof *fresh);
  return status;
}

const plim_plan *plim_exec_plan_of(const plim_exec *exec, int32_t which) {
  return exec->plan[which].bound.plan;
}
