/* runtime/train/preparation: plans for every step within a budget, for budgets that are foreseen, within the memory of
 * a whole GPU (the fake one), and without the variants that the device refuses. */
#include "runtime/program/program_source.h"
#include "runtime/train/preparation.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device_cuda.h"
#include "runtime/device/vram.h"
#include "tests/support/device_under_test.h"
#include "tests/support/failing_memory.h"
#include "tests/support/folder.h"
#include "tests/support/gpu_rig.h"
#include "tests/support/test_context.h"

enum { MIB = 1 << 20, CONTEXT = 40 * MIB, MODULES = 7 * MIB, GRAPH = 3 * MIB, BATCH = 8, LAST = 3, SIDE = 16 };

static plim_status make_net(void *user, const plim_net_options *net, plim_net **out) {
  return plim_model_make(user, "resnet20", net, out);
}

static plim_program *program_on(plim_device *device, int32_t last) {
  plim_program_source source = plim_program_source_default();
  plim_program *program = NULL;
  source.make = make_net;
  source.user = device->ctx;
  source.net.batch = BATCH;
  source.net.height = source.net.width = SIDE;
  plim_dataset_pixels("synthetic", source.net.pixel_scale, source.net.pixel_shift);
  cr_assert_eq(plim_program_make(device, &source, &program), PLIM_OK, "%s", plim_context_error(device->ctx));
  if (last) cr_assert_eq(plim_program_make_last(program, device, &source, last), PLIM_OK);
  return program;
}

/* A program with modelled costs on the CPU, begun. */
typedef struct rig {
  plim_context *ctx;
  plim_device *device;
  plim_program *program;
  plim_preparation p;
  plim_preparation_options options; /* within three quarters of the keep-all bytes */
} rig;

static rig rig_open(int32_t last) {
  rig r = {.ctx = plim_test_context(), .options = plim_preparation_options_default()};
  r.device = plim_test_device(r.ctx, 1);
  r.program = program_on(r.device, last);
  cr_assert_eq(plim_preparation_begin(r.device, r.program, &r.p), PLIM_OK, "%s", plim_context_error(r.ctx));
  r.options.planning.iterations = 2000;
  r.options.planning.budget_bytes = r.p.keep_all->arena_bytes / 4 * 3;
  return r;
}

static void rig_close(rig *r) {
  plim_preparation_end(&r->p);
  plim_preparation_end(&r->p);
  plim_program_free(r->program);
  plim_device_close(r->device);
  plim_test_context_end(r->ctx);
}

static void ok(rig *r) {
  cr_assert_eq(plim_preparation_run(&r->p, &r->options), PLIM_OK, "%s", plim_context_error(r->ctx));
}

static void fails(rig *r, plim_status status, plim_preparation_stage stage, const char *words) {
  cr_assert_eq(plim_preparation_run(&r->p, &r->options), status, "%s", plim_context_error(r->ctx));
  cr_assert_eq(r->p.stage, stage, "stage %d", (int)r->p.stage);
  cr_assert_not_null(strstr(plim_context_error(r->ctx), words), "%s", plim_context_error(r->ctx));
}

Test(preparation, every_step_has_a_plan_within_the_budget_and_the_last_batch_one_in_the_same_arena) {
  rig r = rig_open(LAST);
  ok(&r);
  for (int i = 0; i < PLIM_PROGRAM_GRAPHS; i++) cr_assert_not_null(r.program->plan[i]);
  cr_assert_leq(plim_program_arena_bytes(r.program), r.options.planning.budget_bytes);
  cr_assert_leq(r.program->plan[PLIM_PROGRAM_LAST]->arena_bytes, r.program->plan[PLIM_PROGRAM_TRAIN]->arena_bytes);
  cr_assert_not_null(r.p.last.config.policy);
  cr_assert_gt(plim_plan_overhead_percent(r.program->plan[PLIM_PROGRAM_TRAIN]), 0);
  cr_assert_gt(r.p.keep_all->arena_bytes, r.program->plan[PLIM_PROGRAM_TRAIN]->arena_bytes);
  rig_close(&r);
}

Test(preparation, a_budget_without_a_plan_is_a_failure_of_the_plan) {
  rig r = rig_open(0);
  r.options.planning.budget_bytes = PLIM_ALIGN;
  fails(&r, PLIM_ENOFIT, PLIM_PREPARE_PLAN, "found no plan");
  cr_assert_eq(r.p.planning.budget_bytes, PLIM_ALIGN);
  rig_close(&r);
}

