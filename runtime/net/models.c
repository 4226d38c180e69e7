/* The built-in models, a row each.
 *
 *   resnet*      He et al., Deep Residual Learning for Image Recognition, CVPR 2016. For small images a 3x3 stem and no
 *                max-pool: three stages in the CIFAR form, four as ResNet-18. ResNet-50 has the ImageNet stem, 7x7 with
 *                stride two and a max-pool, and bottleneck blocks, whose 3x3 convolution has the stride. Where the
 *                width or the size changes, the shortcut is a 1x1 convolution with batch norm
 *   tinyres      seven convolutions, beside those of two shortcuts, for trials
 *   vgg16        Simonyan and Zisserman, Very Deep Convolutional Networks, ICLR 2015, with batch norm
 *   densenet121  Huang et al., Densely Connected Convolutional Networks, CVPR 2017, with a 3x3 stem and no max-pool
 *   mobilenet    Howard et al., MobileNets, 2017, whose first stride is 1 for images of at most 64 pixels
 *   unet         Ronneberger et al., U-Net, MICCAI 2015, of half the width, padded, with batch norm. Data have one
 *                label an image, so its head scores the mean of the last map over its pixels
 *   gpt          Radford et al., Language Models are Unsupervised Multitask Learners, 2019
 *   mlp          hidden layers with ReLU and dropout */
#include <stdio.h>

#include "runtime/base/name.h"
#include "runtime/net/layers.h"

static const plim_net_window of_1x1 = {.kernel = 1}, of_3x3 = {.kernel = 3, .pad = 1},
                             halve = {.kernel = 2, .stride = 2};

enum { MODEL_MAX_STAGES = 5, MODEL_NAME_BYTES = 48, GPT_UNITS_MAX = 65536 };

typedef struct model_row {
  const char *name;
  void (*build)(plim_net *net, const struct model_row *row);
  int stages, width[MODEL_MAX_STAGES]; /* stages: of a residual network, or hidden layers */
  int blocks[MODEL_MAX_STAGES];        /* of each stage */
  int bottleneck;                      /* 1: blocks of three convolutions, four times as wide at their ends */
  float drop;                          /* after each hidden layer */
} model_row;

/* "stage<s>.block<b>.<part>" */
static const char *part_name(char name[MODEL_NAME_BYTES], int stage, int block, const char *part) {
  (void)snprintf(name, MODEL_NAME_BYTES, "stage%d.block%d.%s", stage, block, part);
  return name;
}

/* Which block of a network. */
typedef struct place {
  int stage, block, width, stride, project; /* project: the shortcut gets a projection */
} place;

static plim_tensor shortcut_of(plim_net *net, plim_tensor x, const place *at, int width) {
  char name[MODEL_NAME_BYTES];
  if (!at->project) return x;
  x = plim_net_conv2d(net, part_name(name, at->stage, at->block, "project"), x, width,
                      (plim_net_window){.kernel = 1, .stride = at->stride}, 0);
  return plim_net_batch_norm(net, part_name(name, at->stage, at->block, "project_bn"), x);
}

/* conv-bn-relu-conv-bn-add-relu */
static plim_tensor residual_block(plim_net *net, plim_tensor x, const place *at) {
  char name[MODEL_NAME_BYTES];
  plim_tensor y = plim_net_conv2d(net, part_name(name, at->stage, at->block, "conv1"), x, at->width,
                                  (plim_net_window){.kernel = 3, .stride = at->stride, .pad = 1}, 0);
  y = plim_net_batch_norm_relu(net, part_name(name, at->stage, at->block, "bn1"), y);
  y = plim_net_conv2d(net, part_name(name, at->stage, at->block, "conv2"), y, at->width, of_3x3, 0);
  plim_tensor shortcut = shortcut_of(net, x, at, at->width);
  return plim_net_batch_norm_add_relu(net, part_name(name, at->stage, at->block, "bn2"), y, shortcut);
}

/* 1x1 down, 3x3, 1x1 up */
static plim_tensor bottleneck_block(plim_net *net, plim_tensor x, const place *at) {
  char name[MODEL_NAME_BYTES];
  int wide = 4 * at->width;
  plim_tensor y = plim_net_conv2d(net, part_name(name, at->stage, at->block, "conv1"), x, at->width, of_1x1, 0);
  y = plim_net_batch_norm_relu(net, part_name(name, at->stage, at->block, "bn1"), y);
  y = plim_net_conv2d(net, part_name(name, at->stage, at->block, "conv2"), y, at->width,
                      (plim_net_window){.kernel = 3, .stride = at->stride, .pad = 1}, 0);
  y = plim_net_batch_norm_relu(net, part_name(name, at->stage, at->block, "bn2"), y);
  y = plim_net_conv2d(net, part_name(name, at->stage, at->block, "conv3"), y, wide, of_1x1, 0);
  plim_tensor shortcut = shortcut_of(net, x, at, wide);
  return plim_net_batch_norm_add_relu(net, part_name(name, at->stage, at->block, "bn3"), y, shortcut);
}

