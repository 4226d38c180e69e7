/* Buffers made up by seed that fill an arena tightly: cut from a full arena, so that a packing is known. */
#ifndef PLIM_TOOLS_PLIMSOLL_BENCH_TIGHT_BOXES_H
#define PLIM_TOOLS_PLIMSOLL_BENCH_TIGHT_BOXES_H

#include "planner/pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIGHT_MAX = 1024 };

typedef struct tight_instance {
  int32_t n;
  int64_t arena;    /* units of the packing below */
  int64_t capacity; /* the arena and the slack */
  plim_box box[TIGHT_MAX];
  int64_t offset[TIGHT_MAX]; /* a packing within the arena */
} tight_instance;

/* Families, in order of the table: name of row i (0, 1, ...), and the published instance whose statistics it has.
 * Static strings; NULL for a row that is not there, and for a family that is like none. */
const char *tight_name(int32_t row);
const char *tight_like(int32_t row);

/* Make an instance. Equal arguments give equal instances on every machine.
 *   slack_percent  in   of the arena that the capacity is above it; below 0: as the family's published instance
 *   out            [1]  out */
void tight_make(int32_t row, uint64_t seed, int32_t slack_percent, tight_instance *out);

/* What makes instances alike. Shares are in percent: of pairs, of the horizon, of the capacity. */
typedef struct tight_figures {
  int32_t buffers, times, sections;
  double overlap;            /* pairs that overlap in time */
  double length[3], size[3]; /* at 10, 50 and 90 percent of the buffers */
  double peak, fill;         /* largest and mean sum of live bytes */
} tight_figures;

/* O(n^2). PLIM_ENOMEM. */
PLIM_MUST_USE plim_status tight_measure(plim_context *ctx, int32_t n, const plim_box *box, int64_t capacity,
                                        tight_figures *out);

#ifdef __cplusplus
}
#endif
#endif
