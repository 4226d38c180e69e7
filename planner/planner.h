/* Planning: graph + profile + budget -> a checked plan with addresses, its lower bound and its gap.
 *
 * plim_plan_make answers one budget (examples/plan.c), plim_plan_front several, plim_plan_range an even range of them.
 * plim_plan_smallest looks for the smallest budget, plim_plan_keep_all for the bytes in which nothing is recomputed.
 *
 * Holds for every function here, unless its comment says otherwise:
 *   Units      bytes and nanoseconds, int64_t.
 *   Inputs     graph, profile and options are only read. The caller may free them after the call.
 *   Plans      have passed plim_plan_check, and belong to the caller: plim_plan_free. A plan does not refer to graph or
 *              profile. Its memory is that of graph->ctx, which must outlive it. Persistent storages (param, state,
 *              staging) lie at the low end of the arena in graph order: graphs with equal ones agree on their places.
 *   Failure    outputs are untouched, or NULL where plans are several. plim_context_error(ctx) has the sentence.
 *   Threads    one call at a time on a context. Several contexts may plan at once. Where they share a graph, the memory
 *              hook of graph->ctx must be safe to call from several threads.
 *   Progress   the context's callback is told the stage, the best overhead and the bound.
 *   Result     deterministic for equal inputs and an equal number of threads, unless time_limit_ns > 0 or a plan front
 *              is used.
 *   PLIM_EUSAGE     options of another size, an unknown planner, an order that the planner does not give, or a key that
 *                   an op does not have
 *   PLIM_EDATA      the profile is of another graph
 *   PLIM_EOVERFLOW  bytes or times are too large to add up
 *   PLIM_ENOMEM     the memory hook returned NULL */
#ifndef PLIM_PLANNER_PLANNER_H
#define PLIM_PLANNER_PLANNER_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ==== options ==== */

/* Which numerics keys the planner may choose. */
typedef enum plim_numerics_choice {
  PLIM_NUMERICS_AUTO,    /* any */
  PLIM_NUMERICS_FASTEST, /* for each op, the key of its fastest variant. Of variants within 3 % of the least time, the
                          * one with the least workspace counts as fastest, then the one with the lower index */
  PLIM_NUMERICS_SMALL,   /* for each op, the key of the variant with the least workspace */
  PLIM_NUMERICS_GIVEN    /* for each op, the key in plim_plan_options.numerics_key */
} plim_numerics_choice;

/* Order of first runs. any: the widest class of the planner. free: any valid order. fixed: program order. */
typedef enum plim_plan_order { PLIM_ORDER_ANY, PLIM_ORDER_FREE, PLIM_ORDER_FIXED } plim_plan_order;

enum { PLIM_COPIES_DEFAULT = 2 };

/* Where persistent storages are at home in a step that may page. Those of the arena lie there from begin to end. Those
 * of the page space are copied to the arena for the ops that need them, and back after an update.
 * Optimizer state that only its update reads can be at home there, and parameters that are not small. */
typedef enum plim_homes {
  PLIM_HOMES_NEVER,        /* all are at home in the arena */
  PLIM_HOMES_WHERE_FASTER, /* optimizer state, or parameters too, where that is faster or nothing else fits */
  PLIM_HOMES_STATE,        /* optimizer state; nothing else pages. With `beside`: what that plan has there and this step
                              does not update, as an evaluation step beside its training step */
  PLIM_HOMES_PARAMS,       /* optimizer state and parameters; nothing else pages */
  PLIM_HOMES_AS_BESIDE     /* all that the plan `beside` has there, updated or not; the rest may page */
} plim_homes;

/* Watts that a step draws. A run draws those of its device for the time of its variant, a copy those of its link for
 * its time, and idle_watt is drawn during the whole makespan. */
typedef struct plim_powers {
  double device_watt[PLIM_PLAN_SPACES];                 /* of the device of a space; others are not read */
  double idle_watt;                                     /* of all devices */
  double link_watt[PLIM_PLAN_SPACES][PLIM_PLAN_SPACES]; /* of copies from a space to another */
} plim_powers;

/* Joules of the plan, predicted. O(commands). Thread-safe. */
double plim_plan_energy(const plim_plan *plan, const plim_powers *powers);

typedef struct plim_paging_device {
  const char *name;     /* as "cpu:1"; the device is equal to the first one */
  int64_t budget_bytes; /* of its own arena */
} plim_paging_device;

