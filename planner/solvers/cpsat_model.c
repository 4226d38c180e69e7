/* Writing CpModelProto. Field numbers are those of cp_model.proto, which have not changed since OR-Tools 9.0. */
#include "planner/solvers/cpsat.h"

enum { MODEL_VARIABLE = 2, MODEL_CONSTRAINT = 3, MODEL_OBJECTIVE = 4, MODEL_HINT = 6 };
enum { VARIABLE_DOMAIN = 2 };
enum { IF = 2, LINEAR = 12, INTERVAL = 19, CUMULATIVE = 22, RESERVOIR = 24 };
enum { LINEAR_VARIABLES = 1, LINEAR_COEFFICIENTS = 2, LINEAR_DOMAIN = 3 };
enum { EXPRESSION_VARIABLES = 1, EXPRESSION_COEFFICIENTS = 2, EXPRESSION_OFFSET = 3 };
enum { INTERVAL_START = 4, INTERVAL_END = 5, INTERVAL_SIZE = 6 };
enum { CUMULATIVE_CAPACITY = 1, CUMULATIVE_INTERVALS = 2, CUMULATIVE_DEMANDS = 3 };
enum { RESERVOIR_MOST = 2, RESERVOIR_TIMES = 3, RESERVOIR_ACTIVE = 5, RESERVOIR_CHANGES = 6 };
enum { OBJECTIVE_VARIABLES = 1, OBJECTIVE_COEFFICIENTS = 4, HINT_VARIABLES = 1, HINT_VALUES = 2 };

plim_cpsat_model plim_cpsat_model_begin(plim_context *ctx) {
  plim_wire empty = {.ctx = ctx};
  return (plim_cpsat_model){.body = empty, .constraint = empty, .inner = empty, .leaf = empty};
}

void plim_cpsat_model_free(plim_cpsat_model *m) {
  if (!m->body.ctx) return;
  plim_wire_free(&m->body);
  plim_wire_free(&m->constraint);
  plim_wire_free(&m->inner);
  plim_wire_free(&m->leaf);
}

int32_t plim_cpsat_variable(plim_cpsat_model *m, int32_t n, const int64_t *domain) {
  plim_wire_clear(&m->inner);
  plim_wire_ints(&m->inner, VARIABLE_DOMAIN, n, domain);
  plim_wire_message(&m->body, MODEL_VARIABLE, &m->inner);
  return m->n_variables++;
}

int32_t plim_cpsat_range(plim_cpsat_model *m, int64_t low, int64_t high) {
  const int64_t domain[2] = {low, high};
  return plim_cpsat_variable(m, 2, domain);
}

/* The constraint in `inner`, of that kind. */
static int32_t add_constraint(plim_cpsat_model *m, int32_t kind, int32_t n_if, const int64_t *literal) {
  plim_wire_clear(&m->constraint);
  if (n_if > 0) plim_wire_ints(&m->constraint, IF, n_if, literal);
  plim_wire_message(&m->constraint, kind, &m->inner);
  plim_wire_message(&m->body, MODEL_CONSTRAINT, &m->constraint);
  return m->n_constraints++;
}

static void add_expression(plim_cpsat_model *m, int32_t field, plim_cpsat_expression e) {
  const int64_t variable = e.variable, one = 1;
  plim_wire_clear(&m->leaf);
  if (e.variable >= 0) {
    plim_wire_ints(&m->leaf, EXPRESSION_VARIABLES, 1, &variable);
    plim_wire_ints(&m->leaf, EXPRESSION_COEFFICIENTS, 1, &one);
  }
  plim_wire_int(&m->leaf, EXPRESSION_OFFSET, e.offset);
  plim_wire_message(&m->inner, field, &m->leaf);
}

void plim_cpsat_linear(plim_cpsat_model *m, int32_t n, const int64_t *variable, const int64_t *coefficient, int64_t low,
                       int64_t high, int32_t n_if, const int64_t *literal) {
  const int64_t domain[2] = {low, high};
  plim_wire_clear(&m->inner);
  plim_wire_ints(&m->inner, LINEAR_VARIABLES, n, variable);
  plim_wire_ints(&m->inner, LINEAR_COEFFICIENTS, n, coefficient);
  plim_wire_ints(&m->inner, LINEAR_DOMAIN, 2, domain);
  (void)add_constraint(m, LINEAR, n_if, literal);
}

int32_t plim_cpsat_interval(plim_cpsat_model *m, plim_cpsat_expression start, plim_cpsat_expression size,
                            plim_cpsat_expression end, int32_t n_if, const int64_t *literal) {
  plim_wire_clear(&m->inner);
  add_expression(m, INTERVAL_START, start);
  add_expression(m, INTERVAL_END, end);
  add_expression(m, INTERVAL_SIZE, size);
  return add_constraint(m, INTERVAL, n_if, literal);
}

void plim_cpsat_cumulative(plim_cpsat_model *m, plim_cpsat_expression capacity, int32_t n, const int64_t *interval,
                           const int64_t *demand) {
  plim_wire_clear(&m->inner);
  add_expression(m, CUMULATIVE_CAPACITY, capacity);
  plim_wire_ints(&m->inner, CUMULATIVE_INTERVALS, n, interval);
  for (int32_t i = 0; i < n; i++) {
    add_expression(m, CUMULATIVE_DEMANDS, (plim_cpsat_expression){.variable = -1, .offset = demand[i]});
  }
  (void)add_constraint(m, CUMULATIVE, 0, NULL);
}

void plim_cpsat_reservoir(plim_cpsat_model *m, int64_t most, int32_t n, const plim_cpsat_event *event) {
  plim_wire_clear(&m->inner);
  plim_wire_int(&m->inner, RESERVOIR_MOST, most);
  for (int32_t i = 0; i < n; i++) {
    add_expression(m, RESERVOIR_TIMES, event[i].time);
    add_expression(m, RESERVOIR_CHANGES, (plim_cpsat_expression){.variable = -1, .offset = event[i].change});
    plim_wire_ints(&m->inner, RESERVOIR_ACTIVE, 1, &event[i].literal);
  }
  (void)add_constraint(m, RESERVOIR, 0, NULL);
}

void plim_cpsat_minimise(plim_cpsat_model *m, int32_t n, const int64_t *variable, const int64_t *coefficient) {
  plim_wire_clear(&m->inner);
  plim_wire_ints(&m->inner, OBJECTIVE_VARIABLES, n, variable);
  plim_wire_ints(&m->inner, OBJECTIVE_COEFFICIENTS, n, coefficient);
  plim_wire_message(&m->body, MODEL_OBJECTIVE, &m->inner);
}

void plim_cpsat_hint(plim_cpsat_model *m, int32_t n, const int64_t *variable, const int64_t *value) {
  plim_wire_clear(&m->inner);
  plim_wire_ints(&m->inner, HINT_VARIABLES, n, variable);
  plim_wire_ints(&m->inner, HINT_VALUES, n, value);
  plim_wire_message(&m->body, MODEL_HINT, &m->inner);
}
