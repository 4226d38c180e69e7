/* Updates: one op a parameter, of the optimizer's kind. With clipped gradients, each gradient's squares are added to a
 * sum as soon as it is emitted, and all updates wait for the last sum. */
#include <stdio.h>

#include "runtime/net/emit.h"

static void emit_update(plim_net_emit *emit, const plim_net_update *update) {
  char suffix[PLIM_NET_SUFFIX_BYTES];
  const plim_optimizer_row *optimizer = plim_optimizer_at((int32_t)emit->net->options.optimizer);
  plim_op_spec spec = {.kind = optimizer->kind,
                       .phase = PLIM_PHASE_UPDATE,
                       .n_in = 2,
                       .in = {update->gradient.value, emit->hyper.value, emit->squares.value},
                       .n_upd = 1 + optimizer->n_states,
                       .upd = {update->param.value.value, update->param.state[0].value, update->param.state[1].value}};
  if (emit->net->options.clip) spec.n_in = 3;
  if (optimizer->decays_some) spec.attrs.decay = update->decay;
  (void)snprintf(suffix, sizeof suffix, "%s.%s", update->suffix, plim_op_kind_name(optimizer->kind));
  plim_net_emit_op(emit, update->layer, suffix, &spec);
}

/* squares = squares + the sum of the gradient's */
static void add_squares(plim_net_emit *emit, const plim_net_update *update) {
  char suffix[PLIM_NET_SUFFIX_BYTES];
  plim_shape one = plim_net_emit_vector(PLIM_F32, 1);
  (void)snprintf(suffix, sizeof suffix, "%s.squares", update->suffix);
  const plim_net_ref sum = plim_net_emit_value(emit, update->layer, suffix, PLIM_ROLE_GRADIENT, &one);
  plim_op_spec spec = {.kind = PLIM_OP_SUM_SQUARES,
                       .phase = PLIM_PHASE_UPDATE,
                       .n_in = emit->squares.value < 0 ? 1 : 2,
                       .in = {update->gradient.value, emit->squares.value},
                       .n_out = 1,
                       .out = {sum.value}};
  plim_net_emit_op(emit, update->layer, suffix, &spec);
  emit->squares = sum;
}

/* Matrices and tables decay with Adam; biases and the scales of norms do not. An update is of all micro-batches. */
void plim_net_emit_update(plim_net_emit *emit, const char *layer, const char *suffix, const plim_net_param *param,
                          plim_net_ref gradient, int32_t decay) {
  const int32_t micro = emit->micro;
  if (!plim_net_emit_mean(emit, layer, suffix, &param->shape, &gradient)) return;
  const plim_net_update u = {layer, suffix, *param, gradient, decay};
  emit->micro = PLIM_NONE;
  if (emit->net->options.clip) {
    add_squares(emit, &u);
    emit->update[emit->n_updates++] = u;
  } else {
    emit_update(emit, &u);
  }
  emit->micro = micro;
}

void plim_net_emit_updates(plim_net_emit *emit) {
  for (int32_t i = 0; i < emit->n_updates; i++) emit_update(emit, &emit->update[i]);
}
