/* A model is a function that puts its calls on a tape; sizes and times are drawn around what such calls cost. */
#include "tests/support/random_log.h"

#include "tests/support/dtr_logs.h"
#include "tests/support/log_tape.h"
#include "tests/support/test_random.h"

#define PLIM_X(id) #id,
static const char *const kind_names[] = {RANDOM_LOG_KINDS(PLIM_X)};
#undef PLIM_X

const char *random_log_name(random_log_kind kind) {
  return kind_names[kind];
}

typedef struct maker {
  log_tape *tape;
  uint64_t random;
  int32_t size;
} maker;

static int64_t between(maker *m, int64_t low, int64_t high) {
  return test_random_between(&m->random, low, high);
}

/* Time of a call over so many bytes, with `cost` hundredths of a nanosecond a byte, give or take a half. */
static int64_t time_of(maker *m, int64_t bytes, int64_t cost) {
  return 1 + bytes * cost / 100 * between(m, 50, 150) / 100;
}

/* `in` is let go when `drop` says so. */
static int32_t unary(maker *m, const char *op, int32_t in, int64_t bytes, int64_t cost, int32_t saves, int drop) {
  tape_call c = {.op = op, .n_in = 1, .in = {in}, .bytes = bytes, .time_ns = time_of(m, bytes, cost), .saves = saves};
  int32_t out = log_tape_call(m->tape, &c);
  if (drop) log_tape_drop(m->tape, in);
  return out;
}

static int32_t binary(maker *m, const char *op, int32_t a, int32_t b, int64_t bytes, int64_t cost, int32_t saves) {
  tape_call c = {.op = op, .n_in = 2, .in = {a, b}, .bytes = bytes, .time_ns = time_of(m, bytes, cost), .saves = saves};
  return log_tape_call(m->tape, &c);
}

/* With a parameter of its own: convolution or matrix product. */
static int32_t weighted(maker *m, const char *op, int32_t in, int64_t bytes, int drop) {
  int32_t weight = log_tape_parameter(m->tape, between(m, 100, 4000));
  int32_t out = binary(m, op, in, weight, bytes, 100, TAPE_SAVE_IN);
  if (drop) log_tape_drop(m->tape, in);
  return out;
}

static int32_t mutate(maker *m, const char *op, int32_t in, int64_t bytes) {
  tape_call c = {
      .op = op, .n_in = 1, .in = {in}, .time_ns = time_of(m, bytes, 5), .saves = TAPE_SAVE_OUT, .mutates = 1};
  return log_tape_call(m->tape, &c);
}

/* Of something that is held through the view alone from now on. */
static int32_t view(maker *m, int32_t in) {
  tape_call c = {.op = "view", .n_in = 1, .in = {in}, .time_ns = between(m, 1, 20), .view = 1};
  int32_t out = log_tape_call(m->tape, &c);
  log_tape_drop(m->tape, in);
  return out;
}

/* Batch norm with saved mean and variance and an empty reserve, then relu in place. */
static int32_t norm_relu(maker *m, int32_t in, int64_t bytes) {
  tape_call c = {
      .op = "cudnn_batch_norm",
      .n_in = 4,
      .in = {in, log_tape_parameter(m->tape, 256), log_tape_parameter(m->tape, 256), log_tape_input(m->tape, 256)},
      .bytes = bytes,
      .time_ns = time_of(m, bytes, 12),
      .n_extra = 3,
      .extra_bytes = test_random_chance(&m->random, 30) ? 0 : 256,
      .saves = TAPE_SAVE_IN | TAPE_SAVE_EXTRA};
  int32_t out = log_tape_call(m->tape, &c);
  log_tape_drop(m->tape, in);
  return mutate(m, "relu_", out, bytes);
}

static int32_t head(maker *m, int32_t in) {
  int32_t flat = view(m, unary(m, "mean", in, 512, 5, TAPE_SAVE_NOTHING, 1));
  int32_t logits = weighted(m, "addmm", flat, 512, 1);
  int32_t loss = unary(m, "log_softmax", logits, 512, 50, TAPE_SAVE_OUT, 1);
  return unary(m, "nll_loss", loss, 4, 50, TAPE_SAVE_IN, 1);
}

static int32_t residual(maker *m) {
  int64_t bytes = between(m, 20000, 60000);
  int32_t x = weighted(m, "convolution", log_tape_input(m->tape, bytes / 2), bytes, 0);
  for (int32_t block = 0; block < m->size; block++) {
    int64_t next = test_random_chance(&m->random, 25) ? bytes / 2 + 1 : bytes;
    int32_t a = norm_relu(m, weighted(m, "convolution", x, next, 0), next);
    int32_t b = norm_relu(m, weighted(m, "convolution", a, next, 1), next);
    int32_t skip = next == bytes ? x : weighted(m, "convolution", x, next, 1);
    x = binary(m, "add", b, skip, next, 6, TAPE_SAVE_NOTHING);
    log_tape_drop(m->tape, skip);
    log_tape_drop(m->tape, b);
    bytes = next;
  }
  return head(m, x);
}

