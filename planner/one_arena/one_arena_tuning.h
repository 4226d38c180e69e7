/* Tuning constants of planner/one_arena, in one table. Only files of this folder include it. They were set by trial.
 *
 * What depends on a value: smallest budgets and refusals; the last but one changes first plans over spaces. */
#ifndef PLIM_PLANNER_ONE_ARENA_ONE_ARENA_TUNING_H
#define PLIM_PLANNER_ONE_ARENA_ONE_ARENA_TUNING_H

#include <stdint.h>

static const struct plim_one_arena_tuning {
  int32_t floor_percent, conflict_work, moves_an_op, near_part;
} one_arena_tuning = {
    .floor_percent = 25,       /* percent of the time limit of a range of budgets that is for the smallest one */
    .conflict_work = 30000000, /* nodes x boxes of the search for buffers that cannot lie together */
    .moves_an_op = 4, /* moves for each op of a plan for spaces without a time limit: annealing follows there */
    .near_part = 32,  /* a smallest plan is looked for again up to one part in so many above the budget */
};

#endif
