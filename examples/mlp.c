/* An MLP trained under a budget: example-mlp [DATA SET [MIB]]; by default "synthetic" noise and 20 MiB.
 * Links libplimsoll: cc mlp.c $(pkg-config --cflags --libs plimsoll) */
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

static plim_context *ctx;

static void must(plim_status status) {
  if (status == PLIM_OK) return;
  (void)fprintf(stderr, "mlp: %s\n", plim_context_error(ctx));
  exit(plim_status_exit(status));
}

static plim_net *layers(const plim_dataset *data) {
  plim_net_options options = plim_net_options_default();
  options.batch = 2048, options.classes = data->classes;
  options.channels = data->channels, options.height = data->height, options.width = data->width;
  plim_net *net;
  must(plim_net_begin(ctx, "mlp", &options, &net));
  plim_tensor x = plim_net_flatten(net, "flatten", plim_net_image(net));
  x = plim_net_relu(net, "relu1", plim_net_linear(net, "hidden1", x, 512));
  x = plim_net_dropout(net, "drop1", x, 0.2f);
  x = plim_net_relu(net, "relu2", plim_net_linear(net, "hidden2", x, 512));
  x = plim_net_dropout(net, "drop2", x, 0.2f);
  plim_net_softmax_xent(net, plim_net_linear(net, "classes", x, data->classes));
  return net;
}

static void on_step(void *user, const plim_step_report *r) {
  (void)user;
  if (r->step % 10 == 0) (void)printf("step %lld: loss %.4f\n", (long long)r->step, (double)r->loss);
}

int main(int argc, char **argv) {
  plim_dataset_options data_options = plim_dataset_options_default();
  plim_plan_options plan = plim_plan_options_default();
  plim_trainer_options train = plim_trainer_options_default();
  train.schedule = (plim_rate_schedule){.rate = 0.05f, .momentum = 0.9f, .warmup_steps = 5, .total_steps = 31};
  plan.budget_bytes = (argc > 2 ? atoll(argv[2]) : 20) << 20;
  data_options.height = data_options.width = 28, data_options.channels = 1; /* of the noise */
  plim_plan *all;
  plim_dataset *data;
  plim_device *device;
  plim_program *program;
  plim_trainer *trainer;
  if (plim_context_new(NULL, NULL, &ctx) != PLIM_OK) return 1;
  must(plim_dataset_load(ctx, argc > 1 ? argv[1] : "synthetic", &data_options, &data));
  must(plim_device_open(ctx, "cpu", NULL, &device));
  plim_net *net = layers(data);
  must(plim_program_begin(device, net, NULL, &program)); /* modelled costs: nothing is measured */
  must(plim_program_keep_all(program, &all));
  must(plim_program_plan(program, &plan));
  must(plim_trainer_open(device, data, program, &train, &trainer));
  must(plim_trainer_run(trainer, 31, on_step, NULL));
  double mib = 1 << 20, used = (double)plim_program_arena_bytes(program) / mib;
  (void)printf("%.1f MiB used; keeping everything takes %.1f MiB\n", used, (double)all->arena_bytes / mib);
  plim_trainer_close(trainer), plim_plan_free(all), plim_program_free(program), plim_net_free(net);
  plim_device_close(device), plim_dataset_free(data), plim_context_free(ctx);
}
