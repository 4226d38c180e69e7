/* Tuning constants of the functions of planner.h, in one table. Only files of planner/ itself include it. */
#ifndef PLIM_PLANNER_MAKE_TUNING_H
#define PLIM_PLANNER_MAKE_TUNING_H

#include <stdint.h>

static const struct plim_make_tuning {
  int32_t floor_percent, conflict_work;
} tuning = {
    .floor_percent = 25,       /* of a time limit for a range of budgets: for the smallest one */
    .conflict_work = 30000000, /* of exact search for buffers that cannot lie together: nodes times boxes */
};

#endif
