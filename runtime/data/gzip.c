/* One reader inflates a file as it is read, or bytes in memory. zlib's gzread passes plain files through and ignores
 * bytes after the compressed data; both are errors here. A file is one or more members (RFC 1952, section 2.2). */
#include "runtime/data/gzip.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "runtime/base/file.h"

enum { WINDOW_BITS = 15 + 16 /* of gzip */, CHUNK_BYTES = 32768, AT_ONCE_MAX = 1 << 20 };

struct plim_gzip {
  plim_context *ctx;
  const char *path, *fault; /* fault: what is wrong with the data, once something is */
  FILE *file;               /* NULL: all input is in memory */
  z_stream stream;
  int inflating; /* 1: `stream` must be ended */
  int ended;     /* 1: a member is complete, and its checksum was right */
  int64_t bytes; /* inflated so far */
  Bytef chunk[CHUNK_BYTES];
};

static plim_status fail(plim_gzip *gzip, const char *what) {
  gzip->fault = what;
  return plim_fail(gzip->ctx, PLIM_EDATA, "%s: %s after %lld inflated bytes", gzip->path, what, (long long)gzip->bytes);
}

static plim_status no_memory(const plim_gzip *gzip) {
  return plim_fail(gzip->ctx, PLIM_ENOMEM, "%s: no memory to inflate it", gzip->path);
}

/* Begin with `packed` [packed_bytes], or with the file where `packed` is NULL. */
static plim_status begin(plim_context *ctx, const char *path, char *packed, int64_t packed_bytes, plim_gzip **out) {
  plim_gzip *gzip = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *gzip, &gzip));
  gzip->ctx = ctx;
  gzip->path = path;
  gzip->stream.next_in = (Bytef *)packed;
  gzip->stream.avail_in = (uInt)packed_bytes;
  plim_status status = packed ? PLIM_OK : plim_file_open(ctx, path, &gzip->file);
  if (status == PLIM_OK) {
    gzip->inflating = inflateInit2(&gzip->stream, WINDOW_BITS) == Z_OK;
    if (!gzip->inflating) status = no_memory(gzip);
  }
  if (status == PLIM_OK) {
    *out = gzip;
  } else {
    plim_gzip_close(gzip);
  }
  return status;
}

plim_status plim_gzip_open(plim_context *ctx, const char *path, plim_gzip **out) {
  return begin(ctx, path, NULL, 0, out);
}

void plim_gzip_close(plim_gzip *gzip) {
  if (!gzip) return;
  if (gzip->inflating) (void)inflateEnd(&gzip->stream);
  if (gzip->file) (void)fclose(gzip->file);
  plim_release(gzip->ctx, gzip, 1, sizeof *gzip);
}

/* Have two bytes of input, enough to see where a member begins, unless the file ends before. */
static plim_status refill(plim_gzip *gzip) {
  z_stream *z = &gzip->stream;
  if (!gzip->file || z->avail_in >= 2) return PLIM_OK;
  const size_t left = z->avail_in;
  if (left > 0) memmove(gzip->chunk, z->next_in, left);
  const size_t got = fread(gzip->chunk + left, 1, CHUNK_BYTES - left, gzip->file);
  if (got == 0 && ferror(gzip->file)) return plim_fail(gzip->ctx, PLIM_EIO, "%s: cannot be read", gzip->path);
  z->next_in = gzip->chunk;
  z->avail_in = (uInt)(left + got);
  return PLIM_OK;
}

