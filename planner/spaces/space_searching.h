/* Local search over spaces: its state, how good a sequence is, and where it starts. For space_search.c, which has the
 * rounds. Deterministic; one thread a search. */
#ifndef PLIM_PLANNER_SPACES_SPACE_SEARCHING_H
#define PLIM_PLANNER_SPACES_SPACE_SEARCHING_H

#include "planner/spaces/space_arrange.h"
#include "planner/spaces/space_budget.h"
#include "planner/spaces/space_repair.h"
#include "planner/spaces/space_search.h"
#include "runtime/base/random.h"

/* How good a sequence is: without lateness first, then by objective. */
typedef struct plim_space_worth {
  double late, value;
} plim_space_worth;

typedef struct plim_space_searching {
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
  double *load_ns;      /* [n_devices + n_links] scratch */
  double joule_per_ns;  /* of keep-all: what lateness is weighed with */
  double haste;         /* weight of time where a deadline is missed */
  plim_random random;
  plim_space_sequence now, next, best, arranged;
  plim_space_worth now_worth, best_worth;
  int32_t has_best;
  plim_progress progress;
  plim_space_events events;      /* arranged, of the last that was weighed; where is_sum: empty */
  plim_space_events best_events; /* of the best */
} plim_space_searching;

/* ==== worth ==== */

/* What a link may carry, from the platform and the options. Once a search. O(links x devices). */
void plim_space_set_rules(plim_space_searching *k);

/* Weights for a start, `copies`: how much of its price a copy counts; and drawn ones for a round. */
plim_space_weights plim_space_weights_of(const plim_space_searching *k, double copies);
plim_space_weights plim_space_draw_weights(plim_space_searching *k);

/* 1 when a is better than b. */
int plim_space_worth_is_better(plim_space_worth a, plim_space_worth b);

/* Is the worth of every sequence a sum over its commands? Otherwise it is arranged and simulated. */
int plim_space_is_sum(const plim_space_searching *k);

/* Find the worth of the plan of a sequence.
 *   most  in   NULL: none. Where the worth cannot be better than *most, a lower bound of it will do
 *   out   out  the worth, or that bound
 * O(sequence), and of its simulation where the worth is no sum. */
PLIM_MUST_USE plim_status plim_space_weigh(plim_space_searching *k, const plim_space_sequence *s,
                                           const plim_space_worth *most, plim_space_worth *out);

/* Keep the sequence that was weighed last, if it is the best. */
PLIM_MUST_USE plim_status plim_space_keep_best(plim_space_searching *k, const plim_space_sequence *s,
                                               plim_space_worth w);

/* ==== starts ==== */

/* Each takes sequences to k->now and keeps the best: of known plans; without repeats but where the budget asks, for
 * large graphs; and of drawn devices, orders and weights. They end early with PLIM_OK when the effort is over. */
PLIM_MUST_USE plim_status plim_space_try_known(plim_space_searching *k);
PLIM_MUST_USE plim_status plim_space_try_on_demand(plim_space_searching *k);
PLIM_MUST_USE plim_status plim_space_try_starts(plim_space_searching *k);

/* Choose the order of nodes for a start: program order, or with `drawn` an order that takes one node after another of
 * those that can run. It is mostly the node that adds the fewest bytes, and sometimes a random one. O(nodes), drawn
 * O(nodes^2). */
void plim_space_choose_order(plim_space_searching *k, int drawn);

/* k->now: each node once in that order, on devices chosen by the weights, and (repaired) what the runs read brought
 * where they run. placing: the first device that is tried. *legal 0: there are no such devices. */
PLIM_MUST_USE plim_status plim_space_begin_start(plim_space_searching *k, const plim_space_weights *w, int32_t placing,
                                                 int repaired, int32_t *legal);

/* Is the best good enough to end? */
int plim_space_is_done(const plim_space_searching *k);

#endif
