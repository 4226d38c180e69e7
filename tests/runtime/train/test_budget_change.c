/* Caps that change during a run: the step in flight, the plans after it, the bytes that go back, and the bits. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/table.h"
#include "runtime/device/guarded.h"
#include "runtime/train/trainer.h"
#include "runtime/train/verification.h"
#include "tests/support/device_under_test.h"
#include "tests/support/failing_memory.h"
#include "tests/support/test_seed.h"

enum { BATCH = 32, SIDE = 8, REPORTS = 64 };

static plim_context *ctx;
static plim_device *device;
static plim_dataset *dataset;
static plim_program *program;
static plim_replan_options replan;
static plim_budget_report report[REPORTS];
static int n_reports;

static plim_plan_options planning(int64_t budget_bytes) {
  plim_plan_options options = plim_plan_options_default();
  options.iterations = 500;
  options.budget_bytes = budget_bytes;
  return options;
}

static plim_failing_memory host_memory;

static void setup(void) {
  plim_dataset_options options = plim_dataset_options_default();
  plim_net_options net_options = plim_net_options_default();
  plim_net *net;
  options.height = options.width = SIDE;
  options.train_count = 200;
  options.test_count = 40;
  net_options.batch = BATCH;
  net_options.height = net_options.width = SIDE;
  plim_dataset_pixels("synthetic", net_options.pixel_scale, net_options.pixel_shift);
  cr_assert_eq(plim_context_new(plim_failing_resize, &host_memory, &ctx), PLIM_OK);
  device = plim_test_device(ctx, 1);
  cr_assert_eq(plim_dataset_load(ctx, "synthetic", &options, &dataset), PLIM_OK);
  cr_assert_eq(plim_model_make(ctx, "resnet20", &net_options, &net), PLIM_OK);
  cr_assert_eq(plim_program_begin(device, net, NULL, &program), PLIM_OK, "%s", plim_context_error(ctx));
  plim_net_free(net);
  plim_plan_options all = planning(INT64_MAX);
  cr_assert_eq(plim_program_plan(program, &all), PLIM_OK, "%s", plim_context_error(ctx));
  replan = (plim_replan_options){.struct_bytes = sizeof replan,
                                 .planning = planning(INT64_MAX),
                                 .policy = plim_policy_find("dtr"), /* decides in no time */
                                 .thrash = 1};
  n_reports = 0;
}

static void teardown(void) {
  plim_program_free(program);
  plim_dataset_free(dataset);
  plim_device_close(device);
  plim_context_free(ctx);
}
TestSuite(limit, .init = setup, .fini = teardown);

static void keep_report(void *user, const plim_budget_report *r) {
  (void)user;
  cr_assert_lt(n_reports, REPORTS);
  report[n_reports++] = *r;
}

static int64_t part(int percent) {
  return plim_program_arena_bytes(program) * percent / 100;
}

static plim_trainer *open_trainer(int32_t n, const plim_budget_change *foreseen, int limited) {
  plim_trainer_options options = {
      .struct_bytes = sizeof options,
      .seed = test_seed(7),
      .schedule = {.rate = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f, .total_steps = 1000},
      .augment = 1,
      .exec = {.struct_bytes = sizeof(plim_exec_options)},
      .replan = limited ? &replan : NULL,
      .budget_change = foreseen,
      .n_budget_changes = n,
      .on_budget_change = keep_report,
  };
  plim_trainer *t;
  cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &t), PLIM_OK, "%s", plim_context_error(ctx));
  return t;
}

/* Run as many steps without a cap, compare every bit, close both. */
static void expect_same_bits(plim_trainer *t) {
  plim_trainer *plain = open_trainer(0, NULL, 0);
  plim_state_difference d;
  cr_assert_eq(plim_trainer_run(plain, plim_trainer_steps(t), NULL, NULL), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_state_compare(t, plain, &d), PLIM_OK);
  cr_expect_eq(d.different, 0, "%s differs", d.name);
  plim_trainer_close(plain);
  plim_trainer_close(t);
}

