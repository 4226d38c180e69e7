/* Tuning constants of planner/one_arena, in one table. Only files of this folder include it. */
#ifndef PLIM_PLANNER_ONE_ARENA_ONE_ARENA_TUNING_H
#define PLIM_PLANNER_ONE_ARENA_ONE_ARENA_TUNING_H

#include <stdint.h>

static const struct plim_one_arena_tuning {
  int32_t floor_percent, conflict_work, moves_an_op, near_part;
} one_arena_tuning = {
    .floor_percent = 25,       /* of a time limit for a range of budgets: for the smallest one */
    .conflict_work = 30000000, /* of exact search for buffers that cannot lie together: nodes times boxes */
    .moves_an_op = 4,          /* of a plan for spaces without a time limit: annealing over spaces follows */
    .near_part = 32,           /* of the budget, up to which above it fewest bytes are looked for once more */
};

#endif
