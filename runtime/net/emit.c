/* Values and ops by name, the values that every graph of a net has, and the two graphs. Persistent storages come first
 * and in one order for both graphs, so that their plans can put them at equal offsets. */
#include "runtime/net/emit.h"

#include <stdio.h>
#include <string.h>

enum { EMIT_NAME_BYTES = PLIM_NET_NAME_BYTES + 64 };
/* Of one layer, at most: updates, and operands of its op that are neither its tensors nor its parameters. */
enum { LAYER_UPDATES = 3, LAYER_OPERANDS = 4 };

static const plim_net_ref no_ref = {PLIM_NONE, PLIM_NONE};

static const char *join(char name[EMIT_NAME_BYTES], const char *layer, const char *suffix) {
  (void)snprintf(name, EMIT_NAME_BYTES, "%s%s", layer, suffix);
  return name;
}

/* With the number of the micro-batch. */
static const char *join_micro(plim_net_emit *emit, char name[EMIT_NAME_BYTES], const char *layer, const char *suffix) {
  if (emit->micro < 0) return join(name, layer, suffix);
  if (snprintf(name, EMIT_NAME_BYTES, "%s%s@%d", layer, suffix, emit->micro) >= EMIT_NAME_BYTES) {
    emit->status = plim_fail(emit->net->ctx, PLIM_EUSAGE, "the name %s is too long", name);
  }
  return name;
}

static plim_net_ref value_at(plim_net_emit *emit, const char *name, plim_net_ref of, int64_t offset,
                             const plim_shape *shape) {
  plim_net_ref ref = {PLIM_NONE, of.storage};
  if (emit->status != PLIM_OK) return no_ref;
  emit->status = plim_graph_add_value(emit->builder, name, of.storage, offset, shape, &ref.value);
  return ref;
}

plim_net_ref plim_net_emit_part(plim_net_emit *emit, const char *name, plim_net_ref of, int64_t offset,
                                const plim_shape *shape) {
  char full[EMIT_NAME_BYTES];
  return value_at(emit, join_micro(emit, full, name, ""), of, offset, shape);
}

plim_net_ref plim_net_emit_view(plim_net_emit *emit, const char *layer, const char *suffix, plim_net_ref of,
                                const plim_shape *shape) {
  char name[EMIT_NAME_BYTES];
  return value_at(emit, join_micro(emit, name, layer, suffix), of, 0, shape);
}

plim_net_ref plim_net_emit_value(plim_net_emit *emit, const char *layer, const char *suffix, plim_role role,
                                 const plim_shape *shape) {
  plim_net_ref ref = no_ref;
  if (emit->status != PLIM_OK) return no_ref;
  emit->status = plim_graph_add_storage(emit->builder, role, plim_shape_bytes(shape), &ref.storage);
  return plim_net_emit_view(emit, layer, suffix, ref, shape);
}

void plim_net_emit_op(plim_net_emit *emit, const char *layer, const char *suffix, const plim_op_spec *spec) {
  char name[EMIT_NAME_BYTES];
  int32_t op;
  if (emit->status != PLIM_OK) return;
  plim_op_spec full = *spec;
  full.name = join_micro(emit, name, layer, suffix);
  full.time_ns = PLIM_UNKNOWN;
  if (emit->status == PLIM_OK) emit->status = plim_graph_add_op(emit->builder, &full, &op);
}

plim_shape plim_net_emit_vector(plim_dtype dtype, int64_t n) {
  return plim_shape_make(dtype, PLIM_FLAT, 1, &n);
}

plim_shape plim_net_emit_statistics(const plim_net_layer *layer) {
  return plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){2, layer->out.dim[1]});
}

plim_shape plim_net_emit_norm(const plim_net_layer *layer) {
  const int64_t columns = layer->out.dim[1];
  if (layer->kind == PLIM_NET_RMS_NORM) return plim_net_emit_vector(PLIM_F32, columns);
  return plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){2, columns});
}

plim_shape plim_net_emit_typed(const plim_shape *shape, plim_dtype dtype) {
  plim_shape typed = *shape;
  typed.dtype = dtype;
  return typed;
}

plim_shape plim_net_emit_sequences(const plim_net *net, const plim_shape *shape) {
  const int64_t context = net->options.context;
  return plim_shape_make(shape->dtype, PLIM_FLAT, 3, (int64_t[]){shape->dim[0] / context, context, shape->dim[1]});
}

plim_net_param plim_net_emit_param(plim_net_emit *emit, const char *layer, const char *suffix,
                                   const plim_shape *shape) {
  char name[EMIT_NAME_BYTES];
  const plim_optimizer_row *optimizer = plim_optimizer_at((int32_t)emit->net->options.optimizer);
  const plim_shape state = plim_net_emit_typed(shape, emit->net->options.states);
  plim_net_param param = {.value = plim_net_emit_value(emit, layer, suffix, PLIM_ROLE_PARAM, shape), .shape = *shape};
  for (int i = 0; i < optimizer->n_states; i++) {
    param.state[i] = plim_net_emit_value(emit, layer, join(name, suffix, optimizer->state[i]), PLIM_ROLE_STATE, &state);
  }
  return param;
}

