/* kernels/philox.h against the known answers that its authors publish, and runtime/base/philox_stream.c. */
#include "runtime/base/philox_stream.h"

#include <criterion/criterion.h>

static void check_words(plim_philox draw, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  const uint32_t expected[4] = {a, b, c, d};
  for (int i = 0; i < 4; i++) cr_assert_eq(draw.word[i], expected[i], "word %d is %08x", i, draw.word[i]);
}

Test(philox, gives_the_published_words_for_the_published_keys_and_counters) {
  check_words(plim_philox_at(0, 0, 0), 0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u);
  check_words(plim_philox_at(UINT64_MAX, UINT64_MAX, UINT64_MAX), 0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu);
  check_words(plim_philox_at(0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u), 0xd16cfe09u, 0x94fdccebu,
              0x5001e420u, 0x24126ea1u);
}

Test(philox, gives_every_name_a_stream_of_its_own) {
  cr_assert_eq(plim_philox_stream(""), 0xcbf29ce484222325u);
  cr_assert_eq(plim_philox_stream("a"), 0xaf63dc4c8601ec8cu);
  cr_assert_neq(plim_philox_stream("conv1.weight"), plim_philox_stream("conv2.weight"));
}
