/* Runs a few tasks at the same time, one on each thread. */
#ifndef PLIM_RUNTIME_BASE_BATCH_H
#define PLIM_RUNTIME_BASE_BATCH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_BATCH_MAX = 64 };

typedef void plim_task(void *user, int32_t i);

/* Run task(user, i) for each i in [0, n), n <= PLIM_BATCH_MAX, and return when all are done. Task 0 runs on the
 * calling thread. So do the tasks for which no thread can be started, one after another. */
void plim_batch_run(plim_task *task, void *user, int32_t n);

#ifdef __cplusplus
}
#endif
#endif
