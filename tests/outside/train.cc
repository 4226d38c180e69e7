// A C++ program outside the tree: a net of one layer, trained for five steps on noise. Uses libplimsoll.
#include <plimsoll/plimsoll.h>

#include <cstdio>
#include <cstdlib>

static plim_context *ctx;

static void must(plim_status status) {
  if (status == PLIM_OK) return;
  std::fprintf(stderr, "train: %s\n", plim_context_error(ctx));
  std::exit(plim_status_exit(status));
}

static void on_step(void *, const plim_step_report *report) {
  std::printf("step %lld: loss %.4f\n", static_cast<long long>(report->step), static_cast<double>(report->loss));
}

int main() {
  if (plim_context_new(nullptr, nullptr, &ctx) != PLIM_OK) return 1;
  plim_dataset_options noise = plim_dataset_options_default();
  noise.height = noise.width = 8;
  noise.channels = 1;
  plim_dataset *data;
  plim_device *device;
  plim_net *net;
  plim_program *program;
  plim_trainer *trainer;
  must(plim_dataset_load(ctx, "synthetic", &noise, &data));
  plim_device_options device_options = plim_device_options_default();
  must(plim_device_open(ctx, "cpu", &device_options, &device));
  plim_net_options shape = plim_net_options_default();
  shape.batch = 16;
  shape.classes = data->classes;
  shape.channels = data->channels;
  shape.height = data->height;
  shape.width = data->width;
  must(plim_net_begin(ctx, "tiny", &shape, &net));
  plim_tensor x = plim_net_flatten(net, "flatten", plim_net_image(net));
  plim_net_softmax_xent(net, plim_net_linear(net, "classes", x, data->classes));
  must(plim_program_begin(device, net, nullptr, &program));
  plim_plan_options plan = plim_plan_options_default();
  must(plim_program_plan(program, &plan));
  plim_trainer_options train = plim_trainer_options_default();
  train.seed = 1;
  train.schedule.rate = 0.1f;
  train.schedule.total_steps = 5;
  must(plim_trainer_open(device, data, program, &train, &trainer));
  must(plim_trainer_run(trainer, 5, on_step, nullptr));
  plim_trainer_close(trainer);
  plim_program_free(program);
  plim_net_free(net);
  plim_device_close(device);
  plim_dataset_free(data);
  plim_context_free(ctx);
}
