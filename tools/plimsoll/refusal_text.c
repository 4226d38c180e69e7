/* Refusing with numbers: the smallest budget, what sets it, other numerics, the largest batch. */

#include <stdio.h>
#include <string.h>

#include "runtime/base/size.h"
#include "runtime/program/online_plan.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/session.h"

enum { FLOOR_PARTS = 4, GUESS_PARTS = FLOOR_PARTS * PLIM_BATCH_GUESSES };
enum { WORTH_PARTS = 4 /* of the time: with less left, no search for the smallest budget begins */ };

/* Planning had all of a time limit; what explains its failure has half as much again, over all its searches. */
static plim_plan_options hurried(const plim_plan_options *planning, int64_t parts) {
  plim_plan_options planned = *planning;
  if (planned.time_limit_ns > 0) planned.time_limit_ns = planned.time_limit_ns / parts + 1;
  return planned;
}

static plim_status largest_batch(session *s, int64_t smallest_bytes, int32_t *out) {
  const plim_plan_options planning = hurried(&s->planning, GUESS_PARTS);
  const int64_t persistent = plim_graph_persistent_bytes(s->program->graph[PLIM_PROGRAM_TRAIN]);
  const int64_t fixed_bytes = s->planning.paging ? 0 : persistent; /* what persists may be at home elsewhere */
  const plim_batch_search search = {.source = &s->source, .failing_bytes = smallest_bytes, .fixed_bytes = fixed_bytes};
  return plim_program_largest_batch(s->device, &search, &planning, out);
}

enum { WORDS = 1536, BATCH_WORDS = 96, BESIDE_WORDS = 512, NUMERICS_WORDS = 256 };

/* The numbers of the floor, and the sentence that they make; `batch` ends it. */
static plim_status explain(session *s, const char *what, int64_t budget_bytes, const plim_graph *graph,
                           const plim_plan_floor *floor, const char *batch) {
  char budget[HUMAN_BYTES], why[WORDS];
  refusal *r = &s->refusal;
  r->budget_bytes = budget_bytes;
  r->smallest_bytes = floor->smallest_bytes;
  r->bound_bytes = floor->bound_bytes;
  progress_clear(&s->bar);
  if (floor->smallest_bytes <= budget_bytes) { /* the search for fewest bytes was luckier than the one for the budget */
    return plim_fail(s->ctx, PLIM_ENOFIT,
                     "no plan of %s within %s was found within the given effort, but it fits: a search for "
                     "fewest bytes found a plan in %lld bytes; raise --time-limit or --iterations%s",
                     what, human_bytes(budget_bytes, budget), (long long)floor->smallest_bytes, batch);
  }
  plim_plan_floor_describe(graph, floor, why, sizeof why);
  return plim_fail(s->ctx, PLIM_ENOFIT, "%s does not fit into %s: %s%s", what, human_bytes(budget_bytes, budget), why,
                   batch);
}

/* The end of the sentence where others than the fixed numerics need less than those, fixed_bytes; else "". */
static plim_status free_numerics(session *s, const plim_plan_options *wanted, int64_t fixed_bytes,
                                 char words[NUMERICS_WORDS]) {
  plim_plan_options planning = *wanted;
  char size[PLIM_SIZE_TEXT_BYTES];
  plim_plan_floor floor;
  int32_t step;
  words[0] = 0;
  if (planning.numerics == PLIM_NUMERICS_AUTO) return PLIM_OK;
  planning.numerics = PLIM_NUMERICS_AUTO;
  planning.numerics_key = NULL;
  PLIM_TRY(plim_program_floor(s->program, &planning, &floor, &step));
  s->refusal.smallest_auto_bytes = floor.smallest_bytes;
  if (floor.smallest_bytes >= fixed_bytes) return PLIM_OK;
  const char *remedy = floor.smallest_bytes <= s->planning.budget_bytes ? numerics_remedy(s) : "";
  (void)snprintf(
      words, NUMERICS_WORDS, "; other kernels, which may give other bits, have a plan in %s (%lld bytes)%s%s",
      plim_size_print(floor.smallest_bytes, size), (long long)floor.smallest_bytes, *remedy ? ": " : "", remedy);
  return PLIM_OK;
}

