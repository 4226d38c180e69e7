/* Translates the words of a row's gradient to values of the graph. */
#include "runtime/net/row_gradient.h"

#include <string.h>

int plim_word_read(const char **at, plim_word *word) {
  *at += strspn(*at, " ");
  *word = (plim_word){*at, (int)strcspn(*at, " ")};
  *at += word->length;
  return word->length > 0;
}

int plim_word_is(const plim_word *word, const char *name) {
  const int optional = word->length > 0 && word->text[word->length - 1] == '?';
  const size_t length = strlen(name);
  return word->length - optional == (int)length && strncmp(word->text, name, length) == 0;
}

void plim_net_emit_layer_op(plim_net_emit *emit, int32_t i, const plim_op_spec *spec) {
  plim_net_emitted *at = &emit->at[i];
  at->kind = spec->kind;
  at->n_operands = spec->n_in;
  at->n_results = spec->n_out;
  const int32_t *in = spec->many_in ? spec->many_in : spec->in;
  for (int32_t k = 0; k < spec->n_in; k++) at->operand[k] = (plim_net_operand){.value = {in[k], PLIM_NONE}};
  for (int32_t k = 0; k < spec->n_out; k++) at->result[k] = (plim_net_ref){spec->out[k], PLIM_NONE};
  plim_net_emit_op(emit, emit->net->layer[i].name, "", spec);
}

static int32_t find_operand(const plim_op_operand *list, int32_t n, const plim_word *word) {
  for (int32_t k = 0; k < n; k++) {
    if (plim_word_is(word, plim_op_operand_at(list, k)->name)) return k;
  }
  return PLIM_NONE;
}

plim_net_ref plim_net_gradient_read(plim_net_emit *emit, int32_t i, plim_word word, plim_net_ref dy) {
  const plim_net_emitted *at = &emit->at[i];
  const plim_op_row *row = plim_op_kind_row(at->kind);
  const plim_word rest = {word.text + 1, word.length - 1};
  int32_t k = find_operand(row->in, at->n_operands, &word);
  if (k >= 0) return at->operand[k].value;
  k = find_operand(row->out, at->n_results, &word);
  if (k >= 0) return at->result[k];
  if (word.text[0] == 'd' && plim_word_is(&rest, row->out[0].name)) return dy;
  k = word.text[0] == 'd' ? find_operand(row->in, at->n_operands, &rest) : PLIM_NONE;
  if (k >= 0 && at->operand[k].has_gradient) return at->operand[k].gradient;
  if (word.text[word.length - 1] != '?' && emit->status == PLIM_OK) {
    emit->status =
        plim_fail(emit->net->ctx, PLIM_EUSAGE, "layer '%s': the gradients of %s read '%.*s', which is not there",
                  emit->net->layer[i].name, row->name, word.length, word.text);
  }
  return (plim_net_ref){PLIM_NONE, PLIM_NONE};
}

static int has_attr(const plim_op_row *row, const char *name) {
  const char *attrs = row->attrs ? row->attrs : "";
  int has = 0;
  for (plim_word word; plim_word_read(&attrs, &word);) has |= plim_word_is(&word, name);
  for (int k = 0; k < PLIM_ROW_OWN && row->own[k].name; k++) has |= strcmp(row->own[k].name, name) == 0;
  return has;
}

static void copy_attr(const plim_attr *to_attr, plim_attrs *to, const plim_attr *from_attr, const plim_attrs *from) {
  for (int k = 0; k < to_attr->count; k++) {
    if (to_attr->type == PLIM_ATTR_FLOAT) {
      plim_attr_set_float(to_attr, to, k, plim_attr_float(from_attr, from, k));
    } else {
      plim_attr_set_int(to_attr, to, k, plim_attr_int(from_attr, from, k));
    }
  }
}

/* The attributes that the rows of both kinds name. */
static plim_attrs shared_attrs(plim_op_kind from, const plim_attrs *given, plim_op_kind to) {
  const plim_op_row *from_row = plim_op_kind_row(from), *to_row = plim_op_kind_row(to);
  plim_attrs attrs = {.eps = 0};
  const plim_attr *a, *b;
  for (int i = 0; (a = plim_op_kind_attr(to, i)) != NULL; i++) {
    if (!has_attr(to_row, a->name) || !has_attr(from_row, a->name)) continue;
    for (int j = 0; (b = plim_op_kind_attr(from, j)) != NULL; j++) {
      if (strcmp(a->name, b->name) == 0 && a->type == b->type && a->count == b->count) copy_attr(a, &attrs, b, given);
    }
  }
  return attrs;
}

void plim_net_gradient_begin(plim_net_emit *emit, int32_t i, const plim_op_gradient *gradient, plim_net_ref dy,
                             plim_op_spec *spec) {
  const char *from = gradient->from;
  *spec = (plim_op_spec){.kind = gradient->kind,
                         .phase = PLIM_PHASE_BACKWARD,
                         .attrs = shared_attrs(emit->at[i].kind, &emit->net->layer[i].attrs, gradient->kind)};
  for (plim_word word; plim_word_read(&from, &word);) {
    const plim_net_ref read = plim_net_gradient_read(emit, i, word, dy);
    if (read.value >= 0 && spec->n_in < PLIM_OP_MAX_IN) spec->in[spec->n_in++] = read.value;
  }
}

void plim_net_gradient_of_operand(plim_net_emit *emit, int32_t i, const char *operand, plim_net_ref dy,
                                  plim_op_spec *spec) {
  const plim_op_row *row = plim_op_kind_row(emit->at[i].kind);
  for (int g = 0; g < PLIM_ROW_GRADIENTS && row->gradient[g].of; g++) {
    const char *of = row->gradient[g].of;
    for (plim_word word; plim_word_read(&of, &word);) {
      if (!plim_word_is(&word, operand)) continue;
      plim_net_gradient_begin(emit, i, &row->gradient[g], dy, spec);
      return;
    }
  }
  if (emit->status == PLIM_OK) {
    emit->status = plim_fail(emit->net->ctx, PLIM_EUSAGE, "layer '%s': the row of %s has no gradient of '%s'",
                             emit->net->layer[i].name, row->name, operand);
  }
}
