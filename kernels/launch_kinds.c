/* The launch of each op kind, and what holds for all of them: every operand has a size, follows the rule of its kind,
 * and has the layout of the others. */
#include "kernels/launch.h"

#include <assert.h>

/* Layouts that the operands of an op have: the function of a kind looks at several itself. */
typedef enum layouts { ONE, SEVERAL } layouts;

#define K_X(kind, name, layouts) {PLIM_OP_##kind, k_launch_##name, layouts},
static const struct {
  plim_op_kind kind;
  k_launch_fn *launch;
  layouts layouts;
} kinds[] = {K_LAUNCHES(K_X)};
#undef K_X

enum { KINDS = sizeof kinds / sizeof *kinds };

int k_launch_kinds(void) {
  return KINDS + k_launch_elementwise_kinds();
}

plim_op_kind k_launch_kind(int i) {
  return i < KINDS ? kinds[i].kind : k_launch_elementwise_kind(i - KINDS);
}

/* Have all operands of a list a size? *layout is the one of those of rank 4 so far, -1: there was none, and becomes
 * PLIM_LAYOUT_COUNT when they differ. Operands of other ranks are flat. */
static int are_valid(const plim_shape *shape, int32_t n, int *layout) {
  for (int32_t i = 0; i < n; i++) {
    if (plim_shape_bytes(&shape[i]) <= 0) return 0;
    if (shape[i].rank != 4) continue;
    *layout = *layout < 0 || *layout == (int)shape[i].layout ? (int)shape[i].layout : PLIM_LAYOUT_COUNT;
  }
  return 1;
}

static int32_t larger(int32_t a, int32_t b) {
  return a > b ? a : b;
}

/* Kinds without a list of any number have no operands but those that one argument holds. */
int32_t k_launch_count(const plim_op_desc *op) {
  return (larger(op->n_in, op->n_out) + K_LAUNCH_OPERANDS - 1) / K_LAUNCH_OPERANDS;
}

static int number_of(plim_op_kind kind) {
  int i = 0;
  while (i < KINDS && kinds[i].kind != kind) i++;
  return i;
}

/* A device of many threads divides the number of a tile in 32 bits (k_quotient). */
static int has_counted_tiles(const k_launch *launch) {
  for (int i = 0; i < launch->phases; i++) {
    if (launch->phase[i].tiles > UINT32_MAX) return 0;
  }
  return 1;
}

int k_launch_make(const plim_op_desc *op, k_launch *launch) {
  plim_dtype type;
  int layout = -1;
  if (!are_valid(plim_op_inputs(op), op->n_in, &layout) || !are_valid(plim_op_outputs(op), op->n_out, &layout) ||
      !are_valid(plim_op_updates(op), op->n_upd, &layout) || !plim_op_fits(op, NULL, NULL, 0) ||
      !plim_op_type(op, &type)) {
    return 0;
  }
  const int i = number_of(op->kind);
  if (layout == PLIM_LAYOUT_COUNT && (i == KINDS || kinds[i].layouts == ONE)) return 0;
  *launch = (k_launch){.call = {.n_in = op->n_in, .n_out = op->n_out, .n_upd = op->n_upd, .attrs = op->attrs}};
  launch->call.type = type == PLIM_BF16 ? K_TYPE_BF16 : K_TYPE_FLOAT;
  k_launch_fn *const make = i < KINDS ? kinds[i].launch : k_launch_elementwise;
  return make(op, launch) && has_counted_tiles(launch);
}

void k_launch_make_next(const plim_op_desc *op, const k_launch *before, k_launch *launch) {
  *launch = *before;
  launch->number++;
  launch->phases = 0;
  launch->call.n_in = op->n_in;
  launch->call.n_out = op->n_out;
  const int i = number_of(op->kind);
  assert(i < KINDS);                 /* no kind of one elementwise kernel has a list of any number */
  (void)kinds[i].launch(op, launch); /* what serves the first serves all */
}
