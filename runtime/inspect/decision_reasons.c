/* Finds why a policy dropped these storages and no others. The simulation is repeated up to the decision, and the state
 * of the arena is recorded: every block with its score, or with the reason why it must stay, and the windows that were
 * compared. */
#include <math.h>

#include "runtime/arena/residency_evict.h"
#include "runtime/arena/residency_price.h"
#include "runtime/base/array.h"
#include "runtime/inspect/decision_log_internal.h"

static double from_fixed(plim_wide x) {
  return ldexp((double)x.high, 64 - PLIM_SCORE_FRACTION_BITS) + ldexp((double)x.low, -PLIM_SCORE_FRACTION_BITS);
}

/* ---- why a block must stay ---- */

/* The op that pinned a storage: the op that needs room, or one of the chain of recomputations for the next command of
 * the program. */
static int32_t pinned_by(plim_residency *res, int32_t storage, int32_t asking) {
  const plim_graph *g = res->graph;
  const plim_plan *order = res->forecast->schedule;
  int32_t depth = 0;
  if (asking >= 0 && plim_op_touches(&g->op[asking], storage)) return asking;
  res->price.stamp++;
  if (res->position < order->n_commands) res->price.stack[depth++] = order->command[res->position].op;
  while (depth > 0) {
    int32_t id = res->price.stack[--depth];
    if (plim_op_touches(&g->op[id], storage)) return id;
    for (int32_t k = 0; k < g->op[id].n_reads; k++) {
      int32_t s = g->op[id].reads[k], maker = g->storage[s].producer;
      if (maker < 0 || plim_residency_is_resident(res, s) || res->price.mark[maker] == res->price.stamp) continue;
      res->price.mark[maker] = res->price.stamp;
      res->price.stack[depth++] = maker;
    }
  }
  return PLIM_NONE;
}

/* A param or state that the storage's op reads, and that is updated before the storage's last read; PLIM_NONE: none is.
 */
static int32_t updated_before(const plim_residency *res, int32_t storage) {
  const plim_graph *g = res->graph;
  const plim_plan *order = res->forecast->schedule;
  const plim_op *maker = &g->op[g->storage[storage].producer];
  int32_t last = res->storage[storage].last_read;
  for (int32_t j = 0; j < last && j < order->n_commands; j++) {
    const plim_op *op = &g->op[order->command[j].op];
    for (int32_t u = 0; u < op->n_updates; u++) {
      for (int32_t k = 0; k < maker->n_reads; k++) {
        if (maker->reads[k] == op->updates[u]) return op->updates[u];
      }
    }
  }
  return PLIM_NONE;
}

static void find_bar(plim_residency *res, int32_t asking, plim_decision_block *block) {
  const plim_storage *storage = &res->graph->storage[block->storage];
  if (plim_role_persistent(storage->role)) {
    block->state = PLIM_ARENA_BLOCK_PERSISTENT;
  } else if (storage->producer < 0) {
    block->state = PLIM_ARENA_BLOCK_INPUT;
  } else if (res->storage[block->storage].pins > 0) {
    block->state = PLIM_ARENA_BLOCK_PINNED;
    block->by = pinned_by(res, block->storage, asking);
  } else if (plim_arena_blocks_side(res->blocks, res->storage[block->storage].block) == PLIM_SIDE_SMALL) {
    block->state = PLIM_ARENA_BLOCK_SMALL;
  } else {
    block->state = PLIM_ARENA_BLOCK_TOO_LATE;
    block->by = updated_before(res, block->storage);
  }
}

/* ---- the blocks ---- */

static void add_score(plim_residency *res, const plim_arena_block *block, plim_decision_block *p) {
  p->own_ns = res->forecast->op_ns[res->graph->storage[p->storage].producer];
  if (res->policy->cost >= PLIM_COST_ANCESTORS) {
    p->neighbour_ns = plim_residency_cost(res, p->storage, PLIM_TIME_INFINITE) - p->own_ns;
  }
  p->distance_ns = plim_residency_distance(res, p->storage);
  p->stale_ns = res->clock_ns - res->storage[p->storage].last_ns;
  p->score = res->policy->search == PLIM_SEARCH_WINDOW
                 ? from_fixed((plim_wide){0, (uint64_t)plim_residency_window_cost(res, p->storage)})
                 : plim_residency_score(res, block, INFINITY);
}

static plim_status add_blocks(plim_decision_log *decisions, plim_residency *res, int32_t asking) {
  plim_decision_reasons *r = &decisions->reasons;
  r->n_blocks = 0;
  PLIM_TRY(plim_array_reserve(decisions->ctx, &r->block, &decisions->block_capacity, res->blocks->n_blocks,
                              sizeof *r->block));
  for (int32_t id = res->blocks->first; id != PLIM_NONE; id = res->blocks->block[id].next) {
    const plim_arena_block *block = &res->blocks->block[id];
    plim_decision_block *p = &r->block[r->n_blocks++];
    *p =
        (plim_decision_block){.offset = block->offset, .bytes = block->bytes, .storage = block->owner, .by = PLIM_NONE};
    if (block->owner == PLIM_ARENA_BLOCK_FREE) {
      p->state = PLIM_ARENA_BLOCK_UNUSED;
    } else if (plim_residency_evictable(res, block->owner)) {
      p->state = PLIM_ARENA_BLOCK_EVICTABLE;
      add_score(res, block, p);
    } else {
      find_bar(res, asking, p);
    }
  }
  r->free_bytes = res->blocks->free_bytes;
  r->largest_free_bytes = plim_arena_blocks_largest_free(res->blocks);
  return PLIM_OK;
}

