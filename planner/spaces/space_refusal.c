/* Finds the smallest budgets for which an integer program has a point. The same program, with a column in place of
 * some budgets: how many times the budget is used. The search that comes before a program may know a plan outside its
 * class, and less is then enough. */
#include "planner/spaces/space_make_internal.h"

#include <math.h>

#include "planner/spaces/program/space_model.h"

typedef struct refuse_pass {
  const plim_space_request *request;
  plim_solver *solver;
  int32_t *scaled; /* [n_spaces] 1: the budgets whose factor the next program makes least */
} refuse_pass;

/* The factor that the plan of a point uses, to the byte. */
static plim_status factor_of_plan(const plim_space_model *m, const double *point, const int32_t *scaled, double *out) {
  const plim_space_plan draft = {.planner = "refusal", .deadline_ns = INT64_MAX};
  plim_space_events events = {.ctx = m->problem->ctx};
  plim_space_plan *plan = NULL;
  plim_status status = plim_space_model_read(m, point, &events);
  if (status == PLIM_OK) status = plim_space_lower(m->problem, &events, &draft, m->options->budget, 0, &plan);
  *out = 0;
  for (int32_t s = 0; plan && s < plan->n_spaces; s++) {
    if (scaled[s]) *out = fmax(*out, (double)plan->space[s].peak_bytes / (double)m->options->budget[s]);
  }
  plim_space_plan_free(plan);
  plim_space_events_free(&events);
  return status;
}

/* A program that only bounds the makespan has points where no plan keeps the deadline. */
static int is_loose(const plim_space_model_options *model) {
  return model->model_class == PLIM_SPACE_XENGINE && model->deadline_ns < INT64_MAX;
}

/* The least factor of the program on the budgets of the spaces in `scaled`; INFINITY: there is none, however large;
 * NAN: not found. */
static plim_status program_factor(const refuse_pass *pass, double *out) {
  const plim_solve_options effort = plim_space_effort(pass->request);
  plim_space_model_options asked = pass->request->model;
  plim_space_solved solved;
  plim_status status = PLIM_OK;
  asked.scaled = pass->scaled;
  *out = NAN;
  PLIM_TRY(plim_space_solve(pass->request->problem, pass->solver, &asked, &effort, &solved));
  const plim_solution *s = &solved.solution;
  if (s->end == PLIM_SOLVE_INFEASIBLE) *out = INFINITY;
  if (s->end == PLIM_SOLVE_OPTIMAL && s->found) {
    *out = solved.point[solved.model->factor];
    if (!is_loose(&pass->request->model)) status = factor_of_plan(solved.model, solved.point, pass->scaled, out);
  }
  plim_space_solved_free(&solved);
  return status;
}

/* The least factor of program and search on the budget of one space, or (-1) on all that are given. */
static plim_status least_factor(const refuse_pass *pass, int32_t space, double *out) {
  const plim_space_problem *problem = pass->request->problem;
  const plim_space_model_options *model = &pass->request->model;
  const plim_space_search_options search = {.objective = model->objective,
                                            .page = model->page,
                                            .recompute = model->recompute,
                                            .place = model->place,
                                            .budget = model->budget,
                                            .deadline_ns = model->deadline_ns,
                                            .deadline_on_runs = model->model_class == PLIM_SPACE_POET};
  double found = NAN;
  for (int32_t s = 0; s < problem->platform->n_spaces; s++) {
    pass->scaled[s] = model->budget[s] < INT64_MAX && (space < 0 || s == space);
  }
  PLIM_TRY(program_factor(pass, out));
  if (is_loose(model)) return PLIM_OK;
  PLIM_TRY(plim_space_search_factor(problem, &search, space, &found));
  if (isfinite(found) && !(*out <= found)) *out = found;
  return PLIM_OK;
}

/* The budget that a factor of it comes to: whole multiples of the unit of all sizes. */
static int64_t scaled_bytes(const plim_space_problem *p, int64_t budget, double factor) {
  double units = ceil((double)budget * factor / (double)p->bytes_unit - 1e-6);
  return units < 0x1p61 / (double)p->bytes_unit ? (int64_t)units * p->bytes_unit : INT64_MAX;
}

