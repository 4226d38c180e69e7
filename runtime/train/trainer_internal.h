/* The trainer's insides, shared by trainer.c (the loop), limit.c (a budget that changes) and retime.c (times in place).
 */
#ifndef PLIM_RUNTIME_TRAIN_TRAINER_INTERNAL_H
#define PLIM_RUNTIME_TRAIN_TRAINER_INTERNAL_H

#include <stdatomic.h>

#include "runtime/data/reader.h"
#include "runtime/data/sampler.h"
#include "runtime/train/trainer.h"

/* The named values of one graph that the loop touches. */
typedef struct plim_ports {
  int32_t image, label, hyper, loss, hits; /* image: or tokens; hyper: -1 in the evaluation step */
} plim_ports;

/* A budget that is asked for: while a step runs it may continue in less; the next boundary settles it. */
typedef struct plim_limiting {
  _Atomic int64_t wanted; /* bytes; 0: nothing is asked for. Written by any thread */
  int32_t n_noted;        /* of options.limit: asked for so far */
  /* of the step in flight: */
  int64_t switched_bytes; /* in which it continues; 0: as it began */
  int32_t switched_at;    /* command of the plan */
  double switched_percent;
  int32_t tries, next_try; /* that failed; command before which the next one is */
  /* plans made since open, which the executor may still know: [n_own] */
  plim_plan **own;
  int64_t n_own, own_capacity;
} plim_limiting;

/* Steps that are timed op by op, before the budget is planned again. */
typedef struct plim_retiming {
  int32_t on, seen;      /* training steps of this plan since it began */
  const plim_plan *plan; /* NULL: none yet */
  int64_t *sample; /* [retime_steps][plan->n_commands] ns; NULL while the plan is warming up; times are taken while
                          * it is there */
} plim_retiming;

/* A batch on its way: where the reader writes it, and the copies to the device begin. */
typedef struct plim_staging {
  uint8_t *image; /* [batch][H][W][C], or tokens i32 [batch][context], in the arena; in pinned memory where the host
                   * does not see the arena */
  int32_t *label; /* [batch], or [batch][context], there too */
} plim_staging;

/* What a step takes from the host besides, and gives back. */
typedef struct plim_step_numbers {
  float hyper[PLIM_HYPERS], loss;
  int32_t hits[2];
} plim_step_numbers;

enum { PLIM_STAGINGS = 2, PLIM_PINNED = 2 * PLIM_STAGINGS + 1 };

struct plim_trainer {
  plim_context *ctx;
  const plim_dataset *dataset;
  plim_program *program;
  const plim_plan *plan[PLIM_PROGRAM_GRAPHS]; /* that run now */
  plim_device *device;
  plim_trainer_options options;
  plim_ports port[PLIM_PROGRAM_GRAPHS];
  plim_exec *exec;
  plim_exec_failures failures; /* where options.exec has no other place for them */
  plim_sampler *sampler;
  plim_reader *reader;
  /* One in the arena: a copy of it is complete when it returns. Else two in turns: the reader fills one while the
   * device may still copy from the other. */
  plim_staging staging[PLIM_STAGINGS];
  int32_t n_staging, filled;  /* filled: of the batch asked for last */
  plim_step_numbers *numbers; /* own_numbers, or in pinned memory */
  plim_step_numbers own_numbers;
  void *pinned[PLIM_PINNED]; /* [n_pinned] what the device gave */
  int32_t n_pinned;
  int64_t step;      /* next to run */
  int64_t requested; /* training batch asked for last; -1: the staging holds something else */
  plim_limiting limiting;
  plim_retiming retiming;
};

/* Give the executor the function by which it asks, before a command, whether the budget has changed. */
void plim_limiting_open(plim_trainer *t);
/* After the executor's close. */
void plim_limiting_close(plim_trainer *t);

/* Between two steps: take the plans for what was asked for since the last time. A budget that does not fit is reported
 * and is no failure. */
PLIM_MUST_USE plim_status plim_limiting_settle(plim_trainer *t);
/* Between two steps: these plans run from now on; the trainer owns them, also on failure. A variant that the device
 * refuses leaves the program's profiles, and the former plans stay: *refused is 1 then, and that is no failure. */
PLIM_MUST_USE plim_status plim_limiting_install(plim_trainer *t, plim_plan **plan, int *refused);

PLIM_MUST_USE plim_status plim_retiming_open(plim_trainer *t);
void plim_retiming_close(plim_trainer *t); /* after the executor's close */
/* After a training step by plan `which`. */
PLIM_MUST_USE plim_status plim_retiming_note(plim_trainer *t, int32_t which);

#endif
