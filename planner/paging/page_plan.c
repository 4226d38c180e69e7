/* Which storages page. Keep-all's plan says where bytes are short; a greedy covering pages what relieves most for its
 * cost, and stops at several levels. At each level the planner for one arena plans the rest: it recomputes, or it runs
 * every op once. Each plan is lowered to queues, and the fastest is taken; one without paging counts too. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planner/paging/paging.h"
#include "runtime/base/effort.h"
#include "runtime/graph/check.h"

enum { LEVELS = 3, PACK_EFFORT = 200 };

/* A storage that could page, and where keep-all's plan would not hold it. */
typedef struct candidate {
  plim_page_choice choice;
  int64_t bytes;
  int64_t cost_ns;    /* what its copies take from the runs */
  int64_t again_ns;   /* what recomputing it takes: the run of its producer */
  int32_t begin, end; /* steps of keep-all's plan */
  int32_t taken;
  double relief; /* as it was looked at last */
  int32_t fresh; /* 1: since another one was taken */
} candidate;

typedef struct paging {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_profile *profile;
  const plim_plan_options *options;
  const plim_paging *o;
  const plim_plan *keep_all; /* with this profile */
  int64_t keep_all_ns;       /* with all variants */
  candidate *candidate;      /* by storage, then by late */
  int32_t n;
  int32_t *step_of;         /* [n_ops] step of keep-all's plan */
  uint8_t *paged;           /* [n_storages] 1: a pause of it is taken */
  int64_t *live;            /* [steps of keep_all] */
  plim_page_choice *choice; /* [n] of the level in hand */
  int64_t *charge_ns;       /* [2n] */
  const char **label;       /* [ops + 2n] with PLIM_NUMERICS_GIVEN */
  int64_t smallest_bytes;   /* arena of the smallest plan met */
  plim_plan *best;
} paging;

void plim_paging_keep_faster(plim_plan **best, plim_plan *plan) {
  if (!plan) return;
  if (*best && (*best)->time_ns <= plan->time_ns) {
    plim_plan_free(plan);
  } else {
    plim_plan_free(*best);
    *best = plan;
  }
}

/* 1 / parts of the time that is left; 0: no limit. */
static int64_t part_of_time(const paging *p, int64_t parts) {
  if (p->options->time_limit_ns <= 0) return 0;
  return plim_effort_left_ns(p->ctx) / parts + 1;
}

/* A plan that was not found in time, or not at all, is no failure; a cancel is. */
static int is_failure(plim_context *ctx, plim_status status) {
  return status != PLIM_OK && status != PLIM_ENOFIT && (status != PLIM_ECANCEL || plim_context_cancelled(ctx));
}

/* One device takes no less than keep-all; and what was found counts when the time is over. */
static int is_enough(plim_context *ctx, const plim_paging *o, const plim_plan *best, int64_t keep_all_ns) {
  if (!best) return 0;
  return (!o->device && best->time_ns <= keep_all_ns) || plim_effort_over(ctx, PLIM_EFFORT_LOOK);
}

/* ---- candidates ---- */

static int64_t copy_ns(const plim_paging *o, int in, int64_t bytes) {
  double ns = (double)bytes / o->bytes_per_ns[in];
  return o->latency_ns[in] + (ns < 0x1p53 ? (int64_t)ns : INT64_C(1) << 53);
}

static int64_t step_ns(const plim_plan *plan, int32_t j) {
  return plan->variant[plan->step[j].variant].variant.time_ns;
}

/* A pause of a storage between two uses in keep-all's plan, which ends at step `end` with a run of `late`. Where copies
 * take longer than it lasts, runs wait for them, whatever they share. */
