/* A list of commands in the making: their lifetimes, the order of their copies, and addresses. */
#include "planner/paging/command_list.h"

#include <string.h>

#include "planner/pack/pack.h"
#include "runtime/base/array.h"
#include "runtime/base/effort.h"

void plim_command_list_free(plim_command_list *l) {
  plim_release(l->ctx, l->command, l->room, sizeof *l->command);
  plim_release(l->ctx, l->time_ns, l->room_times, sizeof *l->time_ns);
  plim_release(l->ctx, l->buffer, l->room_buffers, sizeof *l->buffer);
  plim_release(l->ctx, l->use, l->room_uses, sizeof *l->use);
  plim_release(l->ctx, l->at, l->n, sizeof *l->at);
  plim_release(l->ctx, l->order, l->n, sizeof *l->order);
  plim_release(l->ctx, l->offset, l->n_buffers, sizeof *l->offset);
  *l = (plim_command_list){.ctx = l->ctx};
}

/* ---- additions ---- */

static int has_room(plim_command_list *l, void *array, int64_t *room, int32_t n, size_t size) {
  if (l->status == PLIM_OK && n == INT32_MAX - 1) {
    l->status = plim_fail(l->ctx, PLIM_EOVERFLOW, "a plan with copies has too many commands or buffers");
  }
  if (l->status == PLIM_OK) l->status = plim_array_reserve(l->ctx, array, room, (int64_t)n + 1, size);
  return l->status == PLIM_OK;
}

int32_t plim_command_list_add(plim_command_list *l, const plim_command *command, int64_t time_ns) {
  if (!has_room(l, &l->command, &l->room, l->n, sizeof *l->command)) return 0;
  if (!has_room(l, &l->time_ns, &l->room_times, l->n, sizeof *l->time_ns)) return 0;
  l->command[l->n] = *command;
  l->time_ns[l->n] = time_ns;
  return l->n++;
}

int32_t plim_command_list_add_buffer(plim_command_list *l, int32_t storage, int32_t space, int32_t begin, int64_t bytes,
                                     int64_t offset) {
  if (!has_room(l, &l->buffer, &l->room_buffers, l->n_buffers, sizeof *l->buffer)) return 0;
  l->buffer[l->n_buffers] = (plim_command_list_buffer){.storage = storage,
                                                       .space = space,
                                                       .begin = begin,
                                                       .over = -1,
                                                       .box = l->n_buffers,
                                                       .bytes = bytes,
                                                       .offset = offset};
  return l->n_buffers++;
}

void plim_command_list_add_use(plim_command_list *l, int32_t buffer, int32_t writes) {
  if (!has_room(l, &l->use, &l->room_uses, l->n_uses, sizeof *l->use)) return;
  l->use[l->n_uses++] = (plim_command_list_use){buffer, l->n, writes};
}

void plim_command_list_add_uses(plim_command_list *l, int32_t n, const int32_t *storage, const int32_t *buffer,
                                int32_t writes) {
  for (int32_t i = 0; i < n; i++) {
    if (buffer[storage[i]] >= 0) plim_command_list_add_use(l, buffer[storage[i]], writes);
  }
}

void plim_command_list_overwrite(plim_command_list *l, int32_t in, int32_t out) {
  l->buffer[in].over = l->n;
  l->buffer[out].box = l->buffer[in].box;
}

/* ---- lifetimes ---- */

static void set_lifetimes(plim_command_list *l) {
  for (int32_t i = 0; i < l->n; i++) l->at[l->order[i]] = i;
  for (int32_t i = 0; i < l->n_buffers; i++) {
    plim_command_list_buffer *b = &l->buffer[i];
    b->first = b->begin < 0 ? 0 : l->at[b->begin];
    b->last = b->stays ? l->n : b->first + 1;
  }
  for (int32_t u = 0; u < l->n_uses; u++) {
    plim_command_list_buffer *b = &l->buffer[l->use[u].buffer];
    if (l->at[l->use[u].command] >= b->last) b->last = l->at[l->use[u].command] + 1;
  }
  for (int32_t i = 0; i < l->n_buffers; i++) {
    if (l->buffer[i].over >= 0) l->buffer[i].last = l->at[l->buffer[i].over];
  }
}