static void tell_alone(const refuse_pass *pass, int32_t space, double factor, plim_text *words) {
  const plim_space_problem *p = pass->request->problem;
  const char *name = p->platform->space[space].name;
  if (isnan(factor)) {
    plim_text_format(words, "; the smallest %s with the others as given was not found in time", name);
  } else if (isinf(factor)) {
    plim_text_format(words, "; with the others as given no size of %s has a plan", name);
  } else {
    plim_text_format(words, "; with the others as given %s needs %s%lld bytes", name,
                     is_loose(&pass->request->model) ? "at least " : "",
                     (long long)scaled_bytes(p, pass->request->budget[space], factor));
  }
}

static void tell_common(const refuse_pass *pass, double factor, plim_text *words) {
  const int loose = is_loose(&pass->request->model);
  char digits[PLIM_SPACE_FACTOR_BYTES];
  if (isnan(factor)) {
    plim_text_add(words, "the smallest factor on them that has a plan was not found in time");
  } else if (isinf(factor)) {
    plim_text_add(words, "no larger budgets have one: the deadline or the switches leave none");
  } else {
    plim_text_format(words, loose ? "all of them times less than %s have none" : "all of them times %s have one",
                     plim_space_factor_text(factor, !loose, digits));
  }
}

/* By class. That of poet counts what the deadline bounds, stages end later than the plan may, and rows of the makespan
 * alone bound it. */
static const char *const deadline_words[] = {"the earliest deadline that has a plan is %.0f%s",
                                             "no deadline before %.0f%s has a plan",
                                             "the earliest deadline of its program is %.0f%s"};

/* The earliest deadline with a plan in these budgets. */
static plim_status tell_deadline(const refuse_pass *pass, plim_text *words) {
  const plim_space_problem *problem = pass->request->problem;
  const plim_solve_options effort = plim_space_effort(pass->request);
  plim_space_model_options asked = pass->request->model;
  plim_space_solved solved;
  asked.deadline_ns = INT64_MAX;
  asked.objective = PLIM_OBJECTIVE_TIME;
  PLIM_TRY(plim_space_solve(problem, pass->solver, &asked, &effort, &solved));
  const plim_solution *s = &solved.solution;
  if (s->end == PLIM_SOLVE_OPTIMAL && s->found) {
    const double ns = ceil(s->objective / solved.model->scale - 1e-3);
    plim_text_add(words, "; with these budgets ");
    plim_text_format(words, deadline_words[asked.model_class], ns, plim_space_time_unit(problem));
  }
  plim_space_solved_free(&solved);
  return PLIM_OK;
}

static plim_status tell_all(const refuse_pass *pass, plim_text *words) {
  const plim_space_request *request = pass->request;
  double factor;
  PLIM_TRY(least_factor(pass, -1, &factor));
  tell_common(pass, factor, words);
  for (int32_t s = 0; s < request->problem->platform->n_spaces; s++) {
    if (request->budget[s] == INT64_MAX) continue;
    PLIM_TRY(least_factor(pass, s, &factor));
    tell_alone(pass, s, factor, words);
  }
  return request->model.deadline_ns < INT64_MAX ? tell_deadline(pass, words) : PLIM_OK;
}

plim_status plim_space_refuse(const plim_space_request *request, plim_solver *solver) {
  plim_context *ctx = request->ctx;
  const plim_space_problem *problem = request->problem;
  const int32_t n_spaces = problem->platform->n_spaces;
  refuse_pass pass = {.request = request, .solver = solver};
  plim_text words = {.ctx = ctx}, given = {.ctx = ctx};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n_spaces, sizeof *pass.scaled, &pass.scaled));
  plim_space_name_budgets(&given, problem->platform, request->budget);
  PLIM_TRY_OR_DONE(tell_all(&pass, &words));
  PLIM_TRY_OR_DONE(given.status);
  PLIM_TRY_OR_DONE(words.status);
  status = plim_fail(ctx, PLIM_ENOFIT, "no plan of '%s' in class %s fits into %s%s: %s", problem->graph->name,
                     plim_space_plan_class_name(request->planner->plan_class), given.chars,
                     request->model.deadline_ns < INT64_MAX ? " within the deadline" : "", words.chars);
done:
  plim_text_free(&given);
  plim_text_free(&words);
  plim_release(ctx, pass.scaled, n_spaces, sizeof *pass.scaled);
  return status;
}
