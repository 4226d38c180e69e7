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

static plim_status make_variables(plim_moccasin_model *c, int32_t copies) {
  const plim_dag *d = c->dag;
  plim_context *ctx = d->ctx;
  int32_t *low = NULL, *high = NULL;
  int64_t n = 0;
  plim_status status;
  for (int32_t v = 0; v < d->n; v++) {
    int32_t max_repeats = d->node[v].last_stage - v;
    c->first[v] = (int32_t)n;
    n += max_repeats < copies - 1 ? max_repeats : copies - 1;
    if (n > INT32_MAX / 4) return plim_fail(ctx, PLIM_EUNSUPPORTED, "too many copies of too many ops to search");
  }
  c->first[d->n] = c->n_variables = (int32_t)n;
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *c->node_of, &c->node_of));
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *c->absent, &c->absent));
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *c->next_in_stage, &c->next_in_stage));
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *low, &low));
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *high, &high));
  for (int32_t v = 0; v < d->n; v++) {
    for (int32_t x = c->first[v]; x < c->first[v + 1]; x++) {
      c->node_of[x] = v;
      low[x] = v + 1 + x - c->first[v];
      high[x] = c->absent[x] = d->node[v].last_stage + 1;
    }
  }
  PLIM_CHECK(plim_lazy_clauses_make(ctx, c->n_variables, low, high, &c->clauses));
done:
  plim_release(ctx, low, n + 1, sizeof *low);
  plim_release(ctx, high, n + 1, sizeof *high);
  return status;
}

plim_status plim_moccasin_make(const plim_dag *dag, int32_t copies, int64_t limit_bytes, plim_moccasin_model *out) {
  plim_moccasin_model c = {.dag = dag, .limit_bytes = limit_bytes};
  plim_context *ctx = dag->ctx;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, (int64_t)dag->n + 1, sizeof *c.first, &c.first));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *c.bytes, &c.bytes));
  PLIM_CHECK(make_variables(&c, copies));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *c.head, &c.head));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *c.begin_of, &c.begin_of));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *c.covered, &c.covered));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *c.item, &c.item));
  for (int32_t v = 0; v < dag->n; v++) {
    c.bytes[v] = dag->node[v].bytes;
    if (c.bytes[v] > c.largest_bytes) c.largest_bytes = c.bytes[v];
  }
  *out = c;
done:
  if (status != PLIM_OK) plim_moccasin_free(&c);
  return status;
}

static void release_positions(plim_moccasin_model *c) {
  plim_context *ctx = c->dag->ctx;
  plim_release(ctx, c->position, c->room_positions, sizeof *c->position);
  plim_release(ctx, c->certain_bytes, c->room_positions, sizeof *c->certain_bytes);
  plim_release(ctx, c->decided_bytes, c->room_positions, sizeof *c->decided_bytes);
  plim_release(ctx, c->tight, c->room_positions, sizeof *c->tight);
  c->position = NULL;
  c->certain_bytes = c->decided_bytes = NULL;
  c->tight = NULL;
}

void plim_moccasin_free(plim_moccasin_model *c) {
  if (!c->dag) return;
  plim_context *ctx = c->dag->ctx;
  int32_t n = c->dag->n;
  release_positions(c);
  plim_lazy_clauses_free(&c->clauses);
  plim_release(ctx, c->first, (int64_t)n + 1, sizeof *c->first);
  plim_release(ctx, c->node_of, (int64_t)c->n_variables + 1, sizeof *c->node_of);
  plim_release(ctx, c->absent, (int64_t)c->n_variables + 1, sizeof *c->absent);
  plim_release(ctx, c->bytes, n, sizeof *c->bytes);
  plim_release(ctx, c->next_in_stage, (int64_t)c->n_variables + 1, sizeof *c->next_in_stage);
  plim_release(ctx, c->head, n, sizeof *c->head);
  plim_release(ctx, c->begin_of, n, sizeof *c->begin_of);
  plim_release(ctx, c->covered, n, sizeof *c->covered);
  plim_release(ctx, c->item, n, sizeof *c->item);
  plim_release(ctx, c->use, c->room_uses, sizeof *c->use);
  *c = (plim_moccasin_model){0};
}

int plim_moccasin_may_run(const plim_moccasin_model *c, int32_t x, int32_t low, int32_t high) {
  int32_t last = c->absent[x] - 1;
  int32_t from = plim_lazy_clauses_low(&c->clauses, x), to = plim_lazy_clauses_high(&c->clauses, x);
  if (to > last) to = last;
  return (from > low ? from : low) <= (to < high ? to : high);
}

/* ---- the look ---- */

