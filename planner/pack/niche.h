/* Niche search: exact search for tight problems (niche.c). IMPOSSIBLE is a proof but for hashes, as in exact.h. One
 * thread at a time. Memory: up to about 110 n^2 bytes. */
#ifndef PLIM_PLANNER_PACK_NICHE_H
#define PLIM_PLANNER_PACK_NICHE_H

#include "planner/pack/exact.h"

typedef struct plim_niche plim_niche;

/* Boxes that it can pack: plain, none fixed, at most PLIM_NICHE_MOST. */
enum { PLIM_NICHE_MOST = 1024 };
int plim_niche_can(const plim_units *units);

PLIM_MUST_USE plim_status plim_niche_new(const plim_units *units, plim_niche **out);
void plim_niche_free(plim_niche *niche); /* NULL is legal */

/* One restart, as plim_exact_run; offsets are in units and without meaning unless the outcome is FOUND. */
plim_pack_outcome plim_niche_run(plim_niche *niche, int64_t capacity, int32_t restart, const plim_exact_limits *limits,
                                 int64_t *offset, int64_t *nodes);

/* Nodes of a restart: a number of nodes times Luby's sequence. */
int64_t plim_niche_share(int32_t restart);

#endif
