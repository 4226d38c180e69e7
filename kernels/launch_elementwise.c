/* Launches of ops over elements in memory order, updates of parameters among them: one phase, of the kernel that has
 * the name of the kind. */
#include "kernels/launch.h"

#include <string.h>

/* An element takes the time of an addition, or of two. */
#define K_X(name, blocks, per_tile) {#name, K_KERNEL_##name, 1},
#define K_X_SLOW(name, blocks, per_tile) {#name, K_KERNEL_##name, 2},
static const struct {
  const char *kind;
  k_kernel kernel;
  int times;
} elementwise[] = {K_ELEMENTWISE(K_X) K_ELEMENTWISE_SLOW(K_X_SLOW)};
#undef K_X
#undef K_X_SLOW
enum { KINDS = sizeof elementwise / sizeof *elementwise };

int k_launch_elementwise_kinds(void) {
  return KINDS;
}

plim_op_kind k_launch_elementwise_kind(int i) {
  return (plim_op_kind)plim_op_kind_find(elementwise[i].kind);
}

int k_launch_elementwise(const plim_op_desc *op, k_launch *launch) {
  const char *name = plim_op_kind_name(op->kind);
  for (int i = 0; i < KINDS; i++) {
    if (strcmp(elementwise[i].kind, name) != 0) continue;
    const int64_t n = plim_shape_elements(op->n_out > 0 ? &op->out[0] : &op->upd[0]);
    launch->call.elements = n;
    k_launch_add_phase(launch, elementwise[i].kernel, k_tiles(n, elementwise[i].kernel),
                       elementwise[i].times * (double)n);
    return 1;
  }
  return 0;
}

int k_launch_sum_squares(const plim_op_desc *op, k_launch *launch) {
  k_call *call = &launch->call;
  call->elements = plim_shape_elements(&op->in[0]);
  call->cut.all = k_tiles(call->elements, K_KERNEL_squares);
  launch->workspace_bytes = call->cut.all * (int64_t)sizeof(float);
  k_launch_add_phase(launch, K_KERNEL_squares, call->cut.all, (double)call->elements);
  k_launch_add_phase(launch, K_KERNEL_squares_combine, 1, 0);
  return 1;
}
