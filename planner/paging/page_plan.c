/* Plans with everything that persists at home in the arena.
 *
 * Plans that run every op once come first: from all variants, and from those with less and less workspace. Then
 * recomputation beside paging, at several levels of what pages. Each plan of the graph with paging (page_graph.c) is
 * lowered to queues; beside it, runs without paging get devices and copies (queue_search.c). The fastest plan is taken;
 * one without paging counts too. Keep-all's plan is made once for each graph and set of variants, with no more packing
 * than the budget asks for. */
#include "planner/paging/page_plan.h"

#include <stdio.h>
#include <string.h>

#include "planner/one_arena/arena_plan.h"
#include "planner/paging/joint_problem.h"
#include "planner/paging/lean_profile.h"
#include "planner/paging/page_candidates.h"
#include "planner/paging/page_lower.h"
#include "planner/paging/paging.h"
#include "planner/paging/paging_tuning.h"
#include "planner/paging/queue_search.h"
#include "runtime/base/effort.h"

/* One graph. */
typedef struct paging {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan_options *options;
  const plim_paging *wanted; /* the options' own */
  int64_t keep_all_ns;       /* with all variants */
  int64_t known_ns;          /* time of a plan that is known; INT64_MAX: none is */
  const char **numerics_key; /* [room_keys] with PLIM_NUMERICS_GIVEN, those of a graph with paging */
  int64_t room_keys;
  plim_plan *best;
  plim_plan *plain; /* the best plan before the joint search; NULL: none */
} paging;

/* One set of variants. */
typedef struct attempt {
  paging *whole;
  const plim_profile *profile;
  const plim_plan *keep_all;
  plim_paging paging; /* as wanted, or without recomputation */
  plim_plan_options options;
} attempt;

/* 1 / parts of the time that is left; 0: no limit. */
static int64_t part_of_time(const paging *p, int64_t parts) {
  if (p->options->time_limit_ns <= 0) return 0;
  return plim_effort_left_ns(p->ctx) / parts + 1;
}

int plim_paging_is_failure(plim_context *ctx, plim_status status) {
  return status != PLIM_OK && status != PLIM_ENOFIT && (status != PLIM_ECANCEL || plim_context_cancelled(ctx));
}

/* One device takes no less time than keep-all, though copies may draw more than runs; and what was found counts when
 * the time is over, or when any plan will do. */
static int is_enough(const paging *p) {
  if (!p->best) return 0;
  if (p->wanted->first_plan) return 1;
  int best = !p->wanted->device && !p->wanted->powers && p->best->time_ns <= p->keep_all_ns;
  return best || plim_effort_over(p->ctx, PLIM_EFFORT_LOOK);
}

/* Options of a planner for one arena, with 1 / parts of the time. */
static plim_plan_options inner_options(const paging *p, int64_t parts) {
  plim_plan_options inner = *p->options;
  inner.time_limit_ns = part_of_time(p, parts);
  inner.paging = NULL;
  return inner;
}

/* The same for a plan from which copies begin: there are several, which share the moves. */
static plim_plan_options base_options(const paging *p, int64_t parts) {
  plim_plan_options base = inner_options(p, parts);
  int64_t moves = base.iterations > 0 ? base.iterations / tuning.plan.searches : 0;
  if (base.iterations == 0 && base.time_limit_ns == 0) moves = tuning.plan.moves_an_op * (int64_t)p->graph->n_ops;
  if (base.iterations > 0 || moves > 0) base.iterations = moves > 0 ? moves : 1;
  return base;
}

/* The time that a plan has to beat; INT64_MAX: none, as where a slower one may take less energy. */
static int64_t known_ns(const paging *p) {
  if (p->wanted->powers) return INT64_MAX;
  int64_t best = p->best ? p->best->time_ns : INT64_MAX;
  return best < p->known_ns ? best : p->known_ns;
}

/* ---- one level ---- */

