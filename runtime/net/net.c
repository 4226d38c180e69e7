/* The list of layers: options, growth, and the first failure, which is kept until a graph is made. So a model can be
 * written layer by layer without a check after each. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/net/layers.h"

/* Values that every graph has; a layer of such a name would collide with them. */
static const char *const reserved_names[] = {"image",      "label", "hyper", "next_image", "next_label",  "image.f32",
                                             "image.bf16", "loss",  "hits",  "tokens",     "next_tokens", "squares"};

plim_net_options plim_net_options_default(void) {
  plim_net_options options = {.struct_bytes = sizeof options,
                              .batch = 128,
                              .channels = 3,
                              .height = 32,
                              .width = 32,
                              .classes = 10,
                              .layout = PLIM_NHWC,
                              .layers = 6,
                              .units = 384,
                              .heads = 6,
                              .accumulate = 1};
  for (int c = 0; c < 4; c++) options.pixel_scale[c] = 1.0f / 255.0f;
  return options;
}

static plim_status check_images(plim_context *ctx, const plim_net_options *options) {
  if (options->channels < 1 || options->channels > 4) {
    return plim_fail(ctx, PLIM_EUSAGE, "images of %d channels; 1 to 4 are allowed", options->channels);
  }
  if (options->height < 1 || options->width < 1) {
    return plim_fail(ctx, PLIM_EUSAGE, "images of %d x %d pixels; at least 1 x 1 is needed", options->height,
                     options->width);
  }
  return PLIM_OK;
}

static plim_status check_sequences(plim_context *ctx, const plim_net_options *options) {
  const int64_t most = options->staging_batch > options->batch ? options->staging_batch : options->batch;
  if (most <= INT32_MAX / options->context) return PLIM_OK;
  return plim_fail(ctx, PLIM_EUSAGE, "a batch of %lld sequences of %d tokens; at most %d tokens are allowed",
                   (long long)most, options->context, INT32_MAX);
}

/* Check the number of micro-batches. The sentence names the nearest numbers that divide the batch. */
static plim_status check_micro_batches(plim_context *ctx, const plim_net_options *options) {
  int32_t less = options->accumulate, more = options->accumulate;
  if (options->accumulate < 1 || options->accumulate > PLIM_ACCUMULATE_MAX) {
    return plim_fail(ctx, PLIM_EUSAGE, "a step of %d micro-batches; 1 to %d are allowed", options->accumulate,
                     PLIM_ACCUMULATE_MAX);
  }
  if (options->accumulate > options->batch) {
    return plim_fail(ctx, PLIM_EUSAGE, "a batch of %d cannot be split into %d micro-batches; at most %d are allowed",
                     options->batch, options->accumulate, options->batch);
  }
  if (options->batch % options->accumulate == 0) return PLIM_OK;
  while (options->batch % less != 0) less--;
  while (options->batch % more != 0) more++;
  return plim_fail(ctx, PLIM_EUSAGE, "a batch of %d cannot be split into %d equal micro-batches; %d or %d can be",
                   options->batch, options->accumulate, less, more);
}

static plim_status options_check(plim_context *ctx, const plim_net_options *options) {
  PLIM_TRY(plim_check_options(ctx, "plim_net_options", options->struct_bytes, sizeof *options));
  if (options->batch < 1) {
    return plim_fail(ctx, PLIM_EUSAGE, "a batch of %d images; at least 1 is needed", options->batch);
  }
  PLIM_TRY(check_micro_batches(ctx, options));
  if (options->staging_batch < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "a staged batch of %d images; at least 1 is needed", options->staging_batch);
  }
  if (options->context == 0) PLIM_TRY(check_images(ctx, options));
  if (options->context > 0) PLIM_TRY(check_sequences(ctx, options));
  if (options->context < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "a context of %d tokens; at least 1 is needed", options->context);
  }
  if (options->classes < 2) return plim_fail(ctx, PLIM_EUSAGE, "%d classes; at least 2 are needed", options->classes);
  if (!plim_layout_name(options->layout)) return plim_fail(ctx, PLIM_EUSAGE, "layout %d is none", (int)options->layout);
  if (!plim_precision_name(options->precision)) {
    return plim_fail(ctx, PLIM_EUSAGE, "precision %d is none", (int)options->precision);
  }
  if (options->states != PLIM_F32 && options->states != PLIM_BF16) {
    return plim_fail(ctx, PLIM_EUSAGE, "states of type %d; f32 and bf16 are allowed", (int)options->states);
  }
  if (plim_optimizer_at((int32_t)options->optimizer)) return PLIM_OK;
  return plim_fail(ctx, PLIM_EUSAGE, "optimizer %d is none", (int)options->optimizer);
}

plim_status plim_net_begin(plim_context *ctx, const char *name, const plim_net_options *options, plim_net **out) {
  PLIM_TRY(options_check(ctx, options));
  if (strlen(name) >= PLIM_NET_NAME_BYTES) {
    return plim_fail(ctx, PLIM_EUSAGE, "the net's name has %zu characters; at most %d are allowed", strlen(name),
                     PLIM_NET_NAME_BYTES - 1);
  }
  plim_net *net = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *net, &net));
  net->ctx = ctx;
  net->options = *options;
  (void)snprintf(net->name, sizeof net->name, "%s", name);
  *out = net;
  return PLIM_OK;
}

void plim_net_free(plim_net *net) {
  if (!net) return;
  for (int32_t i = 0; i < net->n_layers; i++) {
    plim_release(net->ctx, net->layer[i].many_in, net->layer[i].n_in, sizeof *net->layer[i].many_in);
  }
  plim_release(net->ctx, net->layer, net->capacity, sizeof *net->layer);
  plim_release(net->ctx, net, 1, sizeof *net);
}

