/* The launch function of each op kind, and what holds for all of them: every operand has a size, follows the rule of
 * its kind, and has the layout of the others. */
#include "kernels/launch.h"

/* Layouts that the operands of an op have: the function of a kind looks at several itself. */
typedef enum layouts { ONE, SEVERAL } layouts;

static const struct {
  plim_op_kind kind;
  k_launch_fn *launch;
  layouts layouts;
} kinds[] = {
    {PLIM_OP_IMAGE, k_launch_image, SEVERAL},
    {PLIM_OP_CAST, k_launch_cast, ONE},
    {PLIM_OP_BN_STATS, k_launch_bn_stats, ONE},
    {PLIM_OP_BN_APPLY, k_launch_bn_apply, ONE},
    {PLIM_OP_BN_RUNNING, k_launch_bn_running, ONE},
    {PLIM_OP_BN_BWD_REDUCE, k_launch_bn_bwd_reduce, ONE},
    {PLIM_OP_BN_BWD_APPLY, k_launch_bn_bwd_apply, ONE},
    {PLIM_OP_RELU, k_launch_relu, ONE},
    {PLIM_OP_RELU_BWD, k_launch_relu_bwd, ONE},
    {PLIM_OP_ADD, k_launch_add, ONE},
    {PLIM_OP_SOFTMAX_XENT, k_launch_softmax_xent, ONE},
    {PLIM_OP_SOFTMAX_XENT_BWD, k_launch_softmax_xent_bwd, ONE},
    {PLIM_OP_SGD, k_launch_sgd, ONE},
    {PLIM_OP_GLOBAL_AVG_POOL, k_launch_global_avg_pool, ONE},
    {PLIM_OP_GLOBAL_AVG_POOL_BWD, k_launch_global_avg_pool_bwd, ONE},
    {PLIM_OP_BIAS_BWD, k_launch_bias_bwd, ONE},
    {PLIM_OP_LINEAR, k_launch_linear, ONE},
    {PLIM_OP_LINEAR_BWD_DATA, k_launch_linear_bwd_data, ONE},
    {PLIM_OP_LINEAR_BWD_WEIGHTS, k_launch_linear_bwd_weights, ONE},
    {PLIM_OP_CONV2D, k_launch_conv2d, SEVERAL},
    {PLIM_OP_CONV2D_BWD_DATA, k_launch_conv2d_bwd_data, SEVERAL},
    {PLIM_OP_CONV2D_BWD_WEIGHTS, k_launch_conv2d_bwd_weights, SEVERAL},
    {PLIM_OP_DROPOUT, k_launch_dropout, ONE},
    {PLIM_OP_DROPOUT_BWD, k_launch_dropout_bwd, ONE},
    {PLIM_OP_MAX_POOL, k_launch_max_pool, ONE},
    {PLIM_OP_MAX_POOL_BWD, k_launch_max_pool_bwd, ONE},
    {PLIM_OP_AVG_POOL, k_launch_avg_pool, ONE},
    {PLIM_OP_AVG_POOL_BWD, k_launch_avg_pool_bwd, ONE},
    {PLIM_OP_GELU, k_launch_gelu, ONE},
    {PLIM_OP_GELU_BWD, k_launch_gelu_bwd, ONE},
    {PLIM_OP_SILU, k_launch_silu, ONE},
    {PLIM_OP_SILU_BWD, k_launch_silu_bwd, ONE},
    {PLIM_OP_LAYER_NORM, k_launch_layer_norm, ONE},
    {PLIM_OP_LAYER_NORM_BWD, k_launch_layer_norm_bwd, ONE},
    {PLIM_OP_RMS_NORM, k_launch_rms_norm, ONE},
    {PLIM_OP_RMS_NORM_BWD, k_launch_rms_norm_bwd, ONE},
    {PLIM_OP_EMBEDDING, k_launch_embedding, ONE},
    {PLIM_OP_EMBEDDING_BWD, k_launch_embedding_bwd, ONE},
    {PLIM_OP_ATTENTION, k_launch_attention, ONE},
    {PLIM_OP_ATTENTION_BWD, k_launch_attention_bwd, ONE},
    {PLIM_OP_LINEAR_XENT, k_launch_linear_xent, ONE},
    {PLIM_OP_LINEAR_XENT_BWD, k_launch_linear_xent_bwd, ONE},
    {PLIM_OP_ADAM, k_launch_adam, ONE},
    {PLIM_OP_ADAMW, k_launch_adamw, ONE},
    {PLIM_OP_SUM_SQUARES, k_launch_sum_squares, ONE},
    {PLIM_OP_ACCUMULATE, k_launch_accumulate, ONE},
    {PLIM_OP_MEAN_LOSS, k_launch_mean_loss, ONE},
    {PLIM_OP_CONCAT, k_launch_concat, ONE},
    {PLIM_OP_SPLIT, k_launch_split, ONE},
    {PLIM_OP_DEPTHWISE_CONV2D, k_launch_depthwise_conv2d, SEVERAL},
    {PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA, k_launch_depthwise_conv2d_bwd_data, SEVERAL},
    {PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS, k_launch_depthwise_conv2d_bwd_weights, SEVERAL},
    {PLIM_OP_CONV_TRANSPOSE2D, k_launch_conv2d_bwd_data, SEVERAL}, /* the same arithmetic, by other roles */
    {PLIM_OP_SOFTMAX, k_launch_softmax, ONE},
    {PLIM_OP_SOFTMAX_BWD, k_launch_softmax_bwd, ONE},
    {PLIM_OP_MATMUL, k_launch_matmul, ONE},
    {PLIM_OP_MATMUL_NT, k_launch_matmul, ONE},
    {PLIM_OP_MATMUL_TN, k_launch_matmul, ONE},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

int k_launch_kinds(void) {
  return KINDS;
}

plim_op_kind k_launch_kind(int i) {
  return kinds[i].kind;
}

/* Have all operands of a list a size? *layout is the one of those of rank 4 so far, -1: there was none, and becomes
 * PLIM_LAYOUT_COUNT when they differ. Operands of other ranks are flat. */
static int are_valid(const plim_shape *shape, int32_t n, int *layout) {
  for (int32_t i = 0; i < n; i++) {
    if (plim_shape_bytes(&shape[i]) <= 0) return 0;
    if (shape[i].rank != 4) continue;
    *layout = *layout < 0 || *layout == (int)shape[i].layout ? (int)shape[i].layout : PLIM_LAYOUT_COUNT;
  }
  return 1;
}

int k_launch_make(const plim_op_desc *op, k_launch *launch) {
  plim_dtype type;
  int layout = -1;
  if (op->n_in > PLIM_OP_MAX_IN || op->n_out > PLIM_OP_MAX_OUT || op->n_upd > PLIM_OP_MAX_UPD) return 0;
  if (!are_valid(op->in, op->n_in, &layout) || !are_valid(op->out, op->n_out, &layout) ||
      !are_valid(op->upd, op->n_upd, &layout) || !plim_op_fits(op, NULL, NULL, 0) || !plim_op_type(op, &type)) {
    return 0;
  }
  for (int i = 0; i < KINDS; i++) {
    if (kinds[i].kind != op->kind) continue;
    if (layout == PLIM_LAYOUT_COUNT && kinds[i].layouts == ONE) return 0;
    *launch = (k_launch){.call = {.n_in = op->n_in, .n_out = op->n_out, .n_upd = op->n_upd, .attrs = op->attrs}};
    launch->call.type = type == PLIM_BF16 ? K_TYPE_BF16 : K_TYPE_FLOAT;
    return kinds[i].launch(op, launch);
  }
  return 0;
}
