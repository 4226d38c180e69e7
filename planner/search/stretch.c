/* From a track to a stretch and back. The search knows levels that are never below the real ones: an item that it keeps
 * and nobody reads is gone earlier in the track, an item given up at the start of the stretch ends in front of it. The
 * track has the last word. */
#include "planner/search/stretch.h"

#include "runtime/base/effort.h"

enum { WORK = 40000 };

plim_status plim_stretch_new(const plim_problem *p, plim_stretch **out) {
  plim_stretch *s = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(p->ctx, 1, sizeof *s, &s));
  s->problem = p;
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops, sizeof *s->op_at, &s->op_at));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_items, sizeof *s->item_at, &s->item_at));
  for (int32_t v = 0; v < p->n_ops; v++) s->op_at[v] = -1;
  for (int32_t i = 0; i < p->n_items; i++) s->item_at[i] = -1;
  *out = s;
done:
  if (status != PLIM_OK) plim_stretch_free(s);
  return status;
}

void plim_stretch_free(plim_stretch *s) {
  if (!s) return;
  const plim_problem *p = s->problem;
  plim_release(p->ctx, s->op_at, p->n_ops, sizeof *s->op_at);
  plim_release(p->ctx, s->item_at, p->n_items, sizeof *s->item_at);
  plim_release(p->ctx, s, 1, sizeof *s);
}

/* ---- gathering ---- */

static void forget(plim_stretch *s) {
  for (int32_t v = 0; v < s->n_ops; v++) s->op_at[s->op[v].op] = -1;
  for (int32_t i = 0; i < s->n_items; i++) s->item_at[s->item[i]] = -1;
  s->n_ops = s->n_items = 0;
  s->entry = s->exit = 0;
  s->firsts = 0;
}

/* The op's number, -1 when there is no room. */
static int32_t add_op(plim_stretch *s, const plim_track *t, int32_t op) {
  if (s->op_at[op] >= 0) return s->op_at[op];
  if (s->n_ops == PLIM_STRETCH_OPS) return -1;
  int32_t choice = t->run[t->first[op]].choice;
  const plim_choice *c = &s->problem->op[op].choice[choice];
  s->op[s->n_ops] =
      (plim_stretch_op){.op = op, .choice = choice, .time_ns = c->time_ns, .workspace_bytes = c->workspace_bytes};
  return s->op_at[op] = s->n_ops++;
}

/* Runs of the stretch, and behind them what their inputs can be made from, nearest first. */
static int add_ops(plim_stretch *s, const plim_track *t, int32_t length) {
  int32_t r = s->begin;
  for (; r >= 0 && length > 0; r = t->run[r].next, length--) {
    int32_t v = add_op(s, t, t->run[r].op);
    if (v < 0) return 0;
    if (t->run[r].op_prev >= 0) continue;
    s->op[v].is_first = 1;
    s->firsts |= 1U << v;
  }
  s->next = r;
  for (int32_t v = 0; v < s->n_ops; v++) {
    const plim_list *reads = &s->problem->op[s->op[v].op].reads;
    for (int32_t i = 0; i < reads->n; i++) {
      int32_t producer = s->problem->item[reads->at[i]].producer;
      if (producer >= 0 && plim_track_may_repeat(t, producer, s->begin)) (void)add_op(s, t, producer);
    }
  }
  return 1;
}

static int is_alive(const plim_track *t, int32_t item, int32_t slot) {
  int32_t producer = t->problem->item[item].producer, made = -1;
  if (producer >= 0) {
    made = plim_track_before(t, producer, slot);
    if (made < 0) return 0;
  }
  int32_t end = plim_track_end(t, item, made);
  return end < 0 || t->run[end].slot >= slot;
}

static int add_items(plim_stretch *s, const plim_track *t, const plim_list *items, uint64_t *mask) {
  for (int32_t k = 0; k < items->n; k++) {
    int32_t item = items->at[k], i = s->item_at[item];
    if (i < 0) {
      if (s->n_items == PLIM_STRETCH_ITEMS) return 0;
      i = s->item_at[item] = s->n_items++;
      s->item[i] = item;
      s->bytes[i] = s->problem->item[item].bytes;
      s->producer[i] = s->problem->item[item].producer < 0 ? -1 : s->op_at[s->problem->item[item].producer];
      int32_t end = s->next < 0 ? t->levels->n_slots : t->run[s->next].slot;
      if (is_alive(t, item, t->run[s->begin].slot)) s->entry |= UINT64_C(1) << i;
      if (is_alive(t, item, end)) s->exit |= UINT64_C(1) << i;
    }
    *mask |= UINT64_C(1) << i;
  }
  return 1;
}

static uint32_t firsts_of(const plim_stretch *s, const plim_list *ops) {
  uint32_t mask = 0;
  for (int32_t i = 0; i < ops->n; i++) {
    int32_t v = s->op_at[ops->at[i]];
    if (v >= 0) mask |= 1U << v;
  }
  return mask & s->firsts;
}

