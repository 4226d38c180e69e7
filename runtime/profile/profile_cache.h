/* The profile cache: measured times on disk, in one file for each machine and number of busy devices. The file's name
 * has a hash of both: of device, CPU model, instruction set, threads, library and build, and of the number. Its rows
 * are ops and variants. A file that is missing or wrong counts as an empty cache, and is replaced as a whole after
 * measuring. On the thread of the device. */
#ifndef PLIM_RUNTIME_PROFILE_PROFILE_CACHE_H
#define PLIM_RUNTIME_PROFILE_PROFILE_CACHE_H

#include "runtime/base/cache.h"
#include "runtime/profile/profile_set.h"

typedef struct plim_profile_row {
  char *op; /* plim_desc_text */
  char variant[PLIM_VARIANT_NAME_BYTES];
  char numerics_key
      [PLIM_VARIANT_NAME_BYTES];    /* of parts: the whole's when their results were equal, else their own; or "" */
  int64_t time_ns;                  /* PLIM_UNKNOWN: not measured */
  int64_t left_out_ns;              /* of a variant that was left out for lack of time: the limit then; else 0 */
  char how[PLIM_PROFILE_HOW_BYTES]; /* as in plim_kernel_info */
  char why[PLIM_DROPPED_WHY_BYTES]; /* of a variant that failed, and is left out for ever: the reason; else "" */
} plim_profile_row;

typedef struct plim_profile_cache {
  plim_context *ctx;
  plim_machine machine;
  int32_t busy_devices;            /* other devices that were busy while times were measured */
  char path[PLIM_FILE_PATH_BYTES]; /* "": no cache */
  int32_t n;
  int64_t capacity;
  plim_profile_row *row; /* [n] sorted by op, then variant, without repeats */
} plim_profile_cache;

/* Read the cache of the machine, of times measured with so many other devices busy.
 *   folder  in   NULL: XDG_CACHE_HOME/plimsoll, else ~/.cache/plimsoll; "": no cache
 *   out     out  close with plim_profile_cache_close
 * Returns only PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_profile_cache_open(plim_context *ctx, const char *folder, const plim_machine *machine,
                                                  int32_t busy_devices, plim_profile_cache *out);
void plim_profile_cache_close(plim_profile_cache *cache); /* a zeroed one is legal */

/* Set the known times and numerics keys of the set's cases. Cases that were left out for lack of time are dropped,
 * unless limit_ns is longer than the limit then. Returns only PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_profile_cache_apply(const plim_profile_cache *cache, int64_t limit_ns,
                                                   plim_profile_set *set);

/* Give the device the variants of an op that are known for it (device_memo.h). O(log rows + variants). Returns only
 * PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_profile_cache_recall(plim_device *device, const plim_op_desc *desc);

/* Note that a variant failed, in the file from which the device's known variants were read, so that no later process
 * tries it. Does nothing without such a file. Returns only PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_profile_cache_drop(const plim_device *device, const plim_op_desc *desc,
                                                  const char *variant, const char *why);

/* Read the file again, add the times of the cases, and which cases were left out, in place of older rows, and replace
 * the file. A variant that failed in the meantime stays left out. The folder is made, and locked against other
 * processes that store (plim_cache_lock), so that no row of theirs is lost; without a lock a row may be. Returns only
 * PLIM_ENOMEM: when the file cannot be written, the next run measures again. */
PLIM_MUST_USE plim_status plim_profile_cache_store(plim_profile_cache *cache, const plim_profile_set *set);

#endif
