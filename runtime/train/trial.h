/* A trial of two plans: is paging or recomputation faster on this machine now? Predictions add times that were measured
 * separately. Only a run shows how ops and copies share processors, caches and memory. Functions run on the thread of
 * the device. */
#ifndef PLIM_RUNTIME_TRAIN_TRIAL_H
#define PLIM_RUNTIME_TRAIN_TRIAL_H

#include "runtime/train/preparation.h"

/* Plan the program again without a page space, run training steps with both plans in turns, and leave the faster plan
 * in the program. Each turn opens a trainer with the starting weights and closes it, so no training is kept.
 *   planning  [1] in      the options with which the program was planned; their paging has a page space
 *   program   [1] in/out  its training step pages. Where the other plan stays, the last batch has no plan
 *   training  [1] in      as for plim_trainer_open; budget changes, retime_steps and exec.refused are not read
 *   steps         in      > 0: number of timed steps of a turn, after two steps of warm-up
 *   out       [1] out     medians; untouched when there is no plan without the page space
 * The other plan stays when its figure is smaller, by however little. So where the two differ by less than the
 * machine's noise, either may stay from start to start. With PLIM_NUMERICS_AUTO they may have different bits.
 * There are three turns, or fewer when two seconds have passed after a turn; at least 2 x (2 + steps) steps run. At
 * most one arena exists at a time. A loss that is not finite, or a variant of the other plan that the device refuses,
 * is no failure: the plan that pages stays. The errors of plim_program_plan, except PLIM_ENOFIT, of plim_trainer_open
 * and of plim_trainer_run. After a failure the program has its former plans. */
PLIM_MUST_USE plim_status plim_trial_run(plim_device *device, const plim_dataset *dataset, plim_program *program,
                                         const plim_plan_options *planning, const plim_trainer_options *training,
                                         int32_t steps, plim_trial *out);

#endif
