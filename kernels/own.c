/* Lists, finds and prepares a program's own kernels. An empty numerics key becomes the variant's name with a mark
 * before it, so that it is no key of a built-in family. */
#include "kernels/own.h"

#include <stdio.h>
#include <string.h>

int plim_own_is_name(const char *name) {
  return name && name[0] && strlen(name) < PLIM_KERNEL_NAME_BYTES && !strchr(name, '@');
}

int plim_own_add(plim_own_kernels *own, const plim_kernel_memory *memory, plim_op_kind kind,
                 const plim_own_kernel *kernel) {
  if (kernel->struct_bytes != sizeof *kernel || !kernel->run) return PLIM_KERNEL_UNSUPPORTED;
  if (!kernel->list && !plim_own_is_name(kernel->name)) return PLIM_KERNEL_UNSUPPORTED;
  if (own->n == own->capacity) {
    const int capacity = own->capacity ? 2 * own->capacity : 8;
    const size_t size = sizeof *own->row;
    plim_own_row *grown = memory->resize(memory->user, own->row, (size_t)own->capacity * size, (size_t)capacity * size);
    if (!grown) return PLIM_KERNEL_NOMEM;
    own->row = grown;
    own->capacity = capacity;
  }
  own->row[own->n++] = (plim_own_row){kind, *kernel};
  return PLIM_KERNEL_OK;
}

void plim_own_release(plim_own_kernels *own, const plim_kernel_memory *memory) {
  plim_kernel_release(memory, own->row, (size_t)own->capacity, sizeof *own->row);
  *own = (plim_own_kernels){0};
}

/* The variants of one kernel that can be prepared. */
static int list_one(const plim_own_kernel *kernel, const plim_op_desc *op,
                    plim_kernel_info info[PLIM_KERNEL_VARIANTS]) {
  int listed = 1, n = 0;
  memset(info, 0, PLIM_KERNEL_VARIANTS * sizeof *info);
  if (kernel->list) {
    listed = kernel->list(kernel->user, op, info, PLIM_KERNEL_VARIANTS);
  } else {
    (void)snprintf(info->name, sizeof info->name, "%s", kernel->name);
  }
  for (int i = 0; i < listed && i < PLIM_KERNEL_VARIANTS; i++) {
    if (memchr(info[i].name, 0, sizeof info[i].name) && !plim_own_is_name(info[i].name)) continue;
    if (!info[i].numerics_key[0])
      (void)snprintf(info[i].numerics_key, sizeof info[i].numerics_key, "own:%.27s", info[i].name);
    if (n < i) info[n] = info[i];
    n++;
  }
  return n;
}

int plim_own_list(const plim_own_kernels *own, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  plim_kernel_info one[PLIM_KERNEL_VARIANTS];
  int count = 0;
  for (int i = 0; i < own->n; i++) {
    const int n = own->row[i].kind == op->kind ? list_one(&own->row[i].kernel, op, one) : 0;
    for (int v = 0; v < n; v++, count++) {
      if (count < capacity) info[count] = one[v];
    }
  }
  return count;
}

int plim_own_prepare(const plim_own_kernels *own, const plim_op_desc *op, const char *variant, plim_own_prepared *out) {
  plim_kernel_info info[PLIM_KERNEL_VARIANTS];
  for (int i = 0; i < own->n; i++) {
    const plim_own_kernel *kernel = &own->row[i].kernel;
    const int n = own->row[i].kind == op->kind ? list_one(kernel, op, info) : 0;
    for (int v = 0; v < n; v++) {
      if (strcmp(info[v].name, variant) != 0) continue;
      void *state = kernel->user;
      const int result = kernel->prepare ? kernel->prepare(kernel->user, op, variant, &state) : PLIM_KERNEL_OK;
      if (result == PLIM_KERNEL_OK) *out = (plim_own_prepared){*kernel, state, info[v].workspace_bytes};
      return result;
    }
  }
  return PLIM_KERNEL_UNSUPPORTED;
}

void plim_own_free(plim_own_prepared *prepared) {
  if (prepared->kernel.run && prepared->kernel.free) prepared->kernel.free(prepared->kernel.user, prepared->state);
  *prepared = (plim_own_prepared){0};
}
