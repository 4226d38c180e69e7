/* Backward and update ops, layer by layer from the loss. The row of the layer's op says which op computes a gradient,
 * and from which values (row_gradient.c). This file has the order and names of the ops, and the cases that no row
 * covers: masks that sum gradients, views, and the words of an embedding, which have two readers.
 *
 * The readers of a tensor give its layer gradients of it. The layer emits the gradients of its inputs from their sum.
 * An update follows right after the last op that reads the old parameter, so that the gradient dies there. The order
 * is: gradient of the weights, gradient of the data (which still reads the weights), update. */
#include <stdio.h>

#include "runtime/net/row_gradient.h"

/* Replace the two waiting gradients of a tensor by their sum. */
static void sum_gradients(plim_net_emit *emit, int32_t tensor) {
  plim_net_emitted *at = &emit->at[tensor];
  const plim_net_layer *layer = &emit->net->layer[tensor];
  char suffix[24] = ".grad";
  if (at->n_sums > 0) (void)snprintf(suffix, sizeof suffix, ".grad%d", at->n_sums + 1);
  plim_net_ref sum = plim_net_emit_value(emit, layer->name, suffix, PLIM_ROLE_GRADIENT, &layer->out);
  plim_op_spec spec = {.kind = PLIM_OP_ADD,
                       .phase = PLIM_PHASE_BACKWARD,
                       .n_in = 2,
                       .in = {at->grad[0].value, at->grad[1].value},
                       .n_out = 1,
                       .out = {sum.value}};
  plim_net_emit_op(emit, layer->name, suffix, &spec);
  at->grad[0] = sum;
  at->n_grads = 1;
  at->n_sums++;
}

/* At most two gradients wait at a tensor: a third one makes the first two be summed. */
void plim_net_hand_back(plim_net_emit *emit, int32_t tensor, plim_net_ref gradient) {
  plim_net_emitted *at = &emit->at[tensor];
  if (!at->trains) return;
  if (at->n_grads == 2) sum_gradients(emit, tensor);
  at->grad[at->n_grads++] = gradient;
}

plim_net_ref plim_net_gradient_of(plim_net_emit *emit, int32_t i) {
  if (emit->at[i].n_grads == 2) sum_gradients(emit, i);
  return emit->at[i].grad[0];
}

static int input_trains(const plim_net_emit *emit, int32_t i) {
  return emit->at[emit->net->layer[i].in[0]].trains;
}

/* Add a value for the gradient of the layer's first input. */
static plim_net_ref input_gradient(plim_net_emit *emit, int32_t i, const char *suffix) {
  const plim_net_layer *layer = &emit->net->layer[i];
  return plim_net_emit_value(emit, layer->name, suffix, PLIM_ROLE_GRADIENT, &emit->net->layer[layer->in[0]].out);
}

/* Emit the op that makes the gradient of the first input from `spec`'s operands; returns the gradient. */
static plim_net_ref emit_to_input(plim_net_emit *emit, int32_t i, const char *op_suffix, plim_op_spec spec) {
  plim_net_ref dx = input_gradient(emit, i, ".dx");
  spec.phase = PLIM_PHASE_BACKWARD;
  spec.n_out = 1;
  spec.out[0] = dx.value;
  plim_net_emit_op(emit, emit->net->layer[i].name, op_suffix, &spec);
  return dx;
}

/* The common case: only the first operand gets a gradient. */
static void backward_by_row(plim_net_emit *emit, int32_t i, const char *op_suffix, plim_net_ref dy) {
  plim_op_spec spec;
  plim_net_gradient_of_operand(emit, i, plim_op_kind_row(emit->at[i].kind)->in[0].name, dy, &spec);
  const plim_net_ref dx = emit_to_input(emit, i, op_suffix, spec);
  plim_net_hand_back(emit, emit->net->layer[i].in[0], dx);
}

/* Layers without parameters. */
static void backward_plain(plim_net_emit *emit, int32_t i) {
  backward_by_row(emit, i, ".bwd", plim_net_gradient_of(emit, i));
}

static void backward_loss(plim_net_emit *emit, int32_t i) {
  backward_by_row(emit, i, ".bwd", (plim_net_ref){PLIM_NONE, PLIM_NONE});
}

/* Emit the op that computes the gradient of one parameter; returns the gradient. */
static plim_net_ref emit_to_parameter(plim_net_emit *emit, int32_t i, const char *operand, const char *suffix,
                                      const char *op_suffix, const plim_shape *shape, plim_net_ref dy) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const plim_net_ref gradient = plim_net_emit_value(emit, layer->name, suffix, PLIM_ROLE_GRADIENT, shape);
  plim_op_spec spec;
  plim_net_gradient_of_operand(emit, i, operand, dy, &spec);
  spec.n_out = 1;
  spec.out[0] = gradient.value;
  plim_net_emit_op(emit, layer->name, op_suffix, &spec);
  return gradient;
}

