/* A training step as a problem over spaces, and the way back: sequences of that problem as command lists. */
#ifndef PLIM_PLANNER_PAGING_JOINT_PROBLEM_H
#define PLIM_PLANNER_PAGING_JOINT_PROBLEM_H

#include "planner/paging/command_list.h"
#include "planner/spaces/problem/space_problem.h"
#include "planner/spaces/problem/space_sequence.h"

/* The problem is on the safe side of the step. An op is a node whose bytes are those of all its outputs; no output is
 * written over an input. What is there from the start stays in the arena, and so do outputs of the graph. With several
 * devices each given storage that ops read is a node of its own, without time and bytes: copies bring it to other
 * arenas. Ops that update run on the first device, once. Not in the problem: that an update comes after every run that
 * reads the version before it, which plim_joint_list takes care of; and that an output of the graph ends in the arena,
 * without which a sequence does not fit.
 *
 * A space of the problem has the index of the same space in plim_queue_spaces. */
typedef struct plim_joint_problem {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_queue_spaces *spaces;
  plim_platform *platform;
  plim_space_problem *problem;
  int32_t n_given;        /* nodes before those of ops */
  int32_t *given;         /* [n_given] their storages */
  int32_t *node;          /* [n_storages] that has it; -1: none */
  int32_t *variant;       /* [n_ops] index into the base plan's variants */
  int64_t constant_bytes; /* in the arena, beside all nodes */
} plim_joint_problem;

/*   spaces  in  borrowed, as are graph and base
 *   base    in  a plan of the graph, which runs every op: the variant of an op is that of its first run
 *   powers  in  NULL: not known, and the problem has no energies
 * PLIM_EOVERFLOW. O(graph + base). */
PLIM_MUST_USE plim_status plim_joint_problem_make(const plim_graph *graph, const plim_queue_spaces *spaces,
                                                  const plim_plan *base, const plim_powers *powers,
                                                  plim_joint_problem **out);
void plim_joint_problem_free(plim_joint_problem *joint); /* NULL is legal */

/* The op of a node; -1: it is a given storage. */
static inline int32_t plim_joint_op(const plim_joint_problem *joint, int32_t node) {
  return node < joint->n_given ? -1 : node - joint->n_given;
}

/* Read the runs and copies of a plan as a sequence. *known 0: the plan has other spaces, or a run or copy that the
 * problem does not allow; then `out` is not complete. */
PLIM_MUST_USE plim_status plim_joint_events(const plim_joint_problem *joint, const plim_plan *plan,
                                            plim_space_events *out, int32_t *known);

/* Make the command list of a sequence. A copy of a node copies those of its storages that something reads. A run writes
 * a result over an input that nothing reads any more. An update waits for the last run that reads what it updates, and
 * for the updates before it.
 *   base  in   as above: its variants, and its offsets of what is there from the start
 *   list  out  empty before
 *   fits  out  0: the sequence reads what is not there, or an output of the graph is not in the arena at its end; the
 *              list is then incomplete
 * O(sequence). */
PLIM_MUST_USE plim_status plim_joint_list(const plim_joint_problem *joint, const plim_space_events *events,
                                          const plim_plan *base, plim_command_list *list, int32_t *fits);

/* ==== search (joint_search.c) ==== */

/* Search over keep, recompute, page, place and order together. The best checked plan is the fastest one, or with powers
 * the one of least energy that keeps the deadline.
 *   options  in      budget_bytes, iterations and paging are read
 *   base     in      variants, and offsets of what persists
 *   best     in out  where it is there, the search begins with it; replaced (and freed) where a better one is found
 * A plan that is not found is no failure. Deterministic without a deadline of the context. */
PLIM_MUST_USE plim_status plim_joint_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, const plim_plan *base,
                                            int64_t keep_all_ns, plim_plan **best);

#endif