static plim_status plan_paged(const attempt *a, const plim_page_graph *paged, plim_plan **out) {
  paging *p = a->whole;
  plim_plan_options inner = base_options(p, tuning.plan.part_of_time);
  for (int32_t i = 0; inner.numerics == PLIM_NUMERICS_GIVEN && i < paged->paged->n_ops; i++) {
    p->numerics_key[i] = paged->op[i] < 0 ? "page" : p->options->numerics_key[paged->op[i]];
  }
  inner.numerics_key = p->numerics_key;
  return a->paging.recompute ? plim_arena_faster(p->ctx, paged->paged, paged->profile, &inner, known_ns(p), out)
                             : plim_arena_once(p->ctx, paged->paged, paged->profile, &inner, out);
}

/* The plan of what pages now; one that does not fit is no failure. */
static plim_status try_level(const attempt *a, const plim_page_candidates *candidates) {
  paging *p = a->whole;
  plim_page_graph *paged = NULL;
  plim_plan *plan = NULL, *lowered = NULL;
  const plim_page_lower_options lower = {
      .options = p->options, .keep_all_ns = p->keep_all_ns, .effort = tuning.lower.effort};
  const plim_page_choice *choice;
  const int64_t *delay_ns;
  int32_t n = plim_page_candidates_taken(candidates, &choice, &delay_ns);
  plim_status status;
  PLIM_CHECK(plim_page_graph_make(p->ctx, p->graph, a->profile, n, choice, delay_ns, &paged));
  PLIM_CHECK(plan_paged(a, paged, &plan));
  PLIM_CHECK(plim_page_lower(paged, plan, &lower, &lowered));
  plim_paging_keep_better(p->wanted, &p->best, lowered);
  lowered = NULL;
done:
  plim_plan_free(lowered);
  plim_plan_free(plan);
  plim_page_graph_free(paged);
  return plim_paging_is_failure(p->ctx, status) ? status : PLIM_OK;
}

/* From a level at which some bytes are paged to the one at which all that is missing is. Where that does not fit, what
 * copies hold while they run is missing too: more is paged, by and by everything that can be. */
static plim_status try_levels(const attempt *a, plim_page_candidates *candidates) {
  const paging *p = a->whole;
  int64_t peak = a->keep_all->peak_bytes, budget = p->options->budget_bytes;
  int64_t missing = peak > budget ? peak - budget : 0;
  int32_t levels = tuning.plan.levels, taken;
  for (int32_t level = a->paging.recompute ? 1 : levels; level <= levels; level++) {
    (void)plim_page_candidates_cover(candidates, peak - missing / levels * level, &taken);
    if (is_enough(p)) return PLIM_OK;
    PLIM_TRY(try_level(a, candidates));
  }
  for (int64_t target = budget; !p->best && target > 0;) {
    target -= budget / tuning.plan.step_part + 1;
    int more = plim_page_candidates_cover(candidates, target, &taken);
    if (taken > 0) PLIM_TRY(try_level(a, candidates));
    if (!more) break;
  }
  return PLIM_OK;
}

/* ---- one set of variants ---- */

/* Devices and copies for the runs of a plan of one arena. */
static plim_status search_from(const attempt *a, const plim_plan *base) {
  paging *p = a->whole;
  int64_t outer_ns = INT64_MAX, limit_ns = p->options->time_limit_ns;
  if (limit_ns > 0) outer_ns = plim_effort_begin(p->ctx, plim_now_ns() + part_of_time(p, tuning.queue.part_of_time));
  plim_status status = plim_queue_search(p->ctx, p->graph, a->profile, &a->options, base, p->keep_all_ns, &p->best);
  return limit_ns > 0 ? plim_effort_end(p->ctx, outer_ns, status) : status;
}

static plim_status try_pages(const attempt *a) {
  plim_page_candidates *candidates = NULL;
  if (!a->paging.space || a->paging.budget_bytes <= 0) return PLIM_OK;
  PLIM_TRY(plim_page_candidates_make(a->whole->ctx, a->whole->graph, &a->paging, a->keep_all, &candidates));
  plim_status status = plim_page_candidates_count(candidates) > 0 ? try_levels(a, candidates) : PLIM_OK;
  plim_page_candidates_free(candidates);
  return status;
}

