/* Numbers texts. The texts stand one after the other; a hash table has their numbers. */
#include "runtime/import/symbols.h"

#include <assert.h>
#include <string.h>

#include "kernels/fnv.h"

#include "runtime/base/array.h"

void plim_symbols_release(plim_symbols *symbols) {
  plim_release(symbols->ctx, symbols->chars, symbols->cap_chars, 1);
  plim_release(symbols->ctx, symbols->start, symbols->cap_start, sizeof *symbols->start);
  plim_hash_release(&symbols->numbers);
  *symbols = (plim_symbols){.ctx = symbols->ctx};
}

static uint64_t hash_of(const char *text) {
  return plim_fnv64(PLIM_FNV64, text, strlen(text));
}

static int is_text(const void *symbols, int32_t number, const void *text) {
  const plim_symbols *s = symbols;
  return strcmp(s->chars + s->start[number], text) == 0;
}

int32_t plim_symbols_find(const plim_symbols *symbols, const char *text) {
  return plim_hash_find(&symbols->numbers, hash_of(text), is_text, symbols, text);
}

plim_status plim_symbols_add(plim_symbols *symbols, const char *text, int32_t *out) {
  int64_t bytes = (int64_t)strlen(text) + 1;
  assert(plim_symbols_find(symbols, text) < 0);
  symbols->numbers.ctx = symbols->ctx;
  PLIM_TRY(plim_hash_reserve(&symbols->numbers));
  PLIM_TRY(plim_array_reserve(symbols->ctx, &symbols->chars, &symbols->cap_chars, symbols->n_chars + bytes, 1));
  PLIM_TRY(plim_array_reserve(symbols->ctx, &symbols->start, &symbols->cap_start, (int64_t)symbols->count + 1,
                              sizeof *symbols->start));
  memcpy(symbols->chars + symbols->n_chars, text, (size_t)bytes);
  symbols->start[symbols->count] = symbols->n_chars;
  symbols->n_chars += bytes;
  plim_hash_add(&symbols->numbers, hash_of(text), symbols->count);
  *out = symbols->count++;
  return PLIM_OK;
}
