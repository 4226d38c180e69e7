/* Runs the search of planner/spaces on a training step. That search counts more bytes than a plan needs, and knows no
 * addresses. So its budgets are not those of the options. They are the bytes that it counts for the best plan so far,
 * which is known to fit. They shrink where a plan of what the search found does not pack. */
#include "planner/paging/paging_internal.h"
#include "planner/paging/paging_tuning.h"
#include "planner/spaces/problem/space_sequence.h"
#include "planner/spaces/search/space_search.h"
#include "runtime/base/effort.h"

typedef struct joint_search {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan_options *options;
  const plim_paging *paging;
  const plim_plan *base;
  plim_queue_spaces spaces;
  plim_joint_problem *joint;
  plim_space_events start;          /* of the best plan */
  int32_t known;                    /* 1: there is one */
  int64_t budget[PLIM_PLAN_SPACES]; /* of the problem */
  int64_t keep_all_ns, bound_ns;
  int64_t deadline_ns; /* of the problem, which knows no delays by copies; INT64_MAX: none */
  plim_plan **best;
  int32_t has_improved; /* 1: the last search found a better one */
} joint_search;

/* Most bytes of the sequence in each space. */
static plim_status find_peaks(const joint_search *search, const plim_space_events *events, int64_t *peak,
                              int32_t *valid) {
  plim_space_sequence s = {.problem = NULL};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_space_sequence_init(&s, search->joint->problem));
  PLIM_TRY_OR_DONE(plim_space_sequence_take(&s, events));
  *valid = s.valid;
  for (int32_t space = 0; space < search->spaces.n; space++) {
    peak[space] = 0;
    for (int32_t e = 0; e < s.n && s.valid; e++) {
      if (plim_space_live(&s, space)[e] > peak[space]) peak[space] = plim_space_live(&s, space)[e];
    }
  }
done:
  plim_space_sequence_free(&s);
  return status;
}

/* Begin with the best plan: its sequence, and the bytes of the problem that fit. */
static plim_status begin_with_best(joint_search *search) {
  int64_t peak[PLIM_PLAN_SPACES] = {0};
  for (int32_t s = 0; s < search->spaces.n; s++) search->budget[s] = search->spaces.budget_bytes[s];
  if (search->budget[0] < INT64_MAX) search->budget[0] -= search->joint->constant_bytes;
  search->start.n = 0;
  search->known = 0;
  if (!*search->best) return PLIM_OK;
  PLIM_TRY(plim_joint_events(search->joint, *search->best, &search->start, &search->known));
  if (search->known) PLIM_TRY(find_peaks(search, &search->start, peak, &search->known));
  for (int32_t s = 0; s < search->spaces.n && search->known; s++) {
    if (peak[s] > search->budget[s]) search->budget[s] = peak[s];
  }
  return PLIM_OK;
}

/* Where live bytes of the list exceed a budget, take the excess from the budget of the search. *packs 0: some do. */
static plim_status compare_peaks(joint_search *search, plim_command_list *list, int32_t *packs) {
  int64_t peak_bytes;
  PLIM_TRY(plim_command_list_begin(list));
  for (int32_t s = 0; s < search->spaces.n; s++) {
    PLIM_TRY(plim_command_list_peak(list, s, &peak_bytes));
    if (peak_bytes <= search->spaces.budget_bytes[s]) continue;
    search->budget[s] -= peak_bytes - search->spaces.budget_bytes[s];
    *packs = 0;
  }
  return PLIM_OK;
}

