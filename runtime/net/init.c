/* Starting contents of persistent values, by the last part of their names; of the parameters of a program's own kinds
 * by the kinds' rows. A weight's element is a function of seed, name and position in logical order; layout, batch and
 * other layers do not matter. Sources of the weights' deviation: He et al., Delving Deep into Rectifiers, ICCV 2015;
 * for nets over tokens, Radford et al., Language Models are Unsupervised Multitask Learners, 2019, section 2.3. */
#include <math.h>
#include <string.h>

#include "runtime/base/philox_stream.h"
#include "runtime/net/net.h"

static const double classifier_deviation = 0.01;
static const double two_pi = 6.283185307179586;
static const double token_deviation = 0.02; /* of all weights of a net over tokens */

/* Whether the value is the weights of the linear layer that feeds the loss, or the parameter from which they are cast.
 */
static int feeds_loss(const plim_graph *graph, int32_t value) {
  for (int32_t i = 0; i < graph->n_ops; i++) {
    const plim_op *product = &graph->op[i];
    if (product->kind == PLIM_OP_CAST && product->in[0] == value) value = product->out[0];
    if (product->kind != PLIM_OP_LINEAR || product->in[1] != value) continue;
    for (int32_t j = i + 1; j < graph->n_ops; j++) {
      if (graph->op[j].kind == PLIM_OP_SOFTMAX_XENT && graph->op[j].in[0] == product->out[0]) return 1;
    }
  }
  return 0;
}

static int reads_tokens(const plim_graph *graph) {
  for (int32_t i = 0; i < graph->n_ops; i++) {
    if (graph->op[i].kind == PLIM_OP_EMBEDDING) return 1;
  }
  return 0;
}

/* Whether the value is the weights of a product whose result the next op adds, or the parameter from which they are
 * cast. */
static int ends_branch(const plim_graph *graph, int32_t value) {
  for (int32_t i = 0; i + 1 < graph->n_ops; i++) {
    const plim_op *product = &graph->op[i];
    if (product->kind == PLIM_OP_CAST && product->in[0] == value) value = product->out[0];
    if (product->kind != PLIM_OP_LINEAR || product->in[1] != value) continue;
    return graph->op[i + 1].kind == PLIM_OP_ADD;
  }
  return 0;
}

static int is_loss(const plim_op *op) {
  return op->kind == PLIM_OP_SOFTMAX_XENT || op->kind == PLIM_OP_LINEAR_XENT;
}

/* The deviation of weights in a net over tokens. All branches are added to one stream. So the last weights of each of n
 * branches start smaller by sqrt(n), which keeps the size of the sum. */
static double deviation_of_tokens(const plim_graph *graph, int32_t value) {
  int32_t branches = 0;
  if (!ends_branch(graph, value)) return token_deviation;
  for (int32_t i = 1; i < graph->n_ops && !is_loss(&graph->op[i]); i++) {
    branches += graph->op[i].kind == PLIM_OP_ADD && graph->op[i - 1].kind == PLIM_OP_LINEAR;
  }
  return token_deviation / sqrt((double)branches);
}

/* A number in (0, 1], so that its logarithm is finite. */
static double uniform(uint32_t word) {
  return ((double)word + 1.0) / 4294967296.0;
}

/* Two normal numbers a draw (Box and Muller). */
static void fill_normal(uint64_t seed, const char *name, double deviation, int64_t count, float *x /* [count] */) {
  uint64_t stream = plim_philox_stream(name);
  for (int64_t i = 0; i < count; i += 2) {
    plim_philox draw = plim_philox_at(seed, stream, (uint64_t)(i / 2));
    double radius = deviation * sqrt(-2.0 * log(uniform(draw.word[0])));
    double angle = two_pi * uniform(draw.word[1]);
    x[i] = (float)(radius * cos(angle));
    if (i + 1 < count) x[i + 1] = (float)(radius * sin(angle));
  }
}

static void fill_weight(const plim_graph *graph, int32_t value, uint64_t seed, float *x) {
  const plim_value *v = &graph->value[value];
  int64_t count = plim_shape_elements(&v->shape);
  int64_t fan_in = count / v->shape.dim[0];
  double deviation = feeds_loss(graph, value) ? classifier_deviation : sqrt(2.0 / (double)fan_in);
  if (reads_tokens(graph)) deviation = deviation_of_tokens(graph, value);
  fill_normal(seed, v->name, deviation, count, x);
}

static void fill_zero(const plim_graph *graph, int32_t value, uint64_t seed, float *x) {
  (void)seed;
  memset(x, 0, (size_t)graph->value[value].bytes);
}

static void set_row(const plim_value *value, int64_t row, float to, float *x /* [2][C] */) {
  const int64_t n = plim_shape_elements(&value->shape) / value->shape.dim[0];
  for (int64_t c = 0; c < n; c++) x[row * n + c] = to;
}

static void fill_affine(const plim_graph *graph, int32_t value, uint64_t seed, float *x) {
  (void)seed;
  set_row(&graph->value[value], 0, 1.0f, x); /* scale */
  set_row(&graph->value[value], 1, 0.0f, x); /* shift */
}

