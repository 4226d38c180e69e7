/* Plans that page: what does not fit is recomputed, or copied to a page space and back beside compute. */
#ifndef PLIM_PLANNER_PAGING_PAGING_H
#define PLIM_PLANNER_PAGING_PAGING_H

#include "planner/planner.h"
#include "runtime/base/random.h"

/* ==== links and costs ==== */

/* Time of a copy of so many bytes: latency and bytes by bandwidth, 2^53 ns at most. */
int64_t plim_paging_copy_ns(int64_t latency_ns, double bytes_per_ns, int64_t bytes);

/* That of one to the page space (in 0), or from it (in 1). */
int64_t plim_paging_link_ns(const plim_paging *paging, int in, int64_t bytes);

/* What a plan takes: its makespan, and what copies to and from page spaces take from the runs beside them. */
int64_t plim_paging_cost_ns(const plim_paging *paging, const plim_plan *plan);

/* *best becomes the one of less cost of both, and the other is freed. plan: NULL is legal. */
void plim_paging_keep_better(const plim_paging *paging, plim_plan **best, plim_plan *plan);

/* ==== command list ==== */

/* A list of commands on queues, as planners of copies make it, and the way from there to a plan.
 *
 * A buffer knows the command that begins it, the commands that use it, and the one that writes over it in place. Its
 * lifetime follows from the order of the commands. So a copy that moves in the order changes lifetimes alone, which are
 * packed again, space by space. Waits follow from order and addresses. */

typedef struct plim_list_buffer {
  int32_t storage, space; /* storage -1: a workspace */
  int32_t begin;          /* command; -1: there from the start */
  int32_t over;           /* command that writes over it; -1: none */
  int32_t stays;          /* 1: to the end */
  int32_t box;            /* first buffer at the same address, by in-place pairs */
  int64_t bytes, offset;  /* offset: of a persistent storage fixed, else a proposal; -1: none */
  int32_t first, last;    /* lifetime, of the order in hand */
} plim_list_buffer;

typedef struct plim_list_use {
  int32_t buffer, command;
  int32_t writes; /* 1: it fills, writes or updates the buffer */
} plim_list_use;

typedef struct plim_command_list {
  plim_context *ctx;
  const plim_graph *graph;
  plim_status status; /* first failure of an addition; later ones do nothing */
  int32_t n, n_buffers, n_uses;
  plim_step *command; /* [n] as in the plan, without waits; variant: of the draft of plim_list_plan */
  int64_t *time_ns;   /* [n] */
  plim_list_buffer *buffer;
  plim_list_use *use;
  int64_t room, room_times, room_buffers, room_uses;
  int32_t *at;     /* [n] place of a command in the order in hand */
  int32_t *order;  /* [n] its inverse */
  int64_t *offset; /* [n_buffers] of the order in hand */
} plim_command_list;

void plim_list_free(plim_command_list *list);

/* They return the index, or 0 after a failure. A use is one by the command that is added next. */
int32_t plim_list_add(plim_command_list *list, const plim_step *command, int64_t time_ns);
int32_t plim_list_add_buffer(plim_command_list *list, int32_t storage, int32_t space, int32_t begin, int64_t bytes,
                             int64_t offset);
void plim_list_add_use(plim_command_list *list, int32_t buffer, int32_t writes);

/* Uses of the buffers of n storages, where they have one. buffer [n_storages] in: -1: none */
void plim_list_add_uses(plim_command_list *list, int32_t n, const int32_t *storage, const int32_t *buffer,
                        int32_t writes);

/* The command that is added next writes `out` over `in`, which ends there. */
void plim_list_overwrite(plim_command_list *list, int32_t in, int32_t out);

/* Commands get the numbers of the order of their keys, and uses stand in the order of their commands. Of commands with
 * equal keys the one that was added first comes first. Before plim_list_begin.
 *   key  [n]  in */
PLIM_MUST_USE plim_status plim_list_sort(plim_command_list *list, const int64_t *key);

/* The order of the list itself, and the lifetimes that it gives. After the last addition. */
PLIM_MUST_USE plim_status plim_list_begin(plim_command_list *list);

/* Copies to spaces that do not compute end later, and copies to those that do begin earlier, as far as their time asks
 * for and `limit_bytes` [spaces] allow (INT64_MAX: no limit), until the effort is over.
 *   computes  [spaces]  in */
PLIM_MUST_USE plim_status plim_list_spread(plim_command_list *list, int32_t n_spaces, const int32_t *computes,
                                           const int64_t *limit_bytes);

/* Offsets of the buffers of a space. *fits 0: not within the budget, or the effort is over. Nothing is packed where the
 * live bytes alone exceed the budget. */
