/* A program: the plans that one run needs (the training step, the evaluation step and, where it is wanted, the training
 * step of an epoch's short last batch) with the graphs and profiles after them. Persistent storages sit at equal
 * offsets in all plans; the arena is the largest one. */
#ifndef PLIM_RUNTIME_PROGRAM_PROGRAM_H
#define PLIM_RUNTIME_PROGRAM_PROGRAM_H

#include "planner/planner.h"
#include "runtime/net/net.h"
#include "runtime/profile/profiler.h"
#include "runtime/program/online_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_PROGRAM_TRAIN, PLIM_PROGRAM_EVAL, PLIM_PROGRAM_LAST, PLIM_PROGRAM_STEPS };

typedef struct plim_program {
  plim_context *ctx;
  int32_t n_steps;                       /* 2, or 3 with a last batch */
  plim_graph *graph[PLIM_PROGRAM_STEPS]; /* [n_steps] */
  plim_profile *profile[PLIM_PROGRAM_STEPS];
  plim_plan *plan[PLIM_PROGRAM_STEPS]; /* NULL until plim_program_plan or plim_program_adopt */
} plim_program;

/* Graphs and profiles of a net on a device, no plans yet. `profiler` NULL: modelled costs, nothing runs. */
PLIM_MUST_USE plim_status plim_program_begin(plim_device *device, const plim_net *net,
                                             const plim_profiler_options *profiler, plim_program **out);
void plim_program_free(plim_program *program); /* NULL is legal */

/* Plan training and evaluation step within options->budget_bytes and check them together; replaces former plans. The
 * evaluation step always runs the variants of least workspace, so that its figures do not depend on the budget.
 * PLIM_ENOFIT when either does not fit. */
PLIM_MUST_USE plim_status plim_program_plan(plim_program *program, const plim_plan_options *options);

/* Use a plan for the training step that was made before; the program owns it, also on failure. PLIM_EDATA when it was
 * made for another graph, machine or thread count (with both), PLIM_EPLAN when it is bad. The evaluation step is
 * planned within the plan's budget. */
PLIM_MUST_USE plim_status plim_program_adopt(plim_program *program, plim_plan *plan);

/* Replace the addresses of the training step's plan by those that the arena decides while its schedule runs, within the
 * plan's budget, or, where it has none, in its arena. What finds no room there is planned again for up to a quarter
 * less, by `planning`; NULL: the plan stays as it is. Without a budget the arena becomes up to a quarter larger.
 *   room_bytes  [1]  out  what the arena got above what was planned for
 * PLIM_ENOFIT, with the bytes in which the arena finds room, when all of that is not enough. */
PLIM_MUST_USE plim_status plim_program_replay(plim_program *program, const plim_plan_options *planning,
                                              plim_replay_counts *counts, int64_t *room_bytes);

/* The training step of a short last batch: `net` is the program's with fewer images and with the program's batch as its
 * staging_batch. Once. */
PLIM_MUST_USE plim_status plim_program_add_last(plim_program *program, plim_device *device, const plim_net *net,
                                                const plim_profiler_options *profiler);

/* Decide the last step online, within the arena that the other plans need already. Where the policy needs more: within
 * options->planning's budget, or, when that is INT64_MAX, within what the policy needs. Replaces a former plan; to be
 * called again when the others were planned anew. PLIM_ENOFIT when the policy finds no way. */
PLIM_MUST_USE plim_status plim_program_decide_last(plim_program *program, const plim_online_plan_options *options,
                                                   plim_replay_counts *counts);

/* Plan it like the others. */
PLIM_MUST_USE plim_status plim_program_plan_last(plim_program *program, const plim_plan_options *options);

/* The keep-all plan of the training step, whatever the program's own plan is: its arena_bytes are the keep-all bytes,
 * its labels those of the fastest variants. Free with plim_plan_free. */
PLIM_MUST_USE plim_status plim_program_keep_all(const plim_program *program, plim_plan **out);

/* The smallest budget that plim_program_plan can serve, over both its steps, and what sets it. *step tells which. */
PLIM_MUST_USE plim_status plim_program_floor(const plim_program *program, const plim_plan_options *options,
                                             plim_plan_floor *out, int32_t *step);

/* The options under which the evaluation step is planned when the training step is planned under `options`. */
plim_plan_options plim_program_eval_options(const plim_plan_options *options);

/* plim_plan_fits for both. */
PLIM_MUST_USE plim_status plim_program_fits(const plim_program *program, const plim_plan_options *options, int *yes);

/* What is known of a batch that does not fit, and how to make the net for another. */
typedef struct plim_batch_search {
  plim_status (*make)(void *user, int32_t batch, plim_net **out); /* PLIM_EUSAGE: there is none for that batch */
  void *user;
  int32_t failing;       /* a batch that does not fit */
  int64_t failing_bytes; /* the smallest budget that has a plan for it */
  int64_t fixed_bytes;   /* what does not depend on the batch: the persistent bytes */
} plim_batch_search;

/* The largest batch below `failing` that was found to have a plan within options->budget_bytes, 0: none. Asks
 * plim_program_fits for at most PLIM_BATCH_GUESSES batches, each within options->time_limit_ns, with modelled costs
 * and, where the labels are given ones, with any. Deterministic. */
enum { PLIM_BATCH_GUESSES = 6 };
PLIM_MUST_USE plim_status plim_program_largest_batch(plim_device *device, const plim_batch_search *search,
                                                     const plim_plan_options *options, int32_t *out);

/* Bytes of the arena that the program needs: the largest of its plans. */
int64_t plim_program_arena_bytes(const plim_program *program);

#ifdef __cplusplus
}
#endif
#endif
