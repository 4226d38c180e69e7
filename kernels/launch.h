/* From an op to what runs: the geometry that the kernels read, and the kernels to run one after the other. */
#ifndef PLIM_KERNELS_LAUNCH_H
#define PLIM_KERNELS_LAUNCH_H

#include "kernels/call.h"
#include "kernels/table.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { K_PHASES_MAX = 3 };
enum { K_PRODUCT_ELEMENTS = 8 }; /* multiply-adds of a product that take as long as an elementwise op on one element */
enum { K_CLASSES_MAX = 1 << 24 /* of a loss: kernels keep the number of a class in a float, which is exact so far */ };
enum { K_COLUMNS_MAX = INT32_MAX /* of a row: a thread of a CPU takes all of them, and counts them in an int */ };

/* One kernel over all of its tiles: a grid on a GPU, a parallel loop on the CPU. */
typedef struct k_phase {
  k_kernel kernel;
  int64_t tiles;
  int serial; /* too little work to wake threads for */
} k_phase;

/* How an op runs: phases, one after the other, each with the same arguments. */
typedef struct k_launch {
  k_call call;                         /* operands are filled in at run time */
  int32_t number, first_in, first_out; /* of the op's launches; the operands that are the call's first ones */
  int phases;
  k_phase phase[K_PHASES_MAX];
  int64_t workspace_bytes;
} k_launch;

/* Functions of this header are pure: any thread may call them, and they take O(operands).
 * An op runs as one launch after another, of which each has at most K_LAUNCH_OPERANDS inputs and outputs: a GPU takes
 * 4 KiB as arguments of a kernel. Only ops with a list of any number, as concat, have more than one. */
enum { K_LAUNCH_OPERANDS = 32 };
int32_t k_launch_count(const plim_op_desc *op);
/* Fill *launch for the first launch of an op, the only one of ops without a list of any number; 0 when its shapes or
 * attributes are none that the kernels serve, or a phase has more tiles than 32 bits count. Nothing that a later run
 * reads or writes lies outside the operands when this returned 1. */
int k_launch_make(const plim_op_desc *op, k_launch *launch);
/* Fill *launch for the one after *before, which is of the same op. It takes O(K_LAUNCH_OPERANDS). */
void k_launch_make_next(const plim_op_desc *op, const k_launch *before, k_launch *launch);

/* Cut what tiles do row after row into more tiles, for a device of thousands of threads. Workspace and bits change. */
void k_launch_divide_more(k_launch *launch);

/* The launch's call with the operands of one run. */
k_call k_launch_bind(const k_launch *launch, const plim_kernel_args *args, const uint64_t *now);

/* The op kinds that the kernels serve. */
int k_launch_kinds(void);
plim_op_kind k_launch_kind(int i); /* 0 <= i < k_launch_kinds() */

/* A function a kind, each in the file of its concept; *launch comes with operand counts and attributes. Before it
 * is called, the operands have been compared with the rule of their kind (plim_op_fits), each has at least one element
 * and bytes that 63 bits count, and those of rank 4 have one layout, if launch_kinds.c does not say otherwise. What is
 * left to the function: what attributes say of the operands, several layouts, limits of the kernels and of 63 bits.
 * 0: the kernels do not serve the op. */
typedef int k_launch_fn(const plim_op_desc *op, k_launch *launch);
/* The kinds whose launch is a function: kind, function, and whether operands of rank 4 have ONE layout or SEVERAL. The
 * line declares k_launch_NAME and registers it. Kinds of one elementwise kernel have none (kernels/call.h). */
