/* Planning: graph + profile + budget -> a checked plan with addresses, its lower bound and its gap.
 *
 * Strategies are rows of one table; all share one timeline (the only calculation of a peak) and one packer.
 * Every plan that leaves this header has passed plim_plan_check. Persistent storages (param, state, staging) sit at
 * the low end of the arena in graph order, so that plans of graphs with equal persistent storages agree on them. */
#ifndef PLIM_PLANNER_PLANNER_H
#define PLIM_PLANNER_PLANNER_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which numerics keys the planner may choose. auto: any. fastest: for each op the key of its fastest variant; of
 * variants within 3 % of the fastest the one with the least workspace counts as fastest, then the lower index. small:
 * the key of least workspace. given: those in `label`. */
typedef enum plim_numerics_choice {
  PLIM_NUMERICS_AUTO,
  PLIM_NUMERICS_FASTEST,
  PLIM_NUMERICS_SMALL,
  PLIM_NUMERICS_GIVEN
} plim_numerics_choice;

/* Order of first runs. any: the widest class of the planner. */
typedef enum plim_plan_order { PLIM_ORDER_ANY, PLIM_ORDER_FREE, PLIM_ORDER_FIXED } plim_plan_order;

enum { PLIM_COPIES_DEFAULT = 2 };

typedef struct plim_plan_options {
  size_t struct_bytes;   /* sizeof(plim_plan_options); another: PLIM_EUSAGE */
  const char *planner;   /* NULL: "search" */
  int64_t budget_bytes;  /* of the arena; INT64_MAX: none */
  plim_plan_order order; /* FREE with a planner whose class is narrower: PLIM_EUSAGE */
  int32_t unpacked;      /* 1: the budget bounds peak_bytes without rounding, no addresses (published instances) */
  int32_t threads;       /* of the planner itself; 0 and 1: one. More: the memory hook must be safe to call from them */
  int32_t copies;        /* class copies: computations of an op at most; 0: PLIM_COPIES_DEFAULT */
  plim_numerics_choice labels;
  const char *const *label; /* [n_ops], PLIM_NUMERICS_GIVEN only */
  uint64_t seed;
  /* > 0: stop after so many moves (of a solver: nodes of its tree, or of a relaxation pivots), deterministic whatever
   * the machine does; a solver's first node takes as long as it takes */
  int64_t iterations;
  /* > 0: stop then; both 0: a default number of iterations. The limit holds for the whole call, from its begin:
   * searches end at it, whatever is under way a twentieth of it and 50 ms later; then comes only what is linear in the
   * graph and the plan, to write and check the plan or to explain the refusal. */
  int64_t time_limit_ns;
  /* Folder of plan fronts kept between runs; "": the user's cache folder; NULL: none. With one, a plan for a finite
   * budget is the fastest known within it, found now or before: what was planned before with equal effort is not
   * searched again, and a larger budget never gives a slower plan. */
  const char *front_folder;
  int32_t *from_front; /* out, may be NULL: 1 when the plan, or the smallest budget, is a kept one */
  struct plim_plan_floor
      *known; /* out, may be NULL: on PLIM_ENOFIT what plim_plan_make knows without a further search */
} plim_plan_options;

plim_plan_options plim_plan_options_default(void);

/* Make a plan.
 *
 * PLIM_EUSAGE: options of another size, an unknown planner, an order that it cannot give, a label that an op has not.
 * PLIM_EDATA: the profile is of another graph. PLIM_EOVERFLOW: bytes or times add up to more than 62 bits. PLIM_ENOMEM.
 *
 * Memory: O(graph + runs) for schedules. The cut model takes three bit matrices of ops x ops in the order asked for,
 * and as many for program order: 300 MB of 20,000 ops, none of more. Packing takes O(overlaps), exact packing of up to
 * 4,096 buffers up to 200 MB a thread.
 *
 * PLIM_ENOFIT when no plan was found within the budget: the sentence has the bytes of the smallest plan that this
 * search met, or that the folder of plan fronts has, and what is proven. plim_plan_smallest looks for the smallest
 * budget. PLIM_ECANCEL only when nothing was found before the cancel; else the best so far. Deterministic for equal
 * inputs, threads included, unless time_limit_ns > 0 or plans are kept in options->front_folder. */
PLIM_MUST_USE plim_status plim_plan_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                         const plim_plan_options *options, plim_plan **out);

