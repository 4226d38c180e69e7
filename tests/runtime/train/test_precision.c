/* Precisions from net to weights: what each mode changes in a graph and what it must not, documents, devices, training.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/graph/graph_text.h"
#include "runtime/net/net.h"
#include "runtime/train/trainer.h"
#include "tests/support/device_under_test.h"
#include "tests/support/documents.h"
#include "tests/support/folder.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_seed.h"

static plim_context *ctx;
static void setup(void) {
  ctx = plim_test_context();
  (void)plim_test_folder();
}
static void teardown(void) {
  plim_test_folder_remove();
  plim_context_free(ctx);
}
TestSuite(math, .init = setup, .fini = teardown);

static plim_net *make_net(const char *model, plim_precision math) {
  plim_net_options options = plim_net_options_default();
  plim_net *net = NULL;
  options.batch = 4;
  options.channels = 1;
  options.height = options.width = 28;
  options.precision = math;
  plim_dataset_pixels("fashion-mnist", options.pixel_scale, options.pixel_shift);
  cr_assert_eq(plim_model_make(ctx, model, &options, &net), PLIM_OK, "%s", plim_context_error(ctx));
  return net;
}

static plim_graph *make_graph(const char *model, plim_precision math) {
  plim_net *net = make_net(model, math);
  plim_graph *graph = NULL;
  cr_assert_eq(plim_net_train_graph(net, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  plim_net_free(net);
  return graph;
}

static int is_product(plim_op_kind kind) {
  return kind >= PLIM_OP_CONV2D && kind <= PLIM_OP_LINEAR_BWD_WEIGHTS;
}

static int ends_with(const char *name, const char *suffix) {
  const size_t n = strlen(name), m = strlen(suffix);
  return n >= m && strcmp(name + n - m, suffix) == 0;
}

/* ---- graphs ---- */

/* Values that are f32 in every mode: what training keeps, its gradients, statistics, and the loss. */
static int stays_f32(const plim_graph *g, const plim_value *v) {
  static const char *const suffixes[] = {".weight.grad", ".bias.grad", ".affine.grad", ".stats",
                                         "loss",         "loss.prob",  "hyper"};
  const plim_role role = g->storage[v->storage].role;
  if (role == PLIM_ROLE_PARAM || role == PLIM_ROLE_STATE) return 1;
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    if (ends_with(v->name, suffixes[i])) return 1;
  }
  return 0;
}

Test(math, bf16_is_for_activations_and_their_gradients_alone) {
  static const char *const models[] = {"mlp", "resnet20", "resnet50"};
  for (int m = 0; m < 3; m++) {
    plim_graph *g = make_graph(models[m], PLIM_PRECISION_BF16);
    int halves = 0;
    cr_assert_eq(plim_graph_precision(g), PLIM_PRECISION_BF16);
    for (int32_t i = 0; i < g->n_values; i++) {
      const plim_value *v = &g->value[i];
      const plim_dtype type = v->shape.dtype;
      if (type != PLIM_F32 && type != PLIM_BF16) continue; /* masks, labels, positions, the image as bytes */
      cr_assert_eq(type == PLIM_F32, stays_f32(g, v), "%s of %s is %s", v->name, models[m], plim_dtype_name(type));
      halves += type == PLIM_BF16;
    }
    cr_assert_gt(halves, 10);
    plim_graph_free(g);
  }
}

/* The op that makes a factor by casting a parameter, -1: none. */
static int32_t cast_of(const plim_graph *g, int32_t factor) {
  for (int32_t o = 0; o < g->n_ops; o++) {
    if (g->op[o].kind == PLIM_OP_CAST && g->op[o].out[0] == factor) return o;
  }
  return -1;
}

Test(math, products_of_bf16_read_one_cast_of_each_weight_which_may_run_again) {
  plim_graph *g = make_graph("resnet20", PLIM_PRECISION_BF16);
  int casts = 0, products = 0;
  for (int32_t o = 0; o < g->n_ops; o++) {
    const plim_op *op = &g->op[o];
    casts += op->kind == PLIM_OP_CAST;
    if (op->kind != PLIM_OP_CONV2D && op->kind != PLIM_OP_LINEAR) continue;
    const int32_t cast = cast_of(g, op->in[1]);
    products++;
    cr_assert(cast >= 0 && cast < o, "%s reads weights that nothing casts", op->name);
    cr_assert_eq(g->op[cast].cls, PLIM_OP_PURE);
    cr_assert_eq(g->storage[g->op[cast].reads[0]].role, PLIM_ROLE_PARAM);
  }
  cr_assert_eq(products, 22);
  cr_assert_eq(casts, products, "%d casts for %d products", casts, products);
  plim_graph_free(g);
}

