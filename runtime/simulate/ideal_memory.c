/* Simulates a handle program in ideal memory, and counts evictions and recomputations.
 *
 * Events run in the program's order. A call makes room for its results: as long as they do not fit, the storage in the
 * pool with the smallest score is evicted (choose). An argument that was evicted is recomputed by the call that defines
 * it, which may need others first. Calls that wait for arguments are on an explicit stack, so that a chain may be as
 * long as the program. A storage whose last handle is released is evicted at once. At the end, tensors that the program
 * keeps are recomputed.
 *
 * Invariants: between calls, used_bytes is the sum of the resident storages. A storage in the pool is resident, not
 * pinned, and holds no argument of a waiting call. A tensor is defined when its storage is resident and was not evicted
 * since the tensor was computed: an evicted storage becomes resident without its views.
 *
 * Source: the simulator of the DTR prototype (Kirisame et al., ICLR 2021). Scores: ideal_score.c. */
#include "runtime/simulate/ideal_memory.h"

#include <assert.h>
#include <math.h>

#include "runtime/base/array.h"
#include "runtime/base/effort.h"
#include "runtime/simulate/ideal_state.h"

enum { NONE = PLIM_NONE };
enum { CALL_NS = 200, SCORE_NS = 50 }; /* rough, for plim_effort_over */

#define PLIM_X(id, name) name,
static const char *const end_names[] = {PLIM_ONLINE_ENDS(PLIM_X)};
#undef PLIM_X

const char *plim_online_end_name(plim_online_end end) {
  return end_names[end];
}

/* A call that waits for its arguments. Defined arguments are locked first; then each other one is recomputed. */
typedef struct waiting_call {
  int32_t event;      /* the call */
  int32_t tensor;     /* result that is needed */
  int32_t arg;        /* arguments before this one are defined and locked */
  int32_t again;      /* 1: the call has run before */
  int64_t first_flag; /* index into was_defined of its first argument */
} waiting_call;

/* The calls that wait, each for the next one. */
typedef struct waiting_calls {
  waiting_call *call; /* [depth] */
  char *was_defined;  /* [n_flags] 1: the argument was defined when its call began to wait */
  int64_t depth, n_flags;
  int64_t call_capacity, flag_capacity;
} waiting_calls;

/* ---- the pool: a list of the storages that may be evicted ---- */

static void pool_append(plim_ideal *sim, int32_t s) {
  plim_ideal_storage *row = &sim->storage[s];
  if (row->pinned) return;
  assert(!row->in_pool);
  row->in_pool = 1;
  row->prev = sim->pool_last;
  row->next = NONE;
  if (sim->pool_last == NONE) {
    sim->pool_first = s;
  } else {
    sim->storage[sim->pool_last].next = s;
  }
  sim->pool_last = s;
}

static void pool_remove(plim_ideal *sim, int32_t s) {
  plim_ideal_storage *row = &sim->storage[s];
  if (!row->in_pool) return;
  row->in_pool = 0;
  if (row->prev == NONE) {
    sim->pool_first = row->next;
  } else {
    sim->storage[row->prev].next = row->next;
  }
  if (row->next == NONE) {
    sim->pool_last = row->prev;
  } else {
    sim->storage[row->next].prev = row->prev;
  }
}

static void lock(plim_ideal *sim, int32_t s) {
  if (sim->storage[s].n_locks++ == 0) pool_remove(sim, s);
}

static void unlock(plim_ideal *sim, int32_t s) {
  if (--sim->storage[s].n_locks == 0) pool_append(sim, s);
}

/* ---- evicting ---- */

static void join_missing(plim_ideal *sim, int32_t s, const int32_t *other, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    if (plim_missing_has(&sim->missing, other[i])) plim_missing_join(&sim->missing, s, other[i]);
  }
}

