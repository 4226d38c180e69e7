/* Backward and update ops, layer by layer from the loss. A layer takes the gradient of its tensor, which its
 * readers have handed back, and hands gradients to its inputs; a sum of more than one is made as soon as two are there
 * and somebody needs one. An update follows at once on the last op that reads the old parameter, so that the gradient
 * dies there: weights first, then data (which still reads the weights), then the update. */
#include <stdio.h>

#include "runtime/net/emit.h"

/* Replace the two waiting gradients of a tensor by their sum. */
static void sum_gradients(plim_net_emit *e, int32_t tensor) {
  plim_net_emitted *at = &e->at[tensor];
  const plim_net_layer *layer = &e->net->layer[tensor];
  char suffix[24] = ".grad";
  if (at->n_sums > 0) (void)snprintf(suffix, sizeof suffix, ".grad%d", at->n_sums + 1);
  plim_net_ref sum = plim_net_emit_value(e, layer->name, suffix, PLIM_ROLE_GRADIENT, &layer->out);
  plim_op_spec spec = {.kind = PLIM_OP_ADD,
                       .phase = PLIM_PHASE_BACKWARD,
                       .n_in = 2,
                       .in = {at->grad[0].value, at->grad[1].value},
                       .n_out = 1,
                       .out = {sum.value}};
  plim_net_emit_op(e, layer->name, suffix, &spec);
  at->grad[0] = sum;
  at->n_grads = 1;
  at->n_sums++;
}

/* At most two gradients wait at a tensor, so a third makes the sum of the first two. */
void plim_net_hand_back(plim_net_emit *e, int32_t tensor, plim_net_ref gradient) {
  plim_net_emitted *at = &e->at[tensor];
  if (!at->trains) return;
  if (at->n_grads == 2) sum_gradients(e, tensor);
  at->grad[at->n_grads++] = gradient;
}

plim_net_ref plim_net_gradient_of(plim_net_emit *e, int32_t i) {
  if (e->at[i].n_grads == 2) sum_gradients(e, i);
  return e->at[i].grad[0];
}

static int input_trains(const plim_net_emit *e, int32_t i) {
  return e->at[e->net->layer[i].in[0]].trains;
}

/* A new value for the gradient of the layer's first input. */
static plim_net_ref input_gradient(plim_net_emit *e, int32_t i, const char *suffix) {
  const plim_net_layer *layer = &e->net->layer[i];
  return plim_net_emit_value(e, layer->name, suffix, PLIM_ROLE_GRADIENT, &e->net->layer[layer->in[0]].out);
}

/* An op makes the gradient of the first input from `spec`'s operands. */
static plim_net_ref emit_to_input(plim_net_emit *e, int32_t i, const char *op_suffix, plim_op_spec spec) {
  plim_net_ref dx = input_gradient(e, i, ".dx");
  spec.phase = PLIM_PHASE_BACKWARD;
  spec.n_out = 1;
  spec.out[0] = dx.value;
  plim_net_emit_op(e, e->net->layer[i].name, op_suffix, &spec);
  return dx;
}

/* The common case: that gradient is all that goes back. */
static void backward_to_input(plim_net_emit *e, int32_t i, const char *op_suffix, plim_op_spec spec) {
  const plim_net_ref dx = emit_to_input(e, i, op_suffix, spec);
  plim_net_hand_back(e, e->net->layer[i].in[0], dx);
}

static void backward_bias(plim_net_emit *e, int32_t i, plim_net_ref dy) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_shape shape = plim_net_emit_vector(PLIM_F32, layer->out.dim[1]);
  plim_net_ref gradient = plim_net_emit_value(e, layer->name, ".bias.grad", PLIM_ROLE_GRADIENT, &shape);
  plim_op_spec spec = {.kind = PLIM_OP_BIAS_BWD,
                       .phase = PLIM_PHASE_BACKWARD,
                       .n_in = 1,
                       .in = {dy.value},
                       .n_out = 1,
                       .out = {gradient.value}};
  plim_net_emit_op(e, layer->name, ".bwd_bias", &spec);
  plim_net_emit_update(e, layer->name, ".bias", &e->at[i].bias, gradient, 0);
}