Test(math, tf32_marks_the_products_and_changes_nothing_else) {
  plim_graph *strict = make_graph("resnet20", PLIM_PRECISION_FP32),
             *rounded = make_graph("resnet20", PLIM_PRECISION_TF32);
  cr_assert_eq(plim_graph_precision(strict), PLIM_PRECISION_FP32);
  cr_assert_eq(plim_graph_precision(rounded), PLIM_PRECISION_TF32);
  cr_assert_eq(strict->n_ops, rounded->n_ops);
  cr_assert_str_neq(strict->fingerprint, rounded->fingerprint);
  for (int32_t o = 0; o < strict->n_ops; o++) {
    const plim_op *a = &strict->op[o], *b = &rounded->op[o];
    cr_assert_eq(b->attrs.tf32, is_product(b->kind), "%s", b->name);
    cr_assert(a->kind == b->kind && a->n_in == b->n_in && strcmp(a->name, b->name) == 0, "%s", a->name);
    cr_assert_eq(memcmp(a->in, b->in, (size_t)a->n_in * sizeof *a->in), 0, "%s", a->name);
  }
  plim_graph_free(strict);
  plim_graph_free(rounded);
}

Test(math, weights_start_alike_in_every_mode) {
  plim_graph *g[PLIM_PRECISION_COUNT];
  for (int m = 0; m < PLIM_PRECISION_COUNT; m++) g[m] = make_graph("mlp", (plim_precision)m);
  for (int32_t v = 0; v < g[0]->n_values; v++) {
    const plim_value *value = &g[0]->value[v];
    const plim_role role = g[0]->storage[value->storage].role;
    if (role != PLIM_ROLE_PARAM && role != PLIM_ROLE_STATE) continue;
    void *first = malloc((size_t)value->bytes), *other = malloc((size_t)value->bytes);
    cr_assert_eq(plim_net_init(g[0], v, 3, first), PLIM_OK);
    for (int m = 1; m < PLIM_PRECISION_COUNT; m++) {
      const int32_t same = plim_graph_find_value(g[m], value->name);
      cr_assert_eq(plim_net_init(g[m], same, 3, other), PLIM_OK, "%s", plim_context_error(ctx));
      cr_assert_eq(memcmp(first, other, (size_t)value->bytes), 0, "%s in %s", value->name,
                   plim_precision_name((plim_precision)m));
    }
    free(first);
    free(other);
  }
  for (int m = 0; m < PLIM_PRECISION_COUNT; m++) plim_graph_free(g[m]);
}

/* ---- documents ---- */

Test(math, graphs_of_every_mode_are_saved_and_loaded_alike_in_the_version_that_they_need) {
  static const char *const version[PLIM_PRECISION_COUNT] = {"\"version\": 1,", "\"version\": 3,", "\"version\": 3,"};
  for (int m = 0; m < PLIM_PRECISION_COUNT; m++) {
    plim_graph *g = make_graph("mlp", (plim_precision)m), *loaded = NULL;
    plim_text one = {ctx, NULL, 0, 0, PLIM_OK}, two = one;
    cr_assert_eq(plim_graph_save(g, plim_test_path("g.json")), PLIM_OK);
    cr_assert_eq(plim_graph_load(ctx, plim_test_path("g.json"), &loaded), PLIM_OK, "%s", plim_context_error(ctx));
    plim_graph_write(&one, g, 1);
    plim_graph_write(&two, loaded, 1);
    cr_assert_str_eq(one.chars, two.chars);
    cr_assert_not_null(strstr(one.chars, version[m]));
    cr_assert_eq(plim_graph_precision(loaded), m);
    plim_text_free(&one);
    plim_text_free(&two);
    plim_graph_free(loaded);
    plim_graph_free(g);
  }
}

static plim_status parse(plim_context *c, const char *text, int64_t bytes, plim_text *again) {
  plim_graph *g = NULL;
  (void)again;
  plim_status status = plim_graph_parse(c, "doc.json", text, bytes, &g);
  plim_graph_free(g);
  return status;
}

Test(math, a_graph_of_wrong_types_is_refused_with_the_op) {
  static const plim_test_fault faults[] = {
      {"\"version\": 3", "\"version\": 1", "unknown field"},
      {"\"version\": 3", "\"version\": 2", "version: is 2, the contents belong into version 3"},
      {"\"kind\": \"relu\"", "\"kind\": \"max_pool\"",
       "op 'hidden1.relu': no max_pool takes values of these types: in bf16, out bf16 bits"},
      {"\"kind\": \"cast\"", "\"kind\": \"relu\"",
       "op 'hidden1.weight.cast': no relu takes values of these types: in f32, out bf16"},
  };
  plim_graph *g = make_graph("mlp", PLIM_PRECISION_BF16);
  plim_text text = {ctx, NULL, 0, 0, PLIM_OK};
  plim_graph_write(&text, g, 1);
  plim_test_faults(parse, text.chars, faults, (int)(sizeof faults / sizeof *faults));
  plim_text_free(&text);
  plim_graph_free(g);
}

