/* plimsoll pack: offsets for buffers of a CSV file or of a plan. */
#include <stdio.h>
#include <string.h>

#include "planner/pack/buffers_csv.h"
#include "planner/pack/pack.h"
#include "runtime/base/file.h"
#include "runtime/base/size.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/sibling.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/process.h"
#include "tools/plimsoll/session.h"

enum { CONFLICT_NODES = 500000, SHOWN = 8 };

/* Seconds of packing when --time-limit does not say: for the lowest packed size, and under a capacity. */
static const double lowest_limit = 10, capacity_limit = 60;

static double gap_percent(int64_t packed_bytes, int64_t bound) {
  return bound > 0 ? 100.0 * (double)(packed_bytes - bound) / (double)bound : 0;
}

static void on_progress(void *user, const plim_progress *report) {
  char text[160];
  (void)snprintf(text, sizeof text, "%.1f s  packed size %lld  bound %lld  gap %.2f %%",
                 (double)report->elapsed_ns / 1e9, (long long)report->done, (long long)report->total,
                 gap_percent(report->done, report->total));
  progress_draw(user, report->stage, 0, 0, text);
}

static void print_table(const session *s, const plim_buffer_list *buffers, const plim_pack_solution *found,
                        int64_t capacity, double seconds) {
  figures f;
  figures_begin(&f, 1, NULL, NULL);
  figures_count(&f, 0, "buffers", "buffers", buffers->n);
  if (capacity < INT64_MAX) figures_bytes(&f, 0, "capacity_bytes", "capacity", capacity);
  figures_count(&f, 0, "first_fit_bytes", "first-fit", found->first_fit);
  figures_count(&f, 0, "packed_bytes", "packed size", found->packed_bytes);
  (void)json_object_set_new(f.object, "height_bytes", json_integer(found->packed_bytes)); /* its earlier name */
  figures_count(&f, 0, "peak_bytes", "peak", found->peak_bytes);
  figures_count(&f, 0, "bound_bytes", "lower bound", found->bound);
  figures_real(&f, 0, "gap_percent", "gap", "%.2f %%", gap_percent(found->packed_bytes, found->bound));
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

static plim_status save(const session *s, const plim_buffer_list *buffers, const int64_t *offset) {
  plim_text text = {s->ctx, NULL, 0, 0, PLIM_OK};
  plim_buffer_list_write(&text, buffers, offset);
  plim_status status = text.status;
  if (status == PLIM_OK) status = plim_file_save(s->ctx, s->o->output, text.chars, text.length);
  plim_text_free(&text);
  return status;
}

/* Add which buffers do not fit together; nothing when that is not proven. */
static void name_members(plim_text *text, const plim_buffer_list *buffers, const plim_conflict *why,
                         const uint8_t *member) {
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
  for (int32_t i = 0; i < buffers->n && shown < SHOWN; i++) {
    const plim_box *box = &buffers->box[i];
    if (!member[i]) continue;
    plim_text_format(text, "%s %.24s [%lld, %lld) %lld", shown++ > 0 ? "," : "", buffers->id[i], (long long)box->begin,
                     (long long)box->end, (long long)box->bytes);
  }
  if (why->n > shown) plim_text_format(text, " and %d more", why->n - shown);
}

/* The refusal in the context, and why. */
static plim_status refuse(const session *s, const plim_buffer_list *buffers, int64_t capacity) {
  plim_boxes boxes = plim_buffer_list_boxes(buffers, 1);
  plim_text text = {s->ctx, NULL, 0, 0, PLIM_OK};
  plim_conflict why;
  uint8_t *member = NULL;
  plim_status status;
  plim_text_add(&text, plim_context_error(s->ctx));
  PLIM_TRY_OR_DONE(plim_allocate(s->ctx, buffers->n, 1, &member));
  PLIM_TRY_OR_DONE(plim_boxes_conflict(s->ctx, &boxes, capacity, CONFLICT_NODES, member, &why));
  name_members(&text, buffers, &why, member);
  PLIM_TRY_OR_DONE(text.status);
  status = plim_fail(s->ctx, PLIM_ENOFIT, "%s", text.chars);
done:
  plim_release(s->ctx, member, buffers->n, 1);
  plim_text_free(&text);
  return status;
}

static plim_status load_plan(const session *s, plim_buffer_list **buffers) {
  char beside[PLIM_FILE_PATH_BYTES];
  plim_graph *graph = NULL;
  plim_plan *plan = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_sibling_graph_path(s->ctx, s->o->file, beside));
  PLIM_TRY_OR_DONE(plim_plan_load(s->ctx, s->o->file, &plan));
  PLIM_TRY_OR_DONE(plim_graph_load(s->ctx, s->o->graph ? s->o->graph : beside, &graph));
  PLIM_TRY_OR_DONE(plim_plan_check(s->ctx, graph, plan));
  status = plim_buffer_list_of_plan(s->ctx, graph, plan, buffers);
done:
  plim_plan_free(plan);
  plim_graph_free(graph);
  return status;
}

