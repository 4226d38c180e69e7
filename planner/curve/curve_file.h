/* Curves kept on disk: one file for each (graph, profile, options) in the user's cache folder, replaced whole, least
 * recently used ones removed when there are too many. A file that is missing or wrong in any way is an empty curve. */
#ifndef PLIM_PLANNER_CURVE_FILE_H
#define PLIM_PLANNER_CURVE_FILE_H

#include "planner/curve/curve.h"
#include "runtime/base/cache.h"
#include "runtime/base/text.h"
#include "runtime/graph/graph.h"

typedef struct plim_curve_file {
  char path[PLIM_CACHE_PATH_BYTES]; /* "": nowhere */
  char key[PLIM_FINGERPRINT_BYTES]; /* hash of graph, profile and what of the options decides which plans are allowed */
} plim_curve_file;

/* Name the file of that key in a folder ("": the user's cache folder; NULL: nowhere) and read it into the empty curve.
 * Fails for want of memory only. O(file). */
PLIM_MUST_USE plim_status plim_curve_open(const char *folder, const char *key, plim_curve_file *file,
                                          plim_curve *curve);

/* Write the curve if it was changed, else only say that the file was used. A file that cannot be written is one that
 * the next run does not find: fails for want of memory only. */
PLIM_MUST_USE plim_status plim_curve_save(const plim_curve_file *file, const plim_curve *curve);

/* The document, and a curve from it: strict, as docs/formats.md says. */
void plim_curve_write(plim_text *text, const char *key, const plim_curve *curve);
PLIM_MUST_USE plim_status plim_curve_parse(plim_context *ctx, const char *name, const char *text, int64_t bytes,
                                           const char *key, plim_curve *curve);

#endif
