/* Convolution and matrix products through oneDNN 2 or 3.
 *
 * Every implementation that oneDNN offers for an op is a variant, named after the algorithm and the implementation and
 * carrying its own numerics key, except those that would break the promise about memory: `ref` (100x slower) and
 * gemm-based ones (they allocate behind our back at every call).
 *
 * Weights lie in the graph as plain [O][I][KH][KW]. Where an implementation wants another order, copying them is part
 * of the op and their copy part of the op's workspace:
 *
 *   workspace = scratchpad, then the ordered weights, each part aligned
 *
 * `make` creates primitive and memory objects; `run` binds addresses and executes. Invariant: a state executes on
 * the number of threads it was made for, because oneDNN splits sums by threads.
 *
 * Where the two versions differ: onednn_api.h. */
#include "kernels/cpu/onednn.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cpu/onednn_api.h"
#include "kernels/workspace.h"

enum { MAX_OPERANDS = 4, MAX_ARGS = MAX_OPERANDS + 1, MAX_VARIANTS = 8 };

/* ---- which operand of an op is which argument of the primitive ---- */

typedef enum place { IN, OUT, WORKSPACE } place;

typedef struct operand {
  int arg; /* DNNL_ARG_*, 0 after the last */
  place from;
  int position;
  int transposed; /* read a matrix as its transpose */
} operand;

typedef struct family {
  plim_op_kind kind;
  dnnl_prop_kind_t prop; /* undef: a matrix product */
  operand operand[MAX_OPERANDS];
} family;

/* y = x w', dx = dy w, dw = dy' x as products of SRC [M,K] and WEIGHTS [K,N]. */
static const family families[] = {
    {PLIM_OP_CONV2D,
     dnnl_forward_training,
     {{DNNL_ARG_SRC, IN, 0, 0}, {DNNL_ARG_WEIGHTS, IN, 1, 0}, {DNNL_ARG_DST, OUT, 0, 0}, {DNNL_ARG_BIAS, IN, 2, 0}}},
    {PLIM_OP_CONV2D_BWD_DATA,
     dnnl_backward_data,
     {{DNNL_ARG_DIFF_SRC, OUT, 0, 0}, {DNNL_ARG_WEIGHTS, IN, 1, 0}, {DNNL_ARG_DIFF_DST, IN, 0, 0}}},
    {PLIM_OP_CONV2D_BWD_WEIGHTS,
     dnnl_backward_weights,
     {{DNNL_ARG_SRC, IN, 1, 0}, {DNNL_ARG_DIFF_WEIGHTS, OUT, 0, 0}, {DNNL_ARG_DIFF_DST, IN, 0, 0}}},
    {PLIM_OP_LINEAR,
     dnnl_prop_kind_undef,
     {{DNNL_ARG_SRC, IN, 0, 0}, {DNNL_ARG_WEIGHTS, IN, 1, 1}, {DNNL_ARG_DST, OUT, 0, 0}, {DNNL_ARG_BIAS, IN, 2, 0}}},
    {PLIM_OP_LINEAR_BWD_DATA,
     dnnl_prop_kind_undef,
     {{DNNL_ARG_SRC, IN, 0, 0}, {DNNL_ARG_WEIGHTS, IN, 1, 0}, {DNNL_ARG_DST, OUT, 0, 0}}},
    {PLIM_OP_LINEAR_BWD_WEIGHTS,
     dnnl_prop_kind_undef,
     {{DNNL_ARG_SRC, IN, 0, 1}, {DNNL_ARG_WEIGHTS, IN, 1, 0}, {DNNL_ARG_DST, OUT, 0, 0}}},
};
enum { FAMILIES = sizeof families / sizeof *families };
enum { SRC, WEIGHTS, DST, BIAS }; /* rows of family.operand */

static const family *family_find(plim_op_kind kind) {
  for (int i = 0; i < FAMILIES; i++) {
    if (families[i].kind == kind) return &families[i];
  }
  return NULL;
}

/* Operands that the op really has: a bias may be absent. -1 when their number suits no form of the kind. */
static int operand_count(const family *f, const plim_op_desc *op) {
  int least = 3, most = f->operand[BIAS].arg ? 4 : 3;
  int n = op->n_in + op->n_out;
  return op->n_out == 1 && op->n_upd == 0 && n >= least && n <= most ? n : -1;
}

/* ---- operands in oneDNN's words ---- */

typedef plim_dnnl_md described[MAX_OPERANDS]; /* operands as they lie in the arena, by family row */

