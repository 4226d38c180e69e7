/* The oneDNN family: right figures, the same bits every time, nothing outside operands and workspace. */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cpu/onednn.h"
#include "tests/support/op_memory.h"
#include "tests/support/product_cases.h"
#include "tests/support/product_reference.h"
#ifdef PLIM_HAVE_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

enum { VARIANTS = 8 };
static int threads = 2;

static void require_onednn(void) {
  int count;
  plim_onednn_types(&count);
  if (count == 0) cr_skip_test("built without oneDNN");
}

TestSuite(onednn, .init = require_onednn);

/* Version 3 differs in a few things: no Winograd, brgemm without AVX-512 as well. */
static int is_version_3(void) {
  return strncmp(plim_onednn_version(), "onednn 3", 8) == 0;
}

static const plim_kernel_type *type_of(plim_op_kind kind) {
  int count;
  const plim_kernel_type *types = plim_onednn_types(&count);
  for (int i = 0; i < count; i++) {
    if (types[i].kind == kind) return &types[i];
  }
  return NULL;
}

/* Something to do with one variant of one case, its kernel made for `threads` threads. */
typedef void with_variant(const plim_kernel_type *type, const plim_kernel_info *info, void *state, op_memory *m);

/* Call `visit` for all variants of every `stride`-th case. */
static void each_variant(int stride, with_variant *visit) {
  plim_op_desc desc;
  int visited = 0;
  for (int i = 0; product_case(i, &desc); i += stride) {
    const plim_kernel_type *type = type_of(desc.kind);
    plim_kernel_info info[VARIANTS];
    int count = type->list(&desc, threads, info, VARIANTS);
    cr_assert_leq(count, VARIANTS);
    for (int v = 0; v < count; v++) {
      void *state = NULL;
      op_memory m;
      cr_assert_eq(type->make(NULL, &desc, info[v].name, threads, plim_kernel_malloc(), &state), PLIM_KERNEL_OK, "%s",
                   product_case_text(&desc));
      op_memory_make(&m, &desc, info[v].workspace_bytes);
      op_memory_randomize(&m, 7 + (uint64_t)i);
      visit(type, &info[v], state, &m);
      op_memory_free(&m);
      type->free(plim_kernel_malloc(), state);
      visited++;
    }
  }
  cr_assert_gt(visited, 20, "only %d variants were there to be tested", visited);
}

/* The first case of that kind whose first operand has that layout. */
static void find_case(plim_op_kind kind, plim_layout layout, plim_op_desc *out) {
  for (int i = 0; product_case(i, out); i++) {
    if (out->kind == kind && out->in[0].layout == layout) return;
  }
  cr_assert_fail("there is no such case");
}

static uint64_t run_on(const plim_kernel_type *type, void *state, op_memory *m, int byte) {
  op_memory_fill(m, byte);
  cr_assert_eq(type->run(state, &m->args), PLIM_KERNEL_OK, "%s", product_case_text(&m->desc));
  return op_memory_hash(m, 1);
}

static void compare(const plim_kernel_type *type, const plim_kernel_info *info, void *state, op_memory *m) {
  int64_t n = plim_shape_elements(&m->desc.out[0]);
  double *expected = malloc((size_t)n * sizeof *expected);
  product_reference(&m->desc, m->in, expected);
  uint64_t inputs = op_memory_hash(m, 0);
  run_on(type, state, m, 0xFF); /* not a number, wherever it is read */
  double limit = strstr(info->name, "winograd") ? 1e-5 : 2e-6;
  if (m->desc.out[0].dtype == PLIM_BF16) limit += 1.0 / 256; /* eight significant bits, rounded to nearest */
  double error = relative_rms(&m->desc.out[0], m->out[0], expected);
  cr_assert_lt(error, limit, "%s by %s is off by %g", product_case_text(&m->desc), info->name, error);
  cr_assert(op_memory_guards_intact(m), "%s by %s wrote beside its memory", product_case_text(&m->desc), info->name);
  cr_assert_eq(op_memory_hash(m, 0), inputs, "%s by %s changed its input", product_case_text(&m->desc), info->name);
  free(expected);
}

Test(onednn, every_variant_agrees_with_the_reference_and_stays_in_its_memory) {
  each_variant(1, compare);
}

/* ---- softmax ---- */

