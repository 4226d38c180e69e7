/* Variants that fail or compute something else, over the fake GPU: the profile drops them and says why, and the
 * run continues with what is left. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/profile/profiler.h"
#include "tests/support/fake_cudnn.h"
#include "tests/support/folder.h"
#include "tests/support/gpu_rig.h"

static fake_cuda_options gpu(void) {
  fake_cuda_options options = fake_cuda_options_default();
  options.blas = options.dnn = 1;
  return options;
}

/* Measure the training step of a small gpt in bf16, of which one op is attention and one its gradient. */
static plim_status measure_gpt(gpu_rig *r, const fake_cuda_options *options, plim_profile **out) {
  plim_profiler_options profiler = plim_profiler_options_default();
  plim_net_options gpt = plim_net_options_default();
  plim_net *net = NULL;
  plim_graph *graph = NULL;
  gpt.batch = 2;
  gpt.context = 8;
  gpt.classes = 16;
  gpt.layers = 1;
  gpt.units = 32;
  gpt.heads = 2;
  gpt.precision = PLIM_PRECISION_BF16;
  gpu_rig_ok(r, gpu_rig_open(r, options, 0));
  gpu_rig_ok(r, plim_model_make(r->ctx, "gpt", &gpt, &net));
  gpu_rig_ok(r, plim_net_train_graph(net, &graph));
  profiler.repeats = 2;
  profiler.cache_dir = "";
  plim_status status = plim_profile_measure(r->device, graph, &profiler, out);
  plim_graph_free(graph);
  plim_net_free(net);
  return status;
}

/* Measure the small net's training step. */
static plim_status measure(gpu_rig *r, const fake_cuda_options *options, const char *cache, plim_profile **out) {
  plim_profiler_options profiler = plim_profiler_options_default();
  plim_net *net = NULL;
  plim_graph *graph = NULL;
  gpu_rig_ok(r, gpu_rig_open(r, options, 0));
  gpu_rig_ok(r, gpu_rig_net(r->ctx, PLIM_NHWC, &net));
  gpu_rig_ok(r, plim_net_train_graph(net, &graph));
  profiler.repeats = 2;
  profiler.cache_dir = cache;
  plim_status status = plim_profile_measure(r->device, graph, &profiler, out);
  plim_graph_free(graph);
  plim_net_free(net);
  return status;
}

static int offers(const plim_profile *p, const char *engine) {
  int n = 0;
  for (int32_t v = 0; v < p->first[p->n_ops]; v++) n += strncmp(p->variant[v].name, engine, strlen(engine)) == 0;
  return n;
}

/* Row of a table: an engine with a fault, and words of the note. */
static const struct {
  size_t option; /* of the engine's index */
  const char *words;
} faults[] = {
    {offsetof(fake_cuda_options, refuse_run), "cuDNN status 3008: engine 21 refuses to run"},
    {offsetof(fake_cuda_options, refuse_capture), "cuDNN status 5003: engine 21 allocates, which a capture forbids"},
    {offsetof(fake_cuda_options, wrong_engine), "where the single-source kernel's is"},
};

Test(dropped, a_variant_that_fails_or_is_wrong_is_left_out_with_a_note_and_the_others_are_measured) {
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    fake_cuda_options options = gpu();
    plim_profile *profile = NULL;
    gpu_rig r;
    *(int64_t *)((char *)&options + faults[i].option) = 21;
    gpu_rig_ok(&r, measure(&r, &options, "", &profile));
    cr_assert_eq(offers(profile, "cudnn-e21-"), 0);
    cr_assert_eq(offers(profile, "cudnn-e22-"), 2, "%d", offers(profile, "cudnn-e22-")); /* forward and weights */
    cr_assert_eq(profile->n_dropped, 2);
    for (int32_t d = 0; d < profile->n_dropped; d++) {
      cr_assert_eq(strncmp(profile->dropped[d].name, "cudnn-e21-", 10), 0, "%s", profile->dropped[d].name);
      cr_assert_not_null(strstr(profile->dropped[d].why, faults[i].words), "%s", profile->dropped[d].why);
    }
    cr_assert_str_eq(fake_cudnn_misuse(), "");
    plim_profile_free(profile);
    gpu_rig_close(&r);
    cr_assert_eq(fake_cuda_count().open_handles, 0);
  }
}

