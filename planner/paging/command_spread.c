/* Spreads the copies of a list over time, so that they run beside compute. A copy out moves down to the place at which
 * it has ended: its source keeps its bytes for that long. A copy in moves up until it ends before its reader begins.
 * Both move only as far as bytes allow.
 *
 * Example: runs take 2 ns, a copy 3 ns. A copy out stands after the last use of x, and runs r and s follow. It moves to
 * after s, the first place that begins no earlier than the copy has ended: x keeps its bytes until then, and what takes
 * their place does not wait. It does not move past what does not fit together with x. */
#include <string.h>

#include "planner/paging/command_list.h"
#include "runtime/base/effort.h"

typedef struct copy_spread {
  plim_command_list *list;
  const int32_t *computes;
  const int64_t *limit_bytes;
  int64_t *live;     /* [n + 1] of a space */
  int64_t *clock_ns; /* [n + 1] */
} copy_spread;

/* Live bytes of a space at each place of the order. */
static void set_live(const copy_spread *spread, int32_t space) {
  const plim_command_list *list = spread->list;
  memset(spread->live, 0, (size_t)(list->n + 1) * sizeof *spread->live);
  for (int32_t i = 0; i < list->n_buffers; i++) {
    const plim_command_list_buffer *b = &list->buffer[i];
    if (b->space != space) continue;
    spread->live[b->first] += b->bytes;
    spread->live[b->last] -= b->bytes;
  }
  for (int32_t i = 1; i <= list->n; i++) spread->live[i] += spread->live[i - 1];
}

/* Set when each place of the order begins, as if no run ever waited for another queue. */
static void set_clock(const copy_spread *spread) {
  const plim_command_list *list = spread->list;
  int64_t free_ns[PLIM_PLAN_QUEUES] = {0};
  spread->clock_ns[0] = 0;
  for (int32_t i = 0; i < list->n; i++) {
    const plim_command *m = &list->command[list->order[i]];
    spread->clock_ns[i + 1] = spread->clock_ns[i];
    if (m->kind != PLIM_COMMAND_RUN) continue;
    free_ns[m->queue] += list->time_ns[list->order[i]];
    if (free_ns[m->queue] > spread->clock_ns[i + 1]) spread->clock_ns[i + 1] = free_ns[m->queue];
  }
}

/* The buffers that copy c reads and writes. */
static void find_ends(const plim_command_list *list, int32_t c, int32_t *source, int32_t *target) {
  *source = *target = -1;
  for (int32_t u = 0; u < list->n_uses; u++) {
    if (list->use[u].command != c) continue;
    if (list->use[u].writes) {
      *target = list->use[u].buffer;
    } else {
      *source = list->use[u].buffer;
    }
  }
}

static void narrow_range(int32_t place, int32_t own, int32_t *low, int32_t *high) {
  if (place < own && place > *low) *low = place;
  if (place > own && place < *high) *high = place;
}

/* Find the range of places (low, high) in which copy c may stand. Commands that write its source or use its target stay
 * on their side of it. So do the other buffers of its storage in the two spaces. */
static void find_range(const plim_command_list *list, int32_t c, int32_t source, int32_t target, int32_t *low,
                       int32_t *high) {
  const plim_command_list_buffer *from = &list->buffer[source], *to = &list->buffer[target];
  int32_t own = list->at[c];
  *low = -1;
  *high = list->n;
  if (from->over >= 0) narrow_range(list->at[from->over], own, low, high);
  for (int32_t u = 0; u < list->n_uses; u++) {
    const plim_command_list_use *use = &list->use[u];
    if (use->command == c || (use->buffer != target && (use->buffer != source || !use->writes))) continue;
    narrow_range(list->at[use->command], own, low, high);
  }
  for (int32_t i = 0; i < list->n_buffers; i++) {
    const plim_command_list_buffer *other = &list->buffer[i];
    if (other->storage != from->storage || i == source || i == target) continue;
    if (other->space == from->space && other->first > own) narrow_range(other->first, own, low, high);
    if (other->space != to->space || to->begin != c) continue;
    int32_t last = other->over >= 0 ? other->last : other->last - 1; /* its last use, or what writes over it */
    if (other->first < own) narrow_range(last, own, low, high);
  }
}

