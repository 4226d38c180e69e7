/* Plans that page, kept between calls as documents in the folder of plan fronts. A file's name has two hashes. The
 * first one is of graph, profile, spaces and objective, the second one of the rates of the links, and where energy is
 * the objective of powers and deadline. A file has plans of calls that share both. A call reads the files that share
 * the first one, and times their plans again for its own rates. A plan for fewer bytes fits into more, and copies over
 * faster links end earlier. So a call for no fewer bytes and no slower links has a plan that is as fast as that of a
 * call before it. Where copies delay ops, a copy that ends earlier may delay another op: then the plan may become
 * slower by that. With energy, a call for no fewer bytes and no earlier deadline has a plan that takes no more of it
 * than that of a call before it with the same rates and powers.
 *
 * A plan of a file has the name of the search that it comes from, by budgets and effort. A search is not repeated with
 * equal budgets, rates and effort: the best kept plan is taken. A search that was cut short has no such name, since
 * what it finds depends on what else the machine does. It is repeated, and the better plan is taken. A plan with the
 * name of a search stays in the file for a while, also beside a better one.
 *
 * A kept plan is believed as far as this call can see: its variants are rows of the profile, keep-all takes what the
 * profile says, its bound is not above that of this call, and the checker proves it with the times that the links have
 * now. A file that is missing or wrong in any way holds no plans. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "planner/front/front.h"
#include "planner/paging/paging.h"
#include "planner/paging/paging_internal.h"
#include "planner_hash.h"
#include "runtime/base/cache.h"
#include "runtime/base/effort.h"
#include "runtime/base/sha256.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/plans_text.h"
#include "runtime/graph/profile_internal.h"

static const int64_t max_bytes = INT64_C(64) << 20; /* of all such files together; a larger one holds no plans */
enum {
  FILES = 8,         /* that a call reads */
  SEARCHES_MAX = 16, /* plans of a file that are of no other use than the name of their search */
  HASH = 24,
  PREFIX_BYTES = HASH + 16,
  SEARCH_HASH = 20
};
static const char search_prefix[] = "search ";

typedef struct kept_plans {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_profile *profile;
  const plim_plan_options *options;
  plim_queue_spaces spaces;  /* of the options */
  int64_t least_ns, most_ns; /* of keep-all, by the profile; most_ns -1: the sum has no int64_t */
  int64_t bound_ns;          /* of plans on several devices */
  char path[PLIM_FILE_PATH_BYTES], prefix[PREFIX_BYTES];
  char search[PLIM_PLANS_NAME_BYTES]; /* name of the search of this call */
  int32_t is_known;                   /* 1: the file has the plan of that search, or a better one */
  plim_plans *plans;                  /* of the file for these rates; NULL: none */
  plim_plan *best;      /* the best one within budgets and deadline, with the rates of this call; NULL: none */
  int32_t best_is_here; /* 1: it is of the file for these rates */
  int64_t started_ns;   /* begin of the search */
} kept_plans;

/* ---- which file ---- */

static void write_structure(plim_text *t, const kept_plans *kept) {
  const plim_plan_options *o = kept->options;
  const plim_paging *paging = o->paging;
  plim_text_format(t, "plimsoll paged 3\nbuild %s\ngraph %s\nplanner %s\norder %d\nlabels %d\n", PLIM_PLANNER_HASH,
                   kept->graph->fingerprint, o->planner ? o->planner : "", (int)o->order, (int)o->numerics);
  plim_text_format(t, "space %s\nrecompute %d\nhomes %d\n", paging->space ? paging->space : "", paging->recompute,
                   (int)paging->homes);
  for (int32_t i = 0; i < paging->n_devices; i++) plim_text_format(t, "device %s\n", paging->device[i].name);
  plim_text_format(t, "objective %s\n", paging->powers ? "energy" : "time");
  plim_profile_write(t, kept->profile);
}

static void write_powers(plim_text *t, const plim_paging *o, int32_t n_spaces) {
  plim_text_format(t, "deadline %lld\nidle %.17g\n", (long long)o->deadline_ns, o->powers->idle_watt);
  for (int32_t from = 0; from < n_spaces; from++) {
    plim_text_format(t, "watt %.17g:", o->powers->device_watt[from]);
    for (int32_t to = 0; to < n_spaces; to++) plim_text_format(t, " %.17g", o->powers->link_watt[from][to]);
    plim_text_add(t, "\n");
  }
}

