/* Sections: sweep the times at which boxes begin and end (ends first); a section closes at the first end after a begin.
 * Two boxes overlap in time exactly when they share a section. */
#include "planner/pack/pack_sections.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Position of `time` in the sorted distinct times. */
static int32_t find_time(const int64_t *times, int32_t n, int64_t time) {
  int32_t low = 0, high = n - 1;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (times[middle] < time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* section_at[t] = sections closed before distinct time t; returns the number of sections. */
static int32_t number_sections(int32_t n_times, const unsigned char *event, int32_t *section_at) {
  int32_t closed = 0;
  int open = 0;
  for (int32_t t = 0; t < n_times; t++) {
    if ((event[t] & 2) && open) {
      closed++;
      open = 0;
    }
    section_at[t] = closed;
    if (event[t] & 1) open = 1;
  }
  return closed;
}

static plim_status span_boxes(plim_sections *s, const plim_box *box) {
  int64_t *times = NULL;
  int32_t *section_at = NULL;
  unsigned char *event = NULL; /* bit 0: a box begins here; bit 1: one ends */
  int64_t room = 2 * (int64_t)s->n;
  plim_status status;
  PLIM_CHECK(plim_allocate(s->ctx, room, sizeof *times, &times));
  PLIM_CHECK(plim_allocate(s->ctx, room, sizeof *section_at, &section_at));
  PLIM_CHECK(plim_allocate(s->ctx, room, sizeof *event, &event));
  for (int32_t x = 0; x < s->n; x++) {
    times[2 * x] = box[x].begin;
    times[2 * x + 1] = box[x].end;
  }
  qsort(times, (size_t)room, sizeof *times, by_value);
  int32_t distinct = 0;
  for (int64_t i = 0; i < room; i++) {
    if (distinct == 0 || times[distinct - 1] != times[i]) times[distinct++] = times[i];
  }
  for (int32_t x = 0; x < s->n; x++) {
    event[find_time(times, distinct, box[x].begin)] |= 1;
    event[find_time(times, distinct, box[x].end)] |= 2;
  }
  s->n_sections = number_sections(distinct, event, section_at);
  for (int32_t x = 0; x < s->n; x++) {
    s->box[x].first = section_at[find_time(times, distinct, box[x].begin)];
    s->box[x].last = section_at[find_time(times, distinct, box[x].end)];
  }
done:
  plim_release(s->ctx, times, room, sizeof *times);
  plim_release(s->ctx, section_at, room, sizeof *section_at);
  plim_release(s->ctx, event, room, sizeof *event);
  return status;
}

static plim_status list_members(plim_sections *s) {
  PLIM_TRY(plim_allocate(s->ctx, s->n_sections + 1, sizeof *s->member_first, &s->member_first));
  for (int32_t x = 0; x < s->n; x++) {
    for (int32_t i = s->box[x].first; i < s->box[x].last; i++) s->member_first[i + 1]++;
  }
  for (int32_t i = 0; i < s->n_sections; i++) s->member_first[i + 1] += s->member_first[i];
  PLIM_TRY(plim_allocate(s->ctx, s->member_first[s->n_sections], sizeof *s->member, &s->member));
  int32_t *fill = NULL;
  PLIM_TRY(plim_allocate(s->ctx, s->n_sections, sizeof *fill, &fill));
  for (int32_t x = 0; x < s->n; x++) {
    for (int32_t i = s->box[x].first; i < s->box[x].last; i++) s->member[s->member_first[i] + fill[i]++] = x;
  }
  plim_release(s->ctx, fill, s->n_sections, sizeof *fill);
  return PLIM_OK;
}

/* Call for every box y that shares a section with x, once: in section x.first all members; in later sections those
 * that begin there. */
static int32_t overlaps_of(const plim_sections *s, int32_t x, int32_t *out) {
  int32_t n = 0;
  for (int32_t i = s->box[x].first; i < s->box[x].last; i++) {
    for (int32_t m = s->member_first[i]; m < s->member_first[i + 1]; m++) {
      int32_t y = s->member[m];
      if (y == x || (i > s->box[x].first && s->box[y].first < i)) continue;
      if (out) out[n] = y;
      n++;
    }
  }
  return n;
}

static plim_status list_overlaps(plim_sections *s) {
  PLIM_TRY(plim_allocate(s->ctx, s->n + 1, sizeof *s->overlap_first, &s->overlap_first));
  for (int32_t x = 0; x < s->n; x++) s->overlap_first[x + 1] = s->overlap_first[x] + overlaps_of(s, x, NULL);
  PLIM_TRY(plim_allocate(s->ctx, s->overlap_first[s->n], sizeof *s->overlap, &s->overlap));
  for (int32_t x = 0; x < s->n; x++) (void)overlaps_of(s, x, s->overlap + s->overlap_first[x]);
  return PLIM_OK;
}

plim_status plim_sections_make(plim_context *ctx, int32_t n, const plim_box *box, int64_t align, plim_sections *out) {
  plim_sections s = {.ctx = ctx, .n = n};
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *s.box, &s.box));
  for (int32_t x = 0; x < n; x++) {
    s.box[x].size = (box[x].bytes - 1) / align + 1;
    s.box[x].fixed = box[x].fixed < 0 ? -1 : box[x].fixed / align;
  }
  PLIM_CHECK(span_boxes(&s, box));
  PLIM_CHECK(list_members(&s));
  PLIM_CHECK(list_overlaps(&s));
  *out = s;
done:
  if (status != PLIM_OK) plim_sections_free(&s);
  return status;
}

void plim_sections_free(plim_sections *s) {
  if (!s->ctx) return;
  if (s->member) plim_release(s->ctx, s->member, s->member_first[s->n_sections], sizeof *s->member);
  if (s->overlap) plim_release(s->ctx, s->overlap, s->overlap_first[s->n], sizeof *s->overlap);
  plim_release(s->ctx, s->member_first, s->n_sections + 1, sizeof *s->member_first);
  plim_release(s->ctx, s->overlap_first, s->n + 1, sizeof *s->overlap_first);
  plim_release(s->ctx, s->box, s->n, sizeof *s->box);
  *s = (plim_sections){0};
}
