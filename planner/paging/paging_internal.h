/* What the files of this folder share. Planners of steps that may page, with and without homes in the page space, and
 * the graphs and profiles that they plan. Then the two searches for a plan over queues. The queue search has the runs
 * of a plan of one arena, and looks for their devices and copies. The joint search looks for runs, devices and copies
 * together: it is that of planner/spaces, on a training step as a problem over spaces. */
#ifndef PLIM_PLANNER_PAGING_PAGING_INTERNAL_H
#define PLIM_PLANNER_PAGING_PAGING_INTERNAL_H

#include "planner/paging/command_list.h"
#include "planner/spaces/problem/space_problem.h"
#include "planner/spaces/problem/space_sequence.h"
#include "runtime/base/random.h"

/* ==== plan (paging_make.c) ==== */

/* plim_plan_make with options->paging, which must not be NULL. */
PLIM_MUST_USE plim_status plim_paging_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                           const plim_plan_options *options, plim_plan **out);

/* ==== plans (page_plan.c) ==== */

/* What a planner of steps that may page is asked for, and plans in which everything that persists is at home in the
 * arena. */

/* All are borrowed. */
typedef struct plim_paging_task {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_profile *profile;
  const plim_plan_options *options;
  const plim_plan *keep_all; /* of graph and profile; NULL: who needs it makes it */
} plim_paging_task;

/* Makes a plan of a task.
 *   known_ns  in   the cost of a plan that is known already; one that costs as much is of no use. INT64_MAX: none is
 *   plain     out  a second plan, which lost to *out. The caller adds copies from and to homes to both, and with these
 *                  copies it may be the faster one. NULL: none
 *   out       out  the plan
 * PLIM_ENOFIT: none was found. */
typedef plim_status plim_plan_maker(const plim_paging_task *task, int64_t known_ns, plim_plan **plain, plim_plan **out);

/* A plim_plan_maker for options with a page space or several devices. *plain is the best plan before the joint search.
 * After a cancel it returns the best plan so far. */
PLIM_MUST_USE plim_status plim_page_plan_make(const plim_paging_task *task, int64_t known_ns, plim_plan **plain,
                                              plim_plan **out);

/* Does this status of one try end the search for plans? It does for a failure and for a cancel by the caller. It does
 * not where no plan was found, or none in time. */
int plim_paging_is_failure(plim_context *ctx, plim_status status);

/* ==== homes (home_graph.c, home_plan.c) ==== */

/* Plans in which what persists is at home in the page space. */

/* Is what is at home in the page space all that may lie there? Then nothing pages. */
static inline int plim_homes_alone(const plim_paging *paging) {
  return paging->homes == PLIM_HOMES_STATE || paging->homes == PLIM_HOMES_PARAMS;
}

/* Which storages are at home in the page space: optimizer state that only its update touches, or that a step without
 * updates does not touch. With `params` also parameters, but not small ones. With paging->beside: storages that are at
 * home there in that plan and that this step does not update. */

typedef enum plim_home { PLIM_HOME_ARENA, PLIM_HOME_STATE, PLIM_HOME_PARAM } plim_home;

/* The graph that is planned in place of another one. It lacks the storages that are at home in the page space. */
typedef struct plim_home_graph {
  plim_context *ctx;
  const plim_graph *whole;
  plim_graph *graph;     /* without them */
  plim_profile *profile; /* of `graph` */
  plim_home *home;       /* [whole->n_storages] */
  int32_t *storage;      /* [graph->n_storages] of `whole`; -1: a mark in place of a parameter */
  int32_t *op;           /* [graph->n_ops] of `whole`; -1: "home in" */
  int32_t *fetched;      /* [graph->n_ops] the parameter whose bytes "home in" writes; -1: an op of `whole` */
} plim_home_graph;

/* Make it from the whole graph. O(graph). */
PLIM_MUST_USE plim_status plim_home_graph_make(plim_context *ctx, const plim_paging *paging, const plim_graph *whole,
                                               const plim_profile *profile, int params, plim_home_graph **out);
