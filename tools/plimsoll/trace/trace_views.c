/* Text views of a run in one arena: its commands, why storages are absent or were evicted, tensors, the whole. Commands
 * are printed as they are counted in the plan, from 0. */
#include <stdlib.h>

#include "runtime/base/integers.h"
#include "runtime/base/size.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/trace/trace_run.h"

enum { STRIP = 72 /* characters of the arena strip */, LIST = 24 };

static void print_times(const traced *t, int32_t command, FILE *to) {
  int64_t planned = traced_planned_ns(t, command), measured = t->measured_ns[command];
  fprintf(to, "planned %.1f us", (double)planned / 1e3);
  if (t->runs == 0) return;
  fprintf(to, ", measured %.1f us", (double)measured / 1e3);
  if (planned > 0) fprintf(to, " (x %.2f)", (double)measured / (double)planned);
}

static int is_persistent(const traced *t, int32_t storage) {
  return storage >= 0 && plim_role_persistent(t->graph->storage[storage].role);
}

/* ==== a command ==== */

/* Two rows: what is where; below it, when room was made before the command, the windows of the first decision, with
 * which the reasons begin. */
static plim_status print_strip(const traced *t, int32_t command, FILE *to) {
  char cell[STRIP + 1], size[PLIM_SIZE_TEXT_BYTES];
  const plim_decision *choice;
  const plim_decision_reasons *why;
  int32_t first, n = traced_choices(t, command, &choice, &first);
  cell[STRIP] = 0;
  PLIM_TRY(trace_strip(t, command, STRIP, cell));
  fprintf(to, "  |%s| %s\n", cell, plim_size_print(trace_strip_bytes(t), size));
  if (n > 0) {
    PLIM_TRY(plim_decision_log_explain(t->decisions, first, &why));
    trace_strip_windows(t, why, STRIP, cell);
    fprintf(to, "  |%s| [=] taken (-) runner-up", cell);
    if (n > 1) fprintf(to, " of the first eviction of %d", (int)n);
    fprintf(to, "\n");
  }
  fprintf(to, "   %s\n", trace_strip_legend);
  return PLIM_OK;
}

static int is_evicted(const traced *t, int32_t command, int32_t storage) {
  const plim_decision *choice;
  int32_t first, n = traced_choices(t, command, &choice, &first);
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = 0; k < choice[i].n_evicted; k++) {
      if (choice[i].evicted[k] == storage) return 1;
    }
  }
  return 0;
}

static void print_changes(const traced *t, int32_t command, FILE *to) {
  char size[PLIM_SIZE_TEXT_BYTES];
  for (int32_t i = 0; i < t->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[i];
    if (buffer->storage < 0 || is_persistent(t, buffer->storage)) continue;
    int ends = buffer->end == command + 1 && !traced_fails_at(t, command);
    const char *what = buffer->begin == command ? "made" : ends ? "last used" : NULL;
    if (!what) continue;
    fprintf(to, "  %-9s %s, %s\n", what, plim_inspect_name(t->inspect, buffer->storage),
            plim_size_print(buffer->bytes, size));
  }
  int32_t evicted = 0;
  for (int32_t s = 0; s < t->graph->n_storages; s++) {
    if (!is_evicted(t, command, s) || evicted++ >= LIST) continue;
    fprintf(to, "  evicted   %s, %s\n", plim_inspect_name(t->inspect, s),
            plim_size_print(plim_align_up(t->graph->storage[s].bytes, PLIM_ALIGN), size));
  }
  if (evicted > LIST) fprintf(to, "  evicted   %d more\n", (int)(evicted - LIST));
}

/* Time so far, and how much of it was spent again. */
static void print_clock(const traced *t, int32_t command, FILE *to) {
  int64_t again_ns, clock_ns = traced_clock_ns(t, command, &again_ns);
  fprintf(to, "  clock %.3f ms, %.3f ms recomputed", (double)clock_ns / 1e6, (double)again_ns / 1e6);
  if (t->plan->keep_all_ns > 0) fprintf(to, ": %.2f %%", (double)again_ns * 100 / (double)t->plan->keep_all_ns);
  fprintf(to, " of a step with everything kept\n");
}

static plim_status residents_of(const traced *t, int32_t command, plim_resident **row, int32_t *n) {
  *n = plim_inspect_residents(t->inspect, command, NULL, 0);
  PLIM_TRY(plim_allocate(t->ctx, *n, sizeof **row, row));
  (void)plim_inspect_residents(t->inspect, command, *row, *n);
  return PLIM_OK;
}

