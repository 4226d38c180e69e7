/* Option structs: one function fills each, and a struct of another size is refused with a sentence that names it. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/data/sampler.h"
#include "runtime/import/generate.h"
#include "runtime/profile/profiler.h"
#include "runtime/program/online_plan.h"
#include "runtime/train/trainer.h"
#include "tests/support/device_under_test.h"
#include "tests/support/test_context.h"

static plim_context *ctx;
static plim_device *device;
static plim_dataset *dataset;
static plim_program *program;

static void setup(void) {
  plim_dataset_options data = plim_dataset_options_default();
  plim_net_options options = plim_net_options_default();
  plim_plan_options planning = plim_plan_options_default();
  plim_net *net = NULL;
  ctx = plim_test_context();
  device = plim_test_device(ctx, 1);
  data.height = data.width = options.height = options.width = 8;
  data.channels = options.channels = 1;
  data.train_count = 64;
  data.test_count = options.batch = 16;
  planning.iterations = 100;
  cr_assert_eq(plim_dataset_load(ctx, "synthetic", &data, &dataset), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_model_make(ctx, "mlp", &options, &net), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_program_begin(device, net, NULL, &program), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_program_plan(program, &planning), PLIM_OK, "%s", plim_context_error(ctx));
  plim_net_free(net);
}

static void teardown(void) {
  plim_program_free(program);
  plim_dataset_free(dataset);
  plim_device_close(device);
  plim_context_free(ctx);
}
TestSuite(options, .init = setup, .fini = teardown);

static void expect_refusal(plim_status status, const char *type) {
  cr_expect_eq(status, PLIM_EUSAGE, "%s: %s", type, plim_status_name(status));
  cr_expect_not_null(strstr(plim_context_error(ctx), type), "%s: %s", type, plim_context_error(ctx));
}

Test(options, of_devices_graphs_and_data_of_another_size_are_refused) {
  plim_device_options of_device = plim_device_options_default();
  plim_net_options of_net = plim_net_options_default();
  plim_generate_options of_graph = plim_generate_options_default("layered");
  plim_dataset_options of_data = plim_dataset_options_default();
  plim_profiler_options of_profiler = plim_profiler_options_default();
  plim_sampler_options of_sampler = plim_sampler_options_default();
  plim_device *other = NULL;
  plim_net *net = NULL;
  plim_graph *graph = NULL;
  plim_dataset *data = NULL;
  plim_profile *profile = NULL;
  plim_sampler *sampler = NULL;
  of_device.struct_bytes--;
  expect_refusal(plim_device_open(ctx, "cpu", &of_device, &other), "plim_device_options");
  of_net.struct_bytes = 0;
  expect_refusal(plim_model_make(ctx, "mlp", &of_net, &net), "plim_net_options");
  of_graph.struct_bytes++;
  expect_refusal(plim_graph_generate(ctx, &of_graph, &graph), "plim_generate_options");
  of_data.struct_bytes = 0;
  expect_refusal(plim_dataset_load(ctx, "synthetic", &of_data, &data), "plim_dataset_options");
  of_profiler.struct_bytes = 0;
  expect_refusal(plim_profile_measure(device, program->graph[PLIM_PROGRAM_EVAL], &of_profiler, &profile),
                 "plim_profiler_options");
  of_sampler.struct_bytes = 0;
  expect_refusal(plim_sampler_new(dataset, &of_sampler, &sampler), "plim_sampler_options");
}

Test(options, of_runs_of_another_size_are_refused) {
  plim_exec_options of_exec = plim_exec_options_default();
  plim_trainer_options of_trainer = plim_trainer_options_default();
  plim_replan_options of_replan = plim_replan_options_default();
  plim_online_plan_options of_online_plan = plim_online_plan_options_default();
  const plim_graph *graph = program->graph[PLIM_PROGRAM_TRAIN];
  const plim_profile *profile = program->profile[PLIM_PROGRAM_TRAIN];
  const plim_plan *const *now = (const plim_plan *const *)program->plan;
  plim_exec *exec = NULL;
  plim_trainer *trainer = NULL;
  plim_plan *plan[PLIM_PROGRAM_GRAPHS] = {NULL}, *made = NULL;
  int64_t bytes = 0;
  of_exec.struct_bytes = 0;
  expect_refusal(plim_exec_open(ctx, device, &of_exec, 1, &graph, &now[PLIM_PROGRAM_TRAIN], &exec),
                 "plim_exec_options");
  of_trainer.struct_bytes--;
  expect_refusal(plim_trainer_open(device, dataset, program, &of_trainer, &trainer), "plim_trainer_options");
  of_replan.struct_bytes = 0;
  expect_refusal(plim_program_replan(program, now, &of_replan, 1 << 30, plan), "plim_replan_options");
  of_trainer = plim_trainer_options_default();
  of_trainer.replan = &of_replan;
  expect_refusal(plim_trainer_open(device, dataset, program, &of_trainer, &trainer), "plim_replan_options");
  of_online_plan.struct_bytes = 0;
  of_online_plan.planning.budget_bytes = 1 << 30;
  expect_refusal(plim_online_plan_make(ctx, graph, profile, &of_online_plan, NULL, &made), "plim_online_plan_options");
  expect_refusal(plim_online_plan_smallest(ctx, graph, profile, &of_online_plan, 1 << 30, &bytes),
                 "plim_online_plan_options");
  expect_refusal(plim_program_decide_last(program, &of_online_plan, NULL), "plim_online_plan_options");
}

/* With what the functions fill in alone, a run can begin. */
Test(options, as_they_are_filled_serve_a_run) {
  plim_trainer_options options = plim_trainer_options_default();
  plim_trainer *trainer = NULL;
  options.schedule = (plim_rate_schedule){.rate = 0.01f, .total_steps = 2};
  cr_assert_eq(plim_trainer_open(device, dataset, program, &options, &trainer), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_trainer_run(trainer, 2, NULL, NULL), PLIM_OK, "%s", plim_context_error(ctx));
  plim_trainer_close(trainer);
}
