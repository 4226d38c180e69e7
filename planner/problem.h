/* The planning problem: graph, profile and options boiled down to what a search touches a million times.
 *
 * An *item* is a storage that comes and goes: written by an op, or an input that is read. Persistent storages (param,
 * state, staging) are one constant. A *choice* is a variant that may be used: per op the fastest first, dominated ones
 * and those whose numerics key the options forbid left out.
 *
 * Rules of a step graph as lists of ops. A run of v, first or repeat, comes after the first run of each op of
 * `after` (producers of what it reads, updates it must see) and before each op of `until` (updates it must not
 * see). Seen from the other end: `before` are the ops that list v in `after`, `closes` those that list v in `until`. */
#ifndef PLIM_PLANNER_PROBLEM_H
#define PLIM_PLANNER_PROBLEM_H

#include "planner/planner.h"

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
  plim_list reads, writes;                /* items, without repeats */
  plim_list after, until, before, closes; /* ops, without repeats */
  int32_t once;                           /* 1: an effect op */
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

/* Boil down. The graph and profile must outlive the problem. PLIM_EUSAGE for a label that no variant has,
 * PLIM_EOVERFLOW when bytes or times do not fit in 62 bits. O(graph). */
PLIM_MUST_USE plim_status plim_problem_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, plim_plan_class plan_class,
                                            plim_problem **out);
void plim_problem_free(plim_problem *problem); /* NULL is legal */

#endif
