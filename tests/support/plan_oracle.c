/* Dijkstra's algorithm with a heap and lazy deletion. */
#include "tests/support/plan_oracle.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MAX_OPS = 8, MAX_ITEMS = 14 };

typedef struct open_state {
  int64_t time_ns;
  uint32_t state; /* ran << MAX_ITEMS | resident */
} open_state;

typedef struct oracle {
  const plim_graph *graph;
  const plim_profile *profile;
  int64_t align, budget, persistent;
  int32_t fixed; /* 1: first runs in program order */
  int32_t n_items, item_of[64];
  int64_t bytes[MAX_ITEMS];
  int64_t *best; /* by state: least time found + 1, 0: none */
  open_state *heap;
  int64_t n_heap, room;
} oracle;

static void push(oracle *o, int64_t time_ns, uint32_t state) {
  if (o->best[state] > 0 && o->best[state] <= time_ns + 1) return;
  o->best[state] = time_ns + 1;
  if (o->n_heap == o->room) {
    o->room = 2 * o->room + 1024;
    o->heap = realloc(o->heap, (size_t)o->room * sizeof *o->heap);
    cr_assert_not_null(o->heap);
  }
  int64_t at = o->n_heap++;
  for (; at > 0 && o->heap[(at - 1) / 2].time_ns > time_ns; at = (at - 1) / 2) o->heap[at] = o->heap[(at - 1) / 2];
  o->heap[at] = (open_state){time_ns, state};
}

static open_state pop(oracle *o) {
  open_state top = o->heap[0], last = o->heap[--o->n_heap];
  int64_t at = 0;
  for (;;) {
    int64_t child = 2 * at + 1;
    if (child >= o->n_heap) break;
    if (child + 1 < o->n_heap && o->heap[child + 1].time_ns < o->heap[child].time_ns) child++;
    if (o->heap[child].time_ns >= last.time_ns) break;
    o->heap[at] = o->heap[child];
    at = child;
  }
  o->heap[at] = last;
  return top;
}

static int64_t rounded(const oracle *o, int64_t bytes) {
  return (bytes + o->align - 1) / o->align * o->align;
}

static int64_t sum(const oracle *o, uint32_t items) {
  int64_t bytes = o->persistent;
  for (int32_t i = 0; i < o->n_items; i++) bytes += items >> i & 1 ? o->bytes[i] : 0;
  return bytes;
}

/* Every persistent storage that the op reads or updates has seen as many updates as in program order. */
static int versions_right(const oracle *o, int32_t op, uint32_t ran) {
  const plim_graph *g = o->graph;
  for (int32_t pass = 0; pass < 2; pass++) {
    int32_t n = pass ? g->op[op].n_updates : g->op[op].n_reads;
    for (int32_t i = 0; i < n; i++) {
      int32_t s = pass ? g->op[op].updates[i] : g->op[op].reads[i];
      for (int32_t u = g->updater_first[s]; u < g->updater_first[s + 1]; u++) {
        if ((ran >> g->updater[u] & 1) != (g->updater[u] < op)) return 0;
      }
    }
  }
  return 1;
}

/* The least bytes in use over all choices of pairs while the op runs, and what is resident after it: try each subset
 * of pairs. */
static void run_op(oracle *o, int32_t op, uint32_t ran, uint32_t resident, int64_t time_ns) {
  const plim_op *v = &o->graph->op[op];
  uint32_t writes = 0;
  for (int32_t i = 0; i < v->n_writes; i++) writes |= 1U << o->item_of[v->writes[i]];
  for (uint32_t subset = 0; subset < 1U << v->n_pairs; subset++) {
    uint32_t gone = 0, outs = 0;
    int allowed = 1;
    for (int32_t k = 0; k < v->n_pairs && allowed; k++) {
      if (!(subset >> k & 1)) continue;
      int32_t in = o->item_of[o->graph->value[v->in[v->pair[k].in]].storage];
      uint32_t out = 1U << o->item_of[o->graph->value[v->out[v->pair[k].out]].storage];
      if (in < 0 || (gone >> in & 1) || (outs & out) || (resident & out)) allowed = 0;
      if (in >= 0 && o->graph->storage[o->graph->value[v->in[v->pair[k].in]].storage].role == PLIM_ROLE_OUTPUT)
        allowed = 0;
      /* before the first step an input has no buffer that could end */
      if (ran == 0) allowed = 0;
      if (allowed) gone |= 1U << in;
      outs |= out;
    }
    if (!allowed) continue;
    int64_t bytes = sum(o, (resident & ~gone) | writes);
    int64_t least_ns = -1;
    for (int32_t i = o->profile->first[op]; i < o->profile->first[op + 1]; i++) {
      const plim_variant *c = &o->profile->variant[i];
      if (bytes + rounded(o, c->workspace_bytes) > o->budget) continue;
      if (least_ns < 0 || c->time_ns < least_ns) least_ns = c->time_ns;
    }
    uint32_t next = (ran | 1U << op) << MAX_ITEMS | (resident & ~gone) | writes;
    if (least_ns >= 0) push(o, time_ns + least_ns, next);
  }
}