static void persistent_of_embedding(plim_net_emit *emit, int32_t i) {
  const plim_net_options *o = &emit->net->options;
  const plim_net_layer *layer = &emit->net->layer[i];
  const int64_t units = layer->out.dim[1];
  plim_shape words = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){o->classes, units});
  plim_shape positions = plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){o->context, units});
  emit->at[i].weight = plim_net_emit_param(emit, layer->name, ".words", &words);
  emit->at[i].positions = plim_net_emit_param(emit, layer->name, ".positions", &positions);
  emit->at[i].tied = no_ref;
  emit->at[i].trains = 1;
}

static void persistent_of_layer(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_net_emitted *at = &emit->at[i];
  if (plim_net_product_of(layer) != PLIM_OP_CUSTOM) {
    plim_shape weight = plim_net_weight_shape(emit->net, layer);
    plim_shape bias = plim_net_emit_vector(PLIM_F32, layer->out.dim[1]);
    at->weight = plim_net_emit_param(emit, layer->name, ".weight", &weight);
    if (layer->bias) at->bias = plim_net_emit_param(emit, layer->name, ".bias", &bias);
    at->trains = 1;
  } else if (layer->kind == PLIM_NET_BATCH_NORM) {
    plim_shape statistics = plim_net_emit_statistics(layer);
    at->affine = plim_net_emit_param(emit, layer->name, ".affine", &statistics);
    at->running = plim_net_emit_value(emit, layer->name, ".running", PLIM_ROLE_STATE, &statistics);
    at->trains = 1;
  } else if (layer->kind == PLIM_NET_LAYER_NORM || layer->kind == PLIM_NET_RMS_NORM) {
    const int centred = layer->kind == PLIM_NET_LAYER_NORM;
    plim_shape affine = plim_net_emit_norm(layer);
    at->affine = plim_net_emit_param(emit, layer->name, centred ? ".affine" : ".scale", &affine);
    at->trains = 1;
  } else if (layer->kind == PLIM_NET_EMBEDDING) {
    persistent_of_embedding(emit, i);
  } else if (layer->kind == PLIM_NET_OP) {
    plim_net_emit_op_persistent(emit, i);
  }
  for (int32_t k = 0; k < layer->n_in; k++) at->trains |= emit->at[plim_net_inputs(layer)[k]].trains;
}

plim_shape plim_net_emit_inputs(const plim_net_options *options, int32_t batch) {
  if (options->context > 0) return plim_shape_make(PLIM_I32, PLIM_FLAT, 2, (int64_t[]){batch, options->context});
  return plim_shape_make(PLIM_U8, PLIM_NHWC, 4, (int64_t[]){batch, options->channels, options->height, options->width});
}

plim_shape plim_net_emit_labels(const plim_net_options *options, int32_t batch) {
  return plim_net_emit_vector(PLIM_I32, (int64_t)batch * (options->context > 0 ? options->context : 1));
}

/* Emit parameters, states and staging of all layers, in an order that does not depend on `training`; then the inputs.
 */
static void emit_persistent(plim_net_emit *emit) {
  const plim_net_options *o = &emit->net->options;
  const char *input = o->context > 0 ? "tokens" : "image", *next = o->context > 0 ? "next_tokens" : "next_image";
  int32_t staged = o->staging_batch > 0 ? o->staging_batch : o->batch;
  plim_shape image = plim_net_emit_inputs(o, o->batch), next_image = plim_net_emit_inputs(o, staged);
  plim_shape label = plim_net_emit_labels(o, o->batch), next_label = plim_net_emit_labels(o, staged);
  const int32_t hypers = plim_optimizer_at((int32_t)o->optimizer)->hypers[o->clip != 0];
  plim_shape hyper = plim_net_emit_vector(PLIM_F32, hypers);
  for (int32_t i = 0; i < emit->net->n_layers; i++) persistent_of_layer(emit, i);
  (void)plim_net_emit_value(emit, next, "", PLIM_ROLE_STAGING, &next_image);
  (void)plim_net_emit_value(emit, "next_label", "", PLIM_ROLE_STAGING, &next_label);
  emit->image = emit->all_images = plim_net_emit_value(emit, input, "", PLIM_ROLE_INPUT, &image);
  emit->label = emit->all_labels = plim_net_emit_value(emit, "label", "", PLIM_ROLE_INPUT, &label);
  if (emit->training) emit->hyper = plim_net_emit_value(emit, "hyper", "", PLIM_ROLE_INPUT, &hyper);
}

