/* The plan front: nondominated plans of one graph, in memory and as a document; and how budgets are gone over. */
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
 * bound bounds every smaller budget as well.
 *
 * Example: the points (100 bytes, 9 ms) and (150 bytes, 7 ms). A budget of 140 bytes has the first. A new point
 * (120, 8) comes between them; (120, 7) drops the second; (120, 9) is not added. A try at 150 bytes proved that no plan
 * takes less than 6 ms: nor does one within 140. */

/* A plan: its schedule and its addresses. */
typedef struct plim_front_point {
  int64_t bytes, time_ns; /* what a budget bounds: packed size, or peak where nothing is packed */
  int32_t n_commands, n_offsets;
  const int32_t *op, *choice; /* [n_commands] */
  const int64_t *offset;      /* [n_offsets] of the boxes of a placement; none where nothing is packed */
} plim_front_point;

enum { PLIM_TRY_MIN_MEMORY = -1 /* as a budget: the lowest plan was looked for */ };

/* A try: one planning call, and the effort that went into it. Two calls of equal effort find the same. */
typedef struct plim_front_try {
  int64_t budget_bytes;
  int64_t iterations, time_limit_ns;
  uint64_t seed;
  int32_t threads;
  int64_t bound_ns; /* proved by this process: no plan within the budget takes less; 0: nothing */
  int64_t hint_ns;  /* a bound that a file states, which nothing relies on before it is proved again; 0: none */
} plim_front_try;

enum {
  PLIM_FRONT_TRIES = 4096,         /* tries that are kept, the latest ones */
  PLIM_FRONT_WEIGHT = 3000000,     /* commands and offsets of all points, at most */
  PLIM_FRONT_FILES_BYTES = 1 << 28 /* bytes of all files of plan fronts, at most */
};

typedef struct plim_front {
  plim_context *ctx;
  int32_t n;
  plim_front_point *point; /* [n] by bytes */
  int64_t weight;          /* commands and offsets of all points */
  int32_t n_tries;
  plim_front_try *attempt; /* [n_tries] */
  int32_t is_changed;      /* 1: since it was made or read */
  int64_t capacity, try_capacity;
} plim_front;

/* An empty plan front is {.ctx = ctx}. */
void plim_front_free(plim_front *front); /* leaves it empty: points may be added again */

/* ---- points ---- */

/* Add a copy of the point, unless one needs no more bytes and no more time; drop those that it beats. *added (may be
 * NULL) is 1 when it was added. A plan front of more than PLIM_FRONT_WEIGHT gives up the points that make the least
 * difference, never the first and the last. O(n) plus the copy; O(n) more for each point that it gives up. */
PLIM_MUST_USE plim_status plim_front_insert(plim_front *front, const plim_front_point *point, int *added);

/* The fastest point within the budget; NULL: there is none. */
const plim_front_point *plim_front_find(const plim_front *front, int64_t budget_bytes);

/* The point of fewest bytes; NULL: there is none. */
const plim_front_point *plim_front_smallest(const plim_front *front);

/* Add the points and tries of another plan front of the same graph, profile and options. */
PLIM_MUST_USE plim_status plim_front_merge(plim_front *to, const plim_front *from);

/* ---- tries ---- */

/* Note a try; of one of equal effort that is noted already, its larger bound and the new hint. */
PLIM_MUST_USE plim_status plim_front_note(plim_front *front, const plim_front_try *attempt);

/* Is one of equal effort noted? */
int plim_front_tried(const plim_front *front, const plim_front_try *attempt);

/* The larger of bound and hint: what a file states as the bound of a try. */
int64_t plim_front_stated(const plim_front_try *attempt);

/* The best bound for a budget, by tries at it and at larger ones; the best hint for it. 0: none. */
int64_t plim_front_bound(const plim_front *front, int64_t budget_bytes);
int64_t plim_front_hint(const plim_front *front, int64_t budget_bytes);

/* Forget the hints for a budget that are above what was proved. */
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

/* The hash of a text that says what a file is for. The text is freed.
 *   hash  [PLIM_SHA256_HEX_BYTES]  out */
PLIM_MUST_USE plim_status plim_front_hash(plim_text *text, char *hash);

/* Write the plan front if it was changed, else only say that the file was used. A file that cannot be written is one
 * that the next run does not find: fails for lack of memory only. */
PLIM_MUST_USE plim_status plim_front_save(const plim_front_file *file, const plim_front *front);

/* The document, and a plan front from it: strict, as docs/formats.md says. */
void plim_front_write(plim_text *text, const char *key, const plim_front *front);
PLIM_MUST_USE plim_status plim_front_parse(plim_context *ctx, const char *name, const char *text, int64_t bytes,
                                           const char *key, plim_front *front);

/* ==== several budgets (budget_sweep.c) ==== */

/* The one driver of fronts: of one arena (one_arena/sweep.c), of plans that page (paging/page_front.c) and over spaces
 * (spaces/space_front.c). A caller says how one budget is planned, and what that plan is worth for other budgets. */
typedef struct plim_budget_sweep {
  int32_t n;
  const int64_t *budget; /* [n] bytes, ascending */
  int64_t time_limit_ns; /* of all of them, from started_ns on; 0: none */
  int64_t started_ns;
  int32_t may_skip; /* 1: where the time is short, evenly spread budgets are planned, and the last one */
  /* Plan for budget i. PLIM_ECANCEL ends the sweep, and is no failure.
   *   time_limit_ns  in  an equal share of what is left, for those still to be planned; 0: no limit */
  plim_status (*plan)(void *user, int32_t i, int64_t time_limit_ns);
  void *user;
} plim_budget_sweep;

/* PLIM_EUSAGE: a budget is below the one before it. */
PLIM_MUST_USE plim_status plim_budget_sweep_check(plim_context *ctx, int32_t n, const int64_t *budget);

/* Plan for one budget after another. Returns the first failure. */
PLIM_MUST_USE plim_status plim_budget_sweep_run(const plim_budget_sweep *sweep);

#endif
