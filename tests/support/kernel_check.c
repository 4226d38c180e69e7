/* The checks run the kernel again and again on copies of one set of random operands and compare bytes. */
#include "tests/support/kernel_check.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/isa.h"
#include "tests/support/kernel_reference.h"
#include "tests/support/test_random.h"

#ifdef PLIM_SANITIZED
enum { GUARD_BYTES = 0 };
#else
enum { GUARD_BYTES = 64 };
#endif
enum { GUARD = 0xA7 };

plim_shape kernel_shape(plim_dtype dtype, int rank, int64_t d0, int64_t d1, int64_t d2, int64_t d3) {
  const int64_t dim[4] = {d0, d1, d2, d3};
  return plim_shape_make(dtype, PLIM_FLAT, rank, dim);
}

plim_shape kernel_activation(plim_layout layout, int64_t n, int64_t c, int64_t h, int64_t w) {
  const int64_t dim[4] = {n, c, h, w};
  return plim_shape_make(PLIM_F32, layout, h > 0 ? 4 : 2, dim);
}

plim_shape kernel_mask(plim_shape shape) {
  shape.dtype = PLIM_BITS;
  return shape;
}

plim_op_desc kernel_op(plim_op_kind kind, int n_in, int n_out, plim_shape in0, plim_shape out0) {
  plim_op_desc op = {.kind = kind, .n_in = n_in, .n_out = n_out, .attrs = {.eps = 1e-5F}};
  op.in[0] = in0;
  op.out[0] = out0;
  return op;
}

const char *kernel_isa(int i) {
  for (int isa = 0; isa < PLIM_ISA_COUNT; isa++) {
    if (plim_isa_supported((plim_isa)isa) && i-- == 0) return plim_isa_name((plim_isa)isa);
  }
  return NULL;
}

static void *guarded_alloc(int64_t bytes, int fill) {
  unsigned char *memory = malloc((size_t)bytes + GUARD_BYTES);
  cr_assert(memory);
  memset(memory, fill, (size_t)bytes);
  memset(memory + bytes, GUARD, GUARD_BYTES);
  return memory;
}

static void guard_check(const void *memory, int64_t bytes, const char *what, const plim_op_desc *op) {
  const unsigned char *guard = (const unsigned char *)memory + bytes;
  for (int i = 0; i < GUARD_BYTES; i++) {
    cr_assert_eq(guard[i], GUARD, "%s: byte %d after %s was written", plim_op_kind_name(op->kind), i, what);
  }
}

static float random_float(uint64_t *state, double low, double high) {
  return (float)(low + (high - low) * (double)(test_random(state) >> 11) / 9007199254740992.0);
}

/* Rows of statistics ([2][C]: the second are variances) and hyperparameters must make sense; the rest is arbitrary. */
static double lowest(const plim_op_desc *op, int operand, int64_t i) {
  const plim_op_kind kind = op->kind;
  const int stats = (kind == PLIM_OP_BN_APPLY && operand == 1) || (kind == PLIM_OP_BN_RUNNING && operand == 0) ||
                    ((kind == PLIM_OP_BN_BWD_REDUCE || kind == PLIM_OP_BN_BWD_APPLY) && operand == 2);
  if (stats && i >= op->in[operand].dim[1]) return 0.1;
  if (kind == PLIM_OP_SGD && operand != 0) return 0;                               /* hyper, squares */
  if ((kind == PLIM_OP_ADAM || kind == PLIM_OP_ADAMW) && operand != 0) return 0.1; /* hyper, squares; second moments */
  return -1;
}

/* Any that are far from the ends of the range: sign, an exponent from 2^-7 to 2^0, fraction. */
static uint16_t random_bf16(uint64_t *state, double low) {
  const uint16_t sign = low < 0 ? (uint16_t)(test_random(state) >> 48 & 0x8000) : 0;
  return (uint16_t)(sign | (uint16_t)(120 + test_random_between(state, 0, 6)) << 7 |
                    (uint16_t)test_random_between(state, 0, 127));
}

