/* Graphs and plans by hand. */
#include "tests/support/space_rig.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/test_context.h"

const space_case space_rig_small = {"small",
                                    4,
                                    2,
                                    4,
                                    {4, 2, 3, 1},
                                    {{10, 20, 30, 40}, {11, 21, 31, 41}},
                                    {{5, 6, 7, 8}, {9, 9, 9, 9}},
                                    {{0, 1}, {0, 2}, {1, 3}, {2, 3}},
                                    {0}};

const space_case space_rig_workspaces = {"workspaces",
                                         4,
                                         2,
                                         4,
                                         {4, 2, 3, 1},
                                         {{10, 20, 30, 40}, {11, 21, 31, 41}},
                                         {{5, 6, 7, 8}, {9, 9, 9, 9}},
                                         {{0, 1}, {0, 2}, {1, 3}, {2, 3}},
                                         {0, 3, 2, 0}};

const plim_space_event space_rig_sequence[SPACE_RIG_SEQUENCE] = {
    {PLIM_SPACE_RUN, 0, 0}, {PLIM_SPACE_COPY, 0, 0}, {PLIM_SPACE_RUN, 1, 1},  {PLIM_SPACE_DROP, 0, 1},
    {PLIM_SPACE_RUN, 2, 0}, {PLIM_SPACE_DROP, 0, 0}, {PLIM_SPACE_COPY, 2, 0}, {PLIM_SPACE_RUN, 3, 1},
};

void space_rig_begin(space_rig *r, const space_case *c) {
  r->ctx = plim_test_context();
  r->graph = space_case_graph(r->ctx, c);
  r->plan = NULL;
  r->keep_all = 100;
  cr_assert_eq(plim_platform_from_costs(r->graph->costs, &r->platform), PLIM_OK);
}

void space_rig_end(space_rig *r) {
  plim_space_plan_free(r->plan);
  plim_platform_free(r->platform);
  plim_graph_free(r->graph);
  plim_test_context_end(r->ctx);
}

