/* runtime/train/verification: the bits of a budget are those of an unlimited run; a run that differs is found. */
#include "runtime/train/verification.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/device/device_internal.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/preparation.h"
#include "tests/support/device_under_test.h"
#include "tests/support/folder.h"
#include "tests/support/test_context.h"

enum { BATCH = 8, LAST = 3, SIDE = 16, STEPS = 6 };

typedef struct rig {
  plim_context *ctx;
  plim_device *device;
  plim_dataset *dataset;
  plim_program_source source;
  plim_program *program, *unlimited;
  plim_preparation p;
  plim_trainer_options training;
  plim_trainer *trainer;
} rig;

static const char *model = "resnet20";
static plim_dtype states = PLIM_F32;

static plim_status make_net(void *user, const plim_net_options *net, plim_net **out) {
  return plim_model_make(user, model, net, out);
}

static void ok(const rig *r, plim_status status) {
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(r->ctx));
}

/* Planned within three quarters of the keep-all bytes, with a last batch, and an unlimited program of the same
 * numerics.
 */
static rig rig_open(void) {
  rig r = {.ctx = plim_test_context(), .source = plim_program_source_default()};
  plim_preparation_options options = plim_preparation_options_default();
  plim_dataset_options data = plim_dataset_options_default();
  r.device = plim_test_device(r.ctx, 1);
  data.height = data.width = SIDE;
  data.channels = r.source.net.channels;
  data.train_count = 2 * BATCH + LAST;
  data.test_count = BATCH;
  ok(&r, plim_dataset_load(r.ctx, "synthetic", &data, &r.dataset));
  r.source.make = make_net;
  r.source.user = r.ctx;
  r.source.net.batch = BATCH;
  r.source.net.states = states;
  r.source.net.height = r.source.net.width = SIDE;
  ok(&r, plim_program_make(r.device, &r.source, &r.program));
  ok(&r, plim_program_make_last(r.program, r.device, &r.source, LAST));
  ok(&r, plim_preparation_begin(r.device, r.program, &r.p));
  options.planning.iterations = 2000;
  options.planning.budget_bytes = r.p.keep_all->arena_bytes / 4 * 3;
  ok(&r, plim_preparation_run(&r.p, &options));
  ok(&r, plim_verify_make_unlimited(r.program, r.device, &r.source, &r.unlimited));
  r.training = plim_trainer_options_default();
  r.training.schedule.rate = 0.05f;
  r.training.schedule.momentum = 0.9f;
  r.training.schedule.total_steps = STEPS;
  r.training.augment = 1;
  return r;
}

static void rig_close(rig *r) {
  plim_trainer_close(r->trainer);
  plim_preparation_end(&r->p);
  plim_program_free(r->unlimited);
  plim_program_free(r->program);
  plim_dataset_free(r->dataset);
  plim_device_close(r->device);
  plim_test_context_end(r->ctx);
}

static void open_trainer(rig *r) {
  ok(r, plim_trainer_open(r->device, r->dataset, r->program, &r->training, &r->trainer));
}

static void count_step(void *user, int64_t done, int64_t steps) {
  int64_t *seen = user;
  cr_assert_eq(done, (*seen)++);
  cr_assert_eq(steps, STEPS);
}

Test(verification, an_unlimited_program_recomputes_nothing_and_has_the_numerics_of_the_plans) {
  rig r = rig_open();
  for (int i = 0; i < PLIM_PROGRAM_GRAPHS; i++) {
    const plim_plan *plan = r.program->plan[i], *free_plan = r.unlimited->plan[i];
    if (i == PLIM_PROGRAM_EVAL) continue;
    cr_assert_eq(free_plan->n_commands, r.unlimited->graph[i]->n_ops);
    cr_assert_eq(plim_plan_numerics_differ(free_plan, plan), 0);
  }
  cr_assert_gt(r.program->plan[PLIM_PROGRAM_TRAIN]->n_commands, r.program->graph[PLIM_PROGRAM_TRAIN]->n_ops);
  rig_close(&r);
}