static void write_rates(plim_text *t, const plim_paging *o, int32_t n_spaces) {
  for (int in = 0; in < 2; in++) {
    plim_text_format(t, "link %lld %.17g\n", (long long)o->latency_ns[in], o->bytes_per_ns[in]);
  }
  plim_text_format(t, "link %lld %.17g\ndelay %.17g\n", (long long)o->device_latency_ns, o->device_bytes_per_ns,
                   o->delay_share);
  if (o->powers) write_powers(t, o, n_spaces);
}

/* All that decides what a search finds, beside structure and rates. */
static void write_search(plim_text *t, const kept_plans *kept) {
  const plim_plan_options *o = kept->options;
  plim_text_format(t, "seed %llu\niterations %lld\nlimit %lld\nthreads %d\ncopies %d\nbrief %d\nfirst %d\n",
                   (unsigned long long)o->seed, (long long)o->iterations, (long long)o->time_limit_ns, (int)o->threads,
                   (int)o->copies, (int)o->brief, (int)o->paging->first_plan);
  for (int32_t s = 0; s < kept->spaces.n; s++) plim_text_format(t, "%lld\n", (long long)kept->spaces.budget_bytes[s]);
}

static plim_status find_names(kept_plans *kept) {
  char structure[PLIM_SHA256_HEX_BYTES], rates[PLIM_SHA256_HEX_BYTES], search[PLIM_SHA256_HEX_BYTES];
  char name[2 * PREFIX_BYTES];
  const char *folder = kept->options->front_folder;
  plim_text of_structure = {.ctx = kept->ctx}, of_rates = {.ctx = kept->ctx}, of_search = {.ctx = kept->ctx};
  write_structure(&of_structure, kept);
  PLIM_TRY(plim_front_hash(&of_structure, structure));
  write_rates(&of_rates, kept->options->paging, kept->spaces.n);
  PLIM_TRY(plim_front_hash(&of_rates, rates));
  write_search(&of_search, kept);
  PLIM_TRY(plim_front_hash(&of_search, search));
  (void)snprintf(kept->search, sizeof kept->search, "%s%.*s", search_prefix, SEARCH_HASH, search);
  (void)snprintf(kept->prefix, sizeof kept->prefix, "paged-%.*s-", (int)HASH, structure);
  (void)snprintf(name, sizeof name, "%s%.*s.json", kept->prefix, (int)HASH, rates);
  plim_cache_path(folder[0] ? folder : NULL, name, kept->path);
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

/* All spaces in their order, or none, with room for the plan. */
static int has_spaces(const kept_plans *kept, const plim_plan *plan) {
  if (plan->arena_bytes > kept->options->budget_bytes) return 0;
  if (plan->n_page_spaces > 0 && plan->n_page_spaces != kept->spaces.n - 1) return 0;
  for (int32_t i = 0; i < plan->n_page_spaces; i++) {
    const plim_plan_space *page = &plan->page[i], *given = &kept->spaces.page[i];
    if (strcmp(given->name, page->name) != 0 || page->computes != given->computes) return 0;
    if (page->arena_bytes > given->budget_bytes) return 0;
  }
  return 1;
}

static int has_rows(const kept_plans *kept, const plim_plan *plan) {
  for (int32_t v = 0; v < plan->n_variants; v++) {
    const int32_t op = plan->variant[v].op;
    if (op < 0 || op >= kept->graph->n_ops || !has_row(kept->profile, &plan->variant[v])) return 0;
  }
  return 1;
}

/* ---- times of this call ---- */

/* Keep-all has a variant of each op that ties with the fastest one: the least and the most that this may take. */
static plim_status find_times(kept_plans *kept) {
  const plim_profile *profile = kept->profile;
  int64_t least_ns = 0, most_ns = 0;
  for (int32_t o = 0; o < profile->n_ops && most_ns >= 0; o++) {
    const plim_variant *variant = &profile->variant[profile->first[o]];
    const int32_t n = profile->first[o + 1] - profile->first[o];
    const int64_t tied_ns = variant[plim_variants_fastest(variant, n, NULL)].time_ns;
    most_ns = plim_add_checked(most_ns, tied_ns);
    if (most_ns >= 0) least_ns += plim_variants_least_ns(variant, n, NULL); /* no more than most_ns */
  }
  kept->least_ns = kept->bound_ns = least_ns;
  kept->most_ns = most_ns;
  if (most_ns < 0) return PLIM_OK;
  return plim_queue_bound(kept->graph, profile, kept->options->paging, least_ns, &kept->bound_ns);
}

/* The bound that the file has, unless it is above what every plan on these devices is known to take. */
static int64_t bound_of(const kept_plans *kept, const plim_plan *plan) {
  const int64_t most_ns = plim_plan_other_devices(plan) > 0 ? kept->bound_ns : plan->keep_all_ns;
  return plan->bound_ns < most_ns ? plan->bound_ns : most_ns;
}

/* Are the storages and links of the plan's copies there? */
static int has_links(const kept_plans *kept, const plim_plan *plan) {
  const plim_queue_spaces *spaces = &kept->spaces;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *c = &plan->command[j];
    if (c->kind != PLIM_COMMAND_COPY) continue;
    if (c->storage < 0 || c->storage >= kept->graph->n_storages) return 0;
    if (c->from < 0 || c->from >= spaces->n || c->to < 0 || c->to >= spaces->n) return 0;
    if (spaces->bytes_per_ns[c->from][c->to] <= 0) return 0;
  }
  return 1;
}

