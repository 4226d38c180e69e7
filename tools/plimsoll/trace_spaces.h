/* plimsoll trace on a plan over spaces: the same actions, or a sentence that says why not. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_SPACES_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_SPACES_H

#include <stdio.h>

#include "runtime/inspect/space_inspect.h"
#include "tools/plimsoll/session.h"

typedef struct traced_spaces {
  plim_context *ctx;
  plim_graph *graph;
  plim_space_plan *plan;
  plim_space_inspect in;
  plim_space_gap *gap; /* [n_gaps] by `until` */
  int32_t n_gaps;
} traced_spaces;

/* Do the action `name` on the plan over spaces at `path`. *is 0: the file is no plan over spaces, and nothing was done.
 */
plim_status trace_spaces(session *s, const char *name, const char *path, int *is);

/* ---- views: text ---- */
plim_status trace_spaces_summary(const traced_spaces *t, FILE *to);
plim_status trace_spaces_step(const traced_spaces *t, int32_t c, FILE *to);
plim_status trace_spaces_storage(const traced_spaces *t, const char *name, FILE *to);
/* Storages whose names these are, -1: none. */
int32_t trace_spaces_find(const traced_spaces *t, const char *name);

/* ---- views: JSON on `to` ---- */
plim_status trace_spaces_step_json(const traced_spaces *t, int32_t c, FILE *to);
plim_status trace_spaces_storage_json(const traced_spaces *t, const char *name, FILE *to);

/* ---- by hand ---- */

/* A key and where it leads from command c: *to -1 where there is none. 0: no such key. */
int trace_spaces_jump(const traced_spaces *t, char key, int32_t c, int32_t *to);
/* What the keys do, a line each. */
void trace_spaces_keys(FILE *to);
plim_status trace_spaces_screen(const traced_spaces *t, int *shown);

/* ---- pictures ---- */

/* By the ending of the path: .json events, .svg a picture, .html a page. */
plim_status trace_spaces_export(const traced_spaces *t, const char *path);

#endif
