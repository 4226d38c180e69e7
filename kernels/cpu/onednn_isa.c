/* oneDNN for the process: the instructions that it may use, and its version. */
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cpu/onednn.h"

int plim_onednn_set_isa(plim_isa isa) {
  static const struct {
    const char *name;
    dnnl_cpu_isa_t isa;
  } levels[] = {{"x86-64-v2", dnnl_cpu_isa_sse41},
                {"x86-64-v3", dnnl_cpu_isa_avx2},
                {"x86-64-v4", dnnl_cpu_isa_avx512_core},
                {"x86-64-v4", dnnl_cpu_isa_avx512_core_vnni},
                {"x86-64-v4", dnnl_cpu_isa_avx512_core_bf16}}; /* products of bf16, where the CPU has them */
  const int count = sizeof levels / sizeof *levels;
  const char *name = plim_isa_name(isa);
  int last = count - 1;
  while (last >= 0 && (!name || strcmp(name, levels[last].name) != 0)) last--;
  if (last < 0) return PLIM_KERNEL_OK; /* no choice to make on other processors */
  /* Refused once oneDNN has looked at the setting; what counts is what it will use. */
  (void)dnnl_set_max_cpu_isa(levels[last].isa);
  for (int i = 0; i < count; i++) {
    if (strcmp(name, levels[i].name) == 0 && dnnl_get_effective_cpu_isa() == levels[i].isa) return PLIM_KERNEL_OK;
  }
  return PLIM_KERNEL_UNSUPPORTED;
}

const char *plim_onednn_version(void) {
  static _Thread_local char text[32];
  const dnnl_version_t *version = dnnl_version();
  snprintf(text, sizeof text, "onednn %d.%d.%d", version->major, version->minor, version->patch);
  return text;
}
