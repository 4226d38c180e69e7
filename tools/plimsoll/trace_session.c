/* Files beside a trace, medians of its times, and second simulates of online runs. */
#include "tools/plimsoll/trace_session.h"

#include <stdio.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/base/file.h"
#include "runtime/base/integers.h"
#include "runtime/graph/check.h"
#include "runtime/simulate/simulation.h"
#include "tools/plimsoll/sibling_path.h"

plim_status plim_beside_save_trace(const plim_graph *graph, const plim_plan *plan, const char *path) {
  char of_plan[PLIM_BESIDE_PATH_BYTES];
  PLIM_TRY(plim_beside_plan_path(graph->ctx, path, of_plan));
  return plim_beside_save(graph, plan, of_plan);
}

/* ---- files ---- */

static plim_status load_plan(traced *t, const char *path) {
  char of_graph[PLIM_BESIDE_PATH_BYTES], sentence[PLIM_ERROR_BYTES];
  PLIM_TRY(plim_beside_graph_path(t->ctx, path, of_graph));
  PLIM_TRY(plim_plan_load(t->ctx, path, &t->read_plan));
  PLIM_TRY(plim_graph_load(t->ctx, of_graph, &t->graph));
  t->plan = t->read_plan;
  plim_status status = plim_plan_check(t->ctx, t->graph, t->plan);
  if (status == PLIM_OK || status == PLIM_ENOMEM) return status;
  (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(t->ctx));
  return plim_fail(t->ctx, status, "%s: %s", path, sentence); /* which of the files it is */
}

static plim_status load_trace(traced *t, const char *path) {
  char of_plan[PLIM_BESIDE_PATH_BYTES], print[PLIM_FINGERPRINT_BYTES];
  PLIM_TRY(plim_trace_load(t->ctx, path, &t->trace));
  PLIM_TRY(plim_beside_plan_path(t->ctx, path, of_plan));
  PLIM_TRY(load_plan(t, of_plan));
  PLIM_TRY(plim_plan_fingerprint(t->plan, print));
  if (strcmp(print, t->trace->plan) == 0) return PLIM_OK;
  return plim_fail(t->ctx, PLIM_EDATA, "%s: a trace of plan %.12s; %s is plan %.12s", path, t->trace->plan, of_plan,
                   print);
}

