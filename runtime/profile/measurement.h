/* Measures variants: memory with operands in the cache state of a step, at varied addresses, and one timed run. On the
 * thread of the device. */
#ifndef PLIM_RUNTIME_PROFILE_MEASUREMENT_H
#define PLIM_RUNTIME_PROFILE_MEASUREMENT_H

#include "runtime/profile/profile_set.h"

typedef struct plim_ring {
  char *base;
  int64_t bytes, cursor;
} plim_ring;

typedef struct plim_measurement {
  plim_profile_set *set;
  plim_ring ring[2];     /* of warm and of cold operands, by plim_cache_state */
  plim_ring *ring_of[2]; /* the ring of warm and of cold operands: both the first when there is no room for two */
  float *normal;         /* [PLIM_NORMALS] */
  void *host;            /* [host_bytes] an operand before its copy to a device whose memory the host does not see */
  int64_t host_bytes;
  void *source; /* the normals in memory of such a device, from which copies are fast */
  void *arena;  /* [arena_bytes] both rings */
  int64_t arena_bytes;
  /* of the case that runs: operands, then the workspace */
  int32_t capacity;          /* as many as any group has */
  plim_operand_place *place; /* [capacity] */
  void **operand;            /* [capacity] */
} plim_measurement;

/* The largest numbers of bytes that any case needs. */
typedef struct plim_measure_needs {
  int64_t bytes;    /* of all operands and the workspace of a case */
  int64_t block[2]; /* of its warm block, and of its cold block */
} plim_measure_needs;

/* Bytes of all storages of the graph: about as many as a step uses between two uses of the same address. */
int64_t plim_measure_step_bytes(const plim_graph *graph);

/* Increase the needs to those of a case of the group. */
void plim_measure_need(const plim_profile_group *group, const plim_profile_case *profile_case,
                       plim_measure_needs *most);

/* PLIM_ECANCEL after a cancel. Called before each run and each build, which may take a tenth of a second; a pass over
 * all cases may take ten seconds. */
PLIM_MUST_USE plim_status plim_measure_check_cancelled(const plim_profile_set *set);

/* Prepare the kernel of a case of the group, unless it is prepared. The status of the device. */
PLIM_MUST_USE plim_status plim_measure_prepare(plim_profile_set *set, const plim_profile_group *group,
                                               plim_profile_case *profile_case);

/* Allocate memory for cases with these needs. Call plim_measure_end also after a failure.
 *   limit  in  most bytes to allocate, if the needs are less; 0: no limit
 * PLIM_ENOMEM, PLIM_ENOFIT. */
PLIM_MUST_USE plim_status plim_measure_begin(plim_profile_set *set, const plim_measure_needs *most, int64_t limit,
                                             plim_measurement *measurement);
void plim_measure_end(plim_measurement *measurement);

/* Run a prepared case once; *time_ns out. */
PLIM_MUST_USE plim_status plim_measure_run(plim_measurement *measurement, const plim_profile_group *group,
                                           const plim_profile_case *profile_case, int64_t *time_ns);

/* Run a prepared case of f32 or bf16 operands on random inputs. The inputs are the same, at the same addresses, in
 * every call for a group. *out is the only output, valid until the next run. The device must be host_visible. */
PLIM_MUST_USE plim_status plim_measure_result(plim_measurement *measurement, const plim_profile_group *group,
                                              const plim_profile_case *profile_case, int64_t *time_ns,
                                              const void **out);

/* Run a prepared case once with its operands one after another. The numbers and addresses are the same for each case of
 * a group.
 *   result  [n]  out  the first outputs, on the device, valid until the next run; NULL after the last. All NULL: the
 *                     memory is too small for such a layout, and nothing has run */
PLIM_MUST_USE plim_status plim_measure_line(plim_measurement *measurement, const plim_profile_group *group,
                                            const plim_profile_case *profile_case, int64_t *time_ns,
                                            const void **result, int32_t n);

#endif
