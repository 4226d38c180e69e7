/* Plans whose optimizer state is at home in the page space.
 *
 * Such a storage is touched by one op alone, its update. So the graph without it, in which the update has a workspace
 * of its bytes, has the same plans for the rest of the arena. In a plan of that graph the workspace becomes the
 * storage's buffer: a copy from its home begins it before the update, and a copy to its home ends it after the update.
 * A step of another graph, evaluation, that does not touch it has it at home where the plan of training has it there,
 * at the same offset. */
#include <stdio.h>
#include <string.h>

#include "planner/paging/paging.h"
#include "planner/paging/paging_tuning.h"
#include "runtime/graph/check.h"

enum { QUEUE_OUT = 1, QUEUE_IN = 2, SPACES = 2 };

/* ---- the graph without them ---- */

/* Then the graph without its states still has it as an update. */
static int updates_param(const plim_graph *g, const plim_op *op) {
  for (int32_t i = 0; i < op->n_updates; i++) {
    if (g->storage[op->updates[i]].role == PLIM_ROLE_PARAM) return 1;
  }
  return 0;
}

/* Has the plan beside which this one is made the storage of that name at home in the page space? */
static int is_homed_beside(const plim_paging *o, const char *name) {
  const int32_t v = plim_graph_find_value(o->beside_graph, name), s = v < 0 ? -1 : o->beside_graph->value[v].storage;
  if (s < 0 || o->beside_graph->storage[s].role != PLIM_ROLE_STATE) return 0;
  for (int32_t i = 0; i < o->beside->n_buffers && o->beside->buffer[i].begin == 0; i++) {
    const plim_plan_buffer *b = &o->beside->buffer[i];
    if (b->storage == s && b->space == 1 && b->end == o->beside->n_steps) return 1;
  }
  return 0;
}

static int is_homed(const plim_paging *o, const plim_graph *g, int32_t s) {
  int32_t updaters = g->updater_first[s + 1] - g->updater_first[s];
  if (g->storage[s].role != PLIM_ROLE_STATE || g->storage[s].bytes == 0) return 0;
  if (g->reader_first[s + 1] > g->reader_first[s] || updaters > 1) return 0;
  if (o->beside) return updaters == 0 && is_homed_beside(o, plim_graph_storage_name(g, s, ""));
  if (updaters == 0) return 1;
  const plim_op *op = &g->op[g->updater[g->updater_first[s]]];
  return op->phase == PLIM_PHASE_UPDATE && updates_param(g, op);
}

int64_t plim_home_bytes(const plim_paging *paging, const plim_graph *g) {
  int64_t bytes = 0;
  for (int32_t s = 0; s < g->n_storages; s++) {
    if (is_homed(paging, g, s)) bytes += plim_align_up(g->storage[s].bytes, PLIM_ALIGN);
  }
  return bytes;
}

/* Bytes of an op's operands that are at home elsewhere. */
static int64_t away_bytes(const plim_paging *o, const plim_graph *g, const plim_op *op) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < op->n_updates; i++) {
    if (is_homed(o, g, op->updates[i])) bytes += plim_align_up(g->storage[op->updates[i]].bytes, PLIM_ALIGN);
  }
  return bytes;
}

typedef struct reducer {
  plim_context *ctx;
  const plim_paging *o;
  const plim_graph *g;
  plim_graph_builder *builder;
  int32_t *storage, *value; /* [n_storages], [n_values] ids in the graph without; -1: not there */
  int32_t *pool;            /* inputs of the op in hand */
} reducer;

static plim_status add_values(const reducer *r) {
  const plim_graph *g = r->g;
  for (int32_t s = 0; s < g->n_storages; s++) {
    r->storage[s] = -1;
    if (is_homed(r->o, g, s)) continue;
    PLIM_TRY(plim_graph_add_storage(r->builder, g->storage[s].role, g->storage[s].bytes, &r->storage[s]));
  }
  for (int32_t v = 0; v < g->n_values; v++) {
    const plim_value *value = &g->value[v];
    r->value[v] = -1;
    if (r->storage[value->storage] < 0) continue;
    PLIM_TRY(plim_graph_add_value(r->builder, value->name, r->storage[value->storage], value->offset, &value->shape,
                                  &r->value[v]));
  }
  return PLIM_OK;
}

