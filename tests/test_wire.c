/* planner/solvers/wire.c: bytes as the encoding's definition has them, and back; broken messages are refused. */
#include "planner/solvers/cpsat.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/failing_memory.h"

static plim_context *ctx;
static void make_context(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void free_context(void) {
  plim_context_free(ctx);
}
TestSuite(wire, .init = make_context, .fini = free_context);

Test(wire, integers_reals_and_messages_have_the_bytes_of_the_definition) {
  const uint8_t expected[] = {0x08, 0x96, 0x01, 0x19, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x22, 0x03, 0x08, 0x96, 0x01};
  plim_wire w = {.ctx = ctx}, inner = {.ctx = ctx};
  plim_wire_int(&inner, 1, 150);
  plim_wire_int(&w, 1, 150);
  plim_wire_real(&w, 3, 1.0);
  plim_wire_message(&w, 4, &inner);
  cr_assert_eq(w.status, PLIM_OK);
  cr_assert_eq(w.n, (int64_t)sizeof expected);
  cr_assert_eq(memcmp(w.at, expected, sizeof expected), 0);
  plim_wire_free(&w);
  plim_wire_free(&inner);
}

Test(wire, what_is_written_is_read) {
  const int64_t values[] = {0, 1, -1, 127, 128, INT64_MAX, INT64_MIN};
  const int32_t n = sizeof values / sizeof values[0];
  plim_wire w = {.ctx = ctx};
  plim_wire_field field;
  int64_t value;
  plim_wire_real(&w, 36, 0.25);
  plim_wire_ints(&w, 2000, n, values);
  plim_wire_int(&w, 7, -5);
  plim_wire_reader r = {w.at, w.at + w.n};
  cr_assert_eq(plim_wire_next(&r, &field), 1);
  cr_assert(field.number == 36 && field.kind == PLIM_WIRE_REAL && field.real == 0.25);
  cr_assert_eq(plim_wire_next(&r, &field), 1);
  cr_assert(field.number == 2000 && field.kind == PLIM_WIRE_BYTES);
  plim_wire_reader ints = {field.bytes, field.bytes + field.n};
  for (int32_t i = 0; i < n; i++) {
    cr_assert_eq(plim_wire_next_int(&ints, &value), 1);
    cr_assert_eq(value, values[i]);
  }
  cr_assert_eq(plim_wire_next_int(&ints, &value), 0);
  cr_assert_eq(plim_wire_next(&r, &field), 1);
  cr_assert(field.number == 7 && field.kind == PLIM_WIRE_INT && field.value == -5);
  cr_assert_eq(plim_wire_next(&r, &field), 0);
  plim_wire_free(&w);
}

Test(wire, a_message_cut_anywhere_inside_a_field_is_broken) {
  const uint8_t message[] = {0x19, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
  plim_wire_field field;
  for (size_t n = 1; n < sizeof message; n++) {
    plim_wire_reader r = {message, message + n};
    cr_assert_eq(plim_wire_next(&r, &field), -1, "%zu bytes", n);
  }
  const uint8_t beyond[] = {0x22, 0x05, 1, 2}, endless[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
  const uint8_t no_kind[] = {0x0e, 1};
  plim_wire_reader long_reader = {beyond, beyond + sizeof beyond};
  plim_wire_reader endless_reader = {endless, endless + sizeof endless};
  plim_wire_reader kind_reader = {no_kind, no_kind + sizeof no_kind};
  cr_assert_eq(plim_wire_next(&long_reader, &field), -1);
  cr_assert_eq(plim_wire_next(&endless_reader, &field), -1);
  cr_assert_eq(plim_wire_next(&kind_reader, &field), -1);
}

static plim_status write_all(plim_context *failing, void *user) {
  (void)user;
  plim_wire w = {.ctx = failing}, inner = {.ctx = failing};
  for (int i = 0; i < 100; i++) plim_wire_int(&inner, 1, i);
  plim_wire_message(&w, 2, &inner);
  plim_status status = w.status;
  plim_wire_free(&w);
  plim_wire_free(&inner);
  return status;
}

Test(wire, a_refused_allocation_is_told_at_the_end) {
  cr_assert_geq(plim_test_each_allocation(write_all, NULL), 2);
}
