/* Runs two trainers from the same start, step by step, and compares their states. The executor checks each plan alone;
 * only this shows that two plans give equal results. */
#include "runtime/train/verification.h"

#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/program/paging_links.h"
#include "runtime/train/rehearsal.h"
#include "runtime/train/state.h"
#include "runtime/train/trainer_internal.h"

/* ---- two states, value by value through their executors ---- */

/* Number of values of the state and the bytes of the largest. */
static int64_t state_count(const plim_graph *graph, int64_t *largest) {
  int64_t count = 0;
  *largest = 0;
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!plim_state_includes(graph, v)) continue;
    count++;
    if (graph->value[v].bytes > *largest) *largest = graph->value[v].bytes;
  }
  return count;
}

/* Two copies of one value. */
typedef struct copies {
  char *one, *other; /* [capacity] */
  int64_t capacity;
} copies;

static plim_status compare_value(const plim_trainer *a, const plim_trainer *b, int32_t value, const copies *copy,
                                 plim_state_difference *difference) {
  const plim_graph *graph = plim_state_graph(a), *other = plim_state_graph(b);
  const plim_value *v = &graph->value[value];
  int32_t match = plim_graph_find_value(other, v->name);
  if (match < 0 || !plim_state_includes(other, match) || other->value[match].bytes != v->bytes) {
    return plim_fail(graph->ctx, PLIM_EDATA, "%s (%lld bytes) of %s has no counterpart in %s", v->name,
                     (long long)v->bytes, graph->name, other->name);
  }
  PLIM_TRY(plim_exec_read(plim_trainer_exec(a), PLIM_PROGRAM_TRAIN, value, copy->one, v->bytes));
  PLIM_TRY(plim_exec_read(plim_trainer_exec(b), PLIM_PROGRAM_TRAIN, match, copy->other, v->bytes));
  difference->values++;
  difference->bytes += v->bytes;
  if (memcmp(copy->one, copy->other, (size_t)v->bytes) == 0) return PLIM_OK;
  if (difference->different++ == 0) {
    difference->name = v->name;
    while (copy->one[difference->first_byte] == copy->other[difference->first_byte]) difference->first_byte++;
  }
  return PLIM_OK;
}

plim_status plim_state_compare(const plim_trainer *a, const plim_trainer *b, plim_state_difference *out) {
  const plim_graph *graph = plim_state_graph(a);
  plim_context *ctx = graph->ctx;
  plim_state_difference d = {0};
  copies copy = {0};
  int64_t largest_b;
  plim_status status = PLIM_OK;
  int64_t count = state_count(graph, &copy.capacity), count_b = state_count(plim_state_graph(b), &largest_b);
  if (count != count_b) {
    return plim_fail(ctx, PLIM_EDATA, "%s has %lld values to compare, %s has %lld", graph->name, (long long)count,
                     plim_state_graph(b)->name, (long long)count_b);
  }
  PLIM_TRY_OR_DONE(plim_allocate(ctx, copy.capacity, 1, &copy.one));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, copy.capacity, 1, &copy.other));
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (plim_state_includes(graph, v)) PLIM_TRY_OR_DONE(compare_value(a, b, v, &copy, &d));
  }
  *out = d;
done:
  plim_release(ctx, copy.one, copy.capacity, 1);
  plim_release(ctx, copy.other, copy.capacity, 1);
  return status;
}

/* ---- a program within a budget beside an unlimited one ---- */

/* Options for keep-all with the numerics keys of a plan.
 *   numerics_key  [n_ops]  out  these keys, which the options borrow */
static plim_plan_options keep_all_as(const plim_plan *plan, const char **numerics_key) {
  plim_plan_options keep_all = plim_plan_options_default();
  plim_plan_numerics_keys(plan, numerics_key);
  keep_all.planner = "keep-all";
  keep_all.numerics = PLIM_NUMERICS_GIVEN;
  keep_all.numerics_key = numerics_key;
  return keep_all;
}

