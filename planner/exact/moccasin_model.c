/* The variables of the constraint search, and what bytes imply. Bounds on the stages of repeats go in. What comes out
 * are closer bounds, or a conflict, with the bounds that they follow from.
 *
 * Bytes that are read at a position are alive since the latest point at which they may have been computed: the latest
 * stage that one of the node's repeats can still take. That is the compulsory part of its lifetime (as in cumulative
 * scheduling). Where compulsory parts exceed the limit, there is a conflict. Where those of one more node would
 * exceed it, a repeat of that node must run between the position and its reader. */
#include "planner/exact/moccasin_model.h"

#include <stdlib.h>

#include "planner/exact/dag.h"
#include "planner/exact/lazy_clauses.h"
#include "planner/exact/staged.h"
#include "runtime/base/integers.h"

typedef struct plim_moccasin_item {
  int32_t use, latest; /* latest change that it follows from */
  int64_t bytes;
} plim_moccasin_item;

static plim_status make_variables(plim_moccasin_model *m, int32_t copies) {
  const plim_dag *d = m->dag;
  plim_context *ctx = d->ctx;
  int32_t *low = NULL, *high = NULL;
  int64_t n = 0;
  plim_status status;
  for (int32_t v = 0; v < d->n; v++) {
    int32_t max_repeats = d->node[v].last_stage - v;
    m->first[v] = (int32_t)n;
    n += max_repeats < copies - 1 ? max_repeats : copies - 1;
    if (n > INT32_MAX / 4) return plim_fail(ctx, PLIM_EUNSUPPORTED, "too many copies of too many ops to search");
  }
  m->first[d->n] = m->n_variables = (int32_t)n;
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *m->node_of, &m->node_of));
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *m->absent, &m->absent));
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *m->next_in_stage, &m->next_in_stage));
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *low, &low));
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *high, &high));
  for (int32_t v = 0; v < d->n; v++) {
    for (int32_t x = m->first[v]; x < m->first[v + 1]; x++) {
      m->node_of[x] = v;
      low[x] = v + 1 + x - m->first[v];
      high[x] = m->absent[x] = d->node[v].last_stage + 1;
    }
  }
  PLIM_CHECK(plim_lazy_clauses_make(ctx, m->n_variables, low, high, &m->clauses));
done:
  plim_release(ctx, low, n + 1, sizeof *low);
  plim_release(ctx, high, n + 1, sizeof *high);
  return status;
}

plim_status plim_moccasin_make(const plim_dag *dag, int32_t copies, int64_t limit_bytes, plim_moccasin_model *out) {
  plim_moccasin_model m = {.dag = dag, .limit_bytes = limit_bytes};
  plim_context *ctx = dag->ctx;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, (int64_t)dag->n + 1, sizeof *m.first, &m.first));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *m.bytes, &m.bytes));
  PLIM_CHECK(make_variables(&m, copies));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *m.head, &m.head));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *m.begin_of, &m.begin_of));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *m.covered, &m.covered));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *m.item, &m.item));
  for (int32_t v = 0; v < dag->n; v++) {
    m.bytes[v] = dag->node[v].bytes;
    if (m.bytes[v] > m.largest_bytes) m.largest_bytes = m.bytes[v];
  }
  *out = m;
done:
  if (status != PLIM_OK) plim_moccasin_free(&m);
  return status;
}

static void release_positions(plim_moccasin_model *m) {
  plim_context *ctx = m->dag->ctx;
  plim_release(ctx, m->position, m->room_positions, sizeof *m->position);
  plim_release(ctx, m->certain_bytes, m->room_positions, sizeof *m->certain_bytes);
  plim_release(ctx, m->decided_bytes, m->room_positions, sizeof *m->decided_bytes);
  plim_release(ctx, m->tight, m->room_positions, sizeof *m->tight);
  m->position = NULL;
  m->certain_bytes = m->decided_bytes = NULL;
  m->tight = NULL;
}

