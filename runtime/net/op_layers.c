/* Layers of any kind of op. The row of the kind says everything: its shape rules give the outputs, its operands after
 * the tensors are parameters, and its gradients are the backward ops.
 *
 * Names: operand o of layer L is the value "L.o", the first output "L". The gradient of a parameter is "L.o.grad", that
 * of a tensor "L.do", and of the second of many tensors "L.do2". A parameter is updated as soon as no later gradient of
 * the layer reads it. */
#include <stdio.h>
#include <string.h>

#include "runtime/net/row_gradient.h"

enum { WHY_BYTES = 192 };

/* ---- the layer ---- */

static plim_shape operand_shape(const plim_net *net, const plim_op_row *row, int32_t k, const plim_shape *param) {
  plim_shape shape = *param;
  const plim_op_operand *operand = plim_op_operand_at(row->in, k);
  shape.dtype = operand && operand->type == 't' ? plim_net_dtype(net) : PLIM_F32;
  return shape;
}

/* The layer's op, with the shapes of its inputs as it reads them.
 *   many  [n_in + n_params]  where they lie when a description does not hold so many */
static int describe(plim_net *net, const char *name, const plim_net_layer *layer, plim_shape *many, plim_op_desc *op) {
  const plim_op_row *row = plim_op_kind_row(layer->op);
  plim_shape *in = layer->n_in + layer->n_params > PLIM_OP_MAX_IN ? many : op->in;
  *op =
      (plim_op_desc){.kind = layer->op, .attrs = layer->attrs, .n_in = layer->n_in + layer->n_params, .many_in = many};
  for (int32_t k = 0; k < layer->n_in; k++) {
    const plim_shape *shape = plim_net_shape(net, name, plim_net_inputs(layer)[k]);
    if (!shape) return 0;
    in[k] = *shape;
  }
  for (int32_t k = 0; k < layer->n_params; k++) {
    in[layer->n_in + k] = operand_shape(net, row, layer->n_in + k, &layer->param[k]);
  }
  return 1;
}

static plim_tensor refuse(plim_net *net, const char *name, const char *why) {
  return plim_net_fail(net, PLIM_EUSAGE, "layer '%s': %s", name, why);
}

/* All outputs of the row, or those alone that it always has: attributes may leave the others out, as a mask. */
static int infer_outputs(plim_op_desc *op, const plim_op_row *row, char why[WHY_BYTES]) {
  const int32_t most = plim_op_operands_most(row->out), least = plim_op_operands_least(row->out);
  return plim_op_infer(op, most, why, WHY_BYTES) || (least < most && plim_op_infer(op, least, why, WHY_BYTES));
}

static void set_outputs(plim_net_layer *layer, const plim_op_desc *op) {
  layer->out = op->out[0];
  memcpy(layer->more, op->out + 1, sizeof layer->more);
  layer->n_out = op->n_out;
}

/* Append the layer, whose op is inferred in memory for its operands. */
static plim_tensor append(plim_net *net, const char *name, plim_net_layer *layer, plim_shape *many) {
  plim_op_desc op;
  char why[WHY_BYTES];
  if (!describe(net, name, layer, many, &op)) return PLIM_NONE;
  if (!infer_outputs(&op, plim_op_kind_row(layer->op), why)) return refuse(net, name, why);
  set_outputs(layer, &op);
  return plim_net_append(net, name, layer);
}

plim_tensor plim_net_op(plim_net *net, const char *name, plim_op_kind kind, const plim_attrs *attrs, int32_t n_in,
                        const plim_tensor *in, int32_t n_params, const plim_shape *param) {
  const plim_op_row *row = plim_op_kind_row(kind);
  plim_shape *many = NULL;
  plim_tensor made = PLIM_NONE;
  if (net->status != PLIM_OK) return PLIM_NONE;
  if (!row || kind == PLIM_OP_CUSTOM) return refuse(net, name, "no kind of op with a row has that number");
  if (row->cls != PLIM_OP_PURE) return refuse(net, name, "only ops of class pure are layers");
  if (n_in < 1 || n_params < 0 || n_params > PLIM_NET_PARAMS || n_in > INT32_MAX - n_params) {
    return plim_net_fail(net, PLIM_EUSAGE, "layer '%s': at least one tensor and at most %d parameters are allowed",
                         name, PLIM_NET_PARAMS);
  }
  plim_net_layer layer = {.kind = PLIM_NET_OP, .op = kind, .n_in = n_in, .n_params = n_params};
  if (attrs) layer.attrs = *attrs;
  for (int32_t k = 0; k < n_params; k++) {
    layer.param[k] = plim_shape_make(PLIM_F32, PLIM_FLAT, param[k].rank, param[k].dim);
  }
  plim_status status = plim_allocate(net->ctx, (int64_t)n_in + n_params, sizeof *many, &many);
  if (status == PLIM_OK && n_in > (int32_t)(sizeof layer.in / sizeof *layer.in)) {
    status = plim_allocate(net->ctx, n_in, sizeof *layer.many_in, &layer.many_in);
  }
  if (status == PLIM_OK) {
    memcpy(layer.many_in ? layer.many_in : layer.in, in, (size_t)n_in * sizeof *in);
    made = append(net, name, &layer, many);
  } else {
    (void)plim_net_fail(net, status, "%s", plim_context_error(net->ctx));
  }
  if (made < 0) plim_release(net->ctx, layer.many_in, n_in, sizeof *layer.many_in);
  plim_release(net->ctx, many, (int64_t)n_in + n_params, sizeof *many);
  return made;
}