static void add_candidate(paging *p, int32_t s, int32_t late, int32_t begin, int32_t end, int64_t pause_ns) {
  int64_t bytes = p->graph->storage[s].bytes;
  candidate c = {.bytes = plim_align_up(bytes, PLIM_ALIGN), .begin = begin, .end = end};
  c.choice = (plim_page_choice){s, late, copy_ns(p->o, 0, bytes), copy_ns(p->o, 1, bytes)};
  int64_t both_ns = c.choice.out_ns + c.choice.in_ns, late_ns = both_ns > pause_ns ? both_ns - pause_ns : 0;
  c.cost_ns = (int64_t)((double)both_ns * p->o->charge) + late_ns;
  c.again_ns = step_ns(p->keep_all, p->step_of[p->graph->storage[s].producer]);
  p->candidate[p->n++] = c;
}

/* Every pause of a storage that an op writes. */
static void add_candidates(paging *p, int32_t s, const int64_t *begin_ns) {
  const plim_graph *g = p->graph;
  const plim_storage *storage = &g->storage[s];
  if (storage->producer < 0 || storage->bytes <= 0 || storage->role == PLIM_ROLE_OUTPUT) return;
  int32_t last = p->step_of[storage->producer];
  for (int32_t i = g->reader_first[s]; i < g->reader_first[s + 1]; i++) {
    int32_t now = p->step_of[g->reader[i]];
    if (now > last + 1) add_candidate(p, s, g->reader[i], last + 1, now, begin_ns[now] - begin_ns[last + 1]);
    if (now > last) last = now;
  }
}

static plim_status find_candidates(paging *p) {
  const plim_plan *k = p->keep_all;
  int64_t *begin_ns = NULL, steps = k->n_steps;
  plim_status status;
  PLIM_CHECK(plim_allocate(p->ctx, steps + 1, sizeof *begin_ns, &begin_ns));
  for (int32_t j = 0; j < k->n_steps; j++) {
    p->step_of[k->step[j].op] = j;
    begin_ns[j + 1] = begin_ns[j] + step_ns(k, j);
  }
  for (int32_t s = 0; s < p->graph->n_storages; s++) add_candidates(p, s, begin_ns);
done:
  plim_release(p->ctx, begin_ns, steps + 1, sizeof *begin_ns);
  return status;
}

/* ---- covering ---- */

static void set_live(const paging *p) {
  const plim_plan *k = p->keep_all;
  memset(p->live, 0, (size_t)k->n_steps * sizeof *p->live);
  for (int32_t i = 0; i < k->n_buffers; i++) {
    for (int32_t j = k->buffer[i].begin; j < k->buffer[i].end; j++) p->live[j] += k->buffer[i].bytes;
  }
}

/* Bytes by which a candidate relieves steps that are above the target, a nanosecond of its cost: its copies, or less
 * where its producer takes long, since others are recomputed for less. */
static double relief(const paging *p, const candidate *c, int64_t target) {
  double sum = 0;
  for (int32_t j = c->begin; j < c->end; j++) {
    int64_t over = p->live[j] - target;
    if (over > 0) sum += (double)(over < c->bytes ? over : c->bytes);
  }
  double cost = (double)c->cost_ns + 1;
  if (p->o->recompute) cost = cost * cost / (cost + (double)c->again_ns);
  return sum / cost;
}

/* Does the page space hold the candidate too? It does where another pause of its storage is paged. */
static int has_page(const paging *p, const candidate *c, int64_t page_bytes) {
  return p->paged[c->choice.storage] || page_bytes + c->bytes <= p->o->budget_bytes;
}

/* The candidate that relieves most, -1: none. What each relieves only falls while others are taken, so that one whose
 * figure is of now, and above all figures, needs no other to be looked at. */
static int32_t find_best(paging *p, int64_t target, int64_t page_bytes) {
  for (int64_t work = 0;; work = 0) {
    int32_t best = -1;
    for (int32_t i = 0; i < p->n; i++) {
      const candidate *c = &p->candidate[i];
      if (c->taken || c->relief <= 0 || !has_page(p, c, page_bytes)) continue;
      if (best < 0 || c->relief > p->candidate[best].relief) best = i;
    }
    if (best < 0) return -1;
    candidate *c = &p->candidate[best];
    if (c->fresh) return best;
    c->relief = relief(p, c, target);
    c->fresh = 1;
    work += p->n + c->end - c->begin;
    if (plim_effort_over(p->ctx, work)) return -1;
  }
}

