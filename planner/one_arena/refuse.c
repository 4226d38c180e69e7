/* The sentence of a refusal: what is known of the budget goes in, text comes out. It says which budgets have a plan,
 * which have none, and which op sets that bound by what operands. Then come buffers that cannot lie together within the
 * budget, found by a deletion filter (planner/pack/conflict.c). Text that has no room is left out. */
#include "planner/one_arena/one_arena_internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "planner/core/evaluation.h"
#include "planner/pack/pack.h"
#include "runtime/base/size.h"

enum { SHOWN = 4, OPERANDS_SHOWN = 3, WORDS = 1536 };

/* Words are added as long as there is room. */
typedef struct words {
  char *text;
  size_t used, size;
} words;

static void say(words *sentence, const char *format, ...) PLIM_PRINTF(2, 3);

static void say(words *sentence, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int written = vsnprintf(sentence->text + sentence->used, sentence->size - sentence->used, format, args);
  va_end(args);
  if (written > 0) sentence->used += (size_t)written;
  if (sentence->used >= sentence->size) sentence->used = sentence->size - 1;
}

static void say_bytes(words *sentence, int64_t bytes) {
  char text[PLIM_SIZE_TEXT_BYTES];
  say(sentence, "%s", plim_size_print(bytes, text));
  if (bytes >= 1024) say(sentence, " (%lld bytes)", (long long)bytes);
}

/* ---- what is proven ---- */

/* The operands of the op with the largest working set. */
static void say_operands(words *sentence, const plim_graph *graph, const plim_op *op) {
  const char *before = " ";
  int32_t shown = 0, more = 0;
  int64_t more_bytes = 0;
  for (int32_t pass = 0; pass < 2; pass++) {
    int32_t n = pass ? op->n_writes : op->n_reads;
    for (int32_t i = 0; i < n; i++) {
      int32_t s = pass ? op->writes[i] : op->reads[i];
      if (plim_role_persistent(graph->storage[s].role)) continue;
      if (shown++ >= OPERANDS_SHOWN) {
        more++;
        more_bytes += graph->storage[s].bytes;
        continue;
      }
      say(sentence, "%s%.40s (%lld bytes)", before, plim_graph_storage_name(graph, s, ""),
          (long long)graph->storage[s].bytes);
      before = ", ";
    }
  }
  if (more > 0) say(sentence, " and %d more (%lld bytes)", (int)more, (long long)more_bytes);
}

/* Which budgets have a plan, which have none. Where the smallest that was found is the smallest that there can be, it
 * is named once, whatever ended the search. */
static void say_budgets(words *sentence, const plim_plan_floor *floor) {
  const char *of = floor->fixed_numerics ? " with these numerics" : "";
  if (floor->smallest_bytes <= floor->bound_bytes) {
    say(sentence, "the smallest budget that has a plan%s is ", of);
  } else if (floor->smallest_bytes < PLIM_BYTES_UNLIMITED) {
    say(sentence, "the smallest budget for which a plan was found is ");
    say_bytes(sentence, floor->smallest_bytes);
    say(sentence, "%s; none%s exists below ", floor->cut_short ? ", not searched further in the time allowed" : "", of);
  } else {
    say(sentence, "none%s exists below ", of);
  }
  say_bytes(sentence, floor->bound_bytes);
}

void plim_plan_floor_describe(const plim_graph *graph, const plim_plan_floor *floor, char *text, size_t size) {
  words sentence = {text, 0, size};
  int64_t persistent = plim_graph_persistent_bytes(graph);
  if (size == 0) return;
  say_budgets(&sentence, floor);
  say(&sentence, ", where op '%.40s' needs", graph->op[floor->op].name);
  say_operands(&sentence, graph, &graph->op[floor->op]);
  say(&sentence, " at once");
  if (persistent > 0) say(&sentence, ", beside %lld bytes that stay all the time", (long long)persistent);
  if (floor->outputs_bytes > 0) {
    say(&sentence, "%s%lld bytes of outputs that other ops have written", persistent > 0 ? " and " : ", beside ",
        (long long)floor->outputs_bytes);
  }
  if (floor->conflict[0]) say(&sentence, "; %s", floor->conflict);
}

/* ---- buffers in each other's way ---- */

/* A schedule as it was packed. */
typedef struct packed_schedule {
  const plim_schedule *schedule;
  const plim_timeline *timeline;
  const plim_placement *placement;
} packed_schedule;

