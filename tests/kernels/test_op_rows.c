/* The table of op kinds: its rows are whole, its rules bind sizes, a program's own rows are added to it, and
 * docs/ops.md shows it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/op_rows.h"
#include "kernels/table.h"
#include "tests/support/kernel_samples.h"
#include "tests/support/ops_page.h"

Test(op_rows, every_kind_has_a_row_without_fault_and_a_name_of_its_own) {
  for (int kind = 0; kind < PLIM_OP_KIND_COUNT; kind++) {
    const plim_op_row *row = plim_op_kind_row((plim_op_kind)kind);
    cr_assert(row->name, "kind %d has no row", kind);
    cr_assert_eq(plim_op_kind_find(row->name), kind, "%s", row->name);
    if (kind == PLIM_OP_CUSTOM) continue;
    const char *fault = plim_op_row_fault(row);
    cr_assert(!fault, "%s: %s", row->name, fault);
  }
  cr_assert_null(plim_op_kind_row((plim_op_kind)PLIM_OP_KIND_COUNT));
  cr_assert_null(plim_op_kind_row((plim_op_kind)-1));
}

Test(op_rows, samples_of_every_kind_follow_their_rules) {
  char why[256];
  for (int kind = PLIM_OP_CUSTOM + 1; kind < PLIM_OP_KIND_COUNT; kind++) {
    plim_op_desc op = kernel_sample((plim_op_kind)kind, PLIM_NHWC);
    cr_assert(plim_op_fits(&op, NULL, why, sizeof why), "%s", why);
  }
}

Test(op_rows, sizes_have_the_names_of_the_rules) {
  plim_op_sizes sizes;
  plim_op_desc op = kernel_sample(PLIM_OP_CONV2D, PLIM_NHWC);
  cr_assert(plim_op_fits(&op, &sizes, NULL, 0));
  cr_assert_eq(plim_op_size(&sizes, "N"), op.in[0].dim[0]);
  cr_assert_eq(plim_op_size(&sizes, "I"), op.in[0].dim[1]);
  cr_assert_eq(plim_op_size(&sizes, "O"), op.in[1].dim[0]);
  cr_assert_eq(plim_op_size(&sizes, "Q"), op.out[0].dim[3]);
  cr_assert_eq(plim_op_size(&sizes, "Z"), -1);
  cr_assert_eq(plim_op_product(&sizes, "2 N"), 2 * op.in[0].dim[0]);
  cr_assert_eq(plim_op_product(&sizes, "3O 2"), 6 * op.in[1].dim[0]);
  cr_assert_eq(plim_op_product(&sizes, "2000000000 2000000000 2000000000 N"), INT64_MAX);
  cr_assert_eq(plim_op_product(&sizes, "Z"), -1);
}

Test(op_rows, a_product_with_a_size_of_zero_is_zero) {
  const plim_op_sizes sizes = {.n = 1, .name = {"N"}, .size = {0}};
  cr_assert_eq(plim_op_product(&sizes, "2 N"), 0);
  cr_assert_eq(plim_op_product(&sizes, "N 2000000000"), 0);
}

Test(op_rows, an_operand_without_elements_fits_no_rule) {
  const plim_op_kind kinds[] = {PLIM_OP_MATMUL, PLIM_OP_LINEAR, PLIM_OP_RELU};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    plim_op_desc op = kernel_sample(kinds[k], PLIM_FLAT);
    plim_op_sizes sizes;
    char why[256];
    for (int32_t i = 0; i < op.n_in; i++) op.in[i].dim[0] = 0;
    cr_assert_not(plim_op_fits(&op, &sizes, why, sizeof why), "%s", plim_op_kind_name(kinds[k]));
    cr_assert_geq(plim_op_flops(&op), 0);
  }
}

Test(op_rows, more_outputs_than_an_op_may_have_are_refused_with_the_limit) {
  plim_op_desc op = kernel_sample(PLIM_OP_SPLIT, PLIM_FLAT);
  char why[256] = "";
  cr_assert_not(plim_op_infer(&op, PLIM_OP_MAX_OUT + 1, why, sizeof why));
  cr_assert(strstr(why, "more than an op may have"), "%s", why);
}

Test(op_rows, operands_that_do_not_fit_each_other_are_named) {
  char why[256];
  plim_op_desc op = kernel_sample(PLIM_OP_LINEAR, PLIM_FLAT);
  op.in[1].dim[1]++;
  cr_assert_not(plim_op_fits(&op, NULL, why, sizeof why));
  cr_assert(strstr(why, "w of a linear has the sizes [10 33]"), "%s", why);
  op = kernel_sample(PLIM_OP_LINEAR, PLIM_FLAT);
  op.n_in = 1;
  cr_assert_not(plim_op_fits(&op, NULL, why, sizeof why));
  cr_assert(strstr(why, "a linear has 2 to 3 inputs, not 1"), "%s", why);
  op = kernel_sample(PLIM_OP_MAX_POOL, PLIM_NHWC);
  op.attrs.stride[0] = 1;
  cr_assert_not(plim_op_fits(&op, NULL, why, sizeof why));
  cr_assert(strstr(why, "the attributes of this max_pool do not suit"), "%s", why);
  op = kernel_sample(PLIM_OP_RELU, PLIM_FLAT);
  op.in[0].stride[0] = 4;
  cr_assert_not(plim_op_fits(&op, NULL, why, sizeof why));
  cr_assert(strstr(why, "x of a relu has strides"), "%s", why);
}

Test(op_rows, sizes_with_a_plus_add_up) {
  char why[256];
  plim_op_sizes sizes;
  plim_op_desc op = kernel_sample(PLIM_OP_CONCAT, PLIM_NHWC), split = kernel_sample(PLIM_OP_SPLIT, PLIM_NHWC);
  cr_assert(plim_op_fits(&op, &sizes, why, sizeof why), "%s", why);
  cr_assert_eq(plim_op_size(&sizes, "C"), 64);
  cr_assert(plim_op_infer(&op, 1, why, sizeof why), "%s", why);
  cr_assert_eq(op.out[0].dim[1], 64);
  op.n_in = 2;
  cr_assert_not(plim_op_fits(&op, NULL, why, sizeof why));
  cr_assert_str_eq(
      why, "y of a concat has the sizes [5 64 9 7], which do not follow its rule [N C ...] and the other operands");
  split.n_out = 2;
  cr_assert_not(plim_op_fits(&split, NULL, why, sizeof why));
  cr_assert_str_eq(why, "sizes of the operands of a split do not add up");
}

/* A kind with most of what a row can have: any number of inputs, three times a size, own attributes. */
static const plim_op_row mixing = {
    .struct_bytes = sizeof mixing,
    .name = "test.mix",
    .version = PLIM_OWN_KIND_VERSION,
    .in = {{.name = "table", .type = 'f', .shape = "K C", .moves = "N C"},
           {.name = "x", .type = 't', .shape = "N 3C ...", .many = 1}},
    .out = {{.name = "y", .type = 't', .shape = "N C ..."}},
    .attrs = "eps",
    .own = {{"gain", PLIM_ATTR_FLOAT, 1, offsetof(plim_attrs, own_float), 0, 0},
            {"taps", PLIM_ATTR_INT64, 2, offsetof(plim_attrs, own_int[1]), 9, 0}},
    .flops = "6 N C",
    .doc = "y = a mixture of the inputs",
};