/* Page until no step is above the target. 0: nothing is left that relieves any, or the time is over. */
static int cover(paging *p, int64_t target, int64_t *page_bytes) {
  for (int32_t i = 0; i < p->n; i++) p->candidate[i].relief = INFINITY;
  for (;;) {
    for (int32_t i = 0; i < p->n; i++) p->candidate[i].fresh = 0;
    int32_t i = find_best(p, target, *page_bytes);
    if (i < 0) break;
    candidate *best = &p->candidate[i];
    if (!p->paged[best->choice.storage]) *page_bytes += best->bytes;
    best->taken = p->paged[best->choice.storage] = 1;
    for (int32_t j = best->begin; j < best->end; j++) p->live[j] -= best->bytes;
  }
  for (int32_t j = 0; j < p->keep_all->n_steps; j++) {
    if (p->live[j] > target) return 0;
  }
  return 1;
}

/* ---- one level ---- */

static int32_t take_choices(paging *p) {
  int32_t n = 0, i = 0;
  for (int32_t k = 0; k < p->n; k++) n += p->candidate[k].taken;
  for (int32_t k = 0; k < p->n; k++) {
    const candidate *c = &p->candidate[k];
    if (!c->taken) continue;
    p->choice[i] = c->choice;
    p->charge_ns[i] = (int64_t)((double)c->choice.out_ns * p->o->charge);
    p->charge_ns[n + i] = (int64_t)((double)c->choice.in_ns * p->o->charge);
    i++;
  }
  return n;
}

static plim_status plan_paged(paging *p, const plim_page_graph *paged, plim_plan **out) {
  plim_plan_options inner = *p->options;
  inner.time_limit_ns = part_of_time(p, 4);
  inner.paging = NULL;
  inner.known = NULL;
  for (int32_t o = 0; inner.labels == PLIM_NUMERICS_GIVEN && o < paged->paged->n_ops; o++) {
    p->label[o] = paged->op[o] < 0 ? "page" : p->options->label[paged->op[o]];
  }
  inner.label = p->label;
  return p->o->recompute ? plim_plan_make(p->ctx, paged->paged, paged->profile, &inner, out)
                         : plim_plan_keep_all(p->ctx, paged->paged, paged->profile, &inner, out);
}

/* The plan of what pages now; one that does not fit is no failure. */
static plim_status try_level(paging *p) {
  plim_page_graph *paged = NULL;
  plim_plan *plan = NULL, *lowered = NULL;
  plim_page_lower_options lower = {.name = p->o->space,
                                   .budget_bytes = p->options->budget_bytes,
                                   .page_budget_bytes = p->o->budget_bytes,
                                   .keep_all_ns = p->keep_all_ns,
                                   .effort = PACK_EFFORT};
  int32_t n = take_choices(p);
  plim_status status;
  PLIM_CHECK(plim_page_graph_make(p->ctx, p->graph, p->profile, n, p->choice, p->charge_ns, &paged));
  PLIM_CHECK(plan_paged(p, paged, &plan));
  if (plan->arena_bytes < p->smallest_bytes) p->smallest_bytes = plan->arena_bytes;
  PLIM_CHECK(plim_page_lower(paged, plan, &lower, &lowered));
  PLIM_CHECK(plim_plan_check(p->ctx, p->graph, lowered));
  plim_paging_keep_faster(&p->best, lowered);
  lowered = NULL;
done:
  plim_plan_free(lowered);
  plim_plan_free(plan);
  plim_page_graph_free(paged);
  return is_failure(p->ctx, status) ? status : PLIM_OK;
}

