/* Calls that need missing arguments wait on an explicit stack, so that a chain may be as long as the program. */
#include "runtime/online/ideal.h"

#include <assert.h>
#include <math.h>

#include "runtime/base/array.h"
#include "runtime/online/ideal_state.h"

enum { NONE = PLIM_IDEAL_NONE };

#define PLIM_X(id, name) name,
static const char *const end_names[] = {PLIM_ONLINE_ENDS(PLIM_X)};
#undef PLIM_X

const char *plim_online_end_name(plim_online_end end) {
  return end_names[end];
}

/* A call that waits for its arguments: those that are resident are locked first, then each missing one is recomputed.
 */
typedef struct frame {
  int32_t event, tensor; /* to be defined */
  int32_t arg, again;    /* next missing argument; 1: the call has run before */
  int64_t first_flag;    /* flags [n_in]: the argument was defined at the start */
} frame;

typedef struct stack {
  frame *frame;
  char *flag;
  int64_t depth, n_flags, cap_frames, cap_flags;
} stack;

/* ---- the pool: storages that may go, in a list ---- */

static void pool_append(plim_ideal *m, int32_t s) {
  plim_ideal_storage *st = &m->storage[s];
  if (st->pinned) return;
  assert(!st->pooled);
  st->pooled = 1;
  st->prev = m->pool_last;
  st->next = NONE;
  if (m->pool_last == NONE) {
    m->pool_first = s;
  } else {
    m->storage[m->pool_last].next = s;
  }
  m->pool_last = s;
}

static void pool_remove(plim_ideal *m, int32_t s) {
  plim_ideal_storage *st = &m->storage[s];
  if (!st->pooled) return;
  st->pooled = 0;
  if (st->prev == NONE) {
    m->pool_first = st->next;
  } else {
    m->storage[st->prev].next = st->next;
  }
  if (st->next == NONE) {
    m->pool_last = st->prev;
  } else {
    m->storage[st->next].prev = st->prev;
  }
}

static void lock(plim_ideal *m, int32_t s) {
  if (m->storage[s].locks++ == 0) pool_remove(m, s);
}

static void unlock(plim_ideal *m, int32_t s) {
  if (--m->storage[s].locks == 0) pool_append(m, s);
}

/* ---- evicting ---- */

static void join_missing(plim_ideal *m, int32_t s, const int32_t *other, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    if (plim_missing_has(&m->missing, other[i])) plim_missing_join(&m->missing, s, other[i]);
  }
}

static plim_status evict(plim_ideal *m, int32_t s) {
  plim_ideal_storage *st = &m->storage[s];
  pool_remove(m, s);
  st->resident = 0;
  st->buffer++;
  m->used -= m->h->tensor[s].bytes;
  PLIM_TRY(plim_missing_add(&m->missing, s, st->cost_ns));
  join_missing(m, s, m->parent + st->first_parent, st->n_parents);
  join_missing(m, s, m->child + st->first_child, st->n_children);
  return PLIM_OK;
}

/* Of equal scores the last; a score of 0 cannot be beaten. NONE: the pool is empty. */
static int32_t choose(plim_ideal *m) {
  double best = INFINITY;
  int32_t chosen = NONE;
  for (int32_t s = m->pool_first; s != NONE; s = m->storage[s].next) {
    double score = plim_ideal_score(m, s, best);
    m->result->scores++;
    if (score > best) continue;
    best = score;
    chosen = s;
    if (score == 0) break;
  }
  return chosen;
}

static plim_status make_room(plim_ideal *m, int64_t bytes) {
  while (m->used + bytes > m->budget) {
    int32_t s = choose(m);
    if (s == NONE) {
      m->result->end = PLIM_ONLINE_OOM;
      return PLIM_OK;
    }
    m->result->evictions++;
    PLIM_TRY(evict(m, s));
  }
  return PLIM_OK;
}

/* ---- running a call ---- */

static int32_t storage_of(const plim_ideal *m, int32_t tensor) {
  return m->h->tensor[tensor].base;
}

