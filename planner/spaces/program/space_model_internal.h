/* Columns and rows of a program over spaces: what the classes share, and those of each class. A failure is kept in the
 * program; plim_space_model_make returns it. */
#ifndef PLIM_PLANNER_SPACES_PROGRAM_SPACE_MODEL_INTERNAL_H
#define PLIM_PLANNER_SPACES_PROGRAM_SPACE_MODEL_INTERNAL_H

#include "planner/spaces/program/space_model.h"

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
