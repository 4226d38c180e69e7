/* Gzipped IDX files, read strictly.
 *
 * The file is inflated straight into its destination. zlib's gzread passes plain files through and ignores bytes after
 * the compressed stream. Both are errors here, so this file calls inflate itself. */
#include "runtime/data/idx.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "runtime/base/file.h"

enum { CHUNK_BYTES = 32768, GZIP_WINDOW_BITS = 15 + 16, IDX_UNSIGNED_BYTE = 0x08 };

typedef struct source {
  plim_context *ctx;
  const char *path;
  FILE *file;
  z_stream stream;
  int inflating; /* 1: `stream` must be ended */
  int ended;     /* 1: the compressed stream is complete and its checksum was right */
  int64_t bytes; /* inflated so far */
  uint8_t chunk[CHUNK_BYTES];
} source;

static plim_status source_open(source *s) {
  PLIM_TRY(plim_file_open(s->ctx, s->path, &s->file));
  if (inflateInit2(&s->stream, GZIP_WINDOW_BITS) != Z_OK) return plim_fail(s->ctx, PLIM_ENOMEM, "inflate: no memory");
  s->inflating = 1;
  return PLIM_OK;
}

static void source_close(source *s) {
  if (s->inflating) (void)inflateEnd(&s->stream);
  if (s->file) (void)fclose(s->file);
}

static plim_status source_refill(source *s) {
  size_t got = fread(s->chunk, 1, CHUNK_BYTES, s->file);
  if (got == 0 && ferror(s->file)) return plim_fail(s->ctx, PLIM_EIO, "%s: cannot be read", s->path);
  s->stream.next_in = s->chunk;
  s->stream.avail_in = (uInt)got;
  return PLIM_OK;
}

/* Inflate exactly `want` bytes. */
static plim_status source_read(source *s, uint8_t *to, int64_t want) {
  int64_t left = want;
  while (left > 0) {
    if (s->stream.avail_in == 0) PLIM_TRY(source_refill(s));
    uInt room = left > CHUNK_BYTES ? CHUNK_BYTES : (uInt)left;
    s->stream.next_out = to + (want - left);
    s->stream.avail_out = room;
    int result = s->ended ? Z_BUF_ERROR : inflate(&s->stream, Z_NO_FLUSH);
    int64_t got = (int64_t)room - (int64_t)s->stream.avail_out;
    left -= got;
    s->bytes += got;
    if (result == Z_STREAM_END) s->ended = 1;
    if (result == Z_DATA_ERROR) {
      return plim_fail(s->ctx, PLIM_EDATA, "%s: corrupt gzip data after %lld bytes (%s)", s->path, (long long)s->bytes,
                       s->stream.msg ? s->stream.msg : "no detail");
    }
    if (result == Z_BUF_ERROR || (s->ended && left > 0)) {
      return plim_fail(s->ctx, PLIM_EDATA, "%s: truncated: %lld more bytes expected after byte %lld", s->path,
                       (long long)left, (long long)s->bytes);
    }
    if (result != Z_OK && result != Z_STREAM_END) {
      return plim_fail(s->ctx, PLIM_ENOMEM, "%s: inflate failed with %d", s->path, result);
    }
  }
  return PLIM_OK;
}

/* Check that the stream ends here, and the file with it. */
static plim_status source_end(source *s) {
  uint8_t extra;
  while (!s->ended) {
    if (s->stream.avail_in == 0) PLIM_TRY(source_refill(s));
    s->stream.next_out = &extra;
    s->stream.avail_out = 1;
    int result = inflate(&s->stream, Z_NO_FLUSH);
    if (s->stream.avail_out == 0) {
      return plim_fail(s->ctx, PLIM_EDATA, "%s: bytes follow after byte %lld, where the data should end", s->path,
                       (long long)s->bytes);
    }
    if (result == Z_STREAM_END) s->ended = 1;
    if (result != Z_OK && result != Z_STREAM_END) {
      return plim_fail(s->ctx, PLIM_EDATA, "%s: the gzip checksum is missing or wrong (%s)", s->path,
                       s->stream.msg ? s->stream.msg : "truncated");
    }
  }
  if (s->stream.avail_in > 0 || fread(&extra, 1, 1, s->file) == 1) {
    return plim_fail(s->ctx, PLIM_EDATA, "%s: bytes follow after the end of the gzip data", s->path);
  }
  return PLIM_OK;
}

static uint32_t big_endian(const uint8_t *b) {
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
}

/* Read the magic number and the sizes. *product is the number of data bytes. */
static plim_status read_header(source *s, int32_t rank, int32_t *dim, int64_t *product) {
  uint8_t header[4 + 4 * PLIM_IDX_MAX_RANK] = {0};
  PLIM_TRY(source_read(s, header, 4 + 4 * (int64_t)rank));
  uint32_t magic = big_endian(header), expected = IDX_UNSIGNED_BYTE << 8 | (uint32_t)rank;
  if (magic != expected) {
    return plim_fail(s->ctx, PLIM_EDATA,
                     "%s: magic number 0x%08x, expected 0x%08x (IDX, unsigned bytes, %d dimensions)", s->path, magic,
                     expected, rank);
  }
  *product = 1;
  for (int32_t i = 0; i < rank; i++) {
    uint32_t size = big_endian(header + 4 + 4 * i);
    if (size == 0 || size > INT32_MAX) {
      return plim_fail(s->ctx, PLIM_EDATA, "%s: dimension %d is %u, expected 1 to %d", s->path, i, size, INT32_MAX);
    }
    dim[i] = (int32_t)size;
    *product = plim_mul_checked(*product, dim[i]);
  }
  if (*product < 0) return plim_fail(s->ctx, PLIM_EDATA, "%s: its sizes overflow", s->path);
  return PLIM_OK;
}

/* Refuse sizes that the file cannot hold, before memory is allocated for them. A byte of deflate's format makes at most
 * 1032 bytes. */
static plim_status check_claim(source *s, int64_t product) {
  const int64_t most_from_one = 1032;
  struct stat st;
  if (fstat(fileno(s->file), &st) != 0 || !S_ISREG(st.st_mode)) return PLIM_OK;
  if (product / most_from_one <= st.st_size) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EDATA, "%s: its header promises %lld bytes, more than a file of %lld bytes can hold",
                   s->path, (long long)product, (long long)st.st_size);
}

plim_status plim_idx_load(plim_context *ctx, const char *path, int32_t rank, int32_t *dim, uint8_t **data) {
  source *s = NULL;
  uint8_t *bytes = NULL;
  int32_t size[PLIM_IDX_MAX_RANK];
  int64_t product = 0;
  plim_status status = PLIM_OK;
  if (rank < 1 || rank > PLIM_IDX_MAX_RANK) return plim_fail(ctx, PLIM_EUSAGE, "IDX rank %d is not 1 to 3", rank);
  PLIM_CHECK(plim_allocate(ctx, 1, sizeof *s, &s));
  s->ctx = ctx;
  s->path = path;
  PLIM_CHECK(source_open(s));
  PLIM_CHECK(read_header(s, rank, size, &product));
  PLIM_CHECK(check_claim(s, product));
  PLIM_CHECK(plim_allocate(ctx, product, 1, &bytes));
  PLIM_CHECK(source_read(s, bytes, product));
  PLIM_CHECK(source_end(s));
  memcpy(dim, size, sizeof *dim * (size_t)rank);
  *data = bytes;
  bytes = NULL;
done:
  if (s) source_close(s);
  plim_release(ctx, bytes, product, 1);
  plim_release(ctx, s, 1, sizeof *s);
  return status;
}
