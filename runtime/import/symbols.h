/* Numbers texts: each distinct text gets the next number, from 0. Find and add take O(length of the text) on average.
 * On the thread of the context. */
#ifndef PLIM_RUNTIME_IMPORT_SYMBOLS_H
#define PLIM_RUNTIME_IMPORT_SYMBOLS_H

#include "runtime/base/hash_table.h"

/* An empty table is plim_symbols s = {.ctx = ctx}. Release it, also after a failure. */
typedef struct plim_symbols {
  plim_context *ctx;
  char *chars;    /* NUL-terminated, one after the other */
  int64_t *start; /* of each text in chars */
  plim_hash_table numbers;
  int64_t n_chars, cap_chars, cap_start;
  int32_t count;
} plim_symbols;

void plim_symbols_release(plim_symbols *symbols); /* an empty table is legal */

/* The text's number; PLIM_NONE: it was not added. */
int32_t plim_symbols_find(const plim_symbols *symbols, const char *text);
/* Add a copy of a text that is not in the table; *out is its number. PLIM_ENOMEM, PLIM_EOVERFLOW: the table is
 * unchanged. */
PLIM_MUST_USE plim_status plim_symbols_add(plim_symbols *symbols, const char *text, int32_t *out);

#endif
