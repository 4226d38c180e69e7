/* Borders of niche search. A box that spans the border between two sections lies at one offset on both sides. Below the
 * lowest of them lie on one side only boxes that end at the border, on the other only boxes that begin there, and on
 * each side at most the slack stays empty. So this offset is reached on both sides by sums of their sizes. Where little
 * may stay empty and few boxes begin or end, few offsets are.
 *
 * Example without slack, floors 0: boxes of 2 and 3 units end at the border, two of 5 begin there. The sums are 0, 2,
 * 3, 5 and 0, 5, 10. A box that spans the border and has the low 1 rises to 5, the next sum on both sides. */
#include <string.h>

#include "planner/pack/niche_internal.h"

enum { MAX_SUMS = 64 };

typedef plim_niche_waiting_box waiting_box;
typedef plim_niche_shape shape;

/* The borders after sections [first, last), which are those of the touched sections. */
static plim_section_range borders_of(const plim_niche *niche, const plim_niche_frame *frame) {
  return (plim_section_range){frame->touched.first > 0 ? frame->touched.first - 1 : 0,
                              frame->touched.last < niche->m ? frame->touched.last : niche->m - 1};
}

static void list_borders(plim_niche *niche, const plim_niche_frame *frame, plim_section_range at) {
  for (int32_t s = at.first; s < at.last; s++) niche->node.ending[s] = niche->node.beginning[s] = -1;
  for (int32_t i = frame->n_waiting - 1; i >= 0; i--) {
    const shape *b = &niche->shape[frame->waiting[i].box];
    int32_t from = b->first > at.first ? b->first : at.first, to = b->last - 1 < at.last ? b->last - 1 : at.last;
    for (int32_t s = from; s < to; s++) niche->node.span_low[s] = frame->waiting[i].low;
    if (at.first < b->last && b->last <= at.last) {
      niche->node.next_ending[i] = niche->node.ending[b->last - 1];
      niche->node.ending[b->last - 1] = i;
    }
    if (at.first < b->first && b->first <= at.last) {
      niche->node.next_beginning[i] = niche->node.beginning[b->first - 1];
      niche->node.beginning[b->first - 1] = i;
    }
  }
}

/* The distinct sums of sizes of listed boxes, in ascending order; 0: more than MAX_SUMS. */
static int32_t list_sums(const plim_niche *niche, const plim_niche_frame *frame, int32_t at, const int32_t *next,
                         int32_t *sum) {
  int32_t n = 1, merged[2 * MAX_SUMS];
  sum[0] = 0;
  for (; at >= 0; at = next[at]) {
    int32_t size = niche->shape[frame->waiting[at].box].size, n_merged = 0;
    for (int32_t i = 0, k = 0; k < n;) {
      int32_t least = i < n && sum[i] < sum[k] + size ? sum[i] : sum[k] + size;
      i += i < n && sum[i] == least;
      k += sum[k] + size == least;
      merged[n_merged++] = least;
    }
    if (n_merged > MAX_SUMS) return 0;
    n = n_merged;
    memcpy(sum, merged, (size_t)n * sizeof *sum);
  }
  return n;
}

/* The least offset from `from` on that is at most `slack` above a sum; PLIM_NICHE_WALL: none. */
static int32_t next_reached(const int32_t *sum, int32_t n, int32_t slack, int32_t from) {
  for (int32_t i = 0; i < n; i++) {
    if (sum[i] + slack >= from) return sum[i] > from ? sum[i] : from;
  }
  return PLIM_NICHE_WALL;
}

/* The lowest box that spans the border after section s lies at one offset on both sides. Below it lie only boxes that
 * end there, on the other side only boxes that begin there, and on each side at most the slack stays empty. The least
 * such offset; PLIM_NICHE_WALL: there is none. */
static int32_t least_match(const plim_niche *niche, const plim_niche_frame *frame, int32_t s) {
  int32_t low = niche->node.span_low[s], sum[MAX_SUMS], sum_after[MAX_SUMS];
  if (low - niche->node.floor[s] <= niche->node.slack[s] &&
      low - niche->node.floor[s + 1] <= niche->node.slack[s + 1]) {
    return low;
  }
  int32_t n = list_sums(niche, frame, niche->node.ending[s], niche->node.next_ending, sum);
  int32_t n_after = list_sums(niche, frame, niche->node.beginning[s], niche->node.next_beginning, sum_after);
  if (n == 0 || n_after == 0) return low;
  for (int changed = 1; changed && low < PLIM_NICHE_WALL;) {
    int32_t from = low, above = low - niche->node.floor[s];
    low = next_reached(sum, n, niche->node.slack[s], above);
    if (low < PLIM_NICHE_WALL) {
      low = next_reached(sum_after, n_after, niche->node.slack[s + 1],
                         low + niche->node.floor[s] - niche->node.floor[s + 1]);
    }
    if (low < PLIM_NICHE_WALL) low += niche->node.floor[s + 1];
    changed = low != from;
  }
  return low;
}

/* Put the boxes in order of `low` again. */
static void sort_boxes(plim_niche_frame *frame) {
  for (int32_t i = 1; i < frame->n_waiting; i++) {
    waiting_box it = frame->waiting[i];
    int32_t at = i;
    for (; at > 0 && frame->waiting[at - 1].low > it.low; at--) frame->waiting[at] = frame->waiting[at - 1];
    frame->waiting[at] = it;
  }
}

/* Raise boxes that span a border to where it can be matched. Returns how many were raised; -1: some border, then in the
 * node's reason, cannot be matched. */
int32_t plim_niche_match_borders(plim_niche *niche, plim_niche_frame *frame) {
  int32_t n = 0;
  plim_section_range at = borders_of(niche, frame), touched = {niche->m, 0};
  list_borders(niche, frame, at);
  for (int32_t s = at.first; s < at.last; s++) {
    if (niche->node.crossing[s] == 0) continue;
    int32_t low = least_match(niche, frame, s);
    if (low == niche->node.span_low[s]) continue;
    plim_niche_add_section(low == PLIM_NICHE_WALL ? frame->reason : frame->raised, s);
    plim_niche_add_section(low == PLIM_NICHE_WALL ? frame->reason : frame->raised, s + 1);
    niche->weight[s] += low == PLIM_NICHE_WALL;
    if (low == PLIM_NICHE_WALL) return -1;
    for (int32_t i = 0; i < frame->n_waiting; i++) {
      waiting_box *it = &frame->waiting[i];
      const shape *b = &niche->shape[it->box];
      if (b->first > s || b->last <= s + 1 || it->low >= low) continue;
      it->low = low;
      it->is_raised = 1;
      plim_niche_widen(&touched, b);
      n++;
    }
  }
  frame->touched = touched;
  if (n > 0) sort_boxes(frame);
  return n;
}
