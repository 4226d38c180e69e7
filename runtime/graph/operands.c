/* Operand counts by kind, as the operand orders of kernels/op.h give them. */
#include "runtime/graph/operands.h"

typedef struct counts {
  int8_t in_least, in_most, out_least, out_most, upd;
} counts;

/* A custom op has what its program says; the general limits are checked elsewhere. */
static const counts counts_of[PLIM_OP_KIND_COUNT] = {
    [PLIM_OP_IMAGE] = {1, 1, 1, 1, 0},
    [PLIM_OP_CONV2D] = {2, 3, 1, 1, 0},
    [PLIM_OP_CONV2D_BWD_DATA] = {2, 2, 1, 1, 0},
    [PLIM_OP_CONV2D_BWD_WEIGHTS] = {2, 2, 1, 1, 0},
    [PLIM_OP_LINEAR] = {2, 3, 1, 1, 0},
    [PLIM_OP_LINEAR_BWD_DATA] = {2, 2, 1, 1, 0},
    [PLIM_OP_LINEAR_BWD_WEIGHTS] = {2, 2, 1, 1, 0},
    [PLIM_OP_BIAS_BWD] = {1, 1, 1, 1, 0},
    [PLIM_OP_BN_STATS] = {1, 1, 1, 1, 0},
    [PLIM_OP_BN_APPLY] = {3, 4, 1, 2, 0},
    [PLIM_OP_BN_RUNNING] = {1, 1, 0, 0, 1},
    [PLIM_OP_BN_BWD_REDUCE] = {3, 4, 1, 1, 0},
    [PLIM_OP_BN_BWD_APPLY] = {5, 6, 1, 1, 0},
    [PLIM_OP_RELU] = {1, 1, 1, 2, 0},
    [PLIM_OP_RELU_BWD] = {2, 3, 1, 1, 0},
    [PLIM_OP_ADD] = {2, 2, 1, 2, 0},
    [PLIM_OP_MAX_POOL] = {1, 1, 2, 2, 0},
    [PLIM_OP_MAX_POOL_BWD] = {2, 2, 1, 1, 0},
    [PLIM_OP_AVG_POOL] = {1, 1, 1, 1, 0},
    [PLIM_OP_AVG_POOL_BWD] = {1, 1, 1, 1, 0},
    [PLIM_OP_GLOBAL_AVG_POOL] = {1, 1, 1, 1, 0},
    [PLIM_OP_GLOBAL_AVG_POOL_BWD] = {1, 1, 1, 1, 0},
    [PLIM_OP_DROPOUT] = {1, 1, 2, 2, 0},
    [PLIM_OP_DROPOUT_BWD] = {2, 2, 1, 1, 0},
    [PLIM_OP_SOFTMAX_XENT] = {2, 2, 3, 3, 0},
    [PLIM_OP_SOFTMAX_XENT_BWD] = {2, 2, 1, 1, 0},
    [PLIM_OP_SGD] = {2, 2, 0, 0, 2},
};

plim_status plim_operands_check(plim_context *ctx, const plim_op_spec *s) {
  const counts *c = &counts_of[s->kind];
  if (s->kind == PLIM_OP_CUSTOM) return PLIM_OK;
  if (s->n_in >= c->in_least && s->n_in <= c->in_most && s->n_out >= c->out_least && s->n_out <= c->out_most &&
      s->n_upd == c->upd) {
    return PLIM_OK;
  }
  return plim_fail(ctx, PLIM_EDATA,
                   "op '%.255s': a %s has %d to %d inputs, %d to %d outputs and updates %d values, not %d, %d and %d",
                   s->name, plim_op_kind_name(s->kind), c->in_least, c->in_most, c->out_least, c->out_most, c->upd,
                   s->n_in, s->n_out, s->n_upd);
}