static plim_status reserve_positions(plim_moccasin_model *c, int32_t n) {
  plim_context *ctx = c->dag->ctx;
  if (n <= c->room_positions) return PLIM_OK;
  release_positions(c);
  c->room_positions = n + n / 2;
  PLIM_TRY(plim_allocate(ctx, c->room_positions, sizeof *c->position, &c->position));
  PLIM_TRY(plim_allocate(ctx, c->room_positions, sizeof *c->certain_bytes, &c->certain_bytes));
  PLIM_TRY(plim_allocate(ctx, c->room_positions, sizeof *c->decided_bytes, &c->decided_bytes));
  return plim_allocate(ctx, c->room_positions, sizeof *c->tight, &c->tight);
}

/* Positions: the repeats decided for a stage, in order, then its first run. */
static plim_status list_positions(plim_moccasin_model *c) {
  const plim_dag *d = c->dag;
  int32_t repeats = 0;
  for (int32_t v = 0; v < d->n; v++) c->head[v] = -1;
  for (int32_t x = c->n_variables - 1; x >= 0; x--) {
    int32_t stage = plim_lazy_clauses_low(&c->clauses, x);
    if (!plim_moccasin_fixed(c, x) || stage == c->absent[x]) continue;
    c->next_in_stage[x] = c->head[stage];
    c->head[stage] = x;
    repeats++;
  }
  PLIM_TRY(reserve_positions(c, d->n + repeats));
  c->n_positions = 0;
  for (int32_t t = 0; t < d->n; t++) {
    c->begin_of[t] = c->n_positions;
    for (int32_t x = c->head[t]; x >= 0; x = c->next_in_stage[x]) {
      c->position[c->n_positions++] = (plim_moccasin_position){t, c->node_of[x], x};
    }
    c->position[c->n_positions++] = (plim_moccasin_position){t, t, -1};
  }
  return PLIM_OK;
}

/* The first position at which an undecided repeat of u, as late as it can be up to that stage, may have run. */
static int32_t sure_from(const plim_moccasin_model *c, int32_t u, int32_t stage, int32_t reader) {
  int32_t latest = -1;
  for (int32_t x = c->first[u]; x < c->first[u + 1]; x++) {
    int32_t last = c->absent[x] - 1, to = plim_lazy_clauses_high(&c->clauses, x);
    if (to > last) to = last;
    if (to > stage) to = stage;
    if (plim_lazy_clauses_low(&c->clauses, x) <= to && to > latest && !plim_moccasin_fixed(c, x)) latest = to;
  }
  if (latest < 0) return 0;
  int32_t j = c->begin_of[latest];
  while (j < reader && c->position[j].stage == latest && c->position[j].node < u) j++;
  return j;
}

static plim_status add_use(plim_moccasin_model *c, int32_t u, int32_t reader) {
  int32_t begin = c->covered[u] + 1, sure = sure_from(c, u, c->position[reader].stage, reader);
  if (sure < begin) sure = begin;
  if (begin > reader) return PLIM_OK;
  if (c->n_uses == c->room_uses) {
    int32_t room = 2 * c->room_uses + 256;
    PLIM_TRY(plim_resize_array(c->dag->ctx, &c->use, c->room_uses, room, sizeof *c->use));
    c->room_uses = room;
  }
  c->use[c->n_uses++] = (plim_moccasin_use){u, reader, begin, sure};
  c->covered[u] = reader;
  return PLIM_OK;
}

static plim_status list_uses(plim_moccasin_model *c) {
  const plim_dag *d = c->dag;
  c->n_uses = 0;
  for (int32_t j = 0; j < c->n_positions; j++) {
    const plim_ids *preds = &d->node[c->position[j].node].preds;
    for (int32_t i = 0; i < preds->n; i++) PLIM_TRY(add_use(c, preds->at[i], j));
    c->covered[c->position[j].node] = j;
  }
  for (int32_t v = 0; v < d->n; v++) {
    if (d->node[v].is_output) PLIM_TRY(add_use(c, v, c->n_positions - 1));
  }
  return PLIM_OK;
}

static void add_bytes(plim_moccasin_model *c) {
  const plim_dag *d = c->dag;
  int32_t n = c->n_positions;
  for (int32_t j = 0; j < n; j++) c->certain_bytes[j] = c->decided_bytes[j] = 0;
  for (int32_t k = 0; k < c->n_uses; k++) {
    const plim_moccasin_use *u = &c->use[k];
    int64_t bytes = c->bytes[u->node];
    c->decided_bytes[u->begin] += bytes;
    c->certain_bytes[u->certain_from] += bytes;
    if (u->reader + 1 == n) continue;
    c->decided_bytes[u->reader + 1] -= bytes;
    c->certain_bytes[u->reader + 1] -= bytes;
  }
  int64_t whole = d->base_bytes, sure = d->base_bytes;
  c->decided_peak = 0;
  for (int32_t j = 0; j < n; j++) {
    const plim_dag_node *own = &d->node[c->position[j].node];
    whole += c->decided_bytes[j];
    sure += c->certain_bytes[j];
    c->decided_bytes[j] = whole + own->bytes + own->workspace_bytes;
    c->certain_bytes[j] = sure + own->bytes + own->workspace_bytes;
    if (c->decided_bytes[j] > c->decided_peak) c->decided_peak = c->decided_bytes[j];
  }
}

