/* Plans with everything that persists at home in the arena. Who calls whom:
 *
 *   plim_page_plan_make: keep-all's plan, made once for each graph and set of variants, with no more packing than the
 *                        budget asks for
 *   -> plan_for_devices
 *      -> begin_with_fewer            three devices or more: the plan for one device fewer is a plan for them too
 *         -> plan_for_devices
 *      -> try_all
 *         -> try_once                 plans that run every op once ...
 *            -> try_profile           ... from all variants, and from those with less and less workspace
 *               -> try_keep_all -> search_from
 *         -> try_recompute            plans of one arena that recompute ...
 *            -> try_arena_alone       ... for the arena alone
 *            -> try_joined_spaces     ... for all spaces together as if they were one arena
 *               -> search_from        devices and copies for the runs of such a plan (queue_search.c)
 *         -> try_joint                at last all decisions together, from the best of them (joint_search.c)
 *
 * The fastest plan is taken; one without paging counts too. */

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "planner/one_arena/arena_plan.h"
#include "planner/paging/paging_internal.h"
#include "planner/paging/paging_tuning.h"
#include "runtime/base/effort.h"
#include "runtime/graph/check/check.h"

/* The plan of the arena alone. Without a time limit it is the same however many devices there are. */
typedef struct alone_plan {
  int32_t is_made;
  plim_status status;
  plim_plan *plan; /* NULL: there is none */
} alone_plan;

/* The search for a plan of one graph. */
typedef struct page_search {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan_options *options;
  const plim_paging *paging; /* the options' own */
  int64_t keep_all_ns;       /* with all variants */
  int64_t known_ns;          /* time of a plan that is known; INT64_MAX: none is */
  plim_plan *best;
  plim_plan *plain; /* the best plan before the joint search; NULL: none */
  alone_plan *alone;
} page_search;

/* What a page_search tries with one set of variants. */
typedef struct page_attempt {
  page_search *search;
  const plim_profile *profile;
  const plim_plan *keep_all;
} page_attempt;

/* One of `parts` equal parts of the time that is left; 0: time is not limited. */
static int64_t part_of_time(const page_search *search, int64_t parts) {
  if (search->options->time_limit_ns <= 0) return 0;
  return plim_effort_left_ns(search->ctx) / parts + 1;
}

/* Begin a part of the work, which plim_effort_end ends. Where time is limited, it has part_of_time. */
static int64_t begin_part(const page_search *search, int64_t parts) {
  return plim_effort_begin(search->ctx, plim_effort_deadline_of(plim_now_ns(), part_of_time(search, parts)));
}

int plim_paging_is_failure(plim_context *ctx, plim_status status) {
  return status != PLIM_OK && status != PLIM_ENOFIT && (status != PLIM_ECANCEL || plim_context_cancelled(ctx));
}

/* Is the best plan good enough to end? It is where any plan will do, or the time is over. On one device no plan is
 * faster than keep-all; where energy counts, a slower plan may still be better. */
static int is_enough(const page_search *search) {
  if (!search->best) return 0;
  if (search->paging->first_plan) return 1;
  int best = search->paging->n_devices == 0 && !search->paging->powers && search->best->time_ns <= search->keep_all_ns;
  return best || plim_effort_over(search->ctx, PLIM_EFFORT_LOOK);
}

/* The options of a planner for one arena, which has part_of_time. */
static plim_plan_options inner_options(const page_search *search, int64_t parts) {
  plim_plan_options inner = *search->options;
  inner.time_limit_ns = part_of_time(search, parts);
  inner.paging = NULL;
  return inner;
}

/* The time that a plan has to beat; INT64_MAX: any plan counts, since a slower one may take less energy. */
static int64_t ns_to_beat(const page_search *search) {
  if (search->paging->powers) return INT64_MAX;
  int64_t best = search->best ? search->best->time_ns : INT64_MAX;
  return best < search->known_ns ? best : search->known_ns;
}

/* ---- one set of variants ---- */

