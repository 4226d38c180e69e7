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

static plim_status check_images(const plim_trainer *t) {
  const plim_graph *graph = t->program->graph[PLIM_PROGRAM_TRAIN];
  const plim_shape *image = &graph->value[t->port[PLIM_PROGRAM_TRAIN].image].shape;
  const plim_dataset *d = t->dataset;
  const int tokens = image->dtype == PLIM_I32;
  if (tokens != (d->context > 0) || (tokens && image->dim[1] != d->context)) {
    return plim_fail(t->ctx, PLIM_EUSAGE, "%s reads %s of %d, %s has %s of %d", graph->name,
                     tokens ? "sequences" : "images", (int)image->dim[1], d->name,
                     d->context > 0 ? "sequences" : "images", d->context > 0 ? d->context : d->channels);
  }
  if (tokens) return PLIM_OK;
  if (image->dim[1] == d->channels && image->dim[2] == d->height && image->dim[3] == d->width) return PLIM_OK;
  return plim_fail(t->ctx, PLIM_EUSAGE, "%s reads images of %d x %d x %d, those of %s are %d x %d x %d", graph->name,
                   (int)image->dim[2], (int)image->dim[3], (int)image->dim[1], d->name, d->height, d->width,
                   d->channels);
}

static plim_status cancelled(const plim_trainer *t) {
  if (!plim_context_cancelled(t->ctx)) return PLIM_OK;
  return plim_fail(t->ctx, PLIM_ECANCEL, "stopped after %lld step%s", (long long)t->step, t->step == 1 ? "" : "s");
}

/* Write the starting contents of every param and state. */
static plim_status write_start(plim_trainer *t) {
  const plim_graph *graph = t->program->graph[PLIM_PROGRAM_TRAIN];
  int64_t largest = 0;
  char *host = NULL;
  plim_status status = PLIM_OK;
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (graph->value[v].bytes > largest) largest = graph->value[v].bytes;
  }
  PLIM_TRY(plim_allocate(t->ctx, largest, 1, &host));
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!plim_state_includes(graph, v)) continue;
    PLIM_CHECK(cancelled(t));
    PLIM_CHECK(plim_net_init(graph, v, t->options.seed, host));
    PLIM_CHECK(plim_exec_write(t->exec, PLIM_PROGRAM_TRAIN, v, host, graph->value[v].bytes));
  }
done:
  plim_release(t->ctx, host, largest, 1);
  return status;
}

static int has_last(const plim_program *program) {
  return program->plan[PLIM_PROGRAM_LAST] != NULL;
}

static plim_status check_last(const plim_trainer *t) {
  if (!has_last(t->program)) return PLIM_OK;
  int32_t left = t->dataset->train.count % t->program->graph[PLIM_PROGRAM_TRAIN]->batch;
  int32_t last = t->program->graph[PLIM_PROGRAM_LAST]->batch;
  if (left == last) return PLIM_OK;
  return plim_fail(t->ctx, PLIM_EUSAGE, "the program's last batch has %d images, an epoch of %s leaves %d", last,
                   t->dataset->name, left);
}

static plim_status open_exec(plim_trainer *t, plim_device *device) {
  const plim_program *p = t->program;
  const plim_graph *graph[PLIM_PROGRAM_GRAPHS];
  const plim_plan *plan[PLIM_PROGRAM_GRAPHS];
  for (int32_t i = 0; i < PLIM_PROGRAM_GRAPHS; i++) {
    graph[i] = p->graph[i];
    plan[i] = t->plan[i] = p->plan[i];
  }
  int32_t n = has_last(p) ? PLIM_PROGRAM_GRAPHS : PLIM_PROGRAM_LAST;
  return plim_exec_open(t->ctx, device, &t->options.exec, n, graph, plan, &t->exec);
}

