/* What a budget that is too small gets: the smallest one that works, what is proven, and the largest batch. */
#ifndef PLIM_TOOLS_PLIMSOLL_REFUSAL_TEXT_H
#define PLIM_TOOLS_PLIMSOLL_REFUSAL_TEXT_H

#include <jansson.h>

#include "planner/planner.h"
#include "runtime/program/program_source.h"
#include "tools/plimsoll/figures.h"

struct session;

typedef struct refusal {
  int64_t budget_bytes, smallest_bytes, bound_bytes;
  int32_t largest_batch;       /* found to fit; 0: not even one image does; -1: not looked for */
  int64_t smallest_auto_bytes; /* where the numerics were fixed: the smallest budget with any; else 0 */
  int64_t online_bytes;        /* into which the online policy fits; 0: not asked for, -1: none was found */
} refusal;

/* Fill s->refusal and return PLIM_ENOFIT with the sentence; another status when the search itself failed. The budget is
 * that of the session's planning, of the given ones; `known` is what planning knows of it, NULL: nothing. One sentence
 * for both: a graph only has no batch to change. */
plim_status refusal_explain(struct session *s);
plim_status refusal_explain_graph(struct session *s, const plim_graph *graph, const plim_profile *profile,
                                  const plim_plan_options *wanted, const plim_plan_floor *known);

/* The session's preparation failed with PLIM_ENOFIT: the sentence of its stage, with --memory-at or --vram where they
 * set the budget. */
plim_status refusal_explain_preparation(struct session *s);

/* The device had no room for a program's arena, as the context says: the same with what to do about it. */
plim_status refusal_explain_room(const struct session *s, const plim_program *program);

/* Add to the context's sentence into how much the policy of --online fits: s->refusal.online_bytes. PLIM_ENOFIT. */
plim_status refusal_add_policy(struct session *s);

/* The same as figures, for results that are printed all the same. */
void refusal_figures(figures *f, int column, const refusal *r);

void refusal_json(const refusal *r, json_t *object);

#endif
