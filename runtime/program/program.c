/* A run needs several steps that share one arena and one set of weights: training, evaluation, and perhaps a shorter
 * last batch. This file makes their graphs and profiles, plans them together, and checks that the plans fit each other.
 */
#include "runtime/program/program.h"

#include <string.h>

#include "runtime/graph/check/check.h"
#include "runtime/program/program_internal.h"

static plim_status profile_graph(plim_device *device, const plim_profiler_options *profiler, plim_program *program,
                                 plim_plan_index plan_index) {
  if (!profiler) return plim_profile_roofline(device, program->graph[plan_index], &program->profile[plan_index]);
  plim_status status =
      plim_profile_measure(device, program->graph[plan_index], profiler, &program->profile[plan_index]);
  if (status != PLIM_ENOFIT) return status;
  return plim_fail(program->ctx, status, "measuring operations: %s; modelled costs (--model-costs) need no room",
                   plim_context_error(program->ctx));
}

/* Refuse a device without tf32: computing in fp32 instead would surprise the user, and be no faster. */
static plim_status check_precision(const plim_device *device, const plim_graph *graph) {
  if (plim_graph_precision(graph) != PLIM_PRECISION_TF32 || device->tf32) return PLIM_OK;
  return plim_fail(device->ctx, PLIM_EUSAGE,
                   "precision tf32 is for GPUs of compute capability 8.0 and up: device %s computes in fp32 or bf16",
                   device->api->name);
}

plim_status plim_program_begin(plim_device *device, const plim_net *net, const plim_profiler_options *profiler,
                               plim_program **out) {
  plim_context *ctx = device->ctx;
  plim_program *program = NULL;
  plim_status status = PLIM_OK;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *program, &program));
  program->ctx = ctx;
  PLIM_TRY_OR_DONE(plim_net_train_graph(net, &program->graph[PLIM_PROGRAM_TRAIN]));
  PLIM_TRY_OR_DONE(plim_net_eval_graph(net, &program->graph[PLIM_PROGRAM_EVAL]));
  PLIM_TRY_OR_DONE(check_precision(device, program->graph[PLIM_PROGRAM_TRAIN]));
  program->n_graphs = PLIM_PROGRAM_PLANNED;
  for (int32_t i = 0; i < program->n_graphs; i++) {
    PLIM_TRY_OR_DONE(profile_graph(device, profiler, program, (plim_plan_index)i));
  }
  *out = program;
  program = NULL;
done:
  plim_program_free(program);
  return status;
}

void plim_program_free(plim_program *program) {
  if (!program) return;
  for (int32_t i = 0; i < PLIM_PROGRAM_GRAPHS; i++) {
    plim_plan_free(program->plan[i]);
    plim_profile_free(program->profile[i]);
    plim_graph_free(program->graph[i]);
  }
  plim_release(program->ctx, program, 1, sizeof *program);
}

plim_plan_options plim_program_eval_options(const plim_plan_options *options) {
  plim_plan_options eval = *options;
  eval.planner = NULL;
  eval.numerics = PLIM_NUMERICS_SMALL;
  eval.numerics_key = NULL;
  eval.paging = NULL;
  return eval;
}

enum { FIRST_PAGE_SPACE = 1 }; /* the only one that may be a home */

/* Has the plan of a training step persistent storages at home in its page space? */
static int has_homes(const plim_graph *graph, const plim_plan *plan) {
  for (int32_t i = 0; i < plan->n_buffers && plan->buffer[i].begin == 0; i++) {
    if (plan->buffer[i].space == FIRST_PAGE_SPACE && plim_plan_is_home(graph, plan, &plan->buffer[i])) return 1;
  }
  return 0;
}

/* Set the paging options of the evaluation step, which must have the same homes as the training step's plan. The
 * options borrow graph and plan. Returns 0, and leaves *paging as it is, when the plan has no homes in a page space. */
static int set_eval_homes(const plim_graph *graph, const plim_plan *plan, plim_paging *paging) {
  if (!has_homes(graph, plan)) return 0;
  const plim_plan_space *page = &plan->page[plim_page_index(FIRST_PAGE_SPACE)];
  *paging = plim_paging_default();
  paging->space = page->name;
  paging->budget_bytes = page->budget_bytes;
  paging->homes = PLIM_HOMES_STATE;
  paging->beside = plan;
  paging->beside_graph = graph;
  return 1;
}

static plim_status plan_graph(const plim_program *program, plim_plan_index plan_index, const plim_plan_options *options,
                              plim_plan **out) {
  return plim_plan_make(program->ctx, program->graph[plan_index], program->profile[plan_index], options, out);
}

/* Check both plans together, then install them. The last batch's plan was checked with the former plans, so it is
 * dropped. Frees `train` and `eval` on failure. */