static plim_tensor stem(plim_net *net, const model_row *row) {
  int large = row->bottleneck;
  plim_tensor x = plim_net_image(net);
  x = plim_net_conv2d(net, "stem.conv", x, row->width[0],
                      (plim_net_window){.kernel = large ? 7 : 3, .stride = large ? 2 : 1, .pad = large ? 3 : 1}, 0);
  x = plim_net_batch_norm_relu(net, "stem.bn", x);
  return large ? plim_net_max_pool(net, "stem.pool", x, (plim_net_window){.kernel = 3, .stride = 2, .pad = 1}) : x;
}

static void build_resnet(plim_net *net, const model_row *row) {
  plim_tensor x = stem(net, row);
  for (int stage = 0; stage < row->stages; stage++) {
    for (int block = 0; block < row->blocks[stage]; block++) {
      int smaller = stage > 0 && block == 0, wider = row->bottleneck && block == 0;
      const place at = {stage + 1, block, row->width[stage], smaller ? 2 : 1, smaller || wider};
      x = row->bottleneck ? bottleneck_block(net, x, &at) : residual_block(net, x, &at);
    }
  }
  x = plim_net_global_avg_pool(net, "pool", x);
  plim_net_softmax_xent(net, plim_net_linear(net, "fc", x, net->options.classes));
}

/* Stages of 3x3 convolutions with batch norm, each of which ends in a max-pool; one linear layer. */
static void build_vgg(plim_net *net, const model_row *row) {
  char name[MODEL_NAME_BYTES];
  plim_tensor x = plim_net_image(net);
  for (int stage = 0; stage < row->stages; stage++) {
    for (int block = 0; block < row->blocks[stage]; block++) {
      x = plim_net_conv2d(net, part_name(name, stage + 1, block, "conv"), x, row->width[stage], of_3x3, 0);
      x = plim_net_batch_norm_relu(net, part_name(name, stage + 1, block, "bn"), x);
    }
    (void)snprintf(name, sizeof name, "stage%d.pool", stage + 1);
    x = plim_net_max_pool(net, name, x, halve);
  }
  plim_net_softmax_xent(net, plim_net_linear(net, "fc", plim_net_flatten(net, "flatten", x), net->options.classes));
}

/* ---- densely connected ---- */

enum { GROWTH = 32, PARTS = 8 };

/* The features of a dense stage so far; their concatenation is the input of its next layer. A concatenation has at most
 * PARTS inputs. So when all parts are full, their concatenation replaces them as the first part. */
typedef struct dense_stage {
  int32_t n;
  plim_tensor part[PARTS];
} dense_stage;

static plim_tensor dense_concat(plim_net *net, dense_stage *s, int stage, int block) {
  char name[MODEL_NAME_BYTES];
  const plim_tensor all =
      plim_net_op(net, part_name(name, stage, block, "concat"), PLIM_OP_CONCAT, NULL, s->n, s->part, 0, NULL);
  if (s->n == PARTS) {
    s->part[0] = all;
    s->n = 1;
  }
  return all;
}

/* bn-relu-1x1 to four times the growth, bn-relu-3x3 */
static plim_tensor dense_layer(plim_net *net, plim_tensor x, int stage, int block) {
  char name[MODEL_NAME_BYTES];
  plim_tensor y = plim_net_batch_norm_relu(net, part_name(name, stage, block, "bn1"), x);
  y = plim_net_conv2d(net, part_name(name, stage, block, "conv1"), y, 4 * GROWTH, of_1x1, 0);
  y = plim_net_batch_norm_relu(net, part_name(name, stage, block, "bn2"), y);
  return plim_net_conv2d(net, part_name(name, stage, block, "conv2"), y, GROWTH, of_3x3, 0);
}

static void build_densenet(plim_net *net, const model_row *row) {
  char name[MODEL_NAME_BYTES];
  int channels = row->width[0];
  plim_tensor x = plim_net_conv2d(net, "stem.conv", plim_net_image(net), channels, of_3x3, 0);
  for (int stage = 1; stage <= row->stages; stage++) {
    dense_stage s = {1, {x}};
    for (int block = 0; block < row->blocks[stage - 1]; block++) {
      s.part[s.n++] = dense_layer(net, x, stage, block);
      x = dense_concat(net, &s, stage, block);
    }
    channels += row->blocks[stage - 1] * GROWTH;
    (void)snprintf(name, sizeof name, "stage%d.bn", stage);
    x = plim_net_batch_norm_relu(net, name, x);
    if (stage == row->stages) break;
    channels /= 2; /* a transition */
    (void)snprintf(name, sizeof name, "stage%d.conv", stage);
    x = plim_net_conv2d(net, name, x, channels, of_1x1, 0);
    (void)snprintf(name, sizeof name, "stage%d.pool", stage);
    x = plim_net_avg_pool(net, name, x, halve);
  }
  x = plim_net_global_avg_pool(net, "pool", x);
  plim_net_softmax_xent(net, plim_net_linear(net, "fc", x, net->options.classes));
}