static plim_status add_op(const reducer *r, const plim_op *op) {
  int32_t id;
  const int away = away_bytes(r->o, r->g, op) > 0;
  const plim_attrs none = {0};
  plim_op_spec spec = {.name = op->name,
                       .kind = away ? PLIM_OP_CUSTOM : op->kind,
                       .cls = op->cls,
                       .phase = op->phase,
                       .attrs = away ? none : op->attrs,
                       .n_in = op->n_in,
                       .n_out = op->n_out,
                       .n_pairs = op->n_pairs,
                       .many_in = r->pool,
                       .time_ns = op->time_ns};
  for (int32_t i = 0; i < op->n_in; i++) r->pool[i] = r->value[op->in[i]];
  for (int32_t i = 0; i < op->n_out; i++) spec.out[i] = r->value[op->out[i]];
  for (int32_t i = 0; i < op->n_pairs; i++) spec.pair[i] = op->pair[i];
  for (int32_t i = 0; i < op->n_upd; i++) {
    if (r->value[op->upd[i]] >= 0) spec.upd[spec.n_upd++] = r->value[op->upd[i]];
  }
  return plim_graph_add_op(r->builder, &spec, &id);
}

static plim_status build(reducer *r, plim_graph **out) {
  PLIM_TRY(plim_graph_begin(r->ctx, r->g->name, r->g->batch, &r->builder));
  PLIM_TRY(add_values(r));
  for (int32_t o = 0; o < r->g->n_ops; o++) PLIM_TRY(add_op(r, &r->g->op[o]));
  plim_graph_builder *builder = r->builder;
  r->builder = NULL; /* freed by the next call in any case */
  return plim_graph_end(builder, out);
}

/* The update's workspace is its own and that of what is away. */
static plim_status make_profile(plim_context *ctx, const plim_paging *o, const plim_graph *g, const plim_graph *reduced,
                                const plim_profile *profile, plim_profile **out) {
  int64_t rows = profile->first[g->n_ops];
  plim_variant *variant = NULL;
  PLIM_TRY(plim_allocate(ctx, rows, sizeof *variant, &variant));
  for (int32_t i = 0; i < g->n_ops; i++) {
    int64_t away = away_bytes(o, g, &g->op[i]);
    for (int32_t j = profile->first[i]; j < profile->first[i + 1]; j++) {
      variant[j] = profile->variant[j];
      if (away > 0) variant[j].workspace_bytes = away + plim_align_up(variant[j].workspace_bytes, PLIM_ALIGN);
    }
  }
  plim_status status = plim_profile_make(reduced, &profile->machine, profile->measured, profile->first, variant, out);
  plim_release(ctx, variant, rows, sizeof *variant);
  return status;
}

static plim_status reduce(plim_context *ctx, const plim_paging *o, const plim_graph *g, const plim_profile *profile,
                          plim_graph **graph, plim_profile **reduced) {
  reducer r = {.ctx = ctx, .o = o, .g = g};
  int64_t inputs = 1;
  plim_status status;
  for (int32_t i = 0; i < g->n_ops; i++) inputs = g->op[i].n_in > inputs ? g->op[i].n_in : inputs;
  PLIM_CHECK(plim_allocate(ctx, g->n_storages, sizeof *r.storage, &r.storage));
  PLIM_CHECK(plim_allocate(ctx, g->n_values, sizeof *r.value, &r.value));
  PLIM_CHECK(plim_allocate(ctx, inputs, sizeof *r.pool, &r.pool));
  PLIM_CHECK(build(&r, graph));
  PLIM_CHECK(make_profile(ctx, o, g, *graph, profile, reduced));
done:
  plim_graph_builder_free(r.builder);
  plim_release(ctx, r.storage, g->n_storages, sizeof *r.storage);
  plim_release(ctx, r.value, g->n_values, sizeof *r.value);
  plim_release(ctx, r.pool, inputs, sizeof *r.pool);
  return status;
}

