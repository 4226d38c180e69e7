/* Op descriptions as keys: canonical bytes, hash, equality, a text for files. Ops of equal description share one
 * prepared kernel and one measurement. Functions are safe from any thread, and deterministic. */
#ifndef PLIM_RUNTIME_DEVICE_DESC_H
#define PLIM_RUNTIME_DEVICE_DESC_H

#include <stddef.h>

#include "runtime/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the longest text: for each operand 356 (role, dtype, layout, eight sizes and eight strides of 20), for the
 * kind 64, and for the attributes a name and four numbers of 24 each. */
enum { PLIM_DESC_OPERAND_BYTES = 356, PLIM_DESC_ALONE_BYTES = 64 + 24 * 160 };
int64_t plim_desc_text_bytes(const plim_op_desc *desc);

/* The canonical description of an op. Every unused byte (padding, operands that it does not have) is zero, also in the
 * long lists, which it borrows from the graph. */
void plim_desc_of(const plim_graph *graph, int32_t op, plim_op_desc *out);

/* Hash and equality of canonical descriptions. */
uint64_t plim_desc_hash(const plim_op_desc *desc);
int plim_desc_equal(const plim_op_desc *a, const plim_op_desc *b);

/* Write the whole description as one line, exactly (floats in hexadecimal), so that equal texts mean equal
 * descriptions.
 *   text  [size]  out  plim_desc_text_bytes are enough; a longer text is cut */
void plim_desc_text(const plim_op_desc *desc, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
