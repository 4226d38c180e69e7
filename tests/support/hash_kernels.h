/* Kernels for tests: every op writes a hash of what it reads, so that one wrong byte anywhere changes everything after
 * it. One op may be told to misbehave. Also the same graph in program order, each storage in a malloc of its own. */
#ifndef PLIM_TESTS_SUPPORT_HASH_KERNELS_H
#define PLIM_TESTS_SUPPORT_HASH_KERNELS_H

#include "runtime/exec/exec.h"

typedef enum hash_fault {
  HASH_RIGHT,
  HASH_LEAVES_LAST_BYTE, /* of its first output unwritten */
  HASH_LEAVES_LAST_BITS, /* the upper half of that byte: the padding of a mask */
  HASH_WRITES_AFTER,     /* one byte after its first output */
  HASH_READS_WORKSPACE,  /* before it has written there */
  HASH_COUNTS_CALLS,     /* its result is another one at each plan step that runs it */
  HASH_FAILS             /* returns PLIM_ENOTFINITE */
} hash_fault;

typedef struct hash_kernels {
  hash_fault fault;
  int32_t op;           /* that has the fault */
  int64_t calls;        /* of any op, counted */
  int32_t last_step;    /* the fault's op: plan step that ran it last, -1: none */
  int32_t runs;         /* the fault's op: plan steps that have run it */
  plim_context *spends; /* allocates one byte by this context's hook in each call; NULL: none */
} hash_kernels;

/* plim_run with hash_kernels as `user`. */
plim_status hash_run(void *user, const plim_run_call *call);

/* What input or persistent storage s holds before step number `step`: bytes [bytes]. */
void hash_fill_source(int32_t storage, int64_t step, void *to, int64_t bytes);

/* Write every input (`persistent` 0) or every persistent storage (1) that has a buffer in plan `which`, as before step
 * `step`. Storages of up to 16384 bytes. Fails the running test when a write does. */
void hash_write_sources(plim_exec *exec, int32_t which, const plim_graph *graph, const plim_plan *plan, int persistent,
                        int64_t step);

/* A graph with each storage in memory of its own. */
typedef struct hash_reference {
  const plim_graph *graph;
  unsigned char **storage; /* [n_storages] */
} hash_reference;

hash_reference hash_reference_new(const plim_graph *graph); /* persistent storages filled as before step 0 */
void hash_reference_free(hash_reference *reference);
/* Fill the inputs and run every op once in program order. */
void hash_reference_step(hash_reference *reference, uint64_t seed, int64_t step);

#endif
