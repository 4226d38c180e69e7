/* The plan front as a document (docs/formats.md), and where it lies: in a cache folder, named by a hash of all that the
 * plans depend on. The document repeats the hash, and ends with a checksum of its own text. A file that is missing,
 * changed or of another hash is an empty front. The files of the folder are trimmed, those used longest ago first. */
#include "planner/front/front.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/graph/document.h"

static const char document_kind[] = "curve";
enum { CHECKED_VERSION = 2 /* has a checksum */, VERSION = CHECKED_VERSION };

/* ---- writing ---- */

static void write_point(plim_text *text, const plim_front_point *point) {
  plim_text_format(text, "{\"bytes\": %lld, \"time_ns\": %lld", (long long)point->bytes, (long long)point->time_ns);
  plim_text_add(text, ", \"ops\": ");
  plim_document_write_ids(text, point->op, point->n_commands);
  plim_text_add(text, ", \"choices\": ");
  plim_document_write_ids(text, point->choice, point->n_commands);
  plim_text_add(text, ", \"offsets\": [");
  for (int32_t i = 0; i < point->n_offsets; i++) {
    plim_text_format(text, i > 0 ? ", %lld" : "%lld", (long long)point->offset[i]);
  }
  plim_text_add(text, "]}");
}

static void write_try(plim_text *text, const plim_front_try *attempt) {
  plim_text_add(text, "{\"budget_bytes\": ");
  plim_document_write_int(text, attempt->budget_bytes, PLIM_TRY_MIN_MEMORY);
  plim_text_format(text, ", \"seed\": %llu, \"iterations\": %lld, \"time_limit_ns\": %lld, \"threads\": %d, ",
                   (unsigned long long)attempt->seed, (long long)attempt->iterations, (long long)attempt->time_limit_ns,
                   attempt->threads);
  plim_text_format(text, "\"bound_ns\": %lld}", (long long)plim_front_stated(attempt));
}

static const char check_head[] = ",\n  \"checksum\": \"", check_foot[] = "\"\n}\n";
enum { CHECK_HEAD = sizeof check_head - 1, CHECK_FOOT = sizeof check_foot - 1, DIGITS = PLIM_FINGERPRINT_BYTES - 1 };
enum { CHECK_BYTES = CHECK_HEAD + DIGITS + CHECK_FOOT };

/* The last field: SHA-256 of all text before it. */
static void write_checksum(plim_text *text, int64_t begin) {
  char hash[PLIM_FINGERPRINT_BYTES] = "";
  if (text->status == PLIM_OK) plim_sha256_hex(text->chars + begin, (size_t)(text->length - begin), hash);
  plim_text_format(text, "%s%s%s", check_head, hash, check_foot);
}

void plim_front_write(plim_text *text, const char *key, const plim_front *front) {
  int64_t begin = text->length;
  plim_document_write_version(text, document_kind, VERSION);
  plim_text_format(text, "  \"key\": \"%s\",\n  \"tries\": [", key);
  for (int32_t i = 0; i < front->n_tries; i++) {
    plim_text_add(text, i > 0 ? ",\n    " : "\n    ");
    write_try(text, &front->attempt[i]);
  }
  plim_text_add(text, "\n  ],\n  \"points\": [");
  for (int32_t i = 0; i < front->n; i++) {
    plim_text_add(text, i > 0 ? ",\n    " : "\n    ");
    write_point(text, &front->point[i]);
  }
  plim_text_add(text, "\n  ]");
  write_checksum(text, begin);
}

/* ---- reading ---- */

/* The arrays of a point while it is read. */
typedef struct reader {
  plim_context *ctx;
  int32_t *op, *choice;
  int64_t *offset;
  int64_t op_capacity, choice_capacity, offset_capacity;
} reader;

static int32_t read_ints(plim_json_at *at, const char *key, reader *input, int32_t **x, int64_t *capacity) {
  int32_t n = 0;
  plim_json_at list = plim_json_list(at, key, &n);
  if (at->doc->status == PLIM_OK) plim_json_take(&list, plim_array_reserve(input->ctx, x, capacity, n, sizeof **x));
  for (int32_t i = 0; i < n && at->doc->status == PLIM_OK; i++) {
    (*x)[i] = (int32_t)plim_json_int_item(&list, i, 0, INT32_MAX);
  }
  return n;
}

static int32_t read_offsets(plim_json_at *at, reader *input) {
  int32_t n = 0;
  plim_json_at list = plim_json_list(at, "offsets", &n);
  if (at->doc->status == PLIM_OK) {
    plim_json_take(&list,
                   plim_array_reserve(input->ctx, &input->offset, &input->offset_capacity, n, sizeof *input->offset));
  }
  for (int32_t i = 0; i < n && at->doc->status == PLIM_OK; i++) {
    input->offset[i] = plim_json_int_item(&list, i, 0, INT64_MAX);
  }
  return n;
}

static void read_point(plim_json_at *at, reader *input, plim_front *front) {
  plim_front_point point = {.bytes = plim_json_int(at, "bytes", 0, INT64_MAX),
                            .time_ns = plim_json_int(at, "time_ns", 0, INT64_MAX)};
  point.n_commands = read_ints(at, "ops", input, &input->op, &input->op_capacity);
  int32_t n_choices = read_ints(at, "choices", input, &input->choice, &input->choice_capacity);
  point.n_offsets = read_offsets(at, input);
  plim_json_end(at);
  if (n_choices != point.n_commands) {
    plim_json_fail(at, "choices", "has %d items for %d ops", n_choices, point.n_commands);
  }
  point.op = input->op;
  point.choice = input->choice;
  point.offset = input->offset;
  if (at->doc->status == PLIM_OK) plim_json_take(at, plim_front_insert(front, &point, NULL));
}

