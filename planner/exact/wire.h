/* Protocol buffers on the wire: the few forms that messages for CP-SAT need. */
#ifndef PLIM_PLANNER_EXACT_WIRE_H
#define PLIM_PLANNER_EXACT_WIRE_H

#include "runtime/base/context.h"

/* A message that grows. After a failure the rest is ignored; `status` tells it. An empty one is {.ctx = ctx}. */
typedef struct plim_wire {
  plim_context *ctx;
  uint8_t *at;
  int64_t n, room;
  plim_status status;
} plim_wire;

void plim_wire_free(plim_wire *wire);
void plim_wire_clear(plim_wire *wire); /* keeps the room */

/* Append a field: an integer, a double, a message, integers one after the other (packed). */
void plim_wire_int(plim_wire *wire, int32_t field, int64_t value);
void plim_wire_real(plim_wire *wire, int32_t field, double value);
void plim_wire_message(plim_wire *wire, int32_t field, const plim_wire *message);
void plim_wire_ints(plim_wire *wire, int32_t field, int32_t n, const int64_t *value);

/* Fields of a message, one after the other. */
typedef struct plim_wire_field {
  int32_t number;
  enum { PLIM_WIRE_INT, PLIM_WIRE_REAL, PLIM_WIRE_BYTES, PLIM_WIRE_OTHER } kind;
  int64_t value;        /* INT */
  double real;          /* REAL */
  const uint8_t *bytes; /* BYTES */
  int64_t n;
} plim_wire_field;

typedef struct plim_wire_reader {
  const uint8_t *at, *end;
} plim_wire_reader;

/* 1: *out is the next field; 0: there is none; -1: the message is broken. */
int plim_wire_next(plim_wire_reader *reader, plim_wire_field *out);
/* The next packed integer: 1, 0 or -1 as above. */
int plim_wire_next_int(plim_wire_reader *reader, int64_t *out);

#endif
