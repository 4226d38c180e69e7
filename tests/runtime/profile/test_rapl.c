/* runtime/profile/rapl.c, over a folder with files as those of the kernel. */
#include "runtime/profile/rapl.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/folder.h"

static void write_file(const char *zone, const char *file, const char *text) {
  char path[512];
  (void)mkdir(plim_test_path(zone), 0700);
  (void)snprintf(path, sizeof path, "%s/%s", plim_test_path(zone), file);
  FILE *f = fopen(path, "w");
  cr_assert(f, "%s", path);
  (void)fputs(text, f);
  cr_assert_eq(fclose(f), 0);
}

static void write_zone(const char *zone, const char *name, const char *energy) {
  write_file(zone, "name", name);
  write_file(zone, "max_energy_range_uj", "1000000000\n");
  write_file(zone, "energy_uj", energy);
}

static void setup(void) {
  (void)plim_test_folder();
  write_zone("intel-rapl:0", "package-0\n", "400000000\n");
  write_zone("intel-rapl:1", "psys\n", "7\n");
  write_zone("intel-rapl:2", "package-1\n", "999000000\n");
}

static void teardown(void) {
  for (int zone = 0; zone < 3; zone++) {
    static const char *const file[] = {"name", "max_energy_range_uj", "energy_uj"};
    char name[32], path[512];
    (void)snprintf(name, sizeof name, "intel-rapl:%d", zone);
    for (int i = 0; i < 3; i++) {
      (void)snprintf(path, sizeof path, "%s/%s", plim_test_path(name), file[i]);
      (void)unlink(path);
    }
    (void)rmdir(plim_test_path(name));
  }
  plim_test_folder_remove();
}

TestSuite(rapl, .init = setup, .fini = teardown);

Test(rapl, counts_what_packages_draw_from_the_start_on_also_past_the_end_of_a_counter) {
  plim_rapl rapl;
  plim_rapl_open(plim_test_path("."), &rapl);
  cr_assert_eq(rapl.n, 2, "psys is no package");
  write_file("intel-rapl:0", "energy_uj", "410000000\n");
  plim_rapl_start(&rapl);
  cr_assert_eq(rapl.joule, 0);
  write_file("intel-rapl:0", "energy_uj", "412500000\n");
  write_file("intel-rapl:2", "energy_uj", "1000000\n"); /* 1000 - 999 + 1 */
  plim_rapl_add(&rapl);
  cr_assert_lt(fabs(rapl.joule - 4.5), 1e-9, "%g J", rapl.joule);
  plim_rapl_add(&rapl);
  cr_assert_lt(fabs(rapl.joule - 4.5), 1e-9, "nothing was drawn since");
}

Test(rapl, a_counter_that_cannot_be_read_is_none) {
  plim_rapl rapl;
  write_file("intel-rapl:2", "energy_uj", "12x\n");
  plim_rapl_open(plim_test_path("."), &rapl);
  cr_assert_eq(rapl.n, 1);
  write_file("intel-rapl:0", "energy_uj", "");
  plim_rapl_add(&rapl);
  cr_assert_eq(rapl.n, 0);
  plim_rapl_add(&rapl);
  plim_rapl_open("/nowhere", &rapl);
  cr_assert_eq(rapl.n, 0);
}
