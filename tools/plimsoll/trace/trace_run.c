/* What the trace commands read of a run: names, times, decisions, tensors. */
#include <stdio.h>
#include <string.h>

#include "tools/plimsoll/trace/trace_run.h"

/* ---- reading ---- */

const char *traced_address(int64_t address, char text[TRACED_ADDRESS_BYTES]) {
  (void)snprintf(text, TRACED_ADDRESS_BYTES, address >= 0 ? "%lld" : "-", (long long)address);
  return text;
}

const char *traced_op_name(const traced *t, int32_t command) {
  const plim_command *s = &t->plan->command[command];
  return s->kind == PLIM_COMMAND_RUN ? t->graph->op[s->op].name : "copy";
}

const char *traced_op(const traced *t, int32_t op) {
  return op >= 0 ? t->graph->op[op].name : "the end of the step";
}

int64_t traced_planned_ns(const traced *t, int32_t command) {
  const plim_command *s = &t->plan->command[command];
  return s->kind == PLIM_COMMAND_RUN ? t->plan->variant[s->variant].variant.time_ns : s->time_ns;
}

int64_t traced_measured_ns(const traced *t) {
  int64_t sum = 0;
  for (int32_t j = 0; j < t->plan->n_commands; j++) sum += t->measured_ns[j];
  return sum;
}

int64_t traced_clock_ns(const traced *t, int32_t command, int64_t *again_ns) {
  int64_t clock_ns = 0;
  *again_ns = 0;
  for (int32_t j = 0; j < command; j++) {
    clock_ns += traced_planned_ns(t, j);
    if (plim_inspect_is_repeat(t->inspect, j)) *again_ns += traced_planned_ns(t, j);
  }
  return clock_ns;
}

int32_t traced_choices(const traced *t, int32_t command, const plim_decision **out, int32_t *first) {
  const plim_decision *all = NULL;
  int32_t n = t->decisions ? plim_decision_log_decisions(t->decisions, &all) : 0, begin = 0, end;
  while (begin < n && all[begin].command < command) begin++;
  for (end = begin; end < n && all[end].command == command;) end++;
  *out = n > 0 ? all + begin : NULL;
  *first = begin;
  return end - begin;
}

int traced_fails_at(const traced *t, int32_t command) {
  return t->decisions && plim_decision_log_failure(t->decisions) && command == t->plan->n_commands - 1;
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
static const char *nearest_tensor(const traced *t, const char *name) {
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

plim_status traced_find_tensor(const traced *t, const char *name, int32_t *value) {
  char matches[NAMES_TEXT];
  *value = plim_graph_find_value(t->graph, name);
  if (*value >= 0) return PLIM_OK;
  const char *near = nearest_tensor(t, name);
  if (near) return plim_fail(t->ctx, PLIM_EUSAGE, "no tensor is called \"%s\"; did you mean \"%s\"?", name, near);
  list_matches(t, name, matches);
  return plim_fail(t->ctx, PLIM_EUSAGE, "no tensor is called \"%s\"%s", name, matches);
}

const plim_decision *traced_eviction(const traced *t, int32_t storage, const plim_absence *a) {
  const plim_decision *choice = NULL;
  int32_t n = t->decisions ? plim_decision_log_decisions(t->decisions, &choice) : 0;
  for (int32_t i = n - 1; i >= 0; i--) {
    if (choice[i].command < a->gone || choice[i].command > a->back) continue;
    for (int32_t k = 0; k < choice[i].n_evicted; k++) {
      if (choice[i].evicted[k] == storage) return &choice[i];
    }
  }
  return NULL;
}

int32_t traced_tree(const traced *t, int32_t command, int32_t *begin) {
  int32_t root = command;
  *begin = command;
  if (!t->decisions) return root;
  while (root + 1 < t->plan->n_commands && plim_decision_log_depth(t->decisions, root) > 0) root++;
  *begin = root;
  while (*begin > 0 && plim_decision_log_depth(t->decisions, *begin - 1) > 0) (*begin)--;
  return root;
}

plim_status traced_what_if(const traced *t, const plim_policy *policy, int32_t command, int64_t bytes,
                           plim_replay_counts *counts, plim_plan **out) {
  if (!t->plan->packed) {
    return plim_fail(t->ctx, PLIM_EUSAGE, "what-if goes on from runs that have addresses, and this plan has none");
  }
  if (t->decisions) return plim_decision_log_what_if(t->decisions, policy, command, bytes, counts, out);
  const plim_arena_change change = {.policy = policy, .from = command, .arena_bytes = bytes};
  return plim_arena_what_if(t->ctx, t->graph, t->plan, &change, counts, out);
}
