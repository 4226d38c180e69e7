/* The variables of the constraint search, and what bytes imply. Bounds on the stages of repeats go in. What comes out
 * are closer bounds, or a conflict, with the bounds that they follow from.
 *
 * Bytes that are read at a position are alive since the latest point at which they may have been computed: the latest
 * stage that one of the node's repeats can still take. That is the compulsory part of its lifetime (as in cumulative
 * scheduling). Where compulsory parts exceed the limit, there is a conflict. Where those of one more node would
 * exceed it, a repeat of that node must run between the position and its reader. */
#include "planner/exact/moccasin_internal.h"

#include <stdlib.h>

#include "planner/exact/dag.h"
#include "runtime/base/array.h"
#include "runtime/base/integers.h"

typedef struct plim_moccasin_item {
  int32_t use, latest; /* latest change that it follows from */
  int64_t bytes;
} plim_moccasin_item;

static plim_status make_variables(plim_moccasin_model *model, int32_t copies) {
  const plim_dag *dag = model->dag;
  plim_context *ctx = dag->ctx;
  int32_t *low = NULL, *high = NULL;
  int64_t n = 0;
  plim_status status;
  for (int32_t v = 0; v < dag->n; v++) {
    int32_t max_repeats = dag->node[v].last_stage - v;
    model->first[v] = (int32_t)n;
    n += max_repeats < copies - 1 ? max_repeats : copies - 1;
    if (n > INT32_MAX / 4) return plim_fail(ctx, PLIM_EUNSUPPORTED, "too many copies of too many ops to search");
  }
  model->first[dag->n] = model->n_variables = (int32_t)n;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n + 1, sizeof *model->node_of, &model->node_of));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n + 1, sizeof *model->absent, &model->absent));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n + 1, sizeof *model->next_in_stage, &model->next_in_stage));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n + 1, sizeof *low, &low));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n + 1, sizeof *high, &high));
  for (int32_t v = 0; v < dag->n; v++) {
    for (int32_t x = model->first[v]; x < model->first[v + 1]; x++) {
      model->node_of[x] = v;
      low[x] = v + 1 + x - model->first[v];
      high[x] = model->absent[x] = dag->node[v].last_stage + 1;
    }
  }
  PLIM_TRY_OR_DONE(plim_lazy_clauses_make(ctx, model->n_variables, low, high, &model->clauses));
done:
  plim_release(ctx, low, n + 1, sizeof *low);
  plim_release(ctx, high, n + 1, sizeof *high);
  return status;
}

plim_status plim_moccasin_make(const plim_dag *dag, int32_t copies, int64_t limit_bytes, plim_moccasin_model *out) {
  plim_moccasin_model model = {.dag = dag, .limit_bytes = limit_bytes};
  plim_context *ctx = dag->ctx;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)dag->n + 1, sizeof *model.first, &model.first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, dag->n, sizeof *model.bytes, &model.bytes));
  PLIM_TRY_OR_DONE(make_variables(&model, copies));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, dag->n, sizeof *model.head, &model.head));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, dag->n, sizeof *model.begin_of, &model.begin_of));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, dag->n, sizeof *model.covered, &model.covered));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, dag->n, sizeof *model.item, &model.item));
  for (int32_t v = 0; v < dag->n; v++) {
    model.bytes[v] = dag->node[v].bytes;
    if (model.bytes[v] > model.largest_bytes) model.largest_bytes = model.bytes[v];
  }
  *out = model;
done:
  if (status != PLIM_OK) plim_moccasin_free(&model);
  return status;
}

static void release_positions(plim_moccasin_model *model) {
  plim_context *ctx = model->dag->ctx;
  plim_release(ctx, model->position, model->position_capacity, sizeof *model->position);
  plim_release(ctx, model->certain_bytes, model->position_capacity, sizeof *model->certain_bytes);
  plim_release(ctx, model->decided_bytes, model->position_capacity, sizeof *model->decided_bytes);
  plim_release(ctx, model->tight, model->position_capacity, sizeof *model->tight);
  model->position = NULL;
  model->certain_bytes = model->decided_bytes = NULL;
  model->tight = NULL;
}

