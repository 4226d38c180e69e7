/* The smallest budget of a program, and whether a budget is enough.
 *
 * Without paging each step is asked alone. With paging the steps share their homes, so plans of both are made; the
 * smallest budget is found by halving from what is enough without. */
#include <math.h>

#include "runtime/base/effort.h"
#include "runtime/program/program_internal.h"

enum { HALVINGS = 5 };

/* ---- without paging ---- */

static plim_status find_unpaged(const plim_program *program, const plim_plan_options *options, plim_plan_floor *out,
                                int32_t *plan_index) {
  plim_plan_options eval_wanted = plim_program_eval_options(options);
  const plim_plan_options *wanted[] = {options, &eval_wanted};
  plim_plan_floor floor[PLIM_PROGRAM_PLANNED];
  for (int32_t i = 0; i < PLIM_PROGRAM_PLANNED; i++) {
    PLIM_TRY(plim_plan_smallest(program->ctx, program->graph[i], program->profile[i], wanted[i], &floor[i], NULL));
  }
  *plan_index = floor[PLIM_PROGRAM_EVAL].smallest_bytes > floor[PLIM_PROGRAM_TRAIN].smallest_bytes ? PLIM_PROGRAM_EVAL
                                                                                                   : PLIM_PROGRAM_TRAIN;
  *out = floor[*plan_index];
  out->keep_all_bytes = floor[PLIM_PROGRAM_TRAIN].keep_all_bytes;
  return PLIM_OK;
}

/* ---- with paging ---- */

/* Do first plans within the budget exist? */
static plim_status find_first_plans(const plim_program *program, const plim_plan_options *options, int64_t budget_bytes,
                                    int *yes) {
  plim_plan_options wanted = *options;
  plim_paging paging = *options->paging;
  plim_plan_result train;
  plim_plan *eval = NULL;
  *yes = 0;
  paging.first_plan = 1;
  wanted.paging = &paging;
  wanted.budget_bytes = budget_bytes;
  wanted.front_folder = NULL; /* slow plans are not kept */
  plim_status status = plim_program_make_plans(program, &wanted, &train, &eval);
  if (status == PLIM_ENOFIT || (status == PLIM_ECANCEL && !plim_context_cancelled(program->ctx))) return PLIM_OK;
  PLIM_TRY(status);
  *yes = 1;
  plim_plan_free(train.plan);
  plim_plan_free(eval);
  return PLIM_OK;
}

/* Has a pair before pair i its output? An output that may lie over one of several inputs has a pair for each. */
static int has_pair_before(const plim_op *op, int32_t i) {
  for (int32_t k = 0; k < i; k++) {
    if (op->pair[k].out == op->pair[i].out) return 1;
  }
  return 0;
}

/* What op o needs at once, whatever pages: its operands, where outputs may lie over inputs, and the least workspace. */
static int64_t op_bytes(const plim_graph *graph, const plim_profile *profile, int32_t o) {
  const plim_op *op = &graph->op[o];
  int64_t bytes = 0, workspace = INT64_MAX;
  for (int32_t i = 0; i < op->n_reads; i++) bytes += graph->storage[op->reads[i]].bytes;
  for (int32_t i = 0; i < op->n_updates; i++) bytes += graph->storage[op->updates[i]].bytes;
  for (int32_t i = 0; i < op->n_writes; i++) bytes += graph->storage[op->writes[i]].bytes;
  for (int32_t i = 0; i < op->n_pairs; i++) {
    if (!has_pair_before(op, i)) bytes -= graph->storage[graph->value[op->out[op->pair[i].out]].storage].bytes;
  }
  for (int32_t i = profile->first[o]; i < profile->first[o + 1]; i++) {
    if (profile->variant[i].workspace_bytes < workspace) workspace = profile->variant[i].workspace_bytes;
  }
  return bytes + workspace;
}

/* No plan on one device has fewer bytes. *op is the one that needs most. */
static int64_t paged_bound(const plim_program *program, int32_t *op) {
  const plim_graph *g = program->graph[PLIM_PROGRAM_TRAIN];
  int64_t most = 0;
  for (int32_t o = 0; o < g->n_ops; o++) {
    const int64_t bytes = op_bytes(g, program->profile[PLIM_PROGRAM_TRAIN], o);
    if (bytes > most) *op = o;
    if (bytes > most) most = bytes;
  }
  return most;
}

/* Reduce *high to what is enough without pages, where that is less. */
static plim_status try_unpaged(const plim_program *program, const plim_plan_options *options, int64_t *high) {
  plim_plan_options wanted = *options;
  plim_plan_floor floor;
  int32_t plan_index;
  int yes = 0;
  wanted.paging = NULL;
  PLIM_TRY(find_unpaged(program, &wanted, &floor, &plan_index));
  if (floor.smallest_bytes < *high) PLIM_TRY(find_first_plans(program, options, floor.smallest_bytes, &yes));
  if (yes) *high = floor.smallest_bytes;
  return PLIM_OK;
}

/* Keep-all fits into the bytes that the search begins with. */
static plim_status find_paged(const plim_program *program, const plim_plan_options *options, plim_plan_floor *out) {
  plim_plan *keep_all = NULL;
  plim_plan_options wanted = *options;
  PLIM_TRY(plim_program_keep_all(program, &keep_all));
  int64_t low = PLIM_ALIGN, high = keep_all->arena_bytes;
  *out = (plim_plan_floor){.keep_all_bytes = high};
  if (options->paging->n_devices == 0) low = out->bound_bytes = paged_bound(program, &out->op);
  plim_plan_free(keep_all);
  wanted.time_limit_ns = plim_effort_share(options->time_limit_ns, HALVINGS + 2);
  PLIM_TRY(try_unpaged(program, &wanted, &high));
  for (int i = 0; i < HALVINGS && high - low > PLIM_ALIGN; i++) {
    const int64_t middle = (int64_t)sqrt((double)low * (double)high);
    int yes;
    PLIM_TRY(find_first_plans(program, &wanted, middle, &yes));
    *(yes ? &high : &low) = middle;
  }
  out->smallest_bytes = high;
  return PLIM_OK;
}

/* ---- both ---- */

plim_status plim_program_floor(const plim_program *program, const plim_plan_options *options, plim_plan_floor *out,
                               int32_t *plan_index) {
  *plan_index = PLIM_PROGRAM_TRAIN;
  return options->paging ? find_paged(program, options, out) : find_unpaged(program, options, out, plan_index);
}

plim_status plim_program_fits(const plim_program *program, const plim_plan_options *options, int *yes) {
  plim_plan_options eval_wanted = plim_program_eval_options(options);
  const plim_plan_options *wanted[] = {options, &eval_wanted};
  if (options->paging) return find_first_plans(program, options, options->budget_bytes, yes);
  *yes = 1;
  for (int32_t i = 0; i < PLIM_PROGRAM_PLANNED && *yes; i++) {
    PLIM_TRY(plim_plan_fits(program->ctx, program->graph[i], program->profile[i], wanted[i], yes));
  }
  return PLIM_OK;
}
