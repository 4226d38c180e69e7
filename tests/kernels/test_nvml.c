/* kernels/cuda/nvml.c, over libraries that know one GPU. */
#include "kernels/cuda/nvml.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#ifdef PLIM_HAVE_CUDA
static const char known[] = "0000:01:00.0", unknown[] = "0000:02:00.0";

static void use(const char *library, const char *refused) {
  cr_assert_eq(setenv("PLIM_NVML", library, 1), 0);
  cr_assert_eq(setenv("FAKE_NVML_REFUSES", refused, 1), 0);
}

static void expect(int64_t bytes, int64_t mj) {
  cr_assert_eq(plim_nvml_free_bytes(known), bytes);
  cr_assert_eq(plim_nvml_energy_mj(known), mj);
  cr_assert_eq(plim_nvml_free_bytes(unknown), -1);
  cr_assert_eq(plim_nvml_energy_mj(unknown), -1);
}

Test(nvml, tells_free_bytes_and_the_energy_drawn) {
  use(PLIM_BINARY_DIR "/libfake_nvml.so", "");
  expect(700, INT64_C(123456789012));
}

Test(nvml, a_question_that_a_gpu_does_not_support_leaves_the_other) {
  use(PLIM_BINARY_DIR "/libfake_nvml.so", "energy");
  expect(700, -1);
  use(PLIM_BINARY_DIR "/libfake_nvml.so", "memory");
  expect(-1, INT64_C(123456789012));
  use(PLIM_BINARY_DIR "/libfake_nvml.so", "init");
  expect(-1, -1);
}

Test(nvml, a_library_without_the_function_of_energy_still_tells_free_bytes) {
  use(PLIM_BINARY_DIR "/libfake_nvml_old.so", "");
  expect(700, -1);
}

Test(nvml, without_a_library_nothing_is_known) {
  use("none", "");
  expect(-1, -1);
  use("/no/such/library.so", "");
  expect(-1, -1);
}
#endif
