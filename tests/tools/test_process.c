/* tools/plimsoll/process: what a run holds outside its arenas. */
#include "tools/plimsoll/process.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MIB = 1 << 20 };

static outside split(int64_t total, int64_t dataset, int64_t now, int64_t most) {
  const outside o = outside_split(total, dataset, (plim_memory_use){.bytes = now, .bytes_peak = most});
  cr_expect_eq(o.dataset + o.documents + o.rest, o.total);
  cr_expect(o.dataset >= 0 && o.documents >= 0 && o.rest >= 0);
  return o;
}

/* Planning held 60 MiB, and gave back 58 before the arena was there. */
Test(process, parts_outside_the_arena_add_up_and_what_planning_gave_back_is_none_of_them) {
  char text[OUTSIDE_TEXT_BYTES];
  const outside o = split(40 * MIB, 15 * MIB, 17 * MIB, 75 * MIB);
  cr_expect_eq(o.documents, 2 * MIB);
  cr_expect_eq(o.rest, 23 * MIB);
  cr_expect_eq(o.planning, 60 * MIB);
  cr_expect_str_eq(outside_print(&o, text),
                   "40.0 MiB (data set 15.0 MiB, documents 2.0 MiB, program and libraries 23.0 MiB); planning held "
                   "60.0 MiB at most");
}

Test(process, parts_outside_the_arena_never_exceed_the_whole) {
  (void)split(10 * MIB, 15 * MIB, 17 * MIB, 75 * MIB);
  (void)split(16 * MIB, 15 * MIB, 40 * MIB, 75 * MIB);
  (void)split(-1, 0, 0, 0);
  (void)split(10 * MIB, 15 * MIB, 0, 0);
}
