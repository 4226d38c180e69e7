/* Values and ops by name, the values that every graph of a net has, and the two graphs. Persistent storages come first
 * and in one order for both graphs, so that their plans can put them at equal offsets. */
#include "runtime/net/emit.h"

#include <stdio.h>

enum { EMIT_NAME_BYTES = PLIM_NET_NAME_BYTES + 32 };

static const plim_net_ref no_ref = {-1, -1};

static const char *join(char name[EMIT_NAME_BYTES], const char *layer, const char *suffix) {
  (void)snprintf(name, EMIT_NAME_BYTES, "%s%s", layer, suffix);
  return name;
}

plim_net_ref plim_net_emit_view(plim_net_emit *e, const char *layer, const char *suffix, plim_net_ref of,
                                const plim_shape *shape) {
  char name[EMIT_NAME_BYTES];
  plim_net_ref ref = {-1, of.storage};
  if (e->status != PLIM_OK) return no_ref;
  e->status = plim_graph_add_value(e->builder, join(name, layer, suffix), of.storage, 0, shape, &ref.value);
  return ref;
}

plim_net_ref plim_net_emit_value(plim_net_emit *e, const char *layer, const char *suffix, plim_role role,
                                 const plim_shape *shape) {
  plim_net_ref ref = no_ref;
  if (e->status != PLIM_OK) return no_ref;
  e->status = plim_graph_add_storage(e->builder, role, plim_shape_bytes(shape), &ref.storage);
  return plim_net_emit_view(e, layer, suffix, ref, shape);
}

void plim_net_emit_op(plim_net_emit *e, const char *layer, const char *suffix, const plim_op_spec *spec) {
  char name[EMIT_NAME_BYTES];
  int32_t op;
  if (e->status != PLIM_OK) return;
  plim_op_spec full = *spec;
  full.name = join(name, layer, suffix);
  full.time_ns = -1;
  e->status = plim_graph_add_op(e->builder, &full, &op);
}

plim_shape plim_net_emit_vector(plim_dtype dtype, int64_t n) {
  return plim_shape_make(dtype, PLIM_FLAT, 1, &n);
}

plim_shape plim_net_emit_statistics(const plim_net_layer *layer) {
  return plim_shape_make(PLIM_F32, PLIM_FLAT, 2, (int64_t[]){2, layer->out.dim[1]});
}

plim_shape plim_net_emit_typed(const plim_shape *shape, plim_dtype dtype) {
  plim_shape typed = *shape;
  typed.dtype = dtype;
  return typed;
}

/* "<layer><suffix>" and its velocity. */
static plim_net_param persistent_param(plim_net_emit *e, const char *layer, const char *suffix,
                                       const plim_shape *shape) {
  char velocity[EMIT_NAME_BYTES];
  plim_net_param param;
  param.value = plim_net_emit_value(e, layer, suffix, PLIM_ROLE_PARAM, shape);
  param.velocity = plim_net_emit_value(e, layer, join(velocity, suffix, ".velocity"), PLIM_ROLE_STATE, shape);
  return param;
}

static void persistent_of_layer(plim_net_emit *e, int32_t i) {
  const plim_net_layer *layer = &e->net->layer[i];
  plim_net_emitted *at = &e->at[i];
  if (layer->kind == PLIM_NET_CONV2D || layer->kind == PLIM_NET_LINEAR) {
    plim_shape weight = plim_net_weight_shape(e->net, layer);
    plim_shape bias = plim_net_emit_vector(PLIM_F32, layer->out.dim[1]);
    at->weight = persistent_param(e, layer->name, ".weight", &weight);
    if (layer->bias) at->bias = persistent_param(e, layer->name, ".bias", &bias);
    at->trains = 1;
  } else if (layer->kind == PLIM_NET_BATCH_NORM) {
    plim_shape statistics = plim_net_emit_statistics(layer);
    at->affine = persistent_param(e, layer->name, ".affine", &statistics);
    at->running = plim_net_emit_value(e, layer->name, ".running", PLIM_ROLE_STATE, &statistics);
    at->trains = 1;
  }
  for (int32_t k = 0; k < layer->n_in; k++) at->trains |= e->at[layer->in[k]].trains;
}

void plim_net_emit_persistent(plim_net_emit *e) {
  const plim_net_options *o = &e->net->options;
  int32_t staged = o->staging_batch > 0 ? o->staging_batch : o->batch;
  plim_shape image = plim_shape_make(PLIM_U8, PLIM_NHWC, 4, (int64_t[]){o->batch, o->channels, o->height, o->width});
  plim_shape label = plim_net_emit_vector(PLIM_I32, o->batch), next_label = plim_net_emit_vector(PLIM_I32, staged);
  plim_shape next_image = image;
  next_image.dim[0] = staged;
  plim_shape hyper = plim_net_emit_vector(PLIM_F32, 4);
  for (int32_t i = 0; i < e->net->n_layers; i++) persistent_of_layer(e, i);
  (void)plim_net_emit_value(e, "next_image", "", PLIM_ROLE_STAGING, &next_image);
  (void)plim_net_emit_value(e, "next_label", "", PLIM_ROLE_STAGING, &next_label);
  e->image = plim_net_emit_value(e, "image", "", PLIM_ROLE_INPUT, &image);
  e->label = plim_net_emit_value(e, "label", "", PLIM_ROLE_INPUT, &label);
  if (e->training) e->hyper = plim_net_emit_value(e, "hyper", "", PLIM_ROLE_INPUT, &hyper);
}

/* A net can become a graph when nothing failed, one loss ends it, and every other tensor has a reader. */
static plim_status net_complete(const plim_net *net) {
  if (net->status != PLIM_OK) return plim_fail(net->ctx, net->status, "%s", net->error);
  int32_t last = net->n_layers - 1;
  if (last < 0 || net->layer[last].kind != PLIM_NET_SOFTMAX_XENT) {
    return plim_fail(net->ctx, PLIM_EUSAGE, "net '%s' of %d layers does not end with its loss", net->name,
                     net->n_layers);
  }
  for (int32_t i = 0; i < last; i++) {
    int read = 0;
    for (int32_t j = i + 1; j <= last; j++) {
      for (int32_t k = 0; k < net->layer[j].n_in; k++) read |= net->layer[j].in[k] == i;
    }
    if (!read) return plim_fail(net->ctx, PLIM_EUSAGE, "nothing reads the output of layer '%s'", net->layer[i].name);
  }
  return PLIM_OK;
}

static plim_status graph_make(const plim_net *net, int training, plim_graph **out) {
  PLIM_TRY(net_complete(net));
  plim_net_emit e = {.net = net, .training = training};
  PLIM_TRY(plim_allocate(net->ctx, net->n_layers, sizeof *e.at, &e.at));
  e.status = plim_graph_begin(net->ctx, net->name, net->options.batch, &e.builder);
  plim_net_emit_persistent(&e);
  plim_net_emit_forward(&e);
  if (training) plim_net_emit_backward(&e);
  plim_release(net->ctx, e.at, net->n_layers, sizeof *e.at);
  if (e.status == PLIM_OK) return plim_graph_end(e.builder, out);
  plim_graph_builder_free(e.builder);
  return e.status;
}

plim_status plim_net_train_graph(const plim_net *net, plim_graph **out) {
  return graph_make(net, 1, out);
}
plim_status plim_net_eval_graph(const plim_net *net, plim_graph **out) {
  return graph_make(net, 0, out);
}
