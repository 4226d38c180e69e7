/* The training loop.
 *
 * Each turn copies the staged batch to the inputs "image" and "label", requests the next batch from the reader, and
 * runs the step. Memory is allocated only to plan again, between two steps or in the middle of a step whose
 * budget shrinks, and once to hold times measured in steps. */
#include <math.h>

#include "runtime/train/state.h"
#include "runtime/train/trainer_internal.h"

static plim_status find_port(const plim_graph *graph, const char *name, int32_t *out) {
  *out = plim_graph_find_value(graph, name);
  if (*out >= 0) return PLIM_OK;
  return plim_fail(graph->ctx, PLIM_EDATA, "graph %s has no value called \"%s\"", graph->name, name);
}

static plim_status find_ports(const plim_graph *graph, int training, plim_ports *port) {
  port->image = plim_graph_find_value(graph, "tokens");
  if (port->image < 0) PLIM_TRY(find_port(graph, "image", &port->image));
  PLIM_TRY(find_port(graph, "label", &port->label));
  PLIM_TRY(find_port(graph, "loss", &port->loss));
  PLIM_TRY(find_port(graph, "hits", &port->hits));
  port->hyper = PLIM_NONE;
  return training ? find_port(graph, "hyper", &port->hyper) : PLIM_OK;
}

static plim_status check_images(const plim_trainer *trainer) {
  const plim_graph *graph = trainer->program->graph[PLIM_PROGRAM_TRAIN];
  const plim_shape *image = &graph->value[trainer->port[PLIM_PROGRAM_TRAIN].image].shape;
  const plim_dataset *d = trainer->dataset;
  const int tokens = image->dtype == PLIM_I32;
  if (tokens != (d->context > 0) || (tokens && image->dim[1] != d->context)) {
    return plim_fail(trainer->ctx, PLIM_EUSAGE, "%s reads %s of %d, %s has %s of %d", graph->name,
                     tokens ? "sequences" : "images", (int)image->dim[1], d->name,
                     d->context > 0 ? "sequences" : "images", d->context > 0 ? d->context : d->channels);
  }
  if (tokens) return PLIM_OK;
  if (image->dim[1] == d->channels && image->dim[2] == d->height && image->dim[3] == d->width) return PLIM_OK;
  return plim_fail(trainer->ctx, PLIM_EUSAGE, "%s reads images of %d x %d x %d, those of %s are %d x %d x %d",
                   graph->name, (int)image->dim[2], (int)image->dim[3], (int)image->dim[1], d->name, d->height,
                   d->width, d->channels);
}

static plim_status cancelled(const plim_trainer *trainer) {
  if (!plim_context_cancelled(trainer->ctx)) return PLIM_OK;
  return plim_fail(trainer->ctx, PLIM_ECANCEL, "stopped after %lld step%s", (long long)trainer->step,
                   trainer->step == 1 ? "" : "s");
}

/* Write the starting contents of every param and state. */
static plim_status write_start(plim_trainer *trainer) {
  const plim_graph *graph = trainer->program->graph[PLIM_PROGRAM_TRAIN];
  int64_t largest = 0;
  char *host = NULL;
  plim_status status = PLIM_OK;
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (graph->value[v].bytes > largest) largest = graph->value[v].bytes;
  }
  PLIM_TRY(plim_allocate(trainer->ctx, largest, 1, &host));
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!plim_state_includes(graph, v)) continue;
    PLIM_TRY_OR_DONE(cancelled(trainer));
    PLIM_TRY_OR_DONE(plim_net_init(graph, v, trainer->options.seed, host));
    PLIM_TRY_OR_DONE(plim_exec_write(trainer->exec, PLIM_PROGRAM_TRAIN, v, host, graph->value[v].bytes));
  }
done:
  plim_release(trainer->ctx, host, largest, 1);
  return status;
}

static int has_last(const plim_program *program) {
  return program->plan[PLIM_PROGRAM_LAST] != NULL;
}