static plim_op_desc mix(void) {
  plim_op_desc op = {.n_in = 3, .n_out = 1};
  op.in[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){100, 4});
  op.in[1] = op.in[2] = plim_shape_make(PLIM_BF16, PLIM_FLAT, 4, (int64_t[]){5, 12, 7, 2});
  op.out[0] = plim_shape_make(PLIM_BF16, PLIM_FLAT, 4, (int64_t[]){5, 4, 7, 2});
  return op;
}

Test(op_rows, a_program_adds_its_own_kind) {
  plim_op_kind kind, again;
  plim_op_sizes sizes;
  const char *fault = plim_op_kind_add(&mixing, &kind);
  cr_assert(!fault, "%s", fault);
  cr_assert_null(plim_op_kind_add(&mixing, &again));
  cr_assert_eq(kind, again);
  cr_assert_geq(kind, PLIM_OP_KIND_COUNT);
  cr_assert_eq(plim_op_kind_find("test.mix"), (int)kind);
  cr_assert_eq(plim_op_kind_row(kind), &mixing);
  plim_op_desc op = mix();
  op.kind = kind;
  cr_assert(plim_op_fits(&op, &sizes, NULL, 0));
  cr_assert_eq(plim_op_size(&sizes, "C"), 4);
  cr_assert_eq(plim_op_flops(&op), 6 * 5 * 4);
  cr_assert_eq(plim_op_traffic(&op), 4 * (5 * 4) + 2 * (2 * 5 * 12 * 14 + 5 * 4 * 14),
               "only N C of the table's elements");
  op.in[2].dim[3] = 3;
  cr_assert_not(plim_op_fits(&op, NULL, NULL, 0), "the rest of the sizes is the same in all operands");
  cr_assert_str_eq(plim_op_kind_attr(kind, 0)->name, "eps");
  cr_assert_str_eq(plim_op_kind_attr(kind, 1)->name, "gain");
  cr_assert_str_eq(plim_op_kind_attr(kind, 2)->name, "taps");
  cr_assert_null(plim_op_kind_attr(kind, 3));
}