/* ---- reasons ---- */

plim_status plim_moccasin_note_position(plim_moccasin_model *c, int32_t j) {
  const plim_moccasin_position *s = &c->position[j];
  if (s->variable < 0) return PLIM_OK;
  PLIM_TRY(plim_lazy_clauses_note(&c->clauses, plim_lazy_clauses_at_least(s->variable, s->stage)));
  return plim_lazy_clauses_note(&c->clauses, plim_lazy_clauses_at_most(s->variable, s->stage));
}

/* Why repeat x does not run in stages low .. high. */
static plim_status note_elsewhere(plim_moccasin_model *c, int32_t x, int32_t low, int32_t high) {
  int32_t absent = c->absent[x];
  if (high >= absent) high = absent - 1;
  if (low > high) return PLIM_OK;
  if (plim_lazy_clauses_high(&c->clauses, x) < low)
    return plim_lazy_clauses_note(&c->clauses, plim_lazy_clauses_at_most(x, low - 1));
  return plim_lazy_clauses_note(&c->clauses, plim_lazy_clauses_at_least(x, high + 1));
}

/* Its reader runs after position j, and not after the stage that it has. */
static plim_status note_reader(plim_moccasin_model *c, int32_t k, int32_t j) {
  const plim_moccasin_position *reader = &c->position[c->use[k].reader], *at = &c->position[j];
  int32_t stage = at->stage + (reader->node >= at->node ? 0 : 1);
  if (reader->variable < 0) return PLIM_OK;
  PLIM_TRY(plim_lazy_clauses_note(&c->clauses, plim_lazy_clauses_at_least(reader->variable, stage)));
  return plim_lazy_clauses_note(&c->clauses, plim_lazy_clauses_at_most(reader->variable, reader->stage));
}

plim_status plim_moccasin_note_use(plim_moccasin_model *c, int32_t k, int32_t j, int with_repeats) {
  const plim_moccasin_use *use = &c->use[k];
  if (use->reader == j) return PLIM_OK;
  PLIM_TRY(note_reader(c, k, j));
  int32_t low = plim_moccasin_stage_after(&c->position[j], use->node), high = plim_moccasin_stage_before(c, use);
  for (int32_t x = c->first[use->node]; with_repeats && x < c->first[use->node + 1]; x++) {
    PLIM_TRY(note_elsewhere(c, x, low, high));
  }
  return PLIM_OK;
}

/* The latest change after what was noted from `begin` on; the notes are dropped. */
static int32_t latest_of_notes(plim_moccasin_model *c, int32_t begin) {
  int32_t latest = -1;
  for (int32_t i = begin; i < c->clauses.reasons.n; i++) {
    int32_t at = plim_lazy_clauses_change_of(&c->clauses, c->clauses.reasons.at[i]);
    if (at > latest) latest = at;
  }
  c->clauses.reasons.n = begin;
  return latest;
}

static int by_latest(const void *a, const void *b) {
  const plim_moccasin_item *x = a, *y = b;
  if (x->latest != y->latest) return x->latest > y->latest ? -1 : 1;
  return plim_integers_compare(x->use, y->use);
}

/* Note enough of what is certainly alive at position j; `spare` bytes of it need not be told. What follows from the
 * latest decisions is left out first. */
static plim_status note_bytes(plim_moccasin_model *c, int32_t j, int64_t spare) {
  int32_t n = 0;
  for (int32_t k = 0; k < c->n_uses; k++) {
    const plim_moccasin_use *use = &c->use[k];
    int64_t bytes = c->bytes[use->node];
    if (use->certain_from > j || use->reader <= j || bytes == 0) continue; /* operands follow from the position */
    int32_t begin = c->clauses.reasons.n;
    PLIM_TRY(plim_moccasin_note_use(c, k, j, 1));
    c->item[n++] = (plim_moccasin_item){k, latest_of_notes(c, begin), bytes};
  }
  qsort(c->item, (size_t)n, sizeof *c->item, by_latest);
  PLIM_TRY(plim_moccasin_note_position(c, j));
  for (int32_t i = 0; i < n; i++) {
    if (c->item[i].bytes <= spare) {
      spare -= c->item[i].bytes;
    } else if (c->item[i].latest >= 0) {
      PLIM_TRY(plim_moccasin_note_use(c, c->item[i].use, j, 1));
    }
  }
  return PLIM_OK;
}

