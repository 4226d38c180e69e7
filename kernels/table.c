/* The op table: rows of kernel types in the order in which their variants are listed, the oneDNN family first, the
 * single-source fallback after it, added types next, a program's own kernels last. */
#include "kernels/table.h"

#include <string.h>

#include "kernels/cpu/onednn.h"
#include "kernels/isa.h"
#include "kernels/own.h"
#include "kernels/parts.h"
#include "kernels/single_source.h"

struct plim_kernel_table {
  plim_isa isa;
  plim_kernel_memory memory;
  int count, capacity;
  plim_kernel_type *type; /* [count] */
  plim_own_kernels own;
};

struct plim_kernel {
  plim_kernel_memory memory;
  plim_kernel_type type;
  void *state;
  int64_t workspace_bytes;
};

/* A library capped to another instruction set would give other bits than this table promises: leave it out then. */
static int add_builtin(plim_kernel_table *table) {
  int count = 0;
  int result = PLIM_KERNEL_OK;
  if (plim_onednn_set_isa(table->isa) == PLIM_KERNEL_OK) {
    const plim_kernel_type *type = plim_onednn_types(&count);
    for (int i = 0; i < count && result == PLIM_KERNEL_OK; i++) result = plim_kernel_table_add(table, &type[i]);
  }
  return result == PLIM_KERNEL_OK ? plim_single_source_add(table, table->isa) : result;
}

int plim_kernel_table_new(const char *isa, const plim_kernel_memory *memory, plim_kernel_table **out) {
  const char *chosen = NULL;
  int result = plim_kernel_isa_choose(isa, &chosen, NULL, 0);
  if (result != PLIM_KERNEL_OK) return result;
  if (!memory) memory = plim_kernel_malloc();
  plim_kernel_table *table = plim_kernel_allocate(memory, 1, sizeof *table);
  if (!table) return PLIM_KERNEL_NOMEM;
  table->memory = *memory;
  table->isa = (plim_isa)plim_isa_find(chosen);
  result = add_builtin(table);
  if (result != PLIM_KERNEL_OK) {
    plim_kernel_table_free(table);
    return result;
  }
  *out = table;
  return PLIM_KERNEL_OK;
}

void plim_kernel_table_free(plim_kernel_table *table) {
  if (!table) return;
  const plim_kernel_memory memory = table->memory;
  plim_own_release(&table->own, &memory);
  plim_kernel_release(&memory, table->type, (size_t)table->capacity, sizeof *table->type);
  plim_kernel_release(&memory, table, 1, sizeof *table);
}

int plim_kernel_table_add(plim_kernel_table *table, const plim_kernel_type *type) {
  if (type->struct_bytes != sizeof *type || !type->list || !type->make || !type->run) return PLIM_KERNEL_UNSUPPORTED;
  if (table->count == table->capacity) {
    const plim_kernel_memory *memory = &table->memory;
    const int capacity = table->capacity ? 2 * table->capacity : 64;
    const size_t before = (size_t)table->capacity * sizeof *type, bytes = (size_t)capacity * sizeof *type;
    plim_kernel_type *grown = memory->resize(memory->user, table->type, before, bytes);
    if (!grown) return PLIM_KERNEL_NOMEM;
    table->type = grown;
    table->capacity = capacity;
  }
  table->type[table->count++] = *type;
  return PLIM_KERNEL_OK;
}

int plim_kernel_table_add_own(plim_kernel_table *table, plim_op_kind kind, const plim_own_kernel *kernel) {
  return plim_own_add(&table->own, &table->memory, kind, kernel);
}

const char *plim_kernel_table_isa(const plim_kernel_table *table) {
  return plim_isa_name(table->isa);
}

const char *plim_kernel_library(void) {
  return plim_onednn_version();
}

int plim_kernel_list(const plim_kernel_table *table, const plim_op_desc *op, int threads, plim_kernel_info *info,
                     int capacity) {
  int count = 0;
  for (int i = 0; i < table->count; i++) {
    if (table->type[i].kind != op->kind) continue;
    int room = count < capacity ? capacity - count : 0;
    count += table->type[i].list(op, threads, room ? info + count : NULL, room);
  }
  const int room = count < capacity ? capacity - count : 0;
  return count + plim_own_list(&table->own, op, room ? info + count : NULL, room);
}

int plim_kernel_list_parts(const plim_kernel_table *table, const plim_op_desc *op, int threads,
                           const plim_kernel_info *whole, plim_kernel_info *info, int capacity) {
  return plim_parts_list(table, op, threads, whole, info, capacity);
}