/* A plan's name ends as documents' do; a trace's in .jsonl, or as its owner likes. */
static int names_a_plan(const char *path) {
  size_t n = strlen(path);
  return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

static plim_status take_medians(traced *t) {
  int32_t steps = t->plan->n_steps;
  int64_t *sample = NULL;
  PLIM_TRY(plim_allocate(t->ctx, steps, sizeof *t->measured_ns, &t->measured_ns));
  t->runs = t->trace ? t->trace->n_rows / steps : 0;
  PLIM_TRY(plim_allocate(t->ctx, t->runs, sizeof *sample, &sample));
  for (int32_t j = 0; j < steps && t->runs > 0; j++) {
    for (int64_t r = 0; r < t->runs; r++) sample[r] = t->trace->row[r * steps + j].time_ns;
    plim_integers_sort(sample, t->runs);
    t->measured_ns[j] = sample[t->runs / 2];
  }
  plim_release(t->ctx, sample, t->runs, sizeof *sample);
  return PLIM_OK;
}

/* ---- second simulates ---- */

/* Program order with the variants that the plan runs. */
static plim_status make_order(traced *t) {
  const plim_plan *plan = t->plan;
  int64_t n = t->graph->n_ops;
  plim_plan_options options = plim_plan_options_default();
  int32_t *first = NULL;
  plim_variant *variant = NULL;
  plim_profile *profile = NULL;
  plim_status status;
  options.unpacked = 1;
  options.order = PLIM_ORDER_FIXED;
  PLIM_CHECK(plim_allocate(t->ctx, n + 1, sizeof *first, &first));
  PLIM_CHECK(plim_allocate(t->ctx, n, sizeof *variant, &variant));
  for (int32_t o = 0; o < n; o++) first[o + 1] = o + 1;
  for (int32_t j = plan->n_steps - 1; j >= 0; j--) {
    variant[plan->step[j].op] = plan->variant[plan->step[j].variant].variant;
  }
  PLIM_CHECK(plim_profile_make(t->graph, &plan->numerics.machine, 1, first, variant, &profile));
  PLIM_CHECK(plim_plan_keep_all(t->ctx, t->graph, profile, &options, &t->order));
done:
  plim_profile_free(profile);
  plim_release(t->ctx, first, n + 1, sizeof *first);
  plim_release(t->ctx, variant, n, sizeof *variant);
  return status;
}

/* An online run is simulated again; when that gives something else (another version decided it), its reasons are not
 * known. */
static plim_status play_again(traced *t) {
  static const char prefix[] = "online ";
  const plim_policy *policy = strncmp(t->plan->planner, prefix, sizeof prefix - 1) == 0
                                  ? plim_policy_find(t->plan->planner + sizeof prefix - 1)
                                  : NULL;
  if (!policy) return PLIM_OK;
  PLIM_TRY(make_order(t));
  plim_decision_log_options options = {t->graph, t->order, policy, t->plan->budget_bytes, 0};
  PLIM_TRY(plim_decision_log_new(t->ctx, &options, &t->decisions));
  if (plim_decision_log_equals(t->decisions, t->plan, &t->unlike_step)) {
    t->unlike_step = -1;
  } else {
    plim_decision_log_free(t->decisions);
    t->decisions = NULL;
  }
  return PLIM_OK;
}

static plim_status open_file(traced *t, const char *path) {
  PLIM_TRY(names_a_plan(path) ? load_plan(t, path) : load_trace(t, path));
  PLIM_TRY(plim_inspect_new(t->graph, t->plan, &t->inspect));
  PLIM_TRY(take_medians(t));
  return play_again(t);
}

static plim_status finish(traced *t, plim_status status, traced *out) {
  if (status == PLIM_OK) {
    *out = *t;
  } else {
    plim_inspected_run_close(t);
  }
  return status;
}

plim_status plim_inspected_run_open(plim_context *ctx, const char *path, traced *out) {
  traced t = {.ctx = ctx, .unlike_step = -1};
  return finish(&t, open_file(&t, path), out);
}

static plim_status play(traced *t, const char *graph, const plim_policy *policy, const char *memory, double thrash) {
  plim_simulation sim;
  plim_decision_log_options options = {.policy = policy};
  PLIM_TRY(plim_graph_load(t->ctx, graph, &t->graph));
  PLIM_TRY(plim_simulation_open(t->ctx, t->graph, thrash, &sim));
  plim_status status = plim_simulation_budget(&sim, memory, PLIM_SIMULATE_ARENA, &options.budget_bytes);
  options.limit_ns = plim_simulation_limit_ns(&sim, sim.order->keep_all_ns);
  t->order = sim.order;
  sim.order = NULL;
  plim_simulation_close(&sim);
  if (status != PLIM_OK) return status;
  options.graph = t->graph;
  options.order = t->order;
  PLIM_TRY(plim_decision_log_new(t->ctx, &options, &t->decisions));
  t->plan = plim_decision_log_plan(t->decisions);
  if (!t->plan) return plim_fail(t->ctx, PLIM_ENOFIT, "%s", plim_decision_log_failure(t->decisions));
  PLIM_TRY(plim_inspect_new(t->graph, t->plan, &t->inspect));
  return take_medians(t);
}

plim_status plim_inspected_run_simulate(plim_context *ctx, const char *graph, const char *policy, const char *memory,
                                        double thrash, traced *out) {
  traced t = {.ctx = ctx, .unlike_step = -1};
  return finish(&t, play(&t, graph, plim_policy_find(policy), memory, thrash), out);
}

void plim_inspected_run_close(traced *t) {
  if (t->plan) plim_release(t->ctx, t->measured_ns, t->plan->n_steps, sizeof *t->measured_ns);
  plim_inspect_free(t->inspect);
  plim_decision_log_free(t->decisions);
  plim_plan_free(t->order);
  plim_plan_free(t->read_plan);
  plim_graph_free(t->graph);
  plim_trace_free(t->trace);
  *t = (traced){.ctx = t->ctx};
}

/* ---- reading ---- */

const char *traced_address(int64_t address, char text[TRACED_ADDRESS_BYTES]) {
  (void)snprintf(text, TRACED_ADDRESS_BYTES, address >= 0 ? "%lld" : "-", (long long)address);
  return text;
}

const char *traced_op_name(const traced *t, int32_t step) {
  const plim_step *s = &t->plan->step[step];
  return s->kind == PLIM_STEP_RUN ? t->graph->op[s->op].name : "copy";
}

const char *traced_op(const traced *t, int32_t op) {
  return op >= 0 ? t->graph->op[op].name : "the end of the step";
}

int64_t traced_planned_ns(const traced *t, int32_t step) {
  const plim_step *s = &t->plan->step[step];
  return s->kind == PLIM_STEP_RUN ? t->plan->variant[s->variant].variant.time_ns : s->time_ns;
}

int64_t traced_measured_ns(const traced *t) {
  int64_t sum = 0;
  for (int32_t j = 0; j < t->plan->n_steps; j++) sum += t->measured_ns[j];
  return sum;
}

int64_t traced_clock_ns(const traced *t, int32_t step, int64_t *again_ns) {
  int64_t clock_ns = 0;
  *again_ns = 0;
  for (int32_t j = 0; j < step; j++) {
    clock_ns += traced_planned_ns(t, j);
    if (plim_inspect_is_repeat(t->inspect, j)) *again_ns += traced_planned_ns(t, j);
  }
  return clock_ns;
}

int32_t traced_choices(const traced *t, int32_t step, const plim_decision **out, int32_t *first) {
  const plim_decision *all = NULL;
  int32_t n = t->decisions ? plim_decision_log_decisions(t->decisions, &all) : 0, begin = 0, end;
  while (begin < n && all[begin].step < step) begin++;
  for (end = begin; end < n && all[end].step == step;) end++;
  *out = n > 0 ? all + begin : NULL;
  *first = begin;
  return end - begin;
}

int traced_fails_at(const traced *t, int32_t step) {
  return t->decisions && plim_decision_log_failure(t->decisions) && step == t->plan->n_steps - 1;
}

plim_online_end traced_end(const traced *t) {
  if (!t->decisions || !plim_decision_log_failure(t->decisions)) return PLIM_ONLINE_OK;
  return plim_decision_log_thrashed(t->decisions) ? PLIM_ONLINE_THRASH : PLIM_ONLINE_OOM;
}

const char *traced_end_title(const traced *t) {
  static const char *const title[] = {[PLIM_ONLINE_OK] = "ENDED",
                                      [PLIM_ONLINE_OOM] = "OUT OF MEMORY",
                                      [PLIM_ONLINE_THRASH] = "GIVEN UP: COMPUTES TOO MUCH AGAIN"};
  return title[traced_end(t)];
}

/* ---- asking further ---- */

/* The nearest name: the longest common beginning, then the shortest name. NULL: less than half of it is common. */
static const char *nearest_value(const traced *t, const char *name) {
  const char *nearest = NULL;
  size_t best = 0;
  for (int32_t v = 0; v < t->graph->n_values; v++) {
    const char *other = t->graph->value[v].name;
    size_t same = 0;
    while (name[same] && name[same] == other[same]) same++;
    if (same < best || (same == best && nearest && strlen(other) >= strlen(nearest))) continue;
    nearest = other;
    best = same;
  }
  return best > 0 && 2 * best >= strlen(name) ? nearest : NULL;
}

enum { SHOWN_NAMES = 4, NAMES_TEXT = 512 };

/* "; 12 names have it: a, b, c, d, ..."; text [NAMES_TEXT] */
static void list_matches(const traced *t, const char *part, char *text) {
  int32_t n = 0;
  size_t used = 0;
  text[0] = 0;
  for (int32_t v = 0; v < t->graph->n_values && *part; v++) n += strstr(t->graph->value[v].name, part) != NULL;
  if (n == 0) return;
  used += (size_t)snprintf(text, NAMES_TEXT, "; %d name%s it:", (int)n, n == 1 ? " has" : "s have");
  int32_t shown = 0;
  for (int32_t v = 0; v < t->graph->n_values && shown < SHOWN_NAMES && used < NAMES_TEXT; v++) {
    if (!strstr(t->graph->value[v].name, part)) continue;
    used +=
        (size_t)snprintf(text + used, NAMES_TEXT - used, "%s %.80s", shown++ > 0 ? "," : "", t->graph->value[v].name);
  }
  if (n > shown && used < NAMES_TEXT) (void)snprintf(text + used, NAMES_TEXT - used, ", ...");
}

plim_status traced_find_value(const traced *t, const char *name, int32_t *value) {
  char matches[NAMES_TEXT];
  *value = plim_graph_find_value(t->graph, name);
  if (*value >= 0) return PLIM_OK;
  const char *near = nearest_value(t, name);
  if (near) return plim_fail(t->ctx, PLIM_EUSAGE, "no value is called \"%s\"; did you mean \"%s\"?", name, near);
  list_matches(t, name, matches);
  return plim_fail(t->ctx, PLIM_EUSAGE, "no value is called \"%s\"%s", name, matches);
}

const plim_decision *traced_eviction(const traced *t, int32_t storage, const plim_absence *a) {
  const plim_decision *choice = NULL;
  int32_t n = t->decisions ? plim_decision_log_decisions(t->decisions, &choice) : 0;
  for (int32_t i = n - 1; i >= 0; i--) {
    if (choice[i].step < a->gone || choice[i].step > a->back) continue;
    for (int32_t k = 0; k < choice[i].n_evicted; k++) {
      if (choice[i].evicted[k] == storage) return &choice[i];
    }
  }
  return NULL;
}

int32_t traced_tree(const traced *t, int32_t step, int32_t *begin) {
  int32_t root = step;
  *begin = step;
  if (!t->decisions) return root;
  while (root + 1 < t->plan->n_steps && plim_decision_log_depth(t->decisions, root) > 0) root++;
  *begin = root;
  while (*begin > 0 && plim_decision_log_depth(t->decisions, *begin - 1) > 0) (*begin)--;
  return root;
}

plim_status traced_what_if(const traced *t, const plim_policy *policy, int32_t step, int64_t bytes,
                           plim_replay_counts *counts, plim_plan **out) {
  if (!t->plan->packed) {
    return plim_fail(t->ctx, PLIM_EUSAGE, "what-if goes on from runs that have addresses, and this plan has none");
  }
  if (t->decisions) return plim_decision_log_what_if(t->decisions, policy, step, bytes, counts, out);
  return plim_arena_what_if(t->ctx, t->graph, t->plan, policy, step, bytes, 0, counts, out);
}