static plim_status evict(plim_ideal *sim, int32_t s) {
  plim_ideal_storage *row = &sim->storage[s];
  pool_remove(sim, s);
  row->resident = 0;
  row->buffer++;
  sim->used_bytes -= sim->handles->tensor[s].bytes;
  PLIM_TRY(plim_missing_add(&sim->missing, s, row->cost_ns));
  join_missing(sim, s, sim->parent + row->first_parent, row->n_parents);
  join_missing(sim, s, sim->child + row->first_child, row->n_children);
  return PLIM_OK;
}

/* The storage with the smallest score; of equal scores the last in the pool, but the first with a score of 0, which is
 * the least. NONE: the pool is empty. */
static int32_t choose(plim_ideal *sim) {
  double best = INFINITY;
  int32_t chosen = NONE;
  for (int32_t s = sim->pool_first; s != NONE; s = sim->storage[s].next) {
    double score = plim_ideal_score(sim, s, best);
    sim->result->scores++;
    if (score > best) continue;
    best = score;
    chosen = s;
    if (score == 0) break;
  }
  return chosen;
}

/* Is called for every call and every eviction; `work` is that of the part before it, in nanoseconds, roughly. */
static plim_status check_effort(const plim_ideal *sim, int64_t work) {
  if (!plim_effort_over(sim->ctx, work)) return PLIM_OK;
  return plim_fail(sim->ctx, PLIM_ECANCEL, "stopped before the simulation ended");
}

static plim_status make_room(plim_ideal *sim, int64_t bytes) {
  while (sim->used_bytes + bytes > sim->budget_bytes) {
    const int64_t before = sim->result->scores;
    int32_t s = choose(sim);
    PLIM_TRY(check_effort(sim, (sim->result->scores - before) * SCORE_NS));
    if (s == NONE) {
      sim->result->end = PLIM_ONLINE_OOM;
      return PLIM_OK;
    }
    sim->result->evictions++;
    PLIM_TRY(evict(sim, s));
  }
  return PLIM_OK;
}

/* ---- running a call ---- */

static int32_t storage_of(const plim_ideal *sim, int32_t tensor) {
  return sim->handles->tensor[tensor].base;
}

/* Is the tensor defined? The views of a storage that was recomputed are not, until they are recomputed too. */
static int is_defined(const plim_ideal *sim, int32_t tensor) {
  const plim_ideal_storage *row = &sim->storage[storage_of(sim, tensor)];
  return row->resident && sim->defined[tensor] == row->buffer;
}

static void set_defined(plim_ideal *sim, int32_t tensor) {
  sim->defined[tensor] = sim->storage[storage_of(sim, tensor)].buffer;
  if (storage_of(sim, tensor) != tensor) return;
  plim_ideal_comes_back(sim, tensor);
  sim->storage[tensor].resident = 1;
  plim_missing_remove_time(&sim->missing, tensor, sim->storage[tensor].cost_ns);
  pool_append(sim, tensor);
}

static plim_status run_call(plim_ideal *sim, const waiting_call *call) {
  const plim_event *event = &sim->handles->event[call->event];
  int64_t bytes = 0;
  for (int32_t i = 0; i < event->n_out; i++) {
    if (storage_of(sim, event->out[i]) == event->out[i]) bytes += sim->handles->tensor[event->out[i]].bytes;
  }
  PLIM_TRY(make_room(sim, bytes));
  if (sim->result->end != PLIM_ONLINE_OK) return PLIM_OK;
  sim->clock_ns += event->time_ns;
  sim->used_bytes += bytes;
  for (int32_t i = 0; i < event->n_out; i++) {
    int32_t t = event->out[i], own = storage_of(sim, t) == t;
    if (t == call->tensor) continue;
    if (is_defined(sim, t) && own) sim->used_bytes -= sim->handles->tensor[t].bytes; /* it was resident already */
    if (!is_defined(sim, t)) set_defined(sim, t);
  }
  set_defined(sim, call->tensor);
  for (int32_t i = 0; i < event->n_in; i++) unlock(sim, storage_of(sim, event->in[i]));
  if (!call->again) return PLIM_OK;
  sim->result->recomputes++;
  sim->result->recomputed_ns += event->time_ns;
  if (sim->result->recomputed_ns > sim->limit_ns) sim->result->end = PLIM_ONLINE_THRASH;
  return PLIM_OK;
}

