/* Gradients by the row of a layer's op: which op computes one, from what, with which attributes. */
#ifndef PLIM_RUNTIME_NET_ROW_GRADIENT_H
#define PLIM_RUNTIME_NET_ROW_GRADIENT_H

#include "runtime/net/emit.h"

/* A word of a row, which has blanks between them; not terminated. */
typedef struct plim_word {
  const char *text;
  int length;
} plim_word;

/* The next word from *at on, which moves past it; 0 after the last. */
int plim_word_read(const char **at, plim_word *word);
/* 1 when the word is that name, or the name with a '?'. */
int plim_word_is(const plim_word *word, const char *name);

/* Emit the op that layer i is, and remember its operands and results for the gradients that name them. */
void plim_net_emit_layer_op(plim_net_emit *e, int32_t i, const plim_op_spec *spec);

/* What a word of a gradient names: an operand or a result of the layer's op; "d" and the name of its first result,
 * which is dy; or "d" and the name of an operand whose gradient is there. {-1, -1}: an optional one that is not there,
 * or the emission has failed. */
plim_net_ref plim_net_gradient_read(plim_net_emit *e, int32_t i, plim_word word, plim_net_ref dy);

/* Begin the op that computes the gradient `g` of the layer's row: kind, phase, the attributes that both kinds have, and
 * inputs. Outputs are the caller's. */
void plim_net_gradient_begin(plim_net_emit *e, int32_t i, const plim_op_gradient *g, plim_net_ref dy,
                             plim_op_spec *spec);
/* The same of the gradient that is of an operand of that name. */
void plim_net_gradient_of_operand(plim_net_emit *e, int32_t i, const char *operand, plim_net_ref dy,
                                  plim_op_spec *spec);

#endif
