/* The shape of each tensor of a layer over tokens, and the checks on the layer's arguments. */
#include "runtime/net/layers.h"

static const float norm_epsilon = 1e-5f;

/* The shape of x when it is [N][C], NULL (and the net has failed) otherwise. */
static const plim_shape *rows_of(plim_net *net, const char *name, plim_tensor x) {
  const plim_shape *in = net->status == PLIM_OK ? plim_net_shape(net, name, x) : NULL;
  if (!in || in->rank == 2) return in;
  (void)plim_net_fail(net, PLIM_EUSAGE, "layer '%s' reads %d dimensions; 2 are needed", name, in->rank);
  return NULL;
}

plim_tensor plim_net_embedding(plim_net *net, const char *name, int units) {
  const plim_net_options *o = &net->options;
  if (net->status != PLIM_OK) return PLIM_NONE;
  if (o->context < 1) return plim_net_fail(net, PLIM_EUSAGE, "layer '%s' reads tokens; the net reads images", name);
  if (units < 1) return plim_net_fail(net, PLIM_EUSAGE, "layer '%s': %d units; at least 1 is needed", name, units);
  const int64_t dim[] = {(int64_t)plim_net_micro_batch(net) * o->context, units};
  plim_net_layer layer = {.kind = PLIM_NET_EMBEDDING, .out = plim_shape_make(plim_net_dtype(net), PLIM_FLAT, 2, dim)};
  return plim_net_append(net, name, &layer);
}

static plim_tensor of_rows(plim_net *net, const char *name, plim_net_kind kind, plim_tensor x) {
  const plim_shape *in = rows_of(net, name, x);
  if (!in) return PLIM_NONE;
  plim_net_layer layer = {.kind = kind, .n_in = 1, .in = {x}, .out = *in};
  if (kind == PLIM_NET_LAYER_NORM || kind == PLIM_NET_RMS_NORM) layer.attrs.eps = norm_epsilon;
  return plim_net_append(net, name, &layer);
}

plim_tensor plim_net_layer_norm(plim_net *net, const char *name, plim_tensor x) {
  return of_rows(net, name, PLIM_NET_LAYER_NORM, x);
}
plim_tensor plim_net_rms_norm(plim_net *net, const char *name, plim_tensor x) {
  return of_rows(net, name, PLIM_NET_RMS_NORM, x);
}
plim_tensor plim_net_gelu(plim_net *net, const char *name, plim_tensor x) {
  return of_rows(net, name, PLIM_NET_GELU, x);
}
plim_tensor plim_net_silu(plim_net *net, const char *name, plim_tensor x) {
  return of_rows(net, name, PLIM_NET_SILU, x);
}

plim_tensor plim_net_attention(plim_net *net, const char *name, plim_tensor x, int heads) {
  enum { MOST = 128 /* elements of a head that the kernels take */ };
  const plim_shape *in = rows_of(net, name, x);
  if (!in) return PLIM_NONE;
  const int64_t channels = in->dim[1] / 3;
  if (net->options.context < 1) {
    return plim_net_fail(net, PLIM_EUSAGE, "layer '%s' needs sequences; the net reads images", name);
  }
  if (heads < 1 || channels * 3 != in->dim[1] || channels % heads != 0 || channels / heads > MOST) {
    return plim_net_fail(net, PLIM_EUSAGE,
                         "layer '%s': %d heads of %lld columns; the columns are three times a multiple of the heads, "
                         "and a head has at most %d",
                         name, heads, (long long)in->dim[1], MOST);
  }
  plim_net_layer layer = {.kind = PLIM_NET_ATTENTION, .n_in = 1, .in = {x}, .heads = heads, .out = *in};
  layer.out.dim[1] = channels;
  return plim_net_append(net, name, &layer);
}

void plim_net_tied_xent(plim_net *net, plim_tensor x, plim_tensor embedding) {
  const plim_shape *in = rows_of(net, "loss", x), *table = in ? rows_of(net, "loss", embedding) : NULL;
  if (!table) return;
  if (net->layer[embedding].kind != PLIM_NET_EMBEDDING || table->dim[1] != in->dim[1]) {
    (void)plim_net_fail(net, PLIM_EUSAGE, "the loss reads %lld columns; an embedding of as many units is needed",
                        (long long)in->dim[1]);
    return;
  }
  plim_net_layer layer = {.kind = PLIM_NET_TIED_XENT, .n_in = 2, .in = {x, embedding}, .out = *in};
  (void)plim_net_append(net, "loss", &layer);
}