static plim_status check_last(const plim_trainer *trainer) {
  if (!has_last(trainer->program)) return PLIM_OK;
  int32_t left = trainer->dataset->train.count % trainer->program->graph[PLIM_PROGRAM_TRAIN]->batch;
  int32_t last = trainer->program->graph[PLIM_PROGRAM_LAST]->batch;
  if (left == last) return PLIM_OK;
  return plim_fail(trainer->ctx, PLIM_EUSAGE, "the program's last batch has %d images, an epoch of %s leaves %d", last,
                   trainer->dataset->name, left);
}

static plim_status open_exec(plim_trainer *trainer, plim_device *device) {
  const plim_program *program = trainer->program;
  const plim_graph *graph[PLIM_PROGRAM_GRAPHS];
  const plim_plan *plan[PLIM_PROGRAM_GRAPHS];
  for (int32_t i = 0; i < PLIM_PROGRAM_GRAPHS; i++) {
    graph[i] = program->graph[i];
    plan[i] = trainer->plan[i] = program->plan[i];
  }
  int32_t n = has_last(program) ? PLIM_PROGRAM_GRAPHS : PLIM_PROGRAM_LAST;
  return plim_exec_open(trainer->ctx, device, &trainer->options.exec, n, graph, plan, &trainer->exec);
}

/* Allocate host memory that copies to and from the device use. */
static plim_status pin(plim_trainer *trainer, int64_t bytes, void **out) {
  PLIM_TRY(trainer->device->api->memory.alloc_pinned(trainer->device, bytes, &trainer->pinned[trainer->n_pinned]));
  *out = trainer->pinned[trainer->n_pinned++];
  return PLIM_OK;
}

/* Where the plans that run now have the staged batch; NULL where the host does not see it. */
static plim_staging planned_staging(const plim_trainer *trainer) {
  return (plim_staging){plim_exec_pointer(trainer->exec, PLIM_PROGRAM_TRAIN, trainer->staged_image),
                        plim_exec_pointer(trainer->exec, PLIM_PROGRAM_TRAIN, trainer->staged_label)};
}

static plim_status find_staging(plim_trainer *trainer) {
  const plim_graph *graph = trainer->program->graph[PLIM_PROGRAM_TRAIN];
  void *there[2];
  trainer->numbers = &trainer->own_numbers;
  trainer->n_staging = 1;
  trainer->staging[0] = planned_staging(trainer);
  if (trainer->staging[0].image && trainer->staging[0].label) return PLIM_OK;
  if (!plim_device_has_pinned(trainer->device)) {
    return plim_fail(trainer->ctx, PLIM_EUNSUPPORTED,
                     "the plan has the staged batch at home in a page file: memory is needed");
  }
  for (trainer->n_staging = 0; trainer->n_staging < PLIM_STAGINGS; trainer->n_staging++) {
    PLIM_TRY(pin(trainer, graph->value[trainer->staged_image].bytes, &there[0]));
    PLIM_TRY(pin(trainer, graph->value[trainer->staged_label].bytes, &there[1]));
    trainer->staging[trainer->n_staging] = (plim_staging){there[0], there[1]};
  }
  PLIM_TRY(pin(trainer, sizeof *trainer->numbers, &there[0]));
  trainer->numbers = there[0];
  return PLIM_OK;
}

/* Ask the executor to copy each step's loss and hits to the host when the step ends. */
static plim_status ask_for_results(plim_trainer *trainer) {
  for (int32_t i = 0; i < trainer->program->n_graphs; i++) {
    if (!trainer->plan[i]) continue;
    const plim_exec_result result[] = {{&trainer->numbers->loss, sizeof trainer->numbers->loss, trainer->port[i].loss},
                                       {trainer->numbers->hits, sizeof trainer->numbers->hits, trainer->port[i].hits}};
    PLIM_TRY(plim_exec_set_results(trainer->exec, i, result, 2));
  }
  return PLIM_OK;
}

static plim_status open_reader(plim_trainer *trainer) {
  const plim_graph *graph = trainer->program->graph[PLIM_PROGRAM_TRAIN];
  plim_sampler_options sampling = plim_sampler_options_default();
  sampling.batch = graph->batch;
  sampling.seed = trainer->options.seed;
  sampling.augment = trainer->options.augment;
  sampling.last = has_last(trainer->program);
  PLIM_TRY(find_port(graph, trainer->dataset->context > 0 ? "next_tokens" : "next_image", &trainer->staged_image));
  PLIM_TRY(find_port(graph, "next_label", &trainer->staged_label));
  PLIM_TRY(find_staging(trainer));
  PLIM_TRY(ask_for_results(trainer));
  PLIM_TRY(plim_sampler_new(trainer->dataset, &sampling, &trainer->sampler));
  return plim_reader_open(trainer->ctx, trainer->sampler, trainer->staging[0].image, trainer->staging[0].label,
                          &trainer->reader);
}

