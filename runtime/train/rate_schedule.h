/* Learning rate over the steps of a run: linear warm-up, then half a cosine down to 0. A step reads it from an input
 * ("hyper"), so that no plan depends on it. Both functions read only their arguments: they are safe from any thread,
 * deterministic and O(1).
 * Sources: Loshchilov and Hutter, SGDR, ICLR 2017, section 3, without restarts; warm-up: Goyal et al. 2017, section
 * 2.2. */
#ifndef PLIM_RUNTIME_TRAIN_RATE_SCHEDULE_H
#define PLIM_RUNTIME_TRAIN_RATE_SCHEDULE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_rate_schedule {
  float rate;                   /* the highest learning rate */
  float momentum, weight_decay; /* the same in every step */
  int64_t warmup_steps;         /* >= 0; 0: no warm-up */
  int64_t total_steps;          /* of the run, warm-up included */
  float beta2, epsilon;         /* of adam and adamw, whose beta1 is `momentum` */
  float norm_max;               /* largest norm of all gradients together, above which they are scaled; 0: no limit */
} plim_rate_schedule;

/* Learning rate of `step` >= 0.
 *   step < warmup_steps   rate * (step + 1) / warmup_steps
 *   step < total_steps    rate / 2 * (1 + cos(pi * (step - warmup_steps) / (total_steps - warmup_steps)))
 *   else                  0 */
float plim_rate_schedule_rate(const plim_rate_schedule *schedule, int64_t step);

enum { PLIM_HYPERS = 8 }; /* largest number of elements of "hyper" */

/* The "hyper" input of `step` >= 0. The input of sgd has the first four elements.
 *   hyper  [PLIM_HYPERS]  out  learning rate, momentum or beta1, weight decay, beta2, epsilon, 1 - beta1^t,
 *                              1 - beta2^t with t = step + 1, norm_max */
void plim_rate_schedule_hyper(const plim_rate_schedule *schedule, int64_t step, float *hyper);

#ifdef __cplusplus
}
#endif
#endif
