/* The numbers of a variant beside those of the single-source kernel. */
#ifndef PLIM_RUNTIME_PROFILE_PROFILE_VERIFY_H
#define PLIM_RUNTIME_PROFILE_PROFILE_VERIFY_H

#include "runtime/profile/measurement.h"

/* Parts of a result, spread over the whole of it. */
enum { PLIM_VERIFY_PARTS = 16, PLIM_VERIFY_PART = 512 /* elements */ };

/* What the single-source kernel computes on the operands of a group. */
typedef struct plim_profile_reference {
  int32_t n; /* elements; 0: not known */
  double largest;
  float expected[PLIM_VERIFY_PARTS * PLIM_VERIFY_PART];
} plim_profile_reference;

/* The group's case of the single-source kernel; -1 when it has none, or no other, or more results than one. */
int32_t plim_profile_reference_case(const plim_profile_set *set, const plim_profile_group *group);

/* Run that case, which is prepared, and keep what it writes. Where memory is short nothing is known afterwards. */
PLIM_MUST_USE plim_status plim_profile_refer(plim_measurement *m, const plim_profile_group *group,
                                             const plim_profile_case *c, plim_profile_reference *reference);

/* Run a prepared case once on the same operands. `why` gets a sentence when a number differs from the reference by more
 * than the precision of the op allows, else "". *time_ns is -1, and nothing ran, where memory is short. */
PLIM_MUST_USE plim_status plim_profile_verify(plim_measurement *m, const plim_profile_group *group,
                                              const plim_profile_case *c, const plim_profile_reference *reference,
                                              int64_t *time_ns, char why[PLIM_DROPPED_WHY_BYTES]);

#endif