/* Convolutions and linear. */
static void backward_product(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  const plim_net_emitted *at = &e->at[i];
  const plim_net_product *product = plim_net_product_of(layer);
  plim_net_ref dy = plim_net_gradient_of(e, i), x = e->at[layer->in[0]].y;
  if (layer->bias) backward_bias(e, i, dy);
  plim_shape shape = plim_net_weight_shape(e->net, layer);
  plim_net_ref gradient = plim_net_emit_value(e, layer->name, ".weight.grad", PLIM_ROLE_GRADIENT, &shape);
  plim_op_spec weights = {.kind = product->bwd_weights,
                          .phase = PLIM_PHASE_BACKWARD,
                          .attrs = layer->attrs,
                          .n_in = 2,
                          .in = {product->transposed ? x.value : dy.value, product->transposed ? dy.value : x.value},
                          .n_out = 1,
                          .out = {gradient.value}};
  plim_net_emit_op(e, layer->name, ".bwd_weights", &weights);
  if (input_trains(e, i)) {
    backward_to_input(
        e, i, ".bwd_data",
        (plim_op_spec){
            .kind = product->bwd_data, .attrs = layer->attrs, .n_in = 2, .in = {dy.value, at->factor.value}});
  }
  plim_net_emit_update(e, layer->name, ".weight", &at->weight, gradient, 1);
}

/* A ReLU, alone or after an addition: one op sums what came back and masks it. Both addends get that value. */
static plim_net_ref backward_masked_sum(plim_net_emit *e, int32_t i, const char *op_suffix) {
  const plim_net_layer *layer = &e->net->layer[i];
  const plim_net_emitted *at = &e->at[i];
  plim_net_ref sum = input_gradient(e, i, layer->n_in == 2 ? ".dsum" : ".dx");
  plim_op_spec spec = {.kind = PLIM_OP_RELU_BWD,
                       .phase = PLIM_PHASE_BACKWARD,
                       .n_in = 1 + at->n_grads,
                       .in = {at->saved.value, at->grad[0].value, at->grad[1].value},
                       .n_out = 1,
                       .out = {sum.value}};
  plim_net_emit_op(e, layer->name, op_suffix, &spec);
  return sum;
}

static void backward_batch_norm(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  const plim_net_emitted *at = &e->at[i];
  int masked = layer->attrs.relu && !layer->attrs.add; /* with an addition the mask is applied before */
  plim_attrs attrs = {.relu = masked, .eps = layer->attrs.eps};
  int32_t x = e->at[layer->in[0]].y.value;
  plim_net_ref dy;
  if (layer->attrs.add) {
    dy = backward_masked_sum(e, i, ".bwd_relu");
    plim_net_hand_back(e, layer->in[1], dy);
  } else {
    dy = plim_net_gradient_of(e, i);
  }
  plim_shape shape = plim_net_emit_statistics(layer);
  plim_net_ref gradient = plim_net_emit_value(e, layer->name, ".affine.grad", PLIM_ROLE_GRADIENT, &shape);
  plim_op_spec reduce = {.kind = PLIM_OP_BN_BWD_REDUCE,
                         .phase = PLIM_PHASE_BACKWARD,
                         .attrs = attrs,
                         .n_in = 3 + masked,
                         .in = {dy.value, x, at->stats.value, at->saved.value},
                         .n_out = 1,
                         .out = {gradient.value}};
  plim_net_emit_op(e, layer->name, ".bwd_reduce", &reduce);
  plim_net_ref dx = {0};
  if (input_trains(e, i)) {
    dx = emit_to_input(
        e, i, ".bwd_apply",
        (plim_op_spec){.kind = PLIM_OP_BN_BWD_APPLY,
                       .attrs = attrs,
                       .n_in = 5 + masked,
                       .in = {dy.value, x, at->stats.value, at->affine.value.value, gradient.value, at->saved.value}});
  }
  plim_net_emit_update(e, layer->name, ".affine", &at->affine, gradient, 0);
  if (input_trains(e, i)) plim_net_hand_back(e, layer->in[0], dx); /* which may sum gradients: the update comes first */
}

/* ReLU and addition, which may have one fused. The gradient of a plain addition is that of its addends. */
static void backward_elementwise(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_net_ref dx = layer->attrs.relu ? backward_masked_sum(e, i, ".bwd") : plim_net_gradient_of(e, i);
  for (int32_t k = 0; k < layer->n_in; k++) plim_net_hand_back(e, layer->in[k], dx);
}

