/* Names in documents: printable ASCII, so that every tool prints and compares them alike. */
#ifndef PLIM_RUNTIME_GRAPH_NAMES_H
#define PLIM_RUNTIME_GRAPH_NAMES_H

#include "runtime/base/context.h"

enum { PLIM_NAME_MAX = 255 }; /* longest name, in characters */

/* PLIM_EDATA unless `name` is 1 to 255 printable ASCII characters; `what` it names goes into the sentence. */
PLIM_MUST_USE plim_status plim_name_check(plim_context *ctx, const char *what, const char *name);

/* The same for text in an array of `size` chars that may be empty; PLIM_EDATA when it has no NUL, too. */
PLIM_MUST_USE plim_status plim_text_check(plim_context *ctx, const char *what, const char *text, size_t size);

#endif
