/* Reading a plan: what is resident at a step and where, when it is next used, and why a storage is absent. Works on
 * graph and plan alone; nothing is stored for it while planning or running. A step here is a command of the plan. An
 * index is only read after plim_inspect_new; the functions that return no status are safe from any thread.
 *
 * A storage is *absent* from the end of one of its buffers to the begin of the next. */
#ifndef PLIM_RUNTIME_INSPECT_INSPECT_H
#define PLIM_RUNTIME_INSPECT_INSPECT_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_inspect plim_inspect;

/* Index a checked plan (plim_plan_check). Graph and plan must outlive it. PLIM_EDATA when the plan is of another graph.
 * O(steps x operands + buffers log buffers). */
PLIM_MUST_USE plim_status plim_inspect_new(const plim_graph *graph, const plim_plan *plan, plim_inspect **out);
void plim_inspect_free(plim_inspect *inspect); /* NULL is legal */

/* Sum of live bytes during a step, 0 <= step < n_steps. */
int64_t plim_inspect_live_bytes(const plim_inspect *inspect, int32_t step);

/* 1 when the step runs its op again. */
int plim_inspect_is_repeat(const plim_inspect *inspect, int32_t step);

/* Name of a storage: that of its first value; "workspace" for -1. */
const char *plim_inspect_name(const plim_inspect *inspect, int32_t storage);

/* The first step at or after `step` that reads the storage; -1: none. */
int32_t plim_inspect_next_use(const plim_inspect *inspect, int32_t storage, int32_t step);

typedef struct plim_resident {
  int32_t buffer;   /* of the plan */
  int32_t storage;  /* -1: the step's workspace */
  int32_t next_use; /* first step from this one on that reads it, before its lifetime ends; -1: none */
} plim_resident;

/* The buffers that contain a step, by offset; returns how many there are, writes at most `capacity`. */
int32_t plim_inspect_residents(const plim_inspect *inspect, int32_t step, plim_resident *out, int32_t capacity);

typedef enum plim_absence_kind {
  PLIM_ABSENT_NOT,     /* resident at that step */
  PLIM_ABSENT_UNMADE,  /* its op has not run yet */
  PLIM_ABSENT_DONE,    /* nothing reads it again */
  PLIM_ABSENT_DROPPED, /* recomputed later */
} plim_absence_kind;

/* What would break, had a storage stayed where it is absent and everything else been as planned. */
typedef enum plim_break {
  PLIM_BREAKS_NOTHING,   /* some range of the arena is free for it all that time */
  PLIM_BREAKS_LOAD,      /* its bytes and all live bytes would exceed the budget */
  PLIM_BREAKS_ADDRESSES, /* they would not, but no range of the arena stays free for it (packed plans) */
} plim_break;

/* Why a storage is absent; steps are -1 where they have no meaning. */
typedef struct plim_absence {
  plim_absence_kind kind;
  int32_t gone, back; /* absent in [gone, back) */
  /* DROPPED: */
  plim_break breaks;
  /* LOAD: the first step at which live bytes would exceed the budget, and by how much there. ADDRESSES: the first up to
   * which no range within the budget has stayed free, and how far beyond the budget the lowest range ends that is free
   * in all of [gone, back). */
  int32_t full_step;
  int64_t over_bytes;
  /* ADDRESSES: the lowest range that is free up to full_step, -1: none is free at `gone`; the storage, -1 for the
   * workspace, that takes of it then */
  int64_t free_offset;
  int32_t taker;
  /* what recomputing it costs: its run at `back`, and the repeats that are there for it alone */
  int64_t again_ns;
  int32_t again_runs, again_depth; /* depth 1: its inputs were resident */
  int32_t along;                   /* another storage that this run makes and that is read from then on; -1: none */
  /* The cheapest alternative: the storage resident at full_step, not used there, that frees enough (LOAD), or resident
   * from `gone` on, not read up to full_step, without which a range would be free up to there (ADDRESSES); whose op may
   * run again in time for its next read and takes the least. -1: none */
  int32_t instead;
  int64_t instead_ns, instead_bytes;
} plim_absence;

/* Explain. Deterministic; O(steps x operands + buffers). */
PLIM_MUST_USE plim_status plim_inspect_absence(const plim_inspect *inspect, int32_t storage, int32_t step,
                                               plim_absence *out);

#ifdef __cplusplus
}
#endif
#endif
