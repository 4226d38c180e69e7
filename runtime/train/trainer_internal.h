/* State of a trainer, shared by trainer.c (the loop), budget_change.c (a budget that changes) and retime.c (times
 * measured in steps). */
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
  int64_t pause;             /* commands from the last failed try to the next one; 0: none failed */
  int64_t next_try;          /* first command before which the next try may be */
  plim_step_switch switched; /* the last one that the executor did, until its request is served */
  /* [n_own] plans made since open: those that run now, and the one that retiming reads. While plans are replaced, also
   * the new ones */
  plim_plan *own[2 * PLIM_PROGRAM_GRAPHS + 1];
  int32_t n_own;
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

/* Memory of a staged batch: the reader writes it, and the copy to the device reads it. */
typedef struct plim_staging {
  uint8_t *image; /* [batch][H][W][C], or tokens i32 [batch][context]. In the arena, or in pinned memory when the host
                   * does not see the arena */
  int32_t *label; /* [batch], or [batch][context], in the same memory */
} plim_staging;

/* Small numbers of a step: `hyper` is read from the host, the others are written to it. */
typedef struct plim_step_numbers {
  float hyper[PLIM_HYPERS], loss;
  int32_t hits[2];
} plim_step_numbers;

enum { PLIM_STAGINGS = 2, PLIM_PINNED = 2 * PLIM_STAGINGS + 1 };

struct plim_trainer {
  plim_context *ctx;
  const plim_dataset *dataset;
  plim_program *program;
  const plim_plan *plan[PLIM_PROGRAM_GRAPHS]; /* the plans that run now */
  plim_device *device;
  plim_trainer_options options;
  plim_ports port[PLIM_PROGRAM_GRAPHS];
  plim_exec *exec;
  plim_refused_list refused; /* used when options.exec.refused is NULL */
  plim_sampler *sampler;
  plim_reader *reader;
  /* One staging in the arena: its copy is complete when the copy call returns. Otherwise two that alternate: the reader
   * fills one while the device may still copy from the other. */
  plim_staging staging[PLIM_STAGINGS];
  int32_t staged_image, staged_label; /* ids of the staged batch in the graph of a training step */
  int32_t n_staging, filled;          /* filled: index of the staging of the batch requested last */
  plim_step_numbers *numbers;         /* own_numbers, or in pinned memory */
  plim_step_numbers own_numbers;
  void *pinned[PLIM_PINNED]; /* [n_pinned] allocations of pinned memory */
  int32_t n_pinned;
  int64_t step;      /* the training step that is next */
  int64_t requested; /* training batch requested last; PLIM_NONE: the staging holds no training batch */
  plim_budget_changes budget_changes;
  plim_retiming retiming;
};

/* Set the executor's before-command hook, which tells it of a change of the budget. */
void plim_budget_changes_open(plim_trainer *trainer);
/* Free the plans made since open. Call it after the executor was closed. */
void plim_budget_changes_close(plim_trainer *trainer);

/* Did another plan take over in the middle of a step since the last request was served? Called between two steps. */
int plim_budget_changes_switched(plim_trainer *trainer);

/* Serve the last request, if there is one: plan for the requested budget, and run these plans from now on. Called
 * between two steps. A budget that does not fit, or for whose plans there is no memory, is reported. That is no
 * failure. */
PLIM_MUST_USE plim_status plim_budget_changes_serve(plim_trainer *trainer);
/* plim_exec_replace, while the reader writes nothing: memory of the staged batch may move, also when it fails. */
PLIM_MUST_USE plim_status plim_trainer_replace(plim_trainer *trainer, const plim_plan *const *plan);
/* Run other plans from now on. Called between two steps. Frees the former plans made since open, except the one that
 * retiming reads; after a failure, the new ones.
 *   plan     [PLIM_PROGRAM_GRAPHS]  in   the trainer owns them, also on failure
 *   refused  [1]                    out  1: the device refused a variant, which has left the program's profiles. The
 *                                        former plans stay, and PLIM_OK is returned */
PLIM_MUST_USE plim_status plim_trainer_install_plans(plim_trainer *trainer, plim_plan **plan, int *refused);

/* Check the options for timing steps, and begin. PLIM_EUSAGE. */
PLIM_MUST_USE plim_status plim_retiming_open(plim_trainer *trainer);
void plim_retiming_close(plim_trainer *trainer); /* call it after the executor was closed */
/* Note a training step by plan `plan_index`: record its times and, after the last step to be timed, plan again. */
PLIM_MUST_USE plim_status plim_retiming_note(plim_trainer *trainer, int32_t plan_index);
/* Write measured times into rows of a profile. Other variants of the ops that ran keep their ratio to one that ran.
 *   time_ns  [plan->n_variants]      in       PLIM_UNKNOWN: not measured
 *   row      [profile's variants]    in, out  a copy of the profile's rows */
void plim_retimed_rows(const plim_plan *plan, const plim_profile *profile, const int64_t *time_ns, plim_variant *row);

#endif
