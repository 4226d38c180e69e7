/* runtime/profile/page_link.c: links to page spaces are measured, and kept between runs. */
#include "runtime/profile/page_link.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/test_context.h"

Test(page_link, links_are_measured) {
  static const char *const spaces[] = {"host", "disk"};
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    plim_page_link link = {.latency_ns = {-1, -1}};
    cr_assert_eq(plim_page_link_measure(ctx, spaces[i], NULL, "", &link), PLIM_OK, "%s", plim_context_error(ctx));
    for (int in = 0; in < 2; in++) {
      cr_assert_gt(link.latency_ns[in], 0);
      cr_assert_gt(link.bytes_per_ns[in], 0.001);
      cr_assert_lt(link.bytes_per_ns[in], 10000.0);
    }
    for (int k = 0; k < 3; k++) {
      cr_assert_gt(link.beside_bytes_per_ns[k], 0.001);
      cr_assert_lt(link.beside_bytes_per_ns[k], 10000.0);
      cr_assert(link.delay_share[k] >= 0 && link.delay_share[k] <= 1, "%g", link.delay_share[k]);
    }
  }
  plim_context_free(ctx);
}

Test(page_link, a_link_is_measured_once_and_again_where_its_file_is_damaged) {
  static const char *const spaces[] = {"host", "disk"};
  plim_context *ctx = plim_test_context();
  const char *folder = plim_test_folder();
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    plim_page_link first, again, third;
    cr_assert_eq(plim_page_link_measure(ctx, spaces[i], NULL, folder, &first), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(plim_page_link_measure(ctx, spaces[i], NULL, folder, &again), PLIM_OK);
    for (int in = 0; in < 2; in++) {
      cr_assert_eq(first.latency_ns[in], again.latency_ns[in], "measured a second time");
      cr_assert_eq(memcmp(&first.bytes_per_ns[in], &again.bytes_per_ns[in], sizeof(double)), 0);
    }
    cr_assert_eq(memcmp(first.beside_bytes_per_ns, again.beside_bytes_per_ns, sizeof first.beside_bytes_per_ns), 0);
    cr_assert_eq(memcmp(first.delay_share, again.delay_share, sizeof first.delay_share), 0);
    (void)plim_test_shell("for f in link-*; do echo plimsoll link 4 5 -3 1 1 1 1 1 0 0 0 >$f; done");
    cr_assert_eq(plim_page_link_measure(ctx, spaces[i], NULL, folder, &third), PLIM_OK);
    cr_assert_gt(third.latency_ns[1], 0);
  }
  plim_test_folder_remove();
  plim_test_context_end(ctx);
}