/* The value whose bytes lie in a box; *what is "" or what they are to it. */
static const char *name_of(const packed_schedule *view, int32_t box, const char **what) {
  const plim_placement *at = view->placement;
  const plim_schedule *s = view->schedule;
  const plim_problem *p = view->timeline->problem;
  const plim_graph *g = p->graph;
  *what = "";
  for (int32_t c = 0; c < view->timeline->n_lifetimes; c++) {
    if (at->box_of_lifetime[c] != box) continue;
    const char *name = plim_graph_storage_name(g, p->item[view->timeline->lifetime[c].item].storage, NULL);
    if (name) return name;
  }
  *what = "workspace of ";
  for (int32_t j = 0; j < s->n; j++) {
    if (at->box_of_run[j] == box) return g->op[s->op[j]].name;
  }
  return "";
}

static void say_buffers(words *sentence, const packed_schedule *view, const plim_conflict *why, const uint8_t *member) {
  const char *before = ": ";
  int32_t shown = 0;
  for (int32_t b = 0; b < view->placement->n_boxes && shown < SHOWN; b++) {
    const char *what;
    if (!member[b]) continue;
    const char *name = name_of(view, b, &what);
    say(sentence, "%s%s%.40s (%lld bytes)", before, what, name, (long long)view->placement->box[b].bytes);
    before = ", ";
    shown++;
  }
  if (why->n > shown) say(sentence, " and %d more", (int)(why->n - shown));
  say(sentence, " cannot lie together within the budget");
  if (why->at_once) {
    say(sentence, ", at op '%.40s'", view->timeline->problem->graph->op[view->schedule->op[why->time]].name);
  }
}

/* The boxes of the schedule are derived once more, as they were when it was packed. */
plim_status plim_refusal_conflict(plim_incumbent *inc, const plim_schedule *schedule, int64_t packed_bytes,
                                  int64_t budget_bytes, char *text) {
  const plim_problem *p = inc->problem;
  words sentence = {text, 0, PLIM_CONFLICT_BYTES};
  plim_conflict why = {0};
  uint8_t *member = NULL;
  packed_schedule view = {.schedule = schedule};
  PLIM_TRY(plim_incumbent_place(inc, schedule, &view.timeline, &view.placement));
  int32_t n = view.placement->n_boxes;
  plim_boxes boxes = {.n = n, .align = p->align, .box = view.placement->box};
  PLIM_TRY(plim_allocate(p->ctx, n, 1, &member));
  plim_status status = plim_boxes_conflict(p->ctx, &boxes, budget_bytes - p->persistent_bytes,
                                           one_arena_tuning.conflict_work / (n + 1), member, &why);
  int64_t peak = view.timeline->peak_bytes;
  say(&sentence, "the peak of a schedule is %lld bytes", (long long)peak);
  if (peak <= budget_bytes) {
    say(&sentence, ", but its addresses miss %lld bytes", (long long)(packed_bytes - budget_bytes));
  }
  if (status == PLIM_OK && why.n > 0) say_buffers(&sentence, &view, &why, member);
  plim_release(p->ctx, member, n, 1);
  return status;
}

/* The fewest bytes that the search met. A peak above the budget was not packed: no plan is known to need so few. */
static void say_met(words *sentence, const plim_incumbent *inc) {
  if (inc->least_plan_bytes < INT64_MAX) {
    say(sentence, "the lowest plan that this search met needs ");
    say_bytes(sentence, inc->least_plan_bytes);
    say(sentence, ", a smaller one may exist (plim_plan_smallest looks for it); ");
  } else if (inc->least_bytes < INT64_MAX) {
    say(sentence, "the lowest peak that this search met is ");
    say_bytes(sentence, inc->least_bytes);
    say(sentence, ", a smaller one may exist (plim_plan_smallest looks for it); ");
  }
}

plim_status plim_refuse(plim_incumbent *inc, const char *strategy, plim_plan_floor *out) {
  const plim_problem *p = inc->problem;
  plim_plan_floor floor = {.smallest_bytes = PLIM_BYTES_UNLIMITED,
                           .fixed_numerics = p->fixed_numerics}; /* no one looked for it */
  char text[WORDS];
  words sentence = {text, 0, sizeof text};
  plim_bound_floor(p, &floor);
  if (inc->task.budget_bytes >= floor.bound_bytes && inc->conflict_bytes < INT64_MAX) {
    PLIM_TRY(plim_refusal_conflict(inc, &inc->conflict, inc->conflict_bytes, inc->task.budget_bytes, floor.conflict));
  }
  floor.cut_short = plim_incumbent_is_out_of_time(inc);
  say(&sentence, "\"%s\" found no plan for %.80s within ", strategy, p->graph->name);
  say_bytes(&sentence, inc->task.budget_bytes);
  say(&sentence, ": ");
  say_met(&sentence, inc);
  plim_plan_floor_describe(p->graph, &floor, sentence.text + sentence.used, sentence.size - sentence.used);
  *out = floor;
  return plim_fail(p->ctx, PLIM_ENOFIT, "%s", text);
}