static void run(plim_trainer *t, int64_t steps) {
  cr_assert_eq(plim_trainer_run(t, steps, NULL, NULL), PLIM_OK, "%s", plim_context_error(ctx));
}

Test(limit, step_in_flight_goes_on_online_and_gives_the_tail_back) {
  int64_t moved = 0;
  int online = 0;
  replan.policy = NULL; /* plans by search, as a run that began with one has them */
  for (int percent = 90; percent >= 70; percent -= 10) {
    const plim_budget_change foreseen = {1, part(percent)};
    plim_trainer *t = open_trainer(1, &foreseen, 1);
    n_reports = 0;
    run(t, 3);
    cr_assert_eq(n_reports, 1);
    cr_assert_eq(report[0].status, PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(report[0].step, 2);
    cr_assert_leq(report[0].arena_after, foreseen.bytes);
    cr_assert_eq(plim_exec_arena_bytes(plim_trainer_exec(t)), report[0].arena_after);
    if (device->api->memory.resize) cr_assert_geq(report[0].returned_bytes, part(100) - foreseen.bytes - 4096);
    online += report[0].switched_at > 0;
    moved += report[0].moved_bytes;
    expect_same_bits(t);
  }
  cr_assert(!device->api->memory.resize || online >= 2, "in %d of 3 cases there was a way", online);
  cr_assert(!device->api->memory.resize || moved > 0, "what lay in the tail goes on elsewhere");
}

Test(limit, cap_shrinks_again_and_grows_up_to_the_first_arena) {
  const plim_budget_change foreseen[] = {{1, part(80)}, {2, part(60)}, {3, part(70)}, {4, part(300)}};
  plim_trainer *t = open_trainer(4, foreseen, 1);
  plim_evaluation evaluation;
  for (int i = 0; i < 6; i++) {
    run(t, 1);
    cr_assert_eq(plim_trainer_evaluate(t, &evaluation), PLIM_OK, "%s", plim_context_error(ctx));
  }
  cr_assert_eq(n_reports, 4);
  for (int i = 0; i < 4; i++) {
    cr_assert_eq(report[i].status, PLIM_OK);
    cr_assert_leq(report[i].arena_after, foreseen[i].bytes);
  }
  cr_assert_gt(report[2].arena_after, report[1].arena_after);
  cr_assert_leq(report[3].arena_after, part(100));
  cr_assert_lt(report[3].overhead_percent, report[1].overhead_percent);
  expect_same_bits(t);
}

/* Serve a request for a budget; the memory that the context holds afterwards. */
static int64_t bytes_after_request(plim_trainer *t, int percent) {
  plim_trainer_change_budget(t, part(percent));
  run(t, 2);
  return plim_context_memory(ctx).bytes;
}

Test(limit, plans_that_were_replaced_are_freed_while_the_run_continues) {
  plim_trainer *t = open_trainer(0, NULL, 1);
  int64_t first = 0;
  for (int i = 0; i < 4; i++) {
    (void)bytes_after_request(t, 80);
    int64_t bytes = bytes_after_request(t, 60);
    if (i == 0) first = bytes;
    cr_expect_eq(bytes, first, "%lld bytes after round %d, %lld after the first", (long long)bytes, i,
                 (long long)first);
  }
  cr_assert_eq(n_reports, 8);
  for (int i = 0; i < 8; i++) cr_assert_eq(report[i].status, PLIM_OK);
  expect_same_bits(t);
}

Test(limit, cap_that_nothing_fits_into_is_reported_and_the_run_goes_on) {
  const plim_budget_change foreseen = {1, part(100) / 20};
  plim_trainer *t = open_trainer(1, &foreseen, 1);
  run(t, 4);
  cr_assert_eq(n_reports, 1);
  cr_assert_eq(report[0].status, PLIM_ENOFIT);
  cr_assert_eq(report[0].arena_after, part(100));
  cr_assert_eq(report[0].returned_bytes, 0, "what was given back has come back");
  expect_same_bits(t);
}

Test(limit, trainer_without_plans_for_other_caps_refuses) {
  plim_trainer *t = open_trainer(0, NULL, 0);
  run(t, 1);
  plim_trainer_change_budget(t, part(80));
  cr_assert_eq(plim_trainer_run(t, 1, NULL, NULL), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "opened without plans for other budgets"));
  plim_trainer_close(t);
}

