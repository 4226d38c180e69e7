/* The front over the budgets of one space, and its forms. */
#include "tools/plimsoll/space_curve.h"

#include "planner/spaces/space_problem.h"
#include "runtime/base/text.h"
#include "tools/plimsoll/curve_forms.h"
#include "tools/plimsoll/progress.h"

typedef struct curve {
  const plim_graph *graph;
  const plim_platform *platform;
  int32_t space, n;
  int64_t *budget;        /* [n] */
  plim_space_plan **plan; /* [n] NULL: none was found */
} curve;

static double percent(double x, double of) {
  return of > 0 ? 100 * (x - of) / of : 0;
}

static void write_json(plim_text *t, const void *opaque) {
  const curve *c = opaque;
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

static void write_csv(plim_text *t, const void *opaque) {
  const curve *c = opaque;
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

static void set_budgets(const curve *c, int64_t own) {
  int64_t low = plim_space_least_bytes(c->graph), high = plim_space_keep_all_bytes(c->graph);
  if (own < high) high = own;
  if (low > high) low = high;
  for (int32_t i = 0; i < c->n; i++) c->budget[i] = low + (int64_t)((double)(high - low) * i / (c->n - 1) + 0.5);
}

plim_status space_curve_run(session *s, const plim_graph *graph, const plim_platform *platform,
                            const plim_space_options *wanted) {
  curve c = {.graph = graph, .platform = platform, .space = platform->device[0].space};
  plim_status status;
  if (curve_ends_in(s->o->output, ".svg")) {
    return plim_fail(s->ctx, PLIM_EUSAGE, "--front over spaces has no picture: -o ends in .json or .csv");
  }
  c.n = curve_points(s->o);
  PLIM_CHECK(plim_allocate(s->ctx, c.n, sizeof *c.budget, &c.budget));
  PLIM_CHECK(plim_allocate(s->ctx, c.n, sizeof(plim_space_plan *), &c.plan));
  set_budgets(&c, wanted->budget[c.space]);
  PLIM_CHECK(plim_space_plan_front(s->ctx, graph, platform, wanted, c.space, c.n, c.budget, c.plan));
  progress_clear(&s->bar);
  status = curve_write_form(s, write_json, write_csv, &c);
done:
  for (int32_t i = 0; i < c.n && c.plan; i++) plim_space_plan_free(c.plan[i]);
  plim_release(s->ctx, c.plan, c.n, sizeof(plim_space_plan *));
  plim_release(s->ctx, c.budget, c.n, sizeof *c.budget);
  return status;
}
