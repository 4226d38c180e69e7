/* plimsoll plan --front: plans for a range of budgets, of the arena or of one space, and the picture of the former. */
#include "tools/plimsoll/cmd_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planner/paging/paging.h"
#include "planner/spaces/problem/space_problem.h"
#include "runtime/base/file.h"
#include "runtime/base/size.h"
#include "runtime/base/text.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/pictures.h"

/* ==== what all fronts share ==== */

typedef void front_writer(plim_text *text, const void *front);

enum { DEFAULT_POINTS = 41 };

/* --points, or the default. */
static int32_t front_points(const options *o) {
  return o->points > 0 ? (int32_t)o->points : DEFAULT_POINTS;
}

/* Write the front to --output, as CSV where its name ends in .csv, else as JSON; without --output print JSON. */
static plim_status write_form(session *s, front_writer *json, front_writer *csv, const void *front) {
  const char *path = s->o->output;
  plim_text t = {.ctx = s->ctx};
  (path_ends_in(path, ".csv") ? csv : json)(&t, front);
  plim_status status = t.status;
  if (status == PLIM_OK && path) status = plim_file_save(s->ctx, path, t.chars, t.length);
  if (status == PLIM_OK && !path) (void)fputs(t.chars, stdout);
  plim_text_free(&t);
  return status;
}

/* Budgets in even steps. The product of two ints and the rest of the division cannot overflow. */
static void set_even_budgets(int64_t low, int64_t high, int32_t n, int64_t *budget) {
  const int64_t width = high > low ? high - low : 0, steps = n > 1 ? n - 1 : 1;
  for (int32_t i = 0; i < n; i++) budget[i] = low + width / steps * i + width % steps * i / steps;
}

/* ==== the picture ==== */

/* Overhead over the budget: the plans as a step curve (a plan serves every larger budget), the proven bound below (it
 * holds for every smaller one). */

/* A budget that has a plan, in percent. */
typedef struct point {
  double budget, overhead, bound;
} point;

typedef struct picture {
  const char *name, *of; /* of the graph; of what the picture is, as "overhead" */
  int64_t whole_bytes;   /* what budgets are shares of */
  int32_t n;
  point *point; /* [n] by budget */
} picture;

enum { WIDTH = 960, HEIGHT = 520, LEFT = 84, RIGHT = 28, TOP = 72, BOTTOM = 64, MOST_TICKS = 10, MOST_NAME = 60 };

typedef struct frame {
  double low, high;   /* percent of the whole, at the left and right edge */
  double least, most; /* overhead at the bottom and at the top; below 0 where two devices are faster than one */
} frame;

static double x_of(const frame *f, double percent) {
  return LEFT + (percent - f->low) * (WIDTH - LEFT - RIGHT) / (f->high - f->low);
}

static double y_of(const frame *f, double overhead) {
  return HEIGHT - BOTTOM - (overhead - f->least) * (HEIGHT - TOP - BOTTOM) / (f->most - f->least);
}

static frame frame_of(const picture *p) {
  frame f = {.low = p->n > 0 ? p->point[0].budget : 0, .high = p->n > 0 ? p->point[p->n - 1].budget : 100};
  for (int32_t i = 0; i < p->n; i++) {
    f.most = fmax(f.most, p->point[i].overhead);
    f.least = fmin(f.least, fmin(p->point[i].overhead, p->point[i].bound));
  }
  if (f.most <= f.least) f.most = f.least + 1;
  f.most += 0.05 * (f.most - f.least);
  f.low = floor(f.low);
  if (f.low >= f.high) f.low = f.high - 1;
  return f;
}

