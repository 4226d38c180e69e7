/* The user's cache folder: where files lie that can be recomputed. */
#ifndef PLIM_RUNTIME_BASE_CACHE_H
#define PLIM_RUNTIME_BASE_CACHE_H

#include "runtime/base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_CACHE_PATH_BYTES = 4096 };

/* Path of a file in `folder` (NULL: XDG_CACHE_HOME/plimsoll, else ~/.cache/plimsoll); path [PLIM_CACHE_PATH_BYTES] out,
 * "" when `folder` is "", when there is no such folder, or when the path is too long: no cache. */
void plim_cache_path(const char *folder, const char *name, char *path);

/* Make the folders that are missing, write the text to `path`, free it. Whatever has the name is replaced, a link or
 * pipe too. PLIM_EIO when that is not possible, which no caller needs to tell: a cache can be done without. */
PLIM_MUST_USE plim_status plim_cache_save(plim_text *text, const char *path);

/* The file was used just now. */
void plim_cache_touch(const char *path);

/* Of the files beside `path` whose names begin with `prefix`, remove the least recently used until the others have at
 * most `most_bytes`; `path` itself stays. What cannot be read or removed is left alone. */
PLIM_MUST_USE plim_status plim_cache_trim(plim_context *ctx, const char *path, const char *prefix, int64_t most_bytes);

#ifdef __cplusplus
}
#endif
#endif