/* Attention and its gradient are offered, and an engine that is wrong or refuses is found for both. */
Test(dropped, attention_by_an_engine_that_is_wrong_or_fails_is_left_out_and_by_others_is_measured) {
  fake_cuda_options options = gpu();
  plim_profile *profile = NULL;
  gpu_rig r;
  gpu_rig_ok(&r, measure_gpt(&r, &options, &profile));
  cr_assert_eq(offers(profile, "cudnn-e21-"), 2, "%d", offers(profile, "cudnn-e21-"));
  cr_assert_eq(profile->n_dropped, 0);
  plim_profile_free(profile);
  gpu_rig_close(&r);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    options = gpu();
    *(int64_t *)((char *)&options + faults[i].option) = 21;
    gpu_rig_ok(&r, measure_gpt(&r, &options, &profile));
    cr_assert_eq(offers(profile, "cudnn-e21-"), 0);
    cr_assert_eq(offers(profile, "cudnn-e22-"), 2);
    cr_assert_eq(profile->n_dropped, 2);
    for (int32_t d = 0; d < profile->n_dropped; d++) {
      cr_assert_not_null(strstr(profile->dropped[d].why, faults[i].words), "%s", profile->dropped[d].why);
    }
    cr_assert_str_eq(fake_cudnn_misuse(), "");
    plim_profile_free(profile);
    gpu_rig_close(&r);
    cr_assert_eq(fake_cuda_count().open_handles, 0);
  }
}

/* One convolution of many images of many rows, each a tile of ours. */
static plim_graph *convolution_graph(plim_context *ctx) {
  enum { IMAGES = 16, SIDE = 32 };
  const int64_t image[] = {IMAGES, 1, SIDE, SIDE}, filter[] = {1, 1, 3, 3};
  const plim_shape x = plim_shape_make(PLIM_F32, PLIM_NHWC, 4, image),
                   w = plim_shape_make(PLIM_F32, PLIM_FLAT, 4, filter);
  plim_op_spec spec = {.name = "c", .kind = PLIM_OP_CONV2D, .n_in = 2, .in = {0, 1}, .n_out = 1, .out = {2}};
  plim_graph_builder *builder = NULL;
  plim_graph *graph = NULL;
  int32_t at;
  for (int i = 0; i < 2; i++) {
    spec.attrs.kernel[i] = 3;
    spec.attrs.stride[i] = spec.attrs.pad[i] = 1;
  }
  cr_assert_eq(plim_graph_begin(ctx, "convolution", 1, &builder), PLIM_OK);
  cr_assert_eq(plim_graph_add(builder, "x", PLIM_ROLE_INPUT, &x, &at), PLIM_OK);
  cr_assert_eq(plim_graph_add(builder, "w", PLIM_ROLE_INPUT, &w, &at), PLIM_OK);
  cr_assert_eq(plim_graph_add(builder, "y", PLIM_ROLE_OUTPUT, &x, &at), PLIM_OK);
  cr_assert_eq(plim_graph_add_op(builder, &spec, &at), PLIM_OK);
  cr_assert_eq(plim_graph_end(builder, &graph), PLIM_OK);
  return graph;
}

/* By the fake GPU's clock a call of a library takes as long as a tile of ours. */
Test(dropped, a_kernel_of_ours_that_is_far_slower_than_a_library_s_is_run_once) {
  const fake_cuda_options options = gpu();
  plim_profiler_options profiler = plim_profiler_options_default();
  plim_profile *profile = NULL;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  plim_graph *graph = convolution_graph(r.ctx);
  profiler.cache_dir = "";
  gpu_rig_ok(&r, plim_profile_measure(r.device, graph, &profiler, &profile));
  const plim_variant *ours = &profile->variant[profile->first[1] - 1];
  cr_assert_str_eq(ours->name, "single-source");
  cr_assert_gt(ours->time_ns, 20 * profile->variant[0].time_ns, "%lld ns, %lld", (long long)ours->time_ns,
               (long long)profile->variant[0].time_ns);
  cr_assert_eq(fake_cuda_count().runs_of[K_KERNEL_conv], 1, "%lld runs",
               (long long)fake_cuda_count().runs_of[K_KERNEL_conv]);
  plim_profile_free(profile);
  plim_graph_free(graph);
  gpu_rig_close(&r);
}

