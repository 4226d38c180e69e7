/* Forward ops of each layer. Training adds what backward needs: masks, batch statistics and their running averages. */
#include <stdio.h>

#include "runtime/net/row_gradient.h"

static plim_net_ref output_of(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  emit->at[i].y = plim_net_emit_value(emit, layer->name, "", PLIM_ROLE_ACTIVATION, &layer->out);
  return emit->at[i].y;
}

static plim_net_ref input_of(const plim_net_emit *emit, int32_t i, int k) {
  return emit->at[emit->net->layer[i].in[k]].y;
}

/* Whether layer i has a backward op. */
static int has_backward(const plim_net_emit *emit, int32_t i) {
  return emit->training && emit->at[i].trains;
}

/* Add to an op the output that its backward op reads. */
static void save_output(plim_net_emit *emit, int32_t i, const char *suffix, plim_dtype dtype, plim_op_spec *spec) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_shape shape = plim_net_emit_typed(&layer->out, dtype);
  emit->at[i].saved = plim_net_emit_value(emit, layer->name, suffix, PLIM_ROLE_ACTIVATION, &shape);
  spec->out[spec->n_out++] = emit->at[i].saved.value;
}

static void forward_image(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const char *suffix = layer->out.dtype == PLIM_BF16 ? ".bf16" : ".f32";
  emit->at[i].y = plim_net_emit_value(emit, "image", suffix, PLIM_ROLE_ACTIVATION, &layer->out);
  plim_op_spec spec = {.kind = PLIM_OP_IMAGE,
                       .attrs = layer->attrs,
                       .n_in = 1,
                       .in = {emit->image.value},
                       .n_out = 1,
                       .out = {emit->at[i].y.value}};
  plim_net_emit_layer_op(emit, i, &spec);
}

plim_net_ref plim_net_emit_factor(plim_net_emit *emit, const char *layer, const char *suffix, plim_net_ref weight,
                                  const plim_shape *shape) {
  char name[PLIM_NET_SUFFIX_BYTES];
  if (plim_net_dtype(emit->net) == PLIM_F32) return weight;
  plim_shape typed = plim_net_emit_typed(shape, PLIM_BF16);
  (void)snprintf(name, sizeof name, "%s.bf16", suffix);
  plim_net_ref copy = plim_net_emit_value(emit, layer, name, PLIM_ROLE_ACTIVATION, &typed);
  plim_op_spec spec = {.kind = PLIM_OP_CAST, .n_in = 1, .in = {weight.value}, .n_out = 1, .out = {copy.value}};
  (void)snprintf(name, sizeof name, "%s.cast", suffix);
  plim_net_emit_op(emit, layer, name, &spec);
  return copy;
}

/* Convolutions and linear: x, weight [, bias] -> y. */
static void forward_product(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_shape shape = plim_net_weight_shape(emit->net, layer);
  const plim_net_ref factor = plim_net_emit_factor(emit, layer->name, ".weight", emit->at[i].weight.value, &shape);
  plim_op_spec spec = {.kind = plim_net_product_of(layer),
                       .attrs = layer->attrs,
                       .n_in = 2 + layer->bias,
                       .in = {input_of(emit, i, 0).value, factor.value, emit->at[i].bias.value.value},
                       .n_out = 1,
                       .out = {output_of(emit, i).value}};
  plim_net_emit_layer_op(emit, i, &spec);
}

/* Batch statistics, and right after them the update of their running averages. */
static void batch_statistics(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_shape shape = plim_net_emit_statistics(layer);
  emit->at[i].stats = plim_net_emit_value(emit, layer->name, ".stats", PLIM_ROLE_ACTIVATION, &shape);
  plim_op_spec stats = {.kind = PLIM_OP_BN_STATS,
                        .n_in = 1,
                        .in = {input_of(emit, i, 0).value},
                        .n_out = 1,
                        .out = {emit->at[i].stats.value}};
  plim_op_spec running = {.kind = PLIM_OP_BN_RUNNING,
                          .attrs = {.momentum = layer->attrs.momentum, .count = layer->attrs.count},
                          .n_in = 1,
                          .in = {emit->at[i].stats.value},
                          .n_upd = 1,
                          .upd = {emit->at[i].running.value}};
  plim_net_emit_op(emit, layer->name, ".stats", &stats);
  plim_net_emit_op(emit, layer->name, ".running", &running);
}