typedef struct other_thread {
  plim_trainer *trainer;
  int64_t bytes[3];
} other_thread;

static void *ask(void *user) {
  other_thread *o = user;
  for (int i = 0; i < 3; i++) {
    (void)nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    plim_trainer_change_budget(o->trainer, o->bytes[i]);
  }
  return NULL;
}

Test(limit, may_be_asked_for_by_another_thread_at_any_moment) {
  plim_trainer *t = open_trainer(0, NULL, 1);
  other_thread other = {t, {part(80), part(55), part(65)}};
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, ask, &other), 0);
  run(t, 10);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  run(t, 2);
  cr_assert_geq(n_reports, 1);
  cr_assert_eq(report[n_reports - 1].wanted_bytes, part(65));
  cr_assert_eq(report[n_reports - 1].status, PLIM_OK);
  expect_same_bits(t);
}

Test(limit, a_plan_of_another_machine_cannot_replace_one) {
  const plim_plan *own = program->plan[PLIM_PROGRAM_TRAIN];
  plim_trainer *t = open_trainer(0, NULL, 0);
  plim_plan draft = *own, *foreign = NULL;
  (void)snprintf(draft.numerics.machine.cpu, sizeof draft.numerics.machine.cpu, "another CPU");
  cr_assert_eq(plim_plan_from_parts(program->graph[PLIM_PROGRAM_TRAIN], &draft, &foreign), PLIM_OK);
  const plim_plan *const plan[] = {foreign, program->plan[PLIM_PROGRAM_EVAL]};
  cr_assert_eq(plim_exec_replace(plim_trainer_exec(t), plan, part(100)), PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(ctx), "another CPU"), "%s", plim_context_error(ctx));
  plim_trainer_close(t);
  plim_plan_free(foreign);
}

/* ---- kernels ---- */

static const plim_device_api *own_api;
static int n_kernels; /* prepared and not given back */

static plim_status count_prepare(plim_device *d, const plim_op_desc *op, const char *variant, void **kernel) {
  n_kernels++;
  return own_api->kernels.prepare(d, op, variant, kernel);
}

static void count_unprepare(plim_device *d, void *kernel) {
  n_kernels--;
  own_api->kernels.unprepare(d, kernel);
}

/* The training step with the slowest variant of each op in place of the fastest; *n: kernels that it needs. */
static plim_plan *slow_plan(void) {
  const plim_graph *graph = program->graph[PLIM_PROGRAM_TRAIN];
  const plim_profile *profile = program->profile[PLIM_PROGRAM_TRAIN];
  const char **numerics_key = NULL;
  plim_plan_options options = planning(INT64_MAX);
  plim_plan *plan = NULL;
  cr_assert_eq(plim_allocate(ctx, graph->n_ops, sizeof *numerics_key, &numerics_key), PLIM_OK);
  for (int32_t op = 0; op < graph->n_ops; op++) {
    const plim_variant *slowest = &profile->variant[profile->first[op]];
    for (int32_t i = profile->first[op]; i < profile->first[op + 1]; i++) {
      if (profile->variant[i].time_ns > slowest->time_ns) slowest = &profile->variant[i];
    }
    numerics_key[op] = slowest->numerics_key;
  }
  options.planner = "keep-all";
  options.numerics = PLIM_NUMERICS_GIVEN;
  options.numerics_key = numerics_key;
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  plim_release(ctx, numerics_key, graph->n_ops, sizeof *numerics_key);
  return plan;
}

