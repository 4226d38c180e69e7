/* The optimizers, a row each: the op of an update, its states, and what training takes where a caller says nothing.
 * All have the schedule of runtime/train/rate_schedule.h: a warm-up, then half a cosine. The functions read only their
 * arguments and static memory: they are safe from any thread, deterministic and O(optimizers). */
#ifndef PLIM_RUNTIME_NET_OPTIMIZERS_H
#define PLIM_RUNTIME_NET_OPTIMIZERS_H

#include "kernels/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_OPTIMIZER_STATES = 2 /* the most that one has */ };

typedef enum plim_optimizer {
  PLIM_OPTIMIZER_MOMENTUM, /* sgd with a velocity: where options are 0 */
  PLIM_OPTIMIZER_SGD,      /* without; the momentum of its schedule is 0 */
  PLIM_OPTIMIZER_ADAM,
  PLIM_OPTIMIZER_ADAMW,
  PLIM_OPTIMIZER_COUNT
} plim_optimizer;

typedef struct plim_optimizer_row {
  const char *name;
  plim_op_kind kind;                        /* of an update */
  int32_t hypers[2];                        /* elements of "hyper"; [1]: where gradients are clipped */
  int32_t n_states;                         /* of a parameter */
  const char *state[PLIM_OPTIMIZER_STATES]; /* suffixes of the states' names */
  int32_t decays_some;                      /* 1: matrices and tables decay, 0: all parameters do */
  float momentum; /* or the first beta. That of sgd is what a command takes for it: plim_optimizer_with */
  float beta2;    /* 0: there is none */
  float epsilon;
  float weight_decay;
  double rate, rate_mlp; /* highest learning rate; that of the model mlp, which has no norms */
  int32_t rate_batch;    /* the rates are of so many examples, and proportional to the batch; 0: of any batch */
  int32_t warmup_part;   /* steps / warmup_part is the warm-up of a run */
  int32_t warmup_most;   /* but no more steps than these; 0: any */
} plim_optimizer_row;

/* Row of an optimizer, in static memory; NULL: there is none. */
const plim_optimizer_row *plim_optimizer_at(int32_t optimizer);

/* Name of row i of the optimizers, a static string; NULL after the last row. */
const char *plim_optimizer_name(int32_t row);

/* The optimizer of a built-in model. */
plim_optimizer plim_optimizer_default(const char *model);

/* The optimizer that a name and a momentum stand for: `optimizer`, but sgd is momentum where the number is not 0. So a
 * caller who asks for sgd gets velocities where they are needed, and only there. */
plim_optimizer plim_optimizer_with(plim_optimizer optimizer, float momentum);

/* The highest learning rate of a built-in model, for batches of `batch` examples. */
double plim_optimizer_rate(const plim_optimizer_row *row, const char *model, int64_t batch);

/* The warm-up of a run of `steps` steps, in steps. */
int64_t plim_optimizer_warmup(const plim_optimizer_row *row, int64_t steps);

#ifdef __cplusplus
}
#endif
#endif