static int32_t unet(maker *m) {
  enum { LEVELS = 16 };
  int32_t levels = m->size < LEVELS ? m->size : LEVELS, skip[LEVELS];
  int64_t bytes[LEVELS + 1] = {between(m, 60000, 200000)};
  int32_t x = log_tape_input(m->tape, bytes[0] / 8);
  for (int32_t l = 0; l < levels; l++) {
    x = mutate(m, "relu_", weighted(m, "convolution", x, bytes[l], l > 0), bytes[l]);
    skip[l] = norm_relu(m, weighted(m, "convolution", x, bytes[l], 1), bytes[l]);
    bytes[l + 1] = bytes[l] / 2 + 7;
    tape_call pool = {.op = "max_pool2d_with_indices",
                      .n_in = 1,
                      .in = {skip[l]},
                      .bytes = bytes[l + 1],
                      .time_ns = time_of(m, bytes[l], 6),
                      .n_extra = 1,
                      .extra_bytes = 2 * bytes[l + 1],
                      .saves = TAPE_SAVE_IN | TAPE_SAVE_EXTRA};
    x = log_tape_call(m->tape, &pool);
  }
  for (int32_t l = levels - 1; l >= 0; l--) {
    int32_t up = weighted(m, "upsample", x, bytes[l], 1), both = binary(m, "cat", up, skip[l], 2 * bytes[l], 4, 0);
    log_tape_drop(m->tape, up);
    log_tape_drop(m->tape, skip[l]);
    x = norm_relu(m, weighted(m, "convolution", both, bytes[l], 1), bytes[l]);
  }
  return head(m, x);
}

static int32_t dense(maker *m) {
  enum { REACH = 7 };
  int64_t bytes = between(m, 4000, 12000);
  int32_t feature[REACH + 1], n = 0;
  feature[n++] = weighted(m, "convolution", log_tape_input(m->tape, bytes), bytes, 0);
  for (int32_t layer = 0; layer < m->size; layer++) {
    tape_call cat = {.op = "cat", .n_in = n, .bytes = n * bytes, .time_ns = time_of(m, n * bytes, 3)};
    for (int32_t i = 0; i < n; i++) cat.in[i] = feature[i];
    int32_t wide = norm_relu(m, log_tape_call(m->tape, &cat), n * bytes);
    int32_t grown = weighted(m, "convolution", wide, bytes, 1);
    if (n == REACH) { /* a transition: the features so far give way to one */
      for (int32_t i = 0; i < n; i++) log_tape_drop(m->tape, feature[i]);
      n = 0;
    }
    feature[n++] = grown;
  }
  for (int32_t i = 0; i + 1 < n; i++) log_tape_drop(m->tape, feature[i]);
  return head(m, feature[n - 1]);
}

static int32_t lstm(maker *m) {
  int64_t bytes = between(m, 3000, 9000);
  int32_t w = log_tape_parameter(m->tape, between(m, 4000, 20000)), u = log_tape_parameter(m->tape, 4000);
  int32_t h = log_tape_input(m->tape, bytes), c = log_tape_input(m->tape, bytes);
  for (int32_t t = 0; t < m->size; t++) {
    int32_t x = log_tape_input(m->tape, bytes); /* constants between calls */
    int32_t from_x = binary(m, "mm", x, w, 4 * bytes, 60, TAPE_SAVE_IN);
    int32_t from_h = binary(m, "mm", h, u, 4 * bytes, 60, TAPE_SAVE_IN);
    tape_call cell = {.op = "_thnn_fused_lstm_cell",
                      .n_in = 3,
                      .in = {from_x, from_h, c},
                      .bytes = bytes,
                      .time_ns = time_of(m, 4 * bytes, 8),
                      .n_extra = 1,
                      .extra_bytes = 4 * bytes,
                      .saves = TAPE_SAVE_IN | TAPE_SAVE_OUT | TAPE_SAVE_EXTRA};
    int32_t next = log_tape_call(m->tape, &cell), old = h;
    log_tape_drop(m->tape, from_x);
    log_tape_drop(m->tape, from_h);
    log_tape_drop(m->tape, c);
    h = unary(m, "tanh", next, bytes, 10, TAPE_SAVE_OUT, 0);
    log_tape_drop(m->tape, old);
    c = next;
  }
  log_tape_drop(m->tape, c);
  return head(m, h);
}

