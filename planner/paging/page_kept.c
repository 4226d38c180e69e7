/* Plans that page, kept between calls: a file for each graph, profile and spaces in the folder of plan fronts. A plan
 * for fewer bytes fits into more, so that a call for larger budgets is never slower than one before it.
 *
 * A kept plan is believed as far as this call can see: the checker proves it, its variants are rows of the profile, and
 * its copies take what the links take. A file that is missing or wrong in any way holds no plans. */
#include <stdio.h>
#include <string.h>

#include "planner/paging/paging.h"
#include "planner/paging/queue_search.h"
#include "planner_hash.h"
#include "runtime/base/cache.h"
#include "runtime/base/sha256.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/plans_text.h"
#include "runtime/graph/profile_internal.h"

static const int64_t most_bytes = INT64_C(64) << 20; /* of all such files */

typedef struct kept {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_profile *profile;
  const plim_plan_options *options;
  char path[PLIM_FILE_PATH_BYTES];
  plim_plans *plans; /* NULL: none */
} kept;

/* ---- which file ---- */

static void write_paging(plim_text *t, const plim_paging *o) {
  plim_text_format(t, "space %s\ndevice %s\n", o->space ? o->space : "", o->device ? o->device : "");
  for (int in = 0; in < 2; in++) {
    plim_text_format(t, "link %lld %.17g\n", (long long)o->latency_ns[in], o->bytes_per_ns[in]);
  }
  plim_text_format(t, "link %lld %.17g\ndelay %.17g\n", (long long)o->device_latency_ns, o->device_bytes_per_ns,
                   o->delay_share);
  plim_text_format(t, "recompute %d\nhomes %d\n", o->recompute, (int)o->homes);
}

static plim_status find_path(kept *k) {
  const plim_plan_options *o = k->options;
  char hash[PLIM_SHA256_HEX_BYTES], name[PLIM_SHA256_HEX_BYTES + 16];
  plim_text text = {.ctx = k->ctx};
  plim_text_format(&text, "plimsoll paged 1\nbuild %s\ngraph %s\nplanner %s\norder %d\nlabels %d\n", PLIM_PLANNER_HASH,
                   k->graph->fingerprint, o->planner ? o->planner : "", (int)o->order, (int)o->numerics);
  write_paging(&text, o->paging);
  plim_profile_write(&text, k->profile);
  plim_status status = text.status;
  if (status == PLIM_OK) plim_sha256_hex(text.chars, (size_t)text.length, hash);
  plim_text_free(&text);
  PLIM_TRY(status);
  (void)snprintf(name, sizeof name, "paged-%.32s.json", hash);
  plim_cache_path(o->front_folder[0] ? o->front_folder : NULL, name, k->path);
  return PLIM_OK;
}

/* ---- what is believed ---- */

static int has_row(const plim_profile *profile, const plim_plan_variant *v) {
  for (int32_t i = profile->first[v->op]; i < profile->first[v->op + 1]; i++) {
    const plim_variant *row = &profile->variant[i];
    if (strcmp(row->name, v->variant.name) != 0 || strcmp(row->numerics_key, v->variant.numerics_key) != 0) continue;
    const int64_t needs = plim_align_up(row->workspace_bytes, PLIM_ALIGN); /* homes of states round it up */
    return row->time_ns == v->variant.time_ns && plim_align_up(v->variant.workspace_bytes, PLIM_ALIGN) == needs;
  }
  return 0;
}

static int64_t copy_ns(const kept *k, const plim_plan *plan, const plim_command *s) {
  const plim_paging *o = k->options->paging;
  const int64_t bytes = k->graph->storage[s->storage].bytes;
  if (plim_plan_computes(plan, s->from) && plim_plan_computes(plan, s->to)) {
    return plim_paging_copy_ns(o->device_latency_ns, o->device_bytes_per_ns, bytes);
  }
  return plim_paging_link_ns(o, !plim_plan_computes(plan, s->from), bytes);
}

/* All spaces in their order, or none, with room for the plan. */
static int has_spaces(const plim_plan_options *options, const plim_plan *plan) {
  plim_queue_spaces spaces;
  plim_queue_spaces_make(options, &spaces);
  if (plan->n_page_spaces > 0 && plan->n_page_spaces != spaces.n - 1) return 0;
  for (int32_t i = 0; i < plan->n_page_spaces; i++) {
    const plim_page_space *page = &plan->page[i], *given = &spaces.page[i];
    if (strcmp(given->name, page->name) != 0 || page->computes != given->computes) return 0;
    if (page->arena_bytes > given->budget_bytes || page->delay_permille != given->delay_permille) return 0;
  }
  return 1;
}

static int is_sound(const kept *k, const plim_plan *plan) {
  if (plim_plan_check(k->ctx, k->graph, plan) != PLIM_OK || !has_spaces(k->options, plan)) return 0;
  for (int32_t v = 0; v < plan->n_variants; v++) {
    if (!has_row(k->profile, &plan->variant[v])) return 0;
  }
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *s = &plan->command[j];
    if (s->kind == PLIM_COMMAND_COPY && s->time_ns != copy_ns(k, plan, s)) return 0;
  }
  return 1;
}

