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
#ifndef PLIM_PLANNER_CORE_CORE_H
#define PLIM_PLANNER_CORE_CORE_H

#include "planner/pack/pack.h"
#include "planner/planner.h"

/* ==== problem ==== */

/* The planning problem: graph, profile and options in the form that a search reads.
 *
 * An *item* is a storage that is not persistent: an op writes it, or it is an input that an op reads. Persistent
 * storages (param, state, staging) are one constant, `persistent_bytes`. A *choice* is a variant that the plan may
 * use. Each op has its fastest choice first. Left out are dominated variants and those whose numerics key the options
 * forbid.
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

typedef struct plim_list {
  int32_t n;
  const int32_t *at; /* [n] ascending, without duplicates */
} plim_list;

typedef struct plim_planned_op {
  plim_list reads, writes;                   /* items */
  plim_list preds, closed_by, succs, closes; /* ops, see above */
  int32_t once;                              /* 1: an effect op, which runs exactly once */
  int32_t n_overwrites, n_choices;
  const plim_overwrite *overwrite; /* [n_overwrites] */
  const plim_choice *choice;       /* [n_choices] choice[0] is the fastest; measured times within 3 % are equal */
} plim_planned_op;

typedef struct plim_item {
  int64_t bytes;       /* a multiple of the problem's `align` */
  int32_t storage;     /* of the graph */
  int32_t producer;    /* op; -1: an input */
  int32_t write_index; /* index among the producer's `writes` */
  int32_t kept;        /* 1: an output of the graph; its last lifetime ends with the schedule */
  plim_list readers;   /* ops */
} plim_item;

/* A graph of more ops is long. In the usual number of moves, annealing changes little of it. The cut model needs
 * seconds to look at each op of it once. (docs/experiments.md) */
enum { PLIM_LONG_OPS = 3000 };

/* Bytes below which no plan has room for the outputs of the graph, which stay (planner/core/bound.c). */
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
  int32_t fixed_order;        /* 1: first runs stay in program order, in every class but FREE */
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
  int32_t *pool;             /* [room_pool] elements of all lists; n_pool are used */
  int64_t n_overwrites, n_choices, n_pool, room_pool;
} plim_problem;

/* Make the problem of a graph. Graph and profile must outlive it.
 * PLIM_EDATA: the profile is of another graph. PLIM_EUSAGE: no variant has a numerics key that the options give.
 * PLIM_EUNSUPPORTED: an op of class once has outputs. PLIM_EOVERFLOW: bytes do not fit in 61 bits, or times cannot be
 * added up. O(graph). Deterministic. */
PLIM_MUST_USE plim_status plim_problem_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, plim_plan_class plan_class,
                                            plim_problem **out);
void plim_problem_free(plim_problem *problem); /* NULL is legal */

/* Bytes of all outputs of an op. */
int64_t plim_problem_bytes_written(const plim_problem *problem, int32_t op);

/* ==== choices ==== */

/* Fill in the choices of every op and `keep_all_ns`; a part of plim_problem_make. PLIM_EUSAGE: no variant of an op has
 * the numerics key given. O(variants^2) an op. */
PLIM_MUST_USE plim_status plim_choices_make(plim_problem *problem, const plim_plan_options *options);

/* ==== bound on bytes ==== */

/* Persistent bytes and the largest working set of one op, or one and the outputs of the graph that are there by its
 * last run: no plan of any class has a lower peak. *op is that op. O(graph). */
int64_t plim_bound_bytes(const plim_problem *problem, int32_t *op);
/* The same into a floor, with what of it are outputs of other ops. */
void plim_bound_floor(const plim_problem *problem, plim_plan_floor *floor);
/* Fill in `outputs_bound`; a part of plim_problem_make. O(graph + ops log ops). */
PLIM_MUST_USE plim_status plim_bound_outputs(plim_problem *problem);