void plim_moccasin_free(plim_moccasin_model *model) {
  if (!model->dag) return;
  plim_context *ctx = model->dag->ctx;
  int32_t n = model->dag->n;
  release_positions(model);
  plim_lazy_clauses_free(&model->clauses);
  plim_release(ctx, model->first, (int64_t)n + 1, sizeof *model->first);
  plim_release(ctx, model->node_of, (int64_t)model->n_variables + 1, sizeof *model->node_of);
  plim_release(ctx, model->absent, (int64_t)model->n_variables + 1, sizeof *model->absent);
  plim_release(ctx, model->bytes, n, sizeof *model->bytes);
  plim_release(ctx, model->next_in_stage, (int64_t)model->n_variables + 1, sizeof *model->next_in_stage);
  plim_release(ctx, model->head, n, sizeof *model->head);
  plim_release(ctx, model->begin_of, n, sizeof *model->begin_of);
  plim_release(ctx, model->covered, n, sizeof *model->covered);
  plim_release(ctx, model->item, n, sizeof *model->item);
  plim_release(ctx, model->use, model->use_capacity, sizeof *model->use);
  *model = (plim_moccasin_model){0};
}

int plim_moccasin_may_run(const plim_moccasin_model *model, int32_t x, int32_t low, int32_t high) {
  int32_t last = model->absent[x] - 1;
  int32_t from = plim_lazy_clauses_low(&model->clauses, x), to = plim_lazy_clauses_high(&model->clauses, x);
  if (to > last) to = last;
  return (from > low ? from : low) <= (to < high ? to : high);
}

/* ---- the look ---- */

static plim_status reserve_positions(plim_moccasin_model *model, int32_t n) {
  plim_context *ctx = model->dag->ctx;
  if (n <= model->position_capacity) return PLIM_OK;
  release_positions(model);
  model->position_capacity = n + n / 2;
  PLIM_TRY(plim_allocate(ctx, model->position_capacity, sizeof *model->position, &model->position));
  PLIM_TRY(plim_allocate(ctx, model->position_capacity, sizeof *model->certain_bytes, &model->certain_bytes));
  PLIM_TRY(plim_allocate(ctx, model->position_capacity, sizeof *model->decided_bytes, &model->decided_bytes));
  return plim_allocate(ctx, model->position_capacity, sizeof *model->tight, &model->tight);
}

/* Positions: the repeats decided for a stage, in order, then its first run. */
static plim_status list_positions(plim_moccasin_model *model) {
  const plim_dag *dag = model->dag;
  int32_t repeats = 0;
  for (int32_t v = 0; v < dag->n; v++) model->head[v] = -1;
  for (int32_t x = model->n_variables - 1; x >= 0; x--) {
    int32_t stage = plim_lazy_clauses_low(&model->clauses, x);
    if (!plim_moccasin_fixed(model, x) || stage == model->absent[x]) continue;
    model->next_in_stage[x] = model->head[stage];
    model->head[stage] = x;
    repeats++;
  }
  PLIM_TRY(reserve_positions(model, dag->n + repeats));
  model->n_positions = 0;
  for (int32_t t = 0; t < dag->n; t++) {
    model->begin_of[t] = model->n_positions;
    for (int32_t x = model->head[t]; x >= 0; x = model->next_in_stage[x]) {
      model->position[model->n_positions++] = (plim_moccasin_position){t, model->node_of[x], x};
    }
    model->position[model->n_positions++] = (plim_moccasin_position){t, t, -1};
  }
  return PLIM_OK;
}

/* The first position at which an undecided repeat of u, as late as it can be up to that stage, may have run. */
static int32_t sure_from(const plim_moccasin_model *model, int32_t u, int32_t stage, int32_t reader) {
  int32_t latest = -1;
  for (int32_t x = model->first[u]; x < model->first[u + 1]; x++) {
    int32_t last = model->absent[x] - 1, to = plim_lazy_clauses_high(&model->clauses, x);
    if (to > last) to = last;
    if (to > stage) to = stage;
    if (plim_lazy_clauses_low(&model->clauses, x) <= to && to > latest && !plim_moccasin_fixed(model, x)) latest = to;
  }
  if (latest < 0) return 0;
  int32_t j = model->begin_of[latest];
  while (j < reader && model->position[j].stage == latest && model->position[j].node < u) j++;
  return j;
}

