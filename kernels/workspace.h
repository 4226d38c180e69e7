/* Parts of a kernel's workspace begin at multiples of so many bytes, as operands do. */
#ifndef PLIM_KERNELS_WORKSPACE_H
#define PLIM_KERNELS_WORKSPACE_H

#include <stdint.h>

enum { K_WORKSPACE_ALIGN = 512 };

/* Bytes of a part with what lies between it and the next one. */
static inline int64_t k_workspace_part(int64_t bytes) {
  return (bytes + K_WORKSPACE_ALIGN - 1) / K_WORKSPACE_ALIGN * K_WORKSPACE_ALIGN;
}

#endif
