/* Overlap: no two buffers of a space share a byte at the same time.
 *
 * The sweep takes the buffers by ascending offset. A segment tree over the commands keeps, for every command, the
 * buffer with the highest end so far. A buffer overlaps an earlier one exactly when an earlier one is live in one of
 * its commands and ends above its offset. O(n log n) for n buffers, without recursion, for any plan. */
#include <stdlib.h>

#include "runtime/base/integers.h"
#include "runtime/graph/check/check_internal.h"

typedef struct placed {
  int64_t offset;
  int32_t buffer;
} placed;

/* Node 1 is the root, node i has the children 2 i and 2 i + 1, command j is the leaf n_commands + j. */
typedef struct range_tree {
  const plim_checker *check;
  int64_t n;      /* leaves: commands of the plan */
  int32_t *cover; /* [2 n] highest buffer among those set on the whole node, or PLIM_NONE */
  int32_t *most;  /* [2 n] highest buffer in any command of the node */
} range_tree;

static int64_t buffer_top(const plim_checker *check, int32_t buffer) {
  return buffer < 0 ? 0 : check->plan->buffer[buffer].offset + check->plan->buffer[buffer].bytes;
}

static int32_t higher(const plim_checker *check, int32_t a, int32_t b) {
  return buffer_top(check, b) > buffer_top(check, a) ? b : a;
}

static void set_node(range_tree *tree, int64_t node, int32_t buffer) {
  tree->cover[node] = higher(tree->check, tree->cover[node], buffer);
  tree->most[node] = higher(tree->check, tree->most[node], buffer);
}

static void refresh_parents(range_tree *tree, int64_t node) {
  for (node /= 2; node >= 1; node /= 2) {
    int32_t below = higher(tree->check, tree->most[2 * node], tree->most[2 * node + 1]);
    tree->most[node] = higher(tree->check, tree->cover[node], below);
  }
}

/* Enter the buffer into the tree for all of its commands. */
static void tree_set(range_tree *tree, int32_t buffer) {
  int64_t first = tree->n + tree->check->plan->buffer[buffer].begin,
          last = tree->n + tree->check->plan->buffer[buffer].end - 1;
  for (int64_t low = first, high = last + 1; low < high; low /= 2, high /= 2) {
    if (low % 2 == 1) set_node(tree, low++, buffer);
    if (high % 2 == 1) set_node(tree, --high, buffer);
  }
  refresh_parents(tree, first);
  refresh_parents(tree, last);
}

static int32_t cover_above(const range_tree *tree, int64_t node, int32_t best) {
  for (node /= 2; node >= 1; node /= 2) best = higher(tree->check, best, tree->cover[node]);
  return best;
}

/* The buffer in the tree with the highest end in the commands of `buffer`, or PLIM_NONE. */
static int32_t tree_most(const range_tree *tree, int32_t buffer) {
  int64_t first = tree->n + tree->check->plan->buffer[buffer].begin,
          last = tree->n + tree->check->plan->buffer[buffer].end - 1;
  int32_t best = cover_above(tree, last, cover_above(tree, first, PLIM_NONE));
  for (int64_t low = first, high = last + 1; low < high; low /= 2, high /= 2) {
    if (low % 2 == 1) best = higher(tree->check, best, tree->most[low++]);
    if (high % 2 == 1) best = higher(tree->check, best, tree->most[--high]);
  }
  return best;
}

static int compare_placed(const void *a, const void *b) {
  const placed *x = a, *y = b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return plim_integers_compare(x->buffer, y->buffer);
}

static plim_status sweep(range_tree *tree, const placed *order, int32_t n) {
  const plim_checker *check = tree->check;
  for (int32_t i = 0; i < n; i++) {
    const plim_plan_buffer *buffer = &check->plan->buffer[order[i].buffer];
    int32_t other = tree_most(tree, order[i].buffer);
    if (buffer_top(check, other) > buffer->offset) {
      const plim_plan_buffer *low = &check->plan->buffer[other];
      int32_t command = low->begin > buffer->begin ? low->begin : buffer->begin;
      return plim_check_fault(check, command, "\"%s\" at [%lld, %lld) overlaps \"%s\" at [%lld, %lld)",
                              plim_check_storage_name(check, buffer->storage), (long long)buffer->offset,
                              (long long)buffer_top(check, order[i].buffer),
                              plim_check_storage_name(check, low->storage), (long long)low->offset,
                              (long long)buffer_top(check, other));
    }
    tree_set(tree, order[i].buffer);
  }
  return PLIM_OK;
}