static int32_t attention(maker *m, int32_t x, int64_t bytes) {
  int32_t q = view(m, weighted(m, "mm", x, bytes, 0)), k = view(m, weighted(m, "mm", x, bytes, 0));
  int32_t v = weighted(m, "mm", x, bytes, 0);
  int64_t square = 2 * bytes;
  int32_t scores = binary(m, "bmm", q, k, square, 40, TAPE_SAVE_IN);
  int32_t soft = unary(m, "softmax", scores, square, 10, TAPE_SAVE_OUT, 1);
  tape_call drop = {.op = "_fused_droupout_",
                    .n_in = 1,
                    .in = {soft},
                    .bytes = square,
                    .time_ns = time_of(m, square, 6),
                    .n_extra = 1,
                    .extra_bytes = square / 4,
                    .saves = TAPE_SAVE_EXTRA};
  int32_t dropped = log_tape_call(m->tape, &drop), mixed = binary(m, "bmm", dropped, v, bytes, 40, TAPE_SAVE_IN);
  const int32_t gone[] = {soft, dropped, q, k, v};
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) log_tape_drop(m->tape, gone[i]);
  return weighted(m, "mm", mixed, bytes, 1);
}

static int32_t layer_norm(maker *m, int32_t a, int32_t b, int64_t bytes) {
  int32_t sum = binary(m, "add", a, b, bytes, 5, TAPE_SAVE_NOTHING);
  log_tape_drop(m->tape, a);
  log_tape_drop(m->tape, b);
  tape_call norm = {.op = "native_layer_norm",
                    .n_in = 2,
                    .in = {sum, log_tape_parameter(m->tape, 512)},
                    .bytes = bytes,
                    .time_ns = time_of(m, bytes, 12),
                    .n_extra = 2,
                    .extra_bytes = bytes / 64,
                    .saves = TAPE_SAVE_IN | TAPE_SAVE_EXTRA};
  int32_t out = log_tape_call(m->tape, &norm);
  log_tape_drop(m->tape, sum);
  return out;
}

static int32_t transformer(maker *m) {
  int64_t bytes = between(m, 8000, 20000);
  int32_t x = weighted(m, "embedding", log_tape_input(m->tape, 800), bytes, 0);
  for (int32_t layer = 0; layer < m->size; layer++) {
    x = layer_norm(m, attention(m, x, bytes), x, bytes);
    int32_t wide = mutate(m, "relu_", weighted(m, "mm", x, 4 * bytes, 0), 4 * bytes);
    x = layer_norm(m, weighted(m, "mm", wide, bytes, 1), x, bytes);
  }
  return head(m, x);
}

/* Branches of other depths over one value, joined again. */
static int32_t inception(maker *m) {
  enum { BRANCHES = 4 };
  int64_t bytes = between(m, 20000, 60000);
  int32_t x = weighted(m, "convolution", log_tape_input(m->tape, bytes), bytes, 0);
  for (int32_t block = 0; block < m->size; block++) {
    tape_call cat = {.op = "cat", .n_in = BRANCHES};
    for (int32_t b = 0; b < BRANCHES; b++) {
      int64_t part = bytes / BRANCHES * between(m, 50, 150) / 100;
      int32_t y = weighted(m, b == 0 ? "avg_pool2d" : "convolution", x, part, 0);
      for (int64_t i = between(m, 0, b); i > 0; i--) y = weighted(m, "convolution", norm_relu(m, y, part), part, 1);
      cat.in[b] = y;
      cat.bytes += part;
    }
    cat.time_ns = time_of(m, cat.bytes, 3);
    log_tape_drop(m->tape, x);
    x = log_tape_call(m->tape, &cat);
    for (int32_t b = 0; b < BRANCHES; b++) log_tape_drop(m->tape, cat.in[b]);
  }
  return head(m, x);
}

/* Two neighbours become one, through a cell with the same weights each time, until one is left. */
static int32_t join(maker *m, int32_t weight, int32_t a, int32_t b, int64_t bytes) {
  int32_t sum = binary(m, "add", a, b, bytes, 6, TAPE_SAVE_NOTHING);
  int32_t wide = binary(m, "mm", sum, weight, bytes, 60, TAPE_SAVE_IN);
  int32_t gate = unary(m, "sigmoid", wide, bytes, 10, TAPE_SAVE_OUT, 1);
  int32_t left = binary(m, "mul", gate, a, bytes, 5, TAPE_SAVE_IN),
          right = binary(m, "mul", gate, b, bytes, 5, TAPE_SAVE_IN);
  int32_t out = binary(m, "add", left, right, bytes, 5, TAPE_SAVE_NOTHING);
  const int32_t gone[] = {sum, gate, left, right, a, b};
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) log_tape_drop(m->tape, gone[i]);
  return unary(m, "tanh", out, bytes, 10, TAPE_SAVE_OUT, 1);
}