/* What labels and tokens of the op are below. */
static int64_t indices_below(const plim_op_desc *op) {
  switch (op->kind) {
    case PLIM_OP_EMBEDDING:
      return op->in[1].dim[0];
    case PLIM_OP_EMBEDDING_BWD:
      return op->out[0].dim[0];
    case PLIM_OP_LINEAR_XENT:
    case PLIM_OP_LINEAR_XENT_BWD:
      return op->in[2].dim[0];
    case PLIM_OP_MEAN_LOSS:
      return 1000;
    default:
      return op->in[0].dim[1];
  }
}

/* Labels may be -1, which is to be ignored; numbers of labels may not. */
static int64_t indices_from(const plim_op_desc *op) {
  return op->kind == PLIM_OP_MEAN_LOSS ? 0 : -1;
}

static void fill_random(const plim_op_desc *op, int operand, const plim_shape *shape, void *memory, uint64_t *state) {
  const int64_t bytes = plim_shape_bytes(shape), dense = plim_shape_elements(shape);
  const int64_t n = plim_shape_is_strided(shape) ? bytes / (shape->dtype == PLIM_BF16 ? 2 : 4) : dense;
  unsigned char *byte = memory;
  int32_t *word = memory;
  uint16_t *half = memory;
  float *value = memory;
  switch (shape->dtype) {
    case PLIM_F32:
      for (int64_t i = 0; i < n; i++) value[i] = random_float(state, lowest(op, operand, i), 1);
      break;
    case PLIM_BF16:
      for (int64_t i = 0; i < n; i++) half[i] = random_bf16(state, lowest(op, operand, i));
      break;
    case PLIM_I32:
      for (int64_t i = 0; i < n; i++) {
        word[i] = (int32_t)test_random_between(state, indices_from(op), indices_below(op) - 1);
      }
      break;
    case PLIM_U8:
      for (int64_t i = 0; i < n; i++) {
        const int positions = op->kind == PLIM_OP_MAX_POOL_BWD ? op->attrs.kernel[0] * op->attrs.kernel[1] : 256;
        byte[i] = (unsigned char)test_random_between(state, 0, positions - 1);
      }
      break;
    default:
      for (int64_t i = 0; i < bytes; i++) byte[i] = (unsigned char)test_random(state);
      if (n % 8) byte[bytes - 1] &= (unsigned char)((1 << (n % 8)) - 1);
  }
}

void kernel_operands_make(const plim_op_desc *op, uint64_t seed, int fill, kernel_operands *operands) {
  *operands = (kernel_operands){{0}, {0}, {0}};
  for (int i = 0; i < op->n_in; i++) {
    operands->in[i] = guarded_alloc(plim_shape_bytes(&op->in[i]), 0);
    fill_random(op, i, &op->in[i], operands->in[i], &seed);
  }
  for (int i = 0; i < op->n_out; i++) operands->out[i] = guarded_alloc(plim_shape_bytes(&op->out[i]), fill);
  for (int i = 0; i < op->n_upd; i++) {
    operands->upd[i] = guarded_alloc(plim_shape_bytes(&op->upd[i]), 0);
    fill_random(op, -1, &op->upd[i], operands->upd[i], &seed);
  }
}

static void check_guards(const plim_op_desc *op, const kernel_operands *operands) {
  for (int i = 0; i < op->n_in; i++) guard_check(operands->in[i], plim_shape_bytes(&op->in[i]), "an input", op);
  for (int i = 0; i < op->n_out; i++) guard_check(operands->out[i], plim_shape_bytes(&op->out[i]), "an output", op);
  for (int i = 0; i < op->n_upd; i++) guard_check(operands->upd[i], plim_shape_bytes(&op->upd[i]), "an update", op);
}

void kernel_operands_free(const plim_op_desc *op, kernel_operands *operands) {
  for (int i = 0; i < op->n_in; i++) free(operands->in[i]);
  for (int i = 0; i < op->n_out; i++) free(operands->out[i]);
  for (int i = 0; i < op->n_upd; i++) free(operands->upd[i]);
}

