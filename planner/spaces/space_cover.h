/* Make a sequence fit: where bytes are short, outputs are recomputed or paged, the cheapest by cost per byte and
 * time first. */
#ifndef PLIM_PLANNER_SPACES_SPACE_COVER_H
#define PLIM_PLANNER_SPACES_SPACE_COVER_H

#include "planner/spaces/space_sequence.h"
#include "runtime/base/random.h"

/* What a decision costs and how it is weighed. */
typedef struct plim_space_weights {
  double run_ns, run_joule, copy_ns, copy_joule; /* of a nanosecond or joule of runs and copies */
  double by_bytes, by_time;                      /* exponents of the bytes and of the items that are relieved */
  double noise;                                  /* of the logarithm of a score */
  int32_t stay;                                  /* 1: runs do not move later instead of being repeated */
  int32_t first;                                 /* 1: the first item that is short of bytes, 0: the one most short */
} plim_space_weights;

typedef struct plim_space_rules {
  const int64_t *budget;      /* [n_spaces] INT64_MAX: none */
  const uint8_t *link_taken;  /* [n_links] 1: copies may take it */
  int32_t recompute, devices; /* 0: ops run once; the first `devices` devices may be used */
  plim_progress *progress;    /* reported while covering; NULL: not */
  int64_t started_ns;         /* its elapsed_ns is since then */
} plim_space_rules;

double plim_space_run_cost(const plim_space_problem *problem, const plim_space_weights *weights, int32_t node,
                           int32_t device);
double plim_space_copy_cost(const plim_space_problem *problem, const plim_space_weights *weights, int32_t node,
                            int32_t link);

/* Report rules->progress now. */
void plim_space_report(plim_context *ctx, const plim_space_rules *rules);

/* The device of a space on which a node is cheapest; -1: none. */
int32_t plim_space_cheapest_device(const plim_space_problem *problem, const plim_space_rules *rules,
                                   const plim_space_weights *weights, int32_t node, int32_t space);

/* Give every item what it reads: copies, or runs where no copy can bring it. *legal: 0 where nothing can. The sequence
 * is analysed. */
PLIM_MUST_USE plim_status plim_space_repair(plim_space_sequence *sequence, const plim_space_rules *rules,
                                            const plim_space_weights *weights, int32_t *legal);

/* *fits: 1 when bytes are no longer short anywhere; 0 where nothing can go, or where the time is over. */
PLIM_MUST_USE plim_status plim_space_cover(plim_space_sequence *sequence, const plim_space_rules *rules,
                                           const plim_space_weights *weights, plim_random *random, int32_t *fits);

/* Take out runs and copies without which the bytes are not short either, until the time is over. Analysed before and
 * after. */
PLIM_MUST_USE plim_status plim_space_prune(plim_space_sequence *sequence, const plim_space_rules *rules);

/* Is there room everywhere? */
int plim_space_sequence_is_within(const plim_space_sequence *sequence, const int64_t *budget);

#endif
