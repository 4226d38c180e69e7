/* A program on a tape, written as a log of the DTR prototype: forward calls as a model makes them, then the calls of
 * the backward pass that an autograd engine would make, with the handles that both hold and let go. */
#ifndef PLIM_TESTS_SUPPORT_LOG_TAPE_H
#define PLIM_TESTS_SUPPORT_LOG_TAPE_H

#include "runtime/base/text.h"

/* What the backward call of an op reads beside the gradient of its result. */
enum { TAPE_SAVE_NOTHING = 0, TAPE_SAVE_IN = 1, TAPE_SAVE_OUT = 2, TAPE_SAVE_EXTRA = 4 };

typedef struct log_tape log_tape;

log_tape *log_tape_new(plim_text *log);
void log_tape_free(log_tape *tape);

/* Variables are numbers. A parameter gets a gradient that stays; an input gets none. */
int32_t log_tape_parameter(log_tape *tape, int64_t bytes);
int32_t log_tape_input(log_tape *tape, int64_t bytes);

typedef struct tape_call {
  const char *op;
  int32_t n_in, in[8];
  int64_t bytes, time_ns;
  int32_t n_extra; /* further results, which only the backward call reads, if it saves them */
  int64_t extra_bytes;
  int32_t saves;
  int32_t mutates; /* 1: the result takes the place of in[0], which must not be used again */
  int32_t view;    /* 1: the result is a view of in[0] */
} tape_call;

int32_t log_tape_call(log_tape *tape, const tape_call *call);

/* The model lets go of a variable: what the backward pass saved of it stays. */
void log_tape_drop(log_tape *tape, int32_t variable);

/* The backward pass from this variable, and the end of the log. */
void log_tape_backward(log_tape *tape, int32_t loss);

#endif
