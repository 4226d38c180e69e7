/* Linear probing, at most half full. */
#include "runtime/import/symbols.h"

#include <assert.h>
#include <string.h>

#include "kernels/fnv.h"

#include "runtime/base/array.h"

enum { FIRST_SLOTS = 64 };

void plim_symbols_release(plim_symbols *s) {
  plim_release(s->ctx, s->chars, s->cap_chars, 1);
  plim_release(s->ctx, s->start, s->cap_start, sizeof *s->start);
  plim_release(s->ctx, s->slot, s->slots, sizeof *s->slot);
  *s = (plim_symbols){.ctx = s->ctx};
}

/* The slot of the text, or the free slot that it would take. */
static int64_t probe(const plim_symbols *s, const char *text) {
  int64_t mask = s->slots - 1, at = (int64_t)(plim_fnv64(PLIM_FNV64, text, strlen(text)) & (uint64_t)mask);
  while (s->slot[at] > 0 && strcmp(s->chars + s->start[s->slot[at] - 1], text) != 0) at = (at + 1) & mask;
  return at;
}

int32_t plim_symbols_find(const plim_symbols *s, const char *text) {
  return s->slots > 0 ? s->slot[probe(s, text)] - 1 : -1;
}

static plim_status grow(plim_symbols *s) {
  int64_t slots = s->slots > 0 ? 2 * s->slots : FIRST_SLOTS;
  int32_t *slot = NULL;
  PLIM_TRY(plim_allocate(s->ctx, slots, sizeof *slot, &slot));
  plim_release(s->ctx, s->slot, s->slots, sizeof *s->slot);
  s->slot = slot;
  s->slots = slots;
  for (int32_t i = 0; i < s->count; i++) s->slot[probe(s, s->chars + s->start[i])] = i + 1;
  return PLIM_OK;
}

plim_status plim_symbols_add(plim_symbols *s, const char *text, int32_t *out) {
  int64_t bytes = (int64_t)strlen(text) + 1;
  assert(plim_symbols_find(s, text) < 0);
  if (2 * ((int64_t)s->count + 1) > s->slots) PLIM_TRY(grow(s));
  PLIM_TRY(plim_array_reserve(s->ctx, &s->chars, &s->cap_chars, s->n_chars + bytes, 1));
  PLIM_TRY(plim_array_reserve(s->ctx, &s->start, &s->cap_start, (int64_t)s->count + 1, sizeof *s->start));
  memcpy(s->chars + s->n_chars, text, (size_t)bytes);
  s->start[s->count] = s->n_chars;
  s->n_chars += bytes;
  s->slot[probe(s, text)] = s->count + 1;
  *out = s->count++;
  return PLIM_OK;
}
