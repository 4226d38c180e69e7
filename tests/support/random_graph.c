/* Random graphs, chains and profiles. A graph is grown op by op: operands come from what was written before, mostly
 * from the recent past; a param is read up to a drawn position only, and its update follows there. */
#include "tests/support/random_graph.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test_random.h"

enum { MAX_OPS = 60, MAX_READABLE = 3 * MAX_OPS, MAX_PARAMS = 8, MAX_STATS = 8, NAME_BYTES = 32 };

typedef struct operand {
  int32_t value, storage;
  int64_t offset, bytes;
  int32_t whole; /* all of a storage that is not persistent: may be overwritten */
} operand;

typedef struct maker {
  plim_graph_builder *builder;
  random_graph_options options;
  uint64_t random;
  int32_t n_compute, n_named, n_readable;
  operand readable[MAX_READABLE];
  operand param[MAX_PARAMS], velocity[MAX_PARAMS], stats[MAX_STATS];
  int32_t update_after[MAX_PARAMS], stats_after[MAX_STATS]; /* compute op that the effect op follows */
} maker;

random_graph_options random_graph_options_default(uint64_t seed) {
  return (random_graph_options){.seed = seed,
                                .n_ops = -1,
                                .n_params = -1,
                                .n_stats = -1,
                                .pair_percent = 40,
                                .random_percent = 15,
                                .two_out_percent = 25,
                                .halves_percent = 20,
                                .view_percent = 15,
                                .max_bytes = 6000};
}

static plim_shape bytes_shape(int64_t bytes) {
  return plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
}

static plim_status add_storage(maker *m, plim_role role, int64_t bytes, operand *out) {
  char name[NAME_BYTES];
  plim_shape shape = bytes_shape(bytes);
  (void)snprintf(name, sizeof name, "v%d", m->n_named++);
  *out = (operand){.bytes = bytes, .whole = !plim_role_persistent(role)};
  PLIM_TRY(plim_graph_add_storage(m->builder, role, bytes, &out->storage));
  return plim_graph_add_value(m->builder, name, out->storage, 0, &shape, &out->value);
}

static int64_t draw_bytes(maker *m) {
  int64_t bytes = test_random_between(&m->random, 1, m->options.max_bytes);
  return test_random_chance(&m->random, 20) ? 1 + bytes / 40 : bytes;
}

/* Something that was written before: mostly one of the latest three. */
static plim_status draw_operand(maker *m, operand *out) {
  int32_t n = m->n_readable;
  int32_t low = n > 3 && test_random_chance(&m->random, 60) ? n - 3 : 0;
  *out = m->readable[test_random_between(&m->random, low, n - 1)];
  if (!test_random_chance(&m->random, m->options.view_percent)) return PLIM_OK;
  int64_t cut = test_random_chance(&m->random, 50) ? test_random_between(&m->random, 0, out->bytes - 1) : 0;
  if (cut > 0) out->whole = 0;
  plim_shape shape = bytes_shape(out->bytes - cut);
  char name[NAME_BYTES];
  (void)snprintf(name, sizeof name, "view%d", m->n_named++);
  return plim_graph_add_value(m->builder, name, out->storage, out->offset + cut, &shape, &out->value);
}

static plim_status draw_inputs(maker *m, int32_t index, plim_op_spec *spec, operand *in) {
  spec->n_in = (int32_t)test_random_between(&m->random, 1, 3);
  for (int32_t i = 0; i < spec->n_in; i++) {
    int32_t p = m->options.n_params > 0 ? (int32_t)test_random_between(&m->random, 0, m->options.n_params - 1) : -1;
    if (p >= 0 && index <= m->update_after[p] && test_random_chance(&m->random, 30)) {
      in[i] = m->param[p];
    } else {
      PLIM_TRY(draw_operand(m, &in[i]));
    }
    spec->in[i] = in[i].value;
  }
  return PLIM_OK;
}