Test(math, half_of_an_element_is_no_offset) {
  plim_graph_builder *b = NULL;
  const plim_shape shape = plim_shape_make(PLIM_BF16, PLIM_FLAT, 1, (int64_t[]){3});
  int32_t storage, value;
  cr_assert_eq(plim_graph_begin(ctx, "g", 1, &b), PLIM_OK);
  cr_assert_eq(plim_graph_add_storage(b, PLIM_ROLE_INPUT, 16, &storage), PLIM_OK);
  cr_assert_eq(plim_graph_add_value(b, "even", storage, 6, &shape, &value), PLIM_OK);
  cr_assert_eq(plim_graph_add_value(b, "odd", storage, 7, &shape, &value), PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(ctx), "offset 7 is not a multiple of the element's 2 bytes"));
  plim_graph_builder_free(b);
}

/* ---- devices and training ---- */

Test(math, tf32_is_refused_where_there_is_none) {
  plim_net *net = make_net("mlp", PLIM_PRECISION_TF32);
  plim_program *program = NULL;
  plim_device *device = NULL;
  cr_assert_eq(plim_device_open(ctx, "cpu", NULL, &device), PLIM_OK);
  cr_assert_eq(plim_program_begin(device, net, NULL, &program), PLIM_EUSAGE);
  cr_assert_str_eq(plim_context_error(ctx),
                   "precision tf32 is for GPUs of compute capability 8.0 and up: device cpu computes in fp32 or bf16");
  plim_device_close(device);
  plim_net_free(net);
}

enum { BATCH = 64, STEPS = 80 };

/* Loss on the test images after some steps from the same start. */
static double train(plim_device *device, const plim_dataset *dataset, plim_precision math) {
  plim_net_options options = plim_net_options_default();
  plim_plan_options planning = plim_plan_options_default();
  plim_trainer_options training = {
      .struct_bytes = sizeof training,
      .seed = test_seed(7),
      .schedule = {.rate = 0.02F, .momentum = 0.9F, .weight_decay = 5e-4F, .total_steps = STEPS},
      .exec = {.struct_bytes = sizeof training.exec}};
  plim_net *net = NULL;
  plim_program *program = NULL;
  plim_trainer *trainer = NULL;
  plim_evaluation evaluation;
  options.batch = BATCH;
  options.channels = 1;
  options.height = options.width = 28;
  options.precision = math;
  plim_dataset_pixels("fashion-mnist", options.pixel_scale, options.pixel_shift);
  cr_assert_eq(plim_model_make(ctx, "mlp", &options, &net), PLIM_OK);
  cr_assert_eq(plim_program_begin(device, net, NULL, &program), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_program_plan(program, &planning), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_trainer_open(device, dataset, program, &training, &trainer), PLIM_OK);
  cr_assert_eq(plim_trainer_run(trainer, STEPS, NULL, NULL), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_trainer_evaluate(trainer, &evaluation), PLIM_OK);
  plim_trainer_close(trainer);
  plim_program_free(program);
  plim_net_free(net);
  return evaluation.loss;
}

/* Rounding is noise of 1/256 of each activation; it must not keep a net from learning what it learns without. Dropout
 * draws other elements in the two runs, so their losses differ by more than rounding. */
Test(math, bf16_learns_fashion_mnist_as_fp32_does) {
  plim_dataset_options wanted = plim_dataset_options_default();
  plim_dataset *dataset = NULL;
  plim_device *device = NULL;
  if (plim_dataset_load(ctx, "fashion-mnist", &wanted, &dataset) != PLIM_OK) {
    cr_skip_test("SKIP: dataset-fashion-mnist is not installed");
  }
  if (dataset->test.count > 1000) dataset->test.count = 1000;
  device = plim_test_device(ctx, 0);
  const double whole = train(device, dataset, PLIM_PRECISION_FP32), half = train(device, dataset, PLIM_PRECISION_BF16);
  cr_assert(whole < 0.9 && half < 0.9 && fabs(whole - half) < 0.1, "a loss of %g in fp32, of %g in bf16", whole, half);
  plim_device_close(device);
  plim_dataset_free(dataset);
}
