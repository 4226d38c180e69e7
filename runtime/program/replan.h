/* Plans of a whole program for another budget, whose results are equal bit for bit to those of the plans that it has.
 */
#ifndef PLIM_RUNTIME_PROGRAM_REPLAN_H
#define PLIM_RUNTIME_PROGRAM_REPLAN_H

#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 *   as            [program->n_steps] in   the plans now; NULL: that step is not planned
 *   budget_bytes                     in
 *   plan          [program->n_steps] out  free with plim_plan_free; NULL for steps that are not planned, and on failure
 * With options->planning.front_folder, plans come from the plan front too. PLIM_ENOFIT when a step does not fit.
 * The program is only read. */
PLIM_MUST_USE plim_status plim_program_replan(const plim_program *program, const plim_plan *const *as,
                                              const plim_replan_options *options, int64_t budget_bytes,
                                              plim_plan **plan);

#ifdef __cplusplus
}
#endif
#endif
