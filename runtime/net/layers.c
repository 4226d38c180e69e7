/* The shape of each layer's tensor, and the checks on the layer's arguments. */
#include "runtime/net/layers.h"

static const float bn_epsilon = 1e-5f;
static const float bn_momentum = 0.1f;

static plim_shape shape_rank4(const plim_net *net, int64_t n, int64_t c, int64_t h, int64_t w) {
  return plim_shape_make(plim_net_dtype(net), plim_net_layout(&net->options, c), 4, (int64_t[]){n, c, h, w});
}

static plim_shape shape_rank2(const plim_net *net, int64_t rows, int64_t columns) {
  return plim_shape_make(plim_net_dtype(net), PLIM_FLAT, 2, (int64_t[]){rows, columns});
}

/* The shape of x when it has `rank` dimensions, NULL (and the net has failed) otherwise. */
static const plim_shape *shape_of_rank(plim_net *net, const char *name, plim_tensor x, int rank) {
  const plim_shape *in = net->status == PLIM_OK ? plim_net_shape(net, name, x) : NULL;
  if (!in || in->rank == rank) return in;
  (void)plim_net_fail(net, PLIM_EUSAGE, "layer '%s' reads %d dimensions; %d are needed", name, in->rank, rank);
  return NULL;
}

static int shapes_equal(const plim_shape *a, const plim_shape *b) {
  if (a->dtype != b->dtype || a->layout != b->layout || a->rank != b->rank) return 0;
  for (int i = 0; i < PLIM_MAX_RANK; i++) {
    if (a->dim[i] != b->dim[i]) return 0;
  }
  return 1;
}

/* Whether both operands of an addition are tensors of equal shape; if not, the net has failed. */
static int addends_fit(plim_net *net, const char *name, plim_tensor a, plim_tensor b) {
  const plim_shape *left = net->status == PLIM_OK ? plim_net_shape(net, name, a) : NULL;
  const plim_shape *right = left ? plim_net_shape(net, name, b) : NULL;
  if (!right) return 0;
  if (shapes_equal(left, right)) return 1;
  (void)plim_net_fail(net, PLIM_EUSAGE, "layer '%s' adds [%lld,%lld,%lld,%lld] and [%lld,%lld,%lld,%lld]", name,
                      (long long)left->dim[0], (long long)left->dim[1], (long long)left->dim[2],
                      (long long)left->dim[3], (long long)right->dim[0], (long long)right->dim[1],
                      (long long)right->dim[2], (long long)right->dim[3]);
  return 0;
}

/* Number of places of a window of `kernel` along `size`; 0: it does not fit. */
static int64_t window_count(int64_t size, plim_net_window w) {
  int64_t span = size + 2 * (int64_t)w.pad - w.kernel;
  return span < 0 ? 0 : span / w.stride + 1;
}

/* A stride of 0 stands for 1. */
static plim_net_window with_stride(plim_net_window w) {
  if (w.stride == 0) w.stride = 1;
  return w;
}

static int window_fits(plim_net *net, const char *name, const plim_shape *in, plim_net_window w) {
  const int kernel = w.kernel, stride = w.stride, pad = w.pad;
  if (kernel < 1 || stride < 1 || pad < 0 || pad >= kernel) {
    (void)plim_net_fail(
        net, PLIM_EUSAGE,
        "layer '%s': kernel %d, stride %d, padding %d; stride >= 1 and kernel > padding >= 0 are needed", name, kernel,
        stride, pad);
    return 0;
  }
  if ((int64_t)kernel * kernel > PLIM_WINDOW_PLACES) {
    (void)plim_net_fail(net, PLIM_EUSAGE, "layer '%s': a window of %d x %d has more than %d places", name, kernel,
                        kernel, (int)PLIM_WINDOW_PLACES);
    return 0;
  }
  if (window_count(in->dim[2], w) < 1 || window_count(in->dim[3], w) < 1) {
    (void)plim_net_fail(net, PLIM_EUSAGE, "layer '%s': a kernel of %d with padding %d does not fit into %lld x %lld",
                        name, kernel, pad, (long long)in->dim[2], (long long)in->dim[3]);
    return 0;
  }
  return 1;
}

