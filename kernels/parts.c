/* A convolution over parts of its output. Each part is the same op with smaller operands.
 *
 * An operand is whole in every part, or divided along its first or second dimension. Along the first its parts are
 * contiguous and are used where they lie. Along the second a part is a piece of each of many rows; it is gathered into
 * the workspace before its run, or scattered from there after it.
 *
 *   workspace = that of a part's kernel, then the gathered operands, each part aligned
 *
 * Parts of channels are multiples of 16, which keeps the vectors of kernels full. No sum of an output element is
 * divided: parts are of the batch where it is not summed over, and of the output's channels. */
#include "kernels/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/workspace.h"

enum { PART_ALIGN = 64, OPERANDS = 4, WHOLE = -1, CHANNELS_MIN = 16, PARTS_MAX = 1 << 10 };

/* Along which dimension the operands of a kind are divided: in order of inputs, then the output. */
typedef struct division {
  plim_op_kind kind;
  char letter;
  int8_t in[3], out;
} division;

static const division divisions[] = {
    {PLIM_OP_CONV2D, 'n', {0, WHOLE, WHOLE}, 0},
    {PLIM_OP_CONV2D, 'c', {WHOLE, 0, 0}, 1},
    {PLIM_OP_CONV2D_BWD_DATA, 'n', {0, WHOLE, WHOLE}, 0},
    {PLIM_OP_CONV2D_BWD_DATA, 'c', {WHOLE, 1, WHOLE}, 1},
    {PLIM_OP_CONV_TRANSPOSE2D, 'n', {0, WHOLE, WHOLE}, 0},
    {PLIM_OP_CONV_TRANSPOSE2D, 'c', {WHOLE, 1, WHOLE}, 1},
    {PLIM_OP_CONV2D_BWD_WEIGHTS, 'c', {1, WHOLE, WHOLE}, 0},
    {PLIM_OP_CONV2D_BWD_WEIGHTS, 'i', {WHOLE, 1, WHOLE}, 1},
};
enum { DIVISIONS = sizeof divisions / sizeof *divisions };
static const int part_counts[] = {2, 4, 8, 16};
enum { PART_COUNTS = sizeof part_counts / sizeof *part_counts };

/* Where the bytes of one operand lie, part by part. */
typedef struct slice {
  int divided;
  int64_t rows, row_bytes; /* of the whole operand, as seen by the division */
  int64_t part_bytes;      /* of a row */
  int64_t gathered_at;     /* in the workspace; -1: used where it lies */
} slice;

typedef struct parts {
  int count, n_in, threads;
  slice operand[OPERANDS]; /* inputs, then the output */
  plim_op_desc part;
  char whole[PLIM_KERNEL_NAME_BYTES];
  plim_kernel *kernel; /* of a part */
  int64_t workspace_bytes;
} parts;

int plim_parts_whole(const char *variant, char whole[PLIM_KERNEL_NAME_BYTES]) {
  const char *at = strrchr(variant, '@');
  if (!at || at - variant >= PLIM_KERNEL_NAME_BYTES) return 0;
  (void)snprintf(whole, PLIM_KERNEL_NAME_BYTES, "%.*s", (int)(at - variant), variant);
  return 1;
}

/* Make `shape` that of a part and describe where the parts lie; 0 when it cannot be divided so. */
static int divide(plim_shape *shape, int dim, int channels, int count, slice *out) {
  int64_t whole_bytes = plim_shape_bytes(shape);
  *out = (slice){.divided = dim != WHOLE, .rows = 1, .gathered_at = -1};
  if (dim == WHOLE) return whole_bytes > 0;
  if (whole_bytes <= 0 || shape->rank <= dim || shape->dim[dim] % count != 0) return 0;
  if (channels && shape->dim[dim] / count % CHANNELS_MIN != 0) return 0;
  if (dim == 1) out->rows = shape->dim[0];
  if (dim == 1 && shape->layout == PLIM_NHWC) out->rows *= shape->dim[2] * shape->dim[3];
  shape->dim[dim] /= count;
  int64_t part_bytes = plim_shape_bytes(shape);
  out->row_bytes = whole_bytes / out->rows;
  out->part_bytes = part_bytes / out->rows;
  return part_bytes > 0 && part_bytes * count == whole_bytes && (out->rows > 1 || out->part_bytes % PART_ALIGN == 0);
}

