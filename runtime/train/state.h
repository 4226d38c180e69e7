/* Everything that training changes: parameters, running statistics, momentum. */
#ifndef PLIM_RUNTIME_TRAIN_STATE_H
#define PLIM_RUNTIME_TRAIN_STATE_H

#include "runtime/train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_state_difference {
  int64_t values, bytes; /* compared */
  int64_t different;     /* values with a byte that differs */
  const char *name;      /* of the first such value, borrowed from a's graph; NULL when there is none */
  int64_t first_byte;    /* in that value */
} plim_state_difference;

/* Is the value part of the state (role param or state)? */
int plim_state_has(const plim_graph *graph, int32_t value);

/* Compare the states of two trainers bit for bit, values matched by name. PLIM_EDATA when a value of one is not in
 * the other or has another size there; a difference in bits is not a failure. */
PLIM_MUST_USE plim_status plim_state_compare(const plim_trainer *a, const plim_trainer *b, plim_state_difference *out);

#ifdef __cplusplus
}
#endif
#endif
