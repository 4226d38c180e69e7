/* A kernel as stages: launches of our own kernels, matrix products and convolutions of libraries over parts of its
 * operands and workspace. */
#ifndef PLIM_KERNELS_CUDA_STAGES_H
#define PLIM_KERNELS_CUDA_STAGES_H

#include "kernels/cuda/dnn.h"
#include "kernels/cuda/kernels.h"
#include "kernels/launch.h"

/* A place in an operand: inputs 0, 1, ...; outputs from PLIM_PLACE_OUT; the workspace. */
enum { PLIM_PLACE_OUT = PLIM_OP_MAX_IN, PLIM_PLACE_WORKSPACE = PLIM_OP_MAX_IN + PLIM_OP_MAX_OUT };
typedef struct plim_cuda_place {
  int32_t operand;
  int64_t offset; /* bytes */
} plim_cuda_place;

typedef enum plim_cuda_stage_kind {
  PLIM_STAGE_KERNEL,  /* our own: the places are in[0] and out[0], and in[1], out[1] and the workspace where has_* says
                         so; the other operands are the op's */
  PLIM_STAGE_PRODUCT, /* out0 = in0 in1 */
  PLIM_STAGE_DNN      /* a kernel of cuDNN, on `operand` */
} plim_cuda_stage_kind;

typedef struct plim_cuda_stage {
  plim_cuda_stage_kind kind;
  plim_cuda_place in0, in1, out0;
  plim_cuda_place workspace; /* of cuDNN, and of kernels where has_workspace */
  union {
    struct {
      k_kernel kernel;
      int32_t has_in1, has_out1, has_workspace;
      plim_cuda_place out1;
      int64_t tiles;
      k_call call;
    };
    plim_cuda_product product;
    struct {
      plim_dnn_kernel *dnn; /* owned */
      plim_cuda_place operand[PLIM_DNN_OPERANDS_MAX];
    };
  };
} plim_cuda_stage;

typedef enum plim_cuda_kernel_kind {
  PLIM_CUDA_STAGES,
  PLIM_CUDA_LAUNCH, /* a single-source kernel: the launch that the CPU makes too */
  PLIM_CUDA_OWN     /* a program's own kernel */
} plim_cuda_kernel_kind;

struct plim_cuda_kernel {
  plim_kernel_memory memory;
  plim_cuda_kernel_kind kind;
  int32_t has_run;
  int32_t batch; /* runs that one measurement takes together; 0: not known */
  int64_t workspace_bytes;
  union {
    struct {
      int64_t blas_bytes; /* of the workspace, the library's part at its start */
      int32_t n, stage_capacity;
      plim_cuda_stage *stage; /* [stage_capacity], n of them used */
    };
    struct {
      int32_t n_launches;
      k_launch *launch; /* [n_launches] */
    };
    plim_own_prepared own;
  };
};

/* An array of so many stages; 0 when memory is short. */
static inline int plim_cuda_stages_make(plim_cuda_kernel *kernel, int64_t stage_capacity) {
  kernel->stage = plim_kernel_allocate(&kernel->memory, (size_t)stage_capacity, sizeof *kernel->stage);
  if (kernel->stage) kernel->stage_capacity = (int32_t)stage_capacity;
  return kernel->stage != NULL;
}

static inline plim_cuda_place plim_cuda_in(int32_t operand, int64_t offset) {
  return (plim_cuda_place){operand, offset};
}
static inline plim_cuda_place plim_cuda_out(int32_t operand, int64_t offset) {
  return (plim_cuda_place){PLIM_PLACE_OUT + operand, offset};
}
static inline plim_cuda_place plim_cuda_work(int64_t offset) {
  return (plim_cuda_place){PLIM_PLACE_WORKSPACE, offset};
}

/* The next stage of the kernel, within its capacity: c = a b. */
static inline void plim_cuda_add_product(plim_cuda_kernel *kernel, plim_precision precision, plim_cuda_product product,
                                         plim_cuda_place a, plim_cuda_place b, plim_cuda_place c) {
  product.precision = precision;
  kernel->stage[kernel->n++] =
      (plim_cuda_stage){.kind = PLIM_STAGE_PRODUCT, .in0 = a, .in1 = b, .out0 = c, .product = product};
}

/* Two stages at most (bias_stage.c): add the op's bias, in[2], to sums of y, a view of the op's result. The sums are y
 * itself, or floats that are rounded to y then. */
void plim_cuda_stages_add_bias(plim_cuda_kernel *kernel, const k_call *call, const k_view *y, plim_cuda_place sums,
                               int rounded);

/* ---- families of kernels ----
 *
 * list: writes the variants of an op, at most `capacity`, and returns how many there are; 0: the op is not of the
 * family. make: fills an empty kernel, which owns its stages also when this fails; PLIM_KERNEL_UNSUPPORTED: the variant
 * is not of the family. Those by products are asked only where the engine has a library with the op's precision. */
typedef int plim_cuda_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info,
                           int capacity);
typedef int plim_cuda_make(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                           plim_cuda_kernel *kernel);

/* gemm.c: what is one product of the operands as they are (a linear layer, a convolution of one tap and stride 1); and
 * convolutions by products of columns. */
plim_cuda_list plim_cuda_direct_list, plim_cuda_columns_list;
plim_cuda_make plim_cuda_gemm_make;
int plim_cuda_gemm_is_direct(const plim_op_desc *op);

/* gemm_flat.c: convolutions of one tap by products of each image's matrix. */
plim_cuda_list plim_cuda_flat_list;
plim_cuda_make plim_cuda_flat_make;

/* matmul.c: products of matrices. attention.c: attention by products. words.c: the loss over a vocabulary by products.
 */
plim_cuda_list plim_cuda_matmul_list, plim_cuda_attention_list, plim_cuda_words_list;
plim_cuda_make plim_cuda_matmul_make, plim_cuda_attention_make, plim_cuda_words_make;

/* conv.c: convolutions by cuDNN. fused_attention.c: attention by cuDNN. recall: what an earlier run measured of these
 * variants. */
plim_cuda_list plim_cuda_conv_list, plim_cuda_fused_list;
plim_cuda_make plim_cuda_conv_make, plim_cuda_fused_make;
typedef void plim_cuda_recall(const plim_cuda_engine *engine, const plim_op_desc *op, const plim_kernel_info *info,
                              int n);
plim_cuda_recall plim_cuda_conv_recall, plim_cuda_fused_recall;

#endif
