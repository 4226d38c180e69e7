/* CP-SAT through its C interface, and the encoding of its models. */
#ifndef PLIM_PLANNER_SOLVERS_CPSAT_H
#define PLIM_PLANNER_SOLVERS_CPSAT_H

#include "planner/solvers/solver.h"
#include "runtime/base/context.h"

/* ==== wire ==== */

/* Protocol buffers on the wire: the few forms that messages for CP-SAT need. */

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

/* ==== cpsat ==== */

/* Constraint models solved by CP-SAT, which is opened at run time and loaded into this process: unlike the solvers of
 * linear models (solver_subprocess.h), which run in a program of their own. */

/* variable + offset, or the offset alone (variable -1). */
typedef struct plim_cpsat_expression {
  int32_t variable;
  int64_t offset;
} plim_cpsat_expression;

/* A model under construction: the message itself. Literals are Boolean variables b, or -b - 1: not b. After a failure
 * the rest is ignored; solving tells it. An empty one is plim_cpsat_model_begin. */
typedef struct plim_cpsat_model {
  plim_wire body, constraint, inner, leaf; /* the message, and scratch */
  int32_t n_variables, n_constraints;
} plim_cpsat_model;

plim_cpsat_model plim_cpsat_model_begin(plim_context *ctx);
void plim_cpsat_model_free(plim_cpsat_model *model);

/* A variable whose domain is the union of n / 2 closed intervals, in order. */
int32_t plim_cpsat_variable(plim_cpsat_model *model, int32_t n, const int64_t *domain);
int32_t plim_cpsat_range(plim_cpsat_model *model, int64_t low, int64_t high);

/* low <= sum coefficient x variable <= high, when all n_if literals hold. */
void plim_cpsat_linear(plim_cpsat_model *model, int32_t n, const int64_t *variable, const int64_t *coefficient,
                       int64_t low, int64_t high, int32_t n_if, const int64_t *literal);
/* start + size = end, present when the literal holds (no literal: always). Returns its number for cumulative. */
int32_t plim_cpsat_interval(plim_cpsat_model *model, plim_cpsat_expression start, plim_cpsat_expression size,
                            plim_cpsat_expression end, int32_t n_if, const int64_t *literal);
/* At every moment the demands of present intervals that contain it sum to at most the capacity. */
void plim_cpsat_cumulative(plim_cpsat_model *model, plim_cpsat_expression capacity, int32_t n, const int64_t *interval,
                           const int64_t *demand);

/* Changes of a level over time, active ones in order of their moments; never below 0 nor above most. */
typedef struct plim_cpsat_event {
  plim_cpsat_expression time;
  int64_t change, literal;
} plim_cpsat_event;
void plim_cpsat_reservoir(plim_cpsat_model *model, int64_t most, int32_t n, const plim_cpsat_event *event);

void plim_cpsat_minimise(plim_cpsat_model *model, int32_t n, const int64_t *variable, const int64_t *coefficient);
void plim_cpsat_hint(plim_cpsat_model *model, int32_t n, const int64_t *variable, const int64_t *value);

/* ---- solving ---- */

typedef struct plim_cpsat plim_cpsat;

typedef enum plim_cpsat_end {
  PLIM_CPSAT_UNKNOWN,
  PLIM_CPSAT_INVALID,
  PLIM_CPSAT_FEASIBLE,
  PLIM_CPSAT_INFEASIBLE,
  PLIM_CPSAT_OPTIMAL
} plim_cpsat_end;

typedef struct plim_cpsat_options {
  double seconds;       /* elapsed; 0: no limit */
  double deterministic; /* work, in CP-SAT's own unit of about a second; 0: no limit */
  int32_t threads;      /* 0 and 1: one */
  uint64_t seed;
} plim_cpsat_options;

typedef struct plim_cpsat_answer {
  plim_cpsat_end end;
  double bound; /* no solution has a lower objective */
} plim_cpsat_answer;

/* Open the library. PLIM_EUNSUPPORTED, with the way to get it, when it is missing, broken or of another version. */
PLIM_MUST_USE plim_status plim_cpsat_open(plim_context *ctx, plim_cpsat **out);
void plim_cpsat_close(plim_cpsat *cpsat); /* NULL is legal */
/* "9.15", and what was opened. */
const char *plim_cpsat_version(const plim_cpsat *cpsat);
const char *plim_cpsat_path(const plim_cpsat *cpsat);

/* Solve. value [n_variables] receives the solution when there is one (FEASIBLE, OPTIMAL). A cancel of the context
 * stops it; it then ends as what it has. PLIM_EUNSUPPORTED when it does not understand the model. */
PLIM_MUST_USE plim_status plim_cpsat_solve(plim_cpsat *cpsat, const plim_cpsat_model *model,
                                           const plim_cpsat_options *options, plim_cpsat_answer *out, int64_t *value);

#endif
