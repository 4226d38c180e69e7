/* runtime/data/idx.c on small files: whole, cut at every byte, and wrong in each field. */
#include "runtime/data/idx.h"

#include <criterion/criterion.h>
#include <string.h>
#include <zlib.h>

#include "runtime/base/file.h"
#include "tests/support/failing_memory.h"
#include "tests/support/folder.h"

enum { IMAGES = 3, ROWS = 2, COLUMNS = 5, PIXELS = IMAGES * ROWS * COLUMNS, PLAIN_BYTES = 16 + PIXELS, ROOM = 512 };

static plim_context *ctx;
static uint8_t plain[PLAIN_BYTES], packed[ROOM];
static size_t packed_bytes;

/* Compress plain[0 .. count) into packed. */
static void pack(size_t count) {
  z_stream stream = {0};
  cr_assert_eq(deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = plain;
  stream.avail_in = (uInt)count;
  stream.next_out = packed;
  stream.avail_out = ROOM;
  cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed_bytes = ROOM - stream.avail_out;
  (void)deflateEnd(&stream);
}

static void setup(void) {
  const uint8_t header[16] = {0, 0, 8, 3, 0, 0, 0, IMAGES, 0, 0, 0, ROWS, 0, 0, 0, COLUMNS};
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  (void)plim_test_folder();
  memcpy(plain, header, sizeof header);
  for (int i = 0; i < PIXELS; i++) plain[16 + i] = (uint8_t)(i * 7);
  pack(PLAIN_BYTES);
}

static void teardown(void) {
  plim_test_folder_remove();
  plim_context_free(ctx);
}
TestSuite(idx, .init = setup, .fini = teardown);

static const char *write_packed(size_t bytes) {
  const char *path = plim_test_path("file.gz");
  cr_assert_eq(plim_file_save(ctx, path, packed, (int64_t)bytes), PLIM_OK);
  return path;
}

/* Load the packed bytes; on failure outputs must be untouched. */
static plim_status load(size_t bytes) {
  int32_t dim[3] = {-7, -7, -7};
  uint8_t *data = NULL;
  plim_status status = plim_idx_load(ctx, write_packed(bytes), 3, dim, &data);
  if (status == PLIM_OK) {
    cr_assert(dim[0] == IMAGES && dim[1] == ROWS && dim[2] == COLUMNS);
    cr_assert_arr_eq(data, plain + 16, PIXELS);
    plim_release(ctx, data, PIXELS, 1);
  } else {
    cr_assert(dim[0] == -7 && data == NULL);
  }
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  return status;
}

static void expect(plim_status status, const char *words) {
  cr_assert_eq(load(packed_bytes), status, "%s", plim_context_error(ctx));
  cr_assert_not_null(strstr(plim_context_error(ctx), words), "\"%s\" lacks \"%s\"", plim_context_error(ctx), words);
}

Test(idx, reads_sizes_and_bytes) {
  cr_assert_eq(load(packed_bytes), PLIM_OK, "%s", plim_context_error(ctx));
}

Test(idx, refuses_a_file_cut_at_any_byte) {
  for (size_t cut = 0; cut < packed_bytes; cut++) {
    cr_assert_eq(load(cut), PLIM_EDATA, "cut at byte %zu of %zu was not noticed", cut, packed_bytes);
  }
}

Test(idx, refuses_a_file_with_any_byte_changed) {
  for (size_t at = 0; at < packed_bytes; at++) {
    int harmless = at >= 3 && at < 10; /* "is text", time stamp, hints and system in the gzip header */
    packed[at] ^= 1;
    if (!harmless) cr_assert_neq(load(packed_bytes), PLIM_OK, "a change in byte %zu was not noticed", at);
    packed[at] ^= 1;
  }
}

Test(idx, refuses_a_plain_file) {
  memcpy(packed, plain, PLAIN_BYTES);
  packed_bytes = PLAIN_BYTES;
  expect(PLIM_EDATA, "corrupt gzip");
}

Test(idx, refuses_another_magic_number) {
  plain[3] = 1;
  pack(PLAIN_BYTES);
  expect(PLIM_EDATA, "0x00000801, expected 0x00000803");
}

Test(idx, refuses_a_size_of_zero) {
  plain[11] = 0;
  pack(PLAIN_BYTES);
  expect(PLIM_EDATA, "dimension 1 is 0");
}

Test(idx, refuses_sizes_that_overflow) {
  memset(plain + 4, 0x7f, 12);
  pack(PLAIN_BYTES);
  expect(PLIM_EDATA, "overflow");
}

Test(idx, refuses_fewer_pixels_than_the_sizes_say) {
  pack(PLAIN_BYTES - 1);
  expect(PLIM_EDATA, "truncated: 1 more bytes");
}

Test(idx, refuses_more_pixels_than_the_sizes_say) {
  plain[7] = IMAGES - 1;
  pack(PLAIN_BYTES);
  expect(PLIM_EDATA, "bytes follow after byte 36");
}

Test(idx, refuses_bytes_after_the_compressed_data) {
  packed_bytes++;
  expect(PLIM_EDATA, "bytes follow after the compressed data");
}

Test(idx, says_that_a_file_is_not_there) {
  int32_t dim[3];
  uint8_t *data;
  cr_assert_eq(plim_idx_load(ctx, plim_test_path("none.gz"), 3, dim, &data), PLIM_ENOFILE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "none.gz: No such file"));
}

static plim_status load_once(plim_context *faulty, void *path) {
  int32_t dim[3];
  uint8_t *data = NULL;
  PLIM_TRY(plim_idx_load(faulty, path, 3, dim, &data));
  plim_release(faulty, data, PIXELS, 1);
  return PLIM_OK;
}

Test(idx, survives_any_allocation_that_fails) {
  cr_assert_gt(plim_test_each_allocation(load_once, (void *)write_packed(packed_bytes)), 1);
}
