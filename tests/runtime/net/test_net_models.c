/* runtime/net/models.c: parameters counted by hand, shapes of the stages, names. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "runtime/net/net.h"
#include "tests/support/reference_trainer.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

static plim_graph *train_graph(plim_context *ctx, const char *model, int batch, int channels, int size) {
  plim_net_options options = plim_net_options_default();
  options.batch = batch;
  options.channels = channels;
  options.height = options.width = size;
  plim_net *net = NULL;
  plim_graph *graph = NULL;
  cr_assert_eq(plim_model_make(ctx, model, &options, &net), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_net_train_graph(net, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  plim_net_free(net);
  return graph;
}

/* Weights of one residual stage of `blocks` blocks from `in` to `out` channels: 3x3 convolutions, a scale and a
 * shift a channel after each, and where it enters with other channels a 1x1 projection with its own. */
static int64_t stage_by_hand(int64_t in, int64_t out, int64_t blocks) {
  int64_t first = 9 * in * out + 9 * out * out + 4 * out;
  int64_t rest = (blocks - 1) * (2 * 9 * out * out + 4 * out);
  return first + rest + (in != out ? in * out + 2 * out : 0);
}

static int64_t cifar_resnet_by_hand(int64_t channels, int64_t blocks) {
  int64_t stem = 9 * channels * 16 + 2 * 16;
  return stem + stage_by_hand(16, 16, blocks) + stage_by_hand(16, 32, blocks) + stage_by_hand(32, 64, blocks) +
         64 * 10 + 10;
}

static int64_t resnet18_by_hand(int64_t channels) {
  return 9 * channels * 64 + 2 * 64 + stage_by_hand(64, 64, 2) + stage_by_hand(64, 128, 2) +
         stage_by_hand(128, 256, 2) + stage_by_hand(256, 512, 2) + 512 * 10 + 10;
}

static int64_t resnet34_by_hand(void) {
  return 9 * 3 * 64 + 2 * 64 + stage_by_hand(64, 64, 3) + stage_by_hand(64, 128, 4) + stage_by_hand(128, 256, 6) +
         stage_by_hand(256, 512, 3) + 512 * 10 + 10;
}

/* 3x3 convolutions with a scale and a shift a channel, without biases. */
static int64_t vgg16_by_hand(void) {
  static const int64_t channels[] = {3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512};
  int64_t sum = 512 * 10 + 10;
  for (int i = 0; i < 13; i++) sum += 9 * channels[i] * channels[i + 1] + 2 * channels[i + 1];
  return sum;
}

static int64_t tinyres_by_hand(void) {
  return 9 * 3 * 8 + 2 * 8 + stage_by_hand(8, 8, 1) + stage_by_hand(8, 16, 1) + stage_by_hand(16, 32, 1) + 32 * 10 + 10;
}

/* A stage of bottlenecks: 1x1 down, 3x3, 1x1 up to four times the width, the first after a projection. */
static int64_t bottlenecks_by_hand(int64_t in, int64_t width, int64_t blocks) {
  int64_t out = 4 * width, inner = 9 * width * width + width * out + 4 * width + 2 * out;
  return in * width + inner + in * out + 2 * out + (blocks - 1) * (out * width + inner);
}

static int64_t resnet50_by_hand(void) {
  return 49 * 3 * 64 + 2 * 64 + bottlenecks_by_hand(64, 64, 3) + bottlenecks_by_hand(256, 128, 4) +
         bottlenecks_by_hand(512, 256, 6) + bottlenecks_by_hand(1024, 512, 3) + 2048 * 10 + 10;
}

/* A stage of n layers from `in` channels: norm, 1x1 to 128, norm, 3x3 to 32, each with all channels before. */
static int64_t dense_by_hand(int64_t in, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i++, in += 32) sum += 2 * in + in * 128 + 2 * 128 + 9 * 128 * 32;
  return sum;
}

/* Transitions: norm, 1x1 to half of the channels. */
static int64_t densenet121_by_hand(void) {
  const int64_t transitions = (2 * 256 + 256 * 128) + (2 * 512 + 512 * 256) + (2 * 1024 + 1024 * 512);
  return 9 * 3 * 64 + dense_by_hand(64, 6) + dense_by_hand(128, 12) + dense_by_hand(256, 24) + dense_by_hand(512, 16) +
         transitions + 2 * 1024 + 1024 * 10 + 10;
}

/* Depthwise 3x3 and 1x1, each with a norm. */
static int64_t mobilenet_by_hand(void) {
  static const int64_t channels[] = {32, 64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024};
  int64_t sum = 9 * 3 * 32 + 2 * 32 + 1024 * 10 + 10;
  for (int i = 0; i < 13; i++) {
    sum += 9 * channels[i] + 2 * channels[i] + channels[i] * channels[i + 1] + 2 * channels[i + 1];
  }
  return sum;
}