/* ---- propagation ---- */

static plim_status order_repeats(plim_moccasin_model *c) {
  plim_lazy_clauses *l = &c->clauses;
  for (int32_t x = 1; x < c->n_variables && !l->failed; x++) {
    if (c->node_of[x] != c->node_of[x - 1]) continue;
    int32_t absent = c->absent[x], low = plim_lazy_clauses_low(l, x - 1), high = plim_lazy_clauses_high(l, x);
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

static plim_status check_limit(plim_moccasin_model *c) {
  int32_t worst = 0;
  for (int32_t j = 1; j < c->n_positions; j++) worst = c->certain_bytes[j] > c->certain_bytes[worst] ? j : worst;
  int64_t excess = c->certain_bytes[worst] - c->limit_bytes;
  if (excess <= 0) return PLIM_OK;
  int32_t begin = c->clauses.reasons.n;
  PLIM_TRY(note_bytes(c, worst, excess - 1));
  return plim_lazy_clauses_fail(&c->clauses, begin);
}

/* The bytes of use k do not fit at position j: the only repeat that may spare it has to. */
static plim_status force_repeat(plim_moccasin_model *c, int32_t k, int32_t j) {
  const plim_moccasin_use *use = &c->use[k];
  int32_t low = plim_moccasin_stage_after(&c->position[j], use->node), high = plim_moccasin_stage_before(c, use),
          only = -1;
  for (int32_t x = c->first[use->node]; x < c->first[use->node + 1]; x++) {
    if (!plim_moccasin_may_run(c, x, low, high)) continue;
    if (only >= 0) return PLIM_OK;
    only = x;
  }
  if (only < 0 ||
      (plim_lazy_clauses_low(&c->clauses, only) >= low && plim_lazy_clauses_high(&c->clauses, only) <= high))
    return PLIM_OK;
  int32_t begin = c->clauses.reasons.n;
  PLIM_TRY(note_bytes(c, j, c->certain_bytes[j] + c->bytes[use->node] - c->limit_bytes - 1));
  PLIM_TRY(plim_moccasin_note_use(c, k, j, 0));
  for (int32_t x = c->first[use->node]; x < c->first[use->node + 1]; x++) {
    if (x != only) PLIM_TRY(note_elsewhere(c, x, low, high));
  }
  PLIM_TRY(plim_lazy_clauses_imply(&c->clauses, plim_lazy_clauses_at_least(only, low), begin));
  return c->clauses.failed ? PLIM_OK
                           : plim_lazy_clauses_imply(&c->clauses, plim_lazy_clauses_at_most(only, high), begin);
}

static plim_status force_repeats(plim_moccasin_model *c) {
  int32_t latest = -1;
  for (int32_t j = 0; j < c->n_positions; j++) {
    if (c->certain_bytes[j] > c->limit_bytes - c->largest_bytes) latest = j;
    c->tight[j] = latest;
  }
  for (int32_t k = 0; k < c->n_uses && !c->clauses.failed; k++) {
    const plim_moccasin_use *use = &c->use[k];
    int64_t room = c->limit_bytes - c->bytes[use->node];
    int32_t j = use->certain_from > use->begin ? c->tight[use->certain_from - 1] : -1;
    while (j >= use->begin && c->certain_bytes[j] <= room) j = j > 0 ? c->tight[j - 1] : -1;
    if (j >= use->begin) PLIM_TRY(force_repeat(c, k, j));
  }
  return PLIM_OK;
}

plim_status plim_moccasin_propagate(plim_moccasin_model *c) {
  plim_lazy_clauses *l = &c->clauses;
  int32_t before;
  do {
    PLIM_TRY(plim_lazy_clauses_propagate(l));
    if (!l->failed) PLIM_TRY(order_repeats(c));
    before = l->n_trail;
    if (l->failed || l->next < before) continue;
    PLIM_TRY(list_positions(c));
    PLIM_TRY(list_uses(c));
    add_bytes(c);
    PLIM_TRY(check_limit(c));
    if (!l->failed) PLIM_TRY(force_repeats(c));
  } while (!l->failed && l->next < l->n_trail);
  return PLIM_OK;
}

plim_status plim_moccasin_repeats(const plim_moccasin_model *c, plim_repeats *out) {
  out->n = 0;
  for (int32_t j = 0; j < c->n_positions; j++) {
    if (c->position[j].variable >= 0)
      PLIM_TRY(plim_repeats_add(out, (plim_repeat){c->position[j].stage, c->position[j].node}));
  }
  return PLIM_OK;
}
