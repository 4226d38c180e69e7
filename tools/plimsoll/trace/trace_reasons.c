/* Why an online run evicted, as text: windows with the terms of their scores, and what kept the other blocks. Lines
 * are at most 78 columns where names allow it, since panes cut them. */
#include "tools/plimsoll/trace/trace_views.h"

#include <string.h>

#include "runtime/base/size.h"

enum {
  WINDOWS = 3 /* shown */,
  BLOCKS = 8 /* of a window */,
  NAMES = 6 /* after one reason */,
  DECISIONS = 3 /* of a command */,
  MARGIN = 76
};

static const char *storage_name(const traced *t, int32_t storage) {
  return plim_inspect_name(t->inspect, storage);
}

/* ---- scores ---- */

static double us(int64_t ns) {
  return (double)ns / 1e3;
}

/* own cost + neighbours over distance: the terms that the policy has. */
static void print_terms(const traced *t, const plim_decision_block *p, FILE *to) {
  const plim_policy *policy = plim_decision_log_config(t->decisions)->policy;
  char size[PLIM_SIZE_TEXT_BYTES];
  fprintf(to, "    %-26s %9s", storage_name(t, p->storage), plim_size_print(p->bytes, size));
  if (policy->cost == PLIM_COST_ACCESS) {
    fprintf(to, "  used %.1f us ago\n", us(p->stale_ns));
    return;
  }
  fprintf(to, "  score %.4g =", p->score);
  if (policy->cost == PLIM_COST_ONE) fprintf(to, " 1");
  if (policy->cost >= PLIM_COST_OWN) fprintf(to, " own %.1f us", us(p->own_ns));
  if (policy->cost >= PLIM_COST_ANCESTORS) fprintf(to, " + missing %.1f us", us(p->neighbour_ns));
  if (policy->size == PLIM_PER_BYTES) fprintf(to, " / bytes");
  if (policy->size == PLIM_PER_HOLE) fprintf(to, " / bytes with free neighbours");
  if (policy->stale) fprintf(to, policy->forecast ? " / next use in %.1f us" : " / unused %.1f us", us(p->distance_ns));
  fprintf(to, "\n");
}

static void print_window(const traced *t, const plim_decision_reasons *why, int32_t i, FILE *to) {
  static const char *const title[WINDOWS] = {"taken", "runner-up", "third"};
  const plim_decision_window *w = &why->window[i];
  char bytes[PLIM_SIZE_TEXT_BYTES], evicted[PLIM_SIZE_TEXT_BYTES];
  int64_t begin = why->block[w->begin].offset;
  int32_t shown = 0, held = 0;
  fprintf(to, "  %s: addresses %lld to %lld, %s, evicts %s\n", title[i], (long long)begin, (long long)begin + w->bytes,
          plim_size_print(w->bytes, bytes), plim_size_print(w->evicted_bytes, evicted));
  fprintf(to, "    score %.4g%s", w->together, w->together == w->score ? "" : " as a whole");
  if (w->together != w->score) fprintf(to, ", %.4g block by block", w->score);
  fprintf(to, "\n");
  for (int32_t k = w->begin; k < w->end; k++) held += why->block[k].state == PLIM_ARENA_BLOCK_EVICTABLE;
  for (int32_t k = w->begin; k < w->end && shown < BLOCKS; k++) {
    if (why->block[k].state != PLIM_ARENA_BLOCK_EVICTABLE) continue;
    print_terms(t, &why->block[k], to);
    shown++;
  }
  if (held > shown) fprintf(to, "    and %d more\n", (int)(held - shown));
}

/* ---- what keeps the others ---- */

static void print_bar(const traced *t, const plim_decision_block *p, FILE *to) {
  switch (p->state) {
    case PLIM_ARENA_BLOCK_PINNED:
      if (p->by >= 0) fprintf(to, "pinned for %s:", traced_op(t, p->by));
      if (p->by < 0) fprintf(to, "pinned to the end of the step:");
      return;
    case PLIM_ARENA_BLOCK_TOO_LATE:
      if (p->by >= 0) fprintf(to, "cannot be recomputed once %s is updated:", storage_name(t, p->by));
      if (p->by < 0) fprintf(to, "cannot be recomputed in time:");
      return;
    case PLIM_ARENA_BLOCK_PERSISTENT:
      fprintf(to, "persistent:");
      return;
    case PLIM_ARENA_BLOCK_INPUT:
      fprintf(to, "written from outside, made by no op:");
      return;
    case PLIM_ARENA_BLOCK_SMALL:
      fprintf(to, "small, in an area where nothing is evicted:");
      return;
    case PLIM_ARENA_BLOCK_UNUSED:
    case PLIM_ARENA_BLOCK_EVICTABLE:
      return;
  }
}

static int same_bar(const plim_decision_block *a, const plim_decision_block *b) {
  return a->state == b->state && a->by == b->by;
}