/* Devices and copies for the runs of a plan of one arena. */
static plim_status search_from(paging *p, const plim_plan *base) {
  if (p->options->time_limit_ns <= 0) {
    return plim_queue_search(p->ctx, p->graph, p->profile, p->options, base, p->keep_all_ns, &p->best);
  }
  int64_t outer_ns = plim_effort_begin(p->ctx, plim_now_ns() + part_of_time(p, 3));
  plim_status status = plim_queue_search(p->ctx, p->graph, p->profile, p->options, base, p->keep_all_ns, &p->best);
  return plim_effort_end(p->ctx, outer_ns, status);
}

/* ---- all levels ---- */

/* From a level at which some bytes are paged to the one at which all that is missing is. Where that does not fit, what
 * copies hold while they run is missing too: more is paged, by and by everything that can be. */
static plim_status try_levels(paging *p) {
  int64_t peak = p->keep_all->peak_bytes, budget = p->options->budget_bytes, page_bytes = 0;
  int64_t missing = peak > budget ? peak - budget : 0;
  set_live(p);
  for (int level = p->o->recompute ? 1 : LEVELS; level <= LEVELS; level++) {
    (void)cover(p, peak - missing / LEVELS * level, &page_bytes);
    if (is_enough(p->ctx, p->o, p->best, p->keep_all_ns)) return PLIM_OK;
    PLIM_TRY(try_level(p));
  }
  for (int64_t target = budget; !p->best && target > 0;) {
    target -= budget / 20 + 1;
    int32_t before = 0, after = 0;
    for (int32_t i = 0; i < p->n; i++) before += p->candidate[i].taken;
    int more = cover(p, target, &page_bytes);
    for (int32_t i = 0; i < p->n; i++) after += p->candidate[i].taken;
    if (after > before) PLIM_TRY(try_level(p));
    if (!more) break;
  }
  return PLIM_OK;
}

static plim_status refuse(const paging *p) {
  char beside[128] = "", smallest[96] = "give more bytes of either";
  const plim_paging *o = p->o;
  if (o->space) {
    (void)snprintf(beside, sizeof beside, " and %lld of %s", (long long)o->budget_bytes, o->space);
  }
  if (o->device) {
    size_t used = strlen(beside);
    (void)snprintf(beside + used, sizeof beside - used, " and %lld of %s", (long long)o->device_bytes, o->device);
  }
  if (p->smallest_bytes < INT64_MAX) {
    (void)snprintf(smallest, sizeof smallest, "the smallest arena that was met has %lld bytes",
                   (long long)p->smallest_bytes);
  }
  return plim_fail(p->ctx, PLIM_ENOFIT, "no plan was found within %lld bytes of the arena%s, %s: %s",
                   (long long)p->options->budget_bytes, beside,
                   o->recompute ? "with recomputation" : "without recomputation", smallest);
}

static plim_status check_paging(const plim_plan_options *options, plim_context *ctx) {
  const plim_paging *o = options->paging;
  if (options->unpacked) return plim_fail(ctx, PLIM_EUSAGE, "a plan without addresses cannot page");
  if (o->device && (o->device_latency_ns < 0 || !(o->device_bytes_per_ns > 0) || o->device_bytes < 0)) {
    return plim_fail(ctx, PLIM_EUSAGE, "a link of %lld ns and %g bytes a ns to %lld bytes of %s",
                     (long long)o->device_latency_ns, o->device_bytes_per_ns, (long long)o->device_bytes, o->device);
  }
  for (int in = 0; in < 2 && o->space; in++) {
    if (o->latency_ns[in] >= 0 && o->bytes_per_ns[in] > 0 && o->charge >= 0 && o->budget_bytes >= 0) continue;
    return plim_fail(ctx, PLIM_EUSAGE, "a link of %lld ns and %g bytes a ns, charged with %g, in %lld bytes",
                     (long long)o->latency_ns[in], o->bytes_per_ns[in], o->charge, (long long)o->budget_bytes);
  }
  return PLIM_OK;
}

