/* Emits gradients by the row of a layer's op. The row says which op computes a gradient, from which values, and with
 * which attributes. Functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_NET_ROW_GRADIENT_H
#define PLIM_RUNTIME_NET_ROW_GRADIENT_H

#include "runtime/net/emit.h"

/* A word of a row, whose words are separated by blanks; not terminated. */
typedef struct plim_word {
  const char *text;
  int length;
} plim_word;

/* Read the next word from *at on, and move *at past it. Returns 0 after the last word. */
int plim_word_read(const char **at, plim_word *word);
/* Whether the word is that name, or the name with a '?'. */
int plim_word_is(const plim_word *word, const char *name);

/* Emit the forward op of layer i, and note its operands and results for the gradients that name them. */
void plim_net_emit_layer_op(plim_net_emit *emit, int32_t i, const plim_op_spec *spec);

/* The value that a word of a gradient names. The word is one of:
 *   an operand or result of the layer's op
 *   "d" and the name of the op's first result, whose value is dy
 *   "d" and the name of an operand whose gradient was emitted before
 * {PLIM_NONE, PLIM_NONE}: the word is optional and its value is missing, or the emission has failed. */
plim_net_ref plim_net_gradient_read(plim_net_emit *emit, int32_t i, plim_word word, plim_net_ref dy);

/* Begin the op that computes a gradient of the layer's row. Sets kind, phase, inputs, and the attributes that
 * both kinds have; the caller sets the outputs. */
void plim_net_gradient_begin(plim_net_emit *emit, int32_t i, const plim_op_gradient *gradient, plim_net_ref dy,
                             plim_op_spec *spec);
/* The same for the gradient of the operand with that name. */
void plim_net_gradient_of_operand(plim_net_emit *emit, int32_t i, const char *operand, plim_net_ref dy,
                                  plim_op_spec *spec);

#endif
