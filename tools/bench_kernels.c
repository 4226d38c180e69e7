/* How far the single-source kernels are from the memory: time of each op at the shapes of ResNet-20, batch 128, beside
 * a memcpy that moves the same bytes with the same threads. Operands rotate through more memory than the caches hold.
 *   bench_kernels [threads] [layout] [instruction set] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/table.h"

enum { ROUNDS = 15, OPERANDS = PLIM_OP_MAX_IN + PLIM_OP_MAX_OUT + PLIM_OP_MAX_UPD };
static const int64_t pool_bytes = INT64_C(384) << 20;

typedef struct bench {
  plim_kernel_table *table;
  int threads;
  char *pool;
  int64_t at; /* where the next operand is placed */
} bench;

static double now_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median of ROUNDS, and the best of them for machines that others use too. */
typedef struct summary {
  double median, best;
} summary;

static summary summarize(double *ns) {
  qsort(ns, ROUNDS, sizeof *ns, by_value);
  return (summary){ns[ROUNDS / 2], ns[0]};
}

static void *place(bench *b, int64_t bytes) {
  bytes = (bytes + 511) / 512 * 512;
  if (b->at + bytes > pool_bytes) b->at = 0;
  void *at = b->pool + b->at;
  b->at += bytes;
  return at;
}

/* Small floats of either sign; as bytes of a mask they have about as many ones as zeros. */
static void fill(char *pool) {
  uint32_t state = 1;
  for (int64_t i = 0; i < pool_bytes / 4; i++) {
    state = state * 1664525U + 1013904223U;
    ((float *)(void *)pool)[i] = (float)(int32_t)state / 1e9F;
  }
}

static double copy_ns(bench *b, int64_t bytes) {
  char *from = place(b, bytes), *to = place(b, bytes);
  const int64_t part = bytes / b->threads;
  const double start = now_ns();
#pragma omp parallel for num_threads(b->threads) schedule(static)
  for (int i = 0; i < b->threads; i++) memcpy(to + i * part, from + i * part, (size_t)part);
  return now_ns() - start;
}

static double run_ns(bench *b, const plim_op_desc *op, const plim_kernel *kernel) {
  void *memory[OPERANDS];
  void **in = memory, **out = in + PLIM_OP_MAX_IN, **upd = out + PLIM_OP_MAX_OUT;
  for (int i = 0; i < op->n_in; i++) in[i] = place(b, plim_shape_bytes(&op->in[i]));
  for (int i = 0; i < op->n_out; i++) out[i] = place(b, plim_shape_bytes(&op->out[i]));
  for (int i = 0; i < op->n_upd; i++) upd[i] = place(b, plim_shape_bytes(&op->upd[i]));
  const plim_kernel_args args = {in, out, upd, place(b, plim_kernel_workspace(kernel)), 1, 2, 3, NULL};
  const double start = now_ns();
  (void)plim_kernel_run(kernel, &args);
  return now_ns() - start;
}

static void measure(bench *b, const plim_op_desc *op, const char *what) {
  const plim_shape *x = &op->in[0];
  plim_kernel *kernel = NULL;
  double op_ns[ROUNDS], memcpy_ns[ROUNDS];
  if (plim_kernel_make(b->table, op, "single-source", b->threads, &kernel) != PLIM_KERNEL_OK) {
    printf("%-22s not served\n", what);
    return;
  }
  const int64_t traffic = plim_op_traffic(op);
  for (int i = -2; i < ROUNDS; i++) {
    const double a = run_ns(b, op, kernel), c = copy_ns(b, traffic / 2);
    if (i >= 0) {
      op_ns[i] = a;
      memcpy_ns[i] = c;
    }
  }
  const summary op_time = summarize(op_ns), copy_time = summarize(memcpy_ns);
  printf("%-20s %4lldx%-3lld %2lldx%-2lld %9.0f ns %6.1f GB/s %5.2f x memcpy (best %9.0f ns, %5.2f x)\n", what,
         (long long)x->dim[0], (long long)x->dim[1], (long long)x->dim[2], (long long)x->dim[3], op_time.median,
         (double)traffic / op_time.median, op_time.median / copy_time.median, op_time.best,
         op_time.best / copy_time.best);
  plim_kernel_free(kernel);
}

static plim_shape like(plim_shape shape, plim_dtype dtype) {
  shape.dtype = dtype;
  return shape;
}

static plim_op_desc op_of(plim_op_kind kind, int n_in, int n_out, plim_shape x) {
  plim_op_desc op = {.kind = kind, .n_in = n_in, .n_out = n_out, .attrs = {.eps = 1e-5F, .drop = 0.2F}};
  for (int i = 0; i < n_in; i++) op.in[i] = x;
  for (int i = 0; i < n_out; i++) op.out[i] = x;
  return op;
}