/* A storage that is recomputed has none of its views: each has to be recomputed too. */
static int is_defined(const plim_ideal *m, int32_t tensor) {
  const plim_ideal_storage *st = &m->storage[storage_of(m, tensor)];
  return st->resident && m->defined[tensor] == st->buffer;
}

static void define(plim_ideal *m, int32_t tensor) {
  m->defined[tensor] = m->storage[storage_of(m, tensor)].buffer;
  if (storage_of(m, tensor) != tensor) return;
  plim_ideal_comes_back(m, tensor);
  m->storage[tensor].resident = 1;
  plim_missing_remove_time(&m->missing, tensor, m->storage[tensor].cost_ns);
  pool_append(m, tensor);
}

static plim_status run_call(plim_ideal *m, const frame *f) {
  const plim_event *e = &m->h->event[f->event];
  int64_t bytes = 0;
  for (int32_t i = 0; i < e->n_out; i++) {
    if (storage_of(m, e->out[i]) == e->out[i]) bytes += m->h->tensor[e->out[i]].bytes;
  }
  PLIM_TRY(make_room(m, bytes));
  if (m->result->end != PLIM_ONLINE_OK) return PLIM_OK;
  m->clock += e->time_ns;
  m->used += bytes;
  for (int32_t i = 0; i < e->n_out; i++) {
    int32_t t = e->out[i], own = storage_of(m, t) == t;
    if (t == f->tensor) continue;
    if (is_defined(m, t) && own) m->used -= m->h->tensor[t].bytes; /* it was there already */
    if (!is_defined(m, t)) define(m, t);
  }
  define(m, f->tensor);
  for (int32_t i = 0; i < e->n_in; i++) unlock(m, storage_of(m, e->in[i]));
  if (!f->again) return PLIM_OK;
  m->result->recomputes++;
  m->result->recomputed_ns += e->time_ns;
  if (m->result->recomputed_ns > m->limit_ns) m->result->end = PLIM_ONLINE_THRASH;
  return PLIM_OK;
}

/* Mark the arguments of a call as accessed, and lock those that are resident. */
static plim_status push(plim_ideal *m, stack *st, int32_t tensor, int again) {
  const plim_event *e = &m->h->event[m->maker[tensor]];
  PLIM_TRY(plim_array_reserve(m->ctx, &st->frame, &st->cap_frames, st->depth + 1, sizeof *st->frame));
  PLIM_TRY(plim_array_reserve(m->ctx, &st->flag, &st->cap_flags, st->n_flags + e->n_in, 1));
  st->frame[st->depth++] = (frame){m->maker[tensor], tensor, 0, again, st->n_flags};
  char *flag = st->flag + st->n_flags;
  st->n_flags += e->n_in;
  for (int32_t i = 0; i < e->n_in; i++) {
    m->storage[storage_of(m, e->in[i])].last = m->clock;
    flag[i] = (char)is_defined(m, e->in[i]);
  }
  for (int32_t i = 0; i < e->n_in; i++) {
    if (flag[i]) lock(m, storage_of(m, e->in[i]));
  }
  if (st->depth > m->result->depth) m->result->depth = st->depth;
  return PLIM_OK;
}

/* The next argument of the frame that must be recomputed, after locking those that are resident by now; n_in: none. */
static int32_t next_missing(plim_ideal *m, const stack *st, frame *f) {
  const plim_event *e = &m->h->event[f->event];
  for (; f->arg < e->n_in; f->arg++) {
    if (st->flag[f->first_flag + f->arg]) continue;
    if (!is_defined(m, e->in[f->arg])) break;
    lock(m, storage_of(m, e->in[f->arg]));
  }
  return f->arg;
}

static plim_status materialise(plim_ideal *m, stack *st, int32_t tensor, int again) {
  st->depth = st->n_flags = 0;
  PLIM_TRY(push(m, st, tensor, again));
  while (st->depth > 0 && m->result->end == PLIM_ONLINE_OK) {
    frame *f = &st->frame[st->depth - 1];
    const plim_event *e = &m->h->event[f->event];
    int32_t arg = next_missing(m, st, f);
    if (arg < e->n_in) {
      PLIM_TRY(push(m, st, e->in[arg], 1));
      continue;
    }
    PLIM_TRY(run_call(m, f));
    st->n_flags = f->first_flag;
    st->depth--;
  }
  return PLIM_OK;
}