/* With two devices, recompute what does not fit into both arenas together. */
static plim_status try_both_arenas(const attempt *a) {
  const paging *p = a->whole;
  plim_plan_options both = base_options(p, tuning.plan.both_part);
  plim_plan *plan = NULL;
  if (!a->paging.device || !a->paging.recompute) return PLIM_OK;
  both.budget_bytes = plim_add_checked(both.budget_bytes, a->paging.device_bytes);
  if (both.budget_bytes < 0 || both.budget_bytes >= a->keep_all->arena_bytes) return PLIM_OK;
  plim_status status = plim_arena_plan_make(p->ctx, p->graph, a->profile, &both, &plan);
  if (status != PLIM_OK) return plim_paging_is_failure(p->ctx, status) ? status : PLIM_OK;
  status = search_from(a, plan);
  plim_plan_free(plan);
  return status;
}

/* Where there is no plan yet, one that fits is made from the fewest bytes too: with pages fits what fits without. */
static plim_status plan_one_arena(const attempt *a, plim_plan **out) {
  paging *p = a->whole;
  plim_plan_options plain = inner_options(p, tuning.plan.last_part);
  const int64_t known = a->paging.device ? INT64_MAX : known_ns(p); /* with a second device its runs get faster */
  plain.front_folder = NULL;
  if (!a->paging.recompute) plain.planner = "keep-all";
  return a->paging.recompute && known == INT64_MAX
             ? plim_arena_plan_make(p->ctx, p->graph, a->profile, &plain, out)
             : plim_arena_faster(p->ctx, p->graph, a->profile, &plain, known, out);
}

/* A plan of one arena, and devices for its runs. */
static plim_status try_one_arena(const attempt *a) {
  paging *p = a->whole;
  plim_plan *plan = NULL;
  plim_status status = plan_one_arena(a, &plan);
  if (status != PLIM_OK) return plim_paging_is_failure(p->ctx, status) ? status : PLIM_OK;
  if (a->paging.device) status = search_from(a, plan);
  plim_paging_keep_better(p->wanted, &p->best, plan);
  return status;
}

static plim_status try_variants(const attempt *a) {
  const paging *p = a->whole;
  int fits = a->keep_all->arena_bytes <= p->options->budget_bytes;
  if (!fits || a->paging.device) PLIM_TRY(search_from(a, a->keep_all));
  if (is_enough(p)) return PLIM_OK;
  if (!fits) PLIM_TRY(try_pages(a));
  PLIM_TRY(try_both_arenas(a));
  return is_enough(p) ? PLIM_OK : try_one_arena(a);
}

/* keep_all: NULL: it is made. What was found before a cancel counts. */
static plim_status try_profile(paging *p, const plim_profile *profile, const plim_plan *keep_all, int recompute) {
  attempt a = {.whole = p, .profile = profile, .keep_all = keep_all, .paging = *p->wanted, .options = *p->options};
  plim_plan *own = NULL;
  a.paging.recompute = recompute;
  a.options.paging = &a.paging;
  plim_status status = keep_all ? PLIM_OK : plim_arena_once(p->ctx, p->graph, profile, p->options, &own);
  if (own) a.keep_all = own;
  if (status == PLIM_OK) status = try_variants(&a);
  plim_plan_free(own);
  return status == PLIM_ECANCEL && p->best ? PLIM_OK : status;
}

/* ---- all variants ---- */

/* Plans that run every op once. */
static plim_status try_once(paging *p, const plim_profile *profile, const plim_plan *keep_all) {
  int32_t variants = profile->first[p->graph->n_ops];
  PLIM_TRY(try_profile(p, profile, keep_all, 0));
  for (int32_t i = 0; p->options->numerics == PLIM_NUMERICS_AUTO && i < PLIM_PAGING_LEAN; i++) {
    plim_profile *lean = NULL;
    if (is_enough(p)) break;
    PLIM_TRY(plim_lean_profile_make(p->ctx, p->graph, profile, p->options->budget_bytes, tuning.plan.lean[i], &lean));
    int32_t left = lean->first[p->graph->n_ops];
    plim_status status = left < variants ? try_profile(p, lean, NULL, 0) : PLIM_OK;
    variants = left;
    plim_profile_free(lean);
    PLIM_TRY(status);
  }
  return PLIM_OK;
}