plim_status trace_view_command(const traced *t, int32_t command, FILE *to) {
  const plim_plan *plan = t->plan;
  const plim_command *s = &plan->command[command];
  char live[PLIM_SIZE_TEXT_BYTES], cap[PLIM_SIZE_TEXT_BYTES];
  fprintf(to, "command %d of %d  %s%s, %s\n  ", (int)command, (int)plan->n_commands, traced_op_name(t, command),
          plim_inspect_is_repeat(t->inspect, command) ? ", again" : "",
          s->kind == PLIM_COMMAND_RUN ? plan->variant[s->variant].variant.name : "");
  print_times(t, command, to);
  fprintf(to, "\n  live %s", plim_size_print(plim_inspect_live_bytes(t->inspect, command), live));
  if (plan->budget_bytes < PLIM_BYTES_UNLIMITED)
    fprintf(to, " of a budget of %s", plim_size_print(plan->budget_bytes, cap));
  fprintf(to, "\n");
  print_clock(t, command, to);
  if (traced_fails_at(t, command)) fprintf(to, "  %s: the run ends with this command\n", traced_end_title(t));
  if (plan->packed) PLIM_TRY(print_strip(t, command, to));
  print_changes(t, command, to);
  return PLIM_OK;
}

/* Parameters and the like, which are there all the time, in one line. */
static void print_persistent(const traced *t, const plim_resident *row, int32_t n, FILE *to) {
  char size[PLIM_SIZE_TEXT_BYTES];
  int64_t bytes = 0;
  int32_t count = 0;
  for (int32_t i = 0; i < n; i++) {
    if (!is_persistent(t, row[i].storage)) continue;
    bytes += t->plan->buffer[row[i].buffer].bytes;
    count++;
  }
  if (count > 0) fprintf(to, "%12s  %10s  %d persistent tensors\n", "", plim_size_print(bytes, size), (int)count);
}

plim_status trace_view_residents(const traced *t, int32_t command, FILE *to) {
  char size[PLIM_SIZE_TEXT_BYTES], address[TRACED_ADDRESS_BYTES];
  plim_resident *row = NULL;
  int32_t n;
  PLIM_TRY(residents_of(t, command, &row, &n));
  fprintf(to, "%12s  %10s  %-28s  %s\n", "address", "bytes", "tensor", "next use");
  print_persistent(t, row, n, to);
  for (int32_t i = 0; i < n; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[row[i].buffer];
    if (is_persistent(t, row[i].storage)) continue;
    fprintf(to, "%12s  %10s  %-28s  ", traced_address(buffer->offset, address), plim_size_print(buffer->bytes, size),
            plim_inspect_name(t->inspect, row[i].storage));
    if (row[i].next_use < 0) {
      fprintf(to, "-\n");
    } else {
      fprintf(to, "command %d, %s\n", (int)row[i].next_use, traced_op_name(t, row[i].next_use));
    }
  }
  plim_release(t->ctx, row, n, sizeof *row);
  return PLIM_OK;
}

/* ---- absences ---- */

static void print_gap(const traced *t, int32_t storage, const plim_absence *a, FILE *to) {
  const char *name = plim_inspect_name(t->inspect, storage);
  const plim_decision *by = traced_eviction(t, storage, a);
  if (by) {
    fprintf(to, "  %s was evicted in front of command %d, when %s needed room for %s; it is recomputed at command %d\n",
            name, (int)by->command, traced_op(t, by->request.op),
            by->request.storage >= 0 ? plim_inspect_name(t->inspect, by->request.storage) : "its workspace",
            (int)a->back);
  } else {
    fprintf(to, "  %s was dropped after command %d and is recomputed at command %d\n", name, (int)a->gone - 1,
            (int)a->back);
  }
}

