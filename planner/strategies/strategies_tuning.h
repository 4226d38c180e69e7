/* Tuning constants of planner/strategies, in one table. Only files of this folder include it.
 *
 * Each row states the unit and what a larger value does. "Measured" cites the row of docs/experiments.md that set the
 * value; the others were set by trial. A change of any value changes plans. Sizes of arrays are enumerators. */
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
    int32_t effort, covering_ops, covering_rounds, covering_percent, deep_percent, reserve_parts;
    int64_t deep_ns, reserve_ns;
  } search;
  struct {
    int32_t percent, moves_an_op, work, work_a_move;
  } cut;
  struct {
    int32_t effort, thresholds, thresholds_many, many_ops;
  } chen;
  struct {
    int32_t stages, units_max, units_min, table_work, table_parts, beyond_part, effort, runs_an_op, failures;
    int32_t smaller_percent[PLIM_ROTOR_SMALLER];
  } rotor;
  struct {
    int32_t ops, time_parts;
    int64_t budget_percent[PLIM_REPLAY_BUDGETS];
  } replay;
  struct {
    int32_t effort, effort_quick, rounds, seed_share, seed_moves_an_op, tree_work, nodes_min;
    int32_t min_memory_rounds, min_memory_nodes;
  } moccasin;
  struct {
    int32_t effort, cut_work, moves_an_op, moves_max, search_parts, halving_part;
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
            .effort = 24,           /* rounds of packing of first plans */
            .covering_ops = 1500,   /* covering starts graphs of more ops. Measured: 10bc1af2. On 1,000 ops annealing
                                       from program order ends as low */
            .covering_rounds = 12,  /* rounds of covering, at most; annealing gains more after the sixth */
            .covering_percent = 60, /* of the time left is for covering */
            .deep_percent = 10,     /* proved overhead from which Rotor also runs on short graphs. Measured: 10bc1af2 */
            .reserve_parts = 4,     /* Chen's reserve plan for a long graph gets one part in so many of the time */
            .deep_ns = 5000000000,  /* and the time limit from which it does, in ns */
            .reserve_ns = 200000000, /* the first reserve plan gets so much where the time is over already, in ns */
        },
    .cut =
        {
            .percent = 90,       /* of the time, the rest is for the search where no plan fits */
            .moves_an_op = 400,  /* moves for each op of the search that follows */
            .work = 2000000000,  /* of the cut model without limits, about ns */
            .work_a_move = 1000, /* work that stands for one move of the option iterations */
        },
    .chen =
        {
            .effort = 8,          /* rounds of packing */
            .thresholds = 40,     /* of the greedy form */
            .thresholds_many = 7, /* the same for more than many_ops ops */
            .many_ops = 2000,
        },
    .rotor =
        {
            .stages = 160,     /* a longer chain is joined to so many stages: the table is cubic in them */
            .units_max = 2000, /* units of memory in the table */
            .units_min = 64,
            .table_work = 300000000,         /* ns for the table, about */
            .beyond_part = 4,                /* the table goes one part in so many of the budget beyond it */
            .table_parts = 10,               /* of a time limit, one part in so many for the table */
            .effort = 8,                     /* rounds of packing */
            .runs_an_op = 64,                /* plans of more runs of each op on average are given up */
            .failures = 3,                   /* sizes in succession without a better plan; then no more are tried */
            .smaller_percent = {70, 85, 55}, /* of the best size: plans that are then polished for the budget */
        },
    .replay =
        {
            .ops = 4000,     /* larger graphs are not replayed: seconds for each policy */
            .time_parts = 2, /* of the time left, one part in so many */
            .budget_percent = {100, 97, 94, 90, 85, 80},
        },
    .moccasin =
        {
            .effort = 24,             /* rounds of packing of the best */
            .effort_quick = 4,        /* the same while the tree is searched */
            .rounds = 6,              /* lower limits that are tried where plans do not pack */
            .seed_share = 4,          /* of the effort, one part in so many for the first schedule */
            .seed_moves_an_op = 1000, /* moves for each op without limits */
            .tree_work = 20000000,    /* nodes x (ops + links) of the tree without limits: some seconds */
            .nodes_min = 4000,        /* nodes of it at least */
            .min_memory_rounds = 24,  /* trees of the min-memory search */
            .min_memory_nodes = 1500, /* nodes of each */
        },
    .stages =
        {
            .effort = 16,          /* rounds of packing */
            .cut_work = 500000000, /* of the cut model for a plan, about ns */
            .moves_an_op = 2000,   /* of the search that gives a first plan */
            .moves_max = 600000,
            .search_parts = 10, /* of the time limit, one part in so many for the search of a first plan, at most */
            .search_ns = 2000000000, /* ns for the search of a first plan, at most */
            .halving_part = 256,     /* bisection ends within one part in so many of the peak */
            .seconds_min = 0.01,     /* s of time left below which no solver is started */
            .infinite = 1e15,        /* objectives and bounds of a solver from here on are none */
        },
    .stage_constraint =
        {
            .nodes_min = 2000, /* of the constraint search without limits */
            .work = 10000000,  /* nodes x (ops x copies + links) beside those. Measured: 2ae90f9f */
            .repeats = 50000,  /* variables of its model, about */
        },
    .milp = {.rounds = 4 /* programs, each for less where the answer before did not pack */},
    .lp_round =
        {
            .thresholds = 19,                 /* of rounding, evenly between 0 and 1 */
            .margin_percent = {0, 5, 10, 20}, /* of the bytes beside what is always alive */
        },
};

#endif