/* The same for one given op, without its workspace. */
int64_t plim_bound_beside(const plim_problem *problem, int32_t op);

/* ==== schedule ==== */

/* A schedule: a sequence of runs. Each run is an op and the choice of its variant. An empty one is {.ctx = ctx}. */
typedef struct plim_schedule {
  plim_context *ctx;
  int32_t n, room; /* runs; runs that fit in the memory */
  int32_t *op;     /* [n] */
  int32_t *choice; /* [n] index among the choices of the op */
} plim_schedule;

PLIM_MUST_USE plim_status plim_schedule_reserve(plim_schedule *schedule, int32_t room);
PLIM_MUST_USE plim_status plim_schedule_add(plim_schedule *schedule, int32_t op, int32_t choice);
PLIM_MUST_USE plim_status plim_schedule_copy(plim_schedule *to, const plim_schedule *from);
void plim_schedule_free(plim_schedule *schedule);                         /* leaves it empty */
int plim_schedule_equals(const plim_schedule *a, const plim_schedule *b); /* the same runs in the same order */

/* Every op once in program order, each with its fastest choice. */
PLIM_MUST_USE plim_status plim_schedule_program_order(const plim_problem *problem, plim_schedule *out);

/* ==== timeline ==== */

/* The timeline of a schedule: lifetimes of all items, live bytes at each position, peak and time. Every
 * peak that a plan states comes from here. The searches use an incremental form (planner/profile/track.h). Tests
 * compare the two.
 *
 * A run of an item's producer begins a new *lifetime* of the item: that of the bytes it makes. Rules:
 *   - It ends after its last reader before the next lifetime; without a reader it ends after its own run.
 *   - That of an input begins at position 0.
 *   - The last one of an output of the graph ends with the schedule.
 *   - Where an op may write over an input and no later run reads those bytes, it does. The new lifetime is the
 *     *successor* of the old one: the old one ends one position earlier, and both share an offset. */

typedef struct plim_lifetime {
  int32_t item;
  int32_t begin, end; /* lifetime [begin, end) in positions */
  int32_t successor;  /* the lifetime whose bytes are written over these, at position `end`; -1: none */
  plim_pair pair;     /* operands of that op, where there is a successor */
} plim_lifetime;

typedef struct plim_timeline {
  const plim_problem *problem;
  int32_t n_runs, n_lifetimes;   /* runs of the schedule; lifetimes of all items */
  const plim_lifetime *lifetime; /* [n_lifetimes] by ascending begin */
  const int64_t *level;          /* [n_runs] live bytes at a position, with workspace and persistent bytes */
  int64_t peak_bytes;            /* largest level */
  int64_t time_ns;               /* sum over all runs */
  /* memory, kept from one evaluation to the next */
  plim_lifetime *own_lifetime; /* [room_lifetimes] */
  int64_t *own_level;          /* [room_runs] */
  int32_t *latest;             /* [n_items] newest lifetime of an item while the runs are walked; -1: none yet */
  int32_t *ran;                /* [n_ops] 1: the op has run */
  int32_t room_runs, room_lifetimes;
} plim_timeline;

/* A new timeline is empty. It can evaluate any number of schedules. */
PLIM_MUST_USE plim_status plim_timeline_new(const plim_problem *problem, plim_timeline **out);
void plim_timeline_free(plim_timeline *timeline); /* NULL is legal */

/* Evaluate a schedule. PLIM_EPLAN, with a sentence, when it is not valid: an op never runs, a run breaks the rules of
 * `preds` or `closed_by`, an effect op runs twice, or first runs leave program order where that is fixed.
 * O(runs x operands). */
PLIM_MUST_USE plim_status plim_timeline_evaluate(plim_timeline *timeline, const plim_schedule *schedule);

/* ==== variant selection ==== */

/* Variant selection: for a fixed sequence of ops, the fastest variants within a limit on the peak.
 *
 * A workspace is alive at one position only. So a choice changes live bytes at its own position alone, and every op can
 * be decided by itself. All runs of an op get variants of one numerics key. */

