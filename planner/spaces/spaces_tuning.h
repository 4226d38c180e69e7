/* Tuning constants of planner/spaces, in one table. Only files of this folder include it.
 *
 * Each row states the unit and what a larger value does. All were set by trial on the published placement and paging
 * instances and on random graphs of up to 20,000 ops. A change of a value changes plans over spaces, and how sharp
 * their bounds are; it changes no proof. */
#ifndef PLIM_PLANNER_SPACES_SPACES_TUNING_H
#define PLIM_PLANNER_SPACES_SPACES_TUNING_H

#include <stdint.h>

enum { PLIM_SPACE_BOUND_ROWS = 250, PLIM_SPACE_REFILLS = 400 /* insertions of one decision: size of arrays */ };

static const struct plim_spaces_tuning {
  struct {
    int32_t patience, starts, drawn_starts, large_nodes;
  } search;
  struct {
    int32_t nodes, tries, iterations, patience;
  } bound;
  struct {
    int32_t fetches, steps_a_node, steps_a_report;
  } cover;
  struct {
    int32_t trials, rounds;
  } smallest;
} tuning = {
    .search =
        {
            .patience = 150,     /* rounds of local search without a gain before a new start */
            .starts = 18,        /* first sequences in program order */
            .drawn_starts = 60,  /* in drawn orders, where none of those fits */
            .large_nodes = 1000, /* graphs of so many nodes have starts on demand before them */
        },
    .bound =
        {
            .nodes = 20000,    /* larger graphs get no bound */
            .tries = 8,        /* cuts of a stretch of program order that are tried for one row */
            .iterations = 400, /* of the subgradient method */
            .patience = 12,    /* iterations without a gain after which the step is halved */
        },
    .cover =
        {
            .fetches = 1000,      /* depth of calls that bring one node to a space */
            .steps_a_node = 6,    /* decisions for each node, plus 100 */
            .steps_a_report = 50, /* decisions between two reports of progress */
        },
    .smallest =
        {
            .trials = 24, /* budgets of the bisection */
            .rounds = 20, /* rounds of each search, in fifties */
        },
};

#endif
