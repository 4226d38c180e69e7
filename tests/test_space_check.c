/* runtime/graph/space_*.c: plans over spaces written and read, their figures by hand, and 10,000 mutants over queues,
 * waits, copies, spaces and buffers, judged by an interpreter that runs them at random speeds. PLIM_TEST_SEED sets
 * another seed. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/solvers/solver.h"
#include "planner/spaces/space_lower.h"
#include "runtime/graph/space_plan_text.h"
#include "tests/support/documents.h"
#include "tests/support/space_cases.h"
#include "tests/support/space_interpret.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

/* Four ops on two devices: 0 on d0, copied; 1 and 3 on d1, 2 on d0, copied; 0 runs again on d1. */
static const space_case small = {"small",
                                 4,
                                 2,
                                 4,
                                 {4, 2, 3, 1},
                                 {{10, 20, 30, 40}, {11, 21, 31, 41}},
                                 {{5, 6, 7, 8}, {9, 9, 9, 9}},
                                 {{0, 1}, {0, 2}, {1, 3}, {2, 3}}};

typedef struct rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_platform *platform;
  plim_space_plan *plan;
  double keep_all;
} rig;

static void begin(rig *r, const space_case *c) {
  r->ctx = plim_test_context();
  r->graph = space_case_graph(r->ctx, c);
  r->plan = NULL;
  r->keep_all = 100;
  cr_assert_eq(plim_platform_from_costs(r->graph->costs, &r->platform), PLIM_OK);
}

static void end(rig *r) {
  plim_space_plan_free(r->plan);
  plim_platform_free(r->platform);
  plim_graph_free(r->graph);
  plim_test_context_end(r->ctx);
}

/* The plan of a sequence: without a solver. */
static void lower(rig *r, const plim_space_event *event, int n, int64_t d0, int64_t d1) {
  plim_space_problem *problem = NULL;
  plim_space_events events = {.ctx = r->ctx};
  int64_t budget[2] = {d0, d1};
  plim_space_plan draft = {.objective = PLIM_OBJECTIVE_SERIAL, .deadline_ns = INT64_MAX, .keep_all = r->keep_all};
  (void)strcpy(draft.planner, "test");
  cr_assert_eq(plim_space_problem_make(r->graph, r->platform, 0, &problem), PLIM_OK, "%s", plim_context_error(r->ctx));
  for (int i = 0; i < n; i++) plim_space_events_add(&events, event[i].kind, event[i].node, event[i].at);
  cr_assert_eq(plim_space_lower(problem, &events, &draft, budget, 0, &r->plan), PLIM_OK, "%s",
               plim_context_error(r->ctx));
  plim_space_events_free(&events);
  plim_space_problem_free(problem);
}

static const plim_space_event sequence[] = {
    {PLIM_SPACE_RUN, 0, 0}, {PLIM_SPACE_COPY, 0, 0}, {PLIM_SPACE_RUN, 1, 1},  {PLIM_SPACE_DROP, 0, 1},
    {PLIM_SPACE_RUN, 2, 0}, {PLIM_SPACE_DROP, 0, 0}, {PLIM_SPACE_COPY, 2, 0}, {PLIM_SPACE_RUN, 3, 1},
};
enum { SEQUENCE = sizeof sequence / sizeof sequence[0] };

Test(space_check, figures_of_a_small_plan_are_those_by_hand) {
  rig r;
  begin(&r, &small);
  lower(&r, sequence, SEQUENCE, 100, 100);
  cr_assert_eq(plim_space_plan_check(r.ctx, r.graph, r.plan), PLIM_OK, "%s", plim_context_error(r.ctx));
  const plim_command *c = r.plan->command;
  cr_assert_eq(r.plan->n_commands, 6);
  cr_assert_eq(r.plan->serial_ns, 10 + 5 + 21 + 30 + 7 + 41);
  cr_assert_eq(c[1].begin_ns, 10); /* the copy beside run 2 on d0 */
  cr_assert_eq(c[2].begin_ns, 15);
  cr_assert_eq(c[3].begin_ns, 10);
  cr_assert_eq(c[4].begin_ns, 40);
  cr_assert_eq(c[5].begin_ns, 47);
  cr_assert_eq(r.plan->makespan_ns, 88);
  cr_assert_eq(r.plan->space[0].peak_bytes, 7);
  cr_assert_eq(r.plan->space[1].peak_bytes, 6);
  end(&r);
}

