/* The fields of a context, for context.c and effort.c, and a function for threads that share a context. */
#ifndef PLIM_RUNTIME_BASE_CONTEXT_INTERNAL_H
#define PLIM_RUNTIME_BASE_CONTEXT_INTERNAL_H

#include <stdatomic.h>

#include "runtime/base/effort.h"

/* The deadline of a context. Threads that share it only add to `unseen` and `late`; a lost addition does no harm. */
typedef struct plim_effort {
  atomic_llong deadline_ns; /* or PLIM_TIME_UNLIMITED */
  atomic_llong unseen;      /* work since the clock was read */
  atomic_llong late;        /* work after the end */
  atomic_int over;          /* 1: the clock was after the deadline */
  plim_effort_clock *clock; /* NULL: plim_now_ns */
  void *clock_user;
} plim_effort;

struct plim_context {
  plim_context *parent; /* of a fork, whose hook, counters and cancellation are the parent's; else NULL */
  plim_resize *resize;
  void *user;
  plim_on_progress *on_progress;
  void *progress_user;
  atomic_int cancelled;
  plim_effort effort;
  atomic_llong allocations, bytes, bytes_peak;
  char error[PLIM_ERROR_BYTES];
};

/* Make the calling thread's failures of ctx write their sentence to text [PLIM_ERROR_BYTES], and plim_context_error of
 * this thread read it there. It is needed when another thread may fail at the same time. NULL, NULL: end this. */
void plim_context_fail_into(const plim_context *ctx, char *text);

#endif