static plim_status add_use(plim_moccasin_model *model, int32_t u, int32_t reader) {
  int32_t begin = model->covered[u] + 1, sure = sure_from(model, u, model->position[reader].stage, reader);
  if (sure < begin) sure = begin;
  if (begin > reader) return PLIM_OK;
  PLIM_TRY(plim_array_reserve(model->dag->ctx, &model->use, &model->use_capacity, (int64_t)model->n_uses + 1,
                              sizeof *model->use));
  model->use[model->n_uses++] = (plim_moccasin_use){u, reader, begin, sure};
  model->covered[u] = reader;
  return PLIM_OK;
}

static plim_status list_uses(plim_moccasin_model *model) {
  const plim_dag *dag = model->dag;
  model->n_uses = 0;
  for (int32_t j = 0; j < model->n_positions; j++) {
    const plim_ids *preds = &dag->node[model->position[j].node].preds;
    for (int32_t i = 0; i < preds->n; i++) PLIM_TRY(add_use(model, preds->at[i], j));
    model->covered[model->position[j].node] = j;
  }
  for (int32_t v = 0; v < dag->n; v++) {
    if (dag->node[v].is_output) PLIM_TRY(add_use(model, v, model->n_positions - 1));
  }
  return PLIM_OK;
}

static void add_bytes(plim_moccasin_model *model) {
  const plim_dag *dag = model->dag;
  int32_t n = model->n_positions;
  for (int32_t j = 0; j < n; j++) model->certain_bytes[j] = model->decided_bytes[j] = 0;
  for (int32_t k = 0; k < model->n_uses; k++) {
    const plim_moccasin_use *use = &model->use[k];
    int64_t bytes = model->bytes[use->node];
    model->decided_bytes[use->begin] += bytes;
    model->certain_bytes[use->certain_from] += bytes;
    if (use->reader + 1 == n) continue;
    model->decided_bytes[use->reader + 1] -= bytes;
    model->certain_bytes[use->reader + 1] -= bytes;
  }
  int64_t whole = dag->base_bytes, sure = dag->base_bytes;
  model->decided_peak = 0;
  for (int32_t j = 0; j < n; j++) {
    const plim_dag_node *own = &dag->node[model->position[j].node];
    whole += model->decided_bytes[j];
    sure += model->certain_bytes[j];
    model->decided_bytes[j] = whole + own->bytes + own->workspace_bytes;
    model->certain_bytes[j] = sure + own->bytes + own->workspace_bytes;
    if (model->decided_bytes[j] > model->decided_peak) model->decided_peak = model->decided_bytes[j];
  }
}

/* ---- reasons ---- */

plim_status plim_moccasin_note_position(plim_moccasin_model *model, int32_t j) {
  const plim_moccasin_position *s = &model->position[j];
  if (s->variable < 0) return PLIM_OK;
  PLIM_TRY(plim_lazy_clauses_note(&model->clauses, plim_lazy_clauses_at_least(s->variable, s->stage)));
  return plim_lazy_clauses_note(&model->clauses, plim_lazy_clauses_at_most(s->variable, s->stage));
}

/* Why repeat x does not run in stages low .. high. */
static plim_status note_elsewhere(plim_moccasin_model *model, int32_t x, int32_t low, int32_t high) {
  int32_t absent = model->absent[x];
  if (high >= absent) high = absent - 1;
  if (low > high) return PLIM_OK;
  if (plim_lazy_clauses_high(&model->clauses, x) < low) {
    return plim_lazy_clauses_note(&model->clauses, plim_lazy_clauses_at_most(x, low - 1));
  }
  return plim_lazy_clauses_note(&model->clauses, plim_lazy_clauses_at_least(x, high + 1));
}

/* Its reader runs after position j, and not after the stage that it has. */
static plim_status note_reader(plim_moccasin_model *model, int32_t k, int32_t j) {
  const plim_moccasin_position *reader = &model->position[model->use[k].reader], *at = &model->position[j];
  int32_t stage = at->stage + (reader->node >= at->node ? 0 : 1);
  if (reader->variable < 0) return PLIM_OK;
  PLIM_TRY(plim_lazy_clauses_note(&model->clauses, plim_lazy_clauses_at_least(reader->variable, stage)));
  return plim_lazy_clauses_note(&model->clauses, plim_lazy_clauses_at_most(reader->variable, reader->stage));
}

