/* The planner's data: a problem, its schedules, their evaluation (timeline), their addresses (placement), and the plan
 * that is written from them. */
#ifndef PLIM_PLANNER_CORE_CORE_H
#define PLIM_PLANNER_CORE_CORE_H

#include "planner/pack/pack.h"
#include "planner/planner.h"

/* ==== problem ==== */

/* The planning problem: graph, profile and options boiled down to what a search touches a million times.
 *
 * An *item* is a storage that comes and goes: written by an op, or an input that is read. Persistent storages (param,
 * state, staging) are one constant. A *choice* is a variant that may be used: per op the fastest first, dominated ones
 * and those whose numerics key the options forbid left out.
 *
 * Rules of a step graph as lists of ops. A run of v, first or repeat, comes after the first run of each op of
 * `preds` (producers of what it reads, updates it must see) and before each op of `closed_by` (updates it must
 * not see). Seen from the other end: `succs` are the ops that list v in `preds`, `closes` those that list v in
 * `closed_by`. */

typedef struct plim_choice {
  int64_t time_ns, workspace_bytes; /* workspace rounded */
  int32_t label;                    /* equal within one op: equal numerics keys */
  int32_t variant;                  /* index among the op's rows of the profile */
} plim_choice;

/* The output may be written over the input item (never one that is kept to the end). */
typedef struct plim_overwrite {
  int32_t in;        /* item */
  int32_t out_index; /* of the output among the op's writes */
  plim_pair pair;    /* operand positions */
} plim_overwrite;

typedef struct plim_list {
  int32_t n;
  const int32_t *at; /* [n] */
} plim_list;

typedef struct plim_planned_op {
  plim_list reads, writes;                   /* items, without repeats */
  plim_list preds, closed_by, succs, closes; /* ops, without repeats */
  int32_t once;                              /* 1: an effect op */
  int32_t n_overwrites, n_choices;
  const plim_overwrite *overwrite;
  const plim_choice *choice; /* choice[0]: the fastest, by the 3 % rule */
} plim_planned_op;

typedef struct plim_item {
  int64_t bytes; /* rounded */
  int32_t storage;
  int32_t producer;    /* op, -1 for an input */
  int32_t write_index; /* among the producer's writes */
  int32_t kept;        /* 1: an output, its last copy is alive to the end */
  plim_list readers;
} plim_item;

/* With more ops a graph is long: annealers hardly change it in the usual moves, and a look at all its cuts takes
 * seconds. */
enum { PLIM_LONG_OPS = 3000 };

typedef struct plim_problem {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_profile *profile;
  int32_t n_ops, n_items;
  plim_plan_class plan_class; /* of what is searched */
  int32_t fixed_order;        /* 1: first runs stay in program order: every class but FREE */
  int64_t align;              /* 512; 1 when nothing is packed */
  int64_t persistent_bytes;
  int64_t keep_all_ns;       /* every op once, fastest variant of any label */
  const plim_planned_op *op; /* [n_ops] */
  const plim_item *item;     /* [n_items] */
  /* owned */
  plim_planned_op *own_op;
  plim_item *own_item;
  plim_overwrite *overwrite;
  plim_choice *choice;
  int32_t *pool;
  int64_t n_overwrites, n_choices, n_pool, room_pool;
  int32_t fixed_numerics; /* 1: the options say which labels */
} plim_problem;

/* Make the problem. The graph and profile must outlive it. PLIM_EUSAGE for a label that no variant has,
 * PLIM_EOVERFLOW when bytes or times do not fit in 62 bits. O(graph). */
PLIM_MUST_USE plim_status plim_problem_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, plim_plan_class plan_class,
                                            plim_problem **out);
void plim_problem_free(plim_problem *problem); /* NULL is legal */

/* ==== choices ==== */

/* Which variants a plan may use: label rules, the 3 % rule, dominated ones left out. */

/* Fill the choices of every op and keep_all_ns. PLIM_EUSAGE for a given label that no variant of the op has. */
PLIM_MUST_USE plim_status plim_choices_make(plim_problem *problem, const plim_plan_options *options);

/* ==== bound ==== */

/* Lower bounds that hold for every plan of any class. */

/* Bytes that no plan can do without: the largest working set of one op, and the op. O(graph). */
int64_t plim_bound_bytes(const plim_problem *problem, int32_t *op);

/* The same for one op, its workspace left out. */
int64_t plim_bound_beside(const plim_problem *problem, int32_t op);

/* ==== schedule ==== */

/* A schedule: the sequence of runs, each an op and the choice of its variant. Repeats are allowed. */

typedef struct plim_schedule {
  plim_context *ctx;
  int32_t n, room;
  int32_t *op, *choice; /* [n] */
} plim_schedule;

/* An empty schedule is {.ctx = ctx}. */
PLIM_MUST_USE plim_status plim_schedule_reserve(plim_schedule *schedule, int32_t room);
PLIM_MUST_USE plim_status plim_schedule_add(plim_schedule *schedule, int32_t op, int32_t choice);
PLIM_MUST_USE plim_status plim_schedule_copy(plim_schedule *to, const plim_schedule *from);
void plim_schedule_free(plim_schedule *schedule);                         /* leaves it empty */
int plim_schedule_equals(const plim_schedule *a, const plim_schedule *b); /* the same runs in the same order */

