/* What the graph builder refuses, row by row and as a whole, each with its sentence. */
#include "runtime/graph/graph.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "tests/support/failing_memory.h"
#include "tests/support/small_graph.h"

static plim_context *ctx;

static void open_context(void) {
  ctx = plim_test_context();
}

static void close_context(void) {
  plim_context_free(ctx);
}

TestSuite(builder, .init = open_context, .fini = close_context);

static void assert_sentence(plim_status status, const char *sentence) {
  cr_assert_eq(status, PLIM_EDATA, "%s: %s", sentence, plim_status_name(status));
  cr_assert_not_null(strstr(plim_context_error(ctx), sentence), "\"%s\" is not in \"%s\"", sentence,
                     plim_context_error(ctx));
}

Test(builder, refuses_storages_and_values_that_cannot_be) {
  plim_graph_builder *b = NULL;
  int32_t id = -7;
  char longest[300];
  memset(longest, 'n', sizeof longest);
  longest[256] = '\0';
  plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){4});
  assert_sentence(plim_graph_begin(ctx, "", 1, &b), "the graph's name is empty");
  assert_sentence(plim_graph_begin(ctx, "g", -1, &b), "batch -1 is negative");
  cr_assert_null(b);
  cr_assert_eq(plim_graph_begin(ctx, "g", 1, &b), PLIM_OK);
  assert_sentence(plim_graph_add_storage(b, (plim_role)9, 4, &id), "role 9 is none");
  assert_sentence(plim_graph_add_storage(b, PLIM_ROLE_INPUT, 0, &id), "storage 0: 0 bytes");
  assert_sentence(plim_graph_add_storage(b, PLIM_ROLE_INPUT, INT64_MAX, &id), "storage 0: 9223372036854775807 bytes");
  assert_sentence(plim_graph_add_value(b, "v", 0, 0, &shape, &id), "storage 0 is none of the 0");
  cr_assert_eq(id, -7);
  cr_assert_eq(plim_graph_add_storage(b, PLIM_ROLE_INPUT, 18, &id), PLIM_OK);
  assert_sentence(plim_graph_add_value(b, "v", 0, 4, &shape, &id), "16 bytes at offset 4 leave storage 0 of 18 bytes");
  assert_sentence(plim_graph_add_value(b, "v", 0, -4, &shape, &id), "16 bytes at offset -4");
  assert_sentence(plim_graph_add_value(b, "v", 0, 2, &shape, &id), "offset 2 is not a multiple");
  assert_sentence(plim_graph_add_value(b, NULL, 0, 0, &shape, &id), "the value's name is empty");
  assert_sentence(plim_graph_add_value(b, longest, 0, 0, &shape, &id), "longer than 255");
  assert_sentence(plim_graph_add_value(b, "caf\xc3\xa9", 0, 0, &shape, &id), "byte 0xc3 at 3");
  shape.layout = (plim_layout)17;
  assert_sentence(plim_graph_add_value(b, "v", 0, 0, &shape, &id), "the shape is not allowed");
  assert_sentence(plim_graph_add(b, "v", PLIM_ROLE_INPUT, &shape, &id), "value 'v': the shape is not allowed");
  longest[255] = '\0';
  shape.layout = PLIM_FLAT;
  cr_assert_eq(plim_graph_add_value(b, longest, 0, 0, &shape, &id), PLIM_OK);
  plim_graph_builder_free(b);
  plim_graph_builder_free(NULL);
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
}

/* What is changed in a good op: int32_t fields at offsets of plim_op_spec, and fields of other types. */
typedef struct op_fault {
  const char *sentence;
  int op;
  struct {
    size_t at; /* 0, where the name is: none */
    int32_t to;
  } change[5];
  const char *name; /* NULL: as it is */
  int64_t time_ns;  /* 0: as it is */
  float eps;        /* 0: as it is */
} op_fault;