/* Everything but the kernel and the workspace of a part. */
static int plan_parts(const plim_op_desc *op, const division *d, int count, parts *out) {
  if (op->n_in < 2 || op->n_in > 3 || op->n_out != 1 || op->n_upd != 0) return 0;
  *out = (parts){.count = count, .n_in = op->n_in, .part = *op};
  for (int k = 0; k < op->n_in; k++) {
    if (!divide(&out->part.in[k], d->in[k], d->letter != 'n', count, &out->operand[k])) return 0;
  }
  return divide(&out->part.out[0], d->out, d->letter != 'n', count, &out->operand[op->n_in]);
}

static void place_gathered(parts *p, int64_t kernel_bytes) {
  p->workspace_bytes = k_workspace_part(kernel_bytes);
  for (int k = 0; k <= p->n_in; k++) {
    slice *s = &p->operand[k];
    if (!s->divided || s->rows == 1) continue;
    s->gathered_at = p->workspace_bytes;
    p->workspace_bytes += k_workspace_part(s->rows * s->part_bytes);
  }
}

/* What the kernel of that name needs for the part; -1 when there is none. */
static int64_t part_workspace(const plim_kernel_table *table, const parts *p, const char *whole, int threads) {
  plim_kernel_info info[PLIM_KERNEL_VARIANTS];
  int n = plim_kernel_list(table, &p->part, threads, info, PLIM_KERNEL_VARIANTS);
  for (int i = 0; i < n && i < PLIM_KERNEL_VARIANTS; i++) {
    if (strcmp(info[i].name, whole) == 0) return info[i].workspace_bytes;
  }
  return -1;
}

static int list_one(const plim_kernel_table *table, const plim_op_desc *op, int threads, const plim_kernel_info *whole,
                    const division *d, int count, plim_kernel_info *out) {
  parts p;
  memset(out, 0, sizeof *out);
  int length = snprintf(out->name, sizeof out->name, "%s@%c%d", whole->name, d->letter, count);
  if (length < 0 || (size_t)length >= sizeof out->name || !plan_parts(op, d, count, &p)) return 0;
  int64_t kernel_bytes = part_workspace(table, &p, whole->name, threads);
  if (kernel_bytes < 0) return 0;
  place_gathered(&p, kernel_bytes);
  memcpy(out->numerics_key, out->name, sizeof out->numerics_key);
  out->workspace_bytes = p.workspace_bytes;
  return out->workspace_bytes < whole->workspace_bytes;
}

int plim_parts_list(const plim_kernel_table *table, const plim_op_desc *op, int threads, const plim_kernel_info *whole,
                    plim_kernel_info *info, int capacity) {
  int count = 0;
  for (int k = 0; k < PART_COUNTS; k++) {
    const int first = count; /* of so many parts */
    for (int i = 0; i < DIVISIONS; i++) {
      plim_kernel_info one;
      if (divisions[i].kind != op->kind) continue;
      if (!list_one(table, op, threads, whole, &divisions[i], part_counts[k], &one)) continue;
      int at = count++;
      if (at >= capacity) continue;
      for (; at > first && info[at - 1].workspace_bytes > one.workspace_bytes; at--) info[at] = info[at - 1];
      info[at] = one;
    }
  }
  return count;
}

/* ---- running ---- */

/* Rows of one operand, in two places. */
typedef struct copied_rows {
  int64_t n, bytes; /* of a row */
  int threads;
} copied_rows;

/* Two loops and not an `if` clause: a team of one makes libgomp allocate the team of the next parallel region anew. */
static void copy_rows(const copied_rows *r, char *to, int64_t to_stride, const char *from, int64_t from_stride) {
  if (r->threads > 1) {
#pragma omp parallel for schedule(static) num_threads(r->threads)
    for (int64_t i = 0; i < r->n; i++) memcpy(to + i * to_stride, from + i * from_stride, (size_t)r->bytes);
  } else {
    for (int64_t i = 0; i < r->n; i++) memcpy(to + i * to_stride, from + i * from_stride, (size_t)r->bytes);
  }
}