void plim_moccasin_free(plim_moccasin_model *m) {
  if (!m->dag) return;
  plim_context *ctx = m->dag->ctx;
  int32_t n = m->dag->n;
  release_positions(m);
  plim_lazy_clauses_free(&m->clauses);
  plim_release(ctx, m->first, (int64_t)n + 1, sizeof *m->first);
  plim_release(ctx, m->node_of, (int64_t)m->n_variables + 1, sizeof *m->node_of);
  plim_release(ctx, m->absent, (int64_t)m->n_variables + 1, sizeof *m->absent);
  plim_release(ctx, m->bytes, n, sizeof *m->bytes);
  plim_release(ctx, m->next_in_stage, (int64_t)m->n_variables + 1, sizeof *m->next_in_stage);
  plim_release(ctx, m->head, n, sizeof *m->head);
  plim_release(ctx, m->begin_of, n, sizeof *m->begin_of);
  plim_release(ctx, m->covered, n, sizeof *m->covered);
  plim_release(ctx, m->item, n, sizeof *m->item);
  plim_release(ctx, m->use, m->room_uses, sizeof *m->use);
  *m = (plim_moccasin_model){0};
}

int plim_moccasin_may_run(const plim_moccasin_model *m, int32_t x, int32_t low, int32_t high) {
  int32_t last = m->absent[x] - 1;
  int32_t from = plim_lazy_clauses_low(&m->clauses, x), to = plim_lazy_clauses_high(&m->clauses, x);
  if (to > last) to = last;
  return (from > low ? from : low) <= (to < high ? to : high);
}

/* ---- the look ---- */

static plim_status reserve_positions(plim_moccasin_model *m, int32_t n) {
  plim_context *ctx = m->dag->ctx;
  if (n <= m->room_positions) return PLIM_OK;
  release_positions(m);
  m->room_positions = n + n / 2;
  PLIM_TRY(plim_allocate(ctx, m->room_positions, sizeof *m->position, &m->position));
  PLIM_TRY(plim_allocate(ctx, m->room_positions, sizeof *m->certain_bytes, &m->certain_bytes));
  PLIM_TRY(plim_allocate(ctx, m->room_positions, sizeof *m->decided_bytes, &m->decided_bytes));
  return plim_allocate(ctx, m->room_positions, sizeof *m->tight, &m->tight);
}

/* Positions: the repeats decided for a stage, in order, then its first run. */
static plim_status list_positions(plim_moccasin_model *m) {
  const plim_dag *d = m->dag;
  int32_t repeats = 0;
  for (int32_t v = 0; v < d->n; v++) m->head[v] = -1;
  for (int32_t x = m->n_variables - 1; x >= 0; x--) {
    int32_t stage = plim_lazy_clauses_low(&m->clauses, x);
    if (!plim_moccasin_fixed(m, x) || stage == m->absent[x]) continue;
    m->next_in_stage[x] = m->head[stage];
    m->head[stage] = x;
    repeats++;
  }
  PLIM_TRY(reserve_positions(m, d->n + repeats));
  m->n_positions = 0;
  for (int32_t t = 0; t < d->n; t++) {
    m->begin_of[t] = m->n_positions;
    for (int32_t x = m->head[t]; x >= 0; x = m->next_in_stage[x]) {
      m->position[m->n_positions++] = (plim_moccasin_position){t, m->node_of[x], x};
    }
    m->position[m->n_positions++] = (plim_moccasin_position){t, t, -1};
  }
  return PLIM_OK;
}

/* The first position at which an undecided repeat of u, as late as it can be up to that stage, may have run. */
static int32_t sure_from(const plim_moccasin_model *m, int32_t u, int32_t stage, int32_t reader) {
  int32_t latest = -1;
  for (int32_t x = m->first[u]; x < m->first[u + 1]; x++) {
    int32_t last = m->absent[x] - 1, to = plim_lazy_clauses_high(&m->clauses, x);
    if (to > last) to = last;
    if (to > stage) to = stage;
    if (plim_lazy_clauses_low(&m->clauses, x) <= to && to > latest && !plim_moccasin_fixed(m, x)) latest = to;
  }
  if (latest < 0) return 0;
  int32_t j = m->begin_of[latest];
  while (j < reader && m->position[j].stage == latest && m->position[j].node < u) j++;
  return j;
}