/* What the copies take over the links of this call. */
static void set_copies(const kept_plans *kept, const plim_plan *plan, plim_command *command) {
  for (int32_t j = 0; j < plan->n_commands; j++) {
    plim_command *c = &command[j];
    *c = plan->command[j];
    if (c->kind != PLIM_COMMAND_COPY) continue;
    c->time_ns = plim_queue_copy_ns(&kept->spaces, c->from, c->to, kept->graph->storage[c->storage].bytes);
  }
}

/* The plan with the budgets and links of this call. *out NULL: it is not a plan of the graph. */
static plim_status retime(const kept_plans *kept, const plim_plan *plan, plim_plan **out) {
  plim_plan draft = *plan;
  plim_command *command = NULL;
  *out = NULL;
  if (plan->keep_all_ns < kept->least_ns || plan->keep_all_ns > kept->most_ns) return PLIM_OK;
  if (!has_links(kept, plan)) return PLIM_OK;
  PLIM_TRY(plim_allocate(kept->ctx, plan->n_commands, sizeof *command, &command));
  set_copies(kept, plan, command);
  draft.command = command;
  draft.page = kept->spaces.page;
  draft.bound_ns = bound_of(kept, plan);
  plim_status status = plim_paging_plan_for(kept->graph, &draft, kept->options->budget_bytes, out);
  plim_release(kept->ctx, command, plan->n_commands, sizeof *command);
  if (status == PLIM_OK) (*out)->proved = plan->proved && (*out)->time_ns == (*out)->bound_ns;
  return status == PLIM_ENOMEM ? status : PLIM_OK;
}

/* ---- reading ---- */

/* Would the plan be the best one of this call? */
static int would_be_best(const kept_plans *kept, const plim_plan *plan) {
  const plim_paging *paging = kept->options->paging;
  if (plim_paging_lateness(paging, plan) > 0) return 0;
  return !kept->best || plim_paging_is_better(paging, plan, kept->best);
}

/* Make the plan the best one where it is better, and sound. *serves 1: the best one is now as good as the plan. */
static plim_status consider(kept_plans *kept, const plim_plan *plan, int32_t is_of_others, int32_t *serves) {
  plim_plan *retimed = NULL;
  *serves = 0;
  if (!has_spaces(kept, plan) || !has_rows(kept, plan)) return PLIM_OK;
  PLIM_TRY(retime(kept, plan, &retimed));
  const int better = retimed && would_be_best(kept, retimed);
  const plim_status status = better ? plim_plan_check(kept->ctx, kept->graph, retimed) : PLIM_EPLAN;
  *serves = retimed && kept->best && !better;
  if (status != PLIM_OK) {
    plim_plan_free(retimed);
    return status == PLIM_ENOMEM ? status : PLIM_OK;
  }
  *serves = 1;
  plim_plan_free(kept->best);
  kept->best = retimed;
  kept->best_is_here = !is_of_others;
  return PLIM_OK;
}

