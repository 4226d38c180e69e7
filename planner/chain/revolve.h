/* Revolve's numbers: reversing a chain of steps of equal cost. */
#ifndef PLIM_PLANNER_REVOLVE_H
#define PLIM_PLANNER_REVOLVE_H

#include <stdint.h>

/* Fewest forward steps that reverse a chain of `length` >= 1 steps with `slots` >= 1 states held at once, the first
 * state included. */
int64_t plim_revolve_steps(int32_t length, int32_t slots);

/* How far from the first state the next one is kept, in a way that takes the fewest steps; the lowest such number. */
int32_t plim_revolve_split(int32_t length, int32_t slots);

#endif
