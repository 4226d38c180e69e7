/* What plimsoll trace looks at: a plan with its graph, indexed; the times that were measured, if there are any; and the
 * decision log of an online run. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_SESSION_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_SESSION_H

#include "runtime/inspect/decision_log.h"
#include "runtime/simulate/ideal_memory.h"
#include "runtime/simulate/inspected_run.h"

typedef plim_inspected_run traced; /* the short name of it in this folder */

/* An address as text, "-" in a plan that has none. */
enum { TRACED_ADDRESS_BYTES = 24 };
const char *traced_address(int64_t address, char text[TRACED_ADDRESS_BYTES]);

/* Name of the op of a command, planned time. */
const char *traced_op_name(const traced *t, int32_t command);
int64_t traced_planned_ns(const traced *t, int32_t command);

/* Sum of the medians; 0 without any. */
int64_t traced_measured_ns(const traced *t);

/* Name of an op, "the end of the step" for -1. */
const char *traced_op(const traced *t, int32_t op);

/* Time of the plan before a command, and how much of it was spent on running ops again. */
int64_t traced_clock_ns(const traced *t, int32_t command, int64_t *again_ns);

/* The decisions of the online run before a command: the first, and how many there are. */
int32_t traced_choices(const traced *t, int32_t command, const plim_decision **out, int32_t *first);

/* How the online run ended; of others ok. Did it end badly at this command, its last? In what words? */
plim_online_end traced_end(const traced *t);
int traced_fails_at(const traced *t, int32_t command);
const char *traced_end_title(const traced *t);

/* PLIM_EUSAGE, with the nearest name, when no tensor has that name. */
plim_status traced_find_tensor(const traced *t, const char *name, int32_t *value);

/* The decision that evicted a storage which is absent; NULL: none, it was dropped or written over. */
const plim_decision *traced_eviction(const traced *t, int32_t storage, const plim_absence *absence);

/* The command that asked for the repeat at `command`, and the first repeat that it asked for. Without a decision log,
 * and where `command` is no repeat, both are `command`. */
int32_t traced_tree(const traced *t, int32_t command, int32_t *begin);

/* Another policy from a command on within so many bytes (plim_arena_what_if). */
plim_status traced_what_if(const traced *t, const plim_policy *policy, int32_t command, int64_t bytes,
                           plim_replay_counts *counts, plim_plan **out);

#endif
