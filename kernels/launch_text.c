/* Launches of the ops of transformers: tables, norms, softmax, activations, attention, the loss over a vocabulary. */
#include "kernels/launch.h"

enum { EXP_ELEMENTS = 2 }; /* an exponential in float takes as long as an elementwise op on so many elements */

/* Numbers of bytes and of elements that a launch counts stay in 63 bits when their product does. */
static int fits(int64_t a, int64_t b) {
  return a <= INT64_MAX / 16 / b;
}

/* ---- activations ---- */

static int activation(const plim_op_desc *op, k_body body, k_launch *launch) {
  launch->call.elements = plim_shape_elements(&op->out[0]);
  k_launch_add_phase(launch, body, k_tiles(launch->call.elements, body), EXP_ELEMENTS * (double)launch->call.elements);
  return 1;
}

int k_launch_gelu(const plim_op_desc *op, k_launch *launch) {
  return activation(op, K_BODY_gelu, launch);
}
int k_launch_gelu_bwd(const plim_op_desc *op, k_launch *launch) {
  return activation(op, K_BODY_gelu_bwd, launch);
}
int k_launch_silu(const plim_op_desc *op, k_launch *launch) {
  return activation(op, K_BODY_silu, launch);
}
int k_launch_silu_bwd(const plim_op_desc *op, k_launch *launch) {
  return activation(op, K_BODY_silu_bwd, launch);
}

/* ---- norms ---- */

static int norm(const plim_op_desc *op, k_body body, k_launch *launch) {
  const plim_shape *x = &op->in[0];
  if (!k_view_make(x, &launch->call.x)) return 0;
  k_launch_add_phase(launch, body, k_tiles(x->dim[0], body), k_view_elements(&launch->call.x));
  return 1;
}

/* Rows of a tile where thousands of threads wait for work; their sums over rows are one partial result. */
enum { LEAST_NORM_ROWS = 8 };

static void divide_norm_rows(k_launch *launch, int64_t rows) {
  k_call *call = &launch->call;
  call->chunk = rows;
  call->chunks = launch->phase[0].tiles = k_parts(call->x.n, rows);
  launch->workspace_bytes = call->chunks * 2 * call->x.channels * (int64_t)sizeof(float);
}

static int norm_bwd(const plim_op_desc *op, k_body body, k_body combine, k_launch *launch) {
  const plim_shape *dy = &op->in[0];
  const k_call *call = &launch->call;
  if (!k_view_make(dy, &launch->call.x) || !fits(k_parts(dy->dim[0], LEAST_NORM_ROWS), dy->dim[1])) return 0;
  k_launch_add_phase(launch, body, 1, k_view_elements(&call->x));
  k_launch_add_phase(launch, combine, k_tiles(dy->dim[1], combine), k_view_elements(&call->x));
  divide_norm_rows(launch, k_tile(body));
  return 1;
}

void k_launch_divide_more(k_launch *launch) {
  const k_body body = launch->phase[0].body;
  if (body == K_BODY_layer_norm_bwd || body == K_BODY_rms_norm_bwd) divide_norm_rows(launch, LEAST_NORM_ROWS);
}

int k_launch_layer_norm(const plim_op_desc *op, k_launch *launch) {
  return norm(op, K_BODY_layer_norm, launch);
}
int k_launch_layer_norm_bwd(const plim_op_desc *op, k_launch *launch) {
  return norm_bwd(op, K_BODY_layer_norm_bwd, K_BODY_layer_norm_combine, launch);
}
int k_launch_rms_norm(const plim_op_desc *op, k_launch *launch) {
  return norm(op, K_BODY_rms_norm, launch);
}
int k_launch_rms_norm_bwd(const plim_op_desc *op, k_launch *launch) {
  return norm_bwd(op, K_BODY_rms_norm_bwd, K_BODY_rms_norm_combine, launch);
}

/* ---- softmax ---- */

/* Rows of the last size. */
static int softmax(const plim_op_desc *op, k_body body, k_launch *launch) {
  const plim_shape *x = &op->in[0];
  const int64_t elements = plim_shape_elements(x), columns = x->dim[x->rank - 1];
  launch->call.x = (k_view){elements / columns, columns, 1, 1, columns, 1, 1};
  k_launch_add_phase(launch, body, k_tiles(launch->call.x.n, body), EXP_ELEMENTS * (double)elements);
  return 1;
}

int k_launch_softmax(const plim_op_desc *op, k_launch *launch) {
  return softmax(op, K_BODY_row_softmax, launch);
}
int k_launch_softmax_bwd(const plim_op_desc *op, k_launch *launch) {
  return softmax(op, K_BODY_row_softmax_bwd, launch);
}

/* ---- tables ---- */

/* y [B][T][C] from tokens [B][T] and a table [V][C]. */
static void tables(const plim_shape *y, const plim_shape *table, k_launch *launch) {
  const int64_t n = y->dim[0] * y->dim[1], channels = y->dim[2];
  launch->call.x = (k_view){n, channels, 1, 1, channels, 1, 1};
  launch->call.y = (k_view){.n = table->dim[0], .channels = channels, .spatial = y->dim[1]};
}

int k_launch_embedding(const plim_op_desc *op, k_launch *launch) {
  tables(&op->out[0], &op->in[1], launch);
  const k_view *x = &launch->call.x;
  k_launch_add_phase(launch, K_BODY_embedding, k_tiles(x->n, K_BODY_embedding), k_view_elements(x));
  return 1;
}

