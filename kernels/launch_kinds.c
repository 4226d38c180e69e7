/* The launch function of each op kind. */
#include "kernels/launch.h"

static const struct {
  plim_op_kind kind;
  k_launch_fn *launch;
} kinds[] = {
    {PLIM_OP_IMAGE, k_launch_image},
    {PLIM_OP_CAST, k_launch_cast},
    {PLIM_OP_BN_STATS, k_launch_bn_stats},
    {PLIM_OP_BN_APPLY, k_launch_bn_apply},
    {PLIM_OP_BN_RUNNING, k_launch_bn_running},
    {PLIM_OP_BN_BWD_REDUCE, k_launch_bn_bwd_reduce},
    {PLIM_OP_BN_BWD_APPLY, k_launch_bn_bwd_apply},
    {PLIM_OP_RELU, k_launch_relu},
    {PLIM_OP_RELU_BWD, k_launch_relu_bwd},
    {PLIM_OP_ADD, k_launch_add},
    {PLIM_OP_SOFTMAX_XENT, k_launch_softmax_xent},
    {PLIM_OP_SOFTMAX_XENT_BWD, k_launch_softmax_xent_bwd},
    {PLIM_OP_SGD, k_launch_sgd},
    {PLIM_OP_GLOBAL_AVG_POOL, k_launch_global_avg_pool},
    {PLIM_OP_GLOBAL_AVG_POOL_BWD, k_launch_global_avg_pool_bwd},
    {PLIM_OP_BIAS_BWD, k_launch_bias_bwd},
    {PLIM_OP_LINEAR, k_launch_linear},
    {PLIM_OP_LINEAR_BWD_DATA, k_launch_linear_bwd_data},
    {PLIM_OP_LINEAR_BWD_WEIGHTS, k_launch_linear_bwd_weights},
    {PLIM_OP_CONV2D, k_launch_conv2d},
    {PLIM_OP_CONV2D_BWD_DATA, k_launch_conv2d_bwd_data},
    {PLIM_OP_CONV2D_BWD_WEIGHTS, k_launch_conv2d_bwd_weights},
    {PLIM_OP_DROPOUT, k_launch_dropout},
    {PLIM_OP_DROPOUT_BWD, k_launch_dropout_bwd},
    {PLIM_OP_MAX_POOL, k_launch_max_pool},
    {PLIM_OP_MAX_POOL_BWD, k_launch_max_pool_bwd},
    {PLIM_OP_AVG_POOL, k_launch_avg_pool},
    {PLIM_OP_AVG_POOL_BWD, k_launch_avg_pool_bwd},
    {PLIM_OP_GELU, k_launch_gelu},
    {PLIM_OP_GELU_BWD, k_launch_gelu_bwd},
    {PLIM_OP_SILU, k_launch_silu},
    {PLIM_OP_SILU_BWD, k_launch_silu_bwd},
    {PLIM_OP_LAYER_NORM, k_launch_layer_norm},
    {PLIM_OP_LAYER_NORM_BWD, k_launch_layer_norm_bwd},
    {PLIM_OP_RMS_NORM, k_launch_rms_norm},
    {PLIM_OP_RMS_NORM_BWD, k_launch_rms_norm_bwd},
    {PLIM_OP_EMBEDDING, k_launch_embedding},
    {PLIM_OP_EMBEDDING_BWD, k_launch_embedding_bwd},
    {PLIM_OP_ATTENTION, k_launch_attention},
    {PLIM_OP_ATTENTION_BWD, k_launch_attention_bwd},
    {PLIM_OP_LINEAR_XENT, k_launch_linear_xent},
    {PLIM_OP_LINEAR_XENT_BWD, k_launch_linear_xent_bwd},
    {PLIM_OP_ADAM, k_launch_adam},
    {PLIM_OP_ADAMW, k_launch_adamw},
    {PLIM_OP_SUM_SQUARES, k_launch_sum_squares},
    {PLIM_OP_ACCUMULATE, k_launch_accumulate},
    {PLIM_OP_MEAN_LOSS, k_launch_mean_loss},
    {PLIM_OP_CONCAT, k_launch_concat},
    {PLIM_OP_SPLIT, k_launch_split},
    {PLIM_OP_DEPTHWISE_CONV2D, k_launch_depthwise_conv2d},
    {PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA, k_launch_depthwise_conv2d_bwd_data},
    {PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS, k_launch_depthwise_conv2d_bwd_weights},
    {PLIM_OP_CONV_TRANSPOSE2D, k_launch_conv2d_bwd_data}, /* the same arithmetic, by other roles */
    {PLIM_OP_SOFTMAX, k_launch_softmax},
    {PLIM_OP_SOFTMAX_BWD, k_launch_softmax_bwd},
    {PLIM_OP_MATMUL, k_launch_matmul},
    {PLIM_OP_MATMUL_NT, k_launch_matmul},
    {PLIM_OP_MATMUL_TN, k_launch_matmul},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

int k_launch_kinds(void) {
  return KINDS;
}

plim_op_kind k_launch_kind(int i) {
  return kinds[i].kind;
}

int k_launch_make(const plim_op_desc *op, k_launch *launch) {
  plim_dtype type;
  if (op->kind == PLIM_OP_CUSTOM || !plim_op_type(op, &type)) return 0;
  if (plim_op_kind_row(op->kind)->version >= PLIM_OWN_KIND_VERSION && !plim_op_fits(op, NULL, NULL, 0)) return 0;
  for (int i = 0; i < KINDS; i++) {
    if (kinds[i].kind != op->kind) continue;
    *launch = (k_launch){.call = {.n_in = op->n_in, .n_out = op->n_out, .n_upd = op->n_upd, .attrs = op->attrs}};
    launch->call.type = type == PLIM_BF16 ? K_TYPE_BF16 : K_TYPE_FLOAT;
    return kinds[i].launch(op, launch);
  }
  return 0;
}