/* Two 3x3 with norms. */
static int64_t pair_by_hand(int64_t in, int64_t out) {
  return 9 * in * out + 9 * out * out + 4 * out;
}

static int64_t unet_by_hand(void) {
  int64_t sum = pair_by_hand(3, 32) + 32 * 10 + 10;
  for (int64_t c = 32; c < 512; c *= 2) sum += pair_by_hand(c, 2 * c) + 4 * 2 * c * c + pair_by_hand(2 * c, c);
  return sum;
}

Test(models, have_the_parameters_counted_by_hand) {
  const struct {
    const char *model;
    int channels, size;
    int64_t published;
  } cases[] = {{"resnet20", 3, 32, 272474},
               {"resnet20", 1, 28, 272186},
               {"resnet32", 3, 32, 466906},
               {"resnet56", 3, 32, 855770},
               {"resnet18", 3, 32, 11173962},
               {"mlp", 1, 28, 669706},
               {"resnet34", 3, 32, 21282122},
               {"vgg16", 3, 32, 14724042},
               {"densenet121", 3, 32, 6956298},
               {"mobilenet", 3, 32, 3217226},
               {"unet", 3, 64, unet_by_hand()},
               {"tinyres", 3, 16, tinyres_by_hand()},
               {"resnet50", 3, 64, 23528522 /* 25,557,032 with 1000 classes */}};
  const int64_t by_hand[] = {cifar_resnet_by_hand(3, 3),
                             cifar_resnet_by_hand(1, 3),
                             cifar_resnet_by_hand(3, 5),
                             cifar_resnet_by_hand(3, 9),
                             resnet18_by_hand(3),
                             784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10,
                             resnet34_by_hand(),
                             vgg16_by_hand(),
                             densenet121_by_hand(),
                             mobilenet_by_hand(),
                             unet_by_hand(),
                             tinyres_by_hand(),
                             resnet50_by_hand()};
  plim_context *ctx = plim_test_context();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    plim_graph *g = train_graph(ctx, cases[i].model, 2, cases[i].channels, cases[i].size);
    cr_assert_eq(by_hand[i], cases[i].published, "%s: %lld by hand", cases[i].model, (long long)by_hand[i]);
    cr_assert_eq(plim_graph_parameters(g), by_hand[i], "%s has %lld parameters, %lld by hand", cases[i].model,
                 (long long)plim_graph_parameters(g), (long long)by_hand[i]);
    plim_graph_free(g);
  }
  plim_context_free(ctx);
}

static void expect_dims(const plim_graph *g, const char *name, int64_t c, int64_t size) {
  int32_t v = plim_graph_find_value(g, name);
  cr_assert_geq(v, 0, "no value '%s'", name);
  const int64_t *dim = g->value[v].shape.dim;
  cr_assert(dim[0] == 2 && dim[1] == c && dim[2] == size && dim[3] == size, "'%s' is [%lld,%lld,%lld,%lld]", name,
            (long long)dim[0], (long long)dim[1], (long long)dim[2], (long long)dim[3]);
}

Test(models, halve_the_image_at_each_change_of_stage_and_project_there_alone) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = train_graph(ctx, "resnet20", 2, 1, 28);
  expect_dims(g, "stem.bn", 16, 28);
  expect_dims(g, "stage1.block2.bn2", 16, 28);
  expect_dims(g, "stage2.block0.conv1", 32, 14);
  expect_dims(g, "stage2.block0.project_bn", 32, 14);
  expect_dims(g, "stage3.block2.bn2", 64, 7);
  expect_dims(g, "pool", 64, 1);
  int projections = 0;
  for (int32_t i = 0; i < g->n_ops; i++) {
    projections += g->op[i].kind == PLIM_OP_CONV2D && g->op[i].attrs.kernel[0] == 1;
  }
  cr_assert_eq(projections, 2);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(models, resnet50_has_the_sizes_of_imagenet) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = train_graph(ctx, "resnet50", 2, 3, 224);
  expect_dims(g, "stem.conv", 64, 112);
  expect_dims(g, "stem.pool", 64, 56);
  expect_dims(g, "stage1.block2.conv3", 256, 56);
  expect_dims(g, "stage2.block0.conv1", 128, 56);
  expect_dims(g, "stage2.block0.conv2", 128, 28);
  expect_dims(g, "stage3.block0.project", 1024, 14);
  expect_dims(g, "stage4.block2.conv3", 2048, 7);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(models, a_u_net_goes_down_and_up_again) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = train_graph(ctx, "unet", 2, 3, 32);
  expect_dims(g, "down1.bn2", 32, 32);
  expect_dims(g, "bottom5.bn2", 512, 2);
  expect_dims(g, "up4", 256, 4);
  expect_dims(g, "up1.concat", 64, 32);
  expect_dims(g, "up1.bn2", 32, 32);
  plim_graph_free(g);
  plim_context_free(ctx);
}

