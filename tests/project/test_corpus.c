/* Documents of every kind as earlier versions wrote them are read for ever: tests/corpus/<commit>/, one folder a
 * version.
 *
 * figures.txt there has a line a command, run in a copy of the folder, and figures of its answer (--json): "key value",
 * or "key <= value" where a later version may do better. A line without a bar only has to end with status 0.
 * PLIM_TEST_WRITE=1 writes the figures again, as the program under test has them. README.md in tests/corpus says how
 * the files were made. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/front/front.h"
#include "runtime/base/file.h"
#include "runtime/graph/plans.h"
#include "runtime/graph/trace.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/verification.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/test_context.h"

#define CORPUS PLIM_SOURCE_DIR "/tests/corpus/27b7c41"

TestSuite(corpus);

/* ---- figures of commands ---- */

/* Fields of answers that have another name since. */
static const struct {
  const char *was, *is;
} renamed[] = {{"lives", "buffers"},
               {"height_bytes", "packed_bytes"},
               {"plan_steps", "commands"},
               {"steps", "commands"},
               {"training_steps", "steps"}};

static double value_of(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  for (size_t i = 0; !value && i < sizeof renamed / sizeof *renamed; i++)
    if (strcmp(renamed[i].was, key) == 0) value = json_object_get(object, renamed[i].is);
  if (json_is_boolean(value)) return json_is_true(value);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

/* "key value key <= value ...": compares; the same with the values found goes to `again`. */
static void compare_figures(const char *command, const char *figures, char *again, size_t size) {
  char key[64], number[64];
  int n = 0;
  json_t *found = plim_test_json();
  again[0] = 0;
  while (sscanf(figures, " %63s%n", key, &n) == 1) {
    figures += n;
    cr_assert_eq(sscanf(figures, " %63s%n", number, &n), 1);
    figures += n;
    int most = strcmp(number, "<=") == 0;
    if (most) cr_assert_eq(sscanf(figures, " %63s%n", number, &n), 1);
    if (most) figures += n;
    double is = value_of(found, key), was = strtod(number, NULL);
    int good = most ? is <= was + 1e-6 : fabs(is - was) <= 1e-6 * fabs(was);
    cr_expect(good || getenv("PLIM_TEST_WRITE"), "%s: \"%s\" is %.9g, it was %s", command, key, is, number);
    size_t used = strlen(again);
    (void)snprintf(again + used, size - used, " %s%s %.9g", key, most ? " <=" : "", is);
  }
  json_decref(found);
}

static void run_line(char *line, char *again, size_t size) {
  char *bar = strstr(line, " |");
  if (!bar) {
    const program_run *run = plim_test_program("%s", line);
    cr_expect_eq(run->status, 0, "%s: exit status %d, %s", line, run->status, run->error);
    (void)snprintf(again, size, "%s\n", line);
    return;
  }
  char figures[1024];
  *bar = 0;
  const program_run *run = plim_test_program("%s --json", line);
  cr_expect_eq(run->status, 0, "%s: exit status %d, %s", line, run->status, run->error);
  if (run->status != 0) return;
  compare_figures(line, bar + 2, figures, sizeof figures);
  (void)snprintf(again, size, "%s |%s\n", line, figures);
}

Test(corpus, documents_of_an_earlier_version_have_the_figures_that_they_had, .fini = plim_test_folder_remove) {
  static char text[1 << 14], again[1 << 14];
  (void)plim_test_folder();
  (void)plim_test_shell("cp -r " CORPUS "/. . && mv cache plimsoll");
  plim_test_expect(0, "");
  FILE *file = fopen(CORPUS "/figures.txt", "r");
  cr_assert_not_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  (void)fclose(file);
  size_t used = 0;
  int lines = 0;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
    run_line(line, again + used, sizeof again - used);
    used += strlen(again + used);
  }
  (void)plim_test_shell("rm -rf plimsoll golden out");
  cr_assert_eq(lines, 19);
  if (!getenv("PLIM_TEST_WRITE")) return;
  file = fopen(CORPUS "/figures.txt", "w");
  cr_assert_not_null(file);
  cr_assert_eq(fwrite(again, 1, used, file), used);
  cr_assert_eq(fclose(file), 0);
}

/* ---- documents that no command reads by itself ---- */