void space_rig_lower(space_rig *r, const plim_space_event *event, int n, int64_t d0, int64_t d1) {
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

/* ==== base plans ==== */

/* Outputs 0 and 1 go out in one copy, and come back in one with a third that was out before. */
static void make_joint(space_rig *r) {
  static const space_case flops = {
      "joint", 4, 1, 5, {4, 2, 3, 1}, {{10, 20, 30, 40}}, {{0}}, {{0, 1}, {1, 2}, {0, 3}, {1, 3}, {2, 3}}, {0}};
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
  space_rig_lower(r, events, (int)(sizeof events / sizeof *events), 10, 9);
  cr_assert_eq(r->plan->command[2].n_storages, 2);
  cr_assert_eq(r->plan->command[2].time_ns, 3 + 6);
  cr_assert_eq(r->plan->command[5].n_storages, 3);
  cr_assert_eq(r->plan->command[5].time_ns, 3 + 9);
}

int space_rig_base(space_rig *r, int which) {
  static const plim_space_event again[] = {
      {PLIM_SPACE_RUN, 0, 0},  {PLIM_SPACE_RUN, 1, 0},  {PLIM_SPACE_COPY, 1, 0}, {PLIM_SPACE_DROP, 1, 0},
      {PLIM_SPACE_DROP, 0, 0}, {PLIM_SPACE_RUN, 0, 0},  {PLIM_SPACE_RUN, 2, 0},  {PLIM_SPACE_DROP, 0, 0},
      {PLIM_SPACE_COPY, 1, 1}, {PLIM_SPACE_DROP, 1, 1}, {PLIM_SPACE_RUN, 3, 0},
  };
  if (which == 4) make_joint(r);
  if (which == 4) return 1;
  if (which == 5) {
    space_rig_begin(r, &space_rig_workspaces);
    space_rig_lower(r, space_rig_sequence, SPACE_RIG_SEQUENCE, 9, 9);
    return 1;
  }
  space_rig_begin(r, which < 2 ? &space_rig_small : space_case_named("multi_skip_unit"));
  if (which == 0) space_rig_lower(r, space_rig_sequence, SPACE_RIG_SEQUENCE, 7, 6);
  if (which == 1) space_rig_lower(r, again, (int)(sizeof again / sizeof *again), 7, 2);
  if (which < 2) return 1;
  int64_t budget[2] = {6000000, which == 2 ? 4500000 : 6000000};
  plim_space_options options = plim_space_options_default();
  options.planner = "xengine";
  options.budget = budget;
  return plim_space_plan_make(r->ctx, r->graph, r->platform, &options, NULL, &r->plan) == PLIM_OK;
}

/* ==== updates, versions and what runs once ==== */

enum { X, W, A, P, G, STORAGES };
enum { MAKE, PROBE, LOSS, UPDATE, UPDATE_AGAIN, OPS };

/* w is read, copied, read elsewhere and updated twice; loss may run once only. */
static void begin_updates(space_rig *r) {
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
  *r = (space_rig){.ctx = plim_test_context()};
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
static const plim_space_queue four_queues[] = {{"d0", 0}, {"d1", 1}, {"d0>d1", -1}, {"d1>d0", -1}};
static const int32_t only_w[] = {W}, only_p[] = {P}, wait_1[] = {1}, wait_2_3[] = {2, 3}, wait_5[] = {5};
static const plim_space_command update_commands[] = {
    {.op = MAKE, .time_ns = 10},
    {.kind = PLIM_SPACE_COMMAND_COPY, .n_storages = 1, .storage = only_w, .to = 1, .queue = 2, .time_ns = 10},
    {.op = PROBE, .device = 1, .queue = 1, .n_wait = 1, .wait = wait_1, .time_ns = 10},
    {.op = LOSS, .time_ns = 10},
    {.op = UPDATE, .n_wait = 1, .wait = wait_1, .time_ns = 10},
    {.kind = PLIM_SPACE_COMMAND_COPY,
     .n_storages = 1,
     .storage = only_p,
     .from = 1,
     .queue = 3,
     .n_wait = 2,
     .wait = wait_2_3,
     .time_ns = 10},
    {.op = UPDATE_AGAIN, .n_wait = 1, .wait = wait_5, .time_ns = 10},
};
static const plim_space_buffer update_buffers[] = {{X, 0, 0, 1, 10}, {W, 0, 0, 7, 10}, {A, 0, 0, 4, 10},
                                                   {W, 1, 1, 3, 10}, {P, 1, 2, 6, 10}, {G, 0, 3, 7, 10},
                                                   {P, 0, 5, 7, 10}};

void space_rig_updates(space_rig *r) {
  static space_draft d;
  const plim_space_memory spaces[] = {{"d0", 1000, 0}, {"d1", 1000, 0}};
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
  space_draft_copy(&d, &plan);
  r->plan = space_draft_finish(r->ctx, &d);
  cr_assert_not_null(r->plan, "%s", plim_context_error(r->ctx));
}

/* ==== drafts ==== */

void space_draft_copy(space_draft *d, const plim_space_plan *p) {
  cr_assert(p->n_commands <= SPACE_DRAFT_ROWS && p->n_buffers <= SPACE_DRAFT_ROWS && p->n_spaces <= 4);
  d->plan = *p;
  memcpy(d->command, p->command, (size_t)p->n_commands * sizeof *d->command);
  memcpy(d->buffer, p->buffer, (size_t)p->n_buffers * sizeof *d->buffer);
  memcpy(d->space, p->space, (size_t)p->n_spaces * sizeof *d->space);
  for (int32_t c = 0; c < p->n_commands; c++) {
    cr_assert(p->command[c].n_wait < SPACE_DRAFT_IDS && p->command[c].n_storages < SPACE_DRAFT_IDS);
    for (int32_t i = 0; i < p->command[c].n_storages; i++) d->ids[c][0][i] = p->command[c].storage[i];
    for (int32_t i = 0; i < p->command[c].n_wait; i++) d->ids[c][1][i] = p->command[c].wait[i];
    d->command[c].storage = d->ids[c][0];
    d->command[c].wait = d->ids[c][1];
  }
  d->plan.command = d->command;
  d->plan.buffer = d->buffer;
  d->plan.space = d->space;
}

plim_space_plan *space_draft_finish(plim_context *ctx, space_draft *d) {
  int64_t begins[SPACE_DRAFT_ROWS], ends[SPACE_DRAFT_ROWS], peaks[4];
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
