/* A program: the plans that one run needs, with their graphs and profiles. They are the training step, the evaluation
 * step and, if it is wanted, the training step of an epoch's short last batch. Persistent storages lie at equal offsets
 * in all plans. The arena is as large as the largest plan needs.
 *
 * A program belongs to the thread of its context, which is that of the device. Device and net may not change during a
 * call. On failure a program keeps its plans, unless a comment says otherwise. Functions that plan have the errors and
 * the determinism of plim_plan_make.
 *
 * Files: program.c (plans and figures), arena_room.c (plim_program_replay), replan.c, program_floor.c. online_plan.h is
 * for the last batch, program_source.h for nets of other batches, paging_links.h for options of paging. */
#ifndef PLIM_RUNTIME_PROGRAM_PROGRAM_H
#define PLIM_RUNTIME_PROGRAM_PROGRAM_H

#include "planner/planner.h"
#include "runtime/net/net.h"
#include "runtime/profile/profiler.h"
#include "runtime/program/online_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The plans of a program: of the training step, the evaluation step, the training step of a short last batch. Each has
 * its graph and its profile under the same index. */
typedef enum plim_plan_index {
  PLIM_PROGRAM_TRAIN,
  PLIM_PROGRAM_EVAL,
  PLIM_PROGRAM_LAST,
  PLIM_PROGRAM_GRAPHS
} plim_plan_index;

typedef struct plim_program {
  plim_context *ctx;
  int32_t n_graphs;                           /* 2, or 3 with a last batch */
  plim_graph *graph[PLIM_PROGRAM_GRAPHS];     /* [n_graphs] */
  plim_profile *profile[PLIM_PROGRAM_GRAPHS]; /* [n_graphs] */
  plim_plan *plan[PLIM_PROGRAM_GRAPHS];       /* [n_graphs] NULL until plim_program_plan or plim_program_adopt */
  int32_t from_front;                         /* 1: the training step's plan was in the plan front */
} plim_program;

/* ---- a program and its plans ---- */

/* Make the graphs and profiles of a net on a device, without plans.
 *   profiler  in   NULL: costs are modelled, and nothing runs; else every variant is measured
 *   out       out  free with plim_program_free; the device's context must outlive it
 * PLIM_EUSAGE: the net is not complete, or the device does not have its precision. PLIM_ENOFIT: there is no room to
 * measure. Otherwise the errors of plim_profile_measure, which takes seconds to minutes. */
PLIM_MUST_USE plim_status plim_program_begin(plim_device *device, const plim_net *net,
                                             const plim_profiler_options *profiler, plim_program **out);
void plim_program_free(plim_program *program); /* NULL is legal */

/* Plan training and evaluation step within options->budget_bytes, check them together, and replace all former plans. A
 * plan of the last batch is dropped. The evaluation step runs the variants with the least workspace, so that its bits
 * do not depend on the budget. PLIM_ENOFIT when either step does not fit. */
PLIM_MUST_USE plim_status plim_program_plan(plim_program *program, const plim_plan_options *options);

/* Use a given plan for the training step. The program owns it from now on, and frees it on failure. The evaluation step
 * is planned within the plan's budget. A plan of the last batch is dropped.
 * PLIM_EDATA: the plan is of another graph, or was made for another device, instruction set, library, build or number
 * of threads. PLIM_EPLAN: the checker refuses it. */
PLIM_MUST_USE plim_status plim_program_adopt(plim_program *program, plim_plan *plan);

/* Replace the addresses of the training step's plan by those that the online arena decides while the schedule runs.
 *   planning    [1] in   options to plan again for up to a quarter less when the arena finds no room; NULL: the
 *                        schedule stays as it is
 *   counts      [1] out  of the replay; may be NULL
 *   room_bytes  [1] out  bytes of the arena minus bytes that were planned for
 * The arena has the plan's budget. For a plan without a budget it has its arena_bytes, and up to a quarter more.
 * PLIM_ENOFIT when that is not enough; the sentence says in how many bytes the arena finds room. */
PLIM_MUST_USE plim_status plim_program_replay(plim_program *program, const plim_plan_options *planning,
                                              plim_replay_counts *counts, int64_t *room_bytes);

/* ---- figures: the program is only read ---- */