void kernel_run_once(const plim_op_desc *op, const char *isa, const char *variant, int threads, int fill,
                     kernel_operands *operands) {
  plim_kernel_table *table = NULL;
  plim_kernel *kernel = NULL;
  cr_assert_eq(plim_kernel_table_new(isa, NULL, &table), PLIM_KERNEL_OK);
  cr_assert_eq(plim_kernel_make(table, op, variant, threads, &kernel), PLIM_KERNEL_OK, "%s has no %s kernel",
               plim_op_kind_name(op->kind), variant);
  const int64_t bytes = plim_kernel_workspace(kernel);
  void *workspace = guarded_alloc(bytes, fill);
  plim_kernel_args args = {operands->in,    operands->out,   operands->upd, workspace,
                           KERNEL_RUN_SEED, KERNEL_RUN_STEP, KERNEL_RUN_OP, NULL};
  cr_assert_eq(plim_kernel_run(kernel, &args), PLIM_KERNEL_OK);
  guard_check(workspace, bytes, "the workspace", op);
  check_guards(op, operands);
  free(workspace);
  plim_kernel_free(kernel);
  plim_kernel_table_free(table);
}

static void compare_bytes(const plim_op_desc *op, const kernel_operands *a, const kernel_operands *b, int inputs,
                          const char *what) {
  const char *kind = plim_op_kind_name(op->kind);
  for (int i = 0; i < op->n_out; i++) {
    const size_t bytes = (size_t)plim_shape_bytes(&op->out[i]);
    cr_assert(memcmp(a->out[i], b->out[i], bytes) == 0, "%s: output %d differs %s", kind, i, what);
  }
  for (int i = 0; i < op->n_upd; i++) {
    const size_t bytes = (size_t)plim_shape_bytes(&op->upd[i]);
    cr_assert(memcmp(a->upd[i], b->upd[i], bytes) == 0, "%s: update %d differs %s", kind, i, what);
  }
  for (int i = 0; inputs && i < op->n_in; i++) {
    const size_t bytes = (size_t)plim_shape_bytes(&op->in[i]);
    cr_assert(memcmp(a->in[i], b->in[i], bytes) == 0, "%s: input %d was written", kind, i);
  }
}

/* Run on fresh operands and compare with the first result. */
static void check_again(const plim_op_desc *op, uint64_t seed, const kernel_operands *first, const char *isa,
                        int threads, int fill, const char *what) {
  kernel_operands again;
  kernel_operands_make(op, seed, fill, &again);
  kernel_run_once(op, isa, "single-source", threads, fill, &again);
  compare_bytes(op, first, &again, 1, what);
  kernel_operands_free(op, &again);
}

static void check_pair(const plim_op_desc *op, uint64_t seed, const kernel_operands *first, plim_pair pair) {
  kernel_operands shared;
  kernel_operands_make(op, seed, 0, &shared);
  void *separate = shared.out[pair.out];
  shared.out[pair.out] = shared.in[pair.in];
  kernel_run_once(op, NULL, "single-source", 2, 0, &shared);
  compare_bytes(op, first, &shared, 0, "in place");
  shared.out[pair.out] = separate;
  kernel_operands_free(op, &shared);
}

/* Eight significant bits, rounded to nearest: off by half a unit of the last one, of a value of at least 2^7 units. */
static const double bf16_rounding = 1.0 / 256;

static void compare_values(const plim_op_desc *op, const plim_shape *shape, const void *got, const double *want,
                           double tolerance, const char *what, int operand) {
  const int64_t n = plim_shape_elements(shape);
  double largest = 1e-3;
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(want[i]));
  const double rounding = shape->dtype == PLIM_BF16 ? bf16_rounding : 0;
  if (shape->dtype != PLIM_F32 && shape->dtype != PLIM_BF16) largest = tolerance = 0;
  for (int64_t i = 0; i < n; i++) {
    const double value = reference_get(shape, got, i);
    const double allowed = tolerance * largest + rounding * (fabs(want[i]) + tolerance * largest);
    cr_assert(fabs(value - want[i]) <= allowed, "%s (layout %s): %s %d [%lld] is %.9g, not %.9g",
              plim_op_kind_name(op->kind), plim_layout_name(shape->layout), what, operand, (long long)i, value,
              want[i]);
  }
}