/* ---- from its plan to one of the graph ---- */

typedef struct homing {
  const plim_graph *g;
  const plim_plan *plan; /* of the graph without */
  const plim_paging *o;
  plim_command_list list;
  int32_t *storage;     /* [storages of the graph without] of g */
  int32_t *now[SPACES]; /* [n_storages] buffer that began last */
  int32_t *home;        /* [n_storages] buffer at home; -1: in the arena */
} homing;

/* Homes lie one after another from the start of the page space, in every step of a program. */
static void add_homes(homing *h) {
  int64_t offset = 0;
  for (int32_t s = 0, kept = 0; s < h->g->n_storages; s++) {
    h->now[0][s] = h->now[1][s] = h->home[s] = -1;
    if (!is_homed(h->o, h->g, s)) {
      h->storage[kept++] = s;
      continue;
    }
    int64_t bytes = plim_align_up(h->g->storage[s].bytes, PLIM_ALIGN);
    h->home[s] = plim_list_add_buffer(&h->list, s, 1, -1, bytes, offset);
    if (h->list.status == PLIM_OK) h->list.buffer[h->home[s]].stays = 1;
    offset += bytes;
  }
}

/* in 1: a copy from its home begins the storage's buffer at `offset`; 0: one to its home. */
static void add_home_copy(homing *h, int32_t s, int in, int64_t offset) {
  const int64_t bytes = plim_align_up(h->g->storage[s].bytes, PLIM_ALIGN);
  plim_step step = {.kind = PLIM_STEP_COPY, .queue = in ? QUEUE_IN : QUEUE_OUT, .storage = s, .from = in, .to = !in};
  if (in) h->now[0][s] = plim_list_add_buffer(&h->list, s, 0, h->list.n, bytes, offset);
  plim_list_add_use(&h->list, in ? h->home[s] : h->now[0][s], 0);
  plim_list_add_use(&h->list, in ? h->now[0][s] : h->home[s], 1);
  (void)plim_list_add(&h->list, &step, plim_paging_link_ns(h->o, in, h->g->storage[s].bytes));
}

static int64_t workspace_offset(const plim_plan *plan, int32_t begin, int32_t end) {
  for (int32_t i = begin; i < end; i++) {
    if (plan->buffer[i].storage < 0) return plan->buffer[i].offset;
  }
  return -1;
}

/* Buffer i of the plan, which begins at the command that is added next. `away`: bytes of a workspace that are not the
 * op's own. */
static void begin_buffer(homing *h, int32_t i, int64_t away) {
  const plim_plan_buffer *b = &h->plan->buffer[i];
  if (b->storage < 0) {
    if (b->bytes > away) {
      int32_t id = plim_list_add_buffer(&h->list, -1, b->space, h->list.n, b->bytes - away, b->offset + away);
      plim_list_add_use(&h->list, id, 1);
    }
    return;
  }
  int32_t s = h->storage[b->storage], given = h->g->storage[s].producer < 0 && b->begin == 0 && b->space == 0;
  int32_t id = plim_list_add_buffer(&h->list, s, b->space, given ? -1 : h->list.n, b->bytes, b->offset);
  if (h->list.status != PLIM_OK) return;
  h->list.buffer[id].stays = b->end == h->plan->n_steps &&
                             (plim_role_persistent(h->g->storage[s].role) || h->g->storage[s].role == PLIM_ROLE_OUTPUT);
  h->now[b->space][s] = id;
}

/* Inputs that a run writes over end there, and their outputs have their boxes. */
static void take_pairs(homing *h, const plim_step *step, const plim_op *op) {
  for (int32_t i = 0; i < step->n_pairs; i++) {
    int32_t in = h->now[0][h->g->value[op->in[step->pair[i].in]].storage];
    int32_t out = h->now[0][h->g->value[op->out[step->pair[i].out]].storage];
    if (in >= 0 && out >= 0) plim_list_overwrite(&h->list, in, out);
  }
}