static plim_status add_use(plim_moccasin_model *m, int32_t u, int32_t reader) {
  int32_t begin = m->covered[u] + 1, sure = sure_from(m, u, m->position[reader].stage, reader);
  if (sure < begin) sure = begin;
  if (begin > reader) return PLIM_OK;
  if (m->n_uses == m->room_uses) {
    int32_t room = 2 * m->room_uses + 256;
    PLIM_TRY(plim_resize_array(m->dag->ctx, &m->use, m->room_uses, room, sizeof *m->use));
    m->room_uses = room;
  }
  m->use[m->n_uses++] = (plim_moccasin_use){u, reader, begin, sure};
  m->covered[u] = reader;
  return PLIM_OK;
}

static plim_status list_uses(plim_moccasin_model *m) {
  const plim_dag *d = m->dag;
  m->n_uses = 0;
  for (int32_t j = 0; j < m->n_positions; j++) {
    const plim_ids *preds = &d->node[m->position[j].node].preds;
    for (int32_t i = 0; i < preds->n; i++) PLIM_TRY(add_use(m, preds->at[i], j));
    m->covered[m->position[j].node] = j;
  }
  for (int32_t v = 0; v < d->n; v++) {
    if (d->node[v].is_output) PLIM_TRY(add_use(m, v, m->n_positions - 1));
  }
  return PLIM_OK;
}

static void add_bytes(plim_moccasin_model *m) {
  const plim_dag *d = m->dag;
  int32_t n = m->n_positions;
  for (int32_t j = 0; j < n; j++) m->certain_bytes[j] = m->decided_bytes[j] = 0;
  for (int32_t k = 0; k < m->n_uses; k++) {
    const plim_moccasin_use *u = &m->use[k];
    int64_t bytes = m->bytes[u->node];
    m->decided_bytes[u->begin] += bytes;
    m->certain_bytes[u->certain_from] += bytes;
    if (u->reader + 1 == n) continue;
    m->decided_bytes[u->reader + 1] -= bytes;
    m->certain_bytes[u->reader + 1] -= bytes;
  }
  int64_t whole = d->base_bytes, sure = d->base_bytes;
  m->decided_peak = 0;
  for (int32_t j = 0; j < n; j++) {
    const plim_dag_node *own = &d->node[m->position[j].node];
    whole += m->decided_bytes[j];
    sure += m->certain_bytes[j];
    m->decided_bytes[j] = whole + own->bytes + own->workspace_bytes;
    m->certain_bytes[j] = sure + own->bytes + own->workspace_bytes;
    if (m->decided_bytes[j] > m->decided_peak) m->decided_peak = m->decided_bytes[j];
  }
}

/* ---- reasons ---- */

plim_status plim_moccasin_note_position(plim_moccasin_model *m, int32_t j) {
  const plim_moccasin_position *s = &m->position[j];
  if (s->variable < 0) return PLIM_OK;
  PLIM_TRY(plim_lazy_clauses_note(&m->clauses, plim_lazy_clauses_at_least(s->variable, s->stage)));
  return plim_lazy_clauses_note(&m->clauses, plim_lazy_clauses_at_most(s->variable, s->stage));
}

/* Why repeat x does not run in stages low .. high. */
static plim_status note_elsewhere(plim_moccasin_model *m, int32_t x, int32_t low, int32_t high) {
  int32_t absent = m->absent[x];
  if (high >= absent) high = absent - 1;
  if (low > high) return PLIM_OK;
  if (plim_lazy_clauses_high(&m->clauses, x) < low)
    return plim_lazy_clauses_note(&m->clauses, plim_lazy_clauses_at_most(x, low - 1));
  return plim_lazy_clauses_note(&m->clauses, plim_lazy_clauses_at_least(x, high + 1));
}

/* Its reader runs after position j, and not after the stage that it has. */
static plim_status note_reader(plim_moccasin_model *m, int32_t k, int32_t j) {
  const plim_moccasin_position *reader = &m->position[m->use[k].reader], *at = &m->position[j];
  int32_t stage = at->stage + (reader->node >= at->node ? 0 : 1);
  if (reader->variable < 0) return PLIM_OK;
  PLIM_TRY(plim_lazy_clauses_note(&m->clauses, plim_lazy_clauses_at_least(reader->variable, stage)));
  return plim_lazy_clauses_note(&m->clauses, plim_lazy_clauses_at_most(reader->variable, reader->stage));
}

