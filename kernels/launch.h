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
enum { K_MOST_CLASSES = 1 << 24 /* of a loss: kernels keep the number of a class in a float, which is exact so far */ };

typedef struct k_phase {
  k_body body;
  int64_t tiles;
  int serial; /* too little work to wake threads for */
} k_phase;

typedef struct k_launch {
  k_call call; /* operands are filled in at run time */
  int phases;
  k_phase phase[K_PHASES_MAX];
  int64_t workspace_bytes;
} k_launch;

/* Functions of this header are pure: any thread may call them, and they take O(operands).
 * Fill *launch for an op; 0 when its shapes or attributes are none that the kernels serve. Nothing that a later run
 * reads or writes lies outside the operands when this returned 1. */
int k_launch_make(const plim_op_desc *op, k_launch *launch);

/* Cut what tiles do row after row into more tiles, for a device of thousands of threads. Workspace and bits change. */
void k_launch_divide_more(k_launch *launch);

/* The launch's call with the operands of one run. */
k_call k_launch_bind(const k_launch *launch, const plim_kernel_args *args, const uint64_t *now);

/* The op kinds that the kernels serve. */
int k_launch_kinds(void);
plim_op_kind k_launch_kind(int i); /* 0 <= i < k_launch_kinds() */

/* One function an op kind, each in the file of its concept; *launch comes with operand counts and attributes. Before it
 * is called, the operands have been compared with the rule of their kind (plim_op_fits), each has at least one element
 * and bytes that 63 bits count, and those of rank 4 have one layout, if launch_kinds.c does not say otherwise. What is
 * left to the function: what attributes say of the operands, several layouts, limits of the kernels and of 63 bits.
 * 0: the kernels do not serve the op. */
typedef int k_launch_fn(const plim_op_desc *op, k_launch *launch);
k_launch_fn k_launch_image, k_launch_cast, k_launch_relu, k_launch_relu_bwd, k_launch_add, k_launch_sgd;
k_launch_fn k_launch_bn_stats, k_launch_bn_apply, k_launch_bn_running, k_launch_bn_bwd_reduce, k_launch_bn_bwd_apply;
k_launch_fn k_launch_softmax_xent, k_launch_softmax_xent_bwd, k_launch_dropout, k_launch_dropout_bwd;
k_launch_fn k_launch_bias_bwd, k_launch_global_avg_pool, k_launch_global_avg_pool_bwd;
k_launch_fn k_launch_max_pool, k_launch_max_pool_bwd, k_launch_avg_pool, k_launch_avg_pool_bwd;
k_launch_fn k_launch_conv2d, k_launch_conv2d_bwd_data, k_launch_conv2d_bwd_weights;
k_launch_fn k_launch_linear, k_launch_linear_bwd_data, k_launch_linear_bwd_weights;
k_launch_fn k_launch_gelu, k_launch_gelu_bwd, k_launch_silu, k_launch_silu_bwd;
k_launch_fn k_launch_layer_norm, k_launch_layer_norm_bwd, k_launch_rms_norm, k_launch_rms_norm_bwd;
k_launch_fn k_launch_embedding, k_launch_embedding_bwd, k_launch_attention, k_launch_attention_bwd;
k_launch_fn k_launch_linear_xent, k_launch_linear_xent_bwd, k_launch_adam, k_launch_adamw, k_launch_sum_squares;
k_launch_fn k_launch_accumulate, k_launch_mean_loss;
k_launch_fn k_launch_concat, k_launch_split, k_launch_depthwise_conv2d, k_launch_depthwise_conv2d_bwd_data;
k_launch_fn k_launch_depthwise_conv2d_bwd_weights;
k_launch_fn k_launch_softmax, k_launch_softmax_bwd, k_launch_matmul;

/* ---- for those functions ---- */

/* A phase of about as much work as `elements` elements of an elementwise op: a little of it stays on one thread. */
void k_launch_add_phase(k_launch *launch, k_body body, int64_t tiles, double elements);

/* A reduction by channel of call.x: two partial sums a channel for every piece of positions, then their combination. */
void k_launch_reduction(k_launch *launch, k_body partial, k_body combine);

/* Cut the positions of call.x into tiles of a kernel that counts elements; returns how many. */
int64_t k_launch_positions(k_call *call, k_body body);

int64_t k_tile(k_body body);                      /* what the list of kernels says, in what it counts there */
int64_t k_tiles(int64_t count, k_body body);      /* tiles of so much; the last may be short */
int64_t k_divide_up(int64_t count, int64_t part); /* count / part, rounded up */

/* The view of an activation: rank 4 in any layout, or [N][C]. 0 when it is none. */
int k_view_make(const plim_shape *shape, k_view *view);
/* The same, for ops to which images are one run of positions: where the layout allows it, n is 1. */
int k_view_merged(const plim_shape *shape, k_view *view);
double k_view_elements(const k_view *view);
/* The rows of the last size. 0 when the shape has a layout, or no elements that 63 bits count. */
int k_rows_make(const plim_shape *shape, k_rows *rows);
double k_rows_elements(const k_rows *rows);

#ifdef __cplusplus
}
#endif
#endif
