/* Training steps of common networks, unrolled. A step has a forward part made of blocks, a loss, and for each forward
 * op, from the last to the first, the gradient of its output. That gradient reads the gradients of the op's readers,
 * and the forward values that their derivatives need. A convolution or product needs its inputs, an activation or
 * softmax its output, a sum or concatenation nothing.
 *
 * Backward takes twice as long as forward where there are weights. Sizes and times vary by a quarter around what the
 * shape of a layer gives. */
#include "runtime/base/array.h"
#include "runtime/import/generate_draft.h"

typedef enum op_kind { CONV, ACT, SUM, PRODUCT, SOFTMAX, LOSS } op_kind;

/* The forward values that the derivative of a kind reads, and its time in percent of the forward op's. */
static const struct {
  const char *name;
  int inputs, output, percent;
} kinds[] = {
    [CONV] = {"conv", 1, 0, 200},       [ACT] = {"act", 0, 1, 100},         [SUM] = {"sum", 0, 0, 100},
    [PRODUCT] = {"product", 1, 0, 200}, [SOFTMAX] = {"softmax", 0, 1, 150}, [LOSS] = {"loss", 0, 1, 100},
};

typedef struct op {
  op_kind kind;
  int32_t n_in, in[3];
} op;

typedef struct network {
  plim_generated *generated;
  op *op; /* [generated->n] forward ops, by node */
  int64_t capacity;
} network;

static int64_t vary(plim_generated *generated, int64_t x) {
  return x * (75 + plim_generated_below(generated, 51)) / 100 + 1;
}

/* Add a forward op that reads up to three earlier ones (PLIM_NONE: none); returns its node. */
static int32_t add_op(network *w, op_kind kind, int64_t bytes, int64_t time_ns, int32_t a, int32_t b, int32_t c) {
  plim_generated *g = w->generated;
  const int32_t in[3] = {a, b, c};
  if (g->status == PLIM_OK) g->status = plim_array_reserve(g->ctx, &w->op, &w->capacity, g->n + 1, sizeof *w->op);
  if (g->status != PLIM_OK) return 0;
  int64_t size = vary(g, bytes), time = vary(g, time_ns);
  int32_t v = plim_generated_node(g, kinds[kind].name, PLIM_PHASE_FORWARD, size, time);
  if (g->status != PLIM_OK) return 0;
  op *o = &w->op[v];
  *o = (op){.kind = kind};
  for (int i = 0; i < 3; i++) {
    if (in[i] < 0) continue;
    o->in[o->n_in++] = in[i];
    plim_generated_link(g, in[i], v);
  }
  return v;
}

/* Add the links of the derivative of reader `w` with respect to one of its inputs, whose gradient is `d`. */
static void read_derivative(const network *w, int32_t reader, int32_t gradient_of_reader, int32_t d) {
  const op *o = &w->op[reader];
  plim_generated_link(w->generated, gradient_of_reader, d);
  if (kinds[o->kind].output) plim_generated_link(w->generated, reader, d);
  for (int32_t i = 0; i < o->n_in && kinds[o->kind].inputs; i++) plim_generated_link(w->generated, o->in[i], d);
}

/* Add the gradient of the output of each forward op v but the loss, from the last to the first. Its node is
 * 2 forward - 2 - v. */
static void add_backward(network *w) {
  plim_generated *g = w->generated;
  int32_t forward = (int32_t)g->n;
  for (int32_t v = forward - 2; v >= 0 && g->status == PLIM_OK; v--) {
    int64_t time_ns = g->node[v].time_ns * kinds[w->op[v].kind].percent / 100;
    (void)plim_generated_node(g, "grad", PLIM_PHASE_BACKWARD, g->node[v].bytes, time_ns);
  }
  for (int32_t r = forward - 1; r >= 0 && g->status == PLIM_OK; r--) {
    int32_t gradient = r == forward - 1 ? r : 2 * forward - 2 - r; /* that of the loss is the loss */
    for (int32_t i = 0; i < w->op[r].n_in; i++) {
      read_derivative(w, r, gradient, 2 * forward - 2 - w->op[r].in[i]);
    }
  }
}

static void finish(network *w, int32_t last) {
  (void)add_op(w, LOSS, 64, 100, last, -1, -1);
  if (w->generated->status == PLIM_OK) add_backward(w);
  plim_release(w->generated->ctx, w->op, w->capacity, sizeof *w->op);
}

/* Whether another block of that many forward ops fits, with the loss and the backward ops. */
static int another(const plim_generated *generated, int64_t ops) {
  return generated->status == PLIM_OK && 2 * (generated->n + ops) + 1 <= generated->options->n;
}

