/* Space: no two lives share a byte at one time.
 *
 * Sweep over the addresses from low to high; a segment tree over the steps keeps, for every step, the life that
 * reaches highest so far. A life overlaps an earlier one exactly when something that lives in its steps reaches above
 * its offset. O(n log n) for n lives, no recursion, whatever the plan looks like. */
#include <stdlib.h>

#include "runtime/graph/check_parts.h"

typedef struct placed {
  int64_t offset;
  int32_t life;
} placed;

/* Node 1 is the root, node i has the children 2 i and 2 i + 1, step j is the leaf n_steps + j. */
typedef struct tree {
  const plim_checker *check;
  int64_t n;      /* leaves: steps of the plan */
  int32_t *cover; /* [2 n] highest life among those set on the whole node, -1: none */
  int32_t *most;  /* [2 n] highest life in any step of the node */
} tree;

static int64_t life_top(const plim_checker *check, int32_t life) {
  return life < 0 ? 0 : check->plan->life[life].offset + check->plan->life[life].bytes;
}

static int32_t higher(const plim_checker *check, int32_t a, int32_t b) {
  return life_top(check, b) > life_top(check, a) ? b : a;
}

static void set_node(tree *t, int64_t node, int32_t life) {
  t->cover[node] = higher(t->check, t->cover[node], life);
  t->most[node] = higher(t->check, t->most[node], life);
}

static void refresh_parents(tree *t, int64_t node) {
  for (node /= 2; node >= 1; node /= 2) {
    int32_t below = higher(t->check, t->most[2 * node], t->most[2 * node + 1]);
    t->most[node] = higher(t->check, t->cover[node], below);
  }
}

/* The life is in the tree for all of its steps. */
static void tree_set(tree *t, int32_t life) {
  int64_t first = t->n + t->check->plan->life[life].begin, last = t->n + t->check->plan->life[life].end - 1;
  for (int64_t low = first, high = last + 1; low < high; low /= 2, high /= 2) {
    if (low % 2 == 1) set_node(t, low++, life);
    if (high % 2 == 1) set_node(t, --high, life);
  }
  refresh_parents(t, first);
  refresh_parents(t, last);
}

static int32_t cover_above(const tree *t, int64_t node, int32_t best) {
  for (node /= 2; node >= 1; node /= 2) best = higher(t->check, best, t->cover[node]);
  return best;
}

/* The life that reaches highest in the steps of `life`, -1: none. */
static int32_t tree_most(const tree *t, int32_t life) {
  int64_t first = t->n + t->check->plan->life[life].begin, last = t->n + t->check->plan->life[life].end - 1;
  int32_t best = cover_above(t, last, cover_above(t, first, -1));
  for (int64_t low = first, high = last + 1; low < high; low /= 2, high /= 2) {
    if (low % 2 == 1) best = higher(t->check, best, t->most[low++]);
    if (high % 2 == 1) best = higher(t->check, best, t->most[--high]);
  }
  return best;
}

static int compare_placed(const void *a, const void *b) {
  const placed *x = a, *y = b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return (x->life > y->life) - (x->life < y->life);
}

static plim_status sweep(tree *t, const placed *order) {
  const plim_checker *check = t->check;
  for (int32_t i = 0; i < check->plan->n_lives; i++) {
    const plim_life *life = &check->plan->life[order[i].life];
    int32_t other = tree_most(t, order[i].life);
    if (life_top(check, other) > life->offset) {
      const plim_life *low = &check->plan->life[other];
      int32_t step = low->begin > life->begin ? low->begin : life->begin;
      return plim_check_fault(check, step, "\"%s\" at [%lld, %lld) overlaps \"%s\" at [%lld, %lld)",
                              plim_check_storage_name(check, life->storage), (long long)life->offset,
                              (long long)life_top(check, order[i].life), plim_check_storage_name(check, low->storage),
                              (long long)low->offset, (long long)life_top(check, other));
    }
    tree_set(t, order[i].life);
  }
  return PLIM_OK;
}

