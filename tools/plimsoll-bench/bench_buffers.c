/* Buffers of large training steps made up by seed, with everything kept and with much recomputed: the time to a
 * packing within a percent of the peak bound, and the lowest packed size in the time given. The schedules are made for
 * sums of bytes, so that nothing about them suits addresses. */
#include <stdio.h>

#include "planner/pack/buffers_csv.h"
#include "planner/pack/pack.h"
#include "runtime/import/generate.h"
#include "tools/plimsoll-bench/bench.h"

static const char *const shapes[] = {"transformer", "residual", "unet", "layered"};
static const struct {
  const char *planner;
  int32_t percent; /* of program order's peak */
} plans[] = {{"keep-all", 100}, {"sqrt", 70}};
enum { SHAPES = sizeof shapes / sizeof *shapes, PLANS = sizeof plans / sizeof *plans, USUAL_OPS = 18000 };

typedef struct table {
  session *s;
  json_t *rows;
  const plim_graph *graph;
  const plim_profile *profile;
  const char *shape;
} table;

typedef struct result {
  const char *planner;
  int32_t buffers;
  plim_pack_solution lowest;
  double near_seconds, seconds; /* below 0: not found */
} result;

static double share_percent(const plim_pack_solution *found) {
  return found->packed_bytes > 0 ? 100.0 * (double)found->peak_bytes / (double)found->packed_bytes : 100;
}

static void print_row(const table *t, const result *r) {
  if (t->s->o->json) {
    json_t *row =
        json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:f, s:f, s:f}", "shape", t->shape, "planner", r->planner, "buffers",
                  (int)r->buffers, "peak_bytes", (json_int_t)r->lowest.peak_bytes, "first_fit_bytes",
                  (json_int_t)r->lowest.first_fit, "packed_bytes", (json_int_t)r->lowest.packed_bytes, "peak_percent",
                  share_percent(&r->lowest), "seconds_to_99_percent", r->near_seconds, "seconds", r->seconds);
    bench_row_add(t->s, t->rows, row);
    return;
  }
  char near_seconds[32] = "not found";
  if (r->near_seconds >= 0) (void)snprintf(near_seconds, sizeof near_seconds, "%.2f", r->near_seconds);
  printf("%-12s %-9s %7d %15lld %15lld %9s %15lld %8.2f%% %8.2f\n", t->shape, r->planner, r->buffers,
         (long long)r->lowest.peak_bytes, (long long)r->lowest.first_fit, near_seconds,
         (long long)r->lowest.packed_bytes, share_percent(&r->lowest), r->seconds);
  (void)fflush(stdout);
}

static plim_status run_buffers(const table *t, const char *planner, const plim_buffer_list *buffers) {
  plim_context *ctx = t->s->ctx;
  plim_boxes boxes = plim_buffer_list_boxes(buffers, 1);
  result r = {.planner = planner, .buffers = buffers->n};
  plim_pack_solution near_peak;
  int64_t *offset = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, buffers->n, sizeof *offset, &offset));
  PLIM_TRY_OR_DONE(bench_pack_once(t->s, &boxes, INT64_MAX, offset, &r.lowest, &r.seconds));
  PLIM_TRY_OR_DONE(bench_go_on(t->s)); /* a first packing is made even after a cancel */
  status = bench_pack_once(t->s, &boxes, r.lowest.peak_bytes / 99 * 100 + r.lowest.peak_bytes % 99 * 100 / 99, offset,
                           &near_peak, &r.near_seconds);
  if (status == PLIM_ENOFIT) r.near_seconds = -1;
  if (status != PLIM_OK && status != PLIM_ENOFIT) goto done;
  progress_clear(&t->s->bar);
  print_row(t, &r);
  status = bench_go_on(t->s);
done:
  plim_release(ctx, offset, buffers->n, sizeof *offset);
  return status;
}

/* A shape that a planner has no plan for has no row of it. */
static plim_status run_plan(const table *t, int which, int64_t *peak_bytes) {
  plim_plan_options planning = bench_planning(t->s, plans[which].planner);
  plim_plan *plan = NULL;
  plim_buffer_list *buffers = NULL;
  planning.unpacked = 1;
  planning.time_limit_ns = 0;
  if (*peak_bytes > 0) planning.budget_bytes = *peak_bytes / 100 * plans[which].percent;
  plim_status status = plim_plan_make(t->s->ctx, t->graph, t->profile, &planning, &plan);
  if (status == PLIM_ENOFIT) return PLIM_OK;
  if (status == PLIM_OK) status = plim_buffer_list_of_plan(t->s->ctx, t->graph, plan, &buffers);
  if (status == PLIM_OK) {
    *peak_bytes = plan->peak_bytes;
    status = run_buffers(t, plans[which].planner, buffers);
  }
  plim_buffer_list_free(buffers);
  plim_plan_free(plan);
  return status;
}

static plim_status run_shape(table *t, const char *shape) {
  const options *o = t->s->o;
  plim_generate_options generate = plim_generate_options_default(shape);
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  int64_t peak_bytes = 0;
  plim_status status;
  generate.n = o->ops > 0 ? (int32_t)o->ops : USUAL_OPS;
  generate.seed = (uint64_t)o->seed;
  PLIM_TRY_OR_DONE(plim_graph_generate(t->s->ctx, &generate, &graph));
  PLIM_TRY_OR_DONE(plim_profile_from_graph(graph, &profile));
  t->graph = graph;
  t->profile = profile;
  t->shape = shape;
  for (int i = 0; i < PLANS; i++) PLIM_TRY_OR_DONE(run_plan(t, i, &peak_bytes));
done:
  plim_profile_free(profile);
  plim_graph_free(graph);
  return status;
}

plim_status bench_buffers(session *s) {
  table t = {.s = s, .rows = json_array()};
  plim_status status = PLIM_OK;
  if (!s->o->json) {
    printf("%-12s %-9s %7s %15s %15s %9s %15s %9s %8s\n", "shape", "planner", "buffers", "peak", "first-fit",
           "s to 99 %", "packed", "peak, %", "seconds");
  }
  for (int i = 0; i < SHAPES && status == PLIM_OK; i++) status = run_shape(&t, shapes[i]);
  bench_rows_end(s, status, t.rows);
  return status;
}
