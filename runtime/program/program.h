/* A program: the plans that one run needs (the training step, the evaluation step and, where it is wanted, the training
 * step of an epoch's short last batch), with their graphs and profiles. Persistent storages lie at equal offsets in all
 * plans. The arena is as large as the largest plan needs.
 *
 * A program belongs to the thread of its context, that of the device. Device and net may not change during a call. On
 * failure a program keeps its plans, unless a comment says otherwise. Functions that plan return what plim_plan_make
 * returns, and are deterministic as it is. */
#ifndef PLIM_RUNTIME_PROGRAM_PROGRAM_H
#define PLIM_RUNTIME_PROGRAM_PROGRAM_H

#include "planner/planner.h"
#include "runtime/base/size.h"
#include "runtime/net/net.h"
#include "runtime/profile/profiler.h"
#include "runtime/program/online_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parts of a program: the training step, the evaluation step, the training step of a short last batch. Each has a
 * graph, a profile and a plan under its number. */
typedef enum plim_program_part {
  PLIM_PROGRAM_TRAIN,
  PLIM_PROGRAM_EVAL,
  PLIM_PROGRAM_LAST,
  PLIM_PROGRAM_GRAPHS
} plim_program_part;

typedef struct plim_program {
  plim_context *ctx;
  int32_t n_graphs;                           /* 2, or 3 with a last batch */
  plim_graph *graph[PLIM_PROGRAM_GRAPHS];     /* [n_graphs] */
  plim_profile *profile[PLIM_PROGRAM_GRAPHS]; /* [n_graphs] */
  plim_plan *plan[PLIM_PROGRAM_GRAPHS];       /* [n_graphs] NULL until plim_program_plan or plim_program_adopt */
  int32_t from_front;                         /* 1: the training step's plan was in the plan front */
} plim_program;

/* ---- a program and its plans ---- */

/* Graphs and profiles of a net on a device, without plans. `profiler` NULL: modelled costs, and nothing runs; else
 * every variant is measured, which takes seconds to minutes. The device's context must outlive the program.
 * PLIM_EUSAGE: a net that is not complete, or a precision that the device does not have. */
PLIM_MUST_USE plim_status plim_program_begin(plim_device *device, const plim_net *net,
                                             const plim_profiler_options *profiler, plim_program **out);
void plim_program_free(plim_program *program); /* NULL is legal */

/* Plan training and evaluation step within options->budget_bytes, check them together, and replace all former plans. A
 * plan of the last step is dropped. The evaluation step runs the variants of least workspace, so that its figures do
 * not depend on the budget. PLIM_ENOFIT when either does not fit. */
PLIM_MUST_USE plim_status plim_program_plan(plim_program *program, const plim_plan_options *options);

/* Use a plan that was made before for the training step. The program owns it from now on, also on failure: then it is
 * freed. The evaluation step is planned within the plan's budget. A plan of the last step is dropped.
 * PLIM_EDATA: the plan is of another graph or number of threads. PLIM_EUSAGE: it is of another device, instruction set,
 * library or build. PLIM_EPLAN: the checker refuses it. */
PLIM_MUST_USE plim_status plim_program_adopt(plim_program *program, plim_plan *plan);

/* Replace the addresses of the training step's plan by those that the online arena decides while the schedule runs.
 *   planning    [1] in   options to plan again with, for up to a quarter less, where the arena finds no room; NULL: the
 *                        schedule stays as it is
 *   counts      [1] out  of the replay; may be NULL
 *   room_bytes  [1] out  bytes that the arena has above what was planned for
 * The arena has the plan's budget. For a plan without a budget it has its arena_bytes, and up to a quarter more.
 * PLIM_ENOFIT when that is not enough; the sentence has the bytes in which the arena finds room. */
PLIM_MUST_USE plim_status plim_program_replay(plim_program *program, const plim_plan_options *planning,
                                              plim_replay_counts *counts, int64_t *room_bytes);

/* ---- figures: the program is only read ---- */

/* The keep-all plan of the training step with the numerics keys of the fastest variants; its arena_bytes are the
 * keep-all bytes. The program's own plans stay. Free it with plim_plan_free. */
PLIM_MUST_USE plim_status plim_program_keep_all(const plim_program *program, plim_plan **out);

/* The smallest budget with which plim_program_plan was found to succeed (plim_plan_smallest).
 *   out   [1] out  the figures of the step that needs more; keep_all_bytes is that of the training step
 *   part  [1] out  that step, PLIM_PROGRAM_TRAIN or PLIM_PROGRAM_EVAL */
PLIM_MUST_USE plim_status plim_program_floor(const plim_program *program, const plim_plan_options *options,
                                             plim_plan_floor *out, int32_t *part);

/* The options under which the evaluation step is planned when the training step is planned under `options`. */
plim_plan_options plim_program_eval_options(const plim_plan_options *options);

/* plim_plan_fits for training and evaluation step: *yes is 1 when both fit. */
PLIM_MUST_USE plim_status plim_program_fits(const plim_program *program, const plim_plan_options *options, int *yes);

/* Bytes of the arena that the program needs: the largest arena_bytes of its plans; 0 without plans. */
int64_t plim_program_arena_bytes(const plim_program *program);

/* ---- the short last batch of an epoch ---- */

/* Add the training step of a short last batch, without a plan. `net` is the program's net with fewer images, and with
 * the program's batch as its staging_batch. Call it once. `profiler` as in plim_program_begin. */
