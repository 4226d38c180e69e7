/* Checkpoints: one header, then the values' bytes in graph order, then a checksum over everything before it.
 *
 * Values are stored in graph order, which does not depend on batch, layout or budget, so a reader can insist on finding
 * exactly its own list. */
#include "runtime/train/checkpoint.h"

#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/json.h"
#include "runtime/base/sha256.h"
#include "runtime/base/text.h"
#include "runtime/graph/document.h"
#include "runtime/train/state.h"

enum { MAGIC_BYTES = 8, PREFIX_BYTES = MAGIC_BYTES + 4 };
static const int64_t most_bytes = INT64_C(1) << 36; /* of a file */
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

/* Rows of plan->variant are by op; variants of one op share a label. */
static int32_t first_with_label(const plim_plan *plan, int32_t i) {
  int32_t k = 0;
  while (strcmp(plan->variant[k].variant.label, plan->variant[i].variant.label) != 0) k++;
  return k;
}

/* The numerics keys of the plan that ran: a list of the different ones, and for each op its place in the list. */
static void add_numerics(plim_text *text, const plim_graph *graph, const plim_plan *plan) {
  const char *separator = "";
  int32_t *place = NULL, n_labels = 0; /* [n_variants] in the list */
  text->status =
      text->status == PLIM_OK ? plim_allocate(graph->ctx, plan->n_variants, sizeof *place, &place) : text->status;
  if (text->status != PLIM_OK) return;
  plim_text_format(text, ", \"numerics\": {\"graph\": \"%s\", \"machine\": {", graph->fingerprint);
  plim_document_write_machine(text, &plan->numerics.machine);
  plim_text_add(text, "}, \"labels\": [");
  for (int32_t i = 0; i < plan->n_variants; i++) {
    int32_t k = first_with_label(plan, i);
    place[i] = k < i ? place[k] : n_labels++;
    if (k < i) continue;
    plim_text_add(text, separator);
    plim_text_quote(text, plan->variant[i].variant.label);
    separator = ", ";
  }
  plim_text_add(text, "], \"ops\": [");
  separator = "";
  for (int32_t i = 0; i < plan->n_variants; i++) {
    if (i > 0 && plan->variant[i - 1].op == plan->variant[i].op) continue;
    plim_text_format(text, "%s%d", separator, place[i]);
    separator = ", ";
  }
  plim_text_add(text, "]}");
  plim_release(graph->ctx, place, plan->n_variants, sizeof *place);
}

static void add_training(plim_text *text, const plim_trainer_options *options) {
  const plim_rate_schedule *s = &options->schedule;
  plim_text_format(text,
                   ", \"training\": {\"rate\": %.9g, \"momentum\": %.9g, \"weight_decay\": %.9g, \"seed\": %llu, "
                   "\"total_steps\": %lld}",
                   (double)s->rate, (double)s->momentum, (double)s->weight_decay, (unsigned long long)options->seed,
                   (long long)s->total_steps);
}

static void add_header(plim_text *text, const plim_trainer *trainer) {
  const plim_graph *graph = graph_of(trainer);
  const plim_plan *plan = plim_trainer_program(trainer)->plan[PLIM_PROGRAM_TRAIN];
  const char *separator = "";
  plim_text_format(text, "{\"plimsoll\": \"checkpoint\", \"version\": %d, \"model\": ", PLIM_CHECKPOINT_VERSION);
  plim_text_quote(text, graph->name);
  plim_text_format(text, ", \"batch\": %d, \"step\": %lld, \"arithmetic\": \"%s\"", graph->batch,
                   (long long)plim_trainer_steps(trainer), plan->numerics.hash);
  add_numerics(text, graph, plan);
  add_training(text, plim_trainer_given(trainer));
  plim_text_add(text, ", \"values\": [");
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

/* Read the header. model: the name that it must state, NULL: any. */
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
  if (model && strcmp(found, model) != 0) {
    return plim_fail(l->ctx, PLIM_EDATA, "%s: holds %s, this is %s", l->path, found, model);
  }
  return PLIM_OK;
}

static int add_chars(const char *chars, size_t bytes, void *text) {
  plim_text_format(text, "%.*s", (int)bytes, chars);
  return ((plim_text *)text)->status == PLIM_OK ? 0 : -1;
}