/* Push a call that waits. Marks its arguments as accessed, and locks those that are defined. */
static plim_status push(plim_ideal *sim, waiting_calls *waiting, int32_t tensor, int again) {
  const plim_event *event = &sim->handles->event[sim->maker[tensor]];
  PLIM_TRY(
      plim_array_reserve(sim->ctx, &waiting->call, &waiting->call_capacity, waiting->depth + 1, sizeof *waiting->call));
  PLIM_TRY(
      plim_array_reserve(sim->ctx, &waiting->was_defined, &waiting->flag_capacity, waiting->n_flags + event->n_in, 1));
  waiting->call[waiting->depth++] = (waiting_call){sim->maker[tensor], tensor, 0, again, waiting->n_flags};
  char *was_defined = waiting->was_defined + waiting->n_flags;
  waiting->n_flags += event->n_in;
  for (int32_t i = 0; i < event->n_in; i++) {
    sim->storage[storage_of(sim, event->in[i])].last_ns = sim->clock_ns;
    was_defined[i] = (char)is_defined(sim, event->in[i]);
  }
  for (int32_t i = 0; i < event->n_in; i++) {
    if (was_defined[i]) lock(sim, storage_of(sim, event->in[i]));
  }
  if (waiting->depth > sim->result->depth) sim->result->depth = waiting->depth;
  return PLIM_OK;
}

/* The next argument of the call that must be recomputed; n_in: none. Locks the arguments before it that are defined by
 * now. */
static int32_t next_missing(plim_ideal *sim, const waiting_calls *waiting, waiting_call *call) {
  const plim_event *event = &sim->handles->event[call->event];
  for (; call->arg < event->n_in; call->arg++) {
    if (waiting->was_defined[call->first_flag + call->arg]) continue;
    if (!is_defined(sim, event->in[call->arg])) break;
    lock(sim, storage_of(sim, event->in[call->arg]));
  }
  return call->arg;
}

static plim_status materialise(plim_ideal *sim, waiting_calls *waiting, int32_t tensor, int again) {
  waiting->depth = waiting->n_flags = 0;
  PLIM_TRY(push(sim, waiting, tensor, again));
  while (waiting->depth > 0 && sim->result->end == PLIM_ONLINE_OK) {
    waiting_call *call = &waiting->call[waiting->depth - 1];
    const plim_event *event = &sim->handles->event[call->event];
    int32_t arg = next_missing(sim, waiting, call);
    if (arg < event->n_in) {
      PLIM_TRY(push(sim, waiting, event->in[arg], 1));
      continue;
    }
    PLIM_TRY(check_effort(sim, CALL_NS));
    PLIM_TRY(run_call(sim, call));
    waiting->n_flags = call->first_flag;
    waiting->depth--;
  }
  return PLIM_OK;
}

/* ---- the events ---- */

/* Link a storage with the arguments of its call, in the lists of both. The lists have room for every pair of an
 * argument and a result of any call. */
static void link_neighbours(plim_ideal *sim, const plim_event *event, int32_t s) {
  plim_ideal_storage *to = &sim->storage[s];
  int32_t *parent = sim->parent + to->first_parent;
  sim->link_stamp++;
  for (int32_t i = 0; i < to->n_parents; i++) sim->linked[parent[i]] = sim->link_stamp;
  for (int32_t i = 0; i < event->n_in; i++) {
    int32_t from = storage_of(sim, event->in[i]);
    if (from == s || sim->linked[from] == sim->link_stamp) continue;
    sim->linked[from] = sim->link_stamp;
    parent[to->n_parents++] = from;
    sim->child[sim->storage[from].first_child + sim->storage[from].n_children++] = s;
  }
}