static void replace(plim_trainer *t, const plim_plan *training) {
  const plim_plan *const plan[] = {training, program->plan[PLIM_PROGRAM_EVAL]};
  cr_assert_eq(plim_exec_replace(plim_trainer_exec(t), plan, plim_exec_first_bytes(plim_trainer_exec(t))), PLIM_OK,
               "%s", plim_context_error(ctx));
}

Test(limit, kernels_of_plans_that_were_replaced_are_given_back) {
  plim_device_api counting = *device->api;
  plim_plan *slow = slow_plan();
  plim_plan *own = NULL;
  own_api = device->api;
  counting.kernels.prepare = count_prepare;
  counting.kernels.unprepare = count_unprepare;
  device->api = &counting;
  cr_assert_eq(plim_plan_from_parts(program->graph[PLIM_PROGRAM_TRAIN], program->plan[PLIM_PROGRAM_TRAIN], &own),
               PLIM_OK);
  if (slow->arena_bytes > own->arena_bytes) { /* the executor begins with the larger one */
    plim_plan *larger = slow;
    slow = own;
    own = larger;
  }
  cr_assert_eq(plim_program_adopt(program, own), PLIM_OK, "%s", plim_context_error(ctx));
  plim_trainer *t = open_trainer(0, NULL, 0);
  int first = n_kernels;
  run(t, 2);
  replace(t, slow);
  int second = n_kernels;
  cr_assert_neq(first, second, "the plans need as many kernels: this test would see nothing");
  run(t, 2);
  for (int i = 0; i < 3; i++) {
    replace(t, program->plan[PLIM_PROGRAM_TRAIN]);
    cr_assert_eq(n_kernels, first);
    run(t, 1);
    replace(t, slow);
    cr_assert_eq(n_kernels, second);
    run(t, 1);
  }
  plim_trainer_close(t);
  cr_assert_eq(n_kernels, 0);
  plim_plan_free(slow);
  device->api = own_api;
}

/* ---- evaluation ---- */

static plim_trainer *evaluating;
static int32_t runs_until_request;

static plim_status ask_in_run(plim_device *d, int32_t queue, void *kernel, const plim_kernel_args *args) {
  if (runs_until_request-- == 0) plim_trainer_change_budget(evaluating, part(60));
  return own_api->kernels.run(d, queue, kernel, args);
}