/* ---- forward ---- */

static void suffix_of(char suffix[PLIM_NET_SUFFIX_BYTES], const char *before, const char *operand, const char *after) {
  (void)snprintf(suffix, PLIM_NET_SUFFIX_BYTES, "%s%.20s%s", before, operand, after);
}

void plim_net_emit_op_persistent(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const plim_op_row *row = plim_op_kind_row(layer->op);
  for (int32_t k = 0; k < layer->n_params; k++) {
    char *suffix = emit->at[i].suffix[k];
    suffix_of(suffix, ".", plim_op_operand_at(row->in, layer->n_in + k)->name, "");
    emit->at[i].param[k] = plim_net_emit_param(emit, layer->name, suffix, &layer->param[k]);
    emit->at[i].trains = 1;
  }
}

/* A parameter as the op reads it: itself, or its cast. */
static plim_net_ref factor_of(plim_net_emit *emit, int32_t i, int32_t k) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const plim_op_operand *operand = plim_op_operand_at(plim_op_kind_row(layer->op)->in, layer->n_in + k);
  const plim_net_ref param = emit->at[i].param[k].value;
  if (operand->type != 't') return param;
  return plim_net_emit_factor(emit, layer->name, emit->at[i].suffix[k], param, &layer->param[k]);
}

/* An op without backward ops omits the outputs that only those read. */
void plim_net_emit_op_forward(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const plim_op_row *row = plim_op_kind_row(layer->op);
  plim_net_emitted *at = &emit->at[i];
  char suffix[PLIM_NET_SUFFIX_BYTES];
  plim_op_spec spec = {.kind = layer->op, .attrs = layer->attrs, .n_in = layer->n_in + layer->n_params};
  int32_t *in = spec.in;
  if (spec.n_in > PLIM_OP_MAX_IN) spec.many_in = in = emit->list;
  for (int32_t k = 0; k < spec.n_in; k++) {
    in[k] = (k < layer->n_in ? emit->at[plim_net_inputs(layer)[k]].y : factor_of(emit, i, k - layer->n_in)).value;
  }
  spec.n_out = emit->training && at->trains ? layer->n_out : plim_op_operands_least(row->out);
  for (int32_t k = 0; k < spec.n_out; k++) {
    suffix_of(suffix, k ? "." : "", k ? row->out[k].name : "", "");
    const plim_net_ref result =
        plim_net_emit_value(emit, layer->name, suffix, PLIM_ROLE_ACTIVATION, k ? &layer->more[k - 1] : &layer->out);
    spec.out[k] = result.value;
    if (k == 0) at->y = result;
  }
  plim_net_emit_layer_op(emit, i, &spec);
}

/* ---- backward ---- */

static int is_wanted(const plim_net_emit *emit, int32_t i, int32_t k) {
  const plim_net_layer *layer = &emit->net->layer[i];
  return k >= layer->n_in || emit->at[plim_net_inputs(layer)[k]].trains;
}

static const char *operand_name(const plim_net_layer *layer, int32_t k) {
  return plim_op_operand_at(plim_op_kind_row(layer->op)->in, k)->name;
}

/* Whether the gradient is that of an operand whose gradient is needed. */
static int any_wanted(const plim_net_emit *emit, int32_t i, const plim_op_gradient *gradient) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const char *of = gradient->of;
  int any = 0;
  for (plim_word w; plim_word_read(&of, &w);) {
    for (int32_t k = 0; k < layer->n_in + layer->n_params; k++) {
      any |= plim_word_is(&w, operand_name(layer, k)) && is_wanted(emit, i, k);
    }
  }
  return any;
}

static plim_net_ref new_gradient(plim_net_emit *emit, int32_t i, int32_t k) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const char *name = operand_name(layer, k);
  char suffix[PLIM_NET_SUFFIX_BYTES], number[12] = "";
  const int is_param = k >= layer->n_in;
  const plim_shape *shape =
      is_param ? &layer->param[k - layer->n_in] : &emit->net->layer[plim_net_inputs(layer)[k]].out;
  int32_t first = k; /* of the operands of that name */
  while (first > 0 && strcmp(operand_name(layer, first - 1), name) == 0) first--;
  if (k > first) (void)snprintf(number, sizeof number, "%d", k - first + 1);
  suffix_of(suffix, is_param ? "." : ".d", name, is_param ? ".grad" : number);
  emit->at[i].operand[k].gradient = plim_net_emit_value(emit, layer->name, suffix, PLIM_ROLE_GRADIENT, shape);
  emit->at[i].operand[k].has_gradient = 1;
  return emit->at[i].operand[k].gradient;
}

