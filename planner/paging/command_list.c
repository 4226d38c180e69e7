/* A list of commands in the making: their lifetimes, the order of their copies, and addresses.
 *
 * Example of spreading: runs take 2 ns, a copy 3 ns. A copy out stands after the last use of x, and runs r and s
 * follow. It moves to after s, the first place that begins no earlier than the copy has ended: x keeps its bytes until
 * then, and what takes their place does not wait. It does not move past what does not fit beside x. */
#include "planner/paging/command_list.h"

#include <string.h>

#include "planner/pack/pack.h"
#include "runtime/base/array.h"
#include "runtime/base/effort.h"

void plim_command_list_free(plim_command_list *list) {
  plim_release(list->ctx, list->command, list->room, sizeof *list->command);
  plim_release(list->ctx, list->time_ns, list->room_times, sizeof *list->time_ns);
  plim_release(list->ctx, list->buffer, list->room_buffers, sizeof *list->buffer);
  plim_release(list->ctx, list->use, list->room_uses, sizeof *list->use);
  plim_release(list->ctx, list->at, list->n, sizeof *list->at);
  plim_release(list->ctx, list->order, list->n, sizeof *list->order);
  plim_release(list->ctx, list->offset, list->n_buffers, sizeof *list->offset);
  *list = (plim_command_list){.ctx = list->ctx};
}

/* ---- additions ---- */

static int has_room(plim_command_list *list, void *array, int64_t *room, int32_t n, size_t size) {
  if (list->status == PLIM_OK && n == INT32_MAX - 1) {
    list->status = plim_fail(list->ctx, PLIM_EOVERFLOW, "a plan with copies has too many commands or buffers");
  }
  if (list->status == PLIM_OK) list->status = plim_array_reserve(list->ctx, array, room, (int64_t)n + 1, size);
  return list->status == PLIM_OK;
}

int32_t plim_command_list_add(plim_command_list *list, const plim_command *command, int64_t time_ns) {
  if (!has_room(list, &list->command, &list->room, list->n, sizeof *list->command)) return 0;
  if (!has_room(list, &list->time_ns, &list->room_times, list->n, sizeof *list->time_ns)) return 0;
  list->command[list->n] = *command;
  list->time_ns[list->n] = time_ns;
  return list->n++;
}

int32_t plim_command_list_add_buffer(plim_command_list *list, int32_t storage, int32_t space, int32_t begin,
                                     int64_t bytes, int64_t offset) {
  if (!has_room(list, &list->buffer, &list->room_buffers, list->n_buffers, sizeof *list->buffer)) return 0;
  list->buffer[list->n_buffers] = (plim_command_list_buffer){.storage = storage,
                                                             .space = space,
                                                             .begin = begin,
                                                             .over = -1,
                                                             .box = list->n_buffers,
                                                             .bytes = bytes,
                                                             .offset = offset};
  return list->n_buffers++;
}

void plim_command_list_add_use(plim_command_list *list, int32_t buffer, int32_t writes) {
  if (!has_room(list, &list->use, &list->room_uses, list->n_uses, sizeof *list->use)) return;
  list->use[list->n_uses++] = (plim_command_list_use){buffer, list->n, writes};
}

void plim_command_list_add_workspace(plim_command_list *list, int32_t space, int64_t bytes, int64_t offset) {
  if (bytes == 0) return;
  const int32_t buffer = plim_command_list_add_buffer(list, -1, space, list->n, bytes, offset);
  plim_command_list_add_use(list, buffer, 1);
}

void plim_command_list_add_uses(plim_command_list *list, int32_t n, const int32_t *storage, const int32_t *buffer,
                                int32_t writes) {
  for (int32_t i = 0; i < n; i++) {
    if (buffer[storage[i]] >= 0) plim_command_list_add_use(list, buffer[storage[i]], writes);
  }
}

void plim_command_list_overwrite(plim_command_list *list, int32_t in, int32_t out) {
  list->buffer[in].over = list->n;
  list->buffer[out].box = list->buffer[in].box;
}

/* ---- lifetimes ---- */