Test(limit, a_request_in_the_middle_of_an_evaluation_is_served_before_its_next_batch) {
  plim_device_api asking = *device->api;
  plim_evaluation without, with;
  own_api = device->api;
  asking.kernels.run = ask_in_run;
  device->api = &asking;
  runs_until_request = -1;
  plim_trainer *t = open_trainer(0, NULL, 1);
  evaluating = t;
  run(t, 2);
  cr_assert_eq(plim_trainer_evaluate(t, &without), PLIM_OK);
  cr_assert_gt(without.counted, BATCH, "one batch alone: this test would see nothing");
  runs_until_request = 3;
  cr_assert_eq(plim_trainer_evaluate(t, &with), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(n_reports, 1);
  cr_expect_leq(plim_exec_arena_bytes(plim_trainer_exec(t)), part(60));
  cr_expect_eq(with.loss, without.loss);
  cr_expect_eq(with.counted, without.counted);
  run(t, 2);
  expect_same_bits(t);
  device->api = own_api;
}

/* ---- a switch that fails ---- */

static int32_t n_runs, hungry_from, hungry_to;

/* There is no memory between two runs of [hungry_from, hungry_to), and enough inside of runs. */
static plim_status run_hungry(plim_device *d, int32_t queue, void *kernel, const plim_kernel_args *args) {
  host_memory.refuse_all = 0;
  plim_status status = own_api->kernels.run(d, queue, kernel, args);
  host_memory.refuse_all = n_runs >= hungry_from && n_runs < hungry_to;
  n_runs++;
  return status;
}

/* Does the device switch plans in a step? The CPU does. */
static int can_switch(void) {
  const int can = device->api->memory.resize != NULL;
  cr_assert(can || !plim_test_on_cpu());
  return can;
}

Test(limit, a_step_without_memory_for_another_plan_goes_on_with_its_own) {
  const int32_t commands = program->plan[PLIM_PROGRAM_TRAIN]->n_commands;
  const plim_budget_change foreseen = {1, part(80)};
  plim_device_api starving = *device->api;
  if (!can_switch()) return;
  own_api = device->api;
  starving.kernels.run = run_hungry;
  device->api = &starving;
  for (int ends = 0; ends < 2; ends++) { /* memory comes back in the step, or after its last run but one */
    plim_trainer *t = open_trainer(1, &foreseen, 1);
    n_runs = n_reports = 0;
    hungry_from = commands;
    hungry_to = 2 * commands - (ends ? 1 : commands / 4);
    run(t, 3);
    cr_assert_eq(n_reports, 1);
    cr_assert_eq(report[0].status, PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_leq(report[0].arena_after, foreseen.bytes);
    cr_assert(report[0].switched_at == -1 || (!ends && report[0].switched_at >= commands / 4 * 3), "command %d",
              (int)report[0].switched_at);
    hungry_to = 0;
    expect_same_bits(t);
  }
  device->api = own_api;
}

/* Called between two steps: memory runs out, so that no plans for another budget can be made. */
static void starve(void *user, const plim_step_report *r) {
  (void)r;
  plim_trainer_change_budget(user, part(80));
  host_memory.refuse_all = 1;
}

static void feed(void *user, const plim_budget_report *r) {
  host_memory.refuse_all = 0;
  keep_report(user, r);
}

Test(limit, a_run_without_memory_for_plans_of_another_budget_goes_on_with_its_own) {
  plim_trainer_options options = plim_trainer_options_default();
  options.seed = test_seed(7);
  options.schedule = (plim_rate_schedule){.rate = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f, .total_steps = 1000};
  options.augment = 1;
  options.replan = &replan;
  options.on_budget_change = feed;
  plim_trainer *t;
  cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &t), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_trainer_run(t, 1, starve, t), PLIM_OK, "%s", plim_context_error(ctx));
  plim_status status = plim_trainer_run(t, 2, NULL, NULL);
  host_memory.refuse_all = 0;
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(n_reports, 1);
  cr_assert_eq(report[0].status, PLIM_ENOMEM);
  cr_assert_eq(report[0].arena_after, part(100));
  expect_same_bits(t);
}

static int grows; /* 0: the arena cannot become larger */

static plim_status resize_down(plim_device *d, void *ptr, int64_t from_bytes, int64_t to_bytes, int64_t *returned) {
  if (to_bytes > from_bytes && !grows) return plim_fail(d->ctx, PLIM_ENOMEM, "the arena does not grow");
  return own_api->memory.resize(d, ptr, from_bytes, to_bytes, returned);
}

static void starve_second(void *user, const plim_step_report *r) {
  (void)user;
  host_memory.refuse_all = r->step == 1;
}

/* The step went on in a smaller arena, but there is memory neither for plans that fit into it nor for the one before.
 */
Test(limit, a_request_whose_plans_cannot_be_restored_is_served_later) {
  const plim_budget_change foreseen = {1, part(80)};
  plim_device_api failing = *device->api;
  if (!can_switch()) return;
  replan.policy = NULL;
  own_api = device->api;
  failing.memory.resize = resize_down;
  device->api = &failing;
  grows = 0;
  plim_trainer *t = open_trainer(1, &foreseen, 1);
  plim_status status = plim_trainer_run(t, 3, starve_second, NULL);
  host_memory.refuse_all = 0;
  cr_assert_eq(status, PLIM_ENOMEM);
  cr_assert_eq(n_reports, 0);
  cr_assert_lt(plim_exec_arena_bytes(plim_trainer_exec(t)), part(100), "the step has been switched");
  grows = 1;
  run(t, 2);
  cr_assert_eq(n_reports, 1);
  cr_assert_eq(report[0].status, PLIM_OK);
  expect_same_bits(t);
  device->api = own_api;
}