/* The last layer of a stage of 24 has all channels before it, over four concatenations. */
Test(models, a_dense_layer_reads_all_before_it) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = train_graph(ctx, "densenet121", 2, 3, 16);
  expect_dims(g, "stage1.block5.concat", 256, 16);
  expect_dims(g, "stage3.block0.concat", 288, 4);
  expect_dims(g, "stage3.block23.concat", 1024, 4);
  for (int32_t i = 0; i < g->n_ops; i++) {
    if (g->op[i].kind == PLIM_OP_CONCAT) cr_assert_leq(g->op[i].n_in, 8);
  }
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(models, are_named_and_an_unknown_name_gets_the_nearest) {
  plim_context *ctx = plim_test_context();
  plim_net_options options = plim_net_options_default();
  plim_net *net = NULL;
  cr_assert_eq(plim_model_make(ctx, "resnet-20", &options, &net), PLIM_EUSAGE);
  cr_assert_str_eq(plim_context_error(ctx), "no model is called \"resnet-20\"; did you mean \"resnet20\"?");
  cr_assert_null(net);
  cr_assert_null(plim_model_name(-1));
  cr_assert_null(plim_model_name(13));
  plim_context_free(ctx);
}

Test(models, fail_with_the_model_and_the_layer_when_the_options_do_not_suit) {
  plim_context *ctx = plim_test_context();
  plim_net_options options = plim_net_options_default();
  plim_net *net = NULL;
  options.batch = 1;
  options.height = options.width = 4;
  cr_assert_eq(plim_model_make(ctx, "resnet20", &options, &net), PLIM_EUSAGE);
  cr_assert_str_eq(plim_context_error(ctx),
                   "model 'resnet20': layer 'stage3.block0.bn1' normalises over 1 element; at least 2 are needed");
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  plim_context_free(ctx);
}

/* ---- training a batch of noise ---- */

enum { BATCH = 16, STEPS = 12 };

static void fill_batch(reference_trainer *t, const plim_graph *g) {
  static const float hyper[4] = {0.05f, 0.9f, 0, 0};
  uint64_t state = test_seed(3);
  uint8_t *image = reference_at(t, "image");
  int32_t *label = reference_at(t, "label");
  int64_t bytes = g->value[plim_graph_find_value(g, "image")].bytes;
  for (int64_t i = 0; i < bytes; i++) image[i] = (uint8_t)test_random_between(&state, 0, 255);
  for (int i = 0; i < BATCH; i++) label[i] = (int32_t)test_random_between(&state, 0, 9);
  memcpy(reference_at(t, "hyper"), hyper, sizeof hyper);
}

Test(models, start_with_a_loss_of_ln_10_and_learn_a_batch_by_heart) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  plim_context *ctx = plim_test_context();
  for (int32_t row = 0; plim_model_name(row); row++) {
    const char *model = plim_model_name(row);
    if (strcmp(model, "gpt") == 0) continue;         /* reads tokens: test_gpt */
    if (strcmp(model, "vgg16") == 0) continue;       /* five pools need 32 x 32 */
    if (strcmp(model, "unet") == 0) continue;        /* four pools need 16 x 16 */
    if (strcmp(model, "densenet121") == 0) continue; /* long; its parts are those of the others, and concat */
    if (strcmp(model, "tinyres") == 0) continue;     /* learns more slowly; its parts are those of resnet20 */
    if (strcmp(model, "resnet34") == 0) continue;    /* as resnet18, only longer */
    if (strcmp(model, "resnet50") == 0) continue;    /* minutes; its parts are those of the others */
    plim_graph *g = train_graph(ctx, model, BATCH, 3, 8);
    reference_trainer *t = NULL;
    cr_assert_eq(reference_open(g, 2, NULL, NULL, &t), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(reference_init(t, 1), PLIM_OK);
    fill_batch(t, g);
    const float *loss = reference_at(t, "loss");
    const int32_t *hits = reference_at(t, "hits");
    for (int64_t step = 0; step < STEPS; step++) {
      cr_assert_eq(reference_step(t, 1, step), PLIM_OK, "%s", plim_context_error(ctx));
      if (step == 0) cr_assert_lt(fabs((double)*loss - log(10)), 0.2, "%s starts with %g", model, (double)*loss);
      cr_assert_eq(hits[1], BATCH);
    }
    cr_assert_lt(*loss, 1.0f, "%s: the loss is %g after %d steps on one batch", model, (double)*loss, STEPS);
    reference_close(t);
    plim_graph_free(g);
  }
  plim_context_free(ctx);
}