plim_status plim_moccasin_note_use(plim_moccasin_model *m, int32_t k, int32_t j, int with_repeats) {
  const plim_moccasin_use *use = &m->use[k];
  if (use->reader == j) return PLIM_OK;
  PLIM_TRY(note_reader(m, k, j));
  int32_t low = plim_moccasin_stage_after(&m->position[j], use->node), high = plim_moccasin_stage_before(m, use);
  for (int32_t x = m->first[use->node]; with_repeats && x < m->first[use->node + 1]; x++) {
    PLIM_TRY(note_elsewhere(m, x, low, high));
  }
  return PLIM_OK;
}

/* The latest change after what was noted from `begin` on; the notes are dropped. */
static int32_t latest_of_notes(plim_moccasin_model *m, int32_t begin) {
  int32_t latest = -1;
  for (int32_t i = begin; i < m->clauses.reasons.n; i++) {
    int32_t at = plim_lazy_clauses_change_of(&m->clauses, m->clauses.reasons.at[i]);
    if (at > latest) latest = at;
  }
  m->clauses.reasons.n = begin;
  return latest;
}

static int by_latest(const void *a, const void *b) {
  const plim_moccasin_item *x = a, *y = b;
  if (x->latest != y->latest) return x->latest > y->latest ? -1 : 1;
  return plim_integers_compare(x->use, y->use);
}

/* Note enough of what is certainly alive at position j; `spare` bytes of it need not be told. What follows from the
 * latest decisions is left out first. */
static plim_status note_bytes(plim_moccasin_model *m, int32_t j, int64_t spare) {
  int32_t n = 0;
  for (int32_t k = 0; k < m->n_uses; k++) {
    const plim_moccasin_use *use = &m->use[k];
    int64_t bytes = m->bytes[use->node];
    if (use->certain_from > j || use->reader <= j || bytes == 0) continue; /* operands follow from the position */
    int32_t begin = m->clauses.reasons.n;
    PLIM_TRY(plim_moccasin_note_use(m, k, j, 1));
    m->item[n++] = (plim_moccasin_item){k, latest_of_notes(m, begin), bytes};
  }
  qsort(m->item, (size_t)n, sizeof *m->item, by_latest);
  PLIM_TRY(plim_moccasin_note_position(m, j));
  for (int32_t i = 0; i < n; i++) {
    if (m->item[i].bytes <= spare) {
      spare -= m->item[i].bytes;
    } else if (m->item[i].latest >= 0) {
      PLIM_TRY(plim_moccasin_note_use(m, m->item[i].use, j, 1));
    }
  }
  return PLIM_OK;
}

/* ---- propagation ---- */

static plim_status order_repeats(plim_moccasin_model *m) {
  plim_lazy_clauses *l = &m->clauses;
  for (int32_t x = 1; x < m->n_variables && !l->failed; x++) {
    if (m->node_of[x] != m->node_of[x - 1]) continue;
    int32_t absent = m->absent[x], low = plim_lazy_clauses_low(l, x - 1), high = plim_lazy_clauses_high(l, x);
    int32_t least = low < absent ? low + 1 : absent, begin = l->reasons.n;
    if (plim_lazy_clauses_low(l, x) < least) {
      PLIM_TRY(plim_lazy_clauses_note(l, plim_lazy_clauses_at_least(x - 1, low)));
      PLIM_TRY(plim_lazy_clauses_imply(l, plim_lazy_clauses_at_least(x, least), begin));
    }
    begin = l->reasons.n;
    if (!l->failed && high < absent && plim_lazy_clauses_high(l, x - 1) >= high) {
      PLIM_TRY(plim_lazy_clauses_note(l, plim_lazy_clauses_at_most(x, high)));
      PLIM_TRY(plim_lazy_clauses_imply(l, plim_lazy_clauses_at_most(x - 1, high - 1), begin));
    }
  }
  return PLIM_OK;
}