static plim_status install(plim_program *program, plim_plan *train, plim_plan *eval) {
  const plim_graph *const graph[] = {program->graph[PLIM_PROGRAM_TRAIN], program->graph[PLIM_PROGRAM_EVAL]};
  const plim_plan *const plan[] = {train, eval};
  plim_status status = plim_program_check(program->ctx, PLIM_PROGRAM_PLANNED, graph, plan);
  if (status != PLIM_OK) {
    plim_plan_free(train);
    plim_plan_free(eval);
    return status;
  }
  for (int32_t i = 0; i < PLIM_PROGRAM_GRAPHS; i++) plim_plan_free(program->plan[i]);
  program->plan[PLIM_PROGRAM_TRAIN] = train;
  program->plan[PLIM_PROGRAM_EVAL] = eval;
  program->plan[PLIM_PROGRAM_LAST] = NULL;
  return PLIM_OK;
}

/* ---- the last batch ---- */

plim_status plim_program_add_last(plim_program *program, plim_device *device, const plim_net *net,
                                  const plim_profiler_options *profiler) {
  PLIM_TRY(plim_net_train_graph(net, &program->graph[PLIM_PROGRAM_LAST]));
  const plim_status status = profile_graph(device, profiler, program, PLIM_PROGRAM_LAST);
  if (status == PLIM_OK) {
    program->n_graphs = PLIM_PROGRAM_GRAPHS;
  } else {
    plim_graph_free(program->graph[PLIM_PROGRAM_LAST]);
    program->graph[PLIM_PROGRAM_LAST] = NULL;
  }
  return status;
}

/* Check the last batch's plan with that of the training step, then install it. Frees `last` on failure. */
static plim_status install_last(plim_program *program, plim_plan *last) {
  const plim_graph *const graph[] = {program->graph[PLIM_PROGRAM_TRAIN], program->graph[PLIM_PROGRAM_LAST]};
  const plim_plan *const plan[] = {program->plan[PLIM_PROGRAM_TRAIN], last};
  plim_status status = plim_program_check(program->ctx, 2, graph, plan);
  if (status != PLIM_OK) {
    plim_plan_free(last);
    return status;
  }
  plim_plan_free(program->plan[PLIM_PROGRAM_LAST]);
  program->plan[PLIM_PROGRAM_LAST] = last;
  return PLIM_OK;
}

static plim_status decide_within(const plim_program *program, const plim_online_plan_options *options,
                                 int64_t budget_bytes, plim_replay_counts *counts, plim_plan **out) {
  plim_online_plan_options wanted = *options;
  wanted.planning.budget_bytes = budget_bytes;
  return plim_online_plan_make(program->ctx, program->graph[PLIM_PROGRAM_LAST], program->profile[PLIM_PROGRAM_LAST],
                               &wanted, counts, out);
}

/* Find the bytes for the last batch when the arena of the other plans is too small: the budget, or, without a budget,
 * the bytes in which the policy finds a plan. */
static plim_status more_for_last(const plim_program *program, const plim_online_plan_options *options,
                                 int64_t arena_bytes, int64_t *out) {
  plim_online_plan_options wanted = *options;
  *out = options->planning.budget_bytes;
  if (*out < INT64_MAX) return PLIM_OK;
  wanted.planning.budget_bytes = arena_bytes;
  return plim_online_plan_smallest(program->ctx, program->graph[PLIM_PROGRAM_LAST], program->profile[PLIM_PROGRAM_LAST],
                                   &wanted, 2 * arena_bytes, out);
}

/* Refuse a plan with homes in a page space: a policy decides in one arena. */
static plim_status check_no_homes(const plim_program *program) {
  const plim_plan *train = program->plan[PLIM_PROGRAM_TRAIN];
  if (!has_homes(program->graph[PLIM_PROGRAM_TRAIN], train)) return PLIM_OK;
  return plim_fail(program->ctx, PLIM_EUSAGE,
                   "the last batch cannot be decided online: what persists is partly at home in %s, and a policy knows "
                   "one arena; give it more bytes, or leave out the last batch",
                   train->page[plim_page_index(FIRST_PAGE_SPACE)].name);
}

plim_status plim_program_decide_last(plim_program *program, const plim_online_plan_options *options,
                                     plim_replay_counts *counts) {
  int64_t train = program->plan[PLIM_PROGRAM_TRAIN]->arena_bytes, eval = program->plan[PLIM_PROGRAM_EVAL]->arena_bytes;
  int64_t arena = train > eval ? train : eval, more;
  plim_plan *last = NULL;
  PLIM_TRY(plim_check_options(program->ctx, "plim_online_plan_options", options->struct_bytes, sizeof *options));
  PLIM_TRY(check_no_homes(program));
  plim_status status = decide_within(program, options, arena, counts, &last);
  if (status == PLIM_ENOFIT) {
    PLIM_TRY(more_for_last(program, options, arena, &more));
    if (more > arena) status = decide_within(program, options, more, counts, &last);
  }
  return status == PLIM_OK ? install_last(program, last) : status;
}

plim_status plim_program_plan_last(plim_program *program, const plim_plan_options *options) {
  plim_plan *last = NULL;
  PLIM_TRY(plan_graph(program, PLIM_PROGRAM_LAST, options, &last));
  return install_last(program, last);
}

/* ---- plans ---- */

/* The spaces that the evaluation step may page to: those of the options, else those of the training step's plan, whose
 * links are not known. 0: there are none. */
