/* An op's description is what a kernel depends on: its kind, attributes and shapes. Ops with equal descriptions share a
 * kernel and its times. Fields are copied one by one into zeroed bytes, because the padding of structs is undefined, so
 * that equal descriptions have equal bytes. */
#include "runtime/device/desc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/fnv.h"

static void copy_shapes(int32_t n, int32_t capacity, const plim_shape *from, plim_shape *to) {
  for (int32_t i = 0; i < n && n <= capacity; i++) {
    to[i].dtype = from[i].dtype;
    to[i].layout = from[i].layout;
    to[i].rank = from[i].rank;
    memcpy(to[i].dim, from[i].dim, sizeof to[i].dim);
    memcpy(to[i].stride, from[i].stride, sizeof to[i].stride);
  }
}

static void copy_attrs(plim_op_kind kind, const plim_attrs *from, plim_attrs *to) {
  const plim_attr *attr;
  for (int i = 0; (attr = plim_op_kind_attr(kind, i)) != NULL; i++) {
    for (int k = 0; k < attr->count; k++) {
      if (attr->type == PLIM_ATTR_FLOAT) {
        plim_attr_set_float(attr, to, k, plim_attr_float(attr, from, k));
      } else {
        plim_attr_set_int(attr, to, k, plim_attr_int(attr, from, k));
      }
    }
  }
}

void plim_desc_of(const plim_graph *graph, int32_t op, plim_op_desc *out) {
  plim_op_desc desc;
  memset(&desc, 0, sizeof desc);
  plim_graph_describe(graph, op, &desc);
  memset(out, 0, sizeof *out);
  out->kind = desc.kind;
  copy_attrs(desc.kind, &desc.attrs, &out->attrs);
  out->n_in = desc.n_in;
  out->n_out = desc.n_out;
  out->n_upd = desc.n_upd;
  copy_shapes(desc.n_in, PLIM_OP_MAX_IN, desc.in, out->in);
  copy_shapes(desc.n_out, PLIM_OP_MAX_OUT, desc.out, out->out);
  copy_shapes(desc.n_upd, PLIM_OP_MAX_UPD, desc.upd, out->upd);
  out->many_in = desc.many_in;
  out->many_out = desc.many_out;
  out->many_upd = desc.many_upd;
}

/* FNV-1a over words of 4 bytes. */
static uint64_t hash_words(uint64_t hash, const void *from, size_t n) {
  const unsigned char *bytes = from;
  for (size_t i = 0; i < n; i += 4) {
    uint32_t word;
    memcpy(&word, bytes + i, sizeof word);
    hash = (hash ^ word) * PLIM_FNV64_PRIME;
  }
  return hash;
}
_Static_assert(offsetof(plim_op_desc, in) % 4 == 0 && sizeof(plim_shape) % 4 == 0, "hashed in words of 4 bytes");

uint64_t plim_desc_hash(const plim_op_desc *desc) {
  uint64_t hash = hash_words(PLIM_FNV64, desc, offsetof(plim_op_desc, in));
  hash = hash_words(hash, plim_op_inputs(desc), (size_t)desc->n_in * sizeof(plim_shape));
  hash = hash_words(hash, plim_op_outputs(desc), (size_t)desc->n_out * sizeof(plim_shape));
  hash = hash_words(hash, plim_op_updates(desc), (size_t)desc->n_upd * sizeof(plim_shape));
  return hash ^ (hash >> 29);
}

static int equal_shapes(const plim_shape *a, const plim_shape *b, int32_t n) {
  return memcmp((const unsigned char *)a, (const unsigned char *)b, (size_t)n * sizeof *a) == 0;
}

/* Compares bytes: the padding of canonical descriptions is zero. */
int plim_desc_equal(const plim_op_desc *a, const plim_op_desc *b) {
  const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
  return memcmp(x, y, offsetof(plim_op_desc, in)) == 0 && equal_shapes(plim_op_inputs(a), plim_op_inputs(b), a->n_in) &&
         equal_shapes(plim_op_outputs(a), plim_op_outputs(b), a->n_out) &&
         equal_shapes(plim_op_updates(a), plim_op_updates(b), a->n_upd);
}

/* Text under construction; `used` stops at the end of the buffer. */
typedef struct desc_writer {
  char *text;
  size_t size, used;
} desc_writer;

static void append(desc_writer *writer, const char *format, ...) PLIM_PRINTF(2, 3);
static void append(desc_writer *writer, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int wrote = vsnprintf(writer->text + writer->used, writer->size - writer->used, format, args);
  va_end(args);
  size_t left = writer->size - writer->used - 1;
  writer->used += wrote < 0 ? 0 : (size_t)wrote < left ? (size_t)wrote : left;
}

static void append_shapes(desc_writer *writer, const char *what, int32_t n, const plim_shape *shape) {
  for (int32_t i = 0; i < n; i++) {
    append(writer, " %s %s %s", what, plim_dtype_name(shape[i].dtype), plim_layout_name(shape[i].layout));
    for (int32_t d = 0; d < shape[i].rank; d++) append(writer, "%c%lld", d ? 'x' : ' ', (long long)shape[i].dim[d]);
    if (!plim_shape_is_strided(&shape[i])) continue;
    for (int32_t d = 0; d < shape[i].rank; d++) append(writer, "%c%lld", d ? ',' : '/', (long long)shape[i].stride[d]);
  }
}

static void append_attr(desc_writer *writer, const plim_attr *attr, const plim_attrs *attrs) {
  if (plim_attr_is_zero(attr, attrs)) return;
  append(writer, " %s", attr->name);
  for (int k = 0; k < attr->count; k++) {
    if (attr->type == PLIM_ATTR_FLOAT) {
      append(writer, "%c%a", k ? ',' : ' ', (double)plim_attr_float(attr, attrs, k));
    } else {
      append(writer, "%c%lld", k ? ',' : ' ', (long long)plim_attr_int(attr, attrs, k));
    }
  }
}

int64_t plim_desc_text_bytes(const plim_op_desc *desc) {
  return PLIM_DESC_ALONE_BYTES + PLIM_DESC_OPERAND_BYTES * ((int64_t)desc->n_in + desc->n_out + desc->n_upd);
}

void plim_desc_text(const plim_op_desc *desc, char *text, size_t size) {
  desc_writer writer = {text, size, 0};
  const plim_attr *attr;
  append(&writer, "%s", plim_op_kind_name(desc->kind));
  for (int i = 0; (attr = plim_op_kind_attr(desc->kind, i)) != NULL; i++) append_attr(&writer, attr, &desc->attrs);
  append_shapes(&writer, "in", desc->n_in, plim_op_inputs(desc));
  append_shapes(&writer, "out", desc->n_out, plim_op_outputs(desc));
  append_shapes(&writer, "upd", desc->n_upd, plim_op_updates(desc));
}