/* One line a reason: the blocks that it keeps. */
static void print_bars(const traced *t, const plim_decision_reasons *why, FILE *to) {
  for (int32_t i = 0; i < why->n_blocks; i++) {
    const plim_decision_block *p = &why->block[i];
    int32_t n = 0, first = 1;
    int64_t bytes = 0;
    char size[PLIM_SIZE_TEXT_BYTES];
    if (p->state <= PLIM_ARENA_BLOCK_EVICTABLE) continue;
    for (int32_t k = 0; k < i && first; k++) first = !same_bar(&why->block[k], p);
    if (!first) continue;
    fprintf(to, "  ");
    print_bar(t, p, to);
    for (int32_t k = i; k < why->n_blocks; k++) {
      if (!same_bar(&why->block[k], p)) continue;
      bytes += why->block[k].bytes;
      if (n++ < NAMES && p->state >= PLIM_ARENA_BLOCK_PINNED)
        fprintf(to, " %s", storage_name(t, why->block[k].storage));
    }
    fprintf(to, " (%d, %s)\n", (int)n, plim_size_print(bytes, size));
  }
}

/* ---- a decision ---- */

static void print_request(const traced *t, const plim_decision *c, const plim_decision_reasons *why, FILE *to) {
  char bytes[PLIM_SIZE_TEXT_BYTES], all[PLIM_SIZE_TEXT_BYTES], largest[PLIM_SIZE_TEXT_BYTES];
  fprintf(to, "%s needs room for %s, %s\n", traced_op(t, c->request.op),
          c->request.storage >= 0 ? storage_name(t, c->request.storage) : "its workspace",
          plim_size_print(c->request.bytes, bytes));
  fprintf(to, "  free are %s, at most %s in one block\n", plim_size_print(why->free_bytes, all),
          plim_size_print(why->largest_free_bytes, largest));
}

static void print_single(const traced *t, const plim_decision_reasons *why, FILE *to) {
  fprintf(to, "  evicted:\n");
  print_terms(t, &why->block[why->taken], to);
  if (why->runner_up < 0) return;
  fprintf(to, "  next candidate:\n");
  print_terms(t, &why->block[why->runner_up], to);
}

static plim_status print_way_out(const traced *t, const plim_decision_reasons *why, FILE *to) {
  char extra[PLIM_SIZE_TEXT_BYTES], enough[PLIM_SIZE_TEXT_BYTES];
  int64_t bytes, budget = t->plan->budget_bytes;
  fprintf(to, "  out of memory: nothing that is left may go, and no window is large enough\n");
  fprintf(to, "  %s more at the end of the arena would be room here\n", plim_size_print(why->extra_bytes, extra));
  PLIM_TRY(plim_decision_log_enough(t->decisions, 2 * budget + why->extra_bytes, &bytes));
  if (bytes < 0) {
    fprintf(to, "  this policy does not fit into twice the memory either\n");
  } else {
    fprintf(to, "  from the start this policy fits into %s: %lld bytes more\n", plim_size_print(bytes, enough),
            (long long)(bytes - budget));
  }
  return PLIM_OK;
}

static plim_status print_choice(const traced *t, const plim_decision *c, int32_t id, FILE *to) {
  const plim_decision_reasons *why;
  PLIM_TRY(plim_decision_log_explain(t->decisions, id, &why));
  print_request(t, c, why, to);
  for (int32_t i = 0; i < why->n_windows && i < WINDOWS; i++) print_window(t, why, i, to);
  if (why->n_windows == 1) fprintf(to, "  no other window is large enough\n");
  if (why->taken >= 0) print_single(t, why, to);
  if (c->n_evicted == 0) PLIM_TRY(print_way_out(t, why, to));
  print_bars(t, why, to);
  return PLIM_OK;
}

plim_status trace_reasons(const traced *t, int32_t command, FILE *to) {
  const plim_decision *choice;
  int32_t first, n = traced_choices(t, command, &choice, &first);
  for (int32_t i = 0; i < n; i++) {
    if (i >= DECISIONS && i + 1 < n) continue; /* the last one made the room, or did not */
    if (i + 1 == n && n > DECISIONS + 1) fprintf(to, "and %d decisions more, then\n", (int)(n - DECISIONS - 1));
    PLIM_TRY(print_choice(t, &choice[i], first + i, to));
  }
  return PLIM_OK;
}

/* ---- the tree ---- */

void trace_tree(const traced *t, int32_t command, FILE *to) {
  int32_t begin, root = traced_tree(t, command, &begin), depth = 0, least = INT32_MAX;
  int64_t sum_ns = 0;
  if (begin == root) return;
  for (int32_t j = begin; j < root; j++) {
    sum_ns += traced_planned_ns(t, j);
    int32_t here = plim_decision_log_depth(t->decisions, j);
    if (here > depth) depth = here;
    if (here < least) least = here;
  }
  fprintf(to, "for command %d, %s: %d run%s again, %.1f us, %d deep\n", (int)root, traced_op_name(t, root),
          (int)(root - begin), root - begin == 1 ? "" : "s", us(sum_ns), (int)depth);
  for (int32_t j = root; j >= begin; j--) {
    int32_t indent = j == root ? 0 : 2 * (plim_decision_log_depth(t->decisions, j) - least + 1);
    if (indent > MARGIN / 2) indent = MARGIN / 2;
    fprintf(to, "%s%*scommand %d  %s, %.1f us\n", j == command ? ">" : " ", (int)indent, "", (int)j,
            traced_op_name(t, j), us(traced_planned_ns(t, j)));
  }
}