/* Convolutions and linear. */
static void backward_product(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const plim_net_emitted *at = &emit->at[i];
  const plim_net_ref dy = plim_net_gradient_of(emit, i);
  if (layer->bias) {
    const plim_shape bias = plim_net_emit_vector(PLIM_F32, layer->out.dim[1]);
    const plim_net_ref gradient = emit_to_parameter(emit, i, "bias", ".bias.grad", ".bwd_bias", &bias, dy);
    plim_net_emit_update(emit, layer->name, ".bias", &at->bias, gradient, 0);
  }
  const plim_shape weight = plim_net_weight_shape(emit->net, layer);
  const plim_net_ref gradient = emit_to_parameter(emit, i, "w", ".weight.grad", ".bwd_weights", &weight, dy);
  if (input_trains(emit, i)) backward_by_row(emit, i, ".bwd_data", dy);
  plim_net_emit_update(emit, layer->name, ".weight", &at->weight, gradient, 1);
}

/* A ReLU, alone or after an addition: one op sums the gradients that wait, and masks the sum. Both addends get that
 * value. */
static plim_net_ref backward_masked_sum(plim_net_emit *emit, int32_t i, const char *op_suffix) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const plim_net_emitted *at = &emit->at[i];
  plim_net_ref sum = input_gradient(emit, i, layer->n_in == 2 ? ".dsum" : ".dx");
  plim_op_spec spec = {.kind = PLIM_OP_RELU_BWD,
                       .phase = PLIM_PHASE_BACKWARD,
                       .n_in = 1 + at->n_grads,
                       .in = {at->saved.value, at->grad[0].value, at->grad[1].value},
                       .n_out = 1,
                       .out = {sum.value}};
  plim_net_emit_op(emit, layer->name, op_suffix, &spec);
  return sum;
}

/* With an addition the mask is applied before, so that the gradients do not read it. */
static void backward_batch_norm(plim_net_emit *emit, int32_t i) {
  enum { AFFINE = 2 /* among the operands */ };
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_net_emitted *at = &emit->at[i];
  const int masked = layer->attrs.relu && !layer->attrs.add;
  const plim_shape shape = plim_net_emit_statistics(layer);
  plim_net_ref dy, dx = {0};
  plim_op_spec spec;
  if (layer->attrs.add) {
    dy = backward_masked_sum(emit, i, ".bwd_relu");
    plim_net_hand_back(emit, layer->in[1], dy);
    at->n_results = 1;
  } else {
    dy = plim_net_gradient_of(emit, i);
  }
  at->operand[AFFINE].gradient = plim_net_emit_value(emit, layer->name, ".affine.grad", PLIM_ROLE_GRADIENT, &shape);
  at->operand[AFFINE].has_gradient = 1;
  plim_net_gradient_of_operand(emit, i, "affine", dy, &spec);
  spec.attrs.relu = masked;
  spec.n_out = 1;
  spec.out[0] = at->operand[AFFINE].gradient.value;
  plim_net_emit_op(emit, layer->name, ".bwd_reduce", &spec);
  if (input_trains(emit, i)) {
    plim_net_gradient_of_operand(emit, i, "x", dy, &spec);
    spec.attrs.relu = masked;
    dx = emit_to_input(emit, i, ".bwd_apply", spec);
  }
  plim_net_emit_update(emit, layer->name, ".affine", &at->affine, at->operand[AFFINE].gradient, 0);
  if (input_trains(emit, i))
    plim_net_hand_back(emit, layer->in[0], dx); /* which may sum gradients: the update comes first */
}

/* ReLU and addition, which may have one fused. The gradient of a plain addition is that of its addends. */
static void backward_elementwise(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_net_ref dx = layer->attrs.relu ? backward_masked_sum(emit, i, ".bwd") : plim_net_gradient_of(emit, i);
  for (int32_t k = 0; k < layer->n_in; k++) plim_net_hand_back(emit, layer->in[k], dx);
}

static void backward_flatten(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_net_hand_back(
      emit, layer->in[0],
      plim_net_emit_view(emit, layer->name, ".dx", plim_net_gradient_of(emit, i), &emit->net->layer[layer->in[0]].out));
}

/* Layer norm and RMS norm: one op makes both gradients. */
static void backward_norm(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const int centred = layer->kind == PLIM_NET_LAYER_NORM;
  const char *suffix = centred ? ".affine" : ".scale";
  plim_net_ref dy = plim_net_gradient_of(emit, i), dx = input_gradient(emit, i, ".dx");
  plim_shape shape = plim_net_emit_norm(layer);
  plim_net_ref gradient =
      plim_net_emit_value(emit, layer->name, centred ? ".affine.grad" : ".scale.grad", PLIM_ROLE_GRADIENT, &shape);
  plim_op_spec spec;
  plim_net_gradient_of_operand(emit, i, "x", dy, &spec);
  spec.n_out = 2;
  spec.out[0] = dx.value;
  spec.out[1] = gradient.value;
  plim_net_emit_op(emit, layer->name, ".bwd", &spec);
  plim_net_emit_update(emit, layer->name, suffix, &emit->at[i].affine, gradient, 0);
  plim_net_hand_back(emit, layer->in[0], dx);
}