/* With two devices, recompute what does not fit into both arenas together. */
static plim_status try_both_arenas(paging *p) {
  plim_plan_options both = *p->options;
  plim_plan *plan = NULL;
  if (!p->o->device || !p->o->recompute) return PLIM_OK;
  both.paging = NULL;
  both.budget_bytes = plim_add_bytes(both.budget_bytes, p->o->device_bytes);
  both.time_limit_ns = part_of_time(p, 4);
  if (both.budget_bytes < 0 || both.budget_bytes >= p->keep_all->arena_bytes) return PLIM_OK;
  plim_status status = plim_plan_make(p->ctx, p->graph, p->profile, &both, &plan);
  if (status != PLIM_OK) return is_failure(p->ctx, status) ? status : PLIM_OK;
  status = search_from(p, plan);
  plim_plan_free(plan);
  return status;
}

static plim_status make_all(paging *p) {
  plim_plan_options plain = *p->options;
  plim_plan *plan = NULL;
  plain.paging = NULL;
  int fits = p->keep_all->arena_bytes <= plain.budget_bytes;
  if (!fits || p->o->device) PLIM_TRY(search_from(p, p->keep_all));
  if (is_enough(p->ctx, p->o, p->best, p->keep_all_ns)) return PLIM_OK;
  if (!fits && p->o->space && p->o->budget_bytes > 0) {
    PLIM_TRY(find_candidates(p));
    if (p->n > 0) PLIM_TRY(try_levels(p));
  }
  PLIM_TRY(try_both_arenas(p));
  if (is_enough(p->ctx, p->o, p->best, p->keep_all_ns)) return PLIM_OK;
  if (!p->o->recompute && !fits) return p->best ? PLIM_OK : refuse(p);
  plain.time_limit_ns = part_of_time(p, 2);
  plim_status status = p->o->recompute ? plim_plan_make(p->ctx, p->graph, p->profile, &plain, &plan)
                                       : plim_plan_keep_all(p->ctx, p->graph, p->profile, &plain, &plan);
  if (status != PLIM_OK && !is_failure(p->ctx, status)) return p->best ? PLIM_OK : refuse(p);
  PLIM_TRY(status);
  status = fits && !p->o->device ? PLIM_OK : search_from(p, plan);
  plim_paging_keep_faster(&p->best, plan);
  return status;
}

/* What was found before a cancel counts. */
static plim_status make(paging *p) {
  plim_status status = make_all(p);
  return status == PLIM_ECANCEL && p->best ? PLIM_OK : status;
}

static plim_status make_with(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                             const plim_plan_options *options, int64_t keep_all_ns, int64_t *smallest_bytes,
                             plim_plan **out) {
  paging p = {.ctx = ctx, .graph = graph, .profile = profile, .options = options, .o = options->paging};
  plim_plan_options unlimited = *options;
  plim_plan *keep_all = NULL;
  int64_t n = graph->reader_first[graph->n_storages], steps = 0; /* pauses end with a reader */
  plim_status status;
  p.smallest_bytes = *smallest_bytes;
  p.keep_all_ns = keep_all_ns;
  unlimited.paging = NULL;
  PLIM_TRY(plim_plan_keep_all(ctx, graph, profile, &unlimited, &keep_all));
  p.keep_all = keep_all;
  steps = keep_all->n_steps;
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *p.candidate, &p.candidate));
  PLIM_CHECK(plim_allocate(ctx, graph->n_ops, sizeof *p.step_of, &p.step_of));
  PLIM_CHECK(plim_allocate(ctx, graph->n_storages, sizeof *p.paged, &p.paged));
  PLIM_CHECK(plim_allocate(ctx, steps, sizeof *p.live, &p.live));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *p.choice, &p.choice));
  PLIM_CHECK(plim_allocate(ctx, 2 * n, sizeof *p.charge_ns, &p.charge_ns));
  PLIM_CHECK(plim_allocate(ctx, graph->n_ops + 2 * n, sizeof *p.label, &p.label));
  PLIM_CHECK(make(&p));
  *out = p.best;
  p.best = NULL;
