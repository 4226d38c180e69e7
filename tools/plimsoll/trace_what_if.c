/* The arena goes on from the middle of the plan; what comes out is a plan, whose figures stand beside those of the run.
 */
#include "tools/plimsoll/trace_what_if.h"

#include "runtime/base/nearest.h"
#include "runtime/base/size.h"
#include "tools/plimsoll/trace_strip.h"

static int32_t runs_again_from(const plim_plan *plan, int32_t n_ops, int32_t prefix_again) {
  return plan->n_steps - n_ops - prefix_again;
}

static void print_run(const char *who, const plim_plan *plan, int32_t again, FILE *to) {
  fprintf(to, "  %-14s %5d runs again from here on; the step takes %.3f ms, %.2f %% over keep-all\n", who, (int)again,
          (double)plan->time_ns / 1e6, plim_plan_overhead_percent(plan));
}

static plim_status find_policy(const traced *t, const char *name, const plim_policy **policy) {
  *policy = plim_policy_find(name);
  if (*policy) return PLIM_OK;
  return plim_fail(t->ctx, PLIM_EUSAGE, "no online policy is called \"%s\"; did you mean \"%s\"?", name,
                   plim_name_nearest(plim_policy_name, name));
}

static plim_status find_bytes(const traced *t, const char *memory, int64_t *bytes) {
  plim_size size;
  PLIM_TRY(plim_size_parse(t->ctx, memory, &size));
  *bytes = plim_size_bytes(&size, trace_strip_bytes(t));
  if (*bytes < 0) return plim_fail(t->ctx, PLIM_EUSAGE, "%s does not fit in 63 bits", memory);
  *bytes -= *bytes % PLIM_ALIGN;
  return PLIM_OK;
}

plim_status trace_what_if(const traced *t, int32_t step, const char *policy, const char *memory, FILE *to) {
  const plim_policy *row;
  char size[PLIM_SIZE_TEXT_BYTES];
  plim_replay_counts counts = {.thrashed = 0};
  plim_plan *other = NULL;
  int64_t bytes;
  int32_t again = 0;
  PLIM_TRY(find_policy(t, policy, &row));
  PLIM_TRY(find_bytes(t, memory, &bytes));
  if (!t->plan->packed || (t->story && plim_story_failure(t->story))) {
    return plim_fail(t->ctx, PLIM_EUSAGE, "what-if goes on from runs that have addresses and an end");
  }
  plim_status status = plim_arena_what_if(t->ctx, t->graph, t->plan, row, step, bytes, &counts, &other);
  if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  for (int32_t j = 0; j < step; j++) again += plim_inspect_is_repeat(t->inspect, j);
  fprintf(to, "what if %s had %s from step %d on\n", policy, plim_size_print(bytes, size), (int)step);
  if (status == PLIM_ENOFIT) {
    fprintf(to, "  it would find no way: %s\n", plim_context_error(t->ctx));
  } else {
    print_run("it would have", other, runs_again_from(other, t->graph->n_ops, again), to);
    fprintf(to, "  %-14s %5lld evictions, the longest chain %lld deep\n", "", (long long)counts.evictions,
            (long long)counts.depth);
  }
  print_run("this run has", t->plan, runs_again_from(t->plan, t->graph->n_ops, again), to);
  plim_plan_free(other);
  return PLIM_OK;
}
