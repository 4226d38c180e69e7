/* Costs that an imported graph carries beside, or in place of, one time an op: work in FLOP, times by device, and the
 * time of a copy of what an op writes, by device from which and to which. Times are in the unit of the file. */
#ifndef PLIM_RUNTIME_GRAPH_COSTS_H
#define PLIM_RUNTIME_GRAPH_COSTS_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_COSTS_MAX_DEVICES = 64, PLIM_COSTS_NAME_BYTES = 32 };

typedef struct plim_costs {
  plim_context *ctx;
  int32_t n_ops, n_devices;
  char (*device)[PLIM_COSTS_NAME_BYTES]; /* [n_devices] names, no two alike */
  int64_t *flops;                        /* [n_ops] -1: none */
  int64_t *duration;                     /* [n_ops][n_devices] -1: the op does not run there */
  int64_t *copy;                         /* [n_ops][n_devices from][n_devices to] -1: no link takes it */
} plim_costs;

/* Costs without a name and a number, all -1, to be filled in. */
PLIM_MUST_USE plim_status plim_costs_new(plim_context *ctx, int32_t n_ops, int32_t n_devices, plim_costs **out);
void plim_costs_free(plim_costs *costs); /* NULL is legal */

/* Places of a number in `duration` and `copy`. */
static inline int64_t plim_costs_duration_at(const plim_costs *c, int32_t op, int32_t device) {
  const int64_t row = op;
  return row * c->n_devices + device;
}
static inline int64_t plim_costs_copy_at(const plim_costs *c, int32_t op, int32_t from, int32_t to) {
  const int64_t row = op;
  return (row * c->n_devices + from) * c->n_devices + to;
}

/* 1: a name or a number is there. */
int plim_costs_any(const plim_costs *costs);

/* The device of that name, -1: none. */
int32_t plim_costs_find_device(const plim_costs *costs, const char *name);

/* What the graph says of a copy of what the op writes from one named device to another: 1, and its time, -1 where no
 * link takes it; 0 where it says nothing: a device is not the graph's, or the op has no times of copies. */
int plim_costs_find_copy(const plim_costs *costs, int32_t op, const char *from, const char *to, int64_t *time);

/* May a device or a space be called that: 1 to 31 printable characters without blank, '=', ',', '>' and ';', which
 * other texts need? */
int plim_costs_is_name(const char *name);

/* Name a device. PLIM_EDATA for a name that may not be, and for one that a device before it has. */
PLIM_MUST_USE plim_status plim_costs_name_device(plim_costs *costs, int32_t device, const char *name);

/* Do the costs belong to a graph of so many ops, and do their sums fit: less than 2^61 for the FLOP, for the times on a
 * device and for all the copies? PLIM_EDATA with a sentence. */
PLIM_MUST_USE plim_status plim_costs_check(const plim_costs *costs, int32_t n_ops);

#ifdef __cplusplus
}
#endif
#endif