/* Move the command at place `from` to place `to`; the others close up. */
static void move_command(plim_command_list *list, int32_t from, int32_t to) {
  int32_t c = list->order[from];
  if (from == to) return;
  for (int32_t i = from; i < to; i++) list->order[i] = list->order[i + 1];
  for (int32_t i = from; i > to; i--) list->order[i] = list->order[i - 1];
  list->order[to] = c;
  plim_command_list_set_lifetimes(list);
}

static int is_copy(const copy_spread *spread, int32_t c, int computes) {
  const plim_command *m = &spread->list->command[c];
  return m->kind == PLIM_COMMAND_COPY && spread->computes[m->to] == computes;
}

/* Move each copy out, from the first to the last, down to where it has ended. It stops where its source has no room. */
static void delay_outs(const copy_spread *spread) {
  plim_command_list *list = spread->list;
  int64_t free_ns[PLIM_PLAN_QUEUES] = {0};
  for (int32_t c = 0; c < list->n; c++) {
    int32_t source, target, low, high, from = list->at[c], to = from;
    if (!is_copy(spread, c, 0)) continue;
    if (plim_effort_over(list->ctx, 4 * ((int64_t)list->n_uses + list->n))) return;
    const plim_command *m = &list->command[c];
    find_ends(list, c, &source, &target);
    find_range(list, c, source, target, &low, &high);
    set_live(spread, m->from);
    set_clock(spread);
    int64_t begin_ns = spread->clock_ns[from] > free_ns[m->queue] ? spread->clock_ns[from] : free_ns[m->queue];
    free_ns[m->queue] = begin_ns + list->time_ns[c];
    while (to + 1 < high && spread->clock_ns[to + 1] < free_ns[m->queue]) {
      int lives = to + 1 < list->buffer[source].last; /* another use keeps the source there */
      if (!lives && spread->live[to + 1] + list->buffer[source].bytes > spread->limit_bytes[m->from]) break;
      to++;
    }
    move_command(list, from, to);
  }
}

/* Move each copy in, from the last to the first, up to where it must begin to end in time. It stops where bytes end. */
static void advance_ins(const copy_spread *spread) {
  plim_command_list *list = spread->list;
  int64_t free_ns[PLIM_PLAN_QUEUES];
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) free_ns[q] = INT64_MAX;
  for (int32_t c = list->n - 1; c >= 0; c--) {
    int32_t source, target, low, high, from = list->at[c], to = from;
    if (!is_copy(spread, c, 1)) continue;
    if (plim_effort_over(list->ctx, 4 * ((int64_t)list->n_uses + list->n))) return;
    const plim_command *m = &list->command[c];
    find_ends(list, c, &source, &target);
    find_range(list, c, source, target, &low, &high);
    set_live(spread, m->to);
    set_clock(spread);
    int64_t end_ns = spread->clock_ns[from] < free_ns[m->queue] ? spread->clock_ns[from] : free_ns[m->queue];
    free_ns[m->queue] = end_ns - list->time_ns[c];
    int64_t bytes = list->buffer[target].begin == c ? list->buffer[target].bytes : 0,
            limit = spread->limit_bytes[m->to];
    while (to - 1 > low && spread->clock_ns[to] > free_ns[m->queue] && spread->live[to - 1] + bytes <= limit) to--;
    move_command(list, from, to);
  }
}

plim_status plim_command_list_spread(plim_command_list *list, int32_t n_spaces, const int32_t *computes,
                                     const int64_t *limit_bytes) {
  int64_t limit[PLIM_PLAN_SPACES], places = (int64_t)list->n + 1;
  copy_spread spread = {.list = list, .computes = computes, .limit_bytes = limit};
  plim_status status;
  for (int32_t s = 0; s < n_spaces; s++) limit[s] = limit_bytes[s] < INT64_MAX / 2 ? limit_bytes[s] : INT64_MAX / 2;
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, places, sizeof *spread.live, &spread.live));
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, places, sizeof *spread.clock_ns, &spread.clock_ns));
  delay_outs(&spread);
  advance_ins(&spread);
done:
  plim_release(list->ctx, spread.live, places, sizeof *spread.live);
  plim_release(list->ctx, spread.clock_ns, places, sizeof *spread.clock_ns);
  return status;
}