static void fill_ones(const plim_graph *graph, int32_t value, uint64_t seed, float *x) {
  const int64_t n = plim_shape_elements(&graph->value[value].shape);
  (void)seed;
  for (int64_t i = 0; i < n; i++) x[i] = 1.0f;
}

static void fill_running(const plim_graph *graph, int32_t value, uint64_t seed, float *x) {
  (void)seed;
  set_row(&graph->value[value], 0, 0.0f, x); /* mean */
  set_row(&graph->value[value], 1, 1.0f, x); /* variance */
}

typedef struct init_rule {
  const char *suffix;
  plim_role role;
  int rank_min; /* of the value's shape */
  int rows;     /* its first dimension; 0: any */
  int any_type; /* 1: it is not always f32 */
  void (*fill)(const plim_graph *graph, int32_t value, uint64_t seed, float *x);
} init_rule;

static const init_rule rules[] = {
    {".weight", PLIM_ROLE_PARAM, 2, 0, 0, fill_weight},    {".bias", PLIM_ROLE_PARAM, 1, 0, 0, fill_zero},
    {".affine", PLIM_ROLE_PARAM, 2, 2, 0, fill_affine},    {".running", PLIM_ROLE_STATE, 2, 2, 0, fill_running},
    {".velocity", PLIM_ROLE_STATE, 1, 0, 1, fill_zero},    {".first", PLIM_ROLE_STATE, 1, 0, 1, fill_zero},
    {".second", PLIM_ROLE_STATE, 1, 0, 1, fill_zero},      {".words", PLIM_ROLE_PARAM, 2, 0, 0, fill_weight},
    {".positions", PLIM_ROLE_PARAM, 2, 0, 0, fill_weight}, {".scale", PLIM_ROLE_PARAM, 1, 0, 0, fill_ones},
};

static int ends_with(const char *name, const char *suffix) {
  size_t n = strlen(name), m = strlen(suffix);
  return n > m && strcmp(name + n - m, suffix) == 0;
}

/* The row's operand as which the first reader of the value, or of its cast, reads it; NULL: nothing reads the value.
 *   kind  out  the reader's */
static const plim_op_operand *operand_of(const plim_graph *graph, int32_t value, plim_op_kind *kind) {
  for (int32_t o = 0; o < graph->n_ops; o++) {
    const plim_op *op = &graph->op[o];
    for (int32_t k = 0; k < op->n_in; k++) {
      if (op->in[k] != value) continue;
      *kind = op->kind;
      if (op->kind != PLIM_OP_CAST) return plim_op_operand_at(plim_op_kind_row(op->kind)->in, k);
      value = op->out[0];
    }
  }
  return NULL;
}

/* Fill a parameter of a layer of kind PLIM_NET_OP, as the row's contents say.
 *   own  in  1: only when a program's own kind reads it */
static int fill_by_row(const plim_graph *graph, int32_t value, int own, uint64_t seed, float *x) {
  const plim_value *v = &graph->value[value];
  plim_op_kind kind = PLIM_OP_CUSTOM;
  const plim_op_operand *operand = operand_of(graph, value, &kind);
  if (own && kind < PLIM_OP_KIND_COUNT) return 0;
  if (!operand || graph->storage[v->storage].role != PLIM_ROLE_PARAM || v->shape.dtype != PLIM_F32) return 0;
  if (operand->contents == PLIM_CONTENTS_WEIGHTS) {
    fill_weight(graph, value, seed, x);
  } else if (operand->contents == PLIM_CONTENTS_ONES) {
    for (int64_t i = 0; i < v->bytes / (int64_t)sizeof *x; i++) x[i] = 1;
  } else {
    fill_zero(graph, value, seed, x);
  }
  return 1;
}

plim_status plim_net_init(const plim_graph *graph, int32_t value, uint64_t seed, void *host) {
  if (value < 0 || value >= graph->n_values) {
    return plim_fail(graph->ctx, PLIM_EUSAGE, "there is no value %d; the graph has %d", value, graph->n_values);
  }
  const plim_value *v = &graph->value[value];
  plim_role role = graph->storage[v->storage].role;
  if (fill_by_row(graph, value, 1, seed, host)) return PLIM_OK;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    const init_rule *rule = &rules[i];
    if (role != rule->role || v->shape.rank < rule->rank_min) continue;
    if (rule->rows != 0 && v->shape.dim[0] != rule->rows) continue;
    if (v->shape.dtype != PLIM_F32 && !rule->any_type) continue;
    if (!ends_with(v->name, rule->suffix)) continue;
    rule->fill(graph, value, seed, host);
    return PLIM_OK;
  }
  if (fill_by_row(graph, value, 0, seed, host)) return PLIM_OK;
  return plim_fail(graph->ctx, PLIM_EUSAGE, "value '%s' (role %s) has no starting contents", v->name,
                   plim_role_name(role));
}

int64_t plim_graph_parameters(const plim_graph *graph) {
  int64_t count = 0;
  for (int32_t i = 0; i < graph->n_values; i++) {
    const plim_value *v = &graph->value[i];
    if (graph->storage[v->storage].role == PLIM_ROLE_PARAM) count += plim_shape_elements(&v->shape);
  }
  return count;
}
