/* Compares the numbers of a variant with those of the single-source kernel. Functions run on the thread of the device.
 */
#ifndef PLIM_RUNTIME_PROFILE_PROFILE_VERIFY_H
#define PLIM_RUNTIME_PROFILE_PROFILE_VERIFY_H

#include "runtime/profile/measurement.h"

/* Number and size of the parts of a result that are compared, spread over the whole of it. */
enum { PLIM_VERIFY_PARTS = 16, PLIM_VERIFY_PART = 512 /* elements */ };

/* Results that are compared: attention has the sums of its softmax besides. */
enum { PLIM_VERIFY_RESULTS = 2 };

/* The results of the single-source kernel on the operands of a group. */
typedef struct plim_profile_reference {
  int32_t n[PLIM_VERIFY_RESULTS]; /* elements; n[0] 0: not known */
  int64_t time_ns;
  double largest[PLIM_VERIFY_RESULTS];
  float expected[PLIM_VERIFY_RESULTS][PLIM_VERIFY_PARTS * PLIM_VERIFY_PART];
} plim_profile_reference;

/* The group's case of the single-source kernel; PLIM_NONE: it has none, or no other case, or results of a number or
 * type that are not compared. */
int32_t plim_profile_reference_case(const plim_profile_set *set, const plim_profile_group *group);

/* Run that case, which must be prepared, and keep its results. reference->n[0] is 0 when memory is short. */
PLIM_MUST_USE plim_status plim_profile_refer(plim_measurement *measurement, const plim_profile_group *group,
                                             const plim_profile_case *profile_case, plim_profile_reference *reference);

/* Run a prepared case once on the same operands, and compare its results with the reference.
 *   time_ns  out  PLIM_UNKNOWN: memory is short, and nothing ran
 *   why      out  a sentence when a number differs by more than the precision of the op allows, else "" */
PLIM_MUST_USE plim_status plim_profile_verify(plim_measurement *measurement, const plim_profile_group *group,
                                              const plim_profile_case *profile_case,
                                              const plim_profile_reference *reference, int64_t *time_ns,
                                              char why[PLIM_DROPPED_WHY_BYTES]);

#endif
