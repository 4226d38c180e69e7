/* Text views. Steps are printed as they are counted in the plan, from 0. */
#include "tools/plimsoll/trace_views.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/nearest.h"
#include "runtime/base/size.h"
#include "tools/plimsoll/figures.h"

enum { STRIP = 72 /* characters of the arena strip */, TOP = 10, LIST = 24 };

static const char *size_text(int64_t bytes, char *text) {
  return plim_size_print(bytes, text);
}

static void print_times(const traced *t, int32_t step, FILE *to) {
  int64_t planned = traced_planned_ns(t, step), measured = t->measured_ns[step];
  fprintf(to, "planned %.1f us", (double)planned / 1e3);
  if (t->trace->n_rows == 0) return;
  fprintf(to, ", measured %.1f us", (double)measured / 1e3);
  if (planned > 0) fprintf(to, " (x %.2f)", (double)measured / (double)planned);
}

static int is_persistent(const traced *t, int32_t storage) {
  return storage >= 0 && plim_role_persistent(t->graph->storage[storage].role);
}

/* ---- a step ---- */

/* '.' free, '=' resident, '+' of this step's operands, '%' persistent, 'w' workspace; the fullest tenant of a character
 * wins. */
static void print_strip(const traced *t, int32_t step, const plim_resident *row, int32_t n, FILE *to) {
  const plim_plan *plan = t->plan;
  char strip[STRIP + 1];
  int64_t whole = plan->arena_bytes;
  memset(strip, '.', STRIP);
  strip[STRIP] = 0;
  for (int32_t i = 0; i < n; i++) {
    const plim_life *life = &plan->life[row[i].life];
    int persistent = is_persistent(t, life->storage);
    char mark = '=';
    if (life->storage < 0) mark = 'w';
    if (persistent) mark = '%';
    if (life->storage >= 0 && (life->begin == step || row[i].next_use == step)) mark = persistent ? '%' : '+';
    int64_t first = life->offset * STRIP / whole, last = (life->offset + life->bytes - 1) * STRIP / whole;
    for (int64_t c = first; c <= last && c < STRIP; c++) strip[c] = mark;
  }
  fprintf(to,
          "  arena  |%s|\n         . free  = resident  + operand of this step  w workspace  %% there all the time\n",
          strip);
}

static void print_changes(const traced *t, int32_t step, FILE *to) {
  char size[PLIM_SIZE_TEXT_BYTES];
  for (int32_t i = 0; i < t->plan->n_lives; i++) {
    const plim_life *life = &t->plan->life[i];
    if (life->storage < 0 || (life->begin != step && life->end != step + 1)) continue;
    if (is_persistent(t, life->storage)) continue;
    fprintf(to, "  %s %s, %s\n", life->begin == step ? "made  " : "gone  ",
            plim_inspect_name(t->inspect, life->storage), size_text(life->bytes, size));
  }
}

static plim_status residents_of(const traced *t, int32_t step, plim_resident **row, int32_t *n) {
  *n = plim_inspect_residents(t->inspect, step, NULL, 0);
  PLIM_TRY(plim_allocate(t->ctx, *n, sizeof **row, row));
  (void)plim_inspect_residents(t->inspect, step, *row, *n);
  return PLIM_OK;
}

plim_status trace_view_step(const traced *t, int32_t step, FILE *to) {
  const plim_plan *plan = t->plan;
  const plim_step *s = &plan->step[step];
  char live[PLIM_SIZE_TEXT_BYTES], cap[PLIM_SIZE_TEXT_BYTES];
  plim_resident *row = NULL;
  int32_t n;
  PLIM_TRY(residents_of(t, step, &row, &n));
  fprintf(to, "step %d of %d  %s%s, %s\n  ", (int)step, (int)plan->n_steps, traced_op_name(t, step),
          plim_inspect_is_repeat(t->inspect, step) ? ", again" : "",
          s->kind == PLIM_STEP_RUN ? plan->variant[s->variant].variant.name : "");
  print_times(t, step, to);
  fprintf(to, "\n  live %s", size_text(plim_inspect_live_bytes(t->inspect, step), live));
  if (plan->budget_bytes < INT64_MAX) fprintf(to, " of a cap of %s", size_text(plan->budget_bytes, cap));
  fprintf(to, "\n");
  if (plan->packed) print_strip(t, step, row, n, to);
  print_changes(t, step, to);
  plim_release(t->ctx, row, n, sizeof *row);
  return PLIM_OK;
}

