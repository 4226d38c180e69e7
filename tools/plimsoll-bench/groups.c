/* Fusing takes no path away that contraction would close to a cycle: a fused op goes away, and its readers inherit what
 * it needs. Source: node grouping of Imanishi et al., "A fast heuristic to optimize time-space tradeoff for large
 * models", NeurIPS 2023; the limits on readers and members are ours. */
#include "tools/plimsoll-bench/peers_internal.h"

#include <string.h>

static int contains(const plim_list *list, int32_t value) {
  for (int32_t i = 0; i < list->n; i++) {
    if (list->at[i] == value) return 1;
  }
  return 0;
}

static int is_member(const plim_groups *g, int32_t group, int32_t op) {
  for (int32_t k = 0; k < g->n_members[group]; k++) {
    if (g->member[group][k] == op) return 1;
  }
  return 0;
}

static int64_t bytes_written(const plim_problem *p, int32_t op) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < p->op[op].writes.n; i++) bytes += p->item[p->op[op].writes.at[i]].bytes;
  return bytes;
}

/* Of what the group does not make itself; what two members read counts once. */
static int64_t bytes_read(const plim_problem *p, const plim_groups *g, int32_t group) {
  int64_t bytes = 0;
  for (int32_t k = 0; k < g->n_members[group]; k++) {
    const plim_list *reads = &p->op[g->member[group][k]].reads;
    for (int32_t i = 0; i < reads->n; i++) {
      int32_t producer = p->item[reads->at[i]].producer, seen = producer >= 0 && is_member(g, group, producer);
      for (int32_t e = 0; e < k && !seen; e++) seen = contains(&p->op[g->member[group][e]].reads, reads->at[i]);
      if (!seen) bytes += p->item[reads->at[i]].bytes;
    }
  }
  return bytes;
}

static int reads_from(const plim_problem *p, int32_t reader, int32_t op) {
  for (int32_t i = 0; i < p->op[op].writes.n; i++) {
    if (contains(&p->op[reader].reads, p->op[op].writes.at[i])) return 1;
  }
  return 0;
}

/* May the op run wherever this one runs, which is after it? */
static int may_follow(const plim_problem *p, const plim_groups *g, int32_t op, int32_t reader) {
  if (!reads_from(p, reader, op)) return 0; /* an update that the op must see first, or the other way round */
  for (int32_t i = 0; i < p->op[op].closed_by.n; i++) {
    if (!contains(&p->op[reader].closed_by, p->op[op].closed_by.at[i])) return 0;
  }
  int32_t joined = g->n_members[reader];
  for (int32_t k = 0; k < g->n_members[op]; k++) joined += !is_member(g, reader, g->member[op][k]);
  return joined <= PLIM_GROUP_MOST && (!p->fixed_order || reader == op + 1);
}

static int may_fuse(const plim_problem *p, const plim_groups *g, int32_t op, int32_t most_readers) {
  const plim_planned_op *v = &p->op[op];
  if (v->once || v->succs.n == 0 || v->succs.n > most_readers || v->closes.n > 0) return 0;
  if (p->fixed_order && v->succs.n > 1) return 0;
  for (int32_t i = 0; i < v->writes.n; i++) {
    if (p->item[v->writes.at[i]].kept) return 0;
  }
  for (int32_t i = 0; i < v->succs.n; i++) {
    if (!may_follow(p, g, op, v->succs.at[i])) return 0;
  }
  return bytes_read(p, g, op) <= bytes_written(p, op);
}

/* Both lists ascend; the reader is the last of its group. */
static void join(plim_groups *g, int32_t reader, int32_t op) {
  int32_t joined[PLIM_GROUP_MOST], n = 0, i = 0, k = 0;
  const int32_t *a = g->member[reader], *b = g->member[op];
  while (i < g->n_members[reader] || k < g->n_members[op]) {
    int from_a = k >= g->n_members[op] || (i < g->n_members[reader] && a[i] <= b[k]);
    int32_t next = from_a ? a[i++] : b[k++];
    if (n == 0 || joined[n - 1] != next) joined[n++] = next;
  }
  memcpy(g->member[reader], joined, (size_t)n * sizeof *joined);
  g->n_members[reader] = n;
}

plim_status plim_groups_make(const plim_problem *p, int32_t most_readers, plim_groups *out) {
  plim_groups g = {.ctx = p->ctx, .n_ops = p->n_ops};
  plim_status status = plim_allocate(p->ctx, p->n_ops, sizeof *g.member, &g.member);
  if (status == PLIM_OK) status = plim_allocate(p->ctx, p->n_ops, sizeof *g.n_members, &g.n_members);
  if (status != PLIM_OK) {
    plim_groups_free(&g);
    return status;
  }
  for (int32_t v = 0; v < p->n_ops; v++) {
    g.member[v][0] = v;
    g.n_members[v] = 1;
  }
  for (int32_t v = 0; v < p->n_ops; v++) {
    if (!may_fuse(p, &g, v, most_readers)) continue;
    for (int32_t i = 0; i < p->op[v].succs.n; i++) join(&g, p->op[v].succs.at[i], v);
    g.n_members[v] = 0;
  }
  *out = g;
  return PLIM_OK;
}

void plim_groups_free(plim_groups *g) {
  plim_release(g->ctx, g->member, g->n_ops, sizeof *g->member);
  plim_release(g->ctx, g->n_members, g->n_ops, sizeof *g->n_members);
  *g = (plim_groups){.ctx = g->ctx};
}
