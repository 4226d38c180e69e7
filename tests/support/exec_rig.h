/* One random graph, a random plan of it and an executor over them, for tests of the executor. */
#ifndef PLIM_TESTS_SUPPORT_EXEC_RIG_H
#define PLIM_TESTS_SUPPORT_EXEC_RIG_H

#include "runtime/exec/exec.h"

typedef struct exec_rig {
  plim_context *ctx; /* set before exec_rig_documents: used, and freed with the rig */
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *plan;
  plim_exec *exec; /* NULL: none is open */
} exec_rig;

/* Kernels of the test's own. */
plim_exec_options exec_rig_options(plim_exec_addresses addresses);

/* The documents of a seed; no executor. Ends the test where it fails, as the next does. */
void exec_rig_documents(exec_rig *r, uint64_t seed);
void exec_rig_make(exec_rig *r, uint64_t seed, plim_exec_addresses addresses);
void exec_rig_free(exec_rig *r);

#endif