/* ---- depthwise ---- */

/* Stages of depthwise and 1x1 convolutions; the first of a stage makes it wider and, after the first stage, halves the
 * image. */
static void build_mobilenet(plim_net *net, const model_row *row) {
  enum { STEM = 32, SMALL = 64 };
  char name[MODEL_NAME_BYTES];
  const int stem_stride = net->options.height > SMALL ? 2 : 1;
  plim_tensor x = plim_net_conv2d(net, "stem.conv", plim_net_image(net), STEM,
                                  (plim_net_window){.kernel = 3, .stride = stem_stride, .pad = 1}, 0);
  x = plim_net_batch_norm_relu(net, "stem.bn", x);
  for (int stage = 1; stage <= row->stages; stage++) {
    for (int block = 0; block < row->blocks[stage - 1]; block++) {
      const int stride = stage > 1 && block == 0 ? 2 : 1;
      x = plim_net_depthwise_conv2d(net, part_name(name, stage, block, "depthwise"), x,
                                    (plim_net_window){.kernel = 3, .stride = stride, .pad = 1});
      x = plim_net_batch_norm_relu(net, part_name(name, stage, block, "bn1"), x);
      x = plim_net_conv2d(net, part_name(name, stage, block, "conv"), x, row->width[stage - 1], of_1x1, 0);
      x = plim_net_batch_norm_relu(net, part_name(name, stage, block, "bn2"), x);
    }
  }
  x = plim_net_global_avg_pool(net, "pool", x);
  plim_net_softmax_xent(net, plim_net_linear(net, "fc", x, net->options.classes));
}

/* ---- down and up again ---- */

/* "<side><level>.<part>" */
static plim_tensor unet_convs(plim_net *net, plim_tensor x, const char *side, int level, int width) {
  char name[MODEL_NAME_BYTES];
  for (int i = 1; i <= 2; i++) {
    (void)snprintf(name, sizeof name, "%s%d.conv%d", side, level, i);
    x = plim_net_conv2d(net, name, x, width, of_3x3, 0);
    (void)snprintf(name, sizeof name, "%s%d.bn%d", side, level, i);
    x = plim_net_batch_norm_relu(net, name, x);
  }
  return x;
}

static void build_unet(plim_net *net, const model_row *row) {
  char name[MODEL_NAME_BYTES];
  plim_tensor skip[MODEL_MAX_STAGES], x = plim_net_image(net);
  for (int level = 1; level < row->stages; level++) {
    skip[level] = unet_convs(net, x, "down", level, row->width[level - 1]);
    (void)snprintf(name, sizeof name, "down%d.pool", level);
    x = plim_net_max_pool(net, name, skip[level], halve);
  }
  x = unet_convs(net, x, "bottom", row->stages, row->width[row->stages - 1]);
  for (int level = row->stages - 1; level > 0; level--) {
    (void)snprintf(name, sizeof name, "up%d", level);
    x = plim_net_conv_transpose2d(net, name, x, row->width[level - 1], halve);
    const plim_tensor both[] = {skip[level], x};
    (void)snprintf(name, sizeof name, "up%d.concat", level);
    x = plim_net_op(net, name, PLIM_OP_CONCAT, NULL, 2, both, 0, NULL);
    x = unet_convs(net, x, "up", level, row->width[level - 1]);
  }
  x = plim_net_global_avg_pool(net, "pool", x);
  plim_net_softmax_xent(net, plim_net_linear(net, "fc", x, net->options.classes));
}

static void build_mlp(plim_net *net, const model_row *row) {
  char name[MODEL_NAME_BYTES];
  plim_tensor x = plim_net_flatten(net, "flatten", plim_net_image(net));
  for (int i = 0; i < row->stages; i++) {
    (void)snprintf(name, sizeof name, "hidden%d", i + 1);
    x = plim_net_linear(net, name, x, row->width[i]);
    (void)snprintf(name, sizeof name, "hidden%d.relu", i + 1);
    x = plim_net_relu(net, name, x);
    (void)snprintf(name, sizeof name, "hidden%d.dropout", i + 1);
    x = plim_net_dropout(net, name, x, row->drop);
  }
  plim_net_softmax_xent(net, plim_net_linear(net, "fc", x, net->options.classes));
}