/* Parameters and the like, which are there all the time, in one line. */
static void print_persistent(const traced *t, const plim_resident *row, int32_t n, FILE *to) {
  char size[PLIM_SIZE_TEXT_BYTES];
  int64_t bytes = 0;
  int32_t count = 0;
  for (int32_t i = 0; i < n; i++) {
    if (!is_persistent(t, row[i].storage)) continue;
    bytes += t->plan->life[row[i].life].bytes;
    count++;
  }
  if (count > 0)
    fprintf(to, "%12s  %10s  %d values that are there all the time\n", "", size_text(bytes, size), (int)count);
}

plim_status trace_view_residents(const traced *t, int32_t step, FILE *to) {
  char size[PLIM_SIZE_TEXT_BYTES];
  plim_resident *row = NULL;
  int32_t n;
  PLIM_TRY(residents_of(t, step, &row, &n));
  fprintf(to, "%12s  %10s  %-28s  %s\n", "address", "bytes", "value", "next use");
  print_persistent(t, row, n, to);
  for (int32_t i = 0; i < n; i++) {
    const plim_life *life = &t->plan->life[row[i].life];
    if (is_persistent(t, row[i].storage)) continue;
    fprintf(to, "%12lld  %10s  %-28s  ", (long long)life->offset, size_text(life->bytes, size),
            plim_inspect_name(t->inspect, row[i].storage));
    if (row[i].next_use < 0) {
      fprintf(to, "-\n");
    } else {
      fprintf(to, "step %d, %s\n", (int)row[i].next_use, traced_op_name(t, row[i].next_use));
    }
  }
  plim_release(t->ctx, row, n, sizeof *row);
  return PLIM_OK;
}

/* ---- absences ---- */

static void print_absence(const traced *t, int32_t storage, const plim_absence *a, FILE *to) {
  char over[PLIM_SIZE_TEXT_BYTES], bytes[PLIM_SIZE_TEXT_BYTES];
  const char *name = plim_inspect_name(t->inspect, storage);
  fprintf(to, "  %s was dropped behind step %d and is made again at step %d\n", name, (int)a->gone - 1, (int)a->back);
  if (a->full_step >= 0) {
    fprintf(to, "    keeping it would break the cap first at step %d (%s), by %s\n", (int)a->full_step,
            traced_op_name(t, a->full_step), size_text(a->over_bytes, over));
  } else if (!t->plan->packed || a->free_range) {
    fprintf(to, "    keeping it would break no cap: the planner found no better plan with it\n");
  } else {
    fprintf(to, "    its bytes would fit, but no range of the arena is free for it all that time\n");
  }
  fprintf(to, "    making it again takes %.1f us in %d runs, %d deep\n", (double)a->again_ns / 1e3, (int)a->again_runs,
          (int)a->again_depth);
  if (a->instead < 0) return;
  fprintf(to, "    instead %s (%s) could have gone: its op takes %.1f us\n", plim_inspect_name(t->inspect, a->instead),
          size_text(a->instead_bytes, bytes), (double)a->instead_ns / 1e3);
}

plim_status trace_view_absences(const traced *t, int32_t step, FILE *to) {
  int32_t n = 0;
  for (int32_t s = 0; s < t->graph->n_storages; s++) {
    plim_absence a;
    PLIM_TRY(plim_inspect_absence(t->inspect, s, step, &a));
    if (a.kind != PLIM_ABSENT_DROPPED) continue;
    print_absence(t, s, &a, to);
    n++;
  }
  if (n == 0) fprintf(to, "  nothing that is needed again is absent at step %d\n", (int)step);
  return PLIM_OK;
}

/* ---- a value ---- */

static plim_status find_value(const traced *t, const char *name, int32_t *value) {
  *value = plim_graph_find_value(t->graph, name);
  if (*value >= 0) return PLIM_OK;
  /* the nearest: the longest common beginning, then the shortest name */
  size_t best = 0;
  int32_t nearest = 0;
  for (int32_t v = 0; v < t->graph->n_values; v++) {
    size_t same = 0;
    while (name[same] && name[same] == t->graph->value[v].name[same]) same++;
    int shorter = strlen(t->graph->value[v].name) < strlen(t->graph->value[nearest].name);
    if (same > best || (same == best && shorter)) nearest = v;
    if (same > best) best = same;
  }
  return plim_fail(t->ctx, PLIM_EUSAGE, "no value is called \"%s\"; did you mean \"%s\"?", name,
                   t->graph->value[nearest].name);
}

