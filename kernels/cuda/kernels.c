/* The three families, a program's own kernels, and how stages run. A single-source kernel is the launch that the CPU
 * makes too, its phases queued one after the other. */
#include "kernels/cuda/kernels.h"

#include <string.h>

#include "kernels/cuda/stages.h"

static const char single_source[] = "single-source";

static int list_whole(const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  k_launch launch;
  if (!k_launch_make(op, &launch)) return 0;
  if (capacity > 0) {
    *info = (plim_kernel_info){.workspace_bytes = launch.workspace_bytes};
    memcpy(info->name, single_source, sizeof single_source);
    memcpy(info->label, single_source, sizeof single_source);
  }
  return 1;
}

static int has_products(const plim_cuda_engine *engine, const plim_op_desc *op) {
  return engine->blas && !(engine->blas_no_bf16 && plim_op_math(op) == PLIM_PRECISION_BF16);
}

/* What is one product is expected of the library of products first: it is no slower there, and nothing is built. */
int plim_cuda_kernel_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info,
                          int capacity) {
  const int products = has_products(engine, op), direct = products && plim_cuda_gemm_is_direct(op);
  int n = direct ? plim_cuda_gemm_list(op, engine->blas_bytes, info, capacity) : 0,
      written = n < capacity ? n : capacity;
  n += plim_cuda_conv_list(engine, op, info + written, capacity - written);
  written = n < capacity ? n : capacity;
  if (products && !direct) n += plim_cuda_gemm_list(op, engine->blas_bytes, info + written, capacity - written);
  written = n < capacity ? n : capacity;
  if (products && !direct) n += plim_cuda_flat_list(op, info + written, capacity - written);
  written = n < capacity ? n : capacity;
  n += list_whole(op, info + written, capacity - written);
  written = n < capacity ? n : capacity;
  return n + plim_own_list(&engine->own, op, info + written, capacity - written);
}

void plim_cuda_kernel_recall(const plim_cuda_engine *engine, const plim_op_desc *op, const plim_kernel_info *info,
                             int n) {
  plim_cuda_conv_recall(engine, op, info, n);
}

static int make_whole(const plim_op_desc *op, plim_cuda_kernel *kernel) {
  if (!k_launch_make(op, &kernel->launch)) return PLIM_KERNEL_UNSUPPORTED;
  kernel->whole = 1;
  kernel->workspace_bytes = kernel->launch.workspace_bytes;
  return PLIM_KERNEL_OK;
}

int plim_cuda_kernel_make(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                          plim_cuda_kernel **out) {
  plim_cuda_kernel *made = plim_kernel_allocate(&engine->memory, 1, sizeof *made);
  if (!made) return PLIM_KERNEL_NOMEM;
  made->memory = engine->memory;
  int result =
      strcmp(variant, single_source) == 0 ? make_whole(op, made) : plim_cuda_conv_make(engine, op, variant, made);
  if (result == PLIM_KERNEL_UNSUPPORTED && has_products(engine, op))
    result = plim_cuda_gemm_make(op, engine->blas_bytes, variant, made);
  if (result == PLIM_KERNEL_UNSUPPORTED && has_products(engine, op)) result = plim_cuda_flat_make(op, variant, made);
  if (result == PLIM_KERNEL_UNSUPPORTED) {
    result = plim_own_prepare(&engine->own, op, variant, &made->own);
    made->workspace_bytes = made->own.workspace_bytes;
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
  plim_own_free(&kernel->own);
  for (int32_t i = 0; i < kernel->n; i++) plim_dnn_free(kernel->stage[i].dnn);
  plim_kernel_release(&memory, kernel->stage, (size_t)kernel->room, sizeof *kernel->stage);
  plim_kernel_release(&memory, kernel, 1, sizeof *kernel);
}

int64_t plim_cuda_kernel_workspace(const plim_cuda_kernel *kernel) {
  return kernel->workspace_bytes;
}

static int run_whole(const plim_cuda_kernel *kernel, const plim_cuda_engine *engine, void *stream,
                     const plim_kernel_args *args, const uint64_t *now) {
  const k_call call = k_launch_bind(&kernel->launch, args, now);
  for (int i = 0; i < kernel->launch.phases; i++) {
    const k_phase *phase = &kernel->launch.phase[i];
    int code = engine->driver->launch(phase->body, &call, phase->tiles, stream);
    if (code != 0) return code;
  }
  return 0;
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

static int convolve(const plim_cuda_stage *stage, void *stream, const plim_kernel_args *args) {
  void *const operand[] = {
      [PLIM_DNN_X] = place(args, stage->a), [PLIM_DNN_W] = place(args, stage->b), [PLIM_DNN_Y] = place(args, stage->c)};
  return plim_dnn_run(stage->dnn, operand, place(args, stage->workspace), stream);
}

static int run_stage(const plim_cuda_kernel *kernel, const plim_cuda_stage *stage, const plim_cuda_engine *engine,
                     void *stream, const plim_kernel_args *args) {
  if (stage->dnn) return convolve(stage, stream, args);
  void *from = place(args, stage->a), *to = place(args, stage->c);
  if (stage->multiplies) {
    return engine->driver->multiply(engine->blas, &stage->product, from, place(args, stage->b), to, args->workspace,
                                    kernel->blas_bytes, stream);
  }
  k_call call = stage->call;
  call.in[0] = from;
  call.out[0] = to;
  if (stage->has_workspace) call.workspace = place(args, stage->workspace);
  return engine->driver->launch(stage->body, &call, stage->tiles, stream);
}

int32_t *plim_cuda_kernel_batch(plim_cuda_kernel *kernel) {
  return &kernel->batch;
}

int plim_cuda_kernel_has_stages(const plim_cuda_kernel *kernel) {
  return !kernel->whole;
}

int plim_cuda_kernel_has_run(const plim_cuda_kernel *kernel) {
  return kernel->has_run;
}

int plim_cuda_kernel_run(plim_cuda_kernel *kernel, const plim_cuda_engine *engine, void *stream,
                         const plim_kernel_args *args, const uint64_t *now) {
  kernel->has_run = 1;
  if (kernel->own.kernel.run) return run_own(&kernel->own, stream, args, now);
  if (kernel->whole) return run_whole(kernel, engine, stream, args, now);
  for (int32_t i = 0; i < kernel->n; i++) {
    int code = run_stage(kernel, &kernel->stage[i], engine, stream, args);
    if (code != 0) return code;
  }
  return 0;
}
