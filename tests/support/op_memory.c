#include "tests/support/op_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fnv.h"
#include "tests/support/test_random.h"

enum { ALIGN = 512, GUARD = 512, GUARD_BYTE = 0xA5 };

/* What op_memory is made of, in order: inputs, outputs, updated operands, workspace. */
enum { PARTS = PLIM_OP_MAX_IN + PLIM_OP_MAX_OUT + PLIM_OP_MAX_UPD + 1 };
typedef struct part {
  int64_t bytes;
  void **address;
} part;

static int parts_of(op_memory *m, part *p) {
  const plim_op_desc *d = &m->desc;
  int n = 0;
  for (int i = 0; i < d->n_in; i++) p[n++] = (part){plim_shape_bytes(&d->in[i]), &m->in[i]};
  for (int i = 0; i < d->n_out; i++) p[n++] = (part){plim_shape_bytes(&d->out[i]), &m->out[i]};
  for (int i = 0; i < d->n_upd; i++) p[n++] = (part){plim_shape_bytes(&d->upd[i]), &m->upd[i]};
  p[n++] = (part){m->workspace_bytes, &m->args.workspace};
  return n;
}

static int64_t rounded(int64_t bytes) {
  return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

void op_memory_make(op_memory *m, const plim_op_desc *desc, int64_t workspace_bytes) {
  memset(m, 0, sizeof *m);
  m->desc = *desc;
  m->workspace_bytes = workspace_bytes;
  part p[PARTS];
  int n = parts_of(m, p);
  m->block_bytes = GUARD;
  for (int i = 0; i < n; i++) m->block_bytes += rounded(p[i].bytes) + GUARD;
  m->block = aligned_alloc(ALIGN, (size_t)m->block_bytes);
  if (!m->block) {
    fprintf(stderr, "no memory for the %lld bytes of an op\n", (long long)m->block_bytes);
    exit(1);
  }
  memset(m->block, GUARD_BYTE, (size_t)m->block_bytes);
  int64_t at = GUARD;
  for (int i = 0; i < n; i++) {
    *p[i].address = m->block + at;
    at += rounded(p[i].bytes) + GUARD;
  }
  m->args.in = m->in;
  m->args.out = m->out;
  m->args.upd = m->upd;
}

void op_memory_free(op_memory *m) {
  free(m->block);
  m->block = NULL;
}

static void randomize(const plim_shape *shape, void *x, uint64_t seed) {
  if (shape->dtype != PLIM_F32 && shape->dtype != PLIM_BF16) return;
  const int64_t scale = 1 << 20;
  int64_t n = plim_shape_bytes(shape) / (shape->dtype == PLIM_BF16 ? 2 : 4);
  for (int64_t i = 0; i < n; i++) {
    float value = (float)test_random_between(&seed, -scale, scale) / (float)scale;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (shape->dtype == PLIM_BF16) {
      ((uint16_t *)x)[i] = (uint16_t)(bits >> 16);
    } else {
      ((float *)x)[i] = value;
    }
  }
}

void op_memory_randomize(op_memory *m, uint64_t seed) {
  for (int i = 0; i < m->desc.n_in; i++) randomize(&m->desc.in[i], m->in[i], seed * 64 + (uint64_t)i);
  for (int i = 0; i < m->desc.n_upd; i++) randomize(&m->desc.upd[i], m->upd[i], seed * 64 + 32 + (uint64_t)i);
}

void op_memory_fill(op_memory *m, int byte) {
  for (int i = 0; i < m->desc.n_out; i++) memset(m->out[i], byte, (size_t)plim_shape_bytes(&m->desc.out[i]));
  memset(m->args.workspace, byte, (size_t)m->workspace_bytes);
}

int op_memory_guards_intact(const op_memory *m) {
  op_memory copy = *m;
  part p[PARTS];
  int n = parts_of(&copy, p);
  const char *begin = m->block;
  for (int i = 0; i <= n; i++) {
    const char *end = i < n ? *p[i].address : m->block + m->block_bytes;
    for (const char *byte = begin; byte < end; byte++) {
      if ((unsigned char)*byte != GUARD_BYTE) return 0;
    }
    if (i < n) begin = end + p[i].bytes;
  }
  return 1;
}

uint64_t op_memory_hash(const op_memory *m, int what) {
  const plim_op_desc *d = &m->desc;
  uint64_t h = PLIM_FNV64;
  for (int i = 0; i < d->n_in && !what; i++) h = plim_fnv64(h, m->in[i], (size_t)plim_shape_bytes(&d->in[i]));
  for (int i = 0; i < d->n_out && what; i++) h = plim_fnv64(h, m->out[i], (size_t)plim_shape_bytes(&d->out[i]));
  for (int i = 0; i < d->n_upd && what; i++) h = plim_fnv64(h, m->upd[i], (size_t)plim_shape_bytes(&d->upd[i]));
  return h;
}

int64_t op_element(const plim_shape *shape, int64_t n, int64_t c, int64_t h, int64_t w) {
  int64_t channels = shape->dim[1], height = shape->dim[2], width = shape->dim[3];
  if (shape->layout == PLIM_NHWC) return ((n * height + h) * width + w) * channels + c;
  int64_t block = plim_layout_block(shape->layout); /* 1 for FLAT */
  return (((n * (channels / block) + c / block) * height + h) * width + w) * block + c % block;
}
