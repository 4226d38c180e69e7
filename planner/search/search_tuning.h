/* Tuning constants of planner/search, in one table. Only files of this folder include it.
 *
 * A field says what it counts and where; the table below it has the values. "Measured" cites the row of
 * docs/experiments.md that set the value; values without it were set by trial on generated graphs of 100 to 2,000 ops,
 * and no measurement of them alone is kept.
 * What depends on a value: plans. tests/golden/plans.txt and the plan fronts on disk are made anew. Sizes of arrays are
 * enumerators beside the array. */
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
    int32_t moves_an_op;      /* moves for each op of both rounds together, without limits */
    int32_t rounds;           /* rounds; one alone sometimes ends with a much slower plan */
    int32_t third_round;      /* moves of the third round, in those of the first two. Measured: 3067e64d */
    int32_t far_percent;      /* points of overhead above the bound from which the third round follows */
    int32_t min_memory_tries; /* min-memory searches with other seeds before a refusal, without a time limit */
    int32_t covering_rounds;  /* rounds of covering where annealing has found no plan, or before a brief search */
    int32_t near_permille;    /* of keep-all's time: a plan so near to its bound is not covered in a brief search */
    int32_t near_part;        /* a plan is near the budget up to one part in so many above it */
    int32_t round_factor;     /* with a time limit each round takes so many times as long as the one before */
  } portfolio;
  struct {
    int32_t moves_an_op;  /* moves for each op of the first two rounds together, and of each that follows */
    int32_t far_percent;  /* points of overhead above the bound from which further rounds follow, ... */
    int32_t gain_percent; /* ... until one gains fewer points than that. Measured: 3e96c985 */
  } brief;
  struct {
    int32_t packing_rounds_quick;   /* rounds of packing while an annealing run goes on */
    int32_t packing_rounds_strong;  /* rounds of packing at its end */
    int32_t packing_rounds_hard;    /* nearly all exact search. Measured: d7cac5a0, 1c834ad7 */
    int32_t hard_part;              /* it is tried where the excess is at most one part in so many of the budget */
    int32_t moves_between_packings; /* moves for each op between two packings that were too large */
    int32_t compare_percent;        /* percent of evictions that take the cheaper a byte of two items */
    int32_t limit_part;             /* the peak's limit falls by at most one part in so many of the budget a run */
    double cold;                    /* last temperature, in times of an average op */
    double weight;                  /* first weight of bytes above the limit */
    double pace;                    /* share by which the weight adapts, per move of each op */
  } searcher;
  struct {
    int32_t moves_a_look; /* moves between two looks at clock, cancel and weight */
    double weight_min;    /* of bytes above the limit, at least */
    double weight_max;    /* and at most */
    double run_cost;      /* points of overhead that a run costs beside its time: useless runs disappear */
    double peak_cost;     /* points of overhead for a peak of twice the limit, times the weight */
    double area_cost;     /* the same for each op where live bytes are twice the limit, in parts of all ops */
  } anneal;
  struct {
    int32_t neighbours;                /* runs next to each other that one move shifts or deletes, at most */
    int32_t short_places;              /* places of a short shift */
    int32_t long_places;               /* places of a long one */
    int32_t short_percent;             /* percent of shifts that are short */
    int32_t snug_percent;              /* percent that go where the repeat keeps few bytes alive */
    int32_t output_percent;            /* percent of those that go to the first reader, not to one of an input */
    int32_t neighbours_percent;        /* percent of shifts that move neighbours too */
    int32_t delete_percent;            /* percent of deletions that take a repeat's feeders, not its neighbours */
    int32_t delete_neighbours_percent; /* percent of the latter that take more than one run */
    int32_t choice_runs;               /* runs above which an op does not change its numerics key */
    int32_t deletions[4];              /* repeats that an exchange removes, drawn evenly */
  } moves;
  struct {
    int32_t tries;                    /* items drawn before the move gives up */
    int32_t early_percent;            /* percent of repeats that stand anywhere before the next reader, not at it */
    int32_t above_percent;            /* percent of evictions that are where live bytes exceed the limit */
    int32_t repeat_inputs_percent[4]; /* percent of inputs that are recomputed too, drawn evenly */
  } evict;
  struct {
    int32_t short_places;        /* places of a short move of one first run */
    int32_t group_long_places;   /* places of a group's long move */
    int32_t group_short_places;  /* places of its short one */
    int32_t short_percent;       /* percent of single moves that are short; others end anywhere in the window */
    int32_t group_short_percent; /* percent of groups' moves that are short. Measured: 54347939 */
    int32_t backwards_percent;   /* percent of groups that move backwards */
  } first;
  struct {
    int32_t work_a_change; /* ns that trying one change takes, about: for deadlines */
  } polish;
  struct {
    int32_t packing_rounds_quick;  /* rounds of packing of a new lowest peak */
    int32_t packing_rounds_strong; /* rounds of packing of the best, seldom */
    int32_t moves_between_strong;  /* moves for each op between two of those */
    int32_t moves_an_op;           /* moves for each op ... */
    int32_t moves_min;             /* ... plus so many moves ... */
    int32_t moves_max;             /* ... up to so many moves */
    int32_t moves_percent;         /* percent of the time limit for moves */
    int32_t all_percent;           /* percent of it for moves and packing */
    double hot;                    /* first temperature, in points of overhead */
    double cold;                   /* last temperature */
    double weight;                 /* first weight of bytes above the limit */
  } keep_all;
  struct {
    int32_t packing_rounds_quick;   /* rounds of packing while a run goes on */
    int32_t packing_rounds_strong;  /* rounds of packing at its end */
    int32_t moves_between_packings; /* moves for each op between two packings */
    int32_t runs;                   /* annealing runs */
    int32_t quick_runs;             /* annealing runs with incumbent->task.is_quick */
    int32_t packing_runs;           /* the last runs, which pack what they meet */
    int32_t moves_an_op;            /* moves of a run for each op ... */
    int32_t moves_min;              /* ... plus so many moves ... */
    int32_t moves_max;              /* ... up to so many moves */
    int32_t moves_min_asked;        /* moves of a run, at least, of iterations asked for: fewer find much less */
    int32_t covering_part;          /* covering lowers the peak by one part in so many. Measured: 16699c71 */
    int32_t limit_part;             /* the limit is one part in so many of the way from peak to bound */
    int32_t seeds;                  /* random streams for each seed; at least `runs` */
    int32_t runs_an_op;             /* runs of each op that there is room for */
    int32_t share[PLIM_MOVES];      /* shares of the moves, as in a round */
    double cold;                    /* last temperature, in points of overhead */
    double order_hot;               /* first temperature from program order */
    double order_weight;            /* weight of bytes from there: large, since the peak has far to go down */
    double order_time_weight;       /* weight of overhead from there */
    double checkpoints_hot;         /* first temperature from checkpoints: high, nearly all is recomputed there */
    double checkpoints_weight;      /* weight of bytes from there */
    double checkpoints_time_weight; /* weight of overhead from there */
  } min_memory;
  struct {
    int32_t work_a_read; /* ns for each operand of a run, about: for deadlines */
    int32_t chain_depth; /* levels of inputs of inputs that are recomputed; farther back nothing is gained */
  } walk;
  struct {
    int32_t first_percent;      /* percent of the time that are over when the first round ends, at the latest */
    int32_t packing_rounds;     /* rounds of packing */
    int32_t runs_an_op;         /* runs of each op that there is room for */
    int32_t walks;              /* walks of a round, at most */
    int32_t below_percent;      /* percent of the goal by which a walk may aim below it */
    int32_t below_area_percent; /* percent of the first area: with less left a walk aims below the goal */
    int32_t diverged_percent;   /* percent of the first area: more than this and growing ends a round */
    int32_t near_bulk;          /* divergence is looked for below so many times the bulk rate */
    int32_t missed_rounds;      /* rounds in succession that end above the goal; then covering ends */
    int32_t few_changes;        /* below one change in so many runs the rate falls twice as fast */
    double rate_factor;         /* factor of the rate from walk to walk */
    double first_keep_share;    /* share of the rate that a repeat must gain to stay; 0 keeps thrice as many */
    double keep_share;          /* the same in later rounds */
    double noise;               /* share by which rates of single repeats differ, in later rounds */
    double restart_factor;      /* later rounds begin at so many times the bulk rate */
    double bulk_left;           /* share of the excess that is left at the bulk rate */
  } covering;
  struct {
    int32_t thresholds; /* sets of checkpoints that are tried */
  } start_checkpoints;
} search_tuning = {
    .portfolio = {.moves_an_op = 4000,
                  .rounds = 2,
                  .third_round = 2,
                  .far_percent = 5,
                  .min_memory_tries = 2,
                  .covering_rounds = 4,
                  .near_permille = 5,
                  .near_part = 32,
                  .round_factor = 4},
    .brief = {.moves_an_op = 250, .far_percent = 4, .gain_percent = 1},
    .searcher = {.packing_rounds_quick = 4,
                 .packing_rounds_strong = 24,
                 .packing_rounds_hard = 180,
                 .hard_part = 12,
                 .moves_between_packings = 10,
                 .compare_percent = 60,
                 .limit_part = 20,
                 .cold = 0.006,
                 .weight = 0.3,
                 .pace = 0.1},
    .anneal = {.moves_a_look = 64,
               .weight_min = 0.001,
               .weight_max = 10,
               .run_cost = 1e-6,
               .peak_cost = 200,
               .area_cost = 2000},
    .moves = {.neighbours = 6,
              .short_places = 8,
              .long_places = 80,
              .short_percent = 70,
              .snug_percent = 40,
              .output_percent = 50,
              .neighbours_percent = 30,
              .delete_percent = 50,
              .delete_neighbours_percent = 40,
              .choice_runs = 8,
              .deletions = {1, 1, 2, 5}},
    .evict = {.tries = 24, .early_percent = 25, .above_percent = 80, .repeat_inputs_percent = {0, 0, 40, 80}},
    .first = {.short_places = 8,
              .group_long_places = 120,
              .group_short_places = 20,
              .short_percent = 50,
              .group_short_percent = 60,
              .backwards_percent = 50},
    .polish = {.work_a_change = 500},
    .keep_all = {.packing_rounds_quick = 4,
                 .packing_rounds_strong = 24,
                 .moves_between_strong = 40,
                 .moves_an_op = 300,
                 .moves_min = 2000,
                 .moves_max = 3002000,
                 .moves_percent = 10,
                 .all_percent = 15,
                 .hot = 2,
                 .cold = 0.01,
                 .weight = 1},
    .min_memory = {.packing_rounds_quick = 8,
                   .packing_rounds_strong = 96,
                   .moves_between_packings = 40,
                   .runs = 9,
                   .quick_runs = 4,
                   .packing_runs = 2,
                   .moves_an_op = 600,
                   .moves_min = 4000,
                   .moves_max = 150000,
                   .moves_min_asked = 40000,
                   .covering_part = 8,
                   .limit_part = 32,
                   .seeds = 16,
                   .runs_an_op = 10,
                   .share = {25, 15, 15, 10, 10, 25, 5, 0},
                   .cold = 0.002,
                   .order_hot = 0.5,
                   .order_weight = 4,
                   .order_time_weight = 0.05,
                   .checkpoints_hot = 3,
                   .checkpoints_weight = 1,
                   .checkpoints_time_weight = 0.005},
    .walk = {.work_a_read = 100, .chain_depth = 6},
    .covering = {.first_percent = 85,
                 .packing_rounds = 8,
                 .runs_an_op = 8,
                 .walks = 200,
                 .below_percent = 3,
                 .below_area_percent = 2,
                 .diverged_percent = 10,
                 .near_bulk = 4,
                 .missed_rounds = 2,
                 .few_changes = 1000,
                 .rate_factor = 0.8,
                 .first_keep_share = 0.3,
                 .keep_share = 0.7,
                 .noise = 0.3,
                 .restart_factor = 8,
                 .bulk_left = 0.1},
    .start_checkpoints = {.thresholds = 7},
};

#endif