/* Search devices and copies for the runs of a plan of one arena. */
static plim_status search_from(const page_attempt *attempt, const plim_plan *base) {
  page_search *search = attempt->search;
  int64_t outer_ns = begin_part(search, paging_tuning.queue.part_of_time);
  plim_status status = plim_queue_search(search->ctx, search->graph, attempt->profile, search->options, base,
                                         search->keep_all_ns, &search->best);
  return plim_effort_end(search->ctx, outer_ns, status);
}

/* Take the outcome of a planner for one arena: `plan`, where `made` is PLIM_OK. The plan itself counts. With several
 * devices, devices for its runs are searched first. */
static plim_status add_one_arena_plan(const page_attempt *attempt, plim_status made, plim_plan *plan) {
  page_search *search = attempt->search;
  plim_status status = PLIM_OK;
  if (made != PLIM_OK) return plim_paging_is_failure(search->ctx, made) ? made : PLIM_OK;
  if (search->paging->n_devices > 0) status = search_from(attempt, plan);
  plim_paging_keep_better(search->paging, &search->best, plan);
  return status;
}

/* Try plans that run every op once, from the attempt's variants. */
static plim_status try_keep_all(const page_attempt *attempt) {
  const page_search *search = attempt->search;
  plim_plan_options once = inner_options(search, paging_tuning.plan.last_part);
  plim_plan *plan = NULL;
  if (attempt->keep_all->arena_bytes > once.budget_bytes || search->paging->n_devices > 0)
    PLIM_TRY(search_from(attempt, attempt->keep_all));
  if (is_enough(search)) return PLIM_OK;
  once.front_folder = NULL;
  once.planner = "keep-all";
  const int64_t known =
      search->paging->n_devices > 0 ? INT64_MAX : ns_to_beat(search); /* on several devices its runs get faster */
  plim_status made = plim_arena_faster(search->ctx, search->graph, attempt->profile, &once, known, &plan);
  return add_one_arena_plan(attempt, made, plan);
}

/* The moves of a search for all spaces as one arena, a part of `moves`; 0: the time alone limits it. */
static int64_t joined_moves(const page_search *search, int64_t moves) {
  const int64_t part = moves / paging_tuning.plan.joined_moves_part;
  if (moves > 0) return part > 0 ? part : 1;
  return search->options->time_limit_ns > 0 ? 0 : paging_tuning.plan.joined_moves_an_op * (int64_t)search->graph->n_ops;
}

/* The bytes of all spaces as one arena: those of the arenas, and a share of the page space. Of the page space only what
 * keep-all needs beyond the arenas counts. -1: they do not fit in 63 bits. */
static int64_t joined_bytes(const page_attempt *attempt, double share) {
  const plim_paging *o = attempt->search->paging;
  int64_t bytes = attempt->search->options->budget_bytes, missing;
  for (int32_t i = 0; i < o->n_devices && bytes >= 0; i++) bytes = plim_add_checked(bytes, o->device[i].budget_bytes);
  missing = bytes < 0 ? 0 : attempt->keep_all->arena_bytes - bytes;
  if (!o->space || missing <= 0) return bytes;
  return bytes + (int64_t)((double)(o->budget_bytes < missing ? o->budget_bytes : missing) * share);
}

/* How many plans of all spaces as one arena there are. Each looks for any plan first, which takes its time however few
 * moves follow. So the first one is always made, and a further one for each number of ops that the iterations hold. */
static int32_t joined_plans(const page_search *search) {
  const int64_t iterations = search->options->iterations, more = iterations / search->graph->n_ops;
  return iterations > 0 && more < PLIM_PAGING_JOINED - 1 ? 1 + (int32_t)more : PLIM_PAGING_JOINED;
}

/* Recompute what does not fit into all spaces together, as one arena, and page or place the rest. A plan needs room in
 * the arena for what is copied, so that it may have to recompute more than the sum of bytes says. */