/* The training step with another variant of its last op that has one with a workspace of the same size. */
static plim_plan *other_variant_plan(void) {
  const plim_plan *own = program->plan[PLIM_PROGRAM_TRAIN];
  const plim_profile *profile = program->profile[PLIM_PROGRAM_TRAIN];
  plim_plan draft = *own, *made = NULL;
  plim_plan_variant *variant = calloc((size_t)own->n_variants, sizeof *variant);
  cr_assert_not_null(variant);
  draft.variant = memcpy(variant, own->variant, (size_t)own->n_variants * sizeof *variant);
  draft.proved = 0;
  for (int32_t j = own->n_commands - 1; j > own->n_commands / 2 && !made; j--) {
    plim_plan_variant *row = &variant[own->command[j].variant];
    for (int32_t i = profile->first[row->op]; i < profile->first[row->op + 1] && !made; i++) {
      const plim_variant *other = &profile->variant[i];
      if (strcmp(other->name, row->variant.name) == 0 || other->workspace_bytes != row->variant.workspace_bytes)
        continue;
      row->variant = *other;
      cr_assert_eq(plim_plan_from_parts(program->graph[PLIM_PROGRAM_TRAIN], &draft, &made), PLIM_OK, "%s",
                   plim_context_error(ctx));
    }
  }
  free(variant);
  return made;
}

static int32_t n_given; /* plans given to the executor in the middle of a step */

static plim_status give_other_variant(void *user, int32_t plan_index, int32_t command, const plim_plan *plan,
                                      plim_plan_switch *plan_switch) {
  (void)user;
  if (plan_index != PLIM_PROGRAM_TRAIN || command != plan->n_commands / 2) return PLIM_OK;
  plan_switch->plan = other_variant_plan();
  n_given += plan_switch->plan != NULL;
  return PLIM_OK;
}

static plim_status refuse_prepare(plim_device *d, const plim_op_desc *op, const char *variant, void **kernel) {
  (void)op, (void)kernel;
  return plim_fail(d->ctx, PLIM_EUNSUPPORTED, "%s is refused", variant);
}

Test(limit, a_step_goes_on_with_its_own_plan_where_the_device_refuses_a_variant_of_another) {
  plim_device_api refusing = *device->api;
  plim_refused_list refused = {.n = 0};
  plim_plan *other = other_variant_plan();
  if (!can_switch()) return;
  cr_assert(other || strcmp(plim_kernel_library(), "none") == 0);
  if (!other) return; /* one variant an op */
  plim_plan_free(other);
  plim_trainer_options options = plim_trainer_options_default();
  options.schedule = (plim_rate_schedule){.rate = 0.05f, .total_steps = 1000};
  options.exec.refused = &refused;
  plim_trainer *t;
  cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &t), PLIM_OK, "%s", plim_context_error(ctx));
  plim_exec_set_before_command(plim_trainer_exec(t), give_other_variant, NULL);
  own_api = device->api;
  refusing.kernels.prepare = refuse_prepare;
  device->api = &refusing;
  n_given = 0;
  run(t, 2);
  device->api = own_api;
  cr_expect_eq(n_given, 2);
  cr_expect_eq(refused.n, 1);
  cr_expect_eq(plim_exec_plan_of(plim_trainer_exec(t), PLIM_PROGRAM_TRAIN), program->plan[PLIM_PROGRAM_TRAIN]);
  plim_trainer_close(t);
}

/* ---- memory ---- */