Test(dropped, notes_are_kept_in_the_document) {
  fake_cuda_options options = gpu();
  plim_profile *profile = NULL, *loaded = NULL;
  gpu_rig r;
  (void)plim_test_folder();
  options.refuse_run = 21;
  gpu_rig_ok(&r, measure(&r, &options, "", &profile));
  gpu_rig_ok(&r, plim_profile_save(profile, plim_test_path("p.json")));
  gpu_rig_ok(&r, plim_profile_load(r.ctx, plim_test_path("p.json"), &loaded));
  cr_assert_eq(loaded->n_dropped, 2);
  for (int d = 0; d < 2; d++) {
    cr_assert_eq(loaded->dropped[d].op, profile->dropped[d].op);
    cr_assert_str_eq(loaded->dropped[d].name, profile->dropped[d].name);
    cr_assert_str_eq(loaded->dropped[d].why, profile->dropped[d].why);
  }
  plim_profile_free(loaded);
  plim_profile_free(profile);
  gpu_rig_close(&r);
  plim_test_folder_remove();
}

Test(dropped, a_second_start_tries_no_variant_that_failed_and_says_why) {
  fake_cuda_options options = gpu();
  plim_profile *profile[2] = {NULL, NULL};
  gpu_rig r;
  (void)plim_test_folder();
  options.refuse_plan = 21;
  for (int i = 0; i < 2; i++) {
    gpu_rig_ok(&r, measure(&r, &options, plim_test_path("."), &profile[i]));
    cr_assert_eq(fake_cudnn_count().plans > 0, i == 0);
    cr_assert_eq(profile[i]->n_dropped, 2);
    cr_assert_not_null(strstr(profile[i]->dropped[1].why, "engine 21 refuses to be planned"));
    plim_profile_free(profile[i]);
    gpu_rig_close(&r);
  }
  options.refuse_plan = 0; /* what a library of another version can do is another machine's file */
  gpu_rig_ok(&r, measure(&r, &options, plim_test_path("."), &profile[0]));
  cr_assert_eq(offers(profile[0], "cudnn-e21-"), 0);
  plim_profile_free(profile[0]);
  gpu_rig_close(&r);
  plim_test_folder_remove();
}

Test(dropped, an_illegal_address_is_the_run_s_end_with_the_library_s_code_and_words) {
  fake_cuda_options options = gpu();
  plim_profile *profile = NULL;
  gpu_rig r;
  options.illegal_engine = 21;
  cr_assert_eq(measure(&r, &options, "", &profile), PLIM_EDEVICE);
  const char *sentence = plim_context_error(r.ctx);
  cr_assert_not_null(strstr(sentence, "variant \"cudnn-e21-"), "%s", sentence);
  cr_assert_not_null(strstr(sentence, "an illegal memory access was encountered (CUDA error 700)"), "%s", sentence);
  cr_assert_null(profile);
  gpu_rig_close(&r);
}

/* Without libraries an op has one variant; refusing it leaves none. */
Test(dropped, an_op_without_a_variant_left_is_the_run_s_end) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_profile *profile = NULL;
  gpu_rig r;
  options.refuse_kernel = 1;
  cr_assert_eq(measure(&r, &options, "", &profile), PLIM_EDEVICE);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "has no variant left"), "%s", plim_context_error(r.ctx));
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "(CUDA error 701)"), "%s", plim_context_error(r.ctx));
  gpu_rig_close(&r);
}

Test(dropped, products_that_a_library_refuses_are_dropped) {
  fake_cuda_options options = gpu();
  plim_profile *profile = NULL;
  gpu_rig r;
  options.refuse_blas = 1;
  gpu_rig_ok(&r, measure(&r, &options, "", &profile));
  cr_assert_eq(offers(profile, "cublas") + offers(profile, "im2col"), 0);
  cr_assert_gt(profile->n_dropped, 2);
  cr_assert_not_null(strstr(profile->dropped[0].why, "cuBLAS status 15"), "%s", profile->dropped[0].why);
  plim_profile_free(profile);
  gpu_rig_close(&r);
}