/* A space to page to, and the link to it; devices beside the first one. In the plan the arena is space 0, then come the
 * devices in their order, then the page space. */
typedef struct plim_paging {
  size_t struct_bytes;                      /* sizeof(plim_paging), which plim_paging_default sets; else: PLIM_EUSAGE */
  const char *space;                        /* "host" or "disk": how the executor makes it; NULL: none */
  int64_t budget_bytes;                     /* of the space */
  int64_t latency_ns[PLIM_LINK_DIRECTIONS]; /* of a copy out and in: it takes latency + bytes / bandwidth */
  double bytes_per_ns[PLIM_LINK_DIRECTIONS];
  double delay_share; /* times a copy's time by which it delays the runs beside it: 0 where nothing is shared */
  int32_t recompute;  /* 0: ops run once, and what does not fit is paged */
  int32_t n_devices;  /* beside the first one; 0: one device */
  plim_paging_device device[PLIM_PAGE_DEVICES]; /* [n_devices] */
  int64_t device_latency_ns;                    /* of a copy from one arena to another */
  double device_bytes_per_ns;                   /* of such a copy */
  plim_homes homes;
  const plim_plan *beside;        /* a plan of another step, or NULL: homes are those that it has, by name; borrowed */
  const plim_graph *beside_graph; /* the graph of that plan; borrowed */
  const plim_powers *powers;      /* NULL: the plan that takes the least time is wanted; else the least energy */
  int64_t deadline_ns;            /* with powers: of the makespan; 0: none */
  int32_t first_plan; /* 1: the first plan that fits will do, however slow: for the question whether one does */
} plim_paging;

/* No page space, no other device: nothing pages. Ops may run again; homes where faster; links of 1 ns and 1 byte/ns. */
plim_paging plim_paging_default(void);

typedef struct plim_plan_options {
  size_t struct_bytes;   /* sizeof(plim_plan_options), which plim_plan_options_default sets; another: PLIM_EUSAGE */
  const char *planner;   /* name of a row of the table of strategies; NULL: the first, "search" */
  int64_t budget_bytes;  /* of the arena; PLIM_BYTES_UNLIMITED: none */
  plim_plan_order order; /* FREE with a planner whose class is narrower: PLIM_EUSAGE */
  int32_t unpacked;      /* 1: the budget bounds peak_bytes without rounding, no addresses (published instances) */
  int32_t threads;       /* of the planner itself; 0 and 1: one. With more, they call the memory hook at once */
  int32_t copies;        /* class copies: most computations of an op; 0: PLIM_COPIES_DEFAULT */
  plim_numerics_choice numerics;
  const char *const *numerics_key; /* [n_ops] numerics keys, read with PLIM_NUMERICS_GIVEN only */
  uint64_t seed;                   /* of all random choices */
  /* > 0: stop after so many moves, so that the result does not depend on the speed of the machine. For a solver they
   * are nodes of its tree, after the first one; for a relaxation they are pivots. 0, and no time limit: a default */
  int64_t iterations;
  /* 1: "search" takes little time: 250 moves an op, and more of `iterations` while its plan is far from the bound and
   * rounds gain (docs/planner.md). It leaves the plan front alone. The search for the fewest bytes is not shortened */
  int32_t brief;
  /* > 0: a limit on the whole call. Searches end there, other work 50 ms and a twentieth of the limit later. What
   * follows, to write and check the plan or to explain the refusal, is linear in graph and plan. In plim_plan_make and
   * plim_plan_search less than 50 ms counts as 50 ms, so that a small graph has a plan */
  int64_t time_limit_ns;
  /* Folder of the plan fronts that are kept between runs; "": the user's cache folder; NULL: none. With it, the plan of
   * a finite budget is the fastest known within it, from this or an earlier call, so that a larger budget never gives a
   * slower plan. No effort is repeated, but one with paging that ran out of time. A front that fails is no failure */
  const char *front_folder;
  /* NULL: every byte stays in the arena. Only plim_plan_make, plim_plan_search and plim_plan_front read it */
  const plim_paging *paging;
} plim_plan_options;

/* Planner "search", no budget, seed 1, one thread, a default number of iterations, no plan front. */
plim_plan_options plim_plan_options_default(void);

/* ==== plans ==== */

enum { PLIM_CONFLICT_BYTES = 512 };