static int tf32_of(const plim_net *net) {
  return net->options.precision == PLIM_PRECISION_TF32;
}

static plim_attrs window_attrs(plim_net_window w) {
  return (plim_attrs){.kernel = {w.kernel, w.kernel}, .stride = {w.stride, w.stride}, .pad = {w.pad, w.pad}};
}

/* The image is flat where activations are blocked: its few channels do not fill a block, and libraries have
 * convolutions from planes into blocks. */
plim_tensor plim_net_image(plim_net *net) {
  const plim_net_options *o = &net->options;
  plim_layout layout = o->layout == PLIM_NHWC ? PLIM_NHWC : PLIM_FLAT;
  plim_net_layer layer = {
      .kind = PLIM_NET_IMAGE,
      .out = plim_shape_make(plim_net_dtype(net), layout, 4,
                             (int64_t[]){plim_net_micro_batch(net), o->channels, o->height, o->width})};
  for (int c = 0; c < 4; c++) {
    layer.attrs.scale[c] = o->pixel_scale[c];
    layer.attrs.shift[c] = o->pixel_shift[c];
  }
  return plim_net_append(net, "image", &layer);
}

plim_tensor plim_net_conv2d(plim_net *net, const char *name, plim_tensor x, int filters, plim_net_window window,
                            int bias) {
  const plim_shape *in = shape_of_rank(net, name, x, 4);
  const plim_net_window w = with_stride(window);
  if (!in || !window_fits(net, name, in, w)) return PLIM_NONE;
  if (filters < 1) {
    return plim_net_fail(net, PLIM_EUSAGE, "layer '%s': %d filters; at least 1 is needed", name, filters);
  }
  int64_t rows = window_count(in->dim[2], w);
  int64_t columns = window_count(in->dim[3], w);
  plim_net_layer layer = {.kind = PLIM_NET_CONV2D,
                          .n_in = 1,
                          .in = {x},
                          .bias = bias != 0,
                          .attrs = window_attrs(w),
                          .out = shape_rank4(net, in->dim[0], filters, rows, columns)};
  layer.attrs.tf32 = tf32_of(net);
  return plim_net_append(net, name, &layer);
}

plim_tensor plim_net_depthwise_conv2d(plim_net *net, const char *name, plim_tensor x, plim_net_window window) {
  const plim_shape *in = shape_of_rank(net, name, x, 4);
  const plim_net_window w = with_stride(window);
  if (!in || !window_fits(net, name, in, w)) return PLIM_NONE;
  if ((int64_t)w.kernel * w.kernel > PLIM_DEPTHWISE_TAPS) {
    return plim_net_fail(net, PLIM_EUSAGE, "layer '%s': a filter of %d x %d; at most %d taps are allowed", name,
                         w.kernel, w.kernel, PLIM_DEPTHWISE_TAPS);
  }
  int64_t rows = window_count(in->dim[2], w);
  int64_t columns = window_count(in->dim[3], w);
  plim_net_layer layer = {.kind = PLIM_NET_DEPTHWISE_CONV2D,
                          .n_in = 1,
                          .in = {x},
                          .attrs = window_attrs(w),
                          .out = shape_rank4(net, in->dim[0], in->dim[1], rows, columns)};
  return plim_net_append(net, name, &layer);
}

