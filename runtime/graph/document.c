/* Writes and reads heads, machines and variants in one place, because several documents have them. */
#include "runtime/graph/document.h"

#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/sha256.h"

#define DOCUMENT_MAX_BYTES (INT64_C(1) << 30)

plim_status plim_document_load(plim_context *ctx, const char *path, plim_document_parse *parse, void *out) {
  char *text = NULL;
  int64_t bytes = 0;
  PLIM_TRY(plim_file_read(ctx, path, DOCUMENT_MAX_BYTES, &text, &bytes));
  plim_status status = parse(ctx, path, text, bytes, out);
  plim_file_release(ctx, text, bytes);
  return status;
}

/* Refuse a file of another program with a sentence that says so, before other mistakes in it. */
static void need_document(const plim_json_at *root) {
  if (root->doc->status != PLIM_OK || plim_json_has(root, "plimsoll")) return;
  plim_json_fail(root, NULL,
                 "is no document of this program, whose first field is 'plimsoll'; graphs are read by import");
}

plim_status plim_document_open(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_json *doc) {
  PLIM_TRY(plim_json_parse(ctx, file, 0, text, bytes, doc));
  plim_json_at root = plim_json_root(doc);
  need_document(&root);
  return doc->status;
}

plim_status plim_document_save(plim_text *text, const char *path) {
  plim_status status = text->status;
  if (status == PLIM_OK) status = plim_file_save(text->ctx, path, text->chars, text->length);
  plim_text_free(text);
  return status;
}

void plim_document_write_version(plim_text *text, const char *kind, int version) {
  plim_text_format(text, "{\n  \"plimsoll\": \"%s\",\n  \"version\": %d,\n", kind, version);
}

void plim_document_write_head(plim_text *text, const char *kind) {
  plim_document_write_version(text, kind, PLIM_DOCUMENT_VERSION);
}

int plim_document_read_version(plim_json_at *root, const char *kind, int newest) {
  need_document(root);
  const char *found = plim_json_text(root, "plimsoll");
  if (root->doc->status == PLIM_OK && strcmp(found, kind) != 0) {
    plim_json_fail(root, NULL, "the document is a '%.40s', not a '%s'", found, kind);
  }
  int64_t version = plim_json_amount(root, "version");
  if (root->doc->status == PLIM_OK && (version < 1 || version > newest)) {
    plim_json_fail(root, "version", "version %lld of the format; this program reads version%s %s%d", (long long)version,
                   newest > 1 ? "s" : "", newest > 1 ? "1 to " : "", newest);
  }
  return (int)version;
}

void plim_document_read_head(plim_json_at *root, const char *kind) {
  (void)plim_document_read_version(root, kind, PLIM_DOCUMENT_VERSION);
}

void plim_document_read_hash(plim_json_at *at, const char *key, char *hex) {
  const char *found = plim_json_text(at, key);
  if (at->doc->status != PLIM_OK) return;
  if (plim_sha256_is_hex(found)) {
    memcpy(hex, found, PLIM_FINGERPRINT_BYTES);
  } else {
    plim_json_fail(at, key, "is not 64 lower-case hexadecimal digits");
  }
}

static void write_text_field(plim_text *text, const char *key, const char *value) {
  plim_text_format(text, "\"%s\": ", key);
  plim_text_quote(text, value);
  plim_text_add(text, ", ");
}

void plim_document_write_machine(plim_text *text, const plim_machine *machine) {
  write_text_field(text, "device", machine->device);
  write_text_field(text, "cpu", machine->cpu);
  write_text_field(text, "isa", machine->isa);
  write_text_field(text, "library", machine->library);
  write_text_field(text, "build", machine->build);
  plim_text_format(text, "\"threads\": %d", machine->threads);
}

void plim_document_read_machine(plim_json_at *at, plim_machine *machine) {
  plim_json_copy(at, "device", machine->device, sizeof machine->device);
  plim_json_copy(at, "cpu", machine->cpu, sizeof machine->cpu);
  plim_json_copy(at, "isa", machine->isa, sizeof machine->isa);
  plim_json_copy(at, "library", machine->library, sizeof machine->library);
  plim_json_copy(at, "build", machine->build, sizeof machine->build);
  machine->threads = plim_json_index(at, "threads");
}

void plim_document_write_variant(plim_text *text, int32_t op, const plim_variant *variant) {
  plim_text_format(text, "{\"op\": %d, ", op);
  write_text_field(text, "name", variant->name);
  write_text_field(text, "label", variant->numerics_key);
  plim_text_format(text, "\"time_ns\": %lld, \"workspace_bytes\": %lld}", (long long)variant->time_ns,
                   (long long)variant->workspace_bytes);
}

/* "label" is the older word of the formats for the numerics key. */
void plim_document_read_variant(plim_json_at *at, int32_t *op, plim_variant *variant) {
  *op = (int32_t)plim_json_int(at, "op", 0, INT32_MAX - 1);
  plim_json_copy(at, "name", variant->name, sizeof variant->name);
  plim_json_copy(at, "label", variant->numerics_key, sizeof variant->numerics_key);
  variant->time_ns = plim_json_amount(at, "time_ns");
  variant->workspace_bytes = plim_json_amount(at, "workspace_bytes");
  plim_json_end(at);
}

plim_json_at plim_document_list(plim_json_at *root, const char *key, int32_t *count, void *array, size_t size) {
  int32_t n = 0;
  plim_json_at list = plim_json_list(root, key, &n);
  if (root->doc->status == PLIM_OK) plim_json_take(&list, plim_allocate(root->doc->ctx, n, size, array));
  if (root->doc->status == PLIM_OK) *count = n;
  return list;
}

void plim_document_write_pairs(plim_text *text, const plim_pair *pair, int32_t n) {
  plim_text_add(text, "[");
  for (int32_t i = 0; i < n; i++) {
    plim_text_format(text, i > 0 ? ", [%d, %d]" : "[%d, %d]", pair[i].out, pair[i].in);
  }
  plim_text_add(text, "]");
}

int32_t plim_document_read_pairs(plim_json_at *at, plim_pair *pair, int32_t most) {
  int32_t n = 0, two = 0;
  plim_json_at list = plim_json_list(at, "pairs", &n);
  if (n > most) {
    plim_json_fail(&list, NULL, "has %d pairs, at most %d are allowed", n, most);
    return 0;
  }
  for (int32_t i = 0; i < n; i++) {
    plim_json_at row = plim_json_row(&list, i, &two);
    if (two != 2) plim_json_fail(&row, NULL, "has %d numbers, not 2: [output position, input position]", two);
    pair[i].out = (int32_t)plim_json_int_item(&row, 0, 0, INT32_MAX);
    pair[i].in = (int32_t)plim_json_int_item(&row, 1, 0, INT32_MAX);
  }
  return n;
}

void plim_document_write_ids(plim_text *text, const int32_t *id, int32_t n) {
  plim_text_add(text, "[");
  for (int32_t i = 0; i < n; i++) plim_text_format(text, i > 0 ? ", %d" : "%d", id[i]);
  plim_text_add(text, "]");
}

void plim_document_write_int(plim_text *text, int64_t x, int64_t none) {
  if (x == none) {
    plim_text_add(text, "null");
  } else {
    plim_text_format(text, "%lld", (long long)x);
  }
}