/* Leave each op of the profile the variant alone that its first run in the plan has. */
static plim_status take_variants(const plim_plan *plan, const plim_graph *graph, plim_profile **profile) {
  plim_profile *made = NULL;
  plim_variant *variant = NULL;
  int32_t *first = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(graph->ctx, graph->n_ops, sizeof *variant, &variant));
  PLIM_TRY_OR_DONE(plim_allocate(graph->ctx, (int64_t)graph->n_ops + 1, sizeof *first, &first));
  for (int32_t j = plan->n_commands - 1; j >= 0; j--) {
    const plim_command *c = &plan->command[j];
    if (c->kind == PLIM_COMMAND_RUN) variant[c->op] = plan->variant[c->variant].variant;
  }
  for (int32_t o = 0; o <= graph->n_ops; o++) first[o] = o;
  PLIM_TRY_OR_DONE(plim_profile_make(graph, &(*profile)->machine, (*profile)->measured, first, variant, &made));
  plim_profile_free(*profile);
  *profile = made;
done:
  plim_release(graph->ctx, variant, graph->n_ops, sizeof *variant);
  plim_release(graph->ctx, first, (int64_t)graph->n_ops + 1, sizeof *first);
  return status;
}

static plim_status plan_step(const plim_program *as, plim_program *program, int32_t step, plim_plan_order order) {
  const int64_t n_ops = as->graph[step]->n_ops;
  const char **numerics_key = NULL;
  PLIM_TRY(plim_allocate(as->ctx, n_ops, sizeof *numerics_key, &numerics_key));
  plim_plan_options keep_all = keep_all_as(as->plan[step], numerics_key);
  keep_all.order = order;
  plim_status status =
      step == PLIM_PROGRAM_LAST ? plim_program_plan_last(program, &keep_all) : plim_program_plan(program, &keep_all);
  plim_release(as->ctx, numerics_key, n_ops, sizeof *numerics_key);
  return status;
}

/* Rehearse the plans. *again 1: a variant was refused, and has left the profiles. */
static plim_status rehearse(plim_program *program, plim_device *device, int *again) {
  plim_refused_list refused;
  PLIM_TRY(plim_rehearsal_for_plans(program, device, &refused, again));
  return *again ? plim_rehearsal_drop(program, device, &refused) : PLIM_OK;
}

/* Does the plan run an op outside of the first arena? */
static int places(const plim_plan *plan) {
  for (int32_t j = 0; j < plan->n_commands; j++) {
    if (plan->command[j].kind == PLIM_COMMAND_RUN && plan->command[j].space > 0) return 1;
  }
  return 0;
}

/* Put each op of the training step on the device that it has in the other plan. The other steps have one device. No
 * link is measured: what copies take changes no result. */
static plim_status place_ops(const plim_program *as, plim_device *device, plim_program *program) {
  const plim_link_place place = {.modelled = 1};
  plim_paging devices = plim_paging_default();
  plim_plan *placed = NULL;
  if (!places(as->plan[PLIM_PROGRAM_TRAIN])) return PLIM_OK;
  PLIM_TRY(plim_paging_of_plan(device, &place, as->plan[PLIM_PROGRAM_TRAIN], &devices));
  PLIM_TRY(plim_plan_serial(program->ctx, program->graph[PLIM_PROGRAM_TRAIN], program->profile[PLIM_PROGRAM_TRAIN],
                            &devices, as->plan[PLIM_PROGRAM_TRAIN], &placed));
  return plim_program_adopt(program, placed);
}

/* as_planned  in  1: in program order, each op on the device of the plan */
static plim_status plan_unlimited(const plim_program *as, plim_device *device, int as_planned, plim_program *program) {
  const plim_plan_order order = as_planned ? PLIM_ORDER_FIXED : PLIM_ORDER_ANY;
  for (int again = 1; again;) {
    PLIM_TRY(plan_step(as, program, PLIM_PROGRAM_TRAIN, order));
    if (as_planned) PLIM_TRY(place_ops(as, device, program));
    if (as->plan[PLIM_PROGRAM_LAST]) PLIM_TRY(plan_step(as, program, PLIM_PROGRAM_LAST, order));
    PLIM_TRY(rehearse(program, device, &again));
  }
  return PLIM_OK;
}