static plim_status peak_bytes(const session *s, plim_buffer_list **buffers) {
  return s->o->graph || path_ends_in(s->o->file, ".json") ? load_plan(s, buffers)
                                                          : plim_buffer_list_load(s->ctx, s->o->file, buffers);
}

static plim_status pack(session *s) {
  double limit = s->o->time_limit > 0 ? s->o->time_limit : s->o->capacity ? capacity_limit : lowest_limit;
  plim_pack_options wanted = plim_pack_options_default();
  plim_buffer_list *buffers = NULL;
  plim_pack_solution found;
  int64_t *offset = NULL;
  plim_status status;
  int64_t begin = plim_now_ns();
  wanted.time_limit_ns = (int64_t)(limit * 1e9);
  wanted.threads = (int32_t)s->o->threads;
  plim_context_set_progress(s->ctx, on_progress, &s->bar);
  PLIM_TRY_OR_DONE(read_capacity(s, &wanted.capacity));
  interrupt_at_once(1);
  PLIM_TRY_OR_DONE(peak_bytes(s, &buffers));
  interrupt_at_once(0); /* the lowest packing so far is kept */
  session_reserve(s);
  if (s->o->time_limit > 0) wanted.time_limit_ns = session_left_ns(s);
  plim_boxes boxes = plim_buffer_list_boxes(buffers, 1);
  PLIM_TRY_OR_DONE(plim_allocate(s->ctx, buffers->n, sizeof *offset, &offset));
  status = plim_pack_solve(s->ctx, &boxes, &wanted, offset, &found);
  if (status == PLIM_ENOFIT) status = refuse(s, buffers, wanted.capacity);
  if (status != PLIM_OK) goto done;
  if (s->o->output) PLIM_TRY_OR_DONE(save(s, buffers, offset));
  progress_clear(&s->bar);
  print_table(s, buffers, &found, wanted.capacity, (double)(plim_now_ns() - begin) / 1e9);
done:
  if (buffers) plim_release(s->ctx, offset, buffers->n, sizeof *offset);
  plim_buffer_list_free(buffers);
  return status;
}

static int run_pack(const options *o) {
  return session_run(o, pack);
}

const command command_pack = {
    .name = "pack",
    .mask = COMMAND_PACK,
    .file = "BUFFERS",
    .summary = "give offsets to buffers of a CSV file or a plan",
    .about =
        "Give every buffer of a CSV file (id, lower, upper, size; the dialect of MiniMalloc), or of a plan (.json), an "
        "offset such that buffers that overlap in time do not overlap in space: under a capacity, or, without one, as "
        "low as the time limit allows (10 s unless given; 60 s under a capacity), on one thread unless --threads says "
        "more. Where buffers do not fit, it names a few that together cannot. Prints the packed size, the peak "
        "(largest sum of live bytes) and what is proven.",
    .after =
        "EXAMPLES\n"
        "  plimsoll pack buffers.csv --capacity 1048576 -o packed.csv\n"
        "  plimsoll pack buffers.csv --time-limit 10s -o packed.csv  # smallest found\n"
        "  plimsoll pack plan.json -o buffers.csv                       # its buffers\n\n"
        "FILES\n"
        "  Columns: id, lower, upper (or end: inclusive), size; if wanted alignment,\n"
        "  hint, gaps and offset (a fixed place). A hint is followed where its place\n"
        "  is free once all buffers are packed. The output has the offset as its\n"
        "  last column.\n"
        "  The graph of plan.json is read from plan.graph.json beside it, unless\n"
        "  --graph names it.\n",
    .run = run_pack,
};