static dnnl_format_tag_t tag_of(const plim_shape *shape, int transposed) {
  static const dnnl_format_tag_t by_layout[PLIM_LAYOUT_COUNT] = {dnnl_nchw, dnnl_nhwc, dnnl_nChw8c, dnnl_nChw16c};
  if (shape->rank == 4) return by_layout[shape->layout];
  return transposed ? dnnl_ba : dnnl_ab;
}

static dnnl_data_type_t type_of(plim_dtype dtype) {
  return dtype == PLIM_BF16 ? dnnl_bf16 : dtype == PLIM_F32 ? dnnl_f32 : dnnl_data_type_undef;
}

static dnnl_status_t describe(const plim_shape *shape, int transposed, plim_dnnl_md *out) {
  if (shape->rank != 4 && shape->rank != 2) return dnnl_unimplemented;
  dnnl_dims_t dim = {0};
  for (int i = 0; i < shape->rank; i++) dim[i] = shape->dim[transposed ? shape->rank - 1 - i : i];
  return plim_dnnl_md_new(shape->rank, dim, type_of(shape->dtype), tag_of(shape, transposed), out);
}

/* A bias [O] belongs to a convolution as a vector, to a matrix product as one row. */
static dnnl_status_t describe_bias(const family *f, const plim_shape *shape, plim_dnnl_md *out) {
  if (shape->dtype != PLIM_F32 || shape->rank != 1) return dnnl_unimplemented;
  int matrix = f->prop == dnnl_prop_kind_undef;
  dnnl_dims_t dim = {matrix ? 1 : shape->dim[0], shape->dim[0]};
  return plim_dnnl_md_new(matrix ? 2 : 1, dim, dnnl_f32, matrix ? dnnl_ab : dnnl_a, out);
}

static dnnl_status_t describe_operands(const family *f, const plim_op_desc *op, int n, described md) {
  for (int i = 0; i < n; i++) {
    const operand *o = &f->operand[i];
    const plim_shape *shape = o->from == IN ? &op->in[o->position] : &op->out[o->position];
    dnnl_status_t status = i == BIAS ? describe_bias(f, shape, &md[i]) : describe(shape, o->transposed, &md[i]);
    if (status != dnnl_success) return status;
  }
  return dnnl_success;
}

static int64_t desc_bytes(plim_dnnl_const_md md) {
  return md ? (int64_t)dnnl_memory_desc_get_size(md) : 0;
}

static plim_dnnl_const_md desc_of_arg(const_dnnl_primitive_desc_t pd, int arg) {
  return dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg);
}

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

/* Make parallel regions use `threads` from here on; returns what they used before. */
static int threads_set(int threads) {
  int before = omp_get_max_threads();
  if (before != threads) omp_set_num_threads(threads);
  return before;
}

/* ---- the walk over an op's variants ---- */

static const struct {
  dnnl_alg_kind_t kind;
  const char *name;
} algorithms[] = {{dnnl_convolution_direct, "direct"}, {dnnl_convolution_winograd, "winograd"}};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

typedef struct walk {
  const family *family;
  const plim_op_desc *op;
  int n_operands, threads, threads_before;
  described md;
  dnnl_engine_t engine;
  dnnl_primitive_attr_t attr;
  int algorithm; /* of `offers` */
  plim_dnnl_offers offers;
  int n_seen; /* variants yielded so far; of two with one name the first has the better instruction set */
  char seen[MAX_VARIANTS][sizeof(((plim_kernel_info *)0)->name)];
} walk;

static void walk_end(walk *w) {
  plim_dnnl_offers_end(&w->offers);
  for (int i = 0; i < MAX_OPERANDS; i++) plim_dnnl_md_free(w->md[i]);
  if (w->attr) dnnl_primitive_attr_destroy(w->attr);
  if (w->engine) dnnl_engine_destroy(w->engine);
  threads_set(w->threads_before);
}

/* Start before the first variant; walk_end is due whatever this returns. */
static dnnl_status_t walk_begin(walk *w, const plim_op_desc *op, int threads) {
  memset(w, 0, sizeof *w);
  w->threads = threads;
  w->threads_before = threads_set(threads);
  w->op = op;
  w->algorithm = -1;
  w->family = family_find(op->kind);
  w->n_operands = w->family ? operand_count(w->family, op) : -1;
  plim_dtype type;
  if (w->n_operands < 0 || !plim_op_type(op, &type)) return dnnl_unimplemented;
  dnnl_status_t status = describe_operands(w->family, op, w->n_operands, w->md);
  if (status == dnnl_success) status = dnnl_engine_create(&w->engine, dnnl_cpu, 0);
  if (status == dnnl_success) status = dnnl_primitive_attr_create(&w->attr);
  if (status == dnnl_success) status = dnnl_primitive_attr_set_scratchpad_mode(w->attr, dnnl_scratchpad_mode_user);
  return status;
}

