/* Sections of time, found by a sweep over begins and ends of boxes, ends first. A section is closed at the first end
 * after a begin: the boxes alive there are a maximal set. O(n log n). */
#include "planner/pack/units.h"

#include "runtime/base/integers.h"

enum { COMES = 1, GOES = 2 };

/* A stretch of time [begin, end) over which a box is there. */
typedef struct stretch {
  int64_t begin, end;
} stretch;

typedef struct sweep {
  plim_sections *sections;
  stretch *stretch; /* [n] as the spans */
  int32_t n;        /* stretches */
  int64_t *time;    /* [2n] sorted, distinct */
  int32_t n_times;
  unsigned char *event; /* [n_times] COMES, GOES */
  int32_t *section_at;  /* [n_times] sections closed before */
} sweep;

static int32_t find_time(const sweep *w, int64_t time) {
  return (int32_t)plim_integers_count_below(w->time, w->n_times, time);
}

/* Stretches of every box between the gaps that leave nothing of it. */
static void list_stretches(sweep *w, const plim_boxes *boxes) {
  for (int32_t x = 0; x < boxes->n; x++) {
    int64_t begin = boxes->box[x].begin;
    w->sections->span_first[x] = w->n;
    for (int32_t g = boxes->gap ? boxes->gap_first[x] : 0; boxes->gap && g < boxes->gap_first[x + 1]; g++) {
      if (boxes->gap[g].low < boxes->gap[g].high) continue;
      if (begin < boxes->gap[g].begin) w->stretch[w->n++] = (stretch){begin, boxes->gap[g].begin};
      begin = boxes->gap[g].end;
    }
    if (begin < boxes->box[x].end) w->stretch[w->n++] = (stretch){begin, boxes->box[x].end};
  }
  w->sections->span_first[boxes->n] = w->n;
}

static void sort_times(sweep *w) {
  for (int32_t i = 0; i < w->n; i++) {
    w->time[2 * i] = w->stretch[i].begin;
    w->time[2 * i + 1] = w->stretch[i].end;
  }
  plim_integers_sort(w->time, 2 * (int64_t)w->n);
  for (int32_t i = 0; i < 2 * w->n; i++) {
    if (w->n_times == 0 || w->time[w->n_times - 1] != w->time[i]) w->time[w->n_times++] = w->time[i];
  }
}

static void number_sections(sweep *w) {
  int open = 0;
  for (int32_t i = 0; i < w->n; i++) {
    w->event[find_time(w, w->stretch[i].begin)] |= COMES;
    w->event[find_time(w, w->stretch[i].end)] |= GOES;
  }
  for (int32_t t = 0; t < w->n_times; t++) {
    if ((w->event[t] & GOES) && open) {
      w->sections->n_sections++;
      open = 0;
    }
    w->section_at[t] = w->sections->n_sections;
    if (w->event[t] & COMES) open = 1;
  }
  for (int32_t i = 0; i < w->n; i++) {
    w->sections->span[i].first = w->section_at[find_time(w, w->stretch[i].begin)];
    w->sections->span[i].last = w->section_at[find_time(w, w->stretch[i].end)];
  }
}

plim_status plim_sections_make(const plim_units *units, plim_sections *out) {
  plim_context *ctx = units->ctx;
  plim_sections sections = {
      .ctx = ctx, .n = units->n, .room = units->n + (units->boxes->gap ? units->boxes->gap_first[units->n] : 0)};
  sweep w = {.sections = &sections};
  int64_t room = sections.room;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, units->n + 1, sizeof *sections.span_first, &sections.span_first));
  PLIM_CHECK(plim_allocate(ctx, room, sizeof *sections.span, &sections.span));
  PLIM_CHECK(plim_allocate(ctx, room, sizeof *w.stretch, &w.stretch));
  PLIM_CHECK(plim_allocate(ctx, 2 * room, sizeof *w.time, &w.time));
  PLIM_CHECK(plim_allocate(ctx, 2 * room, sizeof *w.event, &w.event));
  PLIM_CHECK(plim_allocate(ctx, 2 * room, sizeof *w.section_at, &w.section_at));
  list_stretches(&w, units->boxes);
  sort_times(&w);
  number_sections(&w);
  *out = sections;
done:
  plim_release(ctx, w.stretch, room, sizeof *w.stretch);
  plim_release(ctx, w.time, 2 * room, sizeof *w.time);
  plim_release(ctx, w.event, 2 * room, sizeof *w.event);
  plim_release(ctx, w.section_at, 2 * room, sizeof *w.section_at);
  if (status != PLIM_OK) plim_sections_free(&sections);
  return status;
}

void plim_sections_free(plim_sections *sections) {
  if (!sections->ctx) return;
  plim_release(sections->ctx, sections->span_first, sections->n + 1, sizeof *sections->span_first);
  plim_release(sections->ctx, sections->span, sections->room, sizeof *sections->span);
  *sections = (plim_sections){0};
}
