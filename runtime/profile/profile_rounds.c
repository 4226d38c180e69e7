/* Orders the cases so that those which a plan would choose are measured first. Building the kernels of a library takes
 * most of the measuring time, and a time limit may end it before all are built. A library lists its kernels by
 * estimated time. A plan within a small budget uses the variant with the least workspace. */
#include "runtime/profile/profile_set.h"

#include <stddef.h>

/* The case with the least workspace of the group's cases that a library builds; -1: the first case needs no more. */
static int32_t smallest(const plim_profile_set *set, const plim_profile_group *group) {
  int64_t least_bytes = set->cases[group->first].variant.workspace_bytes;
  int32_t found = PLIM_NONE;
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
      plim_profile_case *profile_case = &set->cases[i];
      profile_case->round = i == group->first || !profile_case->builds ? 0 : i == small ? 1 : round++;
    }
  }
}

/* ---- a sample ---- */

static int is_convolution(const plim_profile_group *group) {
  const plim_op_kind kind = group->desc.kind;
  return kind == PLIM_OP_CONV2D || kind == PLIM_OP_CONV2D_BWD_DATA || kind == PLIM_OP_CONV2D_BWD_WEIGHTS;
}

/* The heaviest convolution that is lighter than `than`, the first of equal ones; NULL: the heaviest of all. */
static const plim_profile_group *next_heaviest(const plim_profile_set *set, const plim_profile_group *than) {
  const plim_profile_group *found = NULL;
  for (int32_t g = 0; g < set->n_groups; g++) {
    const plim_profile_group *group = &set->group[g];
    if (!is_convolution(group) || group == than) continue;
    const int64_t flops = plim_op_flops(&group->desc), most = than ? plim_op_flops(&than->desc) : INT64_MAX;
    if (flops > most || (flops == most && group < than)) continue;
    if (!found || flops > plim_op_flops(&found->desc)) found = group;
  }
  return found;
}

static void skip(plim_profile_set *set, const plim_profile_group *group) {
  for (int32_t i = group->first; i < group->first + group->n; i++) {
    set->cases[i].round = PLIM_NONE;
    set->cases[i].dropped = i > group->first;
    set->cases[i].variant.time_ns = 1;
  }
}

void plim_profile_set_sample(plim_profile_set *set, int32_t n) {
  const plim_profile_group *lightest = NULL;
  for (int32_t i = 0; i < set->n_cases; i++) {
    plim_profile_case *profile_case = &set->cases[i];
    if (profile_case->round == 0) continue;
    profile_case->dropped = 1;
    profile_case->round = PLIM_NONE;
  }
  for (int32_t i = 0; i < n; i++) {
    const plim_profile_group *next = next_heaviest(set, lightest);
    if (!next) return; /* there are no more */
    lightest = next;
  }
  const plim_profile_group *group = lightest;
  while ((group = next_heaviest(set, group)) != NULL) skip(set, group);
}
