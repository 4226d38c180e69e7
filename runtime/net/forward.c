/* Forward ops of each layer. Training adds what backward needs: masks, batch statistics and their running averages. */
#include "runtime/net/emit.h"

static emit_ref output_of(emit *e, int32_t i) {
  const net_layer *layer = &e->net->layer[i];
  e->at[i].y = emit_value(e, layer->name, "", PLIM_ROLE_ACTIVATION, &layer->out);
  return e->at[i].y;
}

static emit_ref input_of(const emit *e, int32_t i, int k) {
  return e->at[e->net->layer[i].in[k]].y;
}

/* Does a backward op of layer i exist? */
static int goes_back(const emit *e, int32_t i) {
  return e->training && e->at[i].trains;
}

/* Add to an op the output that its backward op reads. */
static void save_output(emit *e, int32_t i, const char *suffix, plim_dtype dtype, plim_op_spec *spec) {
  const net_layer *layer = &e->net->layer[i];
  plim_shape shape = emit_typed(&layer->out, dtype);
  e->at[i].saved = emit_value(e, layer->name, suffix, PLIM_ROLE_ACTIVATION, &shape);
  spec->out[spec->n_out++] = e->at[i].saved.value;
}

static void forward_image(emit *e, int32_t i) {
  const net_layer *layer = &e->net->layer[i];
  e->at[i].y = emit_value(e, "image", ".f32", PLIM_ROLE_ACTIVATION, &layer->out);
  plim_op_spec spec = {.kind = PLIM_OP_IMAGE,
                       .attrs = layer->attrs,
                       .n_in = 1,
                       .in = {e->image.value},
                       .n_out = 1,
                       .out = {e->at[i].y.value}};
  emit_op(e, layer->name, "", &spec);
}

/* Convolution and linear: x, weight [, bias] -> y. */
static void forward_product(emit *e, int32_t i) {
  const net_layer *layer = &e->net->layer[i];
  plim_op_spec spec = {.kind = layer->kind == NET_CONV2D ? PLIM_OP_CONV2D : PLIM_OP_LINEAR,
                       .attrs = layer->attrs,
                       .n_in = 2 + layer->bias,
                       .in = {input_of(e, i, 0).value, e->at[i].weight.value.value, e->at[i].bias.value.value},
                       .n_out = 1,
                       .out = {output_of(e, i).value}};
  emit_op(e, layer->name, "", &spec);
}

/* Batch statistics, and their running averages as soon as they are there. */
static void batch_statistics(emit *e, int32_t i) {
  const net_layer *layer = &e->net->layer[i];
  plim_shape shape = emit_statistics(layer);
  e->at[i].stats = emit_value(e, layer->name, ".stats", PLIM_ROLE_ACTIVATION, &shape);
  plim_op_spec stats = {
      .kind = PLIM_OP_BN_STATS, .n_in = 1, .in = {input_of(e, i, 0).value}, .n_out = 1, .out = {e->at[i].stats.value}};
  plim_op_spec running = {.kind = PLIM_OP_BN_RUNNING,
                          .attrs = {.momentum = layer->attrs.momentum, .count = layer->attrs.count},
                          .n_in = 1,
                          .in = {e->at[i].stats.value},
                          .n_upd = 1,
                          .upd = {e->at[i].running.value}};
  emit_op(e, layer->name, ".stats", &stats);
  emit_op(e, layer->name, ".running", &running);
}

static void forward_batch_norm(emit *e, int32_t i) {
  const net_layer *layer = &e->net->layer[i];
  if (e->training) batch_statistics(e, i);
  emit_ref stats = e->training ? e->at[i].stats : e->at[i].running;
  plim_op_spec spec = {.kind = PLIM_OP_BN_APPLY,
                       .attrs = {.relu = layer->attrs.relu, .add = layer->attrs.add, .eps = layer->attrs.eps},
                       .n_in = 3,
                       .in = {input_of(e, i, 0).value, stats.value, e->at[i].affine.value.value},
                       .n_out = 1,
                       .out = {output_of(e, i).value}};
  if (layer->attrs.add) spec.in[spec.n_in++] = input_of(e, i, 1).value;
  if (layer->attrs.relu && e->training) save_output(e, i, ".mask", PLIM_BITS, &spec);
  emit_op(e, layer->name, "", &spec);
}

