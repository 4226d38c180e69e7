/* Launches of the ops that transformers add: embedding, norms, softmax, attention, the loss over a vocabulary. */
#include "kernels/launch.h"

enum { EXP_ELEMENTS = 2 }; /* an exponential in float takes as long as an elementwise op on so many elements */

/* Numbers of bytes and of elements that a launch counts stay in 63 bits when their product does. */
static int fits(int64_t a, int64_t b) {
  return a <= INT64_MAX / 16 / b;
}

/* ---- norms ---- */

static int norm(const plim_op_desc *op, k_kernel kernel, k_launch *launch) {
  k_rows *rows = &launch->call.rows;
  if (!k_rows_make(&op->in[0], rows)) return 0;
  k_launch_add_phase(launch, kernel, k_tiles(rows->n, kernel), k_rows_elements(rows));
  return 1;
}

/* Rows of a tile where thousands of threads wait for work; their sums over rows are one partial result. */
enum { NORM_ROWS_MIN = 8 };

static void divide_norm_rows(k_launch *launch, int64_t rows) {
  k_call *call = &launch->call;
  const int planes = launch->phase[0].kernel == K_KERNEL_layer_norm_bwd ? 2 : 1; /* sums for dscale, dshift */
  call->cut = (k_cut){.size = rows, .all = k_divide_up(call->rows.n, rows)};
  launch->phase[0].tiles = call->cut.all;
  launch->workspace_bytes = call->cut.all * planes * call->rows.columns * (int64_t)sizeof(float);
}

static int norm_bwd(const plim_op_desc *op, k_kernel kernel, k_kernel combine, k_launch *launch) {
  k_rows *rows = &launch->call.rows;
  if (!k_rows_make(&op->in[0], rows) || !fits(k_divide_up(rows->n, NORM_ROWS_MIN), rows->columns)) return 0;
  k_launch_add_phase(launch, kernel, 1, k_rows_elements(rows));
  k_launch_add_phase(launch, combine, k_tiles(rows->columns, combine), k_rows_elements(rows));
  divide_norm_rows(launch, k_tile(kernel));
  return 1;
}

void k_launch_divide_more(k_launch *launch) {
  const k_kernel kernel = launch->phase[0].kernel;
  if (kernel == K_KERNEL_layer_norm_bwd || kernel == K_KERNEL_rms_norm_bwd) divide_norm_rows(launch, NORM_ROWS_MIN);
}

int k_launch_layer_norm(const plim_op_desc *op, k_launch *launch) {
  return norm(op, K_KERNEL_layer_norm, launch);
}
int k_launch_layer_norm_bwd(const plim_op_desc *op, k_launch *launch) {
  return norm_bwd(op, K_KERNEL_layer_norm_bwd, K_KERNEL_layer_norm_combine, launch);
}
int k_launch_rms_norm(const plim_op_desc *op, k_launch *launch) {
  return norm(op, K_KERNEL_rms_norm, launch);
}
int k_launch_rms_norm_bwd(const plim_op_desc *op, k_launch *launch) {
  return norm_bwd(op, K_KERNEL_rms_norm_bwd, K_KERNEL_rms_norm_combine, launch);
}

/* ---- softmax ---- */

static int softmax(const plim_op_desc *op, k_kernel kernel, k_launch *launch) {
  k_rows *rows = &launch->call.rows;
  if (!k_rows_make(&op->in[0], rows)) return 0;
  k_launch_add_phase(launch, kernel, k_tiles(rows->n, kernel), EXP_ELEMENTS * k_rows_elements(rows));
  return 1;
}

int k_launch_softmax(const plim_op_desc *op, k_launch *launch) {
  return softmax(op, K_KERNEL_row_softmax, launch);
}
int k_launch_softmax_bwd(const plim_op_desc *op, k_launch *launch) {
  return softmax(op, K_KERNEL_row_softmax_bwd, launch);
}

/* ---- tables ---- */

/* y [B][T][C] from tokens [B][T] and a table [V][C]. */
static int tables(const plim_shape *y, const plim_shape *table, k_launch *launch) {
  if (!k_rows_make(y, &launch->call.rows)) return 0;
  launch->call.tables = (k_tables){.words = table->dim[0], .positions = y->dim[1]};
  return 1;
}

int k_launch_embedding(const plim_op_desc *op, k_launch *launch) {
  if (!tables(&op->out[0], &op->in[1], launch)) return 0;
  const k_rows *rows = &launch->call.rows;
  k_launch_add_phase(launch, K_KERNEL_embedding, k_tiles(rows->n, K_KERNEL_embedding), k_rows_elements(rows));
  return 1;
}

