/* Launches of the ops of transformers: tables, norms, softmax, activations, attention, the loss over a vocabulary. */
#include "kernels/launch.h"

enum { EXP_ELEMENTS = 2 }; /* an exponential in float takes as long as an elementwise op on so many elements */

static int counts(const plim_op_desc *op, int in_least, int in_most, int out) {
  return op->n_in >= in_least && op->n_in <= in_most && op->n_out == out && op->n_upd == 0;
}

/* [a][b] or, with c > 0, [a][b][c]; row-major. */
static int is_block(const plim_shape *shape, int64_t a, int64_t b, int64_t c) {
  const int rank = c > 0 ? 3 : 2;
  if (!k_is_valid(shape) || shape->layout != PLIM_FLAT || shape->rank != rank) return 0;
  return shape->dim[0] == a && shape->dim[1] == b && (rank == 2 || shape->dim[2] == c);
}

static int is_vector(const plim_shape *shape, int64_t n) {
  return k_is_valid(shape) && shape->rank == 1 && shape->dim[0] == n;
}

/* Numbers of bytes and of elements that a launch counts stay in 63 bits when their product does. */
static int fits(int64_t a, int64_t b) {
  return a <= INT64_MAX / 16 / b;
}

/* ---- activations ---- */

static int activation(const plim_op_desc *op, k_body body, int inputs, k_launch *launch) {
  const plim_shape *y = &op->out[0];
  if (!counts(op, inputs, inputs, 1) || !k_is_valid(y)) return 0;
  for (int i = 0; i < inputs; i++) {
    if (!k_is_like(&op->in[i], y)) return 0;
  }
  launch->call.elements = plim_shape_elements(y);
  k_launch_add_phase(launch, body, k_tiles(launch->call.elements, body), EXP_ELEMENTS * (double)launch->call.elements);
  return 1;
}

int k_launch_gelu(const plim_op_desc *op, k_launch *launch) {
  return activation(op, K_BODY_gelu, 1, launch);
}
int k_launch_gelu_bwd(const plim_op_desc *op, k_launch *launch) {
  return activation(op, K_BODY_gelu_bwd, 2, launch);
}
int k_launch_silu(const plim_op_desc *op, k_launch *launch) {
  return activation(op, K_BODY_silu, 1, launch);
}
int k_launch_silu_bwd(const plim_op_desc *op, k_launch *launch) {
  return activation(op, K_BODY_silu_bwd, 2, launch);
}

/* ---- norms ---- */

static int is_affine(const plim_shape *shape, int64_t channels, int planes) {
  return planes == 2 ? is_block(shape, 2, channels, 0) : is_vector(shape, channels);
}

static int rows_of(const plim_shape *x, k_launch *launch) {
  return k_is_valid(x) && x->rank == 2 && k_view_make(x, &launch->call.x);
}

