/* A kernel of one's own on a GPU, in a model built by layers: an activation y = max(x, 0)^2 that the library does not
 * have. Its kind is a row, its gradient another; own_cuda.cu has both kernels. The device profiles, plans and captures
 * them like its own.
 * Links libplimsoll: nvcc -c own_cuda.cu && cc own_cuda.c own_cuda.o $(pkg-config --cflags --libs plimsoll) -lcudart */
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 32, SIDE = 8, WIDTH = 64, STEPS = 10 };

/* In own_cuda.cu: queue work on a cudaStream_t; 0, or the error of the launch. */
int square_relu(const float *x, float *y, int n, void *queue);
int square_relu_back(const float *dy, const float *x, float *dx, int n, void *queue);

static plim_context *ctx;

static void must(plim_status status) {
  if (status == PLIM_OK) return;
  (void)fprintf(stderr, "own_cuda: %s\n", plim_context_error(ctx));
  exit(plim_status_exit(status));
}

/* ---- the kinds: operands, shapes and the gradient ---- */

#define ROW(text) .struct_bytes = sizeof(plim_op_row), .name = (text), .version = PLIM_OWN_KIND_VERSION
#define MATRIX(text) \
  { .name = (text), .type = 'f', .shape = "N C" }

static plim_op_row back_row = {ROW("example.square_relu_back"),
                               .in = {MATRIX("dy"), MATRIX("x")},
                               .out = {MATRIX("dx")},
                               .n_pairs = 1,
                               .pair = {{0, 0}}, /* dx may take the place of dy */
                               .doc = "dx = 2 dy max(x, 0)"};
static plim_op_row row = {ROW("example.square_relu"), .in = {MATRIX("x")}, .out = {MATRIX("y")},
                          .gradient = {{"x", PLIM_OP_CUSTOM, "dy x"}}, /* its kind is set below */
                          .doc = "y = max(x, 0)^2"};

/* ---- the kernels: they put work on the queue and do not wait, because the queue may be capturing ---- */

static int run(void *state, const plim_kernel_args *args, void *queue) {
  (void)state;
  return square_relu(args->in[0], args->out[0], BATCH * WIDTH, queue) ? PLIM_KERNEL_FAILED : PLIM_KERNEL_OK;
}

static int run_back(void *state, const plim_kernel_args *args, void *queue) {
  (void)state;
  const int error = square_relu_back(args->in[0], args->in[1], args->out[0], BATCH * WIDTH, queue);
  return error ? PLIM_KERNEL_FAILED : PLIM_KERNEL_OK;
}

static plim_op_kind add_kinds(plim_device *device) {
  const plim_own_kernel forward = {.struct_bytes = sizeof forward, .name = "plain", .run = run};
  const plim_own_kernel backward = {.struct_bytes = sizeof backward, .name = "plain", .run = run_back};
  plim_op_kind kind;
  const char *fault = plim_op_kind_add(&back_row, &row.gradient[0].kind);
  if (!fault) fault = plim_op_kind_add(&row, &kind);
  if (fault) {
    (void)fprintf(stderr, "own_cuda: %s\n", fault);
    exit(1);
  }
  must(plim_device_add_kernel(device, kind, &forward));
  must(plim_device_add_kernel(device, row.gradient[0].kind, &backward));
  return kind;
}

/* ---- the model: two hidden layers with that activation ---- */

static plim_net *layers(plim_op_kind kind) {
  plim_net_options options = plim_net_options_default();
  options.batch = BATCH, options.channels = 1, options.height = options.width = SIDE;
  plim_net *net;
  must(plim_net_begin(ctx, "own", &options, &net));
  plim_tensor x = plim_net_flatten(net, "flatten", plim_net_image(net));
  x = plim_net_linear(net, "hidden1", x, WIDTH);
  x = plim_net_op(net, "square1", kind, NULL, 1, &x, 0, NULL);
  x = plim_net_linear(net, "hidden2", x, WIDTH);
  x = plim_net_op(net, "square2", kind, NULL, 1, &x, 0, NULL);
  plim_net_softmax_xent(net, plim_net_linear(net, "classes", x, options.classes));
  return net;
}

static void on_step(void *user, const plim_step_report *r) {
  (void)user;
  (void)printf("step %lld: loss %.4f\n", (long long)r->step, (double)r->loss);
}

int main(void) {
  plim_dataset_options noise = plim_dataset_options_default();
  plim_plan_options plan = plim_plan_options_default();
  plim_profiler_options profiling = plim_profiler_options_default();
  plim_trainer_options train = plim_trainer_options_default();
  plim_dataset *data;
  plim_device *device;
  plim_program *program;
  plim_trainer *trainer;
  profiling.cache_dir = ""; /* measure anew each time */
  noise.height = noise.width = SIDE, noise.channels = 1;
  train.schedule = (plim_rate_schedule){.rate = 0.01f, .momentum = 0.9f, .total_steps = STEPS};
  if (plim_context_new(NULL, NULL, &ctx) != PLIM_OK) return 1;
  must(plim_dataset_load(ctx, "synthetic", &noise, &data));
  must(plim_device_open(ctx, "cuda:0", NULL, &device));
  plim_net *net = layers(add_kinds(device));
  must(plim_program_begin(device, net, &profiling, &program)); /* measures every op, ours too */
  must(plim_program_plan(program, &plan));
  must(plim_trainer_open(device, data, program, &train, &trainer));
  must(plim_trainer_run(trainer, STEPS, on_step, NULL));
  plim_trainer_close(trainer), plim_program_free(program), plim_net_free(net);
  plim_device_close(device), plim_dataset_free(data), plim_context_free(ctx);
  return 0;
}