static const char *variant_of(const plim_plan *plan, int32_t op) {
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *c = &plan->command[j];
    if (c->kind == PLIM_COMMAND_RUN && c->op == op) return plan->variant[c->variant].variant.name;
  }
  return "";
}

Test(verification, a_reference_has_program_order_and_the_variants_of_the_plans) {
  rig r = rig_open();
  plim_program *reference = NULL;
  plim_state_difference difference;
  ok(&r, plim_verify_make_reference(r.program, r.device, &r.source, &reference));
  cr_assert(reference);
  for (int i = 0; i < PLIM_PROGRAM_GRAPHS; i++) {
    if (i == PLIM_PROGRAM_EVAL) continue;
    cr_assert_eq(reference->plan[i]->n_commands, reference->graph[i]->n_ops);
    for (int32_t o = 0; o < reference->graph[i]->n_ops; o++) {
      cr_assert_eq(reference->plan[i]->command[o].op, o);
      cr_assert_str_eq(variant_of(reference->plan[i], o), variant_of(r.program->plan[i], o));
    }
  }
  open_trainer(&r);
  ok(&r, plim_verify(r.trainer, reference, STEPS, NULL, NULL, &difference));
  cr_assert_eq(difference.different, 0, "%s differs", difference.name);
  plim_program_free(reference);
  rig_close(&r);
}

Test(verification, a_budget_changes_no_bit_of_two_epochs_with_their_last_batches) {
  rig r = rig_open();
  plim_state_difference difference;
  int64_t seen = 0;
  open_trainer(&r);
  ok(&r, plim_verify(r.trainer, r.unlimited, STEPS, count_step, &seen, &difference));
  cr_assert_eq(seen, STEPS);
  cr_assert_eq(plim_trainer_steps(r.trainer), STEPS);
  cr_assert_gt(difference.values, 50);
  cr_assert_gt(difference.bytes, 1000000);
  cr_assert_eq(difference.different, 0, "%s differs", difference.name);
  cr_assert_eq(plim_verify(r.trainer, r.unlimited, 1, NULL, NULL, &difference), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "at step 6"), "%s", plim_context_error(r.ctx));
  rig_close(&r);
}

Test(verification, a_budget_changes_no_bit_of_states_in_bf16_and_a_checkpoint_keeps_them) {
  plim_state_difference difference;
  model = "tinyres";
  states = PLIM_BF16;
  rig r = rig_open();
  (void)plim_test_folder();
  open_trainer(&r);
  ok(&r, plim_verify(r.trainer, r.unlimited, STEPS, NULL, NULL, &difference));
  cr_assert_eq(difference.different, 0, "%s differs", difference.name);
  ok(&r, plim_checkpoint_save(r.trainer, plim_test_path("half")));
  ok(&r, plim_checkpoint_load(r.trainer, plim_test_path("half")));
  rig_close(&r);
  states = PLIM_F32;
  r = rig_open();
  open_trainer(&r);
  cr_assert_eq(plim_checkpoint_load(r.trainer, plim_test_path("half")), PLIM_EDATA);
  cr_assert(strstr(plim_context_error(r.ctx), "(state, bf16, "), "%s", plim_context_error(r.ctx));
  rig_close(&r);
  plim_test_folder_remove();
}

/* ---- two devices ---- */

/* A device whose second thread set computes other bits: it changes the first output of each of its runs. */
static plim_status run_by_place(plim_device *device, int32_t queue, void *kernel, const plim_kernel_args *args) {
  PLIM_TRY(plim_device_cpu.kernels.run(device, queue, kernel, args));
  unsigned char *first = args->out && args->out[0] ? args->out[0] : NULL;
  if (queue > 0 && first) first[0] ^= 1;
  return PLIM_OK;
}

static int32_t runs_elsewhere(const plim_plan *plan) {
  int32_t n = 0;
  for (int32_t j = 0; j < plan->n_commands; j++)
    n += plan->command[j].kind == PLIM_COMMAND_RUN && plan->command[j].space;
  return n;
}