Test(preparation, a_policy_decides_the_step_and_without_a_budget_has_that_of_keep_all) {
  rig r = rig_open(0);
  r.options.policy = plim_policy_find("dtr");
  r.options.thrash = 4;
  ok(&r);
  cr_assert_str_eq(r.program->plan[PLIM_PROGRAM_TRAIN]->planner, "online dtr");
  cr_assert_leq(plim_program_arena_bytes(r.program), r.options.planning.budget_bytes);
  cr_assert_gt(r.p.replay.evictions, 0);
  cr_assert_eq(r.p.replan.policy, r.options.policy);
  r.options.planning.budget_bytes = INT64_MAX;
  ok(&r);
  cr_assert_eq(r.program->plan[PLIM_PROGRAM_TRAIN]->budget_bytes, r.p.keep_all->arena_bytes);
  r.options.planning.budget_bytes = PLIM_ALIGN;
  fails(&r, PLIM_ENOFIT, PLIM_PREPARE_POLICY, "no room");
  rig_close(&r);
}

Test(preparation, the_arena_decides_addresses_where_it_is_asked_to) {
  rig r = rig_open(0);
  r.options.replay = 1;
  ok(&r);
  cr_assert_gt(r.p.replay.n_commands, 0);
  cr_assert_geq(r.p.room_bytes, 0);
  cr_assert_leq(plim_program_arena_bytes(r.program), r.options.planning.budget_bytes);
  rig_close(&r);
}

Test(preparation, a_plan_that_was_made_before_is_taken_as_it_is) {
  char first[PLIM_FINGERPRINT_BYTES], second[PLIM_FINGERPRINT_BYTES];
  rig r = rig_open(0);
  (void)plim_test_folder();
  ok(&r);
  const plim_plan *plan = r.program->plan[PLIM_PROGRAM_TRAIN];
  cr_assert_eq(plim_plan_fingerprint(plan, first), PLIM_OK);
  cr_assert_eq(plim_plan_save(plan, plim_test_path("p.json")), PLIM_OK);
  r.options.plan = plim_test_path("p.json");
  r.options.planning.budget_bytes = plan->arena_bytes;
  ok(&r);
  cr_assert_eq(plim_plan_fingerprint(r.program->plan[PLIM_PROGRAM_TRAIN], second), PLIM_OK);
  cr_assert_str_eq(first, second);
  r.options.planning.budget_bytes = PLIM_ALIGN;
  fails(&r, PLIM_ENOFIT, PLIM_PREPARE_PLAN, "p.json needs");
  r.options.policy = plim_policy_at(0);
  fails(&r, PLIM_EUSAGE, PLIM_PREPARE_PLAN, "not both");
  plim_test_folder_remove();
  rig_close(&r);
}

Test(preparation, a_foreseen_budget_that_does_not_fit_is_refused_before_anything_runs) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  rig r = rig_open(0);
  plim_budget_change limit[] = {{2, r.options.planning.budget_bytes / 8 * 7}, {5, PLIM_ALIGN}};
  r.options.budget_change = limit;
  r.options.n_budget_changes = 1;
  ok(&r);
  r.options.n_budget_changes = 2;
  fails(&r, PLIM_ENOFIT, PLIM_PREPARE_FORESEEN, "no plan");
  cr_assert_eq(r.p.failed_change, 1);
  limit[1].bytes = INT64_MAX; /* a budget that grows beyond the arena needs no larger plan */
  ok(&r);
  rig_close(&r);
}

