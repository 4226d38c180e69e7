/* Checkpoints: one header, then the values' bytes in graph order, then a checksum over everything before it.
 *
 * Values are stored in graph order, which does not depend on batch, layout or budget. So a reader accepts only exactly
 * its own list. */
#include "runtime/train/checkpoint.h"

#include <string.h>

#include "kernels/fnv.h"
#include "runtime/base/file.h"
#include "runtime/base/hash_table.h"
#include "runtime/base/json.h"
#include "runtime/base/sha256.h"
#include "runtime/base/text.h"
#include "runtime/graph/document.h"
#include "runtime/train/state.h"

enum { MAGIC_BYTES = 8, PREFIX_BYTES = MAGIC_BYTES + 4 };
static const int64_t bytes_max = INT64_C(1) << 46; /* of a file that is read: more than any that can be written */
static const int64_t steps_max = (int64_t)1 << 53; /* exact in every reader of JSON */
static const char magic[MAGIC_BYTES + 1] = "PLIMCKPT";

/* Heads of the graph's attention, which no parameter's shape tells; 0: it has none. lse is [B][T][H]. */
static int64_t heads_of(const plim_graph *graph) {
  for (int32_t i = 0; i < graph->n_ops; i++) {
    if (graph->op[i].kind == PLIM_OP_ATTENTION) return graph->value[graph->op[i].out[1]].shape.dim[2];
  }
  return 0;
}

/* ---- writing ---- */

static void add_dims(plim_text *text, const plim_shape *shape, const char *separator) {
  for (int32_t i = 0; i < shape->rank; i++) {
    plim_text_format(text, "%s%lld", i > 0 ? separator : "", (long long)shape->dim[i]);
  }
}

static void add_value(plim_text *text, const plim_value *value, const char *role) {
  plim_text_add(text, "{\"name\": ");
  plim_text_quote(text, value->name);
  plim_text_format(text, ", \"role\": \"%s\", \"dtype\": \"%s\", \"layout\": \"%s\", \"shape\": [", role,
                   plim_dtype_name(value->shape.dtype), plim_layout_name(value->shape.layout));
  add_dims(text, &value->shape, ", ");
  plim_text_add(text, "]}");
}

static int has_key(const void *plan, int32_t row, const void *key) {
  return strcmp(((const plim_plan *)plan)->variant[row].variant.numerics_key, key) == 0;
}

/* Add the list of different numerics keys. place [n_variants] out: in the list. */
static plim_status add_keys(plim_text *text, const plim_plan *plan, plim_hash_table *rows, int32_t *place) {
  const char *separator = "";
  int32_t n_keys = 0;
  for (int32_t i = 0; i < plan->n_variants; i++) {
    const char *key = plan->variant[i].variant.numerics_key;
    const uint64_t hash = plim_fnv64(PLIM_FNV64, key, strlen(key));
    const int32_t first = plim_hash_find(rows, hash, has_key, plan, key);
    place[i] = first >= 0 ? place[first] : n_keys++;
    if (first >= 0) continue;
    PLIM_TRY(plim_hash_reserve(rows));
    plim_hash_add(rows, hash, i);
    plim_text_add(text, separator);
    plim_text_quote(text, key);
    separator = ", ";
  }
  return text->status;
}

/* Add the numerics keys of the plan: the list of different keys, and for each op the index of its key. Rows of
 * plan->variant are sorted by op, and the variants of one op share a key. */
