/* Tuning constants of planner/exact for graphs in one arena, in one table. Only files of this folder include it.
 *
 * A field says what it counts and where; the table below it has the values. "Measured" cites the row of
 * docs/experiments.md that set the value; the others were set by trial on random layers of 100 ops.
 * What depends on a value: how soon a plan is found or proved. Proofs do not depend on this table. */
#ifndef PLIM_PLANNER_EXACT_EXACT_TUNING_H
#define PLIM_PLANNER_EXACT_EXACT_TUNING_H

#include <stdint.h>

enum { PLIM_REPAIR_TRIALS = 24 /* evictions that a round of repair tries: those of the largest copies */ };

static const struct plim_exact_tuning {
  struct {
    int32_t restart_conflicts; /* conflicts of a restart, times the Luby number. Measured: 2ae90f9f */
    int32_t clauses_min;       /* clauses from which the worse half is forgotten */
    int32_t clauses_part;      /* that number grows by one part in so many each time */
    int32_t near_conflicts;    /* conflicts of the search in one neighbourhood */
    int32_t
        scattered_percent; /* percent of neighbourhoods that are repeats drawn one by one; the others are some stages */
    int32_t scattered_min; /* percent of repeats that are drawn, beside the width: small graphs have some */
    int32_t narrow_percent;       /* percent of the latter that also fix what is not repeated outside those stages */
    int32_t by_conflicts_percent; /* percent of neighbourhoods that decide by conflicts; the others decide by bytes */
    double input_time;            /* share of an input's time that counts for a repeat that needs it */
    double activity_growth;       /* factor from conflict to conflict of what one adds to its variables' activity */
    double clause_growth;         /* the same factor for the activity of clauses */
    double width_first;           /* stages of the first neighbourhood, as a share of all stages */
    double width_min;             /* the least share */
    double width_max;             /* the largest share */
    double wider;                 /* factor of the share after a neighbourhood that was searched to its end */
    double narrower;              /* the same after one that was not */
    double width_spread;          /* a width is drawn from this to 1 + this times the share */
  } search;
  struct {
    int32_t columns; /* columns of Checkmate's program, at most: larger ones are not given to a solver */
    int32_t terms;   /* terms of its rows, at most */
  } model;
} exact_tuning = {
    .search = {.restart_conflicts = 64,
               .clauses_min = 4000,
               .clauses_part = 20,
               .near_conflicts = 60,
               .scattered_percent = 40,
               .scattered_min = 5,
               .narrow_percent = 50,
               .by_conflicts_percent = 30,
               .input_time = 0.5,
               .activity_growth = 1.05,
               .clause_growth = 1.001,
               .width_first = 0.15,
               .width_min = 0.01,
               .width_max = 0.5,
               .wider = 1.05,
               .narrower = 0.98,
               .width_spread = 0.3},
    .model = {.columns = 2000000, .terms = 20000000},
};

#endif
