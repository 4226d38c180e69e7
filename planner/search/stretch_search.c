/* A* over what ran and what is resident. Items are given up only where a run would not fit otherwise, and then no more
 * of them than it takes: to have more is never worse, since giving up costs nothing. What the stretch still needs, is
 * missing and was made before, must be made again, and so must what that is made from: the sum of those times bounds
 * the rest from below. A node is dropped when another has run the same, has all that it has, and took no longer. */
#include "planner/search/stretch.h"

#include "runtime/base/bits.h"

static int comes_first(const plim_stretch *s, int32_t x, int32_t y) {
  const plim_stretch_node *a = &s->node[x], *b = &s->node[y];
  if (a->from_ns != b->from_ns) return a->from_ns < b->from_ns;
  return x > y; /* the latest goes on with the deepest */
}

static void push_heap(plim_stretch *s, int32_t x) {
  int32_t at = s->n_heap++;
  for (; at > 0 && comes_first(s, x, s->heap[(at - 1) / 2]); at = (at - 1) / 2) s->heap[at] = s->heap[(at - 1) / 2];
  s->heap[at] = x;
}

static int32_t pop_heap(plim_stretch *s) {
  int32_t top = s->heap[0], last = s->heap[--s->n_heap], at = 0;
  for (;;) {
    int32_t child = 2 * at + 1;
    if (child >= s->n_heap) break;
    if (child + 1 < s->n_heap && comes_first(s, s->heap[child + 1], s->heap[child])) child++;
    if (!comes_first(s, s->heap[child], last)) break;
    s->heap[at] = s->heap[child];
    at = child;
  }
  if (s->n_heap > 0) s->heap[at] = last;
  return top;
}

static int may_repeat(const plim_stretch *s, int32_t v, uint32_t ran) {
  const plim_stretch_op *o = &s->op[v];
  return o->may_repeat && !(o->until & ran) && (!o->is_first || (ran >> v & 1));
}

static uint64_t read_by_firsts(const plim_stretch *s, uint32_t ran) {
  uint64_t items = 0;
  for (int32_t v = 0; v < s->n_ops; v++) {
    if ((s->firsts & ~ran) >> v & 1) items |= s->op[v].reads;
  }
  return items;
}

/* Time of what must be made again from here on; -1: something cannot be. */
static int64_t must_repeat_ns(const plim_stretch *s, uint32_t ran, uint64_t resident) {
  uint64_t missing = (s->exit | read_by_firsts(s, ran)) & ~resident;
  uint32_t again = 0;
  int64_t ns = 0;
  while (missing) {
    int32_t i = plim_bits_lowest(missing), v = s->producer[i];
    missing &= missing - 1;
    if (v < 0) return -1;
    if ((again >> v & 1) || (s->op[v].is_first && !(ran >> v & 1))) continue;
    if (!may_repeat(s, v, ran)) return -1;
    again |= 1U << v;
    ns += s->op[v].time_ns;
    missing |= s->op[v].reads & ~resident;
  }
  return ns;
}

static int is_dominated(const plim_stretch *s, const plim_stretch_node *node) {
  for (int32_t k = s->n_nodes - 1; k >= 0; k--) {
    const plim_stretch_node *o = &s->node[k];
    if (o->ran == node->ran && o->time_ns <= node->time_ns && !(node->resident & ~o->resident)) return 1;
  }
  return 0;
}

static void push(plim_stretch *s, plim_stretch_node node) {
  int64_t ns = must_repeat_ns(s, node.ran, node.resident);
  s->work -= 1 + s->n_nodes / 16;
  if (ns < 0 || node.time_ns + ns >= s->most_ns || is_dominated(s, &node)) return;
  if (s->n_nodes == PLIM_STRETCH_NODES) {
    s->work = 0;
    return;
  }
  node.from_ns = node.time_ns + ns;
  s->node[s->n_nodes] = node;
  push_heap(s, s->n_nodes++);
}

/* Items that may be given up for a run: those that it does not read; and inputs that its outputs may be written over,
 * each output once. */
typedef struct choice {
  plim_stretch_node node;                                       /* behind the run, with all of them */
  int64_t excess;                                               /* bytes to give up */
  int32_t n, item[PLIM_STRETCH_ITEMS], out[PLIM_STRETCH_ITEMS]; /* out: -1, or of an overwrite */
  int64_t rest[PLIM_STRETCH_ITEMS + 1];                         /* bytes of this one and those behind it */
} choice;

