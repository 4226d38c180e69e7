/* What the graph builder refuses, row by row and as a whole, each with its sentence. */
#include "runtime/graph/builder.h"

#include <criterion/criterion.h>
#include <math.h>
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

/* One change each to a good op; NULL after the last. */
static const char *damage_op(plim_op_spec *s, int which) {
  *s = plim_test_small_op(SMALL_RELU);
  switch (which) {
    case 0:
      s->kind = (plim_op_kind)999;
      return "op 'relu': kind 999 is none";
    case 1:
      s->phase = (plim_phase)9;
      return "op 'relu': phase 9 is none";
    case 2:
      s->n_in = PLIM_OP_MAX_IN + 1;
      return "op 'relu': 9 values in 'in', at most 8";
    case 3:
      s->in[0] = SMALL_VALUES;
      return "op 'relu': in[0] = 15 is none of the 15 values";
    case 4:
      s->out[1] = -1;
      return "op 'relu': out[1] = -1 is none";
    case 5:
      s->n_upd = 1;
      return "op 'relu': a pure op has outputs (2 given) and updates nothing (1 given)";
    case 6:
      s->n_out = 0;
      return "op 'relu': a pure op has outputs (0 given)";
    case 7:
      *s = plim_test_small_op(SMALL_SGD);
      s->n_out = 1;
      return "op 'sgd': an effect op updates at least one value and has no outputs, not 1";
    case 8:
      s->attrs.eps = NAN;
      return "op 'relu': its attributes have a number that is not finite";
    case 9:
      s->attrs.stride[1] = -1;
      return "op 'relu': its attributes have a negative";
    case 10:
      s->attrs.relu = 2;
      return "op 'relu': its attributes have a relu";
    case 11:
      s->time_ns = -2;
      return "op 'relu': time_ns -2 is negative";
    case 12:
      s->kind = PLIM_OP_CUSTOM;
      s->cls = (plim_op_class)5;
      return "op 'relu': class 5 is none";
    case 13:
      s->kind = PLIM_OP_CUSTOM;
      s->n_pairs = 1;
      s->pair[0] = (plim_pair){1, 0};
      return "op 'relu': in-place pair [1, 0] has different bytes";
    case 14:
      s->kind = PLIM_OP_CUSTOM;
      s->n_pairs = 1;
      s->pair[0] = (plim_pair){2, 0};
      return "op 'relu': in-place pair [2, 0] is not of its operands";
    case 15:
      s->kind = PLIM_OP_CUSTOM;
      s->n_pairs = 2;
      return "op 'relu': in-place pair [0, 0] is there twice";
    case 16:
      s->kind = PLIM_OP_CUSTOM;
      s->n_in = 2;
      s->in[1] = s->in[0];
      s->n_pairs = 1;
      return "op 'relu': in-place pair [0, 0] overwrites another input as well";
    case 17:
      s->kind = PLIM_OP_CUSTOM;
      s->in[0] = SMALL_W;
      s->n_out = 1;
      s->out[0] = SMALL_DW;
      s->n_pairs = 1;
      return "op 'relu': in-place pair [0, 0] would overwrite a persistent storage";
    case 18:
      s->name = "";
      return "the op's name is empty";
    case 19:
      *s = plim_test_small_op(SMALL_LINEAR);
      s->n_in = 1;
      return "op 'linear': a linear has 2 to 3 inputs, 1 to 1 outputs and updates 0 values, not 1, 1 and 0";
    case 20:
      *s = plim_test_small_op(SMALL_SGD);
      s->n_upd = 1;
      return "op 'sgd': a sgd has 2 to 2 inputs, 0 to 0 outputs and updates 2 values, not 2, 0 and 1";
    default:
      return NULL;
  }
}

Test(builder, refuses_ops_that_cannot_be) {
  plim_graph_builder *b = plim_test_small_values(ctx);
  plim_op_spec spec;
  const char *sentence;
  int which = 0;
  for (; (sentence = damage_op(&spec, which)) != NULL; which++) {
    int32_t id = -7;
    assert_sentence(plim_graph_add_op(b, &spec, &id), sentence);
    cr_assert_eq(id, -7);
  }
  cr_assert_eq(which, 21);
  plim_graph_builder_free(b);
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
  PLIM_CHECK(plim_graph_add(b, "x", PLIM_ROLE_INPUT, &shape, &x));
  PLIM_CHECK(plim_graph_add(b, "y", PLIM_ROLE_OUTPUT, &shape, &y));
  plim_op_spec relu = {.name = "relu", .kind = PLIM_OP_RELU, .n_in = 1, .in = {x}, .n_out = 1, .out = {y}};
  PLIM_CHECK(plim_graph_add_op(b, &relu, &id));
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