/* What would break, had it stayed. */
static void print_break(const traced *t, const plim_absence *a, FILE *to) {
  char over[PLIM_SIZE_TEXT_BYTES];
  if (a->breaks == PLIM_BREAKS_NOTHING) {
    const char *why = a->sibling >= 0 ? "it comes along with another" : "the planner found no better plan with it";
    fprintf(to, "    keeping it would exceed no budget: %s\n", t->decisions ? "the policy could not know" : why);
    return;
  }
  const char *op = traced_op_name(t, a->full_command);
  (void)plim_size_print(a->over_bytes, over);
  if (a->breaks == PLIM_BREAKS_BUDGET) {
    fprintf(to, "    keeping it would exceed the budget first at command %d (%s), by %s\n", (int)a->full_command, op,
            over);
    return;
  }
  fprintf(to, "    its bytes would fit, but from command %d (%s) on no range of addresses is free for it:\n",
          (int)a->full_command, op);
  if (a->free_offset >= 0) {
    fprintf(to, "    the last one, at %lld, goes to %s%s; ", (long long)a->free_offset, a->blocker < 0 ? "the " : "",
            plim_inspect_name(t->inspect, a->blocker));
  } else {
    fprintf(to, "    there is none even then; ");
  }
  fprintf(to, "with all others in their places the arena would be %s too small\n", over);
}

static void print_absence(const traced *t, int32_t storage, const plim_absence *a, FILE *to) {
  char bytes[PLIM_SIZE_TEXT_BYTES];
  print_gap(t, storage, a, to);
  print_break(t, a, to);
  fprintf(to, "    recomputing it takes %.1f us in %d run%s, %d deep", (double)a->again_ns / 1e3, (int)a->again_runs,
          a->again_runs == 1 ? "" : "s", (int)a->again_depth);
  if (a->sibling >= 0) fprintf(to, "; the run makes %s too", plim_inspect_name(t->inspect, a->sibling));
  fprintf(to, "\n");
  if (a->breaks != PLIM_BREAKS_NOTHING && a->other < 0)
    fprintf(to, "    no other tensor could have been evicted instead\n");
  if (a->other < 0) return;
  fprintf(to, "    instead %s (%s) could have gone: its op takes %.1f us\n", plim_inspect_name(t->inspect, a->other),
          plim_size_print(a->other_bytes, bytes), (double)a->other_ns / 1e3);
}

plim_status trace_view_drops(const traced *t, int32_t command, FILE *to) {
  for (int32_t i = 0; i < t->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[i];
    plim_absence a;
    if (buffer->storage < 0 || buffer->end != command + 1 || buffer->end >= t->plan->n_commands) continue;
    PLIM_TRY(plim_inspect_absence(t->inspect, buffer->storage, buffer->end, &a));
    if (a.kind == PLIM_ABSENT_DROPPED) print_absence(t, buffer->storage, &a, to);
  }
  return PLIM_OK;
}

plim_status trace_view_absences(const traced *t, int32_t command, FILE *to) {
  int32_t n = 0;
  for (int32_t s = 0; s < t->graph->n_storages; s++) {
    plim_absence a;
    PLIM_TRY(plim_inspect_absence(t->inspect, s, command, &a));
    if (a.kind != PLIM_ABSENT_DROPPED) continue;
    print_absence(t, s, &a, to);
    n++;
  }
  if (n == 0) fprintf(to, "  nothing that is needed again is absent at command %d\n", (int)command);
  return PLIM_OK;
}

/* ==== why ==== */

/* Why an online run evicted: windows with the terms of their scores, and what kept the other blocks. Lines are at most
 * 78 columns where names allow it, since panes cut them. */

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