int k_launch_embedding_bwd(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *dy = &op->in[0], *dtable = &op->out[0];
  tables(dy, dtable, launch);
  const k_view *x = &launch->call.x;
  k_launch_add_phase(launch, K_BODY_embedding_bwd, k_tiles(dtable->dim[0], K_BODY_embedding_bwd), k_view_elements(x));
  if (op->n_out == 2) k_launch_add_phase(launch, K_BODY_position_bwd, dy->dim[1], k_view_elements(x));
  return 1;
}

/* ---- attention ---- */

/* y [B][T][C], lse [B][T][H] */
static int heads(const plim_shape *y, const plim_shape *lse, k_launch *launch) {
  const int64_t b = y->dim[0], t = y->dim[1], c = y->dim[2], h = lse->dim[2];
  if (c > INT32_MAX / 4 || t > INT32_MAX / 256 || c / h > K_DEPTH_MOST || !fits(t, b * c)) return 0;
  launch->call.x = (k_view){b * t, c, 1, 1, c, 1, 1};
  launch->call.y = (k_view){b, c, h, t, c / h, 1, t};
  return 1;
}

static double attention_elements(const k_view *y) {
  return (double)y->n * (double)y->spatial * (double)y->spatial * (double)y->channels / K_PRODUCT_ELEMENTS;
}

int k_launch_attention(const plim_op_desc *op, k_launch *launch) {
  const k_view *y = &launch->call.y;
  if (!heads(&op->out[0], &op->out[1], launch)) return 0;
  launch->call.parts = k_tiles(y->spatial, K_BODY_attention);
  k_launch_add_phase(launch, K_BODY_attention, y->n * y->groups * launch->call.parts, attention_elements(y));
  return 1;
}

int k_launch_attention_bwd(const plim_op_desc *op, k_launch *launch) {
  const k_view *y = &launch->call.y;
  if (!heads(&op->in[2], &op->in[3], launch)) return 0;
  if (launch->call.type != K_TYPE_FLOAT) {
    launch->workspace_bytes = 2 * y->n * y->spatial * y->channels * (int64_t)sizeof(float);
  }
  k_launch_add_phase(launch, K_BODY_attention_bwd, y->n * y->groups, attention_elements(y));
  return 1;
}

/* ---- the loss over a vocabulary ---- */

/* x [N][C], label [N], w [V][C] */
static int words(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *x = &op->in[0], *w = &op->in[2];
  if (w->dim[0] > K_MOST_CLASSES) return 0;
  launch->call.x = (k_view){.n = x->dim[0], .channels = w->dim[0], .spatial = 1};
  return k_view_make(x, &launch->call.y);
}

static double words_elements(const k_call *call) {
  return (double)call->x.n * (double)call->x.channels * (double)call->y.channels / K_PRODUCT_ELEMENTS;
}

int k_launch_linear_xent(const plim_op_desc *op, k_launch *launch) {
  const k_call *call = &launch->call;
  if (!words(op, launch)) return 0;
  launch->workspace_bytes = 2 * call->x.n * (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_BODY_linear_xent, k_tiles(call->x.n, K_BODY_linear_xent), words_elements(call));
  k_launch_add_phase(launch, K_BODY_softmax_mean, 1, 0);
  return 1;
}

int k_launch_linear_xent_bwd(const plim_op_desc *op, k_launch *launch) {
  const k_call *call = &launch->call;
  if (!words(op, launch)) return 0;
  launch->workspace_bytes = (int64_t)sizeof(float);
  if (call->type != K_TYPE_FLOAT) {
    if (!fits(call->x.n, call->y.channels)) return 0;
    launch->workspace_bytes += call->x.n * call->y.channels * (int64_t)sizeof(float);
  }
  k_launch_add_phase(launch, K_BODY_softmax_count, 1, 0);
  k_launch_add_phase(launch, K_BODY_linear_xent_bwd, k_tiles(call->x.n, K_BODY_linear_xent_bwd), words_elements(call));
  k_launch_add_phase(launch, K_BODY_linear_xent_bwd_words, k_tiles(call->x.channels, K_BODY_linear_xent_bwd_words),
                     words_elements(call));
  return 1;
}

/* ---- updates ---- */

static int adam(const plim_op_desc *op, k_body body, k_launch *launch) {
  launch->call.elements = plim_shape_elements(&op->in[0]);
  k_launch_add_phase(launch, body, k_tiles(launch->call.elements, body), 2 * (double)launch->call.elements);
  return 1;
}

int k_launch_adam(const plim_op_desc *op, k_launch *launch) {
  return adam(op, K_BODY_adam, launch);
}
int k_launch_adamw(const plim_op_desc *op, k_launch *launch) {
  return adam(op, K_BODY_adamw, launch);
}

int k_launch_sum_squares(const plim_op_desc *op, k_launch *launch) {
  k_call *call = &launch->call;
  call->elements = plim_shape_elements(&op->in[0]);
  call->chunks = k_tiles(call->elements, K_BODY_squares);
  launch->workspace_bytes = call->chunks * (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_BODY_squares, call->chunks, (double)call->elements);
  k_launch_add_phase(launch, K_BODY_squares_combine, 1, 0);
  return 1;
}
