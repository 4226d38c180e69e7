/* The program document: the plans that one run needs (training step, evaluation, other shapes) in one file, each with a
 * name. plim_program_check proves that they fit together. graph.h has the rules for every document. */
#ifndef PLIM_RUNTIME_GRAPH_PLANS_H
#define PLIM_RUNTIME_GRAPH_PLANS_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_PLANS_MAX = 64, PLIM_PLANS_NAME_BYTES = 32 };

typedef struct plim_plans {
  plim_context *ctx;
  int32_t n;
  char name[PLIM_PLANS_MAX][PLIM_PLANS_NAME_BYTES]; /* "train", "eval", ...; unique */
  plim_plan *plan[PLIM_PLANS_MAX];                  /* owned */
} plim_plans;

/* Write and read a program document, with the errors of plim_graph_save and plim_graph_load.
 *   name, plan  [n]  in
 * PLIM_EDATA also when there are no plans or too many, or a name is empty, too long or used twice. */
PLIM_MUST_USE plim_status plim_plans_save(plim_context *ctx, int32_t n, const char *const *name,
                                          const plim_plan *const *plan, const char *path);
PLIM_MUST_USE plim_status plim_plans_load(plim_context *ctx, const char *path, plim_plans **out);
void plim_plans_free(plim_plans *plans); /* NULL is legal */

/* The plan of that name, NULL when there is none. */
const plim_plan *plim_plans_find(const plim_plans *plans, const char *name);

#ifdef __cplusplus
}
#endif
#endif