/* A pair's input is all of its storage, and the op reads that storage nowhere else. */
static int may_overwrite(const plim_op_spec *spec, const operand *in, int32_t k) {
  for (int32_t i = 0; i < spec->n_in; i++) {
    if (i != k && in[i].storage == in[k].storage) return 0;
  }
  return in[k].whole;
}

/* Outputs and, sometimes, a pair: its output has the bytes of its input. */
static plim_status draw_outputs(maker *m, plim_role role, plim_op_spec *spec, const operand *in, operand *out) {
  for (int32_t i = 0; i < spec->n_out; i++) {
    int64_t bytes = draw_bytes(m);
    int32_t k = (int32_t)test_random_between(&m->random, 0, spec->n_in - 1);
    if (may_overwrite(spec, in, k) && test_random_chance(&m->random, m->options.pair_percent)) {
      bytes = in[k].bytes;
      spec->pair[spec->n_pairs++] = (plim_pair){i, k};
    }
    PLIM_TRY(add_storage(m, role, bytes, &out[i]));
    spec->out[i] = out[i].value;
  }
  return PLIM_OK;
}

/* Two outputs that are the halves of one storage. */
static plim_status draw_halves(maker *m, plim_role role, plim_op_spec *spec, operand *out) {
  int32_t storage;
  int64_t bytes = draw_bytes(m);
  plim_shape shape = bytes_shape(bytes);
  PLIM_TRY(plim_graph_add_storage(m->builder, role, 2 * bytes, &storage));
  for (int32_t i = 0; i < 2; i++) {
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "half%d", m->n_named++);
    out[i] = (operand){.storage = storage, .offset = i * bytes, .bytes = bytes};
    PLIM_TRY(plim_graph_add_value(m->builder, name, storage, out[i].offset, &shape, &out[i].value));
    spec->out[i] = out[i].value;
  }
  return PLIM_OK;
}

static plim_status add_compute_op(maker *m, int32_t index) {
  char name[NAME_BYTES];
  (void)snprintf(name, sizeof name, "op%d", index);
  operand in[3], out[2];
  plim_op_spec spec = {.name = name, .kind = PLIM_OP_CUSTOM, .cls = PLIM_OP_PURE};
  if (test_random_chance(&m->random, m->options.random_percent)) spec.cls = PLIM_OP_RANDOM;
  if (m->options.once_percent > 0 && test_random_chance(&m->random, m->options.once_percent)) spec.cls = PLIM_OP_ONCE;
  spec.phase = index > m->n_compute / 2 ? PLIM_PHASE_BACKWARD : PLIM_PHASE_FORWARD;
  spec.time_ns = test_random_between(&m->random, 1, 1000);
  PLIM_TRY(draw_inputs(m, index, &spec, in));
  int last = index == m->n_compute - 1;
  plim_role role = last ? PLIM_ROLE_OUTPUT : index > m->n_compute / 2 ? PLIM_ROLE_GRADIENT : PLIM_ROLE_ACTIVATION;
  spec.n_out = test_random_chance(&m->random, m->options.two_out_percent) ? 2 : 1;
  if (spec.n_out == 2 && test_random_chance(&m->random, m->options.halves_percent)) {
    PLIM_TRY(draw_halves(m, role, &spec, out));
  } else {
    PLIM_TRY(draw_outputs(m, role, &spec, in, out));
  }
  int32_t op;
  PLIM_TRY(plim_graph_add_op(m->builder, &spec, &op));
  for (int32_t i = 0; i < spec.n_out; i++) m->readable[m->n_readable++] = out[i];
  return PLIM_OK;
}

