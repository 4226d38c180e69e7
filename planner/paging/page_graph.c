/* The graph with paging: a copy of the program with the ops of paging between its own. */
#include "planner/paging/page_graph.h"

#include <stdio.h>
#include <string.h>

#include "planner/paging/graph_copy.h"

enum { NAME_BYTES = 32 };

typedef struct maker {
  plim_page_graph *pages;
  const int64_t *delay_ns;
  plim_graph_copy copy;
  int32_t *choice_of;    /* [n_storages] its first choice; -1: it stays */
  int32_t *last_early;   /* [n] last op that touches it before `late` */
  int32_t *mark, *whole; /* [n] values of the ops of paging */
  int32_t *late_value;   /* [n] the first value of s'; those over s have their order there */
  int32_t *place;        /* [n_values] among the values of its storage */
} maker;

static plim_status check_choice(const plim_page_graph *p, const plim_page_choice *c) {
  const plim_graph *g = p->graph;
  int allowed = c->storage >= 0 && c->storage < g->n_storages && g->storage[c->storage].producer >= 0 &&
                g->storage[c->storage].bytes > 0 && g->storage[c->storage].role != PLIM_ROLE_OUTPUT;
  for (int32_t i = allowed ? g->reader_first[c->storage] : 0; allowed && i < g->reader_first[c->storage + 1]; i++) {
    if (g->reader[i] == c->late) return PLIM_OK;
  }
  return plim_fail(p->ctx, PLIM_EUSAGE, "storage %d cannot be paged in before op %d", c->storage, c->late);
}

static int32_t last_early_of(const plim_graph *g, const plim_page_choice *c) {
  int32_t last = g->storage[c->storage].producer;
  for (int32_t i = g->reader_first[c->storage]; i < g->reader_first[c->storage + 1]; i++) {
    if (g->reader[i] < c->late && g->reader[i] > last) last = g->reader[i];
  }
  return last;
}

/* A mark, and s' with a value over all of it and one for each value over s. */
static plim_status add_page_values(maker *m, int32_t i) {
  plim_page_graph *p = m->pages;
  const plim_graph *g = p->graph;
  const plim_storage *s = &g->storage[p->choice[i].storage];
  const plim_shape empty = plim_graph_copy_bytes(0), all = plim_graph_copy_bytes(s->bytes);
  char name[NAME_BYTES];
  int32_t storage;
  (void)snprintf(name, sizeof name, "page:%d", (int)i);
  if (p->first[i] == i) {
    PLIM_TRY(plim_graph_add(m->copy.builder, name, PLIM_ROLE_ACTIVATION, &empty, &m->mark[i]));
  } else {
    m->mark[i] = m->mark[p->first[i]];
  }
  PLIM_TRY(plim_graph_add_storage(m->copy.builder, s->role, s->bytes, &storage));
  p->storage[storage] = p->choice[i].storage;
  (void)snprintf(name, sizeof name, "page:%d:whole", (int)i);
  PLIM_TRY(plim_graph_add_value(m->copy.builder, name, storage, 0, &all, &m->whole[i]));
  m->late_value[i] = m->whole[i] + 1;
  for (int32_t v = 0; v < g->n_values; v++) {
    if (g->value[v].storage != p->choice[i].storage) continue;
    int32_t id;
    (void)snprintf(name, sizeof name, "page:%d:%d", (int)i, (int)v);
    PLIM_TRY(plim_graph_add_value(m->copy.builder, name, storage, g->value[v].offset, &g->value[v].shape, &id));
  }
  return PLIM_OK;
}

static plim_status add_values(maker *m) {
  const plim_graph *g = m->pages->graph;
  int32_t id;
  for (int32_t s = 0; s < g->n_storages; s++) {
    PLIM_TRY(plim_graph_add_storage(m->copy.builder, g->storage[s].role, g->storage[s].bytes, &id));
    m->pages->storage[id] = s;
  }
  for (int32_t v = 0; v < g->n_values; v++) {
    const plim_value *value = &g->value[v];
    PLIM_TRY(plim_graph_add_value(m->copy.builder, value->name, value->storage, value->offset, &value->shape, &id));
  }
  for (int32_t i = 0; i < m->pages->n; i++) PLIM_TRY(add_page_values(m, i));
  return PLIM_OK;
}

static plim_status add_page_op(maker *m, int32_t i, int in) {
  plim_page_graph *p = m->pages;
  char name[NAME_BYTES];
  (void)snprintf(name, sizeof name, "page %s:%d", in ? "in" : "out", (int)i);
  int32_t v = 0, id;
  while (p->graph->value[v].storage != p->choice[i].storage) v++;
  plim_op_spec spec = {.name = name,
                       .kind = PLIM_OP_CUSTOM,
                       .cls = PLIM_OP_PURE,
                       .phase = in ? PLIM_PHASE_BACKWARD : PLIM_PHASE_FORWARD,
                       .n_in = 1,
                       .n_out = 1,
                       .in = {in ? m->mark[i] : v},
                       .out = {in ? m->whole[i] : m->mark[i]},
                       .time_ns = -1};
  const int32_t copy = in ? p->n + i : i;
  PLIM_TRY(plim_graph_copy_add_own(&m->copy, &spec, "page", m->delay_ns[copy], &id));
  p->op[id] = -1;
  p->copies[id] = copy;
  return PLIM_OK;
}

static int32_t late_value(const maker *m, int32_t op, int32_t value) {
  const plim_page_graph *p = m->pages;
  int32_t storage = p->graph->value[value].storage, choice = m->choice_of[storage];
  if (choice < 0 || op < p->choice[choice].late) return value;
  while (choice + 1 < p->n && p->choice[choice + 1].storage == storage && op >= p->choice[choice + 1].late) choice++;
  return m->late_value[choice] + m->place[value];
}