plim_tensor plim_net_conv_transpose2d(plim_net *net, const char *name, plim_tensor x, int filters,
                                      plim_net_window window) {
  const plim_net_window w = with_stride(window);
  const plim_shape *in = shape_of_rank(net, name, x, 4);
  if (!in) return PLIM_NONE;
  if (filters < 1) {
    return plim_net_fail(net, PLIM_EUSAGE, "layer '%s': %d filters; at least 1 is needed", name, filters);
  }
  int64_t size[2];
  for (int i = 0; i < 2; i++) size[i] = (in->dim[2 + i] - 1) * w.stride + w.kernel - 2 * (int64_t)w.pad;
  if (w.kernel < 1 || w.stride < 1 || w.pad < 0 || w.pad >= w.kernel || size[0] < 1 || size[1] < 1) {
    return plim_net_fail(net, PLIM_EUSAGE,
                         "layer '%s': kernel %d, stride %d, padding %d; stride >= 1 and kernel > padding >= 0 are "
                         "needed, and a result of at least one pixel",
                         name, w.kernel, w.stride, w.pad);
  }
  plim_net_layer layer = {.kind = PLIM_NET_CONV_TRANSPOSE2D,
                          .n_in = 1,
                          .in = {x},
                          .attrs = window_attrs(w),
                          .out = shape_rank4(net, in->dim[0], filters, size[0], size[1])};
  layer.attrs.tf32 = tf32_of(net);
  return plim_net_append(net, name, &layer);
}

static plim_tensor batch_norm(plim_net *net, const char *name, plim_tensor x, plim_tensor shortcut, int relu, int add) {
  const plim_shape *in = shape_of_rank(net, name, x, 4);
  if (!in || (add && !addends_fit(net, name, x, shortcut))) return PLIM_NONE;
  int64_t count = in->dim[0] * in->dim[2] * in->dim[3];
  if (count < 2) {
    return plim_net_fail(net, PLIM_EUSAGE, "layer '%s' normalises over %lld element; at least 2 are needed", name,
                         (long long)count);
  }
  plim_net_layer layer = {
      .kind = PLIM_NET_BATCH_NORM,
      .n_in = 1 + add,
      .in = {x, shortcut},
      .attrs = {.relu = relu, .add = add, .eps = bn_epsilon, .momentum = bn_momentum, .count = count},
      .out = *in};
  return plim_net_append(net, name, &layer);
}

plim_tensor plim_net_batch_norm(plim_net *net, const char *name, plim_tensor x) {
  return batch_norm(net, name, x, PLIM_NONE, 0, 0);
}
plim_tensor plim_net_batch_norm_relu(plim_net *net, const char *name, plim_tensor x) {
  return batch_norm(net, name, x, PLIM_NONE, 1, 0);
}
plim_tensor plim_net_batch_norm_add_relu(plim_net *net, const char *name, plim_tensor x, plim_tensor shortcut) {
  return batch_norm(net, name, x, shortcut, 1, 1);
}

plim_tensor plim_net_relu(plim_net *net, const char *name, plim_tensor x) {
  const plim_shape *in = net->status == PLIM_OK ? plim_net_shape(net, name, x) : NULL;
  if (!in) return PLIM_NONE;
  plim_net_layer layer = {.kind = PLIM_NET_RELU, .n_in = 1, .in = {x}, .attrs = {.relu = 1}, .out = *in};
  return plim_net_append(net, name, &layer);
}

static plim_tensor addition(plim_net *net, const char *name, plim_tensor a, plim_tensor b, int relu) {
  if (!addends_fit(net, name, a, b)) return PLIM_NONE;
  plim_net_layer layer = {
      .kind = PLIM_NET_ADD, .n_in = 2, .in = {a, b}, .attrs = {.relu = relu}, .out = net->layer[a].out};
  return plim_net_append(net, name, &layer);
}

plim_tensor plim_net_add(plim_net *net, const char *name, plim_tensor a, plim_tensor b) {
  return addition(net, name, a, b, 0);
}
plim_tensor plim_net_add_relu(plim_net *net, const char *name, plim_tensor a, plim_tensor b) {
  return addition(net, name, a, b, 1);
}

