/* A run beside another: a trace with a second one, or with what would have come of it. */
#include <jansson.h>
#include <string.h>

#include "runtime/base/name.h"
#include "runtime/base/size.h"
#include "tools/plimsoll/trace/trace_run.h"

/* ==== two runs ==== */

/* Two runs of one graph beside each other. */

/* ---- where they part ---- */

static int same_run(const traced *a, const traced *b, int32_t j) {
  const plim_command *x = &a->plan->command[j], *y = &b->plan->command[j];
  if (x->kind != y->kind || x->op != y->op) return 0;
  return strcmp(a->plan->variant[x->variant].variant.name, b->plan->variant[y->variant].variant.name) == 0;
}

/* The first command at which a lifetime begins, ends or lies elsewhere in the other plan. Buffers are sorted by begin.
 */
static int32_t first_other_buffer(const plim_plan *a, const plim_plan *b, int32_t n_commands) {
  int32_t least = n_commands;
  for (int32_t i = 0; i < a->n_buffers && i < b->n_buffers; i++) {
    const plim_plan_buffer *x = &a->buffer[i], *y = &b->buffer[i];
    int32_t begin = x->begin < y->begin ? x->begin : y->begin, end = x->end < y->end ? x->end : y->end;
    if (begin >= least) return least;
    if (x->storage != y->storage || x->begin != y->begin || x->offset != y->offset) return begin;
    if (x->end != y->end && end < least) least = end;
  }
  return least;
}

plim_status trace_divergence(const traced *a, const traced *b, trace_parting *out) {
  if (strcmp(a->graph->fingerprint, b->graph->fingerprint) != 0) {
    return plim_fail(a->ctx, PLIM_EDATA, "these are runs of different graphs: %s, %.12s, and %s, %.12s", a->graph->name,
                     a->graph->fingerprint, b->graph->name, b->graph->fingerprint);
  }
  int32_t n = a->plan->n_commands < b->plan->n_commands ? a->plan->n_commands : b->plan->n_commands, run = n, place = n;
  for (int32_t j = 0; j < n && run == n; j++) {
    if (!same_run(a, b, j)) run = j;
  }
  if (a->plan->packed && b->plan->packed) place = first_other_buffer(a->plan, b->plan, n);
  int equal_length = a->plan->n_commands == b->plan->n_commands;
  *out = (trace_parting){run == n && equal_length ? -1 : run, place == n && equal_length ? -1 : place};
  return PLIM_OK;
}

int32_t trace_parting_command(const traced *a, const trace_parting *parting) {
  int32_t command = parting->run >= 0 ? parting->run : parting->place;
  return command < a->plan->n_commands ? command : -1;
}

void trace_parting_say(const traced *a, const traced *b, const trace_parting *parting, char *text, size_t size) {
  int32_t run = parting->run, place = parting->place;
  if (run < 0 && place < 0) {
    (void)snprintf(text, size, "the two runs are equal");
  } else if (run < 0) {
    (void)snprintf(text, size,
                   "the same commands; the other run has something elsewhere, or for another time, from here on");
  } else {
    const char *op = run < b->plan->n_commands ? traced_op_name(b, run) : "its end";
    int n = snprintf(text, size,
                     run < a->plan->n_commands ? "the other run has %s here"
                                               : "equal as far as this run goes; the other has %s then",
                     op);
    int also = place >= 0 && place < run && n > 0 && (size_t)n < size;
    if (also) (void)snprintf(text + n, size - (size_t)n, "; places differ from command %d on", (int)place);
  }
}

/* ---- what each runs ---- */

static int32_t runs_of(const plim_plan *plan, int32_t op) {
  int32_t n = 0;
  for (int32_t j = 0; j < plan->n_commands; j++)
    n += plan->command[j].kind == PLIM_COMMAND_RUN && plan->command[j].op == op;
  return n;
}

static const char *name_at(const traced *t, int32_t command) {
  return command < t->plan->n_commands ? traced_op_name(t, command) : "the end";
}

/* ---- as text ---- */