done:
  *smallest_bytes = p.smallest_bytes;
  plim_plan_free(p.best);
  plim_release(ctx, p.candidate, n, sizeof *p.candidate);
  plim_release(ctx, p.step_of, graph->n_ops, sizeof *p.step_of);
  plim_release(ctx, p.paged, graph->n_storages, sizeof *p.paged);
  plim_release(ctx, p.live, steps, sizeof *p.live);
  plim_release(ctx, p.choice, n, sizeof *p.choice);
  plim_release(ctx, p.charge_ns, 2 * n, sizeof *p.charge_ns);
  plim_release(ctx, p.label, graph->n_ops + 2 * n, sizeof *p.label);
  plim_plan_free(keep_all);
  return status;
}

/* ---- workspaces ---- */

/* Bytes that the budget leaves for the workspace of an op, beside its operands and what persists. */
static int64_t workspace_room(const plim_graph *g, const plim_op *op, int64_t budget_bytes) {
  int64_t room = budget_bytes - plim_graph_persistent_bytes(g);
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (!plim_role_persistent(g->storage[op->reads[i]].role)) room -= g->storage[op->reads[i]].bytes;
  }
  for (int32_t i = 0; i < op->n_writes; i++) room -= g->storage[op->writes[i]].bytes;
  return room > 0 ? room : 0;
}

/* The profile without variants whose workspace takes more than that share of the room; each op keeps the one with the
 * least. */
static plim_status make_lean(plim_context *ctx, const plim_graph *g, const plim_profile *profile, int64_t budget_bytes,
                             double share, plim_profile **out) {
  int64_t rows = profile->first[g->n_ops], n = 0;
  plim_variant *variant = NULL;
  int32_t *first = NULL;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, rows, sizeof *variant, &variant));
  PLIM_CHECK(plim_allocate(ctx, (int64_t)g->n_ops + 1, sizeof *first, &first));
  for (int32_t o = 0; o < g->n_ops; o++) {
    int64_t most = (int64_t)((double)workspace_room(g, &g->op[o], budget_bytes) * share), least = INT64_MAX;
    for (int32_t i = profile->first[o]; i < profile->first[o + 1]; i++) {
      if (profile->variant[i].workspace_bytes < least) least = profile->variant[i].workspace_bytes;
    }
    for (int32_t i = profile->first[o]; i < profile->first[o + 1]; i++) {
      if (profile->variant[i].workspace_bytes <= (most > least ? most : least)) variant[n++] = profile->variant[i];
    }
    first[o + 1] = (int32_t)n;
  }
  PLIM_CHECK(plim_profile_make(g, &profile->machine, profile->measured, first, variant, out));
done:
  plim_release(ctx, variant, rows, sizeof *variant);
  plim_release(ctx, first, (int64_t)g->n_ops + 1, sizeof *first);
  return status;
}

/* A plan that was not found is no failure. */
static plim_status take_faster(plim_context *ctx, plim_status status, plim_plan **plan, plim_plan **best) {
  if (status == PLIM_OK) plim_paging_keep_faster(best, *plan);
  return is_failure(ctx, status) ? status : PLIM_OK;
}

/* Plans that run every op once, from all variants and from those with less and less workspace: such a plan takes the
 * fastest variant that there is, whatever its workspace. */
static plim_status make_once(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                             const plim_plan_options *options, int64_t keep_all_ns, int64_t *smallest_bytes,
                             plim_plan **best) {
  static const double shares[] = {1, 0.5, 0.25, 0.1, 0};
  plim_paging once = *options->paging;
  plim_plan_options wanted = *options;
  plim_plan *plan = NULL;
  once.recompute = 0;
  wanted.paging = &once;
  PLIM_TRY(take_faster(ctx, make_with(ctx, graph, profile, &wanted, keep_all_ns, smallest_bytes, &plan), &plan, best));
  for (size_t i = 0; wanted.labels == PLIM_NUMERICS_AUTO && i < sizeof shares / sizeof *shares; i++) {
    plim_profile *lean = NULL;
    if (is_enough(ctx, options->paging, *best, keep_all_ns)) break;
    PLIM_TRY(make_lean(ctx, graph, profile, options->budget_bytes, shares[i], &lean));
    plim_status status = make_with(ctx, graph, lean, &wanted, keep_all_ns, smallest_bytes, &plan);
    plim_profile_free(lean);
    PLIM_TRY(take_faster(ctx, status, &plan, best));
  }
  return PLIM_OK;
}

