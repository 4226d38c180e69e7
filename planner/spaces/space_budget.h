/* Budgets by space: as people write them, and what they leave room for. */
#ifndef PLIM_PLANNER_SPACES_SPACE_BUDGET_H
#define PLIM_PLANNER_SPACES_SPACE_BUDGET_H

#include "planner/spaces/space_problem.h"

/* "ram=64MiB,sd=1GiB", percentages of keep-all bytes, or one size without a name for the first device's space.
 *   whole   bytes that percentages are of
 *   budget  [platform->n_spaces]  in out  those that are not named stay
 * PLIM_EUSAGE, with the spaces that there are, for one that is not there, and for one that is named twice. */
PLIM_MUST_USE plim_status plim_space_budget_parse(const plim_platform *platform, const char *text, int64_t whole,
                                                  int64_t *budget);

/* 1 when the device runs the node, and its inputs, output and workspace fit together where the device computes. */
int plim_space_has_room(const plim_space_problem *problem, const int64_t *budget, int32_t node, int32_t device);

#endif