static plim_kernel *new_kernel(const plim_kernel_table *table) {
  plim_kernel *kernel = plim_kernel_allocate(&table->memory, 1, sizeof *kernel);
  if (kernel) kernel->memory = table->memory;
  return kernel;
}

static int end_kernel(plim_kernel *kernel, int result, plim_kernel **out) {
  if (result == PLIM_KERNEL_OK) {
    *out = kernel;
  } else {
    const plim_kernel_memory memory = kernel->memory;
    plim_kernel_release(&memory, kernel, 1, sizeof *kernel);
  }
  return result;
}

static int make_kernel(const plim_kernel_table *table, const plim_kernel_type *type, const plim_op_desc *op,
                       const plim_kernel_info *info, int threads, plim_kernel **out) {
  plim_kernel *kernel = new_kernel(table);
  if (!kernel) return PLIM_KERNEL_NOMEM;
  kernel->type = *type;
  kernel->workspace_bytes = info->workspace_bytes;
  return end_kernel(kernel, type->make(type->user, op, info->name, threads, &kernel->memory, &kernel->state), out);
}

static int make_in_parts(const plim_kernel_table *table, const plim_op_desc *op, const char *variant, int threads,
                         plim_kernel **out) {
  plim_kernel *kernel = new_kernel(table);
  if (!kernel) return PLIM_KERNEL_NOMEM;
  int result = plim_parts_make(table, op, variant, threads, &kernel->memory, &kernel->type, &kernel->state,
                               &kernel->workspace_bytes);
  return end_kernel(kernel, result, out);
}

/* ---- a program's own ---- */

static int own_run(void *state, const plim_kernel_args *args) {
  const plim_own_prepared *own = state;
  const uint64_t now[2] = {args->seed, (uint64_t)args->step};
  plim_kernel_args with_now = *args;
  with_now.now = now;
  return own->kernel.run(own->state, &with_now, NULL);
}

static void own_free(const plim_kernel_memory *memory, void *state) {
  plim_own_free(state);
  plim_kernel_release(memory, state, 1, sizeof(plim_own_prepared));
}

static int make_own(const plim_kernel_table *table, const plim_op_desc *op, const char *variant, plim_kernel **out) {
  plim_kernel *kernel = new_kernel(table);
  if (!kernel) return PLIM_KERNEL_NOMEM;
  plim_own_prepared *own = plim_kernel_allocate(&table->memory, 1, sizeof *own);
  int result = own ? plim_own_prepare(&table->own, op, variant, own) : PLIM_KERNEL_NOMEM;
  if (result == PLIM_KERNEL_OK) {
    kernel->type = (plim_kernel_type){.struct_bytes = sizeof kernel->type, .kind = op->kind, .family = "own"};
    kernel->type.run = own_run;
    kernel->type.free = own_free;
    kernel->state = own;
    kernel->workspace_bytes = own->workspace_bytes;
  } else {
    plim_kernel_release(&table->memory, own, 1, sizeof *own);
  }
  return end_kernel(kernel, result, out);
}

int plim_kernel_make(const plim_kernel_table *table, const plim_op_desc *op, const char *variant, int threads,
                     plim_kernel **out) {
  if (strchr(variant, '@')) return make_in_parts(table, op, variant, threads, out);
  for (int i = 0; i < table->count; i++) {
    const plim_kernel_type *type = &table->type[i];
    if (type->kind != op->kind) continue;
    plim_kernel_info info[PLIM_KERNEL_VARIANTS];
    int count = type->list(op, threads, info, PLIM_KERNEL_VARIANTS);
    for (int v = 0; v < count && v < PLIM_KERNEL_VARIANTS; v++) {
      if (strcmp(info[v].name, variant) == 0) return make_kernel(table, type, op, &info[v], threads, out);
    }
  }
  return make_own(table, op, variant, out);
}

int plim_kernel_run(const plim_kernel *kernel, const plim_kernel_args *args) {
  return kernel->type.run(kernel->state, args);
}

int64_t plim_kernel_workspace(const plim_kernel *kernel) {
  return kernel->workspace_bytes;
}

void plim_kernel_free(plim_kernel *kernel) {
  if (!kernel) return;
  const plim_kernel_memory memory = kernel->memory;
  if (kernel->type.free) kernel->type.free(&memory, kernel->state);
  plim_kernel_release(&memory, kernel, 1, sizeof *kernel);
}
