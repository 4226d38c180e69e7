/* The plan front in memory: nondominated points in an array, sorted by bytes, and the tries that led to them. A new
 * point removes those after it that are not faster. A front that is too large gives up the points whose loss makes the
 * budgets up to the next point least slower. Tries are a queue: the oldest one goes first. */
#include "planner/front/front.h"

#include <string.h>

#include "runtime/base/array.h"

static int64_t weight_of(const plim_front_point *point) {
  return (int64_t)point->n_commands + point->n_offsets;
}

/* A point's arrays are one block: offsets, ops, choices. */
static int64_t block_bytes(const plim_front_point *point) {
  return (int64_t)sizeof(int64_t) * point->n_offsets + 2 * (int64_t)sizeof(int32_t) * point->n_commands;
}

static void drop_point(plim_front *front, int32_t i) {
  plim_front_point *point = &front->point[i];
  front->weight -= weight_of(point);
  plim_release(front->ctx, (void *)point->offset, block_bytes(point), 1);
  front->n--;
  memmove(point, point + 1, (size_t)(front->n - i) * sizeof *point);
}

void plim_front_free(plim_front *front) {
  while (front->n > 0) drop_point(front, front->n - 1);
  plim_release(front->ctx, front->point, front->capacity, sizeof *front->point);
  plim_release(front->ctx, front->attempt, front->try_capacity, sizeof *front->attempt);
  *front = (plim_front){.ctx = front->ctx};
}

/* ---- points ---- */

