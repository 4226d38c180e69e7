/* Searches a number of bytes by halving. Bytes are counted in units, so that the bytes reported are bytes that were
 * tried. */
#include "runtime/base/halving.h"

plim_status plim_halve_bytes(plim_gets_through *gets_through, void *user, int64_t failing_bytes, int64_t bytes_max,
                             int64_t unit, int32_t halvings, int64_t *bytes) {
  int64_t failing = failing_bytes / unit, working = bytes_max / unit;
  int yes = 0;
  if (working > failing) PLIM_TRY(gets_through(user, working * unit, &yes));
  for (int32_t i = 0; yes && i < halvings && working - failing > 1; i++) {
    int64_t half = failing + (working - failing) / 2;
    int here;
    PLIM_TRY(gets_through(user, half * unit, &here));
    if (here) {
      working = half;
    } else {
      failing = half;
    }
  }
  *bytes = yes ? working * unit : PLIM_NONE;
  return PLIM_OK;
}
