/* Convolutions by cuDNN as variants. Where activations have their channels last the weights are copied into that order
 * before the convolution, or their gradient out of it after. The gradient of weights is of the activations' type inside
 * the library, because few engines write floats from bf16, and is widened on its way out. A bias is added after the
 * convolution by a kernel of ours, which every engine goes with; the numerics key says so. In bf16 the engine writes
 * its sums as floats then, and they are rounded once, after the bias.
 *
 *   workspace = weights or gradient as the library has them (where the graph's are not so), sums that a bias is added
 *               to (where y is no floats), then what the engine needs */
#include <string.h>

#include "kernels/cuda/dnn_variants.h"
#include "kernels/cuda/stages.h"
#include "kernels/workspace.h"

enum { STAGES = 4 };

typedef struct conv {
  plim_dnn_variants variants;
  k_launch launch;
  int64_t copy_bytes; /* of the weights; 0: they are read or written in place */
  int64_t sums_bytes; /* of y as floats; 0: the engine writes y itself */
  int wide;           /* 1: the gradient is widened to floats */
  int bias;
  k_view result; /* y, where there is a bias */
} conv;

static int describe(const plim_op_desc *op, conv *c) {
  plim_dnn_conv *problem = &c->variants.problem.conv;
  int copied = 0;
  memset(c, 0, sizeof *c);
  if (!k_launch_make(op, &c->launch) || !plim_dnn_conv_of(op, problem, &copied)) return 0;
  plim_shape weights = op->kind == PLIM_OP_CONV2D_BWD_WEIGHTS ? op->out[0] : op->in[1];
  c->bias = op->n_in == 3;
  if (c->bias && !k_view_merged(&op->out[0], &c->result)) return 0;
  if (problem->y_type != problem->data_type) {
    c->sums_bytes = k_workspace_part(plim_shape_elements(&op->out[0]) * (int64_t)sizeof(float));
  }
  c->wide = weights.dtype != op->in[0].dtype;
  weights.dtype = op->in[0].dtype;
  if (copied) c->copy_bytes = k_workspace_part(plim_shape_bytes(&weights));
  c->variants.our_bytes = c->copy_bytes + c->sums_bytes;
  c->variants.mark = c->bias ? "+b" : "";
  return 1;
}

void plim_cuda_conv_recall(const plim_cuda_engine *engine, const plim_op_desc *op, const plim_kernel_info *info,
                           int n) {
  conv c;
  if (engine->dnn && describe(op, &c)) plim_dnn_variants_recall(engine, &c.variants, info, n);
}

int plim_cuda_conv_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  conv c;
  return engine->dnn && describe(op, &c) ? plim_dnn_variants_list(engine, &c.variants, info, capacity) : 0;
}

/* Weights between the graph's order and the library's: a filter is a matrix of channels and taps, which is transposed,
 * or one row where both orders are the same. */
static void add_copy(plim_cuda_kernel *kernel, const conv *c, k_kernel number, int to_library, plim_cuda_place from,
                     plim_cuda_place to) {
  plim_cuda_stage *stage = &kernel->stage[kernel->n++];
  const int64_t *step = c->variants.problem.conv.step[PLIM_DNN_W], *dim = c->variants.problem.conv.dim[PLIM_DNN_W];
  const int64_t channels = dim[1], taps = dim[2] * dim[3];
  *stage = (plim_cuda_stage){
      .kernel = number, .in0 = from, .out0 = to, .call = c->launch.call, .tiles = c->launch.call.y.channels};
  if (step[1] != 1) {
    stage->call.rows = (k_rows){1, channels * taps};
  } else { /* channels last */
    stage->call.rows = to_library ? (k_rows){channels, taps} : (k_rows){taps, channels};
  }
}

static void add_stages(plim_cuda_kernel *kernel, const conv *c, plim_dnn_kernel *dnn) {
  const plim_cuda_place in[2] = {{0, 0}, {1, 0}}, out = {PLIM_PLACE_OUT, 0}, copy = {PLIM_PLACE_WORKSPACE, 0};
  const plim_cuda_place sums = c->sums_bytes > 0 ? (plim_cuda_place){PLIM_PLACE_WORKSPACE, c->copy_bytes} : out;
  const plim_cuda_place for_engine = {PLIM_PLACE_WORKSPACE, c->copy_bytes + c->sums_bytes};
  int direction = c->variants.problem.conv.direction, copied = c->copy_bytes > 0;
  plim_cuda_place weights = direction == PLIM_DNN_WEIGHTS ? out : in[1];
  plim_cuda_stage stage = {.kind = PLIM_STAGE_DNN, .dnn = dnn, .workspace = for_engine};
  stage.operand[PLIM_DNN_X] = direction == PLIM_DNN_DATA ? out : in[direction == PLIM_DNN_WEIGHTS];
  stage.operand[PLIM_DNN_W] = copied ? copy : weights;
  stage.operand[PLIM_DNN_Y] = direction == PLIM_DNN_FORWARD ? sums : in[0];
  if (copied && direction != PLIM_DNN_WEIGHTS) add_copy(kernel, c, K_KERNEL_transpose, 1, weights, copy);
  kernel->stage[kernel->n++] = stage;
  if (copied && direction == PLIM_DNN_WEIGHTS) {
    add_copy(kernel, c, c->wide ? K_KERNEL_transpose_widen : K_KERNEL_transpose_f32, 0, copy, weights);
  }
  if (c->bias) plim_cuda_stages_add_bias(kernel, &c->launch.call, &c->result, sums, c->sums_bytes > 0);
}

int plim_cuda_conv_make(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                        plim_cuda_kernel *kernel) {
  conv c;
  plim_dnn_kernel *dnn = NULL;
  if (!engine->dnn || !describe(op, &c)) return PLIM_KERNEL_UNSUPPORTED;
  const int result = plim_dnn_variants_make(engine, &c.variants, variant, &dnn, &kernel->workspace_bytes);
  if (result != PLIM_KERNEL_OK) return result;
  if (!plim_cuda_stages_make(kernel, STAGES)) {
    plim_dnn_free(dnn);
    return PLIM_KERNEL_NOMEM;
  }
  add_stages(kernel, &c, dnn);
  return PLIM_KERNEL_OK;
}
