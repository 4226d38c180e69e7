/* How a command says that it failed: a sentence for people, an object for programs. */
#ifndef PLIM_TOOLS_PLIMSOLL_FAILURE_H
#define PLIM_TOOLS_PLIMSOLL_FAILURE_H

#include <jansson.h>

#include "runtime/base/status.h"

/* "status" and "error"; the caller owns the reference. */
json_t *failure_object(plim_status status, const char *sentence);

/* The sentence on standard error; the object, unless it is NULL, on standard output. Takes the reference. */
void failure_print(const char *sentence, json_t *object);

#endif
