/* Models the costs of the device's real variants: the larger of the times of arithmetic and of traffic, plus a launch.
 * Only ratios matter to plans. */
#include <string.h>

#include "runtime/profile/profile_set.h"
#include "runtime/profile/profiler.h"

/* Operations in a ns by precision, for variants whose names begin so; the first match counts. */
typedef struct family {
  const char *prefix;
  double flops_per_ns[PLIM_PRECISION_COUNT]; /* fp32, tf32, bf16 */
} family;

/* A thread of an AVX-512 server core of 2024, measured with this library. oneDNN uses instructions for bf16, our own
 * kernels compute in floats for every type, and no CPU has tf32. */
static const family cpu_families[] = {
    {"onednn-winograd", {225, 225, 225}},
    {"onednn", {150, 150, 300}},
    {"", {7.5, 7.5, 7.5}},
};

/* An H100, by the convolutions of ResNets of 32x32 images. Our own products have no tiles for its matrix units. */
static const family gpu_families[] = {
    {"cudnn", {15000, 45000, 60000}},
    {"cublas", {20000, 60000, 90000}},
    {"im2col", {12000, 20000, 25000}},
    {"", {110, 110, 130}},
};

typedef struct machine_model {
  const family *families;
  double bytes_per_ns;
  int64_t launch_ns;
} machine_model;

static const machine_model cpu_model = {cpu_families, 16, 3000};
static const machine_model gpu_model = {gpu_families, 2000, 2500};

static double flops_per_ns(const machine_model *model, const char *variant, plim_precision math) {
  int i = 0;
  while (strncmp(variant, model->families[i].prefix, strlen(model->families[i].prefix)) != 0) i++;
  return model->families[i].flops_per_ns[math];
}

static int64_t model_ns(const machine_model *model, const plim_op_desc *desc, const char *variant, int32_t threads) {
  double compute = (double)plim_op_flops(desc) / (flops_per_ns(model, variant, plim_op_math(desc)) * threads);
  double traffic = (double)plim_op_traffic(desc) / (model->bytes_per_ns * threads);
  double ns = (compute > traffic ? compute : traffic) + (double)model->launch_ns;
  return ns < 1e15 ? (int64_t)ns : (int64_t)1e15;
}

plim_status plim_profile_roofline(plim_device *device, const plim_graph *graph, plim_profile **out) {
  const machine_model *model = plim_device_is_gpu(device) ? &gpu_model : &cpu_model;
  plim_profile_set set;
  PLIM_TRY(plim_profile_set_make(device, graph, 0, &set));
  for (int32_t g = 0; g < set.n_groups; g++) {
    const plim_profile_group *group = &set.group[g];
    for (int32_t i = group->first; i < group->first + group->n; i++) {
      plim_variant *variant = &set.cases[i].variant;
      variant->time_ns = model_ns(model, &group->desc, variant->name, device->machine.threads);
    }
  }
  plim_status status = plim_profile_set_finish(&set, 0, out);
  plim_profile_set_free(&set);
  return status;
}