/* Allocate host memory that copies to and from the device use. */
static plim_status pin(plim_trainer *t, int64_t bytes, void **out) {
  PLIM_TRY(t->device->api->memory.alloc_pinned(t->device, bytes, &t->pinned[t->n_pinned]));
  *out = t->pinned[t->n_pinned++];
  return PLIM_OK;
}

/* Where the plans that run now have the staged batch; NULL where the host does not see it. */
static plim_staging planned_staging(const plim_trainer *t) {
  return (plim_staging){plim_exec_pointer(t->exec, PLIM_PROGRAM_TRAIN, t->staged_image),
                        plim_exec_pointer(t->exec, PLIM_PROGRAM_TRAIN, t->staged_label)};
}

static plim_status find_staging(plim_trainer *t) {
  const plim_graph *graph = t->program->graph[PLIM_PROGRAM_TRAIN];
  void *there[2];
  t->numbers = &t->own_numbers;
  t->n_staging = 1;
  t->staging[0] = planned_staging(t);
  if (t->staging[0].image && t->staging[0].label) return PLIM_OK;
  if (!plim_device_has_pinned(t->device)) {
    return plim_fail(t->ctx, PLIM_EUNSUPPORTED,
                     "the plan has the staged batch at home in a page file: memory is needed");
  }
  for (t->n_staging = 0; t->n_staging < PLIM_STAGINGS; t->n_staging++) {
    PLIM_TRY(pin(t, graph->value[t->staged_image].bytes, &there[0]));
    PLIM_TRY(pin(t, graph->value[t->staged_label].bytes, &there[1]));
    t->staging[t->n_staging] = (plim_staging){there[0], there[1]};
  }
  PLIM_TRY(pin(t, sizeof *t->numbers, &there[0]));
  t->numbers = there[0];
  return PLIM_OK;
}

/* Ask the executor to copy each step's loss and hits to the host when the step ends. */
static plim_status ask_for_results(plim_trainer *t) {
  for (int32_t i = 0; i < t->program->n_graphs; i++) {
    if (!t->plan[i]) continue;
    const plim_exec_result result[] = {{&t->numbers->loss, sizeof t->numbers->loss, t->port[i].loss},
                                       {t->numbers->hits, sizeof t->numbers->hits, t->port[i].hits}};
    PLIM_TRY(plim_exec_set_results(t->exec, i, result, 2));
  }
  return PLIM_OK;
}

static plim_status open_reader(plim_trainer *t) {
  const plim_graph *graph = t->program->graph[PLIM_PROGRAM_TRAIN];
  plim_sampler_options sampling = plim_sampler_options_default();
  sampling.batch = graph->batch;
  sampling.seed = t->options.seed;
  sampling.augment = t->options.augment;
  sampling.last = has_last(t->program);
  PLIM_TRY(find_port(graph, t->dataset->context > 0 ? "next_tokens" : "next_image", &t->staged_image));
  PLIM_TRY(find_port(graph, "next_label", &t->staged_label));
  PLIM_TRY(find_staging(t));
  PLIM_TRY(ask_for_results(t));
  PLIM_TRY(plim_sampler_new(t->dataset, &sampling, &t->sampler));
  return plim_reader_open(t->ctx, t->sampler, t->staging[0].image, t->staging[0].label, &t->reader);
}

plim_status plim_trainer_replace(plim_trainer *t, const plim_plan *const *plan) {
  (void)(plim_reader_wait(t->reader) == PLIM_OK); /* the next step reports it */
  const plim_status status = plim_exec_replace(t->exec, plan, plim_program_plans_bytes(plan));
  if (t->n_pinned > 0) return status;
  t->staging[0] = planned_staging(t);
  plim_reader_set_target(t->reader, t->staging[0].image, t->staging[0].label);
  return status;
}

plim_trainer_options plim_trainer_options_default(void) {
  return (plim_trainer_options){
      .struct_bytes = sizeof(plim_trainer_options), .seed = 1, .exec = plim_exec_options_default()};
}