plim_status plim_trainer_replace(plim_trainer *trainer, const plim_plan *const *plan) {
  plim_reader_settle(trainer->reader);
  const plim_status status = plim_exec_replace(trainer->exec, plan, plim_program_plans_bytes(plan));
  if (trainer->n_pinned > 0) return status;
  trainer->staging[0] = planned_staging(trainer);
  plim_reader_set_target(trainer->reader, trainer->staging[0].image, trainer->staging[0].label);
  return status;
}

plim_trainer_options plim_trainer_options_default(void) {
  return (plim_trainer_options){
      .struct_bytes = sizeof(plim_trainer_options), .seed = 1, .exec = plim_exec_options_default()};
}

static plim_status check_schedule(plim_context *ctx, const plim_rate_schedule *schedule) {
  const float number[] = {schedule->rate,  schedule->momentum, schedule->weight_decay,
                          schedule->beta2, schedule->epsilon,  schedule->norm_max};
  for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
    if (isfinite(number[i])) continue;
    return plim_fail(
        ctx, PLIM_EUSAGE,
        "rate %g, momentum %g, weight decay %g, beta2 %g, epsilon %g, largest norm %g: each is to be finite",
        (double)schedule->rate, (double)schedule->momentum, (double)schedule->weight_decay, (double)schedule->beta2,
        (double)schedule->epsilon, (double)schedule->norm_max);
  }
  return PLIM_OK;
}

/* A momentum that the updates of the program would not read is refused. */
static plim_status check_momentum(const plim_program *program, float momentum) {
  const plim_graph *g = program->graph[PLIM_PROGRAM_TRAIN];
  for (int32_t o = 0; o < g->n_ops && momentum != 0; o++) {
    if (g->op[o].kind != PLIM_OP_SGD || g->op[o].n_upd > 1) continue;
    return plim_fail(
        program->ctx, PLIM_EUSAGE,
        "momentum %g: this program was made for sgd without velocities; make it for the optimizer momentum",
        (double)momentum);
  }
  return PLIM_OK;
}

/* Checks the structs inside the options, too. */
static plim_status check_options(plim_context *ctx, const plim_trainer_options *options) {
  PLIM_TRY(plim_check_options(ctx, "plim_trainer_options", options->struct_bytes, sizeof *options));
  PLIM_TRY(check_schedule(ctx, &options->schedule));
  if (options->seed > INT64_MAX) {
    return plim_fail(ctx, PLIM_EUSAGE, "seed %llu: a checkpoint holds at most %lld", (unsigned long long)options->seed,
                     (long long)INT64_MAX);
  }
  if (!options->replan) return PLIM_OK;
  return plim_check_options(ctx, "plim_replan_options", options->replan->struct_bytes, sizeof *options->replan);
}

plim_status plim_trainer_open(plim_device *device, const plim_dataset *dataset, plim_program *program,
                              const plim_trainer_options *options, plim_trainer **out) {
  plim_trainer *trainer = NULL;
  plim_status status = PLIM_OK;
  PLIM_TRY(check_options(program->ctx, options));
  PLIM_TRY(check_momentum(program, options->schedule.momentum));
  PLIM_TRY(plim_allocate(program->ctx, 1, sizeof *trainer, &trainer));
  trainer->ctx = program->ctx;
  trainer->dataset = dataset;
  trainer->program = program;
  trainer->device = device;
  trainer->options = *options;
  if (!trainer->options.exec.refused) trainer->options.exec.refused = &trainer->refused;
  trainer->requested = PLIM_NONE;
  for (int32_t i = 0; i < program->n_graphs; i++) {
    PLIM_TRY_OR_DONE(find_ports(program->graph[i], i != PLIM_PROGRAM_EVAL, &trainer->port[i]));
  }
  PLIM_TRY_OR_DONE(check_images(trainer));
  PLIM_TRY_OR_DONE(check_last(trainer));
  PLIM_TRY_OR_DONE(open_exec(trainer, device));
  plim_budget_changes_open(trainer);
  PLIM_TRY_OR_DONE(plim_retiming_open(trainer));
  PLIM_TRY_OR_DONE(write_start(trainer));
  PLIM_TRY_OR_DONE(open_reader(trainer));
  *out = trainer;
  trainer = NULL;
done:
  plim_trainer_close(trainer);
  return status;
}