/* Make the plan of a sequence, and keep it where it is better. Where it does not pack, the search gets fewer bytes. */
static plim_status lower_events(joint_search *search, const plim_space_events *events) {
  const plim_lowering lowering = {.paging = search->paging,
                                  .spaces = &search->spaces,
                                  .base = search->base,
                                  .planner = "joint",
                                  .suffix = search->paging->n_devices > 0 ? "placed" : "paged",
                                  .keep_all_ns = search->keep_all_ns,
                                  .bound_ns = search->bound_ns,
                                  .n_shares = PLIM_QUEUE_SPREADS,
                                  .share = paging_tuning.queue.share,
                                  .compares = 1};
  plim_command_list list = {.ctx = search->ctx, .graph = search->graph};
  plim_plan *plan = NULL;
  plim_status status;
  int32_t packs, fits;
  PLIM_TRY_OR_DONE(plim_joint_list(search->joint, events, search->base, &list, &packs));
  if (!packs) goto done;
  PLIM_TRY_OR_DONE(compare_peaks(search, &list, &packs));
  if (!packs) goto done;
  PLIM_TRY_OR_DONE(plim_lower(&lowering, &list, &fits, &plan));
  for (int32_t space = 0; !fits && space < search->spaces.n; space++) {
    int64_t *budget = &search->budget[space];
    if (*budget < INT64_MAX) *budget -= *budget / paging_tuning.joint.tighter_part;
  }
  if (plan && search->deadline_ns < INT64_MAX) search->deadline_ns -= plim_paging_lateness(search->paging, plan);
  search->has_improved = plim_paging_keep_better(search->paging, search->best, plan);
done:
  plim_command_list_free(&list);
  return status;
}

static plim_status search_once(joint_search *search, uint64_t seed) {
  const plim_space_events *const start[] = {&search->start};
  int64_t n_events = search->joint->problem->n + search->start.n;
  const plim_powers *powers = search->paging->powers;
  plim_space_search_options options = {.objective = powers ? PLIM_OBJECTIVE_ENERGY : PLIM_OBJECTIVE_TIME,
                                       .page = search->paging->space != NULL,
                                       .recompute = search->paging->recompute,
                                       .place = search->paging->n_devices > 0,
                                       .budget = search->budget,
                                       .deadline_ns = search->deadline_ns,
                                       .bound = powers ? 0 : (double)search->bound_ns,
                                       .keep_all = powers ? 0 : (double)search->keep_all_ns,
                                       .n_starts = search->known,
                                       .start = start,
                                       .page_delay_share = search->paging->delay_share,
                                       .seed = seed};
  plim_space_events events = {.ctx = search->ctx};
  plim_space_found found;
  options.rounds = paging_tuning.joint.events / n_events + 1;
  if (search->options->iterations > 0 && options.rounds > search->options->iterations)
    options.rounds = search->options->iterations;
  plim_status status = plim_space_search(search->joint->problem, &options, &found, &events);
  if (status == PLIM_OK && found.fits) status = lower_events(search, &events);
  plim_space_events_free(&events);
  return status;
}

/* Search several times, each time from the best plan. */
static plim_status search_rounds(joint_search *search, const plim_profile *profile) {
  plim_queue_spaces_make(search->options, &search->spaces);
  PLIM_TRY(plim_queue_bound(search->graph, profile, search->paging, search->keep_all_ns, &search->bound_ns));
  PLIM_TRY(
      plim_joint_problem_make(search->graph, &search->spaces, search->base, search->paging->powers, &search->joint));
  PLIM_TRY(begin_with_best(search));
  for (int32_t i = 0; i < paging_tuning.joint.searches && search->budget[0] > 0; i++) {
    if (plim_effort_over(search->ctx, PLIM_EFFORT_LOOK)) break;
    if (*search->best && !search->paging->powers && (*search->best)->time_ns <= search->bound_ns) break;
    search->has_improved = 0;
    PLIM_TRY(search_once(search, search->options->seed + (uint64_t)i));
    if (search->has_improved) PLIM_TRY(begin_with_best(search));
  }
  return PLIM_OK;
}

plim_status plim_joint_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, const plim_plan *base, int64_t keep_all_ns,
                              plim_plan **best) {
  plim_plan *copy = NULL;
  joint_search search = {.ctx = ctx,
                         .graph = graph,
                         .options = options,
                         .paging = options->paging,
                         .keep_all_ns = keep_all_ns,
                         .deadline_ns = options->paging->deadline_ns > 0 ? options->paging->deadline_ns : INT64_MAX,
                         .start = {.ctx = ctx},
                         .best = best};
  PLIM_TRY(plim_plan_from_parts(graph, base, &copy)); /* `base` may be *best, which a faster plan replaces */
  search.base = copy;
  plim_status status = search_rounds(&search, profile);
  plim_space_events_free(&search.start);
  plim_joint_problem_free(search.joint);
  plim_plan_free(copy);
  return status;
}
