/* The table of online policies.
 * Sources: DTR, Kirisame et al., ICLR 2021, appendix C; DTE, MegEngine; Coop, Zhang et al., NeurIPS 2023; MSPS,
 * Capuchin, ASPLOS 2020. */
#include "runtime/arena/policy.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const plim_policy policies[] = {
    {"best", "our own", PLIM_COST_CLASSES, PLIM_PER_NOTHING, PLIM_STALE_PLAIN, PLIM_SEARCH_WINDOW, 1},
    {"coop", "Coop, NeurIPS 2023", PLIM_COST_CLASSES, PLIM_PER_NOTHING, PLIM_STALE_PLAIN, PLIM_SEARCH_WINDOW, 0},
    {"dtr", "DTR, ICLR 2021", PLIM_COST_NEIGHBOURHOOD, PLIM_PER_BYTES, PLIM_STALE_PLAIN, PLIM_SEARCH_SINGLE, 0},
    {"dtr-eq", "DTR, ICLR 2021", PLIM_COST_CLASSES, PLIM_PER_BYTES, PLIM_STALE_PLAIN, PLIM_SEARCH_SINGLE, 0},
    {"dtr-local", "DTR, ICLR 2021", PLIM_COST_OWN, PLIM_PER_BYTES, PLIM_STALE_PLAIN, PLIM_SEARCH_SINGLE, 0},
    {"dte", "MegEngine", PLIM_COST_CLASSES, PLIM_PER_HOLE, PLIM_STALE_PLAIN, PLIM_SEARCH_SINGLE, 0},
    {"lru", "least recently used", PLIM_COST_ACCESS, PLIM_PER_NOTHING, PLIM_STALE_NOT, PLIM_SEARCH_SINGLE, 0},
    {"size", "largest first", PLIM_COST_ONE, PLIM_PER_BYTES, PLIM_STALE_NOT, PLIM_SEARCH_SINGLE, 0},
    {"msps", "Capuchin, ASPLOS 2020", PLIM_COST_ANCESTORS, PLIM_PER_BYTES, PLIM_STALE_NOT, PLIM_SEARCH_SINGLE, 0},
};
enum { N_POLICIES = sizeof policies / sizeof policies[0] };

const plim_policy *plim_policy_at(int32_t i) {
  return i >= 0 && i < N_POLICIES ? &policies[i] : NULL;
}

const char *plim_policy_name(int32_t i) {
  const plim_policy *policy = plim_policy_at(i);
  return policy ? policy->name : NULL;
}

const plim_policy *plim_policy_find(const char *name) {
  for (int32_t i = 0; i < N_POLICIES; i++) {
    if (strcmp(policies[i].name, name) == 0) return &policies[i];
  }
  return NULL;
}

double plim_policy_staleness(const plim_policy *policy, int64_t stale_ns) {
  double stale = stale_ns == PLIM_TIME_INFINITE ? INFINITY : (double)stale_ns;
  return policy->stale == PLIM_STALE_NOT ? 1 : policy->stale == PLIM_STALE_ROOT ? sqrt(stale) : stale;
}

/* Product of the two divisors of the score. NAN or 0: the score is infinite. */
static double divisor(const plim_policy *policy, int64_t bytes, int64_t stale_ns) {
  double below = 1;
  if (policy->size != PLIM_PER_NOTHING) below *= (double)bytes;
  return below * plim_policy_staleness(policy, stale_ns);
}

double plim_policy_score(const plim_policy *policy, int64_t cost, int64_t bytes, int64_t stale_ns) {
  double below = divisor(policy, bytes, stale_ns);
  return below == 0 || isnan(below) ? INFINITY : (double)cost / below;
}

int64_t plim_policy_most_cost(const plim_policy *policy, double score, int64_t bytes, int64_t stale_ns) {
  const double rounding = 1 + 1e-12;
  double below = divisor(policy, bytes, stale_ns);
  if (below == 0 || isnan(below)) return 0;
  double most = score * below * rounding;
  return most < 9e18 ? (int64_t)most : PLIM_TIME_INFINITE; /* not below: infinite, or 0 times infinity */
}
