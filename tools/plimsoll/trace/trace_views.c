/* Text views of a run: the whole of it, its commands, tensors, addresses. */
#include "tools/plimsoll/trace/trace_views.h"

#include <stdlib.h>

#include "runtime/base/integers.h"
#include "runtime/base/size.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/trace/trace_panes.h"

/* ==== views ==== */

/* Text views. Steps are printed as they are counted in the plan, from 0. */

enum { STRIP = 72 /* characters of the arena strip */, LIST = 24 };

static const char *size_text(int64_t bytes, char *text) {
  return plim_size_print(bytes, text);
}

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

/* ---- a command ---- */

/* Two rows: what is where; below it, when room was made before the command, the windows of the first decision, with
 * which the reasons begin. */
static plim_status print_strip(const traced *t, int32_t command, FILE *to) {
  char cell[STRIP + 1], size[PLIM_SIZE_TEXT_BYTES];
  const plim_decision *choice;
  const plim_decision_reasons *why;
  int32_t first, n = traced_choices(t, command, &choice, &first);
  cell[STRIP] = 0;
  PLIM_TRY(trace_strip(t, command, STRIP, cell));
  fprintf(to, "  |%s| %s\n", cell, size_text(trace_strip_bytes(t), size));
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
            size_text(buffer->bytes, size));
  }
  int32_t evicted = 0;
  for (int32_t s = 0; s < t->graph->n_storages; s++) {
    if (!is_evicted(t, command, s) || evicted++ >= LIST) continue;
    fprintf(to, "  evicted   %s, %s\n", plim_inspect_name(t->inspect, s),
            size_text(plim_align_up(t->graph->storage[s].bytes, PLIM_ALIGN), size));
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
  fprintf(to, "\n  live %s", size_text(plim_inspect_live_bytes(t->inspect, command), live));
  if (plan->budget_bytes < PLIM_BYTES_UNLIMITED) fprintf(to, " of a budget of %s", size_text(plan->budget_bytes, cap));
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
  if (count > 0) fprintf(to, "%12s  %10s  %d persistent tensors\n", "", size_text(bytes, size), (int)count);
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
    fprintf(to, "%12s  %10s  %-28s  ", traced_address(buffer->offset, address), size_text(buffer->bytes, size),
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
  (void)size_text(a->over_bytes, over);
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
          size_text(a->other_bytes, bytes), (double)a->other_ns / 1e3);
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

plim_status trace_view_reasons(const traced *t, int32_t command, FILE *to) {
  const plim_decision *choice;
  int32_t first;
  if (!t->decisions) return trace_view_absences(t, command, to);
  if (traced_fails_at(t, command)) fprintf(to, "%s\n", plim_decision_log_failure(t->decisions));
  if (traced_choices(t, command, &choice, &first) == 0) fprintf(to, "nothing had to go for this command\n");
  PLIM_TRY(trace_reasons(t, command, to));
  trace_tree(t, command, to);
  return PLIM_OK;
}

/* ---- a tensor ---- */

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
  fprintf(to, "%s: %s, %s%s%s\n", name, plim_role_name(st->role), size_text(st->bytes, size),
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