/* ---- the events ---- */

/* Link a storage with its parent, in both lists at once. The lists have room for every pair of an argument and a result
 * of any call. */
static void link_neighbours(plim_ideal *m, const plim_event *e, int32_t s) {
  plim_ideal_storage *to = &m->storage[s];
  int32_t *parent = m->parent + to->first_parent;
  m->looks++;
  for (int32_t i = 0; i < to->n_parents; i++) m->linked[parent[i]] = m->looks;
  for (int32_t i = 0; i < e->n_in; i++) {
    int32_t from = storage_of(m, e->in[i]);
    if (from == s || m->linked[from] == m->looks) continue;
    m->linked[from] = m->looks;
    parent[to->n_parents++] = from;
    m->child[m->storage[from].first_child + m->storage[from].n_children++] = s;
  }
}

static int seen_before(const plim_ideal *m, const plim_event *e, int32_t i) {
  for (int32_t k = 0; k < i; k++) {
    if (storage_of(m, e->out[k]) == storage_of(m, e->out[i])) return 1;
  }
  return 0;
}

static plim_status create_results(plim_ideal *m, const plim_event *e) {
  for (int32_t i = 0; i < e->n_out; i++) {
    int32_t s = storage_of(m, e->out[i]);
    m->storage[s].handles++;
    if (s == e->out[i]) {
      m->storage[s].buffer = 1;
      PLIM_TRY(plim_missing_add(&m->missing, s, 0));
    }
    if (seen_before(m, e, i)) continue;
    m->storage[s].cost_ns += e->time_ns;
    link_neighbours(m, e, s);
  }
  return PLIM_OK;
}

static plim_status call(plim_ideal *m, stack *st, const plim_event *e) {
  PLIM_TRY(create_results(m, e));
  PLIM_TRY(materialise(m, st, e->out[0], 0));
  for (int32_t i = 0; i < e->n_out; i++) m->storage[storage_of(m, e->out[i])].last = m->clock;
  return PLIM_OK;
}

static void constant(plim_ideal *m, int32_t s) {
  m->storage[s] = (plim_ideal_storage){.resident = 1,
                                       .pinned = 1,
                                       .handles = 1,
                                       .buffer = 1,
                                       .first_parent = m->storage[s].first_parent,
                                       .first_child = m->storage[s].first_child};
  m->defined[s] = m->storage[s].buffer;
  m->used += m->h->tensor[s].bytes;
}

static plim_status release(plim_ideal *m, int32_t s) {
  plim_ideal_storage *st = &m->storage[s];
  return --st->handles == 0 && st->resident && !st->pinned ? evict(m, s) : PLIM_OK;
}

static plim_status simulate_event(plim_ideal *m, stack *st, const plim_event *e) {
  switch (e->kind) {
    case PLIM_EVENT_CONSTANT:
      constant(m, e->tensor);
      return PLIM_OK;
    case PLIM_EVENT_GET:
      m->storage[storage_of(m, e->tensor)].handles++;
      return PLIM_OK;
    case PLIM_EVENT_RELEASE:
      return release(m, storage_of(m, e->tensor));
    default:
      return call(m, st, e);
  }
}

static plim_status simulate_events(plim_ideal *m, stack *st) {
  const plim_handles *h = m->h;
  for (int32_t i = 0; i < h->n_events && m->result->end == PLIM_ONLINE_OK; i++) {
    PLIM_TRY(simulate_event(m, st, &h->event[i]));
  }
  for (int32_t i = 0; i < h->n_kept && m->result->end == PLIM_ONLINE_OK; i++) {
    int32_t t = h->kept[i], s = storage_of(m, t);
    if (!is_defined(m, t)) PLIM_TRY(materialise(m, st, t, 1));
    pool_remove(m, s);
    m->storage[s].pinned = 1;
  }
  return PLIM_OK;
}

/* ---- opening ---- */

