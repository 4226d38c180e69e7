/* The plan front: nondominated plans of one graph, in memory and as a document. */
#ifndef PLIM_PLANNER_FRONT_FRONT_H
#define PLIM_PLANNER_FRONT_FRONT_H

#include "runtime/base/cache.h"
#include "runtime/base/context.h"
#include "runtime/base/text.h"
#include "runtime/graph/graph.h"

/* ==== the plan front (front.c) ==== */

/* The planner's product: the set of nondominated plans of one graph and profile under one set of options, and what was
 * tried to find them.
 *
 * Points are sorted by bytes; each needs more bytes than the one before it and takes less time. So the fastest plan
 * within a budget is the last point within it, and a larger budget never gives a slower plan. A try that has a proven
 * bound bounds every smaller budget as well. */

typedef struct plim_front_point {
  int64_t bytes, time_ns; /* what a budget bounds: packed size, or peak where nothing is packed */
  int32_t n_commands, n_offsets;
  const int32_t *op, *choice; /* [n_commands] */
  const int64_t *offset;      /* [n_offsets] of the boxes of a placement; none where nothing is packed */
} plim_front_point;

enum { PLIM_TRY_MIN_MEMORY = -1 /* as a budget: the lowest plan was looked for */ };

/* One planning call: the effort that went into one budget. bound_ns was proved by this process; hint_ns is a bound that
 * a file states, which nothing relies on before it is proved again. */
typedef struct plim_front_try {
  int64_t budget_bytes, iterations, time_limit_ns, bound_ns, hint_ns;
  uint64_t seed;
  int32_t threads;
} plim_front_try;

enum { PLIM_FRONT_TRIES = 4096 };

typedef struct plim_front {
  plim_context *ctx;
  int32_t n, n_tries; /* tries: the latest PLIM_FRONT_TRIES of them */
  int64_t room, room_tries;
  int64_t weight; /* commands and offsets of all points */
  plim_front_point *point;
  plim_front_try *attempt;
  int32_t changed; /* since it was made or read */
} plim_front;

/* An empty plan front is {.ctx = ctx}. */
void plim_front_free(plim_front *front); /* leaves it empty */

/* Add a copy of the point, unless one needs no more bytes and no more time; drop those that it beats. *added (may be
 * NULL) is 1 when it was added. A plan front of more than PLIM_FRONT_WEIGHT commands and offsets gives up points that
 * make the least difference, never the first and the last. O(n) plus the copy; O(n) more for each point that it gives
 * up. */
enum { PLIM_FRONT_WEIGHT = 3000000 };
PLIM_MUST_USE plim_status plim_front_insert(plim_front *front, const plim_front_point *point, int32_t *added);

/* The fastest point within the budget, NULL when there is none; the point of fewest bytes, NULL when there is none. */
const plim_front_point *plim_front_find(const plim_front *front, int64_t budget_bytes);
const plim_front_point *plim_front_smallest(const plim_front *front);

/* Add the points and tries of another plan front of the same graph, profile and options. */
PLIM_MUST_USE plim_status plim_front_merge(plim_front *to, const plim_front *from);

/* Tries: note one, or a better bound or another hint of one; look for one with the same budget and effort. */
PLIM_MUST_USE plim_status plim_front_note(plim_front *front, const plim_front_try *attempt);
int plim_front_tried(const plim_front *front, const plim_front_try *attempt);

/* What a file states as the bound of a try. */
int64_t plim_front_stated(const plim_front_try *attempt);

/* The best bound proved for a budget, the best hint for it (0: none); forget hints above `proved_ns`. */
int64_t plim_front_bound(const plim_front *front, int64_t budget_bytes);
int64_t plim_front_hint(const plim_front *front, int64_t budget_bytes);
void plim_front_drop_hints(plim_front *front, int64_t budget_bytes, int64_t proved_ns);

/* ==== front file (front_file.c) ==== */

/* Plan fronts kept on disk: one file for each (graph, profile, options) in the user's cache folder, replaced whole,
 * least recently used ones removed when there are too many. A file that is missing or wrong in any way is an empty plan
 * front. */

typedef struct plim_front_file {
  char path[PLIM_FILE_PATH_BYTES];  /* "": nowhere */
  char key[PLIM_FINGERPRINT_BYTES]; /* hash of graph, profile and what of the options decides which plans are allowed */
} plim_front_file;

/* Name the file of that key in a folder ("": the user's cache folder; NULL: nowhere) and read it into the empty plan
 * front. Fails for lack of memory only. O(file). */
PLIM_MUST_USE plim_status plim_front_open(const char *folder, const char *key, plim_front_file *file,
                                          plim_front *front);

/* Write the plan front if it was changed, else only say that the file was used. A file that cannot be written is one
 * that the next run does not find: fails for lack of memory only. */
PLIM_MUST_USE plim_status plim_front_save(const plim_front_file *file, const plim_front *front);

/* The document, and a plan front from it: strict, as docs/formats.md says. */
void plim_front_write(plim_text *text, const char *key, const plim_front *front);
PLIM_MUST_USE plim_status plim_front_parse(plim_context *ctx, const char *name, const char *text, int64_t bytes,
                                           const char *key, plim_front *front);

#endif
