/* Finds a name in a list, or the name that a misspelt one probably means. Safe from any thread. */
#ifndef PLIM_RUNTIME_BASE_NAME_H
#define PLIM_RUNTIME_BASE_NAME_H

#include <stdint.h>

#include "runtime/base/size.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Name of a row (0, 1, ...); NULL after the last. */
typedef const char *plim_name_at(int32_t row);

/* Row of the name, PLIM_NONE when there is none. */
int32_t plim_name_find(plim_name_at *at, const char *name);

/* The name that differs from `name` by the fewest insertions, deletions, replacements and swaps of neighbours, the
 * first of several; "" for an empty list. Characters after the 63rd are ignored. */
const char *plim_name_nearest(plim_name_at *at, const char *name);

/* The same, but NULL when the name is too different to be meant: more than one change for each three characters begun.
 */
const char *plim_name_near(plim_name_at *at, const char *name);

/* Write the end of a sentence about an unknown name: `; did you mean "search"?`, or the names when they are few:
 * `; there are "a", "b" and "c"`, or "". Returns text. */
enum { PLIM_NAME_ADVICE_BYTES = 256 };
const char *plim_name_advice(plim_name_at *at, const char *name, char text[PLIM_NAME_ADVICE_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
