/* What the host exchanges with a step: the next batch, which the reader prepares while the device computes, and a few
 * numbers.
 *
 * Where the host sees the arena, the plan has a place for the staged batch in it, and the reader writes there. A copy
 * is complete there when its call returns, so one place serves. Elsewhere two places in pinned memory alternate: the
 * reader fills one while the device may still copy from the other. */
#include "runtime/train/trainer_internal.h"

/* ---- open and close ---- */

/* Allocate host memory that copies to and from the device use. */
static plim_status pin_bytes(plim_trainer *trainer, int64_t bytes, void **out) {
  plim_staging *staging = &trainer->staging;
  PLIM_TRY(trainer->device->api->memory.alloc_pinned(trainer->device, bytes, &staging->pinned[staging->n_pinned]));
  *out = staging->pinned[staging->n_pinned++];
  return PLIM_OK;
}

/* Where the plans that run now have the staged batch; NULL where the host does not see it. */
static plim_staging_place planned_place(const plim_trainer *trainer) {
  return (plim_staging_place){plim_exec_pointer(trainer->exec, PLIM_PROGRAM_TRAIN, trainer->staging.image),
                              plim_exec_pointer(trainer->exec, PLIM_PROGRAM_TRAIN, trainer->staging.label)};
}

static plim_status pin_places(plim_trainer *trainer) {
  const plim_value *value = trainer->program->graph[PLIM_PROGRAM_TRAIN]->value;
  plim_staging *staging = &trainer->staging;
  void *image, *label, *numbers;
  for (staging->n_places = 0; staging->n_places < PLIM_STAGING_PLACES; staging->n_places++) {
    PLIM_TRY(pin_bytes(trainer, value[staging->image].bytes, &image));
    PLIM_TRY(pin_bytes(trainer, value[staging->label].bytes, &label));
    staging->place[staging->n_places] = (plim_staging_place){image, label};
  }
  PLIM_TRY(pin_bytes(trainer, sizeof *staging->numbers, &numbers));
  staging->numbers = numbers;
  return PLIM_OK;
}

static plim_status find_places(plim_trainer *trainer) {
  plim_staging *staging = &trainer->staging;
  staging->numbers = &staging->own_numbers;
  staging->n_places = 1;
  staging->place[0] = planned_place(trainer);
  if (staging->place[0].image && staging->place[0].label) return PLIM_OK;
  if (plim_device_has_pinned(trainer->device)) return pin_places(trainer);
  return plim_fail(trainer->ctx, PLIM_EUNSUPPORTED,
                   "the plan has the staged batch at home in a page file: memory is needed");
}

plim_status plim_staging_open(plim_trainer *trainer) {
  const plim_graph *graph = trainer->program->graph[PLIM_PROGRAM_TRAIN];
  plim_staging *staging = &trainer->staging;
  plim_sampler_options sampling = plim_sampler_options_default();
  sampling.batch = graph->batch;
  sampling.seed = trainer->options.seed;
  sampling.augment = trainer->options.augment;
  sampling.last = plim_trainer_has_last(trainer);
  staging->requested = PLIM_NONE;
  PLIM_TRY(
      plim_trainer_find_port(graph, trainer->dataset->context > 0 ? "next_tokens" : "next_image", &staging->image));
  PLIM_TRY(plim_trainer_find_port(graph, "next_label", &staging->label));
  PLIM_TRY(find_places(trainer));
  PLIM_TRY(plim_sampler_new(trainer->dataset, &sampling, &staging->sampler));
  return plim_reader_open(trainer->ctx, staging->sampler, staging->place[0].image, staging->place[0].label,
                          &staging->reader);
}

void plim_staging_close(plim_trainer *trainer) {
  plim_staging *staging = &trainer->staging;
  plim_reader_close(staging->reader);
  plim_sampler_free(staging->sampler);
  for (int32_t i = 0; i < staging->n_pinned; i++) {
    trainer->device->api->memory.release_pinned(trainer->device, staging->pinned[i]);
  }
}

/* ---- batches ---- */

static void set_target(const plim_staging *staging) {
  const plim_staging_place *place = &staging->place[staging->filled];
  plim_reader_set_target(staging->reader, place->image, place->label);
}

void plim_staging_move(plim_trainer *trainer) {
  if (trainer->staging.n_pinned > 0) return;
  trainer->staging.place[0] = planned_place(trainer);
  set_target(&trainer->staging);
}

plim_status plim_staging_wait(plim_trainer *trainer) {
  const plim_status status = plim_reader_wait(trainer->staging.reader);
  if (status != PLIM_OK) trainer->staging.requested = PLIM_NONE;
  return status;
}

/* Copy as much of the staged batch as plan `plan_index` reads into its inputs. */
static plim_status copy_batch(plim_trainer *trainer, int32_t plan_index) {
  const plim_value *value = trainer->program->graph[plan_index]->value;
  const plim_ports *port = &trainer->port[plan_index];
  const plim_staging_place *from = &trainer->staging.place[trainer->staging.filled];
  PLIM_TRY(plim_exec_write_queued(trainer->exec, plan_index, port->image, from->image, value[port->image].bytes));
  return plim_exec_write_queued(trainer->exec, plan_index, port->label, from->label, value[port->label].bytes);
}

/* Copy the learning rate and the like for a training step. */
static plim_status copy_hyper(plim_trainer *trainer, int32_t plan_index) {
  const int32_t port = trainer->port[plan_index].hyper;
  return plim_exec_write_queued(trainer->exec, plan_index, port, trainer->staging.numbers->hyper,
                                trainer->program->graph[plan_index]->value[port].bytes);
}

/* Name the step, or the batch of an evaluation, in which a device failed while a batch was copied: the executor names
 * only its own ops. */
static plim_status name_batch(const plim_trainer *trainer, int32_t plan_index, int64_t number, plim_status failed) {
  const plim_graph *graph = trainer->program->graph[plan_index];
  const int tested = plan_index == PLIM_PROGRAM_EVAL;
  if (failed != PLIM_EDEVICE) return failed;
  return plim_fail(trainer->ctx, failed, "%s %lld%s, before op \"%s\": %s", tested ? "evaluation batch" : "step",
                   (long long)number, tested ? "" : " of the run", graph->op[0].name, plim_context_error(trainer->ctx));
}

plim_status plim_staging_hand_over(plim_trainer *trainer, int32_t plan_index, int64_t number) {
  plim_status status = copy_batch(trainer, plan_index);
  if (status == PLIM_OK && plan_index != PLIM_PROGRAM_EVAL) status = copy_hyper(trainer, plan_index);
  return status == PLIM_OK ? PLIM_OK : name_batch(trainer, plan_index, number, status);
}

void plim_staging_request_ahead(plim_trainer *trainer, plim_reader_part part, int64_t number) {
  plim_staging *staging = &trainer->staging;
  staging->filled = (staging->filled + 1) % staging->n_places;
  set_target(staging);
  plim_reader_request(staging->reader, part, number);
  if (plim_device_sees_writes(trainer->device)) plim_reader_settle(staging->reader);
}