/* clang-format off */
#define K_LAUNCHES(X) \
  X(IMAGE,                        image,                        SEVERAL) \
  X(BN_STATS,                     bn_stats,                     ONE) \
  X(BN_APPLY,                     bn_apply,                     ONE) \
  X(BN_RUNNING,                   bn_running,                   ONE) \
  X(BN_BWD_REDUCE,                bn_bwd_reduce,                ONE) \
  X(BN_BWD_APPLY,                 bn_bwd_apply,                 ONE) \
  X(SOFTMAX_XENT,                 softmax_xent,                 ONE) \
  X(SOFTMAX_XENT_BWD,             softmax_xent_bwd,             ONE) \
  X(GLOBAL_AVG_POOL,              global_avg_pool,              ONE) \
  X(GLOBAL_AVG_POOL_BWD,          global_avg_pool_bwd,          ONE) \
  X(BIAS_BWD,                     bias_bwd,                     ONE) \
  X(LINEAR,                       linear,                       ONE) \
  X(LINEAR_BWD_DATA,              linear_bwd_data,              ONE) \
  X(LINEAR_BWD_WEIGHTS,           linear_bwd_weights,           ONE) \
  X(CONV2D,                       conv2d,                       SEVERAL) \
  X(CONV2D_BWD_DATA,              conv2d_bwd_data,              SEVERAL) \
  X(CONV2D_BWD_WEIGHTS,           conv2d_bwd_weights,           SEVERAL) \
  X(MAX_POOL,                     max_pool,                     ONE) \
  X(MAX_POOL_BWD,                 max_pool_bwd,                 ONE) \
  X(AVG_POOL,                     avg_pool,                     ONE) \
  X(AVG_POOL_BWD,                 avg_pool_bwd,                 ONE) \
  X(LAYER_NORM,                   layer_norm,                   ONE) \
  X(LAYER_NORM_BWD,               layer_norm_bwd,               ONE) \
  X(RMS_NORM,                     rms_norm,                     ONE) \
  X(RMS_NORM_BWD,                 rms_norm_bwd,                 ONE) \
  X(EMBEDDING,                    embedding,                    ONE) \
  X(EMBEDDING_BWD,                embedding_bwd,                ONE) \
  X(ATTENTION,                    attention,                    ONE) \
  X(ATTENTION_BWD,                attention_bwd,                ONE) \
  X(LINEAR_XENT,                  linear_xent,                  ONE) \
  X(LINEAR_XENT_BWD,              linear_xent_bwd,              ONE) \
  X(SUM_SQUARES,                  sum_squares,                  ONE) \
  X(MEAN_LOSS,                    mean_loss,                    ONE) \
  X(CONCAT,                       concat,                       ONE) \
  X(SPLIT,                        split,                        ONE) \
  X(DEPTHWISE_CONV2D,             depthwise_conv2d,             SEVERAL) \
  X(DEPTHWISE_CONV2D_BWD_DATA,    depthwise_conv2d_bwd_data,    SEVERAL) \
  X(DEPTHWISE_CONV2D_BWD_WEIGHTS, depthwise_conv2d_bwd_weights, SEVERAL) \
  X(CONV_TRANSPOSE2D,             conv2d_bwd_data,              SEVERAL) \
  X(SOFTMAX,                      softmax,                      ONE) \
  X(SOFTMAX_BWD,                  softmax_bwd,                  ONE) \
  X(MATMUL,                       matmul,                       ONE) \
  X(MATMUL_NT,                    matmul,                       ONE) \
  X(MATMUL_TN,                    matmul,                       ONE)
/* clang-format on */
#define K_X(kind, name, layouts) k_launch_fn k_launch_##name;
K_LAUNCHES(K_X)
#undef K_X

/* The others, which K_ELEMENTWISE lists: their number, kind i of them, and the launch of all. */
int k_launch_elementwise_kinds(void);
plim_op_kind k_launch_elementwise_kind(int i);
k_launch_fn k_launch_elementwise;

/* ---- for those functions ---- */

/* A phase of about as much work as `elements` elements of an elementwise op: a little of it stays on one thread. */
void k_launch_add_phase(k_launch *launch, k_kernel kernel, int64_t tiles, double elements);

/* A reduction by channel of call.x: two partial sums a channel for every piece of positions, then their combination. */
void k_launch_reduction(k_launch *launch, k_kernel partial, k_kernel combine);

/* Cut the positions of call.x into tiles of a kernel that counts elements; returns how many. */
int64_t k_launch_positions(k_call *call, k_kernel kernel);

int64_t k_tile(k_kernel kernel);                  /* what the list of kernels says, in what it counts there */
int64_t k_tiles(int64_t count, k_kernel kernel);  /* tiles of so much; the last may be short */
int64_t k_divide_up(int64_t count, int64_t part); /* count / part, rounded up */

/* The view of an activation: rank 4 in any layout, or [N][C]. 0 when it is none. */
int k_view_make(const plim_shape *shape, k_view *view);
/* The same, for ops to which images are one run of positions: where the layout allows it, n is 1. */
int k_view_merged(const plim_shape *shape, k_view *view);
double k_view_elements(const k_view *view);
/* The rows of the last size, which is at most K_COLUMNS_MAX. 0 when the shape has a layout, or no elements that 63 bits
 * count. */
int k_rows_make(const plim_shape *shape, k_rows *rows);
double k_rows_elements(const k_rows *rows);

#ifdef __cplusplus
}
#endif
#endif