/* A net can become a graph when nothing failed, one loss ends it, and every other tensor has a reader. */
static plim_status net_complete(const plim_net *net) {
  if (net->status != PLIM_OK) return plim_fail(net->ctx, net->status, "%s", net->error);
  int32_t last = net->n_layers - 1;
  if (last < 0 || !plim_net_is_loss(&net->layer[last])) {
    return plim_fail(net->ctx, PLIM_EUSAGE, "net '%s' of %d layers does not end with its loss", net->name,
                     net->n_layers);
  }
  for (int32_t i = 0; i < last; i++) {
    int read = 0;
    for (int32_t j = i + 1; j <= last; j++) {
      for (int32_t k = 0; k < net->layer[j].n_in; k++) read |= plim_net_inputs(&net->layer[j])[k] == i;
    }
    if (!read) return plim_fail(net->ctx, PLIM_EUSAGE, "nothing reads the output of layer '%s'", net->layer[i].name);
  }
  return PLIM_OK;
}

/* Emit every micro-batch, and after the last one the updates that wait for the norm. */
static void emit_step(plim_net_emit *emit, plim_net_emitted *before) {
  emit_persistent(emit);
  memcpy(before, emit->at, (size_t)emit->net->n_layers * sizeof *before);
  for (int32_t micro = 0; micro < emit->net->options.accumulate && emit->status == PLIM_OK; micro++) {
    plim_net_emit_micro_batch(emit, before, micro);
    plim_net_emit_forward(emit);
    plim_net_emit_mean_loss(emit);
    if (emit->training) plim_net_emit_backward(emit);
  }
  emit->micro = PLIM_NONE;
  if (emit->training) plim_net_emit_updates(emit);
}

static int64_t operands_of(const plim_net_layer *layer) {
  return (int64_t)layer->n_in + layer->n_params + LAYER_OPERANDS;
}

/* Give each layer its part of the operands. */
static plim_status allocate_operands(plim_net_emit *emit) {
  const plim_net *net = emit->net;
  for (int32_t i = 0; i < net->n_layers; i++) emit->n_operands += operands_of(&net->layer[i]);
  PLIM_TRY(plim_allocate(net->ctx, emit->n_operands, sizeof *emit->operand, &emit->operand));
  PLIM_TRY(plim_allocate(net->ctx, emit->n_operands, sizeof *emit->list, &emit->list));
  plim_net_operand *next = emit->operand;
  for (int32_t i = 0; i < net->n_layers; i++) {
    emit->at[i].operand = next;
    next += operands_of(&net->layer[i]);
  }
  return PLIM_OK;
}

static plim_status graph_make(const plim_net *net, int training, plim_graph **out) {
  PLIM_TRY(net_complete(net));
  plim_net_emit emit = {.net = net, .training = training, .micro = PLIM_NONE, .squares = no_ref};
  const int64_t updates = (int64_t)net->n_layers * LAYER_UPDATES;
  plim_net_emitted *before = NULL;
  plim_status status = PLIM_OK;
  PLIM_TRY_OR_DONE(plim_allocate(net->ctx, net->n_layers, sizeof *emit.at, &emit.at));
  PLIM_TRY_OR_DONE(allocate_operands(&emit));
  PLIM_TRY_OR_DONE(plim_allocate(net->ctx, net->n_layers, sizeof *before, &before));
  PLIM_TRY_OR_DONE(plim_allocate(net->ctx, updates, sizeof *emit.update, &emit.update));
  PLIM_TRY_OR_DONE(plim_allocate(net->ctx, updates, sizeof *emit.sum, &emit.sum));
  emit.status = plim_graph_begin(net->ctx, net->name, net->options.batch, &emit.builder);
  emit_step(&emit, before);
  status = emit.status;
  if (status == PLIM_OK) {
    status = plim_graph_end(emit.builder, out);
    emit.builder = NULL; /* ended in every case */
  }
done:
  plim_graph_builder_free(emit.builder);
  plim_release(net->ctx, emit.sum, updates, sizeof *emit.sum);
  plim_release(net->ctx, emit.update, updates, sizeof *emit.update);
  plim_release(net->ctx, before, net->n_layers, sizeof *before);
  plim_release(net->ctx, emit.list, emit.n_operands, sizeof *emit.list);
  plim_release(net->ctx, emit.operand, emit.n_operands, sizeof *emit.operand);
  plim_release(net->ctx, emit.at, net->n_layers, sizeof *emit.at);
  return status;
}

plim_status plim_net_train_graph(const plim_net *net, plim_graph **out) {
  return graph_make(net, 1, out);
}
plim_status plim_net_eval_graph(const plim_net *net, plim_graph **out) {
  return graph_make(net, 0, out);
}