static void set_lifetimes(plim_command_list *list) {
  for (int32_t i = 0; i < list->n; i++) list->at[list->order[i]] = i;
  for (int32_t i = 0; i < list->n_buffers; i++) {
    plim_command_list_buffer *b = &list->buffer[i];
    b->first = b->begin < 0 ? 0 : list->at[b->begin];
    b->last = b->stays ? list->n : b->first + 1;
  }
  for (int32_t u = 0; u < list->n_uses; u++) {
    plim_command_list_buffer *b = &list->buffer[list->use[u].buffer];
    if (list->at[list->use[u].command] >= b->last) b->last = list->at[list->use[u].command] + 1;
  }
  for (int32_t i = 0; i < list->n_buffers; i++) {
    if (list->buffer[i].over >= 0) list->buffer[i].last = list->at[list->buffer[i].over];
  }
}

plim_status plim_command_list_begin(plim_command_list *list) {
  PLIM_TRY(list->status);
  if (!list->at) PLIM_TRY(plim_allocate(list->ctx, list->n, sizeof *list->at, &list->at));
  if (!list->order) PLIM_TRY(plim_allocate(list->ctx, list->n, sizeof *list->order, &list->order));
  if (!list->offset) PLIM_TRY(plim_allocate(list->ctx, list->n_buffers, sizeof *list->offset, &list->offset));
  for (int32_t i = 0; i < list->n; i++) list->order[i] = i;
  for (int32_t i = 0; i < list->n_buffers; i++) list->offset[i] = list->buffer[i].offset;
  set_lifetimes(list);
  return PLIM_OK;
}

/* ---- order of copies ---- */

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

/* When each place of the order begins, if no run ever waits for another queue. */
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

static void clamp(int32_t place, int32_t own, int32_t *low, int32_t *high) {
  if (place < own && place > *low) *low = place;
  if (place > own && place < *high) *high = place;
}

/* Copy c may stand between the places low and high: between what writes its source, or uses its target, before and
 * after it, and away from the other buffers of its storage in the two spaces. */
static void find_range(const plim_command_list *list, int32_t c, int32_t source, int32_t target, int32_t *low,
                       int32_t *high) {
  const plim_command_list_buffer *from = &list->buffer[source], *to = &list->buffer[target];
  int32_t own = list->at[c];
  *low = -1;
  *high = list->n;
  if (from->over >= 0) clamp(list->at[from->over], own, low, high);
  for (int32_t u = 0; u < list->n_uses; u++) {
    const plim_command_list_use *use = &list->use[u];
    if (use->command == c || (use->buffer != target && (use->buffer != source || !use->writes))) continue;
    clamp(list->at[use->command], own, low, high);
  }
  for (int32_t i = 0; i < list->n_buffers; i++) {
    const plim_command_list_buffer *other = &list->buffer[i];
    if (other->storage != from->storage || i == source || i == target) continue;
    if (other->space == from->space && other->first > own) clamp(other->first, own, low, high);
    if (other->space != to->space || to->begin != c) continue;
    int32_t last = other->over >= 0 ? other->last : other->last - 1; /* its last use, or what writes over it */
    if (other->first < own) clamp(last, own, low, high);
  }
}

/* Move the command at place `from` to place `to`; the others close up. */
static void move(plim_command_list *list, int32_t from, int32_t to) {
  int32_t c = list->order[from];
  if (from == to) return;
  for (int32_t i = from; i < to; i++) list->order[i] = list->order[i + 1];
  for (int32_t i = from; i > to; i--) list->order[i] = list->order[i - 1];
  list->order[to] = c;
  set_lifetimes(list);
}

static int is_copy(const copy_spread *spread, int32_t c, int computes) {
  const plim_command *m = &spread->list->command[c];
  return m->kind == PLIM_COMMAND_COPY && spread->computes[m->to] == computes;
}

/* Copies out, in their order: each stands where it has ended, if its source may stay so long. */
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
    move(list, from, to);
  }
}

/* Copies in, from the last to the first: each begins as early as its reader asks for. */
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
    move(list, from, to);
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

