/* Plans of a whole program for another budget, with the bits of the plans that it has. */
#ifndef PLIM_RUNTIME_PROGRAM_REPLAN_H
#define PLIM_RUNTIME_PROGRAM_REPLAN_H

#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_replan_options {
  size_t struct_bytes;        /* sizeof(plim_replan_options) */
  plim_plan_options planning; /* read: all but budget_bytes, labels and label */
  const plim_policy *policy; /* decides the training step instead of a planner; NULL: none. A last batch: or the best */
  double thrash;             /* of the policy: recomputing may take so many times the step */
} plim_replan_options;

/* Planning as plim_plan_options_default has it, no policy. */
plim_replan_options plim_replan_options_default(void);

/* plan [program->n_steps], out: for budget_bytes, each with the numerics keys of the plan in `as`; those of steps that
 * `as` has no plan for are NULL. With options->planning.front_folder a plan of the plan front. PLIM_ENOFIT when one of
 * them does not fit; then none is left. */
PLIM_MUST_USE plim_status plim_program_replan(const plim_program *program, const plim_plan *const *as,
                                              const plim_replan_options *options, int64_t budget_bytes,
                                              plim_plan **plan);

#ifdef __cplusplus
}
#endif
#endif