/* The first implementation of the next algorithm that has any; 0 when there is none left. */
static int walk_next_algorithm(walk *w) {
  const plim_attrs *a = &w->op->attrs;
  plim_dnnl_op op = {.prop = w->family->prop,
                     .src = w->md[SRC],
                     .weights = w->md[WEIGHTS],
                     .bias = w->n_operands > BIAS ? w->md[BIAS] : NULL,
                     .dst = w->md[DST],
                     .stride = {a->stride[0], a->stride[1]},
                     .pad = {a->pad[0], a->pad[1]}};
  int matrix = op.prop == dnnl_prop_kind_undef;
  while (++w->algorithm < (matrix ? 1 : ALGORITHMS)) {
    op.algorithm = algorithms[w->algorithm].kind;
    if (plim_dnnl_offers_first(&w->offers, &op, w->engine, w->attr)) return 1;
  }
  return 0;
}

/* The next implementation as oneDNN offers it; 0 at the end. */
static int walk_next_offer(walk *w) {
  return plim_dnnl_offers_next(&w->offers) || walk_next_algorithm(w);
}

/* `ref` is 100 times slower than the rest; gemm (brgemm is another thing) allocates buffers in every call, and ncsp
 * (version 3), which runs other primitives inside, objects. Winograd's weight gradient allocates
 * 240 (threads + 1) bytes a call, 4 KiB and more with one thread: over the 1 KiB that an op's transient objects may
 * take, unless there are 2 or 3 threads. The weight gradient of a 1x1 convolution with a stride and fewer than 16 input
 * channels writes behind its scratchpad. */
#ifdef __clang__
enum { WINOGRAD_THREADS = 2 }; /* libomp's teams take as much once more */
#else
enum { WINOGRAD_THREADS = 3 };
#endif
static int refused(const walk *w, const char *implementation) {
  const char *gemm = strstr(implementation, "gemm");
  int gemm_based = gemm && !(gemm - implementation >= 2 && strncmp(gemm - 2, "br", 2) == 0);
  int few_channels = w->family->prop == dnnl_backward_weights && strstr(implementation, "1x1") &&
                     w->op->in[1].dim[1] < 16 && (w->op->attrs.stride[0] > 1 || w->op->attrs.stride[1] > 1);
  int winograd_gradient = strstr(implementation, "wino") && w->family->prop == dnnl_backward_weights;
  return strncmp(implementation, "ref", 3) == 0 || gemm_based || strstr(implementation, "ncsp") || few_channels ||
         (winograd_gradient && (w->threads < 2 || w->threads > WINOGRAD_THREADS));
}

/* "onednn-direct-jit_1x1" out of ("direct", "jit_1x1:avx512_core"); Winograd has one implementation. */
static void variant_name(const walk *w, const char *implementation, char *name, size_t size) {
  int length = (int)strcspn(implementation, ":");
  if (w->family->prop == dnnl_prop_kind_undef) {
    snprintf(name, size, "onednn-matmul-%.*s", length, implementation);
  } else if (algorithms[w->algorithm].kind == dnnl_convolution_winograd) {
    snprintf(name, size, "onednn-%s", algorithms[w->algorithm].name);
  } else {
    snprintf(name, size, "onednn-%s-%.*s", algorithms[w->algorithm].name, length, implementation);
  }
}

/* Go to the next variant; its name, or NULL after the last. */
static const char *walk_next(walk *w) {
  while (w->n_seen < MAX_VARIANTS && walk_next_offer(w)) {
    const char *implementation = NULL;
    if (dnnl_primitive_desc_query(w->offers.pd, dnnl_query_impl_info_str, 0, (void *)&implementation) != dnnl_success ||
        refused(w, implementation)) {
      continue;
    }
    char *name = w->seen[w->n_seen];
    variant_name(w, implementation, name, sizeof w->seen[0]);
    int known = 0;
    for (int i = 0; i < w->n_seen; i++) known |= strcmp(w->seen[i], name) == 0;
    if (known) continue;
    w->n_seen++;
    return name;
  }
  return NULL;
}

/* ---- what a variant needs beyond its operands ---- */

typedef struct needs {
  plim_dnnl_const_md weights; /* as the primitive wants them; NULL: as they lie */
  plim_weights_order order;   /* of `weights` */
  int64_t scratch_bytes;
  int64_t weights_at; /* in the workspace */
  int64_t workspace_bytes;
} needs;