/* Of each row of c numbers, in double precision. */
static void softmax_rows(const float *x, int64_t rows, int64_t c, double *y) {
  for (int64_t r = 0; r < rows; r++) {
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < c; i++) most = x[r * c + i] > most ? x[r * c + i] : most;
    for (int64_t i = 0; i < c; i++) sum += y[r * c + i] = exp(x[r * c + i] - most);
    for (int64_t i = 0; i < c; i++) y[r * c + i] /= sum;
  }
}

/* The first numbers are large, the second of each row has no weight. */
static void expect_softmax(const plim_op_desc *desc, const plim_kernel_info *info, int in_place) {
  const int64_t n = plim_shape_elements(&desc->in[0]), c = desc->in[0].dim[desc->in[0].rank - 1];
  double *expected = malloc((size_t)n * sizeof *expected);
  const plim_kernel_type *type = type_of(PLIM_OP_SOFTMAX);
  void *state = NULL;
  op_memory m;
  cr_assert_eq(type->make(NULL, desc, info->name, threads, plim_kernel_malloc(), &state), PLIM_KERNEL_OK);
  op_memory_make(&m, desc, info->workspace_bytes);
  op_memory_randomize(&m, 7);
  float *x = m.args.in[0];
  for (int64_t i = 0; i < n / 2; i++) x[i] *= 80;
  for (int64_t i = 1; i < n; i += c) x[i] = -INFINITY;
  softmax_rows(x, n / c, c, expected);
  void *y_at[] = {in_place ? x : m.args.out[0]};
  plim_kernel_args args = m.args;
  args.out = y_at;
  cr_assert_eq(type->run(state, &args), PLIM_KERNEL_OK);
  const float *y = y_at[0];
  for (int64_t i = 0; i < n; i++) cr_assert_lt(fabs(y[i] - expected[i]), 1e-6, "%lld: %g", (long long)i, y[i]);
  cr_assert(op_memory_guards_intact(&m));
  op_memory_free(&m);
  type->free(plim_kernel_malloc(), state);
  free(expected);
}

Test(onednn, softmax_agrees_with_the_reference_and_may_lie_over_its_input) {
  const plim_shape shapes[] = {plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){7, 5}),
                               plim_shape_make(PLIM_F32, PLIM_FLAT, 3, (int64_t[]){2, 3, 17}),
                               plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){64, 1000})};
  int variants = 0;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const plim_op_desc desc = {.kind = PLIM_OP_SOFTMAX, .n_in = 1, .n_out = 1, .in = {shapes[i]}, .out = {shapes[i]}};
    plim_kernel_info info[VARIANTS];
    const int count = type_of(PLIM_OP_SOFTMAX)->list(&desc, threads, info, VARIANTS);
    for (int v = 0; v < count; v++) {
      expect_softmax(&desc, &info[v], 0);
      expect_softmax(&desc, &info[v], 1);
    }
    variants += count;
  }
  if (plim_isa_supported(PLIM_ISA_V4)) cr_assert_gt(variants, 0);
  plim_op_desc image = {.kind = PLIM_OP_SOFTMAX, .n_in = 1, .n_out = 1};
  image.in[0] = image.out[0] = plim_shape_make(PLIM_F32, PLIM_NHWC, 4, (int64_t[]){1, 4, 2, 2});
  cr_assert_eq(type_of(PLIM_OP_SOFTMAX)->list(&image, threads, NULL, 0), 0);
}

/* Some kernels write after their scratchpad when a vector holds more channels than there are. */
Test(onednn, fewer_channels_than_a_vector_holds_leave_the_memory_after_the_workspace_alone) {
  plim_op_desc desc;
  find_case(PLIM_OP_CONV2D_BWD_WEIGHTS, PLIM_NHWC, &desc);
  desc.attrs = (plim_attrs){.kernel = {1, 1}, .stride = {2, 2}};
  desc.in[0] = plim_shape_make(PLIM_F32, PLIM_NHWC, 4, (int64_t[]){5, 32, 14, 14});
  desc.in[1] = plim_shape_make(PLIM_F32, PLIM_NHWC, 4, (int64_t[]){5, 8, 28, 28});
  desc.out[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 4, (int64_t[]){32, 8, 1, 1});
  const plim_kernel_type *type = type_of(desc.kind);
  plim_kernel_info info[VARIANTS];
  int count = type->list(&desc, threads, info, VARIANTS);
  for (int v = 0; v < count; v++) {
    void *state = NULL;
    op_memory m;
    cr_assert_eq(type->make(NULL, &desc, info[v].name, threads, plim_kernel_malloc(), &state), PLIM_KERNEL_OK);
    op_memory_make(&m, &desc, info[v].workspace_bytes);
    op_memory_randomize(&m, 7);
    compare(type, &info[v], state, &m);
    op_memory_free(&m);
    type->free(plim_kernel_malloc(), state);
  }
}