/* The smallest budget for which a checked plan was found, and what is proven. */
typedef struct plim_plan_floor {
  int64_t smallest_bytes; /* a plan with this budget was found and checked; PLIM_BYTES_UNLIMITED: none is known */
  int64_t bound_bytes;    /* proven: no plan exists below this: persistent bytes, the working set of one op, and: */
  int64_t outputs_bytes;  /* outputs of the graph that other ops have written by its last run; 0: not counted */
  int32_t op;             /* the op that sets bound_bytes */
  int64_t keep_all_bytes; /* smallest arena found at overhead 0; 0: not searched */
  int32_t fixed_numerics; /* 1: all figures are for the numerics that the options fixed; others may need less */
  /* Where options->budget_bytes lies between bound and smallest: why the plan for smallest_bytes does not fit there,
   * and a few of its buffers that are proven not to fit together, as the part of a sentence. Else "". */
  char conflict[PLIM_CONFLICT_BYTES];
  int32_t cut_short;  /* 1: a time limit ended the search for smallest_bytes */
  int32_t from_front; /* 1: the plan for smallest_bytes was in the plan front */
} plim_plan_floor;

/* Make a plan within options->budget_bytes.
 *
 * With options->paging the plan may have copies on queues of their own, and with several devices runs on their queues.
 * It is never slower (with powers: takes no more energy in time) than a plan without copies of the same search, nor,
 * without a time limit, than that of one device fewer. Its bound is keep-all's time, or with n devices the longest
 * chain of ops or the n-th part of keep-all's time; that of a plan for one arena alone is keep-all's time.
 *
 * PLIM_ENOFIT: no plan was found within the budget, or by the deadline. The sentence has the lowest plan that this
 * search or the plan front knows, and what is proven. plim_plan_smallest looks for the smallest budget.
 * PLIM_ECANCEL: cancelled before a plan was found. After that, a cancel returns PLIM_OK with the best plan so far.
 * Memory: O(graph + runs), and for the cut model six bits for each pair of ops: 300 MB for 20,000 ops. Larger graphs do
 * without it. Exact packing, of up to 4,096 buffers, takes up to 200 MB a thread.
 * Time: that of the options (iterations, time_limit_ns), and before a refusal that of plim_plan_smallest too. */
PLIM_MUST_USE plim_status plim_plan_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                         const plim_plan_options *options, plim_plan **out);

/* A plan, or why there is none. */
typedef struct plim_plan_result {
  plim_plan *plan;       /* NULL: there is none */
  int32_t from_front;    /* 1: the plan was in the plan front, or with options->paging kept in its folder */
  plim_plan_floor floor; /* without a plan: what is proven, as plim_plan_bound has it, and the conflict */
} plim_plan_result;

/* plim_plan_make, with all that it found out. On PLIM_ENOFIT the plan is NULL and, without options->paging, the floor
 * is set; no search is made for it. On any other failure *out is untouched. */
PLIM_MUST_USE plim_status plim_plan_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                           const plim_plan_options *options, plim_plan_result *out);

/* Plans for several budgets, through one plan front. options->front_folder keeps it, where there is one.
 *   budget  [n]  in   bytes, ascending; else PLIM_EUSAGE
 *   plan    [n]  out  the fastest plan known within each budget; NULL where none was found
 * Each search starts from the plans of the budgets before, and overheads never rise with the budget.
 * options->iterations is for each budget, options->time_limit_ns for all of them. Where the time is short, evenly
 * spread budgets are searched, and the last one. options->budget_bytes is not read.
 * A cancel is no failure: the budgets that are left get the fastest plan known. Nor is a budget without a plan.
 * With options->paging the budgets are of the arena, that of the page space stays, and a plan's time, with what copies
 * take from runs, never rises with the budget; with powers its energy never does. */
PLIM_MUST_USE plim_status plim_plan_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                          const plim_plan_options *options, int32_t n, const int64_t *budget,
                                          plim_plan **plan);

/* Search for the smallest budget that has a plan of one arena; options->paging is not read, here and in the functions
 * below.
 *   out   [1]  out  the figures
 *   plan  [1]  out  the plan at smallest_bytes; may be NULL
 * plim_plan_make with the same options and the budget smallest_bytes succeeds. options->budget_bytes only says for
 * which budget out->conflict is written. Without a time limit it takes less than 10 s for the built-in models. A time
 * limit holds for the whole call as in plim_plan_make; smallest_bytes may then be as large as keep_all_bytes, and
 * cut_short is 1. PLIM_ECANCEL: cancelled before a plan was found; PLIM_ENOFIT: none in time. */
