/* Sets the state of the arena in the middle of a plan, as if the commands before had been simulated.
 *
 * Commands and buffers of the prefix are the plan's own; buffers end with their uses so far. The arena may be smaller
 * than the plan's. A live buffer that lies within it keeps its offset. A live buffer that ends beyond it moves into a
 * free block. When no block is large enough, the buffer is evicted. When it cannot be recomputed, others are evicted
 * to make room for it. */
#include "runtime/arena/residency_evict.h"

/* Apply command j to the state: uses of buffers, and next reads. */
static plim_status pass_command(plim_residency *res, int32_t j) {
  const plim_command *command = &res->forecast->schedule->command[j];
  const plim_op *op = &res->graph->op[command->op];
  PLIM_TRY(plim_residency_add_command(res, command));
  for (int32_t k = 0; k < op->n_reads; k++) plim_residency_use(res, op->reads[k], j);
  for (int32_t k = 0; k < op->n_writes; k++) {
    plim_residency_use(res, op->writes[k], j);
    if (plim_residency_empty(res, op->writes[k])) res->storage[op->writes[k]].block = PLIM_ARENA_BLOCK_EMPTY;
  }
  plim_residency_advance(res);
  return PLIM_OK;
}

/* Is the buffer of the plan live before command `from`, and needed? A buffer that ends at `from` is needed when the
 * storage is wanted: command `from` overwrites it in place. */
static int continues(const plim_residency *res, const plim_plan_buffer *buffer, int32_t from) {
  if (buffer->storage < 0 || buffer->begin >= from || buffer->end < from) return 0;
  return buffer->end > from || plim_residency_wanted(res, buffer->storage);
}

static int64_t top_of(const plim_plan_buffer *buffer) {
  return buffer->offset + buffer->bytes;
}

/* Move buffer i of the plan into another block of the arena. Evicts others when there is no free block. */
static plim_status move(plim_residency *res, int32_t i) {
  int32_t block, storage = res->plan.buffer[i].storage;
  if (plim_role_persistent(res->graph->storage[storage].role)) {
    return plim_fail(res->ctx, PLIM_ENOFIT, "what persists ends at %lld, beyond an arena of %lld bytes",
                     (long long)top_of(&res->plan.buffer[i]), (long long)res->blocks->bytes);
  }
  PLIM_TRY(plim_residency_place(res, PLIM_NONE, storage, res->plan.buffer[i].bytes, &block));
  res->plan.n_buffers--; /* remove the buffer that plim_residency_place appended: the old one continues */
  res->storage[storage].buffer = i;
  res->plan.buffer[i].offset = res->blocks->block[block].offset;
  return PLIM_OK;
}

static plim_status move_or_evict(plim_residency *res, int32_t i) {
  int32_t storage = res->plan.buffer[i].storage;
  if (!plim_residency_wanted(res, storage)) return PLIM_OK;
  int free_block = plim_arena_blocks_largest_free(res->blocks) >= res->plan.buffer[i].bytes;
  if (free_block || !plim_residency_evictable(res, storage)) return move(res, i);
  res->counts->evictions++;
  return plim_residency_go_missing(res, storage);
}

/* Block the range of a buffer that begins below the arena's end and ends above it, until all buffers have moved: none
 * may overwrite a buffer that has not moved yet. *block is unchanged for other buffers. */
static plim_status block_straddler(plim_residency *res, const plim_plan_buffer *buffer, int32_t *block) {
  int64_t end = res->blocks->bytes;
  if (buffer->offset >= end) return PLIM_OK;
  return plim_arena_blocks_take_at(res->blocks, buffer->offset, end - buffer->offset, res->graph->n_storages, block);
}

/* PLIM_ENOFIT when a storage that is read again is not resident and cannot be recomputed by then. */
static plim_status check_absent(const plim_residency *res) {
  for (int32_t s = 0; s < res->graph->n_storages; s++) {
    const plim_residency_storage *row = &res->storage[s];
    if (res->graph->storage[s].producer < 0 || row->block != PLIM_NONE || row->next_read == PLIM_NEVER) continue;
    if (row->last_read <= res->forecast->deadline[s]) continue;
    return plim_fail(res->ctx, PLIM_ENOFIT, "\"%s\" is gone, is read last at %d, and cannot be recomputed after %d",
                     plim_graph_storage_name(res->graph, s, ""), (int)row->last_read, (int)res->forecast->deadline[s]);
  }
  return PLIM_OK;
}

/* Mark the storages that were computed and are not resident as missing: the prices of evictions count them. */
static plim_status lose_absent(plim_residency *res, const plim_plan *plan, int32_t from) {
  for (int32_t s = 0; s < res->graph->n_storages; s++) {
    const plim_residency_storage *row = &res->storage[s];
    if (row->buffer == PLIM_NONE || row->block != PLIM_NONE || continues(res, &plan->buffer[row->buffer], from)) {
      continue;
    }
    PLIM_TRY(plim_residency_go_missing(res, s));
  }
  return PLIM_OK;
}

/* Give blocks to the storages that are live before command `from`.
 *   n  in  number of the plan's buffers that have begun */
static plim_status place_residents(plim_residency *res, const plim_plan *plan, int32_t n, int32_t from) {
  int64_t end = res->blocks->bytes;
  int32_t blocked = PLIM_NONE;
  for (int32_t i = 0; i < n; i++) {
    const plim_plan_buffer *buffer = &plan->buffer[i];
    if (!continues(res, buffer, from)) continue;
    if (top_of(buffer) > end) {
      PLIM_TRY(block_straddler(res, buffer, &blocked));
    } else {
      PLIM_TRY(plim_arena_blocks_take_at(res->blocks, buffer->offset, buffer->bytes, buffer->storage,
                                         &res->storage[buffer->storage].block));
    }
  }
  PLIM_TRY(lose_absent(res, plan, from));
  for (int32_t i = 0; i < n; i++) {
    if (continues(res, &plan->buffer[i], from) && top_of(&plan->buffer[i]) > end) PLIM_TRY(move_or_evict(res, i));
  }
  if (blocked >= 0) (void)plim_arena_blocks_give(res->blocks, blocked);
  return check_absent(res);
}

plim_status plim_residency_resume(plim_residency *res, int32_t from) {
  const plim_plan *plan = res->forecast->schedule;
  int32_t next = 0;
  for (int32_t j = 0; j < from; j++) {
    for (; next < plan->n_buffers && plan->buffer[next].begin == j; next++) {
      PLIM_TRY(plim_residency_add_buffer(res, &plan->buffer[next]));
    }
    PLIM_TRY(pass_command(res, j));
  }
  for (int32_t i = 0; i < next; i++) {
    if (plan->buffer[i].end < from) res->plan.buffer[i].end = plan->buffer[i].end; /* it may be overwritten in place */
  }
  return place_residents(res, plan, next, from);
}
