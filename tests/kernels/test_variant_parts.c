/* Variants in parts: they compute what the whole computes, and a profile has those alone whose results are equal. */
#include "kernels/parts.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/device/desc.h"
#include "runtime/exec/exec.h"
#include "runtime/net/net.h"
#include "runtime/profile/profiler.h"
#include "tests/support/folder.h"
#include "tests/support/op_memory.h"
#include "tests/support/product_cases.h"
#include "tests/support/product_reference.h"
#include "tests/support/test_context.h"

enum { VARIANTS = 16, THREADS = 2, NAME_BYTES = 32 };
/* Of the cases of a product, one in so many is divided. */
#ifdef PLIM_SANITIZED
enum { DIVIDED = 15 };
#else
enum { DIVIDED = 5 };
#endif

static plim_kernel_table *table;

static void setup(void) {
  cr_assert_eq(plim_kernel_table_new(NULL, NULL, &table), PLIM_KERNEL_OK);
}

static void teardown(void) {
  plim_kernel_table_free(table);
}
TestSuite(parts, .init = setup, .fini = teardown);

/* The result of a variant, as a hash, checked against the reference; 0 when the op cannot be divided so. */
static uint64_t result_of(const plim_op_desc *desc, const char *variant) {
  plim_kernel *kernel = NULL;
  op_memory m;
  int made = plim_kernel_make(table, desc, variant, THREADS, &kernel);
  if (made == PLIM_KERNEL_UNSUPPORTED) return 0;
  cr_assert_eq(made, PLIM_KERNEL_OK, "%s", variant);
  op_memory_make(&m, desc, plim_kernel_workspace(kernel));
  op_memory_randomize(&m, 5);
  op_memory_fill(&m, 0xff);
  uint64_t inputs = op_memory_hash(&m, 0);
  cr_assert_eq(plim_kernel_run(kernel, &m.args), PLIM_KERNEL_OK);
  double *expected = malloc((size_t)plim_shape_elements(&desc->out[0]) * sizeof *expected);
  product_reference(desc, m.in, expected);
  double error = relative_rms(&desc->out[0], m.out[0], expected);
  double limit = (strstr(variant, "winograd") ? 1e-5 : 2e-6) + (desc->out[0].dtype == PLIM_BF16 ? 1.0 / 256 : 0);
  cr_assert_lt(error, limit, "%s by %s is off by %g", product_case_text(desc), variant, error);
  cr_assert(op_memory_guards_intact(&m), "%s by %s wrote beside its memory", product_case_text(desc), variant);
  cr_assert_eq(op_memory_hash(&m, 0), inputs, "%s by %s changed an input", product_case_text(desc), variant);
  uint64_t hash = op_memory_hash(&m, 1);
  free(expected);
  op_memory_free(&m);
  plim_kernel_free(kernel);
  return hash;
}

static const char divisions[] = "nci";
static const int counts[] = {2, 3, 4};

/* Try every way to divide one variant; how many there are. Equal ones are counted. */
static int try_all(const plim_op_desc *desc, const char *whole, int *equal) {
  int tried = 0;
  uint64_t expected = result_of(desc, whole);
  for (int d = 0; divisions[d]; d++) {
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
      char name[2 * NAME_BYTES];
      (void)snprintf(name, sizeof name, "%.32s@%c%d", whole, divisions[d], counts[k]);
      uint64_t hash = result_of(desc, name);
      tried += hash != 0;
      *equal += hash == expected;
    }
  }
  return tried;
}

Test(parts, compute_what_the_whole_computes_in_every_layout_and_touch_nothing_else) {
  plim_op_desc desc;
  int tried = 0, equal = 0;
  for (int i = 0; product_case(i, &desc); i += DIVIDED) {
    plim_kernel_info info[VARIANTS];
    int n = plim_kernel_list(table, &desc, THREADS, info, VARIANTS);
    for (int v = 0; v < n; v++) tried += try_all(&desc, info[v].name, &equal);
  }
  cr_assert_gt(tried, 250 / DIVIDED, "only %d divisions were there to be tried", tried);
  cr_assert_gt(equal, tried / 2, "only %d of %d divisions give the bits of the whole", equal, tried);
}