static plim_status make_paged(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, plim_plan **out) {
  plim_plan *keep_all = NULL, *best = NULL, *plan = NULL;
  plim_plan_options unlimited = *options;
  unlimited.paging = NULL;
  PLIM_TRY(plim_plan_keep_all(ctx, graph, profile, &unlimited, &keep_all));
  int64_t keep_all_ns = keep_all->keep_all_ns, smallest_bytes = INT64_MAX;
  plim_plan_free(keep_all);
  int64_t outer_ns = INT64_MAX, limit_ns = options->time_limit_ns;
  if (limit_ns > 0) outer_ns = plim_effort_begin(ctx, plim_now_ns() + plim_effort_left_ns(ctx) / 3);
  plim_status status = make_once(ctx, graph, profile, options, keep_all_ns, &smallest_bytes, &best);
  if (limit_ns > 0) status = plim_effort_end(ctx, outer_ns, status);
  if (status == PLIM_OK && options->paging->recompute && !is_enough(ctx, options->paging, best, keep_all_ns)) {
    status =
        take_faster(ctx, make_with(ctx, graph, profile, options, keep_all_ns, &smallest_bytes, &plan), &plan, &best);
  }
  if (status == PLIM_OK && !best) status = PLIM_ENOFIT; /* the last of them has left the sentence */
  if (status == PLIM_OK) {
    *out = best;
  } else {
    plim_plan_free(best);
  }
  return status;
}

/* With state at home in the page space: where nothing else fits, or where more than its copies could be saved. */
static plim_status make_homed(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                              const plim_plan_options *options, plim_plan **best) {
  const plim_paging *o = options->paging;
  plim_plan_options unlimited = *options;
  plim_plan *keep_all = NULL, *plan = NULL;
  if (o->homes < 0 || !o->space || o->device || plim_home_bytes(o, graph) == 0) return PLIM_OK;
  unlimited.paging = NULL;
  PLIM_TRY(plim_plan_keep_all(ctx, graph, profile, &unlimited, &keep_all));
  int64_t keep_all_ns = keep_all->keep_all_ns, bytes = plim_home_bytes(o, graph);
  plim_plan_free(keep_all);
  double charge = o->homes > 0 ? 0 : o->charge;
  double copies_ns = charge * ((double)bytes / o->bytes_per_ns[0] + (double)bytes / o->bytes_per_ns[1]);
  if (*best && (double)((*best)->time_ns - keep_all_ns) <= copies_ns) return PLIM_OK;
  plim_status status =
      plim_home_make(ctx, graph, profile, options, keep_all_ns, o->homes > 0 ? plim_plan_make : make_paged, &plan);
  return take_faster(ctx, status, &plan, best);
}

plim_status plim_paging_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                             const plim_plan_options *options, plim_plan **out) {
  plim_plan *best = NULL;
  PLIM_TRY(check_paging(options, ctx));
  plim_status status = PLIM_ENOFIT;
  if (options->paging->homes <= 0) status = make_paged(ctx, graph, profile, options, &best);
  if (status == PLIM_OK || status == PLIM_ENOFIT) {
    char sentence[PLIM_ERROR_BYTES];
    (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(ctx));
    status = make_homed(ctx, graph, profile, options, &best);
    if (status == PLIM_OK && !best) status = plim_fail(ctx, PLIM_ENOFIT, "%s", sentence);
  }
  if (status == PLIM_OK) {
    *out = best;
  } else {
    plim_plan_free(best);
  }
  return status;
}
