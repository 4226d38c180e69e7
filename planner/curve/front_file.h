/* Plan fronts kept on disk: one file for each (graph, profile, options) in the user's cache folder, replaced whole,
 * least recently used ones removed when there are too many. A file that is missing or wrong in any way is an empty plan
 * front. */
#ifndef PLIM_PLANNER_FRONT_FILE_H
#define PLIM_PLANNER_FRONT_FILE_H

#include "planner/curve/curve.h"
#include "runtime/base/cache.h"
#include "runtime/base/text.h"
#include "runtime/graph/graph.h"

typedef struct plim_front_file {
  char path[PLIM_CACHE_PATH_BYTES]; /* "": nowhere */
  char key[PLIM_FINGERPRINT_BYTES]; /* hash of graph, profile and what of the options decides which plans are allowed */
} plim_front_file;

/* Name the file of that key in a folder ("": the user's cache folder; NULL: nowhere) and read it into the empty plan
 * front. Fails for lack of memory only. O(file). */
PLIM_MUST_USE plim_status plim_front_open(const char *folder, const char *key, plim_front_file *file,
                                          plim_front *curve);

/* Write the plan front if it was changed, else only say that the file was used. A file that cannot be written is one
 * that the next run does not find: fails for lack of memory only. */
PLIM_MUST_USE plim_status plim_front_save(const plim_front_file *file, const plim_front *curve);

/* The document, and a plan front from it: strict, as docs/formats.md says. */
void plim_front_write(plim_text *text, const char *key, const plim_front *curve);
PLIM_MUST_USE plim_status plim_front_parse(plim_context *ctx, const char *name, const char *text, int64_t bytes,
                                           const char *key, plim_front *curve);

#endif
