/* Kernels over activations stored as bf16: how they round, and that storing is all in which they differ from those over
 * floats. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kernel_check.h"
#include "tests/support/kernel_reference.h"
#include "tests/support/kernel_samples.h"

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* By distance: the nearer neighbour, at a tie the one with an even last bit. */
static uint16_t nearest_bf16(uint32_t bits) {
  const uint16_t low = (uint16_t)(bits >> 16);
  const double value = (double)float_of(bits), below = reference_of_bf16(low);
  if (isinf(value) || value == below) return low;
  const uint16_t high = (uint16_t)(low + 1);
  const double next = reference_of_bf16(high);
  const double above = isinf(next) ? copysign(ldexp(1, 128), value) : next; /* where the next one would be */
  const double to_low = fabs(value - below), to_high = fabs(above - value);
  if (to_low != to_high) return to_low < to_high ? low : high;
  return low & 1 ? high : low;
}

enum { LOWER_HALVES = 6 };
static const uint32_t lower_half[LOWER_HALVES] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};

static void cast(const char *isa, int64_t n, void *from, void *to) {
  plim_op_desc op =
      kernel_op(PLIM_OP_CAST, 1, 1, kernel_shape(PLIM_F32, 1, n, 1, 1, 1), kernel_shape(PLIM_BF16, 1, n, 1, 1, 1));
  kernel_operands operands;
  kernel_operands_make(&op, 1, 0, &operands);
  memcpy(operands.in[0], from, (size_t)plim_shape_bytes(&op.in[0]));
  kernel_run_once(&op, isa, "single-source", 2, 0, &operands);
  memcpy(to, operands.out[0], (size_t)plim_shape_bytes(&op.out[0]));
  kernel_operands_free(&op, &operands);
}

Test(kernels_bf16, every_float_goes_to_the_nearest_bf16_and_ties_to_the_even_one) {
  const int64_t n = LOWER_HALVES << 16;
  uint32_t *from = malloc((size_t)n * sizeof *from);
  uint16_t *to = malloc((size_t)n * sizeof *to);
  cr_assert(from && to);
  for (int64_t i = 0; i < n; i++) from[i] = (uint32_t)(i / LOWER_HALVES) << 16 | lower_half[i % LOWER_HALVES];
  for (int isa = 0; kernel_isa(isa); isa++) {
    cast(kernel_isa(isa), n, from, to);
    for (int64_t i = 0; i < n; i++) {
      if (isnan(float_of(from[i]))) {
        cr_assert(isnan(reference_of_bf16(to[i])), "%08x is not a number, %04x is", from[i], to[i]);
      } else {
        cr_assert_eq(to[i], nearest_bf16(from[i]), "%08x became %04x with %s", from[i], to[i], kernel_isa(isa));
      }
    }
  }
  free(from);
  free(to);
}

/* The same numbers in both forms. */
static void widen(const plim_shape *shape, const void *half, float *whole) {
  for (int64_t i = 0; i < plim_shape_elements(shape); i++)
    whole[i] = (float)reference_of_bf16(((const uint16_t *)half)[i]);
}

static void widen_inputs(const plim_op_desc *op, const kernel_operands *half, kernel_operands *whole) {
  for (int i = 0; i < op->n_in; i++) {
    if (op->in[i].dtype == PLIM_BF16) {
      widen(&op->in[i], half->in[i], whole->in[i]);
    } else {
      memcpy(whole->in[i], half->in[i], (size_t)plim_shape_bytes(&op->in[i]));
    }
  }
  for (int i = 0; i < op->n_upd; i++) memcpy(whole->upd[i], half->upd[i], (size_t)plim_shape_bytes(&op->upd[i]));
}

static void expect_rounded(const plim_op_desc *op, const kernel_operands *half, const kernel_operands *whole) {
  for (int o = 0; o < op->n_out; o++) {
    if (op->out[o].dtype != PLIM_BF16) {
      cr_assert_eq(memcmp(half->out[o], whole->out[o], (size_t)plim_shape_bytes(&op->out[o])), 0,
                   "output %d of %s in layout %s", o, plim_op_kind_name(op->kind), plim_layout_name(op->in[0].layout));
      continue;
    }
    for (int64_t i = 0; i < plim_shape_elements(&op->out[o]); i++) {
      uint32_t bits;
      memcpy(&bits, (float *)whole->out[o] + i, sizeof bits);
      cr_assert_eq(((uint16_t *)half->out[o])[i], nearest_bf16(bits),
                   "%s in layout %s: [%lld] is %04x, not %08x rounded", plim_op_kind_name(op->kind),
                   plim_layout_name(op->in[0].layout), (long long)i, ((uint16_t *)half->out[o])[i], bits);
    }
  }
}

Test(kernels_bf16, give_what_kernels_over_floats_give_of_the_same_numbers_rounded_once) {
  for (int layout = 0; layout < PLIM_LAYOUT_COUNT; layout++) {
    for (int kind = 0; kind < PLIM_OP_KIND_COUNT; kind++) {
      if (kind == PLIM_OP_CUSTOM || kind == PLIM_OP_CAST) continue;
      const plim_op_desc op = kernel_sample_bf16((plim_op_kind)kind, (plim_layout)layout);
      const plim_op_desc wide = kernel_sample((plim_op_kind)kind, (plim_layout)layout);
      kernel_operands half, whole;
      kernel_operands_make(&op, (uint64_t)kind + 40 * (uint64_t)layout, 0, &half);
      kernel_operands_make(&wide, 1, 0, &whole);
      widen_inputs(&op, &half, &whole);
      kernel_run_once(&op, NULL, "single-source", 2, 0, &half);
      kernel_run_once(&wide, NULL, "single-source", 2, 0, &whole);
      expect_rounded(&op, &half, &whole);
      kernel_operands_free(&op, &half);
      kernel_operands_free(&wide, &whole);
    }
  }
}

Test(kernels_bf16, operands_of_mixed_types_have_no_kernel) {
  plim_kernel_table *table = NULL;
  cr_assert_eq(plim_kernel_table_new(NULL, NULL, &table), PLIM_KERNEL_OK);
  for (int kind = 0; kind < PLIM_OP_KIND_COUNT; kind++) {
    if (kind == PLIM_OP_CUSTOM) continue;
    for (int i = 0; i < 2; i++) {
      plim_op_desc op = kernel_sample_bf16((plim_op_kind)kind, PLIM_NHWC);
      plim_shape *changed = i == 0 ? &op.in[op.n_in - 1] : op.n_out > 0 ? &op.out[0] : &op.upd[0];
      changed->dtype = changed->dtype == PLIM_BF16 ? PLIM_I32 : PLIM_BF16;
      cr_assert_eq(plim_kernel_list(table, &op, 1, NULL, 0), 0, "%s", plim_op_kind_name(op.kind));
    }
  }
  plim_kernel_table_free(table);
}