static void repeat(const plim_kernel_type *type, const plim_kernel_info *info, void *state, op_memory *m) {
  uint64_t first = run_on(type, state, m, 0xFF);
  for (int i = 0; i < 20; i++) {
    cr_assert_eq(run_on(type, state, m, i), first, "%s by %s, run %d", product_case_text(&m->desc), info->name, i);
  }
  void *another = NULL;
  cr_assert_eq(type->make(NULL, &m->desc, info->name, threads, plim_kernel_malloc(), &another), PLIM_KERNEL_OK);
  cr_assert_eq(run_on(type, another, m, 0), first, "%s by %s, recomputed", product_case_text(&m->desc), info->name);
  type->free(plim_kernel_malloc(), another);
}

Test(onednn, twenty_runs_over_different_leftovers_give_the_same_bits) {
  each_variant(1, repeat);
}

static uint64_t all_bits;
static void collect(const plim_kernel_type *type, const plim_kernel_info *info, void *state, op_memory *m) {
  (void)info;
  all_bits = all_bits * 31 + run_on(type, state, m, 0);
}

/* Run `work` in a process of its own; what it returns. */
static uint64_t in_child(uint64_t (*work)(void)) {
  int pipes[2];
  uint64_t result = 0;
  cr_assert_eq(pipe(pipes), 0);
  pid_t child = fork();
  cr_assert_geq(child, 0);
  if (child == 0) {
    result = work();
    ssize_t written = write(pipes[1], &result, sizeof result);
    _exit(written == (ssize_t)sizeof result ? 0 : 1);
  }
  int status = 0;
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child failed");
  cr_assert_eq(read(pipes[0], &result, sizeof result), (ssize_t)sizeof result);
  close(pipes[0]);
  close(pipes[1]);
  return result;
}

static uint64_t bits_of_everything(void) {
  each_variant(3, collect);
  return all_bits;
}

Test(onednn, two_processes_give_the_same_bits) {
  uint64_t first = in_child(bits_of_everything);
  cr_assert_eq(in_child(bits_of_everything), first);
}

Test(onednn, the_thread_count_is_that_of_make_and_the_callers_is_kept) {
  plim_op_desc desc;
  op_memory m;
  void *one = NULL, *two = NULL;
  plim_kernel_info info;
  find_case(PLIM_OP_CONV2D_BWD_WEIGHTS, PLIM_NHWC, &desc); /* a sum split by threads */
  const plim_kernel_type *type = type_of(desc.kind);
  cr_assert_geq(type->list(&desc, 1, &info, 1), 1);
  op_memory_make(&m, &desc, info.workspace_bytes + (1 << 20));
  op_memory_randomize(&m, 1);
  omp_set_num_threads(3);
  cr_assert_eq(type->make(NULL, &desc, info.name, 1, plim_kernel_malloc(), &one), PLIM_KERNEL_OK);
  cr_assert_eq(type->make(NULL, &desc, info.name, 2, plim_kernel_malloc(), &two), PLIM_KERNEL_OK);
  uint64_t bits_one = run_on(type, one, &m, 0), bits_two = run_on(type, two, &m, 0);
  cr_assert_eq(omp_get_max_threads(), 3);
  omp_set_num_threads(2);
  cr_assert_eq(run_on(type, one, &m, 0), bits_one);
  omp_set_num_threads(1);
  cr_assert_eq(run_on(type, two, &m, 0), bits_two);
  type->free(plim_kernel_malloc(), one);
  type->free(plim_kernel_malloc(), two);
  op_memory_free(&m);
}

