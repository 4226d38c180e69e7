/* Tuning constants of planner/search, in one table. Only files of this folder include it.
 *
 * A row has the value, what it counts and where it counts. "Measured" cites the row of docs/experiments.md that set the
 * value; rows without it were set by trial on generated graphs of 100 to 2,000 ops, and no measurement of them alone is
 * kept. What depends on a value: plans. tests/golden/plans.txt and the plan fronts on disk are made anew.
 * Sizes of arrays are enumerators beside the array. */
#ifndef PLIM_PLANNER_SEARCH_SEARCH_TUNING_H
#define PLIM_PLANNER_SEARCH_SEARCH_TUNING_H

#include "planner/search/moves.h"
#include "planner/search/search_internal.h"

/* ---- the annealing runs of a round ----
 * The columns are percent of the round's moves, temperature, start, and shares of the moves EVICT, DELETE, EXCHANGE,
 * SHIFT, INSERT, FIRST, CHOICE, GROUP. Measured: a share times 2.5 changes the mean overhead by 1 % at most. */
static const plim_annealing short_round[] = {
    {30, 1, PLIM_START_GIVEN, {25, 15, 15, 10, 10, 20, 5, 10}},
    {5, 0.5, PLIM_START_BEST_WITHIN, {35, 20, 10, 15, 0, 20, 5, 5}},
    {30, 3, PLIM_START_GIVEN, {20, 15, 10, 10, 35, 15, 5, 15}},
    {5, 0.5, PLIM_START_BEST_WITHIN, {25, 15, 15, 10, 10, 20, 5, 10}},
    {20, 1, PLIM_START_BEST, {25, 15, 15, 10, 10, 20, 5, 10}},
    {10, 0.3, PLIM_START_BEST, {25, 15, 15, 10, 10, 25, 5, 5}},
};
/* For a long graph (PLIM_LONG_OPS), which gets few moves for each op: low temperatures stay near the start. */
static const plim_annealing long_round[] = {
    {45, 0.1, PLIM_START_GIVEN, {25, 15, 15, 10, 10, 20, 5, 10}},
    {45, 0.1, PLIM_START_BEST, {25, 15, 15, 10, 10, 20, 5, 10}},
    {10, 0.05, PLIM_START_BEST, {25, 15, 15, 10, 10, 20, 5, 10}},
};

