/* Forward ops of each layer. Training adds what backward needs: masks, batch statistics and their running averages. */
#include <stdio.h>

#include "runtime/net/row_gradient.h"

static plim_net_ref output_of(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  e->at[i].y = plim_net_emit_value(e, layer->name, "", PLIM_ROLE_ACTIVATION, &layer->out);
  return e->at[i].y;
}

static plim_net_ref input_of(const plim_net_emit *e, int32_t i, int k) {
  return e->at[e->net->layer[i].in[k]].y;
}

/* Whether layer i has a backward op. */
static int has_backward(const plim_net_emit *e, int32_t i) {
  return e->training && e->at[i].trains;
}

/* Add to an op the output that its backward op reads. */
static void save_output(plim_net_emit *e, int32_t i, const char *suffix, plim_dtype dtype, plim_op_spec *spec) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_shape shape = plim_net_emit_typed(&layer->out, dtype);
  e->at[i].saved = plim_net_emit_value(e, layer->name, suffix, PLIM_ROLE_ACTIVATION, &shape);
  spec->out[spec->n_out++] = e->at[i].saved.value;
}

static void forward_image(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  const char *suffix = layer->out.dtype == PLIM_BF16 ? ".bf16" : ".f32";
  e->at[i].y = plim_net_emit_value(e, "image", suffix, PLIM_ROLE_ACTIVATION, &layer->out);
  plim_op_spec spec = {.kind = PLIM_OP_IMAGE,
                       .attrs = layer->attrs,
                       .n_in = 1,
                       .in = {e->image.value},
                       .n_out = 1,
                       .out = {e->at[i].y.value}};
  plim_net_emit_layer_op(e, i, &spec);
}

plim_net_ref plim_net_emit_factor(plim_net_emit *e, const char *layer, const char *suffix, plim_net_ref weight,
                                  const plim_shape *shape) {
  char name[PLIM_NET_SUFFIX_BYTES];
  if (plim_net_dtype(e->net) == PLIM_F32) return weight;
  plim_shape typed = plim_net_emit_typed(shape, PLIM_BF16);
  (void)snprintf(name, sizeof name, "%s.bf16", suffix);
  plim_net_ref copy = plim_net_emit_value(e, layer, name, PLIM_ROLE_ACTIVATION, &typed);
  plim_op_spec spec = {.kind = PLIM_OP_CAST, .n_in = 1, .in = {weight.value}, .n_out = 1, .out = {copy.value}};
  (void)snprintf(name, sizeof name, "%s.cast", suffix);
  plim_net_emit_op(e, layer, name, &spec);
  return copy;
}

/* Convolutions and linear: x, weight [, bias] -> y. */
static void forward_product(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_shape shape = plim_net_weight_shape(e->net, layer);
  const plim_net_ref factor = plim_net_emit_factor(e, layer->name, ".weight", e->at[i].weight.value, &shape);
  plim_op_spec spec = {.kind = plim_net_product_of(layer),
                       .attrs = layer->attrs,
                       .n_in = 2 + layer->bias,
                       .in = {input_of(e, i, 0).value, factor.value, e->at[i].bias.value.value},
                       .n_out = 1,
                       .out = {output_of(e, i).value}};
  plim_net_emit_layer_op(e, i, &spec);
}

/* Batch statistics, and right after them the update of their running averages. */
static void batch_statistics(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_shape shape = plim_net_emit_statistics(layer);
  e->at[i].stats = plim_net_emit_value(e, layer->name, ".stats", PLIM_ROLE_ACTIVATION, &shape);
  plim_op_spec stats = {
      .kind = PLIM_OP_BN_STATS, .n_in = 1, .in = {input_of(e, i, 0).value}, .n_out = 1, .out = {e->at[i].stats.value}};
  plim_op_spec running = {.kind = PLIM_OP_BN_RUNNING,
                          .attrs = {.momentum = layer->attrs.momentum, .count = layer->attrs.count},
                          .n_in = 1,
                          .in = {e->at[i].stats.value},
                          .n_upd = 1,
                          .upd = {e->at[i].running.value}};
  plim_net_emit_op(e, layer->name, ".stats", &stats);
  plim_net_emit_op(e, layer->name, ".running", &running);
}

