/* Keep-all bytes of ResNet-20, batch 128, 28 x 28 x 1, against a count by hand.
 *
 * Unit A: one activation of stage 1, [128][16][28][28] floats or bf16. One of stage 2 is A/2, one of stage 3 A/4.
 *
 * What forward leaves for backward, in units:
 *   a convolution's output      its batch norm's backward reads it
 *   a batch norm's output       the next convolution's weight gradient reads it, unless nothing convolves it
 *   a projection's batch norm   nothing: the sum is written over it, in place
 * so the stem leaves 2 A, a block 4 (conv1, bn1, conv2, bn2), a block that projects 5, and the last block only 3
 * once the pool has read its output.
 *
 * From there backward only shrinks: a batch norm's gradient is written over the convolution's output that it reads,
 * and a weight gradient is the last reader of its convolution's input. The highest point is the weight gradient
 * of the last block's conv2: everything that forward left, the gradient that waits for the shortcut (one of
 * stage 3), and the weight gradient itself. After it the data gradient takes the place of bn1's output: equal
 * bytes.
 *
 * In bf16 forward also leaves a copy of the weights for each data gradient that is to come: the stem has none, that of
 * the classifier is over. */
#include <criterion/criterion.h>

#include "planner/planner.h"
#include "runtime/net/net.h"
#include "tests/support/small_graph.h"

enum { BATCH = 128, SIZE = 28, CLASSES = 10, BLOCKS = 3 };

static int64_t element = 4; /* bytes of an activation's */

static int64_t rounded(int64_t bytes) {
  return plim_align_up(bytes, PLIM_ALIGN);
}

/* One activation of stage 1, 2 or 3; its mask has a bit an element. */
static int64_t activation(int stage) {
  return rounded((int64_t)BATCH * (16 << (stage - 1)) * (SIZE >> (stage - 1)) * (SIZE >> (stage - 1)) * element);
}
static int64_t mask(int stage) {
  return rounded(activation(stage) / (8 * element));
}

/* Mean and variance, or scale and shift, of the 16, 32 or 64 channels of a stage. */
static int64_t statistics(int stage) {
  return rounded(2 * (16 << (stage - 1)) * 4);
}

/* A parameter and its velocity. */
static int64_t trained(int64_t elements) {
  return 2 * rounded(elements * 4);
}

/* A convolution from `in` channels and its batch norm: weights, scale and shift with velocities, running statistics. */
static int64_t persistent_conv(int stage, int64_t in, int64_t taps) {
  int64_t out = 16 << (stage - 1);
  return trained(out * in * taps) + trained(2 * out) + statistics(stage);
}

static int64_t persistent_by_hand(void) {
  int64_t sum = persistent_conv(1, 1, 9);
  for (int stage = 1; stage <= 3; stage++) {
    int64_t out = 16 << (stage - 1), in = stage == 1 ? out : out / 2;
    sum += persistent_conv(stage, in, 9) + (2 * BLOCKS - 1) * persistent_conv(stage, out, 9);
    if (stage > 1) sum += persistent_conv(stage, in, 1);
  }
  int64_t classifier = trained(64 * CLASSES) + trained(CLASSES);
  int64_t staging = rounded(BATCH * SIZE * SIZE) + rounded(BATCH * 4);
  return sum + classifier + staging;
}

static int64_t copy(int stage, int64_t in, int64_t taps) {
  return element == 2 ? rounded((16 << (stage - 1)) * in * taps * element) : 0;
}

/* Copies of weights that data gradients will read. */
static int64_t copies_by_hand(void) {
  int64_t sum = 0;
  for (int stage = 1; stage <= 3; stage++) {
    int64_t out = 16 << (stage - 1), in = stage == 1 ? out : out / 2;
    sum += copy(stage, in, 9) + (2 * BLOCKS - 1) * copy(stage, out, 9);
    if (stage > 1) sum += copy(stage, in, 1);
  }
  return sum;
}

/* Everything that forward leaves for backward, the last batch norm's own part (mask, statistics) gone. */
static int64_t left_by_hand(void) {
  int64_t sum = rounded((int64_t)BATCH * SIZE * SIZE * element); /* the image as numbers: the stem's weight gradient */
  sum += 2 * activation(1) + mask(1) + statistics(1);            /* the stem */
  for (int stage = 1; stage <= 3; stage++) {
    sum += BLOCKS * (4 * activation(stage) + 2 * mask(stage) + 2 * statistics(stage));
    if (stage > 1) sum += activation(stage) + statistics(stage); /* the projection */
  }
  return sum - activation(3) - mask(3) - statistics(3);
}

static int64_t keep_all_by_hand(void) {
  int64_t waiting_gradient = activation(3);
  int64_t weight_gradient = rounded(64 * 64 * 9 * 4);
  int64_t hyper = rounded(16), loss = rounded(4), hits = rounded(8);
  return persistent_by_hand() + left_by_hand() + copies_by_hand() + waiting_gradient + weight_gradient + hyper + loss +
         hits;
}

static plim_plan *keep_all(plim_context *ctx, plim_precision math, plim_graph **graph) {
  plim_net_options options = plim_net_options_default();
  options.precision = math;
  options.batch = BATCH;
  options.channels = 1;
  options.height = options.width = SIZE;
  plim_plan_options plan_options = plim_plan_options_default();
  plim_roofline roofline = {100, 10, 1000};
  plim_net *net = NULL;
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  cr_assert_eq(plim_model_make(ctx, "resnet20", &options, &net), PLIM_OK);
  cr_assert_eq(plim_net_train_graph(net, graph), PLIM_OK);
  cr_assert_eq(plim_profile_model(*graph, &roofline, &profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(ctx, *graph, profile, &plan_options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  plim_profile_free(profile);
  plim_net_free(net);
  return plan;
}

/* The peak that was counted, which is what was planned. */
static int64_t check(plim_precision math) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  plim_plan *plan = keep_all(ctx, math, &graph);
  int64_t peak = plan->peak_bytes;
  cr_assert_eq(plim_graph_persistent_bytes(graph), persistent_by_hand());
  cr_assert_eq(peak, keep_all_by_hand(), "%lld planned, %lld by hand", (long long)peak, (long long)keep_all_by_hand());
  cr_assert_eq(plan->arena_bytes, peak, "packing costs %lld bytes", (long long)(plan->arena_bytes - peak));
  cr_assert_eq(plan->time_ns, plan->keep_all_ns);
  cr_assert_eq(plan->n_commands, graph->n_ops);
  plim_plan_free(plan);
  plim_graph_free(graph);
  plim_context_free(ctx);
  return peak;
}

Test(keep_all_bytes, of_resnet20_without_workspaces_are_those_counted_by_hand) {
  (void)check(PLIM_PRECISION_FP32);
}

Test(keep_all_bytes, of_resnet20_in_bf16_are_about_half_and_those_counted_by_hand) {
  int64_t whole = check(PLIM_PRECISION_FP32);
  element = 2;
  int64_t half = check(PLIM_PRECISION_BF16);
  cr_assert(half > whole * 45 / 100 && half < whole * 53 / 100, "%lld of %lld bytes", (long long)half,
            (long long)whole);
}