static int seen_before(const plim_ideal *sim, const plim_event *event, int32_t i) {
  for (int32_t k = 0; k < i; k++) {
    if (storage_of(sim, event->out[k]) == storage_of(sim, event->out[i])) return 1;
  }
  return 0;
}

static plim_status create_results(plim_ideal *sim, const plim_event *event) {
  for (int32_t i = 0; i < event->n_out; i++) {
    int32_t s = storage_of(sim, event->out[i]);
    sim->storage[s].n_handles++;
    if (s == event->out[i]) {
      sim->storage[s].buffer = 1;
      PLIM_TRY(plim_missing_add(&sim->missing, s, 0));
    }
    if (seen_before(sim, event, i)) continue;
    sim->storage[s].cost_ns += event->time_ns;
    link_neighbours(sim, event, s);
  }
  return PLIM_OK;
}

static plim_status simulate_call(plim_ideal *sim, waiting_calls *waiting, const plim_event *event) {
  PLIM_TRY(create_results(sim, event));
  PLIM_TRY(materialise(sim, waiting, event->out[0], 0));
  for (int32_t i = 0; i < event->n_out; i++) sim->storage[storage_of(sim, event->out[i])].last_ns = sim->clock_ns;
  return PLIM_OK;
}

static void add_constant(plim_ideal *sim, int32_t s) {
  sim->storage[s] = (plim_ideal_storage){.resident = 1,
                                         .pinned = 1,
                                         .n_handles = 1,
                                         .buffer = 1,
                                         .first_parent = sim->storage[s].first_parent,
                                         .first_child = sim->storage[s].first_child};
  sim->defined[s] = sim->storage[s].buffer;
  sim->used_bytes += sim->handles->tensor[s].bytes;
}

static plim_status release_handle(plim_ideal *sim, int32_t s) {
  plim_ideal_storage *row = &sim->storage[s];
  return --row->n_handles == 0 && row->resident && !row->pinned ? evict(sim, s) : PLIM_OK;
}

static plim_status simulate_event(plim_ideal *sim, waiting_calls *waiting, const plim_event *event) {
  switch (event->kind) {
    case PLIM_EVENT_CONSTANT:
      add_constant(sim, event->tensor);
      return PLIM_OK;
    case PLIM_EVENT_GET:
      sim->storage[storage_of(sim, event->tensor)].n_handles++;
      return PLIM_OK;
    case PLIM_EVENT_RELEASE:
      return release_handle(sim, storage_of(sim, event->tensor));
    default:
      return simulate_call(sim, waiting, event);
  }
}

static plim_status simulate_events(plim_ideal *sim, waiting_calls *waiting) {
  const plim_handles *handles = sim->handles;
  for (int32_t i = 0; i < handles->n_events && sim->result->end == PLIM_ONLINE_OK; i++) {
    PLIM_TRY(simulate_event(sim, waiting, &handles->event[i]));
  }
  for (int32_t i = 0; i < handles->n_kept && sim->result->end == PLIM_ONLINE_OK; i++) {
    int32_t t = handles->kept[i], s = storage_of(sim, t);
    if (!is_defined(sim, t)) PLIM_TRY(materialise(sim, waiting, t, 1));
    pool_remove(sim, s);
    sim->storage[s].pinned = 1;
  }
  return PLIM_OK;
}

/* ---- opening ---- */

