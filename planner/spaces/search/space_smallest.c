/* Finds the smallest budgets for which the search has a plan, and says them. Bisection: every trial is a search of few
 * rounds, so that what is named has a plan, and what is smaller may have one that was not found. */
#include "planner/spaces/problem/space_problem.h"
#include "planner/spaces/search/space_search.h"
#include "planner/spaces/spaces_tuning.h"

#include <math.h>
#include <stdio.h>

#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

typedef struct smallest_search {
  const plim_space_problem *problem;
  plim_space_search_options asked;
  int64_t *budget;   /* [n_spaces] of a trial */
  int64_t all_bytes; /* of all outputs and workspaces */
} smallest_search;

/* The budgets of the spaces with `scaled` (all: -1) times a factor, in whole units of all sizes. */
static void scale_budgets(smallest_search *search, const int64_t *budget, int32_t scaled, double factor) {
  for (int32_t s = 0; s < search->problem->platform->n_spaces; s++) {
    search->budget[s] = budget[s];
    if (budget[s] == INT64_MAX || (scaled >= 0 && s != scaled)) continue;
    double bytes = (double)budget[s] * factor, units = floor(bytes / (double)search->problem->bytes_unit + 1e-6);
    search->budget[s] = bytes < 0x1p60 ? (int64_t)units * search->problem->bytes_unit : INT64_MAX;
  }
}

/* Do the scaled budgets hold every output and workspace at once? Then more bytes change nothing. */
static int hold_all(const smallest_search *search, const int64_t *budget, int32_t scaled) {
  for (int32_t s = 0; s < search->problem->platform->n_spaces; s++) {
    if (budget[s] < INT64_MAX && (scaled < 0 || s == scaled) && search->budget[s] < search->all_bytes) return 0;
  }
  return 1;
}

/* The least factor that gives the budgets of the trial. */
static double factor_of(const smallest_search *search, const int64_t *budget, int32_t scaled) {
  double factor = 0;
  for (int32_t s = 0; s < search->problem->platform->n_spaces; s++) {
    if (budget[s] == INT64_MAX || (scaled >= 0 && s != scaled)) continue;
    factor = fmax(factor, (double)search->budget[s] / (double)budget[s]);
  }
  return factor;
}

static plim_status has_plan(smallest_search *search, int32_t *out) {
  plim_space_events events = {.ctx = search->problem->ctx};
  plim_space_found found;
  plim_status status = plim_space_search(search->problem, &search->asked, &found, &events);
  *out = status == PLIM_OK && found.fits;
  plim_space_events_free(&events);
  if (status == PLIM_OK && !*out && plim_context_cancelled(search->problem->ctx)) {
    return plim_fail(search->problem->ctx, PLIM_ECANCEL, "planning was cancelled");
  }
  return status;
}

/* The least factor with a plan, or one that was met when time was over; INFINITY: none, however large; NAN: time was
 * over before one was met. */
static plim_status least_factor(smallest_search *search, const int64_t *budget, int32_t scaled, double *out) {
  double low = 1, high = 2;
  int32_t fits = 0, whole = 0;
  *out = INFINITY;
  for (; !fits && !whole; high *= fits ? 1 : 2) {
    *out = NAN;
    if (plim_effort_over(search->problem->ctx, PLIM_EFFORT_LOOK)) return PLIM_OK;
    scale_budgets(search, budget, scaled, high);
    whole = hold_all(search, budget, scaled);
    PLIM_TRY(has_plan(search, &fits));
    if (!fits) low = high;
  }
  *out = INFINITY;
  if (!fits) return PLIM_OK;
  for (int32_t i = 0; i < spaces_tuning.smallest.trials && !plim_effort_over(search->problem->ctx, PLIM_EFFORT_LOOK);
       i++) {
    double middle = (low + high) / 2;
    scale_budgets(search, budget, scaled, middle);
    PLIM_TRY(has_plan(search, &fits));
    if (fits) high = middle;
    if (!fits) low = middle;
  }
  scale_budgets(search, budget, scaled, high);
  *out = factor_of(search, budget, scaled);
  return PLIM_OK;
}

/* The earliest deadline with a plan: that of the plan of least time; 0: none. */
static plim_status least_deadline(smallest_search *search, int64_t *out) {
  plim_space_search_options asked = search->asked;
  plim_space_events events = {.ctx = search->problem->ctx};
  plim_space_found found;
  asked.objective = PLIM_OBJECTIVE_TIME;
  asked.deadline_ns = INT64_MAX;
  asked.bound = 0;
  asked.rounds = spaces_tuning.smallest.deadline_rounds;
  *out = 0;
  plim_status status = plim_space_search(search->problem, &asked, &found, &events);
  if (status == PLIM_OK && found.fits) *out = (int64_t)found.value;
  plim_space_events_free(&events);
  return status;
}

