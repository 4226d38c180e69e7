/* Integer programs over spaces: columns and rows, and solving. Callers need the first two parts; what the files of this
 * folder share to make columns and rows follows. */
#ifndef PLIM_PLANNER_SPACES_PROGRAM_SPACE_MODEL_H
#define PLIM_PLANNER_SPACES_PROGRAM_SPACE_MODEL_H

#include "planner/solvers/solver.h"
#include "planner/spaces/problem/space_sequence.h"
#include "runtime/graph/space/space_plan.h"

/* ==== program (space_model.c, space_read.c) ==== */

/* Integer programs for plans over spaces, in stages: stage t ends with the first run of node t and may run earlier ones
 * again (Checkmate's frontier-advancing stages). Three classes share columns and memory rows.
 *
 *   poet     recompute and paging of one device under an energy objective; copies take no time. Patil et al., POET,
 *            ICML 2022.
 *   xengine  recompute and placement on several devices, the sum of all times; a copy may be kept, and the destination
 *            pays for it. After Schuler et al., XEngine, ACM TACO 2022, whose rows sum memory over devices.
 *   fluid    recompute, paging and placement on several devices: in a stage, fractions of copies continue beside
 *            compute, and a copy between devices may be waited for. Runs of one stage follow one another. */

typedef enum plim_space_class { PLIM_SPACE_POET, PLIM_SPACE_XENGINE, PLIM_SPACE_FLUID } plim_space_class;

typedef struct plim_space_model_options {
  plim_space_class model_class;
  plim_objective objective;
  int32_t page, recompute, place; /* 0: not allowed */
  const int64_t *budget;          /* [n_spaces] bytes, INT64_MAX: none */
  int64_t deadline_ns;            /* poet: on compute alone; INT64_MAX: none */
  /* [n_spaces] 1: this budget may be exceeded by a common factor, which is then what is made least; NULL: none */
  const int32_t *scaled;
} plim_space_model_options;

typedef struct plim_space_model {
  const plim_space_problem *problem;
  const plim_space_model_options *options;
  plim_model linear;
  int32_t n, n_devices, n_links, n_spaces;
  double scale;      /* of the objective: the program minimises objective x scale */
  double time_scale; /* of times in rows: stages, the makespan */
  int32_t *last;     /* [n] last stage in which the node's output is of use */
  /* columns, [plane][t][i], -1: none */
  int32_t *run, *keep; /* [n_devices] */
  int32_t *arrive;     /* xengine, fluid: [n_links] copies within the stage, between spaces where devices compute */
  int32_t *stored;     /* poet: in the page space at the start of the stage; fluid: [n_spaces] the share that arrived */
  int32_t *out, *in;   /* poet: copied in the stage */
  int32_t *flow;       /* fluid: [n_links] the share that is copied in the stage */
  int32_t *whole;      /* fluid: [n_spaces] a space where no device computes has all of it */
  int32_t *reload;     /* fluid: [n_spaces] a buffer is reserved where a device computes */
  int32_t *release;    /* [n_devices] first of the columns "released after reader k", in order of readers */
  int32_t *used;       /* [n_devices] bytes in use at run i of stage t, as a share of the budget */
  int32_t factor;      /* column of the common factor, -1: none */
  int32_t *home;       /* [n_spaces] the device that computes there; -1: none */
  int32_t page_out, page_in; /* poet: links; -1: none */
} plim_space_model;

/* Build. PLIM_EDATA where the class has no use for such a platform; PLIM_EUSAGE where the program would be too
 * large. */
PLIM_MUST_USE plim_status plim_space_model_make(const plim_space_problem *problem,
                                                const plim_space_model_options *options, plim_space_model **out);
void plim_space_model_free(plim_space_model *model); /* NULL is legal */

/* The sequence of a point. */
PLIM_MUST_USE plim_status plim_space_model_read(const plim_space_model *model, const double *point,
                                                plim_space_events *out);

/* ==== solving (space_solve.c) ==== */

/* One program over spaces: made, solved, and kept with its point. */

typedef struct plim_space_solved {
  plim_space_model *model;
  plim_solution solution; /* stopped, with nothing found, where no time was left */
  double *point;          /* [columns of the model] where one was found */
} plim_space_solved;

/* Make a program and solve it. effort->cutoff is in units of the plan's objective: ns or joule.
 * PLIM_ECANCEL when a cancel came before a point was found; the failures of plim_space_model_make and of the solver. */
PLIM_MUST_USE plim_status plim_space_solve(const plim_space_problem *problem, plim_solver *solver,
                                           const plim_space_model_options *model, const plim_solve_options *effort,
                                           plim_space_solved *out);
void plim_space_solved_free(plim_space_solved *solved); /* one of zeros is legal */

/* ==== columns and rows (space_model.c, space_classes.c, space_fluid.c, space_makespan.c) ==== */

/* What the classes share, and those of each class. A failure is kept in the program; plim_space_model_make returns
 * it. */

/* ---- grids of columns ---- */

/* Where a column stands in a grid of planes [stages][nodes]. */
static inline int64_t plim_space_cell(const plim_space_model *m, int32_t plane, int32_t t, int32_t i) {
  return ((int64_t)plane * m->n + t) * m->n + i;
}
/* May the output of node i be of use at stage t? Then it may run there, or be there. */
static inline int plim_space_useful(const plim_space_model *m, int32_t t, int32_t i) {
  return t == i || (t > i && t <= m->last[i]);
}

/* A column of a grid; stage n has none. */
static inline int32_t plim_space_column(const plim_space_model *m, const int32_t *grid, int32_t plane, int32_t t,
                                        int32_t i) {
  return t < m->n ? grid[plim_space_cell(m, plane, t, i)] : -1;
}

/* A scaled cost or time in a program. What is a thousand times keep-all, or more, counts as so much: a solver's numbers
 * reach no further, and a bound stays one. */
static inline double plim_space_coefficient(double scaled) {
  return scaled < 1e9 ? scaled : 1e9;
}

/* ---- rows that classes share ---- */

/* May copies take the link? */
int plim_space_link_taken(const plim_space_model *model, int32_t link);

/* A run needs its inputs in its device's space: kept there, made there or arrived there. */
void plim_space_need_inputs(plim_space_model *model);
/* What a copy adds to the objective. */
double plim_space_link_cost(const plim_space_model *model, int32_t node, int32_t link);
/* The row a + b + ... <= 0: `minus` columns have the coefficient -1; columns -1 are left out. */
void plim_space_at_most(plim_space_model *model, int32_t column, int32_t n, const int32_t *minus);

/* Columns and rows of copies within a stage. */
void plim_space_arrive_columns(plim_space_model *model);
void plim_space_arrive_rows(plim_space_model *model, int32_t t, int32_t i);

/* Bytes of a space where no device computes: the sum of the columns of [n] grids of planes, in stage t. */
void plim_space_page_budget(plim_space_model *model, int32_t space, int32_t t, int32_t n, const int32_t *const *grid,
                            const int32_t *plane);

/* ---- the classes: space_classes.c, space_fluid.c and space_makespan.c ---- */

void plim_space_poet_rows(plim_space_model *model);
void plim_space_xengine_rows(plim_space_model *model);
void plim_space_fluid_rows(plim_space_model *model);
void plim_space_poet_columns(plim_space_model *model);
void plim_space_xengine_columns(plim_space_model *model);
void plim_space_fluid_columns(plim_space_model *model);

/* xengine: rows under which the makespan cannot be, and the deadline above it. */
void plim_space_makespan_rows(plim_space_model *model);

#endif
