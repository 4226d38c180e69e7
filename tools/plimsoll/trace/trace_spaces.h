/* A run over spaces, as plimsoll trace looks at it: a plan over spaces, a program's plan that pages, or the trace of
 * one.
 *
 * Files: trace_spaces_view.c (words, text and objects), trace_spaces_export.c (a file for others),
 * trace_spaces_screen.c (on a terminal). */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_SPACES_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_SPACES_H

#include <stdio.h>

#include "runtime/simulate/inspected_spaces.h"

typedef plim_inspected_spaces traced_spaces; /* the short name of it in this folder */

/* ==== words ==== */

enum { SPACE_WORDS = 512 };

/* Are the plan's times in the unit of the graph's file, which no one names? They are where the graph gives times for a
 * device of the plan; elsewhere they are nanoseconds. */
int space_has_own_times(const plim_graph *graph, const plim_space_plan *plan);

/* A time with its unit, "345.531 us", or as a number, "345,531"; to text [HUMAN_BYTES], which it returns. */
const char *space_time_words(const plim_graph *graph, const plim_space_plan *plan, int64_t time, char *text);

/* Each writes to text [SPACE_WORDS] and returns it. */

/* "run conv1", "copy conv1", "copy conv1 and 2 more". */
const char *space_command_words(const plim_graph *graph, const plim_space_plan *plan, int32_t c, char *text);

/* The op that writes a storage; of an op that writes several, and of a storage that no op writes, the first tensor;
 * "workspace" for PLIM_WORKSPACE. */
const char *space_storage_words(const plim_graph *graph, int32_t storage, char *text);

/* Why: the bytes that were missing, what a recompute would have cost, what the link had free, and the next use. */
const char *space_reason_words(const plim_space_inspect *inspect, const plim_space_gap *gap, const plim_space_why *why,
                               char *text);

/* Writes the link of a transfer to words [SPACE_WORDS], as "cpu>host", and returns it. */
const char *space_link_words(const plim_space_plan *plan, const plim_transfer *transfer, char *words);

/* ==== answers ==== */

/* ---- as text ---- */
plim_status trace_spaces_summary(const traced_spaces *t, FILE *to);
plim_status trace_spaces_step(const traced_spaces *t, int32_t c, FILE *to);
/* PLIM_EUSAGE: no op or tensor has that name. */
plim_status trace_spaces_storage(const traced_spaces *t, const char *name, FILE *to);

/* ---- as objects ---- */
plim_status trace_spaces_step_json(const traced_spaces *t, int32_t c, FILE *to);
plim_status trace_spaces_storage_json(const traced_spaces *t, const char *name, FILE *to);

/* ---- as a file ---- */

/* By the ending of the path: .json events, .svg a picture, .html a page. */
plim_status trace_spaces_export(const traced_spaces *t, const char *path);

/* Write the picture of a plan; of a program's plan that pages or is placed. */
plim_status trace_spaces_save_picture(const plim_graph *graph, const plim_space_plan *plan, const char *path);
plim_status trace_paged_save_picture(const plim_graph *graph, const plim_plan *plan, const char *path);

#endif
