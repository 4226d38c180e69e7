/* Causal attention by matrix products of cuBLAS, with the rows of scores in the workspace. D is the depth of a head; a
 * query sees the keys up to its own:
 *   forward   S = Q K', P = softmax of the rows of S / sqrt(D) without keys after the query, Y = P V
 *   backward  P again from the sums of e^(S / sqrt(D)), dP = dY V', dS = P (dP - rows' sums of dY Y) / sqrt(D),
 *             dQ = dS K, dK = dS' Q, dV = P' dY; P and dS are 0 at keys after the query
 * Queries, keys, values and results are read and written where they lie. The heads of a sequence lie D elements apart,
 * equal heads of sequences T rows apart. The more numerous of the two, "batches", are one strided batch, and each of
 * the other, a "line", is a call. A variant works on some lines at a time, which have their scores in the workspace
 * together; its numerics key is its name, because the library may sum another number of batches in another order.
 *
 *   workspace = the library's, scores or weights, [backward] their gradients, each [lines][batches][T][T] of floats,
 *               [backward] a float a row; in bf16 the rounded weights, [backward] the rounded gradients of scores */
#include "kernels/cuda/batch_shares.h"
#include "kernels/cuda/stages.h"
#include "kernels/workspace.h"

enum { LINES_MAX = 256, LINE_STAGES = 5, SHARE_STAGES = 3 };

typedef struct attention {
  k_call call; /* of the single-source launch */
  plim_precision precision;
  int64_t element;
  int32_t backward, by_head; /* by_head: batches are the heads of a sequence */
  int64_t tokens, channels, depth, lines, batches;
} attention;

/* Elements from line to line and from batch to batch of what has rows of so many elements a token. */
typedef struct steps {
  int64_t row, line, batch;
} steps;

static steps steps_of(const attention *t, int64_t row, int64_t head) {
  const int64_t sequence = t->tokens * row;
  return t->by_head ? (steps){row, sequence, head} : (steps){row, head, sequence};
}

static int describe(const plim_op_desc *op, attention *t) {
  k_launch launch;
  if ((op->kind != PLIM_OP_ATTENTION && op->kind != PLIM_OP_ATTENTION_BWD) || !k_launch_make(op, &launch)) return 0;
  const k_heads *h = &launch.call.heads;
  *t = (attention){.call = launch.call,
                   .precision = plim_op_math(op),
                   .backward = op->kind == PLIM_OP_ATTENTION_BWD,
                   .by_head = h->heads >= h->sequences,
                   .tokens = h->tokens,
                   .channels = h->heads * h->depth,
                   .depth = h->depth};
  t->element = t->precision == PLIM_PRECISION_BF16 ? 2 : 4;
  t->batches = t->by_head ? h->heads : h->sequences;
  t->lines = t->by_head ? h->sequences : h->heads;
  return t->lines <= LINES_MAX && t->batches < INT32_MAX && 3 * t->channels < INT32_MAX &&
         t->lines * t->batches * t->tokens < INT32_MAX; /* rows are counted in 32 bits */
}

/* ---- the workspace ---- */

/* Where its parts begin, in bytes. */
typedef struct workspace_layout {
  int64_t scores, gradients, delta, weights, dscores, end;
} workspace_layout;

static workspace_layout layout_of(const attention *t, const plim_batch_choice *choice) {
  const int64_t elements = choice->share * t->batches * t->tokens * t->tokens;
  const int64_t floats = k_workspace_part(elements * (int64_t)sizeof(float));
  const int64_t rounded = t->element == 4 ? 0 : k_workspace_part(elements * t->element);
  workspace_layout r = {.scores = choice->blas_bytes};
  r.gradients = r.scores + floats;
  r.delta = t->backward ? r.gradients + floats : r.gradients;
  r.weights = t->backward ? r.delta + k_workspace_part(elements / t->tokens * (int64_t)sizeof(float)) : r.delta;
  r.dscores = r.weights + rounded;
  r.end = t->backward ? r.dscores + rounded : r.dscores;
  if (rounded == 0) {
    r.weights = r.scores;
    r.dscores = r.gradients;
  }
  return r;
}

static int64_t workspace_of(const void *op, const plim_batch_choice *choice) {
  return layout_of(op, choice).end;
}

static plim_batch_choices choices_of(const attention *t, int64_t blas_bytes) {
  plim_batch_choices choices = {
      .family = "cublas", .precision = t->precision, .has_share = 1, .op = t, .workspace_bytes = workspace_of};
  plim_batch_choices_add_shares(&choices, t->lines);
  plim_batch_choices_add_larger_blas(&choices, t->lines, blas_bytes);
  return choices;
}