static void print_keeper(const traced *t, const plim_decision_block *p, FILE *to) {
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

static int same_keeper(const plim_decision_block *a, const plim_decision_block *b) {
  return a->state == b->state && a->by == b->by;
}

/* One line a reason: the blocks that it keeps. */
static void print_kept(const traced *t, const plim_decision_reasons *why, FILE *to) {
  for (int32_t i = 0; i < why->n_blocks; i++) {
    const plim_decision_block *p = &why->block[i];
    int32_t n = 0, first = 1;
    int64_t bytes = 0;
    char size[PLIM_SIZE_TEXT_BYTES];
    if (p->state <= PLIM_ARENA_BLOCK_EVICTABLE) continue;
    for (int32_t k = 0; k < i && first; k++) first = !same_keeper(&why->block[k], p);
    if (!first) continue;
    fprintf(to, "  ");
    print_keeper(t, p, to);
    for (int32_t k = i; k < why->n_blocks; k++) {
      if (!same_keeper(&why->block[k], p)) continue;
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

static plim_status print_decision(const traced *t, const plim_decision *c, int32_t id, FILE *to) {
  const plim_decision_reasons *why;
  PLIM_TRY(plim_decision_log_explain(t->decisions, id, &why));
  print_request(t, c, why, to);
  for (int32_t i = 0; i < why->n_windows && i < WINDOWS; i++) print_window(t, why, i, to);
  if (why->n_windows == 1) fprintf(to, "  no other window is large enough\n");
  if (why->taken >= 0) print_single(t, why, to);
  if (c->n_evicted == 0) PLIM_TRY(print_way_out(t, why, to));
  print_kept(t, why, to);
  return PLIM_OK;
}

static plim_status print_reasons(const traced *t, int32_t command, FILE *to) {
  const plim_decision *choice;
  int32_t first, n = traced_choices(t, command, &choice, &first);
  for (int32_t i = 0; i < n; i++) {
    if (i >= DECISIONS && i + 1 < n) continue; /* the last one made the room, or did not */
    if (i + 1 == n && n > DECISIONS + 1) fprintf(to, "and %d decisions more, then\n", (int)(n - DECISIONS - 1));
    PLIM_TRY(print_decision(t, &choice[i], first + i, to));
  }
  return PLIM_OK;
}

/* ---- the tree ---- */

static void print_tree(const traced *t, int32_t command, FILE *to) {
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

plim_status trace_view_reasons(const traced *t, int32_t command, FILE *to) {
  const plim_decision *choice;
  int32_t first;
  if (!t->decisions) return trace_view_absences(t, command, to);
  if (traced_fails_at(t, command)) fprintf(to, "%s\n", plim_decision_log_failure(t->decisions));
  if (traced_choices(t, command, &choice, &first) == 0) fprintf(to, "nothing had to go for this command\n");
  PLIM_TRY(print_reasons(t, command, to));
  print_tree(t, command, to);
  return PLIM_OK;
}

/* ==== a tensor ==== */

static void print_uses(const traced *t, int32_t storage, const plim_plan_buffer *buffer, FILE *to) {
  int32_t shown = 0;
  for (int32_t u = plim_inspect_next_use(t->inspect, storage, buffer->begin); u >= 0 && u <= buffer->end;
       u = plim_inspect_next_use(t->inspect, storage, u + 1)) {
    if (shown++ == LIST) break;
    fprintf(to, "    read at command %d by %s%s\n", (int)u, traced_op_name(t, u),
            plim_inspect_is_repeat(t->inspect, u) ? ", again" : "");
  }
}

plim_status trace_view_tensor(const traced *t, const char *name, FILE *to) {
  char size[PLIM_SIZE_TEXT_BYTES], address[TRACED_ADDRESS_BYTES];
  int32_t value, n = 0;
  PLIM_TRY(traced_find_tensor(t, name, &value));
  int32_t storage = t->graph->value[value].storage;
  const plim_storage *st = &t->graph->storage[storage];
  fprintf(to, "%s: %s, %s%s%s\n", name, plim_role_name(st->role), plim_size_print(st->bytes, size),
          st->producer >= 0 ? ", made by " : "", st->producer >= 0 ? t->graph->op[st->producer].name : "");
  for (int32_t i = 0; i < t->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[i];
    plim_absence a;
    if (buffer->storage != storage) continue;
    if (n++ > 0) {
      PLIM_TRY(plim_inspect_absence(t->inspect, storage, buffer->begin - 1, &a));
      if (a.kind == PLIM_ABSENT_DROPPED) print_absence(t, storage, &a, to);
    }
    fprintf(to, "  buffer %d: commands %d to %d, address %s\n", (int)n, (int)buffer->begin, (int)buffer->end - 1,
            traced_address(buffer->offset, address));
    print_uses(t, storage, buffer, to);
  }
  if (n == 0) fprintf(to, "  is there at no command of this run\n"); /* which ends before, out of memory */
  return PLIM_OK;
}

/* ==== the whole ==== */

/* The run as a whole. */

enum { TOP = 10 };

typedef struct costly {
  int64_t ns;
  int32_t op, runs;
} costly;

static int by_cost(const void *a, const void *b) {
  const costly *x = a, *y = b;
  if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
  return plim_integers_compare(x->op, y->op);
}

/* Time that each op takes beside its first run. */
static plim_status count_repeats(const traced *t, costly **out) {
  costly *row = NULL;
  PLIM_TRY(plim_allocate(t->ctx, t->graph->n_ops, sizeof *row, &row));
  for (int32_t op = 0; op < t->graph->n_ops; op++) row[op].op = op;
  for (int32_t j = 0; j < t->plan->n_commands; j++) {
    if (!plim_inspect_is_repeat(t->inspect, j)) continue;
    row[t->plan->command[j].op].ns += traced_planned_ns(t, j);
    row[t->plan->command[j].op].runs++;
  }
  qsort(row, (size_t)t->graph->n_ops, sizeof *row, by_cost);
  *out = row;
  return PLIM_OK;
}

static json_t *repeats_json(const traced *t, const costly *row) {
  json_t *list = json_array();
  for (int32_t i = 0; i < t->graph->n_ops && row[i].runs > 0; i++) {
    (void)json_array_append_new(list, json_pack("{s:s, s:i, s:I}", "op", t->graph->op[row[i].op].name, "runs",
                                                (int)row[i].runs, "planned_ns", (json_int_t)row[i].ns));
  }
  return list;
}

/* A run that did not end has no overhead: how far it came, and why not further. */
static void add_end(const traced *t, figures *f) {
  plim_online_end end = traced_end(t);
  int32_t last = t->plan->n_commands - 1;
  figures_text(f, 0, "status", end == PLIM_ONLINE_OK ? NULL : "status", plim_online_end_name(end));
  if (end == PLIM_ONLINE_OK) return;
  figures_note(f, 0, " at command %d, %s", (int)last, traced_op_name(t, last));
  figures_count(f, 0, "end_command", NULL, last);
  figures_text(f, 0, "end_op", NULL, traced_op_name(t, last));
  figures_text(f, 0, "error", NULL, plim_decision_log_failure(t->decisions));
}

plim_status trace_view_summary(const traced *t, int as_json, FILE *to) {
  const plim_plan *plan = t->plan;
  int32_t repeats = 0;
  costly *row = NULL;
  char by[HUMAN_BYTES];
  figures f;
  PLIM_TRY(count_repeats(t, &row));
  for (int32_t j = 0; j < plan->n_commands; j++) repeats += plim_inspect_is_repeat(t->inspect, j);
  figures_begin(&f, 1, NULL, NULL);
  figures_text(&f, 0, "graph", "graph", t->graph->name);
  figures_note(&f, 0, ", %d ops; by %s", t->graph->n_ops, human_planner(plan->planner, by));
  figures_count(&f, 0, "ops", NULL, t->graph->n_ops);
  figures_text(&f, 0, "by", NULL, plan->planner);
  add_end(t, &f);
  if (plan->budget_bytes < PLIM_BYTES_UNLIMITED) figures_bytes(&f, 0, "budget_bytes", "budget", plan->budget_bytes);
  if (plan->packed) figures_bytes(&f, 0, "arena_bytes", "arena", plan->arena_bytes);
  figures_bytes(&f, 0, "peak_bytes", "peak", plan->peak_bytes);
  figures_count(&f, 0, "commands", "commands", plan->n_commands);
  figures_count(&f, 0, "repeats", NULL, repeats);
  figures_note(&f, 0, ", %d of them repeats", (int)repeats);
  figures_count(&f, 0, "steps", "steps", t->runs);
  figures_real(&f, 0, "planned_ms", "planned", "%.3f ms", (double)plan->time_ns / 1e6);
  if (t->runs > 0) {
    figures_real(&f, 0, "measured_ms", "measured", "%.3f ms", (double)traced_measured_ns(t) / 1e6);
  } else {
    figures_null(&f, 0, "measured_ms");
  }
  if (traced_end(t) == PLIM_ONLINE_OK) {
    figures_real(&f, 0, "overhead_percent", "overhead, predicted", "%.2f %%", plim_plan_overhead_percent(plan));
  } else {
    figures_null(&f, 0, "overhead_percent");
  }
  (void)json_object_set_new(f.object, "repeated", repeats_json(t, row));
  figures_print_to(&f, as_json, to);
  figures_end(&f);
  for (int32_t i = 0; i < TOP && i < t->graph->n_ops && row[i].runs > 0 && !as_json; i++) {
    fprintf(to, "%s%-28s  %d again, %.1f us\n", i == 0 ? "costliest repeats\n  " : "  ", t->graph->op[row[i].op].name,
            (int)row[i].runs, (double)row[i].ns / 1e3);
  }
  plim_release(t->ctx, row, t->graph->n_ops, sizeof *row);
  return PLIM_OK;
}
