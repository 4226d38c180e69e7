/* A list of commands in the making: its commands, buffers and uses, the lifetimes of the buffers in the order in hand,
 * and their addresses. */
#include "planner/paging/command_list.h"

#include "planner/pack/pack.h"
#include "runtime/base/array.h"

void plim_command_list_free(plim_command_list *list) {
  plim_release(list->ctx, list->command, list->command_capacity, sizeof *list->command);
  plim_release(list->ctx, list->time_ns, list->time_capacity, sizeof *list->time_ns);
  plim_release(list->ctx, list->buffer, list->buffer_capacity, sizeof *list->buffer);
  plim_release(list->ctx, list->use, list->use_capacity, sizeof *list->use);
  plim_release(list->ctx, list->at, list->n, sizeof *list->at);
  plim_release(list->ctx, list->order, list->n, sizeof *list->order);
  plim_release(list->ctx, list->offset, list->n_buffers, sizeof *list->offset);
  *list = (plim_command_list){.ctx = list->ctx};
}

/* ---- additions ---- */

static int make_room_for_one(plim_command_list *list, void *array, int64_t *capacity, int32_t n, size_t size) {
  if (list->status == PLIM_OK && n == INT32_MAX - 1) {
    list->status = plim_fail(list->ctx, PLIM_EOVERFLOW, "a plan with copies has too many commands or buffers");
  }
  if (list->status == PLIM_OK) list->status = plim_array_reserve(list->ctx, array, capacity, (int64_t)n + 1, size);
  return list->status == PLIM_OK;
}

int32_t plim_command_list_add(plim_command_list *list, const plim_command *command, int64_t time_ns) {
  if (!make_room_for_one(list, &list->command, &list->command_capacity, list->n, sizeof *list->command)) return 0;
  if (!make_room_for_one(list, &list->time_ns, &list->time_capacity, list->n, sizeof *list->time_ns)) return 0;
  list->command[list->n] = *command;
  list->time_ns[list->n] = time_ns;
  return list->n++;
}

int32_t plim_command_list_add_buffer(plim_command_list *list, int32_t storage, int32_t space, int32_t begin,
                                     int64_t bytes, int64_t offset) {
  if (!make_room_for_one(list, &list->buffer, &list->buffer_capacity, list->n_buffers, sizeof *list->buffer)) return 0;
  list->buffer[list->n_buffers] = (plim_command_list_buffer){.storage = storage,
                                                             .space = space,
                                                             .begin = begin,
                                                             .over = -1,
                                                             .box = list->n_buffers,
                                                             .bytes = bytes,
                                                             .offset = offset};
  return list->n_buffers++;
}

void plim_command_list_add_use(plim_command_list *list, int32_t buffer, int writes) {
  if (!make_room_for_one(list, &list->use, &list->use_capacity, list->n_uses, sizeof *list->use)) return;
  list->use[list->n_uses++] = (plim_command_list_use){buffer, list->n, writes};
}

void plim_command_list_add_workspace(plim_command_list *list, int32_t space, int64_t bytes, int64_t offset) {
  if (bytes == 0) return;
  const int32_t buffer = plim_command_list_add_buffer(list, -1, space, list->n, bytes, offset);
  plim_command_list_add_use(list, buffer, 1);
}

void plim_command_list_add_uses(plim_command_list *list, int32_t n, const int32_t *storage, const int32_t *buffer,
                                int writes) {
  for (int32_t i = 0; i < n; i++) {
    if (buffer[storage[i]] >= 0) plim_command_list_add_use(list, buffer[storage[i]], writes);
  }
}

void plim_command_list_overwrite(plim_command_list *list, int32_t in, int32_t out) {
  list->buffer[in].over = list->n;
  list->buffer[out].box = list->buffer[in].box;
}

/* ---- lifetimes ---- */

void plim_command_list_set_lifetimes(plim_command_list *list) {
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
  plim_command_list_set_lifetimes(list);
  return PLIM_OK;
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

plim_status plim_command_list_pack(plim_command_list *list, int32_t space, int64_t budget_bytes, int32_t packing_rounds,
                                   int32_t *fits) {
  plim_box *box = NULL;
  int32_t *box_at = NULL;
  int64_t *offset = NULL, packed_bytes = 0, peak_bytes;
  const plim_pack_goal goal = {.target_bytes = budget_bytes < INT64_MAX ? budget_bytes : 0, .rounds = packing_rounds};
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