/* The first point that needs more than `bytes`. */
static int32_t first_above(const plim_front *front, int64_t bytes) {
  int32_t low = 0, high = front->n;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (front->point[middle].bytes <= bytes) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static plim_status copy_point(plim_context *ctx, const plim_front_point *from, plim_front_point *to) {
  char *block = NULL;
  PLIM_TRY(plim_allocate(ctx, block_bytes(from), 1, &block));
  size_t offsets = sizeof(int64_t) * (size_t)from->n_offsets, commands = sizeof(int32_t) * (size_t)from->n_commands;
  if (offsets > 0) memcpy(block, from->offset, offsets);
  if (commands > 0) memcpy(block + offsets, from->op, commands);
  if (commands > 0) memcpy(block + offsets + commands, from->choice, commands);
  *to = *from;
  to->offset = (const int64_t *)(void *)block;
  to->op = (const int32_t *)(void *)(block + offsets);
  to->choice = to->op + from->n_commands;
  return PLIM_OK;
}

/* Give up the points that cost least: budgets between a point and the next one get the point below it, which is slower.
 * What that costs is the difference in time over that range of budgets. */
static void drop_cheapest_points(plim_front *front) {
  while (front->weight > PLIM_FRONT_WEIGHT && front->n > 2) {
    int32_t best = 1;
    double least = 0;
    for (int32_t i = 1; i < front->n - 1; i++) {
      double loss = (double)(front->point[i - 1].time_ns - front->point[i].time_ns) *
                    (double)(front->point[i + 1].bytes - front->point[i].bytes);
      if (i == 1 || loss < least) {
        least = loss;
        best = i;
      }
    }
    drop_point(front, best);
  }
}

plim_status plim_front_insert(plim_front *front, const plim_front_point *point, int *added) {
  int32_t at = first_above(front, point->bytes);
  plim_front_point fresh;
  if (added) *added = 0;
  if (at > 0 && front->point[at - 1].time_ns <= point->time_ns) return PLIM_OK;
  PLIM_TRY(
      plim_array_reserve(front->ctx, &front->point, &front->capacity, (int64_t)front->n + 1, sizeof *front->point));
  PLIM_TRY(copy_point(front->ctx, point, &fresh));
  if (at > 0 && front->point[at - 1].bytes == point->bytes) drop_point(front, --at);
  while (at < front->n && front->point[at].time_ns >= point->time_ns) drop_point(front, at);
  memmove(&front->point[at + 1], &front->point[at], (size_t)(front->n - at) * sizeof *front->point);
  front->point[at] = fresh;
  front->n++;
  front->weight += weight_of(&fresh);
  front->is_changed = 1;
  if (added) *added = 1;
  drop_cheapest_points(front);
  return PLIM_OK;
}

const plim_front_point *plim_front_find(const plim_front *front, int64_t budget_bytes) {
  int32_t above = first_above(front, budget_bytes);
  return above > 0 ? &front->point[above - 1] : NULL;
}

const plim_front_point *plim_front_smallest(const plim_front *front) {
  return front->n > 0 ? &front->point[0] : NULL;
}

plim_status plim_front_merge(plim_front *to, const plim_front *from) {
  for (int32_t i = 0; i < from->n; i++) PLIM_TRY(plim_front_insert(to, &from->point[i], NULL));
  for (int32_t i = 0; i < from->n_tries; i++) PLIM_TRY(plim_front_note(to, &from->attempt[i]));
  return PLIM_OK;
}

/* ---- tries ---- */

static int equal_effort(const plim_front_try *a, const plim_front_try *b) {
  return a->budget_bytes == b->budget_bytes && a->iterations == b->iterations && a->seed == b->seed &&
         a->time_limit_ns == b->time_limit_ns && a->threads == b->threads;
}

static plim_front_try *find_try(const plim_front *front, const plim_front_try *attempt) {
  for (int32_t i = 0; i < front->n_tries; i++) {
    if (equal_effort(&front->attempt[i], attempt)) return &front->attempt[i];
  }
  return NULL;
}

int64_t plim_front_stated(const plim_front_try *attempt) {
  return attempt->bound_ns > attempt->hint_ns ? attempt->bound_ns : attempt->hint_ns;
}

plim_status plim_front_note(plim_front *front, const plim_front_try *attempt) {
  plim_front_try *known = find_try(front, attempt);
  if (known) {
    int64_t before = plim_front_stated(known);
    if (known->bound_ns < attempt->bound_ns) known->bound_ns = attempt->bound_ns;
    known->hint_ns = attempt->hint_ns;
    front->is_changed |= plim_front_stated(known) != before;
    return PLIM_OK;
  }
  front->is_changed = 1;
  if (front->n_tries == PLIM_FRONT_TRIES) {
    memmove(front->attempt, front->attempt + 1, (size_t)--front->n_tries * sizeof *front->attempt);
  }
  PLIM_TRY(plim_array_reserve(front->ctx, &front->attempt, &front->try_capacity, (int64_t)front->n_tries + 1,
                              sizeof *front->attempt));
  front->attempt[front->n_tries++] = *attempt;
  return PLIM_OK;
}

int plim_front_tried(const plim_front *front, const plim_front_try *attempt) {
  return find_try(front, attempt) != NULL;
}

/* The larger bound of tries at this budget and at larger ones. */
static int64_t best_of(const plim_front *front, int64_t budget_bytes, int hint) {
  int64_t best = 0;
  for (int32_t i = 0; i < front->n_tries; i++) {
    const plim_front_try *attempt = &front->attempt[i];
    int64_t bound_ns = hint ? attempt->hint_ns : attempt->bound_ns;
    if (attempt->budget_bytes >= budget_bytes && bound_ns > best) best = bound_ns;
  }
  return best;
}

int64_t plim_front_bound(const plim_front *front, int64_t budget_bytes) {
  return best_of(front, budget_bytes, 0);
}

int64_t plim_front_hint(const plim_front *front, int64_t budget_bytes) {
  return best_of(front, budget_bytes, 1);
}

void plim_front_drop_hints(plim_front *front, int64_t budget_bytes, int64_t proved_ns) {
  for (int32_t i = 0; i < front->n_tries; i++) {
    plim_front_try *attempt = &front->attempt[i];
    if (attempt->budget_bytes < budget_bytes || attempt->hint_ns <= proved_ns) continue;
    attempt->hint_ns = 0;
    front->is_changed = 1;
  }
}
