/* The packers that place box after box. */
#ifndef PLIM_PLANNER_PACK_PACKERS_H
#define PLIM_PLANNER_PACK_PACKERS_H

#include "planner/pack/exact.h"
#include "planner/pack/units.h"

/* ==== first-fit (fit.c) ==== */

/* First-fit and best-fit: place boxes one after the other in a given order. */

/* What placing needs besides the boxes; used again from order to order. */
typedef struct plim_fit plim_fit;

PLIM_MUST_USE plim_status plim_fit_new(const plim_units *units, plim_fit **out);
void plim_fit_free(plim_fit *fit); /* NULL is legal */

/* Place the boxes in `order`, each at the lowest free offset (first-fit) or in the tightest gap (best_fit 1); fixed
 * ones keep their offset and are placed first, then those whose hint is free and the top there not above `hint_limit`
 * (negative: no hints). Writes offsets in units, returns the packed size; with `may_stop` INT64_MAX, offsets then
 * without meaning, when the context's effort is over. Plain boxes are searched in a list, O(n^2) with a small constant;
 * others, and very many, in a tree over time, O(n log n + pairs that overlap in time x log). */
int64_t plim_fit_run(plim_fit *fit, const int32_t *order, int best_fit, int64_t hint_limit, int may_stop,
                     int64_t *offset);

/* ==== bottom-up (bottom_up.c) ==== */

/* Bottom-up packing: place boxes in nondecreasing order of offset, each as low as those below allow. */

typedef struct plim_bottom_up plim_bottom_up;

/* Boxes that this can pack: plain, none fixed, not too many. */
int plim_bottom_up_can(const plim_units *units);

PLIM_MUST_USE plim_status plim_bottom_up_new(const plim_units *units, plim_bottom_up **out);
void plim_bottom_up_free(plim_bottom_up *bottom_up); /* NULL is legal */

/* Pack once more: a few fixed priorities first, then what the best of them learns by random changes. offset [n] in
 * units; returns the packed size, or INT64_MAX, offsets then without meaning, once it is above that of the best call
 * before, and when the context's effort is over. `goal`: the next priorities move boxes that end above it forward.
 * Deterministic, depends on the calls before. O(n^2 / 32), and n for each group of 32 boxes that begin at about the
 * same time as another is alive: O(n^2) at worst.
 */
int64_t plim_bottom_up_run(plim_bottom_up *bottom_up, int64_t goal, int64_t *offset);

/* ==== restarts (restarts.c) ==== */

/* Searches side by side: a batch of tasks, one a thread. */

typedef struct plim_restarts plim_restarts;

typedef struct plim_pack_restart {
  int64_t capacity; /* in units */
  int32_t restart;  /* of plim_exact_run */
  plim_exact_limits limits;
  plim_pack_outcome outcome;
  int64_t *offset; /* [n] in units, owned by the restarts, valid until the next batch */
  int64_t nodes;   /* used */
} plim_pack_restart;

PLIM_MUST_USE plim_status plim_restarts_new(const plim_units *units, int32_t threads, plim_restarts **out);
void plim_restarts_free(plim_restarts *restarts); /* NULL is legal */

/* Run up to `threads` tasks at once; task i always on the same of the searchers, so that results depend on the tasks
 * and on the batches before alone. PLIM_ENOMEM when one of them ended for lack of memory. */
PLIM_MUST_USE plim_status plim_restarts_run(plim_restarts *restarts, plim_pack_restart *task, int32_t n);

#endif