static void check_values(const plim_op_desc *op, uint64_t seed, const kernel_operands *first, double tolerance) {
  double *out[PLIM_OP_MAX_OUT], *upd[PLIM_OP_MAX_UPD];
  kernel_operands before;
  kernel_operands_make(op, seed, 0, &before);
  for (int i = 0; i < op->n_out; i++) out[i] = calloc((size_t)plim_shape_elements(&op->out[i]), sizeof(double));
  for (int i = 0; i < op->n_upd; i++) upd[i] = calloc((size_t)plim_shape_elements(&op->upd[i]), sizeof(double));
  reference_run(op, before.in, before.upd, op->kind == PLIM_OP_DROPOUT ? first->out[1] : NULL, out, upd);
  for (int i = 0; i < op->n_out; i++) {
    compare_values(op, &op->out[i], first->out[i], out[i], tolerance, "output", i);
    free(out[i]);
  }
  for (int i = 0; i < op->n_upd; i++) {
    compare_values(op, &op->upd[i], first->upd[i], upd[i], tolerance, "update", i);
    free(upd[i]);
  }
  kernel_operands_free(op, &before);
}

void kernel_check(const plim_op_desc *op, uint64_t seed, double tolerance) {
  kernel_operands first;
  kernel_operands_make(op, seed, 0, &first);
  kernel_run_once(op, NULL, "single-source", 1, 0, &first);
  check_values(op, seed, &first, tolerance);
  check_again(op, seed, &first, NULL, 1, 0xFF, "over other contents: not all of it was written");
  for (int i = 0; kernel_isa(i); i++) {
    for (int threads = 1; threads <= 3; threads++) {
      char what[80];
      (void)snprintf(what, sizeof what, "with %s and %d threads", kernel_isa(i), threads);
      check_again(op, seed, &first, kernel_isa(i), threads, 0x5A, what);
    }
  }
  const plim_pair *pair;
  const int pairs = plim_op_kind_pairs(op->kind, &pair);
  for (int i = 0; i < pairs; i++) {
    if (pair[i].in >= op->n_in || pair[i].out >= op->n_out) continue;
    const int64_t bytes_in = plim_shape_bytes(&op->in[pair[i].in]);
    if (plim_shape_bytes(&op->out[pair[i].out]) == bytes_in) check_pair(op, seed, &first, pair[i]);
  }
  kernel_operands_free(op, &first);
}

/* ---- two runs that add up in another order ---- */

static void compare_close(const plim_op_desc *op, const plim_shape *shape, const void *a, const void *b) {
  const int64_t n = plim_shape_elements(shape);
  const double inexact = shape->dtype == PLIM_F32 || shape->dtype == PLIM_BF16;
  const double rounding = shape->dtype == PLIM_BF16 ? 2 * bf16_rounding : 0;
  double largest = 1e-3;
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(reference_get(shape, a, i)));
  for (int64_t i = 0; i < n; i++) {
    const double x = reference_get(shape, a, i), y = reference_get(shape, b, i);
    const double allowed = inexact * (1e-5 * largest + rounding * fabs(x));
    cr_assert(fabs(x - y) <= allowed, "%s (layout %s): [%lld] is %.9g by one and %.9g by the other",
              plim_op_kind_name(op->kind), plim_layout_name(shape->layout), (long long)i, x, y);
  }
}

void kernel_operands_compare(const plim_op_desc *op, const kernel_operands *a, const kernel_operands *b) {
  for (int i = 0; i < op->n_out; i++) compare_close(op, &op->out[i], a->out[i], b->out[i]);
  for (int i = 0; i < op->n_upd; i++) compare_close(op, &op->upd[i], a->upd[i], b->upd[i]);
}