static const struct plim_search_tuning {
  struct {
    int32_t moves_an_op, rounds, third_round, far_percent, min_memory_tries, covering_rounds, near_permille, near_part,
        round_factor;
  } portfolio;
  struct {
    int32_t moves_an_op, far_percent, gain_percent;
  } brief;
  struct {
    int32_t packing_rounds_quick, packing_rounds_strong, packing_rounds_hard, hard_part, moves_between_packings,
        compare_percent;
    int32_t neighbourhoods, neighbourhoods_with_choices, limit_part;
    double cold, weight, pace;
  } searcher;
  struct {
    int32_t moves_a_look;
    double weight_min, weight_max, run_cost, peak_cost, area_cost;
  } anneal;
  struct {
    int32_t neighbours, short_places, long_places, short_percent, snug_percent, output_percent, neighbours_percent,
        delete_percent;
    int32_t delete_neighbours_percent, choice_runs, deletions[4];
  } moves;
  struct {
    int32_t tries, early_percent, above_percent, repeat_inputs_percent[4];
  } evict;
  struct {
    int32_t short_places, group_short_places, group_long_places, short_percent, group_short_percent, backwards_percent;
  } first;
  struct {
    int32_t repeats, feeders, nodes;
  } neighbourhood;
  struct {
    int32_t work_a_change;
  } polish;
  struct {
    int32_t packing_rounds_quick, packing_rounds_strong, moves_between_strong, moves_an_op, moves_min, moves_max;
    int32_t moves_percent, all_percent;
    double hot, cold, weight;
  } keep_all;
  struct {
    int32_t packing_rounds_quick, packing_rounds_strong, moves_between_packings, runs, quick_runs, packing_runs;
    int32_t moves_an_op, moves_min, moves_max, moves_min_asked, covering_part, limit_part, seeds, runs_an_op;
    int32_t share[PLIM_MOVES];
    double cold, order_hot, order_weight, order_time_weight, checkpoints_hot, checkpoints_weight,
        checkpoints_time_weight;
  } min_memory;
  struct {
    int32_t work_a_read, chain_depth;
  } walk;
  struct {
    int32_t first_percent, packing_rounds, runs_an_op, walks, below_percent, below_area_percent, diverged_percent,
        near_bulk;
    int32_t missed_rounds, few_changes;
    double rate_factor, first_keep_share, keep_share, noise, restart_factor, bulk_left;
  } covering;
  struct {
    int32_t thresholds;
  } start_checkpoints;
} search_tuning = {
    .portfolio =
        {
            .moves_an_op = 4000,   /* moves for each op of both rounds together, without limits */
            .rounds = 2,           /* rounds; one alone sometimes ends with a much slower plan */
            .third_round = 2,      /* moves of the third round, in those of the first two. Measured: 3067e64d */
            .far_percent = 5,      /* points of overhead above the bound from which the third round follows */
            .min_memory_tries = 2, /* min-memory searches with other seeds before a refusal, without a time limit */
            .covering_rounds = 4,  /* rounds of covering where annealing has found no plan, or before a brief search */
            .near_permille = 5, /* of keep-all's time: a plan so near to its bound is not covered in a brief search */
            .near_part = 32,    /* a plan is near the budget up to one part in so many above it */
            .round_factor = 4,  /* with a time limit each round takes so many times as long as the one before */
        },
    .brief =
        {
            .moves_an_op = 250, /* moves for each op of the first two rounds together, and of each that follows */
            .far_percent = 4,   /* points of overhead above the bound from which further rounds follow, ... */
            .gain_percent = 1,  /* ... until one gains fewer points than that. Measured: 3e96c985 */
        },
    .searcher =
        {
            .packing_rounds_quick = 4,   /* rounds of packing while an annealing run goes on */
            .packing_rounds_strong = 24, /* rounds of packing at its end */
            .packing_rounds_hard = 180,  /* nearly all exact search. Measured: d7cac5a0, 1c834ad7 */
            .hard_part = 12,             /* it is tried where the excess is at most one part in so many of the budget */
            .moves_between_packings = 10,        /* moves for each op between two packings that were too large */
            .compare_percent = 60,               /* percent of evictions that take the cheaper a byte of two items */
            .neighbourhoods = 40,                /* exact neighbourhoods after an annealing run. Measured: 0414173 */
            .neighbourhoods_with_choices = 1000, /* the same where ops have several variants */
            .limit_part = 20, /* the peak's limit falls by at most one part in so many of the budget a run */
            .cold = 0.006,    /* last temperature, in times of an average op */
            .weight = 0.3,    /* first weight of bytes above the limit */
            .pace = 0.1,      /* share by which the weight adapts, per move of each op */
        },
    .anneal =
        {
            .moves_a_look = 64,  /* moves between two looks at clock, cancel and weight */
            .weight_min = 0.001, /* of bytes above the limit, at least */
            .weight_max = 10,    /* and at most */
            .run_cost = 1e-6,    /* points of overhead that a run costs beside its time: useless runs disappear */
            .peak_cost = 200,    /* points of overhead for a peak of twice the limit, times the weight */
            .area_cost = 2000,   /* the same for each op where live bytes are twice the limit, in parts of all ops */
        },
    .moves =
        {
            .neighbours = 6,                 /* runs next to each other that one move shifts or deletes, at most */
            .short_places = 8,               /* places of a short shift */
            .long_places = 80,               /* places of a long one */
            .short_percent = 70,             /* percent of shifts that are short */
            .snug_percent = 40,              /* percent that go where the repeat keeps few bytes alive */
            .output_percent = 50,            /* percent of those that go to the first reader, not to one of an input */
            .neighbours_percent = 30,        /* percent of shifts that move neighbours too */
            .delete_percent = 50,            /* percent of deletions that take a repeat's feeders, not its neighbours */
            .delete_neighbours_percent = 40, /* percent of the latter that take more than one run */
            .choice_runs = 8,                /* runs above which an op does not change its numerics key */
            .deletions = {1, 1, 2, 5},       /* repeats that an exchange removes, drawn evenly */
        },
    .evict =
        {
            .tries = 24,         /* items drawn before the move gives up */
            .early_percent = 25, /* percent of repeats that stand anywhere before the next reader, not at it */
            .above_percent = 80, /* percent of evictions that are where live bytes exceed the limit */
            .repeat_inputs_percent = {0, 0, 40, 80}, /* percent of inputs that are recomputed too, drawn evenly */
        },
    .first =
        {
            .short_places = 8,         /* places of a short move of one first run */
            .group_long_places = 120,  /* places of a group's long move */
            .group_short_places = 20,  /* places of its short one */
            .short_percent = 50,       /* percent of single moves that are short; others end anywhere in the window */
            .group_short_percent = 60, /* percent of groups' moves that are short. Measured: 54347939 */
            .backwards_percent = 50,   /* percent of groups that move backwards */
        },
    .neighbourhood =
        {
            .repeats =
                8, /* intervals that are recomputed now, at most; with PLIM_NEIGHBOURHOOD_MAX, which is for all, no
                           * more than PLIM_TRACK_PART_CHANGES */
            .feeders = 4, /* places for producers of the items that are kept */
            .nodes = 400, /* nodes of branch and bound. Measured: 0414173 */
        },
    .polish = {.work_a_change = 500 /* ns that trying one change takes, about: for deadlines */},
    .keep_all =
        {
            .packing_rounds_quick = 4,   /* rounds of packing of a new lowest peak */
            .packing_rounds_strong = 24, /* rounds of packing of the best, seldom */
            .moves_between_strong = 40,  /* moves for each op between two of those */
            .moves_an_op = 300,          /* moves for each op ... */
            .moves_min = 2000,           /* ... plus so many moves ... */
            .moves_max = 3002000,        /* ... up to so many moves */
            .moves_percent = 10,         /* percent of the time limit for moves */
            .all_percent = 15,           /* percent of it for moves and packing */
            .hot = 2,                    /* first temperature, in points of overhead */
            .cold = 0.01,                /* last temperature */
            .weight = 1,                 /* first weight of bytes above the limit */
        },
    .min_memory =
        {
            .packing_rounds_quick = 8,    /* rounds of packing while a run goes on */
            .packing_rounds_strong = 96,  /* rounds of packing at its end */
            .moves_between_packings = 40, /* moves for each op between two packings */
            .runs = 9,                    /* annealing runs */
            .quick_runs = 4,              /* annealing runs with incumbent->task.is_quick */
            .packing_runs = 2,            /* the last runs, which pack what they meet */
            .moves_an_op = 600,           /* moves of a run for each op ... */
            .moves_min = 4000,            /* ... plus so many moves ... */
            .moves_max = 150000,          /* ... up to so many moves */
            .moves_min_asked = 40000,     /* moves of a run, at least, of iterations asked for: fewer find much less */
            .covering_part = 8,           /* covering lowers the peak by one part in so many. Measured: 16699c71 */
            .limit_part = 32,             /* the limit is one part in so many of the way from peak to bound */
            .seeds = 16,                  /* random streams for each seed; at least `runs` */
            .runs_an_op = 10,             /* runs of each op that there is room for */
            .share = {25, 15, 15, 10, 10, 25, 5, 0}, /* shares of the moves, as in a round */
            .cold = 0.002,                           /* last temperature, in points of overhead */
            .order_hot = 0.5,                        /* first temperature from program order */
            .order_weight = 4,         /* weight of bytes from there: large, since the peak has far to go down */
            .order_time_weight = 0.05, /* weight of overhead from there */
            .checkpoints_hot = 3,      /* first temperature from checkpoints: high, nearly all is recomputed there */
            .checkpoints_weight = 1,   /* weight of bytes from there */
            .checkpoints_time_weight = 0.005, /* weight of overhead from there */
        },
    .walk =
        {
            .work_a_read = 100, /* ns for each operand of a run, about: for deadlines */
            .chain_depth = 6,   /* levels of inputs of inputs that are recomputed; farther back nothing is gained */
        },
    .covering =
        {
            .first_percent = 85,     /* percent of the time that are over when the first round ends, at the latest */
            .packing_rounds = 8,     /* rounds of packing */
            .runs_an_op = 8,         /* runs of each op that there is room for */
            .walks = 200,            /* walks of a round, at most */
            .below_percent = 3,      /* percent of the goal by which a walk may aim below it */
            .below_area_percent = 2, /* percent of the first area: with less left a walk aims below the goal */
            .diverged_percent = 10,  /* percent of the first area: more than this and growing ends a round */
            .near_bulk = 4,          /* divergence is looked for below so many times the bulk rate */
            .missed_rounds = 2,      /* rounds in succession that end above the goal; then covering ends */
            .few_changes = 1000,     /* below one change in so many runs the rate falls twice as fast */
            .rate_factor = 0.8,      /* factor of the rate from walk to walk */
            .first_keep_share = 0.3, /* share of the rate that a repeat must gain to stay; 0 keeps thrice as many */
            .keep_share = 0.7,       /* the same in later rounds */
            .noise = 0.3,            /* share by which rates of single repeats differ, in later rounds */
            .restart_factor = 8,     /* later rounds begin at so many times the bulk rate */
            .bulk_left = 0.1,        /* share of the excess that is left at the bulk rate */
        },
    .start_checkpoints = {.thresholds = 7 /* sets of checkpoints that are tried */},
};

#endif
