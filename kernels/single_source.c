/* The single-source family: finds an op's launch, and runs its tiles on OpenMP threads. */
#include "kernels/single_source.h"

#include <string.h>

typedef struct state {
  const k_kernels *kernels;
  int threads;
  int32_t n;
  k_launch *launch; /* [n] */
} state;

plim_kernel_info plim_single_source_info(const k_launch *launch) {
  return (plim_kernel_info){
      .name = PLIM_SINGLE_SOURCE, .numerics_key = PLIM_SINGLE_SOURCE, .workspace_bytes = launch->workspace_bytes};
}

int plim_single_source_launches(const plim_op_desc *op, const plim_kernel_memory *memory, k_launch **launch,
                                int32_t *n) {
  k_launch first;
  if (!k_launch_make(op, &first)) return PLIM_KERNEL_UNSUPPORTED;
  *n = k_launch_count(op);
  *launch = plim_kernel_allocate(memory, (size_t)*n, sizeof **launch);
  if (!*launch) return PLIM_KERNEL_NOMEM;
  (*launch)[0] = first;
  for (int32_t l = 1; l < *n; l++) k_launch_make_next(op, &(*launch)[l - 1], &(*launch)[l]);
  return PLIM_KERNEL_OK;
}

static int list(const plim_op_desc *op, int threads, plim_kernel_info *info, int capacity) {
  k_launch launch;
  if (threads < 1 || !k_launch_make(op, &launch)) return 0;
  if (capacity > 0) *info = plim_single_source_info(&launch);
  return 1;
}

/* user: the kernels of an instruction set, [K_TYPE_COUNT]. */
static int make(const void *user, const plim_op_desc *op, const char *variant, int threads,
                const plim_kernel_memory *memory, void **out) {
  const k_kernels *const *of_type = user;
  state s = {.threads = threads};
  if (strcmp(variant, PLIM_SINGLE_SOURCE) != 0 || threads < 1) return PLIM_KERNEL_UNSUPPORTED;
  const int result = plim_single_source_launches(op, memory, &s.launch, &s.n);
  if (result != PLIM_KERNEL_OK) return result;
  s.kernels = of_type[s.launch[0].call.type];
  state *made = plim_kernel_allocate(memory, 1, sizeof *made);
  if (made) *made = s;
  if (!made) plim_kernel_release(memory, s.launch, (size_t)s.n, sizeof *s.launch);
  *out = made;
  return made ? PLIM_KERNEL_OK : PLIM_KERNEL_NOMEM;
}

static void release(const plim_kernel_memory *memory, void *opaque) {
  const state *s = opaque;
  if (s) plim_kernel_release(memory, s->launch, (size_t)s->n, sizeof *s->launch);
  plim_kernel_release(memory, opaque, 1, sizeof(state));
}

static void run_phase(const k_phase *phase, k_tile_fn *tile, const k_call *call, int threads) {
  if (phase->serial || phase->tiles == 1 || threads == 1) {
    for (int64_t i = 0; i < phase->tiles; i++) tile(call, i);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t i = 0; i < phase->tiles; i++) tile(call, i);
}

static int run(void *opaque, const plim_kernel_args *args) {
  const state *s = opaque;
  const uint64_t now[2] = {args->seed, (uint64_t)args->step};
  for (int32_t l = 0; l < s->n; l++) {
    const k_launch *launch = &s->launch[l];
    const k_call call = k_launch_bind(launch, args, now);
    for (int i = 0; i < launch->phases; i++) {
      run_phase(&launch->phase[i], s->kernels->tile[launch->phase[i].kernel], &call, s->threads);
    }
  }
  return PLIM_KERNEL_OK;
}

#define PLIM_X(id, name) extern const k_kernels plim_kernels_##id, plim_kernels_##id##_bf16;
PLIM_ISAS(PLIM_X)
#undef PLIM_X

#define PLIM_X(id, name) {&plim_kernels_##id, &plim_kernels_##id##_bf16},
static const k_kernels *const kernels[PLIM_ISA_COUNT][K_TYPE_COUNT] = {PLIM_ISAS(PLIM_X)};
#undef PLIM_X

int plim_single_source_add(plim_kernel_table *table, plim_isa isa) {
  for (int i = 0; i < k_launch_kinds(); i++) {
    plim_kernel_type type = {
        .struct_bytes = sizeof type,
        .kind = k_launch_kind(i),
        .family = PLIM_SINGLE_SOURCE,
        .list = list,
        .make = make,
        .run = run,
        .free = release,
        .user = kernels[isa],
    };
    int result = plim_kernel_table_add(table, &type);
    if (result != PLIM_KERNEL_OK) return result;
  }
  return PLIM_KERNEL_OK;
}
