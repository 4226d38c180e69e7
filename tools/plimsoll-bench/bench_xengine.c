/* Training steps of networks on two equal CPU devices of one thread each, every device with the same budget, as XEngine
 * places them: the least makespan, beside the better single device and the proved bound. Costs and links are modelled,
 * so the table depends on no machine. Schuler et al., ACM TACO 2022. */
#include <stdio.h>
#include <time.h>

#include "runtime/base/size.h"
#include "runtime/net/layers.h"
#include "runtime/train/preparation.h"
#include "tools/plimsoll-bench/bench.h"

static const char usual_networks[] = "resnet18,resnet50", usual_budgets[] = "100%,80%";
static const int32_t image[] = {32, 32, 3};
enum { BATCH = 32, LATENCY_NS = 3000 };

/* A copy reads and writes, at the rate of the modelled core: plim_profile_roofline. */
static const double bytes_per_ns = 8;

/* Of the gap between the better single device and the bound. */
static const double least_closed = 0.5;

typedef struct table {
  session *s;
  json_t *rows;
  plim_device *device;
  plim_program *program;
  char network[BENCH_NAME];
  int64_t whole_bytes; /* of keep-all */
  int32_t cases, below;
} table;

static plim_status make_net(void *user, const plim_net_options *net, plim_net **out) {
  const table *t = user;
  return plim_model_make(t->s->ctx, t->network, net, out);
}

static plim_status make_program(table *t) {
  plim_program_source source = plim_program_source_default();
  PLIM_TRY(plim_preparation_net_options(t->s->ctx, t->network, "synthetic", image, &source.net));
  source.net.batch = BATCH;
  source.make = make_net;
  source.user = t;
  return plim_program_choose_layout(t->device, &source, 1, NULL, &t->program);
}

static plim_status plan(const table *t, const plim_plan_options *wanted, plim_plan **out) {
  const plim_program *p = t->program;
  plim_status status =
      plim_plan_make(t->s->ctx, p->graph[PLIM_PROGRAM_TRAIN], p->profile[PLIM_PROGRAM_TRAIN], wanted, out);
  progress_clear(&t->s->bar);
  return status == PLIM_ENOFIT ? PLIM_OK : status;
}

static void add_row(table *t, int64_t budget, const plim_plan *one, const plim_plan *two, double seconds) {
  double gap = (double)(one->time_ns - two->bound_ns),
         closed = gap > 0 ? (double)(one->time_ns - two->time_ns) / gap : 1;
  t->cases++;
  t->below += closed < least_closed;
  if (t->s->o->json) {
    bench_row_add(t->s, t->rows,
                  json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:b}", "instance", t->network, "budget_bytes",
                            (json_int_t)budget, "single_ns", (json_int_t)one->time_ns, "two_ns",
                            (json_int_t)two->time_ns, "bound_ns", (json_int_t)two->bound_ns, "closed_percent",
                            100 * closed, "seconds", seconds, "good", closed >= least_closed));
    return;
  }
  printf("%-12s %12lld %12.3f %12.3f %12.3f %8.1f%% %8.2f%s\n", t->network, (long long)budget,
         (double)one->time_ns / 1e6, (double)two->time_ns / 1e6, (double)two->bound_ns / 1e6, 100 * closed, seconds,
         closed < least_closed ? "  below" : "");
  (void)fflush(stdout);
}

/* Without a plan of one device there is no gap. */
static plim_status run_case(table *t, int64_t budget) {
  plim_plan_options two_plan = bench_planning(t->s, NULL), one_plan = two_plan;
  const plim_paging two_devices = {.struct_bytes = sizeof(plim_paging),
                                   .latency_ns = {1, 1},
                                   .bytes_per_ns = {1, 1},
                                   .recompute = 1,
                                   .n_devices = 1,
                                   .device = {{"cpu:1", budget}},
                                   .device_latency_ns = LATENCY_NS,
                                   .device_bytes_per_ns = bytes_per_ns};
  plim_plan *one = NULL, *two = NULL;
  plim_status status;
  one_plan.budget_bytes = two_plan.budget_bytes = budget;
  two_plan.paging = &two_devices;
  PLIM_TRY_OR_DONE(plan(t, &one_plan, &one));
  clock_t begin = clock();
  PLIM_TRY_OR_DONE(plan(t, &two_plan, &two));
  if (one && two) add_row(t, budget, one, two, (double)(clock() - begin) / CLOCKS_PER_SEC);
  if (one && !two) status = plim_fail(t->s->ctx, PLIM_ENOFIT, "%s: two devices have no plan", t->network);
  if (status == PLIM_OK) status = bench_go_on(t->s);
done:
  plim_plan_free(one);
  plim_plan_free(two);
  return status;
}

static plim_status run_budgets(table *t) {
  const char *budgets = t->s->o->budgets ? t->s->o->budgets : usual_budgets;
  plim_plan_options keep = bench_planning(t->s, NULL);
  plim_plan *whole = NULL;
  char text[BENCH_NAME];
  PLIM_TRY(plim_plan_keep_all(t->s->ctx, t->program->graph[PLIM_PROGRAM_TRAIN], t->program->profile[PLIM_PROGRAM_TRAIN],
                              &keep, &whole));
  t->whole_bytes = whole->arena_bytes;
  plim_plan_free(whole);
  while (*budgets) {
    plim_size size;
    budgets = bench_next_name(budgets, text);
    PLIM_TRY(plim_size_parse(t->s->ctx, text, &size));
    int64_t bytes = plim_size_bytes(&size, t->whole_bytes);
    if (bytes < 0) return plim_fail(t->s->ctx, PLIM_EUSAGE, "--budgets %s does not fit in 63 bits", text);
    PLIM_TRY(run_case(t, bytes));
  }
  return PLIM_OK;
}

static plim_status run(table *t) {
  const char *networks = t->s->o->shapes ? t->s->o->shapes : usual_networks;
  plim_device_options wanted = plim_device_options_default();
  wanted.threads = 1;
  PLIM_TRY(plim_device_open(t->s->ctx, "cpu", &wanted, &t->device));
  if (!t->s->o->json) {
    printf("%-12s %12s %12s %12s %12s %9s %8s\n", "network", "budget", "single, ms", "two, ms", "bound, ms", "closed",
           "cpu s");
  }
  while (*networks) {
    networks = bench_next_name(networks, t->network);
    PLIM_TRY(make_program(t));
    plim_status status = run_budgets(t);
    plim_program_free(t->program);
    t->program = NULL;
    PLIM_TRY(status);
  }
  if (!t->s->o->json) {
    printf("%d of %d cases close %g %% of the gap or more\n", t->cases - t->below, t->cases, 100 * least_closed);
  }
  return PLIM_OK;
}

plim_status bench_xengine(session *s, const char *folder) {
  (void)folder; /* the networks are the library's */
  table t = {.s = s, .rows = json_array()};
  plim_status status = run(&t);
  bench_rows_end(s, status, t.rows);
  plim_device_close(t.device);
  return status;
}