static plim_status add_effect_op(maker *m, const char *kind, int32_t index, const operand *first,
                                 const operand *second) {
  char name[NAME_BYTES];
  (void)snprintf(name, sizeof name, "%s%d", kind, index);
  operand in;
  PLIM_TRY(draw_operand(m, &in));
  plim_op_spec spec = {.name = name,
                       .kind = PLIM_OP_CUSTOM,
                       .cls = PLIM_OP_EFFECT,
                       .phase = PLIM_PHASE_UPDATE,
                       .n_in = 1,
                       .in = {in.value},
                       .n_upd = second ? 2 : 1,
                       .upd = {first->value, second ? second->value : 0},
                       .time_ns = test_random_between(&m->random, 1, 50)};
  int32_t op;
  return plim_graph_add_op(m->builder, &spec, &op);
}

static plim_status add_sources(maker *m) {
  int32_t n_inputs = (int32_t)test_random_between(&m->random, 1, 2);
  for (int32_t i = 0; i < n_inputs; i++) {
    PLIM_TRY(add_storage(m, PLIM_ROLE_INPUT, draw_bytes(m), &m->readable[m->n_readable]));
    m->n_readable++;
  }
  for (int32_t p = 0; p < m->options.n_params; p++) {
    int64_t bytes = draw_bytes(m);
    PLIM_TRY(add_storage(m, PLIM_ROLE_PARAM, bytes, &m->param[p]));
    PLIM_TRY(add_storage(m, PLIM_ROLE_STATE, bytes, &m->velocity[p]));
    m->update_after[p] = (int32_t)test_random_between(&m->random, m->n_compute / 2, m->n_compute - 1);
  }
  for (int32_t s = 0; s < m->options.n_stats; s++) {
    PLIM_TRY(add_storage(m, PLIM_ROLE_STATE, draw_bytes(m), &m->stats[s]));
    m->stats_after[s] = (int32_t)test_random_between(&m->random, 0, m->n_compute - 1);
  }
  operand staging;
  return test_random_chance(&m->random, 30) ? add_storage(m, PLIM_ROLE_STAGING, draw_bytes(m), &staging) : PLIM_OK;
}

static plim_status add_ops(maker *m) {
  for (int32_t i = 0; i < m->n_compute; i++) {
    PLIM_TRY(add_compute_op(m, i));
    for (int32_t p = 0; p < m->options.n_params; p++) {
      if (m->update_after[p] == i) PLIM_TRY(add_effect_op(m, "update", p, &m->param[p], &m->velocity[p]));
    }
    for (int32_t s = 0; s < m->options.n_stats; s++) {
      if (m->stats_after[s] == i) PLIM_TRY(add_effect_op(m, "stats", s, &m->stats[s], NULL));
    }
  }
  return PLIM_OK;
}

/* Draw the counts that are -1 and bring all of them into range: at least one op computes. */
static void settle_counts(maker *m) {
  random_graph_options *o = &m->options;
  if (o->n_ops < 0) o->n_ops = (int32_t)test_random_between(&m->random, 2, MAX_OPS);
  if (o->n_params < 0) o->n_params = (int32_t)test_random_between(&m->random, 0, 3);
  if (o->n_stats < 0) o->n_stats = (int32_t)test_random_between(&m->random, 0, 2);
  if (o->n_ops > MAX_OPS) o->n_ops = MAX_OPS;
  if (o->n_params > MAX_PARAMS) o->n_params = MAX_PARAMS;
  if (o->n_params > o->n_ops / 2) o->n_params = o->n_ops / 2;
  if (o->n_stats > MAX_STATS) o->n_stats = MAX_STATS;
  if (o->n_stats > o->n_ops - o->n_params - 1) o->n_stats = o->n_ops - o->n_params - 1;
  m->n_compute = o->n_ops - o->n_params - o->n_stats;
}

plim_status random_graph_make(plim_context *ctx, const random_graph_options *options, plim_graph **out) {
  maker m = {.options = *options, .random = options->seed};
  settle_counts(&m);
  PLIM_TRY(plim_graph_begin(ctx, "random", 1, &m.builder));
  plim_status status = add_sources(&m);
  if (status == PLIM_OK) status = add_ops(&m);
  if (status == PLIM_OK) return plim_graph_end(m.builder, out);
  plim_graph_builder_free(m.builder);
  return status;
}