/* All ways to give up enough and nothing more: `gone` are given up, the last of them, of the fewest bytes, needed. */
static void give_up(plim_stretch *s, const choice *c, int32_t k, uint64_t gone, uint32_t outs, int64_t excess) {
  if (excess <= 0) {
    plim_stretch_node node = c->node;
    node.resident &= ~gone;
    push(s, node);
    return;
  }
  for (; k < c->n && c->rest[k] >= excess && s->work > 0; k++) {
    uint32_t out = c->out[k] < 0 ? 0 : 1U << c->out[k];
    s->work--;
    if ((outs & out) || (gone >> c->item[k] & 1)) continue;
    give_up(s, c, k + 1, gone | UINT64_C(1) << c->item[k], outs | out, excess - s->bytes[c->item[k]]);
  }
}

static void add_choice(const plim_stretch *s, choice *c, int32_t item, int32_t out) {
  int32_t k = c->n++;
  for (; k > 0 && s->bytes[c->item[k - 1]] < s->bytes[item]; k--) {
    c->item[k] = c->item[k - 1];
    c->out[k] = c->out[k - 1];
  }
  c->item[k] = item;
  c->out[k] = out;
}

static void add_overwrites(const plim_stretch *s, int32_t v, uint64_t resident, choice *c) {
  const plim_planned_op *op = &s->problem->op[s->op[v].op];
  for (int32_t k = 0; k < op->n_overwrites && c->n < PLIM_STRETCH_ITEMS; k++) {
    const plim_overwrite *o = &op->overwrite[k];
    int32_t out = s->item_at[op->writes.at[o->out_index]];
    if (!(resident >> out & 1)) add_choice(s, c, s->item_at[o->in], o->out_index);
  }
}

static int64_t bytes_of(const plim_stretch *s, uint64_t items) {
  int64_t bytes = 0;
  for (; items; items &= items - 1) bytes += s->bytes[plim_bits_lowest(items)];
  return bytes;
}

/* Run op v from the node. */
static void expand(plim_stretch *s, int32_t from, int32_t v) {
  const plim_stretch_node *at = &s->node[from];
  const plim_stretch_op *o = &s->op[v];
  int repeats = !o->is_first || (at->ran >> v & 1);
  choice c = {.node = {.resident = at->resident | o->writes, .ran = at->ran, .parent = from, .op = v}};
  if (o->is_first) c.node.ran |= 1U << v;
  c.node.time_ns = at->time_ns + (repeats ? o->time_ns : 0);
  c.excess = bytes_of(s, c.node.resident) + o->workspace_bytes - s->spare_bytes;
  for (uint64_t rest = at->resident & ~o->reads & ~o->writes; rest && c.excess > 0; rest &= rest - 1) {
    int32_t item = plim_bits_lowest(rest);
    if (s->bytes[item] > 0) add_choice(s, &c, item, -1);
  }
  if (c.excess > 0 && (from > 0 || !s->at_head)) add_overwrites(s, v, at->resident, &c);
  for (int32_t k = c.n - 1; k >= 0; k--) c.rest[k] = c.rest[k + 1] + s->bytes[c.item[k]];
  give_up(s, &c, 0, 0, 0, c.excess);
}

static int may_run(const plim_stretch *s, const plim_stretch_node *at, int32_t v) {
  const plim_stretch_op *o = &s->op[v];
  if (o->reads & ~at->resident) return 0;
  if (o->is_first && !(at->ran >> v & 1)) return !(o->after & ~at->ran);
  return may_repeat(s, v, at->ran) && (o->writes & ~at->resident) && at->time_ns + o->time_ns < s->most_ns;
}

int32_t plim_stretch_search(plim_stretch *s, int64_t most_ns, int64_t work) {
  s->most_ns = most_ns;
  s->work = work;
  s->n_nodes = s->n_heap = 0;
  push(s, (plim_stretch_node){.resident = s->entry, .parent = -1, .op = -1});
  while (s->n_heap > 0 && s->work > 0) {
    int32_t at = pop_heap(s);
    if (s->node[at].ran == s->firsts && !(s->exit & ~s->node[at].resident)) return at;
    for (int32_t v = 0; v < s->n_ops && s->work > 0; v++) {
      if (may_run(s, &s->node[at], v)) expand(s, at, v);
    }
  }
  return -1;
}
