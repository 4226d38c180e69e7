/* State of a trainer, shared by its files:
 *   trainer.c        the loop, and the evaluation
 *   trainer_open.c   open and close
 *   staging.c        batches, from the reader to the inputs of a plan
 *   trainer_plans.c  the plans that run, and their replacement
 *   budget_change.c  a budget that changes
 *   retime.c         steps that are timed, and the plan made with their times */
#ifndef PLIM_RUNTIME_TRAIN_TRAINER_INTERNAL_H
#define PLIM_RUNTIME_TRAIN_TRAINER_INTERNAL_H

#include <stdatomic.h>

#include "runtime/data/reader.h"
#include "runtime/data/sampler.h"
#include "runtime/inspect/paged_run.h"
#include "runtime/train/trainer.h"

/* Ids of the named values of one graph that the loop reads or writes. */
typedef struct plim_ports {
  int32_t image, label, hyper, loss, hits; /* image: or tokens; hyper: PLIM_NONE in the evaluation step */
} plim_ports;

/* A plan switch of the running step. */
typedef struct plim_step_switch {
  int64_t arena_bytes; /* bytes in which the step goes on; 0: there was no switch */
  int32_t command;     /* the command before which the plan took over */
  double percent;      /* overhead of that plan */
} plim_step_switch;

/* A requested budget. A running step may continue in fewer bytes; new plans take over before the next step. */
typedef struct plim_budget_changes {
  _Atomic int64_t wanted; /* bytes; 0: no request. Written by any thread */
  int32_t n_noted;        /* number of rows of options.budget_change that have become requests */
  /* of the running step: */
  plim_step_switch asked;    /* asked of the executor, which need not have done it; 0 bytes: nothing is asked */
  int64_t n_switches;        /* that the executor had done when it was asked */
  int64_t pause;             /* commands from the last failed try to the next one; 0: none failed */
  int64_t next_try;          /* first command before which the next try may be */
  plim_step_switch switched; /* the last one that the executor did, until its request is served */
} plim_budget_changes;

/* Training steps that are timed op by op, before the budget is planned again. */
typedef struct plim_retiming {
  int32_t on;            /* 1: steps are to be timed */
  int32_t seen;          /* training steps of `plan` since it began */
  const plim_plan *plan; /* NULL: none yet */
  plim_timed *sample;    /* [retime_steps][plan->n_commands]. Not NULL: the executor times commands; NULL: the plan
                          * is warming up */
  int64_t *scratch;      /* [2][plan->n_commands] for one step's times, with `sample` */
} plim_retiming;

/* Small numbers of a step: `hyper` is read from the host, the others are written to it. */
typedef struct plim_step_numbers {
  float hyper[PLIM_HYPERS], loss;
  int32_t hits[2];
} plim_step_numbers;

/* Memory of a staged batch: the reader writes it, and the copy to the device reads it. */
typedef struct plim_staging_place {
  uint8_t *image; /* [batch][H][W][C], or tokens i32 [batch][context]. In the arena, or in pinned memory when the host
                   * does not see the arena */
  int32_t *label; /* [batch], or [batch][context], in the same memory */
} plim_staging_place;

enum { PLIM_STAGING_PLACES = 2, PLIM_STAGING_PINNED = 2 * PLIM_STAGING_PLACES + 1 };

/* What the host exchanges with a step. */
typedef struct plim_staging {
  plim_sampler *sampler;
  plim_reader *reader;
  int64_t requested;    /* training batch requested last; PLIM_NONE: no place holds a training batch */
  int32_t image, label; /* ids of the staged batch in the graph of a training step */
  plim_staging_place place[PLIM_STAGING_PLACES];
  int32_t n_places, filled;   /* filled: index of the place of the batch requested last */
  plim_step_numbers *numbers; /* own_numbers, or in pinned memory */
  plim_step_numbers own_numbers;
  void *pinned[PLIM_STAGING_PINNED]; /* [n_pinned] allocations of pinned memory */
  int32_t n_pinned;
} plim_staging;

struct plim_trainer {
  plim_context *ctx;
  const plim_dataset *dataset;
  plim_program *program;
  const plim_plan *plan[PLIM_PROGRAM_GRAPHS]; /* the plans that run now */
  /* [n_own_plans] plans made since open: those that run now, and the one that retiming reads. While plans are replaced,
   * also the new ones */
  plim_plan *own_plan[2 * PLIM_PROGRAM_GRAPHS + 1];
  int32_t n_own_plans;
  plim_device *device;
  plim_trainer_options options;
  plim_ports port[PLIM_PROGRAM_GRAPHS];
  plim_exec *exec;
  plim_refused_list refused; /* used when options.exec.refused is NULL */
  int64_t step;              /* the training step that is next */
  plim_staging staging;
  plim_budget_changes budget_changes;
  plim_retiming retiming;
};

