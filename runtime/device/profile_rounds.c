/* Likely candidates first. Building the kernels of a library takes most of a start, so that a start may end before all
 * of them are built: what is measured until then should be what a plan would choose. A library's own order is its
 * estimate of times. A small budget asks for the variant with the least workspace. */
#include "runtime/device/profile_set.h"

/* Of the group's cases that are built, the one with the least workspace; -1: the first case needs as little. */
static int32_t smallest(const plim_profile_set *set, const plim_profile_group *group) {
  int64_t least_bytes = set->cases[group->first].variant.workspace_bytes;
  int32_t found = -1;
  for (int32_t i = group->first + 1; i < group->first + group->n; i++) {
    if (!set->cases[i].builds || set->cases[i].variant.workspace_bytes >= least_bytes) continue;
    least_bytes = set->cases[i].variant.workspace_bytes;
    found = i;
  }
  return found;
}

void plim_profile_set_rounds(plim_profile_set *set) {
  for (int32_t g = 0; g < set->n_groups; g++) {
    const plim_profile_group *group = &set->group[g];
    const int32_t small = smallest(set, group);
    int32_t round = 2;
    for (int32_t i = group->first; i < group->first + group->n; i++) {
      plim_profile_case *c = &set->cases[i];
      c->round = i == group->first || !c->builds ? 0 : i == small ? 1 : round++;
    }
  }
}