/* 0 when the weights would have to lie in an order that we do not know. */
static int needs_find(const walk *w, needs *out) {
  memset(out, 0, sizeof *out);
  plim_dnnl_const_md stored = w->md[WEIGHTS];
  plim_dnnl_const_md wanted = desc_of_arg(w->offers.pd, w->family->operand[WEIGHTS].arg);
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
  walk w;
  int count = 0;
  const char *name;
  if (walk_begin(&w, op, threads) == dnnl_success) {
    while ((name = walk_next(&w)) != NULL) {
      needs needed;
      if (!needs_find(&w, &needed)) continue;
      if (count < capacity) {
        memset(&info[count], 0, sizeof info[count]);
        memcpy(info[count].name, name, strlen(name));
        memcpy(info[count].label, name, strlen(name));
        info[count].workspace_bytes = needed.workspace_bytes;
      }
      count++;
    }
  }
  walk_end(&w);
  return count;
}

/* ---- a prepared op: its arguments bound to places ---- */

typedef struct source {
  place from;
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
  int copies;              /* weights are copied: IN before the primitive runs, OUT after it */
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

static dnnl_status_t fill_state(state *s, walk *w, const needs *needed) {
  s->engine = w->engine; /* now the state's */
  w->engine = NULL;
  dnnl_status_t status = dnnl_stream_create(&s->stream, s->engine, dnnl_stream_in_order);
  if (status == dnnl_success) status = dnnl_primitive_create(&s->primitive, w->offers.pd);
  if (status == dnnl_success && needed->scratch_bytes > 0) {
    plim_dnnl_const_md scratch = desc_of_arg(w->offers.pd, DNNL_ARG_SCRATCHPAD);
    status = bind(s, DNNL_ARG_SCRATCHPAD, scratch, (source){WORKSPACE, 0});
  }
  for (int i = 0; i < w->n_operands && status == dnnl_success; i++) {
    const operand *o = &w->family->operand[i];
    source plain = {o->from, o->position}, ordered = {WORKSPACE, needed->weights_at};
    int copied = i == WEIGHTS && needed->weights;
    status = bind(s, o->arg, copied ? needed->weights : w->md[i], copied ? ordered : plain);
    if (!copied) continue;
    s->copies = 1;
    s->plain = plain;
    s->ordered = ordered;
    s->order = needed->order;
  }
  return status;
}

static int onednn_make(const plim_op_desc *op, const char *variant, int threads, const plim_kernel_memory *memory,
                       void **out) {
  walk w;
  needs needed;
  state *s = NULL;
  const char *name = NULL;
  dnnl_status_t status = walk_begin(&w, op, threads);
  if (status == dnnl_success) {
    while ((name = walk_next(&w)) != NULL && strcmp(name, variant) != 0) continue;
    status = name && needs_find(&w, &needed) ? dnnl_success : dnnl_unimplemented;
  }
  if (status == dnnl_success) {
    s = plim_kernel_allocate(memory, 1, sizeof *s);
    status = s ? fill_state(s, &w, &needed) : dnnl_out_of_memory;
  }
  walk_end(&w);
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
    case IN:
      return args->in[from.at];
    case OUT:
      return args->out[from.at];
    default:
      return (char *)args->workspace + from.at;
  }
}

static int onednn_run(void *opaque, const plim_kernel_args *args) {
  const state *s = opaque;
  int before = threads_set(s->threads);
  if (s->copies && s->plain.from == IN)
    plim_weights_to(&s->order, address(args, s->plain), address(args, s->ordered), s->threads);
  dnnl_status_t status = dnnl_success;
  for (int i = 0; i < s->n && status == dnnl_success; i++)
    status = dnnl_memory_set_data_handle(s->arg[i].memory, address(args, s->source[i]));
  if (status == dnnl_success) status = dnnl_primitive_execute(s->primitive, s->stream, s->n, s->arg);
  if (status == dnnl_success) status = dnnl_stream_wait(s->stream);
  if (s->copies && s->plain.from == OUT)
    plim_weights_from(&s->order, address(args, s->ordered), address(args, s->plain), s->threads);
  threads_set(before);
  return status == dnnl_success ? PLIM_KERNEL_OK : PLIM_KERNEL_FAILED;
}

/* ---- the public rows ---- */

const plim_kernel_type *plim_onednn_types(int *count) {
#define ROW(kind) \
  { sizeof(plim_kernel_type), kind, "onednn", onednn_list, onednn_make, onednn_run, onednn_free }
  static const plim_kernel_type types[] = {
      ROW(PLIM_OP_CONV2D), ROW(PLIM_OP_CONV2D_BWD_DATA), ROW(PLIM_OP_CONV2D_BWD_WEIGHTS),
      ROW(PLIM_OP_LINEAR), ROW(PLIM_OP_LINEAR_BWD_DATA), ROW(PLIM_OP_LINEAR_BWD_WEIGHTS),
  };
#undef ROW
  *count = sizeof types / sizeof *types;
  return types;
}

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