/* Does the program train the last images of an epoch, with a plan for them? */
static inline int plim_trainer_has_last(const plim_trainer *trainer) {
  return trainer->program->plan[PLIM_PROGRAM_LAST] != NULL;
}

/* ---- trainer.c ---- */

/* PLIM_ECANCEL, with the number of steps, when the context was cancelled. */
PLIM_MUST_USE plim_status plim_trainer_check_cancelled(const plim_trainer *trainer);

/* ---- trainer_open.c ---- */

/* Find the id of a named value that the loop reads or writes. PLIM_EDATA: the graph has none. */
PLIM_MUST_USE plim_status plim_trainer_find_port(const plim_graph *graph, const char *name, int32_t *out);

/* ---- staging.c ---- */

/* Find or allocate the places of staged batches, and start the reader. The executor is open. PLIM_EUNSUPPORTED: the
 * host sees no place of a staged batch, and cannot pin one. Close it also after a failure. */
PLIM_MUST_USE plim_status plim_staging_open(plim_trainer *trainer);
void plim_staging_close(plim_trainer *trainer); /* legal for a zeroed one */

/* Tell the reader where the plans that run now have the staged batch. */
void plim_staging_move(plim_trainer *trainer);

/* Wait for the requested batch. After a failure the next step requests the same batch again. */
PLIM_MUST_USE plim_status plim_staging_wait(plim_trainer *trainer);

/* Copy the staged batch to the inputs of plan `plan_index`, and `numbers->hyper` to those of a training step.
 *   number  in  of the training step or of the evaluation batch, for the sentence of a failure */
PLIM_MUST_USE plim_status plim_staging_hand_over(plim_trainer *trainer, int32_t plan_index, int64_t number);

/* Let the reader prepare a batch at the next place while the device computes. When the device watches writes to the
 * arena, wait until the batch is complete, so that the reader writes nothing during the step. */
void plim_staging_request_ahead(plim_trainer *trainer, plim_reader_part part, int64_t number);

/* ---- trainer_plans.c ---- */

/* plim_exec_replace, while the reader writes nothing: memory of the staged batch may move, also when it fails. */
PLIM_MUST_USE plim_status plim_trainer_replace(plim_trainer *trainer, const plim_plan *const *plan);

/* Run plans of the program, or plans made since open, from now on. Called between two steps. Frees the plans made since
 * open that do not run, except the one that retiming reads. The errors of plim_exec_replace, with which the former
 * plans run. */
PLIM_MUST_USE plim_status plim_trainer_run_plans(plim_trainer *trainer, const plim_plan *const *plan);

/* plim_trainer_run_plans for new plans.
 *   plan     [PLIM_PROGRAM_GRAPHS]  in   the trainer owns them, also on failure
 *   refused  [1]                    out  1: the device refused a variant, which has left the program's profiles. The
 *                                        former plans stay, and PLIM_OK is returned */
PLIM_MUST_USE plim_status plim_trainer_install_plans(plim_trainer *trainer, plim_plan **plan, int *refused);

/* Free the plans made since open. Call it after the executor was closed. */
void plim_trainer_free_plans(plim_trainer *trainer);

/* ---- budget_change.c ---- */

/* Set the executor's before-command hook, which tells it of a change of the budget. */
void plim_budget_changes_open(plim_trainer *trainer);

/* Did another plan take over in the middle of a step since the last request was served? Called between two steps. */
int plim_budget_changes_switched(plim_trainer *trainer);

/* Serve the last request, if there is one: plan for the requested budget, and run these plans from now on. Called
 * between two steps. A budget that does not fit, or for whose plans there is no memory, is reported. That is no
 * failure. */
PLIM_MUST_USE plim_status plim_budget_changes_serve(plim_trainer *trainer);

/* ---- retime.c ---- */

/* Check the options for timing steps, and begin. PLIM_EUSAGE. */
PLIM_MUST_USE plim_status plim_retiming_open(plim_trainer *trainer);
void plim_retiming_close(plim_trainer *trainer); /* call it after the executor was closed */
/* Note a training step by plan `plan_index`: record its times and, after the last step to be timed, plan again. */
PLIM_MUST_USE plim_status plim_retiming_note(plim_trainer *trainer, int32_t plan_index);

#endif
