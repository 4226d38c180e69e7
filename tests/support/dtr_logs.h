/* DTR logs for tests: short ones written here, and the published ones where they lie beside the project. */
#ifndef PLIM_TESTS_SUPPORT_DTR_LOGS_H
#define PLIM_TESTS_SUPPORT_DTR_LOGS_H

#include "runtime/graph/graph.h"

/* The graph of a log's text; fails the running test when it is refused. */
plim_graph *dtr_graph(plim_context *ctx, const char *text);

/* The graph of dtr/<name>.log.gz in PLIM_DATA (plim_test_published). */
plim_graph *dtr_published(plim_context *ctx, const char *name);

/* ---- writing a log: lines are appended to a text ---- */
#include "runtime/base/text.h"

void dtr_constant(plim_text *log, const char *name, int64_t bytes);
/* args, result: names with blanks between them. Each result has `bytes`; views of argument `alias` unless that is -1.
 */
void dtr_call(plim_text *log, const char *op, const char *args, const char *result, int64_t bytes, int alias,
              int64_t time_ns);
void dtr_mutate(plim_text *log, const char *op, const char *args, int index, int64_t time_ns);
void dtr_release(plim_text *log, const char *name);

#endif