static plim_status try_joined_spaces(const page_attempt *attempt) {
  const page_search *search = attempt->search;
  int32_t left = joined_plans(search);
  plim_status status = PLIM_OK;
  for (int32_t i = 0; i < PLIM_PAGING_JOINED && left > 0 && status == PLIM_OK && !is_enough(search); i++) {
    plim_plan_options joined = inner_options(search, paging_tuning.plan.joined_part);
    plim_plan *plan = NULL;
    joined.budget_bytes = joined_bytes(attempt, paging_tuning.plan.joined[i]);
    if (joined.budget_bytes <= search->options->budget_bytes || joined.budget_bytes >= attempt->keep_all->arena_bytes)
      continue;
    left--;
    joined.iterations = joined_moves(search, joined.iterations);
    status = plim_arena_plan_make(search->ctx, search->graph, attempt->profile, &joined, &plan);
    if (status == PLIM_OK) status = search_from(attempt, plan);
    plim_plan_free(plan);
    if (!plim_paging_is_failure(search->ctx, status)) status = PLIM_OK;
    if (!search->paging->space) break; /* all shares are of nothing */
  }
  return status;
}

/* The plan of the arena alone for several devices, which a search for fewer of them may have made. */
static plim_status make_alone(const page_attempt *attempt, const plim_plan_options *plain, plim_plan **out) {
  const page_search *search = attempt->search;
  alone_plan *alone = search->alone;
  if (search->options->time_limit_ns > 0)
    return plim_arena_plan_make(search->ctx, search->graph, attempt->profile, plain, out);
  if (!alone->is_made) {
    alone->status = plim_arena_plan_make(search->ctx, search->graph, attempt->profile, plain, &alone->plan);
    alone->is_made = 1;
  }
  return alone->status == PLIM_OK ? plim_plan_from_parts(search->graph, alone->plan, out) : alone->status;
}

/* Try a plan of the arena alone: what fits without pages is a plan with pages too. */
static plim_status try_arena_alone(const page_attempt *attempt) {
  const page_search *search = attempt->search;
  plim_plan *plan = NULL;
  plim_plan_options plain = inner_options(search, paging_tuning.plan.last_part);
  plain.front_folder = NULL;
  const int64_t known = search->paging->n_devices > 0 ? INT64_MAX : ns_to_beat(search);
  plim_status made = known == INT64_MAX
                         ? make_alone(attempt, &plain, &plan)
                         : plim_arena_faster(search->ctx, search->graph, attempt->profile, &plain, known, &plan);
  return add_one_arena_plan(attempt, made, plan);
}

/* Try plans that recompute. Where time is limited the arena alone comes first, since it is surer to have a plan. */
static plim_status try_recompute(const page_attempt *attempt) {
  const page_search *search = attempt->search;
  const int limited = search->options->time_limit_ns > 0;
  if (limited) PLIM_TRY(try_arena_alone(attempt));
  if (!is_enough(search)) PLIM_TRY(try_joined_spaces(attempt));
  return limited || is_enough(search) ? PLIM_OK : try_arena_alone(attempt);
}

/* ---- all variants ---- */

/* Try one set of variants. keep_all NULL: it is made here. */
static plim_status try_profile(page_search *search, const plim_profile *profile, const plim_plan *keep_all) {
  page_attempt attempt = {.search = search, .profile = profile, .keep_all = keep_all};
  plim_plan *own = NULL;
  if (!keep_all) PLIM_TRY(plim_arena_once(search->ctx, search->graph, profile, search->options, &own));
  if (own) attempt.keep_all = own;
  assert(attempt.keep_all);
  plim_status status = try_keep_all(&attempt);
  plim_plan_free(own);
  return status;
}

