/* Buffers as CSV files, and those of a plan. */
#ifndef PLIM_PLANNER_PACK_BUFFERS_CSV_H
#define PLIM_PLANNER_PACK_BUFFERS_CSV_H

#include "planner/pack/pack.h"
#include "runtime/base/text.h"
#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ==== csv (csv.c) ==== */

/* Buffers to pack as a CSV file, in the dialect of MiniMalloc (docs/formats.md). */

typedef struct plim_buffer_list {
  plim_context *ctx;
  int32_t n;
  char **id; /* [n] distinct, in `chars` */
  plim_box *box;
  int64_t *align, *hint; /* [n] 1 and -1 where the file says nothing */
  int32_t *gap_first;    /* [n + 1] */
  plim_pack_gap *gap;
  char *chars;
  int64_t n_chars, buffer_capacity, gap_capacity;
  int32_t n_gaps;
} plim_buffer_list;

/* Read a text. PLIM_EDATA with the line: broken rows, columns missing or twice, ids twice, a lifetime that ends before
 * it begins, numbers out of range, fixed offsets that overlap (both are named). Sizes and alignments add up to less
 * than 2^62. O(bytes + n log n). */
PLIM_MUST_USE plim_status plim_buffer_list_parse(plim_context *ctx, const char *name, const char *text, int64_t bytes,
                                                 plim_buffer_list **out);
PLIM_MUST_USE plim_status plim_buffer_list_load(plim_context *ctx, const char *path, plim_buffer_list **out);
void plim_buffer_list_free(plim_buffer_list *list); /* NULL is legal */

/* Write with the offsets as last column; offset NULL: the fixed ones, where there are any. */
void plim_buffer_list_write(plim_text *text, const plim_buffer_list *list, const int64_t *offset);

/* The same buffers for the packers: every offset is a multiple of `align`. */
plim_boxes plim_buffer_list_boxes(const plim_buffer_list *list, int64_t align);

/* ==== plan buffers (plan_buffers.c) ==== */

/* The buffers of a plan, to be packed on their own. */

/* What a plan holds in memory, without its addresses: persistent storages, copies, workspaces, named VALUE@BEGIN and
 * OP workspace@BEGIN; commas of names become underscores. Copies written over each other are one
 * buffer, named after the first. PLIM_EDATA when the plan is another graph's; the plan is not checked further. O(n). */
PLIM_MUST_USE plim_status plim_buffer_list_of_plan(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                                   plim_buffer_list **out);

#ifdef __cplusplus
}
#endif
#endif
