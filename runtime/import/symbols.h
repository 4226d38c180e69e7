/* Texts and their numbers: each distinct text gets the next one. An open hash table. */
#ifndef PLIM_RUNTIME_IMPORT_SYMBOLS_H
#define PLIM_RUNTIME_IMPORT_SYMBOLS_H

#include "runtime/base/context.h"

/* Empty: plim_symbols s = {.ctx = ctx}. Release it whatever happened. */
typedef struct plim_symbols {
  plim_context *ctx;
  char *chars;    /* NUL-terminated, one after the other */
  int64_t *start; /* of each text in chars */
  int32_t *slot;  /* [slots] number + 1, 0: free */
  int64_t n_chars, cap_chars, cap_start, slots;
  int32_t count;
} plim_symbols;

void plim_symbols_release(plim_symbols *symbols);

int32_t plim_symbols_find(const plim_symbols *symbols, const char *text);                          /* -1: none */
PLIM_MUST_USE plim_status plim_symbols_add(plim_symbols *symbols, const char *text, int32_t *out); /* a new text */

#endif