/* as_planned  in  1: in program order, with the variants and devices of the plans */
static plim_status make_unlimited(const plim_program *program, plim_device *device, const plim_program_source *source,
                                  int as_planned, plim_program **out) {
  plim_program *made = NULL;
  PLIM_TRY(plim_program_make(device, source, &made));
  plim_status status = PLIM_OK;
  if (program->plan[PLIM_PROGRAM_LAST]) {
    status = plim_program_make_last(made, device, source, program->graph[PLIM_PROGRAM_LAST]->batch);
  }
  for (int32_t i = 0; as_planned && i < PLIM_PROGRAM_GRAPHS && status == PLIM_OK; i++) {
    if (i == PLIM_PROGRAM_EVAL || !program->plan[i]) continue;
    status = take_variants(program->plan[i], made->graph[i], &made->profile[i]);
  }
  if (status == PLIM_OK) status = plan_unlimited(program, device, as_planned, made);
  if (status != PLIM_OK) {
    plim_program_free(made);
    return status;
  }
  *out = made;
  return PLIM_OK;
}

plim_status plim_verify_make_unlimited(const plim_program *program, plim_device *device,
                                       const plim_program_source *source, plim_program **out) {
  return make_unlimited(program, device, source, 0, out);
}

plim_status plim_verify_make_reference(const plim_program *program, plim_device *device,
                                       const plim_program_source *source, plim_program **out) {
  return make_unlimited(program, device, source, 1, out);
}

int64_t plim_verify_steps_within(const plim_program *program, const plim_program *unlimited, double test_batches,
                                 double time_ns) {
  enum { RUNS = 2, WHOLE_TENS = 10, STEPS_MIN = 150 };
  const int64_t pair_ns = program->plan[PLIM_PROGRAM_TRAIN]->time_ns + unlimited->plan[PLIM_PROGRAM_TRAIN]->time_ns;
  const double left_ns = time_ns - RUNS * test_batches * (double)unlimited->plan[PLIM_PROGRAM_EVAL]->time_ns;
  const int64_t steps = left_ns > 0 ? plim_integers_from_real(left_ns / (double)pair_ns) / WHOLE_TENS * WHOLE_TENS : 0;
  return steps < STEPS_MIN ? STEPS_MIN : steps;
}

/* The options of the trainer, but with planned addresses and a fixed budget. */
static plim_status open_unlimited(const plim_trainer *trainer, plim_program *unlimited, plim_trainer **out) {
  const plim_trainer_options *as = plim_trainer_options_of(trainer);
  plim_trainer_options options = plim_trainer_options_default();
  options.seed = as->seed;
  options.schedule = as->schedule;
  options.augment = as->augment;
  plim_status status = plim_trainer_open(trainer->device, trainer->dataset, unlimited, &options, out);
  if (status != PLIM_ENOFIT) return status;
  return plim_fail(trainer->device->ctx, status,
                   "with everything kept, to compare with: %s; what cannot be compared here may still be trained",
                   plim_context_error(trainer->device->ctx));
}

plim_status plim_verify(plim_trainer *trainer, plim_program *unlimited, int64_t steps, plim_on_verify *on_step,
                        void *user, plim_state_difference *out) {
  plim_trainer *other = NULL;
  plim_status status = PLIM_OK;
  if (plim_trainer_steps(trainer) != 0) {
    return plim_fail(trainer->device->ctx, PLIM_EUSAGE,
                     "verification starts where training does, and the trainer is at step %lld",
                     (long long)plim_trainer_steps(trainer));
  }
  PLIM_TRY(open_unlimited(trainer, unlimited, &other));
  for (int64_t i = 0; i < steps; i++) {
    if (on_step) on_step(user, i, steps);
    PLIM_TRY_OR_DONE(plim_trainer_run(trainer, 1, NULL, NULL));
    PLIM_TRY_OR_DONE(plim_trainer_run(other, 1, NULL, NULL));
  }
  status = plim_state_compare(trainer, other, out);
done:
  plim_trainer_close(other);
  return status;
}
