/* The built-in table of op kinds and attributes, for the files that look it up. */
#ifndef PLIM_KERNELS_OP_ROWS_H
#define PLIM_KERNELS_OP_ROWS_H

#include "kernels/op.h"

extern const plim_attr plim_builtin_attrs[];                    /* ends with a NULL name */
extern const plim_op_row plim_builtin_rows[PLIM_OP_KIND_COUNT]; /* by kind */

/* The first of the words in `text`, which has blanks between them, from *at on: its length, 0 after the last. *at moves
 * to its start. */
size_t plim_word_next(const char **at);

/* A product of numbers and names of sizes ("...": all of them), saturated at INT64_MAX. -1 when a name is none of the
 * sizes; 0 when a size is 0. */
int64_t plim_op_product(const plim_op_sizes *sizes, const char *product);

/* NULL, or what is wrong with a row. */
const char *plim_op_row_fault(const plim_op_row *row);

#endif
