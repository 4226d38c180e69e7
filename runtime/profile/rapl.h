/* Energy that the processor packages of this machine have drawn, by the counters that Linux shows (powercap; on Intel
 * and AMD processors the interface is called RAPL). It is that of all programs that run. Reading usually needs root. */
#ifndef PLIM_RUNTIME_PROFILE_RAPL_H
#define PLIM_RUNTIME_PROFILE_RAPL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_RAPL_PACKAGES = 16, PLIM_RAPL_PATH_BYTES = 256 };

typedef struct plim_rapl {
  int32_t n;                                           /* packages; 0: no counter can be read */
  char path[PLIM_RAPL_PACKAGES][PLIM_RAPL_PATH_BYTES]; /* [n] of the counters */
  int64_t range_uj[PLIM_RAPL_PACKAGES];                /* [n] largest value, after which a counter begins at 0 */
  int64_t last_uj[PLIM_RAPL_PACKAGES];                 /* [n] at the last start or add */
  double joule;                                        /* added so far, of all packages */
} plim_rapl;

/* Find the counters.
 *   folder  in  of the zones; NULL: that of the environment variable PLIM_POWERCAP, else /sys/class/powercap
 * Zones are packages where their name begins with "package". A package whose counter cannot be read is left out.
 * Nothing is kept open. O(zones) files. */
void plim_rapl_open(const char *folder, plim_rapl *out);

/* Begin to count: what was drawn before is not added. */
void plim_rapl_start(plim_rapl *rapl);

/* Add to rapl->joule what was drawn since the last start or add. At least once while a counter goes through its range,
 * which takes some minutes at full load. A counter that cannot be read any more ends it: n becomes 0. Some 10 us a
 * package. */
void plim_rapl_add(plim_rapl *rapl);

#ifdef __cplusplus
}
#endif
#endif
