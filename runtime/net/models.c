/* The built-in models, a row each. Residual networks (He et al., Deep Residual Learning for Image Recognition, CVPR
 * 2016) for small images have a 3x3 stem and no max-pool: three stages in the CIFAR form, four as ResNet-18. ResNet-50
 * has the ImageNet stem, 7x7 by steps of two and a max-pool, and bottleneck blocks, whose 3x3 convolution takes the
 * step. Where the width or the size changes, the shortcut is a 1x1 convolution with batch norm.
 * vgg16: Simonyan and Zisserman, Very Deep Convolutional Networks, ICLR 2015, with batch norm. tinyres: seven
 * convolutions, for trials. gpt: Radford et al., Language Models are Unsupervised Multitask Learners, 2019. */
#include <stdio.h>

#include "runtime/base/nearest.h"
#include "runtime/net/layers.h"

enum { MODEL_MAX_STAGES = 5, MODEL_NAME_BYTES = 48, GPT_MOST_UNITS = 65536 };

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
  x = plim_net_conv2d(net, part_name(name, at->stage, at->block, "project"), x, width, 1, at->stride, 0, 0);
  return plim_net_batch_norm(net, part_name(name, at->stage, at->block, "project_bn"), x);
}

/* conv-bn-relu-conv-bn-add-relu */
static plim_tensor residual_block(plim_net *net, plim_tensor x, const place *at) {
  char name[MODEL_NAME_BYTES];
  plim_tensor y =
      plim_net_conv2d(net, part_name(name, at->stage, at->block, "conv1"), x, at->width, 3, at->stride, 1, 0);
  y = plim_net_batch_norm_relu(net, part_name(name, at->stage, at->block, "bn1"), y);
  y = plim_net_conv2d(net, part_name(name, at->stage, at->block, "conv2"), y, at->width, 3, 1, 1, 0);
  plim_tensor shortcut = shortcut_of(net, x, at, at->width);
  return plim_net_batch_norm_add_relu(net, part_name(name, at->stage, at->block, "bn2"), y, shortcut);
}

/* 1x1 down, 3x3, 1x1 up */
static plim_tensor bottleneck_block(plim_net *net, plim_tensor x, const place *at) {
  char name[MODEL_NAME_BYTES];
  int wide = 4 * at->width;
  plim_tensor y = plim_net_conv2d(net, part_name(name, at->stage, at->block, "conv1"), x, at->width, 1, 1, 0, 0);
  y = plim_net_batch_norm_relu(net, part_name(name, at->stage, at->block, "bn1"), y);
  y = plim_net_conv2d(net, part_name(name, at->stage, at->block, "conv2"), y, at->width, 3, at->stride, 1, 0);
  y = plim_net_batch_norm_relu(net, part_name(name, at->stage, at->block, "bn2"), y);
  y = plim_net_conv2d(net, part_name(name, at->stage, at->block, "conv3"), y, wide, 1, 1, 0, 0);
  plim_tensor shortcut = shortcut_of(net, x, at, wide);
  return plim_net_batch_norm_add_relu(net, part_name(name, at->stage, at->block, "bn3"), y, shortcut);
}

static plim_tensor stem(plim_net *net, const model_row *row) {
  int large = row->bottleneck;
  plim_tensor x = plim_net_image(net);
  x = plim_net_conv2d(net, "stem.conv", x, row->width[0], large ? 7 : 3, large ? 2 : 1, large ? 3 : 1, 0);
  x = plim_net_batch_norm_relu(net, "stem.bn", x);
  return large ? plim_net_max_pool(net, "stem.pool", x, 3, 2, 1) : x;
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
      x = plim_net_conv2d(net, part_name(name, stage + 1, block, "conv"), x, row->width[stage], 3, 1, 1, 0);
      x = plim_net_batch_norm_relu(net, part_name(name, stage + 1, block, "bn"), x);
    }
    (void)snprintf(name, sizeof name, "stage%d.pool", stage + 1);
    x = plim_net_max_pool(net, name, x, 2, 2, 0);
  }
  plim_net_softmax_xent(net, plim_net_linear(net, "fc", plim_net_flatten(net, "flatten", x), net->options.classes));
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
  if (o->layers < 1 || o->units < 1 || o->units > GPT_MOST_UNITS || o->heads < 1 || o->units % o->heads != 0) {
    (void)plim_net_fail(
        net, PLIM_EUSAGE,
        "%d layers of width %d with %d heads; at least one layer, a width of at most %d, and heads that "
        "divide it are needed",
        o->layers, o->units, o->heads, GPT_MOST_UNITS);
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