/* The first copy of the plan in another time: figures are those of the changed plan, so that only the time is wrong. */
Test(space_check, a_copy_takes_the_time_that_the_graph_gives) {
  rig r;
  begin(&r, &small);
  lower(&r, sequence, SEQUENCE, 100, 100);
  plim_space_plan *changed = NULL;
  plim_command command[6];
  plim_space_plan draft = *r.plan;
  (void)memcpy(command, r.plan->command, sizeof command);
  draft.command = command;
  command[1].time_ns = 0;
  draft.bound = 0;
  draft.proved = 0;
  plim_space_figures f = {.begin_ns = (int64_t[6]){0}, .end_ns = (int64_t[6]){0}, .peak_bytes = (int64_t[2]){0}};
  cr_assert_eq(plim_space_plan_simulate(&draft, &f), PLIM_OK);
  for (int c = 0; c < 6; c++) command[c].begin_ns = f.begin_ns[c], command[c].end_ns = f.end_ns[c];
  draft.makespan_ns = f.makespan_ns;
  draft.serial_ns = f.serial_ns;
  cr_assert_eq(plim_space_plan_from_parts(r.ctx, &draft, &changed), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_expect_eq(plim_space_plan_check(r.ctx, r.graph, changed), PLIM_EPLAN);
  cr_expect_str_eq(plim_context_error(r.ctx), "command 1 copies from d0 to d1 in 0, the graph says 5");
  r.graph->costs->copy[plim_costs_copy_at(r.graph->costs, 0, 0, 1)] = -1;
  cr_expect_eq(plim_space_plan_check(r.ctx, r.graph, r.plan), PLIM_EPLAN);
  cr_expect_str_eq(plim_context_error(r.ctx), "command 1 copies storage 0 from d0 to d1, the graph has no link for it");
  plim_space_plan_free(changed);
  end(&r);
}

static plim_status parse(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_space_plan *plan = NULL;
  plim_status status = plim_space_plan_parse(ctx, "doc.json", text, bytes, &plan);
  if (again && plan) plim_space_plan_write(again, plan);
  plim_space_plan_free(plan);
  return status;
}

Test(space_check, the_document_is_golden_canonical_and_refused_at_every_cut) {
  rig r;
  begin(&r, &small);
  lower(&r, sequence, SEQUENCE, 100, 100);
  plim_text text = {.ctx = r.ctx};
  plim_space_plan_write(&text, r.plan);
  cr_assert_str_eq(text.chars, plim_test_golden("space_plan.json"), "%s", text.chars);
  plim_test_canonical(parse, text.chars);
  plim_test_cuts(parse, text.chars);
  plim_test_allocations(parse, text.chars);
  plim_test_bytes(parse, text.chars);
  plim_text_free(&text);
  end(&r);
}

Test(space_check, every_wrong_field_of_the_document_is_named) {
  static const plim_test_fault faults[] = {
      {"\"version\": 2", "\"version\": 3", "version: version 3 of the format; this program reads versions 1 to 2"},
      {"\"run\": 0", "\"collective\": 0", "commands[0].collective: is reserved"},
      {"\"wait\": [0]", "\"wait\": [1]", "command 1: wait[0] = 1 is not below 1"},
      {"\"offset\": null", "\"offset\": 0", "buffers[0].offset: is given"},
      {"\"joule\": null", "\"joule\": 1", "commands[0].joule: is given in a plan without energy"},
      {"\"objective\": \"serial\"", "\"objective\": \"energy\"", "energy_joule: is null"},
      {"\"class\": \"all plans\"", "\"class\": \"none\"", "class: 'none' is not a name"},
      {"\"planner\": \"test\"", "\"planner\": \"\"", "planner: a name has 1 to 31 printable characters"},
      {"\"planner\": \"test\"", "\"planner\": \"a\\nb\"", "planner: a name has 1 to 31 printable characters"},
      {"\"objective\": \"serial\"", "\"objective\": \"speed\"", "objective: 'speed' is not a name"},
      {"\"from\": 0", "\"from\": 1", "command 1: its spaces are not two of the plan's"},
      {"\"device\": 0, \"queue\": 0", "\"device\": 1, \"queue\": 0", "command 0: its queue is not its device's"},
      {"\"end\": ", "\"ends\": ", "buffers[0].end: is missing"},
  };
  plim_test_faults(parse, plim_test_golden("space_plan.json"), faults, (int)(sizeof faults / sizeof *faults));
}

/* ---- mutants ---- */

enum { MUTANTS = 10000, RUNS = 24, MOST_IDS = 512, MOST_ROWS = 128 };

/* A plan that can be changed. */
typedef struct draft {
  plim_space_plan plan;
  plim_command command[MOST_ROWS];
  plim_buffer buffer[MOST_ROWS];
  plim_space space[4];
  int32_t ids[MOST_ROWS][2][8];
} draft;

static void copy_plan(draft *d, const plim_space_plan *p) {
  cr_assert(p->n_commands <= MOST_ROWS && p->n_buffers <= MOST_ROWS && p->n_spaces <= 4);
  d->plan = *p;
  memcpy(d->command, p->command, (size_t)p->n_commands * sizeof *d->command);
  memcpy(d->buffer, p->buffer, (size_t)p->n_buffers * sizeof *d->buffer);
  memcpy(d->space, p->space, (size_t)p->n_spaces * sizeof *d->space);
  for (int32_t c = 0; c < p->n_commands; c++) {
    cr_assert(p->command[c].n_wait < 8 && p->command[c].n_storages < 8);
    for (int32_t i = 0; i < p->command[c].n_storages; i++) d->ids[c][0][i] = p->command[c].storage[i];
    for (int32_t i = 0; i < p->command[c].n_wait; i++) d->ids[c][1][i] = p->command[c].wait[i];
    d->command[c].storage = d->ids[c][0];
    d->command[c].wait = d->ids[c][1];
  }
  d->plan.command = d->command;
  d->plan.buffer = d->buffer;
  d->plan.space = d->space;
}

/* The last command is left out, with the buffers that it fills. */
static void shorten(draft *d) {
  plim_space_plan *p = &d->plan;
  if (p->n_commands < 2) return;
  p->n_commands--;
  for (int32_t i = p->n_buffers - 1; i >= 0; i--) {
    plim_buffer *b = &d->buffer[i];
    if (b->begin >= p->n_commands) *b = d->buffer[--p->n_buffers];
    if (i < p->n_buffers && b->end > p->n_commands) b->end = p->n_commands;
  }
}

static void mutate_command(draft *d, uint64_t *random) {
  const plim_space_plan *p = &d->plan;
  int32_t c = (int32_t)test_random_between(random, 0, p->n_commands - 1);
  plim_command *m = &d->command[c];
  switch (test_random_between(random, 0, 7)) {
    case 0: /* a wait less */
      if (m->n_wait > 0) m->n_wait--;
      break;
    case 1: /* a wait for another */
      if (m->n_wait > 0) d->ids[c][1][0] = (int32_t)test_random_between(random, 0, p->n_commands - 1);
      break;
    case 2: /* a wait more */
      if (c > 0 && m->n_wait == 0) d->ids[c][1][m->n_wait++] = (int32_t)test_random_between(random, 0, c - 1);
      break;
    case 3: /* another queue, and device */
      m->queue = (int32_t)test_random_between(random, 0, p->n_queues - 1);
      if (m->kind == PLIM_COMMAND_RUN && p->queue[m->queue].device >= 0) m->device = p->queue[m->queue].device;
      break;
    case 4: /* another op, another storage */
      if (m->kind == PLIM_COMMAND_RUN) m->op = (int32_t)test_random_between(random, 0, 7);
      if (m->kind == PLIM_COMMAND_COPY) d->ids[c][0][0] = (int32_t)test_random_between(random, 0, 7);
      break;
    case 7:
      shorten(d);
      break;
    case 5: /* other spaces */
      m->from = (int32_t)test_random_between(random, 0, p->n_spaces - 1);
      m->to = (int32_t)test_random_between(random, 0, p->n_spaces - 1);
      break;
    default: /* two commands change places, their waits stay */
      if (c > 0) {
        plim_command other = d->command[c - 1];
        d->command[c - 1] = *m;
        *m = other;
      }
  }
}

static void mutate_buffer(draft *d, uint64_t *random) {
  plim_space_plan *p = &d->plan;
  int32_t i = (int32_t)test_random_between(random, 0, p->n_buffers - 1);
  plim_buffer *b = &d->buffer[i];
  switch (test_random_between(random, 0, 4)) {
    case 0:
      b->end += (int32_t)test_random_between(random, -2, 2);
      break;
    case 1:
      b->begin += (int32_t)test_random_between(random, -1, 1);
      break;
    case 2:
      b->space = (int32_t)test_random_between(random, 0, p->n_spaces - 1);
      break;
    case 3:
      b->storage = (int32_t)test_random_between(random, 0, 7);
      break;
    default:
      *b = d->buffer[--p->n_buffers];
  }
}

/* Figures as the simulator has them, so that what is wrong is not told by them alone. NULL: it cannot even be read. */
static plim_space_plan *finish(plim_context *ctx, draft *d) {
  int64_t begins[MOST_ROWS], ends[MOST_ROWS], peaks[4];
  plim_space_figures f = {.begin_ns = begins, .end_ns = ends, .peak_bytes = peaks};
  plim_space_plan *plan = NULL, *again = NULL;
  if (plim_space_plan_from_parts(ctx, &d->plan, &plan) != PLIM_OK) return NULL;
  cr_assert_eq(plim_space_plan_simulate(plan, &f), PLIM_OK);
  plim_space_plan_free(plan);
  for (int32_t c = 0; c < d->plan.n_commands; c++) {
    d->command[c].begin_ns = begins[c];
    d->command[c].end_ns = ends[c];
  }
  for (int32_t s = 0; s < d->plan.n_spaces; s++) d->space[s].peak_bytes = peaks[s];
  d->plan.makespan_ns = f.makespan_ns;
  d->plan.serial_ns = f.serial_ns;
  d->plan.energy_joule = f.energy_joule;
  d->plan.bound = 0;
  d->plan.proved = 0;
  cr_assert_eq(plim_space_plan_from_parts(ctx, &d->plan, &again), PLIM_OK);
  return again;
}

typedef struct tally {
  int unread, refused, harmful, accepted;
} tally;

static void judge(rig *r, uint64_t seed, tally *t) {
  static draft d;
  uint64_t random = seed;
  copy_plan(&d, r->plan);
  int changes = (int)test_random_between(&random, 1, 2);
  for (int i = 0; i < changes; i++) {
    if (test_random_chance(&random, 65)) {
      mutate_command(&d, &random);
    } else {
      mutate_buffer(&d, &random);
    }
  }
  plim_space_plan *mutant = finish(r->ctx, &d);
  if (!mutant) {
    t->unread++;
    return;
  }
  plim_status status = plim_space_plan_check(r->ctx, r->graph, mutant);
  const char *wrong = space_interpret(r->graph, mutant, &random, RUNS);
  cr_assert(status != PLIM_OK || !wrong, "mutant %llu: accepted, and %s", (unsigned long long)seed, wrong);
  t->refused += status != PLIM_OK;
  t->harmful += wrong != NULL;
  t->accepted += status == PLIM_OK;
  plim_space_plan_free(mutant);
}

/* Outputs 0 and 1 go out in one copy, and come back in one with a third that was out before. */
static void make_joint(rig *r) {
  static const space_case flops = {
      "joint", 4, 1, 5, {4, 2, 3, 1}, {{10, 20, 30, 40}}, {{0}}, {{0, 1}, {1, 2}, {0, 3}, {1, 3}, {2, 3}}};
  static const char platform[] =
      "{\"devices\": [{\"name\": \"d0\", \"flop_per_second\": 1e9, \"flop_per_joule\": 1e9, \"idle_watt\": 0, "
      "\"spaces\": [\"a\", \"b\"]}], \"links\": [{\"from\": \"a\", \"to\": \"b\", \"latency_s\": 3e-9, "
      "\"bytes_per_second\": 1e9, \"watt\": 1, \"duplex\": true}, {\"from\": \"b\", \"to\": \"a\", \"latency_s\": "
      "3e-9, \"bytes_per_second\": 1e9, \"watt\": 1, \"duplex\": true}]}\n";
  static const plim_space_event events[] = {
      {PLIM_SPACE_RUN, 0, 0},  {PLIM_SPACE_RUN, 1, 0},  {PLIM_SPACE_COPY, 1, 0}, {PLIM_SPACE_JOIN, 0, 0},
      {PLIM_SPACE_DROP, 0, 0}, {PLIM_SPACE_RUN, 2, 0},  {PLIM_SPACE_DROP, 1, 0}, {PLIM_SPACE_COPY, 2, 0},
      {PLIM_SPACE_DROP, 2, 0}, {PLIM_SPACE_COPY, 2, 1}, {PLIM_SPACE_JOIN, 0, 1}, {PLIM_SPACE_JOIN, 1, 1},
      {PLIM_SPACE_RUN, 3, 0},
  };
  r->ctx = plim_test_context();
  r->graph = space_case_flops(r->ctx, &flops);
  r->plan = NULL;
  r->keep_all = 100;
  cr_assert_eq(plim_platform_parse(r->ctx, "joint.json", platform, (int64_t)sizeof platform - 1, &r->platform), PLIM_OK,
               "%s", plim_context_error(r->ctx));
  lower(r, events, (int)(sizeof events / sizeof *events), 10, 9);
  cr_assert_eq(r->plan->command[2].n_storages, 2);
  cr_assert_eq(r->plan->command[2].time_ns, 3 + 6);
  cr_assert_eq(r->plan->command[5].n_storages, 3);
  cr_assert_eq(r->plan->command[5].time_ns, 3 + 9);
}

/* The base plans: sequences by hand, and those of planners where there is a solver. */
enum { BASES = 5 };
static int make_base(rig *r, int which) {
  static const plim_space_event again[] = {
      {PLIM_SPACE_RUN, 0, 0},  {PLIM_SPACE_RUN, 1, 0},  {PLIM_SPACE_COPY, 1, 0}, {PLIM_SPACE_DROP, 1, 0},
      {PLIM_SPACE_DROP, 0, 0}, {PLIM_SPACE_RUN, 0, 0},  {PLIM_SPACE_RUN, 2, 0},  {PLIM_SPACE_DROP, 0, 0},
      {PLIM_SPACE_COPY, 1, 1}, {PLIM_SPACE_DROP, 1, 1}, {PLIM_SPACE_RUN, 3, 0},
  };
  if (which == 4) make_joint(r);
  if (which == 4) return 1;
  begin(r, which < 2 ? &small : space_case_named("multi_skip_unit"));
  if (which == 0) lower(r, sequence, SEQUENCE, 7, 6);
  if (which == 1) lower(r, again, (int)(sizeof again / sizeof *again), 7, 2);
  if (which < 2) return 1;
  int64_t budget[2] = {6000000, which == 2 ? 4500000 : 6000000};
  plim_space_options options = plim_space_options_default();
  options.planner = "xengine";
  options.budget = budget;
  return plim_space_plan_make(r->ctx, r->graph, r->platform, &options, NULL, &r->plan) == PLIM_OK;
}

/* Where the seeds of mutants begin. */
static uint64_t first_seed(void) {
  return test_seed(0) * 1000000;
}

Test(space_check, every_harmful_one_of_ten_thousand_mutants_is_rejected) {
  const uint64_t first = first_seed();
  tally t = {0};
  for (int which = 0; which < BASES; which++) {
    rig r;
    if (make_base(&r, which)) {
      uint64_t random = test_seed(7);
      cr_assert_eq(plim_space_plan_check(r.ctx, r.graph, r.plan), PLIM_OK, "%d: %s", which, plim_context_error(r.ctx));
      cr_assert_null(space_interpret(r.graph, r.plan, &random, 100));
      for (uint64_t i = 0; i < MUTANTS / 4; i++) judge(&r, first + (uint64_t)which * MUTANTS + i, &t);
    }
    end(&r);
  }
  printf("%d unread, %d refused, %d harmful, %d accepted\n", t.unread, t.refused, t.harmful, t.accepted);
  cr_assert_geq(t.harmful, 1000, "%d unread, %d refused, %d harmful, %d accepted", t.unread, t.refused, t.harmful,
                t.accepted);
  cr_assert_geq(t.accepted, 500, "%d unread, %d refused, %d harmful, %d accepted", t.unread, t.refused, t.harmful,
                t.accepted);
}

/* ---- keep_all ---- */

/* The base plan with another keep_all; idle devices draw 2 W, and command c 1 + c joule, where it has an energy. */
static plim_status check_keep_all(rig *r, int energy, double keep_all) {
  static draft d;
  plim_space_device device[2];
  copy_plan(&d, r->plan);
  d.plan.keep_all = keep_all;
  memcpy(device, r->plan->device, sizeof device);
  if (energy) {
    d.plan.objective = PLIM_OBJECTIVE_ENERGY;
    d.plan.has_energy = 1;
    d.plan.device = device;
    device[0].idle_watt = device[1].idle_watt = 2;
    for (int32_t c = 0; c < d.plan.n_commands; c++) d.command[c].joule = 1 + c;
  }
  plim_space_plan *plan = finish(r->ctx, &d);
  cr_assert_not_null(plan, "%s", plim_context_error(r->ctx));
  plim_status status = plim_space_plan_check(r->ctx, r->graph, plan);
  plim_space_plan_free(plan);
  return status;
}

static void expect_limits(rig *r, int energy, double below, double low, double high, double above) {
  cr_expect_eq(check_keep_all(r, energy, below), PLIM_EPLAN, "%g", below);
  cr_expect_not_null(strstr(plim_context_error(r->ctx), "every op once"), "%s", plim_context_error(r->ctx));
  cr_expect_eq(check_keep_all(r, energy, low), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_expect_eq(check_keep_all(r, energy, high), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_expect_eq(check_keep_all(r, energy, above), PLIM_EPLAN, "%g", above);
}

Test(space_check, keep_all_is_the_least_that_one_device_takes_for_every_op) {
  rig r;
  make_base(&r, 0);
  expect_limits(&r, 0, 99, 100, 100, 101);
  expect_limits(&r, 0, 0, 100, 100, 1);
  end(&r);
}

Test(space_check, keep_all_is_of_the_fastest_device_of_each_op_where_none_runs_all) {
  rig r;
  make_base(&r, 0);
  r.graph->costs->duration[plim_costs_duration_at(r.graph->costs, 0, 1)] = -1;
  r.graph->costs->duration[plim_costs_duration_at(r.graph->costs, 1, 0)] = -1;
  expect_limits(&r, 0, 100, 101, 101, 102);
  end(&r);
}

/* Op 0 has FLOP, and no run on d1: whether it takes any time there is the platform's, which the checker has not. */
Test(space_check, keep_all_has_two_limits_where_a_time_is_known_to_the_platform_alone) {
  rig r;
  make_base(&r, 0);
  r.graph->costs->flops[0] = 5;
  r.graph->costs->duration[plim_costs_duration_at(r.graph->costs, 0, 1)] = -1;
  expect_limits(&r, 0, 89, 90, 100, 101);
  end(&r);
}

/* The first run of each op is on d0, the fastest device. A second run of one does not count. */
Test(space_check, keep_all_of_energy_is_that_of_every_op_and_of_idle_devices) {
  rig r;
  make_base(&r, 1);
  double joule = 0, idle = 4.0 * (100.0 * 1e-9);
  uint32_t seen = 0;
  for (int32_t c = 0; c < r.plan->n_commands; c++) {
    const plim_command *m = &r.plan->command[c];
    if (m->kind != PLIM_COMMAND_RUN || (seen >> m->op & 1)) continue;
    seen |= 1U << m->op;
    joule += 1 + c;
  }
  cr_assert_eq(seen, 15);
  expect_limits(&r, 1, joule, joule + idle, joule + idle, joule + 2 * idle);
  end(&r);
}

/* ---- updates, versions and what runs once ---- */

enum { X, W, A, P, G, STORAGES };
enum { MAKE, PROBE, LOSS, UPDATE, UPDATE_AGAIN, OPS };

/* w is read, copied, read elsewhere and updated twice; loss may run once only. */
static void begin_updates(rig *r) {
  static const plim_role role[STORAGES] = {PLIM_ROLE_INPUT, PLIM_ROLE_PARAM, PLIM_ROLE_ACTIVATION, PLIM_ROLE_ACTIVATION,
                                           PLIM_ROLE_GRADIENT};
  static const char *const name[STORAGES] = {"x", "w", "a", "p", "g"};
  static const plim_op_spec op[OPS] = {
      {.name = "make", .time_ns = 10, .n_in = 2, .in = {X, W}, .n_out = 1, .out = {A}},
      {.name = "probe", .time_ns = 10, .n_in = 1, .in = {W}, .n_out = 1, .out = {P}},
      {.name = "loss", .time_ns = 10, .cls = PLIM_OP_ONCE, .n_in = 1, .in = {A}, .n_out = 1, .out = {G}},
      {.name = "update", .time_ns = 10, .cls = PLIM_OP_EFFECT, .n_in = 1, .in = {G}, .n_upd = 1, .upd = {W}},
      {.name = "update again", .time_ns = 10, .cls = PLIM_OP_EFFECT, .n_in = 2, .in = {G, P}, .n_upd = 1, .upd = {W}},
  };
  plim_graph_builder *b = NULL;
  const int64_t bytes = 10;
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
  *r = (rig){.ctx = plim_test_context()};
  cr_assert_eq(plim_graph_begin(r->ctx, "updates", 1, &b), PLIM_OK);
  for (int32_t i = 0, id; i < STORAGES; i++) {
    cr_assert_eq(plim_graph_add(b, name[i], role[i], &shape, &id), PLIM_OK);
  }
  for (int32_t i = 0, id; i < OPS; i++) {
    cr_assert_eq(plim_graph_add_op(b, &op[i], &id), PLIM_OK, "%s", plim_context_error(r->ctx));
  }
  cr_assert_eq(plim_graph_end(b, &r->graph), PLIM_OK, "%s", plim_context_error(r->ctx));
}

static const plim_space_device two_devices[] = {{"d0", 0, 0}, {"d1", 1, 0}};
static const plim_queue four_queues[] = {{"d0", 0}, {"d1", 1}, {"d0>d1", -1}, {"d1>d0", -1}};
static const int32_t only_w[] = {W}, only_p[] = {P}, wait_1[] = {1}, wait_2_3[] = {2, 3}, wait_5[] = {5};
static const plim_command update_commands[] = {
    {.op = MAKE, .time_ns = 10},
    {.kind = PLIM_COMMAND_COPY, .n_storages = 1, .storage = only_w, .to = 1, .queue = 2, .time_ns = 10},
    {.op = PROBE, .device = 1, .queue = 1, .n_wait = 1, .wait = wait_1, .time_ns = 10},
    {.op = LOSS, .time_ns = 10},
    {.op = UPDATE, .n_wait = 1, .wait = wait_1, .time_ns = 10},
    {.kind = PLIM_COMMAND_COPY,
     .n_storages = 1,
     .storage = only_p,
     .from = 1,
     .queue = 3,
     .n_wait = 2,
     .wait = wait_2_3,
     .time_ns = 10},
    {.op = UPDATE_AGAIN, .n_wait = 1, .wait = wait_5, .time_ns = 10},
};
static const plim_buffer update_buffers[] = {{X, 0, 0, 1, 10}, {W, 0, 0, 7, 10}, {A, 0, 0, 4, 10}, {W, 1, 1, 3, 10},
                                             {P, 1, 2, 6, 10}, {G, 0, 3, 7, 10}, {P, 0, 5, 7, 10}};

static void make_updates(rig *r) {
  static draft d;
  const plim_space spaces[] = {{"d0", 1000, 0}, {"d1", 1000, 0}};
  plim_space_plan plan = {.planner = "test",
                          .n_devices = 2,
                          .n_spaces = 2,
                          .n_queues = 4,
                          .n_commands = sizeof update_commands / sizeof *update_commands,
                          .n_buffers = sizeof update_buffers / sizeof *update_buffers,
                          .device = two_devices,
                          .space = spaces,
                          .queue = four_queues,
                          .command = update_commands,
                          .buffer = update_buffers,
                          .keep_all = 50,
                          .deadline_ns = INT64_MAX};
  begin_updates(r);
  memcpy(plan.fingerprint, r->graph->fingerprint, sizeof plan.fingerprint);
  copy_plan(&d, &plan);
  r->plan = finish(r->ctx, &d);
  cr_assert_not_null(r->plan, "%s", plim_context_error(r->ctx));
}

static void end_updates(rig *r) {
  plim_space_plan_free(r->plan);
  plim_graph_free(r->graph);
  plim_test_context_end(r->ctx);
}

/* The plan with one command changed. */
static void expect_refused(rig *r, int32_t c, const plim_command *changed, const char *words) {
  static draft d;
  copy_plan(&d, r->plan);
  d.command[c] = *changed;
  plim_space_plan *plan = finish(r->ctx, &d);
  uint64_t random = test_seed(1);
  cr_assert_not_null(plan, "%s", plim_context_error(r->ctx));
  cr_expect_eq(plim_space_plan_check(r->ctx, r->graph, plan), PLIM_EPLAN);
  cr_expect_not_null(strstr(plim_context_error(r->ctx), words), "%s", plim_context_error(r->ctx));
  cr_expect_not_null(space_interpret(r->graph, plan, &random, 200), "%s", words);
  plim_space_plan_free(plan);
}

Test(space_check, updates_and_what_runs_once_have_rules_of_their_own) {
  rig r;
  uint64_t random = test_seed(3);
  make_updates(&r);
  cr_assert_eq(plim_space_plan_check(r.ctx, r.graph, r.plan), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_null(space_interpret(r.graph, r.plan, &random, 200));
  plim_command c = r.plan->command[4];
  c.n_wait = 0;
  expect_refused(&r, 4, &c, "a reader of the old contents need not have ended");
  c = r.plan->command[2];
  c.n_wait = 0;
  expect_refused(&r, 2, &c, "what fills its buffer need not have ended");
  c = r.plan->command[4];
  c.op = UPDATE_AGAIN;
  expect_refused(&r, 4, &c, "no buffer has it where it is read");
  c = r.plan->command[6];
  c.op = UPDATE;
  expect_refused(&r, 6, &c, "an effect op runs once");
  end_updates(&r);
}

/* Both updates in the other order: each sees a version that is not its own. */
Test(space_check, updates_run_in_program_order) {
  static draft d;
  rig r;
  uint64_t random = test_seed(1);
  make_updates(&r);
  copy_plan(&d, r.plan);
  d.command[4] = r.plan->command[6];
  d.command[6] = r.plan->command[4];
  plim_command copy = d.command[5]; /* before both */
  d.command[5] = d.command[4];
  d.command[4] = copy;
  for (int i = 0; i < 7; i++) {
    if (d.buffer[i].begin == 5) d.buffer[i].begin = 4;
  }
  d.command[5].n_wait = 1;
  d.ids[4][1][0] = 4; /* the copy keeps the waits that it had */
  d.command[5].wait = d.ids[4][1];
  plim_space_plan *plan = finish(r.ctx, &d);
  cr_assert_not_null(plan, "%s", plim_context_error(r.ctx));
  cr_expect_eq(plim_space_plan_check(r.ctx, r.graph, plan), PLIM_EPLAN);
  cr_expect_not_null(strstr(plim_context_error(r.ctx), "another version than program order reads"), "%s",
                     plim_context_error(r.ctx));
  cr_expect_not_null(space_interpret(r.graph, plan, &random, 100));
  plim_space_plan_free(plan);
  end_updates(&r);
}

Test(space_check, mutants_of_updates_and_versions_are_rejected) {
  const uint64_t first = first_seed() + 1000000;
  tally t = {0};
  rig r;
  make_updates(&r);
  for (uint64_t i = 0; i < MUTANTS / 2; i++) judge(&r, first + i, &t);
  cr_assert_geq(t.harmful, 500, "%d unread, %d refused, %d harmful, %d accepted", t.unread, t.refused, t.harmful,
                t.accepted);
  cr_assert_geq(t.accepted, 200, "%d unread, %d refused, %d harmful, %d accepted", t.unread, t.refused, t.harmful,
                t.accepted);
  end_updates(&r);
}