PLIM_MUST_USE plim_status plim_list_pack(plim_command_list *list, int32_t space, int64_t budget_bytes, int32_t effort,
                                         int *fits);

/* Each command with what it must wait for, and the plan. Read of `draft`: what plim_plan_from_parts reads, but steps
 * and buffers. O(buffers^2). */
PLIM_MUST_USE plim_status plim_list_plan(const plim_command_list *list, const plim_plan *draft, plim_plan **out);

/* ==== graph ==== */

/* A graph in which paging is a part of the program: storages that page have an op "page out" and an op "page in".
 *
 * A storage s that pages is split in two. Its early readers read s. An op out:s after the last of them reads s and
 * writes a mark without bytes. An op in:s before the first late reader reads the mark and writes s', which late readers
 * read. A storage may be split at several readers: it is paged out once, and paged in for each part.
 * Nothing keeps s while it is paged out, and a planner for one arena decides when to page in, or to recompute s
 * and page in again. What it plans is a plan with copies (plim_page_lower). */

/* A storage that pages, and the part of its readers that read what is paged in. */
typedef struct plim_page_choice {
  int32_t storage;       /* written by an op; not persistent, no output; bytes > 0 */
  int32_t late;          /* a reader: the part begins with it, and ends before the storage's next choice */
  int64_t out_ns, in_ns; /* of its copies */
} plim_page_choice;

typedef struct plim_page_graph {
  plim_context *ctx;
  const plim_graph *graph; /* without paging */
  plim_graph *paged;       /* with it: tensors have the ids of `graph`, those of paging follow */
  plim_profile *profile;   /* of `paged` */
  int32_t n;
  plim_page_choice *choice; /* [n] */
  int32_t *first;           /* [n] first choice of the same storage: the one that pages out */
  int32_t *op;              /* [paged->n_ops] op of `graph`, -1: of paging */
  int32_t *copies;          /* [paged->n_ops] out: its choice; in: n + its choice; -1: an op of `graph` */
  int32_t *storage;         /* [paged->n_storages] storage of `graph`; -1: a mark */
} plim_page_graph;

/*   choice     [n] in   copied; sorted by storage, then late
 *   charge_ns  [2n] in  time of the ops out (first n) and in of each choice: what a copy costs the runs beside it
 * PLIM_EUSAGE: a choice that is not allowed. O(graph). */
PLIM_MUST_USE plim_status plim_page_graph_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                               int32_t n, const plim_page_choice *choice, const int64_t *charge_ns,
                                               plim_page_graph **out);
void plim_page_graph_free(plim_page_graph *paged); /* NULL is legal */

/* ==== candidates ==== */

/* Pauses of storages in keep-all's plan, and which of them page. */
typedef struct plim_page_candidates plim_page_candidates;

/* They borrow graph, paging and keep_all. O(graph x pauses of a storage). */
PLIM_MUST_USE plim_status plim_page_candidates_make(plim_context *ctx, const plim_graph *graph,
                                                    const plim_paging *paging, const plim_plan *keep_all,
                                                    plim_page_candidates **out);
void plim_page_candidates_free(plim_page_candidates *candidates); /* NULL is legal */
int32_t plim_page_candidates_count(const plim_page_candidates *candidates);

/* Page more, until no step has more than `target` live bytes. *taken out: by how many pauses more. Returns 0 where
 * nothing is left that relieves any step, or the time is over. */
int plim_page_candidates_cover(plim_page_candidates *candidates, int64_t target, int32_t *taken);

/* Those that page, for plim_page_graph_make. Valid until the next call. */
int32_t plim_page_candidates_taken(const plim_page_candidates *candidates, const plim_page_choice **choice,
                                   const int64_t **charge_ns);

/* ==== lean profile ==== */

/* The profile without variants whose workspace takes more than that share of the bytes which the budget leaves beside
 * an op's operands. Each op keeps the variants with the least. O(profile). */
PLIM_MUST_USE plim_status plim_lean_profile_make(plim_context *ctx, const plim_graph *graph,
                                                 const plim_profile *profile, int64_t budget_bytes, double share,
                                                 plim_profile **out);

/* ==== lower ==== */

/* From a plan of a graph with paging to a plan with copies of the graph itself. */

typedef struct plim_page_lower_options {
  const plim_paging *paging; /* with a space */
  int64_t budget_bytes;      /* of the arena */
  int64_t keep_all_ns;       /* of the plan; its bound is the same */
  int32_t effort;            /* of packing */
} plim_page_lower_options;