void plim_home_graph_free(plim_home_graph *homed); /* NULL is legal */

/* The bytes of the states that an op of the whole graph updates and that are at home in the page space. */
int64_t plim_home_away_bytes(const plim_home_graph *homed, int32_t op);

/* The bytes that storages at home there take in the page space. */
int64_t plim_home_bytes(const plim_paging *paging, const plim_graph *graph, int params);

/* Make a plan in which these storages are at home in the space of options->paging. A copy brings each of them in before
 * an op reads or updates it, and another one takes it out after the update.
 *   task      in  has a keep-all plan; the plan gets its keep_all_ns and its bound_ns. It has a space, and one
 *                 device
 *   known_ns  in  passed to `make`
 *   params    in  1: parameters too
 *   make      in  plans the rest. With paging->homes STATE or PARAMS the rest does not page
 * PLIM_ENOFIT: no plan was found. */
PLIM_MUST_USE plim_status plim_home_make(const plim_paging_task *task, int64_t known_ns, int params,
                                         plim_plan_maker *make, plim_plan **out);

/* ==== copies of a graph (graph_copy.c) ==== */

/* Copies a graph and its profile op by op. Ops of the copy may have other inputs, and it may have ops of its own. */

typedef struct plim_graph_copy {
  plim_context *ctx;
  const plim_graph *from;
  const plim_profile *profile; /* of `from` */
  int32_t more_ops;            /* at most so many ops of the copy's own */
  plim_graph_builder *builder; /* storages and values are the caller's to add */
  int32_t *operand;            /* of the op in hand: room for twice the inputs and updates of any op, and its outputs */
  int32_t *first;              /* of the copy's profile, [ops + 1] */
  plim_variant *variant;       /* rows of the ops so far */
  int32_t n_variants;
} plim_graph_copy;

/* Begin a copy that has no storages, values and ops. Free it also after a failure. PLIM_ENOMEM. O(ops). */
PLIM_MUST_USE plim_status plim_graph_copy_begin(plim_context *ctx, const plim_graph *from, const plim_profile *profile,
                                                int32_t more_ops, plim_graph_copy *out);
void plim_graph_copy_free(plim_graph_copy *copy);

/* The shape of so many bytes without a type, for storages and values of the copy's own. */
plim_shape plim_graph_copy_bytes(int64_t bytes);

/* Returns op `op` of `from` without operands. The caller writes them to copy->operand, and sets the lists. */
plim_op_spec plim_graph_copy_spec(const plim_graph_copy *copy, int32_t op);

/* Add an op with the variants of op `op` of `from`, or an op of the copy's own with one variant.
 *   name  in   of that variant, and its numerics key
 *   id    out  of the op. The rows of its variants are variant[first[id]] to variant[first[id + 1] - 1] */
PLIM_MUST_USE plim_status plim_graph_copy_add(plim_graph_copy *copy, const plim_op_spec *spec, int32_t op, int32_t *id);
PLIM_MUST_USE plim_status plim_graph_copy_add_own(plim_graph_copy *copy, const plim_op_spec *spec, const char *name,
                                                  int64_t time_ns, int32_t *id);

/* Make the graph and the profile of the copy. PLIM_EDATA: what was added is no graph. */
PLIM_MUST_USE plim_status plim_graph_copy_end(plim_graph_copy *copy, plim_graph **graph, plim_profile **profile);

/* ==== lean profiles (lean_profile.c) ==== */

/* Profiles of variants with little workspace. */

/* Make a profile without the variants of large workspaces. A workspace is large when it takes more than `share` of the
 * bytes that the budget leaves beside the operands of the op. Each op keeps its variants with the least workspace.
 * O(profile). */
PLIM_MUST_USE plim_status plim_lean_profile_make(plim_context *ctx, const plim_graph *graph,
                                                 const plim_profile *profile, int64_t budget_bytes, double share,
                                                 plim_profile **out);

/* ==== runs on queues (queue_runs.c, queue_decode.c, queue_order.c, queue_place.c) ==== */

/* Runs with a device each, in an order, and the command list that they need: copies bring operands to where they are
 * read, and page out what does not fit. */

