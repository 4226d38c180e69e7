/* A run in one arena, as plimsoll trace looks at it: a plan with its graph, indexed; the times that were measured, if
 * there are any; and the decision log of an online run.
 *
 * Files: trace_run.c (what is read of it), trace_views.c (text), trace_json.c (objects), trace_panes.c (the arena
 * as letters), trace_compare.c (beside another run), trace_export.c (a file for others). */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_RUN_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_RUN_H

#include <jansson.h>
#include <stdio.h>

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

/* ==== the arena as letters ==== */

/* The arena at a command as a row of letters, and the windows of a decision as a row of brackets below it. */

/* '.' free; p param, s state or staged batch, i input, a activation, g gradient, o output, w workspace; a capital where
 * the command reads or writes it. Of the storages in a cell the largest there is shown, operands before others.
 *   cell  [columns]  out */
plim_status trace_strip(const traced *t, int32_t command, int32_t columns, char *cell);

/* '[' '=' ']' what was taken, '(' '-' ')' the runner-up, a blank elsewhere. */
void trace_strip_windows(const traced *t, const plim_decision_reasons *why, int32_t columns, char *cell);

/* Bytes that the row stands for. */
int64_t trace_strip_bytes(const traced *t);

/* Letter of a storage of the graph, -1: workspace. */
char trace_strip_letter(const traced *t, int32_t storage);

/* What the letters mean, in one line. */
extern const char trace_strip_legend[];

/* Addresses over time: a grid whose columns are commands and whose rows are ranges of the arena, the highest first. */

/* Letters as of trace_strip: what lies at the middle of each row's range at the first command of each column.
 *   cell  [rows * columns]  out  row by row */
void trace_map(const traced *t, int32_t rows, int32_t columns, char *cell);

/* The column that shows a command. */
int32_t trace_map_column(const traced *t, int32_t columns, int32_t command);

/* The address in the middle of a row; the buffer that holds it at a command, -1: it is free. */
int64_t trace_map_address(const traced *t, int32_t rows, int32_t row);
int32_t trace_map_buffer(const traced *t, int32_t command, int64_t address);

/* The map as text, the command's column marked. */
plim_status trace_map_print(const traced *t, int32_t command, FILE *to);

/* ==== answers ==== */

/* ---- as text ---- */

/* One command: the op, times, live bytes, the arena as a strip, what begins and ends. */
plim_status trace_view_command(const traced *t, int32_t command, FILE *to);

/* What is resident at a command, by address, with the next use of each. */
plim_status trace_view_residents(const traced *t, int32_t command, FILE *to);

/* What a planned run drops after a command and recomputes later, with the reason for each; nothing: there is none. */
plim_status trace_view_drops(const traced *t, int32_t command, FILE *to);

/* What is absent at a command and comes back, with the reason for each. */
plim_status trace_view_absences(const traced *t, int32_t command, FILE *to);

/* Why: the room that was made before a command and what is recomputed for whom; of a planned run what is absent. */
plim_status trace_view_reasons(const traced *t, int32_t command, FILE *to);

/* The history of a tensor: its buffers, its uses, why it was absent between. PLIM_EUSAGE, with the nearest name, when
 * there is none of that name. */
plim_status trace_view_tensor(const traced *t, const char *name, FILE *to);

/* The run as a whole: bytes, times, the repeats that cost most. */
plim_status trace_view_summary(const traced *t, int as_json, FILE *to);

/* ---- as objects: every figure of the text (docs/formats.md) ---- */

/* One command: times, bytes, what begins, ends and is evicted, residents, absences, decisions, and the tree. */
plim_status trace_json_command(const traced *t, int32_t command, FILE *to);

/* The history of a tensor. PLIM_EUSAGE, with the nearest name, when there is none of that name. */
plim_status trace_json_tensor(const traced *t, const char *name, FILE *to);

/* Print and free. */
void trace_json_print(json_t *object, FILE *to);

/* ---- beside another run ---- */

/* Where two runs part: the first command at which the other runs another op or variant; the first at which something
 * buffers elsewhere or for another time. The length of the shorter run when there is none before; -1: they are
 * equal. */
typedef struct trace_parting {
  int32_t run, place;
} trace_parting;

/* PLIM_EDATA when the other run is of another graph. */
plim_status trace_divergence(const traced *a, const traced *b, trace_parting *out);

/* Where to look: at the first other op, else at the first other place; -1: the runs are equal, or `a` ends before. */
int32_t trace_parting_command(const traced *a, const trace_parting *parting);

/* What the other run has there, in words. */
void trace_parting_say(const traced *a, const traced *b, const trace_parting *parting, char *text, size_t size);

/* Where two runs of one graph part ways, and what each runs again. PLIM_EDATA when the graphs differ. *same is 1 when
 * they are equal command by command and address by address. */
plim_status trace_diff(const traced *a, const traced *b, int as_json, FILE *to, int *same);

/* What would have come of another policy or another budget. The commands before `command` stay as they were. From
 * there on an online policy (NULL: best) decides within `memory`: "96MiB", or "80%" of this run's arena; NULL: all of
 * it. Prints both runs beside each other, with where they end that find no way on. PLIM_EUSAGE when there is no such
 * policy or size. */
plim_status trace_what_if(const traced *t, int32_t command, const char *policy, const char *memory, int as_json,
                          FILE *to);

/* ---- as a file ---- */

/* For Chrome's trace viewer and Perfetto: every row of the trace, or every command of a plan alone as it was planned,
 * as an event of a compute track. Repeats have a category of their own. Live bytes are a counter. The file is replaced
 * whole. */
plim_status trace_export(const traced *t, const char *path);

/* One HTML file that needs nothing else: addresses over commands, with hover, click and keys. The file is replaced
 * whole. It has the reasons of the first 500 online decisions. */
plim_status trace_html(const traced *t, const char *path);

#endif