static void read_points(plim_json_at *root, plim_front *front) {
  int32_t n = 0;
  reader input = {.ctx = root->doc->ctx};
  plim_json_at list = plim_json_list(root, "points", &n);
  for (int32_t i = 0; i < n && root->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    read_point(&at, &input, front);
  }
  plim_release(input.ctx, input.op, input.op_capacity, sizeof *input.op);
  plim_release(input.ctx, input.choice, input.choice_capacity, sizeof *input.choice);
  plim_release(input.ctx, input.offset, input.offset_capacity, sizeof *input.offset);
}

static void read_tries(plim_json_at *root, plim_front *front) {
  int32_t n = 0;
  plim_json_at list = plim_json_list(root, "tries", &n);
  for (int32_t i = 0; i < n && root->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    plim_front_try attempt = {
        .budget_bytes = plim_json_int_or_null(&at, "budget_bytes", 0, INT64_MAX, PLIM_TRY_MIN_MEMORY),
        .seed = (uint64_t)plim_json_int(&at, "seed", 0, INT64_MAX),
        .iterations = plim_json_int(&at, "iterations", 0, INT64_MAX),
        .time_limit_ns = plim_json_int(&at, "time_limit_ns", 0, INT64_MAX),
        .threads = (int32_t)plim_json_int(&at, "threads", 0, INT32_MAX),
        .hint_ns = plim_json_int(&at, "bound_ns", 0, INT64_MAX)};
    plim_json_end(&at);
    if (root->doc->status == PLIM_OK) plim_json_take(&at, plim_front_note(front, &attempt));
  }
}

/* Is the field of the text what its beginning gives? */
static int is_whole(const char *text, int64_t bytes, const char *stated) {
  char hash[PLIM_FINGERPRINT_BYTES];
  int64_t before = bytes - CHECK_BYTES;
  if (before < 0 || memcmp(text + before, check_head, CHECK_HEAD) != 0) return 0;
  plim_sha256_hex(text, (size_t)before, hash);
  return strcmp(hash, stated) == 0;
}

plim_status plim_front_parse(plim_context *ctx, const char *name, const char *text, int64_t bytes, const char *key,
                             plim_front *front) {
  plim_json doc;
  char found[PLIM_FINGERPRINT_BYTES] = "", stated[PLIM_FINGERPRINT_BYTES] = "";
  if (plim_document_open(ctx, name, text, bytes, &doc) == PLIM_OK) {
    plim_json_at root = plim_json_root(&doc);
    int version = plim_document_read_version(&root, document_kind, VERSION);
    plim_document_read_hash(&root, "key", found);
    if (version >= CHECKED_VERSION) plim_document_read_hash(&root, "checksum", stated);
    if (doc.status == PLIM_OK && strcmp(found, key) != 0) {
      plim_json_fail(&root, "key", "is that of another graph, profile or planner");
    }
    read_tries(&root, front);
    read_points(&root, front);
    plim_json_end(&root);
    if (doc.status == PLIM_OK && version >= CHECKED_VERSION && !is_whole(text, bytes, stated)) {
      plim_json_fail(&root, "checksum", "is not that of the text: the file was changed");
    }
  }
  plim_json_close(&doc);
  front->is_changed = 0;
  if (doc.status != PLIM_OK) plim_front_free(front);
  return doc.status;
}

/* ---- the file ---- */

plim_status plim_front_open(const char *folder, const char *key, plim_front_file *file, plim_front *front) {
  char name[PLIM_FINGERPRINT_BYTES], *text = NULL;
  int64_t bytes = 0;
  file->path[0] = '\0';
  if (!folder) return PLIM_OK;
  (void)snprintf(file->key, sizeof file->key, "%s", key);
  (void)snprintf(name, sizeof name, "curve-%.16s.json", key);
  plim_cache_path(folder[0] ? folder : NULL, name, file->path);
  if (!file->path[0]) return PLIM_OK;
  plim_status status = plim_file_read(front->ctx, file->path, PLIM_FRONT_FILES_BYTES, &text, &bytes);
  if (status == PLIM_OK) status = plim_front_parse(front->ctx, file->path, text, bytes, key, front);
  plim_file_release(front->ctx, text, bytes);
  return status == PLIM_ENOMEM ? status : PLIM_OK;
}

plim_status plim_front_hash(plim_text *text, char *hash) {
  const plim_status status = text->status;
  if (status == PLIM_OK) plim_sha256_hex(text->chars, (size_t)text->length, hash);
  plim_text_free(text);
  return status;
}

plim_status plim_front_save(const plim_front_file *file, const plim_front *front) {
  if (!file->path[0]) return PLIM_OK;
  if (!front->is_changed) {
    plim_cache_touch(file->path);
    return PLIM_OK;
  }
  plim_text text = {.ctx = front->ctx};
  plim_front_write(&text, file->key, front);
  plim_status status = plim_cache_save(&text, file->path);
  if (status == PLIM_OK) status = plim_cache_trim(front->ctx, file->path, "curve-", PLIM_FRONT_FILES_BYTES);
  return status == PLIM_ENOMEM ? status : PLIM_OK;
}