static void draw_axes(plim_text *t, const frame *f, const picture *p) {
  char whole[PLIM_SIZE_TEXT_BYTES];
  double tick = svg_tick(f->high - f->low, MOST_TICKS);
  for (int i = (int)ceil(f->low / tick); i * tick <= f->high * 1.0001; i++) {
    double x = i * tick;
    plim_text_format(t, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g %%</text>\n", x_of(f, x),
                     HEIGHT - BOTTOM + 22, x);
  }
  tick = svg_tick(f->most - f->least, MOST_TICKS);
  for (int i = (int)ceil(f->least / tick); i * tick <= f->most; i++) {
    double y = i * tick;
    plim_text_format(t, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, WIDTH - RIGHT,
                     y_of(f, y), y_of(f, y));
    plim_text_format(t, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g %%</text>\n", LEFT - 8, y_of(f, y) + 5, y);
  }
  plim_text_format(t, "<path class=\"axis\" d=\"M%d %dV%dH%d\" fill=\"none\"/>\n", LEFT, TOP, HEIGHT - BOTTOM,
                   WIDTH - RIGHT);
  plim_text_format(t,
                   "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">budget, share of the %s that keeping everything "
                   "needs</text>\n",
                   (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, plim_size_print(p->whole_bytes, whole));
  plim_text_format(t, "<text transform=\"translate(22 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
                   (TOP + HEIGHT - BOTTOM) / 2, p->of);
}

/* A step at every budget. `bound` 1: the proven bound instead of the plan's overhead; it steps down right after a
 * budget, the plan's overhead at the next one. */
static void draw_steps(plim_text *t, const frame *f, const picture *p, int bound) {
  plim_text_format(t, "<path class=\"%s\" fill=\"none\" d=\"", bound ? "bound" : "plan");
  for (int32_t i = 0; i < p->n; i++) {
    const point *at = &p->point[i];
    const double x = x_of(f, at->budget), y = y_of(f, bound ? at->bound : at->overhead);
    if (bound && i == 1) { /* what the smallest budget proves is of it */
      plim_text_format(t, "M%.1f %.1f", x_of(f, p->point[0].budget), y);
    }
    if (!bound && i == 0) plim_text_format(t, "M%.1f %.1f", x, y);
    if (i > 0 && bound) plim_text_format(t, "V%.1fH%.1f", y, x);
    if (i > 0 && !bound) plim_text_format(t, "H%.1fV%.1f", x, y);
  }
  plim_text_format(t, "%s\"/>\n", p->n > bound ? "" : "M0 0");
}

static void draw_legend(plim_text *t) {
  static const struct {
    const char *class, *words;
  } key[] = {{"plan", "best plan known"}, {"bound", "proven lower bound"}};
  for (int i = 0; i < 2; i++) {
    int x = LEFT + 190 * i, y = TOP - 20;
    plim_text_format(t, "<path class=\"%s\" fill=\"none\" d=\"M%d %dh26\"/>\n", key[i].class, x, y);
    plim_text_format(t, "<text x=\"%d\" y=\"%d\">%s</text>\n", x + 34, y + 5, key[i].words);
  }
}

static const char style[] =
    "<style>text{font:14px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#222}.title{font-size:17px;font-weight:bold}"
    ".grid{stroke:#e4e4e4}.axis{stroke:#444}.plan{stroke:#1b5ea3;stroke-width:2.5}"
    ".bound{stroke:#c62828;stroke-width:1.5;stroke-dasharray:6 4}</style>\n";

static plim_status draw(plim_context *ctx, const picture *p, const char *path) {
  plim_text t = {.ctx = ctx};
  frame f = frame_of(p);
  plim_text_format(&t,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n%s"
                   "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
                   "<text class=\"title\" x=\"%d\" y=\"30\">",
                   WIDTH, HEIGHT, WIDTH, HEIGHT, style, WIDTH, HEIGHT, LEFT);
  svg_add(&t, p->name, MOST_NAME);
  plim_text_format(&t, ": %s over the budget</text>\n", p->of);
  draw_legend(&t);
  draw_axes(&t, &f, p);
  draw_steps(&t, &f, p, 1);
  draw_steps(&t, &f, p, 0);
  plim_text_add(&t, "</svg>\n");
  plim_status status = t.status;
  if (status == PLIM_OK) status = plim_file_save(ctx, path, t.chars, t.length);
  plim_text_free(&t);
  return status;
}

/* ==== budgets of the arena ==== */

/* From the smallest budget with a plan to the one that costs nothing, or with other spaces to the arena's budget. */

typedef struct budget_front {
  const budget_request *request;
  plim_plan_span span; /* a plan is NULL where none was found */
} budget_front;

static int64_t bytes_of(const plim_plan *plan) {
  return plan->packed ? plan->arena_bytes : plan->peak_bytes;
}

static double percent_of_whole(const budget_front *c, int64_t bytes) {
  return 100.0 * (double)bytes / (double)c->request->whole_bytes;
}

/* The powers of the objective energy; NULL: the objective is time. */
static const plim_powers *powers_of(const budget_front *c) {
  const plim_paging *paging = c->request->options->paging;
  return paging ? paging->powers : NULL;
}

static plim_paging_overhead overhead_of(const budget_front *c, const plim_plan *plan) {
  return plim_paging_overhead_of(plan, c->request->options->paging, c->request->whole_joule);
}

/* ---- forms ---- */

/* The budgets of the other spaces. */
static void write_beside(plim_text *t, const plim_paging *paging) {
  if (!paging) return;
  plim_text_add(t, "  \"beside\": {");
  const char *comma = "";
  for (int32_t i = 0; i < paging->n_devices; i++) {
    const plim_paging_device *d = &paging->device[i];
    plim_text_format(t, "%s\"%s\": %lld", comma, d->name, (long long)d->budget_bytes);
    comma = ", ";
  }
  if (paging->space) plim_text_format(t, "%s\"%s\": %lld", comma, paging->space, (long long)paging->budget_bytes);
  plim_text_add(t, "},\n");
}

static void write_json(plim_text *t, const void *opaque) {
  const budget_front *c = opaque;
  const char *comma = "";
  plim_text_add(t, "{\n  \"graph\": ");
  plim_text_quote(t, c->request->graph->name);
  plim_text_format(t,
                   ",\n  \"fingerprint\": \"%s\",\n  \"whole_bytes\": %lld,\n  \"smallest_bytes\": %lld,\n"
                   "  \"bound_bytes\": %lld,\n",
                   c->request->graph->fingerprint, (long long)c->request->whole_bytes,
                   (long long)c->span.floor.smallest_bytes, (long long)c->span.floor.bound_bytes);
  write_beside(t, c->request->options->paging);
  if (powers_of(c)) plim_text_format(t, "  \"whole_joule\": %.9g,\n", c->request->whole_joule);
  plim_text_add(t, "  \"points\": [");
  for (int32_t i = 0; i < c->span.n; i++) {
    const plim_plan *p = c->span.plan[i];
    if (!p) continue;
    const plim_paging_overhead o = overhead_of(c, p);
    plim_text_format(t,
                     "%s\n    {\"budget_bytes\": %lld, \"budget_percent\": %.4f, \"bytes\": %lld, \"time_ns\": %lld, ",
                     comma, (long long)c->span.budget[i], percent_of_whole(c, c->span.budget[i]),
                     (long long)bytes_of(p), (long long)p->time_ns);
    if (powers_of(c)) plim_text_format(t, "\"energy_joule\": %.9g, ", plim_plan_energy(p, powers_of(c)));
    plim_text_format(t, "\"overhead_percent\": %.6f, \"bound_percent\": %.6f, \"class\": \"%s\", \"proved\": %s}",
                     o.percent, o.bound_percent, plim_plan_class_name(p->plan_class), o.proved ? "true" : "false");
    comma = ",";
  }
  plim_text_add(t, "\n  ]\n}\n");
}

static void write_csv(plim_text *t, const void *opaque) {
  const budget_front *c = opaque;
  const plim_powers *powers = powers_of(c);
  plim_text_format(t, "budget_bytes,budget_percent,bytes,time_ns,%soverhead_percent,bound_percent,class,proved\n",
                   powers ? "energy_joule," : "");
  for (int32_t i = 0; i < c->span.n; i++) {
    const plim_plan *p = c->span.plan[i];
    if (!p) continue;
    const plim_paging_overhead o = overhead_of(c, p);
    plim_text_format(t, "%lld,%.4f,%lld,%lld,", (long long)c->span.budget[i], percent_of_whole(c, c->span.budget[i]),
                     (long long)bytes_of(p), (long long)p->time_ns);
    if (powers) plim_text_format(t, "%.9g,", plim_plan_energy(p, powers));
    plim_text_format(t, "%.6f,%.6f,%s,%d\n", o.percent, o.bound_percent, plim_plan_class_name(p->plan_class), o.proved);
  }
}

/* ---- planning ---- */

static plim_status plan_points(session *s, budget_front *c) {
  const budget_request *r = c->request;
  c->span.n = front_points(s->o);
  PLIM_TRY(plim_allocate(s->ctx, c->span.n, sizeof *c->span.budget, &c->span.budget));
  PLIM_TRY(plim_allocate(s->ctx, c->span.n, sizeof(plim_plan *), &c->span.plan));
  c->span.high_bytes = r->whole_bytes;
  if (r->floor) {
    const int64_t own = r->options->budget_bytes, high = own < r->whole_bytes ? own : r->whole_bytes;
    if (own < r->floor->smallest_bytes) return refusal_explain_floor(s, r->floor); /* which ends the range */
    c->span.floor = *r->floor;
    set_even_budgets(r->floor->smallest_bytes, high, c->span.n, c->span.budget);
    return plim_plan_front(s->ctx, r->graph, r->profile, r->options, c->span.n, c->span.budget, c->span.plan);
  }
  return plim_plan_range(s->ctx, r->graph, r->profile, r->options, &c->span);
}

static void print_summary(const session *s, const budget_front *c, double seconds) {
  figures f;
  const plim_plan *first = NULL;
  int32_t found = 0, proved = 0;
  for (int32_t i = 0; i < c->span.n; i++) {
    if (!c->span.plan[i]) continue;
    if (!first) first = c->span.plan[i];
    found++;
    proved += overhead_of(c, c->span.plan[i]).proved;
  }
  figures_begin(&f, 1, NULL, NULL);
  figures_text(&f, 0, "graph", "graph", c->request->graph->name);
  figures_bytes(&f, 0, "smallest_bytes", "smallest budget", c->span.floor.smallest_bytes);
  figures_note(&f, 0, " (%.1f %%)%s", percent_of_whole(c, c->span.floor.smallest_bytes),
               c->request->floor ? ", found by halving" : "");
  if (c->span.floor.bound_bytes > 0) {
    figures_note(&f, 0, ", none exists below %lld bytes", (long long)c->span.floor.bound_bytes);
  }
  figures_bytes(&f, 0, "whole_bytes", "everything", c->request->whole_bytes);
  figures_count(&f, 0, "points", "budgets", found);
  figures_note(&f, 0, ", %d of them proved", proved);
  if (first) figures_real(&f, 0, "overhead_percent", "most overhead", "%.2f %%", overhead_of(c, first).percent);
  if (first && powers_of(c)) figures_note(&f, 0, " of keep-all's %.6g J", c->request->whole_joule);
  figures_real(&f, 0, "seconds", "planned in", "%.2f s", seconds);
  figures_print_to(&f, s->o->json, s->o->output ? stdout : stderr);
  figures_end(&f);
}

static plim_status draw_budgets(session *s, const budget_front *c) {
  picture p = {.name = c->request->graph->name,
               .of = powers_of(c) ? "overhead of energy" : "overhead",
               .whole_bytes = c->request->whole_bytes};
  PLIM_TRY(plim_allocate(s->ctx, c->span.n, sizeof *p.point, &p.point));
  for (int32_t i = 0; i < c->span.n; i++) {
    const plim_plan *plan = c->span.plan[i];
    if (!plan) continue;
    const plim_paging_overhead o = overhead_of(c, plan);
    p.point[p.n++] = (point){percent_of_whole(c, c->span.budget[i]), o.percent, o.bound_percent};
  }
  plim_status status = draw(s->ctx, &p, s->o->output);
  plim_release(s->ctx, p.point, c->span.n, sizeof *p.point);
  return status;
}

/* A deadline may leave every budget without a plan. */
static plim_status check_deadline(session *s, const budget_front *c) {
  const plim_paging *paging = c->request->options->paging;
  int32_t found = 0;
  for (int32_t i = 0; i < c->span.n; i++) found += c->span.plan[i] != NULL;
  if (found > 0 || !powers_of(c) || paging->deadline_ns == 0) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_ENOFIT, "no plan was found that ends by the deadline of %.6g ms, within any budget",
                   (double)paging->deadline_ns * 1e-6);
}

plim_status budget_front_run(session *s, const budget_request *request) {
  budget_front c = {.request = request};
  int64_t begin = plim_now_ns();
  plim_status status;
  PLIM_TRY_OR_DONE(plan_points(s, &c));
  progress_clear(&s->bar);
  PLIM_TRY_OR_DONE(check_deadline(s, &c));
  if (path_ends_in(s->o->output, ".svg")) {
    PLIM_TRY_OR_DONE(draw_budgets(s, &c));
  } else {
    PLIM_TRY_OR_DONE(write_form(s, write_json, write_csv, &c));
  }
  print_summary(s, &c, (double)(plim_now_ns() - begin) / 1e9);
done:
  for (int32_t i = 0; i < c.span.n && c.span.plan; i++) plim_plan_free(c.span.plan[i]);
  plim_release(s->ctx, c.span.plan, c.span.n, sizeof(plim_plan *));
  plim_release(s->ctx, c.span.budget, c.span.n, sizeof(int64_t));
  return status;
}

/* ==== budgets of one space ==== */

typedef struct space_front {
  const plim_graph *graph;
  const plim_platform *platform;
  int32_t space, n;
  int64_t *budget;        /* [n] */
  plim_space_plan **plan; /* [n] NULL: none was found */
} space_front;

static double percent(double x, double of) {
  return of > 0 ? 100 * (x - of) / of : 0;
}

static void write_space_json(plim_text *t, const void *opaque) {
  const space_front *c = opaque;
  const char *comma = "";
  plim_text_add(t, "{\n  \"graph\": ");
  plim_text_quote(t, c->graph->name);
  plim_text_format(t, ",\n  \"fingerprint\": \"%s\",\n  \"space\": \"%s\",\n  \"points\": [", c->graph->fingerprint,
                   c->platform->space[c->space].name);
  for (int32_t i = 0; i < c->n; i++) {
    const plim_space_plan *p = c->plan[i];
    if (!p) continue;
    plim_text_format(t, "%s\n    {\"budget_bytes\": %lld, \"peak_bytes\": %lld, \"makespan_ns\": %lld, ", comma,
                     (long long)c->budget[i], (long long)p->space[c->space].peak_bytes, (long long)p->makespan_ns);
    if (p->has_energy) plim_text_format(t, "\"energy_joule\": %.9g, ", p->energy_joule);
    plim_text_format(t, "\"overhead_percent\": %.6f, \"bound_percent\": %.6f, \"proved\": %s}",
                     percent(plim_space_plan_value(p), p->keep_all), percent(p->bound, p->keep_all),
                     p->proved ? "true" : "false");
    comma = ",";
  }
  plim_text_add(t, "\n  ]\n}\n");
}

static void write_space_csv(plim_text *t, const void *opaque) {
  const space_front *c = opaque;
  plim_text_add(t, "budget_bytes,peak_bytes,makespan_ns,energy_joule,overhead_percent,bound_percent,proved\n");
  for (int32_t i = 0; i < c->n; i++) {
    const plim_space_plan *p = c->plan[i];
    if (!p) continue;
    plim_text_format(t, "%lld,%lld,%lld,", (long long)c->budget[i], (long long)p->space[c->space].peak_bytes,
                     (long long)p->makespan_ns);
    if (p->has_energy) plim_text_format(t, "%.9g", p->energy_joule);
    plim_text_format(t, ",%.6f,%.6f,%d\n", percent(plim_space_plan_value(p), p->keep_all),
                     percent(p->bound, p->keep_all), p->proved);
  }
}

static void set_budgets(const space_front *c, int64_t own) {
  int64_t low = plim_space_least_bytes(c->graph), high = plim_space_keep_all_bytes(c->graph);
  if (own < high) high = own;
  set_even_budgets(low < high ? low : high, high, c->n, c->budget);
}

static plim_status draw_space(session *s, const space_front *c) {
  picture p = {.name = c->graph->name, .of = "overhead", .whole_bytes = plim_space_keep_all_bytes(c->graph)};
  PLIM_TRY(plim_allocate(s->ctx, c->n, sizeof *p.point, &p.point));
  for (int32_t i = 0; i < c->n; i++) {
    const plim_space_plan *plan = c->plan[i];
    if (!plan) continue;
    p.point[p.n++] =
        (point){100 * (double)c->budget[i] / (double)p.whole_bytes,
                percent(plim_space_plan_value(plan), plan->keep_all), percent(plan->bound, plan->keep_all)};
  }
  plim_status status = draw(s->ctx, &p, s->o->output);
  plim_release(s->ctx, p.point, c->n, sizeof *p.point);
  return status;
}

plim_status space_front_run(session *s, const plim_graph *graph, const plim_platform *platform,
                            const plim_space_options *wanted) {
  space_front c = {.graph = graph, .platform = platform, .space = platform->device[0].space};
  plim_status status;
  c.n = front_points(s->o);
  PLIM_TRY_OR_DONE(plim_allocate(s->ctx, c.n, sizeof *c.budget, &c.budget));
  PLIM_TRY_OR_DONE(plim_allocate(s->ctx, c.n, sizeof(plim_space_plan *), &c.plan));
  set_budgets(&c, wanted->budget[c.space]);
  PLIM_TRY_OR_DONE(plim_space_plan_front(s->ctx, graph, platform, wanted, c.space, c.n, c.budget, c.plan));
  progress_clear(&s->bar);
  status =
      path_ends_in(s->o->output, ".svg") ? draw_space(s, &c) : write_form(s, write_space_json, write_space_csv, &c);
done:
  for (int32_t i = 0; i < c.n && c.plan; i++) plim_space_plan_free(c.plan[i]);
  plim_release(s->ctx, c.plan, c.n, sizeof(plim_space_plan *));
  plim_release(s->ctx, c.budget, c.n, sizeof *c.budget);
  return status;
}
