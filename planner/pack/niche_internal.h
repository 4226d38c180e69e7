/* The state of a niche search, shared by its files: niche.c searches, niche_restart.c prepares restarts. */
#ifndef PLIM_PLANNER_PACK_NICHE_INTERNAL_H
#define PLIM_PLANNER_PACK_NICHE_INTERNAL_H

#include "planner/pack/niche.h"
#include "planner/pack/sections.h"
#include "planner/pack/units.h"
#include "runtime/base/array.h"

/* Which section is decided: that with the fewest answers, with the fewest by weight, or in the lowest niche. */
typedef enum plim_niche_policy { PLIM_BY_WEIGHT, PLIM_BY_ANSWERS, PLIM_LOWEST_FIRST, PLIM_POLICIES } plim_niche_policy;

/* An unplaced compound: one box, or several. */
typedef struct plim_niche_item {
  int32_t low; /* lowest offset that the box can have */
  int16_t box;
  int16_t witness; /* a section in which something ends at `low` */
} plim_niche_item;

typedef struct plim_niche_shape {
  int32_t first, last, size; /* sections; units */
} plim_niche_shape;

/* A node. */
typedef struct plim_niche_frame {
  plim_niche_item *item; /* [n_items] unplaced boxes by `low` */
  int16_t *option;       /* [n_options] boxes for the floor, or -1: the floor rises */
  uint64_t *reason;      /* [words] sections whose boxes cannot be packed at their lows */
  uint64_t hash;
  int32_t n_items, n_options, at; /* at: options tried */
  int32_t section, floor, level;  /* the decision; where the floor rises to */
} plim_niche_frame;

struct plim_niche {
  const plim_units *units;
  plim_sections sections;
  int32_t n, m, words, depth_most;
  int32_t capacity;
  plim_niche_shape *shape; /* [n] */
  int32_t *owner;          /* [n] the compound that a box is in, and where */
  int32_t *up;
  uint64_t *code;          /* [n] random numbers for hashes */
  double *key;             /* [n] larger: tried earlier */
  double *weight;          /* [m] */
  plim_niche_frame *frame; /* [depth_most] */
  plim_niche_item *items;  /* [depth_most][n] */
  int16_t *options;        /* [depth_most][n + 1] */
  uint64_t *node_reasons;  /* [depth_most][words] */
  /* [m + 1] of the node under way: floors; stacked tops; capacity less floor and boxes to come; boxes that can lie on
   * the floor; boxes that span the border to the next section */
  int32_t *floor, *top, *slack, *count, *crossing;
  uint64_t *failed;       /* [n_memo] hashes */
  uint64_t *memo_reasons; /* [n_memo][words] */
  int64_t n_memo;
  int64_t nodes, recognised;
  plim_niche_policy policy;
  plim_block block;
};

/* Prepare a restart: the weights of sections, the compounds, the order of boxes, and the items of the first node.
 * Returns 1 when a search that finds nothing is a proof: no compound has more than one box. */
int plim_niche_prepare(plim_niche *niche, int32_t restart);

#endif
