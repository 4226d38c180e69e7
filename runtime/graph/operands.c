/* Checks operand counts, types and shapes against the rows of kinds. */
#include "runtime/graph/operands.h"

#include <stdio.h>
#include <string.h>

enum { TYPES_TEXT = 256, RULES_TEXT = 384, COUNT_TEXT = 32, TYPES_SHOWN = 4 /* of a list */ };

/* A custom op may have any operands within the general limits, which builder.c checks. */
static const char *count_text(char *text, int least, int most) {
  if (most == INT32_MAX) (void)snprintf(text, COUNT_TEXT, "at least %d", least);
  if (most < INT32_MAX) (void)snprintf(text, COUNT_TEXT, "%d to %d", least, most);
  return text;
}

plim_status plim_operands_check(plim_context *ctx, const plim_op_spec *spec) {
  const plim_op_row *row = plim_op_kind_row(spec->kind);
  const int in_most = plim_op_operands_most(row->in), in_least = plim_op_operands_least(row->in);
  const int out_most = plim_op_operands_most(row->out), out_least = plim_op_operands_least(row->out);
  const int upd_most = plim_op_operands_most(row->upd), upd_least = plim_op_operands_least(row->upd);
  if (spec->kind == PLIM_OP_CUSTOM) return PLIM_OK;
  if (spec->n_in >= in_least && spec->n_in <= in_most && spec->n_out >= out_least && spec->n_out <= out_most &&
      spec->n_upd >= upd_least && spec->n_upd <= upd_most) {
    return PLIM_OK;
  }
  char in[COUNT_TEXT], out[COUNT_TEXT], upd[COUNT_TEXT];
  return plim_fail(ctx, PLIM_EDATA,
                   "op '%.255s': a %s has %s inputs, %s outputs and updates %s values, not %d, %d and %d", spec->name,
                   row->name, count_text(in, in_least, in_most), count_text(out, out_least, out_most),
                   count_text(upd, upd_least, upd_most), spec->n_in, spec->n_out, spec->n_upd);
}

static int append_types(char *text, int used, const char *list, const plim_shape *shape, int32_t count) {
  for (int32_t i = 0; i < count && i < TYPES_SHOWN && used < TYPES_TEXT; i++) {
    used += snprintf(text + used, (size_t)(TYPES_TEXT - used), "%s%s", i == 0 ? list : " ",
                     plim_dtype_name(shape[i].dtype));
  }
  if (count > TYPES_SHOWN && used < TYPES_TEXT) {
    used += snprintf(text + used, (size_t)(TYPES_TEXT - used), " and %d more", (int)(count - TYPES_SHOWN));
  }
  return used;
}

/* Check the shape rules. Kinds of older versions are exempt: documents may have shapes that no kernel takes. */
static plim_status check_rules(plim_context *ctx, const char *name, const plim_op_desc *op) {
  char why[RULES_TEXT];
  if (plim_op_kind_row(op->kind)->version < PLIM_OWN_KIND_VERSION || plim_op_fits(op, NULL, why, sizeof why)) {
    return PLIM_OK;
  }
  return plim_fail(ctx, PLIM_EDATA, "op '%.255s': %s", name, why);
}

static int has_strides(const plim_shape *shape, int32_t n) {
  int any = 0;
  for (int32_t i = 0; i < n; i++) any |= plim_shape_is_strided(&shape[i]);
  return any;
}

plim_status plim_operands_check_types(plim_context *ctx, const char *name, const plim_op_desc *op) {
  plim_dtype type;
  char why[RULES_TEXT];
  char text[TYPES_TEXT] = "";
  if (plim_op_type(op, &type)) return check_rules(ctx, name, op);
  if (has_strides(plim_op_inputs(op), op->n_in) && !plim_op_fits(op, NULL, why, sizeof why)) {
    return plim_fail(ctx, PLIM_EDATA, "op '%.255s': %s", name, why);
  }
  int used = append_types(text, 0, "in ", plim_op_inputs(op), op->n_in);
  used = append_types(text, used, ", out ", plim_op_outputs(op), op->n_out);
  (void)append_types(text, used, ", upd ", plim_op_updates(op), op->n_upd);
  return plim_fail(ctx, PLIM_EDATA, "op '%.255s': no %s takes values of these types: %s", name,
                   plim_op_kind_name(op->kind), text);
}