/* "block<b>.<part>" */
static const char *gpt_name(char name[MODEL_NAME_BYTES], int block, const char *part) {
  (void)snprintf(name, MODEL_NAME_BYTES, "block%d.%s", block, part);
  return name;
}

/* Layer norm, attention and projection; layer norm and two products with GELU between; each added to what came in. */
static plim_tensor gpt_block(plim_net *net, plim_tensor x, int block) {
  char name[MODEL_NAME_BYTES];
  const int units = net->options.units;
  plim_tensor y = plim_net_layer_norm(net, gpt_name(name, block, "norm1"), x);
  y = plim_net_linear(net, gpt_name(name, block, "qkv"), y, 3 * units);
  y = plim_net_attention(net, gpt_name(name, block, "attention"), y, net->options.heads);
  y = plim_net_linear(net, gpt_name(name, block, "project"), y, units);
  x = plim_net_add(net, gpt_name(name, block, "add1"), x, y);
  y = plim_net_layer_norm(net, gpt_name(name, block, "norm2"), x);
  y = plim_net_linear(net, gpt_name(name, block, "up"), y, 4 * units);
  y = plim_net_gelu(net, gpt_name(name, block, "gelu"), y);
  y = plim_net_linear(net, gpt_name(name, block, "down"), y, units);
  return plim_net_add(net, gpt_name(name, block, "add2"), x, y);
}

/* Pre-norm, learned positions, tied embedding. */
static void build_gpt(plim_net *net, const model_row *row) {
  const plim_net_options *o = &net->options;
  (void)row;
  if (o->layers < 1 || o->units < 1 || o->units > GPT_UNITS_MAX || o->heads < 1 || o->units % o->heads != 0) {
    (void)plim_net_fail(
        net, PLIM_EUSAGE,
        "%d layers of width %d with %d heads; at least one layer, a width of at most %d, and heads that "
        "divide it are needed",
        o->layers, o->units, o->heads, GPT_UNITS_MAX);
    return;
  }
  plim_tensor table = plim_net_embedding(net, "embedding", o->units), x = table;
  for (int block = 0; block < o->layers; block++) x = gpt_block(net, x, block);
  plim_net_tied_xent(net, plim_net_layer_norm(net, "norm", x), table);
}

static const model_row models[] = {
    {"mlp", build_mlp, 2, {512, 512}, {0}, 0, 0.2f},
    {"resnet18", build_resnet, 4, {64, 128, 256, 512}, {2, 2, 2, 2}, 0, 0},
    {"resnet34", build_resnet, 4, {64, 128, 256, 512}, {3, 4, 6, 3}, 0, 0},
    {"resnet20", build_resnet, 3, {16, 32, 64}, {3, 3, 3}, 0, 0},
    {"resnet32", build_resnet, 3, {16, 32, 64}, {5, 5, 5}, 0, 0},
    {"resnet56", build_resnet, 3, {16, 32, 64}, {9, 9, 9}, 0, 0},
    {"resnet50", build_resnet, 4, {64, 128, 256, 512}, {3, 4, 6, 3}, 1, 0},
    {"tinyres", build_resnet, 3, {8, 16, 32}, {1, 1, 1}, 0, 0},
    {"vgg16", build_vgg, 5, {64, 128, 256, 512, 512}, {2, 2, 3, 3, 3}, 0, 0},
    {"densenet121", build_densenet, 4, {64}, {6, 12, 24, 16}, 0, 0},
    {"mobilenet", build_mobilenet, 5, {64, 128, 256, 512, 1024}, {1, 2, 2, 6, 2}, 0, 0},
    {"unet", build_unet, 5, {32, 64, 128, 256, 512}, {0}, 0, 0},
    {"gpt", build_gpt, 0, {0}, {0}, 0, 0},
};

const char *plim_model_name(int32_t row) {
  return row >= 0 && row < (int32_t)(sizeof models / sizeof *models) ? models[row].name : NULL;
}

plim_status plim_model_make(plim_context *ctx, const char *model, const plim_net_options *options, plim_net **out) {
  char advice[PLIM_NAME_ADVICE_BYTES];
  int32_t row = plim_name_find(plim_model_name, model);
  if (row < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "no model is called \"%s\"%s", model,
                     plim_name_advice(plim_model_name, model, advice));
  }
  plim_net *net = NULL;
  PLIM_TRY(plim_net_begin(ctx, model, options, &net));
  models[row].build(net, &models[row]);
  if (net->status != PLIM_OK) {
    plim_status status = plim_fail(ctx, net->status, "model '%s': %s", model, net->error);
    plim_net_free(net);
    return status;
  }
  *out = net;
  return PLIM_OK;
}