static void add_run(homing *h, const plim_step *step, int32_t begin, int32_t end) {
  const plim_op *op = &h->g->op[step->op];
  int64_t away = away_bytes(h->o, h->g, op), offset = workspace_offset(h->plan, begin, end);
  for (int32_t i = 0; i < op->n_updates; i++) {
    if (h->home[op->updates[i]] < 0) continue;
    add_home_copy(h, op->updates[i], 1, offset);
    offset += plim_align_up(h->g->storage[op->updates[i]].bytes, PLIM_ALIGN);
  }
  for (int32_t i = begin; i < end; i++) begin_buffer(h, i, away);
  plim_list_add_uses(&h->list, op->n_reads, op->reads, h->now[0], 0);
  plim_list_add_uses(&h->list, op->n_writes, op->writes, h->now[0], 1);
  plim_list_add_uses(&h->list, op->n_updates, op->updates, h->now[0], 1);
  if (h->list.status == PLIM_OK) take_pairs(h, step, op);
  (void)plim_list_add(&h->list, step, h->plan->variant[step->variant].variant.time_ns);
  for (int32_t i = 0; i < op->n_updates; i++) {
    if (h->home[op->updates[i]] >= 0) add_home_copy(h, op->updates[i], 0, -1);
  }
}

static void add_copy(homing *h, const plim_step *step, int32_t begin, int32_t end) {
  plim_step copy = *step;
  copy.storage = h->storage[step->storage];
  plim_list_add_use(&h->list, h->now[step->from][copy.storage], 0);
  for (int32_t i = begin; i < end; i++) begin_buffer(h, i, 0);
  plim_list_add_use(&h->list, h->now[step->to][copy.storage], 1);
  (void)plim_list_add(&h->list, &copy, step->time_ns);
}

static plim_status add_commands(homing *h) {
  const plim_plan *plan = h->plan;
  add_homes(h);
  for (int32_t j = 0, begin = 0, end = 0; j < plan->n_steps; j++, begin = end) {
    while (end < plan->n_buffers && plan->buffer[end].begin == j) end++;
    PLIM_TRY(h->list.status);
    if (plan->step[j].kind == PLIM_STEP_COPY) {
      add_copy(h, &plan->step[j], begin, end);
    } else {
      add_run(h, &plan->step[j], begin, end);
    }
  }
  return h->list.status;
}

static plim_status draft_plan(const homing *h, int64_t budget_bytes, int64_t keep_all_ns, plim_plan **out) {
  const plim_plan *plan = h->plan;
  plim_page_space page = {.budget_bytes = h->o->budget_bytes};
  plim_plan draft = *plan;
  plim_plan_variant *variant = NULL;
  PLIM_TRY(plim_allocate(plan->ctx, plan->n_variants, sizeof *variant, &variant));
  for (int32_t i = 0; i < plan->n_variants; i++) {
    variant[i] = plan->variant[i];
    variant[i].variant.workspace_bytes -= away_bytes(h->o, h->g, &h->g->op[variant[i].op]);
  }
  (void)snprintf(page.name, sizeof page.name, "%s", h->o->space);
  if (!strstr(plan->planner, "paged"))
    (void)snprintf(draft.planner, sizeof draft.planner, "%.24s, paged", plan->planner);
  draft.variant = variant;
  draft.plan_class = PLIM_CLASS_FREE;
  draft.budget_bytes = budget_bytes;
  draft.keep_all_ns = draft.bound_ns = keep_all_ns;
  draft.proved = 0;
  draft.n_pages = 1;
  draft.page = &page;
  plim_status status = plim_list_plan(&h->list, &draft, out);
  plim_release(plan->ctx, variant, plan->n_variants, sizeof *variant);
  return status;
}