static void backward_pool(plim_net_emit *e, int32_t i) {
  static const plim_op_kind kind_of[PLIM_NET_KIND_COUNT] = {[PLIM_NET_MAX_POOL] = PLIM_OP_MAX_POOL_BWD,
                                                            [PLIM_NET_AVG_POOL] = PLIM_OP_AVG_POOL_BWD,
                                                            [PLIM_NET_GLOBAL_AVG_POOL] = PLIM_OP_GLOBAL_AVG_POOL_BWD};
  const plim_net_layer *layer = &e->net->layer[i];
  backward_to_input(e, i, ".bwd",
                    (plim_op_spec){.kind = kind_of[layer->kind],
                                   .attrs = layer->attrs,
                                   .n_in = layer->kind == PLIM_NET_MAX_POOL ? 2 : 1,
                                   .in = {plim_net_gradient_of(e, i).value, e->at[i].saved.value}});
}

static void backward_flatten(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_net_hand_back(
      e, layer->in[0],
      plim_net_emit_view(e, layer->name, ".dx", plim_net_gradient_of(e, i), &e->net->layer[layer->in[0]].out));
}

static void backward_dropout(plim_net_emit *e, int32_t i) {
  backward_to_input(e, i, ".bwd",
                    (plim_op_spec){.kind = PLIM_OP_DROPOUT_BWD,
                                   .attrs = e->net->layer[i].attrs,
                                   .n_in = 2,
                                   .in = {plim_net_gradient_of(e, i).value, e->at[i].saved.value}});
}

static void backward_loss(plim_net_emit *e, int32_t i) {
  backward_to_input(
      e, i, ".bwd",
      (plim_op_spec){.kind = PLIM_OP_SOFTMAX_XENT_BWD, .n_in = 2, .in = {e->at[i].saved.value, e->label.value}});
}

static void backward_activation(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  backward_to_input(e, i, ".bwd",
                    (plim_op_spec){.kind = layer->kind == PLIM_NET_GELU ? PLIM_OP_GELU_BWD : PLIM_OP_SILU_BWD,
                                   .n_in = 2,
                                   .in = {plim_net_gradient_of(e, i).value, e->at[layer->in[0]].y.value}});
}

/* Layer norm and RMS norm: one op makes both gradients. */
static void backward_norm(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  const int centred = layer->kind == PLIM_NET_LAYER_NORM;
  const char *suffix = centred ? ".affine" : ".scale";
  plim_net_ref dy = plim_net_gradient_of(e, i), dx = input_gradient(e, i, ".dx");
  plim_shape shape = plim_net_emit_norm(layer);
  plim_net_ref gradient =
      plim_net_emit_value(e, layer->name, centred ? ".affine.grad" : ".scale.grad", PLIM_ROLE_GRADIENT, &shape);
  plim_op_spec spec = {.kind = centred ? PLIM_OP_LAYER_NORM_BWD : PLIM_OP_RMS_NORM_BWD,
                       .phase = PLIM_PHASE_BACKWARD,
                       .attrs = layer->attrs,
                       .n_in = 3,
                       .in = {dy.value, e->at[layer->in[0]].y.value, e->at[i].affine.value.value},
                       .n_out = 2,
                       .out = {dx.value, gradient.value}};
  plim_net_emit_op(e, layer->name, ".bwd", &spec);
  plim_net_emit_update(e, layer->name, suffix, &e->at[i].affine, gradient, 0);
  plim_net_hand_back(e, layer->in[0], dx);
}

static void backward_attention(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  const plim_net_emitted *at = &e->at[i];
  plim_shape y = plim_net_emit_sequences(e->net, &layer->out);
  plim_shape x = plim_net_emit_sequences(e->net, &e->net->layer[layer->in[0]].out);
  plim_net_ref dy = plim_net_emit_view(e, layer->name, ".dy", plim_net_gradient_of(e, i), &y);
  plim_net_ref dx = input_gradient(e, i, ".dx");
  plim_net_ref dqkv = plim_net_emit_view(e, layer->name, ".dqkv", dx, &x);
  plim_op_spec spec = {.kind = PLIM_OP_ATTENTION_BWD,
                       .phase = PLIM_PHASE_BACKWARD,
                       .n_in = 4,
                       .in = {dy.value, at->in3.value, at->out3.value, at->saved.value},
                       .n_out = 1,
                       .out = {dqkv.value}};
  plim_net_emit_op(e, layer->name, ".bwd", &spec);
  plim_net_hand_back(e, layer->in[0], dx);
}

