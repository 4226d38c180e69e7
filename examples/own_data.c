/* Data of a program's own: batches come from a function, here made as they are asked for: images of 16 x 16 with one
 * bright bar in noise, which lies (class 0) or stands (class 1). A small network learns to tell them apart.
 * Links libplimsoll: cc own_data.c $(pkg-config --cflags --libs plimsoll) */
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 16, BATCH = 64, STEPS = 120, TEST = 1000 };

static plim_context *ctx;

static void must(plim_status status) {
  if (status == PLIM_OK) return;
  (void)fprintf(stderr, "own_data: %s\n", plim_context_error(ctx));
  exit(plim_status_exit(status));
}

static uint32_t draw(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* Write a batch; 0: all is well, any other number ends the run with it. This runs on a thread of the library, ahead of
 * the step. What it writes depends on `test` and `number` alone: so every run sees the same batches. */
static int fill(void *user, const plim_data_batch *batch) {
  uint32_t state = (uint32_t)batch->number * 2u + (uint32_t)batch->test;
  (void)user;
  for (int i = 0; i < batch->count; i++) {
    unsigned char *image = batch->image + i * SIDE * SIDE;
    int stands = (int)(draw(&state) >> 10 & 1), line = (int)(draw(&state) >> 10) % SIDE;
    batch->label[i] = stands;
    for (int p = 0; p < SIDE * SIDE; p++) {
      int lit = (stands ? p % SIDE : p / SIDE) == line;
      image[p] = (unsigned char)((draw(&state) >> 10) % 128 + (lit ? 127 : 0));
    }
  }
  return 0;
}

static plim_net *layers(void) {
  plim_net_options options = plim_net_options_default();
  options.batch = BATCH, options.classes = 2;
  options.channels = 1, options.height = options.width = SIDE;
  options.pixel_scale[0] = 1 / 64.0f, options.pixel_shift[0] = -1;
  plim_net *net;
  must(plim_net_begin(ctx, "bars", &options, &net));
  plim_tensor x = plim_net_conv2d(net, "conv", plim_net_image(net), 8, (plim_net_window){.kernel = 3, .pad = 1}, 1);
  x = plim_net_max_pool(net, "pool", plim_net_relu(net, "relu", x), (plim_net_window){.kernel = 4, .stride = 4});
  x = plim_net_linear(net, "classes", plim_net_flatten(net, "flatten", x), 2);
  plim_net_softmax_xent(net, x);
  return net;
}

static void on_step(void *user, const plim_step_report *r) {
  (void)user;
  if (r->step % 20 == 0) (void)printf("step %3lld: loss %.4f\n", (long long)r->step, (double)r->loss);
}

int main(void) {
  const plim_data_source source = {.struct_bytes = sizeof source,
                                   .name = "bars",
                                   .height = SIDE,
                                   .width = SIDE,
                                   .channels = 1,
                                   .classes = 2,
                                   .train_count = BATCH * STEPS, /* of an epoch */
                                   .test_count = TEST,
                                   .fill = fill};
  plim_trainer_options train = plim_trainer_options_default();
  plim_plan_options plan = plim_plan_options_default();
  plim_dataset *data;
  plim_device *device;
  plim_program *program;
  plim_trainer *trainer;
  plim_evaluation test;
  train.schedule = (plim_rate_schedule){.rate = 0.05f, .momentum = 0.9f, .warmup_steps = 5, .total_steps = STEPS};
  if (plim_context_new(NULL, NULL, &ctx) != PLIM_OK) return 1;
  must(plim_dataset_from_source(ctx, &source, &data));
  must(plim_device_open(ctx, "cpu", NULL, &device));
  plim_net *net = layers();
  must(plim_program_begin(device, net, NULL, &program)); /* modelled costs: nothing is measured */
  must(plim_program_plan(program, &plan));
  must(plim_trainer_open(device, data, program, &train, &trainer));
  must(plim_trainer_run(trainer, STEPS, on_step, NULL));
  must(plim_trainer_evaluate(trainer, &test));
  (void)printf("%lld of %lld test images are told apart\n", (long long)test.correct, (long long)test.counted);
  plim_trainer_close(trainer), plim_program_free(program), plim_net_free(net);
  plim_device_close(device), plim_dataset_free(data), plim_context_free(ctx);
  return test.counted == TEST && test.correct > TEST * 9 / 10 ? 0 : 1;
}
