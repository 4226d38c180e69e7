/* Variants that the device refuses after the profile, over the fake GPU: found before the first step, they
 * leave the program, and the others train. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/train/rehearsal.h"
#include "runtime/train/trial.h"
#include "tests/support/fake_cudnn.h"
#include "tests/support/gpu_rig.h"

static fake_cuda_options gpu(void) {
  fake_cuda_options options = fake_cuda_options_default();
  options.blas = options.dnn = 1;
  return options;
}

/* Plans whose convolutions are engine 40's where the profile has it, of modelled costs: nothing has been run. */
static void plan(gpu_rig *r) {
  plim_plan_options planning;
  r->family = "cudnn-e40-";
  gpu_rig_ok(r, gpu_rig_planning(r, 100, &planning));
  gpu_rig_ok(r, plim_program_plan(r->program, &planning));
}

static void train(gpu_rig *r, int64_t steps) {
  plim_trainer_options training = gpu_rig_training();
  gpu_rig_ok(r, plim_trainer_open(r->device, r->dataset, r->program, &training, &r->trainer));
  gpu_rig_ok(r, plim_trainer_run(r->trainer, steps, NULL, NULL));
}

static int engines(const plim_plan *p) {
  int n = 0;
  for (int32_t i = 0; i < p->n_variants; i++) n += strncmp(p->variant[i].variant.name, "cudnn-", 6) == 0;
  return n;
}

/* Row of a table: an engine that is refused, and words of the note. */
static const struct {
  size_t option; /* of the engine's index */
  const char *words;
} refusals[] = {
    {offsetof(fake_cuda_options, refuse_plan), "cuDNN status 3000: engine 40 refuses to be planned"},
    {offsetof(fake_cuda_options, refuse_run), "cuDNN status 3008: engine 40 refuses to run"},
    {offsetof(fake_cuda_options, refuse_capture), "cuDNN status 5003: engine 40 allocates, which a capture forbids"},
};

Test(rehearsal, a_variant_that_is_refused_after_the_profile_leaves_it_and_the_others_train) {
  gpu_rig cpu;
  gpu_rig_ok(&cpu, gpu_rig_open_cpu(&cpu));
  gpu_rig_ok(&cpu, gpu_rig_train(&cpu, 100, 4));
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    fake_cuda_options options = gpu();
    plim_refused_list refused;
    gpu_rig r;
    *(int64_t *)((char *)&options + refusals[i].option) = 40;
    gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
    gpu_rig_ok(&r, gpu_rig_prepare(&r));
    plan(&r);
    cr_assert_eq(engines(r.program->plan[PLIM_PROGRAM_TRAIN]), 2);
    const plim_status status = plim_rehearsal_run(r.program, r.device, &refused);
    cr_assert(status == PLIM_EDEVICE || status == PLIM_EUNSUPPORTED);
    cr_assert_eq(refused.n, 2, "%d", refused.n); /* forward and the gradient of weights, each told once */
    cr_assert_not_null(strstr(refused.row[1].why, refusals[i].words), "%s", refused.row[1].why);
    gpu_rig_ok(&r, plim_rehearsal_drop(r.program, r.device, &refused));
    const plim_profile *profile = r.program->profile[PLIM_PROGRAM_TRAIN];
    cr_assert_eq(profile->n_dropped, 2);
    cr_assert_not_null(strstr(profile->dropped[0].why, refusals[i].words), "%s", profile->dropped[0].why);
    plan(&r);
    cr_assert_eq(engines(r.program->plan[PLIM_PROGRAM_TRAIN]), 0);
    cr_assert_eq(engines(r.program->plan[PLIM_PROGRAM_EVAL]), 0);
    gpu_rig_ok(&r, plim_rehearsal_run(r.program, r.device, &refused));
    train(&r, 4);
    gpu_rig_same(&cpu, &r); /* nothing of the refused variants is left in the weights */
    cr_assert_str_eq(fake_cudnn_misuse(), "");
    gpu_rig_close(&r);
    cr_assert_eq(fake_cuda_count().open_handles, 0);
  }
  gpu_rig_close(&cpu);
}

Test(rehearsal, a_trainer_over_a_refused_variant_is_not_opened_and_says_which) {
  fake_cuda_options options = gpu();
  plim_trainer_options training = gpu_rig_training();
  plim_refused_list refused;
  gpu_rig r;
  options.refuse_run = 40;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  plan(&r);
  training.exec.refused = &refused;
  cr_assert_eq(plim_trainer_open(r.device, r.dataset, r.program, &training, &r.trainer), PLIM_EDEVICE);
  cr_assert_null(r.trainer);
  cr_assert_eq(refused.n, 2);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "op \"conv\", variant \"cudnn-e40-"), "%s",
                     plim_context_error(r.ctx));
  gpu_rig_close(&r);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