static const plim_command *first_run(const plim_plan *plan, int32_t op) {
  for (int32_t j = 0; j < plan->n_commands; j++) {
    if (plan->command[j].kind == PLIM_COMMAND_RUN && plan->command[j].op == op) return &plan->command[j];
  }
  return NULL;
}

/* Planned for two devices, with every op once: this device gives a second run elsewhere other bits. */
static rig rig_open_placed(const plim_device_api *api) {
  plim_plan_options planning = plim_plan_options_default();
  plim_paging paging = plim_paging_default();
  model = "tinyres";
  rig r = rig_open();
  r.device->api = api;
  paging.recompute = 0;
  paging.n_devices = 1;
  paging.device[0] = (plim_paging_device){"cpu:1", PLIM_BYTES_UNLIMITED};
  paging.device_bytes_per_ns = 1000;
  planning.paging = &paging;
  planning.iterations = 100;
  ok(&r, plim_program_plan(r.program, &planning));
  cr_assert_gt(runs_elsewhere(r.program->plan[PLIM_PROGRAM_TRAIN]), 10);
  return r;
}

Test(verification, a_reference_runs_each_op_on_the_device_of_the_plan_one_after_another) {
  plim_device_api api = plim_device_cpu;
  plim_program *reference = NULL;
  plim_state_difference difference;
  int32_t next = 0;
  if (!plim_test_on_cpu()) cr_skip_test("several devices are of the CPU");
  api.kernels.run = run_by_place;
  rig r = rig_open_placed(&api);
  ok(&r, plim_verify_make_reference(r.program, r.device, &r.source, &reference));
  cr_assert(reference);
  const plim_plan *plan = reference->plan[PLIM_PROGRAM_TRAIN], *as = r.program->plan[PLIM_PROGRAM_TRAIN];
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *c = &plan->command[j];
    if (c->kind == PLIM_COMMAND_COPY) continue;
    cr_assert_eq(c->op, next);
    cr_assert_eq(c->space, first_run(as, next)->space);
    cr_assert_str_eq(variant_of(plan, next), variant_of(as, next));
    next++;
  }
  cr_assert_eq(next, reference->graph[PLIM_PROGRAM_TRAIN]->n_ops);
  open_trainer(&r);
  ok(&r, plim_verify(r.trainer, reference, STEPS, NULL, NULL, &difference));
  cr_assert_eq(difference.different, 0, "%s differs", difference.name);
  plim_program_free(reference);
  rig_close(&r);
}

Test(verification, an_op_on_another_device_is_found_where_that_one_computes_other_bits) {
  plim_device_api api = plim_device_cpu;
  plim_program *other = NULL;
  plim_state_difference difference;
  if (!plim_test_on_cpu()) cr_skip_test("several devices are of the CPU");
  api.kernels.run = run_by_place;
  rig r = rig_open_placed(&api);
  ok(&r, plim_verify_make_unlimited(r.program, r.device, &r.source, &other));
  open_trainer(&r);
  ok(&r, plim_verify(r.trainer, other, STEPS, NULL, NULL, &difference));
  cr_assert_gt(difference.different, 0);
  plim_program_free(other);
  rig_close(&r);
}

/* ---- plans that page ---- */

static int64_t runs_to_flip; /* until the run whose result changes */

/* A device that changes one bit of the result of one run. */
static plim_status run_and_flip(plim_device *device, int32_t queue, void *kernel, const plim_kernel_args *args) {
  PLIM_TRY(plim_device_cpu.kernels.run(device, queue, kernel, args));
  unsigned char *first = args->out && args->out[0] ? args->out[0] : NULL;
  if (--runs_to_flip == 0 && first) first[2] ^= 128; /* of a float the lowest bit of the exponent */
  return PLIM_OK;
}

static int32_t count_kind(const plim_plan *plan, plim_command_kind kind) {
  int32_t n = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) n += plan->command[j].kind == kind;
  return n;
}

