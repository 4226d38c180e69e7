/* Tuning constants of planner/bound, in one table. Only files of this folder include it.
 *
 * A row has the value, what it counts and where it counts. "Measured" cites the row of docs/experiments.md that set the
 * value; the others were set by trial on random layers of 100 to 10,000 ops. *Work* is elementary operations, about
 * 10^9 a second on any machine.
 * What depends on a value: bounds, and the plans that the solutions suggest. Proofs do not: a wrong value costs
 * sharpness or time, never truth. */
#ifndef PLIM_PLANNER_BOUND_BOUND_TUNING_H
#define PLIM_PLANNER_BOUND_BOUND_TUNING_H

#include <stdint.h>

enum { PLIM_BLOCK_PASSES = 2 };

static const struct plim_bound_tuning {
  struct {
    int32_t packing_rounds, bound_work, search_work_min, search_work_an_op, brief_percent, tries, tries_long;
  } cut;
  struct {
    int32_t root_percent, last_part, ascent_ops, ascent_percent, ascent_percent_long, rounding_percent;
  } solve;
  struct {
    int32_t rows, dictionary, pivots, pivots_an_entry;
  } program;
  struct {
    int32_t cuts, rows_a_cut;
    double share[PLIM_BLOCK_PASSES], free_below;
  } block;
  struct {
    int32_t moves_a_round, rows_a_round, cut_step, idle_rounds, rounds_left, halvings, entries, misses;
    double average, violated_above, gain, target, stride_first, stride_min, stride_longer, stride_shorter;
  } volume;
  struct {
    int32_t rows_a_round, always_asked, seldom_asked;
  } separate;
  struct {
    int32_t rounds_root, rounds, nodes_a_program, wait_part;
    double fractional, tolerance, cutoff_part, gain_min, rounded_up;
  } node;
  struct {
    int32_t shift_max, shift_min;
    double too_large;
  } certificate;
  struct {
    double whole, nothing;
  } flow;
  struct {
    double zero, tight;
  } lp;
} bound_tuning = {
    .cut =
        {
            .packing_rounds = 8,          /* rounds of packing of a suggested plan */
            .bound_work = 100000000,      /* work for a bound alone */
            .search_work_min = 300000000, /* work for the search's bound, at least */
            .search_work_an_op = 300000,  /* and work for each op */
            .brief_percent = 50,          /* of both with the option brief, up to ascent_ops ops. Measured: brief */
            .tries = 8,                   /* smaller budgets until a plan fits, each with half of the work left */
            .tries_long = 1,              /* the same in a long graph, where each takes seconds */
        },
    .solve =
        {
            .root_percent = 60,        /* percent of the work in a long graph that is for the root, before rounding */
            .last_part = 20,           /* one part in so many is kept to remove columns from the best solution */
            .ascent_ops = 800,         /* ops from which multipliers rise before the program. Measured: 8a5a7764 */
            .ascent_percent = 25,      /* percent of the work for that */
            .ascent_percent_long = 70, /* the same in a long graph */
            .rounding_percent = 30,    /* percent of the work left for a solution from a point, in a graph not long */
        },
    .program =
        {
            .rows = 400,           /* rows of the program, at most */
            .dictionary = 4000000, /* numbers of its dictionary, at most */
            .pivots = 200,         /* pivots of one solution, at most, ... */
            .pivots_an_entry = 20, /* ... and so many more for each row and each column that has entered */
        },
    .block =
        {
            .cuts = 4,          /* cuts that blocking visits */
            .rows_a_cut = 12,   /* rows of one cut */
            .share = {0.5, 1},  /* by pass, share of a multiplier's rise: so that the first cut does not take all */
            .free_below = 1e-9, /* share of its cost below which a column is free */
        },
    .volume =
        {
            .moves_a_round = 60,    /* moves between two looks at the cuts */
            .rows_a_round = 32,     /* rows that a look adds */
            .cut_step = 7919,       /* distance of cuts that are looked at in succession; a prime, so that all are */
            .idle_rounds = 16,      /* rounds without a gain before the end */
            .rounds_left = 2,       /* of them, where no cut is violated any more */
            .halvings = 8,          /* of the multipliers of another budget, to find their scale */
            .entries = 12000000,    /* of all rows: 150 MB */
            .misses = 10,           /* moves without a gain after which the stride is shortened */
            .average = 0.1,         /* weight of a new point in the average */
            .violated_above = 0.02, /* share of its excess by which a cut must be violated to give a row */
            .gain = 1.0001,         /* factor of the bound that counts as a gain */
            .target = 1.05,         /* a move aims at so many times the best bound */
            .stride_first = 0.2,    /* factor of the length of the first move */
            .stride_min = 1e-3,     /* the least factor */
            .stride_longer = 1.1,   /* factor after a gain */
            .stride_shorter = 0.66, /* factor after `misses` moves */
        },
    .separate =
        {
            .rows_a_round = 32, /* rows added at once */
            .always_asked = 3,  /* satisfied points in succession after which a cut is asked seldom: ... */
            .seldom_asked = 16, /* ... once in so many passes */
        },
    .node =
        {
            .rounds_root = 200,     /* rounds of rows at the root */
            .rounds = 6,            /* the same at other nodes */
            .nodes_a_program = 200, /* nodes after which the program is built anew */
            .wait_part = 4,         /* a dive stops one part in so many of the way from the bound to the cutoff */
            .fractional = 1e-6,     /* distance from 0 and 1 of a value that is branched on */
            .tolerance = 1e-6,      /* share of its excess by which a cut must be violated */
            .cutoff_part = 0.01,    /* ns above the cutoff at which the program ends: against rounding errors */
            .gain_min = 1e-3,       /* expected rise of the bound by a branch, at least: no product of two is 0 */
            .rounded_up = 0.5,      /* a value of an integral point above this counts as 1 */
        },
    .certificate =
        {
            .shift_max = 30,   /* bits of multipliers after the point; fewer where sums would overflow ... */
            .shift_min = 4,    /* ... but at least so many */
            .too_large = 1e18, /* below 2^60: the sum of two such numbers does not overflow */
        },
    .flow = {.whole = 1 - 1e-9, .nothing = 1e-9}, /* values that count as 1 and as 0 */
    .lp = {.zero = 1e-9, .tight = 1e-7},          /* tolerances of the simplex method */
};

#endif
