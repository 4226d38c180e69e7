/* Tuning constants of planner/bound, in one table. Only files of this folder include it.
 *
 * A field says what it counts and where; the table below it has the values. "Measured" cites the row of
 * docs/experiments.md that set the value; the others were set by trial on random layers of 100 to 10,000 ops. *Work* is
 * elementary operations, about 10^9 a second on any machine.
 * What depends on a value: bounds, and the plans that the solutions suggest. Proofs do not: a wrong value costs
 * sharpness or time, never truth. */
#ifndef PLIM_PLANNER_BOUND_BOUND_TUNING_H
#define PLIM_PLANNER_BOUND_BOUND_TUNING_H

#include <stdint.h>

enum { PLIM_BLOCK_PASSES = 2 };

static const struct plim_bound_tuning {
  struct {
    int32_t packing_rounds;    /* rounds of packing of a suggested plan */
    int32_t bound_work;        /* work for a bound alone */
    int32_t search_work_min;   /* work for the search's bound, at least */
    int32_t search_work_an_op; /* and work for each op */
    int32_t brief_percent;     /* of both with the option brief, up to ascent_ops ops. Measured: brief */
    int32_t tries;             /* smaller budgets until a plan fits, each with half of the work left */
    int32_t tries_long;        /* the same in a long graph, where each takes seconds */
  } cut;
  struct {
    int32_t root_percent;        /* percent of the work in a long graph that is for the root, before rounding */
    int32_t last_part;           /* one part in so many is kept to remove columns from the best solution */
    int32_t ascent_ops;          /* ops from which multipliers rise before the program. Measured: 8a5a7764 */
    int32_t ascent_percent;      /* percent of the work for that */
    int32_t ascent_percent_long; /* the same in a long graph */
    int32_t rounding_percent;    /* percent of the work left for a solution from a point, in a graph not long */
  } solve;
  struct {
    int32_t rows;            /* rows of the program, at most */
    int32_t dictionary;      /* numbers of its dictionary, at most */
    int32_t pivots;          /* pivots of one solution, at most, ... */
    int32_t pivots_an_entry; /* ... and so many more for each row and each column that has entered */
  } program;
  struct {
    int32_t cuts;                    /* cuts that blocking visits */
    int32_t rows_a_cut;              /* rows of one cut */
    double share[PLIM_BLOCK_PASSES]; /* by pass, of a multiplier's rise: so that the first cut does not take all */
    double free_below;               /* share of its cost below which a column is free */
  } block;
  struct {
    int32_t moves_a_round; /* moves between two looks at the cuts */
    int32_t rows_a_round;  /* rows that a look adds */
    int32_t cut_step;      /* distance of cuts that are looked at in succession; a prime, so that all are */
    int32_t idle_rounds;   /* rounds without a gain before the end */
    int32_t rounds_left;   /* of them, where no cut is violated any more */
    int32_t halvings;      /* of the multipliers of another budget, to find their scale */
    int32_t entries;       /* of all rows: 150 MB */
    int32_t misses;        /* moves without a gain after which the stride is shortened */
    double average;        /* weight of a new point in the average */
    double violated_above; /* share of its excess by which a cut must be violated to give a row */
    double gain;           /* factor of the bound that counts as a gain */
    double target;         /* a move aims at so many times the best bound */
    double stride_first;   /* factor of the length of the first move */
    double stride_min;     /* the least factor */
    double stride_longer;  /* factor after a gain */
    double stride_shorter; /* factor after `misses` moves */
  } volume;
  struct {
    int32_t rows_a_round; /* rows added at once */
    int32_t always_asked; /* satisfied points in succession after which a cut is asked seldom: ... */
    int32_t seldom_asked; /* ... once in so many passes */
  } separate;
  struct {
    int32_t rounds_root;     /* rounds of rows at the root */
    int32_t rounds;          /* the same at other nodes */
    int32_t nodes_a_program; /* nodes after which the program is built anew */
    int32_t wait_part;       /* a dive stops one part in so many of the way from the bound to the cutoff */
    double fractional;       /* distance from 0 and 1 of a value that is branched on */
    double tolerance;        /* share of its excess by which a cut must be violated */
    double cutoff_part;      /* ns above the cutoff at which the program ends: against rounding errors */
    double gain_min;         /* expected rise of the bound by a branch, at least: no product of two is 0 */
    double rounded_up;       /* a value of an integral point above this counts as 1 */
  } node;
  struct {
    int32_t shift_max; /* bits of multipliers after the point; fewer where sums would overflow ... */
    int32_t shift_min; /* ... but at least so many */
    double too_large;  /* below 2^60: the sum of two such numbers does not overflow */
  } certificate;
  struct {
    double whole;
    double nothing;
  } flow; /* values that count as 1 and as 0 */
  struct {
    double zero;
    double tight;
  } lp; /* tolerances of the simplex method */
} bound_tuning = {
    .cut = {.packing_rounds = 8,
            .bound_work = 100000000,
            .search_work_min = 300000000,
            .search_work_an_op = 300000,
            .brief_percent = 50,
            .tries = 8,
            .tries_long = 1},
    .solve = {.root_percent = 60,
              .last_part = 20,
              .ascent_ops = 800,
              .ascent_percent = 25,
              .ascent_percent_long = 70,
              .rounding_percent = 30},
    .program = {.rows = 400, .dictionary = 4000000, .pivots = 200, .pivots_an_entry = 20},
    .block = {.cuts = 4, .rows_a_cut = 12, .share = {0.5, 1}, .free_below = 1e-9},
    .volume = {.moves_a_round = 60,
               .rows_a_round = 32,
               .cut_step = 7919,
               .idle_rounds = 16,
               .rounds_left = 2,
               .halvings = 8,
               .entries = 12000000,
               .misses = 10,
               .average = 0.1,
               .violated_above = 0.02,
               .gain = 1.0001,
               .target = 1.05,
               .stride_first = 0.2,
               .stride_min = 1e-3,
               .stride_longer = 1.1,
               .stride_shorter = 0.66},
    .separate = {.rows_a_round = 32, .always_asked = 3, .seldom_asked = 16},
    .node = {.rounds_root = 200,
             .rounds = 6,
             .nodes_a_program = 200,
             .wait_part = 4,
             .fractional = 1e-6,
             .tolerance = 1e-6,
             .cutoff_part = 0.01,
             .gain_min = 1e-3,
             .rounded_up = 0.5},
    .certificate = {.shift_max = 30, .shift_min = 4, .too_large = 1e18},
    .flow = {.whole = 1 - 1e-9, .nothing = 1e-9},
    .lp = {.zero = 1e-9, .tight = 1e-7},
};

#endif
