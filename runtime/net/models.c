/* The built-in models, a row each. Residual networks have a 3x3 stem and no max-pool, for small images: with three
 * stages in the CIFAR form, with four as ResNet-18 (both He et al., Deep Residual Learning for Image Recognition, CVPR
 * 2016). Where the width or the size changes, the shortcut is a 1x1 convolution with batch norm. */
#include <stdio.h>

#include "runtime/base/nearest.h"
#include "runtime/net/layers.h"

enum { MODEL_MAX_STAGES = 4, MODEL_NAME_BYTES = 48 };

typedef struct model_row {
  const char *name;
  void (*build)(plim_net *net, const struct model_row *row);
  int stages, width[MODEL_MAX_STAGES]; /* stages: of a residual network, or hidden layers */
  int blocks;                          /* to a stage */
  float drop;                          /* behind each hidden layer */
} model_row;

/* "stage<s>.block<b>.<part>" */
static const char *part_name(char name[MODEL_NAME_BYTES], int stage, int block, const char *part) {
  (void)snprintf(name, MODEL_NAME_BYTES, "stage%d.block%d.%s", stage, block, part);
  return name;
}

/* conv-bn-relu-conv-bn-add-relu; a stride or another width gives the shortcut a projection. */
static plim_tensor residual_block(plim_net *net, plim_tensor x, int stage, int block, int width, int stride,
                                  int project) {
  char name[MODEL_NAME_BYTES];
  plim_tensor y = plim_net_conv2d(net, part_name(name, stage, block, "conv1"), x, width, 3, stride, 1, 0);
  y = plim_net_batch_norm_relu(net, part_name(name, stage, block, "bn1"), y);
  y = plim_net_conv2d(net, part_name(name, stage, block, "conv2"), y, width, 3, 1, 1, 0);
  plim_tensor shortcut = x;
  if (project) {
    shortcut = plim_net_conv2d(net, part_name(name, stage, block, "project"), x, width, 1, stride, 0, 0);
    shortcut = plim_net_batch_norm(net, part_name(name, stage, block, "project_bn"), shortcut);
  }
  return plim_net_batch_norm_add_relu(net, part_name(name, stage, block, "bn2"), y, shortcut);
}

static void build_resnet(plim_net *net, const model_row *row) {
  plim_tensor x = plim_net_conv2d(net, "stem.conv", plim_net_image(net), row->width[0], 3, 1, 1, 0);
  x = plim_net_batch_norm_relu(net, "stem.bn", x);
  for (int stage = 0; stage < row->stages; stage++) {
    for (int block = 0; block < row->blocks; block++) {
      int change = stage > 0 && block == 0;
      x = residual_block(net, x, stage + 1, block, row->width[stage], change ? 2 : 1, change);
    }
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

static const model_row models[] = {
    {"mlp", build_mlp, 2, {512, 512}, 0, 0.2f},        {"resnet18", build_resnet, 4, {64, 128, 256, 512}, 2, 0},
    {"resnet20", build_resnet, 3, {16, 32, 64}, 3, 0}, {"resnet32", build_resnet, 3, {16, 32, 64}, 5, 0},
    {"resnet56", build_resnet, 3, {16, 32, 64}, 9, 0},
};

const char *plim_model_name(int32_t row) {
  return row >= 0 && row < (int32_t)(sizeof models / sizeof *models) ? models[row].name : NULL;
}

plim_status plim_model_make(plim_context *ctx, const char *model, const plim_net_options *options, plim_net **out) {
  int32_t row = plim_name_find(plim_model_name, model);
  if (row < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "there is no model '%s'; the nearest name is '%s'", model,
                     plim_name_nearest(plim_model_name, model));
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
