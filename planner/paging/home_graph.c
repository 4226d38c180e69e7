/* The graph without storages that are at home in the page space.
 *
 * A state that its update alone touches leaves the graph, and the update has a workspace of its bytes. A parameter is
 * read as well. In its place stands a mark, which its readers read and its update updates, so that they keep their
 * order. An op "home in" reads the mark and writes the parameter's bytes for the readers; as any pure op it may run
 * again, where the bytes were dropped. The update reads these bytes too.
 *
 * Example: f reads the parameter w; u reads the gradient, and updates w and its velocity v. In the graph without, v is
 * gone and u has a workspace of its bytes. w is a mark of one byte. "home in" reads the mark and writes the bytes of w
 * before f and, where they were dropped, before u again. f reads bytes and mark, u reads the bytes and updates the
 * mark. In the plan each "home in" is a copy, and so is what u leaves (home_plan.c). */
#include <stdio.h>

#include "planner/paging/paging_internal.h"
#include "planner/paging/paging_tuning.h"
#include "runtime/base/integers.h"

enum { NAME_BYTES = 32 };

/* ---- what is at home there ---- */

/* Does the op update a parameter? An op that updates states alone would update nothing without them. */
static int updates_param(const plim_graph *g, const plim_op *op) {
  for (int32_t i = 0; i < op->n_updates; i++) {
    if (g->storage[op->updates[i]].role == PLIM_ROLE_PARAM) return 1;
  }
  return 0;
}

static const char *storage_name(const plim_graph *g, int32_t s) {
  for (int32_t v = 0; v < g->n_values; v++) {
    if (g->value[v].storage == s) return g->value[v].name;
  }
  return "";
}

/* Does the plan beside this one have the storage of that name at home in the page space? */
static int is_homed_beside(const plim_paging *o, const char *name, plim_role role) {
  const int32_t v = plim_graph_find_value(o->beside_graph, name), s = v < 0 ? -1 : o->beside_graph->value[v].storage;
  if (s < 0 || o->beside_graph->storage[s].role != role) return 0;
  for (int32_t i = 0; i < o->beside->n_buffers && o->beside->buffer[i].begin == 0; i++) {
    const plim_plan_buffer *b = &o->beside->buffer[i];
    if (b->storage == s && b->space == 1 && plim_plan_is_home(o->beside_graph, o->beside, b)) return 1;
  }
  return 0;
}

/* Where storage s is at home. A small parameter stays in the arena, since each copy costs a latency. */
static plim_home home_of(const plim_paging *o, const plim_graph *g, int32_t s, int64_t min_param_bytes) {
  int32_t updaters = g->updater_first[s + 1] - g->updater_first[s];
  int readers = g->reader_first[s + 1] > g->reader_first[s];
  plim_role role = g->storage[s].role;
  plim_home home = role == PLIM_ROLE_PARAM ? PLIM_HOME_PARAM : PLIM_HOME_STATE;
  if ((role != PLIM_ROLE_STATE && role != PLIM_ROLE_PARAM) || g->storage[s].bytes == 0) return PLIM_HOME_ARENA;
  if ((role == PLIM_ROLE_STATE && readers) || updaters > 1) return PLIM_HOME_ARENA;
  if (o->beside) {
    int may = updaters == 0 || o->homes == PLIM_HOMES_AS_BESIDE;
    return may && is_homed_beside(o, storage_name(g, s), role) ? home : PLIM_HOME_ARENA;
  }
  if (role == PLIM_ROLE_PARAM && g->storage[s].bytes < min_param_bytes) return PLIM_HOME_ARENA;
  if (updaters == 0) return home;
  const plim_op *op = &g->op[g->updater[g->updater_first[s]]];
  int updates = op->phase == PLIM_PHASE_UPDATE && updates_param(g, op);
  return updates && !plim_op_reads(op, s) ? home : PLIM_HOME_ARENA;
}

/* The least bytes of a parameter that may be at home in the page space; INT64_MAX: none may. */
static int64_t min_param_bytes(const plim_graph *g, int params) {
  int64_t bytes = 0;
  for (int32_t s = 0; s < g->n_storages; s++) {
    if (g->storage[s].role == PLIM_ROLE_PARAM) bytes += g->storage[s].bytes;
  }
  return params ? bytes / paging_tuning.homes.small_part : INT64_MAX;
}

int64_t plim_home_bytes(const plim_paging *paging, const plim_graph *g, int params) {
  int64_t bytes = 0, min_bytes = min_param_bytes(g, params);
  for (int32_t s = 0; s < g->n_storages; s++) {
    if (home_of(paging, g, s, min_bytes)) bytes += plim_align_up(g->storage[s].bytes, PLIM_ALIGN);
  }
  return bytes;
}

int64_t plim_home_away_bytes(const plim_home_graph *homed, int32_t op) {
  const plim_op *of = &homed->whole->op[op];
  int64_t bytes = 0;
  for (int32_t i = 0; i < of->n_updates; i++) {
    if (homed->home[of->updates[i]] != PLIM_HOME_STATE) continue;
    bytes += plim_align_up(homed->whole->storage[of->updates[i]].bytes, PLIM_ALIGN);
  }
  return bytes;
}

