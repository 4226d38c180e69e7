/* runtime/program/paging_links.c: the powers of a platform's file, by the names of a plan's devices and spaces. */
#include "runtime/program/paging_links.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/device/device.h"
#include "tests/support/folder.h"
#include "tests/support/test_context.h"

/* Two devices and a space of memory; links copy between the devices, and between the first one and the memory. */
static const char platform[] =
    "{\"devices\": [{\"name\": \"cpu\", \"watt\": 30, \"idle_watt\": 5, \"spaces\": [\"cpu\", \"cpu:1\", \"host\"]}, "
    "{\"name\": \"cpu:1\", \"watt\": 20, \"idle_watt\": 2, \"spaces\": [\"cpu:1\", \"cpu\"]}], \"links\": ["
    "{\"from\": \"cpu\", \"to\": \"cpu:1\", \"latency_s\": 0, \"bytes_per_second\": 1e9, \"watt\": 3, \"duplex\": "
    "true},"
    "{\"from\": \"cpu:1\", \"to\": \"cpu\", \"latency_s\": 0, \"bytes_per_second\": 1e9, \"watt\": 4, \"duplex\": "
    "true},"
    "{\"from\": \"cpu\", \"to\": \"host\", \"latency_s\": 0, \"bytes_per_second\": 1e9, \"watt\": 6, \"duplex\": true},"
    "{\"from\": \"host\", \"to\": \"cpu\", \"latency_s\": 0, \"bytes_per_second\": 1e9, \"watt\": 7, \"duplex\": true}"
    "]}";

static plim_context *ctx;

static void setup(void) {
  ctx = plim_test_context();
  (void)plim_test_folder();
  cr_assert_eq(plim_file_save(ctx, plim_test_path("p.json"), platform, (int64_t)sizeof platform - 1), PLIM_OK);
}

static void teardown(void) {
  plim_test_folder_remove();
}
TestSuite(paging_links, .init = setup, .fini = teardown);

static plim_status load(const plim_paging *paging, plim_powers *powers) {
  return plim_powers_load(ctx, plim_test_path("p.json"), "cpu", paging, powers);
}

/* A file may call the only CPU "cpu:0". What it says of a CPU is not taken for a GPU. */
Test(paging_links, a_gpu_has_no_power_of_a_cpu) {
  static const char one[] =
      "{\"devices\": [{\"name\": \"cpu:0\", \"watt\": 30, \"idle_watt\": 5, \"spaces\": [\"cpu:0\"]}], \"links\": []}";
  const plim_paging paging = plim_paging_default();
  plim_powers powers;
  const char *path = plim_test_path("p.json");
  cr_assert_eq(plim_file_save(ctx, path, one, (int64_t)sizeof one - 1), PLIM_OK);
  cr_assert_eq(plim_powers_load(ctx, path, "cpu", &paging, &powers), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(powers.device_watt[0], 30);
  cr_expect_eq(plim_powers_load(ctx, path, "cuda", &paging, &powers), PLIM_EDATA);
  cr_expect(strstr(plim_context_error(ctx), "there is no device 'cuda'"), "%s", plim_context_error(ctx));
  plim_test_context_end(ctx);
}

Test(paging_links, powers_have_the_order_of_the_spaces_of_the_plan) {
  plim_paging paging = plim_paging_default();
  plim_powers powers;
  paging.space = "host";
  cr_assert_eq(load(&paging, &powers), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(powers.device_watt[0], 30);
  cr_expect_eq(powers.idle_watt, 5);
  cr_expect_eq(powers.link_watt[0][1], 6);
  cr_expect_eq(powers.link_watt[1][0], 7);
  paging.space = NULL;
  paging.n_devices = 1;
  paging.device[0].name = "cpu:1";
  cr_assert_eq(load(&paging, &powers), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(powers.device_watt[1], 20);
  cr_expect_eq(powers.idle_watt, 7, "of both devices");
  cr_expect_eq(powers.link_watt[0][1], 3);
  cr_expect_eq(powers.link_watt[1][0], 4);
  plim_test_context_end(ctx);
}

Test(paging_links, a_power_that_is_not_known_is_refused_by_name_and_nothing_is_set) {
  plim_paging paging = plim_paging_default();
  plim_powers powers = {.idle_watt = 11};
  paging.n_devices = 1;
  paging.device[0].name = "cpu:1";
  paging.space = "host";
  cr_assert_eq(load(&paging, &powers), PLIM_EDATA);
  cr_expect(strstr(plim_context_error(ctx), "no link from cpu:1 to host"), "%s", plim_context_error(ctx));
  paging.device[0].name = "cpu:2";
  cr_assert_eq(load(&paging, &powers), PLIM_EDATA);
  cr_expect(strstr(plim_context_error(ctx), "there is no device 'cpu:2'"), "%s", plim_context_error(ctx));
  cr_expect_eq(powers.idle_watt, 11);
  plim_test_context_end(ctx);
}

Test(paging_links, more_devices_than_there_may_be_are_refused) {
  enum { TOO_MANY = PLIM_PAGE_DEVICES + 1 };
  const plim_link_place place = {.modelled = 1};
  const int64_t budget_bytes[TOO_MANY] = {0};
  plim_paging paging = plim_paging_default();
  plim_device *sim = NULL;
  plim_powers powers = {.idle_watt = 11};
  cr_assert_eq(plim_device_open(ctx, "sim", NULL, &sim), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(plim_paging_add_devices(sim, &place, TOO_MANY, budget_bytes, &paging), PLIM_EUSAGE);
  cr_expect_eq(plim_paging_add_devices(sim, &place, 0, budget_bytes, &paging), PLIM_EUSAGE);
  cr_expect_eq(paging.n_devices, 0);
  cr_expect_eq(plim_paging_add_devices(sim, &place, PLIM_PAGE_DEVICES, budget_bytes, &paging), PLIM_OK);
  paging.n_devices = TOO_MANY;
  cr_expect_eq(load(&paging, &powers), PLIM_EUSAGE);
  cr_expect_eq(powers.idle_watt, 11);
  plim_device_close(sim);
  plim_test_context_end(ctx);
}