/* Make the keep-all plan of the training step with the fastest variants. Its arena_bytes are the keep-all bytes. Free
 * it with plim_plan_free. */
PLIM_MUST_USE plim_status plim_program_keep_all(const plim_program *program, plim_plan **out);

/* Find the smallest budget with which plim_program_plan succeeds, as plim_plan_smallest does.
 *   out         [1] out  the figures of the step that needs more; keep_all_bytes is that of the training step
 *   plan_index  [1] out  that step, PLIM_PROGRAM_TRAIN or PLIM_PROGRAM_EVAL
 * With options->paging the bytes are those of the arena, beside the page space and the other devices as they are. They
 * are found by halving a few times, so smaller ones may do. bound_bytes is what one op needs at once; with a second
 * device 0, since nothing is proven. */
PLIM_MUST_USE plim_status plim_program_floor(const plim_program *program, const plim_plan_options *options,
                                             plim_plan_floor *out, int32_t *plan_index);

/* The options under which the evaluation step is planned when the training step is planned under `options`. */
plim_plan_options plim_program_eval_options(const plim_plan_options *options);

/* plim_plan_fits for training and evaluation step: *yes is 1 when both fit. With options->paging plans are made. */
PLIM_MUST_USE plim_status plim_program_fits(const plim_program *program, const plim_plan_options *options, int *yes);

/* Bytes of the arena that the program needs: the largest arena_bytes of its plans; 0 without plans. */
int64_t plim_program_arena_bytes(const plim_program *program);
/* The same of other plans for a program: [PLIM_PROGRAM_GRAPHS], NULL where there is none. */
int64_t plim_program_plans_bytes(const plim_plan *const *plan);

/* ---- the short last batch of an epoch ---- */

/* Add the training step of a short last batch, without a plan. `net` is the program's net with fewer images, and with
 * the program's batch as its staging_batch. Call it until it succeeds once. `profiler` and errors as in
 * plim_program_begin; after a failure the program has no last batch. */
PLIM_MUST_USE plim_status plim_program_add_last(plim_program *program, plim_device *device, const plim_net *net,
                                                const plim_profiler_options *profiler);

/* Plan the last batch by an online policy, within the arena that the other plans need. When the policy needs more, it
 * gets options->planning.budget_bytes, or the bytes that it needs when that is PLIM_BYTES_UNLIMITED. Replaces a former
 * plan of the last batch. Call it again after the other steps were planned again.
 *   counts  [1] out  of the simulation; may be NULL
 * PLIM_ENOFIT: the policy finds no plan. PLIM_EUSAGE: the training step's plan has persistent storages at home in a
 * page space. */
PLIM_MUST_USE plim_status plim_program_decide_last(plim_program *program, const plim_online_plan_options *options,
                                                   plim_replay_counts *counts);

/* Plan the last batch as plim_plan_make does, and check it with the training step. Needs a planned program. */
PLIM_MUST_USE plim_status plim_program_plan_last(plim_program *program, const plim_plan_options *options);

/* ---- plans for another budget, whose results are equal bit for bit ---- */

typedef struct plim_replan_options {
  size_t struct_bytes;        /* sizeof(plim_replan_options) */
  plim_plan_options planning; /* all fields are read, except budget_bytes, numerics and numerics_key */
  /* Decides the training step; NULL: a planner does. A last batch is always decided online, by this policy or, when it
   * is NULL, by the first policy of the table. */
  const plim_policy *policy;
  double thrash; /* of the policy: limit of the time of recomputations, as a multiple of the keep-all time */
} plim_replan_options;

/* Planning as in plim_plan_options_default, no policy. */
plim_replan_options plim_replan_options_default(void);

/* Plan every step for another budget, with the numerics keys of its present plan.
 *   as            [program->n_graphs] in   the present plans; NULL: the step is not planned
 *   budget_bytes                      in
 *   plan          [program->n_graphs] out  free with plim_plan_free; NULL for steps not planned, and on failure
 * With options->planning.front_folder, plans may come from the plan front. PLIM_ENOFIT when a step does not fit.
 * The program is only read. */
PLIM_MUST_USE plim_status plim_program_replan(const plim_program *program, const plim_plan *const *as,
                                              const plim_replan_options *options, int64_t budget_bytes,
                                              plim_plan **plan);

#ifdef __cplusplus
}
#endif
#endif