/* ReLU and addition, which may have one fused: [a, b] -> y [, mask]. */
static void forward_elementwise(emit *e, int32_t i) {
  const net_layer *layer = &e->net->layer[i];
  plim_op_spec spec = {.kind = layer->kind == NET_ADD ? PLIM_OP_ADD : PLIM_OP_RELU,
                       .attrs = layer->attrs,
                       .n_in = layer->n_in,
                       .n_out = 1,
                       .out = {output_of(e, i).value}};
  for (int32_t k = 0; k < layer->n_in; k++) spec.in[k] = input_of(e, i, k).value;
  if (layer->attrs.relu && goes_back(e, i)) save_output(e, i, ".mask", PLIM_BITS, &spec);
  emit_op(e, layer->name, "", &spec);
}

static void forward_max_pool(emit *e, int32_t i) {
  const net_layer *layer = &e->net->layer[i];
  plim_op_spec spec = {.kind = PLIM_OP_MAX_POOL,
                       .attrs = layer->attrs,
                       .n_in = 1,
                       .in = {input_of(e, i, 0).value},
                       .n_out = 1,
                       .out = {output_of(e, i).value}};
  save_output(e, i, ".index", PLIM_U8, &spec);
  emit_op(e, layer->name, "", &spec);
}

static void forward_mean_pool(emit *e, int32_t i) {
  const net_layer *layer = &e->net->layer[i];
  plim_op_spec spec = {.kind = layer->kind == NET_AVG_POOL ? PLIM_OP_AVG_POOL : PLIM_OP_GLOBAL_AVG_POOL,
                       .attrs = layer->attrs,
                       .n_in = 1,
                       .in = {input_of(e, i, 0).value},
                       .n_out = 1,
                       .out = {output_of(e, i).value}};
  emit_op(e, layer->name, "", &spec);
}

static void forward_flatten(emit *e, int32_t i) {
  const net_layer *layer = &e->net->layer[i];
  e->at[i].y = emit_view(e, layer->name, "", input_of(e, i, 0), &layer->out);
}

static void forward_dropout(emit *e, int32_t i) {
  const net_layer *layer = &e->net->layer[i];
  if (!e->training) {
    e->at[i].y = input_of(e, i, 0);
    return;
  }
  plim_op_spec spec = {.kind = PLIM_OP_DROPOUT,
                       .attrs = layer->attrs,
                       .n_in = 1,
                       .in = {input_of(e, i, 0).value},
                       .n_out = 1,
                       .out = {output_of(e, i).value}};
  save_output(e, i, ".mask", PLIM_BITS, &spec);
  emit_op(e, layer->name, "", &spec);
}

static void forward_loss(emit *e, int32_t i) {
  const net_layer *layer = &e->net->layer[i];
  plim_shape loss_shape = emit_vector(PLIM_F32, 1);
  plim_shape hits_shape = emit_vector(PLIM_I32, 2);
  emit_ref loss = emit_value(e, "loss", "", PLIM_ROLE_OUTPUT, &loss_shape);
  emit_ref hits = emit_value(e, "hits", "", PLIM_ROLE_OUTPUT, &hits_shape);
  plim_op_spec spec = {.kind = PLIM_OP_SOFTMAX_XENT,
                       .n_in = 2,
                       .in = {input_of(e, i, 0).value, e->label.value},
                       .n_out = 2,
                       .out = {loss.value, hits.value}};
  save_output(e, i, ".prob", PLIM_F32, &spec);
  emit_op(e, layer->name, "", &spec);
}

static void (*const forward_of[NET_KIND_COUNT])(emit *, int32_t) = {
    [NET_IMAGE] = forward_image,           [NET_CONV2D] = forward_product,
    [NET_BATCH_NORM] = forward_batch_norm, [NET_RELU] = forward_elementwise,
    [NET_ADD] = forward_elementwise,       [NET_MAX_POOL] = forward_max_pool,
    [NET_AVG_POOL] = forward_mean_pool,    [NET_GLOBAL_AVG_POOL] = forward_mean_pool,
    [NET_FLATTEN] = forward_flatten,       [NET_LINEAR] = forward_product,
    [NET_DROPOUT] = forward_dropout,       [NET_SOFTMAX_XENT] = forward_loss};

void emit_forward(emit *e) {
  for (int32_t i = 0; i < e->net->n_layers; i++) forward_of[e->net->layer[i].kind](e, i);
}
