/* What kernels/cpu/onednn.h says on a machine without the library: no types. */
#include "kernels/cpu/onednn.h"

int plim_onednn_set_isa(plim_isa isa) {
  (void)isa;
  return PLIM_KERNEL_OK;
}

const plim_kernel_type *plim_onednn_types(int *count) {
  *count = 0;
  return NULL;
}

const char *plim_onednn_version(void) {
  return "none";
}
