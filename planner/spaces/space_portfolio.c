/* Searches with recompute alone, with paging alone, and then with both. Where recompute alone or paging alone is best,
 * rounds that do both hardly find it, as what one op gains by the other hides what many gain together. */
#include "planner/spaces/space_make_internal.h"

#include <math.h>

#include "planner/spaces/bound/space_bound.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

enum { RECOMPUTE, PAGE, ALL };

/* May nodes be paged: does a link lead to a space where no device computes? */
static int can_page(const plim_space_problem *problem, const plim_space_search_options *o) {
  const plim_platform *p = problem->platform;
  for (int32_t l = 0; l < p->n_links && o->page; l++) {
    if (!plim_platform_computes(p, p->link[l].to, o->place ? p->n_devices : 1)) return 1;
  }
  return 0;
}

static plim_status search_once(const plim_space_problem *problem, const plim_space_search_options *o, int32_t i,
                               plim_space_portfolio *out) {
  PLIM_TRY(plim_space_search(problem, o, &out->found[i], &out->events[i]));
  if (!out->found[i].fits || (out->best.fits && out->best.value <= out->found[i].value)) return PLIM_OK;
  out->best = out->found[i];
  return PLIM_OK;
}

/* A share of the time that is left, bound and all. */
static plim_status search_alone(const plim_space_problem *problem, const plim_space_search_options *options,
                                double least, int32_t i, plim_space_portfolio *out) {
  plim_context *ctx = problem->ctx;
  plim_space_search_options alone = *options;
  int64_t left = plim_effort_left_ns(ctx);
  double bound = 0;
  alone.page = i == PAGE;
  alone.recompute = i == RECOMPUTE;
  alone.n_starts = 0;
  int64_t outer =
      plim_effort_begin(ctx, left < INT64_MAX ? plim_now_ns() + left / spaces_tuning.search.alone : INT64_MAX);
  plim_status status = plim_space_bound(problem, &alone, &bound);
  alone.bound = fmax(least, bound);
  if (status == PLIM_OK) status = search_once(problem, &alone, i, out);
  return plim_effort_end(ctx, outer, status);
}

plim_status plim_space_portfolio_search(const plim_space_problem *problem, const plim_space_search_options *options,
                                        double least, plim_space_portfolio *out) {
  const plim_space_events *start[PLIM_SPACE_STARTS];
  plim_space_search_options all = *options;
  int alone = can_page(problem, options) && options->recompute && options->rounds > 0 &&
              problem->n < spaces_tuning.search.large_nodes;
  for (int32_t i = 0; i < options->n_starts; i++) start[i] = options->start[i];
  all.start = start;
  for (int32_t i = RECOMPUTE; alone && i < ALL; i++) {
    if (plim_effort_over(problem->ctx, PLIM_EFFORT_LOOK)) break;
    PLIM_TRY(search_alone(problem, options, least, i, out));
    if (out->found[i].fits && all.n_starts < PLIM_SPACE_STARTS) start[all.n_starts++] = &out->events[i];
  }
  return search_once(problem, &all, ALL, out);
}

void plim_space_portfolio_free(plim_space_portfolio *p) {
  for (int i = 0; i < PLIM_SPACE_SEARCHES; i++) plim_space_events_free(&p->events[i]);
}