Test(parts, listed_ones_need_less_than_the_whole_and_exactly_what_they_say) {
  plim_op_desc desc;
  for (int i = 0; product_case(i, &desc); i += 3) {
    plim_kernel_info info[VARIANTS], part[VARIANTS];
    int n = plim_kernel_list(table, &desc, THREADS, info, VARIANTS);
    for (int v = 0; v < n; v++) {
      int parts = plim_kernel_list_parts(table, &desc, THREADS, &info[v], part, VARIANTS);
      for (int p = 0; p < parts && p < VARIANTS; p++) {
        plim_kernel *kernel = NULL;
        char whole[NAME_BYTES];
        cr_assert(plim_parts_whole(part[p].name, whole));
        cr_assert_str_eq(whole, info[v].name);
        cr_assert_str_eq(part[p].numerics_key, part[p].name, "equality is not assumed");
        cr_assert_lt(part[p].workspace_bytes, info[v].workspace_bytes);
        cr_assert_eq(plim_kernel_make(table, &desc, part[p].name, THREADS, &kernel), PLIM_KERNEL_OK);
        cr_assert_eq(plim_kernel_workspace(kernel), part[p].workspace_bytes);
        plim_kernel_free(kernel);
      }
    }
  }
}

static int threads_of_process(void) {
  DIR *tasks = opendir("/proc/self/task");
  int n = 0;
  cr_assert_not_null(tasks);
  for (const struct dirent *task; (task = readdir(tasks)) != NULL;) n += task->d_name[0] != '.';
  (void)closedir(tasks);
  return n;
}

/* Parts of channels of an NHWC image are copied row by row. */
Test(parts, copies_use_the_threads_of_the_kernel_and_not_those_of_the_program) {
  plim_op_desc desc = {.kind = PLIM_OP_CONV2D, .attrs = {.kernel = {1, 1}, .stride = {1, 1}}, .n_in = 2, .n_out = 1};
  plim_kernel *kernel = NULL;
  op_memory m;
  desc.in[0] = desc.out[0] = plim_shape_make(PLIM_F32, PLIM_NHWC, 4, (int64_t[]){4, 32, 8, 8});
  desc.in[1] = plim_shape_make(PLIM_F32, PLIM_FLAT, 4, (int64_t[]){32, 32, 1, 1});
  omp_set_num_threads(3);
  cr_assert_eq(plim_kernel_make(table, &desc, "single-source@c2", 1, &kernel), PLIM_KERNEL_OK);
  op_memory_make(&m, &desc, plim_kernel_workspace(kernel));
  op_memory_randomize(&m, 5);
  const int before = threads_of_process();
  cr_assert_eq(plim_kernel_run(kernel, &m.args), PLIM_KERNEL_OK);
  cr_assert_eq(threads_of_process(), before);
  op_memory_free(&m);
  plim_kernel_free(kernel);
}

Test(parts, names_that_are_none_are_refused) {
  static const char *const names[] = {"@",
                                      "@n2",
                                      "single-source@",
                                      "single-source@n",
                                      "single-source@n1",
                                      "single-source@n02",
                                      "single-source@n2x",
                                      "single-source@q2",
                                      "single-source@n5",
                                      "single-source@n-2",
                                      "nothing@n2",
                                      "single-source@n2@n2@"};
  plim_op_desc desc = {.kind = PLIM_OP_CONV2D, .attrs = {.kernel = {1, 1}, .stride = {1, 1}}, .n_in = 2, .n_out = 1};
  desc.in[0] = desc.out[0] = plim_shape_make(PLIM_F32, PLIM_NHWC, 4, (int64_t[]){4, 16, 8, 8});
  desc.in[1] = plim_shape_make(PLIM_F32, PLIM_FLAT, 4, (int64_t[]){16, 16, 1, 1});
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    plim_kernel *kernel = NULL;
    cr_assert_eq(plim_kernel_make(table, &desc, names[i], THREADS, &kernel), PLIM_KERNEL_UNSUPPORTED, "%s", names[i]);
  }
  plim_kernel *kernel = NULL;
  cr_assert_eq(plim_kernel_make(table, &desc, "single-source@n4", THREADS, &kernel), PLIM_KERNEL_OK);
  plim_kernel_free(kernel);
}

/* ---- what a profile finds ---- */

static plim_context *ctx;
static plim_device *device;

