/* What the files of planner/strategies share: schedules from elsewhere as first plans, what the strategies of class
 * stages have in common, and the tuning constants. Callers read strategy.h. */
#ifndef PLIM_PLANNER_STRATEGIES_STRATEGIES_INTERNAL_H
#define PLIM_PLANNER_STRATEGIES_STRATEGIES_INTERNAL_H

#include <stdint.h>

#include "planner/core/incumbent.h"
#include "planner/exact/stage_model.h"
#include "planner/solvers/solver.h"

/* ==== plans (submit_plan.c) ==== */

/* A plan of other origin, submitted with its own addresses. */

/* `plan` is packed, has passed the checker, and `schedule` is its commands. *taken is 0 when the timeline of the
 * schedule has other buffers than the plan (other in-place pairs, say): then nothing was submitted. O(buffers log
 * buffers). */
PLIM_MUST_USE plim_status plim_submit_plan(plim_incumbent *incumbent, const plim_plan *plan,
                                           const plim_schedule *schedule, int *taken);

/* ==== replays (start_replay.c) ==== */

/* Starts from the online arena. */

/* Replay program order in arenas of the budget and of a few smaller ones (a schedule whose addresses were decided while
 * it ran need not pack as well again), and submit what comes out. *start gets the fastest one whose peak is within the
 * budget, or stays as it is when there is none. Deterministic. */
PLIM_MUST_USE plim_status plim_start_from_replay(plim_incumbent *incumbent, int32_t packing_rounds,
                                                 plim_schedule *start);

/* ==== class stages (stage_plans.c, stage_constraint.c) ==== */

/* The reduction to nodes, plans to begin with, and submits to the incumbent. */

typedef struct plim_stage_plans {
  plim_incumbent *inc;
  plim_dag *dag;
  plim_stage_schedule *stages; /* the one being worked on */
  plim_stage_schedule *best;   /* the fastest whose peak in the reduction was within `limit_bytes` */
  int32_t has_best;
  int64_t limit_bytes;  /* of the reduction: the budget, or less where packing needs more than the peak */
  int64_t excess_bytes; /* by which the last submit was above the budget; <= 0: it fits */
  plim_schedule schedule;
} plim_stage_plans;

/* Repair `stages` for the limit and submit the outcome, and what it was before when that fits as well. */
PLIM_MUST_USE plim_status plim_stage_plans_submit(plim_stage_plans *plans);

/* Submit program order, as it is and repaired. */
PLIM_MUST_USE plim_status plim_stage_plans_submit_order(plim_stage_plans *plans);

/* Submit program order and the plan of a short search, both as stages; the search's bound holds for stages as well. */
PLIM_MUST_USE plim_status plim_stage_plans_submit_first(plim_stage_plans *plans);

/* Submit what the constraint search finds from the best so far, in half of the time left or, without a limit, in a few
 * thousand nodes. Where it ends, and the graph is small enough to allow as many runs of a node as stages, the best is
 * proved and the bound raised to it. Deterministic without a time limit. */
PLIM_MUST_USE plim_status plim_stage_plans_submit_search(plim_stage_plans *plans);

/* Submit the plan of the cut model for that many bytes as stages, where it has one. Needs no solver and takes graphs
 * whose programs are too large for one. The model's bound for all of the budget is taken. */
PLIM_MUST_USE plim_status plim_stage_plans_submit_cut(plim_stage_plans *plans, int64_t limit_bytes);

/* A strategy that needs a solver: open one, let `work` submit plans, fall back to any plan. PLIM_EUNSUPPORTED, with the
 * remedy, where there is no solver. */
typedef plim_status plim_stage_work(plim_stage_plans *plans, plim_solver *solver);
PLIM_MUST_USE plim_status plim_stage_plans_run(plim_incumbent *inc, plim_stage_work *work);

/* Seconds that are left to a solver, 0: there is no limit; negative: none are left. */
double plim_stage_plans_seconds_left(const plim_incumbent *inc);

