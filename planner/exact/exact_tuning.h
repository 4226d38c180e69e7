/* Tuning constants of planner/exact for graphs in one arena, in one table. Only files of this folder include it.
 *
 * A row has the value, what it counts and where it counts. "Measured" cites the row of docs/experiments.md that set the
 * value; the others were set by trial on random layers of 100 ops.
 * What depends on a value: how soon a plan is found or proved. Proofs do not depend on this table. */
#ifndef PLIM_PLANNER_EXACT_EXACT_TUNING_H
#define PLIM_PLANNER_EXACT_EXACT_TUNING_H

#include <stdint.h>

enum { PLIM_REPAIR_TRIALS = 24 /* evictions that a round of repair tries: those of the largest copies */ };

static const struct plim_exact_tuning {
  struct {
    int32_t restart_conflicts, clauses_min, near_conflicts, clauses_part;
    int32_t scattered_percent, scattered_min, narrow_percent, by_conflicts_percent;
    double input_time, activity_growth, clause_growth, width_first, width_min, width_max, wider, narrower, width_spread;
  } search;
  struct {
    int32_t columns, terms;
  } model;
} exact_tuning = {
    .search =
        {
            .restart_conflicts = 64, /* conflicts of a restart, times the Luby number. Measured: 2ae90f9f */
            .clauses_min = 4000,     /* clauses from which the worse half is forgotten */
            .clauses_part = 20,      /* that number grows by one part in so many each time */
            .near_conflicts = 60,    /* conflicts of the search in one neighbourhood */
            .scattered_percent = 40, /* of neighbourhoods are repeats drawn one by one, the others some stages */
            .scattered_min = 5,      /* percent of repeats that are drawn, beside the width: small graphs have some */
            .narrow_percent = 50,    /* of the latter also fix what is not repeated outside those stages */
            .by_conflicts_percent = 30, /* of neighbourhoods decide by conflicts, the others by bytes */
            .input_time = 0.5,          /* share of an input's time that counts for a repeat that needs it */
            .activity_growth = 1.05, /* factor from conflict to conflict of what one adds to its variables' activity */
            .clause_growth = 1.001,  /* the same of clauses */
            .width_first = 0.15,     /* stages of the first neighbourhood, as a share of all stages */
            .width_min = 0.01,       /* the least share */
            .width_max = 0.5,        /* the largest share */
            .wider = 1.05,           /* factor of the share after a neighbourhood that was searched to its end */
            .narrower = 0.98,        /* and after one that was not */
            .width_spread = 0.3,     /* a width is drawn from this to 1 + this times the share */
        },
    .model =
        {
            .columns = 2000000, /* of Checkmate's program, at most: larger ones are not given to a solver */
            .terms = 20000000,  /* terms of its rows, at most */
        },
};

#endif