/* Runs of a plan of one arena, and who reads and writes what in them. */
typedef struct plim_queue_runs {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *plan; /* borrowed */
  int32_t n;             /* runs */
  int64_t *begin_ns;     /* [n + 1] one after another */
  int64_t n_accesses;
  int32_t *first; /* [n_storages + 1] into access */
  struct plim_run_access {
    int32_t run;
    int32_t reads, writes; /* both: an update */
  } * access;              /* by storage, then run */
} plim_queue_runs;

/* Find the runs of a plan that has one queue. O(plan). */
PLIM_MUST_USE plim_status plim_queue_runs_make(const plim_graph *graph, const plim_plan *plan, plim_queue_runs *out);
void plim_queue_runs_free(plim_queue_runs *runs);

/* Make the command list of the runs. Memory is treated as a cache: where a space has no room for what a run needs, the
 * buffer leaves whose next read is the latest for what its copies take.
 *   space   [n]  in      where each run is; a run that updates is in space 0, where persistent storages are at home
 *   noise        in      > 0: victims are chosen at random to that degree, drawn from `random`
 *   list    [1]  out     empty before
 *   fits    [1]  out     0: no room was found; the list is then incomplete
 * Uses are in the order of their commands. Packing may still ask for more than the budgets. O(runs x live buffers). */
PLIM_MUST_USE plim_status plim_queue_decode(const plim_queue_runs *runs, const plim_queue_spaces *spaces,
                                            const int32_t *space, double noise, plim_random *random,
                                            plim_command_list *list, int32_t *fits);

/* Order the runs, and choose a device for each, by list scheduling on the spaces that compute: runs that others wait
 * for come first. Bytes are not looked at.
 *   fixed  [n]  in   1: the run is in space 0
 *   order  [n]  out  runs, by when they would begin; a run comes after all that it depends on
 *   space  [n]  out  where each run is
 * O(runs x those that are ready at once x operands). Deterministic. PLIM_ECANCEL: the effort is over. */
PLIM_MUST_USE plim_status plim_queue_order(const plim_queue_runs *runs, const plim_queue_spaces *spaces,
                                           const uint8_t *fixed, int32_t *order, int32_t *space);

/* Choose a device for each run, in the order given: where it ends first, if copies never wait for each other.
 *   fixed  [n]  in   1: the run is in space 0
 *   space  [n]  out  where each run is
 * O(runs x operands x spaces^2). */
PLIM_MUST_USE plim_status plim_queue_place(const plim_queue_runs *runs, const plim_queue_spaces *spaces,
                                           const uint8_t *fixed, int32_t *space);

/* ==== queue search (queue_search.c) ==== */

/* Search for the fastest checked plan that has the runs of `base`, with its recomputes and variants. `base` is a plan
 * of one arena of any size.
 *   options  in      budget_bytes, seed, iterations and paging are read
 *   best     in out  replaced (and freed) where a faster one is found; NULL: none yet
 * A plan that is not found is no failure. Deterministic without a deadline of the context. */
PLIM_MUST_USE plim_status plim_queue_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, const plim_plan *base,
                                            int64_t keep_all_ns, plim_plan **best);

/* ==== joint problem (joint_problem.c, joint_list.c) ==== */

/* A training step as a problem over spaces, and the way back: sequences of that problem as command lists. */

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

/* Make the problem of a step.
 *   spaces  in  borrowed, as are graph and base
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

/* ==== joint search (joint_search.c) ==== */

/* Search over keep, recompute, page, place and order together. The best checked plan is the fastest one, or with powers
 * the one of least energy that keeps the deadline.
 *   options  in      budget_bytes, seed, iterations and paging are read
 *   base     in      variants, and offsets of what persists
 *   best     in out  where it is there, the search begins with it; replaced (and freed) where a better one is found
 * A plan that is not found is no failure. Deterministic without a deadline of the context. */
PLIM_MUST_USE plim_status plim_joint_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, const plim_plan *base,
                                            int64_t keep_all_ns, plim_plan **best);

#endif