static void backward_attention(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_shape y = plim_net_emit_sequences(emit->net, &layer->out);
  plim_shape x = plim_net_emit_sequences(emit->net, &emit->net->layer[layer->in[0]].out);
  plim_net_ref dy = plim_net_emit_view(emit, layer->name, ".dy", plim_net_gradient_of(emit, i), &y);
  plim_net_ref dx = input_gradient(emit, i, ".dx");
  plim_net_ref dqkv = plim_net_emit_view(emit, layer->name, ".dqkv", dx, &x);
  plim_op_spec spec;
  plim_net_gradient_of_operand(emit, i, "qkv", dy, &spec);
  spec.n_out = 1;
  spec.out[0] = dqkv.value;
  plim_net_emit_op(emit, layer->name, ".bwd", &spec);
  plim_net_hand_back(emit, layer->in[0], dx);
}

/* The words have two readers: what the loss hands back is added to. */
static void backward_embedding(plim_net_emit *emit, int32_t i) {
  const plim_net_options *o = &emit->net->options;
  const plim_net_layer *layer = &emit->net->layer[i];
  const plim_net_emitted *at = &emit->at[i];
  plim_shape y = plim_net_emit_sequences(emit->net, &layer->out);
  plim_shape words = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){o->classes, layer->out.dim[1]});
  plim_shape positions = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){o->context, layer->out.dim[1]});
  plim_net_ref dy = plim_net_emit_view(emit, layer->name, ".dy", plim_net_gradient_of(emit, i), &y);
  plim_net_ref dwords = plim_net_emit_value(emit, layer->name, ".words.grad", PLIM_ROLE_GRADIENT, &words);
  plim_net_ref dpositions = plim_net_emit_value(emit, layer->name, ".positions.grad", PLIM_ROLE_GRADIENT, &positions);
  plim_op_spec spec;
  plim_net_gradient_of_operand(emit, i, "words", dy, &spec);
  if (at->tied.value >= 0) spec.in[spec.n_in++] = at->tied.value;
  spec.n_out = 2;
  spec.out[0] = dwords.value;
  spec.out[1] = dpositions.value;
  plim_net_emit_op(emit, layer->name, ".bwd", &spec);
  plim_net_emit_update(emit, layer->name, ".words", &at->weight, dwords, 1);
  plim_net_emit_update(emit, layer->name, ".positions", &at->positions, dpositions, 1);
}

static void backward_tied_loss(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_net_emitted *table = &emit->at[layer->in[1]];
  plim_shape words =
      plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){emit->net->options.classes, layer->out.dim[1]});
  plim_net_ref dx = input_gradient(emit, i, ".dx");
  table->tied = plim_net_emit_value(emit, layer->name, ".words.grad", PLIM_ROLE_GRADIENT, &words);
  plim_op_spec spec;
  plim_net_gradient_of_operand(emit, i, "x", (plim_net_ref){PLIM_NONE, PLIM_NONE}, &spec);
  spec.n_out = 2;
  spec.out[0] = dx.value;
  spec.out[1] = table->tied.value;
  plim_net_emit_op(emit, layer->name, ".bwd", &spec);
  plim_net_hand_back(emit, layer->in[0], dx);
}

static void (*const backward_of[PLIM_NET_KIND_COUNT])(plim_net_emit *, int32_t) = {
    [PLIM_NET_DEPTHWISE_CONV2D] = backward_product,
    [PLIM_NET_CONV_TRANSPOSE2D] = backward_product,
    [PLIM_NET_CONV2D] = backward_product,
    [PLIM_NET_BATCH_NORM] = backward_batch_norm,
    [PLIM_NET_RELU] = backward_elementwise,
    [PLIM_NET_ADD] = backward_elementwise,
    [PLIM_NET_MAX_POOL] = backward_plain,
    [PLIM_NET_AVG_POOL] = backward_plain,
    [PLIM_NET_GLOBAL_AVG_POOL] = backward_plain,
    [PLIM_NET_FLATTEN] = backward_flatten,
    [PLIM_NET_LINEAR] = backward_product,
    [PLIM_NET_DROPOUT] = backward_plain,
    [PLIM_NET_SOFTMAX_XENT] = backward_loss,
    [PLIM_NET_EMBEDDING] = backward_embedding,
    [PLIM_NET_LAYER_NORM] = backward_norm,
    [PLIM_NET_RMS_NORM] = backward_norm,
    [PLIM_NET_GELU] = backward_plain,
    [PLIM_NET_SILU] = backward_plain,
    [PLIM_NET_ATTENTION] = backward_attention,
    [PLIM_NET_TIED_XENT] = backward_tied_loss,
    [PLIM_NET_OP] = plim_net_emit_op_backward};

void plim_net_emit_backward(plim_net_emit *emit) {
  for (int32_t i = emit->net->n_layers - 1; i >= 0; i--) {
    if (emit->at[i].trains) backward_of[emit->net->layer[i].kind](emit, i);
  }
}