Test(op_rows, rows_with_faults_are_refused_with_a_sentence) {
  static plim_op_row row;
  plim_op_kind kind;
#define REFUSED(sentence, change)                                              \
  do {                                                                         \
    row = mixing;                                                              \
    change;                                                                    \
    const char *fault = plim_op_kind_add(&row, &kind);                         \
    cr_assert(fault &&strstr(fault, sentence), "%s", fault ? fault : "taken"); \
  } while (0)
  REFUSED("struct_bytes", row.struct_bytes--);
  REFUSED("the name is not", row.name = "Test.Mix");
  REFUSED("no dot in it", row.name = "mix");
  REFUSED("the class is none", row.cls = PLIM_OP_CLASS_COUNT);
  REFUSED("the version", row.version = 1);
  REFUSED("no line", row.doc = NULL);
  REFUSED("has a type that is none", row.in[0].type = 'x');
  REFUSED("follows an optional one", row.in[0].optional = 1);
  REFUSED("follows one that may be there many times", row.in[0].many = 1);
  REFUSED("\"...\" twice", row.in[1].shape = "... ...");
  REFUSED("neither a number", row.in[0].shape = "K-1 C");
  REFUSED("more than seven letters", row.in[0].shape = "channels");
  REFUSED("a size of zero", row.in[0].shape = "0C");
  REFUSED("have no size that they are below", row.in[0].contents = PLIM_CONTENTS_INDICES);
  REFUSED("only inputs may have strides", row.out[0].strided = 1);
  REFUSED("an effect op has", row.cls = PLIM_OP_EFFECT);
  REFUSED("is no effect has", row.upd[0] = row.in[0]);
  REFUSED("no built-in attribute", row.attrs = "eps epsilon");
  REFUSED("lies outside", row.own[1].at += 2 * sizeof(int64_t));
  REFUSED("a pair is not", (row.n_pairs = 1, row.pair[0].out = 1));
  REFUSED("two gradients", (row.gradient[0].of = "x w x"));
  REFUSED("two gradients", (row.gradient[0].of = "x", row.gradient[1].of = "w x"));
  cr_assert_null(plim_op_kind_add(&mixing, &kind));
  REFUSED("another row of that name", (void)0);
}

static char *read_all(const char *path) {
  FILE *f = fopen(path, "r");
  cr_assert(f, "cannot read %s", path);
  (void)fseek(f, 0, SEEK_END);
  const long bytes = ftell(f);
  rewind(f);
  char *text = calloc((size_t)bytes + 1, 1);
  cr_assert(text);
  cr_assert_eq(fread(text, 1, (size_t)bytes, f), (size_t)bytes);
  (void)fclose(f);
  return text;
}