Test(rehearsal, an_engine_that_only_a_capture_forbids_serves_queued_steps) {
  fake_cuda_options options = gpu();
  plim_refused_list refused;
  gpu_rig r;
  options.refuse_capture = 40;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 1));
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  plan(&r);
  gpu_rig_ok(&r, plim_rehearsal_run(r.program, r.device, &refused));
  train(&r, 3);
  gpu_rig_close(&r);
}

Test(rehearsal, an_illegal_address_is_no_variant_s_failure_and_stays) {
  fake_cuda_options options = gpu();
  plim_refused_list refused;
  gpu_rig r;
  options.illegal_engine = 40;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  plan(&r);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(plim_rehearsal_run(r.program, r.device, &refused), PLIM_EDEVICE);
    cr_assert_eq(refused.n, 0);
    cr_assert_not_null(strstr(plim_context_error(r.ctx), "an illegal memory access was encountered (CUDA error 700)"),
                       "%s", plim_context_error(r.ctx));
  }
  gpu_rig_close(&r);
}

/* Row of a table: what the device does with engine 40, which only the other plan of a trial uses. */
static const struct {
  size_t option; /* of the engine's index */
  plim_status trial;
} other_ends[] = {
    {offsetof(fake_cuda_options, refuse_run), PLIM_OK},
    {offsetof(fake_cuda_options, illegal_engine), PLIM_EDEVICE},
};

Test(rehearsal, a_trial_whose_other_plan_is_refused_keeps_the_first_but_a_device_that_fails_ends_it) {
  for (size_t i = 0; i < sizeof other_ends / sizeof *other_ends; i++) {
    fake_cuda_options options = gpu();
    plim_paging paging = {.struct_bytes = sizeof paging, .space = "host"};
    plim_plan_options planning, first;
    plim_trainer_options training = gpu_rig_training();
    plim_trial trial = {-1, -1};
    gpu_rig r;
    *(int64_t *)((char *)&options + other_ends[i].option) = 40;
    gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
    gpu_rig_ok(&r, gpu_rig_prepare(&r));
    gpu_rig_ok(&r, gpu_rig_planning(&r, 100, &first));
    gpu_rig_ok(&r, plim_program_plan(r.program, &first));
    const plim_plan *before = r.program->plan[PLIM_PROGRAM_TRAIN];
    cr_assert_eq(engines(before), 0);
    r.family = "cudnn-e40-";
    gpu_rig_ok(&r, gpu_rig_planning(&r, 100, &planning));
    planning.paging = &paging;
    cr_expect_eq(plim_trial_run(r.device, r.dataset, r.program, &planning, &training, 1, &trial), other_ends[i].trial);
    cr_expect(r.program->plan[PLIM_PROGRAM_TRAIN] == before);
    cr_expect_eq(trial.unpaged_ns, -1, "untouched");
    gpu_rig_close(&r);
  }
}

/* Two trainers over one device: the second's plans use engine 40, which is refused once they take over. */
Test(rehearsal, plans_that_would_take_over_in_a_run_are_rehearsed_and_refused_ones_leave_it_as_it_was) {
  fake_cuda_options options = gpu();
  gpu_rig cpu, r;
  gpu_rig_ok(&cpu, gpu_rig_open_cpu(&cpu));
  gpu_rig_ok(&cpu, gpu_rig_train(&cpu, 100, 6));
  options.refuse_run = 40;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_train(&r, 100, 3));
  plim_plan *others[PLIM_PROGRAM_LAST];
  plim_plan_options planning;
  plim_exec *exec = plim_trainer_exec(r.trainer);
  r.family = "cudnn-e40-";
  gpu_rig_ok(&r, gpu_rig_planning(&r, 100, &planning));
  for (int i = 0; i < PLIM_PROGRAM_LAST; i++) {
    plim_plan_options wanted = i == PLIM_PROGRAM_EVAL ? plim_program_eval_options(&planning) : planning;
    gpu_rig_ok(&r, plim_plan_make(r.ctx, r.program->graph[i], r.program->profile[i], &wanted, &others[i]));
  }
  cr_assert_gt(engines(others[0]) + engines(others[1]), 0);
  const int64_t bytes = plim_exec_first_bytes(exec);
  cr_assert_eq(plim_exec_replace(exec, (const plim_plan *const *)others, bytes), PLIM_EDEVICE, "%s",
               plim_context_error(r.ctx));
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "engine 40 refuses to run"), "%s", plim_context_error(r.ctx));
  cr_assert_eq(plim_trainer_options_of(r.trainer)->exec.refused->n, 2);
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 3, NULL, NULL));
  gpu_rig_same(&cpu, &r);
  for (int i = 0; i < PLIM_PROGRAM_LAST; i++) plim_plan_free(others[i]);
  gpu_rig_close(&r);
  gpu_rig_close(&cpu);
}