PLIM_MUST_USE plim_status plim_plan_smallest(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                             const plim_plan_options *options, plim_plan_floor *out, plim_plan **plan);

/* Evenly spaced budgets from the smallest that has a plan, and what fits into them. */
typedef struct plim_plan_span {
  int32_t n;             /* in: how many budgets */
  int64_t high_bytes;    /* in: the largest; where the smallest is no less, all n budgets are the smallest */
  int64_t *budget;       /* [n] out: ascending */
  plim_plan **plan;      /* [n] out: the fastest plan known within each budget */
  plim_plan_floor floor; /* out: as of plim_plan_smallest */
} plim_plan_span;

/* The smallest budget, then plim_plan_front from there.
 * Every budget has a plan, however little time there is: at least that of the smallest budget. A time limit holds for
 * everything together; a quarter of it is for the smallest budget. PLIM_ECANCEL: cancelled before that was found;
 * `budget` and `floor` may have been written on a later failure. */
PLIM_MUST_USE plim_status plim_plan_range(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                          const plim_plan_options *options, plim_plan_span *span);

/* Only what is proven: bound_bytes, outputs_bytes, op and fixed_numerics; smallest_bytes is PLIM_BYTES_UNLIMITED. No
 * search: O(graph). */
PLIM_MUST_USE plim_status plim_plan_bound(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                          const plim_plan_options *options, plim_plan_floor *out);

/* Does the first part of the min-memory search find a plan within options->budget_bytes? *yes out: 1 or 0.
 * 1: plim_plan_make with the same options succeeds. 0: it may still succeed. Takes a fraction of the time of
 * plim_plan_smallest. The plan front is not read. */
PLIM_MUST_USE plim_status plim_plan_fits(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                         const plim_plan_options *options, int *yes);

/* The plan of the smallest arena found in which nothing is recomputed: its arena_bytes are the keep-all bytes. The same
 * as plim_plan_make with planner "keep-all" and no budget. */
PLIM_MUST_USE plim_status plim_plan_keep_all(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                             const plim_plan_options *options, plim_plan **out);

/* The refusal of a budget that is too small, as the middle of a sentence:
 *   "the smallest budget for which a plan was found is N; none (with these numerics) exists below M, where op X needs
 *   a, b, c at once; the peak of a schedule is ...: d, e, f cannot lie together within the budget".
 * Where both are equal it begins "the smallest budget that has a plan (with these numerics) is N, where op X needs".
 *   text  [size]  out  at most `size` bytes with the NUL; nothing where `size` is 0
 * Thread-safe. */
void plim_plan_floor_describe(const plim_graph *graph, const plim_plan_floor *floor, char *text, size_t size);

/* Make the plan that a plan on several devices is compared with: every op once, in program order, one command after
 * another, on the device and with the variant of its first run in that plan, without budgets. Nothing pages.
 *   devices  in  as many as `as` has, and the link between two arenas; no other field is read
 *   as       in  a checked plan of the graph
 * PLIM_EUSAGE: another number of devices. PLIM_EDATA: `as` is of another graph. O(buffers^2). */
PLIM_MUST_USE plim_status plim_plan_serial(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                           const plim_paging *devices, const plim_plan *as, plim_plan **out);

/* ==== strategies, and fields for other languages ==== */

/* The table of strategies: name of row i (0, 1, ...), and what it does with its source. Static strings; NULL for a row
 * that is not there. Thread-safe. */
const char *plim_planner_name(int32_t row);
const char *plim_planner_source(int32_t row);

/* Options that change the effort of a strategy: time_limit_ns, iterations, threads, copies. */
typedef enum plim_plan_effort {
  PLIM_EFFORT_TIME,
  PLIM_EFFORT_ITERATIONS,
  PLIM_EFFORT_THREADS,
  PLIM_EFFORT_COPIES
} plim_plan_effort;

/* 1 when the strategy of that row reads the option; 0: its plans do not depend on it, or there is no such row. */
int plim_planner_obeys(int32_t row, plim_plan_effort effort);

/* Where the fields of public structs lie, for languages that cannot read these headers: row 0, 1, ... of a table of the
 * structs and fields that a caller needs who builds a graph and plans it (planner/fields.c).
 *   type, field    out  static strings; field "" in the row of the struct itself, which comes before its fields
 *   offset, bytes  out  of the field, from the start of the struct; of the struct 0 and its size
 * Returns 1, or 0 where there is no such row. Thread-safe. */
int plim_struct_field(int32_t place, const char **type, const char **field, size_t *offset, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