static int eval_spaces(const plim_plan_options *options, const plim_plan *train, plim_paging *paging) {
  if (!options->paging && (!train || train->n_page_spaces == 0)) return 0;
  *paging = options->paging ? *options->paging : plim_paging_default();
  for (int32_t k = 0; !options->paging && k < train->n_page_spaces; k++) {
    const plim_plan_space *page = &train->page[k];
    if (page->computes && paging->n_devices < PLIM_PAGE_DEVICES) {
      paging->device[paging->n_devices++] = (plim_paging_device){page->name, page->budget_bytes};
    } else if (!page->computes) {
      paging->space = page->name;
      paging->budget_bytes = page->budget_bytes;
    }
  }
  paging->recompute = 1;
  paging->homes = PLIM_HOMES_NEVER;
  paging->beside = NULL;
  paging->beside_graph = NULL;
  paging->powers = NULL;
  paging->deadline_ns = 0;
  return 1;
}

/* With homes the evaluation step has those of the training step. It pages more only where the arena is not enough. */
plim_status plim_program_plan_eval(const plim_program *program, const plim_plan_options *options,
                                   const plim_plan *train, plim_plan **out) {
  plim_plan_options wanted = plim_program_eval_options(options);
  plim_paging paging;
  const int homes = train && set_eval_homes(program->graph[PLIM_PROGRAM_TRAIN], train, &paging);
  if (homes) wanted.paging = &paging;
  plim_status status = plan_graph(program, PLIM_PROGRAM_EVAL, &wanted, out);
  if (status != PLIM_ENOFIT || (!homes && !eval_spaces(options, train, &paging))) return status;
  if (homes) paging.homes = PLIM_HOMES_AS_BESIDE;
  wanted.paging = &paging;
  return plan_graph(program, PLIM_PROGRAM_EVAL, &wanted, out);
}

plim_status plim_program_make_plans(const plim_program *program, const plim_plan_options *options,
                                    plim_plan_result *train, plim_plan **eval) {
  const plim_graph *graph = program->graph[PLIM_PROGRAM_TRAIN];
  *train = (plim_plan_result){.plan = NULL};
  PLIM_TRY(plim_plan_search(program->ctx, graph, program->profile[PLIM_PROGRAM_TRAIN], options, train));
  plim_status status = plim_program_plan_eval(program, options, train->plan, eval);
  if (status == PLIM_OK) return PLIM_OK;
  plim_plan_free(train->plan);
  train->plan = NULL;
  return status;
}

plim_status plim_program_plan(plim_program *program, const plim_plan_options *options) {
  plim_plan_result train;
  plim_plan *eval = NULL;
  PLIM_TRY(plim_program_make_plans(program, options, &train, &eval));
  PLIM_TRY(install(program, train.plan, eval));
  program->from_front = train.from_front;
  return PLIM_OK;
}

/* A plan from elsewhere must be of this graph and this machine: other threads or instructions give other bits. */
static plim_status check_plan_origin(const plim_program *program, const plim_plan *plan) {
  const plim_graph *graph = program->graph[PLIM_PROGRAM_TRAIN];
  if (strcmp(plan->fingerprint, graph->fingerprint) != 0) {
    return plim_fail(program->ctx, PLIM_EDATA, "the plan is for graph %.12s, this is %s, batch %d: graph %.12s",
                     plan->fingerprint, graph->name, graph->batch, graph->fingerprint);
  }
  PLIM_TRY(plim_machine_match(program->ctx, "the plan", &plan->numerics.machine,
                              &program->profile[PLIM_PROGRAM_TRAIN]->machine, PLIM_MACHINE_BITS));
  return plim_plan_check(program->ctx, graph, plan);
}

plim_status plim_program_adopt(plim_program *program, plim_plan *plan) {
  plim_plan_options options = plim_plan_options_default();
  plim_plan *eval = NULL;
  options.budget_bytes = plan->budget_bytes;
  plim_status status = check_plan_origin(program, plan);
  if (status == PLIM_OK) status = plim_program_plan_eval(program, &options, plan, &eval);
  if (status != PLIM_OK) {
    plim_plan_free(plan);
    return status;
  }
  PLIM_TRY(install(program, plan, eval));
  program->from_front = 0;
  return PLIM_OK;
}

plim_status plim_program_keep_all(const plim_program *program, plim_plan **out) {
  plim_plan_options unlimited = plim_plan_options_default();
  unlimited.numerics = PLIM_NUMERICS_FASTEST;
  return plim_plan_keep_all(program->ctx, program->graph[PLIM_PROGRAM_TRAIN], program->profile[PLIM_PROGRAM_TRAIN],
                            &unlimited, out);
}

int64_t plim_program_plans_bytes(const plim_plan *const *plan) {
  int64_t most = 0;
  for (int32_t i = 0; i < PLIM_PROGRAM_GRAPHS; i++) {
    if (plan[i] && plan[i]->arena_bytes > most) most = plan[i]->arena_bytes;
  }
  return most;
}

int64_t plim_program_arena_bytes(const plim_program *program) {
  return plim_program_plans_bytes((const plim_plan *const *)program->plan);
}