/* Every op once in program order with its fastest choice. */
PLIM_MUST_USE plim_status plim_schedule_program_order(const plim_problem *problem, plim_schedule *out);

/* ==== timeline ==== */

/* The timeline of a schedule: which copy of which item is alive when, and what that adds up to. This is the only
 * calculation of a peak; the incremental form (track.h) keeps the same figures and is tested against it.
 *
 * A copy is made by a run of its item's producer and lives to its last reader before the next copy; a copy nothing
 * reads lives for its own step. Inputs live from step 0 to their last reader. The last copy of an output is alive to
 * the end. Where an op may write over an input whose copy has its last reader there, it does: the successor takes its
 * place.
 */

typedef struct plim_copy {
  int32_t item;
  int32_t begin, end; /* half-open, in steps */
  int32_t successor;  /* the copy that is written over this one at `end`, -1: none */
  plim_pair pair;     /* operand positions of that, at the successor's op */
} plim_copy;

typedef struct plim_timeline {
  const plim_problem *problem;
  int32_t n_steps, n_copies;
  const plim_copy *copy; /* [n_copies], by begin */
  const int64_t *level;  /* [n_steps] bytes alive at a step, persistent ones included */
  int64_t peak_bytes;    /* largest level */
  int64_t time_ns;       /* of all runs */
  plim_copy *own_copy;
  int64_t *own_level;
  int32_t *latest, *ran;
  int32_t room_steps, room_copies;
} plim_timeline;

/* A timeline is made empty and then evaluated any number of times. */
PLIM_MUST_USE plim_status plim_timeline_new(const plim_problem *problem, plim_timeline **out);
void plim_timeline_free(plim_timeline *timeline); /* NULL is legal */

/* Evaluate. PLIM_EPLAN, with a sentence, when the schedule is not valid: an op that never runs, a run before what it
 * reads, on the wrong side of an update, a second run of an effect op, first runs out of program order where that is
 * fixed. O(runs x operands). */
PLIM_MUST_USE plim_status plim_timeline_evaluate(plim_timeline *timeline, const plim_schedule *schedule);

/* ==== variant selection ==== */

/* Variant selection for a fixed schedule: each op gets the fastest variant that keeps its runs within a limit.
 *
 * A workspace is alive for its own step, so no choice changes what is alive at another one, and the best choices of all
 * ops are found one op at a time. */

typedef struct plim_variant_selection {
  const plim_problem *problem;
  int32_t useful; /* 0: no op has a second choice with a workspace of another size */
  int32_t *first; /* [n_ops + 1] an op's choices in `label` */
  struct plim_selection_key *label;
} plim_variant_selection;

PLIM_MUST_USE plim_status plim_variant_selection_make(const plim_problem *problem, plim_variant_selection *out);
void plim_variant_selection_free(plim_variant_selection *selection); /* {0} is legal */

/* Least peak that the sequence can have by any choice of variants. The timeline is that of the schedule. */
int64_t plim_variant_selection_least(const plim_timeline *timeline, const plim_schedule *schedule);

/* Select again for the limit; returns 1 when a choice changed. Where the bytes alive beside a workspace exceed the
 * limit already, only the operands of its op count, since the rest may be recomputed. Where no choice comes within the
 * limit, the one that comes nearest is taken. Runs of an op share a numerics key. O(runs x choices). */
int plim_variant_selection_run(plim_variant_selection *selection, const plim_timeline *timeline,
                               plim_schedule *schedule, int64_t limit);

/* ==== place ==== */

/* Places in the arena for the copies and workspaces of a timeline. A chain of copies written over each other is one
 * box. Persistent storages lie below all boxes. */

typedef struct plim_placement {
  plim_context *ctx;
  int32_t n_boxes;
  int32_t *box_of_copy; /* [n_copies]; -1: no bytes */
  int32_t *box_of_step; /* [n_steps] the workspace; -1: none */
  plim_box *box;
  int64_t *offset;      /* [n_boxes] from the arena base */
  int64_t packed_bytes; /* of the arena, persistent bytes included */
  int32_t room_boxes, room_copies, room_steps;
} plim_placement;

/* Pack the boxes of an evaluated timeline; an empty placement is {.ctx = ctx}, its rooms are used again. `target` is
 * the packed size of the arena that is good enough, `effort` as for plim_pack. Deterministic. */
PLIM_MUST_USE plim_status plim_place(plim_placement *placement, const plim_timeline *timeline,
                                     const plim_schedule *schedule, int64_t target, int32_t effort);
/* Put the boxes at offsets [n_offsets] that a placement of the same schedule had. *fits is 0, and the placement of no
 * use, when their number is another. Overlaps are not looked for. */
PLIM_MUST_USE plim_status plim_place_at(plim_placement *placement, const plim_timeline *timeline,
                                        const plim_schedule *schedule, int32_t n_offsets, const int64_t *offset,
                                        int32_t *fits);
void plim_placement_free(plim_placement *placement);

/* ==== emit ==== */

/* A schedule, its timeline and its places as a plan document. */

typedef struct plim_emission {
  const char *planner;
  plim_plan_class plan_class;
  int64_t budget_bytes, bound_ns;
} plim_emission;

/* `placement` NULL: a plan without addresses. The plan is not checked here. */
PLIM_MUST_USE plim_status plim_emit(const plim_timeline *timeline, const plim_schedule *schedule,
                                    const plim_placement *placement, const plim_emission *emission, plim_plan **out);

#endif