/* Bytes and time of a layer at a depth. After every `stage` blocks resolution halves and channels double, so bytes
 * halve. */
static int64_t stage_bytes(int32_t block, int32_t stage) {
  int32_t level = block / stage < 5 ? block / stage : 5;
  return (INT64_C(64) << 20) >> level;
}

void plim_generate_chain(plim_generated *generated) {
  network w = {.generated = generated};
  int32_t v = add_op(&w, CONV, stage_bytes(0, 1), 1000, -1, -1, -1);
  int32_t stage = generated->options->n / 4 / 5 + 1;
  for (int32_t block = 0; another(generated, 2); block++) {
    v = add_op(&w, CONV, stage_bytes(block, stage), 1000, v, -1, -1);
    v = add_op(&w, ACT, stage_bytes(block, stage), 50, v, -1, -1);
  }
  finish(&w, v);
}

void plim_generate_residual(plim_generated *generated) {
  network w = {.generated = generated};
  int32_t v = add_op(&w, CONV, stage_bytes(0, 1), 1000, -1, -1, -1);
  int32_t stage = generated->options->n / 12 / 4 + 1;
  for (int32_t block = 0; another(generated, 6); block++) {
    int64_t bytes = stage_bytes(block, stage);
    int32_t a = add_op(&w, CONV, bytes, 1000, v, -1, -1);
    a = add_op(&w, ACT, bytes, 60, a, -1, -1);
    a = add_op(&w, CONV, bytes, 1000, a, -1, -1);
    int32_t shortcut = block > 0 && block % stage == 0 ? add_op(&w, CONV, bytes, 300, v, -1, -1) : v;
    a = add_op(&w, SUM, bytes, 40, a, shortcut, -1);
    v = add_op(&w, ACT, bytes, 60, a, -1, -1);
  }
  finish(&w, v);
}

enum { UNET_LEVELS = 5 };

void plim_generate_unet(plim_generated *generated) {
  network w = {.generated = generated};
  int32_t skip[UNET_LEVELS], v = add_op(&w, CONV, stage_bytes(0, 1), 1000, -1, -1, -1);
  int64_t per_level = ((int64_t)generated->options->n / 2 - 1 - UNET_LEVELS) / (2 * UNET_LEVELS) / 2; /* pairs of ops */
  for (int32_t level = 0; level < UNET_LEVELS; level++) {
    for (int64_t i = 0; i < per_level && another(generated, 2); i++) {
      v = add_op(&w, CONV, stage_bytes(level, 1), 1000, v, -1, -1);
      v = add_op(&w, ACT, stage_bytes(level, 1), 50, v, -1, -1);
    }
    skip[level] = v;
  }
  for (int32_t level = UNET_LEVELS - 1; level >= 0; level--) {
    if (level < UNET_LEVELS - 1 && another(generated, 1)) {
      v = add_op(&w, SUM, 2 * stage_bytes(level, 1), 80, v, skip[level], -1);
    }
    for (int64_t i = 0; i < per_level && another(generated, 2); i++) {
      v = add_op(&w, CONV, stage_bytes(level, 1), 1000, v, -1, -1);
      v = add_op(&w, ACT, stage_bytes(level, 1), 50, v, -1, -1);
    }
  }
  finish(&w, v);
}

/* Attention over q, k, v and a feed-forward part of four times the width, each with a residual sum. */
void plim_generate_transformer(plim_generated *generated) {
  const int64_t bytes = INT64_C(8) << 20, scores = INT64_C(32) << 20;
  network w = {.generated = generated};
  int32_t x = add_op(&w, CONV, bytes, 200, -1, -1, -1);
  while (another(generated, 12)) {
    int32_t norm = add_op(&w, CONV, bytes, 30, x, -1, -1);
    int32_t q = add_op(&w, CONV, bytes, 400, norm, -1, -1), k = add_op(&w, CONV, bytes, 400, norm, -1, -1);
    int32_t v = add_op(&w, CONV, bytes, 400, norm, -1, -1);
    int32_t s = add_op(&w, PRODUCT, scores, 500, q, k, -1);
    s = add_op(&w, SOFTMAX, scores, 100, s, -1, -1);
    s = add_op(&w, PRODUCT, bytes, 500, s, v, -1);
    s = add_op(&w, CONV, bytes, 400, s, -1, -1);
    x = add_op(&w, SUM, bytes, 20, s, x, -1);
    int32_t f = add_op(&w, CONV, 4 * bytes, 1600, x, -1, -1);
    f = add_op(&w, CONV, bytes, 1600, add_op(&w, ACT, 4 * bytes, 60, f, -1, -1), -1, -1);
    x = add_op(&w, SUM, bytes, 20, f, x, -1);
  }
  finish(&w, x);
}