static void open_device(void) {
  plim_device_options options = {.struct_bytes = sizeof options, .threads = THREADS};
  ctx = plim_test_context();
  (void)plim_test_folder();
  cr_assert_eq(plim_device_open(ctx, "cpu", &options, &device), PLIM_OK, "%s", plim_context_error(ctx));
}

static void close_device(void) {
  plim_device_close(device);
  plim_context_free(ctx);
  plim_test_folder_remove();
}
TestSuite(parts_found, .init = open_device, .fini = close_device);

static plim_profile *measure(const plim_graph *graph, int repeats) {
  plim_profiler_options options = plim_profiler_options_default();
  plim_profile *profile = NULL;
  options.repeats = repeats;
  options.cache_dir = plim_test_path(".");
  cr_assert_eq(plim_profile_measure(device, graph, &options, &profile), PLIM_OK, "%s", plim_context_error(ctx));
  return profile;
}

/* Run a variant of an op on inputs that the profiler does not use. */
static uint64_t bits_of(const plim_op_desc *desc, const plim_variant *v) {
  op_memory m;
  void *kernel = NULL;
  op_memory_make(&m, desc, v->workspace_bytes);
  op_memory_randomize(&m, 11);
  op_memory_fill(&m, 0xff);
  cr_assert_eq(device->api->kernels.prepare(device, desc, v->name, &kernel), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(device->api->kernels.run(device, 0, kernel, &m.args), PLIM_OK, "%s", plim_context_error(ctx));
  uint64_t hash = op_memory_hash(&m, 1);
  device->api->kernels.unprepare(device, kernel);
  op_memory_free(&m);
  return hash;
}

/* Every part in the profile has the numerics key of its whole, and its bits; how many parts there are. */
static int check_parts(const plim_graph *graph, const plim_profile *profile) {
  int found = 0;
  for (int32_t op = 0; op < graph->n_ops; op++) {
    const plim_variant *v = &profile->variant[profile->first[op]];
    int32_t n = profile->first[op + 1] - profile->first[op];
    plim_op_desc desc;
    plim_desc_of(graph, op, &desc);
    for (int32_t i = 0; i < n; i++) {
      char whole[NAME_BYTES];
      int32_t w = 0;
      if (!plim_parts_whole(v[i].name, whole)) continue;
      while (w < n && strcmp(v[w].name, whole) != 0) w++;
      cr_assert_lt(w, n, "%s without its whole", v[i].name);
      cr_assert_str_eq(v[i].numerics_key, v[w].numerics_key);
      cr_assert_lt(v[i].workspace_bytes, v[w].workspace_bytes);
      cr_assert_eq(bits_of(&desc, &v[i]), bits_of(&desc, &v[w]), "%s differs from %s", v[i].name, whole);
      found++;
    }
  }
  return found;
}

static void expect_equal(const plim_profile *a, const plim_profile *b) {
  cr_assert_eq(a->first[a->n_ops], b->first[b->n_ops]);
  for (int32_t i = 0; i < a->first[a->n_ops]; i++) {
    cr_assert_str_eq(a->variant[i].name, b->variant[i].name);
    cr_assert_str_eq(a->variant[i].numerics_key, b->variant[i].numerics_key);
    cr_assert_eq(a->variant[i].time_ns, b->variant[i].time_ns);
    cr_assert_eq(a->variant[i].workspace_bytes, b->variant[i].workspace_bytes);
  }
}

Test(parts_found, those_of_a_networks_large_workspaces_give_the_bits_of_the_whole_and_are_kept_in_the_cache) {
  plim_net_options options = plim_net_options_default();
  plim_net *net = NULL;
  plim_graph *graph = NULL;
  if (strcmp(plim_kernel_library(), "none") == 0) cr_skip_test("built without oneDNN");
  options.batch = 2;
  options.height = options.width = 16;
  options.channels = 3;
  options.classes = 10;
  options.layout = PLIM_NHWC;
  cr_assert_eq(plim_model_make(ctx, "resnet18", &options, &net), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_net_train_graph(net, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  plim_profile *first = measure(graph, 1), *second = measure(graph, 1);
  cr_assert_gt(check_parts(graph, first), 0);
  expect_equal(first, second);
  plim_profile_free(first);
  plim_profile_free(second);
  plim_graph_free(graph);
  plim_net_free(net);
}

/* Kernels of the test's own, with a workspace for each image. Both copy by memcpy, so that no convolution is as fast on
 * a loaded machine either. One does nothing else: what an image gives depends on that image alone. The other scales
 * its first element by the number of images that it is given. */
typedef struct own_state {
  int64_t elements;
  float factor;
} own_state;

static int64_t own_runs;

static int own_list(const char *name, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  if (capacity < 1) return 1;
  memset(info, 0, sizeof *info);
  (void)snprintf(info->name, sizeof info->name, "%s", name);
  (void)snprintf(info->numerics_key, sizeof info->numerics_key, "%s", name);
  info->workspace_bytes = op->in[0].dim[0] << 20;
  return 1;
}

static int honest_list(const plim_op_desc *op, int threads, plim_kernel_info *info, int capacity) {
  (void)threads;
  return own_list("honest", op, info, capacity);
}

static int counting_list(const plim_op_desc *op, int threads, plim_kernel_info *info, int capacity) {
  (void)threads;
  return own_list("counting", op, info, capacity);
}

static int own_make(const void *user, const plim_op_desc *op, const char *variant, int threads,
                    const plim_kernel_memory *memory, void **out) {
  own_state *state = plim_kernel_allocate(memory, 1, sizeof *state);
  (void)user, (void)threads;
  state->elements = plim_shape_elements(&op->out[0]);
  state->factor = strcmp(variant, "counting") == 0 ? (float)op->in[0].dim[0] : 1;
  *out = state;
  return PLIM_KERNEL_OK;
}

static void own_free(const plim_kernel_memory *memory, void *state) {
  plim_kernel_release(memory, state, 1, sizeof(own_state));
}

static int own_run(void *opaque, const plim_kernel_args *args) {
  const own_state *state = opaque;
  const float *in = args->in[0];
  float *out = args->out[0];
  own_runs++;
  memcpy(out, in, (size_t)state->elements * sizeof *out);
  out[0] *= state->factor;
  return PLIM_KERNEL_OK;
}

/* One convolution, in and out alike. */
static plim_graph *make_convolution(void) {
  plim_graph_builder *builder = NULL;
  plim_graph *graph = NULL;
  plim_shape x = plim_shape_make(PLIM_F32, PLIM_NHWC, 4, (int64_t[]){4, 64, 32, 32});
  plim_shape w = plim_shape_make(PLIM_F32, PLIM_FLAT, 4, (int64_t[]){64, 64, 3, 3});
  plim_op_spec spec = {.name = "conv", .kind = PLIM_OP_CONV2D, .n_in = 2, .n_out = 1, .time_ns = -1};
  int32_t op;
  for (int i = 0; i < 2; i++) spec.attrs.kernel[i] = 3, spec.attrs.stride[i] = 1, spec.attrs.pad[i] = 1;
  cr_assert_eq(plim_graph_begin(ctx, "conv", 4, &builder), PLIM_OK);
  cr_assert_eq(plim_graph_add(builder, "x", PLIM_ROLE_INPUT, &x, &spec.in[0]), PLIM_OK);
  cr_assert_eq(plim_graph_add(builder, "w", PLIM_ROLE_PARAM, &w, &spec.in[1]), PLIM_OK);
  cr_assert_eq(plim_graph_add(builder, "y", PLIM_ROLE_OUTPUT, &x, &spec.out[0]), PLIM_OK);
  cr_assert_eq(plim_graph_add_op(builder, &spec, &op), PLIM_OK);
  cr_assert_eq(plim_graph_end(builder, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

/* Parts of our own kernel in the profile. */
static int own_parts(const plim_profile *profile, const char *own) {
  int n = 0;
  for (int32_t i = 0; i < profile->first[1]; i++) {
    char whole[NAME_BYTES];
    n += plim_parts_whole(profile->variant[i].name, whole) && strcmp(whole, own) == 0;
  }
  return n;
}

static void expect_own_parts(int (*list)(const plim_op_desc *, int, plim_kernel_info *, int), const char *name, int n) {
  plim_kernel_type type = {sizeof type, PLIM_OP_CONV2D, "own", list, own_make, own_run, own_free, NULL};
  plim_graph *graph = make_convolution();
  cr_assert_eq(plim_kernel_table_add(device->state, &type), PLIM_KERNEL_OK);
  plim_profile *first = measure(graph, 3);
  cr_assert_eq(own_parts(first, name), n, "%d parts of %s", own_parts(first, name), name);
  int64_t runs = own_runs;
  plim_profile *second = measure(graph, 3);
  cr_assert_eq(own_runs, runs, "what is known is run again");
  expect_equal(first, second);
  plim_profile_free(first);
  plim_profile_free(second);
  plim_graph_free(graph);
}

Test(parts_found, parts_whose_images_are_computed_alike_are_in_the_profile_under_the_key_of_the_whole) {
  expect_own_parts(honest_list, "honest", 2);
}

Test(parts_found, parts_that_give_other_bits_are_dropped_and_not_run_again) {
  expect_own_parts(counting_list, "counting", 0);
}

Test(parts_found, a_modelled_profile_has_none_since_nothing_was_compared) {
  plim_kernel_type type = {sizeof type, PLIM_OP_CONV2D, "own", honest_list, own_make, own_run, own_free, NULL};
  plim_graph *graph = make_convolution();
  plim_profile *profile = NULL;
  cr_assert_eq(plim_kernel_table_add(device->state, &type), PLIM_KERNEL_OK);
  cr_assert_eq(plim_profile_roofline(device, graph, &profile), PLIM_OK);
  cr_assert_eq(own_parts(profile, "honest"), 0);
  plim_profile_free(profile);
  plim_graph_free(graph);
}

/* ---- what the executor believes of a plan ---- */

/* A plan of the convolution that runs two parts of our own kernel and says that they have the numerics key. */
static plim_plan *plan_of_parts(const plim_graph *graph, const char *name, const char *numerics_key) {
  plim_plan_options options = plim_plan_options_default();
  plim_variant variant = {.time_ns = 1000, .workspace_bytes = 2 << 20};
  const int32_t first[] = {0, 1};
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  (void)snprintf(variant.name, sizeof variant.name, "%s@n2", name);
  (void)snprintf(variant.numerics_key, sizeof variant.numerics_key, "%s", numerics_key);
  cr_assert_eq(plim_profile_make(graph, &device->machine, 1, first, &variant, &profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  plim_profile_free(profile);
  return plan;
}

static plim_status open_plan_of_parts(int (*list)(const plim_op_desc *, int, plim_kernel_info *, int), const char *name,
                                      const char *numerics_key) {
  plim_kernel_type type = {sizeof type, PLIM_OP_CONV2D, "own", list, own_make, own_run, own_free, NULL};
  plim_graph *graph = make_convolution();
  cr_assert_eq(plim_kernel_table_add(device->state, &type), PLIM_KERNEL_OK);
  plim_plan *plan = plan_of_parts(graph, name, numerics_key);
  const plim_graph *graphs[] = {graph};
  const plim_plan *plans[] = {plan};
  plim_exec *exec = NULL;
  plim_status status = plim_exec_open(ctx, device, NULL, 1, graphs, plans, &exec);
  plim_exec_close(exec);
  int64_t runs = own_runs;
  exec = NULL;
  cr_assert_eq(plim_exec_open(ctx, device, NULL, 1, graphs, plans, &exec), status);
  plim_exec_close(exec);
  if (status == PLIM_OK) cr_assert_eq(own_runs, runs, "what is known is compared again");
  plim_plan_free(plan);
  plim_graph_free(graph);
  return status;
}

Test(parts_found, a_plan_whose_parts_give_the_bits_that_it_says_is_opened) {
  cr_assert_eq(open_plan_of_parts(honest_list, "honest", "honest"), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_gt(own_runs, 0, "they were compared");
}

Test(parts_found, a_plan_that_gives_its_parts_the_key_of_other_bits_is_refused) {
  cr_assert_eq(open_plan_of_parts(counting_list, "counting", "counting"), PLIM_EPLAN);
  cr_assert_not_null(strstr(plim_context_error(ctx), "its bits are those of \"counting\""), "%s",
                     plim_context_error(ctx));
}

Test(parts_found, a_plan_whose_parts_have_a_key_of_their_own_is_opened_and_nothing_compared) {
  cr_assert_eq(open_plan_of_parts(counting_list, "counting", "counting@n2"), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(own_runs, 0);
}