/* The plan front gives the run the plan that was made ahead: none is searched between two steps. */
Test(preparation, a_run_finds_the_plans_that_were_made_ahead) {
  rig r = rig_open(0);
  (void)plim_test_folder();
  plim_budget_change limit = {2, r.options.planning.budget_bytes / 8 * 7};
  plim_plan *plan[PLIM_PROGRAM_GRAPHS] = {NULL};
  const plim_plan *now[PLIM_PROGRAM_GRAPHS] = {NULL};
  r.options.planning.front_folder = plim_test_path(".");
  r.options.budget_change = &limit;
  r.options.n_budget_changes = 1;
  ok(&r);
  for (int i = 0; i < r.program->n_graphs; i++) now[i] = r.program->plan[i];
  plim_plan_result ahead;
  const plim_graph *graph = r.program->graph[PLIM_PROGRAM_TRAIN];
  const char **numerics_key = calloc((size_t)graph->n_ops, sizeof *numerics_key);
  plim_plan_options wanted = r.p.replan.planning;
  plim_plan_numerics_keys(now[PLIM_PROGRAM_TRAIN], numerics_key);
  wanted.numerics = PLIM_NUMERICS_GIVEN;
  wanted.numerics_key = numerics_key;
  wanted.budget_bytes = limit.bytes;
  cr_assert_eq(plim_plan_search(graph->ctx, graph, r.program->profile[PLIM_PROGRAM_TRAIN], &wanted, &ahead), PLIM_OK);
  cr_assert_eq(ahead.from_front, 1);
  cr_assert_eq(plim_program_replan(r.program, now, &r.p.replan, limit.bytes, plan), PLIM_OK);
  cr_assert_eq(ahead.plan->time_ns, plan[PLIM_PROGRAM_TRAIN]->time_ns);
  plim_plan_free(ahead.plan);
  free(numerics_key);
  cr_assert_eq(plim_plan_numerics_differ(plan[PLIM_PROGRAM_TRAIN], now[PLIM_PROGRAM_TRAIN]), 0);
  for (int i = 0; i < PLIM_PROGRAM_GRAPHS; i++) plim_plan_free(plan[i]);
  plim_test_folder_remove();
  rig_close(&r);
}

/* Which one is faster the clock of this machine decides: the program has the one that the figures name. */
Test(preparation, a_plan_that_pages_runs_beside_one_that_does_not_and_the_faster_stays) {
  rig r = rig_open(LAST);
  plim_dataset_options images = plim_dataset_options_default();
  plim_dataset *data = NULL;
  images.height = images.width = SIDE;
  images.train_count = 2 * BATCH + LAST;
  images.test_count = BATCH;
  cr_assert_eq(plim_dataset_load(r.ctx, "synthetic", &images, &data), PLIM_OK);
  plim_paging paging = {.struct_bytes = sizeof(plim_paging),
                        .space = "host",
                        .budget_bytes = 1 << 28,
                        .latency_ns = {1, 1},
                        .bytes_per_ns = {1000, 1000},
                        .recompute = 1,
                        .homes = PLIM_HOMES_NEVER};
  plim_trainer_options training = plim_trainer_options_default();
  r.options.planning.paging = &paging;
  ok(&r);
  cr_assert_gt(r.program->plan[PLIM_PROGRAM_TRAIN]->n_page_spaces, 0);
  cr_assert_eq(r.p.trial.paged_ns, 0);
  r.options.trial_steps = 2;
  fails(&r, PLIM_EUSAGE, PLIM_PREPARE_FORESEEN, "a data set");
  r.options.dataset = data;
  r.options.training = &training;
  ok(&r);
  cr_assert_gt(r.p.trial.paged_ns, 0);
  cr_assert_gt(r.p.trial.unpaged_ns, 0);
  cr_assert_eq(r.program->plan[PLIM_PROGRAM_TRAIN]->n_page_spaces > 0, r.p.trial.paged_ns <= r.p.trial.unpaged_ns);
  cr_assert_not_null(r.program->plan[PLIM_PROGRAM_LAST]);
  plim_dataset_free(data);
  rig_close(&r);
}

Test(preparation, options_that_make_no_sense_are_refused) {
  rig r = rig_open(0);
  r.options.vram_bytes = 64 * MIB;
  fails(&r, PLIM_EUSAGE, PLIM_PREPARE_OUTSIDE, "to warm up with");
  r.options.struct_bytes--;
  fails(&r, PLIM_EUSAGE, PLIM_PREPARE_OUTSIDE, "plim_preparation_options");
  rig_close(&r);
}

/* ---- a GPU ---- */

static gpu_rig gpu_open(const fake_cuda_options *options, plim_preparation *p) {
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, options, 0));
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  gpu_rig_ok(&r, plim_preparation_begin(r.device, r.program, p));
  return r;
}

static fake_cuda_options gpu(void) {
  fake_cuda_options options = fake_cuda_options_default();
  options.context_bytes = CONTEXT;
  options.module_bytes = MODULES;
  options.graph_bytes = GRAPH;
  return options;
}

