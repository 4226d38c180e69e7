/* What the files of niche search share. niche.c has the idea and searches. niche_sections.c chooses what a node
 * decides. niche_new.c prepares a problem, niche_restart.c prepares restarts. niche_cover.c and niche_border.c prune.
 * Callers read packers.h. */
#ifndef PLIM_PLANNER_PACK_NICHE_INTERNAL_H
#define PLIM_PLANNER_PACK_NICHE_INTERNAL_H

#include "planner/pack/packers.h"
#include "runtime/base/array.h"

/* ==== the state (niche_new.c) ==== */

/* Which section is decided: that with the fewest answers, with the fewest by weight, or in the lowest niche. */
typedef enum plim_niche_policy { PLIM_BY_WEIGHT, PLIM_BY_ANSWERS, PLIM_LOWEST_FIRST, PLIM_POLICIES } plim_niche_policy;

/* An unplaced compound: one box, or several. */
typedef struct plim_niche_waiting_box {
  int32_t low; /* lowest offset that the box can have */
  int16_t box;
  int16_t witness; /* a section in which something ends at `low`, as placed boxes have it; -1: borders have raised it */
  int16_t is_raised; /* 1: borders raised it at this node */
} plim_niche_waiting_box;

typedef struct plim_niche_shape {
  int32_t first, last, size; /* sections; units */
} plim_niche_shape;

/* A node. */
typedef struct plim_niche_frame {
  plim_niche_waiting_box *waiting; /* [n_waiting] unplaced boxes by `low` */
  int16_t *option;                 /* [n_options] boxes for the floor, or PLIM_NICHE_RAISE */
  uint64_t *reason;                /* [words] sections whose boxes cannot be packed at their lows */
  uint64_t *raised;                /* [words] sections beside the borders that raised boxes at this node */
  int32_t *floors, *slacks;        /* [m] of sections: the floor; the capacity less it and the boxes to come */
  int16_t *crossings;              /* [m] boxes that span the border to the next section */
  plim_section_range touched;      /* sections in which lows, or the boxes to come, differ from those of its parent */
  int32_t placed;                  /* the box that its parent has placed for it; -1: none */
  uint64_t hash;
  int32_t n_waiting, n_options, at;     /* at: options tried */
  int32_t section, floor, raised_floor; /* the decision; where the floor rises to */
} plim_niche_frame;

/* The node under way, and the niche of it that was looked at last. */
typedef struct plim_niche_node {
  int32_t *floor, *slack; /* [m] */
  int16_t *crossing;      /* [m] */
  int32_t *top;           /* [m + 1] stacked tops, where they were set last */
  int32_t *span_low;      /* [m + 1] the least low of the boxes that span the border after a section */
  /* [m + 1] the first of the boxes that end and of those that begin after a section, -1: none; [n] the next of them */
  int32_t *ending, *beginning, *next_ending, *next_beginning;
  /* [m] the first of the boxes that lie on the floor of the section in which they begin; [n] the next of them */
  int32_t *starting, *next_starting;
  int32_t *answers;                /* [m] what a section can be covered by, and 1 when its floor can rise */
  uint8_t *from_left, *from_right; /* [m + 1] what is before and after a border can be filled (niche_cover.c) */
} plim_niche_node;

/* Nodes that were searched in vain. */
typedef struct plim_niche_memo {
  int64_t n;
  uint64_t *hash;     /* [n] */
  uint64_t *reasons;  /* [n][words] */
  int64_t recognised; /* nodes of all restarts that were in it */
} plim_niche_memo;

/* Offsets of the node of fewest waiting boxes: in this restart, and in the last one that counts. */
typedef struct plim_niche_best {
  int32_t *deepest, *saved; /* [n] by box; -1: it was not placed there */
  int32_t fewest;           /* waiting boxes of the node of `deepest` */
  int32_t use_saved;        /* boxes are tried first where they are saved */
  double open, saved_open;  /* area of the boxes that are -1 in `deepest` and in `saved` */
} plim_niche_best;

/* What the frames point into, a node after another. */
typedef struct plim_niche_stack {
  plim_niche_frame *frame;       /* [depth_max] */
  plim_niche_waiting_box *boxes; /* [depth_max][n] */
  int16_t *options;              /* [depth_max][n + 1] */
  uint64_t *reasons;             /* [depth_max][words] */
  int32_t *numbers;              /* [depth_max][2][m + 1] */
  int16_t *counts;               /* [depth_max][m + 1] */
} plim_niche_stack;