/* ---- the windows ---- */

static plim_decision_window reason_window(const plim_window *w, const int64_t *score) {
  double sum = from_fixed(w->cost);
  return (plim_decision_window){w->begin,         w->end, w->bytes,
                                w->evicted_bytes, sum,    score ? from_fixed((plim_wide){0, (uint64_t)*score}) : sum};
}

/* Add the window that was taken, which local search may rank after others; then the other windows by score. */
static void add_windows(const plim_residency *res, const plim_arena_request *request, const plim_arena_choice *choice,
                        plim_decision_reasons *reasons) {
  plim_window found[PLIM_DECISION_WINDOWS];
  const plim_window *window = choice->window;
  int32_t n = choice->n;
  if (!choice->score && choice->n == 1) { /* the policy looked for one alone */
    n = plim_window_find(res->rows.n, res->rows.row, request->bytes, res->policy->size != PLIM_PER_NOTHING,
                         PLIM_DECISION_WINDOWS, found);
    window = found;
  }
  if (n == 0) return;
  reasons->window[reasons->n_windows++] =
      reason_window(&window[choice->chosen], choice->score ? &choice->score[choice->chosen] : NULL);
  for (int32_t i = 0; i < n && reasons->n_windows < PLIM_DECISION_WINDOWS; i++) {
    if (i == choice->chosen) continue;
    plim_decision_window w = reason_window(&window[i], choice->score ? &choice->score[i] : NULL);
    int32_t at = reasons->n_windows++;
    for (; at > 1 && reasons->window[at - 1].together > w.together; at--) reasons->window[at] = reasons->window[at - 1];
    reasons->window[at] = w;
  }
}

/* For eviction of one storage after another: find the block that was taken, and the block with the next score. */
static void add_single(plim_decision_reasons *reasons, int32_t storage) {
  for (int32_t i = 0; i < reasons->n_blocks; i++) {
    const plim_decision_block *p = &reasons->block[i];
    if (p->state != PLIM_ARENA_BLOCK_EVICTABLE) continue;
    if (p->storage == storage) {
      reasons->taken = i;
    } else if (reasons->runner_up < 0 || p->score < reasons->block[reasons->runner_up].score) {
      reasons->runner_up = i;
    }
  }
}

/* Bytes by which a larger arena would have room: they would join the last blocks that are free or may be evicted. */
static int64_t extra_bytes(const plim_decision_reasons *reasons, int64_t need) {
  int32_t i = reasons->n_blocks - 1;
  for (; i >= 0 && reasons->block[i].state <= PLIM_ARENA_BLOCK_EVICTABLE; i--) need -= reasons->block[i].bytes;
  return need;
}

/* ---- the stopped simulation ---- */

typedef struct stop {
  plim_decision_log *decisions;
  int32_t left; /* number of decisions before the one to explain; below 0: it was reached */
} stop;

static plim_status on_choice(void *user, plim_residency *res, const plim_arena_request *request,
                             const plim_arena_choice *choice) {
  stop *at = user;
  plim_decision_reasons *r = &at->decisions->reasons;
  if (at->left-- > 0) return PLIM_OK;
  r->n_windows = 0;
  r->taken = r->runner_up = PLIM_NONE;
  PLIM_TRY(add_blocks(at->decisions, res, request->op));
  if (res->policy->search == PLIM_SEARCH_WINDOW) {
    add_windows(res, request, choice, r);
  } else {
    add_single(r, choice->storage);
  }
  r->extra_bytes = choice->n == 0 && choice->storage < 0 ? extra_bytes(r, request->bytes) : 0;
  return PLIM_ECANCEL;
}

static plim_status on_run(void *user, const plim_residency *res, int32_t depth) {
  (void)user, (void)res, (void)depth;
  return PLIM_OK;
}

static plim_status on_end(void *user, const plim_residency *res, int32_t op) {
  (void)user, (void)res, (void)op;
  return PLIM_OK;
}

plim_status plim_decision_log_explain(plim_decision_log *decisions, int32_t choice, const plim_decision_reasons **out) {
  stop at = {decisions, choice};
  plim_arena_watch watch = {&at, on_choice, on_run, on_end};
  plim_plan *plan = NULL;
  if (choice < 0 || choice >= decisions->n_choices) {
    return plim_fail(decisions->ctx, PLIM_EUSAGE, "decision %d of %d", (int)choice, (int)decisions->n_choices);
  }
  plim_status status = plim_decision_log_simulate(decisions, &watch, &plan);
  if (status != PLIM_ECANCEL || at.left >= 0) { /* failed, or cancelled by the caller before the decision */
    plim_plan_free(plan);
    return status == PLIM_OK ? plim_fail(decisions->ctx, PLIM_EDIFF, "a second simulation took fewer decisions")
                             : status;
  }
  *out = &decisions->reasons;
  return PLIM_OK;
}