const char *plim_space_factor_text(double factor, int up, char text[PLIM_SPACE_FACTOR_BYTES]) {
  double unit = factor > 0 ? fmax(1, pow(10, 5 - floor(log10(factor)))) : 1;
  double digits = up ? ceil(factor * unit - 1e-3) : floor(factor * unit + 1e-3);
  (void)snprintf(text, PLIM_SPACE_FACTOR_BYTES, factor < 1e5 ? "%.6g" : "%.0f", digits / unit);
  return text;
}

static plim_status tell_budgets(smallest_search *search, const int64_t *budget, plim_text *words, int32_t *cut_short) {
  const plim_platform *platform = search->problem->platform;
  char digits[PLIM_SPACE_FACTOR_BYTES];
  double factor;
  search->asked.budget = search->budget;
  PLIM_TRY(least_factor(search, budget, -1, &factor));
  if (!isfinite(factor)) {
    *cut_short = isnan(factor);
    plim_text_add(words, isnan(factor) ? "time was over before larger budgets were tried"
                                       : "no larger budgets have one that the search finds");
    return PLIM_OK;
  }
  plim_text_format(words, "all of them times %s have one", plim_space_factor_text(factor, 1, digits));
  for (int32_t s = 0; s < platform->n_spaces; s++) {
    if (budget[s] == INT64_MAX) continue;
    PLIM_TRY(least_factor(search, budget, s, &factor));
    if (isnan(factor)) break;
    if (isinf(factor)) {
      plim_text_format(words, "; with the others as given no size of %s has one", platform->space[s].name);
    } else {
      plim_text_format(words, "; with the others as given %s needs %lld bytes", platform->space[s].name,
                       (long long)search->budget[s]);
    }
  }
  return PLIM_OK;
}

static plim_status set_budgets(smallest_search *search) {
  const plim_space_problem *p = search->problem;
  search->asked.rounds = 0;
  search->asked.bound = -INFINITY;
  for (int32_t i = 0; i < p->n; i++) {
    search->all_bytes =
        plim_integers_add_capped(search->all_bytes, plim_integers_add_capped(p->node[i].bytes, p->node[i].workspace));
  }
  return plim_allocate(p->ctx, p->platform->n_spaces, sizeof *search->budget, &search->budget);
}

plim_status plim_space_search_factor(const plim_space_problem *p, const plim_space_search_options *options,
                                     int32_t scaled, double *out) {
  smallest_search search = {.problem = p, .asked = *options};
  PLIM_TRY(set_budgets(&search));
  search.asked.budget = search.budget;
  plim_status status = least_factor(&search, options->budget, scaled, out);
  plim_release(p->ctx, search.budget, p->platform->n_spaces, sizeof *search.budget);
  return status;
}

plim_status plim_space_search_refuse(const plim_space_problem *p, const plim_space_search_options *options,
                                     int32_t *cut_short) {
  smallest_search search = {.problem = p, .asked = *options};
  plim_text words = {.ctx = p->ctx}, given = {.ctx = p->ctx};
  int64_t deadline = 0;
  plim_status status;
  *cut_short = 0;
  PLIM_TRY_OR_DONE(set_budgets(&search));
  plim_space_name_budgets(&given, p->platform, options->budget);
  if (options->deadline_ns < INT64_MAX) PLIM_TRY_OR_DONE(least_deadline(&search, &deadline));
  if (deadline > 0) {
    plim_text_format(&words, "a deadline of %lld%s has one", (long long)deadline, plim_space_time_unit(p));
  } else {
    PLIM_TRY_OR_DONE(tell_budgets(&search, options->budget, &words, cut_short));
  }
  PLIM_TRY_OR_DONE(given.status);
  PLIM_TRY_OR_DONE(words.status);
  status = plim_fail(p->ctx, PLIM_ENOFIT, "the search found no plan of '%s' in %s%s: %s", p->graph->name, given.chars,
                     options->deadline_ns < INT64_MAX ? " within the deadline" : "", words.chars);
done:
  plim_text_free(&given);
  plim_text_free(&words);
  plim_release(p->ctx, search.budget, p->platform->n_spaces, sizeof *search.budget);
  return status;
}
