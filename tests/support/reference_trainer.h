/* The reference trainer: what a plan has to reproduce bit for bit. It runs a graph in program order, each storage in
 * an allocation of its own, and all effect ops after everything else. It knows no plan, arena or device. */
#ifndef PLIM_TESTS_SUPPORT_REFERENCE_TRAINER_H
#define PLIM_TESTS_SUPPORT_REFERENCE_TRAINER_H

#include "runtime/graph/graph.h"

typedef struct reference_trainer reference_trainer;

/*   threads  0: the CPUs of the affinity mask
 *   isa      NULL: the table's choice
 *   numerics_key  [n_ops] of each op, its first variant of that key runs; NULL: everywhere the first variant
 * The graph must outlive the trainer. PLIM_EUNSUPPORTED when an op has no variant of that key. */
PLIM_MUST_USE plim_status reference_open(const plim_graph *graph, int32_t threads, const char *isa,
                                         const char *const *numerics_key, reference_trainer **out);
void reference_close(reference_trainer *trainer); /* NULL is legal */

/* plim_net_init of every parameter and state, 0 elsewhere. */
PLIM_MUST_USE plim_status reference_init(reference_trainer *trainer, uint64_t seed);

/* The bytes of a value, by id; they stay where they are. */
void *reference_value(const reference_trainer *trainer, int32_t value);

/* The same by name; fails the running test when there is none. */
void *reference_at(const reference_trainer *trainer, const char *name);

/* One step. */
PLIM_MUST_USE plim_status reference_step(reference_trainer *trainer, uint64_t seed, int64_t step);

#endif
