/* Published planners that ours are compared with, on our timeline and our packer. They are no part of the library. */
#ifndef PLIM_TOOLS_PLIMSOLL_BENCH_PEERS_H
#define PLIM_TOOLS_PLIMSOLL_BENCH_PEERS_H

/* Name and source of each. */
#define PEER_FASTSA "fastsa", "Imanishi et al. 2023: annealing by single additions and removals, peak times duration"
#define PEER_REVOLVE "revolve", "Griewank, Walther 2000: binomial checkpoints over stages of equal cost"

/* Add them to the planner's table of strategies; to be called before the first plan. */
void peers_add(void);

#endif