static plim_status refuse(const paging *p) {
  char beside[128] = "";
  const plim_paging *o = p->wanted;
  if (o->space) {
    (void)snprintf(beside, sizeof beside, " and %lld of %s", (long long)o->budget_bytes, o->space);
  }
  if (o->device) {
    size_t used = strlen(beside);
    (void)snprintf(beside + used, sizeof beside - used, " and %lld of %s", (long long)o->device_bytes, o->device);
  }
  return plim_fail(p->ctx, PLIM_ENOFIT, "no plan was found within %lld bytes of the arena%s, %s",
                   (long long)p->options->budget_bytes, beside,
                   o->recompute ? "with recomputation" : "without recomputation");
}

/* All decisions together, from the best plan so far. What was found before a cancel counts. */
static plim_status try_joint(paging *p, const plim_profile *profile, const plim_plan *keep_all) {
  if (p->best) PLIM_TRY(plim_plan_from_parts(p->graph, p->best, &p->plain));
  if (p->options->order == PLIM_ORDER_FIXED || is_enough(p)) return PLIM_OK;
  plim_status status =
      plim_joint_search(p->ctx, p->graph, profile, p->options, p->best ? p->best : keep_all, p->keep_all_ns, &p->best);
  return status == PLIM_ECANCEL && p->best ? PLIM_OK : status;
}

static plim_status try_all(paging *p, const plim_profile *profile, const plim_plan *keep_all) {
  int64_t outer_ns = INT64_MAX, limit_ns = p->options->time_limit_ns;
  if (limit_ns > 0) {
    outer_ns = plim_effort_begin(p->ctx, plim_now_ns() + plim_effort_left_ns(p->ctx) / tuning.plan.once_part);
  }
  plim_status status = try_once(p, profile, keep_all);
  if (limit_ns > 0) status = plim_effort_end(p->ctx, outer_ns, status);
  if (status == PLIM_OK && p->wanted->recompute && !is_enough(p)) status = try_profile(p, profile, keep_all, 1);
  if (status == PLIM_OK) status = try_joint(p, profile, keep_all);
  if (status == PLIM_ECANCEL && p->best) status = PLIM_OK;
  return status == PLIM_OK && !p->best ? refuse(p) : status;
}

static plim_status make_from(const plim_paging_task *task, const plim_plan *keep_all, int64_t known_ns,
                             plim_plan **plain, plim_plan **out) {
  const plim_graph *graph = task->graph;
  paging p = {.ctx = task->ctx,
              .graph = graph,
              .options = task->options,
              .wanted = task->options->paging,
              .keep_all_ns = keep_all->keep_all_ns,
              .known_ns = known_ns,
              .room_keys = graph->n_ops + 2 * (int64_t)graph->reader_first[graph->n_storages]};
  PLIM_TRY(plim_allocate(p.ctx, p.room_keys, sizeof *p.numerics_key, &p.numerics_key));
  plim_status status = try_all(&p, task->profile, keep_all);
  plim_release(p.ctx, p.numerics_key, p.room_keys, sizeof *p.numerics_key);
  if (status == PLIM_OK) {
    *plain = p.plain;
    *out = p.best;
  } else {
    plim_plan_free(p.plain);
    plim_plan_free(p.best);
  }
  return status;
}

plim_status plim_page_plan_make(const plim_paging_task *task, int64_t known_ns, plim_plan **plain, plim_plan **out) {
  if (task->keep_all) return make_from(task, task->keep_all, known_ns, plain, out);
  plim_plan *keep_all = NULL;
  PLIM_TRY(plim_arena_once(task->ctx, task->graph, task->profile, task->options, &keep_all));
  plim_status status = make_from(task, keep_all, known_ns, plain, out);
  plim_plan_free(keep_all);
  return status;
}