typedef struct plim_variant_selection {
  const plim_problem *problem;
  int32_t useful; /* 0: no op has a choice with less workspace than its fastest, so nothing can be gained */
  int32_t *first; /* [n_ops + 1] where the sums of an op begin in `key_sum` */
  struct plim_selection_key *key_sum; /* scratch: sums by op and numerics key */
} plim_variant_selection;

PLIM_MUST_USE plim_status plim_variant_selection_make(const plim_problem *problem, plim_variant_selection *out);
void plim_variant_selection_free(plim_variant_selection *selection); /* {0} is legal */

/* Least peak that the sequence of ops can have, by any choice of variants. The timeline is that of the schedule. */
int64_t plim_variant_selection_least(const plim_timeline *timeline, const plim_schedule *schedule);

/* Select variants for a limit on the peak. Returns 1 when a choice of the schedule changed. The timeline is that of
 * the schedule before the call.
 * Where live bytes beside the workspace are above the limit already, only the operands of the op count: a search may
 * still recompute the rest. Where no variant comes within the limit, the one that comes nearest is taken.
 * O(runs x choices^2). */
int plim_variant_selection_run(plim_variant_selection *selection, const plim_timeline *timeline,
                               plim_schedule *schedule, int64_t limit);

/* ==== placement ==== */

/* The offsets of all lifetimes and workspaces of a timeline. A lifetime and its successors share one box
 * (planner/pack/pack.h). Persistent storages lie below all boxes, in graph order. An empty placement is {.ctx = ctx}.
 */
typedef struct plim_placement {
  plim_context *ctx;
  int32_t n_boxes;
  int32_t *box_of_lifetime; /* [n_lifetimes] -1: no bytes */
  int32_t *box_of_run;      /* [n_runs] box of the run's workspace; -1: none */
  plim_box *box;            /* [n_boxes] lifetimes and sizes */
  int64_t *offset;          /* [n_boxes] bytes from the arena base */
  int64_t packed_bytes;     /* arena size: largest offset + size, persistent bytes included */
  int32_t room_boxes, room_lifetimes, room_runs;
} plim_placement;

/* Pack the lifetimes and workspaces of an evaluated timeline.
 *   target  in  arena size in bytes at which packing may stop; 0: as small as possible
 *   effort  in  rounds of packing, as for plim_pack; 0: first-fit once
 * The placement may be one of an earlier schedule; its memory is used again. Deterministic. */
PLIM_MUST_USE plim_status plim_place(plim_placement *placement, const plim_timeline *timeline,
                                     const plim_schedule *schedule, int64_t target, int32_t effort);

/* Take over offsets that a placement of the same schedule had.
 *   offset  [n_offsets] in  by box
 *   fits    [1] out         0: the schedule has another number of boxes, and the placement is of no use
 * Overlaps are not checked here; plim_plan_check finds them. */
PLIM_MUST_USE plim_status plim_place_at(plim_placement *placement, const plim_timeline *timeline,
                                        const plim_schedule *schedule, int32_t n_offsets, const int64_t *offset,
                                        int32_t *fits);
void plim_placement_free(plim_placement *placement); /* leaves it empty */

/* ==== plan document ==== */

/* What a plan document states beside the schedule. */
typedef struct plim_emission {
  const char *planner; /* name of the strategy */
  plim_plan_class plan_class;
  int64_t budget_bytes;
  int64_t bound_ns; /* proved lower bound on the time of a plan within the budget */
} plim_emission;

/* Write a schedule, its timeline and its placement (NULL: a plan without addresses) as a plan. The plan is not checked
 * here. O(runs + lifetimes). */
PLIM_MUST_USE plim_status plim_emit(const plim_timeline *timeline, const plim_schedule *schedule,
                                    const plim_placement *placement, const plim_emission *emission, plim_plan **out);

#endif