int plim_cuda_attention_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info,
                             int capacity) {
  attention t;
  if (!describe(op, &t)) return 0;
  const plim_batch_choices choices = choices_of(&t, engine->blas_bytes);
  return plim_batch_choices_list(&choices, info, capacity);
}

/* ---- stages ---- */

/* A matrix of each batch: its first element for line 0, in bytes, and how it lies. */
typedef struct matrices {
  plim_cuda_place at;
  int64_t element;
  steps step;
} matrices;

/* Queries (0), keys (1) or values (2) of an operand [B][T][3 C]. */
static matrices third_of(const attention *t, int32_t operand, int part) {
  return (matrices){{operand, part * t->channels * t->element}, t->element, steps_of(t, 3 * t->channels, t->depth)};
}
/* An operand [B][T][C]. */
static matrices rows_of(const attention *t, int32_t operand) {
  return (matrices){{operand, 0}, t->element, steps_of(t, t->channels, t->depth)};
}
/* [lines][batches][T][T] of the workspace, where line 0 is the first one of the share. */
static matrices square_of(const attention *t, int64_t offset, int64_t element) {
  const int64_t square = t->tokens * t->tokens;
  return (matrices){{PLIM_PLACE_WORKSPACE, offset}, element, {t->tokens, t->batches * square, square}};
}

static plim_cuda_place line_of(const matrices *m, int64_t line) {
  return (plim_cuda_place){m->at.operand, m->at.offset + line * m->step.line * m->element};
}

/* C = A B for every batch of a line: m, n and k of the product and its transposed factors are `sizes`. Of what lies in
 * the workspace it is line `at` of the share. */
static void add_product(plim_cuda_kernel *kernel, const attention *t, plim_cuda_product sizes, const matrices *a,
                        const matrices *b, const matrices *c, int64_t line, int64_t at) {
  const matrices *const operand[] = {a, b, c};
  plim_cuda_place place[3];
  for (int i = 0; i < 3; i++) {
    place[i] = line_of(operand[i], operand[i]->at.operand == PLIM_PLACE_WORKSPACE ? at : line);
  }
  sizes.batches = t->batches;
  sizes.a_step = a->step.batch;
  sizes.b_step = b->step.batch;
  sizes.c_step = c->step.batch;
  sizes.a_row = a->step.row;
  sizes.b_row = b->step.row;
  sizes.c_row = c->step.row;
  sizes.c_is_f32 = c->element == 4;
  plim_cuda_add_product(kernel, t->precision, sizes, place[0], place[1], place[2]);
}

static plim_cuda_stage *add_rows(plim_cuda_kernel *kernel, const attention *t, k_kernel number, int64_t lines,
                                 plim_cuda_place from, plim_cuda_place to) {
  plim_cuda_stage *stage = &kernel->stage[kernel->n++];
  *stage = (plim_cuda_stage){.in0 = from, .out0 = to, .kernel = number, .call = t->call};
  stage->call.heads.queries = lines * t->batches * t->tokens;
  stage->call.heads.batches = t->batches;
  stage->tiles = k_tiles(stage->call.heads.queries, number);
  return stage;
}

/* Lines of a share: `first` and the `n` - 1 after it. */
typedef struct share {
  int64_t first, n;
} share;

static k_matrix matrix_of(steps s) {
  return (k_matrix){.row = s.row, .inner = s.batch, .outer = s.line};
}

static void add_scores(plim_cuda_kernel *kernel, const attention *t, share s, const matrices *a, const matrices *b,
                       const matrices *score) {
  const plim_cuda_product sizes = {.m = t->tokens, .n = t->tokens, .k = t->depth, .b_transposed = 1};
  for (int64_t i = 0; i < s.n; i++) add_product(kernel, t, sizes, a, b, score, s.first + i, i);
}

/* The place of the share's first query in a row of sums [B][T][H]. */
static plim_cuda_place sums_of(const steps *lse, int32_t operand, share s) {
  return (plim_cuda_place){operand, s.first * lse->line * (int64_t)sizeof(float)};
}