static int is_member(const Bytef *bytes, int64_t n) {
  return n >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* Inflate at most `most` bytes of a member. Returns their number by *got. */
static plim_status inflate_some(plim_gzip *gzip, uint8_t *to, int64_t most, int64_t *got) {
  z_stream *z = &gzip->stream;
  z->next_out = to;
  z->avail_out = (uInt)(most < AT_ONCE_MAX ? most : AT_ONCE_MAX);
  const uInt before = z->avail_out;
  const int result = inflate(z, Z_NO_FLUSH);
  *got = (int64_t)(before - z->avail_out);
  gzip->bytes += *got;
  gzip->ended = result == Z_STREAM_END;
  if (result == Z_OK || result == Z_STREAM_END) return PLIM_OK;
  if (result == Z_MEM_ERROR) return no_memory(gzip);
  return fail(gzip, result == Z_BUF_ERROR ? "truncated gzip data" : "corrupt gzip data");
}

plim_status plim_gzip_next(plim_gzip *gzip, uint8_t *to, int64_t want, int64_t *got) {
  int64_t some = 0;
  for (*got = 0; *got < want; *got += some) {
    PLIM_TRY(refill(gzip));
    if (gzip->ended) {
      if (gzip->stream.avail_in == 0) return PLIM_OK;
      if (!is_member(gzip->stream.next_in, gzip->stream.avail_in) || inflateReset(&gzip->stream) != Z_OK) {
        return fail(gzip, "bytes follow after the compressed data");
      }
    }
    PLIM_TRY(inflate_some(gzip, to + *got, want - *got, &some));
  }
  return PLIM_OK;
}

int64_t plim_gzip_packed_bytes(const plim_gzip *gzip) {
  struct stat st;
  return fstat(fileno(gzip->file), &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : PLIM_BYTES_UNLIMITED;
}

/* ---- whole texts ---- */

typedef struct text {
  plim_gzip *gzip;
  char *data;
  int64_t bytes, capacity, limit;
} text;

/* Fail with a sentence that names the line of the text that was reached, since the texts are logs. */
static plim_status fail_at_line(const text *t, const char *what) {
  int64_t line = 1; /* of the last byte */
  for (int64_t i = 0; i + 1 < t->bytes; i++) line += t->data[i] == '\n';
  return plim_fail(t->gzip->ctx, PLIM_EDATA, "%s: line %lld: %s after %lld inflated bytes", t->gzip->path,
                   (long long)line, what, (long long)t->bytes);
}

/* Make room for at least one more byte, besides the one for the NUL. The text has at most `limit` bytes: one more
 * is read to see that it is too large. */
static plim_status grow(text *t) {
  if (t->bytes + 1 < t->capacity) return PLIM_OK;
  int64_t capacity = t->capacity > 0 ? 2 * t->capacity : AT_ONCE_MAX;
  if (capacity > t->limit + 2) capacity = t->limit + 2;
  PLIM_TRY(plim_resize_array(t->gzip->ctx, &t->data, t->capacity, capacity, 1));
  t->capacity = capacity;
  return PLIM_OK;
}

static plim_status read_all(text *t) {
  for (int64_t got = 1; got > 0;) {
    PLIM_TRY(grow(t));
    const plim_status status = plim_gzip_next(t->gzip, (uint8_t *)t->data + t->bytes, t->capacity - 1 - t->bytes, &got);
    t->bytes += got;
    if (t->bytes > t->limit) return fail_at_line(t, "is larger than allowed");
    if (status != PLIM_OK) return t->gzip->fault ? fail_at_line(t, t->gzip->fault) : status;
  }
  PLIM_TRY(plim_resize_array(t->gzip->ctx, &t->data, t->capacity, t->bytes + 1, 1));
  t->capacity = t->bytes + 1;
  t->data[t->bytes] = '\0';
  return PLIM_OK;
}

/* Read a whole text, and close the reader. */
static plim_status read_text(plim_gzip *gzip, int64_t limit, char **data, int64_t *bytes) {
  text t = {.gzip = gzip, .limit = limit};
  const plim_status status = read_all(&t);
  if (status == PLIM_OK) {
    *data = t.data;
    *bytes = t.bytes;
  } else {
    plim_release(gzip->ctx, t.data, t.capacity, 1);
  }
  plim_gzip_close(gzip);
  return status;
}

plim_status plim_gzip_read(plim_context *ctx, const char *path, int64_t limit, char **data, int64_t *bytes) {
  plim_gzip *gzip = NULL;
  PLIM_TRY(plim_gzip_open(ctx, path, &gzip));
  return read_text(gzip, limit, data, bytes);
}

plim_status plim_gzip_inflate(plim_context *ctx, const char *path, char *packed, int64_t packed_bytes, int64_t limit,
                              char **data, int64_t *bytes) {
  plim_gzip *gzip = NULL;
  *data = NULL;
  if (packed_bytes > UINT32_MAX || !is_member((const Bytef *)packed, packed_bytes)) return PLIM_OK;
  PLIM_TRY(begin(ctx, path, packed, packed_bytes, &gzip));
  return read_text(gzip, limit, data, bytes);
}