/* ---- the example of docs/kernels.md ---- */

enum { ROWS = 3 };

static const plim_op_row row_scale = {
    .struct_bytes = sizeof row_scale,
    .name = "mine.row_scale",
    .version = PLIM_OWN_KIND_VERSION,
    .in = {{.name = "x", .type = 'f', .shape = "N 4"}, {.name = "scale", .type = 'f', .shape = "N"}},
    .out = {{.name = "y", .type = 'f', .shape = "N 4"}},
    .n_pairs = 1,
    .pair = {{0, 0}},
    .flops = "4 N",
    .doc = "y = x * scale, by row",
};

static int run_row_scale(void *state, const plim_kernel_args *args, void *queue) {
  (void)state, (void)queue;
  const float *x = args->in[0], *scale = args->in[1];
  float *y = args->out[0];
  for (int i = 0; i < 4 * ROWS; i++) y[i] = x[i] * scale[i / 4];
  return PLIM_KERNEL_OK;
}

/* The page has the lines of this file from one text to the end of another. */
static void expect_on_page(const char *from, const char *to) {
  char *page = read_all(PLIM_SOURCE_DIR "/docs/kernels.md"),
       *source = read_all(PLIM_SOURCE_DIR "/tests/kernels/test_op_rows.c");
  char *first = strstr(source, from), *last = first ? strstr(first, to) : NULL;
  cr_assert(first && last, "%s is not in this file", from);
  last[strlen(to)] = 0;
  const int found = strstr(page, first) != NULL;
  cr_assert(found, "docs/kernels.md does not have: %s", first);
  free(page);
  free(source);
}

Test(op_rows, the_example_of_the_page_of_kernels_is_a_kind_that_runs) {
  plim_op_kind kind;
  plim_kernel_table *table = NULL;
  plim_kernel *kernel = NULL;
  const char *fault = plim_op_kind_add(&row_scale, &kind);
  cr_assert(!fault, "%s", fault);
  plim_op_desc op = {.kind = kind, .n_in = 2, .n_out = 1};
  op.in[0] = op.out[0] = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){ROWS, 4});
  op.in[1] = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){ROWS});
  cr_assert_eq(plim_op_flops(&op), 4 * ROWS);
  const plim_own_kernel own = {.struct_bytes = sizeof own, .name = "plain", .run = run_row_scale};
  cr_assert_eq(plim_kernel_table_new(NULL, NULL, &table), PLIM_KERNEL_OK);
  cr_assert_eq(plim_kernel_table_add_own(table, kind, &own), PLIM_KERNEL_OK);
  cr_assert_eq(plim_kernel_make(table, &op, "plain", 1, &kernel), PLIM_KERNEL_OK);
  float x[4 * ROWS], scale[ROWS] = {2, 3, 5};
  for (int i = 0; i < 4 * ROWS; i++) x[i] = (float)i;
  void *in[] = {x, scale}, *out[] = {x};
  const plim_kernel_args args = {.in = in, .out = out};
  cr_assert_eq(plim_kernel_run(kernel, &args), PLIM_KERNEL_OK);
  for (int i = 0; i < 4 * ROWS; i++) cr_assert_eq(x[i], (float)i * scale[i / 4]);
  plim_kernel_free(kernel);
  plim_kernel_table_free(table);
  expect_on_page("static const plim_op_row row_scale = {", "\n};\n");
  expect_on_page("static int run_row_scale(", "\n}\n");
}

Test(op_rows, the_page_of_ops_shows_the_table) {
  const char *made = PLIM_BINARY_DIR "/ops.md";
  FILE *f = fopen(made, "w");
  cr_assert(f, "cannot write %s", made);
  ops_page_write(f);
  cr_assert_eq(fclose(f), 0);
  char *expected = read_all(made), *page = read_all(PLIM_SOURCE_DIR "/docs/ops.md");
  const int equal = strcmp(expected, page) == 0;
  free(expected);
  free(page);
  cr_assert(equal, "docs/ops.md is not what the table says, which is %s: cmake --build build --target ops_page", made);
}