static void print_pair(FILE *to, const char *what, const char *format, double a, double b) {
  fprintf(to, "%-14s", what);
  fprintf(to, format, a);
  fprintf(to, format, b);
  fprintf(to, "\n");
}

static void print_figures(const traced *a, const traced *b, FILE *to) {
  fprintf(to, "%-14s%14.14s%14.14s\n", "by", a->plan->planner, b->plan->planner);
  print_pair(to, "commands", "%14.0f", a->plan->n_commands, b->plan->n_commands);
  print_pair(to, "peak bytes", "%14.0f", (double)a->plan->peak_bytes, (double)b->plan->peak_bytes);
  if (a->plan->packed && b->plan->packed) {
    print_pair(to, "arena bytes", "%14.0f", (double)a->plan->arena_bytes, (double)b->plan->arena_bytes);
  }
  print_pair(to, "planned ms", "%14.3f", (double)a->plan->time_ns / 1e6, (double)b->plan->time_ns / 1e6);
  if (a->runs == 0 || b->runs == 0) return;
  print_pair(to, "measured ms", "%14.3f", (double)traced_measured_ns(a) / 1e6, (double)traced_measured_ns(b) / 1e6);
}

/* The op of a command; with its variant where the other run has the same op. */
static void print_command(const traced *t, const traced *other, int32_t command, FILE *to) {
  const char *name = name_at(t, command);
  const plim_command *at = command < t->plan->n_commands ? &t->plan->command[command] : NULL;
  fprintf(to, "%s", name);
  if (!at || at->kind != PLIM_COMMAND_RUN || strcmp(name, name_at(other, command)) != 0) return;
  fprintf(to, " (%s)", t->plan->variant[at->variant].variant.name);
}

static void print_diff(const traced *a, const traced *b, const trace_parting *differ, FILE *to) {
  print_figures(a, b, to);
  if (differ->run >= 0) {
    fprintf(to, "first difference at command %d: ", (int)differ->run);
    print_command(a, b, differ->run, to);
    fprintf(to, ", ");
    print_command(b, a, differ->run, to);
    fprintf(to, "\n");
  } else {
    fprintf(to, "the same commands\n");
  }
  if (differ->place >= 0) fprintf(to, "first other address or buffer at command %d\n", (int)differ->place);
  for (int32_t op = 0; op < a->graph->n_ops; op++) {
    int32_t of_a = runs_of(a->plan, op), of_b = runs_of(b->plan, op);
    if (of_a != of_b) {
      fprintf(to, "  %-28s runs %d time%s, %d time%s\n", a->graph->op[op].name, (int)of_a, of_a == 1 ? "" : "s",
              (int)of_b, of_b == 1 ? "" : "s");
    }
  }
}

/* ---- as an object ---- */

static json_t *figures_json(const traced *t) {
  const plim_plan *p = t->plan;
  return json_pack("{s:s, s:i, s:I, s:o, s:I, s:o}", "by", p->planner, "commands", (int)p->n_commands, "peak_bytes",
                   (json_int_t)p->peak_bytes, "arena_bytes", p->packed ? json_integer(p->arena_bytes) : json_null(),
                   "planned_ns", (json_int_t)p->time_ns, "measured_ns",
                   t->runs > 0 ? json_integer(traced_measured_ns(t)) : json_null());
}

static json_t *other_runs_json(const traced *a, const traced *b) {
  json_t *list = json_array();
  for (int32_t op = 0; op < a->graph->n_ops; op++) {
    int32_t of_a = runs_of(a->plan, op), of_b = runs_of(b->plan, op);
    if (of_a == of_b) continue;
    (void)json_array_append_new(
        list, json_pack("{s:s, s:i, s:i}", "op", a->graph->op[op].name, "run", (int)of_a, "other", (int)of_b));
  }
  return list;
}

static json_t *op_at(const traced *t, int32_t command) {
  return command >= 0 && command < t->plan->n_commands ? json_string(traced_op_name(t, command)) : json_null();
}