static void forward_batch_norm(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  if (e->training) batch_statistics(e, i);
  plim_net_ref stats = e->training ? e->at[i].stats : e->at[i].running;
  plim_op_spec spec = {.kind = PLIM_OP_BN_APPLY,
                       .attrs = {.relu = layer->attrs.relu, .add = layer->attrs.add, .eps = layer->attrs.eps},
                       .n_in = 3,
                       .in = {input_of(e, i, 0).value, stats.value, e->at[i].affine.value.value},
                       .n_out = 1,
                       .out = {output_of(e, i).value}};
  if (layer->attrs.add) spec.in[spec.n_in++] = input_of(e, i, 1).value;
  if (layer->attrs.relu && e->training) save_output(e, i, ".mask", PLIM_BITS, &spec);
  plim_net_emit_layer_op(e, i, &spec);
}

/* ReLU and addition, which may have one fused: [a, b] -> y [, mask]. */
static void forward_elementwise(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_op_spec spec = {.kind = layer->kind == PLIM_NET_ADD ? PLIM_OP_ADD : PLIM_OP_RELU,
                       .attrs = layer->attrs,
                       .n_in = layer->n_in,
                       .n_out = 1,
                       .out = {output_of(e, i).value}};
  for (int32_t k = 0; k < layer->n_in; k++) spec.in[k] = input_of(e, i, k).value;
  if (layer->attrs.relu && has_backward(e, i)) save_output(e, i, ".mask", PLIM_BITS, &spec);
  plim_net_emit_layer_op(e, i, &spec);
}

static void forward_max_pool(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_op_spec spec = {.kind = PLIM_OP_MAX_POOL,
                       .attrs = layer->attrs,
                       .n_in = 1,
                       .in = {input_of(e, i, 0).value},
                       .n_out = 1,
                       .out = {output_of(e, i).value}};
  save_output(e, i, ".index", PLIM_U8, &spec);
  plim_net_emit_layer_op(e, i, &spec);
}

static void forward_mean_pool(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_op_spec spec = {.kind = layer->kind == PLIM_NET_AVG_POOL ? PLIM_OP_AVG_POOL : PLIM_OP_GLOBAL_AVG_POOL,
                       .attrs = layer->attrs,
                       .n_in = 1,
                       .in = {input_of(e, i, 0).value},
                       .n_out = 1,
                       .out = {output_of(e, i).value}};
  plim_net_emit_layer_op(e, i, &spec);
}

static void forward_flatten(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  e->at[i].y = plim_net_emit_view(e, layer->name, "", input_of(e, i, 0), &layer->out);
}

static void forward_dropout(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
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
  plim_net_emit_layer_op(e, i, &spec);
}

static void forward_loss(plim_net_emit *e, int32_t i) {
  plim_net_sum loss;
  plim_net_emit_loss(e, &loss);
  plim_op_spec spec = {.kind = PLIM_OP_SOFTMAX_XENT,
                       .n_in = 2,
                       .in = {input_of(e, i, 0).value, e->label.value},
                       .n_out = 2,
                       .out = {loss.value.value, loss.hits.value}};
  save_output(e, i, ".prob", PLIM_F32, &spec);
  plim_net_emit_layer_op(e, i, &spec);
}

/* Ops of one input and one output, whose backward op reads the input. */
static void forward_rows(plim_net_emit *e, int32_t i) {
  static const plim_op_kind kind_of[PLIM_NET_KIND_COUNT] = {[PLIM_NET_GELU] = PLIM_OP_GELU,
                                                            [PLIM_NET_SILU] = PLIM_OP_SILU,
                                                            [PLIM_NET_LAYER_NORM] = PLIM_OP_LAYER_NORM,
                                                            [PLIM_NET_RMS_NORM] = PLIM_OP_RMS_NORM};
  const plim_net_layer *layer = &e->net->layer[i];
  const int norm = layer->kind == PLIM_NET_LAYER_NORM || layer->kind == PLIM_NET_RMS_NORM;
  plim_op_spec spec = {.kind = kind_of[layer->kind],
                       .attrs = layer->attrs,
                       .n_in = 1 + norm,
                       .in = {input_of(e, i, 0).value, e->at[i].affine.value.value},
                       .n_out = 1,
                       .out = {output_of(e, i).value}};
  plim_net_emit_layer_op(e, i, &spec);
}

