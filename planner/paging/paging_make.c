/* plim_plan_make with a space to page to, or several devices. One plan has everything that persists at home in the
 * arena (page_plan.c). Others have optimizer state, or state and parameters, at home in the page space (home_plan.c).
 * The best one is taken. */
#include <stdio.h>

#include "planner/one_arena/arena_plan.h"
#include "planner/paging/paging_internal.h"

/* ---- options ---- */

static plim_status check_options(plim_context *ctx, const plim_plan_options *options) {
  const plim_paging *o = options->paging;
  PLIM_TRY(plim_check_options(ctx, "plim_plan_options", options->struct_bytes, sizeof *options));
  PLIM_TRY(plim_check_options(ctx, "plim_paging", o->struct_bytes, sizeof *o));
  if (options->unpacked) return plim_fail(ctx, PLIM_EUSAGE, "a plan without addresses cannot page");
  if (o->n_devices < 0 || o->n_devices > PLIM_PAGE_DEVICES) {
    return plim_fail(ctx, PLIM_EUSAGE, "%d devices beside the first one, not 0 to %d", (int)o->n_devices,
                     (int)PLIM_PAGE_DEVICES);
  }
  for (int32_t i = 0; i < o->n_devices; i++) {
    const plim_paging_device *d = &o->device[i];
    if (d->name && d->budget_bytes >= 0 && o->device_latency_ns >= 0 && o->device_bytes_per_ns > 0) continue;
    return plim_fail(ctx, PLIM_EUSAGE, "a link of %lld ns and %g bytes a ns to %lld bytes of %s",
                     (long long)o->device_latency_ns, o->device_bytes_per_ns, (long long)d->budget_bytes,
                     d->name ? d->name : "a device without a name");
  }
  for (int in = 0; in < 2 && o->space; in++) {
    if (o->latency_ns[in] >= 0 && o->bytes_per_ns[in] > 0 && o->delay_share >= 0 && o->budget_bytes >= 0) continue;
    return plim_fail(ctx, PLIM_EUSAGE,
                     "a link of %lld ns and %g bytes a ns, delaying runs by %g of its time, in %lld bytes",
                     (long long)o->latency_ns[in], o->bytes_per_ns[in], o->delay_share, (long long)o->budget_bytes);
  }
  return PLIM_OK;
}

/* ---- homes ---- */

/* May homes in the page space save more time than their copies take? The best plan loses time since bytes are missing.
 * Homes are taken to save the share of that time that they are of these bytes. */
static int homes_pay(const plim_paging_task *task, int64_t best_ns, int64_t bytes, double copies_ns) {
  if (task->options->paging->powers) return 1; /* a slower plan may take less energy */
  double missing = (double)(task->keep_all->peak_bytes - task->options->budget_bytes) + 1;
  double loss_ns = (double)(best_ns - task->keep_all->keep_all_ns);
  double share = missing > 0 ? (double)bytes / missing : 1;
  return loss_ns * (share < 1 ? share : 1) > copies_ns;
}

/* A plim_plan_maker of one arena. */
static plim_status make_unpaged(const plim_paging_task *task, int64_t known_ns, plim_plan **plain, plim_plan **out) {
  (void)known_ns;
  *plain = NULL;
  return plim_arena_plan_make(task->ctx, task->graph, task->profile, task->options, out);
}

/* Try a plan with optimizer state (params 1: and parameters) at home in the page space. It is tried where nothing else
 * fits, and where it may be faster than *plain_ns.
 *   plain_ns  [1] in out  time of the best plan that is compared; INT64_MAX: there is none. It is not that of a plan
 *                         without homes from the joint search: however fast that is, plans with homes are tried */
static plim_status make_homed(const plim_paging_task *task, int params, int64_t *plain_ns, plim_plan **best) {
  const plim_paging *o = task->options->paging;
  plim_plan *plan = NULL;
  int64_t bytes = plim_home_bytes(o, task->graph, params);
  if (bytes == 0) return PLIM_OK;
  if (params && o->homes != PLIM_HOMES_PARAMS && bytes == plim_home_bytes(o, task->graph, 0)) return PLIM_OK;
  double delay_share = plim_homes_alone(o) ? 0 : o->delay_share;
  double copies_ns =
      delay_share * ((double)bytes / o->bytes_per_ns[PLIM_LINK_OUT] + (double)bytes / o->bytes_per_ns[PLIM_LINK_IN]);
  int has_plan = *plain_ns < INT64_MAX;
  if (has_plan && !homes_pay(task, *plain_ns, bytes, copies_ns)) return PLIM_OK;
  plim_plan_maker *make = plim_homes_alone(o) ? make_unpaged : plim_page_plan_make;
  plim_status status = plim_home_make(task, *plain_ns, params, make, &plan);
  if (plan && plan->time_ns < *plain_ns) *plain_ns = plan->time_ns;
  plim_paging_keep_better(o, best, plan);
  return plim_paging_is_failure(task->ctx, status) ? status : PLIM_OK;
}