PLIM_MUST_USE plim_status plim_program_add_last(plim_program *program, plim_device *device, const plim_net *net,
                                                const plim_profiler_options *profiler);

/* Plan the last step by an online policy, within the arena that the other plans need. Where the policy needs more, it
 * gets options->planning.budget_bytes, or what it needs when that is INT64_MAX. Replaces a former plan of that step.
 * Call it again when the others were planned again.
 *   counts  [1] out  of the run; may be NULL
 * PLIM_ENOFIT when the policy finds no way. */
PLIM_MUST_USE plim_status plim_program_decide_last(plim_program *program, const plim_online_plan_options *options,
                                                   plim_replay_counts *counts);

/* Plan the last step as plim_plan_make does, and check it with the training step. Needs a planned program. */
PLIM_MUST_USE plim_status plim_program_plan_last(plim_program *program, const plim_plan_options *options);

/* ---- plans for another budget, whose results are equal bit for bit ---- */

typedef struct plim_replan_options {
  size_t struct_bytes;        /* sizeof(plim_replan_options) */
  plim_plan_options planning; /* read: all but budget_bytes, labels and label */
  /* Decides the training step in place of a planner; NULL: the planner does. A last step is always decided online, by
   * this policy or, where it is NULL, by the first of the table. */
  const plim_policy *policy;
  double thrash; /* of the policy: limit on the time of recomputing, as a multiple of the keep-all time */
} plim_replan_options;

/* Planning as plim_plan_options_default has it, no policy. */
plim_replan_options plim_replan_options_default(void);

/* Plan every step for another budget, with the numerics keys that it has now.
 *   as            [program->n_graphs] in   the plans now; NULL: that step is not planned
 *   budget_bytes                     in
 *   plan          [program->n_graphs] out  free with plim_plan_free; NULL for steps not planned, and on failure
 * With options->planning.front_folder, plans come from the plan front too. PLIM_ENOFIT when a step does not fit.
 * The program is only read. */
PLIM_MUST_USE plim_status plim_program_replan(const plim_program *program, const plim_plan *const *as,
                                              const plim_replan_options *options, int64_t budget_bytes,
                                              plim_plan **plan);

/* ---- from a net that can be made for other batches ---- */

/* What a run's programs are made from: how its net is made, and how ops are measured. */
typedef struct plim_program_source {
  size_t struct_bytes; /* sizeof(plim_program_source) */
  /* Make the net that `net` describes. PLIM_EUSAGE: there is none for that batch. */
  plim_status (*make)(void *user, const plim_net_options *net, plim_net **out);
  void *user;
  plim_net_options net; /* of the run; from call to call batch, staging_batch and layout change alone */
  const plim_profiler_options *profiler; /* wanted_bytes is not read; NULL: modelled costs, and nothing runs */
  plim_size budget;                      /* of the run's arena: measuring takes no more; 100 %: none */
  int64_t vram_bytes;                    /* of all that the run may hold on the GPU (runtime/device/vram.h); 0: none */
} plim_program_source;

/* No function, default nets, modelled costs, no budget. */
plim_program_source plim_program_source_default(void);

/* plim_program_begin with the source's net. Measuring takes at most the budget, or the keep-all bytes of modelled costs
 * in program order: so the budget changes where operands lie, but not what is measured. */
PLIM_MUST_USE plim_status plim_program_make(plim_device *device, const plim_program_source *source, plim_program **out);

/* The same in the layout in which the training step takes least time: every op once, with its fastest variant.
 * Differences under 3 % are ties, and the first layout wins.
 *   source  [1]  in/out  net.layout becomes the one that was chosen
 *   layout  [n]  in      to choose from; NULL: those that the device's kernels are made for
 * Every layout is profiled, which the profile cache makes free the second time. Where a library builds the kernels of
 * convolutions, which takes most of a start, the heaviest convolutions decide, and all are measured in the layout that
 * wins. Deterministic for equal profiles. */
PLIM_MUST_USE plim_status plim_program_choose_layout(plim_device *device, plim_program_source *source, int32_t n,
                                                     const plim_layout *layout, plim_program **out);

/* plim_program_add_last for a last batch of so many images. */
PLIM_MUST_USE plim_status plim_program_make_last(plim_program *program, plim_device *device,
                                                 const plim_program_source *source, int32_t images);

/* A batch that does not fit: the one of source->net. */
typedef struct plim_batch_search {
  const plim_program_source *source; /* its profiler is not read */
  int64_t failing_bytes;             /* the smallest budget that has a plan for it */
  int64_t fixed_bytes;               /* what does not depend on the batch: the persistent bytes */
} plim_batch_search;

/* The largest batch below that of the source that was found to have a plan within options->budget_bytes; *out 0: none.
 * Tries a few batches with plim_program_fits, at most PLIM_BATCH_GUESSES until one fits, each within
 * options->time_limit_ns. Costs are modelled. Numerics keys that the options give are not read. Deterministic without a
 * time limit. Fails as source->make does. */
enum { PLIM_BATCH_GUESSES = 6 };
PLIM_MUST_USE plim_status plim_program_largest_batch(plim_device *device, const plim_batch_search *search,
                                                     const plim_plan_options *options, int32_t *out);

#ifdef __cplusplus
}
#endif
#endif