/* ---- the graph ---- */

typedef struct reduce_pass {
  plim_home_graph *h;
  const plim_paging *paging;
  plim_graph_copy copy;
  int32_t *value; /* [n_values] in the graph without; -1: not there */
  int32_t *mark;  /* [n_storages] value, of parameters at home elsewhere */
  int32_t *whole; /* [n_storages] value over all bytes, of the same */
  uint8_t *here;  /* [n_storages] 1: its op "home in" is in the graph */
} reduce_pass;

static plim_status add_storage(reduce_pass *pass, int32_t s, int32_t *id) {
  plim_home_graph *homed = pass->h;
  const plim_storage *storage = &homed->whole->storage[s];
  const plim_shape one = plim_graph_copy_bytes(1), all = plim_graph_copy_bytes(storage->bytes);
  char name[NAME_BYTES];
  *id = -1;
  if (homed->home[s] == PLIM_HOME_STATE) return PLIM_OK;
  if (homed->home[s] == PLIM_HOME_ARENA) {
    PLIM_TRY(plim_graph_add_storage(pass->copy.builder, storage->role, storage->bytes, id));
    homed->storage[*id] = s;
    return PLIM_OK;
  }
  (void)snprintf(name, sizeof name, "home:%d", (int)s);
  PLIM_TRY(plim_graph_add_storage(pass->copy.builder, storage->role, 1, id));
  homed->storage[*id] = -1;
  PLIM_TRY(plim_graph_add_value(pass->copy.builder, name, *id, 0, &one, &pass->mark[s]));
  (void)snprintf(name, sizeof name, "home:%d:whole", (int)s);
  PLIM_TRY(plim_graph_add_storage(pass->copy.builder, PLIM_ROLE_ACTIVATION, storage->bytes, id));
  homed->storage[*id] = s;
  return plim_graph_add_value(pass->copy.builder, name, *id, 0, &all, &pass->whole[s]);
}

static plim_status add_values(reduce_pass *pass) {
  const plim_graph *g = pass->h->whole;
  for (int32_t s = 0; s < g->n_storages; s++) {
    int32_t id;
    PLIM_TRY(add_storage(pass, s, &id));
    for (int32_t v = 0; v < g->n_values; v++) {
      const plim_value *value = &g->value[v];
      if (value->storage != s) continue;
      pass->value[v] = -1;
      if (id < 0) continue;
      PLIM_TRY(
          plim_graph_add_value(pass->copy.builder, value->name, id, value->offset, &value->shape, &pass->value[v]));
    }
  }
  return PLIM_OK;
}

/* "home in" takes from the runs what its copy takes. */
static plim_status add_home_in(reduce_pass *pass, int32_t n, const int32_t *storage) {
  for (int32_t i = 0; i < n; i++) {
    int32_t s = storage[i], id;
    char name[NAME_BYTES];
    if (pass->h->home[s] != PLIM_HOME_PARAM || pass->here[s]) continue;
    (void)snprintf(name, sizeof name, "home in:%d", (int)s);
    const plim_op_spec spec = {.name = name,
                               .kind = PLIM_OP_CUSTOM,
                               .cls = PLIM_OP_PURE,
                               .n_in = 1,
                               .n_out = 1,
                               .in = {pass->mark[s]},
                               .out = {pass->whole[s]},
                               .time_ns = -1};
    const int64_t copy_ns = plim_paging_link_ns(pass->paging, 1, pass->h->whole->storage[s].bytes);
    const int64_t delay_ns = plim_integers_from_real(pass->paging->delay_share * (double)copy_ns);
    PLIM_TRY(plim_graph_copy_add_own(&pass->copy, &spec, "home", delay_ns, &id));
    pass->h->op[id] = -1;
    pass->h->fetched[id] = s;
    pass->here[s] = 1;
  }
  return PLIM_OK;
}

/* Marks that an op reads, and the bytes of parameters that it updates, after its own inputs. */
static int32_t add_inputs(const reduce_pass *pass, const plim_op *op, int32_t *to) {
  const plim_home_graph *homed = pass->h;
  int32_t n = 0;
  for (int32_t i = 0; i < op->n_in; i++) to[n++] = pass->value[op->in[i]];
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (homed->home[op->reads[i]] == PLIM_HOME_PARAM) to[n++] = pass->mark[op->reads[i]];
  }
  for (int32_t i = 0; i < op->n_updates; i++) {
    if (homed->home[op->updates[i]] == PLIM_HOME_PARAM) to[n++] = pass->whole[op->updates[i]];
  }
  return n;
}

/* Without the states that are at home elsewhere. */
static int32_t add_updates(const reduce_pass *pass, const plim_op *op, int32_t *to) {
  int32_t n = 0;
  for (int32_t i = 0; i < op->n_upd; i++) {
    int32_t s = pass->h->whole->value[op->upd[i]].storage;
    if (pass->h->home[s] == PLIM_HOME_STATE) continue;
    to[n++] = pass->h->home[s] == PLIM_HOME_PARAM ? pass->mark[s] : pass->value[op->upd[i]];
  }
  return n;
}

