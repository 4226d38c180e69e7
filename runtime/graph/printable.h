/* Checks names in documents. They are printable ASCII, so that all tools print and compare them in the same way.
 * Functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_GRAPH_PRINTABLE_H
#define PLIM_RUNTIME_GRAPH_PRINTABLE_H

#include "runtime/base/context.h"

enum { PLIM_PRINTABLE_NAME_MAX = 255 }; /* longest name, in characters */

/* Check that a name is 1 to 255 printable ASCII characters.
 *   what  in  the kind of thing that has the name, for the sentence
 * PLIM_EDATA. */
PLIM_MUST_USE plim_status plim_printable_name(plim_context *ctx, const char *what, const char *name);

/* Check that a text in an array of `size` chars has a NUL and only printable ASCII characters; it may be empty.
 * PLIM_EDATA. */
PLIM_MUST_USE plim_status plim_printable_text(plim_context *ctx, const char *what, const char *text, size_t size);

#endif