/* Which runs the problem allows. A repeat of an op of the stretch may come behind what it comes behind anyway. */
static void add_rules(plim_stretch *s, const plim_track *t) {
  for (int32_t v = 0; v < s->n_ops; v++) {
    plim_stretch_op *o = &s->op[v];
    const plim_planned_op *op = &s->problem->op[o->op];
    o->after = firsts_of(s, &op->after) | firsts_of(s, &op->closes);
    o->until = firsts_of(s, &op->until);
    o->may_repeat = !op->once;
    for (int32_t i = 0; i < op->until.n; i++) {
      o->may_repeat &= t->run[t->first[op->until.at[i]]].slot >= t->run[s->begin].slot;
    }
    for (int32_t k = 0; k < s->n_ops && s->problem->fixed_order && o->is_first; k++) {
      if (s->op[k].is_first && s->op[k].op < o->op) o->after |= 1U << k;
    }
  }
}

int plim_stretch_gather(plim_stretch *s, const plim_mover *m, int32_t begin, int32_t length) {
  const plim_track *t = m->track;
  int32_t slot = t->run[begin].slot;
  forget(s);
  s->begin = begin;
  s->at_head = begin == t->head;
  if (!add_ops(s, t, length)) return 0;
  for (int32_t v = 0; v < s->n_ops; v++) {
    const plim_planned_op *op = &s->problem->op[s->op[v].op];
    if (!add_items(s, t, &op->reads, &s->op[v].reads) || !add_items(s, t, &op->writes, &s->op[v].writes)) return 0;
  }
  add_rules(s, t);
  s->spare_bytes = m->limit - (plim_levels_at(t->levels, t->base_bytes, slot) - t->levels->slot[slot].up);
  for (int32_t i = 0; i < s->n_items; i++) s->spare_bytes += s->entry >> i & 1 ? s->bytes[i] : 0;
  return s->spare_bytes >= 0;
}

/* ---- putting back ---- */

static void replace(const plim_stretch *s, plim_track *t, int32_t last) {
  int32_t path[PLIM_STRETCH_NODES], n = 0;
  for (int32_t r = s->begin; r != s->next;) {
    int32_t behind = t->run[r].next;
    plim_track_remove(t, r);
    r = behind;
  }
  for (; s->node[last].op >= 0; last = s->node[last].parent) path[n++] = s->node[last].op;
  while (n-- > 0) (void)plim_track_insert(t, s->op[path[n]].op, s->op[path[n]].choice, s->next);
}

static int32_t steps_to(const plim_stretch *s, int32_t last) {
  int32_t n = 0;
  for (; s->node[last].op >= 0; last = s->node[last].parent) n++;
  return n;
}

/* Time of the stretch's repeats now. */
static int64_t repeats_ns(const plim_stretch *s, const plim_track *t) {
  int64_t ns = 0;
  for (int32_t r = s->begin; r != s->next; r = t->run[r].next) {
    if (t->run[r].op_prev >= 0) ns += t->problem->op[t->run[r].op].choice[t->run[r].choice].time_ns;
  }
  return ns;
}

int plim_stretch_solve(plim_stretch *s, plim_mover *m, int32_t begin, int32_t length, int64_t most_ns, int64_t work) {
  plim_track *t = m->track;
  int32_t mark = t->n_journal;
  plim_track_settle(t);
  if (!plim_stretch_gather(s, m, begin, length)) return 0;
  int64_t rest_ns = t->time_ns - repeats_ns(s, t);
  if (rest_ns >= most_ns) return 0;
  int32_t last = plim_stretch_search(s, most_ns - rest_ns, work);
  if (last < 0 || mark + length + steps_to(s, last) + 16 > t->room_journal || t->n_free < steps_to(s, last)) return 0;
  replace(s, t, last);
  plim_track_settle(t);
  if (plim_track_peak(t) <= m->limit && t->time_ns < most_ns) return 1;
  plim_track_undo_to(t, mark);
  return 0;
}

void plim_stretch_improve(plim_stretch *s, plim_mover *m, int32_t length, int32_t stretches) {
  plim_track *t = m->track;
  int32_t r = t->n_runs / (length / 2) < stretches ? t->head : plim_move_random_run(m);
  plim_track_keep(t);
  while (stretches-- > 0 && r >= 0 && !plim_effort_over(t->problem->ctx, PLIM_EFFORT_LOOK)) {
    int32_t before = t->run[r].prev;
    if (plim_stretch_solve(s, m, r, length, t->time_ns, WORK)) plim_track_keep(t);
    r = before < 0 ? t->head : t->run[before].next;
    for (int32_t i = 0; i < length / 2 && r >= 0; i++) r = t->run[r].next;
  }
}