/* Plans for budgets [n], ascending, through one plan front, kept in options->front_folder where there is such a folder:
 * each planning starts from the plan for the budget before. options->iterations is for each planning,
 * options->time_limit_ns for all of them together: where it is too short for so many, evenly spread budgets are
 * planned, and the last. plan [n] out: the fastest known within each budget, so overheads never rise; NULL where none
 * was found. After a cancel the budgets left get what is known. */
PLIM_MUST_USE plim_status plim_plan_front(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                          const plim_plan_options *options, int32_t n, const int64_t *budget,
                                          plim_plan **plan);

enum { PLIM_CONFLICT_BYTES = 512 };

/* Smallest budget with a checked plan, by a search limited in iterations, and what is proven. */
typedef struct plim_plan_floor {
  int64_t smallest_bytes; /* a plan with this budget was found and checked; INT64_MAX: none is known */
  int64_t bound_bytes;    /* no plan exists below this: largest working set of one op + persistent bytes */
  int32_t op;             /* the op that sets bound_bytes */
  int64_t keep_all_bytes; /* smallest arena found at overhead 0; 0: not looked for */
  int32_t fixed_numerics; /* 1: both are of plans with the numerics that the options fixed; others may need less */
  /* Where options->budget_bytes lies between bound and smallest: what the plan for smallest_bytes lacks there, and a
   * few of its buffers that are proven not to fit together, as a sentence; else "". */
  char conflict[PLIM_CONFLICT_BYTES];
  int32_t cut_short; /* 1: a time limit ended the search for smallest_bytes */
} plim_plan_floor;

/* *plan (may be NULL) receives the plan at smallest_bytes. Deterministic without a time limit, which holds for all of
 * it as in plim_plan_make; then smallest_bytes may be as large as keep-all bytes. Without one within 10 s for the
 * built-in models. plim_plan_make with the same options and budget smallest_bytes succeeds. */
PLIM_MUST_USE plim_status plim_plan_smallest(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                             const plim_plan_options *options, plim_plan_floor *out, plim_plan **plan);

/* plim_plan_front over budgets [n] out: even steps from the smallest with a plan, which is found first, to high_bytes
 * (n times the smallest, if that is no larger). So every budget has a plan, however little time there is: the smallest
 * budget's, if nothing better. A time limit holds for everything together; a quarter of it is the first search's.
 * PLIM_ECANCEL when cancelled before the smallest budget was found. */
PLIM_MUST_USE plim_status plim_plan_range(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                          const plim_plan_options *options, int64_t high_bytes, int32_t n,
                                          int64_t *budget, plim_plan_floor *floor, plim_plan **plan);

/* Only what is proven: bound_bytes and op. O(graph). */
PLIM_MUST_USE plim_status plim_plan_bound(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                          const plim_plan_options *options, plim_plan_floor *out);

/* *yes: does the first part of the min-memory search find a plan within options->budget_bytes? If so, plim_plan_make
 * with the same options succeeds; if not, it may still. Deterministic, a fraction of the time of plim_plan_smallest. */
PLIM_MUST_USE plim_status plim_plan_fits(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                         const plim_plan_options *options, int *yes);

/* Keep-all bytes: the smallest arena found for a plan of overhead 0 (shorthand for planner "keep-all"). */
PLIM_MUST_USE plim_status plim_plan_keep_all(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                             const plim_plan_options *options, plim_plan **out);

/* The refusal of a budget that is too small, as the middle of a sentence: "the smallest budget for which a plan was
 * found is N; none (with these numerics) exists below M, where op X needs a, b, c at once; where both are equal, "the
 * smallest budget that has a plan (with these numerics) is N, where op X needs ..."; the peak of a schedule is ...: d,
 * e, f cannot lie together within the budget". Writes at most `size` bytes with the NUL; nothing where that is 0. */
void plim_plan_floor_describe(const plim_graph *graph, const plim_plan_floor *floor, char *text, size_t size);

/* The strategies, in order of the table; NULL-terminated walk: name of row i, or NULL. */
const char *plim_planner_name(int32_t row);
const char *plim_planner_source(int32_t row);

/* Which of the options make a strategy do more, less or something else: the time limit, the number of iterations, of
 * threads, of copies. The others leave its plans as they are. */
typedef enum plim_plan_effort {
  PLIM_EFFORT_TIME,
  PLIM_EFFORT_ITERATIONS,
  PLIM_EFFORT_THREADS,
  PLIM_EFFORT_COPIES
} plim_plan_effort;
int plim_planner_obeys(int32_t row, plim_plan_effort effort);

#ifdef __cplusplus
}
#endif
#endif
