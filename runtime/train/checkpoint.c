/* Checkpoints: one header, then the values' bytes in graph order, then a checksum over everything before it.
 *
 * Values are stored in graph order, which does not depend on batch, layout or budget, so a reader can insist on finding
 * exactly its own list. */
#include "runtime/train/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/json.h"
#include "runtime/base/sha256.h"
#include "runtime/base/text.h"
#include "runtime/train/state.h"

enum { MAGIC_BYTES = 8, PREFIX_BYTES = MAGIC_BYTES + 4, LIMIT_SHIFT = 36 };
static const int64_t most_steps = (int64_t)1 << 53; /* exact in every reader of JSON */
static const char magic[MAGIC_BYTES + 1] = "PLIMCKPT";

static const plim_graph *graph_of(const plim_trainer *trainer) {
  return plim_trainer_program(trainer)->graph[PLIM_PROGRAM_TRAIN];
}

/* ---- writing ---- */

static void add_value(plim_text *text, const plim_value *v, const char *role) {
  plim_text_add(text, "{\"name\": ");
  plim_text_quote(text, v->name);
  plim_text_format(text, ", \"role\": \"%s\", \"dtype\": \"%s\", \"layout\": \"%s\", \"shape\": [", role,
                   plim_dtype_name(v->shape.dtype), plim_layout_name(v->shape.layout));
  for (int32_t i = 0; i < v->shape.rank; i++) {
    plim_text_format(text, "%s%lld", i > 0 ? ", " : "", (long long)v->shape.dim[i]);
  }
  plim_text_add(text, "]}");
}

static void add_header(plim_text *text, const plim_trainer *trainer) {
  const plim_graph *graph = graph_of(trainer);
  const plim_plan *plan = plim_trainer_program(trainer)->plan[PLIM_PROGRAM_TRAIN];
  const char *separator = "";
  plim_text_format(text, "{\"plimsoll\": \"checkpoint\", \"version\": %d, \"model\": ", PLIM_CHECKPOINT_VERSION);
  plim_text_quote(text, graph->name);
  plim_text_format(text, ", \"batch\": %d, \"step\": %lld, \"arithmetic\": \"%s\", \"values\": [", graph->batch,
                   (long long)plim_trainer_steps(trainer), plan->arithmetic.hash);
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!plim_state_has(graph, v)) continue;
    plim_text_add(text, separator);
    add_value(text, &graph->value[v], plim_role_name(graph->storage[graph->value[v].storage].role));
    separator = ", ";
  }
  plim_text_add(text, "]}\n");
}

/* A file and the checksum of what went into it. */
typedef struct summed_file {
  plim_file *file;
  plim_sha256 sha;
} summed_file;

static plim_status put(summed_file *f, const void *data, int64_t bytes) {
  plim_sha256_add(&f->sha, data, (size_t)bytes);
  return plim_file_write(f->file, data, bytes);
}

static plim_status put_values(summed_file *f, const plim_trainer *trainer) {
  const plim_graph *graph = graph_of(trainer);
  plim_status status = PLIM_OK;
  for (int32_t v = 0; v < graph->n_values && status == PLIM_OK; v++) {
    char *host = NULL;
    int64_t bytes = graph->value[v].bytes;
    if (!plim_state_has(graph, v)) continue;
    PLIM_TRY(plim_allocate(graph->ctx, bytes, 1, &host));
    status = plim_exec_read(plim_trainer_exec(trainer), PLIM_PROGRAM_TRAIN, v, host, bytes);
    if (status == PLIM_OK) status = put(f, host, bytes);
    plim_release(graph->ctx, host, bytes, 1);
  }
  return status;
}

plim_status plim_checkpoint_save(const plim_trainer *trainer, const char *path) {
  plim_context *ctx = graph_of(trainer)->ctx;
  plim_text header = {.ctx = ctx};
  summed_file f = {0};
  uint8_t length[4], digest[PLIM_SHA256_BYTES];
  plim_status status = PLIM_OK;
  add_header(&header, trainer);
  PLIM_CHECK(header.status);
  for (int i = 0; i < 4; i++) length[i] = (uint8_t)(header.length >> 8 * i);
  plim_sha256_begin(&f.sha);
  PLIM_CHECK(plim_file_begin(ctx, path, &f.file));
  PLIM_CHECK(put(&f, magic, MAGIC_BYTES));
  PLIM_CHECK(put(&f, length, sizeof length));
  PLIM_CHECK(put(&f, header.chars, header.length));
  PLIM_CHECK(put_values(&f, trainer));
  plim_sha256_end(&f.sha, digest);
  PLIM_CHECK(plim_file_write(f.file, digest, sizeof digest));
  status = plim_file_commit(f.file);
  f.file = NULL;
done:
  plim_file_abandon(f.file);
  plim_text_free(&header);
  return status;
}

/* ---- reading ---- */

typedef struct loaded {
  plim_context *ctx;
  const char *path;
  char *data;
  int64_t bytes;
  plim_json header;
  int64_t at; /* where the values begin */
  int64_t step;
} loaded;

static plim_status wrong(const loaded *l, const char *what) {
  return plim_fail(l->ctx, PLIM_EDATA, "%s: %s", l->path, what);
}