/* " beside 1.0 GiB of host, 60.0 MiB of cpu:1 and 60.0 MiB of cpu:2": what else the plans may take. */
static const char *beside_words(const plim_paging *paging, char words[BESIDE_WORDS]) {
  char size[PLIM_SIZE_TEXT_BYTES];
  const char *before = " beside ";
  const int32_t last = paging->n_devices - 1;
  words[0] = '\0';
  for (int32_t i = paging->space ? -1 : 0; i <= last; i++) {
    const char *name = i < 0 ? paging->space : paging->device[i].name;
    const int64_t bytes = i < 0 ? paging->budget_bytes : paging->device[i].budget_bytes;
    const size_t used = strlen(words);
    (void)snprintf(words + used, BESIDE_WORDS - used, "%s%s of %.16s", before, plim_size_print(bytes, size), name);
    before = i + 1 < last ? ", " : " and ";
  }
  return words;
}

/* The same with paging. The smallest budget was found by halving. */
static plim_status explain_paged(session *s, const char *what, const plim_plan_floor *floor, const char *batch) {
  char budget[HUMAN_BYTES], smallest[PLIM_SIZE_TEXT_BYTES], beside[BESIDE_WORDS], bound[NUMERICS_WORDS] = "";
  refusal *r = &s->refusal;
  r->budget_bytes = s->planning.budget_bytes;
  r->smallest_bytes = floor->smallest_bytes;
  r->bound_bytes = floor->bound_bytes;
  if (floor->bound_bytes > 0) {
    (void)snprintf(bound, sizeof bound, "; none exists below %lld bytes, which op '%.40s' needs at once",
                   (long long)floor->bound_bytes, s->program->graph[PLIM_PROGRAM_TRAIN]->op[floor->op].name);
  }
  progress_clear(&s->bar);
  if (floor->smallest_bytes <= r->budget_bytes) { /* halving was luckier than the search for the budget */
    return plim_fail(s->ctx, PLIM_ENOFIT,
                     "no plan of %s within %s%s was found within the given effort, but it fits: one was found in %lld "
                     "bytes; raise --time-limit or --iterations%s",
                     what, human_bytes(r->budget_bytes, budget), beside_words(s->planning.paging, beside),
                     (long long)floor->smallest_bytes, batch);
  }
  return plim_fail(s->ctx, PLIM_ENOFIT,
                   "no plan of %s within %s%s was found; the smallest budget of %s for which one was found is %s "
                   "(%lld bytes)%s%s",
                   what, human_bytes(r->budget_bytes, budget), beside_words(s->planning.paging, beside),
                   s->planning.paging->n_devices > 0 ? "cpu:0" : s->o->device,
                   plim_size_print(floor->smallest_bytes, smallest), (long long)floor->smallest_bytes, bound, batch);
}

static void name_run(const session *s, char words[BATCH_WORDS + NUMERICS_WORDS]) {
  (void)snprintf(words, BATCH_WORDS + NUMERICS_WORDS, "%s with batch %d%s", s->o->model, (int)s->o->batch,
                 numerics_fixed_by(s));
}

plim_status refusal_explain_floor(session *s, const plim_plan_floor *floor) {
  char what[BATCH_WORDS + NUMERICS_WORDS];
  name_run(s, what);
  s->refusal.largest_batch = -1; /* not looked for */
  return explain_paged(s, what, floor, "");
}

/* Of the session's program within its budget. */
static plim_status explain_program(session *s) {
  char what[BATCH_WORDS + NUMERICS_WORDS], end[BATCH_WORDS + NUMERICS_WORDS], others[NUMERICS_WORDS];
  int64_t budget_bytes = s->planning.budget_bytes;
  plim_plan_floor floor;
  int fixed = s->planning.numerics != PLIM_NUMERICS_AUTO;
  plim_plan_options planning = hurried(&s->planning, fixed ? 2 * FLOOR_PARTS : FLOOR_PARTS);
  int32_t step, largest;
  PLIM_TRY(plim_program_floor(s->program, &planning, &floor, &step));
  PLIM_TRY(free_numerics(s, &planning, floor.smallest_bytes, others));
  PLIM_TRY(largest_batch(s, floor.smallest_bytes, &largest));
  s->refusal.largest_batch = largest;
  name_run(s, what);
  if (largest > 0) {
    (void)snprintf(end, sizeof end, "%s; give more bytes, or a batch of at most %d", others, (int)largest);
  } else {
    (void)snprintf(end, sizeof end, "%s; give more bytes: no batch was found to fit", others);
  }
  return s->planning.paging ? explain_paged(s, what, &floor, end)
                            : explain(s, what, budget_bytes, s->program->graph[step], &floor, end);
}