static plim_status check_limit(plim_moccasin_model *m) {
  int32_t worst = 0;
  for (int32_t j = 1; j < m->n_positions; j++) worst = m->certain_bytes[j] > m->certain_bytes[worst] ? j : worst;
  int64_t excess = m->certain_bytes[worst] - m->limit_bytes;
  if (excess <= 0) return PLIM_OK;
  int32_t begin = m->clauses.reasons.n;
  PLIM_TRY(note_bytes(m, worst, excess - 1));
  return plim_lazy_clauses_fail(&m->clauses, begin);
}

/* The bytes of use k do not fit at position j: the only repeat that may spare it has to. */
static plim_status force_repeat(plim_moccasin_model *m, int32_t k, int32_t j) {
  const plim_moccasin_use *use = &m->use[k];
  int32_t low = plim_moccasin_stage_after(&m->position[j], use->node), high = plim_moccasin_stage_before(m, use),
          only = -1;
  for (int32_t x = m->first[use->node]; x < m->first[use->node + 1]; x++) {
    if (!plim_moccasin_may_run(m, x, low, high)) continue;
    if (only >= 0) return PLIM_OK;
    only = x;
  }
  if (only < 0 ||
      (plim_lazy_clauses_low(&m->clauses, only) >= low && plim_lazy_clauses_high(&m->clauses, only) <= high))
    return PLIM_OK;
  int32_t begin = m->clauses.reasons.n;
  PLIM_TRY(note_bytes(m, j, m->certain_bytes[j] + m->bytes[use->node] - m->limit_bytes - 1));
  PLIM_TRY(plim_moccasin_note_use(m, k, j, 0));
  for (int32_t x = m->first[use->node]; x < m->first[use->node + 1]; x++) {
    if (x != only) PLIM_TRY(note_elsewhere(m, x, low, high));
  }
  PLIM_TRY(plim_lazy_clauses_imply(&m->clauses, plim_lazy_clauses_at_least(only, low), begin));
  return m->clauses.failed ? PLIM_OK
                           : plim_lazy_clauses_imply(&m->clauses, plim_lazy_clauses_at_most(only, high), begin);
}

static plim_status force_repeats(plim_moccasin_model *m) {
  int32_t latest = -1;
  for (int32_t j = 0; j < m->n_positions; j++) {
    if (m->certain_bytes[j] > m->limit_bytes - m->largest_bytes) latest = j;
    m->tight[j] = latest;
  }
  for (int32_t k = 0; k < m->n_uses && !m->clauses.failed; k++) {
    const plim_moccasin_use *use = &m->use[k];
    int64_t room = m->limit_bytes - m->bytes[use->node];
    int32_t j = use->certain_from > use->begin ? m->tight[use->certain_from - 1] : -1;
    while (j >= use->begin && m->certain_bytes[j] <= room) j = j > 0 ? m->tight[j - 1] : -1;
    if (j >= use->begin) PLIM_TRY(force_repeat(m, k, j));
  }
  return PLIM_OK;
}

plim_status plim_moccasin_propagate(plim_moccasin_model *m) {
  plim_lazy_clauses *l = &m->clauses;
  int32_t before;
  do {
    PLIM_TRY(plim_lazy_clauses_propagate(l));
    if (!l->failed) PLIM_TRY(order_repeats(m));
    before = l->n_trail;
    if (l->failed || l->next < before) continue;
    PLIM_TRY(list_positions(m));
    PLIM_TRY(list_uses(m));
    add_bytes(m);
    PLIM_TRY(check_limit(m));
    if (!l->failed) PLIM_TRY(force_repeats(m));
  } while (!l->failed && l->next < l->n_trail);
  return PLIM_OK;
}

plim_status plim_moccasin_repeats(const plim_moccasin_model *m, plim_repeats *out) {
  out->n = 0;
  for (int32_t j = 0; j < m->n_positions; j++) {
    if (m->position[j].variable >= 0)
      PLIM_TRY(plim_repeats_add(out, (plim_repeat){m->position[j].stage, m->position[j].node}));
  }
  return PLIM_OK;
}
