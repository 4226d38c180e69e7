/* The search of planner/spaces on a training step. It counts bytes on the safe side, and no addresses. So the best plan
 * that is known says how many bytes of the problem fit into the budget: as many as it has there itself. The search gets
 * these bytes, and fewer where the plan of what it found does not pack. */
#include <string.h>

#include "planner/paging/command_list.h"
#include "planner/paging/joint_problem.h"
#include "planner/paging/paging.h"
#include "planner/paging/paging_tuning.h"
#include "planner/spaces/space_search.h"
#include "planner/spaces/space_sequence.h"
#include "runtime/base/effort.h"

typedef struct joining {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan_options *options;
  const plim_paging *paging;
  const plim_plan *base;
  plim_queue_spaces spaces;
  plim_joint_problem *joint;
  plim_space_events start;          /* of the best plan */
  int known;                        /* 1: there is one */
  int64_t budget[PLIM_PLAN_SPACES]; /* of the problem */
  int64_t keep_all_ns, bound_ns;
  int64_t deadline_ns; /* of the problem, which knows no delays by copies; INT64_MAX: none */
  plim_plan **best;
} joining;

/* Most bytes of the sequence in each space. */
static plim_status find_peaks(const joining *k, const plim_space_events *events, int64_t *peak, int *valid) {
  plim_space_sequence s = {.problem = NULL};
  plim_status status;
  PLIM_CHECK(plim_space_sequence_init(&s, k->joint->problem));
  PLIM_CHECK(plim_space_sequence_reserve(&s, events->n));
  s.n = (int32_t)events->n;
  memcpy(s.item, events->event, (size_t)events->n * sizeof *s.item);
  PLIM_CHECK(plim_space_sequence_analyse(&s));
  *valid = s.valid;
  for (int32_t space = 0; space < k->spaces.n; space++) {
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
static plim_status begin_with_best(joining *k) {
  int64_t peak[PLIM_PLAN_SPACES] = {0};
  for (int32_t s = 0; s < k->spaces.n; s++) k->budget[s] = k->spaces.budget_bytes[s];
  if (k->budget[0] < INT64_MAX) k->budget[0] -= k->joint->constant_bytes;
  k->start.n = 0;
  k->known = 0;
  if (!*k->best) return PLIM_OK;
  PLIM_TRY(plim_joint_events(k->joint, *k->best, &k->start, &k->known));
  if (k->known) PLIM_TRY(find_peaks(k, &k->start, peak, &k->known));
  for (int32_t s = 0; s < k->spaces.n && k->known; s++) {
    if (peak[s] > k->budget[s]) k->budget[s] = peak[s];
  }
  return PLIM_OK;
}

/* Where the list has more live bytes than a space, the problem gets as many fewer. *packs 0: it has more. */
static plim_status compare_peaks(joining *k, plim_command_list *list, int *packs) {
  int64_t peak_bytes;
  PLIM_TRY(plim_command_list_begin(list));
  for (int32_t s = 0; s < k->spaces.n; s++) {
    PLIM_TRY(plim_command_list_peak(list, s, &peak_bytes));
    if (peak_bytes <= k->spaces.budget_bytes[s]) continue;
    k->budget[s] -= peak_bytes - k->spaces.budget_bytes[s];
    *packs = 0;
  }
  return PLIM_OK;
}

/* The plan of a sequence, where it is better than the best. Where it does not fit the problem gets fewer bytes. */
static plim_status lower_events(joining *k, const plim_space_events *events) {
  const plim_lowering lowering = {.paging = k->paging,
                                  .spaces = &k->spaces,
                                  .base = k->base,
                                  .name = "joint",
                                  .how = k->paging->device ? "placed" : "paged",
                                  .keep_all_ns = k->keep_all_ns,
                                  .bound_ns = k->bound_ns,
                                  .n_shares = PLIM_QUEUE_SPREADS,
                                  .share = tuning.queue.share,
                                  .compares = 1};
  plim_command_list list = {.ctx = k->ctx, .graph = k->graph};
  plim_plan *plan = NULL;
  plim_status status;
  int packs, fits;
  PLIM_CHECK(plim_joint_list(k->joint, events, k->base, &list, &packs));
  if (!packs) goto done;
  PLIM_CHECK(compare_peaks(k, &list, &packs));
  if (!packs) goto done;
  PLIM_CHECK(plim_lower(&lowering, &list, &fits, &plan));
  for (int32_t s = 0; s < k->spaces.n && !fits; s++) {
    if (k->budget[s] < INT64_MAX) k->budget[s] -= k->budget[s] / tuning.joint.tighter_part;
  }
  if (plan && k->deadline_ns < INT64_MAX) k->deadline_ns -= plim_paging_lateness(k->paging, plan);
  plim_paging_keep_better(k->paging, k->best, plan);
done:
  plim_command_list_free(&list);
  return status;
}

static plim_status search_once(joining *k, uint64_t seed) {
  const plim_space_events *const start[] = {&k->start};
  int64_t items = k->joint->problem->n + k->start.n;
  const plim_powers *powers = k->paging->powers;
  plim_space_search_options options = {.objective = powers ? PLIM_OBJECTIVE_ENERGY : PLIM_OBJECTIVE_TIME,
                                       .page = k->paging->space != NULL,
                                       .recompute = k->paging->recompute,
                                       .place = k->paging->device != NULL,
                                       .budget = k->budget,
                                       .deadline_ns = k->deadline_ns,
                                       .bound = powers ? 0 : (double)k->bound_ns,
                                       .keep_all = powers ? 0 : (double)k->keep_all_ns,
                                       .n_starts = k->known,
                                       .start = start,
                                       .page_delay_share = k->paging->delay_share,
                                       .seed = seed};
  plim_space_events events = {.ctx = k->ctx};
  plim_space_found found;
  options.rounds = tuning.joint.items / items + 1;
  if (k->options->iterations > 0 && options.rounds > k->options->iterations) options.rounds = k->options->iterations;
  plim_status status = plim_space_search(k->joint->problem, &options, &found, &events);
  if (status == PLIM_OK && found.fits) status = lower_events(k, &events);
  plim_space_events_free(&events);
  return status;
}

/* Searches, each from the best plan. */
static plim_status search_rounds(joining *k, const plim_profile *profile) {
  plim_queue_spaces_make(k->options, &k->spaces);
  PLIM_TRY(plim_queue_bound(k->graph, profile, k->paging, k->keep_all_ns, &k->bound_ns));
  PLIM_TRY(plim_joint_problem_make(k->graph, &k->spaces, k->base, k->paging->powers, &k->joint));
  PLIM_TRY(begin_with_best(k));
  for (int32_t i = 0; i < tuning.joint.searches && k->budget[0] > 0; i++) {
    const plim_plan *best = *k->best;
    if (plim_effort_over(k->ctx, PLIM_EFFORT_LOOK)) break;
    if (*k->best && !k->paging->powers && (*k->best)->time_ns <= k->bound_ns) break;
    PLIM_TRY(search_once(k, k->options->seed + (uint64_t)i));
    if (*k->best != best) PLIM_TRY(begin_with_best(k));
  }
  return PLIM_OK;
}

plim_status plim_joint_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, const plim_plan *base, int64_t keep_all_ns,
                              plim_plan **best) {
  plim_plan *copy = NULL;
  joining k = {.ctx = ctx,
               .graph = graph,
               .options = options,
               .paging = options->paging,
               .keep_all_ns = keep_all_ns,
               .deadline_ns = options->paging->deadline_ns > 0 ? options->paging->deadline_ns : INT64_MAX,
               .start = {.ctx = ctx},
               .best = best};
  PLIM_TRY(plim_plan_from_parts(graph, base, &copy)); /* `base` may be *best, which a faster plan replaces */
  k.base = copy;
  plim_status status = search_rounds(&k, profile);
  plim_space_events_free(&k.start);
  plim_joint_problem_free(k.joint);
  plim_plan_free(copy);
  return status;
}
