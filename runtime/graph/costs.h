/* Costs of an imported graph, in addition to or in place of one time for each op: FLOPs, times by device, times of
 * copies of an op's outputs from one device to another, and workspaces. Times are in the unit of the file.
 *
 * Costs belong to one thread while they are filled in. The other functions only read: any number of threads may call
 * them at once. All are deterministic. */
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
  int64_t *flops;                        /* [n_ops] PLIM_UNKNOWN: not known */
  int64_t *duration;                     /* [n_ops][n_devices] PLIM_NONE: the op does not run there */
  int64_t *copy;                         /* [n_ops][n_devices from][n_devices to] PLIM_NONE: there is no link */
  int64_t *workspace;                    /* [n_ops] bytes beside inputs and outputs while the op runs; 0: none */
} plim_costs;

/* Make costs for the caller to fill in: every name is "", every number -1, every workspace 0.
 *   n_ops, n_devices  in   >= 0
 *   out               out  free with plim_costs_free
 * PLIM_EDATA: more than PLIM_COSTS_MAX_DEVICES devices. PLIM_ENOMEM. O(n_ops x n_devices^2). */
PLIM_MUST_USE plim_status plim_costs_new(plim_context *ctx, int32_t n_ops, int32_t n_devices, plim_costs **out);
void plim_costs_free(plim_costs *costs); /* NULL is legal */

/* Index of a number in `duration` and in `copy`. Op and devices must be in range. */
static inline int64_t plim_costs_duration_at(const plim_costs *costs, int32_t op, int32_t device) {
  const int64_t row = op;
  return row * costs->n_devices + device;
}
static inline int64_t plim_costs_copy_at(const plim_costs *costs, int32_t op, int32_t from, int32_t to) {
  const int64_t row = op;
  return (row * costs->n_devices + from) * costs->n_devices + to;
}

/* Is there any cost: a device, or the FLOPs or the workspace of an op? O(n_ops). */
int plim_costs_any(const plim_costs *costs);

/* Index of the device of that name, or PLIM_NONE. O(n_devices). */
int32_t plim_costs_find_device(const plim_costs *costs, const char *name);

/* Find the time of a copy of the op's outputs between two devices.
 *   from, to  in       names of devices
 *   time      [1] out  in the unit of the file; PLIM_NONE: there is no link. Untouched when the result is 0
 * Returns 1, or 0 when no device has such a name or the op has no times of copies. O(n_devices^2). */
int plim_costs_find_copy(const plim_costs *costs, int32_t op, const char *from, const char *to, int64_t *time);

/* May a device or a space have that name? A name is 1 to 31 printable ASCII characters, without blank, '=', ',', '>'
 * and ';', which separate names in other texts. */
int plim_costs_is_name(const char *name);

/* Copy a name into device[device], which must be in range. PLIM_EDATA: plim_costs_is_name refuses it, or a device has
 * it already. */
PLIM_MUST_USE plim_status plim_costs_name_device(plim_costs *costs, int32_t device, const char *name);

/* Check that the costs are for n_ops ops, and that no sum exceeds 2^61: of all FLOPs, of the times on each device, of
 * all copies, and of all workspaces. PLIM_EDATA. O(n_ops x n_devices^2). */
PLIM_MUST_USE plim_status plim_costs_check(const plim_costs *costs, int32_t n_ops);

#ifdef __cplusplus
}
#endif
#endif