static void forward_batch_norm(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  if (emit->training) batch_statistics(emit, i);
  plim_net_ref stats = emit->training ? emit->at[i].stats : emit->at[i].running;
  plim_op_spec spec = {.kind = PLIM_OP_BN_APPLY,
                       .attrs = {.relu = layer->attrs.relu, .add = layer->attrs.add, .eps = layer->attrs.eps},
                       .n_in = 3,
                       .in = {input_of(emit, i, 0).value, stats.value, emit->at[i].affine.value.value},
                       .n_out = 1,
                       .out = {output_of(emit, i).value}};
  if (layer->attrs.add) spec.in[spec.n_in++] = input_of(emit, i, 1).value;
  if (layer->attrs.relu && emit->training) save_output(emit, i, ".mask", PLIM_BITS, &spec);
  plim_net_emit_layer_op(emit, i, &spec);
}

/* ReLU and addition, which may have one fused: [a, b] -> y [, mask]. */
static void forward_elementwise(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_op_spec spec = {.kind = layer->kind == PLIM_NET_ADD ? PLIM_OP_ADD : PLIM_OP_RELU,
                       .attrs = layer->attrs,
                       .n_in = layer->n_in,
                       .n_out = 1,
                       .out = {output_of(emit, i).value}};
  for (int32_t k = 0; k < layer->n_in; k++) spec.in[k] = input_of(emit, i, k).value;
  if (layer->attrs.relu && has_backward(emit, i)) save_output(emit, i, ".mask", PLIM_BITS, &spec);
  plim_net_emit_layer_op(emit, i, &spec);
}

static void forward_max_pool(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_op_spec spec = {.kind = PLIM_OP_MAX_POOL,
                       .attrs = layer->attrs,
                       .n_in = 1,
                       .in = {input_of(emit, i, 0).value},
                       .n_out = 1,
                       .out = {output_of(emit, i).value}};
  save_output(emit, i, ".index", PLIM_U8, &spec);
  plim_net_emit_layer_op(emit, i, &spec);
}

static void forward_mean_pool(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_op_spec spec = {.kind = layer->kind == PLIM_NET_AVG_POOL ? PLIM_OP_AVG_POOL : PLIM_OP_GLOBAL_AVG_POOL,
                       .attrs = layer->attrs,
                       .n_in = 1,
                       .in = {input_of(emit, i, 0).value},
                       .n_out = 1,
                       .out = {output_of(emit, i).value}};
  plim_net_emit_layer_op(emit, i, &spec);
}

static void forward_flatten(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  emit->at[i].y = plim_net_emit_view(emit, layer->name, "", input_of(emit, i, 0), &layer->out);
}

static void forward_dropout(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  if (!emit->training) {
    emit->at[i].y = input_of(emit, i, 0);
    return;
  }
  plim_op_spec spec = {.kind = PLIM_OP_DROPOUT,
                       .attrs = layer->attrs,
                       .n_in = 1,
                       .in = {input_of(emit, i, 0).value},
                       .n_out = 1,
                       .out = {output_of(emit, i).value}};
  save_output(emit, i, ".mask", PLIM_BITS, &spec);
  plim_net_emit_layer_op(emit, i, &spec);
}

static void forward_loss(plim_net_emit *emit, int32_t i) {
  plim_net_sum loss;
  plim_net_emit_loss(emit, &loss);
  plim_op_spec spec = {.kind = PLIM_OP_SOFTMAX_XENT,
                       .n_in = 2,
                       .in = {input_of(emit, i, 0).value, emit->label.value},
                       .n_out = 2,
                       .out = {loss.value.value, loss.hits.value}};
  save_output(emit, i, ".prob", PLIM_F32, &spec);
  plim_net_emit_layer_op(emit, i, &spec);
}