plim_status plim_command_list_begin(plim_command_list *l) {
  PLIM_TRY(l->status);
  if (!l->at) PLIM_TRY(plim_allocate(l->ctx, l->n, sizeof *l->at, &l->at));
  if (!l->order) PLIM_TRY(plim_allocate(l->ctx, l->n, sizeof *l->order, &l->order));
  if (!l->offset) PLIM_TRY(plim_allocate(l->ctx, l->n_buffers, sizeof *l->offset, &l->offset));
  for (int32_t i = 0; i < l->n; i++) l->order[i] = i;
  for (int32_t i = 0; i < l->n_buffers; i++) l->offset[i] = l->buffer[i].offset;
  set_lifetimes(l);
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
  const plim_command_list *l = spread->list;
  memset(spread->live, 0, (size_t)(l->n + 1) * sizeof *spread->live);
  for (int32_t i = 0; i < l->n_buffers; i++) {
    const plim_command_list_buffer *b = &l->buffer[i];
    if (b->space != space) continue;
    spread->live[b->first] += b->bytes;
    spread->live[b->last] -= b->bytes;
  }
  for (int32_t i = 1; i <= l->n; i++) spread->live[i] += spread->live[i - 1];
}

/* When each place of the order begins, if no run ever waits for another queue. */
static void set_clock(const copy_spread *spread) {
  const plim_command_list *l = spread->list;
  int64_t free_ns[PLIM_PLAN_QUEUES] = {0};
  spread->clock_ns[0] = 0;
  for (int32_t i = 0; i < l->n; i++) {
    const plim_command *m = &l->command[l->order[i]];
    spread->clock_ns[i + 1] = spread->clock_ns[i];
    if (m->kind != PLIM_COMMAND_RUN) continue;
    free_ns[m->queue] += l->time_ns[l->order[i]];
    if (free_ns[m->queue] > spread->clock_ns[i + 1]) spread->clock_ns[i + 1] = free_ns[m->queue];
  }
}

/* The buffers that copy c reads and writes. */
static void find_ends(const plim_command_list *l, int32_t c, int32_t *source, int32_t *target) {
  *source = *target = -1;
  for (int32_t u = 0; u < l->n_uses; u++) {
    if (l->use[u].command != c) continue;
    if (l->use[u].writes) {
      *target = l->use[u].buffer;
    } else {
      *source = l->use[u].buffer;
    }
  }
}

static void clamp(int32_t place, int32_t own, int32_t *low, int32_t *high) {
  if (place < own && place > *low) *low = place;
  if (place > own && place < *high) *high = place;
}

/* Copy c may stand between the places low and high: between what writes its source, or uses its target, before and
 * after it, and away from the other buffers of its storage in the two spaces. */
static void find_range(const plim_command_list *l, int32_t c, int32_t source, int32_t target, int32_t *low,
                       int32_t *high) {
  const plim_command_list_buffer *from = &l->buffer[source], *to = &l->buffer[target];
  int32_t own = l->at[c];
  *low = -1;
  *high = l->n;
  if (from->over >= 0) clamp(l->at[from->over], own, low, high);
  for (int32_t u = 0; u < l->n_uses; u++) {
    const plim_command_list_use *use = &l->use[u];
    if (use->command == c || (use->buffer != target && (use->buffer != source || !use->writes))) continue;
    clamp(l->at[use->command], own, low, high);
  }
  for (int32_t i = 0; i < l->n_buffers; i++) {
    const plim_command_list_buffer *other = &l->buffer[i];
    if (other->storage != from->storage || i == source || i == target) continue;
    if (other->space == from->space && other->first > own) clamp(other->first, own, low, high);
    if (other->space != to->space || to->begin != c) continue;
    int32_t last = other->over >= 0 ? other->last : other->last - 1; /* its last use, or what writes over it */
    if (other->first < own) clamp(last, own, low, high);
  }
}

