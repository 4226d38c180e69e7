/* The families of kernels, and how stages run. A single-source kernel is the launch that the CPU makes too, its phases
 * queued one after the other. */
#include "kernels/cuda/kernels.h"

#include <string.h>

#include "kernels/cuda/stages.h"
#include "kernels/single_source.h"

/* ---- the families ---- */

static int has_products(const plim_cuda_engine *engine, const plim_op_desc *op) {
  return engine->blas && !(engine->blas_no_bf16 && plim_op_math(op) == PLIM_PRECISION_BF16);
}

static int make_wide(const plim_op_desc *op, k_launch *launch) {
  if (!k_launch_make(op, launch)) return 0;
  k_launch_divide_more(launch);
  return 1;
}

static int list_launch(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  (void)engine;
  k_launch launch;
  if (!make_wide(op, &launch)) return 0;
  if (capacity > 0) *info = plim_single_source_info(&launch);
  return 1;
}

static int list_own(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  return plim_own_list(&engine->own, op, info, capacity);
}

static int make_launch(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                       plim_cuda_kernel *kernel) {
  (void)engine;
  if (strcmp(variant, PLIM_SINGLE_SOURCE) != 0) return PLIM_KERNEL_UNSUPPORTED;
  kernel->kind = PLIM_CUDA_LAUNCH;
  const int result = plim_single_source_launches(op, &kernel->memory, &kernel->launch, &kernel->n_launches);
  if (result != PLIM_KERNEL_OK) return result;
  for (int32_t l = 0; l < kernel->n_launches; l++) k_launch_divide_more(&kernel->launch[l]);
  kernel->workspace_bytes = kernel->launch->workspace_bytes;
  return PLIM_KERNEL_OK;
}

static int make_own(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                    plim_cuda_kernel *kernel) {
  kernel->kind = PLIM_CUDA_OWN;
  int result = plim_own_prepare(&engine->own, op, variant, &kernel->own);
  if (result == PLIM_KERNEL_OK) kernel->workspace_bytes = kernel->own.workspace_bytes;
  return result;
}

/* In the order in which their variants are listed: the fastest by expectation first. What is one product is expected of
 * the library of products first: it is no slower there, and nothing is built. */
static const struct family {
  plim_cuda_list *list;
  plim_cuda_make *make;
  int by_products; /* asked only where the engine has a library of products with the op's precision */
} families[] = {{plim_cuda_direct_list, plim_cuda_gemm_make, 1},
                {plim_cuda_conv_list, plim_cuda_conv_make, 0},
                {plim_cuda_columns_list, plim_cuda_gemm_make, 1},
                {plim_cuda_flat_list, plim_cuda_flat_make, 1},
                {plim_cuda_fused_list, plim_cuda_fused_make, 0},
                {plim_cuda_matmul_list, plim_cuda_matmul_make, 1},
                {plim_cuda_attention_list, plim_cuda_attention_make, 1},
                {plim_cuda_words_list, plim_cuda_words_make, 1},
                {list_launch, make_launch, 0},
                {list_own, make_own, 0}};
enum { FAMILIES = sizeof families / sizeof *families };

/* What the libraries know a transposed convolution as: the gradient of a convolution by its input. */
static plim_op_desc in_library(const plim_op_desc *op) {
  plim_op_desc served = *op;
  if (op->kind == PLIM_OP_CONV_TRANSPOSE2D) served.kind = PLIM_OP_CONV2D_BWD_DATA;
  return served;
}

int plim_cuda_kernel_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info,
                          int capacity) {
  const plim_op_desc served = in_library(op);
  int n = 0;
  const int products = has_products(engine, &served);
  for (int i = 0; i < FAMILIES; i++) {
    if (families[i].by_products && !products) continue;
    const int written = n < capacity ? n : capacity;
    const plim_op_desc *of_family = families[i].list == list_own ? op : &served;
    n += families[i].list(engine, of_family, info + written, capacity - written);
  }
  return n;
}

void plim_cuda_kernel_recall(const plim_cuda_engine *engine, const plim_op_desc *op, const plim_kernel_info *info,
                             int n) {
  const plim_op_desc served = in_library(op);
  plim_cuda_conv_recall(engine, &served, info, n);
  plim_cuda_fused_recall(engine, op, info, n);
}

int plim_cuda_kernel_make(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                          plim_cuda_kernel **out) {
  const plim_op_desc served = in_library(op);
  plim_cuda_kernel *made = plim_kernel_allocate(&engine->memory, 1, sizeof *made);
  int result = made ? PLIM_KERNEL_UNSUPPORTED : PLIM_KERNEL_NOMEM;
  const int products = has_products(engine, &served);
  for (int i = 0; i < FAMILIES && result == PLIM_KERNEL_UNSUPPORTED; i++) {
    if (families[i].by_products && !products) continue;
    *made = (plim_cuda_kernel){.memory = engine->memory};
    result = families[i].make(engine, families[i].make == make_own ? op : &served, variant, made);
  }
  if (result == PLIM_KERNEL_OK) {
    *out = made;
  } else {
    plim_cuda_kernel_free(made);
  }
  return result;
}