void plim_trainer_close(plim_trainer *trainer) {
  if (!trainer) return;
  plim_reader_close(trainer->reader);
  plim_sampler_free(trainer->sampler);
  for (int32_t i = 0; i < trainer->n_pinned; i++) {
    trainer->device->api->memory.release_pinned(trainer->device, trainer->pinned[i]);
  }
  plim_exec_close(trainer->exec);
  plim_retiming_close(trainer); /* before the budget changes, which may own the plan that it reads */
  plim_budget_changes_close(trainer);
  plim_release(trainer->ctx, trainer, 1, sizeof *trainer);
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

/* Copy as much of the staged batch as plan `plan_index` reads into its inputs. */
static plim_status hand_over(plim_trainer *trainer, int32_t plan_index) {
  const plim_value *value = trainer->program->graph[plan_index]->value;
  const plim_ports *port = &trainer->port[plan_index];
  const plim_staging *from = &trainer->staging[trainer->filled];
  PLIM_TRY(plim_exec_write_queued(trainer->exec, plan_index, port->image, from->image, value[port->image].bytes));
  return plim_exec_write_queued(trainer->exec, plan_index, port->label, from->label, value[port->label].bytes);
}

/* Wait for the requested batch. After a failure the next step requests the same batch again. */
static plim_status wait_for_batch(plim_trainer *trainer) {
  const plim_status status = plim_reader_wait(trainer->reader);
  if (status != PLIM_OK) trainer->requested = PLIM_NONE;
  return status;
}

/* Let the reader prepare the next batch while the device computes. When the device watches writes to the arena, wait
 * until the batch is complete, so that the reader writes nothing during the step. */
static void request_ahead(plim_trainer *trainer, plim_reader_part part, int64_t number) {
  trainer->filled = (trainer->filled + 1) % trainer->n_staging;
  plim_reader_set_target(trainer->reader, trainer->staging[trainer->filled].image,
                         trainer->staging[trainer->filled].label);
  plim_reader_request(trainer->reader, part, number);
  if (plim_device_sees_writes(trainer->device)) plim_reader_settle(trainer->reader);
}

/* Index of the plan for the next training step. */
static int32_t next_plan(const plim_trainer *trainer) {
  int64_t epoch = plim_sampler_train_batches(trainer->sampler);
  return has_last(trainer->program) && trainer->step % epoch == epoch - 1 ? PLIM_PROGRAM_LAST : PLIM_PROGRAM_TRAIN;
}

/* Write the inputs of a training step: the batch, for which it waits, and the numbers of the rate schedule. */
static plim_status write_inputs(plim_trainer *trainer, int32_t plan_index) {
  const int32_t port = trainer->port[plan_index].hyper;
  const int64_t bytes = trainer->program->graph[plan_index]->value[port].bytes;
  float *hyper = trainer->numbers->hyper;
  plim_rate_schedule_hyper(&trainer->options.schedule, trainer->step, hyper);
  if (trainer->requested != trainer->step) plim_reader_request(trainer->reader, PLIM_READ_TRAIN, trainer->step);
  PLIM_TRY(wait_for_batch(trainer));
  plim_status status = hand_over(trainer, plan_index);
  if (status == PLIM_OK) status = plim_exec_write_queued(trainer->exec, plan_index, port, hyper, bytes);
  return status == PLIM_OK ? PLIM_OK : name_batch(trainer, plan_index, trainer->step, status);
}

static plim_status check_loss(const plim_trainer *trainer) {
  const plim_step_numbers *numbers = trainer->numbers;
  if (isfinite(numbers->loss)) return PLIM_OK;
  const double loss = isnan(numbers->loss) ? (double)NAN : (double)numbers->loss; /* its sign says nothing */
  return plim_fail(trainer->ctx, PLIM_ENOTFINITE, "the loss of step %lld is %g; try a lower learning rate than %g",
                   (long long)trainer->step, loss, (double)numbers->hyper[0]);
}

static plim_status train_step(plim_trainer *trainer, plim_step_report *report) {
  const int64_t begin = plim_now_ns();
  const int32_t plan_index = next_plan(trainer);
  const plim_step_numbers *numbers = trainer->numbers;
  PLIM_TRY(write_inputs(trainer, plan_index));
  trainer->requested = trainer->step + 1;
  request_ahead(trainer, PLIM_READ_TRAIN, trainer->requested);
  plim_exec_set_step(trainer->exec, trainer->options.seed, trainer->step);
  PLIM_TRY(plim_exec_step(trainer->exec, plan_index, NULL, NULL)); /* writes the loss and the hits to `numbers` */
  *report = (plim_step_report){.step = trainer->step,
                               .plan_index = plan_index,
                               .loss = numbers->loss,
                               .correct = numbers->hits[0],
                               .counted = numbers->hits[1],
                               .time_ns = plim_now_ns() - begin};
  const plim_status status = check_loss(trainer);
  trainer->step++; /* also after a loss that is not finite: the weights are updated */
  return status;
}

plim_status plim_trainer_run(plim_trainer *trainer, int64_t steps, plim_on_step *on_step, void *user) {
  for (int64_t i = 0; i < steps; i++) {
    plim_step_report report = {0};
    PLIM_TRY(cancelled(trainer));
    PLIM_TRY(plim_budget_changes_serve(trainer));
    PLIM_TRY(train_step(trainer, &report));
    if (on_step) on_step(user, &report); /* before plim_retiming_note, which may replace the plan that ran */
    PLIM_TRY(plim_retiming_note(trainer, report.plan_index));
  }
  return PLIM_OK;
}

plim_status plim_trainer_evaluate(plim_trainer *trainer, plim_evaluation *out) {
  int64_t batches = plim_sampler_test_batches(trainer->sampler), begin = plim_now_ns();
  plim_evaluation sum = {0};
  trainer->requested = PLIM_NONE; /* test batches overwrite the staged training batch */
  plim_reader_request(trainer->reader, PLIM_READ_TEST, 0);
  for (int64_t i = 0; i < batches; i++) {
    const plim_step_numbers *numbers = trainer->numbers;
    PLIM_TRY(wait_for_batch(trainer));
    PLIM_TRY(cancelled(trainer));
    PLIM_TRY(plim_budget_changes_serve(trainer)); /* the arena may have shrunk in the middle of the last batch */
    plim_status status = hand_over(trainer, PLIM_PROGRAM_EVAL);
    if (status != PLIM_OK) return name_batch(trainer, PLIM_PROGRAM_EVAL, i, status);
    if (i + 1 < batches) request_ahead(trainer, PLIM_READ_TEST, i + 1);
    PLIM_TRY(plim_exec_step(trainer->exec, PLIM_PROGRAM_EVAL, NULL, NULL));
    sum.loss += (double)numbers->loss * numbers->hits[1];
    sum.correct += numbers->hits[0];
    sum.counted += numbers->hits[1];
  }
  if (sum.counted > 0) sum.loss /= (double)sum.counted;
  sum.time_ns = plim_now_ns() - begin;
  *out = sum;
  return PLIM_OK;
}

int64_t plim_trainer_steps(const plim_trainer *trainer) {
  return trainer->step;
}
int64_t plim_trainer_epoch_steps(const plim_trainer *trainer) {
  return plim_sampler_train_batches(trainer->sampler);
}
plim_exec *plim_trainer_exec(const plim_trainer *trainer) {
  return trainer->exec;
}
const plim_program *plim_trainer_program(const plim_trainer *trainer) {
  return trainer->program;
}
const plim_trainer_options *plim_trainer_options_of(const plim_trainer *trainer) {
  return &trainer->options;
}
void plim_trainer_seek(plim_trainer *trainer, int64_t step) {
  trainer->step = step;
}
