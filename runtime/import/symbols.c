/* Numbers texts. The texts stand one after the other; a hash table has their numbers. */
#include "runtime/import/symbols.h"

#include <assert.h>
#include <string.h>

#include "kernels/fnv.h"

#include "runtime/base/array.h"

void plim_symbols_release(plim_symbols *s) {
  plim_release(s->ctx, s->chars, s->cap_chars, 1);
  plim_release(s->ctx, s->start, s->cap_start, sizeof *s->start);
  plim_hash_release(&s->numbers);
  *s = (plim_symbols){.ctx = s->ctx};
}

static uint64_t hash_of(const char *text) {
  return plim_fnv64(PLIM_FNV64, text, strlen(text));
}

static int is_text(const void *symbols, int32_t number, const void *text) {
  const plim_symbols *s = symbols;
  return strcmp(s->chars + s->start[number], text) == 0;
}

int32_t plim_symbols_find(const plim_symbols *s, const char *text) {
  return plim_hash_find(&s->numbers, hash_of(text), is_text, s, text);
}

plim_status plim_symbols_add(plim_symbols *s, const char *text, int32_t *out) {
  int64_t bytes = (int64_t)strlen(text) + 1;
  assert(plim_symbols_find(s, text) < 0);
  s->numbers.ctx = s->ctx;
  PLIM_TRY(plim_hash_reserve(&s->numbers));
  PLIM_TRY(plim_array_reserve(s->ctx, &s->chars, &s->cap_chars, s->n_chars + bytes, 1));
  PLIM_TRY(plim_array_reserve(s->ctx, &s->start, &s->cap_start, (int64_t)s->count + 1, sizeof *s->start));
  memcpy(s->chars + s->n_chars, text, (size_t)bytes);
  s->start[s->count] = s->n_chars;
  s->n_chars += bytes;
  plim_hash_add(&s->numbers, hash_of(text), s->count);
  *out = s->count++;
  return PLIM_OK;
}