static copied_rows rows_of(const parts *p, const slice *s) {
  return (copied_rows){s->rows, s->part_bytes, p->threads};
}

/* Part i of an operand that begins at `base`. */
static char *part_of(const slice *s, void *base, int i) {
  return (char *)base + (s->divided ? i * s->part_bytes : 0);
}

static int parts_run(void *state, const plim_kernel_args *args) {
  const parts *p = state;
  int result = PLIM_KERNEL_OK;
  for (int i = 0; i < p->count && result == PLIM_KERNEL_OK; i++) {
    void *operand[OPERANDS];
    for (int k = 0; k <= p->n_in; k++) {
      const slice *s = &p->operand[k];
      operand[k] = part_of(s, k < p->n_in ? args->in[k] : args->out[0], i);
      if (s->gathered_at < 0) continue;
      char *gathered = (char *)args->workspace + s->gathered_at;
      const copied_rows r = rows_of(p, s);
      if (k < p->n_in) copy_rows(&r, gathered, s->part_bytes, operand[k], s->row_bytes);
      operand[k] = gathered;
    }
    plim_kernel_args of_part = *args;
    of_part.in = operand;
    of_part.out = operand + p->n_in;
    result = plim_kernel_run(p->kernel, &of_part);
    const slice *s = &p->operand[p->n_in];
    if (s->gathered_at < 0) continue;
    const copied_rows r = rows_of(p, s);
    copy_rows(&r, part_of(s, args->out[0], i), s->row_bytes, operand[p->n_in], s->part_bytes);
  }
  return result;
}

static void parts_free(const plim_kernel_memory *memory, void *state) {
  parts *p = state;
  if (!p) return;
  plim_kernel_free(p->kernel);
  plim_kernel_release(memory, p, 1, sizeof *p);
}

/* The division and the number of parts that a name says, and the name of the whole variant. */
static int plan_named(const plim_op_desc *op, const char *variant, parts *out) {
  char whole[sizeof out->whole], *end;
  if (!plim_parts_whole(variant, whole)) return 0;
  char letter = variant[strlen(whole) + 1];
  if (!letter) return 0;
  const char *number = variant + strlen(whole) + 2;
  long count = strtol(number, &end, 10);
  if (*number < '1' || *number > '9' || *end || count < 2 || count > PARTS_MAX) return 0;
  for (int i = 0; i < DIVISIONS; i++) {
    if (divisions[i].kind != op->kind || divisions[i].letter != letter) continue;
    if (!plan_parts(op, &divisions[i], (int)count, out)) return 0;
    memcpy(out->whole, whole, sizeof whole);
    return 1;
  }
  return 0;
}

int plim_parts_make(const plim_kernel_table *table, const plim_op_desc *op, const char *variant, int threads,
                    const plim_kernel_memory *memory, plim_kernel_type *type, void **state, int64_t *workspace_bytes) {
  parts *p = plim_kernel_allocate(memory, 1, sizeof *p);
  if (!p) return PLIM_KERNEL_NOMEM;
  int result = plan_named(op, variant, p) ? PLIM_KERNEL_OK : PLIM_KERNEL_UNSUPPORTED;
  if (result == PLIM_KERNEL_OK) result = plim_kernel_make(table, &p->part, p->whole, threads, &p->kernel);
  if (result != PLIM_KERNEL_OK) {
    plim_kernel_release(memory, p, 1, sizeof *p);
    return result;
  }
  p->threads = threads;
  place_gathered(p, plim_kernel_workspace(p->kernel));
  *type = (plim_kernel_type){
      .struct_bytes = sizeof *type, .kind = op->kind, .family = "parts", .run = parts_run, .free = parts_free};
  *state = p;
  *workspace_bytes = p->workspace_bytes;
  return PLIM_KERNEL_OK;
}