/* Count the room for the neighbours of each storage: every pair of an argument and a result. */
static plim_status count_neighbours(plim_ideal *sim) {
  const plim_handles *handles = sim->handles;
  for (int32_t i = 0; i < handles->n_events; i++) {
    const plim_event *event = &handles->event[i];
    if (event->kind != PLIM_EVENT_CALL) continue;
    sim->n_edges += (int64_t)event->n_in * event->n_out; /* at most 2^62, and then no more */
    if (sim->n_edges > PLIM_IDEAL_PAIRS) {
      return plim_fail(sim->ctx, PLIM_EOVERFLOW,
                       "the calls up to number %d have %lld pairs of an argument and a result, and the policies "
                       "without addresses keep at most %d, 1 GiB: --addresses arena keeps none",
                       (int)i, (long long)sim->n_edges, (int)PLIM_IDEAL_PAIRS);
    }
    for (int32_t k = 0; k < event->n_out; k++) {
      sim->maker[event->out[k]] = i;
      sim->storage[storage_of(sim, event->out[k])].n_parents += event->n_in;
    }
    for (int32_t k = 0; k < event->n_in; k++) sim->storage[storage_of(sim, event->in[k])].n_children += event->n_out;
  }
  int32_t parents = 0, children = 0;
  for (int32_t t = 0; t < handles->n_tensors; t++) {
    plim_ideal_storage *row = &sim->storage[t];
    row->first_parent = parents;
    row->first_child = children;
    parents += row->n_parents;
    children += row->n_children;
    row->n_parents = row->n_children = 0;
  }
  return PLIM_OK;
}

static plim_status open_ideal(plim_ideal *sim) {
  int64_t n = sim->handles->n_tensors;
  PLIM_TRY(plim_missing_init(&sim->missing, sim->ctx, (int32_t)n));
  PLIM_TRY(plim_allocate(sim->ctx, n, sizeof *sim->storage, &sim->storage));
  PLIM_TRY(plim_allocate(sim->ctx, n, sizeof *sim->maker, &sim->maker));
  PLIM_TRY(plim_allocate(sim->ctx, n, sizeof *sim->defined, &sim->defined));
  PLIM_TRY(plim_ideal_open_walks(sim));
  PLIM_TRY(plim_allocate(sim->ctx, n, sizeof *sim->linked, &sim->linked));
  PLIM_TRY(count_neighbours(sim));
  PLIM_TRY(plim_allocate(sim->ctx, sim->n_edges, sizeof *sim->parent, &sim->parent));
  return plim_allocate(sim->ctx, sim->n_edges, sizeof *sim->child, &sim->child);
}

static void close_ideal(plim_ideal *sim) {
  int64_t n = sim->handles->n_tensors;
  plim_missing_release(&sim->missing);
  plim_release(sim->ctx, sim->storage, n, sizeof *sim->storage);
  plim_release(sim->ctx, sim->maker, n, sizeof *sim->maker);
  plim_release(sim->ctx, sim->defined, n, sizeof *sim->defined);
  plim_walks_release(&sim->walks);
  plim_release(sim->ctx, sim->linked, n, sizeof *sim->linked);
  plim_release(sim->ctx, sim->parent, sim->n_edges, sizeof *sim->parent);
  plim_release(sim->ctx, sim->child, sim->n_edges, sizeof *sim->child);
}

plim_status plim_ideal_run(plim_context *ctx, const plim_handles *handles, const plim_policy *policy,
                           int64_t budget_bytes, int64_t limit_ns, plim_online_result *out) {
  plim_online_result result = {.end = PLIM_ONLINE_OK, .total_ns = plim_handles_total_ns(handles)};
  plim_ideal sim = {.ctx = ctx,
                    .handles = handles,
                    .policy = policy,
                    .clock_ns = 1,
                    .budget_bytes = budget_bytes,
                    .limit_ns = limit_ns,
                    .pool_first = NONE,
                    .pool_last = NONE,
                    .result = &result};
  waiting_calls waiting = {NULL, NULL, 0, 0, 0, 0};
  plim_status status;
  PLIM_TRY_OR_DONE(open_ideal(&sim));
  PLIM_TRY_OR_DONE(simulate_events(&sim, &waiting));
  *out = result;
done:
  plim_release(ctx, waiting.call, waiting.call_capacity, sizeof *waiting.call);
  plim_release(ctx, waiting.was_defined, waiting.flag_capacity, 1);
  close_ideal(&sim);
  return status;
}