struct plim_niche {
  const plim_units *units;
  plim_sections sections;
  int32_t n, m, words, depth_max;
  int32_t capacity;
  int64_t nodes; /* of this restart */
  plim_niche_policy policy;
  /* boxes, and the compounds that they are in */
  plim_niche_shape *shape; /* [n] */
  int32_t *owner, *up;     /* [n] the compound that a box is in, and where */
  uint64_t *code;          /* [n] random numbers for hashes */
  double *key;             /* [n] larger: tried earlier */
  double *rank;            /* [n] of the boxes that may lie on a floor: the key, more where they fit */
  /* sections */
  double *weight; /* [m] */
  int32_t *spare; /* [m] units that loose compounds may leave empty */
  plim_niche_node node;
  plim_niche_memo memo;
  plim_niche_best best;
  plim_niche_stack stack;
  plim_block block;
};

/* Prepare a restart: the weights of sections, the compounds, the order of boxes, and the waiting boxes of the first
 * node. Returns 1 when a search that finds nothing is a proof: no compound has more than one box. */
int plim_niche_prepare(plim_niche *niche, int32_t restart);

/* Of a new node: keep the offsets of its placed boxes where it has the fewest waiting boxes of the restart so far. */
void plim_niche_keep(plim_niche *niche, const plim_niche_frame *frame, const int64_t *offset);

/* The restart is over: save the offsets that it kept, unless the saved ones leave less open. */
void plim_niche_save(plim_niche *niche);

/* ==== sections (niche_sections.c) ==== */

/* Begin with the sections of the parent; NULL: of the root, which has none. */
void plim_niche_inherit_sections(plim_niche *niche, const plim_niche_frame *parent, plim_niche_frame *frame);

/* Set floors, slacks and stacked tops of the touched sections. */
void plim_niche_update_sections(plim_niche *niche, const plim_niche_frame *frame);

/* Of the sections whose stacked top is above the capacity, that of the largest weight; -1: there is none. */
int32_t plim_niche_find_overfull(const plim_niche *niche, plim_section_range at);

typedef enum plim_niche_choice {
  PLIM_NICHE_CHOSEN,   /* frame->section is to be decided */
  PLIM_NICHE_UNCOVERED /* a niche cannot be covered: the node fails */
} plim_niche_choice;

/* Choose the section to decide. It has the fewest answers, by weight, of all sections of all niches.
 *   sections  [1] out  those of its niche, or of the niche that cannot be covered */
plim_niche_choice plim_niche_choose_section(plim_niche *niche, plim_niche_frame *frame, plim_section_range *sections);

/* List the options of the chosen section, the likeliest first. Of equal boxes only the first is listed. Returns 1 when
 * some were left out since no cover of the niche has them. */
int plim_niche_list_options(plim_niche *niche, plim_niche_frame *frame, plim_section_range span);

/* ==== pruning (niche_border.c, niche_cover.c) ==== */

/* Raise the lows of boxes that span a border of the touched sections to where it can be matched (niche_border.c). Uses
 * floors, slacks and crossings of the node. Returns how many boxes were raised; -1: some border cannot be matched, and
 * the sections beside it are added to the node's reason. Then `touched` are the sections of the raised boxes. */
int32_t plim_niche_match_borders(plim_niche *niche, plim_niche_frame *frame);

/* List the boxes that lie on floors. Before plim_niche_cover, once a node. */
void plim_niche_list_candidates(plim_niche *niche, const plim_niche_frame *frame);

/* Set the answers of the sections of a niche. Returns 0 when its floor cannot be covered. */
int plim_niche_cover(plim_niche *niche, const plim_niche_frame *frame, plim_section_range span);

/* Of the niche covered last: can a box that lies on its floor, can a section whose floor rises, be in a cover? */
static inline int plim_niche_can_cover(const plim_niche *niche, const plim_niche_shape *shape) {
  return niche->node.from_left[shape->first] && niche->node.from_right[shape->last];
}

static inline int plim_niche_can_rise(const plim_niche *niche, int32_t s) {
  return niche->node.slack[s] > 0 && niche->node.from_left[s] && niche->node.from_right[s + 1];
}

/* Widen a range so that it has the sections of a box. */
static inline void plim_niche_widen(plim_section_range *touched, const plim_niche_shape *shape) {
  if (shape->first < touched->first) touched->first = shape->first;
  if (shape->last > touched->last) touched->last = shape->last;
}

enum {
  PLIM_NICHE_WALL = INT32_MAX, /* the floor of a section without boxes */
  PLIM_NICHE_RAISE = -1        /* the option of no box: the floor rises */
};

static inline void plim_niche_add_section(uint64_t *set, int32_t s) {
  set[s / PLIM_WORD] |= (uint64_t)1 << (s % PLIM_WORD);
}

#endif
