/* runtime/profile/roofline.c: profiles of the kernels of a device without a measurement. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/device/device_cuda.h"
#include "runtime/profile/profiler.h"
#include "tests/support/device_under_test.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/small_graph.h"

static plim_context *ctx;
static plim_graph *graph;

static void setup(void) {
  ctx = plim_test_context();
  graph = plim_test_small_graph(ctx);
}
static void teardown(void) {
  plim_graph_free(graph);
  plim_context_free(ctx);
}
TestSuite(roofline, .init = setup, .fini = teardown);

Test(roofline, modelled_costs_have_the_real_variants_and_workspaces_of_the_device) {
  plim_device *device = plim_test_device(ctx, 1);
  plim_profile *profile = NULL;
  cr_assert_eq(plim_profile_roofline(device, graph, &profile), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(profile->measured, 0);
  for (int32_t op = 0; op < graph->n_ops; op++) {
    plim_kernel_info info[PLIM_KERNEL_VARIANTS];
    plim_op_desc desc;
    plim_graph_describe(graph, op, &desc);
    int n = device->api->kernels.variants(device, &desc, info, PLIM_KERNEL_VARIANTS);
    cr_assert_eq(n, profile->first[op + 1] - profile->first[op]);
    for (int i = 0; i < n; i++) {
      const plim_variant *variant = &profile->variant[profile->first[op] + i];
      cr_assert_str_eq(variant->name, info[i].name);
      cr_assert_eq(variant->workspace_bytes, info[i].workspace_bytes);
      cr_assert_gt(variant->time_ns, 0);
    }
  }
  plim_profile_free(profile);
  plim_device_close(device);
}

/* One product of squares x, w and y with sides of these sizes. */
static plim_graph *make_product(plim_dtype dtype, const int64_t side[3]) {
  plim_graph_builder *builder = NULL;
  plim_graph *product = NULL;
  int32_t value, op;
  cr_assert_eq(plim_graph_begin(ctx, "product", 1, &builder), PLIM_OK);
  for (int i = 0; i < 3; i++) {
    const char *names[] = {"x", "w", "y"};
    const plim_shape shape = plim_shape_make(dtype, PLIM_FLAT, 2, (int64_t[]){side[i], side[i]});
    cr_assert_eq(plim_graph_add(builder, names[i], i < 2 ? PLIM_ROLE_INPUT : PLIM_ROLE_OUTPUT, &shape, &value),
                 PLIM_OK);
  }
  const plim_op_spec spec = {
      .name = "product", .kind = PLIM_OP_LINEAR, .n_in = 2, .in = {0, 1}, .n_out = 1, .out = {2}};
  cr_assert_eq(plim_graph_add_op(builder, &spec, &op), PLIM_OK);
  cr_assert_eq(plim_graph_end(builder, &product), PLIM_OK, "%s", plim_context_error(ctx));
  return product;
}

/* Modelled times of the variants of one large product of this type; returns how many. */
static int model_product(plim_device *device, plim_dtype dtype, plim_variant variant[PLIM_KERNEL_VARIANTS]) {
  plim_graph *product = make_product(dtype, (int64_t[]){2048, 2048, 2048});
  plim_profile *profile = NULL;
  cr_assert_eq(plim_profile_roofline(device, product, &profile), PLIM_OK);
  int n = profile->first[1];
  memcpy(variant, profile->variant, (size_t)n * sizeof *variant);
  plim_profile_free(profile);
  plim_graph_free(product);
  return n;
}

Test(roofline, an_op_that_no_kernel_takes_is_refused_with_the_rule_that_it_does_not_follow) {
  plim_graph *product = make_product(PLIM_F32, (int64_t[]){16, 17, 16});
  plim_profile *profile = NULL;
  plim_device *cpu = NULL;
  cr_assert_eq(plim_device_open(ctx, "cpu", NULL, &cpu), PLIM_OK);
  cr_assert_eq(plim_profile_roofline(cpu, product, &profile), PLIM_EUNSUPPORTED);
  cr_assert_str_eq(
      plim_context_error(ctx),
      "device cpu has no kernel for op \"product\" (linear): w of a linear has the sizes [17 17], which do "
      "not follow its rule [O I] and the other operands");
  cr_assert_null(profile);
  plim_device_close(cpu);
  plim_graph_free(product);
}

Test(roofline, modelled_products_of_bf16_are_faster_by_a_library_alone) {
  plim_variant floats[PLIM_KERNEL_VARIANTS], halves[PLIM_KERNEL_VARIANTS];
  plim_device *cpu = NULL;
  plim_device_options options = {.struct_bytes = sizeof options, .threads = 1};
  cr_assert_eq(plim_device_open(ctx, "cpu", &options, &cpu), PLIM_OK);
  int n = model_product(cpu, PLIM_F32, floats), m = model_product(cpu, PLIM_BF16, halves);
  cr_assert_str_eq(floats[n - 1].name, "single-source");
  cr_assert_str_eq(halves[m - 1].name, "single-source");
  cr_assert_eq(halves[m - 1].time_ns, floats[n - 1].time_ns);
  if (n > 1 && m > 1) cr_assert_lt(halves[0].time_ns, floats[0].time_ns * 2 / 3);
  plim_device_close(cpu);
}

Test(roofline, modelled_products_of_a_gpu_are_far_faster_by_a_library) {
  plim_variant variant[PLIM_KERNEL_VARIANTS];
  fake_cuda_options options = fake_cuda_options_default();
  plim_device *gpu = NULL;
  options.blas = 1;
  cr_assert_eq(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &gpu), PLIM_OK);
  const int n = model_product(gpu, PLIM_F32, variant);
  cr_assert_str_eq(variant[0].name, "cublas");
  cr_assert_str_eq(variant[n - 1].name, "single-source");
  cr_assert_lt(variant[0].time_ns, variant[n - 1].time_ns / 20);
  plim_device_close(gpu);
}