plim_tensor plim_net_fail(plim_net *net, plim_status status, const char *format, ...) {
  if (net->status != PLIM_OK) return PLIM_NONE;
  va_list args;
  va_start(args, format);
  (void)vsnprintf(net->error, sizeof net->error, format, args);
  va_end(args);
  net->status = status;
  return PLIM_NONE;
}

plim_layout plim_net_layout(const plim_net_options *options, int64_t channels) {
  return channels % plim_layout_block(options->layout) == 0 ? options->layout : PLIM_NHWC;
}

plim_dtype plim_net_dtype(const plim_net *net) {
  return net->options.precision == PLIM_PRECISION_BF16 ? PLIM_BF16 : PLIM_F32;
}

const plim_shape *plim_net_shape(plim_net *net, const char *reader, plim_tensor x) {
  if (x >= 0 && x < net->n_layers && !plim_net_is_loss(&net->layer[x])) return &net->layer[x].out;
  (void)plim_net_fail(net, PLIM_EUSAGE, "layer '%s' reads tensor %d; there are %d", reader, x, net->n_layers);
  return NULL;
}

const plim_tensor *plim_net_inputs(const plim_net_layer *layer) {
  return layer->many_in ? layer->many_in : layer->in;
}

int plim_net_is_loss(const plim_net_layer *layer) {
  return layer->kind == PLIM_NET_SOFTMAX_XENT || layer->kind == PLIM_NET_TIED_XENT;
}

static int name_taken(const plim_net *net, const char *name) {
  for (int32_t i = 0; i < net->n_layers; i++) {
    if (strcmp(net->layer[i].name, name) == 0) return 1;
  }
  return 0;
}

static int name_reserved(const char *name) {
  for (size_t i = 0; i < sizeof reserved_names / sizeof *reserved_names; i++) {
    if (strcmp(reserved_names[i], name) == 0) return 1;
  }
  return 0;
}

plim_op_kind plim_net_product_of(const plim_net_layer *layer) {
  static const plim_op_kind products[PLIM_NET_KIND_COUNT] = {[PLIM_NET_CONV2D] = PLIM_OP_CONV2D,
                                                             [PLIM_NET_DEPTHWISE_CONV2D] = PLIM_OP_DEPTHWISE_CONV2D,
                                                             [PLIM_NET_CONV_TRANSPOSE2D] = PLIM_OP_CONV_TRANSPOSE2D,
                                                             [PLIM_NET_LINEAR] = PLIM_OP_LINEAR};
  return products[layer->kind];
}

plim_shape plim_net_weight_shape(const plim_net *net, const plim_net_layer *layer) {
  const int64_t inputs = net->layer[layer->in[0]].out.dim[1], outputs = layer->out.dim[1];
  int64_t dim[4] = {outputs, inputs, layer->attrs.kernel[0], layer->attrs.kernel[1]};
  if (layer->kind == PLIM_NET_DEPTHWISE_CONV2D) dim[1] = 1;
  if (layer->kind == PLIM_NET_CONV_TRANSPOSE2D) {
    dim[0] = inputs;
    dim[1] = outputs;
  }
  return plim_shape_make(PLIM_F32, PLIM_FLAT, layer->kind == PLIM_NET_LINEAR ? 2 : 4, dim);
}

static int64_t weight_bytes(const plim_net *net, const plim_net_layer *layer) {
  if (plim_net_product_of(layer) == PLIM_OP_CUSTOM) return 0;
  plim_shape shape = plim_net_weight_shape(net, layer);
  return plim_shape_bytes(&shape);
}

static int grow(plim_net *net) {
  if (net->n_layers < net->capacity) return 1;
  int32_t capacity = net->capacity ? 2 * net->capacity : 64;
  plim_status status = plim_resize_array(net->ctx, &net->layer, net->capacity, capacity, sizeof *net->layer);
  if (status != PLIM_OK) {
    (void)plim_net_fail(net, status, "%s", plim_context_error(net->ctx));
    return 0;
  }
  net->capacity = capacity;
  return 1;
}

plim_tensor plim_net_append(plim_net *net, const char *name, const plim_net_layer *layer) {
  if (net->status != PLIM_OK) return PLIM_NONE;
  if (!*name || strlen(name) >= PLIM_NET_NAME_BYTES) {
    return plim_net_fail(net, PLIM_EUSAGE, "layer name '%.80s' has %zu characters; 1 to %d are allowed", name,
                         strlen(name), PLIM_NET_NAME_BYTES - 1);
  }
  int own_name = layer->kind == PLIM_NET_IMAGE || plim_net_is_loss(layer);
  if (!own_name && name_reserved(name)) {
    return plim_net_fail(net, PLIM_EUSAGE, "'%s' is the name of a standard value, no layer can have it", name);
  }
  if (name_taken(net, name)) return plim_net_fail(net, PLIM_EUSAGE, "there are two layers of the name '%s'", name);
  if (plim_shape_bytes(&layer->out) < 0 || weight_bytes(net, layer) < 0) {
    return plim_net_fail(net, PLIM_EOVERFLOW, "layer '%s': the size of its output or its weights overflows", name);
  }
  if (!grow(net)) return PLIM_NONE;
  plim_net_layer *slot = &net->layer[net->n_layers];
  *slot = *layer;
  (void)snprintf(slot->name, sizeof slot->name, "%s", name);
  return net->n_layers++;
}
