/* Warm-up and cosine. Source: Loshchilov and Hutter, SGDR, ICLR 2017, without restarts; warm-up as Goyal et al. 2017.
 */
#include "runtime/train/rate_schedule.h"

#include <math.h>

float plim_rate_schedule_rate(const plim_rate_schedule *schedule, int64_t step) {
  const double pi = 3.14159265358979323846;
  int64_t warmup = schedule->warmup_steps, falling = schedule->total_steps - warmup;
  if (step < warmup) return schedule->rate * (float)(step + 1) / (float)warmup;
  if (step >= schedule->total_steps || falling <= 0) return 0;
  return (float)(schedule->rate * 0.5 * (1 + cos(pi * (double)(step - warmup) / (double)falling)));
}

void plim_rate_schedule_hyper(const plim_rate_schedule *schedule, int64_t step, float *hyper) {
  hyper[0] = plim_rate_schedule_rate(schedule, step);
  hyper[1] = schedule->momentum;
  hyper[2] = schedule->weight_decay;
  hyper[3] = schedule->beta2;
  hyper[4] = schedule->epsilon;
  hyper[5] = (float)(1 - pow((double)schedule->momentum, (double)(step + 1)));
  hyper[6] = (float)(1 - pow((double)schedule->beta2, (double)(step + 1)));
  hyper[7] = schedule->norm_max;
}
