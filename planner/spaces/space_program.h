/* Planners by integer programming: a program of their class is built, solved with a gap of zero, read as a sequence and
 * lowered to commands. A solver's tolerances may let a point pass above a budget: then the program is solved again for
 * as much less; the bound is the first one's. */
#ifndef PLIM_PLANNER_SPACES_SPACE_PROGRAM_H
#define PLIM_PLANNER_SPACES_SPACE_PROGRAM_H

#include "planner/spaces/space_request.h"

typedef struct plim_space_program {
  const plim_space_request *request;
  plim_solver *solver;
  plim_space_model_options model; /* of the next program: its budgets and its deadline may be lower than those asked */
  int64_t *limit;                 /* [n_spaces] those budgets */
  double least;                   /* no plan is better, whatever its class */
  double bound;                   /* of the first program; -INFINITY: none */
  int32_t had_point;              /* 1: the first program had a point */
  int32_t ended;                  /* 1: the last program has no point below its cutoff */
  plim_space_outcome outcome;     /* of the first program that had a point, or of the first one */
  plim_space_plan *plan;          /* within the budgets and the deadline; NULL: none */
} plim_space_program;

/* A program for what is asked, not yet solved.
 *   least  in  no plan is better, whatever its class
 * Free it also after a failure. PLIM_EUNSUPPORTED: there is no solver. */
PLIM_MUST_USE plim_status plim_space_program_open(const plim_space_request *request, double least,
                                                  plim_space_program *out);
void plim_space_program_free(plim_space_program *program); /* one of zeros is legal */

/* Solve it, again while the plan is above budgets or deadline.
 *   best  in  the objective of a plan that is known, or INFINITY: points that are not below it are of no interest */
PLIM_MUST_USE plim_status plim_space_program_solve(plim_space_program *program, double best);

/* What no plan of the planner's class is below. */
double plim_space_program_bound(const plim_space_program *program);
/* Does the first program prove that no plan of its class is below that objective? */
int plim_space_program_proves(const plim_space_program *program, double value);

#endif