static void add_operands(const reduce_pass *pass, const plim_op *op, plim_op_spec *spec) {
  int32_t *next = pass->copy.operand;
  spec->many_in = next;
  spec->n_in = add_inputs(pass, op, next);
  next += spec->n_in;
  spec->many_out = next;
  spec->n_out = op->n_out;
  for (int32_t i = 0; i < op->n_out; i++) *next++ = pass->value[op->out[i]];
  spec->many_upd = next;
  spec->n_upd = add_updates(pass, op, next);
}

/* The states that an op updates and that are at home elsewhere lie in its workspace. */
static void add_away_bytes(reduce_pass *pass, int32_t id, int64_t bytes) {
  for (int32_t i = pass->copy.first[id]; i < pass->copy.first[id + 1] && bytes > 0; i++) {
    plim_variant *row = &pass->copy.variant[i];
    row->workspace_bytes = bytes + plim_align_up(row->workspace_bytes, PLIM_ALIGN);
  }
}

static plim_status add_op(reduce_pass *pass, int32_t o) {
  const plim_op *op = &pass->h->whole->op[o];
  const plim_attrs none = {0};
  int32_t id;
  plim_op_spec spec = plim_graph_copy_spec(&pass->copy, o);
  PLIM_TRY(add_home_in(pass, op->n_reads, op->reads));
  PLIM_TRY(add_home_in(pass, op->n_updates, op->updates));
  add_operands(pass, op, &spec);
  int changes = spec.n_in > op->n_in || spec.n_upd < op->n_upd;
  if (changes) {
    spec.kind = PLIM_OP_CUSTOM;
    spec.attrs = none;
  }
  PLIM_TRY(plim_graph_copy_add(&pass->copy, &spec, o, &id));
  add_away_bytes(pass, id, plim_home_away_bytes(pass->h, o));
  pass->h->op[id] = o;
  pass->h->fetched[id] = -1;
  return PLIM_OK;
}

static plim_status build_graph(reduce_pass *pass) {
  PLIM_TRY(add_values(pass));
  for (int32_t o = 0; o < pass->h->whole->n_ops; o++) PLIM_TRY(add_op(pass, o));
  return plim_graph_copy_end(&pass->copy, &pass->h->graph, &pass->h->profile);
}

static int64_t op_capacity(const plim_graph *g) {
  return (int64_t)g->n_ops + g->n_storages;
}

plim_status plim_home_graph_make(plim_context *ctx, const plim_paging *paging, const plim_graph *g,
                                 const plim_profile *profile, int params, plim_home_graph **out) {
  reduce_pass pass = {.paging = paging};
  int64_t ops = op_capacity(g), min_bytes = min_param_bytes(g, params);
  plim_home_graph *homed = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *homed, &homed));
  *homed = (plim_home_graph){.ctx = ctx, .whole = g};
  pass.h = homed;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, g->n_storages, sizeof *homed->home, &homed->home));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 2 * (int64_t)g->n_storages, sizeof *homed->storage, &homed->storage));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, ops, sizeof *homed->op, &homed->op));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, ops, sizeof *homed->fetched, &homed->fetched));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, g->n_values, sizeof *pass.value, &pass.value));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, g->n_storages, sizeof *pass.mark, &pass.mark));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, g->n_storages, sizeof *pass.whole, &pass.whole));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, g->n_storages, sizeof *pass.here, &pass.here));
  PLIM_TRY_OR_DONE(plim_graph_copy_begin(ctx, g, profile, g->n_storages, &pass.copy));
  for (int32_t s = 0; s < g->n_storages; s++) homed->home[s] = home_of(paging, g, s, min_bytes);
  PLIM_TRY_OR_DONE(build_graph(&pass));
  *out = homed;
  homed = NULL;
done:
  plim_graph_copy_free(&pass.copy);
  plim_release(ctx, pass.value, g->n_values, sizeof *pass.value);
  plim_release(ctx, pass.mark, g->n_storages, sizeof *pass.mark);
  plim_release(ctx, pass.whole, g->n_storages, sizeof *pass.whole);
  plim_release(ctx, pass.here, g->n_storages, sizeof *pass.here);
  plim_home_graph_free(homed);
  return status;
}

void plim_home_graph_free(plim_home_graph *homed) {
  if (!homed) return;
  int64_t ops = op_capacity(homed->whole);
  plim_profile_free(homed->profile);
  plim_graph_free(homed->graph);
  plim_release(homed->ctx, homed->home, homed->whole->n_storages, sizeof *homed->home);
  plim_release(homed->ctx, homed->storage, 2 * (int64_t)homed->whole->n_storages, sizeof *homed->storage);
  plim_release(homed->ctx, homed->op, ops, sizeof *homed->op);
  plim_release(homed->ctx, homed->fetched, ops, sizeof *homed->fetched);
  plim_release(homed->ctx, homed, 1, sizeof *homed);
}