/* ---- training chain ---- */

enum { MAX_LAYERS = 256 };

typedef struct chain {
  maker m;
  int32_t layers;
  operand x[MAX_LAYERS + 1], w[MAX_LAYERS + 1], velocity[MAX_LAYERS + 1];
} chain;

static plim_status add_chain_op(chain *c, const char *kind, int32_t layer, plim_op_spec spec) {
  char name[NAME_BYTES];
  (void)snprintf(name, sizeof name, "%s%d", kind, layer);
  spec.name = name;
  spec.kind = PLIM_OP_CUSTOM;
  spec.time_ns = test_random_between(&c->m.random, 10, 1000);
  int32_t op;
  return plim_graph_add_op(c->m.builder, &spec, &op);
}

static plim_status add_forward(chain *c) {
  for (int32_t i = 1; i <= c->layers; i++) {
    int64_t bytes = test_random_chance(&c->m.random, 60) ? c->x[i - 1].bytes : draw_bytes(&c->m);
    PLIM_TRY(add_storage(&c->m, PLIM_ROLE_ACTIVATION, bytes, &c->x[i]));
    plim_op_spec forward = {.cls = PLIM_OP_PURE,
                            .phase = PLIM_PHASE_FORWARD,
                            .n_in = 2,
                            .in = {c->x[i - 1].value, c->w[i].value},
                            .n_out = 1,
                            .out = {c->x[i].value}};
    PLIM_TRY(add_chain_op(c, "forward", i, forward));
  }
  return PLIM_OK;
}

/* Backward through layer i: *dx goes from the gradient of x_i to that of x_{i-1}. */
static plim_status add_backward(chain *c, int32_t i, operand *dx) {
  operand dw, below;
  PLIM_TRY(add_storage(&c->m, PLIM_ROLE_GRADIENT, c->w[i].bytes, &dw));
  PLIM_TRY(add_storage(&c->m, PLIM_ROLE_GRADIENT, c->x[i - 1].bytes, &below));
  plim_op_spec weights = {
      .phase = PLIM_PHASE_BACKWARD, .n_in = 2, .in = {dx->value, c->x[i - 1].value}, .n_out = 1, .out = {dw.value}};
  PLIM_TRY(add_chain_op(c, "weights", i, weights));
  plim_op_spec data = {.phase = PLIM_PHASE_BACKWARD,
                       .n_in = 2,
                       .in = {dx->value, c->w[i].value},
                       .n_out = 1,
                       .out = {below.value},
                       .n_pairs = below.bytes == dx->bytes};
  PLIM_TRY(add_chain_op(c, "data", i, data));
  plim_op_spec update = {.cls = PLIM_OP_EFFECT,
                         .phase = PLIM_PHASE_UPDATE,
                         .n_in = 1,
                         .in = {dw.value},
                         .n_upd = 2,
                         .upd = {c->w[i].value, c->velocity[i].value}};
  *dx = below;
  return add_chain_op(c, "update", i, update);
}

static plim_status add_chain(chain *c) {
  PLIM_TRY(add_storage(&c->m, PLIM_ROLE_INPUT, draw_bytes(&c->m), &c->x[0]));
  for (int32_t i = 1; i <= c->layers; i++) {
    int64_t bytes = draw_bytes(&c->m) / 4 + 1;
    PLIM_TRY(add_storage(&c->m, PLIM_ROLE_PARAM, bytes, &c->w[i]));
    PLIM_TRY(add_storage(&c->m, PLIM_ROLE_STATE, bytes, &c->velocity[i]));
  }
  PLIM_TRY(add_forward(c));
  operand loss, dx;
  PLIM_TRY(add_storage(&c->m, PLIM_ROLE_OUTPUT, 4, &loss));
  PLIM_TRY(add_storage(&c->m, PLIM_ROLE_GRADIENT, c->x[c->layers].bytes, &dx));
  plim_op_spec spec = {.phase = PLIM_PHASE_FORWARD,
                       .n_in = 1,
                       .in = {c->x[c->layers].value},
                       .n_out = 2,
                       .out = {loss.value, dx.value},
                       .n_pairs = 1,
                       .pair = {{1, 0}}};
  PLIM_TRY(add_chain_op(c, "loss", 0, spec));
  for (int32_t i = c->layers; i >= 1; i--) PLIM_TRY(add_backward(c, i, &dx));
  return PLIM_OK;
}

