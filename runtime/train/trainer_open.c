/* Opens a trainer: checks that program, data set and options belong together, finds the values of the graphs that the
 * loop reads and writes, opens the executor, writes the starting weights, and starts the reader. */
#include <math.h>

#include "runtime/train/state.h"
#include "runtime/train/trainer_internal.h"

/* ---- what belongs together ---- */

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

static plim_status check_last(const plim_trainer *trainer) {
  if (!plim_trainer_has_last(trainer)) return PLIM_OK;
  int32_t left = trainer->dataset->train.count % trainer->program->graph[PLIM_PROGRAM_TRAIN]->batch;
  int32_t last = trainer->program->graph[PLIM_PROGRAM_LAST]->batch;
  if (left == last) return PLIM_OK;
  return plim_fail(trainer->ctx, PLIM_EUSAGE, "the program's last batch has %d images, an epoch of %s leaves %d", last,
                   trainer->dataset->name, left);
}

/* ---- the parts of a trainer ---- */

plim_status plim_trainer_find_port(const plim_graph *graph, const char *name, int32_t *out) {
  *out = plim_graph_find_value(graph, name);
  if (*out >= 0) return PLIM_OK;
  return plim_fail(graph->ctx, PLIM_EDATA, "graph %s has no value called \"%s\"", graph->name, name);
}

static plim_status find_ports(const plim_graph *graph, int training, plim_ports *port) {
  port->image = plim_graph_find_value(graph, "tokens");
  if (port->image < 0) PLIM_TRY(plim_trainer_find_port(graph, "image", &port->image));
  PLIM_TRY(plim_trainer_find_port(graph, "label", &port->label));
  PLIM_TRY(plim_trainer_find_port(graph, "loss", &port->loss));
  PLIM_TRY(plim_trainer_find_port(graph, "hits", &port->hits));
  port->hyper = PLIM_NONE;
  return training ? plim_trainer_find_port(graph, "hyper", &port->hyper) : PLIM_OK;
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
    PLIM_TRY_OR_DONE(plim_trainer_check_cancelled(trainer));
    PLIM_TRY_OR_DONE(plim_net_init(graph, v, trainer->options.seed, host));
    PLIM_TRY_OR_DONE(plim_exec_write(trainer->exec, PLIM_PROGRAM_TRAIN, v, host, graph->value[v].bytes));
  }
done:
  plim_release(trainer->ctx, host, largest, 1);
  return status;
}

static plim_status open_exec(plim_trainer *trainer, plim_device *device) {
  const plim_program *program = trainer->program;
  const plim_graph *graph[PLIM_PROGRAM_GRAPHS];
  const plim_plan *plan[PLIM_PROGRAM_GRAPHS];
  for (int32_t i = 0; i < PLIM_PROGRAM_GRAPHS; i++) {
    graph[i] = program->graph[i];
    plan[i] = trainer->plan[i] = program->plan[i];
  }
  int32_t n = plim_trainer_has_last(trainer) ? PLIM_PROGRAM_GRAPHS : PLIM_PROGRAM_LAST;
  return plim_exec_open(trainer->ctx, device, &trainer->options.exec, n, graph, plan, &trainer->exec);
}

/* Ask the executor to copy each step's loss and hits to the host when the step ends. */
static plim_status ask_for_results(plim_trainer *trainer) {
  plim_step_numbers *numbers = trainer->staging.numbers;
  for (int32_t i = 0; i < trainer->program->n_graphs; i++) {
    if (!trainer->plan[i]) continue;
    const plim_exec_result result[] = {{&numbers->loss, sizeof numbers->loss, trainer->port[i].loss},
                                       {numbers->hits, sizeof numbers->hits, trainer->port[i].hits}};
    PLIM_TRY(plim_exec_set_results(trainer->exec, i, result, 2));
  }
  return PLIM_OK;
}

plim_trainer_options plim_trainer_options_default(void) {
  return (plim_trainer_options){
      .struct_bytes = sizeof(plim_trainer_options), .seed = 1, .exec = plim_exec_options_default()};
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
  for (int32_t i = 0; i < program->n_graphs; i++) {
    PLIM_TRY_OR_DONE(find_ports(program->graph[i], i != PLIM_PROGRAM_EVAL, &trainer->port[i]));
  }
  PLIM_TRY_OR_DONE(check_images(trainer));
  PLIM_TRY_OR_DONE(check_last(trainer));
  PLIM_TRY_OR_DONE(open_exec(trainer, device));
  plim_budget_changes_open(trainer);
  PLIM_TRY_OR_DONE(plim_retiming_open(trainer));
  PLIM_TRY_OR_DONE(write_start(trainer));
  PLIM_TRY_OR_DONE(plim_staging_open(trainer));
  PLIM_TRY_OR_DONE(ask_for_results(trainer));
  *out = trainer;
  trainer = NULL;
done:
  plim_trainer_close(trainer);
  return status;
}

void plim_trainer_close(plim_trainer *trainer) {
  if (!trainer) return;
  plim_staging_close(trainer);
  plim_exec_close(trainer->exec);
  plim_retiming_close(trainer); /* before the plans: it reads one */
  plim_trainer_free_plans(trainer);
  plim_release(trainer->ctx, trainer, 1, sizeof *trainer);
}
