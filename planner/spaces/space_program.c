/* Solves the integer program of a planner, and makes the plan of its point. */
#include "planner/spaces/space_make_internal.h"

#include <math.h>
#include <string.h>

#include "planner/spaces/program/space_model.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

plim_status plim_space_program_open(const plim_space_request *request, double least, plim_space_program *out) {
  const int32_t n_spaces = request->problem->platform->n_spaces;
  *out = (plim_space_program){.request = request,
                              .model = request->model,
                              .least = least,
                              .bound = -INFINITY,
                              .outcome = {.model_objective = INFINITY, .model_bound = -INFINITY}};
  PLIM_TRY(plim_allocate(request->ctx, n_spaces, sizeof *out->limit, &out->limit));
  memcpy(out->limit, request->budget, (size_t)n_spaces * sizeof *out->limit);
  out->model.budget = out->limit;
  return plim_solver_open(request->ctx, NULL, &out->solver);
}

void plim_space_program_free(plim_space_program *program) {
  const plim_space_request *request = program->request;
  if (!request) return;
  plim_space_plan_free(program->plan);
  plim_solver_close(program->solver);
  plim_release(request->ctx, program->limit, request->problem->platform->n_spaces, sizeof *program->limit);
}

double plim_space_program_bound(const plim_space_program *program) {
  return plim_space_proves(program->request) ? fmax(program->least, program->bound) : program->least;
}

int plim_space_program_proves(const plim_space_program *program, double value) {
  return plim_space_proves(program->request) && program->bound >= value;
}

static int on_progress(void *user, double objective, double bound) {
  const plim_space_program *program = user;
  const plim_space_request *request = program->request;
  plim_progress progress = {.stage = request->planner->name,
                            .total = -1,
                            .elapsed_ns = plim_now_ns() - request->started_ns,
                            .best_percent = -1,
                            .bound_percent = -1};
  (void)objective;
  (void)bound;
  plim_context_report(request->ctx, &progress);
  return plim_effort_over(request->ctx, PLIM_EFFORT_LOOK);
}

/* A fluid stage's time is not the plan's, and idle power is not in a program. */
static double cutoff(const plim_space_program *program, double best) {
  const int counted = plim_space_proves(program->request) && !(plim_space_idle_joule(program->request->problem, 1) > 0);
  return counted ? best : INFINITY;
}

/* Bytes by which a plan is above a budget, and time by which it misses a deadline on the makespan: the next program
 * gets as much less. */
static int64_t tighten(plim_space_program *program, const plim_space_plan *plan) {
  const int64_t *budget = program->request->budget, deadline_ns = program->request->model.deadline_ns;
  int64_t excess = 0;
  for (int32_t s = 0; s < plan->n_spaces; s++) {
    int64_t above = plan->space[s].peak_bytes - budget[s];
    if (budget[s] == INT64_MAX || above <= 0) continue;
    program->limit[s] -= above;
    excess += above;
  }
  int64_t late = plan->makespan_ns - deadline_ns;
  if (program->model.model_class == PLIM_SPACE_POET || deadline_ns == INT64_MAX || late <= 0) return excess;
  program->model.deadline_ns -= late;
  return plim_add_checked(excess, late) < 0 ? INT64_MAX : excess + late;
}

/* Keep the plan of a point, if it is within the budgets. */
static plim_status keep_plan(plim_space_program *program, const plim_space_solved *solved, int is_first) {
  const int proved = solved->solution.end == PLIM_SOLVE_OPTIMAL && is_first && plim_space_proves(program->request);
  plim_space_events events = {.ctx = program->request->ctx};
  plim_space_plan *plan = NULL;
  plim_status status = plim_space_model_read(solved->model, solved->point, &events);
  if (status == PLIM_OK) {
    status = plim_space_plan_of(program->request, &events, plim_space_program_bound(program), proved, &plan);
  }
  plim_space_events_free(&events);
  if (status != PLIM_OK) return status;
  if (tighten(program, plan) == 0) {
    program->plan = plan;
  } else {
    plim_space_plan_free(plan);
  }
  return PLIM_OK;
}

/* What the first program says. */
static void note_first(plim_space_program *program, const plim_space_solved *solved, double best) {
  const plim_space_model *m = solved->model;
  const plim_solution *s = &solved->solution;
  program->had_point = s->found;
  program->outcome = (plim_space_outcome){.model_objective = s->found ? s->objective / m->scale : INFINITY,
                                          .model_bound = s->bound / m->scale,
                                          .n_columns = m->linear.n_columns,
                                          .n_rows = m->linear.n_rows};
  if (s->bound > -INFINITY) program->bound = s->bound / m->scale;
  if (program->ended && cutoff(program, best) < INFINITY) program->bound = best;
}

static plim_status solve_once(plim_space_program *program, double best, int is_first, int32_t *found) {
  const plim_space_request *request = program->request;
  plim_space_solved solved;
  plim_solve_options effort = plim_space_effort(request);
  plim_status status = PLIM_OK;
  effort.cutoff = cutoff(program, best);
  effort.on_progress = on_progress;
  effort.user = program;
  *found = 0;
  PLIM_TRY(plim_space_solve(request->problem, program->solver, &program->model, &effort, &solved));
  *found = solved.solution.found;
  program->ended = solved.solution.end == PLIM_SOLVE_INFEASIBLE;
  if (is_first) note_first(program, &solved, best);
  if (*found) status = keep_plan(program, &solved, is_first);
  plim_space_solved_free(&solved);
  return status;
}

plim_status plim_space_program_solve(plim_space_program *program, double best) {
  int32_t found = 1;
  for (int32_t round = 0; round < spaces_tuning.program.rounds && found && !program->plan; round++) {
    PLIM_TRY(solve_once(program, best, round == 0, &found));
  }
  return PLIM_OK;
}
