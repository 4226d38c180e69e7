/* A range of budgets, from the smallest one with a plan to the one that costs nothing. */
#include "tools/plimsoll/budget_curve.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "tools/plimsoll/figures.h"

enum { DEFAULT_POINTS = 41 };

static int64_t bytes_of(const plim_plan *plan) {
  return plan->packed ? plan->arena_bytes : plan->peak_bytes;
}

static double percent_of_whole(const budget_curve *c, int64_t bytes) {
  return 100.0 * (double)bytes / (double)c->request->whole_bytes;
}

/* ---- forms ---- */

static void write_json(plim_text *t, const budget_curve *c) {
  const char *comma = "";
  plim_text_add(t, "{\n  \"graph\": ");
  plim_text_quote(t, c->request->graph->name);
  plim_text_format(t,
                   ",\n  \"fingerprint\": \"%s\",\n  \"whole_bytes\": %lld,\n  \"smallest_bytes\": %lld,\n"
                   "  \"bound_bytes\": %lld,\n  \"points\": [",
                   c->request->graph->fingerprint, (long long)c->request->whole_bytes,
                   (long long)c->floor.smallest_bytes, (long long)c->floor.bound_bytes);
  for (int32_t i = 0; i < c->n; i++) {
    const plim_plan *p = c->plan[i];
    if (!p) continue;
    plim_text_format(
        t, "%s\n    {\"budget_bytes\": %lld, \"budget_percent\": %.4f, \"bytes\": %lld, \"time_ns\": %lld, ", comma,
        (long long)c->budget[i], percent_of_whole(c, c->budget[i]), (long long)bytes_of(p), (long long)p->time_ns);
    plim_text_format(t, "\"overhead_percent\": %.6f, \"bound_percent\": %.6f, \"class\": \"%s\", \"proved\": %s}",
                     plim_plan_overhead_percent(p), plim_plan_bound_percent(p), plim_plan_class_name(p->plan_class),
                     p->proved ? "true" : "false");
    comma = ",";
  }
  plim_text_add(t, "\n  ]\n}\n");
}

static void write_csv(plim_text *t, const budget_curve *c) {
  plim_text_add(t, "budget_bytes,budget_percent,bytes,time_ns,overhead_percent,bound_percent,class,proved\n");
  for (int32_t i = 0; i < c->n; i++) {
    const plim_plan *p = c->plan[i];
    if (!p) continue;
    plim_text_format(t, "%lld,%.4f,%lld,%lld,%.6f,%.6f,%s,%d\n", (long long)c->budget[i],
                     percent_of_whole(c, c->budget[i]), (long long)bytes_of(p), (long long)p->time_ns,
                     plim_plan_overhead_percent(p), plim_plan_bound_percent(p), plim_plan_class_name(p->plan_class),
                     p->proved);
  }
}

static int ends_with(const char *path, const char *ending) {
  size_t length = strlen(path), tail = strlen(ending);
  return length >= tail && strcmp(path + length - tail, ending) == 0;
}

static plim_status save(session *s, const budget_curve *c) {
  const char *path = s->o->output;
  plim_text t = {.ctx = s->ctx};
  if (path && ends_with(path, ".svg")) return budget_curve_draw(s->ctx, c, path);
  if (path && ends_with(path, ".csv")) {
    write_csv(&t, c);
  } else {
    write_json(&t, c);
  }
  plim_status status = t.status;
  if (status == PLIM_OK && path) status = plim_file_save(s->ctx, path, t.chars, t.length);
  if (status == PLIM_OK && !path) (void)fputs(t.chars, stdout);
  plim_text_free(&t);
  return status;
}

/* ---- planning ---- */

static plim_status plan_points(session *s, budget_curve *c) {
  const budget_request *r = c->request;
  c->n = s->o->points > 0 ? (int32_t)s->o->points : DEFAULT_POINTS;
  PLIM_TRY(plim_allocate(s->ctx, c->n, sizeof *c->budget, &c->budget));
  PLIM_TRY(plim_allocate(s->ctx, c->n, sizeof(plim_plan *), &c->plan));
  return plim_plan_range(s->ctx, r->graph, r->profile, r->options, r->whole_bytes, c->n, c->budget, &c->floor, c->plan);
}

static void print_summary(const session *s, const budget_curve *c, double seconds) {
  figures f;
  const plim_plan *first = NULL;
  int32_t found = 0, proved = 0;
  for (int32_t i = 0; i < c->n; i++) {
    if (!c->plan[i]) continue;
    if (!first) first = c->plan[i];
    found++;
    proved += c->plan[i]->proved;
  }
  figures_begin(&f, 1, NULL, NULL);
  figures_text(&f, 0, "graph", "graph", c->request->graph->name);
  figures_bytes(&f, 0, "smallest_bytes", "smallest budget", c->floor.smallest_bytes);
  figures_note(&f, 0, " (%.1f %%), none exists below %lld bytes", percent_of_whole(c, c->floor.smallest_bytes),
               (long long)c->floor.bound_bytes);
  figures_bytes(&f, 0, "whole_bytes", "everything", c->request->whole_bytes);
  figures_count(&f, 0, "points", "budgets", found);
  figures_note(&f, 0, ", %d of them proved", proved);
  if (first) figures_real(&f, 0, "overhead_percent", "most overhead", "%.2f %%", plim_plan_overhead_percent(first));
  figures_real(&f, 0, "seconds", "planned in", "%.2f s", seconds);
  figures_print_to(&f, s->o->json, s->o->output ? stdout : stderr);
  figures_end(&f);
}

plim_status budget_curve_run(session *s, const budget_request *request) {
  budget_curve c = {.request = request};
  int64_t begin = plim_now_ns();
  plim_status status;
  PLIM_CHECK(plan_points(s, &c));
  progress_clear(&s->bar);
  PLIM_CHECK(save(s, &c));
  print_summary(s, &c, (double)(plim_now_ns() - begin) / 1e9);
done:
  for (int32_t i = 0; i < c.n && c.plan; i++) plim_plan_free(c.plan[i]);
  plim_release(s->ctx, c.plan, c.n, sizeof(plim_plan *));
  plim_release(s->ctx, c.budget, c.n, sizeof(int64_t));
  return status;
}
