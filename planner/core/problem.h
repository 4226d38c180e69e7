/* The planning problem, and schedules of it. */
#ifndef PLIM_PLANNER_CORE_PROBLEM_H
#define PLIM_PLANNER_CORE_PROBLEM_H

#include "planner/planner.h"

/* ==== problem (problem.c) ==== */

/* The planner's data structures, in the order in which a plan comes to be:
 *
 *   problem     what may run when, and how many bytes and nanoseconds it takes   (from graph, profile and options)
 *   schedule    a sequence of runs                                               (made by a strategy)
 *   timeline    which buffer is alive when, live bytes, peak, time               (evaluates a schedule)
 *   placement   an offset for every buffer                                       (packs a timeline)
 *   plan        the document                                                     (writes all three down)
 *
 * Units are bytes and nanoseconds. A *position* is an index into a schedule; lifetimes are half-open ranges
 * [begin, end) of positions. A *repeat* is a run of an op that has run before. */

/* The planning problem: graph, profile and options in the form that a search reads.
 *
 * An *item* is a storage that is not persistent: an op writes it, or it is an input that an op reads. Persistent
 * storages (param, state, staging) are one constant, `persistent_bytes`. A *choice* is a variant that the plan may
 * use. Each op has its fastest choice first. Left out are dominated variants, variants within 3 % of the fastest
 * (choices.c), and those whose numerics key the options forbid.
 *
 * Rules for a run of op v, whether it is the first or a repeat:
 *   preds      each of these ops has run at least once before it: producers of what v reads, updates that v must see
 *   closed_by  none of these ops has run before it: updates that v must not see
 * The same pairs from the other side: v is in the `preds` of its `succs`, and in the `closed_by` of the ops that it
 * `closes`. */

/* A variant of an op that the plan may use. */
typedef struct plim_choice {
  int64_t time_ns;
  int64_t workspace_bytes; /* a multiple of the problem's `align` */
  int32_t numerics_key;    /* number of its numerics key; equal within one op where the keys are equal */
  int32_t variant;         /* index among the op's variants in the profile */
} plim_choice;

/* An output that an op may write in place of an input. The input is never one that is kept to the end. */
typedef struct plim_overwrite {
  int32_t in;        /* item that is overwritten */
  int32_t out_index; /* index of the output among the op's `writes` */
  plim_pair pair;    /* positions of both among the op's operands */
} plim_overwrite;

typedef struct plim_ids {
  int32_t n;
  const int32_t *at; /* [n] ascending, without duplicates */
} plim_ids;

typedef struct plim_planned_op {
  plim_ids reads, writes;                   /* items */
  plim_ids preds, closed_by, succs, closes; /* ops, see above */
  int32_t runs_once;                        /* 1: exactly once: an op of class once or effect */
  int32_t n_overwrites, n_choices;
  const plim_overwrite *overwrite; /* [n_overwrites] */
  const plim_choice *choice;       /* [n_choices] choice[0] is the fastest; measured times within 3 % are equal */
} plim_planned_op;

typedef struct plim_item {
  int64_t bytes;       /* a multiple of the problem's `align` */
  int32_t storage;     /* of the graph */
  int32_t producer;    /* op; -1: an input */
  int32_t write_index; /* index among the producer's `writes` */
  int32_t is_output;   /* 1: an output of the graph; its last lifetime ends with the schedule */
  plim_ids readers;    /* ops */
} plim_item;

/* A graph of more ops is long. In the usual number of moves, annealing changes little of it. The cut model needs
 * seconds to look at each op of it once. (docs/experiments.md) */
enum { PLIM_LONG_OPS = 3000 };

/* Bytes below which no plan has room for the outputs of the graph, which stay (planner/core/byte_bound.c). */
typedef struct plim_outputs_bound {
  int64_t bytes;         /* -1: the graph has no outputs */
  int64_t outputs_bytes; /* of these: outputs that other ops have written */
  int32_t op;            /* that runs beside them */
} plim_outputs_bound;

