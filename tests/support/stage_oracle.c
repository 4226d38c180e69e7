#include "tests/support/stage_oracle.h"

#include <criterion/criterion.h>

enum { MAX_NODES = 12, SETS = 1 << MAX_NODES };

typedef struct oracle {
  const plim_dag *dag;
  int64_t budget;
  int64_t now[SETS], next[SETS]; /* least time with that set resident, -1: not reached */
} oracle;

static void reach(int64_t *least, uint32_t set, int64_t time_ns) {
  if (least[set] < 0 || time_ns < least[set]) least[set] = time_ns;
}

static int may_run(const oracle *o, int32_t stage, int32_t v, uint32_t set) {
  const plim_dag_node *node = &o->dag->node[v];
  int64_t bytes = o->dag->base_bytes + node->bytes + node->workspace_bytes;
  if (set >> v & 1 || stage > node->last_stage) return 0;
  for (int32_t i = 0; i < node->preds.n; i++) {
    if (!(set >> node->preds.at[i] & 1)) return 0;
  }
  for (int32_t u = 0; u < o->dag->n; u++) bytes += set >> u & 1 ? o->dag->node[u].bytes : 0;
  return bytes <= o->budget || node->op < 0;
}

static void run_stage_row(oracle *o, int32_t stage, int32_t v) {
  uint32_t sets = 1U << o->dag->n;
  for (uint32_t set = sets - 1; set < sets; set--) { /* sets with more come first: drops are passed on */
    if (o->now[set] < 0) continue;
    for (int32_t u = 0; u < o->dag->n; u++) {
      if (set >> u & 1) reach(o->now, set & ~(1U << u), o->now[set]);
    }
  }
  for (uint32_t set = 0; set < sets; set++) o->next[set] = v < stage ? o->now[set] : -1;
  for (uint32_t set = 0; set < sets; set++) {
    if (o->now[set] < 0 || !may_run(o, stage, v, set)) continue;
    reach(o->next, set | 1U << v, o->now[set] + o->dag->node[v].time_ns);
  }
  for (uint32_t set = 0; set < sets; set++) o->now[set] = o->next[set];
}

int64_t stage_oracle(const plim_dag *dag, int64_t budget) {
  static oracle o;
  uint32_t kept = 0;
  int64_t least = -1;
  cr_assert_leq(dag->n, MAX_NODES);
  o.dag = dag;
  o.budget = budget;
  for (uint32_t set = 0; set < SETS; set++) o.now[set] = -1;
  o.now[0] = 0;
  for (int32_t stage = 0; stage < dag->n; stage++) {
    for (int32_t v = 0; v <= stage; v++) run_stage_row(&o, stage, v);
  }
  for (int32_t v = 0; v < dag->n; v++) kept |= dag->node[v].is_output ? 1U << v : 0;
  for (uint32_t set = 0; set < 1U << dag->n; set++) {
    if (o.now[set] >= 0 && (set & kept) == kept && (least < 0 || o.now[set] < least)) least = o.now[set];
  }
  return least;
}
