/* The walk over the variants that oneDNN has for an op (onednn_variants.c), for onednn.c. A walk changes the number of
 * threads of parallel regions until its end; one at a time on a thread. */
#ifndef PLIM_KERNELS_CPU_ONEDNN_VARIANTS_H
#define PLIM_KERNELS_CPU_ONEDNN_VARIANTS_H

#include <oneapi/dnnl/dnnl.h>

#include "kernels/cpu/onednn_api.h"
#include "kernels/table.h"

enum { PLIM_ONEDNN_OPERANDS = 4, PLIM_ONEDNN_VARIANTS = 8 };

/* Where an operand lies at run time. */
typedef enum plim_onednn_place { PLIM_ONEDNN_IN, PLIM_ONEDNN_OUT, PLIM_ONEDNN_WORKSPACE } plim_onednn_place;

typedef struct plim_onednn_operand {
  int arg; /* DNNL_ARG_*, 0 after the last */
  plim_onednn_place from;
  int position;   /* among the op's inputs or outputs */
  int transposed; /* read a matrix as its transpose */
} plim_onednn_operand;

/* Rows of plim_onednn_operation.operand. A softmax has no weights, and its result in their place. */
enum { PLIM_ONEDNN_SRC, PLIM_ONEDNN_WEIGHTS, PLIM_ONEDNN_DST, PLIM_ONEDNN_BIAS };
enum { PLIM_ONEDNN_SOFTMAX_DST = PLIM_ONEDNN_WEIGHTS };

/* What the library computes a kind of op by. */
typedef struct plim_onednn_operation {
  plim_op_kind kind;
  dnnl_prop_kind_t prop; /* undef: a matrix product */
  plim_onednn_operand operand[PLIM_ONEDNN_OPERANDS];
} plim_onednn_operation;

typedef struct plim_onednn_walk {
  const plim_onednn_operation *operation;
  const plim_op_desc *op;
  int n_operands, threads, threads_before;
  plim_dnnl_md md[PLIM_ONEDNN_OPERANDS]; /* operands as they lie in the arena, by row of the operation */
  dnnl_engine_t engine;                  /* who takes it sets it to NULL */
  dnnl_primitive_attr_t attr;
  int algorithm; /* of `offers` */
  plim_dnnl_offers offers;
  int n_seen; /* variants yielded so far; of two with one name the first has the better instruction set */
  char seen[PLIM_ONEDNN_VARIANTS][PLIM_KERNEL_NAME_BYTES];
} plim_onednn_walk;

/* Start before the first variant. dnnl_unimplemented: no operation serves the op. plim_onednn_walk_end is due
 * whatever this returns. `op` must outlive the walk. */
dnnl_status_t plim_onednn_walk_begin(plim_onednn_walk *walk, const plim_op_desc *op, int threads);

/* Go to the next variant, whose primitive descriptor is walk->offers.pd: its name, borrowed from the walk, or NULL
 * after the last. The library may take milliseconds to answer. */
const char *plim_onednn_walk_next(plim_onednn_walk *walk);

void plim_onednn_walk_end(plim_onednn_walk *walk);

/* Make parallel regions of this thread use `threads` from here on; returns what they used before. */
int plim_onednn_set_threads(int threads);

#endif