static plim_status add_numerics(plim_text *text, const plim_graph *graph, const plim_plan *plan) {
  const char *separator = "";
  int32_t *place = NULL; /* [n_variants] in the list */
  plim_hash_table rows = {.ctx = graph->ctx};
  plim_status status;
  PLIM_TRY(plim_allocate(graph->ctx, plan->n_variants, sizeof *place, &place));
  plim_text_format(text, ", \"numerics\": {\"graph\": \"%s\", \"machine\": {", graph->fingerprint);
  plim_document_write_machine(text, &plan->numerics.machine);
  plim_text_add(text, "}, \"labels\": [");
  PLIM_TRY_OR_DONE(add_keys(text, plan, &rows, place));
  plim_text_add(text, "], \"ops\": [");
  for (int32_t i = 0; i < plan->n_variants; i++) {
    if (!plim_plan_variant_is_first(plan, i)) continue;
    plim_text_format(text, "%s%d", separator, place[i]);
    separator = ", ";
  }
  plim_text_add(text, "]}");
done:
  plim_hash_release(&rows);
  plim_release(graph->ctx, place, plan->n_variants, sizeof *place);
  return status;
}

static void add_training(plim_text *text, const plim_trainer_options *options) {
  const plim_rate_schedule *s = &options->schedule;
  plim_text_add(text, ", \"training\": {\"rate\": ");
  plim_text_float(text, s->rate);
  plim_text_add(text, ", \"momentum\": ");
  plim_text_float(text, s->momentum);
  plim_text_add(text, ", \"weight_decay\": ");
  plim_text_float(text, s->weight_decay);
  plim_text_format(text, ", \"seed\": %llu, \"total_steps\": %lld}", (unsigned long long)options->seed,
                   (long long)s->total_steps);
}

/* Returns the text's own failure too. */
static plim_status add_header(plim_text *text, const plim_trainer *trainer) {
  const plim_graph *graph = plim_state_graph(trainer);
  const plim_plan *plan = plim_trainer_program(trainer)->plan[PLIM_PROGRAM_TRAIN];
  const char *separator = "";
  plim_text_format(text, "{\"plimsoll\": \"checkpoint\", \"version\": %d, \"model\": ", PLIM_CHECKPOINT_VERSION);
  plim_text_quote(text, graph->name);
  plim_text_format(text, ", \"batch\": %d, \"step\": %lld, \"arithmetic\": \"%s\"", graph->batch,
                   (long long)plim_trainer_steps(trainer), plan->numerics.hash);
  if (heads_of(graph) > 0) plim_text_format(text, ", \"heads\": %lld", (long long)heads_of(graph));
  PLIM_TRY(add_numerics(text, graph, plan));
  add_training(text, plim_trainer_options_of(trainer));
  plim_text_add(text, ", \"values\": [");
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!plim_state_includes(graph, v)) continue;
    plim_text_add(text, separator);
    add_value(text, &graph->value[v], plim_role_name(graph->storage[graph->value[v].storage].role));
    separator = ", ";
  }
  plim_text_add(text, "]}\n");
  return text->status;
}

/* A file and the checksum of the bytes written to it. */
typedef struct summed_file {
  plim_file *file;
  plim_sha256 sha;
} summed_file;

static plim_status write_summed(summed_file *file, const void *data, int64_t bytes) {
  plim_sha256_add(&file->sha, data, (size_t)bytes);
  return plim_file_write(file->file, data, bytes);
}

static plim_status put_values(summed_file *file, const plim_trainer *trainer) {
  const plim_graph *graph = plim_state_graph(trainer);
  plim_status status = PLIM_OK;
  for (int32_t v = 0; v < graph->n_values && status == PLIM_OK; v++) {
    char *host = NULL;
    int64_t bytes = graph->value[v].bytes;
    if (!plim_state_includes(graph, v)) continue;
    PLIM_TRY(plim_allocate(graph->ctx, bytes, 1, &host));
    status = plim_exec_read(plim_trainer_exec(trainer), PLIM_PROGRAM_TRAIN, v, host, bytes);
    if (status == PLIM_OK) status = write_summed(file, host, bytes);
    plim_release(graph->ctx, host, bytes, 1);
  }
  return status;
}