Test(onednn, the_layouts_of_this_processor_are_served_in_all_directions) {
  plim_op_desc desc;
  for (int i = 0; product_case(i, &desc); i++) {
    const int is_forward = desc.kind == PLIM_OP_CONV2D || desc.kind == PLIM_OP_DEPTHWISE_CONV2D;
    plim_layout layout = is_forward ? desc.out[0].layout : desc.in[0].layout;
    /* A first layer's weight gradient in bf16: version 3 has one in NHWC alone. */
    int is_dw_of_stem = is_version_3() && desc.kind == PLIM_OP_CONV2D_BWD_WEIGHTS && layout == PLIM_NCHW16C &&
                        desc.in[0].dtype == PLIM_BF16 && desc.in[1].layout == PLIM_FLAT;
    int is_dx_of_flat = desc.kind == PLIM_OP_CONV2D_BWD_DATA && desc.out[0].layout == PLIM_FLAT; /* no one asks */
    /* oneDNN has the gradient of depthwise filters of 3 x 3; the single-source kernel serves others. */
    int is_large_filter = desc.kind == PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS && desc.out[0].dim[2] > 3;
    int wanted = plim_isa_supported(PLIM_ISA_V4) && (layout == PLIM_NHWC || layout == PLIM_NCHW16C) && !is_dx_of_flat &&
                 !is_dw_of_stem && !is_large_filter;
    int count = type_of(desc.kind)->list(&desc, threads, NULL, 0);
    cr_assert(!wanted || count > 0, "%s has no variant", product_case_text(&desc));
  }
}

Test(onednn, three_by_three_convolutions_in_blocks_of_sixteen_have_winograd_under_a_key_of_its_own) {
  if (!plim_isa_supported(PLIM_ISA_V4)) cr_skip_test("needs AVX-512");
  if (is_version_3()) cr_skip_test("oneDNN 3 has no Winograd convolutions");
  plim_op_desc desc;
  int found = 0;
  for (int i = 0; product_case(i, &desc); i++) {
    if (desc.in[1].dim[2] != 3 || desc.attrs.stride[0] != 1 || desc.in[0].layout != PLIM_NCHW16C) continue;
    plim_kernel_info info[VARIANTS];
    int count = type_of(desc.kind)->list(&desc, threads, info, VARIANTS);
    for (int v = 0; v < count; v++) {
      if (strcmp(info[v].name, "onednn-winograd") != 0) continue;
      found++;
      for (int other = 0; other < count; other++)
        cr_assert((other == v) == (strcmp(info[v].numerics_key, info[other].numerics_key) == 0));
    }
  }
  cr_assert_gt(found, 5);
}

/* Is there a variant whose name begins so? */
static int has_variant(const plim_op_desc *op, const char *name) {
  plim_kernel_info info[VARIANTS];
  const int count = type_of(op->kind)->list(op, threads, info, VARIANTS);
  for (int v = 0; v < count; v++) {
    if (strncmp(info[v].name, name, strlen(name)) == 0) return 1;
  }
  return 0;
}

/* The same variants of products as rows of positions have: brgemm, where the processor has what it takes. */
Test(onednn, a_convolution_of_one_position_is_also_a_product_where_channels_lie_beside_each_other) {
  const plim_layout layouts[] = {PLIM_NHWC, PLIM_FLAT};
  plim_op_desc linear = {.kind = PLIM_OP_LINEAR, .n_in = 2, .n_out = 1};
  linear.in[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){2 * 49, 64});
  linear.in[1] = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){32, 64});
  linear.out[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){2 * 49, 32});
  const char *name = "onednn-matmul-brg";
  const int there = has_variant(&linear, name);
  for (int i = 0; i < 2; i++) {
    plim_op_desc conv = {.kind = PLIM_OP_CONV2D, .n_in = 2, .n_out = 1};
    conv.attrs = (plim_attrs){.kernel = {1, 1}, .stride = {1, 1}};
    conv.in[0] = plim_shape_make(PLIM_F32, layouts[i], 4, (int64_t[]){2, 64, 7, 7});
    conv.in[1] = plim_shape_make(PLIM_F32, PLIM_FLAT, 4, (int64_t[]){32, 64, 1, 1});
    conv.out[0] = plim_shape_make(PLIM_F32, layouts[i], 4, (int64_t[]){2, 32, 7, 7});
    plim_op_desc data = conv, weights = conv;
    data.kind = PLIM_OP_CONV2D_BWD_DATA;
    data.in[0] = conv.out[0];
    data.out[0] = conv.in[0];
    weights.kind = PLIM_OP_CONV2D_BWD_WEIGHTS;
    weights.in[0] = conv.out[0];
    weights.in[1] = conv.in[0];
    weights.out[0] = conv.in[1];
    cr_expect_eq(has_variant(&conv, name), there && layouts[i] == PLIM_NHWC);
    cr_expect_eq(has_variant(&data, name), there && layouts[i] == PLIM_NHWC);
    cr_expect_eq(has_variant(&weights, name), there && layouts[i] == PLIM_NHWC);
    conv.attrs.stride[0] = conv.attrs.stride[1] = 2;
    conv.out[0] = plim_shape_make(PLIM_F32, layouts[i], 4, (int64_t[]){2, 32, 4, 4});
    cr_expect_eq(has_variant(&conv, name), 0);
  }
}

