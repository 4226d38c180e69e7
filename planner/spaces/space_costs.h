/* What runs and copies cost in a search over several spaces, and which of them it may use. */
#ifndef PLIM_PLANNER_SPACES_SPACE_COSTS_H
#define PLIM_PLANNER_SPACES_SPACE_COSTS_H

#include "planner/spaces/space_problem.h"

/* What a decision costs and how it is weighed. */
typedef struct plim_space_weights {
  double run_ns, run_joule, copy_ns, copy_joule; /* of a nanosecond or joule of runs and copies */
  double by_bytes, by_time;                      /* exponents of the bytes and of the items that are relieved */
  double noise;                                  /* of the logarithm of a score */
  double beside; /* share of a copy's time for which a page stays, and is there, beside runs */
  int32_t stay;  /* 1: runs do not move later instead of being repeated */
  int32_t first; /* 1: the first item that is short of bytes, 0: the one most short */
} plim_space_weights;

typedef struct plim_space_rules {
  const int64_t *budget;      /* [n_spaces] INT64_MAX: none */
  const uint8_t *link_taken;  /* [n_links] 1: copies may take it */
  int32_t recompute, devices; /* 0: ops run once; the first `devices` devices may be used */
  plim_progress *progress;    /* reported while covering; NULL: not */
  int64_t started_ns;         /* its elapsed_ns is since then */
} plim_space_rules;

static inline double plim_space_run_cost(const plim_space_problem *p, const plim_space_weights *w, int32_t node,
                                         int32_t device) {
  double cost = w->run_ns * (double)plim_space_run_ns(p, node, device);
  return w->run_joule > 0 ? cost + w->run_joule * plim_space_run_joule(p, node, device) : cost;
}

static inline double plim_space_copy_cost(const plim_space_problem *p, const plim_space_weights *w, int32_t node,
                                          int32_t link) {
  double cost = w->copy_ns * (double)plim_space_copy_ns(p, node, link);
  return w->copy_joule > 0 ? cost + w->copy_joule * plim_space_copy_joule(p, node, link) : cost;
}

/* May the output of a node be copied along a link? */
static inline int plim_space_copy_allowed(const plim_space_problem *p, const plim_space_rules *rules, int32_t node,
                                          int32_t link) {
  return rules->link_taken[link] && plim_space_copy_ns(p, node, link) >= 0;
}

/* Report rules->progress now. */
void plim_space_report(plim_context *ctx, const plim_space_rules *rules);

/* The device of a space on which a node is cheapest; -1: none. */
int32_t plim_space_cheapest_device(const plim_space_problem *problem, const plim_space_rules *rules,
                                   const plim_space_weights *weights, int32_t node, int32_t space);

#endif
