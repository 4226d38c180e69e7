/* Refusals: numbers first; where only packing failed, the lives that are in each other's way (planner/pack/conflict.h).
 */
#include "planner/refusal.h"

#include <stdio.h>

#include "planner/bound.h"
#include "planner/pack/conflict.h"
#include "runtime/base/text.h"

enum { SHOWN = 4, CONFLICT_WORK = 30000000 /* nodes of exact search times boxes: a node costs O(boxes) */ };

/* The value whose bytes lie in a box; *what is "" or what they are to it. */
static const char *name_of(const plim_planning *pl, const plim_schedule *s, int32_t box, const char **what) {
  const plim_placement *at = &pl->placement;
  const plim_problem *p = pl->problem;
  const plim_graph *g = p->graph;
  *what = "";
  for (int32_t c = 0; c < pl->timeline->n_copies; c++) {
    if (at->box_of_copy[c] != box) continue;
    int32_t storage = p->item[pl->timeline->copy[c].item].storage;
    for (int32_t v = 0; v < g->n_values; v++) {
      if (g->value[v].storage == storage) return g->value[v].name;
    }
  }
  *what = "workspace of ";
  for (int32_t j = 0; j < s->n; j++) {
    if (at->box_of_step[j] == box) return g->op[s->op[j]].name;
  }
  return "";
}

static void name_lives(plim_text *text, const plim_planning *pl, const plim_schedule *s, const plim_conflict *why,
                       const uint8_t *member) {
  int32_t shown = 0;
  for (int32_t b = 0; b < pl->placement.n_boxes && shown < SHOWN; b++) {
    const char *what;
    if (!member[b]) continue;
    const char *name = name_of(pl, s, b, &what);
    plim_text_format(text, "%s%s%.40s (%lld bytes)", shown++ > 0 ? ", " : ": ", what, name,
                     (long long)pl->placement.box[b].bytes);
  }
  plim_text_format(text, "%s cannot lie together", why->n > shown ? ", ..." : "");
}

/* What is said of the lowest schedule whose peak fits. Its boxes are made again, as they were when it was packed. */
static plim_status describe_clash(plim_planning *pl, plim_text *text) {
  const plim_problem *p = pl->problem;
  const plim_schedule *s = &pl->clash;
  plim_conflict why = {0};
  uint8_t *member = NULL;
  PLIM_TRY(plim_timeline_evaluate(pl->timeline, s));
  PLIM_TRY(plim_place(&pl->placement, pl->timeline, s, 0, 0));
  int32_t n = pl->placement.n_boxes;
  plim_boxes boxes = {.n = n, .align = p->align, .box = pl->placement.box};
  PLIM_TRY(plim_allocate(p->ctx, n, 1, &member));
  plim_status status = plim_boxes_conflict(p->ctx, &boxes, pl->budget_bytes - p->persistent_bytes,
                                           CONFLICT_WORK / (n + 1), member, &why);
  if (status == PLIM_OK) {
    plim_text_format(text, "; a schedule's peak is %lld bytes, but its addresses miss %lld bytes",
                     (long long)pl->timeline->peak_bytes, (long long)(pl->clash_bytes - pl->budget_bytes));
    if (why.n > 0) name_lives(text, pl, s, &why, member);
    status = text->status;
  }
  plim_release(p->ctx, member, n, 1);
  return status;
}

plim_status plim_refuse(plim_planning *pl, const char *strategy) {
  const plim_problem *p = pl->problem;
  plim_plan_floor floor = {0};
  plim_text clash = {p->ctx, NULL, 0, 0, PLIM_OK};
  char who[400];
  floor.bound_bytes = plim_bound_bytes(p, &floor.op);
  plim_plan_floor_describe(p->graph, &floor, who, sizeof who);
  if (pl->budget_bytes < floor.bound_bytes) {
    return plim_fail(p->ctx, PLIM_ENOFIT,
                     "a budget of %lld bytes is below %lld bytes, below which there is no plan: %s",
                     (long long)pl->budget_bytes, (long long)floor.bound_bytes, who);
  }
  plim_status status = pl->clash_bytes < INT64_MAX ? describe_clash(pl, &clash) : PLIM_OK;
  if (status == PLIM_OK) {
    status = plim_fail(
        p->ctx, PLIM_ENOFIT,
        "\"%s\" found no plan within %lld bytes; the smallest budget for which it met one is %lld bytes; none "
        "exists below %lld bytes, where %s%s",
        strategy, (long long)pl->budget_bytes, (long long)pl->least_bytes, (long long)floor.bound_bytes, who,
        clash.chars ? clash.chars : "");
  }
  plim_text_free(&clash);
  return status;
}