static void print_uses(const traced *t, int32_t storage, const plim_life *life, FILE *to) {
  int32_t shown = 0;
  for (int32_t u = plim_inspect_next_use(t->inspect, storage, life->begin); u >= 0 && u <= life->end;
       u = plim_inspect_next_use(t->inspect, storage, u + 1)) {
    if (shown++ == LIST) break;
    fprintf(to, "    read at step %d by %s%s\n", (int)u, traced_op_name(t, u),
            plim_inspect_is_repeat(t->inspect, u) ? ", again" : "");
  }
}

plim_status trace_view_value(const traced *t, const char *name, FILE *to) {
  char size[PLIM_SIZE_TEXT_BYTES];
  int32_t value, n = 0;
  PLIM_TRY(find_value(t, name, &value));
  int32_t storage = t->graph->value[value].storage;
  const plim_storage *st = &t->graph->storage[storage];
  fprintf(to, "%s: %s, %s%s%s\n", name, plim_role_name(st->role), size_text(st->bytes, size),
          st->producer >= 0 ? ", made by " : "", st->producer >= 0 ? t->graph->op[st->producer].name : "");
  for (int32_t i = 0; i < t->plan->n_lives; i++) {
    const plim_life *life = &t->plan->life[i];
    plim_absence a;
    if (life->storage != storage) continue;
    if (n++ > 0) {
      PLIM_TRY(plim_inspect_absence(t->inspect, storage, life->begin - 1, &a));
      if (a.kind == PLIM_ABSENT_DROPPED) print_absence(t, storage, &a, to);
    }
    fprintf(to, "  life %d: steps %d to %d, address %lld\n", (int)n, (int)life->begin, (int)life->end - 1,
            (long long)life->offset);
    print_uses(t, storage, life, to);
  }
  return PLIM_OK;
}

/* ---- the whole ---- */

typedef struct costly {
  int64_t ns;
  int32_t op, runs;
} costly;

static int by_cost(const void *a, const void *b) {
  const costly *x = a, *y = b;
  if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
  return (x->op > y->op) - (x->op < y->op);
}

/* Time that each op takes beside its first run. */
static plim_status count_repeats(const traced *t, costly **out) {
  costly *row = NULL;
  PLIM_TRY(plim_allocate(t->ctx, t->graph->n_ops, sizeof *row, &row));
  for (int32_t op = 0; op < t->graph->n_ops; op++) row[op].op = op;
  for (int32_t j = 0; j < t->plan->n_steps; j++) {
    if (!plim_inspect_is_repeat(t->inspect, j)) continue;
    row[t->plan->step[j].op].ns += traced_planned_ns(t, j);
    row[t->plan->step[j].op].runs++;
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

plim_status trace_view_summary(const traced *t, int as_json, FILE *to) {
  const plim_plan *plan = t->plan;
  int64_t measured = 0;
  int32_t repeats = 0;
  costly *row = NULL;
  figures f;
  PLIM_TRY(count_repeats(t, &row));
  for (int32_t j = 0; j < plan->n_steps; j++) {
    measured += t->measured_ns[j];
    repeats += plim_inspect_is_repeat(t->inspect, j);
  }
  figures_begin(&f, 1, NULL, NULL);
  figures_text(&f, 0, "graph", "graph", t->graph->name);
  figures_note(&f, 0, ", %d ops; plan by %s", t->graph->n_ops, plan->planner);
  if (plan->budget_bytes < INT64_MAX) figures_bytes(&f, 0, "budget_bytes", "cap", plan->budget_bytes);
  if (plan->packed) figures_bytes(&f, 0, "arena_bytes", "arena", plan->arena_bytes);
  figures_bytes(&f, 0, "peak_bytes", "peak", plan->peak_bytes);
  figures_count(&f, 0, "plan_steps", "steps", plan->n_steps);
  figures_count(&f, 0, "repeats", NULL, repeats);
  figures_note(&f, 0, ", %d of them again", (int)repeats);
  figures_count(&f, 0, "training_steps", "training steps", t->trace->n_rows / t->trace->n_steps);
  figures_real(&f, 0, "planned_ms", "planned", "%.3f ms", (double)plan->time_ns / 1e6);
  figures_real(&f, 0, "measured_ms", "measured", "%.3f ms", (double)measured / 1e6);
  figures_real(&f, 0, "overhead_percent", "overhead, predicted", "%.2f %%", plim_plan_overhead_percent(plan));
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
