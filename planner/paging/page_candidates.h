/* Pauses of storages in keep-all's plan, and which of them page. */
#ifndef PLIM_PLANNER_PAGING_PAGE_CANDIDATES_H
#define PLIM_PLANNER_PAGING_PAGE_CANDIDATES_H

#include "planner/paging/page_graph.h"

typedef struct plim_page_candidates plim_page_candidates;

/* Find the pauses. The candidates borrow graph, paging and keep_all. O(graph x pauses of a storage). */
PLIM_MUST_USE plim_status plim_page_candidates_make(plim_context *ctx, const plim_graph *graph,
                                                    const plim_paging *paging, const plim_plan *keep_all,
                                                    plim_page_candidates **out);
void plim_page_candidates_free(plim_page_candidates *candidates); /* NULL is legal */
int32_t plim_page_candidates_count(const plim_page_candidates *candidates);

/* Take more pauses, until no command has more than `target` live bytes. *taken out: how many more. Returns 0 where no
 * pause is left that relieves a command, or the time is over. */
int plim_page_candidates_cover(plim_page_candidates *candidates, int64_t target, int32_t *taken);

/* The pauses taken so far, as plim_page_graph_make reads them. Valid until the next call. */
int32_t plim_page_candidates_taken(const plim_page_candidates *candidates, const plim_page_choice **choice,
                                   const int64_t **delay_ns);

#endif
