/* The last product and the loss over a vocabulary, by matrix products of cuBLAS:
 *   forward   L = X W', then the loss of each row of L, and their mean
 *   backward  L again, G = its gradient, dX = G W, dW = G' X
 * L and G of some rows at a time, never of all, lie in the workspace: a variant for each of some numbers of rows, with
 * a numerics key of its own, because the library may sum another size in another order.
 *
 *   workspace = the library's; [forward] what is known of each row, two floats, [backward] the weight of a label;
 *               L and G, floats; in bf16 G rounded */
#include "kernels/cuda/batch_shares.h"
#include "kernels/cuda/stages.h"
#include "kernels/workspace.h"

enum { SHARE_STAGES = 4, PARTS_MIN = 4 /* of the rows: there is no tensor [tokens][vocabulary] */ };

typedef struct words {
  k_call call; /* of the single-source launch */
  plim_precision precision;
  int64_t element;
  int32_t backward;
  int64_t rows, words, channels; /* N, V, C */
} words;

static int describe(const plim_op_desc *op, words *w) {
  k_launch launch;
  if ((op->kind != PLIM_OP_LINEAR_XENT && op->kind != PLIM_OP_LINEAR_XENT_BWD) || !k_launch_make(op, &launch)) return 0;
  *w = (words){.call = launch.call,
               .precision = plim_op_math(op),
               .backward = op->kind == PLIM_OP_LINEAR_XENT_BWD,
               .rows = launch.call.rows.n,
               .words = launch.call.rows.columns,
               .channels = launch.call.xent.channels};
  w->element = w->precision == PLIM_PRECISION_BF16 ? 2 : 4;
  return w->rows < INT32_MAX && w->words < INT32_MAX && w->channels < INT32_MAX;
}

/* ---- the workspace ---- */

/* Where its parts begin, in bytes. */
typedef struct workspace_layout {
  int64_t known, logits, rounded, end;
} workspace_layout;

static workspace_layout layout_of(const words *w, const plim_batch_choice *choice) {
  const int64_t elements = choice->share * w->words;
  workspace_layout r = {.known = choice->blas_bytes};
  r.logits = r.known + k_workspace_part((w->backward ? 1 : 2 * w->rows) * (int64_t)sizeof(float));
  r.end = r.logits + k_workspace_part(elements * (int64_t)sizeof(float));
  r.rounded = r.logits;
  if (w->backward && w->element != 4) {
    r.rounded = r.end;
    r.end += k_workspace_part(elements * w->element);
  }
  return r;
}

static int64_t workspace_of(const void *op, const plim_batch_choice *choice) {
  return layout_of(op, choice).end;
}

static plim_batch_choices choices_of(const words *w, int64_t blas_bytes) {
  plim_batch_choices choices = {
      .family = "cublas", .precision = w->precision, .has_share = 1, .op = w, .workspace_bytes = workspace_of};
  const int64_t most = k_divide_up(w->rows, PARTS_MIN);
  plim_batch_choices_add_shares(&choices, most);
  plim_batch_choices_add_larger_blas(&choices, most, blas_bytes);
  return choices;
}

int plim_cuda_words_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  words w;
  if (!describe(op, &w)) return 0;
  const plim_batch_choices choices = choices_of(&w, engine->blas_bytes);
  return plim_batch_choices_list(&choices, info, capacity);
}

/* ---- stages ---- */

static plim_cuda_stage *add_kernel(plim_cuda_kernel *kernel, const words *w, const workspace_layout *r, k_kernel number,
                                   int64_t tiles) {
  plim_cuda_stage *stage = &kernel->stage[kernel->n++];
  *stage = (plim_cuda_stage){.in0 = plim_cuda_in(0, 0),
                             .out0 = plim_cuda_out(0, 0),
                             .kernel = number,
                             .tiles = tiles,
                             .call = w->call,
                             .has_workspace = 1,
                             .workspace = plim_cuda_work(r->known)};
  return stage;
}

/* The rows of a share: `first` and the `n` - 1 after it. */
typedef struct share {
  int64_t first, n;
} share;

static void add_rows(plim_cuda_kernel *kernel, const words *w, const workspace_layout *r, share s, k_kernel number,
                     plim_cuda_place to) {
  const plim_cuda_product logits = {.m = s.n, .n = w->words, .k = w->channels, .b_transposed = 1, .c_is_f32 = 1};
  plim_cuda_add_product(kernel, w->precision, logits, plim_cuda_in(0, s.first * w->channels * w->element),
                        plim_cuda_in(2, 0), plim_cuda_work(r->logits));
  plim_cuda_stage *stage = add_kernel(kernel, w, r, number, k_tiles(s.n, number));
  stage->in0 = plim_cuda_work(r->logits);
  stage->out0 = to;
  stage->call.xent.all = s.n;
  stage->call.xent.first = s.first;
}

static void add_gradients(plim_cuda_kernel *kernel, const words *w, const workspace_layout *r, share s) {
  const int64_t row = s.first * w->channels * w->element;
  const plim_cuda_product dx = {.m = s.n, .n = w->channels, .k = w->words};
  const plim_cuda_product dw = {
      .m = w->words, .n = w->channels, .k = s.n, .a_transposed = 1, .beta = s.first > 0 ? 1.0F : 0.0F, .c_is_f32 = 1};
  plim_cuda_add_product(kernel, w->precision, dx, plim_cuda_work(r->rounded), plim_cuda_in(2, 0),
                        plim_cuda_out(0, row));
  plim_cuda_add_product(kernel, w->precision, dw, plim_cuda_work(r->rounded), plim_cuda_in(0, row),
                        plim_cuda_out(1, 0));
}

int plim_cuda_words_make(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                         plim_cuda_kernel *kernel) {
  words w;
  if (!describe(op, &w)) return PLIM_KERNEL_UNSUPPORTED;
  const plim_batch_choices choices = choices_of(&w, engine->blas_bytes);
  const plim_batch_choice *choice = plim_batch_choices_find(&choices, variant);
  if (!choice) return PLIM_KERNEL_UNSUPPORTED;
  const workspace_layout r = layout_of(&w, choice);
  if (!plim_cuda_stages_make(kernel, k_divide_up(w.rows, choice->share) * SHARE_STAGES + 1)) return PLIM_KERNEL_NOMEM;
  kernel->blas_bytes = choice->blas_bytes;
  kernel->workspace_bytes = r.end;
  if (w.backward) add_kernel(kernel, &w, &r, K_KERNEL_softmax_count, 1);
  for (share s = {0, choice->share}; s.first < w.rows; s.first += s.n) {
    if (s.n > w.rows - s.first) s.n = w.rows - s.first;
    if (w.backward) {
      add_rows(kernel, &w, &r, s, K_KERNEL_xent_rows_bwd, plim_cuda_work(r.rounded));
      add_gradients(kernel, &w, &r, s);
    } else {
      add_rows(kernel, &w, &r, s, K_KERNEL_xent_rows, plim_cuda_out(0, 0));
    }
  }
  if (!w.backward) add_kernel(kernel, &w, &r, K_KERNEL_softmax_mean, 1);
  return PLIM_KERNEL_OK;
}