/* The plans of a file, with the best of them considered. *out NULL: there are none. */
static plim_status read_file(kept_plans *kept, const char *path, int32_t is_of_others, plim_plans **out) {
  char *text = NULL;
  int64_t bytes = 0;
  *out = NULL;
  plim_status status = plim_file_read(kept->ctx, path, max_bytes, &text, &bytes);
  if (status == PLIM_OK) status = plim_plans_parse(kept->ctx, path, text, bytes, out);
  plim_file_release(kept->ctx, text, bytes);
  if (status != PLIM_OK) return status == PLIM_ENOMEM ? status : PLIM_OK;
  assert(*out);
  for (int32_t i = 0; i < (*out)->n && status == PLIM_OK; i++) {
    int32_t serves;
    status = consider(kept, (*out)->plan[i], is_of_others, &serves);
    if (!is_of_others && serves && strcmp((*out)->name[i], kept->search) == 0) kept->is_known = 1;
  }
  return status;
}

/* Files for other rates, the ones written last, as far as there is time. */
static plim_status read_others(kept_plans *kept) {
  char(*path)[PLIM_FILE_PATH_BYTES] = NULL;
  plim_status status;
  int32_t n = 0;
  PLIM_TRY_OR_DONE(plim_allocate(kept->ctx, FILES, sizeof *path, &path));
  PLIM_TRY_OR_DONE(plim_cache_recent(kept->ctx, kept->path, kept->prefix, FILES, path, &n));
  for (int32_t i = 0; i < n && !plim_effort_over(kept->ctx, PLIM_EFFORT_LOOK); i++) {
    plim_plans *plans = NULL;
    if (strcmp(path[i], kept->path) == 0) continue;
    status = read_file(kept, path[i], 1, &plans);
    plim_plans_free(plans);
    PLIM_TRY_OR_DONE(status);
  }
done:
  plim_release(kept->ctx, path, FILES, sizeof *path);
  return status;
}

/* ---- writing ---- */

/* Bytes of a page space. */
static int64_t page_bytes(const plim_plan *plan, int32_t i) {
  return i < plan->n_page_spaces ? plan->page[i].arena_bytes : 0;
}

/* Is there a budget that `other` fits into and the plan does not, or is it better? */
static int is_of_use_with(const kept_plans *kept, const plim_plan *other, const plim_plan *plan) {
  int is = other->arena_bytes < plan->arena_bytes;
  for (int32_t i = 0; i < PLIM_PAGE_SPACES; i++) is |= page_bytes(other, i) < page_bytes(plan, i);
  return is || (has_links(kept, other) && plim_paging_is_better(kept->options->paging, other, plan));
}

/* Has the search ended before its end? With a time limit, parts of the search have shares of it. None of these was over
 * while the whole took less than a thousandth. Else the search counts as cut short, unless its plan is one that nothing
 * beats, or any plan was enough. */
static int was_cut_short(const kept_plans *kept, const plim_plan *plan) {
  const plim_paging *paging = kept->options->paging;
  const int64_t limit_ns = kept->options->time_limit_ns;
  if (plim_effort_over(kept->ctx, PLIM_EFFORT_LOOK)) return 1;
  if (limit_ns <= 0 || plim_now_ns() - kept->started_ns < limit_ns / 1000 || paging->first_plan) return 0;
  return paging->powers || plan->time_ns > plan->bound_ns;
}

/* Name the plan of this call: its search, or a name that no plan has. */
static void name_plan(const kept_plans *kept, int cut_short, char name[PLIM_PLANS_NAME_BYTES]) {
  (void)snprintf(name, PLIM_PLANS_NAME_BYTES, "%s", kept->search);
  if (!cut_short) return;
  int32_t i = 0;
  do {
    (void)snprintf(name, PLIM_PLANS_NAME_BYTES, "cut short %d", (int)i++);
  } while (kept->plans && plim_plans_find(kept->plans, name));
}

/* Has the kept plan the name of a search? Without it the search would be repeated. */
static int is_of_search(const kept_plans *kept, int32_t i) {
  return strncmp(kept->plans->name[i], search_prefix, sizeof search_prefix - 1) == 0;
}