plim_status plim_checkpoint_save(const plim_trainer *trainer, const char *path) {
  plim_context *ctx = plim_state_graph(trainer)->ctx;
  plim_text header = {.ctx = ctx};
  summed_file file = {0};
  uint8_t length[4], digest[PLIM_SHA256_BYTES];
  plim_status status = PLIM_OK;
  PLIM_TRY_OR_DONE(add_header(&header, trainer));
  for (int i = 0; i < 4; i++) length[i] = (uint8_t)(header.length >> 8 * i);
  plim_sha256_begin(&file.sha);
  PLIM_TRY_OR_DONE(plim_file_begin(ctx, path, &file.file));
  PLIM_TRY_OR_DONE(write_summed(&file, magic, MAGIC_BYTES));
  PLIM_TRY_OR_DONE(write_summed(&file, length, sizeof length));
  PLIM_TRY_OR_DONE(write_summed(&file, header.chars, header.length));
  PLIM_TRY_OR_DONE(put_values(&file, trainer));
  plim_sha256_end(&file.sha, digest);
  PLIM_TRY_OR_DONE(plim_file_write(file.file, digest, sizeof digest));
  status = plim_file_commit(file.file);
  file.file = NULL;
done:
  plim_file_abandon(file.file);
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

static plim_status wrong(const loaded *file, const char *what) {
  return plim_fail(file->ctx, PLIM_EDATA, "%s: %s", file->path, what);
}

/* Check frame and checksum. Afterwards every byte is known to be as it was written. */
static plim_status check_frame(loaded *file) {
  uint8_t digest[PLIM_SHA256_BYTES];
  uint32_t length = 0;
  plim_sha256 sha;
  if (file->bytes < PREFIX_BYTES + PLIM_SHA256_BYTES || memcmp(file->data, magic, MAGIC_BYTES) != 0) {
    return wrong(file, "not a checkpoint");
  }
  int64_t body = file->bytes - PLIM_SHA256_BYTES;
  plim_sha256_begin(&sha);
  plim_sha256_add(&sha, file->data, (size_t)body);
  plim_sha256_end(&sha, digest);
  if (memcmp(digest, file->data + body, sizeof digest) != 0) {
    return plim_fail(file->ctx, PLIM_EDATA, "%s: its %lld bytes do not give its checksum: truncated or damaged",
                     file->path, (long long)file->bytes);
  }
  for (int i = 0; i < 4; i++) length |= (uint32_t)(uint8_t)file->data[MAGIC_BYTES + i] << 8 * i;
  if (length > body - PREFIX_BYTES) return wrong(file, "its header is longer than the file");
  file->at = PREFIX_BYTES + (int64_t)length;
  return PLIM_OK;
}

/* Read the header.
 *   model  in  name that the header must state; NULL: any
 * Fields that it does not know are ignored: later versions may add some. Rows of values have none (check_row). */
static plim_status parse_header(loaded *file, const char *model) {
  PLIM_TRY(
      plim_json_parse(file->ctx, file->path, 0, file->data + PREFIX_BYTES, file->at - PREFIX_BYTES, &file->header));
  plim_json_at root = plim_json_root(&file->header);
  (void)plim_document_read_version(&root, "checkpoint", PLIM_CHECKPOINT_VERSION);
  const char *found = plim_json_text(&root, "model");
  file->step = plim_json_amount(&root, "step");
  PLIM_TRY(file->header.status);
  if (!found[0]) return wrong(file, "its header names no model");
  if (file->step > steps_max) {
    return plim_fail(file->ctx, PLIM_EDATA, "%s: says step %lld; no run has more than %lld", file->path,
                     (long long)file->step, (long long)steps_max);
  }
  if (model && strcmp(found, model) != 0) {
    return plim_fail(file->ctx, PLIM_EDATA, "%s: holds %s, this is %s", file->path, found, model);
  }
  return PLIM_OK;
}

/* Files of earlier versions do not say how many. */
static plim_status check_heads(loaded *file, const plim_graph *graph) {
  plim_json_at root = plim_json_root(&file->header);
  if (!plim_json_has(&root, "heads")) return file->header.status;
  int64_t heads = plim_json_int(&root, "heads", 1, INT32_MAX);
  PLIM_TRY(file->header.status);
  if (heads == heads_of(graph)) return PLIM_OK;
  return plim_fail(file->ctx, PLIM_EDATA, "%s: its attention has %lld heads, this model has %lld", file->path,
                   (long long)heads, (long long)heads_of(graph));
}

static int add_chars(const char *chars, size_t bytes, void *text) {
  plim_text_format(text, "%.*s", (int)bytes, chars);
  return ((plim_text *)text)->status == PLIM_OK ? 0 : -1;
}

/* A row of values in words: "'conv1.w' (param, f32, flat, [16,3,3,3])". */
static void describe_row(const json_t *row, plim_text *text) {
  static const char *const fields[] = {"role", "dtype", "layout"};
  const char *name = json_string_value(json_object_get(row, "name"));
  const json_t *shape = json_object_get(row, "shape");
  if (!name) {
    plim_text_add(text, "no value");
    return;
  }
  plim_text_format(text, "'%.200s' (", name);
  for (int i = 0; i < 3; i++) {
    const char *word = json_string_value(json_object_get(row, fields[i]));
    plim_text_format(text, "%.20s, ", word ? word : "?");
  }
  plim_text_add(text, "[");
  for (size_t i = 0; i < json_array_size(shape) && i < PLIM_MAX_RANK; i++) {
    plim_text_format(text, "%s%lld", i > 0 ? "," : "", (long long)json_integer_value(json_array_get(shape, i)));
  }
  plim_text_add(text, "])");
}

/* The same of a value of this run. */
static void describe_value(const plim_value *value, plim_role role, plim_text *text) {
  plim_text_format(text, "'%.200s' (%s, %s, %s, [", value->name, plim_role_name(role),
                   plim_dtype_name(value->shape.dtype), plim_layout_name(value->shape.layout));
  add_dims(text, &value->shape, ",");
  plim_text_add(text, "])");
}

static plim_status other_value(const loaded *file, const json_t *row, const plim_value *own, plim_role role) {
  plim_text text = {.ctx = file->ctx};
  plim_text_format(&text, "%s: holds ", file->path);
  describe_row(row, &text);
  plim_text_add(&text, " where this run has ");
  describe_value(own, role, &text);
  plim_status status = text.status;
  if (status == PLIM_OK) {
    status = plim_fail(file->ctx, PLIM_EDATA,
                       "%s; model, optimizer and the type of its states must be those that were saved", text.chars);
  }
  plim_text_free(&text);
  return status;
}

/* Row `row` of the header's values must be exactly value v. */
static plim_status check_row(const loaded *file, const json_t *row, const plim_graph *graph, int32_t v) {
  plim_text expected = {.ctx = file->ctx}, found = {.ctx = file->ctx};
  const plim_value *value = &graph->value[v];
  const plim_role role = graph->storage[value->storage].role;
  add_value(&expected, value, plim_role_name(role));
  const int refused = row && json_dump_callback(row, add_chars, &found, 0) != 0;
  if (!row) plim_text_add(&found, "none");
  plim_status status = expected.status != PLIM_OK ? expected.status : found.status;
  if (status == PLIM_OK && refused) {
    status = plim_fail(file->ctx, PLIM_ENOMEM, "%s: out of memory while its header was read", file->path);
  }
  if (status == PLIM_OK && strcmp(expected.chars, found.chars) != 0) {
    status = other_value(file, row, value, role);
  }
  plim_text_free(&expected);
  plim_text_free(&found);
  return status;
}

static plim_status check_values(loaded *file, const plim_graph *graph) {
  plim_json_at root = plim_json_root(&file->header);
  int32_t n_rows = 0, row = 0;
  int64_t bytes = 0;
  plim_json_at rows = plim_json_list(&root, "values", &n_rows);
  PLIM_TRY(file->header.status);
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!plim_state_includes(graph, v)) continue;
    PLIM_TRY(check_row(file, json_array_get(rows.node, (size_t)row++), graph, v));
    bytes += graph->value[v].bytes;
  }
  if (row != n_rows) return wrong(file, "holds more values than this model has");
  if (file->at + bytes + PLIM_SHA256_BYTES != file->bytes) {
    return plim_fail(file->ctx, PLIM_EDATA, "%s: has %lld bytes of values, expected %lld", file->path,
                     (long long)(file->bytes - file->at - PLIM_SHA256_BYTES), (long long)bytes);
  }
  return PLIM_OK;
}