/* The copies to homes are those of one device. */
static int may_have_homes(const plim_paging *o) {
  return o->space && o->n_devices == 0;
}

static plim_status try_homes(const plim_paging_task *task, int64_t plain_ns, plim_plan **best) {
  const plim_paging *o = task->options->paging;
  if (o->homes == PLIM_HOMES_NEVER || !may_have_homes(o) || (*best && o->first_plan)) return PLIM_OK;
  if (o->homes != PLIM_HOMES_PARAMS) PLIM_TRY(make_homed(task, 0, &plain_ns, best));
  if (o->homes == PLIM_HOMES_STATE || o->homes == PLIM_HOMES_AS_BESIDE) return PLIM_OK;
  return make_homed(task, 1, &plain_ns, best);
}

/* May everything that persists be at home in the arena? It may where the options leave it open, and where nothing can
 * be at home in the page space. What another plan has at home there must be at home there in this plan too. */
static int may_have_no_homes(const plim_paging *o, const plim_graph *graph) {
  if (o->homes == PLIM_HOMES_NEVER || o->homes == PLIM_HOMES_WHERE_FASTER) return 1;
  if (!may_have_homes(o) && !o->beside) return 1;
  return plim_home_bytes(o, graph, o->homes == PLIM_HOMES_PARAMS) == 0;
}

/* Make a plan without homes in the page space. Where only homes may be there, it goes without that space. */
static plim_status make_without_homes(const plim_paging_task *task, plim_plan **plain, plim_plan **best) {
  plim_paging paging = *task->options->paging;
  plim_plan_options options = *task->options;
  plim_paging_task inner = *task;
  if (plim_homes_alone(&paging)) paging.space = NULL;
  options.paging = &paging;
  inner.options = &options;
  return plim_page_plan_make(&inner, INT64_MAX, plain, best);
}

/* Set the error for the case that the planner of homes sets none. */
static void say_no_homes(const plim_paging_task *task) {
  (void)plim_fail(task->ctx, PLIM_ENOFIT,
                  may_have_homes(task->options->paging)
                      ? "no plan with homes in the page space was found in time"
                      : "what is at home in a page space needs that space and one device");
}

/* ---- the whole ---- */

static plim_status make_best(const plim_paging_task *task, plim_plan **best) {
  char sentence[PLIM_ERROR_BYTES];
  plim_plan *plain = NULL;
  plim_status status = PLIM_ENOFIT;
  const int without = may_have_no_homes(task->options->paging, task->graph);
  if (without) {
    status = make_without_homes(task, &plain, best);
  } else {
    say_no_homes(task);
  }
  if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(task->ctx));
  const int64_t plain_ns = plain ? plain->time_ns : INT64_MAX;
  plim_plan_free(plain);
  status = try_homes(task, plain_ns, best);
  if (status == PLIM_ECANCEL && *best) return PLIM_OK; /* what was found before a cancel counts */
  PLIM_TRY(status);
  if (*best) return PLIM_OK;
  return without ? plim_fail(task->ctx, PLIM_ENOFIT, "%s", sentence) : PLIM_ENOFIT; /* with the homes' sentence */
}

static plim_status refuse_late(plim_context *ctx, const plim_plan_options *options, const plim_plan *best) {
  return plim_fail(
      ctx, PLIM_ENOFIT,
      "no plan was found within %lld bytes that ends by the deadline of %.6g ms: the fastest takes %.6g ms",
      (long long)options->budget_bytes, (double)options->paging->deadline_ns * 1e-6, (double)best->time_ns * 1e-6);
}

plim_status plim_paging_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                             const plim_plan_options *options, plim_plan **out) {
  plim_plan *keep_all = NULL, *best = NULL;
  PLIM_TRY(check_options(ctx, options));
  PLIM_TRY(plim_arena_once(ctx, graph, profile, options, &keep_all));
  const plim_paging_task task = {ctx, graph, profile, options, keep_all};
  plim_status status = make_best(&task, &best);
  if (best && status == PLIM_OK && plim_paging_lateness(options->paging, best) > 0) {
    status = refuse_late(ctx, options, best);
  }
  plim_plan_free(keep_all);
  if (status == PLIM_OK) {
    plim_paging_bound_by_keep_all(best);
    *out = best;
  } else {
    plim_plan_free(best);
  }
  return status;
}