/* ---- addresses ---- */

/* Boxes of a space: buffers of in-place pairs are one. */
static int32_t make_boxes(const plim_command_list *list, int32_t space, plim_box *box, int32_t *box_at) {
  int32_t n = 0;
  for (int32_t i = 0; i < list->n_buffers; i++) {
    const plim_command_list_buffer *b = &list->buffer[i];
    if (b->space != space) continue;
    int given = b->begin < 0 && b->storage >= 0 && plim_role_persistent(list->graph->storage[b->storage].role);
    if (b->box == i) {
      box_at[i] = n;
      box[n++] = (plim_box){b->first, b->last, b->bytes, given ? b->offset : -1};
    } else {
      plim_box *own = &box[box_at[i] = box_at[b->box]];
      if (b->first < own->begin) own->begin = b->first;
      if (b->last > own->end) own->end = b->last;
    }
  }
  return n;
}

/* Most live bytes of boxes at one place. */
static plim_status find_peak(const plim_command_list *list, int32_t n, const plim_box *box, int64_t *peak_bytes) {
  int64_t *live = NULL, places = (int64_t)list->n + 2, now = 0;
  PLIM_TRY(plim_allocate(list->ctx, places, sizeof *live, &live));
  *peak_bytes = 0;
  for (int32_t i = 0; i < n; i++) {
    live[box[i].begin] += box[i].bytes;
    live[box[i].end] -= box[i].bytes;
  }
  for (int64_t i = 0; i < places; i++) {
    now += live[i];
    if (now > *peak_bytes) *peak_bytes = now;
  }
  plim_release(list->ctx, live, places, sizeof *live);
  return PLIM_OK;
}

plim_status plim_command_list_peak(const plim_command_list *list, int32_t space, int64_t *peak_bytes) {
  plim_box *box = NULL;
  int32_t *box_at = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, list->n_buffers, sizeof *box, &box));
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, list->n_buffers, sizeof *box_at, &box_at));
  PLIM_TRY_OR_DONE(find_peak(list, make_boxes(list, space, box, box_at), box, peak_bytes));
done:
  plim_release(list->ctx, box, list->n_buffers, sizeof *box);
  plim_release(list->ctx, box_at, list->n_buffers, sizeof *box_at);
  return status;
}

plim_status plim_command_list_pack(plim_command_list *list, int32_t space, int64_t budget_bytes, int32_t effort,
                                   int32_t *fits) {
  plim_box *box = NULL;
  int32_t *box_at = NULL;
  int64_t *offset = NULL, packed_bytes = 0, peak_bytes;
  const plim_pack_goal goal = {.target_bytes = budget_bytes < INT64_MAX ? budget_bytes : 0, .effort = effort};
  plim_status status;
  *fits = 0;
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, list->n_buffers, sizeof *box, &box));
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, list->n_buffers, sizeof *box_at, &box_at));
  PLIM_TRY_OR_DONE(plim_allocate(list->ctx, list->n_buffers, sizeof *offset, &offset));
  const plim_boxes boxes = {.n = make_boxes(list, space, box, box_at), .align = PLIM_ALIGN, .box = box};
  PLIM_TRY_OR_DONE(find_peak(list, boxes.n, box, &peak_bytes));
  if (peak_bytes > budget_bytes) goto done;
  if (boxes.n > 0) status = plim_pack(list->ctx, &boxes, goal, offset, &packed_bytes, NULL);
  if (status == PLIM_ECANCEL && !plim_context_cancelled(list->ctx)) {
    status = PLIM_OK;
    goto done;
  }
  PLIM_TRY_OR_DONE(status);
  for (int32_t i = 0; i < list->n_buffers; i++) {
    if (list->buffer[i].space == space) list->offset[i] = offset[box_at[i]];
  }
  *fits = packed_bytes <= budget_bytes;
done:
  plim_release(list->ctx, box, list->n_buffers, sizeof *box);
  plim_release(list->ctx, box_at, list->n_buffers, sizeof *box_at);
  plim_release(list->ctx, offset, list->n_buffers, sizeof *offset);
  return status;
}