static plim_status write_values(const loaded *file, plim_trainer *trainer) {
  const plim_graph *graph = plim_state_graph(trainer);
  const char *at = file->data + file->at;
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!plim_state_includes(graph, v)) continue;
    PLIM_TRY(plim_exec_write(plim_trainer_exec(trainer), PLIM_PROGRAM_TRAIN, v, at, graph->value[v].bytes));
    at += graph->value[v].bytes;
  }
  return PLIM_OK;
}

plim_status plim_checkpoint_load(plim_trainer *trainer, const char *path) {
  const plim_graph *graph = plim_state_graph(trainer);
  loaded file = {.ctx = graph->ctx, .path = path};
  plim_status status = PLIM_OK;
  PLIM_TRY_OR_DONE(plim_file_read(file.ctx, path, bytes_max, &file.data, &file.bytes));
  PLIM_TRY_OR_DONE(check_frame(&file));
  PLIM_TRY_OR_DONE(parse_header(&file, graph->name));
  PLIM_TRY_OR_DONE(check_heads(&file, graph));
  PLIM_TRY_OR_DONE(check_values(&file, graph));
  PLIM_TRY_OR_DONE(write_values(&file, trainer));
  plim_trainer_seek(trainer, file.step);
done:
  plim_json_close(&file.header);
  plim_file_release(file.ctx, file.data, file.bytes);
  return status;
}

