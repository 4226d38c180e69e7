/* Caps that change during a run: --memory-at. */
#ifndef PLIM_TOOLS_PLIMSOLL_LIMITS_H
#define PLIM_TOOLS_PLIMSOLL_LIMITS_H

#include "runtime/train/trainer.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/options.h"

struct session;

typedef struct limits {
  int32_t n;
  plim_limit row[OPTION_VALUES]; /* by step */
  int32_t n_reports;
  plim_limit_report report[OPTION_VALUES];
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

#endif
