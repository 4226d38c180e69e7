/* Learning rate over the steps of a run: linear warm-up, then half a cosine down to 0. It reaches the step as an input
 * value ("hyper"), so that no plan depends on it. */
#ifndef PLIM_RUNTIME_TRAIN_RATE_SCHEDULE_H
#define PLIM_RUNTIME_TRAIN_RATE_SCHEDULE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_rate_schedule {
  float rate; /* the highest */
  float momentum, weight_decay;
  int64_t warmup_steps, total_steps;
} plim_rate_schedule;

/* Rate of `step` (from 0). The warm-up ends with `rate` at step warmup_steps - 1; from total_steps on it is 0. */
float plim_rate_schedule_rate(const plim_rate_schedule *schedule, int64_t step);

/* The "hyper" value of a step. hyper [4] out: rate, momentum, weight decay, 0. */
void plim_rate_schedule_hyper(const plim_rate_schedule *schedule, int64_t step, float *hyper);

#ifdef __cplusplus
}
#endif
#endif
