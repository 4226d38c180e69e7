/* Instances for plans over spaces: those of the literature, and random ones. */
#ifndef PLIM_TESTS_SUPPORT_SPACE_CASES_H
#define PLIM_TESTS_SUPPORT_SPACE_CASES_H

#include "planner/spaces/space_make.h"
#include "tests/support/test_random.h"

/* An instance on two devices: time by op and device, copies by op and direction (d0 to d1, d1 to d0), links. */
enum { SPACE_OPS = 8, SPACE_EDGES = 24 };
typedef struct space_case {
  const char *name;
  int32_t n, n_devices, n_edges;
  int64_t bytes[SPACE_OPS];
  int64_t time[2][SPACE_OPS];
  int64_t copy[2][SPACE_OPS];
  int32_t edge[SPACE_EDGES][2];
  int64_t workspace[SPACE_OPS];
} space_case;

/* The table of placement instances (after XEngine's unit tests), by name; times and copies x 1000. */
const space_case *space_case_named(const char *name);

/* What is known of them: budgets of d0 and d1, and the least sum of all times; -1: no plan. Ends with a NULL name. */
typedef struct space_optimum {
  const char *name;
  int64_t budget[2], serial;
} space_optimum;
extern const space_optimum space_optima[];

/* The graph of an instance, through import nx. */
plim_graph *space_case_graph(plim_context *ctx, const space_case *c);

/* The same with the times of d0 as FLOP, and no device. */
plim_graph *space_case_flops(plim_context *ctx, const space_case *c);

/* POET's MLP and transformer block: op, bytes and FLOP as published. */
plim_graph *space_linear(plim_context *ctx);
plim_graph *space_transformer(plim_context *ctx);

/* A chain of so many layers, a loss and their backward ops: 100 bytes and 1e6 FLOP a layer, 2e6 FLOP backward. */
plim_graph *space_chain(plim_context *ctx, int32_t layers);

/* A random instance of so many ops. */
void space_case_random(uint64_t *random, int32_t n, space_case *out);

#endif
