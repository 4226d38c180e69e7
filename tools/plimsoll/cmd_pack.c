/* plimsoll pack: offsets for lives of a CSV file or of a plan. */
#include <stdio.h>
#include <string.h>

#include "planner/pack/conflict.h"
#include "planner/pack/plan_lives.h"
#include "planner/pack/solve.h"
#include "runtime/base/file.h"
#include "runtime/base/size.h"
#include "runtime/graph/check.h"
#include "tools/plimsoll/beside.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/interrupt.h"
#include "tools/plimsoll/session.h"

enum { CONFLICT_NODES = 500000, SHOWN = 8 };

/* Seconds of packing when --time-limit does not say: for the lowest height, and under a capacity. */
static const double lowest_limit = 10, capacity_limit = 60;

static double gap_percent(int64_t height, int64_t bound) {
  return bound > 0 ? 100.0 * (double)(height - bound) / (double)bound : 0;
}

static void on_progress(void *user, const plim_progress *report) {
  char text[160];
  (void)snprintf(text, sizeof text, "%.1f s  height %lld  bound %lld  gap %.2f %%", (double)report->elapsed_ns / 1e9,
                 (long long)report->done, (long long)report->total, gap_percent(report->done, report->total));
  progress_draw(user, report->stage, 0, 0, text);
}

static void print_table(const session *s, const plim_lives *lives, const plim_pack_solution *found, int64_t capacity,
                        double seconds) {
  figures f;
  figures_begin(&f, 1, NULL, NULL);
  figures_count(&f, 0, "lives", "lives", lives->n);
  if (capacity < INT64_MAX) figures_bytes(&f, 0, "capacity_bytes", "capacity", capacity);
  figures_count(&f, 0, "first_fit_bytes", "first-fit", found->first_fit);
  figures_count(&f, 0, "height_bytes", "height", found->height);
  figures_count(&f, 0, "load_bytes", "load", found->load);
  figures_count(&f, 0, "bound_bytes", "lower bound", found->bound);
  figures_real(&f, 0, "gap_percent", "gap", "%.2f %%", gap_percent(found->height, found->bound));
  figures_flag(&f, 0, "proved", "proved lowest", found->proved);
  figures_real(&f, 0, "seconds", "time", "%.3f s", seconds);
  figures_print(&f, s->o->json);
  figures_end(&f);
}

static plim_status read_capacity(const session *s, int64_t *capacity) {
  plim_size size;
  *capacity = INT64_MAX;
  if (!s->o->capacity) return PLIM_OK;
  PLIM_TRY(plim_size_parse(s->ctx, s->o->capacity, &size));
  *capacity = size.bytes;
  if (size.bytes >= 0) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EUSAGE, "--capacity %s: percentages are not allowed here; give bytes", s->o->capacity);
}

static plim_status save(const session *s, const plim_lives *lives, const int64_t *offset) {
  plim_text text = {s->ctx, NULL, 0, 0, PLIM_OK};
  plim_lives_write(&text, lives, offset);
  plim_status status = text.status;
  if (status == PLIM_OK) status = plim_file_save(s->ctx, s->o->output, text.chars, text.length);
  plim_text_free(&text);
  return status;
}

/* Add which lives do not fit together; nothing when that is not proven. */
static void name_members(plim_text *text, const plim_lives *lives, const plim_conflict *why, const uint8_t *member) {
  int32_t shown = 0;
  if (why->at_once) {
    char alone[32] = "one";
    if (why->n > 1) (void)snprintf(alone, sizeof alone, "these %d", why->n);
    plim_text_format(text, "; at step %lld %s alone %s too much:", (long long)why->time, alone,
                     why->n > 1 ? "are" : "is");
  } else if (why->n > 0) {
    plim_text_format(text, "; these %d do not fit%s:", why->n,
                     why->irreducible ? ", and without any one of them the others do" : "");
  }
  for (int32_t i = 0; i < lives->n && shown < SHOWN; i++) {
    const plim_box *box = &lives->box[i];
    if (!member[i]) continue;
    plim_text_format(text, "%s %.24s [%lld, %lld) %lld", shown++ > 0 ? "," : "", lives->id[i], (long long)box->begin,
                     (long long)box->end, (long long)box->bytes);
  }
  if (why->n > shown) plim_text_format(text, " and %d more", why->n - shown);
}