/* Copies spread as far as bytes allow, packed again; where that does not fit, as the plan has them. */
static plim_status finish(homing *h, int64_t budget_bytes, int64_t keep_all_ns, plim_plan **out) {
  static const double shares[] = {1, 0.97, 0.9};
  const int32_t computes[] = {1, 0};
  int fits = 0;
  for (size_t i = 0; i <= sizeof shares / sizeof *shares && !fits; i++) {
    int spreads = i < sizeof shares / sizeof *shares;
    int64_t most = budget_bytes < INT64_MAX && spreads ? (int64_t)((double)budget_bytes * shares[i]) : INT64_MAX;
    const int64_t limit[] = {most, INT64_MAX};
    PLIM_TRY(plim_list_begin(&h->list));
    if (spreads) {
      PLIM_TRY(plim_list_spread(&h->list, SPACES, computes, limit));
      PLIM_TRY(plim_list_pack(&h->list, 0, budget_bytes, tuning.lower.effort, &fits));
    } else {
      fits = 1;
    }
    if (fits) PLIM_TRY(plim_list_pack(&h->list, 1, h->o->budget_bytes, tuning.lower.effort, &fits));
  }
  if (fits) return draft_plan(h, budget_bytes, keep_all_ns, out);
  return plim_fail(h->list.ctx, PLIM_ENOFIT, "%s has less than the %lld bytes of the optimizer's state and what pages",
                   h->o->space, (long long)plim_home_bytes(h->o, h->g));
}

static plim_status lower(plim_context *ctx, const plim_graph *g, const plim_plan *plan, const plim_paging *o,
                         int64_t budget_bytes, int64_t keep_all_ns, plim_plan **out) {
  homing h = {.g = g, .plan = plan, .o = o, .list = {.ctx = ctx, .graph = g}};
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, g->n_storages, sizeof *h.storage, &h.storage));
  PLIM_CHECK(plim_allocate(ctx, g->n_storages, sizeof *h.home, &h.home));
  for (int k = 0; k < SPACES; k++) PLIM_CHECK(plim_allocate(ctx, g->n_storages, sizeof *h.now[k], &h.now[k]));
  PLIM_CHECK(add_commands(&h));
  PLIM_CHECK(finish(&h, budget_bytes, keep_all_ns, out));
done:
  plim_list_free(&h.list);
  plim_release(ctx, h.storage, g->n_storages, sizeof *h.storage);
  plim_release(ctx, h.home, g->n_storages, sizeof *h.home);
  for (int k = 0; k < SPACES; k++) plim_release(ctx, h.now[k], g->n_storages, sizeof *h.now[k]);
  return status;
}

plim_status plim_home_make(plim_context *ctx, const plim_graph *g, const plim_profile *profile,
                           const plim_plan_options *options, int64_t keep_all_ns, int64_t known_ns,
                           plim_plan_maker *make, plim_plan **out) {
  plim_paging rest = *options->paging;
  plim_plan_options inner = *options;
  plim_graph *graph = NULL;
  plim_profile *reduced = NULL;
  plim_plan *plan = NULL, *lowered = NULL;
  plim_status status;
  rest.budget_bytes -= plim_home_bytes(options->paging, g);
  if (rest.budget_bytes < 0) {
    return plim_fail(ctx, PLIM_ENOFIT, "%s has less than the %lld bytes of the optimizer's state", rest.space,
                     (long long)plim_home_bytes(options->paging, g));
  }
  inner.paging = rest.homes > 0 ? NULL : &rest;
  PLIM_CHECK(reduce(ctx, options->paging, g, profile, &graph, &reduced));
  PLIM_CHECK(make(ctx, graph, reduced, &inner, known_ns, &plan));
  PLIM_CHECK(lower(ctx, g, plan, options->paging, options->budget_bytes, keep_all_ns, &lowered));
  PLIM_CHECK(plim_plan_check(ctx, g, lowered));
  *out = lowered;
  lowered = NULL;
done:
  plim_plan_free(lowered);
  plim_plan_free(plan);
  plim_profile_free(reduced);
  plim_graph_free(graph);
  return status;
}
