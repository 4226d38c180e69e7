/* plimsoll trace: look at what a run did, and why. One table of actions; each has a function for runs in one arena and,
 * where there is one, for runs over spaces. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/name.h"
#include "tools/plimsoll/cmd_plan.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/page_options.h"
#include "tools/plimsoll/process.h"
#include "tools/plimsoll/session.h"
#include "tools/plimsoll/trace/trace_step.h"

/* ==== both ==== */

static plim_status check_at(session *s, int32_t n_commands) {
  if (s->o->at < n_commands) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EUSAGE, "--at %lld: the commands of this plan are 0 to %d", (long long)s->o->at,
                   (int)n_commands - 1);
}

/* On a terminal a screen, where this program was built with one; else lines. */
static int wants_screen(const session *s) {
  return !s->o->plain && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* ==== a run in one arena ==== */

static plim_status summary(session *s, const traced *t, const traced *other) {
  (void)other;
  return trace_view_summary(t, s->o->json, stdout);
}

static plim_status step_by_hand(session *s, const traced *t, const traced *other) {
  trace_stepper lines = {.kind = &trace_kind_arena,
                         .ctx = t->ctx,
                         .run = t,
                         .other = other,
                         .n_commands = t->plan->n_commands,
                         .to = stdout};
  int shown = 0;
  if (wants_screen(s)) PLIM_TRY(trace_screen(t, other, &shown));
  return shown ? PLIM_OK : trace_prompt(&lines);
}

static plim_status step(session *s, const traced *t, const traced *other) {
  const options *o = s->o;
  if (o->find) return (o->json ? trace_json_tensor : trace_view_tensor)(t, o->find, stdout);
  if (o->at < 0) return step_by_hand(s, t, other);
  PLIM_TRY(check_at(s, t->plan->n_commands));
  if (o->json) return trace_json_command(t, (int32_t)o->at, stdout);
  PLIM_TRY(trace_view_command(t, (int32_t)o->at, stdout));
  if (t->decisions) PLIM_TRY(trace_view_reasons(t, (int32_t)o->at, stdout));
  PLIM_TRY(trace_view_residents(t, (int32_t)o->at, stdout));
  return trace_view_absences(t, (int32_t)o->at, stdout);
}

static plim_status export(session *s, const traced *t, const traced *other) {
  const char *to = s->o->output;
  (void)other;
  if (path_ends_in(to, ".html")) return trace_html(t, to);
  if (path_ends_in(to, ".json") || plim_file_is_direct(to)) return trace_export(t, to);
  return plim_fail(s->ctx, PLIM_EUSAGE, "%s ends neither in .json, for events, nor in .html, for a page", to);
}

static plim_status diff(session *s, const traced *t, const traced *other) {
  int same = 0;
  PLIM_TRY(trace_diff(t, other, s->o->json, stdout, &same));
  s->answered = 1;
  return same ? PLIM_OK : plim_fail(s->ctx, PLIM_EDIFF, "the two runs differ");
}

/* "N=SIZE"; a size alone, as earlier versions had it, is from --at on. */
static plim_status read_memory_at(session *s, int64_t *at, const char **memory) {
  const char *text = s->o->memory_at.at[0], *size = strchr(text, '=');
  char *end = NULL;
  *memory = size ? size + 1 : text;
  if (s->o->memory_at.count > 1) return plim_fail(s->ctx, PLIM_EUSAGE, "--memory-at can be given once to trace");
  if (!size) return PLIM_OK;
  errno = 0;
  *at = strtoll(text, &end, 10);
  if (end == size && end != text && errno == 0 && *at >= 0 && (s->o->at < 0 || s->o->at == *at)) return PLIM_OK;
  if (end == size && end != text && errno == 0 && *at >= 0) {
    return plim_fail(s->ctx, PLIM_EUSAGE, "--at %lld and --memory-at %s name different commands", (long long)s->o->at,
                     text);
  }
  return plim_fail(s->ctx, PLIM_EUSAGE, "--memory-at %s is not N=SIZE, as in 120=48MiB or 120=80%%", text);
}

static plim_status what_if(session *s, const traced *t, const traced *other) {
  const options *o = s->o;
  const char *memory = o->graph ? NULL : o->memory;
  int64_t at = o->at;
  (void)other;
  if (o->memory_at.count > 0) PLIM_TRY(read_memory_at(s, &at, &memory));
  if (at < 0) {
    return plim_fail(s->ctx, PLIM_EUSAGE, "trace what-if requires --at N, 0 to %d, or --memory-at N=SIZE",
                     (int)t->plan->n_commands - 1);
  }
  if (at >= t->plan->n_commands) {
    return plim_fail(s->ctx, PLIM_EUSAGE, "command %lld is not there: the commands of this plan are 0 to %d",
                     (long long)at, (int)t->plan->n_commands - 1);
  }
  return trace_what_if(t, (int32_t)at, o->policy, memory, o->json, stdout);
}

/* ==== a run over spaces ==== */

static plim_status spaces_summary(session *s, const traced_spaces *t) {
  figures f;
  if (!s->o->json) return trace_spaces_summary(t, stdout);
  figures_begin(&f, 1, NULL, NULL);
  plan_spaces_figures(&f, t->graph, t->plan);
  if (t->trace) {
    json_t *list = paging_transfers_json(t->graph, t->paged, t->transfer, t->n_transfers);
    (void)json_object_set_new(f.object, "transfers", list);
  }
  figures_print(&f, 1);
  figures_end(&f);
  return PLIM_OK;
}

static plim_status spaces_step_by_hand(session *s, const traced_spaces *t) {
  trace_stepper lines = {
      .kind = &trace_kind_spaces, .ctx = t->ctx, .run = t, .n_commands = t->plan->n_commands, .to = stdout};
  int shown = 0;
  if (wants_screen(s)) PLIM_TRY(trace_spaces_screen(t, &shown));
  return shown ? PLIM_OK : trace_prompt(&lines);
}

static plim_status spaces_step(session *s, const traced_spaces *t) {
  const options *o = s->o;
  if (o->find) return (o->json ? trace_spaces_storage_json : trace_spaces_storage)(t, o->find, stdout);
  if (o->at < 0) return spaces_step_by_hand(s, t);
  PLIM_TRY(check_at(s, t->plan->n_commands));
  return (o->json ? trace_spaces_step_json : trace_spaces_step)(t, (int32_t)o->at, stdout);
}

static plim_status spaces_export(session *s, const traced_spaces *t) {
  return trace_spaces_export(t, s->o->output);
}

static plim_status spaces_refuse(session *s, const traced_spaces *t) {
  return plim_fail(s->ctx, PLIM_EUSAGE,
                   "trace %s is for runs in one arena; this plan has %d queues over %d spaces: use summary, step or "
                   "export",
                   s->o->file, (int)t->plan->n_queues, (int)t->plan->n_spaces);
}

/* ==== actions ==== */

static const struct {
  const char *name;
  plim_status (*run)(session *s, const traced *t, const traced *other); /* other NULL: no --with */
  plim_status (*of_spaces)(session *s, const traced_spaces *t);
} actions[] = {{"summary", summary, spaces_summary},
               {"step", step, spaces_step},
               {"export", export, spaces_export},
               {"diff", diff, spaces_refuse},
               {"what-if", what_if, spaces_refuse}};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

const char *trace_action_name(int32_t row) {
  return row >= 0 && row < ACTIONS ? actions[row].name : NULL;
}

static plim_status open_run(session *s, traced *t) {
  const options *o = s->o;
  if (o->graph) {
    const plim_policy *policy = plim_policy_find(o->online ? o->online : plim_policy_name(0));
    return plim_inspected_run_simulate(s->ctx, o->graph, policy, o->memory, o->thrash, t);
  }
  return plim_inspected_run_open(s->ctx, o->second, t);
}

static plim_status act_on_arena(session *s, int32_t row) {
  traced t = {.ctx = s->ctx}, other = {.ctx = s->ctx};
  interrupt_at_once(1); /* reading and simulating keep nothing */
  plim_status status = open_run(s, &t);
  if (status == PLIM_OK && s->o->with) status = plim_inspected_run_open(s->ctx, s->o->with, &other);
  interrupt_at_once(0);
  if (status == PLIM_OK && t.differs_at >= 0 && !s->o->quiet) {
    (void)fprintf(stderr,
                  "plimsoll: %s, simulated again, differs from command %d on: only a plan's reasons are known\n",
                  t.plan->planner, (int)t.differs_at);
  }
  if (status == PLIM_OK) status = actions[row].run(s, &t, s->o->with ? &other : NULL);
  plim_inspected_run_close(&other);
  plim_inspected_run_close(&t);
  return status;
}

/* *is 0: the file is a run in one arena, and nothing was done. */
static plim_status act_on_spaces(session *s, int32_t row, int *is) {
  traced_spaces t = {.ctx = s->ctx};
  interrupt_at_once(1);
  plim_status status = plim_inspected_spaces_open(s->ctx, s->o->second, &t);
  interrupt_at_once(0);
  *is = t.plan != NULL;
  if (status == PLIM_OK && t.plan) status = actions[row].of_spaces(s, &t);
  plim_inspected_spaces_close(&t);
  return status;
}

static plim_status act(session *s) {
  char advice[PLIM_NAME_ADVICE_BYTES];
  const char *name = s->o->file;
  const int32_t row = plim_name_find(trace_action_name, name);
  int is = 0;
  if (row < 0) {
    return plim_fail(s->ctx, PLIM_EUSAGE, "trace has no action \"%s\"%s", name,
                     plim_name_advice(trace_action_name, name, advice));
  }
  if (s->o->second && !s->o->graph) PLIM_TRY(act_on_spaces(s, row, &is));
  return is ? PLIM_OK : act_on_arena(s, row);
}

static int run_trace(const options *o) {
  return session_run(o, act);
}

const command command_trace = {
    .name = "trace",
    .mask = COMMAND_TRACE,
    .file = "ACTION",
    .second = "[FILE]",
    .summary = "step through a run: what is resident, what was evicted and why",
    .about =
        "Look at a run: at a trace that train --trace wrote (FILE.jsonl), at a plan alone (FILE.json), or, with "
        "--graph, at what an online policy makes of a graph, up to where memory ends.\n\n"
        "summary: the run as a whole and the repeats that cost most.\n\n"
        "step: go through its commands by hand, on a screen where there is a terminal (? lists the keys), else by "
        "lines (h lists what can be typed); --at or --find print one view instead. For every tensor that is absent and "
        "comes back: the first command at which keeping it would exceed the budget and by how many bytes, what "
        "recomputing it costs, and what could have gone instead. For every eviction of an online run: who needed room, "
        "the windows that were compared with the terms of their scores, what kept the other blocks, and the tree of "
        "what is recomputed; where memory ends, how many bytes more would have done.\n\n"
        "what-if: what would have come of another policy (--policy, default best) from command --at on, or of another "
        "budget (--memory-at N=SIZE, default that of the run), also of a run that did not end.\n\n"
        "diff: where two runs of one graph part ways; exit status 1 when they do.\n\n"
        "export: to a file whose name ends in .json, events for Chrome's trace viewer and Perfetto, one track for "
        "compute and a counter of live bytes; in .html, a page with the map of addresses over commands.\n\n"
        "A plan over spaces (FILE.json), and a run or a plan that pages, have the actions summary, step and export: "
        "queues side by side, what each waits for, what is resident in every space, and why a storage was paged and "
        "not recomputed. --at counts commands. export also writes a picture (.svg): queues as rows over time, rates of "
        "links, bytes by space. Of a run that pages summary has a row for every transfer, with its lateness, and "
        "pictures have a measured and a planned row a queue.\n\n"
        "With --json every answer is one object (docs/formats.md) with all its figures.",
    .after =
        "EXAMPLES\n"
        "  plimsoll train --model resnet20 --memory 50% --steps 20 --trace t.jsonl\n"
        "  plimsoll trace step t.jsonl\n"
        "  plimsoll trace step t.jsonl --at 120 --json\n"
        "  plimsoll trace step t.jsonl --find stage1.block0.bn1\n"
        "  plimsoll trace what-if t.jsonl --memory-at 120=80% --policy coop\n"
        "  plimsoll trace step --graph r.json --online dtr --memory 15%\n"
        "  plimsoll trace export t.jsonl -o run.html\n\n"
        "FILES\n"
        "  The plan of t.jsonl is read from t.plan.json and the graph from\n"
        "  t.plan.graph.json, which train puts beside it; the graph of p.json from\n"
        "  p.graph.json.\n",
    .run = run_trace,
};
