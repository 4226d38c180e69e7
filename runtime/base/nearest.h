/* Lists of names and the one somebody may have meant. */
#ifndef PLIM_RUNTIME_BASE_NEAREST_H
#define PLIM_RUNTIME_BASE_NEAREST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Name of a row, NULL after the last. */
typedef const char *plim_name_at(int32_t row);

/* Row of the name, -1 when there is none. */
int32_t plim_name_find(plim_name_at *at, const char *name);

/* The name with the fewest insertions, deletions, replacements and swaps of neighbours from `name` (the first of
 * several); "" of an empty list. Characters after the 63rd do not count. */
const char *plim_name_nearest(plim_name_at *at, const char *name);

/* The same when it may well have been meant: at most one change for three characters. NULL otherwise. */
const char *plim_name_near(plim_name_at *at, const char *name);

/* The end of a sentence about a name that is not there: `; did you mean "search"?`, or else the names, when they are
 * few: `; there are "a", "b" and "c"`. Returns text. */
enum { PLIM_NAME_ADVICE_BYTES = 256 };
const char *plim_name_advice(plim_name_at *at, const char *name, char text[PLIM_NAME_ADVICE_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