/* Ops of one input and one output, whose backward op reads the input. */
static void forward_rows(plim_net_emit *emit, int32_t i) {
  static const plim_op_kind kind_of[PLIM_NET_KIND_COUNT] = {[PLIM_NET_GELU] = PLIM_OP_GELU,
                                                            [PLIM_NET_SILU] = PLIM_OP_SILU,
                                                            [PLIM_NET_LAYER_NORM] = PLIM_OP_LAYER_NORM,
                                                            [PLIM_NET_RMS_NORM] = PLIM_OP_RMS_NORM};
  const plim_net_layer *layer = &emit->net->layer[i];
  const int norm = layer->kind == PLIM_NET_LAYER_NORM || layer->kind == PLIM_NET_RMS_NORM;
  plim_op_spec spec = {.kind = kind_of[layer->kind],
                       .attrs = layer->attrs,
                       .n_in = 1 + norm,
                       .in = {input_of(emit, i, 0).value, emit->at[i].affine.value.value},
                       .n_out = 1,
                       .out = {output_of(emit, i).value}};
  plim_net_emit_layer_op(emit, i, &spec);
}

/* A view of the layer's tensor by sequence. */
static plim_net_ref output_by_sequence(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_shape shape = plim_net_emit_sequences(emit->net, &layer->out);
  return plim_net_emit_view(emit, layer->name, ".by_sequence", output_of(emit, i), &shape);
}

static void forward_embedding(plim_net_emit *emit, int32_t i) {
  plim_op_spec spec = {.kind = PLIM_OP_EMBEDDING,
                       .n_in = 3,
                       .in = {emit->image.value, emit->at[i].weight.value.value, emit->at[i].positions.value.value},
                       .n_out = 1,
                       .out = {output_by_sequence(emit, i).value}};
  plim_net_emit_layer_op(emit, i, &spec);
}

static void forward_attention(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_net_emitted *at = &emit->at[i];
  plim_shape in = plim_net_emit_sequences(emit->net, &emit->net->layer[layer->in[0]].out);
  const plim_net_ref qkv = plim_net_emit_view(emit, layer->name, ".qkv", input_of(emit, i, 0), &in);
  const plim_net_ref y = output_by_sequence(emit, i);
  plim_shape lse = plim_shape_make(PLIM_F32, PLIM_FLAT, 3, (int64_t[]){in.dim[0], in.dim[1], layer->heads});
  at->saved = plim_net_emit_value(emit, layer->name, ".lse", PLIM_ROLE_ACTIVATION, &lse);
  plim_op_spec spec = {
      .kind = PLIM_OP_ATTENTION, .n_in = 1, .in = {qkv.value}, .n_out = 2, .out = {y.value, at->saved.value}};
  plim_net_emit_layer_op(emit, i, &spec);
}

static void forward_tied_loss(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_net_emitted *at = &emit->at[i];
  const plim_net_ref words = emit->at[layer->in[1]].weight.value;
  plim_shape table =
      plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){emit->net->options.classes, layer->out.dim[1]});
  plim_shape lse_shape = plim_net_emit_vector(PLIM_F32, layer->out.dim[0]);
  const plim_net_ref factor = plim_net_emit_factor(emit, emit->net->layer[layer->in[1]].name, ".words", words, &table);
  plim_net_sum loss;
  plim_net_emit_loss(emit, &loss);
  at->saved = plim_net_emit_value(emit, layer->name, ".lse", PLIM_ROLE_ACTIVATION, &lse_shape);
  plim_op_spec spec = {.kind = PLIM_OP_LINEAR_XENT,
                       .n_in = 3,
                       .in = {input_of(emit, i, 0).value, emit->label.value, factor.value},
                       .n_out = 3,
                       .out = {loss.value.value, loss.hits.value, at->saved.value}};
  plim_net_emit_layer_op(emit, i, &spec);
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

void plim_net_emit_forward(plim_net_emit *emit) {
  for (int32_t i = 0; i < emit->net->n_layers; i++) forward_of[emit->net->layer[i].kind](emit, i);
}