static plim_status add_op(maker *m, int32_t o) {
  const plim_op *op = &m->pages->graph->op[o];
  const plim_op_spec spec = plim_graph_copy_spec(&m->copy, o);
  int32_t id;
  for (int32_t i = 0; i < op->n_in; i++) m->copy.input[i] = late_value(m, o, op->in[i]);
  PLIM_TRY(plim_graph_copy_add(&m->copy, &spec, o, &id));
  m->pages->op[id] = o;
  m->pages->copies[id] = -1;
  return PLIM_OK;
}

static plim_status add_ops(maker *m) {
  const plim_page_graph *p = m->pages;
  for (int32_t o = 0; o < p->graph->n_ops; o++) {
    for (int32_t i = 0; i < p->n; i++) {
      if (p->choice[i].late == o) PLIM_TRY(add_page_op(m, i, 1));
    }
    PLIM_TRY(add_op(m, o));
    for (int32_t i = 0; i < p->n; i++) {
      if (p->first[i] == i && m->last_early[i] == o) PLIM_TRY(add_page_op(m, i, 0));
    }
  }
  return PLIM_OK;
}

/* n [n_storages] scratch. */
static void set_places(const maker *m, int32_t *n) {
  const plim_graph *g = m->pages->graph;
  for (int32_t s = 0; s < g->n_storages; s++) n[s] = 0;
  for (int32_t v = 0; v < g->n_values; v++) m->place[v] = n[g->value[v].storage]++;
}

static plim_status fill(maker *m) {
  plim_page_graph *p = m->pages;
  const plim_graph *g = p->graph;
  set_places(m, m->choice_of);
  for (int32_t s = 0; s < g->n_storages; s++) m->choice_of[s] = -1;
  for (int64_t s = 0; s < (int64_t)g->n_storages + 2 * (int64_t)p->n; s++) p->storage[s] = -1;
  for (int32_t i = 0; i < p->n; i++) {
    const plim_page_choice *before = i > 0 ? &p->choice[i - 1] : NULL;
    PLIM_TRY(check_choice(p, &p->choice[i]));
    int again = before && before->storage == p->choice[i].storage;
    if (before && (before->storage > p->choice[i].storage || (again && before->late >= p->choice[i].late))) {
      return plim_fail(p->ctx, PLIM_EUSAGE, "choices %d and %d are not in order", (int)i - 1, (int)i);
    }
    p->first[i] = again ? p->first[i - 1] : i;
    if (!again) m->choice_of[p->choice[i].storage] = i;
    m->last_early[i] = last_early_of(g, &p->choice[i]);
  }
  PLIM_TRY(add_values(m));
  PLIM_TRY(add_ops(m));
  return plim_graph_copy_end(&m->copy, &p->paged, &p->profile);
}

plim_status plim_page_graph_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile, int32_t n,
                                 const plim_page_choice *choice, const int64_t *delay_ns, plim_page_graph **out) {
  maker m = {.delay_ns = delay_ns};
  int64_t ops = graph->n_ops + 2 * (int64_t)n;
  plim_page_graph *p = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *p, &p));
  *p = (plim_page_graph){.ctx = ctx, .graph = graph, .n = n};
  m.pages = p;
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *p->choice, &p->choice));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *p->first, &p->first));
  PLIM_CHECK(plim_allocate(ctx, ops, sizeof *p->op, &p->op));
  PLIM_CHECK(plim_allocate(ctx, ops, sizeof *p->copies, &p->copies));
  PLIM_CHECK(plim_allocate(ctx, graph->n_storages + 2 * (int64_t)n, sizeof *p->storage, &p->storage));
  PLIM_CHECK(plim_allocate(ctx, graph->n_storages, sizeof *m.choice_of, &m.choice_of));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *m.last_early, &m.last_early));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *m.mark, &m.mark));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *m.whole, &m.whole));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *m.late_value, &m.late_value));
  PLIM_CHECK(plim_allocate(ctx, graph->n_values, sizeof *m.place, &m.place));
  PLIM_CHECK(plim_graph_copy_begin(ctx, graph, profile, 2 * n, &m.copy));
  if (n > 0) memcpy(p->choice, choice, (size_t)n * sizeof *choice);
  PLIM_CHECK(fill(&m));
  *out = p;
  p = NULL;
done:
  plim_graph_copy_free(&m.copy);
  plim_release(ctx, m.choice_of, graph->n_storages, sizeof *m.choice_of);
  plim_release(ctx, m.last_early, n, sizeof *m.last_early);
  plim_release(ctx, m.mark, n, sizeof *m.mark);
  plim_release(ctx, m.whole, n, sizeof *m.whole);
  plim_release(ctx, m.late_value, n, sizeof *m.late_value);
  plim_release(ctx, m.place, graph->n_values, sizeof *m.place);
  plim_page_graph_free(p);
  return status;
}

void plim_page_graph_free(plim_page_graph *p) {
  if (!p) return;
  int64_t ops = p->graph->n_ops + 2 * (int64_t)p->n;
  plim_profile_free(p->profile);
  plim_graph_free(p->paged);
  plim_release(p->ctx, p->choice, p->n, sizeof *p->choice);
  plim_release(p->ctx, p->first, p->n, sizeof *p->first);
  plim_release(p->ctx, p->op, ops, sizeof *p->op);
  plim_release(p->ctx, p->copies, ops, sizeof *p->copies);
  plim_release(p->ctx, p->storage, p->graph->n_storages + 2 * (int64_t)p->n, sizeof *p->storage);
  plim_release(p->ctx, p, 1, sizeof *p);
}
