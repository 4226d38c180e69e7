/* Convolutions, matrix products and softmax through oneDNN 2 or 3: variants are listed, prepared and run.
 *
 * Every implementation that oneDNN offers for an op is a variant, named after the algorithm and the implementation and
 * carrying its own numerics key, except those that would break the promise about memory: `ref` (100x slower) and
 * gemm-based ones (they allocate behind our back at every call).
 *
 * Weights lie in the graph as plain [O][I][R][S]. Where an implementation wants another order, copying them is part
 * of the op and their copy part of the op's workspace:
 *
 *   workspace = scratchpad, then the ordered weights, each part aligned
 *
 * `make` creates primitive and memory objects; `run` binds addresses and executes. Invariant: a state executes on
 * the number of threads it was made for, because oneDNN splits sums by threads.
 *
 * Where the two versions differ: onednn_api.h. */
#include "kernels/cpu/onednn.h"

#include <oneapi/dnnl/dnnl.h>
#include <string.h>

#include "kernels/cpu/onednn_variants.h"
#include "kernels/workspace.h"

enum { MAX_ARGS = PLIM_ONEDNN_OPERANDS + 1 };

static int status_of(dnnl_status_t status) {
  switch (status) {
    case dnnl_success:
      return PLIM_KERNEL_OK;
    case dnnl_out_of_memory:
      return PLIM_KERNEL_NOMEM;
    case dnnl_unimplemented:
    case dnnl_invalid_arguments:
      return PLIM_KERNEL_UNSUPPORTED;
    default:
      return PLIM_KERNEL_FAILED;
  }
}

/* ---- what a variant needs beyond its operands ---- */

static int64_t desc_bytes(plim_dnnl_const_md md) {
  return md ? (int64_t)dnnl_memory_desc_get_size(md) : 0;
}

static plim_dnnl_const_md desc_of_arg(const_dnnl_primitive_desc_t pd, int arg) {
  return dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg);
}

typedef struct needs {
  plim_dnnl_const_md weights; /* as the primitive wants them; NULL: as they lie */
  plim_weights_order order;   /* of `weights` */
  int64_t scratch_bytes;
  int64_t weights_at; /* in the workspace */
  int64_t workspace_bytes;
} needs;

/* 0 when the weights would have to lie in an order that we do not know. */
static int needs_find(const plim_onednn_walk *w, needs *out) {
  memset(out, 0, sizeof *out);
  plim_dnnl_const_md stored = w->md[PLIM_ONEDNN_WEIGHTS];
  plim_dnnl_const_md wanted = desc_of_arg(w->offers.pd, w->operation->operand[PLIM_ONEDNN_WEIGHTS].arg);
  if (!dnnl_memory_desc_equal(stored, wanted)) {
    if (!plim_dnnl_weights_order(wanted, &out->order)) return 0;
    out->weights = wanted;
  }
  out->scratch_bytes = desc_bytes(desc_of_arg(w->offers.pd, DNNL_ARG_SCRATCHPAD));
  out->weights_at = k_workspace_part(out->scratch_bytes);
  out->workspace_bytes = out->weights_at + k_workspace_part(desc_bytes(out->weights));
  return 1;
}

static int onednn_list(const plim_op_desc *op, int threads, plim_kernel_info *info, int capacity) {
  plim_onednn_walk w;
  int count = 0;
  const char *name;
  if (plim_onednn_walk_begin(&w, op, threads) == dnnl_success) {
    while ((name = plim_onednn_walk_next(&w)) != NULL) {
      needs needed;
      if (!needs_find(&w, &needed)) continue;
      if (count < capacity) {
        memset(&info[count], 0, sizeof info[count]);
        memcpy(info[count].name, name, strlen(name));
        memcpy(info[count].numerics_key, name, strlen(name));
        info[count].workspace_bytes = needed.workspace_bytes;
      }
      count++;
    }
  }
  plim_onednn_walk_end(&w);
  return count;
}

/* ---- a prepared op: its arguments bound to places ---- */

typedef struct source {
  plim_onednn_place from;
  int64_t at; /* operand position, or bytes into the workspace */
} source;

typedef struct state {
  int threads;
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t primitive;
  int n;
  dnnl_exec_arg_t arg[MAX_ARGS];
  source source[MAX_ARGS]; /* of arg */
  int copies;              /* weights are copied: an input before the primitive runs, an output after it */
  source plain, ordered;   /* weights in the graph's order and in the primitive's */
  plim_weights_order order;
} state;

static void onednn_free(const plim_kernel_memory *memory, void *opaque) {
  state *s = opaque;
  if (!s) return;
  for (int i = 0; i < s->n; i++) dnnl_memory_destroy(s->arg[i].memory);
  if (s->primitive) dnnl_primitive_destroy(s->primitive);
  if (s->stream) dnnl_stream_destroy(s->stream);
  if (s->engine) dnnl_engine_destroy(s->engine);
  plim_kernel_release(memory, s, 1, sizeof *s);
}

static dnnl_status_t bind(state *s, int arg, plim_dnnl_const_md md, source from) {
  dnnl_status_t status = dnnl_memory_create(&s->arg[s->n].memory, md, s->engine, DNNL_MEMORY_NONE);
  if (status != dnnl_success) return status;
  s->arg[s->n].arg = arg;
  s->source[s->n] = from;
  s->n++;
  return dnnl_success;
}

