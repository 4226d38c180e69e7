/* Models the costs of the device's real variants: the larger of the times of arithmetic and of traffic, plus a launch.
 * The rates are those of one thread of an AVX-512 server core of 2024, measured with this library. Only their ratios
 * matter to plans. */
#include <string.h>

#include "runtime/profile/profile_set.h"
#include "runtime/profile/profiler.h"

static const double BYTES_PER_NS = 16;
enum { LAUNCH_NS = 3000 };

/* Operations in a ns by precision, for variants whose names begin so; the first match counts. oneDNN uses instructions
 * for bf16, our own kernels compute in floats for every type, and no CPU has tf32. */
static const struct {
  const char *prefix;
  double flops_per_ns[PLIM_PRECISION_COUNT]; /* fp32, tf32, bf16 */
} families[] = {
    {"onednn-winograd", {225, 225, 225}},
    {"onednn", {150, 150, 300}},
    {"", {7.5, 7.5, 7.5}},
};

static double flops_per_ns(const char *variant, plim_precision math) {
  int i = 0;
  while (strncmp(variant, families[i].prefix, strlen(families[i].prefix)) != 0) i++;
  return families[i].flops_per_ns[math];
}

static int64_t model_ns(const plim_op_desc *desc, const char *variant, int32_t threads) {
  double compute = (double)plim_op_flops(desc) / (flops_per_ns(variant, plim_op_math(desc)) * threads);
  double traffic = (double)plim_op_traffic(desc) / (BYTES_PER_NS * threads);
  double ns = (compute > traffic ? compute : traffic) + LAUNCH_NS;
  return ns < 1e15 ? (int64_t)ns : (int64_t)1e15;
}

plim_status plim_profile_roofline(plim_device *device, const plim_graph *graph, plim_profile **out) {
  plim_profile_set set;
  PLIM_TRY(plim_profile_set_make(device, graph, 0, &set));
  for (int32_t g = 0; g < set.n_groups; g++) {
    const plim_profile_group *group = &set.group[g];
    for (int32_t i = group->first; i < group->first + group->n; i++) {
      plim_variant *variant = &set.cases[i].variant;
      variant->time_ns = model_ns(&group->desc, variant->name, device->machine.threads);
    }
  }
  plim_status status = plim_profile_set_finish(&set, 0, out);
  plim_profile_set_free(&set);
  return status;
}
