/* Plans that page: what does not fit is recomputed, or copied to a page space and back beside compute. make.c and the
 * command line need the first two parts. What the files of this folder share follows: links and costs, which of two
 * plans is better, plans with and without homes in the page space, and the graphs that they are found with. */
#ifndef PLIM_PLANNER_PAGING_PAGING_H
#define PLIM_PLANNER_PAGING_PAGING_H

#include "planner/planner.h"

/* ==== callers (page_kept.c, page_front.c) ==== */

/* Who calls whom:
 *   make_paged (make.c) -> plim_paging_make_kept (page_kept.c): a plan kept on disk, or a new one from
 *   -> plim_paging_make (paging_make.c): the better of a plan with everything at home in the arena, from
 *      -> plim_page_plan_make (page_plan.c), and a plan with homes in the page space, from
 *      -> plim_home_make (home_plan.c), which has the rest planned by plim_page_plan_make. */

/* plim_plan_make with options->paging, which must not be NULL, through the plans that are kept in
 * options->front_folder. *from_front 1: an earlier call made the plan. */
PLIM_MUST_USE plim_status plim_paging_make_kept(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                                const plim_plan_options *options, plim_plan **out, int32_t *from_front);

/* plim_plan_front with options->paging (page_front.c). The budgets ascend. */
PLIM_MUST_USE plim_status plim_paging_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, int32_t n, const int64_t *budget,
                                            plim_plan **plan);

/* ==== overhead (page_bound.c) ==== */

/* What a plan takes beside keep-all, and what every plan with these options takes at least: in percent of keep-all's
 * time, or with powers of its joules. */
typedef struct plim_paging_overhead {
  double percent, bound_percent;
  int32_t proved; /* 1: no plan takes less */
} plim_paging_overhead;

/* The overhead of a plan that was made with options->paging; NULL: of one arena.
 *   keep_all_joule  in  read with paging->powers only
 * O(commands). Thread-safe. */
plim_paging_overhead plim_paging_overhead_of(const plim_plan *plan, const plim_paging *paging, double keep_all_joule);

/* ==== links and costs (copy_cost.c) ==== */

/* The time of a copy: its latency, and its bytes divided by the bandwidth; 2^53 ns at most. */
int64_t plim_paging_copy_ns(int64_t latency_ns, double bytes_per_ns, int64_t bytes);

/* The time of a copy to the page space (in 0), or from it (in 1). */
int64_t plim_paging_link_ns(const plim_paging *paging, int in, int64_t bytes);

/* The delay share in thousandths, as spaces of a plan have it. */
int32_t plim_paging_delay_permille(const plim_paging *paging);

/* Is plan `a` better than plan `b`? The faster plan is. With powers the plan that is less late is better, then the one
 * of less energy. */
int plim_paging_is_better(const plim_paging *paging, const plim_plan *a, const plim_plan *b);

/* Keep the better of two plans in *best, and free the other one. plan: NULL is legal. Returns 1 where it is the best
 * now. */
int plim_paging_keep_better(const plim_paging *paging, plim_plan **best, plim_plan *plan);

/* A bound that was proved for one arena does not hold where pages are allowed: keep-all's time does. */
void plim_paging_bound_by_keep_all(plim_plan *draft);

/* Make a plan of a draft (plim_plan_from_parts), for another budget of the arena. A bound for fewer bytes does not hold
 * for more; keep-all's time does. */
PLIM_MUST_USE plim_status plim_paging_plan_for(const plim_graph *graph, const plim_plan *draft, int64_t budget_bytes,
                                               plim_plan **out);

/* The time by which a plan misses the deadline; 0: it keeps it, or there is none. */
int64_t plim_paging_lateness(const plim_paging *paging, const plim_plan *plan);

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

#endif