/* Move the command at place `from` to place `to`; the others close up. */
static void move(plim_command_list *l, int32_t from, int32_t to) {
  int32_t c = l->order[from];
  if (from == to) return;
  for (int32_t i = from; i < to; i++) l->order[i] = l->order[i + 1];
  for (int32_t i = from; i > to; i--) l->order[i] = l->order[i - 1];
  l->order[to] = c;
  set_lifetimes(l);
}

static int is_copy(const copy_spread *spread, int32_t c, int computes) {
  const plim_command *m = &spread->list->command[c];
  return m->kind == PLIM_COMMAND_COPY && spread->computes[m->to] == computes;
}

/* Copies out, in their order: each stands where it has ended, if its source may stay so long. */
static void delay_outs(const copy_spread *spread) {
  plim_command_list *l = spread->list;
  int64_t free_ns[PLIM_PLAN_QUEUES] = {0};
  for (int32_t c = 0; c < l->n; c++) {
    int32_t source, target, low, high, from = l->at[c], to = from;
    if (!is_copy(spread, c, 0)) continue;
    if (plim_effort_over(l->ctx, 4 * ((int64_t)l->n_uses + l->n))) return;
    const plim_command *m = &l->command[c];
    find_ends(l, c, &source, &target);
    find_range(l, c, source, target, &low, &high);
    set_live(spread, m->from);
    set_clock(spread);
    int64_t begin_ns = spread->clock_ns[from] > free_ns[m->queue] ? spread->clock_ns[from] : free_ns[m->queue];
    free_ns[m->queue] = begin_ns + l->time_ns[c];
    while (to + 1 < high && spread->clock_ns[to + 1] < free_ns[m->queue]) {
      int lives = to + 1 < l->buffer[source].last; /* another use keeps the source there */
      if (!lives && spread->live[to + 1] + l->buffer[source].bytes > spread->limit_bytes[m->from]) break;
      to++;
    }
    move(l, from, to);
  }
}

/* Copies in, from the last to the first: each begins as early as its reader asks for. */
static void advance_ins(const copy_spread *spread) {
  plim_command_list *l = spread->list;
  int64_t free_ns[PLIM_PLAN_QUEUES];
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) free_ns[q] = INT64_MAX;
  for (int32_t c = l->n - 1; c >= 0; c--) {
    int32_t source, target, low, high, from = l->at[c], to = from;
    if (!is_copy(spread, c, 1)) continue;
    if (plim_effort_over(l->ctx, 4 * ((int64_t)l->n_uses + l->n))) return;
    const plim_command *m = &l->command[c];
    find_ends(l, c, &source, &target);
    find_range(l, c, source, target, &low, &high);
    set_live(spread, m->to);
    set_clock(spread);
    int64_t end_ns = spread->clock_ns[from] < free_ns[m->queue] ? spread->clock_ns[from] : free_ns[m->queue];
    free_ns[m->queue] = end_ns - l->time_ns[c];
    int64_t bytes = l->buffer[target].begin == c ? l->buffer[target].bytes : 0, limit = spread->limit_bytes[m->to];
    while (to - 1 > low && spread->clock_ns[to] > free_ns[m->queue] && spread->live[to - 1] + bytes <= limit) to--;
    move(l, from, to);
  }
}

plim_status plim_command_list_spread(plim_command_list *l, int32_t n_spaces, const int32_t *computes,
                                     const int64_t *limit_bytes) {
  int64_t limit[PLIM_PLAN_SPACES], places = (int64_t)l->n + 1;
  copy_spread spread = {.list = l, .computes = computes, .limit_bytes = limit};
  plim_status status;
  for (int32_t s = 0; s < n_spaces; s++) limit[s] = limit_bytes[s] < INT64_MAX / 2 ? limit_bytes[s] : INT64_MAX / 2;
  PLIM_CHECK(plim_allocate(l->ctx, places, sizeof *spread.live, &spread.live));
  PLIM_CHECK(plim_allocate(l->ctx, places, sizeof *spread.clock_ns, &spread.clock_ns));
  delay_outs(&spread);
  advance_ins(&spread);
done:
  plim_release(l->ctx, spread.live, places, sizeof *spread.live);
  plim_release(l->ctx, spread.clock_ns, places, sizeof *spread.clock_ns);
  return status;
}

