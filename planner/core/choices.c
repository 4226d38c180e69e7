/* Which variants of an op a plan may use.
 *
 * Times that differ by less than 3 % are equal, since measurements are no better than that. Of the variants within 3 %
 * of the fastest, the one with the least workspace counts as the fastest, then the one with the lower index. The others
 * within 3 % are left out. So no choice takes less time than choice[0], and an overhead is never negative. */
#include "planner/core/problem.h"

#include <string.h>

static int key_is(const plim_variant *variant, const char *numerics_key) {
  return !numerics_key || strcmp(variant->numerics_key, numerics_key) == 0;
}

/* Numerics key of the variant with the least workspace, then the least time, then the lower index. */
static const char *smallest_key(const plim_variant *variant, int32_t n) {
  int32_t best = 0;
  for (int32_t i = 1; i < n; i++) {
    if (variant[i].workspace_bytes > variant[best].workspace_bytes) continue;
    if (variant[i].workspace_bytes < variant[best].workspace_bytes || variant[i].time_ns < variant[best].time_ns) {
      best = i;
    }
  }
  return variant[best].numerics_key;
}

/* Does another variant of the same key take no more time and no more workspace than variant i? Of two equal ones the
 * later is dominated. */
static int is_dominated(const plim_variant *variant, int32_t n, int32_t i) {
  for (int32_t k = 0; k < n; k++) {
    if (k == i || strcmp(variant[k].numerics_key, variant[i].numerics_key) != 0) continue;
    if (variant[k].time_ns > variant[i].time_ns || variant[k].workspace_bytes > variant[i].workspace_bytes) continue;
    if (variant[k].time_ns < variant[i].time_ns || variant[k].workspace_bytes < variant[i].workspace_bytes || k < i) {
      return 1;
    }
  }
  return 0;
}

/* Number of the numerics key of variant i: the index of the first variant that has it. */
static int32_t key_id(const plim_variant *variant, int32_t i) {
  int32_t k = 0;
  while (strcmp(variant[k].numerics_key, variant[i].numerics_key) != 0) k++;
  return k;
}

static plim_choice choice_of(const plim_problem *p, const plim_variant *variant, int32_t i) {
  return (plim_choice){.time_ns = variant[i].time_ns,
                       .workspace_bytes = plim_align_up(variant[i].workspace_bytes, p->align),
                       .numerics_key = key_id(variant, i),
                       .variant = i};
}

/* Write the choices of one op with variants [0, n) to out, the fastest first. `numerics_key` NULL: any. Returns their
 * number. */
static int32_t choose(const plim_problem *p, const plim_variant *variant, int32_t n, const char *numerics_key,
                      plim_choice *out) {
  int32_t first = plim_variants_fastest(variant, n, numerics_key), count = 0;
  const int64_t least_ns = plim_variants_least_ns(variant, n, numerics_key);
  out[count++] = choice_of(p, variant, first);
  for (int32_t i = 0; i < n; i++) {
    int is_as_fast = plim_variant_ties(variant[i].time_ns, least_ns);
    if (i == first || !key_is(&variant[i], numerics_key) || is_as_fast || is_dominated(variant, n, i)) continue;
    out[count++] = choice_of(p, variant, i);
  }
  return count;
}

/* *out: the only numerics key that the options allow for the op; NULL: any. */
static plim_status allowed_key(const plim_problem *p, const plim_plan_options *options, int32_t op,
                               const plim_variant *variant, int32_t n, const char **out) {
  *out = NULL;
  if (options->numerics == PLIM_NUMERICS_FASTEST) *out = variant[plim_variants_fastest(variant, n, NULL)].numerics_key;
  if (options->numerics == PLIM_NUMERICS_SMALL) *out = smallest_key(variant, n);
  if (options->numerics != PLIM_NUMERICS_GIVEN) return PLIM_OK;
  *out = options->numerics_key[op];
  if (!*out) {
    return plim_fail(p->ctx, PLIM_EUSAGE, "op '%s' has no numerics key: numerics_key[%d] is NULL",
                     p->graph->op[op].name, (int)op);
  }
  if (plim_variants_fastest(variant, n, *out) >= 0) return PLIM_OK;
  return plim_fail(p->ctx, PLIM_EUSAGE, "op '%s' has no variant with the numerics key '%s' among its %d",
                   p->graph->op[op].name, *out, n);
}

/* Most time of all ops together, in ns. Ops may run up to 4,096 times on average before a plan's time overflows. */
static const int64_t max_total_ns = INT64_MAX >> 12;

static int64_t slowest_ns(const plim_planned_op *op) {
  int64_t slowest = 0;
  for (int32_t c = 0; c < op->n_choices; c++) {
    if (op->choice[c].time_ns > slowest) slowest = op->choice[c].time_ns;
  }
  return slowest;
}

plim_status plim_choices_make(plim_problem *p, const plim_plan_options *options) {
  const plim_profile *profile = p->profile;
  int64_t total_ns = 0, most_workspace = 0; /* total_ns: of the slowest choices */
  if (options->numerics == PLIM_NUMERICS_GIVEN && !options->numerics_key) {
    return plim_fail(p->ctx, PLIM_EUSAGE,
                     "PLIM_NUMERICS_GIVEN asks for the numerics keys of %d ops, and numerics_key is NULL",
                     (int)p->n_ops);
  }
  p->fixed_numerics = options->numerics != PLIM_NUMERICS_AUTO;
  p->n_choices = profile->first[profile->n_ops];
  PLIM_TRY(plim_allocate(p->ctx, p->n_choices, sizeof *p->choice, &p->choice));
  plim_choice *next = p->choice;
  for (int32_t op = 0; op < p->n_ops; op++) {
    const plim_variant *variant = &profile->variant[profile->first[op]];
    int32_t n = profile->first[op + 1] - profile->first[op];
    const char *numerics_key;
    PLIM_TRY(allowed_key(p, options, op, variant, n, &numerics_key));
    p->own_op[op].choice = next;
    p->own_op[op].n_choices = choose(p, variant, n, numerics_key, next);
    int64_t any_ns = variant[plim_variants_fastest(variant, n, NULL)].time_ns;
    p->keep_all_ns += any_ns < next->time_ns ? any_ns : next->time_ns;
    for (int32_t i = 0; i < n; i++) {
      int64_t workspace = plim_align_up(variant[i].workspace_bytes, p->align);
      if (workspace < 0 || workspace > most_workspace) most_workspace = workspace < 0 ? INT64_MAX : workspace;
    }
    total_ns = plim_add_checked(total_ns, slowest_ns(&p->own_op[op]));
    if (total_ns < 0 || total_ns > max_total_ns) {
      return plim_fail(p->ctx, PLIM_EOVERFLOW,
                       "the times of graph '%s' add up to more than the %lld that plans are made of, repeats included: "
                       "divide them all by one number",
                       p->graph->name, (long long)max_total_ns);
    }
    if (most_workspace > INT64_MAX / 4) {
      return plim_fail(p->ctx, PLIM_EOVERFLOW, "a workspace of graph '%s' is too large to add to others",
                       p->graph->name);
    }
    next += p->own_op[op].n_choices;
  }
  return PLIM_OK;
}