Test(preparation, within_a_whole_gpu_the_arena_gets_what_is_left_once_everything_is_loaded) {
  const fake_cuda_options options = gpu();
  plim_trainer_options training = gpu_rig_training();
  plim_preparation_options wanted = plim_preparation_options_default();
  plim_preparation p;
  plim_cuda_memory now;
  gpu_rig r = gpu_open(&options, &p);
  gpu_rig_ok(&r, gpu_rig_planning(&r, 90, &wanted.planning));
  const int64_t asked = wanted.planning.budget_bytes;
  wanted.planning.budget_bytes = INT64_MAX;
  wanted.vram_bytes = 64 * MIB;
  wanted.dataset = r.dataset;
  wanted.training = &training;
  gpu_rig_ok(&r, plim_preparation_run(&p, &wanted));
  cr_assert_eq(p.planning.budget_bytes, 10 * MIB); /* of 64: less context, modules and two captured steps */
  gpu_rig_ok(&r, plim_trainer_open(r.device, r.dataset, r.program, &training, &r.trainer));
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 4, NULL, NULL));
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &now));
  cr_assert_eq(now.outside_bytes, now.settled_bytes);
  gpu_rig_ok(&r, plim_vram_check(r.device, wanted.vram_bytes, plim_program_arena_bytes(r.program)));
  plim_trainer_close(r.trainer);
  r.trainer = NULL;
  /* a budget of the arena below that stays */
  wanted.planning.budget_bytes = asked;
  gpu_rig_ok(&r, plim_preparation_run(&p, &wanted));
  cr_assert_eq(p.planning.budget_bytes, asked);
  /* and what is left is refused where nothing fits */
  wanted.vram_bytes = CONTEXT + MIB;
  cr_assert_eq(plim_preparation_run(&p, &wanted), PLIM_ENOFIT);
  cr_assert_eq(p.stage, PLIM_PREPARE_OUTSIDE);
  plim_preparation_end(&p);
  gpu_rig_close(&r);
}

Test(preparation, a_budget_of_a_gpu_is_refused_on_a_device_that_is_none) {
  plim_trainer_options training = gpu_rig_training();
  plim_preparation_options wanted = plim_preparation_options_default();
  plim_preparation p;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open_cpu(&r));
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  gpu_rig_ok(&r, plim_preparation_begin(r.device, r.program, &p));
  wanted.vram_bytes = 64 * MIB;
  wanted.dataset = r.dataset;
  wanted.training = &training;
  cr_assert_eq(plim_preparation_run(&p, &wanted), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "this device is cpu"));
  plim_preparation_end(&p);
  gpu_rig_close(&r);
}

/* Engine 40 passes the profile, and refuses to run. */
Test(preparation, a_refused_variant_is_planned_around_unless_its_numerics_are_asked_for) {
  fake_cuda_options options = gpu();
  plim_preparation_options wanted = plim_preparation_options_default();
  plim_preparation p;
  options.blas = options.dnn = 1;
  options.refuse_run = 40;
  gpu_rig r = gpu_open(&options, &p);
  const char *numerics_key[64] = {NULL};
  plim_plan *asked = NULL;
  r.family = "cudnn-e40-";
  gpu_rig_ok(&r, gpu_rig_planning(&r, 100, &wanted.planning));
  gpu_rig_ok(&r, plim_plan_keep_all(r.ctx, r.program->graph[PLIM_PROGRAM_TRAIN], r.program->profile[PLIM_PROGRAM_TRAIN],
                                    &wanted.planning, &asked));
  plim_plan_numerics_keys(asked, numerics_key); /* the profiles change */
  wanted.planning.numerics_key = numerics_key;
  plim_status refused = plim_preparation_run(&p, &wanted);
  cr_assert_eq(refused, PLIM_EDEVICE, "%d: %s", (int)refused, plim_context_error(r.ctx));
  cr_assert_eq(p.stage, PLIM_PREPARE_REHEARSAL);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "no other has the numerics that are asked for"), "%s",
                     plim_context_error(r.ctx));
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "engine 40 refuses to run"), "%s", plim_context_error(r.ctx));
  cr_assert_eq(r.program->profile[PLIM_PROGRAM_TRAIN]->n_dropped, 2);
  wanted.planning.numerics = PLIM_NUMERICS_AUTO;
  gpu_rig_ok(&r, plim_preparation_run(&p, &wanted));
  plim_plan_free(asked);
  plim_preparation_end(&p);
  gpu_rig_close(&r);
}

/* ---- memory ---- */