/* The program for `limit` bytes of the reduction, without repeats that take longer than all those of the best plan. */
PLIM_MUST_USE plim_status plim_stage_plans_model(const plim_stage_plans *plans, int64_t limit, plim_stage_model **out);

/* Solve a model of these plans: the program itself, or its relaxation. Reports progress under that stage's name.
 * model: made from plans->dag. start: NULL, or a point. */
PLIM_MUST_USE plim_status plim_stage_plans_solve(plim_stage_plans *plans, plim_solver *solver,
                                                 const plim_stage_model *model, const double *start, int relax,
                                                 plim_solution *out, double *point);

/* Raise the incumbent's bound by a solver's, where the reduction lets bounds through. Nothing faster than the best plan
 * was left out of the model. */
void plim_stage_plans_raise_bound(plim_stage_plans *plans, const plim_stage_model *model, double bound);

/* ==== tuning constants ==== */

/* In one table. A field says what it counts and where; the table below it has the values. "Measured" cites the row of
 * docs/experiments.md that set the value; the others were set by trial. What depends on a value: plans of that
 * strategy. Sizes of arrays are enumerators. */

enum {
  PLIM_ROTOR_PLANS = 32,    /* memory sizes for which Rotor makes plans */
  PLIM_ROTOR_SMALLER = 3,   /* of them that are tried once more, smaller and polished */
  PLIM_REPLAY_BUDGETS = 6,  /* arena sizes in which program order is replayed */
  PLIM_LP_ROUND_MARGINS = 4 /* smaller budgets for which the relaxation is solved */
};