/* A view of the layer's tensor by sequence. */
static plim_net_ref output_by_sequence(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_shape shape = plim_net_emit_sequences(e->net, &layer->out);
  return plim_net_emit_view(e, layer->name, ".by_sequence", output_of(e, i), &shape);
}

static void forward_embedding(plim_net_emit *e, int32_t i) {
  plim_op_spec spec = {.kind = PLIM_OP_EMBEDDING,
                       .n_in = 3,
                       .in = {e->image.value, e->at[i].weight.value.value, e->at[i].positions.value.value},
                       .n_out = 1,
                       .out = {output_by_sequence(e, i).value}};
  plim_net_emit_layer_op(e, i, &spec);
}

static void forward_attention(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_net_emitted *at = &e->at[i];
  plim_shape in = plim_net_emit_sequences(e->net, &e->net->layer[layer->in[0]].out);
  const plim_net_ref qkv = plim_net_emit_view(e, layer->name, ".qkv", input_of(e, i, 0), &in);
  const plim_net_ref y = output_by_sequence(e, i);
  plim_shape lse = plim_shape_make(PLIM_F32, PLIM_FLAT, 3, (int64_t[]){in.dim[0], in.dim[1], layer->heads});
  at->saved = plim_net_emit_value(e, layer->name, ".lse", PLIM_ROLE_ACTIVATION, &lse);
  plim_op_spec spec = {
      .kind = PLIM_OP_ATTENTION, .n_in = 1, .in = {qkv.value}, .n_out = 2, .out = {y.value, at->saved.value}};
  plim_net_emit_layer_op(e, i, &spec);
}

static void forward_tied_loss(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_net_emitted *at = &e->at[i];
  const plim_net_ref words = e->at[layer->in[1]].weight.value;
  plim_shape table = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){e->net->options.classes, layer->out.dim[1]});
  plim_shape lse_shape = plim_net_emit_vector(PLIM_F32, layer->out.dim[0]);
  const plim_net_ref factor = plim_net_emit_factor(e, e->net->layer[layer->in[1]].name, ".words", words, &table);
  plim_net_sum loss;
  plim_net_emit_loss(e, &loss);
  at->saved = plim_net_emit_value(e, layer->name, ".lse", PLIM_ROLE_ACTIVATION, &lse_shape);
  plim_op_spec spec = {.kind = PLIM_OP_LINEAR_XENT,
                       .n_in = 3,
                       .in = {input_of(e, i, 0).value, e->label.value, factor.value},
                       .n_out = 3,
                       .out = {loss.value.value, loss.hits.value, at->saved.value}};
  plim_net_emit_layer_op(e, i, &spec);
}

static void (*const forward_of[PLIM_NET_KIND_COUNT])(plim_net_emit *, int32_t) = {
    [PLIM_NET_IMAGE] = forward_image,
    [PLIM_NET_CONV2D] = forward_product,
    [PLIM_NET_DEPTHWISE_CONV2D] = forward_product,
    [PLIM_NET_CONV_TRANSPOSE2D] = forward_product,
    [PLIM_NET_BATCH_NORM] = forward_batch_norm,
    [PLIM_NET_RELU] = forward_elementwise,
    [PLIM_NET_ADD] = forward_elementwise,
    [PLIM_NET_MAX_POOL] = forward_max_pool,
    [PLIM_NET_AVG_POOL] = forward_mean_pool,
    [PLIM_NET_GLOBAL_AVG_POOL] = forward_mean_pool,
    [PLIM_NET_FLATTEN] = forward_flatten,
    [PLIM_NET_LINEAR] = forward_product,
    [PLIM_NET_DROPOUT] = forward_dropout,
    [PLIM_NET_SOFTMAX_XENT] = forward_loss,
    [PLIM_NET_EMBEDDING] = forward_embedding,
    [PLIM_NET_LAYER_NORM] = forward_rows,
    [PLIM_NET_RMS_NORM] = forward_rows,
    [PLIM_NET_GELU] = forward_rows,
    [PLIM_NET_SILU] = forward_rows,
    [PLIM_NET_ATTENTION] = forward_attention,
    [PLIM_NET_TIED_XENT] = forward_tied_loss,
    [PLIM_NET_OP] = plim_net_emit_op_forward};

void plim_net_emit_forward(plim_net_emit *e) {
  for (int32_t i = 0; i < e->net->n_layers; i++) forward_of[e->net->layer[i].kind](e, i);
}
