/* Sections of time, found by a sweep over begins and ends of boxes, ends first. A section is closed at the first end
 * after a begin: the boxes alive there are a maximal set. O(n log n).
 * Example: boxes with the lifetimes [0, 2), [1, 4), [3, 5) give two sections: the first two boxes, the last two. */
#include "planner/pack/packers.h"

#include "runtime/base/integers.h"

enum { COMES = 1, GOES = 2 };

/* A stretch of time [begin, end) over which a box is there. */
typedef struct stretch {
  int64_t begin, end;
} stretch;

typedef struct time_sweep {
  plim_sections *sections;
  stretch *stretch; /* [n] as the spans */
  int32_t n;        /* stretches */
  int64_t *time;    /* [2n] sorted, distinct */
  int32_t n_times;
  unsigned char *event; /* [n_times] COMES, GOES */
  int32_t *section_at;  /* [n_times] sections closed before */
} time_sweep;

static int32_t find_time(const time_sweep *sweep, int64_t time) {
  return (int32_t)plim_integers_count_below(sweep->time, sweep->n_times, time);
}

/* Stretches of every box between the gaps that leave nothing of it. */
static void list_stretches(time_sweep *sweep, const plim_boxes *boxes) {
  for (int32_t x = 0; x < boxes->n; x++) {
    int64_t begin = boxes->box[x].begin;
    sweep->sections->span_first[x] = sweep->n;
    for (int32_t g = boxes->gap ? boxes->gap_first[x] : 0; boxes->gap && g < boxes->gap_first[x + 1]; g++) {
      if (boxes->gap[g].low < boxes->gap[g].high) continue;
      if (begin < boxes->gap[g].begin) sweep->stretch[sweep->n++] = (stretch){begin, boxes->gap[g].begin};
      begin = boxes->gap[g].end;
    }
    if (begin < boxes->box[x].end) sweep->stretch[sweep->n++] = (stretch){begin, boxes->box[x].end};
  }
  sweep->sections->span_first[boxes->n] = sweep->n;
}

static void sort_times(time_sweep *sweep) {
  for (int32_t i = 0; i < sweep->n; i++) {
    sweep->time[2 * i] = sweep->stretch[i].begin;
    sweep->time[2 * i + 1] = sweep->stretch[i].end;
  }
  plim_integers_sort(sweep->time, 2 * (int64_t)sweep->n);
  for (int32_t i = 0; i < 2 * sweep->n; i++) {
    if (sweep->n_times == 0 || sweep->time[sweep->n_times - 1] != sweep->time[i])
      sweep->time[sweep->n_times++] = sweep->time[i];
  }
}

static void number_sections(time_sweep *sweep) {
  int open = 0;
  for (int32_t i = 0; i < sweep->n; i++) {
    sweep->event[find_time(sweep, sweep->stretch[i].begin)] |= COMES;
    sweep->event[find_time(sweep, sweep->stretch[i].end)] |= GOES;
  }
  for (int32_t t = 0; t < sweep->n_times; t++) {
    if ((sweep->event[t] & GOES) && open) {
      sweep->sections->n_sections++;
      open = 0;
    }
    sweep->section_at[t] = sweep->sections->n_sections;
    if (sweep->event[t] & COMES) open = 1;
  }
  for (int32_t i = 0; i < sweep->n; i++) {
    sweep->sections->span[i].first = sweep->section_at[find_time(sweep, sweep->stretch[i].begin)];
    sweep->sections->span[i].last = sweep->section_at[find_time(sweep, sweep->stretch[i].end)];
  }
}

plim_status plim_sections_make(const plim_units *units, plim_sections *out) {
  plim_context *ctx = units->ctx;
  plim_sections sections = {.ctx = ctx,
                            .n = units->n,
                            .span_capacity = units->n + (units->boxes->gap ? units->boxes->gap_first[units->n] : 0)};
  time_sweep sweep = {.sections = &sections};
  int64_t span_capacity = sections.span_capacity;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, units->n + 1, sizeof *sections.span_first, &sections.span_first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, span_capacity, sizeof *sections.span, &sections.span));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, span_capacity, sizeof *sweep.stretch, &sweep.stretch));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 2 * span_capacity, sizeof *sweep.time, &sweep.time));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 2 * span_capacity, sizeof *sweep.event, &sweep.event));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 2 * span_capacity, sizeof *sweep.section_at, &sweep.section_at));
  list_stretches(&sweep, units->boxes);
  sort_times(&sweep);
  number_sections(&sweep);
  *out = sections;
done:
  plim_release(ctx, sweep.stretch, span_capacity, sizeof *sweep.stretch);
  plim_release(ctx, sweep.time, 2 * span_capacity, sizeof *sweep.time);
  plim_release(ctx, sweep.event, 2 * span_capacity, sizeof *sweep.event);
  plim_release(ctx, sweep.section_at, 2 * span_capacity, sizeof *sweep.section_at);
  if (status != PLIM_OK) plim_sections_free(&sections);
  return status;
}

void plim_sections_free(plim_sections *sections) {
  if (!sections->ctx) return;
  plim_release(sections->ctx, sections->span_first, sections->n + 1, sizeof *sections->span_first);
  plim_release(sections->ctx, sections->span, sections->span_capacity, sizeof *sections->span);
  *sections = (plim_sections){0};
}