/* The plan; those kept that are of use beside it; and at most SEARCHES_MAX that have no other use than the name of
 * their search, the latest first. What cannot be written is not kept. */
static plim_status save_plans(const kept_plans *kept, const plim_plan *plan, int32_t is_kept) {
  const int cut_short = was_cut_short(kept, plan);
  char own[PLIM_PLANS_NAME_BYTES];
  const plim_plan *list[PLIM_PLANS_MAX];
  const char *name[PLIM_PLANS_MAX];
  int32_t n = 0;
  if (cut_short && is_kept && kept->best_is_here) return PLIM_OK; /* the file has it */
  name_plan(kept, cut_short, own);
  list[n] = plan;
  name[n++] = own;
  const int32_t n_kept = kept->plans ? kept->plans->n : 0;
  int32_t max = PLIM_PLANS_MAX;
  for (int of_use = 1; of_use >= 0; of_use--) {
    for (int32_t i = 0; i < n_kept && n < max; i++) {
      if (strcmp(kept->plans->name[i], own) == 0) continue;
      if (is_of_use_with(kept, kept->plans->plan[i], plan) != of_use || (!of_use && !is_of_search(kept, i))) continue;
      list[n] = kept->plans->plan[i];
      name[n++] = kept->plans->name[i];
    }
    max = n + SEARCHES_MAX < max ? n + SEARCHES_MAX : max;
  }
  plim_text document = {.ctx = kept->ctx};
  plim_plans_write(&document, n, name, list);
  const plim_status status = plim_cache_save(&document, kept->path);
  if (status == PLIM_ENOMEM) return status;
  return status == PLIM_OK ? plim_cache_trim(kept->ctx, kept->path, "paged-", max_bytes) : PLIM_OK;
}

/* ---- all of it ---- */

static int may_keep(const plim_plan_options *o) {
  return o->struct_bytes == sizeof *o && o->front_folder && o->budget_bytes < INT64_MAX &&
         o->numerics != PLIM_NUMERICS_GIVEN && !o->paging->beside;
}

/* Take the best kept plan. */
static plim_status take(kept_plans *kept, plim_plan **out, int32_t *from_front) {
  *out = kept->best;
  kept->best = NULL;
  *from_front = 1;
  return PLIM_OK;
}

/* The plan of this call, or the best kept one where that is better. What the file for these rates does not have yet is
 * written there. */
static plim_status make_or_take_kept(kept_plans *kept, plim_plan **out, int32_t *from_front) {
  plim_plan *plan = NULL;
  PLIM_TRY(read_file(kept, kept->path, 0, &kept->plans));
  PLIM_TRY(read_others(kept));
  if (kept->is_known) return take(kept, out, from_front);
  kept->started_ns = plim_now_ns();
  plim_status status = plim_paging_make(kept->ctx, kept->graph, kept->profile, kept->options, &plan);
  if (status != PLIM_OK && status != PLIM_ENOFIT && status != PLIM_ECANCEL) return status;
  if (kept->best && (!plan || plim_paging_is_better(kept->options->paging, kept->best, plan))) {
    plim_plan_free(plan);
    PLIM_TRY(take(kept, &plan, from_front));
  } else if (status != PLIM_OK) {
    return status;
  }
  status = save_plans(kept, plan, *from_front);
  if (status != PLIM_OK) {
    plim_plan_free(plan);
    return status;
  }
  *out = plan;
  return PLIM_OK;
}

plim_status plim_paging_make_kept(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                  const plim_plan_options *options, plim_plan **out, int32_t *from_front) {
  kept_plans kept = {.ctx = ctx, .graph = graph, .profile = profile, .options = options};
  *from_front = 0;
  if (!may_keep(options)) return plim_paging_make(ctx, graph, profile, options, out);
  plim_queue_spaces_make(options, &kept.spaces);
  PLIM_TRY(find_names(&kept));
  if (!kept.path[0]) return plim_paging_make(ctx, graph, profile, options, out);
  PLIM_TRY(find_times(&kept));
  const plim_status status = make_or_take_kept(&kept, out, from_front);
  plim_plans_free(kept.plans);
  plim_plan_free(kept.best);
  return status;
}