#define AT(field) offsetof(plim_op_spec, field)
static const op_fault op_faults[] = {
    {"op 'relu': kind 999 is none", SMALL_RELU, {{AT(kind), 999}}, NULL, 0, 0},
    {"op 'relu': phase 9 is none", SMALL_RELU, {{AT(phase), 9}}, NULL, 0, 0},
    {"op 'relu': 33 values in 'in', at most 32", SMALL_RELU, {{AT(n_in), PLIM_OP_MAX_IN + 1}}, NULL, 0, 0},
    {"op 'relu': in[0] = 15 is none of the 15 values", SMALL_RELU, {{AT(in[0]), SMALL_VALUES}}, NULL, 0, 0},
    {"op 'relu': out[1] = -1 is none", SMALL_RELU, {{AT(out[1]), -1}}, NULL, 0, 0},
    {"op 'relu': a pure op has outputs (2 given) and updates nothing (1 given)",
     SMALL_RELU,
     {{AT(n_upd), 1}},
     NULL,
     0,
     0},
    {"op 'relu': a pure op has outputs (0 given)", SMALL_RELU, {{AT(n_out), 0}}, NULL, 0, 0},
    {"op 'sgd': an effect op updates at least one value and has no outputs, not 1",
     SMALL_SGD,
     {{AT(n_out), 1}},
     NULL,
     0,
     0},
    {"op 'relu': its eps is not finite", SMALL_RELU, {{0, 0}}, NULL, 0, NAN},
    {"op 'relu': its stride is -1, not 0 to 2147483647", SMALL_RELU, {{AT(attrs.stride[1]), -1}}, NULL, 0, 0},
    {"op 'relu': its relu is 2, not 0 to 1", SMALL_RELU, {{AT(attrs.relu), 2}}, NULL, 0, 0},
    {"op 'relu': time_ns -2 is negative", SMALL_RELU, {{0, 0}}, NULL, -2, 0},
    {"op 'relu': class 5 is none", SMALL_RELU, {{AT(kind), PLIM_OP_CUSTOM}, {AT(cls), 5}}, NULL, 0, 0},
    {"op 'relu': in-place pair [1, 0] has different bytes",
     SMALL_RELU,
     {{AT(kind), PLIM_OP_CUSTOM}, {AT(n_pairs), 1}, {AT(pair[0].out), 1}, {AT(pair[0].in), 0}},
     NULL,
     0,
     0},
    {"op 'relu': in-place pair [2, 0] is not of its operands",
     SMALL_RELU,
     {{AT(kind), PLIM_OP_CUSTOM}, {AT(n_pairs), 1}, {AT(pair[0].out), 2}, {AT(pair[0].in), 0}},
     NULL,
     0,
     0},
    {"op 'relu': in-place pair [0, 0] is there twice",
     SMALL_RELU,
     {{AT(kind), PLIM_OP_CUSTOM}, {AT(n_pairs), 2}},
     NULL,
     0,
     0},
    {"op 'relu': in-place pair [0, 0] overwrites another input as well",
     SMALL_RELU,
     {{AT(kind), PLIM_OP_CUSTOM}, {AT(n_in), 2}, {AT(in[1]), SMALL_Y}, {AT(n_pairs), 1}},
     NULL,
     0,
     0},
    {"op 'relu': in-place pair [0, 0] would overwrite a persistent storage",
     SMALL_RELU,
     {{AT(kind), PLIM_OP_CUSTOM}, {AT(in[0]), SMALL_W}, {AT(n_out), 1}, {AT(out[0]), SMALL_DW}, {AT(n_pairs), 1}},
     NULL,
     0,
     0},
    {"the op's name is empty", SMALL_RELU, {{0, 0}}, "", 0, 0},
    {"op 'linear': a linear has 2 to 3 inputs, 1 to 1 outputs and updates 0 to 0 values, not 1, 1 and 0",
     SMALL_LINEAR,
     {{AT(n_in), 1}},
     NULL,
     0,
     0},
    {"op 'sgd': a sgd has 2 to 3 inputs, 0 to 0 outputs and updates 1 to 2 values, not 1, 0 and 2",
     SMALL_SGD,
     {{AT(n_in), 1}},
     NULL,
     0,
     0},
};
#undef AT

