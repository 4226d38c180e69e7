/* The user's cache folder, for files that can be recomputed. Functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_BASE_CACHE_H
#define PLIM_RUNTIME_BASE_CACHE_H

#include "runtime/base/file.h"
#include "runtime/base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Path of a cache file.
 *   folder  in                           NULL: XDG_CACHE_HOME/plimsoll, else ~/.cache/plimsoll
 *   path    [PLIM_FILE_PATH_BYTES] out  "" when there is no cache: `folder` is "", the user has no such folder, or the
 *                                        path is too long */
void plim_cache_path(const char *folder, const char *name, char *path);

/* Create the missing folders, write the text to `path`, and free the text. The name itself is replaced, even if it is a
 * link or a pipe. PLIM_EIO: this is not possible. Callers may ignore that, since work can go on without a cache. */
PLIM_MUST_USE plim_status plim_cache_save(plim_text *text, const char *path);

/* Lock the folder of `path` against other writers that lock it, so that one may read a file, change and save it. Makes
 * the folder. Waits for at most a second. Returns the lock, for plim_cache_unlock; -1: there is none, because another
 * writer keeps it, or the folder cannot be locked. A caller may save without a lock, and then loses what another one
 * saves meanwhile. Threads of one process exclude each other, too. */
int plim_cache_lock(const char *path);
void plim_cache_unlock(int lock); /* -1 is legal */

/* Mark the file as used now, for plim_cache_trim. */
void plim_cache_touch(const char *path);

/* Limit the files in the folder of `path` whose names begin with `prefix` to `bytes_max`. Removes the least recently
 * used ones first; `path` itself stays. Files that cannot be read or removed are skipped, as are temporaries
 * (temporary.h). PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_cache_trim(plim_context *ctx, const char *path, const char *prefix, int64_t bytes_max);

/* The files in the folder of `path` whose names begin with `prefix`, the most recently used first.
 *   out  [most]  out  their paths, *n of them
 * Without temporaries. A folder that cannot be read has none. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_cache_recent(plim_context *ctx, const char *path, const char *prefix, int32_t most,
                                            char (*out)[PLIM_FILE_PATH_BYTES], int32_t *n);

#ifdef __cplusplus
}
#endif
#endif
