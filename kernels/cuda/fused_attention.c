/* Causal attention by cuDNN's fused kernels, in bf16, as variants. Queries, keys and values are read where they lie.
 * The library keeps the logarithms of the sums by head, [B][H][T], and the op by token, [B][T][H]: they are transposed
 * after the forward kernel, and before the backward one.
 *
 *   workspace = the logarithms as the library has them, then what the engine needs */
#include <string.h>

#include "kernels/cuda/dnn_variants.h"
#include "kernels/cuda/stages.h"
#include "kernels/workspace.h"

enum { STAGES = 2 };

typedef struct fused {
  plim_dnn_variants variants;
  k_launch launch;
} fused;

static int describe(const plim_cuda_engine *engine, const plim_op_desc *op, fused *f) {
  plim_dnn_attention *a = &f->variants.problem.attention;
  memset(f, 0, sizeof *f);
  if (!engine->dnn || !plim_dnn_has_attention(engine->dnn) || !plim_dnn_attention_of(op, a)) return 0;
  if (!k_launch_make(op, &f->launch)) return 0;
  f->variants.problem.is_attention = 1;
  f->variants.our_bytes = k_workspace_part(a->sequences * a->heads * a->tokens * (int64_t)sizeof(float));
  f->variants.mark = "";
  return 1;
}

void plim_cuda_fused_recall(const plim_cuda_engine *engine, const plim_op_desc *op, const plim_kernel_info *info,
                            int n) {
  fused f;
  if (describe(engine, op, &f)) plim_dnn_variants_recall(engine, &f.variants, info, n);
}

int plim_cuda_fused_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  fused f;
  return describe(engine, op, &f) ? plim_dnn_variants_list(engine, &f.variants, info, capacity) : 0;
}

/* A sequence's logarithms are a matrix of heads and tokens: `rows` as it comes. */
static void add_transpose(plim_cuda_kernel *kernel, const fused *f, k_rows rows, plim_cuda_place from,
                          plim_cuda_place to) {
  plim_cuda_stage *stage = &kernel->stage[kernel->n++];
  *stage = (plim_cuda_stage){.kernel = K_KERNEL_transpose_f32,
                             .in0 = from,
                             .out0 = to,
                             .call = f->launch.call,
                             .tiles = f->variants.problem.attention.sequences};
  stage->call.type = K_TYPE_FLOAT;
  stage->call.rows = rows;
}

static void place_thirds(plim_cuda_place operand[3], const plim_dnn_attention *a, int32_t packed) {
  const int64_t bytes = a->heads * a->depth * (int64_t)sizeof(uint16_t);
  for (int i = 0; i < 3; i++) operand[i] = (plim_cuda_place){packed, i * bytes};
}

static void add_stages(plim_cuda_kernel *kernel, const fused *f, plim_dnn_kernel *dnn) {
  const plim_dnn_attention *a = &f->variants.problem.attention;
  plim_cuda_stage stage = {.kind = PLIM_STAGE_DNN, .dnn = dnn, .workspace = plim_cuda_work(f->variants.our_bytes)};
  const plim_cuda_place stats = plim_cuda_work(0);
  place_thirds(&stage.operand[PLIM_DNN_Q], a, a->backward ? 1 : 0);
  stage.operand[PLIM_DNN_O] = a->backward ? plim_cuda_in(2, 0) : plim_cuda_out(0, 0);
  stage.operand[PLIM_DNN_STATS] = stats;
  if (a->backward) {
    stage.operand[PLIM_DNN_DO] = plim_cuda_in(0, 0);
    place_thirds(&stage.operand[PLIM_DNN_DQ], a, PLIM_PLACE_OUT);
    add_transpose(kernel, f, (k_rows){a->tokens, a->heads}, plim_cuda_in(3, 0), stats);
  }
  kernel->stage[kernel->n++] = stage;
  if (!a->backward) add_transpose(kernel, f, (k_rows){a->heads, a->tokens}, stats, plim_cuda_out(1, 0));
}

int plim_cuda_fused_make(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                         plim_cuda_kernel *kernel) {
  fused f;
  plim_dnn_kernel *dnn = NULL;
  if (!describe(engine, op, &f)) return PLIM_KERNEL_UNSUPPORTED;
  const int result = plim_dnn_variants_make(engine, &f.variants, variant, &dnn, &kernel->workspace_bytes);
  if (result != PLIM_KERNEL_OK) return result;
  if (!plim_cuda_stages_make(kernel, STAGES)) {
    plim_dnn_free(dnn);
    return PLIM_KERNEL_NOMEM;
  }
  add_stages(kernel, &f, dnn);
  return PLIM_KERNEL_OK;
}