/* The words have two readers: what the loss hands back is added to. */
static void backward_embedding(plim_net_emit *e, int32_t i) {
  const plim_net_options *o = &e->net->options;
  const plim_net_layer *layer = &e->net->layer[i];
  const plim_net_emitted *at = &e->at[i];
  plim_shape y = plim_net_emit_sequences(e->net, &layer->out);
  plim_shape words = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){o->classes, layer->out.dim[1]});
  plim_shape positions = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){o->context, layer->out.dim[1]});
  plim_net_ref dy = plim_net_emit_view(e, layer->name, ".dy", plim_net_gradient_of(e, i), &y);
  plim_net_ref dwords = plim_net_emit_value(e, layer->name, ".words.grad", PLIM_ROLE_GRADIENT, &words);
  plim_net_ref dpositions = plim_net_emit_value(e, layer->name, ".positions.grad", PLIM_ROLE_GRADIENT, &positions);
  plim_op_spec spec = {.kind = PLIM_OP_EMBEDDING_BWD,
                       .phase = PLIM_PHASE_BACKWARD,
                       .n_in = at->tied.value < 0 ? 2 : 3,
                       .in = {dy.value, e->image.value, at->tied.value},
                       .n_out = 2,
                       .out = {dwords.value, dpositions.value}};
  plim_net_emit_op(e, layer->name, ".bwd", &spec);
  plim_net_emit_update(e, layer->name, ".words", &at->weight, dwords, 1);
  plim_net_emit_update(e, layer->name, ".positions", &at->positions, dpositions, 1);
}

static void backward_tied_loss(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_net_emitted *table = &e->at[layer->in[1]];
  plim_shape words = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){e->net->options.classes, layer->out.dim[1]});
  plim_net_ref dx = input_gradient(e, i, ".dx");
  table->tied = plim_net_emit_value(e, layer->name, ".words.grad", PLIM_ROLE_GRADIENT, &words);
  plim_op_spec spec = {.kind = PLIM_OP_LINEAR_XENT_BWD,
                       .phase = PLIM_PHASE_BACKWARD,
                       .n_in = 4,
                       .in = {e->at[layer->in[0]].y.value, e->label.value, e->at[i].factor.value, e->at[i].saved.value},
                       .n_out = 2,
                       .out = {dx.value, table->tied.value}};
  plim_net_emit_op(e, layer->name, ".bwd", &spec);
  plim_net_hand_back(e, layer->in[0], dx);
}

static void (*const backward_of[PLIM_NET_KIND_COUNT])(plim_net_emit *, int32_t) = {
    [PLIM_NET_DEPTHWISE_CONV2D] = backward_product,
    [PLIM_NET_CONV_TRANSPOSE2D] = backward_product,
    [PLIM_NET_CONV2D] = backward_product,
    [PLIM_NET_BATCH_NORM] = backward_batch_norm,
    [PLIM_NET_RELU] = backward_elementwise,
    [PLIM_NET_ADD] = backward_elementwise,
    [PLIM_NET_MAX_POOL] = backward_pool,
    [PLIM_NET_AVG_POOL] = backward_pool,
    [PLIM_NET_GLOBAL_AVG_POOL] = backward_pool,
    [PLIM_NET_FLATTEN] = backward_flatten,
    [PLIM_NET_LINEAR] = backward_product,
    [PLIM_NET_DROPOUT] = backward_dropout,
    [PLIM_NET_SOFTMAX_XENT] = backward_loss,
    [PLIM_NET_EMBEDDING] = backward_embedding,
    [PLIM_NET_LAYER_NORM] = backward_norm,
    [PLIM_NET_RMS_NORM] = backward_norm,
    [PLIM_NET_GELU] = backward_activation,
    [PLIM_NET_SILU] = backward_activation,
    [PLIM_NET_ATTENTION] = backward_attention,
    [PLIM_NET_TIED_XENT] = backward_tied_loss,
    [PLIM_NET_OP] = plim_net_emit_op_backward};

void plim_net_emit_backward(plim_net_emit *e) {
  for (int32_t i = e->net->n_layers - 1; i >= 0; i--) {
    if (e->at[i].trains) backward_of[e->net->layer[i].kind](e, i);
  }
}