static int norm(const plim_op_desc *op, k_body body, int planes, k_launch *launch) {
  const plim_shape *x = &op->in[0];
  if (!counts(op, 2, 2, 1) || !rows_of(x, launch) || !k_is_like(&op->out[0], x)) return 0;
  if (!is_affine(&op->in[1], x->dim[1], planes)) return 0;
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

static int norm_bwd(const plim_op_desc *op, k_body body, k_body combine, int planes, k_launch *launch) {
  const plim_shape *dy = &op->in[0];
  const k_call *call = &launch->call;
  if (!counts(op, 3, 3, 2) || !rows_of(dy, launch) || !k_is_like(&op->in[1], dy) || !k_is_like(&op->out[0], dy))
    return 0;
  if (!is_affine(&op->in[2], dy->dim[1], planes) || !is_affine(&op->out[1], dy->dim[1], planes)) return 0;
  if (!fits(k_parts(dy->dim[0], LEAST_NORM_ROWS), dy->dim[1])) return 0;
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
  return norm(op, K_BODY_layer_norm, 2, launch);
}
int k_launch_layer_norm_bwd(const plim_op_desc *op, k_launch *launch) {
  return norm_bwd(op, K_BODY_layer_norm_bwd, K_BODY_layer_norm_combine, 2, launch);
}
int k_launch_rms_norm(const plim_op_desc *op, k_launch *launch) {
  return norm(op, K_BODY_rms_norm, 1, launch);
}
int k_launch_rms_norm_bwd(const plim_op_desc *op, k_launch *launch) {
  return norm_bwd(op, K_BODY_rms_norm_bwd, K_BODY_rms_norm_combine, 1, launch);
}

/* ---- softmax ---- */

/* Rows of the last size; operands have been compared with the kind's rules. */
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
static int tables(const plim_shape *y, const plim_shape *token, const plim_shape *table, k_launch *launch) {
  if (!k_is_valid(y) || y->rank != 3 || y->layout != PLIM_FLAT || !is_block(token, y->dim[0], y->dim[1], 0)) return 0;
  if (!k_is_valid(table) || !is_block(table, table->dim[0], y->dim[2], 0)) return 0;
  const int64_t n = y->dim[0] * y->dim[1], channels = y->dim[2];
  launch->call.x = (k_view){n, channels, 1, 1, channels, 1, 1};
  launch->call.y = (k_view){.n = table->dim[0], .channels = channels, .spatial = y->dim[1]};
  return 1;
}

int k_launch_embedding(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *y = &op->out[0];
  if (!counts(op, 2, 3, 1) || !tables(y, &op->in[0], &op->in[1], launch)) return 0;
  if (op->n_in == 3 && !is_block(&op->in[2], y->dim[1], y->dim[2], 0)) return 0;
  const k_view *x = &launch->call.x;
  k_launch_add_phase(launch, K_BODY_embedding, k_tiles(x->n, K_BODY_embedding), k_view_elements(x));
  return 1;
}

int k_launch_embedding_bwd(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *dy = &op->in[0], *dtable = &op->out[0];
  if (op->n_out < 1 || op->n_out > 2 || !counts(op, 2, 3, op->n_out)) return 0;
  if (!tables(dy, &op->in[1], dtable, launch)) return 0;
  if (op->n_in == 3 && !k_is_like(&op->in[2], dtable)) return 0;
  if (op->n_out == 2 && !is_block(&op->out[1], dy->dim[1], dy->dim[2], 0)) return 0;
  const k_view *x = &launch->call.x;
  k_launch_add_phase(launch, K_BODY_embedding_bwd, k_tiles(dtable->dim[0], K_BODY_embedding_bwd), k_view_elements(x));
  if (op->n_out == 2) k_launch_add_phase(launch, K_BODY_position_bwd, dy->dim[1], k_view_elements(x));
  return 1;
}

/* ---- attention ---- */

/* qkv [B][T][3 C], y [B][T][C], lse [B][T][H] */
static int heads(const plim_shape *qkv, const plim_shape *y, const plim_shape *lse, k_launch *launch) {
  if (!k_is_valid(y) || y->rank != 3 || y->layout != PLIM_FLAT || !k_is_valid(lse) || lse->rank != 3) return 0;
  const int64_t b = y->dim[0], t = y->dim[1], c = y->dim[2], h = lse->dim[2];
  if (c > INT32_MAX / 4 || t > INT32_MAX / 256 || !is_block(qkv, b, t, 3 * c) || !is_block(lse, b, t, h)) return 0;
  if (c % h != 0 || c / h > K_DEPTH_MOST || !fits(t, b * c)) return 0;
  launch->call.x = (k_view){b * t, c, 1, 1, c, 1, 1};
  launch->call.y = (k_view){b, c, h, t, c / h, 1, t};
  return 1;
}

static double attention_elements(const k_view *y) {
  return (double)y->n * (double)y->spatial * (double)y->spatial * (double)y->channels / K_PRODUCT_ELEMENTS;
}

int k_launch_attention(const plim_op_desc *op, k_launch *launch) {
  const k_view *y = &launch->call.y;
  if (!counts(op, 1, 1, 2) || !heads(&op->in[0], &op->out[0], &op->out[1], launch)) return 0;
  launch->call.parts = k_tiles(y->spatial, K_BODY_attention);
  k_launch_add_phase(launch, K_BODY_attention, y->n * y->groups * launch->call.parts, attention_elements(y));
  return 1;
}

int k_launch_attention_bwd(const plim_op_desc *op, k_launch *launch) {
  const k_view *y = &launch->call.y;
  if (!counts(op, 4, 4, 1) || !heads(&op->in[1], &op->in[2], &op->in[3], launch)) return 0;
  if (!k_is_like(&op->in[0], &op->in[2]) || !k_is_like(&op->out[0], &op->in[1])) return 0;
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
  if (!k_is_valid(x) || x->rank != 2 || x->layout != PLIM_FLAT || !is_vector(&op->in[1], x->dim[0])) return 0;
  if (!k_is_valid(w) || !is_block(w, w->dim[0], x->dim[1], 0) || w->dim[0] > K_MOST_CLASSES) return 0;
  launch->call.x = (k_view){.n = x->dim[0], .channels = w->dim[0], .spatial = 1};
  return k_view_make(x, &launch->call.y);
}

static double words_elements(const k_call *call) {
  return (double)call->x.n * (double)call->x.channels * (double)call->y.channels / K_PRODUCT_ELEMENTS;
}

int k_launch_linear_xent(const plim_op_desc *op, k_launch *launch) {
  const k_call *call = &launch->call;
  if (!counts(op, 3, 3, 3) || !words(op, launch)) return 0;
  if (!is_vector(&op->out[0], 1) || !is_vector(&op->out[1], 2) || !is_vector(&op->out[2], call->x.n)) return 0;
  launch->workspace_bytes = 2 * call->x.n * (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_BODY_linear_xent, k_tiles(call->x.n, K_BODY_linear_xent), words_elements(call));
  k_launch_add_phase(launch, K_BODY_softmax_mean, 1, 0);
  return 1;
}

int k_launch_linear_xent_bwd(const plim_op_desc *op, k_launch *launch) {
  const k_call *call = &launch->call;
  if (!counts(op, 4, 4, 2) || !words(op, launch) || !is_vector(&op->in[3], call->x.n)) return 0;
  if (!k_is_like(&op->out[0], &op->in[0]) || !k_is_like(&op->out[1], &op->in[2])) return 0;
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
  const plim_shape *grad = &op->in[0];
  if (op->n_in < 2 || op->n_in > 3 || op->n_out != 0 || op->n_upd != 3 || !k_is_valid(grad)) return 0;
  if (!is_vector(&op->in[1], 8) || (op->n_in == 3 && !is_vector(&op->in[2], 1))) return 0;
  for (int i = 0; i < 3; i++) {
    if (!k_is_like(&op->upd[i], grad)) return 0;
  }
  launch->call.elements = plim_shape_elements(grad);
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
  if (!counts(op, 1, 2, 1) || !k_is_valid(&op->in[0]) || !is_vector(&op->out[0], 1)) return 0;
  if (op->n_in == 2 && !is_vector(&op->in[1], 1)) return 0;
  call->elements = plim_shape_elements(&op->in[0]);
  call->chunks = k_tiles(call->elements, K_BODY_squares);
  launch->workspace_bytes = call->chunks * (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_BODY_squares, call->chunks, (double)call->elements);
  k_launch_add_phase(launch, K_BODY_squares_combine, 1, 0);
  return 1;
}