/* Every op once in program order is a plan of every class: a budget that works, where no smaller one is known. */
static plim_status add_keep_all(session *s, const plim_graph *graph, const plim_profile *profile,
                                const plim_plan_options *wanted, plim_plan_floor *floor) {
  plim_plan_options planning = *wanted;
  plim_plan *whole = NULL;
  if (floor->smallest_bytes < INT64_MAX) return PLIM_OK;
  planning.time_limit_ns = 1;
  planning.budget_bytes = PLIM_BYTES_UNLIMITED;
  planning.order = PLIM_ORDER_FIXED;
  PLIM_TRY(plim_plan_keep_all(s->ctx, graph, profile, &planning, &whole));
  floor->smallest_bytes = wanted->unpacked ? whole->peak_bytes : whole->arena_bytes;
  floor->cut_short = 1;
  plim_plan_free(whole);
  return PLIM_OK;
}

plim_status refusal_explain_graph(session *s, const plim_graph *graph, const plim_profile *profile,
                                  const plim_plan_options *wanted, const plim_plan_floor *known) {
  plim_plan_options planning = *wanted;
  plim_plan_floor floor;
  if (wanted->time_limit_ns > 0) planning.time_limit_ns = session_left_ns(s);
  if (known && wanted->time_limit_ns > 0 && planning.time_limit_ns < wanted->time_limit_ns / WORTH_PARTS) {
    floor = *known; /* planning has used the time up, and looked for fewest bytes in it too */
    PLIM_TRY(add_keep_all(s, graph, profile, wanted, &floor));
  } else {
    PLIM_TRY(plim_plan_smallest(s->ctx, graph, profile, &planning, &floor, NULL));
  }
  s->refusal.largest_batch = -1;
  return explain(s, graph->name, wanted->budget_bytes, graph, &floor, "");
}

plim_status refusal_add_policy(session *s) {
  char sentence[PLIM_ERROR_BYTES], size[PLIM_SIZE_TEXT_BYTES];
  int64_t bytes = s->refusal.online_bytes;
  (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(s->ctx));
  if (bytes < 0) {
    return plim_fail(s->ctx, PLIM_ENOFIT, "%s; --online %s does not fit into twice the keep-all bytes either", sentence,
                     s->o->online);
  }
  return plim_fail(
      s->ctx, PLIM_ENOFIT,
      "%s; --online %s fits into %s (--memory %lld), the smallest budget found by halving; smaller ones may do, "
      "too, and some larger ones may not",
      sentence, s->o->online, plim_size_print(bytes, size), (long long)bytes);
}

/* ---- what a preparation could not do ---- */

static plim_online_plan_options online_plan_options(const session *s) {
  plim_online_plan_options wanted = plim_online_plan_options_default();
  wanted.policy = plim_policy_find(s->o->online);
  wanted.planning = s->planning;
  wanted.thrash = s->o->thrash;
  if (wanted.planning.budget_bytes == PLIM_BYTES_UNLIMITED)
    wanted.planning.budget_bytes = s->prep.keep_all->arena_bytes;
  return wanted;
}

/* Keep the context's sentence: what is asked next may fail and replace it. */
static const char *keep_sentence(const session *s, char sentence[PLIM_ERROR_BYTES]) {
  (void)snprintf(sentence, PLIM_ERROR_BYTES, "%s", plim_context_error(s->ctx));
  return sentence;
}

/* Plans need less than the policy does: say so. */
static plim_status fail_policy(session *s, int64_t budget_bytes, const plim_plan_floor *floor, const char *sentence) {
  char budget[PLIM_SIZE_TEXT_BYTES];
  refusal *r = &s->refusal;
  r->budget_bytes = budget_bytes;
  r->smallest_bytes = floor->smallest_bytes;
  r->bound_bytes = floor->bound_bytes;
  r->largest_batch = -1; /* this batch fits with a plan */
  return plim_fail(s->ctx, PLIM_ENOFIT, "--online %s does not fit into %s, where a plan does (without --online): %s",
                   s->o->online, plim_size_print(r->budget_bytes, budget), sentence);
}

/* The sentence of planned mode where no plan fits the budget either, else the policy's own, which the context holds;
 * and the bytes into which the policy fits. */
static plim_status refuse_online(session *s) {
  const plim_program *p = s->program;
  const plim_online_plan_options wanted = online_plan_options(s);
  char sentence[PLIM_ERROR_BYTES];
  plim_plan_floor floor;
  int32_t step;
  int64_t *needed = &s->refusal.online_bytes, most = 2 * s->prep.keep_all->arena_bytes;
  (void)keep_sentence(s, sentence);
  PLIM_TRY(plim_online_plan_smallest(s->ctx, p->graph[PLIM_PROGRAM_TRAIN], p->profile[PLIM_PROGRAM_TRAIN], &wanted,
                                     most, needed));
  PLIM_TRY(plim_program_floor(p, &s->planning, &floor, &step));
  int64_t limit = wanted.planning.budget_bytes; /* without --memory that of keep-all */
  plim_status status = floor.smallest_bytes <= limit ? fail_policy(s, limit, &floor, sentence) : explain_program(s);
  return status == PLIM_ENOFIT ? refusal_add_policy(s) : status;
}

