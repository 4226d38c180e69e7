/* The free blocks of an arena in an array sorted by size, in which best fit is a binary search. */
#include "runtime/arena/free_set.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/array.h"

void plim_free_set_init(plim_free_set *set, plim_context *ctx) {
  *set = (plim_free_set){.ctx = ctx};
}

void plim_free_set_release(plim_free_set *set) {
  plim_release(set->ctx, set->entry, set->capacity, sizeof *set->entry);
}

plim_status plim_free_set_reserve(plim_free_set *set, int64_t count) {
  return plim_array_reserve(set->ctx, &set->entry, &set->capacity, count, sizeof *set->entry);
}

static int before(const plim_free_entry *entry, int64_t bytes, int64_t offset) {
  return entry->bytes != bytes ? entry->bytes < bytes : entry->offset < offset;
}

/* The first entry that is not before the key; n: there is none. Adds to *compared. */
static int64_t find(const plim_free_set *set, int64_t bytes, int64_t offset, int64_t *compared) {
  int64_t low = 0, high = set->n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    ++*compared;
    if (before(&set->entry[middle], bytes, offset)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void plim_free_set_insert(plim_free_set *set, int32_t id, int64_t bytes, int64_t offset) {
  assert(bytes > 0 && set->n < set->capacity);
  int64_t at = find(set, bytes, offset, &set->compared);
  plim_free_entry *place = &set->entry[at];
  memmove(place + 1, place, (size_t)(set->n - at) * sizeof *place);
  *place = (plim_free_entry){bytes, offset, id};
  set->n++;
}

void plim_free_set_erase(plim_free_set *set, int64_t bytes, int64_t offset) {
  int64_t at = find(set, bytes, offset, &set->compared);
  plim_free_entry *place = &set->entry[at];
  assert(at < set->n && place->bytes == bytes && place->offset == offset);
  set->n--;
  memmove(place, place + 1, (size_t)(set->n - at) * sizeof *place);
}

int plim_free_set_has(const plim_free_set *set, int32_t id, int64_t bytes, int64_t offset) {
  int64_t compared = 0, at = find(set, bytes, offset, &compared);
  const plim_free_entry *entry = &set->entry[at];
  return at < set->n && entry->bytes == bytes && entry->offset == offset && entry->id == id;
}

int32_t plim_free_set_best(plim_free_set *set, int64_t bytes, int last) {
  int64_t at = find(set, bytes, 0, &set->compared);
  if (at == set->n) return PLIM_NONE;
  if (last) at = find(set, set->entry[at].bytes, INT64_MAX, &set->compared) - 1;
  return set->entry[at].id;
}

int64_t plim_free_set_largest(const plim_free_set *set) {
  return set->n > 0 ? set->entry[set->n - 1].bytes : 0;
}

int plim_free_set_valid(const plim_free_set *set) {
  int valid = set->n <= set->capacity;
  for (int64_t i = 0; i < set->n; i++) {
    valid &= set->entry[i].bytes > 0;
    valid &= i == 0 || before(&set->entry[i - 1], set->entry[i].bytes, set->entry[i].offset);
  }
  return valid;
}
