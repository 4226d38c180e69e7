/* Finds whether there is room for a storage that stays: first by the sum of live bytes, then, in packed plans, by
 * addresses. The buffers that are live in a window of commands leave gaps, which a walk over the buffers by offset
 * finds. A longer window has fewer gaps, so bisection finds the first command by which none is left. */
#include "runtime/inspect/inspect_internal.h"

static int64_t bytes_of(const plim_inspect *in, int32_t storage) {
  int32_t first = in->buffer_first[storage];
  return first < in->buffer_first[storage + 1] ? in->plan->buffer[in->buffer[first]].bytes : 0;
}

static void find_load(const plim_inspect *in, int64_t bytes, plim_absence *absence) {
  int64_t budget = in->plan->budget_bytes;
  for (int32_t j = absence->gone; j < absence->back && absence->breaks == PLIM_BREAKS_NOTHING; j++) {
    if (in->live_bytes[j] <= budget - bytes) continue;
    absence->breaks = PLIM_BREAKS_BUDGET;
    absence->full_command = j;
    absence->over_bytes = in->live_bytes[j] + bytes - budget;
  }
}

/* The lowest offset of a range of `bytes` that is free in all commands [begin, end). */
static int64_t lowest_free(const plim_inspect *in, int64_t bytes, int32_t begin, int32_t end) {
  int64_t at = 0;
  for (int32_t i = 0; i < in->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &in->plan->buffer[in->by_offset[i]];
    if (buffer->begin >= end || buffer->end <= begin) continue;
    if (buffer->offset - at >= bytes) break;
    if (buffer->offset + buffer->bytes > at) at = buffer->offset + buffer->bytes;
  }
  return at;
}

/* The storage that uses bytes of the range [offset, offset + bytes) at the command; -1: a workspace. */
static int32_t blocker_of(const plim_inspect *in, int64_t offset, int64_t bytes, int32_t command) {
  for (int32_t i = 0; i < in->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &in->plan->buffer[i];
    int there = buffer->begin <= command && command < buffer->end;
    if (there && buffer->offset < offset + bytes && offset < buffer->offset + buffer->bytes) return buffer->storage;
  }
  return PLIM_NONE;
}

static void find_addresses(const plim_inspect *in, int64_t bytes, plim_absence *absence) {
  int64_t most = in->plan->budget_bytes - bytes; /* of an offset */
  int64_t lowest = lowest_free(in, bytes, absence->gone, absence->back);
  int32_t free_to = absence->gone, taken_by = absence->back; /* ends of windows with and without a free range */
  if (lowest <= most) return;
  while (taken_by - free_to > 1) {
    int32_t half = free_to + (taken_by - free_to) / 2;
    if (lowest_free(in, bytes, absence->gone, half) <= most) {
      free_to = half;
    } else {
      taken_by = half;
    }
  }
  absence->breaks = PLIM_BREAKS_ADDRESSES;
  absence->full_command = taken_by - 1;
  absence->over_bytes = lowest - most;
  if (absence->full_command == absence->gone) return;
  absence->free_offset = lowest_free(in, bytes, absence->gone, absence->full_command);
  absence->blocker = blocker_of(in, absence->free_offset, bytes, absence->full_command);
}

void plim_inspect_room(const plim_inspect *in, int32_t storage, plim_absence *absence) {
  int64_t bytes = bytes_of(in, storage);
  find_load(in, bytes, absence);
  if (absence->breaks == PLIM_BREAKS_NOTHING && in->plan->packed) find_addresses(in, bytes, absence);
}

/* Without a buffer, the range is free from the end of all buffers below it to the next buffer above it. */
int32_t plim_inspect_makes_room(const plim_inspect *in, int32_t storage, const plim_absence *absence,
                                plim_room_walk *walk) {
  const plim_plan *plan = in->plan;
  int64_t bytes = bytes_of(in, storage);
  while (walk->next <= plan->n_buffers) {
    int32_t id = walk->next < plan->n_buffers ? in->by_offset[walk->next] : PLIM_NONE, last = walk->last;
    walk->next++;
    if (id >= 0 && (plan->buffer[id].begin > absence->full_command || plan->buffer[id].end <= absence->gone)) continue;
    int64_t room = (id >= 0 ? plan->buffer[id].offset : plan->budget_bytes) - walk->below;
    int64_t top = last >= 0 ? plan->buffer[last].offset + plan->buffer[last].bytes : 0;
    if (top > walk->below) walk->below = top;
    walk->last = id;
    if (last >= 0 && room >= bytes) return last;
  }
  return PLIM_NONE;
}