/* The fastest kept plan within the budget that is sound; NULL: none. */
static const plim_plan *find_fastest(const kept *k) {
  const plim_plan *best = NULL;
  for (int32_t i = 0; k->plans && i < k->plans->n; i++) {
    const plim_plan *plan = k->plans->plan[i];
    if (plan->arena_bytes > k->options->budget_bytes || (best && plan->time_ns >= best->time_ns)) continue;
    if (is_sound(k, plan)) best = plan;
  }
  return best;
}

/* ---- writing ---- */

/* Bytes of a page space. */
static int64_t page_bytes(const plim_plan *plan, int32_t i) {
  return i < plan->n_page_spaces ? plan->page[i].arena_bytes : 0;
}

/* Is there a budget that `other` fits into and the plan does not, or is it faster? */
static int is_of_use_beside(const plim_plan *other, const plim_plan *plan) {
  int fewer = other->arena_bytes < plan->arena_bytes || other->time_ns < plan->time_ns;
  for (int32_t i = 0; i < PLIM_PAGE_SPACES; i++) fewer |= page_bytes(other, i) < page_bytes(plan, i);
  return fewer;
}

/* The plan, and those kept that need fewer bytes of a space or are faster. What cannot be written is not kept. */
static plim_status keep(const kept *k, const plim_plan *plan) {
  const plim_plan *list[PLIM_PLANS_MAX];
  char text[PLIM_PLANS_MAX][PLIM_PLANS_NAME_BYTES];
  const char *name[PLIM_PLANS_MAX];
  int32_t n = 0;
  list[n++] = plan;
  for (int32_t i = 0; k->plans && i < k->plans->n && n < PLIM_PLANS_MAX; i++) {
    const plim_plan *other = k->plans->plan[i];
    if (is_of_use_beside(other, plan)) list[n++] = other;
  }
  for (int32_t i = 0; i < n; i++) {
    (void)snprintf(text[i], sizeof text[i], "plan %d", (int)i);
    name[i] = text[i];
  }
  plim_text document = {.ctx = k->ctx};
  plim_plans_write(&document, n, name, list);
  const plim_status status = plim_cache_save(&document, k->path);
  if (status == PLIM_ENOMEM) return status;
  return status == PLIM_OK ? plim_cache_trim(k->ctx, k->path, "paged-", most_bytes) : PLIM_OK;
}

/* The plan with the budgets of this call. */
static plim_status widen(const kept *k, const plim_plan *plan, plim_plan **out) {
  plim_plan wider = *plan;
  plim_page_space page[PLIM_PAGE_SPACES];
  plim_queue_spaces spaces;
  plim_queue_spaces_make(k->options, &spaces);
  for (int32_t i = 0; i < plan->n_page_spaces; i++) {
    page[i] = plan->page[i];
    page[i].budget_bytes = spaces.page[i].budget_bytes;
  }
  wider.page = page;
  wider.budget_bytes = k->options->budget_bytes;
  return plim_plan_from_parts(k->graph, &wider, out);
}

/* ---- all of it ---- */

static int may_keep(const plim_plan_options *o) {
  return o->struct_bytes == sizeof *o && o->front_folder && o->budget_bytes < INT64_MAX &&
         o->numerics != PLIM_NUMERICS_GIVEN && !o->paging->beside && !o->paging->powers;
}

plim_status plim_paging_make_kept(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                  const plim_plan_options *options, plim_plan **out, int32_t *from_front) {
  kept k = {.ctx = ctx, .graph = graph, .profile = profile, .options = options};
  plim_plan *plan = NULL, *wider = NULL;
  *from_front = 0;
  if (!may_keep(options)) return plim_paging_make(ctx, graph, profile, options, out);
  PLIM_TRY(find_path(&k));
  if (!k.path[0]) return plim_paging_make(ctx, graph, profile, options, out);
  plim_status status = plim_plans_load(ctx, k.path, &k.plans) == PLIM_ENOMEM ? PLIM_ENOMEM : PLIM_OK;
  const plim_plan *known = status == PLIM_OK ? find_fastest(&k) : NULL;
  if (status == PLIM_OK) status = plim_paging_make(ctx, graph, profile, options, &plan);
  const int slower = known && (!plan || known->time_ns < plan->time_ns);
  if (slower && (status == PLIM_OK || status == PLIM_ENOFIT || status == PLIM_ECANCEL))
    status = widen(&k, known, &wider);
  if (status == PLIM_OK && !slower && !(known && known->time_ns == plan->time_ns)) status = keep(&k, plan);
  plim_plans_free(k.plans);
  if (status != PLIM_OK) {
    plim_plan_free(plan);
    return status;
  }
  if (wider) plim_plan_free(plan);
  *out = wider ? wider : plan;
  *from_front = wider != NULL;
  return PLIM_OK;
}