static plim_status prepare_once(plim_context *ctx, void *user) {
  plim_preparation_options options = plim_preparation_options_default();
  plim_device_options one = {.struct_bytes = sizeof one, .threads = 1};
  plim_program_source source = plim_program_source_default();
  plim_preparation p = {.device = NULL};
  plim_device *device = NULL;
  plim_program *program = NULL;
  (void)user;
  source.make = make_net;
  source.user = ctx;
  source.net.batch = 1;
  source.net.height = source.net.width = SIDE;
  options.planning.planner = "keep-all";
  plim_status status = plim_device_open(ctx, "cpu", &one, &device);
  if (status == PLIM_OK) status = plim_program_make(device, &source, &program);
  if (status == PLIM_OK) status = plim_preparation_begin(device, program, &p);
  if (status == PLIM_OK) status = plim_preparation_run(&p, &options);
  plim_preparation_end(&p);
  plim_program_free(program);
  plim_device_close(device);
  return status;
}

Test(preparation, a_refused_allocation_is_a_failure_that_leaves_nothing) {
  plim_failing_memory memory = {.refuse_at = 0};
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(plim_failing_resize, &memory, &ctx), PLIM_OK);
  cr_assert_eq(prepare_once(ctx, NULL), PLIM_OK, "%s", plim_context_error(ctx));
  plim_test_context_end(ctx);
  const int64_t requests = memory.requests;
  cr_assert_gt(requests, 100);
  for (int64_t i = 1; i <= requests; i += 1 + requests / 60) { /* every one takes too long */
    plim_failing_memory failing = {.refuse_at = i};
    if (plim_context_new(plim_failing_resize, &failing, &ctx) != PLIM_OK) continue;
    cr_assert_eq(prepare_once(ctx, NULL), PLIM_ENOMEM, "request %lld", (long long)i);
    plim_test_context_end(ctx);
  }
}

/* ---- a net for a data set ---- */

Test(preparation, a_net_has_the_size_and_the_pixels_of_its_data_set_or_the_usual_ones_of_its_model) {
  static const int32_t image[] = {9, 8, 2};
  plim_context *ctx = plim_test_context();
  plim_net_options net, pixels = {.batch = 0};
  cr_assert_eq(plim_preparation_net_options(ctx, "resnet20", "fashion-mnist", NULL, &net), PLIM_OK);
  cr_assert(net.height == 28 && net.width == 28 && net.channels == 1);
  plim_dataset_pixels("fashion-mnist", pixels.pixel_scale, pixels.pixel_shift);
  cr_assert_eq(net.pixel_scale[0], pixels.pixel_scale[0]);
  cr_assert_eq(net.pixel_shift[0], pixels.pixel_shift[0]);
  cr_assert_eq(plim_preparation_net_options(ctx, "gpt", "text:none", NULL, &net), PLIM_OK);
  cr_assert(net.context == 256 && net.classes == 256);
  cr_assert_eq(plim_preparation_net_options(ctx, "gpt", "synthetic", NULL, &net), PLIM_EUSAGE);
  cr_assert_eq(plim_preparation_net_options(ctx, "mlp", "text:none", NULL, &net), PLIM_EUSAGE);
  cr_assert_eq(plim_preparation_net_options(ctx, "mlp", "synthetic", NULL, &net), PLIM_OK);
  cr_assert(net.height == 28 && net.width == 28 && net.channels == 1);
  cr_assert_eq(plim_preparation_net_options(ctx, "resnet50", "synthetic", NULL, &net), PLIM_OK);
  cr_assert(net.height == 224 && net.width == 224 && net.channels == 3);
  cr_assert_eq(plim_preparation_net_options(ctx, NULL, "synthetic", NULL, &net), PLIM_OK);
  cr_assert(net.height == 32 && net.width == 32 && net.channels == 3 && net.classes == 10);
  cr_assert_eq(plim_preparation_net_options(ctx, NULL, "synthetic", image, &net), PLIM_OK);
  cr_assert(net.height == 9 && net.width == 8 && net.channels == 2);
  net.height = -7;
  cr_assert_eq(plim_preparation_net_options(ctx, NULL, "cifar10", image, &net), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "whose images are 32x32x3"), "%s", plim_context_error(ctx));
  cr_assert_eq(plim_preparation_net_options(ctx, NULL, "cifar", NULL, &net), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "cifar10"), "%s", plim_context_error(ctx));
  cr_assert_eq(net.height, -7, "a failure wrote its output");
  plim_test_context_end(ctx);
}