/* ---- plans that are made anew in a run ---- */

/* Row of a table: what has plans made anew, and whether the next ones are taken at once. */
typedef struct anew {
  int32_t limit_percent; /* of the arena; 0: no other budget */
  int32_t retime_steps;
} anew;
static const anew anews[] = {{90, 0}, {0, 2}};

typedef struct reports {
  int limits, retimes, taken;
  plim_budget_report limit;
} reports;

static void on_limit(void *user, const plim_budget_report *report) {
  reports *r = user;
  r->limits++;
  r->limit = *report;
}

static void on_retime(void *user, const plim_retime_report *report) {
  reports *r = user;
  r->retimes++;
  r->taken = report->taken;
}

/* The evaluation of all ops by our own kernels: engine 40 comes only with plans that are made anew. */
static void plan_without_engines(gpu_rig *r, plim_plan_options *planning) {
  const char *numerics_key[64];
  const plim_graph *graph = r->program->graph[PLIM_PROGRAM_EVAL];
  gpu_rig_ok(r, gpu_rig_planning(r, 97, planning));
  planning->planner = "greedy"; /* which the search that follows improves on */
  gpu_rig_ok(r, plim_program_plan(r->program, planning));
  plim_plan_options eval = plim_program_eval_options(planning);
  for (int32_t i = 0; i < graph->n_ops; i++) numerics_key[i] = "single-source";
  eval.numerics = PLIM_NUMERICS_GIVEN;
  eval.numerics_key = numerics_key;
  plim_plan **plan = &r->program->plan[PLIM_PROGRAM_EVAL];
  cr_assert_gt(engines(*plan), 0);
  plim_plan_free(*plan);
  *plan = NULL;
  gpu_rig_ok(r, plim_plan_make(r->ctx, graph, r->program->profile[PLIM_PROGRAM_EVAL], &eval, plan));
  planning->planner = NULL;
}

static void train_anew(gpu_rig *r, const anew *how, reports *told) {
  plim_plan_options planning;
  r->flat = 1; /* where engine 40 needs the least workspace */
  gpu_rig_ok(r, gpu_rig_prepare(r));
  plan_without_engines(r, &planning);
  plim_replan_options replan = plim_replan_options_default();
  replan.planning = planning;
  const int64_t arena_bytes = plim_program_arena_bytes(r->program);
  const plim_budget_change limit = {2, arena_bytes * how->limit_percent / 100};
  plim_trainer_options training = gpu_rig_training();
  training.replan = &replan;
  training.budget_change = &limit;
  training.n_budget_changes = how->limit_percent > 0;
  training.on_budget_change = on_limit;
  training.retime_steps = how->retime_steps;
  training.on_retime = on_retime;
  training.on_budget_change_user = training.on_retime_user = told;
  gpu_rig_ok(r, plim_trainer_open(r->device, r->dataset, r->program, &training, &r->trainer));
  gpu_rig_ok(r, plim_trainer_run(r->trainer, 8, NULL, NULL));
}

Test(rehearsal, a_variant_that_comes_with_another_budget_or_with_times_and_is_refused_ends_no_run) {
  gpu_rig cpu;
  gpu_rig_ok(&cpu, gpu_rig_open_cpu(&cpu));
  cpu.flat = 1;
  gpu_rig_ok(&cpu, gpu_rig_train(&cpu, 100, 8));
  for (size_t i = 0; i < 2 * sizeof anews / sizeof *anews; i++) {
    const anew *how = &anews[i / 2];
    const int refused = i % 2;
    fake_cuda_options options = gpu();
    plim_evaluation evaluation;
    reports told = {0};
    gpu_rig r;
    options.refuse_run = refused ? 40 : 0;
    gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
    train_anew(&r, how, &told);
    cr_assert_eq(told.limits, how->limit_percent > 0);
    cr_assert_eq(told.retimes, how->retime_steps > 0);
    cr_assert_eq(told.limit.status, PLIM_OK);
    cr_assert_leq(told.limit.arena_after, told.limit.wanted_bytes, "plans without the refused variant were taken");
    cr_assert_eq(told.taken, how->retime_steps > 0 && !refused, "row %d", (int)i);
    cr_assert_eq(r.program->profile[PLIM_PROGRAM_EVAL]->n_dropped, refused);
    gpu_rig_ok(&r, plim_trainer_evaluate(r.trainer, &evaluation));
    gpu_rig_same(&cpu, &r);
    cr_assert_str_eq(fake_cudnn_misuse(), "");
    gpu_rig_close(&r);
    cr_assert_eq(fake_cuda_count().open_handles, 0);
  }
  gpu_rig_close(&cpu);
}