static plim_status check_schedule(plim_context *ctx, const plim_rate_schedule *s) {
  const float number[] = {s->rate, s->momentum, s->weight_decay, s->beta2, s->epsilon, s->most_norm};
  for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
    if (isfinite(number[i])) continue;
    return plim_fail(
        ctx, PLIM_EUSAGE,
        "rate %g, momentum %g, weight decay %g, beta2 %g, epsilon %g, largest norm %g: each is to be finite",
        (double)s->rate, (double)s->momentum, (double)s->weight_decay, (double)s->beta2, (double)s->epsilon,
        (double)s->most_norm);
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
static plim_status check_options(plim_context *ctx, const plim_trainer_options *o) {
  PLIM_TRY(plim_check_options(ctx, "plim_trainer_options", o->struct_bytes, sizeof *o));
  PLIM_TRY(check_schedule(ctx, &o->schedule));
  if (!o->replan) return PLIM_OK;
  return plim_check_options(ctx, "plim_replan_options", o->replan->struct_bytes, sizeof *o->replan);
}

plim_status plim_trainer_open(plim_device *device, const plim_dataset *dataset, plim_program *program,
                              const plim_trainer_options *options, plim_trainer **out) {
  plim_trainer *t = NULL;
  plim_status status = PLIM_OK;
  PLIM_TRY(check_options(program->ctx, options));
  PLIM_TRY(check_momentum(program, options->schedule.momentum));
  PLIM_TRY(plim_allocate(program->ctx, 1, sizeof *t, &t));
  t->ctx = program->ctx;
  t->dataset = dataset;
  t->program = program;
  t->device = device;
  t->options = *options;
  if (!t->options.exec.refused) t->options.exec.refused = &t->refused;
  t->requested = PLIM_NONE;
  for (int32_t i = 0; i < program->n_graphs; i++) {
    PLIM_CHECK(find_ports(program->graph[i], i != PLIM_PROGRAM_EVAL, &t->port[i]));
  }
  if (t->options.seed > INT64_MAX) {
    PLIM_CHECK(plim_fail(t->ctx, PLIM_EUSAGE, "seed %llu: a checkpoint holds at most %lld",
                         (unsigned long long)t->options.seed, (long long)INT64_MAX));
  }
  PLIM_CHECK(check_images(t));
  PLIM_CHECK(check_last(t));
  PLIM_CHECK(open_exec(t, device));
  plim_budget_changes_open(t);
  PLIM_CHECK(plim_retiming_open(t));
  PLIM_CHECK(write_start(t));
  PLIM_CHECK(open_reader(t));
  *out = t;
  t = NULL;
done:
  plim_trainer_close(t);
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
static plim_status name_batch(const plim_trainer *t, int32_t plan_index, int64_t number, plim_status failed) {
  const plim_graph *graph = t->program->graph[plan_index];
  const int tested = plan_index == PLIM_PROGRAM_EVAL;
  if (failed != PLIM_EDEVICE) return failed;
  return plim_fail(t->ctx, failed, "%s %lld%s, before op \"%s\": %s", tested ? "evaluation batch" : "step",
                   (long long)number, tested ? "" : " of the run", graph->op[0].name, plim_context_error(t->ctx));
}

/* Copy as much of the staged batch as plan `plan_index` reads into its inputs. */
static plim_status hand_over(plim_trainer *t, int32_t plan_index) {
  const plim_value *value = t->program->graph[plan_index]->value;
  const plim_ports *port = &t->port[plan_index];
  const plim_staging *from = &t->staging[t->filled];
  PLIM_TRY(plim_exec_write_queued(t->exec, plan_index, port->image, from->image, value[port->image].bytes));
  return plim_exec_write_queued(t->exec, plan_index, port->label, from->label, value[port->label].bytes);
}

/* Wait for the requested batch. After a failure the next step requests the same batch again. */
static plim_status wait_for_batch(plim_trainer *t) {
  const plim_status status = plim_reader_wait(t->reader);
  if (status != PLIM_OK) t->requested = PLIM_NONE;
  return status;
}

/* Let the reader prepare the next batch while the device computes. When the device watches writes to the arena, wait
 * until the batch is complete, so that the reader writes nothing during the step. */
static void request_ahead(plim_trainer *t, plim_reader_part part, int64_t number) {
  t->filled = (t->filled + 1) % t->n_staging;
  plim_reader_set_target(t->reader, t->staging[t->filled].image, t->staging[t->filled].label);
  plim_reader_request(t->reader, part, number);
  if (plim_device_sees_writes(t->device)) (void)(plim_reader_wait(t->reader) == PLIM_OK); /* the next step reports it */
}

/* Index of the plan for the next training step. */
static int32_t next_plan(const plim_trainer *t) {
  int64_t epoch = plim_sampler_train_batches(t->sampler);
  return has_last(t->program) && t->step % epoch == epoch - 1 ? PLIM_PROGRAM_LAST : PLIM_PROGRAM_TRAIN;
}

static plim_status train_step(plim_trainer *t, plim_step_report *report) {
  int64_t begin = plim_now_ns();
  int32_t plan_index = next_plan(t);
  plim_step_numbers *numbers = t->numbers;
  plim_rate_schedule_hyper(&t->options.schedule, t->step, numbers->hyper);
  if (t->requested != t->step) plim_reader_request(t->reader, PLIM_READ_TRAIN, t->step);
  PLIM_TRY(wait_for_batch(t));
  plim_status status = hand_over(t, plan_index);
  if (status == PLIM_OK) {
    const int32_t port = t->port[plan_index].hyper;
    const int64_t bytes = t->program->graph[plan_index]->value[port].bytes;
    status = plim_exec_write_queued(t->exec, plan_index, port, numbers->hyper, bytes);
  }
  if (status != PLIM_OK) return name_batch(t, plan_index, t->step, status);
  t->requested = t->step + 1;
  request_ahead(t, PLIM_READ_TRAIN, t->requested);
  plim_exec_set_step(t->exec, t->options.seed, t->step);
  PLIM_TRY(plim_exec_step(t->exec, plan_index, NULL, NULL));
  if (!isfinite(numbers->loss)) {
    const double loss = isnan(numbers->loss) ? (double)NAN : (double)numbers->loss; /* its sign says nothing */
    return plim_fail(t->ctx, PLIM_ENOTFINITE, "the loss of step %lld is %g; try a lower learning rate than %g",
                     (long long)t->step, loss, (double)numbers->hyper[0]);
  }
  *report = (plim_step_report){.step = t->step,
                               .plan_index = plan_index,
                               .loss = numbers->loss,
                               .correct = numbers->hits[0],
                               .counted = numbers->hits[1],
                               .time_ns = plim_now_ns() - begin};
  t->step++;
  return PLIM_OK;
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
  plim_trainer *t = trainer;
  int64_t batches = plim_sampler_test_batches(t->sampler), begin = plim_now_ns();
  plim_evaluation sum = {0};
  t->requested = PLIM_NONE; /* test batches overwrite the staged training batch */
  plim_reader_request(t->reader, PLIM_READ_TEST, 0);
  for (int64_t i = 0; i < batches; i++) {
    const plim_step_numbers *numbers = t->numbers;
    PLIM_TRY(wait_for_batch(t));
    PLIM_TRY(cancelled(t));
    PLIM_TRY(plim_budget_changes_serve(t)); /* a request may have shrunk the arena in the middle of the last batch */
    plim_status status = hand_over(t, PLIM_PROGRAM_EVAL);
    if (status != PLIM_OK) return name_batch(t, PLIM_PROGRAM_EVAL, i, status);
    if (i + 1 < batches) request_ahead(t, PLIM_READ_TEST, i + 1);
    PLIM_TRY(plim_exec_step(t->exec, PLIM_PROGRAM_EVAL, NULL, NULL));
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