static plim_status check_overlaps(const plim_checker *check, int32_t space) {
  const plim_plan *plan = check->plan;
  int32_t n = 0;
  placed *order = NULL;
  range_tree tree = {.check = check, .n = plan->n_commands};
  plim_status status = PLIM_OK;
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, plan->n_buffers, sizeof *order, &order));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, 2 * tree.n, sizeof *tree.cover, &tree.cover));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, 2 * tree.n, sizeof *tree.most, &tree.most));
  for (int64_t i = 0; i < 2 * tree.n; i++) tree.cover[i] = tree.most[i] = PLIM_NONE;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    if (plan->buffer[i].space == space) order[n++] = (placed){plan->buffer[i].offset, i};
  }
  qsort(order, (size_t)n, sizeof *order, compare_placed);
  status = sweep(&tree, order, n);
done:
  plim_release(check->ctx, order, plan->n_buffers, sizeof *order);
  plim_release(check->ctx, tree.cover, 2 * tree.n, sizeof *tree.cover);
  plim_release(check->ctx, tree.most, 2 * tree.n, sizeof *tree.most);
  return status;
}

/* Find the largest sum of live bytes of a space. begin, end [n_commands + 1], zeroed scratch: bytes that begin and end
 * at each command. PLIM_EPLAN: a sum overflows. */
static plim_status find_peak(const plim_checker *check, int32_t space, int64_t *begin, int64_t *end, int64_t *peak) {
  const plim_plan *plan = check->plan;
  int64_t live = 0, most = 0;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &plan->buffer[i];
    if (buffer->space != space) continue;
    begin[buffer->begin] = plim_add_checked(begin[buffer->begin], buffer->bytes);
    end[buffer->end] = plim_add_checked(end[buffer->end], buffer->bytes);
    if (begin[buffer->begin] < 0 || end[buffer->end] < 0) live = -1;
  }
  for (int32_t j = 0; j < plan->n_commands && live >= 0; j++) {
    live = plim_add_checked(live - end[j], begin[j]);
    if (live > most) most = live;
  }
  if (live < 0) return plim_fail(check->ctx, PLIM_EPLAN, "the sum of live bytes overflows");
  *peak = most;
  return PLIM_OK;
}

static plim_status check_peak(const plim_checker *check, int32_t space, int64_t stated) {
  const plim_plan *plan = check->plan;
  int64_t *begin = NULL, *end = NULL, peak = 0, n = (int64_t)plan->n_commands + 1;
  plim_status status = PLIM_OK;
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, n, sizeof *begin, &begin));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, n, sizeof *end, &end));
  PLIM_TRY_OR_DONE(find_peak(check, space, begin, end, &peak));
  if (peak != stated) {
    status = plim_fail(check->ctx, PLIM_EPLAN, "the plan says a peak of %lld bytes, its buffers add up to %lld",
                       (long long)stated, (long long)peak);
  }
done:
  plim_release(check->ctx, begin, n, sizeof *begin);
  plim_release(check->ctx, end, n, sizeof *end);
  return status;
}

static plim_status check_arena(const plim_checker *check, int32_t space, const plim_plan_space *stated) {
  const plim_plan *plan = check->plan;
  int64_t size = plan->packed ? 0 : PLIM_NONE;
  for (int32_t i = 0; i < plan->n_buffers && plan->packed; i++) {
    if (plan->buffer[i].space == space && buffer_top(check, i) > size) size = buffer_top(check, i);
  }
  if (stated->arena_bytes != size) {
    return plim_fail(check->ctx, PLIM_EPLAN, "the plan says an arena of %lld bytes, its buffers need %lld",
                     (long long)stated->arena_bytes, (long long)size);
  }
  int64_t needed = plan->packed ? stated->arena_bytes : stated->peak_bytes;
  if (needed > stated->budget_bytes) {
    return plim_fail(check->ctx, PLIM_EPLAN, "the plan needs %lld bytes%s%s, its budget is %lld", (long long)needed,
                     space > 0 ? " of space " : "", stated->name, (long long)stated->budget_bytes);
  }
  return PLIM_OK;
}

plim_status plim_check_overlap(const plim_checker *check) {
  const plim_plan *plan = check->plan;
  for (int32_t space = 0; space <= plan->n_page_spaces; space++) {
    const plim_plan_space stated = plim_plan_space_of(plan, space);
    if (plan->packed) PLIM_TRY(check_overlaps(check, space));
    PLIM_TRY(check_peak(check, space, stated.peak_bytes));
    PLIM_TRY(check_arena(check, space, &stated));
  }
  return PLIM_OK;
}