void plim_cuda_kernel_free(plim_cuda_kernel *kernel) {
  if (!kernel) return;
  const plim_kernel_memory memory = kernel->memory;
  if (kernel->kind == PLIM_CUDA_OWN) plim_own_free(&kernel->own);
  if (kernel->kind == PLIM_CUDA_LAUNCH) {
    plim_kernel_release(&memory, kernel->launch, (size_t)kernel->n_launches, sizeof *kernel->launch);
  }
  if (kernel->kind == PLIM_CUDA_STAGES) {
    for (int32_t i = 0; i < kernel->n; i++) {
      if (kernel->stage[i].kind == PLIM_STAGE_DNN) plim_dnn_free(kernel->stage[i].dnn);
    }
    plim_kernel_release(&memory, kernel->stage, (size_t)kernel->stage_capacity, sizeof *kernel->stage);
  }
  plim_kernel_release(&memory, kernel, 1, sizeof *kernel);
}

int64_t plim_cuda_kernel_workspace(const plim_cuda_kernel *kernel) {
  return kernel->workspace_bytes;
}

int plim_cuda_kernel_load(plim_cuda_kernel *kernel, const plim_cuda_engine *engine, void *stream,
                          const plim_kernel_args *args, const uint64_t *now) {
  if (kernel->has_run) return 0;
  if (kernel->kind != PLIM_CUDA_LAUNCH) return plim_cuda_kernel_run(kernel, engine, stream, args, now);
  kernel->has_run = 1;
  const k_call call = k_launch_bind(kernel->launch, args, now); /* all launches are of the same kernels */
  for (int i = 0; i < kernel->launch->phases; i++) {
    int code = engine->driver->launch(kernel->launch->phase[i].kernel, &call, 0, stream);
    if (code != 0) return code;
  }
  return 0;
}

static int run_launch(const k_launch *launch, const plim_cuda_engine *engine, void *stream,
                      const plim_kernel_args *args, const uint64_t *now) {
  const k_call call = k_launch_bind(launch, args, now);
  for (int i = 0; i < launch->phases; i++) {
    const k_phase *phase = &launch->phase[i];
    int code = engine->driver->launch(phase->kernel, &call, phase->tiles, stream);
    if (code != 0) return code;
  }
  return 0;
}

static int run_launches(const plim_cuda_kernel *kernel, const plim_cuda_engine *engine, void *stream,
                        const plim_kernel_args *args, const uint64_t *now) {
  int code = 0;
  for (int32_t l = 0; l < kernel->n_launches && code == 0; l++) {
    code = run_launch(&kernel->launch[l], engine, stream, args, now);
  }
  return code;
}

static int run_own(const plim_own_prepared *own, void *stream, const plim_kernel_args *args, const uint64_t *now) {
  plim_kernel_args with_now = *args;
  with_now.now = now;
  return own->kernel.run(own->state, &with_now, stream);
}

static void *place(const plim_kernel_args *args, plim_cuda_place at) {
  void *base = at.operand == PLIM_PLACE_WORKSPACE ? args->workspace
               : at.operand < PLIM_PLACE_OUT      ? args->in[at.operand]
                                                  : args->out[at.operand - PLIM_PLACE_OUT];
  return (char *)base + at.offset;
}

static int run_dnn(const plim_cuda_stage *stage, void *stream, const plim_kernel_args *args) {
  void *operand[PLIM_DNN_OPERANDS_MAX];
  for (int i = 0; i < plim_dnn_kernel_operands(stage->dnn); i++) operand[i] = place(args, stage->operand[i]);
  return plim_dnn_run(stage->dnn, operand, place(args, stage->workspace), stream);
}

static int run_stage(const plim_cuda_kernel *kernel, const plim_cuda_stage *stage, const plim_cuda_engine *engine,
                     void *stream, const plim_kernel_args *args) {
  if (stage->kind == PLIM_STAGE_DNN) return run_dnn(stage, stream, args);
  void *in0 = place(args, stage->in0), *out0 = place(args, stage->out0);
  if (stage->kind == PLIM_STAGE_PRODUCT) {
    return engine->driver->multiply(engine->blas, &stage->product, in0, place(args, stage->in1), out0, args->workspace,
                                    kernel->blas_bytes, stream);
  }
  k_call call = stage->call;
  for (int i = 1; i < call.n_in; i++) call.in[i] = args->in[i];
  for (int i = 1; i < call.n_out; i++) call.out[i] = args->out[i];
  call.in[0] = in0;
  call.out[0] = out0;
  if (stage->has_in1) call.in[1] = place(args, stage->in1);
  if (stage->has_out1) call.out[1] = place(args, stage->out1);
  if (stage->has_workspace) call.workspace = place(args, stage->workspace);
  return engine->driver->launch(stage->kernel, &call, stage->tiles, stream);
}

int32_t plim_cuda_kernel_batch(const plim_cuda_kernel *kernel) {
  return kernel->batch;
}

void plim_cuda_kernel_set_batch(plim_cuda_kernel *kernel, int32_t runs) {
  kernel->batch = runs;
}

int plim_cuda_kernel_has_stages(const plim_cuda_kernel *kernel) {
  return kernel->kind != PLIM_CUDA_LAUNCH;
}

int plim_cuda_kernel_run(plim_cuda_kernel *kernel, const plim_cuda_engine *engine, void *stream,
                         const plim_kernel_args *args, const uint64_t *now) {
  kernel->has_run = 1;
  if (kernel->kind == PLIM_CUDA_OWN) return run_own(&kernel->own, stream, args, now);
  if (kernel->kind == PLIM_CUDA_LAUNCH) return run_launches(kernel, engine, stream, args, now);
  for (int32_t i = 0; i < kernel->n; i++) {
    int code = run_stage(kernel, &kernel->stage[i], engine, stream, args);
    if (code != 0) return code;
  }
  return 0;
}