static plim_tensor pool(plim_net *net, const char *name, plim_net_kind kind, plim_tensor x, plim_net_window window) {
  const plim_shape *in = shape_of_rank(net, name, x, 4);
  const plim_net_window w = with_stride(window);
  if (!in || !window_fits(net, name, in, w)) return PLIM_NONE;
  if (kind == PLIM_NET_MAX_POOL && w.kernel > 16) {
    return plim_net_fail(net, PLIM_EUSAGE, "layer '%s': a window of %d x %d has more than the 256 places of one byte",
                         name, w.kernel, w.kernel);
  }
  int64_t rows = window_count(in->dim[2], w);
  int64_t columns = window_count(in->dim[3], w);
  plim_net_layer layer = {.kind = kind,
                          .n_in = 1,
                          .in = {x},
                          .attrs = window_attrs(w),
                          .out = shape_rank4(net, in->dim[0], in->dim[1], rows, columns)};
  return plim_net_append(net, name, &layer);
}

plim_tensor plim_net_max_pool(plim_net *net, const char *name, plim_tensor x, plim_net_window window) {
  return pool(net, name, PLIM_NET_MAX_POOL, x, window);
}
plim_tensor plim_net_avg_pool(plim_net *net, const char *name, plim_tensor x, plim_net_window window) {
  return pool(net, name, PLIM_NET_AVG_POOL, x, window);
}

plim_tensor plim_net_global_avg_pool(plim_net *net, const char *name, plim_tensor x) {
  const plim_shape *in = shape_of_rank(net, name, x, 4);
  if (!in) return PLIM_NONE;
  plim_net_layer layer = {
      .kind = PLIM_NET_GLOBAL_AVG_POOL, .n_in = 1, .in = {x}, .out = shape_rank2(net, in->dim[0], in->dim[1])};
  return plim_net_append(net, name, &layer);
}

plim_tensor plim_net_flatten(plim_net *net, const char *name, plim_tensor x) {
  const plim_shape *in = shape_of_rank(net, name, x, 4);
  if (!in) return PLIM_NONE;
  int64_t columns = plim_shape_elements(in) / in->dim[0];
  plim_net_layer layer = {.kind = PLIM_NET_FLATTEN, .n_in = 1, .in = {x}, .out = shape_rank2(net, in->dim[0], columns)};
  return plim_net_append(net, name, &layer);
}

plim_tensor plim_net_linear(plim_net *net, const char *name, plim_tensor x, int units) {
  const plim_shape *in = shape_of_rank(net, name, x, 2);
  if (!in) return PLIM_NONE;
  if (units < 1) return plim_net_fail(net, PLIM_EUSAGE, "layer '%s': %d units; at least 1 is needed", name, units);
  plim_net_layer layer = {.kind = PLIM_NET_LINEAR,
                          .n_in = 1,
                          .in = {x},
                          .bias = 1,
                          .attrs = {.tf32 = tf32_of(net)},
                          .out = shape_rank2(net, in->dim[0], units)};
  return plim_net_append(net, name, &layer);
}

plim_tensor plim_net_dropout(plim_net *net, const char *name, plim_tensor x, float drop) {
  const plim_shape *in = net->status == PLIM_OK ? plim_net_shape(net, name, x) : NULL;
  if (!in) return PLIM_NONE;
  if (!(drop >= 0.0f && drop < 1.0f)) {
    return plim_net_fail(net, PLIM_EUSAGE, "layer '%s': a drop of %g; 0 <= drop < 1 is needed", name, (double)drop);
  }
  plim_net_layer layer = {.kind = PLIM_NET_DROPOUT, .n_in = 1, .in = {x}, .attrs = {.drop = drop}, .out = *in};
  return plim_net_append(net, name, &layer);
}

void plim_net_softmax_xent(plim_net *net, plim_tensor logits) {
  const plim_shape *in = shape_of_rank(net, "loss", logits, 2);
  if (!in) return;
  if (in->dim[1] != net->options.classes) {
    (void)plim_net_fail(net, PLIM_EUSAGE, "the loss reads %lld logits an image; there are %d classes",
                        (long long)in->dim[1], net->options.classes);
    return;
  }
  plim_net_layer layer = {.kind = PLIM_NET_SOFTMAX_XENT, .n_in = 1, .in = {logits}, .out = *in};
  (void)plim_net_append(net, "loss", &layer);
}