static void add_forward(plim_cuda_kernel *kernel, const attention *t, const workspace_layout *r, share s) {
  const matrices query = third_of(t, 0, 0), key = third_of(t, 0, 1), value = third_of(t, 0, 2);
  const matrices score = square_of(t, r->scores, 4), weight = square_of(t, r->weights, t->element);
  const matrices y = rows_of(t, PLIM_PLACE_OUT);
  const plim_cuda_product rows = {.m = t->tokens, .n = t->depth, .k = t->tokens};
  const steps lse = steps_of(t, t->call.heads.heads, 1);
  add_scores(kernel, t, s, &query, &key, &score);
  plim_cuda_stage *stage = add_rows(kernel, t, K_KERNEL_attention_softmax, s.n, score.at, weight.at);
  stage->call.heads.steps = matrix_of(lse);
  stage->has_out1 = 1;
  stage->out1 = sums_of(&lse, PLIM_PLACE_OUT + 1, s);
  for (int64_t i = 0; i < s.n; i++) add_product(kernel, t, rows, &weight, &value, &y, s.first + i, i);
}

/* The weights again, and the sums over each row of dY x Y, which the gradient of the softmax subtracts. */
static void add_weights(plim_cuda_kernel *kernel, const attention *t, const workspace_layout *r, share s) {
  const matrices y = rows_of(t, 2), dy = rows_of(t, 0);
  const steps lse = steps_of(t, t->call.heads.heads, 1);
  plim_cuda_stage *stage =
      add_rows(kernel, t, K_KERNEL_attention_weights, s.n, plim_cuda_work(r->scores), plim_cuda_work(r->weights));
  stage->call.heads.steps = matrix_of(lse);
  stage->has_in1 = 1;
  stage->in1 = sums_of(&lse, 3, s);
  stage = add_rows(kernel, t, K_KERNEL_attention_delta, s.n, line_of(&dy, s.first), plim_cuda_work(r->delta));
  stage->call.heads.steps = matrix_of(y.step);
  stage->has_in1 = 1;
  stage->in1 = line_of(&y, s.first);
}

static void add_backward(plim_cuda_kernel *kernel, const attention *t, const workspace_layout *r, share s) {
  const matrices query = third_of(t, 1, 0), key = third_of(t, 1, 1), value = third_of(t, 1, 2), dy = rows_of(t, 0);
  const matrices dquery = third_of(t, PLIM_PLACE_OUT, 0), dkey = third_of(t, PLIM_PLACE_OUT, 1);
  const matrices dvalue = third_of(t, PLIM_PLACE_OUT, 2);
  const matrices score = square_of(t, r->scores, 4), weight = square_of(t, r->weights, t->element);
  const matrices dweight = square_of(t, r->gradients, 4), dscore = square_of(t, r->dscores, t->element);
  const plim_cuda_product rows = {.m = t->tokens, .n = t->depth, .k = t->tokens};
  plim_cuda_product columns = rows;
  columns.a_transposed = 1;
  add_scores(kernel, t, s, &query, &key, &score);
  add_weights(kernel, t, r, s);
  add_scores(kernel, t, s, &dy, &value, &dweight);
  plim_cuda_stage *stage = add_rows(kernel, t, K_KERNEL_attention_scores_bwd, s.n, dweight.at, dscore.at);
  stage->has_in1 = stage->has_workspace = 1;
  stage->in1 = weight.at;
  stage->workspace = plim_cuda_work(r->delta);
  for (int64_t i = 0; i < s.n; i++) {
    add_product(kernel, t, rows, &dscore, &key, &dquery, s.first + i, i);
    add_product(kernel, t, columns, &dscore, &query, &dkey, s.first + i, i);
    add_product(kernel, t, columns, &weight, &dy, &dvalue, s.first + i, i);
  }
}

int plim_cuda_attention_make(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                             plim_cuda_kernel *kernel) {
  attention t;
  if (!describe(op, &t)) return PLIM_KERNEL_UNSUPPORTED;
  const plim_batch_choices choices = choices_of(&t, engine->blas_bytes);
  const plim_batch_choice *choice = plim_batch_choices_find(&choices, variant);
  if (!choice) return PLIM_KERNEL_UNSUPPORTED;
  const workspace_layout r = layout_of(&t, choice);
  const int64_t shares = k_divide_up(t.lines, choice->share);
  if (!plim_cuda_stages_make(kernel, t.lines * LINE_STAGES + SHARE_STAGES * shares)) return PLIM_KERNEL_NOMEM;
  kernel->blas_bytes = choice->blas_bytes;
  kernel->workspace_bytes = r.end;
  for (share s = {0, choice->share}; s.first < t.lines; s.first += s.n) {
    if (s.n > t.lines - s.first) s.n = t.lines - s.first;
    (t.backward ? add_backward : add_forward)(kernel, &t, &r, s);
  }
  return PLIM_KERNEL_OK;
}