static plim_op_spec damage_op(const op_fault *f) {
  plim_op_spec s = plim_test_small_op(f->op);
  for (size_t i = 0; i < sizeof f->change / sizeof *f->change && f->change[i].at > 0; i++) {
    memcpy((char *)&s + f->change[i].at, &f->change[i].to, sizeof f->change[i].to);
  }
  if (f->name) s.name = f->name;
  if (f->time_ns != 0) s.time_ns = f->time_ns;
  if (f->eps != 0) s.attrs.eps = f->eps;
  return s;
}

Test(builder, refuses_ops_that_cannot_be) {
  plim_graph_builder *b = plim_test_small_values(ctx);
  for (size_t i = 0; i < sizeof op_faults / sizeof *op_faults; i++) {
    plim_op_spec spec = damage_op(&op_faults[i]);
    int32_t id = -7;
    assert_sentence(plim_graph_add_op(b, &spec, &id), op_faults[i].sentence);
    cr_assert_eq(id, -7);
  }
  plim_graph_builder_free(b);
}

/* A kernel would overwrite elements that it has not read. */
Test(builder, a_strided_input_is_in_no_in_place_pair) {
  const plim_op_row row = {.struct_bytes = sizeof row,
                           .name = "test.transpose",
                           .version = PLIM_OWN_KIND_VERSION,
                           .in = {{.name = "x", .type = 'f', .shape = "N M", .strided = 1}},
                           .out = {{.name = "y", .type = 'f', .shape = "N M"}},
                           .n_pairs = 1,
                           .pair = {{0, 0}},
                           .doc = "y = x"};
  const plim_shape dense = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){2, 3});
  plim_shape turned = dense;
  plim_graph_builder *b;
  plim_graph *g = NULL;
  plim_op_kind kind;
  int32_t x, straight, y, z, id;
  turned.stride[0] = 1;
  turned.stride[1] = 2;
  cr_assert_null(plim_op_kind_add(&row, &kind));
  cr_assert_eq(plim_graph_begin(ctx, "turned", 0, &b), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "x", PLIM_ROLE_INPUT, &turned, &x), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "straight", PLIM_ROLE_INPUT, &dense, &straight), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "y", PLIM_ROLE_OUTPUT, &dense, &y), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "z", PLIM_ROLE_OUTPUT, &dense, &z), PLIM_OK);
  plim_op_spec own = {.name = "own", .kind = kind, .n_in = 1, .in = {x}, .n_out = 1, .out = {y}, .time_ns = -1};
  plim_op_spec custom = own;
  custom.kind = PLIM_OP_CUSTOM;
  custom.n_pairs = 1;
  assert_sentence(plim_graph_add_op(b, &custom, &id), "op 'own': in-place pair [0, 0] would overwrite a strided input");
  cr_assert_eq(plim_graph_add_op(b, &own, &id), PLIM_OK, "%s", plim_context_error(ctx));
  own.name = "dense";
  own.in[0] = straight;
  own.out[0] = z;
  cr_assert_eq(plim_graph_add_op(b, &own, &id), PLIM_OK);
  cr_assert_eq(plim_graph_end(b, &g), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(g->op[0].n_pairs, 0);
  cr_assert_eq(g->op[1].n_pairs, 1);
  plim_graph_free(g);
}

