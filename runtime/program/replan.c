/* Plans again with equal bits. Every op keeps its numerics key, and so its bits. Its variant may change within the
 * key, and so may the schedule, the addresses and paging. Persistent storages keep their homes. */
#include "runtime/program/program_internal.h"

plim_replan_options plim_replan_options_default(void) {
  return (plim_replan_options){
      .struct_bytes = sizeof(plim_replan_options), .planning = plim_plan_options_default(), .thrash = 1};
}

/* Plan the training step, or that of the last batch, with the numerics keys of `as`. */
static plim_status plan_training(const plim_program *program, int32_t plan_index, const plim_plan *as,
                                 const plim_replan_options *options, int64_t budget_bytes, plim_plan **out) {
  const plim_graph *graph = program->graph[plan_index];
  const char **numerics_key = NULL;
  plim_paging paging;
  plim_online_plan_options wanted = plim_online_plan_options_default();
  if (options->policy) wanted.policy = options->policy;
  wanted.planning = options->planning;
  wanted.thrash = options->thrash;
  PLIM_TRY(plim_allocate(program->ctx, graph->n_ops, sizeof *numerics_key, &numerics_key));
  plim_plan_numerics_keys(as, numerics_key);
  wanted.planning.budget_bytes = budget_bytes;
  wanted.planning.numerics = PLIM_NUMERICS_GIVEN;
  wanted.planning.numerics_key = numerics_key;
  if (options->planning.paging) {
    paging = *options->planning.paging;
    paging.homes = PLIM_HOMES_AS_BESIDE;
    paging.beside = as;
    paging.beside_graph = graph;
    wanted.planning.paging = &paging;
  }
  int online = options->policy || plan_index == PLIM_PROGRAM_LAST;
  plim_status status =
      online ? plim_online_plan_make(program->ctx, graph, program->profile[plan_index], &wanted, NULL, out)
             : plim_plan_make(program->ctx, graph, program->profile[plan_index], &wanted.planning, out);
  plim_release(program->ctx, numerics_key, graph->n_ops, sizeof *numerics_key);
  return status;
}

/* Plan the evaluation step with the homes of the training step's new plan. */
static plim_status plan_evaluation(const plim_program *program, const plim_replan_options *options,
                                   int64_t budget_bytes, const plim_plan *train, plim_plan **out) {
  plim_plan_options wanted = options->planning;
  wanted.budget_bytes = budget_bytes;
  return plim_program_plan_eval(program, &wanted, train, out);
}

plim_status plim_program_replan(const plim_program *program, const plim_plan *const *as,
                                const plim_replan_options *options, int64_t budget_bytes, plim_plan **plan) {
  plim_status status = PLIM_OK;
  for (int32_t i = 0; i < program->n_graphs; i++) plan[i] = NULL;
  PLIM_TRY(plim_check_options(program->ctx, "plim_replan_options", options->struct_bytes, sizeof *options));
  for (int32_t i = 0; i < program->n_graphs && status == PLIM_OK; i++) {
    if (!as[i]) continue;
    status = i == PLIM_PROGRAM_EVAL
                 ? plan_evaluation(program, options, budget_bytes, plan[PLIM_PROGRAM_TRAIN], &plan[i])
                 : plan_training(program, i, as[i], options, budget_bytes, &plan[i]);
  }
  for (int32_t i = 0; i < program->n_graphs && status != PLIM_OK; i++) {
    plim_plan_free(plan[i]);
    plan[i] = NULL;
  }
  return status;
}