static void emit_gradient(plim_net_emit *emit, int32_t i, const plim_op_gradient *gradient, plim_net_ref dy) {
  const plim_net_layer *layer = &emit->net->layer[i];
  plim_op_spec spec;
  const char *of = gradient->of;
  char suffix[PLIM_NET_SUFFIX_BYTES];
  const plim_word first = {gradient->of, (int)strcspn(gradient->of, " ")};
  plim_net_gradient_begin(emit, i, gradient, dy, &spec);
  for (plim_word w; plim_word_read(&of, &w) && emit->status == PLIM_OK;) {
    for (int32_t k = 0; k < layer->n_in + layer->n_params; k++) {
      if (plim_word_is(&w, operand_name(layer, k))) emit->list[spec.n_out++] = new_gradient(emit, i, k).value;
    }
  }
  spec.many_out = emit->list;
  (void)snprintf(suffix, sizeof suffix, ".bwd_%.*s", first.length > 20 ? 20 : first.length, first.text);
  plim_net_emit_op(emit, layer->name, suffix, &spec);
}

/* Whether a gradient after the one at `from` reads the parameter. */
static int is_read_later(const plim_net_emit *emit, int32_t i, int from, const char *name) {
  const plim_op_row *row = plim_op_kind_row(emit->net->layer[i].op);
  for (int g = from + 1; g < PLIM_ROW_GRADIENTS && row->gradient[g].of; g++) {
    const char *reads = row->gradient[g].from;
    if (!any_wanted(emit, i, &row->gradient[g])) continue;
    for (plim_word w; plim_word_read(&reads, &w);) {
      if (plim_word_is(&w, name)) return 1;
    }
  }
  return 0;
}

/* Give the gradients of tensors to their layers, and update the parameters whose last reader has been emitted. */
static void use_gradients(plim_net_emit *emit, int32_t i, int g) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const plim_op_row *row = plim_op_kind_row(layer->op);
  plim_net_emitted *at = &emit->at[i];
  for (int32_t k = 0; k < layer->n_in + layer->n_params; k++) {
    const char *name = plim_op_operand_at(row->in, k)->name;
    if (!at->operand[k].has_gradient || at->operand[k].is_used) continue;
    if (k < layer->n_in) {
      plim_net_hand_back(emit, plim_net_inputs(layer)[k], at->operand[k].gradient);
    } else if (is_read_later(emit, i, g, name)) {
      continue;
    } else {
      const int32_t p = k - layer->n_in;
      plim_net_emit_update(emit, layer->name, at->suffix[p], &at->param[p], at->operand[k].gradient,
                           layer->param[p].rank > 1);
    }
    at->operand[k].is_used = 1;
  }
}

/* Give an input's layer its gradient when that is a value that exists already. */
static void hand_on(plim_net_emit *emit, int32_t i, const plim_op_gradient *gradient, plim_net_ref dy) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const plim_word of = {gradient->of, (int)strlen(gradient->of)}, from = {gradient->from, (int)strlen(gradient->from)};
  for (int32_t k = 0; k < layer->n_in; k++) {
    if (!plim_word_is(&of, operand_name(layer, k))) continue;
    plim_net_hand_back(emit, plim_net_inputs(layer)[k], plim_net_gradient_read(emit, i, from, dy));
    return;
  }
}

void plim_net_emit_op_backward(plim_net_emit *emit, int32_t i) {
  const plim_net_layer *layer = &emit->net->layer[i];
  const plim_op_row *row = plim_op_kind_row(layer->op);
  const plim_net_ref dy = plim_net_gradient_of(emit, i);
  for (int g = 0; g < PLIM_ROW_GRADIENTS && row->gradient[g].of; g++) {
    const plim_op_gradient *gradient = &row->gradient[g];
    if (!any_wanted(emit, i, gradient)) continue;
    if (gradient->kind == PLIM_OP_CUSTOM) {
      hand_on(emit, i, gradient, dy);
    } else {
      emit_gradient(emit, i, gradient, dy);
    }
    use_gradients(emit, i, g);
  }
  for (int32_t k = 0; k < layer->n_in + layer->n_params && emit->status == PLIM_OK; k++) {
    const char *name = plim_op_operand_at(row->in, k)->name;
    if (!is_wanted(emit, i, k) || plim_op_has_gradient(row, name)) continue;
    emit->status =
        plim_fail(emit->net->ctx, PLIM_EUSAGE, "layer '%s': the row of %s has no gradient of '%s', which is trained",
                  layer->name, row->name, name);
  }
}
