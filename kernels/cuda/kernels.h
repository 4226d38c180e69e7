/* Kernels of the cuda device: an op in one of its variants, queued on a stream. Its families: a program's own
 * kernels; convolutions by cuDNN, and attention where it has that; convolutions, linear layers, attention and the loss
 * over a vocabulary by matrix products of cuBLAS; each where it is found; and the single-source kernels.
 *
 * Threads: an engine and its kernels belong to the thread of their device, whose current device it is (driver.h). */
#ifndef PLIM_KERNELS_CUDA_KERNELS_H
#define PLIM_KERNELS_CUDA_KERNELS_H

#include "kernels/cuda/driver.h"
#include "kernels/own.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_cuda_kernel plim_cuda_kernel;

/* What runs them. */
typedef struct plim_cuda_engine {
  const plim_cuda_driver *driver;
  plim_kernel_memory memory;
  void *blas;           /* NULL: no library */
  int32_t blas_no_bf16; /* 1: it has no products in bf16 on this GPU */
  int64_t blas_bytes;   /* of workspace, which it may use on this GPU (plim_cuda_gemm_blas_bytes) */
  struct plim_dnn *dnn; /* NULL: no library */
  plim_own_kernels own; /* of the program, listed last */
} plim_cuda_engine;

/* The workspace that cuBLAS is recommended on GPUs of a major compute capability, and that a variant gives it. */
int64_t plim_cuda_gemm_blas_bytes(int32_t major);

/* Variants of an op: returns how many there are, writes at most `capacity`. The fastest by expectation first. With
 * cuDNN the first call for an op asks the library, later ones find the answer. */
int plim_cuda_kernel_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info, int capacity);

/* Of an earlier list, the rows whose `how` names a cuDNN engine and its knobs: they are listed again without a search,
 * when they are all. */
void plim_cuda_kernel_recall(const plim_cuda_engine *engine, const plim_op_desc *op, const plim_kernel_info *info,
                             int n);

/* PLIM_KERNEL_UNSUPPORTED for a variant that the op does not have here. */
int plim_cuda_kernel_make(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                          plim_cuda_kernel **out);
void plim_cuda_kernel_free(plim_cuda_kernel *kernel); /* NULL is legal */
int64_t plim_cuda_kernel_workspace(const plim_cuda_kernel *kernel);

/* Queue it. `now` [2] is seed and step in memory that the device can read; those of `args` are not used. Returns the
 * driver's error code of the first launch that was refused, 0 when all were accepted; of a program's own kernel that
 * fails PLIM_KERNEL_FAILED, or whatever it returned. */
int plim_cuda_kernel_run(plim_cuda_kernel *kernel, const plim_cuda_engine *engine, void *stream,
                         const plim_kernel_args *args, const uint64_t *now);
/* Queue what loads all that it needs, which a capture forbids: kernels of ours over no tiles; what a library runs,
 * once. Nothing where it has run. Returns as plim_cuda_kernel_run does. */
int plim_cuda_kernel_load(plim_cuda_kernel *kernel, const plim_cuda_engine *engine, void *stream,
                          const plim_kernel_args *args, const uint64_t *now);
/* Runs that one measurement takes together, kept for who measures; 0 at first. */
int32_t plim_cuda_kernel_batch(const plim_cuda_kernel *kernel);
void plim_cuda_kernel_set_batch(plim_cuda_kernel *kernel, int32_t runs);
/* 1: calls of libraries are among what it queues. */
int plim_cuda_kernel_has_stages(const plim_cuda_kernel *kernel);

#ifdef __cplusplus
}
#endif
#endif