static int32_t tree(maker *m) {
  enum { LEAVES = 64 };
  int32_t node[LEAVES], n = m->size + 1 < LEAVES ? m->size + 1 : LEAVES;
  int64_t bytes = between(m, 3000, 9000);
  int32_t weight = log_tape_parameter(m->tape, 4000), inner = log_tape_parameter(m->tape, 8000);
  for (int32_t i = 0; i < n; i++) {
    node[i] = binary(m, "mm", log_tape_input(m->tape, bytes), weight, bytes, 60, TAPE_SAVE_IN);
  }
  for (; n > 1; n--) {
    int32_t at = (int32_t)between(m, 0, n - 2);
    node[at] = join(m, inner, node[at], node[at + 1], bytes);
    for (int32_t i = at + 1; i + 1 < n; i++) node[i] = node[i + 1];
  }
  return head(m, node[0]);
}

/* What a generator makes, and a sample, go through one discriminator. */
static int32_t gan(maker *m) {
  enum { MOST = 16 };
  int32_t layers = m->size < MOST ? m->size : MOST, weight[MOST], loss[2];
  int64_t bytes = between(m, 5000, 15000);
  int32_t x = log_tape_input(m->tape, bytes);
  for (int32_t i = 0; i < layers; i++) {
    x = norm_relu(m, weighted(m, "convolution_transpose", x, (i + 1) * bytes, i > 0), (i + 1) * bytes);
  }
  for (int32_t i = 0; i < layers; i++) weight[i] = log_tape_parameter(m->tape, 2000);
  for (int32_t turn = 0; turn < 2; turn++) {
    if (turn == 1) x = log_tape_input(m->tape, layers * bytes);
    for (int32_t i = 0; i < layers; i++) {
      int64_t next = (layers - i) * bytes;
      int32_t y = binary(m, "convolution", x, weight[i], next, 100, TAPE_SAVE_IN);
      if (i > 0 || turn == 0) log_tape_drop(m->tape, x);
      x = mutate(m, "leaky_relu_", y, next);
    }
    loss[turn] = head(m, x);
  }
  return binary(m, "add", loss[0], loss[1], 4, 50, TAPE_SAVE_NOTHING);
}

/* Calls over any earlier variables, some of which are let go long before the others. */
static int32_t tangle(maker *m) {
  enum { RECENT = 12 };
  int32_t recent[RECENT];
  for (int32_t i = 0; i < RECENT; i++) recent[i] = log_tape_parameter(m->tape, between(m, 1, 3000));
  for (int32_t i = 0; i < m->size; i++) {
    int32_t at = (int32_t)between(m, 0, RECENT - 1), other = (int32_t)between(m, 0, RECENT - 1);
    int64_t bytes = test_random_chance(&m->random, 5) ? 0 : between(m, 1, 30000);
    tape_call c = {.op = "f",
                   .n_in = other == at ? 1 : 2,
                   .in = {recent[at], recent[other]},
                   .bytes = bytes,
                   .time_ns = time_of(m, bytes, between(m, 1, 200)),
                   .n_extra = (int32_t)between(m, 0, 2),
                   .extra_bytes = between(m, 0, 3000),
                   .saves = (int32_t)between(m, 0, 7),
                   .view = test_random_chance(&m->random, 10)};
    if (c.view) c.n_extra = 0;
    int32_t out = log_tape_call(m->tape, &c), gone = (int32_t)between(m, 0, RECENT - 1);
    log_tape_drop(m->tape, recent[gone]);
    recent[gone] = out;
  }
  int32_t sum = recent[0];
  for (int32_t i = 1; i < RECENT; i++) sum = binary(m, "add", sum, recent[i], 512, 10, TAPE_SAVE_NOTHING);
  return sum;
}

void random_log_write(random_log_kind kind, int32_t size, uint64_t seed, plim_text *log) {
  static int32_t (*const model[])(maker *) = {[RANDOM_LOG_RESIDUAL] = residual,
                                              [RANDOM_LOG_UNET] = unet,
                                              [RANDOM_LOG_DENSE] = dense,
                                              [RANDOM_LOG_LSTM] = lstm,
                                              [RANDOM_LOG_TRANSFORMER] = transformer,
                                              [RANDOM_LOG_TANGLE] = tangle,
                                              [RANDOM_LOG_INCEPTION] = inception,
                                              [RANDOM_LOG_TREE] = tree,
                                              [RANDOM_LOG_GAN] = gan};
  maker m = {log_tape_new(log), test_mix(seed, kind), size};
  log_tape_backward(m.tape, model[kind](&m));
  log_tape_free(m.tape);
}

plim_graph *random_log_graph(plim_context *ctx, random_log_kind kind, int32_t size, uint64_t seed) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  random_log_write(kind, size, seed, &log);
  plim_graph *graph = dtr_graph(ctx, log.chars);
  plim_text_free(&log);
  return graph;
}