Test(builder, leaves_out_pairs_of_views_and_of_storages_read_twice) {
  plim_graph_builder *b = plim_test_small_values(ctx);
  plim_graph *g = NULL;
  plim_shape four = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){4});
  int32_t wide, part, out[4], id;
  cr_assert_eq(plim_graph_add_storage(b, PLIM_ROLE_INPUT, 32, &wide), PLIM_OK);
  cr_assert_eq(plim_graph_add_value(b, "part", wide, 16, &four, &part), PLIM_OK);
  static const char *const names[] = {"o0", "o1", "o2", "o3"};
  for (int i = 0; i < 4; i++) {
    cr_assert_eq(plim_graph_add(b, names[i], PLIM_ROLE_ACTIVATION, &four, &out[i]), PLIM_OK);
  }
  plim_op_spec add = {.name = "a", .kind = PLIM_OP_ADD, .n_in = 2, .in = {SMALL_HYPER, SMALL_HYPER}, .n_out = 1};
  add.out[0] = out[0];
  cr_assert_eq(plim_graph_add_op(b, &add, &id), PLIM_OK); /* one storage, read twice: no pair */
  add.name = "b";
  add.in[1] = part;
  add.out[0] = out[1];
  cr_assert_eq(plim_graph_add_op(b, &add, &id), PLIM_OK); /* the view has none */
  add.name = "c";
  add.in[0] = out[0];
  add.in[1] = out[1];
  add.out[0] = out[2];
  cr_assert_eq(plim_graph_add_op(b, &add, &id), PLIM_OK); /* both */
  plim_op_spec last = {.name = "d", .kind = PLIM_OP_RELU, .n_in = 1, .in = {out[2]}, .n_out = 1, .out = {out[3]}};
  cr_assert_eq(plim_graph_add_op(b, &last, &id), PLIM_OK);
  for (int o = 0; o < SMALL_OPS; o++) {
    plim_op_spec spec = plim_test_small_op(o);
    cr_assert_eq(plim_graph_add_op(b, &spec, &id), PLIM_OK);
  }
  cr_assert_eq(plim_graph_end(b, &g), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(g->op[0].n_pairs, 0);
  cr_assert_eq(g->op[0].n_reads, 1);
  cr_assert_eq(g->op[1].n_pairs, 1);
  cr_assert_eq(g->op[1].pair[0].in, 0);
  cr_assert_eq(g->op[2].n_pairs, 2);
  plim_graph_free(g);
}

/* Ops of the small graph in this order, each perhaps changed, make a graph that is refused. */
typedef struct whole_fault {
  const char *sentence;
  int32_t n_ops, order[8];
  int32_t changed; /* row of `order` whose op is changed ... */
  int32_t in0;     /* ... to read this value first */
  int32_t out0;    /* ... or to write this one, -1: not */
  int32_t upd0;    /* ... or to update this one, -1: not */
  const char *name;
} whole_fault;

Test(builder, refuses_graphs_that_cannot_be) {
  static const whole_fault faults[] = {
      {"graph 'small' has no op", 0, {0}, -1, 0, -1, -1, NULL},
      {"storage 14 (gradient) is written by no op", 5, {0, 1, 2, 3, 4}, -1, 0, -1, -1, NULL},
      {"op 'relu' writes storage 7, which op 'relu' has written", 8, {0, 1, 1, 2, 3, 4, 5, 6}, -1, 0, -1, -1, NULL},
      {"op 1 'xent' reads storage 7 before op 2 'relu' writes it", 7, {0, 2, 1, 3, 4, 5, 6}, -1, 0, -1, -1, NULL},
      {"op 1 'relu' reads storage 7 before op 1 'relu'", 7, {0, 1, 2, 3, 4, 5, 6}, 1, SMALL_R, -1, -1, NULL},
      {"op 'xent' reads storage 5, whose role is staging", 7, {0, 1, 2, 3, 4, 5, 6}, 2, SMALL_NEXT, -1, -1, NULL},
      {"op 'linear' writes storage 3, whose role is param", 7, {0, 1, 2, 3, 4, 5, 6}, 0, SMALL_X, SMALL_W, -1, NULL},
      {"op 'sgd' updates storage 6, whose role is activation",
       7,
       {0, 1, 2, 3, 4, 5, 6},
       6,
       SMALL_DW,
       -1,
       SMALL_Y,
       NULL},
      {"op 'sgd' updates one storage through two operands",
       7,
       {0, 1, 2, 3, 4, 5, 6},
       6,
       SMALL_DW,
       -1,
       SMALL_VELOCITY,
       NULL},
      {"op 6 'sgd' reads storage 3, which op 6 'sgd' updates before or there",
       7,
       {0, 1, 2, 3, 4, 5, 6},
       6,
       SMALL_W,
       -1,
       -1,
       NULL},
      {"op 'relu' writes the same bytes through 'r' and 'r'", 7, {0, 1, 2, 3, 4, 5, 6}, 1, SMALL_Y, -2, -1, NULL},
      {"two ops are called 'linear'", 7, {0, 1, 2, 3, 4, 5, 6}, 5, SMALL_DY, -1, -1, "linear"},
  };
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    const whole_fault *f = &faults[i];
    plim_graph_builder *b = plim_test_small_values(ctx);
    plim_graph *g = NULL;
    for (int32_t k = 0; k < f->n_ops; k++) {
      plim_op_spec spec = plim_test_small_op(f->order[k]);
      int32_t id;
      if (k == f->changed) {
        spec.in[spec.kind == PLIM_OP_SOFTMAX_XENT ? 1 : 0] = f->in0; /* its labels */
        if (f->out0 >= 0) spec.out[0] = f->out0;
        if (f->out0 == -2) {
          spec.kind = PLIM_OP_CUSTOM; /* the outputs of every other kind differ in type */
          spec.out[1] = spec.out[0];
        }
        if (f->upd0 >= 0) spec.upd[0] = f->upd0;
        if (f->name) spec.name = f->name;
      }
      cr_assert_eq(plim_graph_add_op(b, &spec, &id), PLIM_OK, "%s", plim_context_error(ctx));
    }
    assert_sentence(plim_graph_end(b, &g), f->sentence);
    cr_assert_null(g);
    cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  }
}