Test(onednn, what_it_cannot_do_gets_no_variants) {
  plim_op_desc desc;
  void *state = NULL;
  cr_assert(product_case(0, &desc));
  const plim_kernel_type *type = type_of(desc.kind);
  cr_assert_eq(type->make(NULL, &desc, "onednn-none", threads, plim_kernel_malloc(), &state), PLIM_KERNEL_UNSUPPORTED);
  plim_op_desc bytes = desc, shapes = desc, operands = desc, kind = desc;
  bytes.in[0].dtype = PLIM_U8;
  shapes.in[1].dim[1] += 1;
  operands.n_in = 1;
  kind.kind = PLIM_OP_ADD;
  cr_assert_eq(type->list(&bytes, threads, NULL, 0), 0);
  cr_assert_eq(type->list(&shapes, threads, NULL, 0), 0);
  cr_assert_eq(type->list(&operands, threads, NULL, 0), 0);
  cr_assert_eq(type->list(&kind, threads, NULL, 0), 0);
}

static uint64_t capped_by_v3(void) {
  int capped = plim_onednn_set_isa(PLIM_ISA_V3), again = plim_onednn_set_isa(PLIM_ISA_V3);
  int more = plim_onednn_set_isa(PLIM_ISA_V4), less = plim_onednn_set_isa(PLIM_ISA_V2);
  if (capped != PLIM_KERNEL_OK || again != PLIM_KERNEL_OK || more == PLIM_KERNEL_OK || less == PLIM_KERNEL_OK) return 0;
  plim_op_desc desc;
  for (int i = 0; product_case(i, &desc); i++) {
    plim_kernel_info info[VARIANTS];
    int count = type_of(desc.kind)->list(&desc, threads, info, VARIANTS);
    for (int v = 0; v < count; v++) {
      if (strstr(info[v].name, "winograd")) return 0; /* needs AVX-512, as brgemm does in version 2 */
      if (strstr(info[v].name, "brg") && !is_version_3()) return 0;
    }
  }
  each_variant(5, compare);
  return 1;
}

Test(onednn, a_cap_on_the_instruction_set_holds_and_gives_the_right_figures) {
  if (!plim_isa_supported(PLIM_ISA_V3)) cr_skip_test("needs AVX2");
  cr_assert_eq(in_child(capped_by_v3), 1);
}

#ifdef PLIM_HAVE_JEMALLOC
static uint64_t allocated_here(void) {
  uint64_t bytes = 0;
  size_t size = sizeof bytes;
  cr_assert_eq(mallctl("thread.allocated", &bytes, &size, NULL, 0), 0);
  return bytes;
}

/* Bytes allocated so far by the threads of parallel regions, freed or not. (A team of one is no region: libgomp would
 * allocate it.) */
static uint64_t allocated_by_threads(void) {
  uint64_t sum = 0;
  if (threads == 1) return allocated_here();
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  sum += allocated_here();
  return sum;
}

static void *volatile kept;

static void count_hidden(const plim_kernel_type *type, const plim_kernel_info *info, void *state, op_memory *m) {
  enum { RUNS = 10 };
  run_on(type, state, m, 0);
  uint64_t before = allocated_by_threads();
  for (int i = 0; i < RUNS; i++) type->run(state, &m->args);
  int64_t hidden = (int64_t)(allocated_by_threads() - before) / RUNS;
  cr_assert_lt(hidden, 1024, "%s by %s on %d threads allocates %lld bytes a run", product_case_text(&m->desc),
               info->name, threads, (long long)hidden);
}
#endif

Test(onednn, a_run_allocates_less_than_a_kibibyte_on_any_number_of_threads) {
#ifdef PLIM_HAVE_JEMALLOC
  uint64_t before = allocated_by_threads();
  cr_assert_eq(allocated_by_threads(), before, "counting allocates");
#pragma omp parallel num_threads(threads)
#pragma omp critical
  {
    kept = malloc(100000);
    free(kept);
  }
  cr_assert_geq(allocated_by_threads() - before, 100000u * (unsigned)threads, "the counter sees no allocation");
  for (threads = 1; threads <= 4; threads++) {
    allocated_by_threads(); /* the team is made */
    each_variant(3, count_hidden);
  }
#else
  cr_skip_test("needs jemalloc's counters");
#endif
}
