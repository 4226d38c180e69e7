/* A graph in which paging is a part of the program: storages that page have an op "page out" and an op "page in".
 *
 * A storage s that pages is split in two. Its early readers read s. An op out:s after the last of them reads s and
 * writes a mark without bytes. An op in:s before the first late reader reads the mark and writes s', which late readers
 * read. A storage may be split at several readers: it is paged out once, and paged in for each part.
 * Nothing keeps s while it is paged out, and a planner for one arena decides when to page in, or to recompute s
 * and page in again. What it plans is a plan with copies (plim_page_lower). */
#ifndef PLIM_PLANNER_PAGING_PAGE_GRAPH_H
#define PLIM_PLANNER_PAGING_PAGE_GRAPH_H

#include "planner/planner.h"

/* A storage that pages, and the part of its readers that read what is paged in. */
typedef struct plim_page_choice {
  int32_t storage;       /* written by an op; not persistent, no output; bytes > 0 */
  int32_t late;          /* a reader: the part begins with it, and ends before the storage's next choice */
  int64_t out_ns, in_ns; /* of its copies */
} plim_page_choice;

typedef struct plim_page_graph {
  plim_context *ctx;
  const plim_graph *graph; /* without paging */
  plim_graph *paged;       /* with it: tensors have the ids of `graph`, those of paging follow */
  plim_profile *profile;   /* of `paged` */
  int32_t n;
  plim_page_choice *choice; /* [n] */
  int32_t *first;           /* [n] first choice of the same storage: the one that pages out */
  int32_t *op;              /* [paged->n_ops] op of `graph`, -1: of paging */
  int32_t *copies;          /* [paged->n_ops] out: its choice; in: n + its choice; -1: an op of `graph` */
  int32_t *storage;         /* [paged->n_storages] storage of `graph`; -1: a mark */
} plim_page_graph;

/* Make the graph with paging.
 *   choice     [n] in   copied; sorted by storage, then late
 *   delay_ns  [2n] in  time of the ops out (first n) and in of each choice: what a copy costs the runs beside it
 * PLIM_EUSAGE: a choice that is not allowed. O(graph + choices x (ops + values)). */
PLIM_MUST_USE plim_status plim_page_graph_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                               int32_t n, const plim_page_choice *choice, const int64_t *delay_ns,
                                               plim_page_graph **out);
void plim_page_graph_free(plim_page_graph *paged); /* NULL is legal */

#endif