static json_t *diff_json(const traced *a, const traced *b, const trace_parting *differ) {
  json_t *run = figures_json(a), *other = figures_json(b);
  (void)json_object_set_new(run, "first_op", op_at(a, differ->run));
  (void)json_object_set_new(other, "first_op", op_at(b, differ->run));
  return json_pack("{s:b, s:o, s:o, s:o, s:o, s:o}", "equal", differ->run < 0 && differ->place < 0, "first_command",
                   differ->run < 0 ? json_null() : json_integer(differ->run), "first_place",
                   differ->place < 0 ? json_null() : json_integer(differ->place), "run", run, "other", other, "ops",
                   other_runs_json(a, b));
}

plim_status trace_diff(const traced *a, const traced *b, int as_json, FILE *to, int *same) {
  trace_parting differ = {-1, -1};
  PLIM_TRY(trace_divergence(a, b, &differ));
  if (as_json) {
    trace_json_print(diff_json(a, b, &differ), to);
  } else {
    print_diff(a, b, &differ, to);
  }
  *same = differ.run < 0 && differ.place < 0;
  return PLIM_OK;
}

/* ==== what if ==== */

/* The arena continues from the middle of the run. The result is a plan, or the command at which there was no way on.
 * Its figures stand beside those of the run. */

/* How one of the two runs continues. */
typedef struct ending {
  plim_online_end end;
  const plim_plan *plan; /* NULL: it does not come to an end */
  int32_t again;         /* runs again from the command on */
  int32_t command, op;   /* where it ends otherwise; op -1: before anything ran */
  const char *error;
} ending;

typedef struct question {
  const traced *t;
  int32_t command, again_before; /* runs again before the command */
  const plim_policy *policy;
  int64_t bytes;
} question;

/* ---- asking ---- */

static plim_status find_policy(const traced *t, const char *name, const plim_policy **policy) {
  char advice[PLIM_NAME_ADVICE_BYTES];
  *policy = name ? plim_policy_find(name) : plim_policy_at(0);
  if (*policy) return PLIM_OK;
  return plim_fail(t->ctx, PLIM_EUSAGE, "no online policy is called \"%s\"%s", name,
                   plim_name_advice(plim_policy_name, name, advice));
}

static plim_status find_bytes(const traced *t, const char *memory, int64_t *bytes) {
  plim_size size;
  if (plim_size_parse(t->ctx, memory, &size) != PLIM_OK) {
    char sentence[PLIM_ERROR_BYTES];
    (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(t->ctx));
    return plim_fail(t->ctx, PLIM_EUSAGE, "--memory-at: %s", sentence);
  }
  *bytes = plim_size_bytes(&size, trace_strip_bytes(t));
  if (*bytes < 0) return plim_fail(t->ctx, PLIM_EUSAGE, "%s does not fit in 63 bits", memory);
  return PLIM_OK;
}

static ending of_this_run(const question *q) {
  const traced *t = q->t;
  ending e = {.end = traced_end(t), .command = t->plan->n_commands - 1};
  e.again = t->plan->n_commands - t->graph->n_ops - q->again_before;
  if (e.end == PLIM_ONLINE_OK) {
    e.plan = t->plan;
  } else {
    e.op = t->plan->command[e.command].op;
    e.error = plim_decision_log_failure(t->decisions);
  }
  return e;
}

static ending of_the_other(const question *q, const plim_plan *plan, const plim_replay_counts *counts) {
  ending e = {.plan = plan, .command = counts->n_commands, .op = counts->op};
  if (plan) {
    e.again = plan->n_commands - q->t->graph->n_ops - q->again_before;
  } else {
    e.end = counts->thrashed ? PLIM_ONLINE_THRASH : PLIM_ONLINE_OOM;
    e.error = plim_context_error(q->t->ctx);
  }
  return e;
}

/* ---- answers ---- */

/* Over one base for both, where there are two: keep-all as the plan of this run has it. The other plan was made with
 * this run's kernels alone and knows no faster ones. */
static double overhead_percent(const question *q, const ending *e) {
  int64_t base_ns = traced_end(q->t) == PLIM_ONLINE_OK ? q->t->plan->keep_all_ns : e->plan->keep_all_ns;
  return base_ns > 0 ? 100.0 * (double)(e->plan->time_ns - base_ns) / (double)base_ns : 0;
}

