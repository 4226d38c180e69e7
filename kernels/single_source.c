/* The single-source family: finds an op's launch, and runs its tiles on OpenMP threads. */
#include "kernels/single_source.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/launch.h"

static const struct {
  plim_op_kind kind;
  k_launch_fn *launch;
} kinds[] = {
    {PLIM_OP_IMAGE, k_launch_image},
    {PLIM_OP_BN_STATS, k_launch_bn_stats},
    {PLIM_OP_BN_APPLY, k_launch_bn_apply},
    {PLIM_OP_BN_RUNNING, k_launch_bn_running},
    {PLIM_OP_BN_BWD_REDUCE, k_launch_bn_bwd_reduce},
    {PLIM_OP_BN_BWD_APPLY, k_launch_bn_bwd_apply},
    {PLIM_OP_RELU, k_launch_relu},
    {PLIM_OP_RELU_BWD, k_launch_relu_bwd},
    {PLIM_OP_ADD, k_launch_add},
    {PLIM_OP_SOFTMAX_XENT, k_launch_softmax_xent},
    {PLIM_OP_SOFTMAX_XENT_BWD, k_launch_softmax_xent_bwd},
    {PLIM_OP_SGD, k_launch_sgd},
    {PLIM_OP_GLOBAL_AVG_POOL, k_launch_global_avg_pool},
    {PLIM_OP_GLOBAL_AVG_POOL_BWD, k_launch_global_avg_pool_bwd},
    {PLIM_OP_BIAS_BWD, k_launch_bias_bwd},
    {PLIM_OP_LINEAR, k_launch_linear},
    {PLIM_OP_LINEAR_BWD_DATA, k_launch_linear_bwd_data},
    {PLIM_OP_LINEAR_BWD_WEIGHTS, k_launch_linear_bwd_weights},
    {PLIM_OP_CONV2D, k_launch_conv2d},
    {PLIM_OP_CONV2D_BWD_DATA, k_launch_conv2d_bwd_data},
    {PLIM_OP_CONV2D_BWD_WEIGHTS, k_launch_conv2d_bwd_weights},
    {PLIM_OP_DROPOUT, k_launch_dropout},
    {PLIM_OP_DROPOUT_BWD, k_launch_dropout_bwd},
    {PLIM_OP_MAX_POOL, k_launch_max_pool},
    {PLIM_OP_MAX_POOL_BWD, k_launch_max_pool_bwd},
    {PLIM_OP_AVG_POOL, k_launch_avg_pool},
    {PLIM_OP_AVG_POOL_BWD, k_launch_avg_pool_bwd},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char variant_name[] = "single-source";

typedef struct state {
  k_launch launch;
  const k_bodies *bodies;
  int threads;
} state;

static int find_launch(const plim_op_desc *op, k_launch *launch) {
  for (int i = 0; i < KINDS; i++) {
    if (kinds[i].kind != op->kind) continue;
    *launch = (k_launch){.call = {.n_in = op->n_in, .n_out = op->n_out, .n_upd = op->n_upd, .attrs = op->attrs}};
    return kinds[i].launch(op, launch);
  }
  return 0;
}

static int list(const plim_op_desc *op, int threads, plim_kernel_info *info, int capacity) {
  k_launch launch;
  if (threads < 1 || !find_launch(op, &launch)) return 0;
  if (capacity > 0) {
    *info = (plim_kernel_info){.workspace_bytes = launch.workspace_bytes};
    memcpy(info->name, variant_name, sizeof variant_name);
    memcpy(info->label, variant_name, sizeof variant_name);
  }
  return 1;
}

static int make(const plim_op_desc *op, const char *variant, int threads, const k_bodies *bodies, void **out) {
  k_launch launch;
  if (strcmp(variant, variant_name) != 0 || threads < 1 || !find_launch(op, &launch)) return PLIM_KERNEL_UNSUPPORTED;
  state *made = malloc(sizeof *made);
  if (!made) return PLIM_KERNEL_NOMEM;
  *made = (state){launch, bodies, threads};
  *out = made;
  return PLIM_KERNEL_OK;
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
  k_call call = s->launch.call;
  for (int i = 0; i < call.n_in; i++) call.in[i] = args->in[i];
  for (int i = 0; i < call.n_out; i++) call.out[i] = args->out[i];
  for (int i = 0; i < call.n_upd; i++) call.upd[i] = args->upd[i];
  call.workspace = args->workspace;
  call.seed = args->seed;
  call.step = args->step;
  call.op = args->op;
  for (int i = 0; i < s->launch.phases; i++) {
    const k_phase *phase = &s->launch.phase[i];
    run_phase(phase, s->bodies->tile[phase->body], &call, s->threads);
  }
  return PLIM_KERNEL_OK;
}

/* The table's functions carry no instruction set: one `make` each. PLIM_ISAS names them. */
#define PLIM_X(id, name)                                                                       \
  extern const k_bodies plim_bodies_##id;                                                      \
  static int make_##id(const plim_op_desc *op, const char *variant, int threads, void **out) { \
    return make(op, variant, threads, &plim_bodies_##id, out);                                 \
  }
PLIM_ISAS(PLIM_X)
#undef PLIM_X

#define PLIM_X(id, name) make_##id,
static int (*const makers[])(const plim_op_desc *, const char *, int, void **) = {PLIM_ISAS(PLIM_X)};
#undef PLIM_X

int plim_single_source_add(plim_kernel_table *table, plim_isa isa) {
  for (int i = 0; i < KINDS; i++) {
    plim_kernel_type type = {
        .struct_bytes = sizeof type,
        .kind = kinds[i].kind,
        .family = variant_name,
        .list = list,
        .make = makers[isa],
        .run = run,
        .free = free,
    };
    int result = plim_kernel_table_add(table, &type);
    if (result != PLIM_KERNEL_OK) return result;
  }
  return PLIM_KERNEL_OK;
}