/* Try plans that run every op once: from all variants, then from those with less and less workspace. */
static plim_status try_once(page_search *search, const plim_profile *profile, const plim_plan *keep_all) {
  int32_t variants = profile->first[search->graph->n_ops];
  PLIM_TRY(try_profile(search, profile, keep_all));
  for (int32_t i = 0; search->options->numerics == PLIM_NUMERICS_AUTO && i < PLIM_PAGING_LEAN; i++) {
    plim_profile *lean = NULL;
    if (is_enough(search)) break;
    PLIM_TRY(plim_lean_profile_make(search->ctx, search->graph, profile, search->options->budget_bytes,
                                    paging_tuning.plan.lean[i], &lean));
    int32_t left = lean->first[search->graph->n_ops];
    plim_status status = left < variants ? try_profile(search, lean, NULL) : PLIM_OK;
    variants = left;
    plim_profile_free(lean);
    PLIM_TRY(status);
  }
  return PLIM_OK;
}

static plim_status refuse(const page_search *search) {
  char others[512] = "";
  const plim_paging *o = search->paging;
  if (o->space) {
    (void)snprintf(others, sizeof others, " and %lld of %s", (long long)o->budget_bytes, o->space);
  }
  for (int32_t i = 0; i < o->n_devices; i++) {
    const plim_paging_device *d = &o->device[i];
    const size_t used = strlen(others);
    (void)snprintf(others + used, sizeof others - used, " and %lld of %.31s", (long long)d->budget_bytes, d->name);
  }
  return plim_fail(search->ctx, PLIM_ENOFIT, "no plan was found within %lld bytes of the arena%s, %s",
                   (long long)search->options->budget_bytes, others,
                   o->recompute ? "with recomputation" : "without recomputation");
}

/* Search all decisions together, from the best plan so far. */
static plim_status try_joint(page_search *search, const plim_profile *profile, const plim_plan *keep_all) {
  if (search->best) PLIM_TRY(plim_plan_from_parts(search->graph, search->best, &search->plain));
  if (search->options->order == PLIM_ORDER_FIXED || is_enough(search)) return PLIM_OK;
  return plim_joint_search(search->ctx, search->graph, profile, search->options, search->best ? search->best : keep_all,
                           search->keep_all_ns, &search->best);
}

/* What was found before a cancel counts. */
static plim_status ok_after_cancel(const page_search *search, plim_status status) {
  return status == PLIM_ECANCEL && search->best ? PLIM_OK : status;
}

static plim_status try_all(page_search *search, const plim_profile *profile, const plim_plan *keep_all) {
  const page_attempt attempt = {.search = search, .profile = profile, .keep_all = keep_all};
  int64_t outer_ns = begin_part(search, paging_tuning.plan.once_part);
  plim_status status = ok_after_cancel(search, try_once(search, profile, keep_all));
  status = plim_effort_end(search->ctx, outer_ns, status);
  if (status == PLIM_OK && search->paging->recompute && !is_enough(search))
    status = ok_after_cancel(search, try_recompute(&attempt));
  if (status == PLIM_OK) status = try_joint(search, profile, keep_all);
  status = ok_after_cancel(search, status);
  return status == PLIM_OK && !search->best ? refuse(search) : status;
}

/* ---- fewer devices ---- */

/* The commands and buffers of the plan in the spaces of one device more: the page space comes one later. */
static void shift_spaces(const plim_plan *plan, int32_t page, plim_command *command, plim_plan_buffer *buffer) {
  for (int32_t j = 0; j < plan->n_commands; j++) {
    command[j] = plan->command[j];
    if (command[j].kind != PLIM_COMMAND_COPY) continue;
    command[j].from += command[j].from == page;
    command[j].to += command[j].to == page;
  }
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    buffer[i] = plan->buffer[i];
    buffer[i].space += buffer[i].space == page;
  }
}

