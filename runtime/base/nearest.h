/* Lists of names and the one somebody may have meant. */
#ifndef PLIM_RUNTIME_BASE_NEAREST_H
#define PLIM_RUNTIME_BASE_NEAREST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Name of a row, NULL behind the last. */
typedef const char *plim_name_at(int32_t row);

/* Row of the name, -1 when there is none. */
int32_t plim_name_find(plim_name_at *at, const char *name);

/* The name with the fewest insertions, deletions and replacements from `name` (the first of several); "" of an
 * empty list. Characters behind the 63rd do not count. */
const char *plim_name_nearest(plim_name_at *at, const char *name);

#ifdef __cplusplus
}
#endif
#endif