static int64_t resident_bytes(void) {
  long long pages = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  cr_assert_not_null(f);
  cr_assert_eq(fscanf(f, "%lld %lld", &pages, &resident), 2);
  (void)fclose(f);
  return resident * sysconf(_SC_PAGESIZE);
}

Test(limit, memory_shrinks_in_place_and_the_system_gets_its_pages) {
  enum { WHOLE = 64 << 20, LEFT = (8 << 20) + 512 };
  void *memory;
  int64_t returned = 0;
  cr_assert_eq(plim_guarded_alloc(ctx, WHOLE, 1, &memory), PLIM_OK);
  memset(memory, 7, WHOLE);
  int64_t before = resident_bytes();
  cr_assert_eq(plim_guarded_resize(ctx, memory, WHOLE, LEFT, 1, &returned), PLIM_OK);
  cr_assert_geq(returned, WHOLE - LEFT - sysconf(_SC_PAGESIZE));
  cr_assert_leq(resident_bytes(), before - returned + (2 << 20));
  for (int i = 0; i < LEFT; i++) cr_assert(((char *)memory)[i] == 7, "byte %d", i);
  cr_assert_eq(plim_guarded_resize(ctx, memory, LEFT, WHOLE, 1, &returned), PLIM_OK);
  cr_assert_lt(returned, 0);
  cr_assert_eq(((char *)memory)[LEFT - 1], 7);
  cr_assert_eq(((char *)memory)[WHOLE - 1], 0);
  plim_guarded_free(memory, WHOLE);
}

/* Does writing a byte there end a process? */
static int faults(volatile char *at) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    (void)signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would report what is wanted here */
    *at = 1;
    _exit(0);
  }
  cr_assert_eq(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status);
}

Test(limit, memory_given_back_is_out_of_reach) {
  enum { WHOLE = 1 << 20, LEFT = 1 << 16 };
  void *memory;
  int64_t returned;
  cr_assert_eq(plim_guarded_alloc(ctx, WHOLE, 1, &memory), PLIM_OK);
  cr_assert_eq(plim_guarded_resize(ctx, memory, WHOLE, LEFT, 1, &returned), PLIM_OK);
  cr_assert(faults((char *)memory + WHOLE / 2));
  cr_assert(!faults((char *)memory + LEFT - 1));
  plim_guarded_free(memory, WHOLE);
}

/* ---- times in place ---- */

static plim_retime_report retimed;
static int n_retimed;

static void keep_retimed(void *user, const plim_retime_report *r) {
  (void)user;
  retimed = *r;
  n_retimed++;
}

static plim_trainer *open_retimed(int32_t steps) {
  plim_trainer_options options = {
      .struct_bytes = sizeof options,
      .seed = test_seed(7),
      .schedule = {.rate = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f, .total_steps = 1000},
      .exec = {.struct_bytes = sizeof options.exec},
      .replan = steps > 0 ? &replan : NULL,
      .retime_steps = steps,
      .on_retime = keep_retimed};
  plim_trainer *trainer = NULL;
  replan.policy = NULL;
  n_retimed = 0;
  cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &trainer), PLIM_OK, "%s", plim_context_error(ctx));
  return trainer;
}

