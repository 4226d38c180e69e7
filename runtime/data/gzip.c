/* Reads the file whole and inflates it into an array that doubles. */
#include "runtime/data/gzip.h"

#include <string.h>
#include <zlib.h>

#include "runtime/base/file.h"

enum { GZIP_WINDOW_BITS = 15 + 16, CHUNK_BYTES = 1 << 20 };

typedef struct inflated {
  plim_context *ctx;
  const char *path;
  char *data;
  int64_t bytes, capacity, limit;
} inflated;

/* Fail with a sentence that names the line of the text that was reached, since the texts are logs. */
static plim_status fail(const inflated *to, const char *what) {
  int64_t line = 1; /* of the last byte */
  for (int64_t i = 0; i + 1 < to->bytes; i++) line += to->data[i] == '\n';
  (void)plim_fail(to->ctx, PLIM_EDATA, "%s: line %lld: %s after %lld inflated bytes", to->path, (long long)line, what,
                  (long long)to->bytes);
  return PLIM_EDATA;
}

/* Make room for at least one more byte, besides the one for the NUL. */
static plim_status grow(inflated *to) {
  if (to->bytes + 1 < to->capacity) return PLIM_OK;
  if (to->bytes >= to->limit) return fail(to, "is larger than allowed");
  int64_t capacity = to->capacity > 0 ? 2 * to->capacity : CHUNK_BYTES;
  if (capacity > to->limit + 1) capacity = to->limit + 1;
  PLIM_TRY(plim_resize_array(to->ctx, &to->data, to->capacity, capacity, 1));
  to->capacity = capacity;
  return PLIM_OK;
}

/* Find whether another member begins here: a file is one or more members (RFC 1952, section 2.2). 1: it does, and the
 * stream is ready for it. */
static int next_member(z_stream *z) {
  return z->avail_in >= 2 && z->next_in[0] == 0x1f && z->next_in[1] == 0x8b && inflateReset(z) == Z_OK;
}

static plim_status inflate_all(z_stream *z, inflated *to) {
  int result = Z_OK;
  while (result != Z_STREAM_END || next_member(z)) {
    PLIM_TRY(grow(to));
    int64_t room = to->capacity - 1 - to->bytes;
    if (room > CHUNK_BYTES) room = CHUNK_BYTES;
    z->next_out = (Bytef *)to->data + to->bytes;
    z->avail_out = (uInt)room;
    result = inflate(z, Z_NO_FLUSH);
    to->bytes += room - (int64_t)z->avail_out;
    if (result == Z_BUF_ERROR) return fail(to, "truncated gzip data");
    if (result == Z_MEM_ERROR) return plim_fail(to->ctx, PLIM_ENOMEM, "inflate: no memory");
    if (result != Z_OK && result != Z_STREAM_END) return fail(to, "corrupt gzip data");
  }
  return z->avail_in == 0 ? PLIM_OK : fail(to, "bytes follow after the compressed data");
}

static plim_status unpack(inflated *to, char *packed, int64_t packed_bytes) {
  z_stream z = {.next_in = (Bytef *)packed, .avail_in = (uInt)packed_bytes};
  if (inflateInit2(&z, GZIP_WINDOW_BITS) != Z_OK) return plim_fail(to->ctx, PLIM_ENOMEM, "inflate: no memory");
  plim_status status = inflate_all(&z, to);
  (void)inflateEnd(&z);
  if (status == PLIM_OK) status = plim_resize_array(to->ctx, &to->data, to->capacity, to->bytes + 1, 1);
  if (status != PLIM_OK) {
    plim_release(to->ctx, to->data, to->capacity, 1);
    return status;
  }
  to->data[to->bytes] = '\0';
  return PLIM_OK;
}

plim_status plim_gzip_inflate(plim_context *ctx, const char *path, char *packed, int64_t packed_bytes, int64_t limit,
                              char **data, int64_t *bytes) {
  inflated to = {.ctx = ctx, .path = path, .limit = limit};
  *data = NULL;
  if (packed_bytes < 2 || packed_bytes > UINT32_MAX || memcmp(packed, "\x1f\x8b", 2) != 0) return PLIM_OK;
  PLIM_TRY(unpack(&to, packed, packed_bytes));
  *data = to.data;
  *bytes = to.bytes;
  return PLIM_OK;
}

plim_status plim_gzip_read(plim_context *ctx, const char *path, int64_t limit, char **data, int64_t *bytes) {
  inflated to = {.ctx = ctx, .path = path, .limit = limit};
  char *packed = NULL;
  int64_t packed_bytes = 0, most = limit < UINT32_MAX ? limit : UINT32_MAX;
  PLIM_TRY(plim_file_read(ctx, path, most, &packed, &packed_bytes));
  plim_status status = unpack(&to, packed, packed_bytes);
  plim_file_release(ctx, packed, packed_bytes);
  if (status != PLIM_OK) return status;
  *data = to.data;
  *bytes = to.bytes;
  return PLIM_OK;
}
