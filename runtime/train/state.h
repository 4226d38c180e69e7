/* The training state: everything that training changes, which is parameters, running statistics and momentum. */
#ifndef PLIM_RUNTIME_TRAIN_STATE_H
#define PLIM_RUNTIME_TRAIN_STATE_H

#include "runtime/train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a comparison. */
typedef struct plim_state_difference {
  int64_t values, bytes; /* that were compared */
  int64_t different;     /* values with a byte that differs */
  const char *name;      /* of the first such value in graph order, borrowed from a's graph; NULL: there is none */
  int64_t first_byte;    /* index of the first byte that differs in that value */
} plim_state_difference;

/* 1 when the value, whose id is in range, is part of the state: its storage has the role param or state. O(1); safe
 * from any thread. */
int plim_state_has(const plim_graph *graph, int32_t value);

/* Compare the states of two trainers bit for bit, between two steps of each. Values are matched by name.
 *   out  [1]  out  a difference in bits is no failure: out->different counts it
 * PLIM_EDATA: a value of one trainer is missing in the other, or has another size there. PLIM_EDEVICE: a value cannot
 * be copied from its device. PLIM_ENOMEM. O(bytes of the state + values^2), and memory for two copies of the largest
 * value. On the thread of both trainers. */
PLIM_MUST_USE plim_status plim_state_compare(const plim_trainer *a, const plim_trainer *b, plim_state_difference *out);

#ifdef __cplusplus
}
#endif
#endif