/* The refusal in the context, and why. */
static plim_status refuse(const session *s, const plim_lives *lives, int64_t capacity) {
  plim_boxes boxes = plim_lives_boxes(lives, 1);
  plim_text text = {s->ctx, NULL, 0, 0, PLIM_OK};
  plim_conflict why;
  uint8_t *member = NULL;
  plim_status status;
  plim_text_add(&text, plim_context_error(s->ctx));
  PLIM_CHECK(plim_allocate(s->ctx, lives->n, 1, &member));
  PLIM_CHECK(plim_boxes_conflict(s->ctx, &boxes, capacity, CONFLICT_NODES, member, &why));
  name_members(&text, lives, &why, member);
  PLIM_CHECK(text.status);
  status = plim_fail(s->ctx, PLIM_ENOFIT, "%s", text.chars);
done:
  plim_release(s->ctx, member, lives->n, 1);
  plim_text_free(&text);
  return status;
}

static plim_status load_plan(const session *s, plim_lives **lives) {
  char beside[BESIDE_PATH_BYTES];
  plim_graph *graph = NULL;
  plim_plan *plan = NULL;
  plim_status status;
  PLIM_CHECK(beside_graph_path(s->ctx, s->o->file, beside));
  PLIM_CHECK(plim_plan_load(s->ctx, s->o->file, &plan));
  PLIM_CHECK(plim_graph_load(s->ctx, s->o->graph ? s->o->graph : beside, &graph));
  PLIM_CHECK(plim_plan_check(s->ctx, graph, plan));
  status = plim_lives_of_plan(s->ctx, graph, plan, lives);
done:
  plim_plan_free(plan);
  plim_graph_free(graph);
  return status;
}

static plim_status load(const session *s, plim_lives **lives) {
  const char *dot = strrchr(s->o->file, '.');
  return s->o->graph || (dot && strcmp(dot, ".json") == 0) ? load_plan(s, lives)
                                                           : plim_lives_load(s->ctx, s->o->file, lives);
}

static plim_status pack(session *s) {
  double limit = s->o->time_limit > 0 ? s->o->time_limit : s->o->capacity ? capacity_limit : lowest_limit;
  plim_pack_options wanted = plim_pack_options_default();
  plim_lives *lives = NULL;
  plim_pack_solution found;
  int64_t *offset = NULL;
  plim_status status;
  int64_t begin = plim_now_ns();
  wanted.time_limit_ns = (int64_t)(limit * 1e9);
  wanted.threads = (int32_t)s->o->threads;
  plim_context_set_progress(s->ctx, on_progress, &s->bar);
  PLIM_CHECK(read_capacity(s, &wanted.capacity));
  interrupt_at_once(1);
  PLIM_CHECK(load(s, &lives));
  interrupt_at_once(0); /* the lowest packing so far is kept */
  session_reserve(s);
  if (s->o->time_limit > 0) wanted.time_limit_ns = session_left_ns(s);
  plim_boxes boxes = plim_lives_boxes(lives, 1);
  PLIM_CHECK(plim_allocate(s->ctx, lives->n, sizeof *offset, &offset));
  status = plim_pack_solve(s->ctx, &boxes, &wanted, offset, &found);
  if (status == PLIM_ENOFIT) status = refuse(s, lives, wanted.capacity);
  if (status != PLIM_OK) goto done;
  if (s->o->output) PLIM_CHECK(save(s, lives, offset));
  progress_clear(&s->bar);
  print_table(s, lives, &found, wanted.capacity, (double)(plim_now_ns() - begin) / 1e9);
done:
  if (lives) plim_release(s->ctx, offset, lives->n, sizeof *offset);
  plim_lives_free(lives);
  return status;
}

static int run_pack(const options *o) {
  return session_run(o, pack);
}

const command command_pack = {
    .name = "pack",
    .mask = COMMAND_PACK,
    .file = "LIVES",
    .summary = "give offsets to lives of a CSV file or a plan",
    .about =
        "Give every life of a CSV file (id, lower, upper, size; the dialect of MiniMalloc), or of a plan (.json), an "
        "offset such that lives "
        "that overlap in time do not overlap in space: under a capacity, or, without one, as low as the time "
        "limit allows (10 s unless given; 60 s under a capacity), on one thread unless --threads says more. Where "
        "lives do not fit, it names a few that together cannot. Prints the "
        "height, the load (largest sum of bytes alive) and what is proven.",
    .after =
        "EXAMPLES\n"
        "  plimsoll pack lives.csv --capacity 1048576 -o packed.csv\n"
        "  plimsoll pack lives.csv --time-limit 10s -o packed.csv   as low as possible\n"
        "  plimsoll pack plan.json -o lives.csv                     the lives of a plan\n\n"
        "FILES\n"
        "  Columns: id, lower, upper (or end: inclusive), size; if wanted alignment,\n"
        "  hint, gaps and offset (a fixed place). The output has the offset as its\n"
        "  last column.\n"
        "  The graph of plan.json is read from plan.graph.json beside it, unless\n"
        "  --graph names it.\n",
    .run = run_pack,
};