/* Room for the neighbours of each storage: every pair of an argument and a result. */
static plim_status count_neighbours(plim_ideal *m) {
  const plim_handles *h = m->h;
  for (int32_t i = 0; i < h->n_events; i++) {
    const plim_event *e = &h->event[i];
    if (e->kind != PLIM_EVENT_CALL) continue;
    m->n_edges += (int64_t)e->n_in * e->n_out; /* at most 2^62, and then no more */
    if (m->n_edges > PLIM_IDEAL_PAIRS) {
      return plim_fail(m->ctx, PLIM_EOVERFLOW,
                       "the calls up to number %d have %lld pairs of an argument and a result, and the policies "
                       "without addresses keep at most %d, 1 GiB: --addresses arena keeps none",
                       (int)i, (long long)m->n_edges, (int)PLIM_IDEAL_PAIRS);
    }
    for (int32_t k = 0; k < e->n_out; k++) {
      m->maker[e->out[k]] = i;
      m->storage[storage_of(m, e->out[k])].n_parents += e->n_in;
    }
    for (int32_t k = 0; k < e->n_in; k++) m->storage[storage_of(m, e->in[k])].n_children += e->n_out;
  }
  int32_t parents = 0, children = 0;
  for (int32_t t = 0; t < h->n_tensors; t++) {
    plim_ideal_storage *s = &m->storage[t];
    s->first_parent = parents;
    s->first_child = children;
    parents += s->n_parents;
    children += s->n_children;
    s->n_parents = s->n_children = 0;
  }
  return PLIM_OK;
}

static plim_status open_ideal(plim_ideal *m) {
  int64_t n = m->h->n_tensors;
  PLIM_TRY(plim_missing_init(&m->missing, m->ctx, (int32_t)n));
  PLIM_TRY(plim_allocate(m->ctx, n, sizeof *m->storage, &m->storage));
  PLIM_TRY(plim_allocate(m->ctx, n, sizeof *m->maker, &m->maker));
  PLIM_TRY(plim_allocate(m->ctx, n, sizeof *m->defined, &m->defined));
  PLIM_TRY(plim_ideal_open_walks(m));
  PLIM_TRY(plim_allocate(m->ctx, n, sizeof *m->linked, &m->linked));
  PLIM_TRY(count_neighbours(m));
  PLIM_TRY(plim_allocate(m->ctx, m->n_edges, sizeof *m->parent, &m->parent));
  return plim_allocate(m->ctx, m->n_edges, sizeof *m->child, &m->child);
}

static void close_ideal(plim_ideal *m) {
  int64_t n = m->h->n_tensors;
  plim_missing_release(&m->missing);
  plim_release(m->ctx, m->storage, n, sizeof *m->storage);
  plim_release(m->ctx, m->maker, n, sizeof *m->maker);
  plim_release(m->ctx, m->defined, n, sizeof *m->defined);
  plim_walks_release(&m->walks);
  plim_release(m->ctx, m->linked, n, sizeof *m->linked);
  plim_release(m->ctx, m->parent, m->n_edges, sizeof *m->parent);
  plim_release(m->ctx, m->child, m->n_edges, sizeof *m->child);
}

plim_status plim_ideal_run(plim_context *ctx, const plim_handles *handles, const plim_policy *policy,
                           int64_t budget_bytes, int64_t limit_ns, plim_online_result *out) {
  plim_online_result result = {.end = PLIM_ONLINE_OK, .total_ns = plim_handles_total_ns(handles)};
  plim_ideal m = {.ctx = ctx,
                  .h = handles,
                  .policy = policy,
                  .clock = 1,
                  .budget = budget_bytes,
                  .limit_ns = limit_ns,
                  .pool_first = NONE,
                  .pool_last = NONE,
                  .result = &result};
  stack st = {NULL, NULL, 0, 0, 0, 0};
  plim_status status;
  PLIM_CHECK(open_ideal(&m));
  PLIM_CHECK(simulate_events(&m, &st));
  *out = result;
done:
  plim_release(ctx, st.frame, st.cap_frames, sizeof *st.frame);
  plim_release(ctx, st.flag, st.cap_flags, 1);
  close_ideal(&m);
  return status;
}