/* The plan of one device fewer as a plan of the options' spaces. Its queues stay, so that it takes the same time. */
static plim_status add_device(const page_search *search, const plim_profile *profile, const plim_plan *plan,
                              plim_plan **out) {
  plim_queue_spaces spaces;
  plim_plan draft = *plan;
  plim_command *command = NULL;
  plim_plan_buffer *buffer = NULL;
  plim_plan *made = NULL;
  plim_status status;
  plim_queue_spaces_make(search->options, &spaces);
  PLIM_TRY_OR_DONE(plim_allocate(search->ctx, plan->n_commands, sizeof *command, &command));
  PLIM_TRY_OR_DONE(plim_allocate(search->ctx, plan->n_buffers, sizeof *buffer, &buffer));
  PLIM_TRY_OR_DONE(plim_queue_bound(search->graph, profile, search->paging, search->keep_all_ns, &draft.bound_ns));
  shift_spaces(plan, search->paging->n_devices, command, buffer);
  draft.command = command;
  draft.buffer = buffer;
  draft.proved = 0;
  draft.n_page_spaces = spaces.n - 1;
  draft.page = spaces.page;
  PLIM_TRY_OR_DONE(plim_plan_from_parts(search->graph, &draft, &made));
  PLIM_TRY_OR_DONE(plim_plan_check(search->ctx, search->graph, made));
  *out = made;
  made = NULL;
done:
  plim_plan_free(made);
  plim_release(search->ctx, command, plan->n_commands, sizeof *command);
  plim_release(search->ctx, buffer, plan->n_buffers, sizeof *buffer);
  return status;
}

static plim_status plan_for_devices(const plim_paging_task *task, const plim_plan *keep_all, int64_t known_ns,
                                    alone_plan *alone, plim_plan **plain, plim_plan **out);

/* Begin with the plan of one device fewer, where there is one. */
static plim_status begin_with_fewer(page_search *search, const plim_profile *profile, const plim_plan *keep_all) {
  plim_paging fewer = *search->paging;
  plim_plan_options inner = *search->options;
  plim_plan *plan = NULL, *plain = NULL, *wide = NULL;
  if (fewer.n_devices < 2 || fewer.first_plan) return PLIM_OK;
  fewer.n_devices--;
  inner.paging = &fewer;
  const plim_paging_task task = {search->ctx, search->graph, profile, &inner, keep_all};
  int64_t outer_ns = begin_part(search, paging_tuning.plan.fewer_part);
  plim_status status = plan_for_devices(&task, keep_all, search->known_ns, search->alone, &plain, &plan);
  status = plim_effort_end(search->ctx, outer_ns, status);
  plim_plan_free(plain);
  if (plan && plan->n_page_spaces == 0) {
    wide = plan;
  } else if (plan) {
    status = add_device(search, profile, plan, &wide);
    plim_plan_free(plan);
  }
  plim_paging_keep_better(search->paging, &search->best, wide);
  return plim_paging_is_failure(search->ctx, status) ? status : PLIM_OK;
}

/* ---- the whole ---- */

static plim_status plan_for_devices(const plim_paging_task *task, const plim_plan *keep_all, int64_t known_ns,
                                    alone_plan *alone, plim_plan **plain, plim_plan **out) {
  page_search search = {.ctx = task->ctx,
                        .alone = alone,
                        .graph = task->graph,
                        .options = task->options,
                        .paging = task->options->paging,
                        .keep_all_ns = keep_all->keep_all_ns,
                        .known_ns = known_ns};
  plim_status status = begin_with_fewer(&search, task->profile, keep_all);
  if (status == PLIM_OK) status = try_all(&search, task->profile, keep_all);
  status = ok_after_cancel(&search, status);
  if (status == PLIM_OK) {
    *plain = search.plain;
    *out = search.best;
  } else {
    plim_plan_free(search.plain);
    plim_plan_free(search.best);
  }
  return status;
}

plim_status plim_page_plan_make(const plim_paging_task *task, int64_t known_ns, plim_plan **plain, plim_plan **out) {
  alone_plan alone = {.is_made = 0};
  plim_plan *keep_all = NULL;
  plim_status status = PLIM_OK;
  if (!task->keep_all) PLIM_TRY(plim_arena_once(task->ctx, task->graph, task->profile, task->options, &keep_all));
  status = plan_for_devices(task, task->keep_all ? task->keep_all : keep_all, known_ns, &alone, plain, out);
  plim_plan_free(alone.plan);
  plim_plan_free(keep_all);
  return status;
}