/* Modelled costs are far from measured ones, so that the plan changes here. */
Test(limit, a_plan_recomputed_with_times_in_place_gives_the_same_bits) {
  plim_plan_options half = planning(part(60));
  plim_state_difference d;
  cr_assert_eq(plim_program_plan(program, &half), PLIM_OK, "%s", plim_context_error(ctx));
  plim_trainer *timed = open_retimed(3);
  cr_assert_eq(plim_trainer_run(timed, 8, NULL, NULL), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(n_retimed, 1);
  cr_assert_eq(retimed.step, 5);
  cr_assert_eq(retimed.predicted_ns, program->plan[PLIM_PROGRAM_TRAIN]->time_ns);
  cr_assert_gt(retimed.measured_ns, 0);
  cr_assert_gt(retimed.again_ns, 0);
  cr_assert_eq(retimed.taken, retimed.again_ns < retimed.measured_ns);
  const plim_plan *now = plim_exec_plan_of(plim_trainer_exec(timed), PLIM_PROGRAM_TRAIN);
  cr_assert_eq(now != program->plan[PLIM_PROGRAM_TRAIN], retimed.taken);
  cr_assert_null(plim_exec_times(plim_trainer_exec(timed), PLIM_PROGRAM_TRAIN));
  plim_trainer *plain = open_retimed(0);
  cr_assert_eq(plim_trainer_run(plain, 8, NULL, NULL), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_state_compare(timed, plain, &d), PLIM_OK);
  cr_assert_eq(d.different, 0, "%s differs", d.name);
  plim_trainer_close(timed);
  plim_trainer_close(plain);
}

Test(limit, a_change_while_steps_are_timed_begins_the_timing_again) {
  plim_state_difference d;
  plim_trainer *timed = open_retimed(3), *plain = open_retimed(0);
  n_retimed = 0;
  run(timed, 4);
  plim_trainer_change_budget(timed, part(80));
  run(timed, 1);
  plim_trainer_change_budget(timed, part(60)); /* the plan that was to be timed is replaced */
  run(timed, 8);
  cr_assert_eq(n_retimed, 1);
  run(plain, plim_trainer_steps(timed));
  cr_assert_eq(plim_state_compare(timed, plain, &d), PLIM_OK);
  cr_assert_eq(d.different, 0, "%s differs", d.name);
  plim_trainer_close(timed);
  plim_trainer_close(plain);
}

static int64_t cancel_after; /* the step after which the context is cancelled */

static void cancel_at(void *user, const plim_step_report *r) {
  (void)user;
  if (r->step == cancel_after) plim_context_cancel(ctx);
}

Test(limit, timing_that_failed_begins_anew_when_the_caller_goes_on) {
  enum { WARM = 2, TIMED = 3 };
  const int warm = WARM + (device->api->watch && device->api->watch->times); /* a replay warms up too */
  plim_trainer *timed = open_retimed(TIMED);
  cancel_after = warm + TIMED - 1; /* the last of the timed steps, after which it plans once more */
  cr_assert_eq(plim_trainer_run(timed, 9, cancel_at, NULL), PLIM_ECANCEL);
  cr_assert_eq(n_retimed, 0);
  plim_context_resume(ctx);
  run(timed, 1);
  cr_assert_eq(n_retimed, 0, "there is one sample more than there is room for");
  run(timed, warm + TIMED);
  cr_assert_eq(n_retimed, 1);
  plim_trainer_close(timed);
}

Test(limit, a_request_whose_planning_failed_is_served_later) {
  plim_trainer *t = open_trainer(0, NULL, 1);
  run(t, 1);
  plim_trainer_change_budget(t, part(80));
  replan.struct_bytes = 0; /* which is refused */
  cr_assert_eq(plim_trainer_run(t, 1, NULL, NULL), PLIM_EUSAGE);
  cr_assert_eq(n_reports, 0);
  replan.struct_bytes = sizeof replan;
  run(t, 1);
  cr_assert_eq(n_reports, 1);
  cr_assert_eq(report[0].status, PLIM_OK);
  cr_assert_leq(plim_exec_arena_bytes(plim_trainer_exec(t)), part(80));
  plim_trainer_close(t);
}

Test(limit, times_in_place_need_to_know_how_plans_are_made) {
  plim_trainer_options options = {
      .struct_bytes = sizeof options, .exec = {.struct_bytes = sizeof options.exec}, .retime_steps = 3};
  plim_trainer *trainer = NULL;
  cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &trainer), PLIM_EUSAGE);
  options.replan = &replan; /* by a policy */
  cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &trainer), PLIM_EUSAGE);
  cr_assert_null(trainer);
}