/* Frame and checksum: after this every byte is as it was written. */
static plim_status check_frame(loaded *l) {
  uint8_t digest[PLIM_SHA256_BYTES];
  uint32_t length = 0;
  plim_sha256 sha;
  if (l->bytes < PREFIX_BYTES + PLIM_SHA256_BYTES || memcmp(l->data, magic, MAGIC_BYTES) != 0) {
    return wrong(l, "not a checkpoint");
  }
  int64_t body = l->bytes - PLIM_SHA256_BYTES;
  plim_sha256_begin(&sha);
  plim_sha256_add(&sha, l->data, (size_t)body);
  plim_sha256_end(&sha, digest);
  if (memcmp(digest, l->data + body, sizeof digest) != 0) {
    return plim_fail(l->ctx, PLIM_EDATA, "%s: its %lld bytes do not give its checksum: truncated or damaged", l->path,
                     (long long)l->bytes);
  }
  for (int i = 0; i < 4; i++) length |= (uint32_t)(uint8_t)l->data[MAGIC_BYTES + i] << 8 * i;
  if (length > body - PREFIX_BYTES) return wrong(l, "its header is longer than the file");
  l->at = PREFIX_BYTES + (int64_t)length;
  return PLIM_OK;
}

/* A text of the header; "" when it is not there. */
static const char *header_text(const loaded *l, const char *key) {
  const char *text = json_string_value(json_object_get(l->header.root, key));
  return text ? text : "";
}

static int64_t header_int(const loaded *l, const char *key) {
  const json_t *node = json_object_get(l->header.root, key);
  return json_is_integer(node) ? json_integer_value(node) : -1;
}

static plim_status parse_header(loaded *l, const char *model) {
  PLIM_TRY(plim_json_parse(l->ctx, l->path, 0, l->data + PREFIX_BYTES, l->at - PREFIX_BYTES, &l->header));
  int64_t version = header_int(l, "version");
  if (strcmp(header_text(l, "plimsoll"), "checkpoint") != 0 || version < 0) return wrong(l, "not a checkpoint");
  if (version != PLIM_CHECKPOINT_VERSION) {
    return plim_fail(l->ctx, PLIM_EDATA, "%s: format version %lld, this program reads %d", l->path, (long long)version,
                     PLIM_CHECKPOINT_VERSION);
  }
  const char *found = header_text(l, "model");
  l->step = header_int(l, "step");
  if (!found[0] || l->step < 0) return wrong(l, "its header lacks model or step");
  if (l->step > most_steps) {
    return plim_fail(l->ctx, PLIM_EDATA, "%s: says step %lld; no run has more than %lld", l->path, (long long)l->step,
                     (long long)most_steps);
  }
  if (strcmp(found, model) != 0) {
    return plim_fail(l->ctx, PLIM_EDATA, "%s: holds %s, this is %s", l->path, found, model);
  }
  return PLIM_OK;
}

/* Row `row` of the header's values must be exactly value v. */
static plim_status check_row(const loaded *l, const json_t *row, const plim_graph *graph, int32_t v) {
  plim_text expected = {.ctx = l->ctx}, found = {.ctx = l->ctx};
  const plim_value *value = &graph->value[v];
  add_value(&expected, value, plim_role_name(graph->storage[value->storage].role));
  char *dump = row ? json_dumps(row, 0) : NULL;
  plim_text_add(&found, dump ? dump : "none");
  plim_status status = expected.status != PLIM_OK ? expected.status : found.status;
  if (row && !dump) status = plim_fail(l->ctx, PLIM_ENOMEM, "%s: out of memory while its header was read", l->path);
  if (status == PLIM_OK && strcmp(expected.chars, found.chars) != 0) {
    status =
        plim_fail(l->ctx, PLIM_EDATA, "%s: holds %s where this model has %s", l->path, found.chars, expected.chars);
  }
  free(dump);
  plim_text_free(&expected);
  plim_text_free(&found);
  return status;
}

static plim_status check_values(const loaded *l, const plim_graph *graph) {
  const json_t *rows = json_object_get(l->header.root, "values");
  size_t row = 0;
  int64_t bytes = 0;
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!plim_state_has(graph, v)) continue;
    PLIM_TRY(check_row(l, json_array_get(rows, row++), graph, v));
    bytes += graph->value[v].bytes;
  }
  if (row != json_array_size(rows)) return wrong(l, "holds more values than this model has");
  if (l->at + bytes + PLIM_SHA256_BYTES != l->bytes) {
    return plim_fail(l->ctx, PLIM_EDATA, "%s: has %lld bytes of values, expected %lld", l->path,
                     (long long)(l->bytes - l->at - PLIM_SHA256_BYTES), (long long)bytes);
  }
  return PLIM_OK;
}

static plim_status write_values(const loaded *l, plim_trainer *trainer) {
  const plim_graph *graph = graph_of(trainer);
  const char *at = l->data + l->at;
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!plim_state_has(graph, v)) continue;
    PLIM_TRY(plim_exec_write(plim_trainer_exec(trainer), PLIM_PROGRAM_TRAIN, v, at, graph->value[v].bytes));
    at += graph->value[v].bytes;
  }
  return PLIM_OK;
}

plim_status plim_checkpoint_load(plim_trainer *trainer, const char *path) {
  const plim_graph *graph = graph_of(trainer);
  loaded l = {.ctx = graph->ctx, .path = path};
  plim_status status = PLIM_OK;
  PLIM_CHECK(plim_file_read(l.ctx, path, (int64_t)1 << LIMIT_SHIFT, &l.data, &l.bytes));
  PLIM_CHECK(check_frame(&l));
  PLIM_CHECK(parse_header(&l, graph->name));
  PLIM_CHECK(check_values(&l, graph));
  PLIM_CHECK(write_values(&l, trainer));
  plim_trainer_seek(trainer, l.step);
done:
  plim_json_close(&l.header);
  plim_file_release(l.ctx, l.data, l.bytes);
  return status;
}