static dnnl_status_t fill_state(state *s, plim_onednn_walk *w, const needs *needed) {
  s->engine = w->engine; /* now the state's */
  w->engine = NULL;
  dnnl_status_t status = dnnl_stream_create(&s->stream, s->engine, dnnl_stream_in_order);
  if (status == dnnl_success) status = dnnl_primitive_create(&s->primitive, w->offers.pd);
  if (status == dnnl_success && needed->scratch_bytes > 0) {
    plim_dnnl_const_md scratch = desc_of_arg(w->offers.pd, DNNL_ARG_SCRATCHPAD);
    status = bind(s, DNNL_ARG_SCRATCHPAD, scratch, (source){PLIM_ONEDNN_WORKSPACE, 0});
  }
  for (int i = 0; i < w->n_operands && status == dnnl_success; i++) {
    const plim_onednn_operand *o = &w->operation->operand[i];
    source plain = {o->from, o->position}, ordered = {PLIM_ONEDNN_WORKSPACE, needed->weights_at};
    int copied = i == PLIM_ONEDNN_WEIGHTS && needed->weights;
    status = bind(s, o->arg, copied ? needed->weights : w->md[i], copied ? ordered : plain);
    if (!copied) continue;
    s->copies = 1;
    s->plain = plain;
    s->ordered = ordered;
    s->order = needed->order;
  }
  return status;
}

static int onednn_make(const void *user, const plim_op_desc *op, const char *variant, int threads,
                       const plim_kernel_memory *memory, void **out) {
  (void)user;
  plim_onednn_walk w;
  needs needed;
  state *s = NULL;
  const char *name = NULL;
  dnnl_status_t status = plim_onednn_walk_begin(&w, op, threads);
  if (status == dnnl_success) {
    while ((name = plim_onednn_walk_next(&w)) != NULL && strcmp(name, variant) != 0) continue;
    status = name && needs_find(&w, &needed) ? dnnl_success : dnnl_unimplemented;
  }
  if (status == dnnl_success) {
    s = plim_kernel_allocate(memory, 1, sizeof *s);
    status = s ? fill_state(s, &w, &needed) : dnnl_out_of_memory;
  }
  plim_onednn_walk_end(&w);
  if (status != dnnl_success) {
    onednn_free(memory, s);
    return status_of(status);
  }
  s->threads = threads;
  *out = s;
  return PLIM_KERNEL_OK;
}

static void *address(const plim_kernel_args *args, source from) {
  switch (from.from) {
    case PLIM_ONEDNN_IN:
      return args->in[from.at];
    case PLIM_ONEDNN_OUT:
      return args->out[from.at];
    default:
      return (char *)args->workspace + from.at;
  }
}

static int onednn_run(void *opaque, const plim_kernel_args *args) {
  const state *s = opaque;
  int before = plim_onednn_set_threads(s->threads);
  if (s->copies && s->plain.from == PLIM_ONEDNN_IN)
    plim_weights_to(&s->order, address(args, s->plain), address(args, s->ordered), s->threads);
  dnnl_status_t status = dnnl_success;
  for (int i = 0; i < s->n && status == dnnl_success; i++)
    status = dnnl_memory_set_data_handle(s->arg[i].memory, address(args, s->source[i]));
  if (status == dnnl_success) status = dnnl_primitive_execute(s->primitive, s->stream, s->n, s->arg);
  if (status == dnnl_success) status = dnnl_stream_wait(s->stream);
  if (s->copies && s->plain.from == PLIM_ONEDNN_OUT)
    plim_weights_from(&s->order, address(args, s->ordered), address(args, s->plain), s->threads);
  plim_onednn_set_threads(before);
  return status == dnnl_success ? PLIM_KERNEL_OK : PLIM_KERNEL_FAILED;
}

/* ---- the public rows ---- */

const plim_kernel_type *plim_onednn_types(int *count) {
#define ROW(kind) \
  { sizeof(plim_kernel_type), kind, "onednn", onednn_list, onednn_make, onednn_run, onednn_free, NULL }
  static const plim_kernel_type types[] = {
      ROW(PLIM_OP_CONV2D),
      ROW(PLIM_OP_CONV2D_BWD_DATA),
      ROW(PLIM_OP_CONV2D_BWD_WEIGHTS),
      ROW(PLIM_OP_LINEAR),
      ROW(PLIM_OP_LINEAR_BWD_DATA),
      ROW(PLIM_OP_LINEAR_BWD_WEIGHTS),
      ROW(PLIM_OP_DEPTHWISE_CONV2D),
      ROW(PLIM_OP_DEPTHWISE_CONV2D_BWD_DATA),
      ROW(PLIM_OP_DEPTHWISE_CONV2D_BWD_WEIGHTS),
      ROW(PLIM_OP_CONV_TRANSPOSE2D),
      ROW(PLIM_OP_MATMUL),
      ROW(PLIM_OP_MATMUL_NT),
      ROW(PLIM_OP_MATMUL_TN),
      ROW(PLIM_OP_SOFTMAX),
  };
#undef ROW
  *count = sizeof types / sizeof *types;
  return types;
}