static plim_status check_overlaps(const plim_checker *check) {
  const plim_plan *plan = check->plan;
  placed *order = NULL;
  tree t = {.check = check, .n = plan->n_steps};
  plim_status status = PLIM_OK;
  PLIM_CHECK(plim_allocate(check->ctx, plan->n_lives, sizeof *order, &order));
  PLIM_CHECK(plim_allocate(check->ctx, 2 * t.n, sizeof *t.cover, &t.cover));
  PLIM_CHECK(plim_allocate(check->ctx, 2 * t.n, sizeof *t.most, &t.most));
  for (int64_t i = 0; i < 2 * t.n; i++) t.cover[i] = t.most[i] = -1;
  for (int32_t i = 0; i < plan->n_lives; i++) order[i] = (placed){plan->life[i].offset, i};
  qsort(order, (size_t)plan->n_lives, sizeof *order, compare_placed);
  status = sweep(&t, order);
done:
  plim_release(check->ctx, order, plan->n_lives, sizeof *order);
  plim_release(check->ctx, t.cover, 2 * t.n, sizeof *t.cover);
  plim_release(check->ctx, t.most, 2 * t.n, sizeof *t.most);
  return status;
}

/* Largest sum of live bytes, from the bytes that begin and end at each step; PLIM_EPLAN when a sum overflows. */
static plim_status find_peak(const plim_checker *check, int64_t *begin, int64_t *end, int64_t *peak) {
  const plim_plan *plan = check->plan;
  int64_t live = 0, most = 0;
  for (int32_t i = 0; i < plan->n_lives; i++) {
    const plim_life *life = &plan->life[i];
    begin[life->begin] = plim_add_bytes(begin[life->begin], life->bytes);
    end[life->end] = plim_add_bytes(end[life->end], life->bytes);
    if (begin[life->begin] < 0 || end[life->end] < 0) live = -1;
  }
  for (int32_t j = 0; j < plan->n_steps && live >= 0; j++) {
    live = plim_add_bytes(live - end[j], begin[j]);
    if (live > most) most = live;
  }
  if (live < 0) return plim_fail(check->ctx, PLIM_EPLAN, "the sum of live bytes overflows");
  *peak = most;
  return PLIM_OK;
}

static plim_status check_peak(const plim_checker *check) {
  const plim_plan *plan = check->plan;
  int64_t *begin = NULL, *end = NULL, peak = 0, n = (int64_t)plan->n_steps + 1;
  plim_status status = PLIM_OK;
  PLIM_CHECK(plim_allocate(check->ctx, n, sizeof *begin, &begin));
  PLIM_CHECK(plim_allocate(check->ctx, n, sizeof *end, &end));
  PLIM_CHECK(find_peak(check, begin, end, &peak));
  if (peak != plan->peak_bytes) {
    status = plim_fail(check->ctx, PLIM_EPLAN, "the plan says a peak of %lld bytes, its lives add up to %lld",
                       (long long)plan->peak_bytes, (long long)peak);
  }
done:
  plim_release(check->ctx, begin, n, sizeof *begin);
  plim_release(check->ctx, end, n, sizeof *end);
  return status;
}

static plim_status check_arena(const plim_checker *check) {
  const plim_plan *plan = check->plan;
  int64_t height = plan->packed ? 0 : -1;
  for (int32_t i = 0; i < plan->n_lives && plan->packed; i++) {
    if (life_top(check, i) > height) height = life_top(check, i);
  }
  if (plan->arena_bytes != height) {
    return plim_fail(check->ctx, PLIM_EPLAN, "the plan says an arena of %lld bytes, its lives need %lld",
                     (long long)plan->arena_bytes, (long long)height);
  }
  int64_t needed = plan->packed ? plan->arena_bytes : plan->peak_bytes;
  if (needed > plan->budget_bytes) {
    return plim_fail(check->ctx, PLIM_EPLAN, "the plan needs %lld bytes, its budget is %lld", (long long)needed,
                     (long long)plan->budget_bytes);
  }
  return PLIM_OK;
}

plim_status plim_check_space(const plim_checker *check) {
  if (check->plan->packed) PLIM_TRY(check_overlaps(check));
  PLIM_TRY(check_peak(check));
  return check_arena(check);
}
