/* SHA-256 on the published vectors and on every way of cutting a text. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/base/sha256.h"

Test(sha256, gives_the_published_digests) {
  static const struct {
    const char *text, *hex;
  } vectors[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrst"
       "u",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
  };
  char hex[PLIM_SHA256_HEX_BYTES];
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    plim_sha256_hex(vectors[i].text, strlen(vectors[i].text), hex);
    cr_assert_str_eq(hex, vectors[i].hex, "vector %zu gave %s", i, hex);
  }
}

Test(sha256, gives_the_published_digest_of_a_million_letters) {
  static const uint8_t expected[] = {0xcd, 0xc7, 0x6e, 0x5c, 0x99, 0x14, 0xfb, 0x92, 0x81, 0xa1, 0xc7,
                                     0xe2, 0x84, 0xd7, 0x3e, 0x67, 0xf1, 0x80, 0x9a, 0x48, 0xa4, 0x97,
                                     0x20, 0x0e, 0x04, 0x6d, 0x39, 0xcc, 0xc7, 0x11, 0x2c, 0xd0};
  char letters[1000];
  uint8_t digest[PLIM_SHA256_BYTES];
  plim_sha256 sha;
  memset(letters, 'a', sizeof letters);
  plim_sha256_begin(&sha);
  for (int i = 0; i < 1000; i++) plim_sha256_add(&sha, letters, sizeof letters);
  plim_sha256_end(&sha, digest);
  cr_assert_arr_eq(digest, expected, sizeof digest);
}

Test(sha256, does_not_depend_on_how_the_text_is_cut) {
  char text[200];
  for (size_t i = 0; i < sizeof text; i++) text[i] = (char)i;
  for (size_t length = 0; length <= sizeof text; length++) {
    uint8_t whole[PLIM_SHA256_BYTES], cut[PLIM_SHA256_BYTES];
    plim_sha256 sha;
    plim_sha256_begin(&sha);
    plim_sha256_add(&sha, text, length);
    plim_sha256_end(&sha, whole);
    plim_sha256_begin(&sha);
    plim_sha256_add(&sha, text, length / 3);
    plim_sha256_add(&sha, text + length / 3, length - length / 3);
    plim_sha256_end(&sha, cut);
    cr_assert_arr_eq(whole, cut, sizeof whole, "%zu bytes", length);
  }
}

Test(sha256, knows_a_digest_from_other_text) {
  char hex[PLIM_SHA256_HEX_BYTES];
  plim_sha256_hex("", 0, hex);
  cr_assert(plim_sha256_is_hex(hex));
  hex[63] = 'A';
  cr_assert_not(plim_sha256_is_hex(hex));
  hex[63] = '\0';
  cr_assert_not(plim_sha256_is_hex(hex));
  cr_assert_not(plim_sha256_is_hex(""));
}