/* ---- what a checkpoint says of its run ---- */

/* Read the list of numerics keys, and for each op the index of its numerics key. */
static plim_status read_keys(plim_json_at *numerics, plim_checkpoint_info *info) {
  plim_json *doc = numerics->doc;
  int32_t n_keys = 0, n_ops = 0;
  plim_json_at keys = plim_json_list(numerics, "labels", &n_keys), ops = plim_json_list(numerics, "ops", &n_ops);
  if (n_keys > n_ops) plim_json_fail(&keys, NULL, "has %d numerics keys for %d ops", n_keys, n_ops);
  PLIM_TRY(doc->status);
  PLIM_TRY(plim_allocate(doc->ctx, n_keys, sizeof *info->numerics_key, &info->numerics_key));
  info->n_keys = n_keys;
  PLIM_TRY(plim_allocate(doc->ctx, n_ops, sizeof *info->key_of_op, &info->key_of_op));
  info->n_ops = n_ops;
  for (int32_t i = 0; i < n_keys && doc->status == PLIM_OK; i++) {
    const char *text = plim_json_text_item(&keys, i);
    const size_t length = strlen(text);
    if (length < sizeof info->numerics_key[i]) {
      memcpy(info->numerics_key[i], text, length + 1);
    } else {
      plim_json_fail(&keys, NULL, "numerics key %d has %zu characters, at most %zu are allowed", i, length,
                     sizeof info->numerics_key[i] - 1);
    }
  }
  for (int32_t i = 0; i < n_ops; i++) {
    info->key_of_op[i] = (int32_t)plim_json_int_item(&ops, i, 0, (int64_t)n_keys - 1);
  }
  return doc->status;
}

static plim_status read_numerics(plim_json_at *root, plim_checkpoint_info *info) {
  if (!plim_json_has(root, "numerics")) return root->doc->status;
  plim_json_at numerics = plim_json_object(root, "numerics"), machine = plim_json_object(&numerics, "machine");
  plim_json_copy(&numerics, "graph", info->graph, sizeof info->graph);
  plim_document_read_machine(&machine, &info->machine);
  return read_keys(&numerics, info);
}

