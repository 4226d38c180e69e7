/* Varints, little-endian doubles, length-delimited fields. Source: Protocol Buffers, encoding. */
#include "planner/solvers/cpsat.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, DELIMITED = 2, FIXED32 = 5, MOST_VARINT = 10 };

void plim_wire_free(plim_wire *w) {
  plim_release(w->ctx, w->at, w->room, 1);
  *w = (plim_wire){.ctx = w->ctx};
}

void plim_wire_clear(plim_wire *w) {
  w->n = 0;
  w->status = PLIM_OK;
}

static void append(plim_wire *w, const void *bytes, int64_t n) {
  if (w->status != PLIM_OK || n == 0) return;
  if (w->n + n > w->room) {
    int64_t room = 2 * w->room + n + 64;
    w->status = plim_resize_array(w->ctx, &w->at, w->room, room, 1);
    if (w->status != PLIM_OK) return;
    w->room = room;
  }
  memcpy(w->at + w->n, bytes, (size_t)n);
  w->n += n;
}

static int32_t varint(uint64_t value, uint8_t *out) {
  int32_t n = 0;
  for (; value > 0x7f; value >>= 7) out[n++] = (uint8_t)(value | 0x80);
  out[n++] = (uint8_t)value;
  return n;
}

static void append_varint(plim_wire *w, uint64_t value) {
  uint8_t bytes[MOST_VARINT];
  append(w, bytes, varint(value, bytes));
}

static void append_key(plim_wire *w, int32_t field, int kind) {
  append_varint(w, (uint64_t)field << 3 | (uint64_t)kind);
}

void plim_wire_int(plim_wire *w, int32_t field, int64_t value) {
  append_key(w, field, VARINT);
  append_varint(w, (uint64_t)value);
}

void plim_wire_real(plim_wire *w, int32_t field, double value) {
  uint64_t bits;
  uint8_t bytes[8];
  memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(bits >> 8 * i);
  append_key(w, field, FIXED64);
  append(w, bytes, 8);
}

void plim_wire_message(plim_wire *w, int32_t field, const plim_wire *message) {
  if (message->status != PLIM_OK) w->status = message->status;
  append_key(w, field, DELIMITED);
  append_varint(w, (uint64_t)message->n);
  append(w, message->at, message->n);
}

void plim_wire_ints(plim_wire *w, int32_t field, int32_t n, const int64_t *value) {
  uint8_t bytes[MOST_VARINT];
  uint64_t total = 0;
  for (int32_t i = 0; i < n; i++) total += (uint64_t)varint((uint64_t)value[i], bytes);
  append_key(w, field, DELIMITED);
  append_varint(w, total);
  for (int32_t i = 0; i < n; i++) append_varint(w, (uint64_t)value[i]);
}

int plim_wire_next_int(plim_wire_reader *r, int64_t *out) {
  uint64_t value = 0;
  if (r->at == r->end) return 0;
  for (int32_t i = 0; i < MOST_VARINT && r->at < r->end; i++) {
    uint8_t byte = *r->at++;
    value |= (uint64_t)(byte & 0x7f) << 7 * i;
    if (byte & 0x80) continue;
    *out = (int64_t)value;
    return 1;
  }
  return -1;
}

static int read_bytes(plim_wire_reader *r, int64_t n, plim_wire_field *out) {
  if (n < 0 || n > r->end - r->at) return -1;
  out->bytes = r->at;
  out->n = n;
  r->at += n;
  return 1;
}

int plim_wire_next(plim_wire_reader *r, plim_wire_field *out) {
  int64_t key = 0, n = 0;
  uint64_t bits = 0;
  int got = plim_wire_next_int(r, &key);
  if (got != 1) return got;
  *out = (plim_wire_field){.number = (int32_t)(key >> 3), .kind = PLIM_WIRE_OTHER};
  switch (key & 7) {
    case VARINT:
      out->kind = PLIM_WIRE_INT;
      return plim_wire_next_int(r, &out->value) == 1 ? 1 : -1;
    case FIXED64:
      if (read_bytes(r, 8, out) != 1) return -1;
      for (int i = 0; i < 8; i++) bits |= (uint64_t)out->bytes[i] << 8 * i;
      memcpy(&out->real, &bits, sizeof bits);
      out->kind = PLIM_WIRE_REAL;
      return 1;
    case DELIMITED:
      out->kind = PLIM_WIRE_BYTES;
      return plim_wire_next_int(r, &n) == 1 ? read_bytes(r, n, out) : -1;
    case FIXED32:
      return read_bytes(r, 4, out);
    default:
      return -1;
  }
}
