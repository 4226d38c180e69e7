/* runtime/profile/page_link.c: links to page spaces are measured, and kept between runs. */
#include "runtime/profile/page_link.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/device/threads.h"
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

/* Bytes of addresses that this process has. */
static rlim_t own_addresses(void) {
  unsigned long long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  cr_assert_not_null(file);
  cr_assert_eq(fscanf(file, "%llu", &pages), 1);
  (void)fclose(file);
  return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

Test(page_link, memory_that_the_threads_would_read_and_that_is_refused_is_lack_of_memory) {
  plim_context *ctx = plim_test_context();
  plim_page_link link;
  struct rlimit limit;
  cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
  struct rlimit less = {own_addresses() + ((rlim_t)1 << 30), limit.rlim_max};
  plim_threads_adopt(PLIM_THREADS_MAX); /* they would read 4 GiB */
  cr_assert_eq(setrlimit(RLIMIT_AS, &less), 0);
  const plim_status status = plim_page_link_measure(ctx, "host", NULL, "", &link);
  cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
  cr_assert_eq(status, PLIM_ENOMEM, "%s: %s", plim_status_name(status), plim_context_error(ctx));
  plim_test_context_end(ctx);
}
