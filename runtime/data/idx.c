/* Gzipped IDX files, read strictly. The file is inflated straight into its destination. */
#include "runtime/data/idx.h"

#include <string.h>

#include "runtime/base/size.h"
#include "runtime/data/gzip.h"

enum { IDX_UNSIGNED_BYTE = 0x08 };

typedef struct source {
  plim_context *ctx;
  const char *path;
  plim_gzip *gzip;
  int64_t bytes; /* read so far */
} source;

/* Read exactly `want` bytes. */
static plim_status source_read(source *s, uint8_t *to, int64_t want) {
  int64_t got = 0;
  PLIM_TRY(plim_gzip_next(s->gzip, to, want, &got));
  s->bytes += got;
  if (got == want) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EDATA, "%s: truncated: %lld more bytes expected after byte %lld", s->path,
                   (long long)(want - got), (long long)s->bytes);
}

/* Check that the data end here, and the file with them. */
static plim_status source_end(source *s) {
  uint8_t extra;
  int64_t got = 0;
  PLIM_TRY(plim_gzip_next(s->gzip, &extra, 1, &got));
  if (got == 0) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EDATA, "%s: bytes follow after byte %lld, where the data should end", s->path,
                   (long long)s->bytes);
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
static plim_status check_claim(const source *s, int64_t product) {
  const int64_t most_from_one = 1032, packed_bytes = plim_gzip_packed_bytes(s->gzip);
  if (product / most_from_one <= packed_bytes) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EDATA, "%s: its header promises %lld bytes, more than a file of %lld bytes can hold",
                   s->path, (long long)product, (long long)packed_bytes);
}

plim_status plim_idx_load(plim_context *ctx, const char *path, int32_t rank, int32_t *dim, uint8_t **data) {
  source s = {.ctx = ctx, .path = path};
  uint8_t *bytes = NULL;
  int32_t size[PLIM_IDX_MAX_RANK];
  int64_t product = 0;
  plim_status status = PLIM_OK;
  if (rank < 1 || rank > PLIM_IDX_MAX_RANK) return plim_fail(ctx, PLIM_EUSAGE, "IDX rank %d is not 1 to 3", rank);
  PLIM_TRY_OR_DONE(plim_gzip_open(ctx, path, &s.gzip));
  PLIM_TRY_OR_DONE(read_header(&s, rank, size, &product));
  PLIM_TRY_OR_DONE(check_claim(&s, product));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, product, 1, &bytes));
  PLIM_TRY_OR_DONE(source_read(&s, bytes, product));
  PLIM_TRY_OR_DONE(source_end(&s));
  memcpy(dim, size, sizeof *dim * (size_t)rank);
  *data = bytes;
  bytes = NULL;
done:
  plim_gzip_close(s.gzip);
  plim_release(ctx, bytes, product, 1);
  return status;
}