/* Then the context says which of budget and deadline is not kept. */
static int has_deadline(const session *s) {
  return s->planning.paging && s->planning.paging->deadline_ns > 0;
}

/* The refusal of --memory, by a plan or a policy, for this budget and the bits of the plan that there is. */
static plim_status refuse_limit(session *s) {
  const plim_budget_change *limit = &s->limits.row[s->prep.failed_change];
  char sentence[PLIM_ERROR_BYTES];
  s->planning.budget_bytes = limit->bytes;
  PLIM_TRY(numerics_of_plan(s, s->program->plan[PLIM_PROGRAM_TRAIN], &s->planning));
  plim_status status = PLIM_ENOFIT;
  if (!has_deadline(s)) status = s->o->online ? refuse_online(s) : explain_program(s);
  if (status != PLIM_ENOFIT) return status;
  return plim_fail(s->ctx, PLIM_ENOFIT, "--memory-at, step %lld: %s", (long long)limit->step,
                   keep_sentence(s, sentence));
}

static plim_status refuse_stage(session *s) {
  switch (s->prep.stage) {
    case PLIM_PREPARE_PLAN:
      return s->o->plan || has_deadline(s) ? PLIM_ENOFIT : explain_program(s);
    case PLIM_PREPARE_POLICY:
      return refuse_online(s);
    case PLIM_PREPARE_FORESEEN:
      return refuse_limit(s);
    default: /* the context says it all */
      return PLIM_ENOFIT;
  }
}

plim_status refusal_explain_preparation(session *s) {
  char sentence[PLIM_ERROR_BYTES], left[PLIM_SIZE_TEXT_BYTES];
  plim_status status = refuse_stage(s);
  if (status != PLIM_ENOFIT || s->vram_bytes == 0 || s->prep.stage == PLIM_PREPARE_OUTSIDE) return status;
  return plim_fail(s->ctx, PLIM_ENOFIT, "--vram %s leaves %s for the arena: %s", s->o->vram,
                   plim_size_print(s->prep.planning.budget_bytes, left), keep_sentence(s, sentence));
}

void refusal_figures(figures *f, int column, const refusal *r) {
  if (r->budget_bytes > 0) {
    figures_bytes(f, column, "smallest_bytes", NULL, r->smallest_bytes);
    figures_bytes(f, column, "bound_bytes", NULL, r->bound_bytes);
  }
  if (r->online_bytes > 0) figures_bytes(f, column, "online_bytes", "smallest budget found", r->online_bytes);
}

plim_status refusal_explain_room(const session *s, const plim_program *program) {
  char sentence[PLIM_ERROR_BYTES];
  (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(s->ctx));
  if (program != s->program) {
    return plim_fail(s->ctx, PLIM_ENOFIT,
                     "with everything kept, to compare with: %s; what cannot be compared here may still be trained",
                     sentence);
  }
  if (!s->o->memory) {
    return plim_fail(s->ctx, PLIM_ENOFIT, "without --memory: %s; with it training needs less", sentence);
  }
  const plim_plan *plan = program->plan[PLIM_PROGRAM_TRAIN];
  const char *remedy = plan && plan->n_page_spaces > 0 ? "" : "; a smaller one needs less"; /* it pages more */
  return plim_fail(s->ctx, PLIM_ENOFIT, "under --memory %s: %s%s", s->o->memory_given, sentence, remedy);
}

void refusal_json(const refusal *r, json_t *object) {
  (void)json_object_set_new(object, "budget_bytes", json_integer(r->budget_bytes));
  (void)json_object_set_new(object, "smallest_bytes", json_integer(r->smallest_bytes));
  (void)json_object_set_new(object, "bound_bytes", json_integer(r->bound_bytes));
  if (r->largest_batch >= 0) (void)json_object_set_new(object, "largest_batch", json_integer(r->largest_batch));
  if (r->smallest_auto_bytes > 0) {
    (void)json_object_set_new(object, "smallest_auto_bytes", json_integer(r->smallest_auto_bytes));
  }
  if (r->online_bytes > 0) (void)json_object_set_new(object, "online_bytes", json_integer(r->online_bytes));
}