typedef struct plim_problem {
  plim_context *ctx;
  const plim_graph *graph;     /* borrowed */
  const plim_profile *profile; /* borrowed */
  int32_t n_ops, n_items;
  plim_plan_class plan_class; /* the class of schedules that is searched */
  int32_t has_fixed_order;    /* 1: first runs stay in program order, in every class but FREE */
  int64_t align;              /* of every size and offset, in bytes: PLIM_ALIGN; 1 for plans without addresses */
  int64_t persistent_bytes;
  int64_t keep_all_ns;       /* time of every op once, each by its fastest variant of any numerics key */
  const plim_planned_op *op; /* [n_ops] */
  const plim_item *item;     /* [n_items] */
  int32_t fixed_numerics;    /* 1: the options say which numerics keys may be used */
  plim_outputs_bound outputs_bound;
  /* Memory of the above. A searcher on another thread has a copy of the problem, which borrows all of it. */
  plim_planned_op *own_op;
  plim_item *own_item;
  plim_overwrite *overwrite; /* [n_overwrites] of all ops */
  plim_choice *choice;       /* [n_choices] of all ops */
  int32_t *pool;             /* [pool_capacity] elements of all lists; n_pool are used */
  int64_t n_overwrites, n_choices, n_pool, pool_capacity;
} plim_problem;

/* Make the problem of a graph. Graph and profile must outlive it.
 * PLIM_EDATA: the profile is of another graph. PLIM_EUSAGE: no variant has a numerics key that the options give.
 * PLIM_EOVERFLOW: bytes do not fit in 61 bits, or times cannot be added up. O(graph). Deterministic. */
PLIM_MUST_USE plim_status plim_problem_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, plim_plan_class plan_class,
                                            plim_problem **out);
void plim_problem_free(plim_problem *problem); /* NULL is legal */

/* Bytes of all outputs of an op. */
int64_t plim_problem_bytes_written(const plim_problem *problem, int32_t op);

/* ==== choices (choices.c) ==== */

/* Fill in the choices of every op and `keep_all_ns`; a part of plim_problem_make. PLIM_EUSAGE: no variant of an op has
 * the numerics key given. O(variants^2) an op. */
PLIM_MUST_USE plim_status plim_choices_make(plim_problem *problem, const plim_plan_options *options);

/* ==== bound on bytes (byte_bound.c) ==== */

/* Persistent bytes and the largest working set of one op, or one and the outputs of the graph that are there by its
 * last run: no plan of any class has a lower peak. *op is that op. O(graph). */
int64_t plim_bound_bytes(const plim_problem *problem, int32_t *op);
/* The same into a floor, with what of it are outputs of other ops. */
void plim_bound_floor(const plim_problem *problem, plim_plan_floor *floor);
/* Fill in `outputs_bound`; a part of plim_problem_make. O(graph + ops log ops). */
PLIM_MUST_USE plim_status plim_bound_outputs(plim_problem *problem);

/* Most bytes that an op can save by writing over its inputs: at most all outputs that have such a pair, and at most all
 * inputs that have one. Both are upper bounds on what a matching of the pairs saves.
 *   is_kept  in  1 for items that something reads later, and that are not written over; NULL: none
 * O(pairs^2). */
typedef int plim_item_test(const void *user, int32_t item, int32_t op);
int64_t plim_bound_overwritten(const plim_problem *problem, int32_t v, plim_item_test *is_kept, const void *user);

/* The bytes that one given op needs, without its workspace. */
int64_t plim_bound_without_workspace(const plim_problem *problem, int32_t op);

/* By how many percent a time is above keep-all's; 0 where that takes none. */
static inline double plim_problem_percent(const plim_problem *problem, int64_t time_ns) {
  const int64_t keep_ns = problem->keep_all_ns;
  return keep_ns > 0 ? 100.0 * (double)(time_ns - keep_ns) / (double)keep_ns : 0;
}

/* ==== schedules (schedule.c) ==== */

/* A schedule: a sequence of runs. Each run is an op and the choice of its variant. An empty one is {.ctx = ctx}. */

typedef struct plim_schedule {
  plim_context *ctx;
  int32_t n, capacity; /* runs; runs that fit in the memory */
  int32_t *op;         /* [n] */
  int32_t *choice;     /* [n] index among the choices of the op */
} plim_schedule;

PLIM_MUST_USE plim_status plim_schedule_reserve(plim_schedule *schedule, int32_t capacity);
PLIM_MUST_USE plim_status plim_schedule_add(plim_schedule *schedule, int32_t op, int32_t choice);
PLIM_MUST_USE plim_status plim_schedule_copy(plim_schedule *to, const plim_schedule *from);
void plim_schedule_free(plim_schedule *schedule);                         /* leaves it empty */
int plim_schedule_equals(const plim_schedule *a, const plim_schedule *b); /* the same runs in the same order */

/* Every op once in program order, each with its fastest choice. */
PLIM_MUST_USE plim_status plim_schedule_program_order(const plim_problem *problem, plim_schedule *out);

#endif