static const struct plim_strategies_tuning {
  struct {
    int32_t packing_rounds;   /* rounds of packing of first plans */
    int32_t covering_ops;     /* ops above which covering comes before annealing. Measured: 10bc1af2 */
    int32_t covering_rounds;  /* rounds of covering, at most; annealing gains more after the sixth */
    int32_t covering_percent; /* percent of the time left that is for covering */
    int32_t deep_percent;     /* percent of proved overhead from which Rotor runs on short graphs ... */
    int64_t deep_ns;          /* ... where the time limit is so many ns or more. Measured: 10bc1af2 */
    int32_t reserve_parts;    /* Chen's reserve plan for a long graph gets one part in so many of the time */
    int64_t reserve_ns;       /* ns that the first reserve plan gets where the time is over already */
  } search;
  struct {
    int32_t percent;     /* percent of the time; the rest is for the search where no plan fits */
    int32_t moves_an_op; /* moves for each op of the search that follows */
    int32_t work;        /* work of the cut model without limits, about ns */
    int32_t work_a_move; /* work that stands for one move of the option iterations */
  } cut;
  struct {
    int32_t packing_rounds;  /* rounds of packing */
    int32_t thresholds;      /* thresholds of the greedy form */
    int32_t thresholds_many; /* the same for more than many_ops ops */
    int32_t many_ops;        /* ops from which each threshold takes long */
  } chen;
  struct {
    int32_t stages;         /* a longer chain is joined to so many stages: the table is cubic in them */
    int32_t units_max;      /* units of memory in the table, at most */
    int32_t units_min;      /* the least number of units, however long the chain is */
    int32_t table_work;     /* ns for the table, about */
    int32_t table_parts;    /* one part in so many of a time limit is for the table */
    int32_t beyond_part;    /* the table ends one part in so many of the budget above it */
    int32_t packing_rounds; /* rounds of packing */
    int32_t runs_an_op;     /* plans of more runs of each op on average are given up */
    int32_t failures;       /* sizes in succession without a better plan; then no more are tried */
    int32_t smaller_percent[PLIM_ROTOR_SMALLER]; /* percent of the best size: plans that are polished for the budget */
  } rotor;
  struct {
    int32_t ops;                                 /* ops, at most: a policy takes seconds on a larger graph */
    int32_t time_parts;                          /* one part in so many of the time left is for replays */
    int64_t budget_percent[PLIM_REPLAY_BUDGETS]; /* percent of the budget: arenas that are tried */
  } replay;
  struct {
    int32_t packing_rounds;       /* rounds of packing of the best */
    int32_t packing_rounds_quick; /* the same while the tree is searched */
    int32_t rounds;               /* lower limits that are tried where plans do not pack */
    int32_t start_share;          /* one part in so many of moves and time is for the first schedule */
    int32_t start_moves_an_op;    /* moves for each op of the first schedule, without limits */
    int32_t tree_work;            /* nodes x (ops + links) of the tree without limits: some seconds */
    int32_t nodes_min;            /* nodes of the tree, at least */
    int32_t min_memory_rounds;    /* trees of the min-memory search */
    int32_t min_memory_nodes;     /* nodes of each */
  } moccasin;
  struct {
    int32_t packing_rounds; /* rounds of packing */
    int32_t cut_work;       /* work of the cut model for a plan, about ns */
    int32_t moves_an_op;    /* moves for each op of the search that gives a first plan ... */
    int32_t moves_max;      /* ... up to this */
    int32_t search_parts;   /* that search gets one part in so many of the time limit ... */
    int64_t search_ns;      /* ... and so many ns at most */
    int32_t halving_part;   /* bisection ends within one part in so many of the peak */
    double seconds_min;     /* s of time left below which no solver is started */
    double infinite;        /* objectives and bounds of a solver from here on are none */
  } stages;
  struct {
    int32_t nodes_min; /* nodes of the constraint search without limits, at least */
    int32_t work;      /* nodes x (ops x copies + links) beside those. Measured: 2ae90f9f */
    int32_t repeats;   /* variables of its model, about */
  } stage_constraint;
  struct {
    int32_t rounds; /* programs, each for less where the answer before did not pack */
  } milp;
  struct {
    int32_t thresholds;                            /* thresholds of rounding, evenly between 0 and 1 */
    int32_t margin_percent[PLIM_LP_ROUND_MARGINS]; /* of the bytes beside what is always alive: smaller budgets */
  } lp_round;
} strategies_tuning = {
    .search = {.packing_rounds = 24,
               .covering_ops = 1500,
               .covering_rounds = 12,
               .covering_percent = 60,
               .deep_percent = 10,
               .deep_ns = 5000000000,
               .reserve_parts = 4,
               .reserve_ns = 200000000},
    .cut = {.percent = 90, .moves_an_op = 400, .work = 2000000000, .work_a_move = 1000},
    .chen = {.packing_rounds = 8, .thresholds = 40, .thresholds_many = 7, .many_ops = 2000},
    .rotor = {.stages = 160,
              .units_max = 2000,
              .units_min = 64,
              .table_work = 300000000,
              .table_parts = 10,
              .beyond_part = 4,
              .packing_rounds = 8,
              .runs_an_op = 64,
              .failures = 3,
              .smaller_percent = {70, 85, 55}},
    .replay = {.ops = 4000, .time_parts = 2, .budget_percent = {100, 97, 94, 90, 85, 80}},
    .moccasin = {.packing_rounds = 24,
                 .packing_rounds_quick = 4,
                 .rounds = 6,
                 .start_share = 4,
                 .start_moves_an_op = 1000,
                 .tree_work = 20000000,
                 .nodes_min = 4000,
                 .min_memory_rounds = 24,
                 .min_memory_nodes = 1500},
    .stages = {.packing_rounds = 16,
               .cut_work = 500000000,
               .moves_an_op = 2000,
               .moves_max = 600000,
               .search_parts = 10,
               .search_ns = 2000000000,
               .halving_part = 256,
               .seconds_min = 0.01,
               .infinite = 1e15},
    .stage_constraint = {.nodes_min = 2000, .work = 10000000, .repeats = 50000},
    .milp = {.rounds = 4},
    .lp_round = {.thresholds = 19, .margin_percent = {0, 5, 10, 20}},
};

#endif