/* Row `row` of the header's values must be exactly value v. */
static plim_status check_row(const loaded *l, const json_t *row, const plim_graph *graph, int32_t v) {
  plim_text expected = {.ctx = l->ctx}, found = {.ctx = l->ctx};
  const plim_value *value = &graph->value[v];
  add_value(&expected, value, plim_role_name(graph->storage[value->storage].role));
  const int refused = row && json_dump_callback(row, add_chars, &found, 0) != 0;
  if (!row) plim_text_add(&found, "none");
  plim_status status = expected.status != PLIM_OK ? expected.status : found.status;
  if (status == PLIM_OK && refused) {
    status = plim_fail(l->ctx, PLIM_ENOMEM, "%s: out of memory while its header was read", l->path);
  }
  if (status == PLIM_OK && strcmp(expected.chars, found.chars) != 0) {
    status =
        plim_fail(l->ctx, PLIM_EDATA, "%s: holds %s where this model has %s", l->path, found.chars, expected.chars);
  }
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
  PLIM_CHECK(plim_file_read(l.ctx, path, most_bytes, &l.data, &l.bytes));
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

/* ---- what a checkpoint says of its run ---- */

/* A list of n labels and one of places in it. */
static plim_status read_labels(const loaded *l, const json_t *labels, const json_t *ops, plim_checkpoint_info *info) {
  size_t n_labels = json_array_size(labels), n_ops = json_array_size(ops);
  if (n_labels == 0 && n_ops == 0) return PLIM_OK; /* of no op: it says nothing */
  if (n_labels == 0 || n_ops == 0 || n_labels > n_ops || n_ops > INT32_MAX) return wrong(l, "its numerics are empty");
  PLIM_TRY(plim_allocate(l->ctx, (int64_t)n_labels, sizeof *info->label, &info->label));
  info->n_labels = (int32_t)n_labels;
  PLIM_TRY(plim_allocate(l->ctx, (int64_t)n_ops, sizeof *info->label_of_op, &info->label_of_op));
  info->n_ops = (int32_t)n_ops;
  for (size_t i = 0; i < n_labels; i++) {
    const char *text = json_string_value(json_array_get(labels, i));
    if (!text || strlen(text) >= sizeof info->label[i]) return wrong(l, "its numerics have a label that is none");
    memcpy(info->label[i], text, strlen(text) + 1);
  }
  for (size_t i = 0; i < n_ops; i++) {
    const json_t *place = json_array_get(ops, i);
    json_int_t at = json_integer_value(place);
    if (!json_is_integer(place) || at < 0 || at >= (json_int_t)n_labels) {
      return wrong(l, "its numerics name a label that is not in their list");
    }
    info->label_of_op[i] = (int32_t)at;
  }
  return PLIM_OK;
}

static int copy_text(const json_t *object, const char *key, char *to, size_t bytes) {
  const char *text = json_string_value(json_object_get(object, key));
  if (!text || strlen(text) >= bytes) return 0;
  memcpy(to, text, strlen(text) + 1);
  return 1;
}

static plim_status read_numerics(const loaded *l, plim_checkpoint_info *info) {
  const json_t *numerics = json_object_get(l->header.root, "numerics"), *machine = json_object_get(numerics, "machine");
  plim_machine *m = &info->machine;
  if (!numerics) return PLIM_OK;
  if (!copy_text(numerics, "graph", info->graph, sizeof info->graph) ||
      !copy_text(machine, "device", m->device, sizeof m->device) || !copy_text(machine, "cpu", m->cpu, sizeof m->cpu) ||
      !copy_text(machine, "isa", m->isa, sizeof m->isa) ||
      !copy_text(machine, "library", m->library, sizeof m->library) ||
      !copy_text(machine, "build", m->build, sizeof m->build)) {
    return wrong(l, "its numerics lack a graph or a machine");
  }
  m->threads = (int32_t)json_integer_value(json_object_get(machine, "threads"));
  return read_labels(l, json_object_get(numerics, "labels"), json_object_get(numerics, "ops"), info);
}

/* The member of that name; *all becomes 0 when it is not there or no number. */
static double number_of(const json_t *object, const char *key, int *all) {
  const json_t *node = json_object_get(object, key);
  *all &= json_is_number(node);
  return json_number_value(node);
}

static void read_training(const loaded *l, plim_checkpoint_info *info) {
  const json_t *training = json_object_get(l->header.root, "training");
  int all = 1;
  info->rate = (float)number_of(training, "rate", &all);
  info->momentum = (float)number_of(training, "momentum", &all);
  info->weight_decay = (float)number_of(training, "weight_decay", &all);
  info->seed = (uint64_t)json_integer_value(json_object_get(training, "seed"));
  info->total_steps = json_integer_value(json_object_get(training, "total_steps"));
  info->has_training = all;
}

static plim_status read_info(const loaded *l, plim_checkpoint_info *info) {
  info->step = l->step;
  info->batch = (int32_t)header_int(l, "batch");
  (void)copy_text(l->header.root, "arithmetic", info->numerics, sizeof info->numerics);
  read_training(l, info);
  return read_numerics(l, info);
}

plim_status plim_checkpoint_read(plim_context *ctx, const char *path, plim_checkpoint_info **out) {
  loaded l = {.ctx = ctx, .path = path};
  plim_checkpoint_info *info = NULL;
  plim_status status = PLIM_OK;
  PLIM_CHECK(plim_allocate(ctx, 1, sizeof *info, &info));
  info->ctx = ctx;
  PLIM_CHECK(plim_file_read(ctx, path, most_bytes, &l.data, &l.bytes));
  PLIM_CHECK(check_frame(&l));
  PLIM_CHECK(parse_header(&l, NULL));
  PLIM_CHECK(read_info(&l, info));
  *out = info;
  info = NULL;
done:
  plim_checkpoint_info_free(info);
  plim_json_close(&l.header);
  plim_file_release(ctx, l.data, l.bytes);
  return status;
}

void plim_checkpoint_info_free(plim_checkpoint_info *info) {
  if (!info) return;
  plim_release(info->ctx, info->label_of_op, info->n_ops, sizeof *info->label_of_op);
  plim_release(info->ctx, info->label, info->n_labels, sizeof *info->label);
  plim_release(info->ctx, info, 1, sizeof *info);
}

plim_status plim_checkpoint_is(plim_context *ctx, const char *path, int *yes) {
  char begin[MAGIC_BYTES] = {0};
  FILE *in = NULL;
  PLIM_TRY(plim_file_open(ctx, path, &in));
  *yes = fread(begin, 1, MAGIC_BYTES, in) == MAGIC_BYTES && memcmp(begin, magic, MAGIC_BYTES) == 0;
  (void)fclose(in);
  return PLIM_OK;
}