plim_status plim_moccasin_note_use(plim_moccasin_model *model, int32_t k, int32_t j, int with_repeats) {
  const plim_moccasin_use *use = &model->use[k];
  if (use->reader == j) return PLIM_OK;
  PLIM_TRY(note_reader(model, k, j));
  int32_t low = plim_moccasin_stage_after(&model->position[j], use->node),
          high = plim_moccasin_stage_before(model, use);
  for (int32_t x = model->first[use->node]; with_repeats && x < model->first[use->node + 1]; x++) {
    PLIM_TRY(note_elsewhere(model, x, low, high));
  }
  return PLIM_OK;
}

/* The latest change after what was noted from `begin` on; the notes are dropped. */
static int32_t latest_of_notes(plim_moccasin_model *model, int32_t begin) {
  int32_t latest = -1;
  for (int32_t i = begin; i < model->clauses.reasons.n; i++) {
    int32_t at = plim_lazy_clauses_change_of(&model->clauses, model->clauses.reasons.at[i]);
    if (at > latest) latest = at;
  }
  model->clauses.reasons.n = begin;
  return latest;
}

static int by_latest(const void *a, const void *b) {
  const plim_moccasin_item *x = a, *y = b;
  if (x->latest != y->latest) return x->latest > y->latest ? -1 : 1;
  return plim_integers_compare(x->use, y->use);
}

/* Note enough of what is certainly alive at position j; `spare` bytes of it need not be told. What follows from the
 * latest decisions is left out first. */
static plim_status note_bytes(plim_moccasin_model *model, int32_t j, int64_t spare) {
  int32_t n = 0;
  for (int32_t k = 0; k < model->n_uses; k++) {
    const plim_moccasin_use *use = &model->use[k];
    int64_t bytes = model->bytes[use->node];
    if (use->certain_from > j || use->reader <= j || bytes == 0) continue; /* operands follow from the position */
    int32_t begin = model->clauses.reasons.n;
    PLIM_TRY(plim_moccasin_note_use(model, k, j, 1));
    model->item[n++] = (plim_moccasin_item){k, latest_of_notes(model, begin), bytes};
  }
  qsort(model->item, (size_t)n, sizeof *model->item, by_latest);
  PLIM_TRY(plim_moccasin_note_position(model, j));
  for (int32_t i = 0; i < n; i++) {
    if (model->item[i].bytes <= spare) {
      spare -= model->item[i].bytes;
    } else if (model->item[i].latest >= 0) {
      PLIM_TRY(plim_moccasin_note_use(model, model->item[i].use, j, 1));
    }
  }
  return PLIM_OK;
}

/* ---- propagation ---- */

static plim_status order_repeats(plim_moccasin_model *model) {
  plim_lazy_clauses *clauses = &model->clauses;
  for (int32_t x = 1; x < model->n_variables && !clauses->has_failed; x++) {
    if (model->node_of[x] != model->node_of[x - 1]) continue;
    int32_t absent = model->absent[x], low = plim_lazy_clauses_low(clauses, x - 1),
            high = plim_lazy_clauses_high(clauses, x);
    int32_t least = low < absent ? low + 1 : absent, begin = clauses->reasons.n;
    if (plim_lazy_clauses_low(clauses, x) < least) {
      PLIM_TRY(plim_lazy_clauses_note(clauses, plim_lazy_clauses_at_least(x - 1, low)));
      PLIM_TRY(plim_lazy_clauses_imply(clauses, plim_lazy_clauses_at_least(x, least), begin));
    }
    begin = clauses->reasons.n;
    if (!clauses->has_failed && high < absent && plim_lazy_clauses_high(clauses, x - 1) >= high) {
      PLIM_TRY(plim_lazy_clauses_note(clauses, plim_lazy_clauses_at_most(x, high)));
      PLIM_TRY(plim_lazy_clauses_imply(clauses, plim_lazy_clauses_at_most(x - 1, high - 1), begin));
    }
  }
  return PLIM_OK;
}