static void read_training(plim_json_at *root, plim_checkpoint_info *info) {
  if (!plim_json_has(root, "training")) return;
  plim_json_at training = plim_json_object(root, "training");
  info->rate = plim_json_float(&training, "rate");
  info->momentum = plim_json_float(&training, "momentum");
  info->weight_decay = plim_json_float(&training, "weight_decay");
  info->seed = (uint64_t)plim_json_amount(&training, "seed");
  info->total_steps = plim_json_int(&training, "total_steps", INT64_MIN, INT64_MAX);
  info->has_training = 1;
}

static plim_status read_info(loaded *file, plim_checkpoint_info *info) {
  plim_json_at root = plim_json_root(&file->header);
  info->step = file->step;
  info->batch = plim_json_has(&root, "batch") ? plim_json_index(&root, "batch") : PLIM_UNKNOWN;
  /* "arithmetic" is the older word of the format */
  if (plim_json_has(&root, "arithmetic")) plim_json_copy(&root, "arithmetic", info->numerics, sizeof info->numerics);
  read_training(&root, info);
  return read_numerics(&root, info);
}

plim_status plim_checkpoint_read(plim_context *ctx, const char *path, plim_checkpoint_info **out) {
  loaded file = {.ctx = ctx, .path = path};
  plim_checkpoint_info *info = NULL;
  plim_status status = PLIM_OK;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 1, sizeof *info, &info));
  info->ctx = ctx;
  PLIM_TRY_OR_DONE(plim_file_read(ctx, path, bytes_max, &file.data, &file.bytes));
  PLIM_TRY_OR_DONE(check_frame(&file));
  PLIM_TRY_OR_DONE(parse_header(&file, NULL));
  PLIM_TRY_OR_DONE(read_info(&file, info));
  *out = info;
  info = NULL;
done:
  plim_checkpoint_info_free(info);
  plim_json_close(&file.header);
  plim_file_release(ctx, file.data, file.bytes);
  return status;
}

void plim_checkpoint_info_free(plim_checkpoint_info *info) {
  if (!info) return;
  plim_release(info->ctx, info->key_of_op, info->n_ops, sizeof *info->key_of_op);
  plim_release(info->ctx, info->numerics_key, info->n_keys, sizeof *info->numerics_key);
  plim_release(info->ctx, info, 1, sizeof *info);
}

const char *plim_checkpoint_numerics_keys(const plim_checkpoint_info *info, const plim_graph *graph,
                                          const plim_machine *here, const char **numerics_key) {
  if (info->n_ops == 0) return "it does not say which kernels made it";
  if (info->n_ops != graph->n_ops) return "it is of a network with other ops";
  if (strcmp(info->graph, graph->fingerprint) != 0) return "it is of another batch, layout or precision";
  if (plim_machine_differs(&info->machine, here, PLIM_MACHINE_BITS, NULL)) {
    return "other threads, instructions or libraries made it";
  }
  for (int32_t op = 0; op < info->n_ops && numerics_key; op++) {
    numerics_key[op] = info->numerics_key[info->key_of_op[op]];
  }
  return NULL;
}

int32_t plim_checkpoint_numerics_differ(const plim_checkpoint_info *info, const plim_plan *plan) {
  int32_t n = 0;
  for (int32_t i = 0; i < plan->n_variants; i++) {
    const plim_plan_variant *v = &plan->variant[i];
    if (!plim_plan_variant_is_first(plan, i)) continue;
    n += strcmp(info->numerics_key[info->key_of_op[v->op]], v->variant.numerics_key) != 0;
  }
  return n;
}

plim_status plim_checkpoint_is(plim_context *ctx, const char *path, int *yes) {
  char begin[MAGIC_BYTES] = {0};
  FILE *in = NULL;
  PLIM_TRY(plim_file_open(ctx, path, &in));
  *yes = fread(begin, 1, MAGIC_BYTES, in) == MAGIC_BYTES && memcmp(begin, magic, MAGIC_BYTES) == 0;
  (void)fclose(in);
  return PLIM_OK;
}
