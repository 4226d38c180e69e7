/* Figures that others published for public instances: shown beside ours, used for nothing else. */
#ifndef PLIM_TOOLS_PLIMSOLL_PUBLISHED_BUDGETS_H
#define PLIM_TOOLS_PLIMSOLL_PUBLISHED_BUDGETS_H

#include <stdint.h>

/* Overhead in percent and seconds; overhead < 0: none given. `over`: the plan missed its budget. */
typedef struct published_result {
  double overhead, seconds;
  int over;
} published_result;

enum { PUBLISHED_MILP, PUBLISHED_MOCCASIN, PUBLISHED_FASTSA, PUBLISHED_COUNT };
extern const char *const published_title[PUBLISHED_COUNT];

/* The three results for an instance at a budget of `percent` of program order's peak; NULL for an instance or budget
 * that no one published. Instances are known by their size: ops, links and that peak. *name is their usual name. */
const published_result *published_find(int32_t ops, int64_t links, int64_t peak_bytes, int32_t percent,
                                       const char **name);

#endif