static plim_status check_limit(plim_moccasin_model *model) {
  int32_t worst = 0;
  for (int32_t j = 1; j < model->n_positions; j++) {
    worst = model->certain_bytes[j] > model->certain_bytes[worst] ? j : worst;
  }
  int64_t excess = model->certain_bytes[worst] - model->limit_bytes;
  if (excess <= 0) return PLIM_OK;
  int32_t begin = model->clauses.reasons.n;
  PLIM_TRY(note_bytes(model, worst, excess - 1));
  return plim_lazy_clauses_fail(&model->clauses, begin);
}

/* The bytes of use k do not fit at position j: the only repeat that may spare it has to. */
static plim_status force_repeat(plim_moccasin_model *model, int32_t k, int32_t j) {
  const plim_moccasin_use *use = &model->use[k];
  int32_t low = plim_moccasin_stage_after(&model->position[j], use->node),
          high = plim_moccasin_stage_before(model, use), only = -1;
  for (int32_t x = model->first[use->node]; x < model->first[use->node + 1]; x++) {
    if (!plim_moccasin_may_run(model, x, low, high)) continue;
    if (only >= 0) return PLIM_OK;
    only = x;
  }
  if (only < 0 ||
      (plim_lazy_clauses_low(&model->clauses, only) >= low && plim_lazy_clauses_high(&model->clauses, only) <= high)) {
    return PLIM_OK;
  }
  int32_t begin = model->clauses.reasons.n;
  PLIM_TRY(note_bytes(model, j, model->certain_bytes[j] + model->bytes[use->node] - model->limit_bytes - 1));
  PLIM_TRY(plim_moccasin_note_use(model, k, j, 0));
  for (int32_t x = model->first[use->node]; x < model->first[use->node + 1]; x++) {
    if (x != only) PLIM_TRY(note_elsewhere(model, x, low, high));
  }
  PLIM_TRY(plim_lazy_clauses_imply(&model->clauses, plim_lazy_clauses_at_least(only, low), begin));
  return model->clauses.has_failed
             ? PLIM_OK
             : plim_lazy_clauses_imply(&model->clauses, plim_lazy_clauses_at_most(only, high), begin);
}

static plim_status force_repeats(plim_moccasin_model *model) {
  int32_t latest = -1;
  for (int32_t j = 0; j < model->n_positions; j++) {
    if (model->certain_bytes[j] > model->limit_bytes - model->largest_bytes) latest = j;
    model->tight[j] = latest;
  }
  for (int32_t k = 0; k < model->n_uses && !model->clauses.has_failed; k++) {
    const plim_moccasin_use *use = &model->use[k];
    int64_t room = model->limit_bytes - model->bytes[use->node];
    int32_t j = use->certain_from > use->begin ? model->tight[use->certain_from - 1] : -1;
    while (j >= use->begin && model->certain_bytes[j] <= room) j = j > 0 ? model->tight[j - 1] : -1;
    if (j >= use->begin) PLIM_TRY(force_repeat(model, k, j));
  }
  return PLIM_OK;
}

plim_status plim_moccasin_propagate(plim_moccasin_model *model) {
  plim_lazy_clauses *clauses = &model->clauses;
  int32_t before;
  do {
    PLIM_TRY(plim_lazy_clauses_propagate(clauses));
    if (!clauses->has_failed) PLIM_TRY(order_repeats(model));
    before = clauses->n_trail;
    if (clauses->has_failed || clauses->next < before) continue;
    PLIM_TRY(list_positions(model));
    PLIM_TRY(list_uses(model));
    add_bytes(model);
    PLIM_TRY(check_limit(model));
    if (!clauses->has_failed) PLIM_TRY(force_repeats(model));
  } while (!clauses->has_failed && clauses->next < clauses->n_trail);
  return PLIM_OK;
}

plim_status plim_moccasin_repeats(const plim_moccasin_model *model, plim_repeats *out) {
  out->n = 0;
  for (int32_t j = 0; j < model->n_positions; j++) {
    if (model->position[j].variable >= 0) {
      PLIM_TRY(plim_repeats_add(out, (plim_repeat){model->position[j].stage, model->position[j].node}));
    }
  }
  return PLIM_OK;
}