plim_status random_chain_make(plim_context *ctx, int32_t layers, uint64_t seed, plim_graph **out) {
  if (layers < 1 || layers > MAX_LAYERS) {
    return plim_fail(ctx, PLIM_EUSAGE, "a chain has 1 to %d layers, not %d", MAX_LAYERS, layers);
  }
  chain *c = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *c, &c));
  c->m.options = random_graph_options_default(seed);
  c->m.random = seed;
  c->layers = layers;
  plim_status status = plim_graph_begin(ctx, "chain", 1, &c->m.builder);
  if (status == PLIM_OK) {
    status = add_chain(c);
    if (status == PLIM_OK) {
      status = plim_graph_end(c->m.builder, out);
    } else {
      plim_graph_builder_free(c->m.builder);
    }
  }
  plim_release(ctx, c, 1, sizeof *c);
  return status;
}

/* ---- profile ---- */

plim_status random_profile_make(const plim_graph *graph, uint64_t seed, int32_t max_variants, plim_profile **out) {
  uint64_t random = seed;
  int32_t *first = calloc((size_t)graph->n_ops + 1, sizeof *first);
  plim_variant *variant = calloc((size_t)graph->n_ops * (size_t)max_variants + 1, sizeof *variant);
  plim_status status = PLIM_ENOMEM;
  if (!first || !variant) goto done;
  for (int32_t op = 0; op < graph->n_ops; op++) {
    int32_t count = (int32_t)test_random_between(&random, 1, max_variants);
    for (int32_t i = 0; i < count; i++) {
      plim_variant *v = &variant[first[op] + i];
      (void)snprintf(v->name, sizeof v->name, "variant-%d", i);
      (void)snprintf(v->numerics_key, sizeof v->numerics_key, "bits-%d", (int)test_random_between(&random, 0, 2));
      v->time_ns = test_random_between(&random, 1, 1000);
      if (test_random_chance(&random, 40)) v->workspace_bytes = test_random_between(&random, 1, 3000);
    }
    first[op + 1] = first[op] + count;
  }
  plim_machine machine = {.device = "sim", .threads = 1};
  status = plim_profile_make(graph, &machine, 0, first, variant, out);
done:
  free(first);
  free(variant);
  return status;
}

static random_graph_options small_options(uint64_t seed, int32_t n_params) {
  random_graph_options options = random_graph_options_default(seed);
  options.n_ops = 5 + (int32_t)(seed % 4);
  options.n_params = n_params;
  options.n_stats = 0;
  options.two_out_percent = 15;
  return options;
}

plim_graph *random_graph_small(plim_context *ctx, uint64_t seed, int32_t n_params) {
  plim_graph *graph = NULL;
  random_graph_options options = small_options(seed, n_params);
  if (seed % 3 == 0) {
    cr_assert_eq(random_chain_make(ctx, 1, seed, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  } else {
    cr_assert_eq(random_graph_make(ctx, &options, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  }
  return graph;
}

plim_graph *random_graph_small_once(plim_context *ctx, uint64_t seed, int32_t n_params) {
  plim_graph *graph = NULL;
  random_graph_options options = small_options(seed, n_params);
  options.once_percent = 30;
  cr_assert_eq(random_graph_make(ctx, &options, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}