/* ---- addresses ---- */

/* Boxes of a space: buffers of in-place pairs are one. */
static int32_t make_boxes(const plim_command_list *l, int32_t space, plim_box *box, int32_t *box_at) {
  int32_t n = 0;
  for (int32_t i = 0; i < l->n_buffers; i++) {
    const plim_command_list_buffer *b = &l->buffer[i];
    if (b->space != space) continue;
    int given = b->begin < 0 && b->storage >= 0 && plim_role_persistent(l->graph->storage[b->storage].role);
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
static plim_status find_peak(const plim_command_list *l, int32_t n, const plim_box *box, int64_t *peak_bytes) {
  int64_t *live = NULL, places = (int64_t)l->n + 2, now = 0;
  PLIM_TRY(plim_allocate(l->ctx, places, sizeof *live, &live));
  *peak_bytes = 0;
  for (int32_t i = 0; i < n; i++) {
    live[box[i].begin] += box[i].bytes;
    live[box[i].end] -= box[i].bytes;
  }
  for (int64_t i = 0; i < places; i++) {
    now += live[i];
    if (now > *peak_bytes) *peak_bytes = now;
  }
  plim_release(l->ctx, live, places, sizeof *live);
  return PLIM_OK;
}

plim_status plim_command_list_peak(const plim_command_list *l, int32_t space, int64_t *peak_bytes) {
  plim_box *box = NULL;
  int32_t *box_at = NULL;
  plim_status status;
  PLIM_CHECK(plim_allocate(l->ctx, l->n_buffers, sizeof *box, &box));
  PLIM_CHECK(plim_allocate(l->ctx, l->n_buffers, sizeof *box_at, &box_at));
  PLIM_CHECK(find_peak(l, make_boxes(l, space, box, box_at), box, peak_bytes));
done:
  plim_release(l->ctx, box, l->n_buffers, sizeof *box);
  plim_release(l->ctx, box_at, l->n_buffers, sizeof *box_at);
  return status;
}

plim_status plim_command_list_pack(plim_command_list *l, int32_t space, int64_t budget_bytes, int32_t effort,
                                   int32_t *fits) {
  plim_box *box = NULL;
  int32_t *box_at = NULL;
  int64_t *offset = NULL, packed_bytes = 0, peak_bytes;
  const plim_pack_goal goal = {.target_bytes = budget_bytes < INT64_MAX ? budget_bytes : 0, .effort = effort};
  plim_status status;
  *fits = 0;
  PLIM_CHECK(plim_allocate(l->ctx, l->n_buffers, sizeof *box, &box));
  PLIM_CHECK(plim_allocate(l->ctx, l->n_buffers, sizeof *box_at, &box_at));
  PLIM_CHECK(plim_allocate(l->ctx, l->n_buffers, sizeof *offset, &offset));
  const plim_boxes boxes = {.n = make_boxes(l, space, box, box_at), .align = PLIM_ALIGN, .box = box};
  PLIM_CHECK(find_peak(l, boxes.n, box, &peak_bytes));
  if (peak_bytes > budget_bytes) goto done;
  if (boxes.n > 0) status = plim_pack(l->ctx, &boxes, goal, offset, &packed_bytes, NULL);
  if (status == PLIM_ECANCEL && !plim_context_cancelled(l->ctx)) {
    status = PLIM_OK;
    goto done;
  }
  PLIM_CHECK(status);
  for (int32_t i = 0; i < l->n_buffers; i++) {
    if (l->buffer[i].space == space) l->offset[i] = offset[box_at[i]];
  }
  *fits = packed_bytes <= budget_bytes;
done:
  plim_release(l->ctx, box, l->n_buffers, sizeof *box);
  plim_release(l->ctx, box_at, l->n_buffers, sizeof *box_at);
  plim_release(l->ctx, offset, l->n_buffers, sizeof *offset);
  return status;
}