Test(builder, refuses_a_read_after_an_update) {
  plim_graph_builder *b = plim_test_small_values(ctx);
  plim_graph *g = NULL;
  plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){4, 10});
  int32_t id, late;
  cr_assert_eq(plim_graph_add(b, "late", PLIM_ROLE_OUTPUT, &shape, &late), PLIM_OK);
  for (int o = 0; o < SMALL_OPS; o++) {
    plim_op_spec spec = plim_test_small_op(o);
    cr_assert_eq(plim_graph_add_op(b, &spec, &id), PLIM_OK);
  }
  plim_op_spec again = plim_test_small_op(SMALL_LINEAR);
  again.name = "again";
  again.out[0] = late;
  cr_assert_eq(plim_graph_add_op(b, &again, &id), PLIM_OK);
  assert_sentence(plim_graph_end(b, &g), "op 7 'again' reads storage 3, which op 6 'sgd' updates");
}

Test(builder, two_values_of_one_name_are_refused) {
  plim_graph_builder *b = plim_test_small_values(ctx);
  plim_graph *g = NULL;
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, (int64_t[]){4});
  int32_t id;
  cr_assert_eq(plim_graph_add(b, "w", PLIM_ROLE_INPUT, &shape, &id), PLIM_OK);
  for (int o = 0; o < SMALL_OPS; o++) {
    plim_op_spec spec = plim_test_small_op(o);
    cr_assert_eq(plim_graph_add_op(b, &spec, &id), PLIM_OK);
  }
  assert_sentence(plim_graph_end(b, &g), "two values are called 'w'");
}

static plim_status build(plim_context *c, void *user) {
  (void)user;
  plim_graph_builder *b = NULL;
  plim_graph *g = NULL;
  plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){4});
  int32_t x, y, id;
  plim_status status;
  PLIM_TRY(plim_graph_begin(c, "g", 1, &b));
  PLIM_TRY_OR_DONE(plim_graph_add(b, "x", PLIM_ROLE_INPUT, &shape, &x));
  PLIM_TRY_OR_DONE(plim_graph_add(b, "y", PLIM_ROLE_OUTPUT, &shape, &y));
  plim_op_spec relu = {.name = "relu", .kind = PLIM_OP_RELU, .n_in = 1, .in = {x}, .n_out = 1, .out = {y}};
  PLIM_TRY_OR_DONE(plim_graph_add_op(b, &relu, &id));
  status = plim_graph_end(b, &g);
  b = NULL;
  plim_graph_free(g);
done:
  plim_graph_builder_free(b);
  return status;
}

Test(builder, survives_every_refused_allocation) {
  cr_assert_gt(plim_test_each_allocation(build, NULL), 6);
}