static void print_ending(const question *q, const char *whose, const ending *e, FILE *to) {
  if (e->plan) {
    fprintf(to, "  %-14s %5d recomputations from here on; the step takes %.3f ms, %.2f %% over keep-all\n", whose,
            (int)e->again, (double)e->plan->time_ns / 1e6, overhead_percent(q, e));
  } else if (e->op < 0) {
    fprintf(to, "  %-14s no way on: %s\n", whose, e->error);
  } else {
    fprintf(to, "  %-14s no way on at command %d, %s: %s\n", whose, (int)e->command, traced_op(q->t, e->op), e->error);
  }
}

static void print_answer(const question *q, const ending *other, const plim_replay_counts *counts, FILE *to) {
  char size[PLIM_SIZE_TEXT_BYTES], base[PLIM_SIZE_TEXT_BYTES];
  const int64_t own_bytes = trace_strip_bytes(q->t);
  ending own = of_this_run(q);
  fprintf(to, "what if %s had %s, %.2f %% of this run's own %s, from command %d on\n", q->policy->name,
          plim_size_print(q->bytes, size), own_bytes > 0 ? 100.0 * (double)q->bytes / (double)own_bytes : 0,
          plim_size_print(own_bytes, base), (int)q->command);
  print_ending(q, "it would have", other, to);
  if (other->plan) {
    fprintf(to, "  %-14s %5lld evictions, the longest chain %lld deep\n", "", (long long)counts->evictions,
            (long long)counts->depth);
  }
  print_ending(q, "this run has", &own, to);
}

static json_t *ending_json(const question *q, const ending *e) {
  json_t *o = json_pack("{s:s}", "status", plim_online_end_name(e->end));
  if (e->plan) {
    (void)json_object_set_new(o, "runs_again", json_integer(e->again));
    (void)json_object_set_new(o, "time_ns", json_integer(e->plan->time_ns));
    (void)json_object_set_new(o, "overhead_percent", json_real(overhead_percent(q, e)));
  } else {
    (void)json_object_set_new(o, "end_command", json_integer(e->command));
    (void)json_object_set_new(o, "end_op", e->op < 0 ? json_null() : json_string(traced_op(q->t, e->op)));
    (void)json_object_set_new(o, "error", json_string(e->error));
  }
  return o;
}

static void print_json(const question *q, const ending *other, const plim_replay_counts *counts, FILE *to) {
  ending own = of_this_run(q);
  json_t *a = ending_json(q, other);
  if (other->plan) {
    (void)json_object_set_new(a, "evictions", json_integer(counts->evictions));
    (void)json_object_set_new(a, "depth", json_integer(counts->depth));
  }
  trace_json_print(json_pack("{s:i, s:s, s:I, s:I, s:o, s:o}", "command", (int)q->command, "policy", q->policy->name,
                             "memory_bytes", (json_int_t)q->bytes, "run_memory_bytes",
                             (json_int_t)trace_strip_bytes(q->t), "what_if", a, "run", ending_json(q, &own)),
                   to);
}

plim_status trace_what_if(const traced *t, int32_t command, const char *policy, const char *memory, int as_json,
                          FILE *to) {
  question q = {.t = t, .command = command};
  plim_replay_counts counts = {.op = -1};
  plim_plan *plan = NULL;
  PLIM_TRY(find_policy(t, policy, &q.policy));
  PLIM_TRY(find_bytes(t, memory ? memory : "100%", &q.bytes));
  plim_status status = traced_what_if(t, q.policy, command, q.bytes, &counts, &plan);
  if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  for (int32_t j = 0; j < command; j++) q.again_before += plim_inspect_is_repeat(t->inspect, j);
  ending other = of_the_other(&q, plan, &counts);
  if (as_json) {
    print_json(&q, &other, &counts, to);
  } else {
    print_answer(&q, &other, &counts, to);
  }
  plim_plan_free(plan);
  return PLIM_OK;
}