Test(corpus, golden_documents_of_an_earlier_version_are_read) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL, *imported = NULL;
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  plim_plans *plans = NULL;
  plim_trace *trace = NULL;
  cr_expect_eq(plim_graph_load(ctx, CORPUS "/golden/graph.json", &graph), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(plim_graph_load(ctx, CORPUS "/golden/imported.json", &imported), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(plim_profile_load(ctx, CORPUS "/golden/profile.json", &profile), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(plim_plan_load(ctx, CORPUS "/golden/plan.json", &plan), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(plim_plans_load(ctx, CORPUS "/golden/program.json", &plans), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(plim_trace_load(ctx, CORPUS "/golden/trace.jsonl", &trace), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect(plans && plans->n == 2 && plim_plans_find(plans, "train"), "the program has a plan to train");
  plim_trace_free(trace);
  plim_plans_free(plans);
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(imported);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

/* ---- checkpoints ---- */

/* One layer of each kind that has weights; do not change it: the checkpoint is of it. */
static plim_net *small_net(plim_context *ctx) {
  plim_net_options options = plim_net_options_default();
  plim_net *net = NULL;
  options.batch = 16;
  options.height = options.width = 8;
  options.channels = 1;
  plim_dataset_pixels("synthetic", options.pixel_scale, options.pixel_shift);
  cr_assert_eq(plim_net_begin(ctx, "small", &options, &net), PLIM_OK, "%s", plim_context_error(ctx));
  plim_tensor x = plim_net_conv2d(net, "conv", plim_net_image(net), 4, (plim_net_window){.kernel = 3, .pad = 1}, 0);
  x = plim_net_batch_norm_relu(net, "norm", x);
  x = plim_net_flatten(net, "flatten", plim_net_avg_pool(net, "pool", x, (plim_net_window){.kernel = 2, .stride = 2}));
  plim_net_softmax_xent(net, plim_net_linear(net, "classes", x, 10));
  return net;
}

typedef struct rig {
  plim_context *ctx;
  plim_dataset *data;
  plim_device *device;
  plim_program *program;
} rig;

static rig open_rig(void) {
  rig r = {.ctx = plim_test_context()};
  plim_dataset_options d = plim_dataset_options_default();
  plim_device_options one = {.struct_bytes = sizeof one, .threads = 1};
  plim_plan_options plan = plim_plan_options_default();
  d.height = d.width = 8;
  d.channels = 1;
  d.train_count = 100;
  d.test_count = 40;
  cr_assert_eq(plim_dataset_load(r.ctx, "synthetic", &d, &r.data), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_eq(plim_device_open(r.ctx, "cpu", &one, &r.device), PLIM_OK, "%s", plim_context_error(r.ctx));
  plim_net *net = small_net(r.ctx);
  cr_assert_eq(plim_program_begin(r.device, net, NULL, &r.program), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_eq(plim_program_plan(r.program, &plan), PLIM_OK, "%s", plim_context_error(r.ctx));
  plim_net_free(net);
  return r;
}

static void close_rig(rig *r) {
  plim_program_free(r->program);
  plim_device_close(r->device);
  plim_dataset_free(r->data);
  plim_test_context_end(r->ctx);
}

static plim_trainer *load(const rig *r, const char *path) {
  plim_trainer_options o = {.struct_bytes = sizeof o, .seed = 7, .exec.struct_bytes = sizeof o.exec};
  plim_trainer *t = NULL;
  o.schedule = (plim_rate_schedule){.rate = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f, .total_steps = 1000};
  cr_assert_eq(plim_trainer_open(r->device, r->data, r->program, &o, &t), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_assert_eq(plim_checkpoint_load(t, path), PLIM_OK, "%s", plim_context_error(r->ctx));
  return t;
}

Test(corpus, checkpoint_of_an_earlier_version_has_its_step_and_its_loss_and_is_written_again,
     .init = (void (*)(void))plim_test_folder, .fini = plim_test_folder_remove) {
  rig r = open_rig();
  plim_trainer *t = load(&r, CORPUS "/small.ckpt");
  plim_evaluation e;
  plim_state_difference d;
  cr_expect_eq(plim_trainer_steps(t), 200);
  cr_assert_eq(plim_trainer_evaluate(t, &e), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_expect_float_eq(e.loss, 7.15926294, 1e-3, "%.9g", e.loss); /* sums round in another order on another machine */
  cr_assert_eq(plim_checkpoint_save(t, plim_test_path("again.ckpt")), PLIM_OK, "%s", plim_context_error(r.ctx));
  plim_trainer *again = load(&r, plim_test_path("again.ckpt"));
  cr_assert_eq(plim_state_compare(t, again, &d), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_expect_eq(d.different, 0);
  cr_expect_geq(d.values, 9);
  cr_expect_eq(plim_trainer_run(again, 1, NULL, NULL), PLIM_OK, "%s", plim_context_error(r.ctx));
  plim_trainer_close(again);
  plim_trainer_close(t);
  close_rig(&r);
}
