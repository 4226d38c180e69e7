/* Measured times kept between runs, one file a machine: device, CPU model, instruction set, threads, library and build
 * are hashed into its name and written into it, ops and variants are its rows. A file that is missing or wrong in any
 * way is an empty cache, and is replaced whole when something was measured. */
#ifndef PLIM_RUNTIME_PROFILE_PROFILE_CACHE_H
#define PLIM_RUNTIME_PROFILE_PROFILE_CACHE_H

#include "runtime/base/cache.h"
#include "runtime/profile/profile_set.h"

typedef struct plim_profile_row {
  char *op; /* plim_desc_text */
  char variant[PLIM_VARIANT_NAME_BYTES];
  char label[PLIM_VARIANT_NAME_BYTES]; /* of parts: the whole's when their results were equal, else their own; or "" */
  int64_t time_ns;                     /* -1: left out, or only offered */
  int64_t left_out_ns;                 /* of what was left out: the profiler's limit then; else 0 */
  char how[PLIM_PROFILE_HOW_BYTES];    /* as in plim_kernel_info */
  char why[PLIM_DROPPED_WHY_BYTES];    /* of a variant that failed, left out for ever: the note about it; else "" */
} plim_profile_row;

typedef struct plim_profile_cache {
  plim_context *ctx;
  plim_machine machine;
  char path[PLIM_CACHE_PATH_BYTES]; /* "": no cache */
  int32_t n;
  plim_profile_row *row; /* [n] by op, then variant; none twice */
} plim_profile_cache;

/* Read what there is for the machine in `folder` (NULL: XDG_CACHE_HOME/plimsoll, else ~/.cache/plimsoll; "": no
 * cache). Fails for lack of memory only. */
PLIM_MUST_USE plim_status plim_profile_cache_open(plim_context *ctx, const char *folder, const plim_machine *machine,
                                                  plim_profile_cache *out);
void plim_profile_cache_close(plim_profile_cache *cache); /* a zeroed one is legal */

/* Give the cases of the set the times and labels that are known. Those that were left out for lack of time are dropped,
 * unless there is more time now: limit_ns. */
void plim_profile_cache_apply(const plim_profile_cache *cache, int64_t limit_ns, plim_profile_set *set);

/* Let the device know what it is known to have of an op's variants (known.h). O(log rows + those). */
void plim_profile_cache_recall(plim_device *device, const plim_op_desc *desc);

/* Keep in the file that the device's known variants were read from that a variant failed, so that no later start tries
 * it. Without such a file nothing is kept; fails for lack of memory only. */
PLIM_MUST_USE plim_status plim_profile_cache_drop(const plim_device *device, const plim_op_desc *desc,
                                                  const char *variant, const char *why);

/* Add the cases' times and what was left out (newer ones count) and replace the file, making its folder. Fails for lack
 * of memory only: a cache that cannot be written is one that the next run does not find. */
PLIM_MUST_USE plim_status plim_profile_cache_store(plim_profile_cache *cache, const plim_profile_set *set);

#endif
