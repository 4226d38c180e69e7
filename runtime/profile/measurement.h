/* Memory in which variants are measured: operands as warm as they are in a step, at varied places, and one timed run.
 */
#ifndef PLIM_RUNTIME_PROFILE_MEASUREMENT_H
#define PLIM_RUNTIME_PROFILE_MEASUREMENT_H

#include "runtime/profile/profile_set.h"

typedef struct plim_ring {
  char *base;
  int64_t bytes, cursor;
} plim_ring;

typedef struct plim_measurement {
  plim_profile_set *set;
  plim_ring rings[2];  /* by plim_cache_state */
  plim_ring *block[2]; /* which of them serves; both the first where there is no room for two */
  float *normal;       /* [PLIM_NORMALS] */
  void *host;          /* [host_bytes] an operand in the making, where the host does not see the device's memory */
  int64_t host_bytes;
  void *source; /* the normals on the device, where the host does not see its memory: copies within it are fast */
  void *arena;  /* [arena_bytes] both rings */
  int64_t arena_bytes;
} plim_measurement;

/* What the cases need at most. */
typedef struct plim_measure_needs {
  int64_t bytes, block[2]; /* of one case; of its blocks, each the most of any case */
} plim_measure_needs;

/* Bytes of all storages of the graph: about what a step touches before it comes back to a place. */
int64_t plim_measure_step_bytes(const plim_graph *graph);

/* Take the needs of a case of the group into account. */
void plim_measure_need(const plim_profile_group *group, const plim_profile_case *c, plim_measure_needs *most);

/* PLIM_ECANCEL after a cancel. Asked before each run and each build, which may take a tenth of a second; a pass over
 * all cases may take ten. */
PLIM_MUST_USE plim_status plim_measure_go_on(const plim_profile_set *set);

/* Prepare the kernel of a case of the group, unless it is. */
PLIM_MUST_USE plim_status plim_measure_prepare(plim_profile_set *set, const plim_profile_group *group,
                                               plim_profile_case *c);

/* Memory for cases of those needs. limit: the most that is taken where the needs allow it, 0: any. plim_measure_end is
 * due whatever this returns. */
PLIM_MUST_USE plim_status plim_measure_begin(plim_profile_set *set, const plim_measure_needs *most, int64_t limit,
                                             plim_measurement *m);
void plim_measure_end(plim_measurement *m);

/* Run a prepared case once. */
PLIM_MUST_USE plim_status plim_measure_run(plim_measurement *m, const plim_profile_group *group,
                                           const plim_profile_case *c, int64_t *time_ns);

/* Run a prepared case of f32 or bf16 operands on random inputs, the same in every call for a group, at the same places;
 * *out is its only output, until the next run. The device must be host_visible. */
PLIM_MUST_USE plim_status plim_measure_result(plim_measurement *m, const plim_profile_group *group,
                                              const plim_profile_case *c, int64_t *time_ns, const void **out);

/* Run a prepared case once with its operands in a line, the same numbers at the same places for each case of a group.
 * *result is the only output, on the device, until the next run; NULL, and nothing ran, where the line needs more
 * memory than there is. */
PLIM_MUST_USE plim_status plim_measure_line(plim_measurement *m, const plim_profile_group *group,
                                            const plim_profile_case *c, int64_t *time_ns, const void **result);

#endif