int k_launch_embedding_bwd(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *dy = &op->in[0], *dtable = &op->out[0];
  if (!tables(dy, dtable, launch)) return 0;
  const double elements = k_rows_elements(&launch->call.rows);
  k_launch_add_phase(launch, K_KERNEL_embedding_bwd, k_tiles(dtable->dim[0], K_KERNEL_embedding_bwd), elements);
  if (op->n_out == 2) k_launch_add_phase(launch, K_KERNEL_position_bwd, dy->dim[1], elements);
  return 1;
}

/* ---- attention ---- */

/* y [B][T][C], lse [B][T][H] */
static int heads(const plim_shape *y, const plim_shape *lse, k_launch *launch) {
  const int64_t b = y->dim[0], t = y->dim[1], c = y->dim[2], h = lse->dim[2];
  if (c > INT32_MAX / 4 || t > INT32_MAX / 256 || c / h > K_DEPTH_MAX || !fits(t, b * c)) return 0;
  launch->call.heads = (k_heads){.sequences = b, .tokens = t, .heads = h, .depth = c / h};
  return 1;
}

static double attention_elements(const k_heads *h) {
  const double channels = (double)h->heads * (double)h->depth;
  return (double)h->sequences * (double)h->tokens * (double)h->tokens * channels / K_PRODUCT_ELEMENTS;
}

int k_launch_attention(const plim_op_desc *op, k_launch *launch) {
  k_heads *h = &launch->call.heads;
  if (!heads(&op->out[0], &op->out[1], launch)) return 0;
  h->tiles = k_tiles(h->tokens, K_KERNEL_attention);
  k_launch_add_phase(launch, K_KERNEL_attention, h->sequences * h->heads * h->tiles, attention_elements(h));
  return 1;
}

int k_launch_attention_bwd(const plim_op_desc *op, k_launch *launch) {
  const k_heads *h = &launch->call.heads;
  if (!heads(&op->in[2], &op->in[3], launch)) return 0;
  if (launch->call.type != K_TYPE_FLOAT) {
    launch->workspace_bytes = 2 * plim_shape_elements(&op->in[2]) * (int64_t)sizeof(float);
  }
  k_launch_add_phase(launch, K_KERNEL_attention_bwd, h->sequences * h->heads, attention_elements(h));
  return 1;
}

/* ---- the loss over a vocabulary ---- */

/* x [N][C], label [N], w [V][C] */
static int words(const plim_op_desc *op, k_launch *launch) {
  const plim_shape *x = &op->in[0], *w = &op->in[2];
  if (w->dim[0] > K_CLASSES_MAX) return 0;
  launch->call.rows = (k_rows){.n = x->dim[0], .columns = w->dim[0]};
  launch->call.xent = (k_xent){.channels = x->dim[1]};
  return 1;
}

static double words_elements(const k_call *call) {
  return k_rows_elements(&call->rows) * (double)call->xent.channels / K_PRODUCT_ELEMENTS;
}

int k_launch_linear_xent(const plim_op_desc *op, k_launch *launch) {
  const k_call *call = &launch->call;
  if (!words(op, launch)) return 0;
  launch->workspace_bytes = 2 * call->rows.n * (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_KERNEL_linear_xent, k_tiles(call->rows.n, K_KERNEL_linear_xent), words_elements(call));
  k_launch_add_phase(launch, K_KERNEL_softmax_mean, 1, 0);
  return 1;
}

int k_launch_linear_xent_bwd(const plim_op_desc *op, k_launch *launch) {
  const k_call *call = &launch->call;
  if (!words(op, launch)) return 0;
  launch->workspace_bytes = (int64_t)sizeof(float);
  if (call->type != K_TYPE_FLOAT) {
    if (!fits(call->rows.n, call->xent.channels)) return 0;
    launch->workspace_bytes += call->rows.n * call->xent.channels * (int64_t)sizeof(float);
  }
  k_launch_add_phase(launch, K_KERNEL_softmax_count, 1, 0);
  k_launch_add_phase(launch, K_KERNEL_linear_xent_bwd, k_tiles(call->rows.n, K_KERNEL_linear_xent_bwd),
                     words_elements(call));
  k_launch_add_phase(launch, K_KERNEL_linear_xent_bwd_words,
                     k_tiles(call->rows.columns, K_KERNEL_linear_xent_bwd_words), words_elements(call));
  return 1;
}
