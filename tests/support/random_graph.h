/* Seeded random step graphs and profiles for property tests, built through the public graph builder. */
#ifndef PLIM_TESTS_SUPPORT_RANDOM_GRAPH_H
#define PLIM_TESTS_SUPPORT_RANDOM_GRAPH_H

#include "runtime/graph/profile.h"

/* What a random graph may contain. Counts of -1 are drawn from the seed. */
typedef struct random_graph_options {
  uint64_t seed;
  int32_t n_ops;           /* 2 .. 60, effect ops included; -1: drawn */
  int32_t n_params;        /* each with one update after its last reader; -1: 0 .. 3 */
  int32_t n_stats;         /* running statistics: state storages updated by an effect op, never read; -1: 0 .. 2 */
  int32_t pair_percent;    /* chance that an op may write one output over an input */
  int32_t random_percent;  /* chance that an op is of class random */
  int32_t once_percent;    /* chance that an op is of class once; 0 draws nothing */
  int32_t two_out_percent; /* chance of a second output */
  int32_t halves_percent;  /* chance that two outputs are halves of one storage */
  int32_t view_percent;    /* chance that an operand is read through a view (whole or part) of its storage */
  int64_t max_bytes;       /* of one storage; sizes are seldom multiples of 512 */
} random_graph_options;

/* Everything drawn or present; sizes up to 6000 bytes. */
random_graph_options random_graph_options_default(uint64_t seed);

/* A graph of custom ops: inputs, params read until their update, statistics, a staging storage, one output. */
PLIM_MUST_USE plim_status random_graph_make(plim_context *ctx, const random_graph_options *options, plim_graph **out);

/* A training chain: `layers` forward ops x_i = f(x_{i-1}, w_i), a loss, for each layer from the last to the first
 * dw_i = g(dx_i, x_{i-1}), dx_{i-1} = h(dx_i, w_i) (may be written over dx_i) and the update of w_i and its
 * velocity. 4 * layers + 1 ops. Sizes and times from the seed. */
PLIM_MUST_USE plim_status random_chain_make(plim_context *ctx, int32_t layers, uint64_t seed, plim_graph **out);

/* 1 .. max_variants variants an op with random times, workspaces (often none) and one to three numerics keys. */
PLIM_MUST_USE plim_status random_profile_make(const plim_graph *graph, uint64_t seed, int32_t max_variants,
                                              plim_profile **out);

/* Of so few ops that a search may try every schedule; every third seed gives a training chain. Fails the running test
 * when it cannot be made. */
plim_graph *random_graph_small(plim_context *ctx, uint64_t seed, int32_t n_params);
/* The same for every seed without training chains; three in ten ops are of class once. */
plim_graph *random_graph_small_once(plim_context *ctx, uint64_t seed, int32_t n_params);

#endif
