/* Tuning constants of planner/strategies, in one table. Only files of this folder include it.
 *
 * A row has the value, what it counts and where it counts. "Measured" cites the row of docs/experiments.md that set the
 * value; the others were set by trial. What depends on a value: plans of that strategy. Sizes of arrays are
 * enumerators. */
#ifndef PLIM_PLANNER_STRATEGIES_STRATEGIES_TUNING_H
#define PLIM_PLANNER_STRATEGIES_STRATEGIES_TUNING_H

#include <stdint.h>

enum {
  PLIM_ROTOR_PLANS = 32,    /* memory sizes for which Rotor makes plans */
  PLIM_ROTOR_SMALLER = 3,   /* of them that are tried once more, smaller and polished */
  PLIM_REPLAY_BUDGETS = 6,  /* arena sizes in which program order is replayed */
  PLIM_LP_ROUND_MARGINS = 4 /* smaller budgets for which the relaxation is solved */
};

static const struct plim_strategies_tuning {
  struct {
    int32_t packing_rounds, covering_ops, covering_rounds, covering_percent, deep_percent, reserve_parts;
    int64_t deep_ns, reserve_ns;
  } search;
  struct {
    int32_t percent, moves_an_op, work, work_a_move;
  } cut;
  struct {
    int32_t packing_rounds, thresholds, thresholds_many, many_ops;
  } chen;
  struct {
    int32_t stages, units_max, units_min, table_work, table_parts, beyond_part, packing_rounds, runs_an_op, failures;
    int32_t smaller_percent[PLIM_ROTOR_SMALLER];
  } rotor;
  struct {
    int32_t ops, time_parts;
    int64_t budget_percent[PLIM_REPLAY_BUDGETS];
  } replay;
  struct {
    int32_t packing_rounds, packing_rounds_quick, rounds, start_share, start_moves_an_op, tree_work, nodes_min;
    int32_t min_memory_rounds, min_memory_nodes;
  } moccasin;
  struct {
    int32_t packing_rounds, cut_work, moves_an_op, moves_max, search_parts, halving_part;
    int64_t search_ns;
    double seconds_min, infinite;
  } stages;
  struct {
    int32_t nodes_min, work, repeats;
  } stage_constraint;
  struct {
    int32_t rounds;
  } milp;
  struct {
    int32_t thresholds, margin_percent[PLIM_LP_ROUND_MARGINS];
  } lp_round;
} strategies_tuning = {
    .search =
        {
            .packing_rounds = 24,    /* rounds of packing of first plans */
            .covering_ops = 1500,    /* ops above which covering comes before annealing. Measured: 10bc1af2 */
            .covering_rounds = 12,   /* rounds of covering, at most; annealing gains more after the sixth */
            .covering_percent = 60,  /* percent of the time left that is for covering */
            .deep_percent = 10,      /* percent of proved overhead from which Rotor runs on short graphs ... */
            .deep_ns = 5000000000,   /* ... where the time limit is so many ns or more. Measured: 10bc1af2 */
            .reserve_parts = 4,      /* Chen's reserve plan for a long graph gets one part in so many of the time */
            .reserve_ns = 200000000, /* ns that the first reserve plan gets where the time is over already */
        },
    .cut =
        {
            .percent = 90,       /* percent of the time; the rest is for the search where no plan fits */
            .moves_an_op = 400,  /* moves for each op of the search that follows */
            .work = 2000000000,  /* work of the cut model without limits, about ns */
            .work_a_move = 1000, /* work that stands for one move of the option iterations */
        },
    .chen =
        {
            .packing_rounds = 8,  /* rounds of packing */
            .thresholds = 40,     /* thresholds of the greedy form */
            .thresholds_many = 7, /* the same for more than many_ops ops */
            .many_ops = 2000,     /* ops from which each threshold takes long */
        },
    .rotor =
        {
            .stages = 160,           /* a longer chain is joined to so many stages: the table is cubic in them */
            .units_max = 2000,       /* units of memory in the table, at most */
            .units_min = 64,         /* the least number of units, however long the chain is */
            .table_work = 300000000, /* ns for the table, about */
            .table_parts = 10,       /* one part in so many of a time limit is for the table */
            .beyond_part = 4,        /* the table ends one part in so many of the budget above it */
            .packing_rounds = 8,     /* rounds of packing */
            .runs_an_op = 64,        /* plans of more runs of each op on average are given up */
            .failures = 3,           /* sizes in succession without a better plan; then no more are tried */
            .smaller_percent = {70, 85, 55}, /* percent of the best size: plans that are polished for the budget */
        },
    .replay =
        {
            .ops = 4000,                                 /* ops, at most: a policy takes seconds on a larger graph */
            .time_parts = 2,                             /* one part in so many of the time left is for replays */
            .budget_percent = {100, 97, 94, 90, 85, 80}, /* percent of the budget: arenas that are tried */
        },
    .moccasin =
        {
            .packing_rounds = 24,      /* rounds of packing of the best */
            .packing_rounds_quick = 4, /* the same while the tree is searched */
            .rounds = 6,               /* lower limits that are tried where plans do not pack */
            .start_share = 4,          /* one part in so many of moves and time is for the first schedule */
            .start_moves_an_op = 1000, /* moves for each op of the first schedule, without limits */
            .tree_work = 20000000,     /* nodes x (ops + links) of the tree without limits: some seconds */
            .nodes_min = 4000,         /* nodes of the tree, at least */
            .min_memory_rounds = 24,   /* trees of the min-memory search */
            .min_memory_nodes = 1500,  /* nodes of each */
        },
    .stages =
        {
            .packing_rounds = 16,    /* rounds of packing */
            .cut_work = 500000000,   /* work of the cut model for a plan, about ns */
            .moves_an_op = 2000,     /* moves for each op of the search that gives a first plan ... */
            .moves_max = 600000,     /* ... up to this */
            .search_parts = 10,      /* that search gets one part in so many of the time limit ... */
            .search_ns = 2000000000, /* ... and so many ns at most */
            .halving_part = 256,     /* bisection ends within one part in so many of the peak */
            .seconds_min = 0.01,     /* s of time left below which no solver is started */
            .infinite = 1e15,        /* objectives and bounds of a solver from here on are none */
        },
    .stage_constraint =
        {
            .nodes_min = 2000, /* nodes of the constraint search without limits, at least */
            .work = 10000000,  /* nodes x (ops x copies + links) beside those. Measured: 2ae90f9f */
            .repeats = 50000,  /* variables of its model, about */
        },
    .milp = {.rounds = 4 /* programs, each for less where the answer before did not pack */},
    .lp_round =
        {
            .thresholds = 19,                 /* thresholds of rounding, evenly between 0 and 1 */
            .margin_percent = {0, 5, 10, 20}, /* percent of the bytes beside what is always alive: smaller budgets */
        },
};

#endif
