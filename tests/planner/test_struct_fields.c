/* planner/fields.c: the table of struct fields is that of the structs. */
#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

#include "planner/planner.h"

Test(struct_fields, every_field_lies_inside_the_struct_whose_row_came_before_it) {
  const char *type, *field, *now = "";
  size_t offset, bytes, whole = 0;
  int32_t n = 0, structs = 0;
  for (; plim_struct_field(n, &type, &field, &offset, &bytes); n++) {
    if (*field == '\0') {
      now = type;
      whole = bytes;
      structs++;
      continue;
    }
    cr_expect_str_eq(type, now);
    cr_expect_leq(offset + bytes, whole, "%s.%s", type, field);
  }
  cr_expect_eq(structs, 10);
  cr_expect_gt(n, 50);
  cr_expect_eq(plim_struct_field(-1, &type, &field, &offset, &bytes), 0);
}

Test(struct_fields, a_field_is_where_the_compiler_put_it) {
  const char *type, *field;
  size_t offset, bytes;
  int found = 0;
  for (int32_t i = 0; plim_struct_field(i, &type, &field, &offset, &bytes); i++) {
    if (strcmp(type, "plim_plan") != 0 || strcmp(field, "bound_ns") != 0) continue;
    found = 1;
    cr_expect_eq(offset, offsetof(plim_plan, bound_ns));
    cr_expect_eq(bytes, sizeof(int64_t));
  }
  cr_expect(found);
}