static void expand(oracle *o, open_state now) {
  const plim_graph *g = o->graph;
  uint32_t ran = now.state >> MAX_ITEMS, resident = now.state & ((1U << MAX_ITEMS) - 1);
  for (int32_t i = 0; i < o->n_items; i++) {
    if (resident >> i & 1) push(o, now.time_ns, now.state & ~(1U << i));
  }
  for (int32_t op = 0; op < g->n_ops; op++) {
    if (plim_op_class_once(g->op[op].cls) && (ran >> op & 1)) continue;
    int ready = versions_right(o, op, ran);
    if (o->fixed && !(ran >> op & 1) && (ran & ((1U << op) - 1)) != (1U << op) - 1) ready = 0;
    for (int32_t i = 0; i < g->op[op].n_reads && ready; i++) {
      int32_t item = o->item_of[g->op[op].reads[i]];
      if (item >= 0 && !(resident >> item & 1)) ready = 0;
    }
    if (ready) run_op(o, op, ran, resident, now.time_ns);
  }
}

static uint32_t begin(oracle *o) {
  const plim_graph *g = o->graph;
  uint32_t resident = 0;
  for (int32_t s = 0; s < g->n_storages; s++) {
    int unread = g->reader_first[s] == g->reader_first[s + 1];
    o->item_of[s] = -1;
    if (plim_role_persistent(g->storage[s].role)) {
      o->persistent += rounded(o, g->storage[s].bytes);
    } else if (g->storage[s].producer >= 0 || !unread) {
      cr_assert_lt(o->n_items, MAX_ITEMS);
      if (g->storage[s].producer < 0) resident |= 1U << o->n_items;
      o->bytes[o->n_items] = rounded(o, g->storage[s].bytes);
      o->item_of[s] = o->n_items++;
    }
  }
  return resident;
}

static int64_t solve(const plim_graph *graph, const plim_profile *profile, int64_t align, int64_t budget,
                     int32_t fixed) {
  oracle o = {.graph = graph, .profile = profile, .align = align, .budget = budget, .fixed = fixed};
  cr_assert(graph->n_ops <= MAX_OPS && graph->n_storages <= 64);
  uint32_t first = begin(&o), kept = 0, all = (1U << graph->n_ops) - 1;
  for (int32_t s = 0; s < graph->n_storages; s++) {
    if (graph->storage[s].role == PLIM_ROLE_OUTPUT) kept |= 1U << o.item_of[s];
  }
  int64_t states = (int64_t)1 << (MAX_ITEMS + MAX_OPS), answer = -1;
  o.best = calloc((size_t)states, sizeof *o.best);
  cr_assert_not_null(o.best);
  push(&o, 0, first);
  while (o.n_heap > 0 && answer < 0) {
    open_state now = pop(&o);
    if (now.time_ns >= o.best[now.state]) continue;
    if (now.state >> MAX_ITEMS == all && (now.state & kept) == kept) answer = now.time_ns;
    expand(&o, now);
  }
  free(o.best);
  free(o.heap);
  return answer;
}

int64_t plan_oracle(const plim_graph *graph, const plim_profile *profile, int64_t align, int64_t budget) {
  return solve(graph, profile, align, budget, 0);
}

int64_t plan_oracle_fixed(const plim_graph *graph, const plim_profile *profile, int64_t align, int64_t budget) {
  return solve(graph, profile, align, budget, 1);
}