/* Ops of paging become copies: those out are on queue 1, those in on queue 2. Copies out end later and copies in begin
 * earlier than in the schedule, as far as time asks for and bytes allow. All buffers are packed again, and each command
 * waits for what it must. Of several such plans the one of least cost is taken.
 *   plan  in  of paged->paged, with addresses
 * PLIM_ENOFIT: none fits. O(buffers^2) and packing. Deterministic. */
PLIM_MUST_USE plim_status plim_page_lower(const plim_page_graph *paged, const plim_plan *plan,
                                          const plim_page_lower_options *options, plim_plan **out);

/* ==== runs on queues ==== */

/* Runs with a device each, in an order, and the command list that they need: copies bring operands to where they are
 * read, and page out what does not fit. */

/* Spaces, those that compute, and what a copy takes. Space 0 is the arena. */
typedef struct plim_queue_spaces {
  int32_t n;
  int32_t computes[PLIM_PAGE_SPACES + 1];
  int64_t budget_bytes[PLIM_PAGE_SPACES + 1];
  int32_t run_queue[PLIM_PAGE_SPACES + 1]; /* of those that compute */
  int32_t copy_queue[PLIM_PAGE_SPACES + 1][PLIM_PAGE_SPACES + 1];
  int64_t latency_ns[PLIM_PAGE_SPACES + 1][PLIM_PAGE_SPACES + 1];
  double bytes_per_ns[PLIM_PAGE_SPACES + 1][PLIM_PAGE_SPACES + 1]; /* 0: no link */
} plim_queue_spaces;

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

/* The plan has one queue. O(plan). */
PLIM_MUST_USE plim_status plim_queue_runs_make(const plim_graph *graph, const plim_plan *plan, plim_queue_runs *out);
void plim_queue_runs_free(plim_queue_runs *runs);

int64_t plim_queue_copy_ns(const plim_queue_spaces *spaces, int32_t from, int32_t to, int64_t bytes);

/* The command list of the runs; memory as a cache: where a space has no room for what a run needs, the buffer that is
 * read again last for its copies leaves it.
 *   space   [n]  in      where each run is; a run that updates is in space 0, where persistent storages are at home
 *   noise        in      > 0: victims are chosen at random to that degree, drawn from `random`
 *   list    [1]  out     empty before
 *   fits    [1]  out     0: no room was found; the list is then incomplete
 * Uses are in the order of their commands. Packing may still ask for more than the budgets. O(runs x live buffers). */
PLIM_MUST_USE plim_status plim_queue_decode(const plim_queue_runs *runs, const plim_queue_spaces *spaces,
                                            const int32_t *space, double noise, plim_random *random,
                                            plim_command_list *list, int32_t *fits);

/* ==== search ==== */

/* The fastest checked plan found whose runs are those of `base`, a plan of one arena of whatever size, with its
 * recomputes and variants.
 *   options  in      budget_bytes, seed, iterations and paging are read
 *   best     in out  replaced (and freed) where a faster one is found; NULL: none yet
 * A plan that is not found is no failure. Deterministic without a deadline of the context. */
PLIM_MUST_USE plim_status plim_queue_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, const plim_plan *base,
                                            int64_t keep_all_ns, plim_plan **best);

/* ==== homes ==== */

/* Optimizer state that is at home in the page space: storages that their update alone touches, or nothing in a step
 * that updates nothing. With paging->beside: those that nothing touches here and that are at home there in that plan. */

/* Bytes that they take there. */
int64_t plim_home_bytes(const plim_paging *paging, const plim_graph *graph);

/* known_ns: the cost of a plan that is known already; one that costs as much is of no use. */
typedef plim_status plim_plan_maker(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                    const plim_plan_options *options, int64_t known_ns, plim_plan **out);

/* A plan in which they are at home in options->paging's space, copied in before the update and out after it. `make`
 * plans the rest; with paging->homes 1 without paging.
 *   keep_all_ns  in  of the plan; its bound is the same
 *   known_ns     in  for `make`
 * PLIM_ENOFIT: none was found. Needs a space, and no second device. */
PLIM_MUST_USE plim_status plim_home_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                         const plim_plan_options *options, int64_t keep_all_ns, int64_t known_ns,
                                         plim_plan_maker *make, plim_plan **out);

/* ==== plan ==== */

/* plim_plan_front with options->paging. */
PLIM_MUST_USE plim_status plim_paging_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, int32_t n, const int64_t *budget,
                                            plim_plan **plan);

/* plim_plan_make with options->paging, which must not be NULL. */
PLIM_MUST_USE plim_status plim_paging_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                           const plim_plan_options *options, plim_plan **out);

#endif
