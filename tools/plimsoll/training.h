/* How a session trains: budgets by step (--memory-at), times in place (--retime), lengths, rates and the trainer. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRAINING_H
#define PLIM_TOOLS_PLIMSOLL_TRAINING_H

#include "runtime/train/trainer.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/options.h"

struct session;

/* ---- budgets by step ---- */

typedef struct limits {
  int32_t n;
  plim_budget_change row[OPTION_VALUES]; /* by step */
  int32_t n_reports;
  plim_budget_report report[OPTION_VALUES];
} limits;

/* Read the options. The session must know what percentages are of. */
plim_status limits_parse(struct session *s);

/* Those of steps that the run reaches: the first so many. A budget of a step that never comes needs no plan. */
int32_t limits_reached(const struct session *s);

/* Into the options of a trainer of the session's program; what happens is kept, and printed as it happens. */
void limits_set(struct session *s, plim_trainer_options *wanted);

/* Is the budget to change in this step, or before it? */
int limits_plan_at(const limits *l, int64_t step);

/* What happened, as rows. */
void limits_figures(figures *f, const limits *l);

/* ---- times in place ---- */

typedef struct retime {
  int reported;
  plim_retime_report report;
} retime;

/* Into the options of a trainer of the session's program; what comes of it is kept, and printed as it happens. To be
 * called after session_plan. PLIM_EUSAGE where there is no plan that could be recomputed. */
PLIM_MUST_USE plim_status retime_set(struct session *s, plim_trainer_options *wanted);

/* What came of it, as a row. */
void retime_figures(figures *f, const options *o, const retime *r);

/* ---- the trainer ---- */

/* The learning rates of the options, and of the optimizer where they say nothing. `steps`: its length. */
plim_rate_schedule session_schedule(const struct session *s, int64_t steps);

/* How the options say that it trains; steps: the length of the learning-rate schedule. */
plim_trainer_options session_trainer_options(const struct session *s, int64_t steps);

/* A trainer over any program of this session; steps: the length of the learning-rate schedule. --addresses jemalloc
 * applies to the session's own program. */
plim_status session_trainer(struct session *s, plim_program *program, int64_t steps, plim_trainer **out);

/* Does every value of the session's program get its own allocation? */
int session_uses_heap(const struct session *s);

/* The step at which the options let training stop, from the first one on. */
int64_t session_steps(const struct session *s);

/* The length of the learning-rate schedule: --total-steps; else the steps of --epochs, where that is given, or
 * session_steps, whichever are more. */
int64_t session_total_steps(const struct session *s);
/* PLIM_EUSAGE when the run is longer than its schedule. */
PLIM_MUST_USE plim_status session_check_steps(const struct session *s);

#endif
