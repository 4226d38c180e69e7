/* A program: the plans that one run needs (the training step and the evaluation step) with the graphs and profiles
 * behind them. Persistent storages sit at equal offsets in both plans; the arena is the larger one. */
#ifndef PLIM_RUNTIME_TRAIN_PROGRAM_H
#define PLIM_RUNTIME_TRAIN_PROGRAM_H

#include "planner/planner.h"
#include "runtime/device/profiler.h"
#include "runtime/net/net.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_PROGRAM_TRAIN, PLIM_PROGRAM_EVAL, PLIM_PROGRAM_STEPS };

typedef struct plim_program {
  plim_context *ctx;
  plim_graph *graph[PLIM_PROGRAM_STEPS];
  plim_profile *profile[PLIM_PROGRAM_STEPS];
  plim_plan *plan[PLIM_PROGRAM_STEPS]; /* NULL until plim_program_plan or plim_program_adopt */
} plim_program;

/* Graphs and profiles of a net on a device, no plans yet. `profiler` NULL: modelled costs, nothing runs. */
PLIM_MUST_USE plim_status plim_program_begin(plim_device *device, const plim_net *net,
                                             const plim_profiler_options *profiler, plim_program **out);
void plim_program_free(plim_program *program); /* NULL is legal */

/* Plan both steps within options->budget_bytes and check them together; replaces former plans. The evaluation step
 * always runs the variants of least workspace, so that its figures do not depend on the budget. PLIM_ENOFIT when
 * either does not fit. */
PLIM_MUST_USE plim_status plim_program_plan(plim_program *program, const plim_plan_options *options);

/* Use a plan for the training step that was made before; the program owns it, also on failure. PLIM_EDATA when it was
 * made for another graph, machine or thread count (with both), PLIM_EPLAN when it is bad. The evaluation step is
 * planned within the plan's budget. */
PLIM_MUST_USE plim_status plim_program_adopt(plim_program *program, plim_plan *plan);

/* The keep-all plan of the training step, whatever the program's own plan is: its arena_bytes are the keep-all bytes,
 * its labels those of the fastest variants. Free with plim_plan_free. */
PLIM_MUST_USE plim_status plim_program_keep_all(const plim_program *program, plim_plan **out);

/* The smallest budget that plim_program_plan can serve, over both steps, and what sets it. *step tells which. */
PLIM_MUST_USE plim_status plim_program_floor(const plim_program *program, const plim_plan_options *options,
                                             plim_plan_floor *out, int32_t *step);

/* plim_plan_fits for both steps. */
PLIM_MUST_USE plim_status plim_program_fits(const plim_program *program, const plim_plan_options *options, int *yes);

/* Bytes of the arena that the program needs: the larger of its plans. */
int64_t plim_program_arena_bytes(const plim_program *program);

#ifdef __cplusplus
}
#endif
#endif
