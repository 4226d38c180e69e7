/* What the search's files share: weights and rules, its state, its starts, repairs. */
#ifndef PLIM_PLANNER_SPACES_SEARCH_SPACE_SEARCH_INTERNAL_H
#define PLIM_PLANNER_SPACES_SEARCH_SPACE_SEARCH_INTERNAL_H

#include "planner/spaces/problem/space_problem.h"
#include "planner/spaces/problem/space_sequence.h"
#include "planner/spaces/search/space_search.h"
#include "runtime/base/random.h"

/* ==== weights and rules (space_worth.c) ==== */

/* What runs and copies cost in a search over several spaces, and which of them it may use. */

/* What a decision costs and how it is weighed. */
typedef struct plim_space_weights {
  double run_ns, run_joule, copy_ns, copy_joule; /* of a nanosecond or joule of runs and copies */
  double by_bytes, by_time;                      /* exponents of the bytes and of the events that are relieved */
  double noise;                                  /* of the logarithm of a score */
  double hidden_share; /* of a copy's time, that runs hide: a page stays so long, and is there so early */
  int32_t stay;        /* 1: runs do not move later instead of being repeated */
  int32_t first;       /* 1: the first event that is short of bytes, 0: the one most short */
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

/* ==== repair (space_repair.c) ==== */

/* Make a sequence legal, and take out what it does not need. */

/* Give every event what it reads: copies, or runs where no copy can bring it. *legal: 0 where nothing can. The sequence
 * is analysed. */
PLIM_MUST_USE plim_status plim_space_repair(plim_space_sequence *sequence, const plim_space_rules *rules,
                                            const plim_space_weights *weights, int32_t *legal);

/* Take out runs and copies without which the bytes are not short either, until the time is over. Analysed before and
 * after. */
PLIM_MUST_USE plim_status plim_space_prune(plim_space_sequence *sequence, const plim_space_rules *rules);

/* ==== covering (space_cover.c) ==== */

/* Make a sequence fit: where bytes are short, outputs are recomputed or paged, the cheapest by cost per byte and
 * time first. */

/* *fits: 1 when bytes are no longer short anywhere; 0 where nothing can go, or where the time is over. */
PLIM_MUST_USE plim_status plim_space_cover(plim_space_sequence *sequence, const plim_space_rules *rules,
                                           const plim_space_weights *weights, plim_random *random, int32_t *fits);

/* ==== plans on demand (space_demand.c) ==== */

/* Make a sequence fit in one pass over its runs: memory as a cache. For graphs on which plim_space_cover, which looks
 * at the whole sequence for each decision, takes too long. */

/* `sequence` in: every node's run once, in program order. Out: with the copies and runs that keep it within the budgets
 * (analysed), where *fits is 1. *fits 0: no room was found, or the time was over. Weights: costs alone are read.
 * O(runs x (live buffers looked at, at most 200)). Deterministic. */
PLIM_MUST_USE plim_status plim_space_demand(plim_space_sequence *sequence, const plim_space_rules *rules,
                                            const plim_space_weights *weights, int32_t *fits);

/* ==== state ==== */

/* Local search over spaces: its state, how good a sequence is, and where it starts. For space_search.c, which has the
 * rounds. Deterministic; one thread a search. */

/* How good a sequence is: without lateness first, then by objective. */
typedef struct plim_space_worth {
  double late, value;
} plim_space_worth;

typedef struct plim_space_search_state {
  const plim_space_problem *problem;
  const plim_space_search_options *options;
  plim_space_rules rules;
  uint8_t *link_taken;  /* [n_links] */
  uint8_t *link_places; /* [n_links] 1: between spaces where devices compute */
  int32_t pages;        /* 1: a link may be taken to or from a space where no device computes */
  int32_t *device;      /* [nodes] of a start */
  int32_t *order;       /* [nodes] of a start */
  int32_t *waiting;     /* [2][nodes] inputs that have not run, readers that have not */
  uint8_t *marked;      /* [nodes] */
  int64_t *busy_ns;     /* [n_devices + n_links] scratch */
  int64_t *end_ns;      /* [events] scratch */
  int64_t end_capacity;
  double joule_per_ns; /* of keep-all: what lateness is weighed with */
  double haste;        /* weight of time where a deadline is missed */
  plim_random random;
  plim_space_sequence now, next, best, arranged;
  plim_space_worth now_worth, best_worth;
  int32_t has_best;
  plim_progress progress;
  plim_space_events events;      /* arranged, of the last that was weighed; where is_sum: empty */
  plim_space_events best_events; /* of the best */
} plim_space_search_state;

/* ==== worth (space_worth.c) ==== */

/* What a link may carry, from the platform and the options. Once a search. O(links x devices). */
void plim_space_set_rules(plim_space_search_state *search);

/* Weights for a start, `copies`: how much of its price a copy counts; and drawn ones for a round. */
plim_space_weights plim_space_weights_of(const plim_space_search_state *search, double copies);
plim_space_weights plim_space_draw_weights(plim_space_search_state *search);

/* 1 when a is better than b. */
int plim_space_worth_is_better(plim_space_worth a, plim_space_worth b);

/* Is the worth of every sequence a sum over its commands? Otherwise it is arranged and simulated. */
int plim_space_is_sum(const plim_space_search_state *search);

/* Find the worth of the plan of a sequence.
 *   worst  in   NULL: none. Where the worth cannot be better than *worst, a lower bound of it will do
 *   out    out  the worth, or that bound
 * `s` is analysed. O(sequence), and of its simulation where the worth is no sum. */
PLIM_MUST_USE plim_status plim_space_weigh(plim_space_search_state *search, const plim_space_sequence *s,
                                           const plim_space_worth *worst, plim_space_worth *out);

/* Keep the sequence that was weighed last, if it is the best. */
PLIM_MUST_USE plim_status plim_space_keep_best(plim_space_search_state *search, const plim_space_sequence *s,
                                               plim_space_worth w);

/* ==== starts (space_starts.c) ==== */

/* Each takes sequences to search->now and keeps the best: of known plans; without repeats but where the budget asks,
 * for large graphs; and of drawn devices, orders and weights. They end early with PLIM_OK when the effort is over. */
PLIM_MUST_USE plim_status plim_space_try_known(plim_space_search_state *search);
PLIM_MUST_USE plim_status plim_space_try_on_demand(plim_space_search_state *search);
PLIM_MUST_USE plim_status plim_space_try_starts(plim_space_search_state *search);

/* Choose the order of nodes for a start: program order, or with `drawn` an order that takes one node after another of
 * those that can run. It is mostly the node that adds the fewest bytes, and sometimes a random one. O(nodes), drawn
 * O(nodes^2). */
void plim_space_choose_order(plim_space_search_state *search, int drawn);

/* How a start places its runs: on a drawn device as far as that has room, each on a drawn device, or each where it is
 * cheapest. */
int32_t plim_space_draw_placing(plim_space_search_state *search);

/* search->now: each node once in that order, on devices chosen by the weights, and (repaired) what the runs read
 * brought where they run. placing: as plim_space_draw_placing has it. *legal 0: some node has no device with room. */
PLIM_MUST_USE plim_status plim_space_begin_start(plim_space_search_state *search, const plim_space_weights *w,
                                                 int32_t placing, int repaired, int32_t *legal);

/* Is the best good enough to end? */
int plim_space_is_done(const plim_space_search_state *search);

#endif
