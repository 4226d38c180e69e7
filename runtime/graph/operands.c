/* Operand counts and types by kind, as kernels/op.h gives them. */
#include "runtime/graph/operands.h"

#include <stdio.h>
#include <string.h>

enum { TYPES_TEXT = 160 };

/* A custom op has what its program says; the general limits are checked elsewhere. */
plim_status plim_operands_check(plim_context *ctx, const plim_op_spec *s) {
  const plim_op_operands *o = plim_op_kind_operands(s->kind);
  const int in_most = (int)strlen(o->in), out_most = (int)strlen(o->out), upd = (int)strlen(o->upd);
  if (s->kind == PLIM_OP_CUSTOM) return PLIM_OK;
  if (s->n_in >= o->in_least && s->n_in <= in_most && s->n_out >= o->out_least && s->n_out <= out_most &&
      s->n_upd == upd) {
    return PLIM_OK;
  }
  return plim_fail(ctx, PLIM_EDATA,
                   "op '%.255s': a %s has %d to %d inputs, %d to %d outputs and updates %d values, not %d, %d and %d",
                   s->name, plim_op_kind_name(s->kind), o->in_least, in_most, o->out_least, out_most, upd, s->n_in,
                   s->n_out, s->n_upd);
}

static int append_types(char *text, int used, const char *list, const plim_shape *shape, int32_t count) {
  for (int32_t i = 0; i < count && used < TYPES_TEXT; i++) {
    used += snprintf(text + used, (size_t)(TYPES_TEXT - used), "%s%s", i == 0 ? list : " ",
                     plim_dtype_name(shape[i].dtype));
  }
  return used;
}

plim_status plim_operands_check_types(plim_context *ctx, const char *name, const plim_op_desc *op) {
  plim_dtype type;
  char text[TYPES_TEXT] = "";
  if (plim_op_type(op, &type)) return PLIM_OK;
  int used = append_types(text, 0, "in ", op->in, op->n_in);
  used = append_types(text, used, ", out ", op->out, op->n_out);
  (void)append_types(text, used, ", upd ", op->upd, op->n_upd);
  return plim_fail(ctx, PLIM_EDATA, "op '%.255s': no %s takes values of these types: %s", name,
                   plim_op_kind_name(op->kind), text);
}