static void batch_norm(bench *b, plim_shape x) {
  const int64_t sizes[] = {2, x.dim[1]};
  const plim_shape pair = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, sizes), mask = like(x, PLIM_BITS);
  plim_op_desc op = op_of(PLIM_OP_BN_STATS, 1, 1, x);
  op.out[0] = pair;
  measure(b, &op, "bn_stats");
  for (int add = 0; add < 2; add++) {
    op = op_of(PLIM_OP_BN_APPLY, 3 + add, 2, x);
    op.in[1] = op.in[2] = pair;
    op.out[1] = mask;
    op.attrs.relu = 1;
    op.attrs.add = add;
    measure(b, &op, add ? "bn_apply+add+relu" : "bn_apply+relu");
  }
  for (int relu = 0; relu < 2; relu++) {
    op = op_of(PLIM_OP_BN_BWD_REDUCE, 3 + relu, 1, x);
    op.in[2] = op.out[0] = pair;
    op.in[3] = mask;
    op.attrs.relu = relu;
    measure(b, &op, relu ? "bn_bwd_reduce+relu" : "bn_bwd_reduce");
    op = op_of(PLIM_OP_BN_BWD_APPLY, 5 + relu, 1, x);
    op.in[2] = op.in[3] = op.in[4] = pair;
    op.in[5] = mask;
    op.attrs.relu = relu;
    measure(b, &op, relu ? "bn_bwd_apply+relu" : "bn_bwd_apply");
  }
}

static void elementwise(bench *b, plim_shape x) {
  const plim_shape mask = like(x, PLIM_BITS);
  plim_op_desc op = op_of(PLIM_OP_RELU, 1, 2, x);
  op.out[1] = mask;
  measure(b, &op, "relu");
  op = op_of(PLIM_OP_RELU_BWD, 3, 1, x);
  op.in[0] = mask;
  measure(b, &op, "relu_bwd (2)");
  op = op_of(PLIM_OP_ADD, 2, 1, x);
  measure(b, &op, "add");
  op = op_of(PLIM_OP_DROPOUT, 1, 2, x);
  op.out[1] = mask;
  measure(b, &op, "dropout");
  op = op_of(PLIM_OP_DROPOUT_BWD, 2, 1, x);
  op.in[1] = mask;
  measure(b, &op, "dropout_bwd");
}

static void pooling(bench *b, plim_shape x) {
  const int64_t sizes[] = {x.dim[0], x.dim[1]};
  plim_op_desc op = op_of(PLIM_OP_GLOBAL_AVG_POOL, 1, 1, x);
  op.out[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, sizes);
  measure(b, &op, "global_avg_pool");
  for (int largest = 0; largest < 2; largest++) {
    op = op_of(largest ? PLIM_OP_MAX_POOL : PLIM_OP_AVG_POOL, 1, 1 + largest, x);
    for (int i = 0; i < 2; i++) {
      op.attrs.kernel[i] = op.attrs.stride[i] = 2;
      op.out[0].dim[2 + i] /= 2;
    }
    op.out[1] = like(op.out[0], PLIM_U8);
    measure(b, &op, largest ? "max_pool 2x2" : "avg_pool 2x2");
  }
}

static void update(bench *b) {
  const int64_t elements = 272474, four = 4;
  plim_op_desc op = op_of(PLIM_OP_SGD, 2, 0, plim_shape_make(PLIM_F32, PLIM_FLAT, 1, &elements));
  op.n_upd = 2;
  op.upd[0] = op.upd[1] = op.in[0];
  op.in[1] = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, &four);
  measure(b, &op, "sgd");
}

int main(int argc, char **argv) {
  static const int64_t shapes[][4] = {{128, 16, 32, 32}, {128, 32, 16, 16}, {128, 64, 8, 8},
                                      {128, 16, 28, 28}, {128, 32, 14, 14}, {128, 64, 7, 7}};
  bench b = {.threads = argc > 1 ? atoi(argv[1]) : 1};
  const int layout = plim_layout_find(argc > 2 ? argv[2] : "nchw16c");
  if (b.threads < 1 || layout < 0 ||
      plim_kernel_table_new(argc > 3 ? argv[3] : NULL, NULL, &b.table) != PLIM_KERNEL_OK) {
    (void)fprintf(stderr, "usage: bench_kernels [threads] [layout] [instruction set]\n");
    return 2;
  }
  b.pool = malloc((size_t)pool_bytes);
  if (!b.pool) return 5;
  fill(b.pool);
  printf("%s, %d threads, layout %s\n", plim_kernel_table_isa(b.table), b.threads,
         plim_layout_name((plim_layout)layout));
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const plim_shape x = plim_shape_make(PLIM_F32, (plim_layout)layout, 4, shapes[i]);
    batch_norm(&b, x);
    elementwise(&b, x);
    pooling(&b, x);
  }
  update(&b);
  free(b.pool);
  plim_kernel_table_free(b.table);
  return 0;
}