/* Planned to page within three quarters of the keep-all bytes. */
static rig rig_open_paged(const plim_device_api *api) {
  plim_plan_options planning = plim_plan_options_default();
  plim_paging paging = plim_paging_default();
  model = "tinyres";
  rig r = rig_open();
  r.device->api = api;
  paging.recompute = 0;
  paging.space = "host";
  paging.budget_bytes = r.p.keep_all->arena_bytes;
  paging.bytes_per_ns[0] = paging.bytes_per_ns[1] = 1000;
  planning.paging = &paging;
  planning.budget_bytes = r.p.keep_all->arena_bytes / 4 * 3;
  planning.iterations = 100;
  ok(&r, plim_program_plan(r.program, &planning));
  cr_assert_gt(count_kind(r.program->plan[PLIM_PROGRAM_TRAIN], PLIM_COMMAND_COPY), 0);
  plim_program_free(r.unlimited);
  ok(&r, plim_verify_make_unlimited(r.program, r.device, &r.source, &r.unlimited));
  return r;
}

/* Flip a bit of run number `run` of the first step, which is the plan's; 0: of none. Returns 1 where it is found. */
static int finds_flip(const plim_device_api *api, int64_t run, int64_t *n_runs) {
  plim_state_difference difference;
  rig r = rig_open_paged(api);
  *n_runs = count_kind(r.program->plan[PLIM_PROGRAM_TRAIN], PLIM_COMMAND_RUN);
  open_trainer(&r);
  runs_to_flip = run;
  ok(&r, plim_verify(r.trainer, r.unlimited, 2, NULL, NULL, &difference));
  rig_close(&r);
  return difference.different > 0;
}

Test(verification, a_run_of_a_plan_that_pages_is_found_where_its_result_has_another_bit) {
  enum { PARTS = 8 };
  plim_device_api api = plim_device_cpu;
  int64_t n = 0;
  int32_t found = 0;
  if (!plim_test_on_cpu()) cr_skip_test("a device of the CPU is made wrong");
  api.kernels.run = run_and_flip;
  cr_assert_eq(finds_flip(&api, 0, &n), 0);
  cr_assert_gt(n, PARTS);
  for (int32_t i = 0; i < PARTS; i++) found += finds_flip(&api, 1 + n * i / PARTS, &n);
  cr_expect_geq(found, PARTS - 1, "%d of %d are found", (int)found, (int)PARTS); /* one may be multiplied by 0 */
}

/* A net that sees other pixels. */
Test(verification, a_run_that_differs_is_found_and_named) {
  rig r = rig_open();
  plim_program *other = NULL;
  plim_state_difference difference;
  r.source.net.pixel_shift[0] += 1;
  ok(&r, plim_verify_make_unlimited(r.program, r.device, &r.source, &other));
  open_trainer(&r);
  ok(&r, plim_verify(r.trainer, other, 1, NULL, NULL, &difference));
  cr_assert_gt(difference.different, 0);
  cr_assert_not_null(difference.name);
  plim_program_free(other);
  rig_close(&r);
}

Test(verification, as_many_tens_of_steps_are_taken_as_fit_into_the_time_beside_the_test) {
  plim_plan capped = {.time_ns = 30}, unlimited = {.time_ns = 20}, test = {.time_ns = 10};
  const plim_program a = {.plan = {&capped, &test}}, b = {.plan = {&unlimited, &test}};
  cr_expect_eq(plim_verify_steps_within(&a, &b, 0, 50 * 200), 200);
  cr_expect_eq(plim_verify_steps_within(&a, &b, 0, 50 * 209.5), 200, "tens");
  cr_expect_eq(plim_verify_steps_within(&a, &b, 25, 50 * 210), 200, "both runs take the test");
  cr_expect_eq(plim_verify_steps_within(&a, &b, 0, 50 * 20), 150, "the least that shows a difference");
  cr_expect_eq(plim_verify_steps_within(&a, &b, 0, -1), 150);
}
