/* A training run as the commands see it: steps with a progress line, evaluation, its figures. */
#ifndef PLIM_TOOLS_PLIMSOLL_RUN_TRAIN_H
#define PLIM_TOOLS_PLIMSOLL_RUN_TRAIN_H

#include "runtime/graph/trace.h"
#include "runtime/profile/energy_meter.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/process.h"
#include "tools/plimsoll/session.h"

typedef struct run {
  session *s;
  plim_trainer *trainer;
  plim_trace_writer *trace; /* NULL: none; owned by the caller */
  int64_t total;            /* steps that the progress line counts to */
  int64_t begin_ns;         /* of the steps */
  double loss;              /* smoothed */
  float first_loss, last_loss;
  times times, cpu_times;   /* of steps */
  int64_t cpu_ns;           /* of the process, when the last step ended */
  times retimed;            /* of the steps since the ops were timed in place */
  int64_t allocated_ever;   /* by this thread, when the last step ended */
  int64_t hidden_bytes;     /* most that libraries allocated and freed inside one step, the first aside, and those at
                           * which the budget changed; -1: unknown */
  plim_energy_meter energy; /* of the steps */
  int64_t peak_bytes;       /* measured, most of all steps; their plans may change */
  plim_evaluation test;
  int tested;
} run;

/* The prediction by the times found in place beside the steps that followed; nothing without such steps. */
void run_figures_retimed(figures *f, const run *r);

/* A trace holds ten steps, after two that warm up. */
enum { RUN_TRACE_FROM = 2, RUN_TRACE_STEPS = 10 };

/* Run `steps` steps. */
plim_status run_steps(run *r, int64_t steps);

plim_status run_evaluate(run *r);

/* What is being trained: model, data, batch, machine. Adds rows that both columns of a table share. */
void run_figures_setting(figures *f, const session *s);

/* Bytes and predictions of a program. */
void run_figures_plan(figures *f, int column, const session *s, const plim_program *program);

/* A row for the options of effort that were given and change nothing about what the planner does (plim_planner_obeys);
 * none when there are none. */
void run_figures_effort(figures *f, int column, const options *o);

/* What the run measured. */
void run_figures_measured(figures *f, int column, const run *r);

/* The last batch of an epoch, when it is trained: one line, of the session's program. */
void run_figures_last(figures *f, const session *s);

/* Write the picture of the training step's plan to --svg: live bytes over its commands, with several spaces its queues
 * over time and the bytes of each space. */
plim_status run_save_picture(const session *s);

/* What lies outside the arenas and the page spaces in memory, now; and the line about it.
 *   arena_bytes, page_bytes  in  the most that these had */
outside run_outside(const session *s, int64_t arena_bytes, int64_t page_bytes);
void run_figures_outside(figures *f, const outside *o);

#endif
