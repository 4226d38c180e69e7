/* runtime/profile/energy_meter.c, over a fake GPU and files as those of the kernel. */
#include "runtime/profile/energy_meter.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "runtime/device/device_cuda.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/folder.h"

static plim_context *ctx;
static plim_device *device;

static void write_counter(const char *uj) {
  char path[400];
  static const char *const file[] = {"name", "max_energy_range_uj", "energy_uj"};
  const char *const text[] = {"package-0\n", "1000000000\n", uj};
  (void)snprintf(path, sizeof path, "%s", plim_test_path("intel-rapl:0"));
  (void)mkdir(path, 0700);
  for (int i = 0; i < 3; i++) {
    char name[64];
    (void)snprintf(name, sizeof name, "intel-rapl:0/%s", file[i]);
    FILE *f = fopen(plim_test_path(name), "w");
    cr_assert_not_null(f);
    (void)fputs(text[i], f);
    (void)fclose(f);
  }
}

static void open_gpu(int64_t energy_mj) {
  fake_cuda_options options = fake_cuda_options_default();
  options.energy_mj = energy_mj;
  cr_assert_eq(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &device), PLIM_OK);
}

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  (void)plim_test_folder();
  cr_assert_eq(setenv("PLIM_POWERCAP", plim_test_path("."), 1), 0);
}

static void teardown(void) {
  plim_device_close(device);
  plim_context_free(ctx);
  static const char *const file[] = {"intel-rapl:0/name", "intel-rapl:0/max_energy_range_uj", "intel-rapl:0/energy_uj",
                                     "intel-rapl:0"};
  for (int i = 0; i < 4; i++) (void)remove(plim_test_path(file[i]));
  plim_test_folder_remove();
}
TestSuite(energy_meter, .init = setup, .fini = teardown);

static int is_near(double a, double b) {
  return fabs(a - b) < 1e-9;
}

Test(energy_meter, counts_what_packages_and_the_gpu_draw_from_the_start_on) {
  plim_energy_meter m;
  open_gpu(2500); /* from each question to the next */
  write_counter("400000000\n");
  plim_energy_meter_open(device, &m);
  cr_assert_eq(m.packages.n, 1);
  cr_assert_eq(m.device, device);
  write_counter("500000000\n");
  plim_energy_meter_start(&m);
  cr_assert(is_near(m.gpu_joule, 0) && is_near(m.packages.joule, 0), "what was drawn before is not counted");
  write_counter("501000000\n");
  plim_energy_meter_add(&m);
  cr_assert(is_near(m.gpu_joule, 2.5) && is_near(m.packages.joule, 1), "%g %g", m.gpu_joule, m.packages.joule);
  plim_energy_meter_keep(&m);
  cr_assert(is_near(m.gpu_joule, 2.5), "ten seconds have not passed");
  plim_energy_meter_start(&m); /* a pause between two parts of a run */
  plim_energy_meter_add(&m);
  cr_assert(is_near(m.gpu_joule, 5), "%g", m.gpu_joule);
}

Test(energy_meter, has_no_gpu_where_none_tells_and_none_that_stops_telling) {
  plim_energy_meter m;
  open_gpu(0);
  plim_energy_meter_open(device, &m);
  cr_assert_null(m.device);
  plim_energy_meter_start(&m);
  plim_energy_meter_add(&m);
  cr_assert_eq(m.gpu_joule, 0);
  plim_device_close(device);
  open_gpu(10);
  plim_energy_meter_open(device, &m);
  cr_assert_not_null(m.device);
  plim_device_close(device);
  open_gpu(0);
  m.device = device;
  plim_energy_meter_add(&m);
  cr_assert_null(m.device);
  cr_assert_eq(m.packages.n, 0);
}

Test(energy_meter, has_no_gpu_on_a_cpu) {
  plim_energy_meter m;
  cr_assert_eq(plim_device_open(ctx, "cpu", NULL, &device), PLIM_OK);
  plim_energy_meter_open(device, &m);
  cr_assert_null(m.device);
}
