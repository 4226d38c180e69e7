/* Cursors over jansson's tree. The first failure is kept, with its path. */
#include "runtime/base/json.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 512, SENTENCE_BYTES = 768 };
enum { CHUNKS_A_TEXT = 4 }; /* bytes of a chunk for one of the text, whose values take about ten */

/* ---- failures ---- */

/* "ops[3].in[1]" into text [PATH_BYTES]; a path that does not fit is cut. */
static void write_path(const plim_json_at *at, char *text) {
  if (!at || !at->parent) return;
  write_path(at->parent, text);
  size_t length = strlen(text);
  if (at->key) {
    (void)snprintf(text + length, PATH_BYTES - length, "%s%s", length > 0 ? "." : "", at->key);
  } else {
    (void)snprintf(text + length, PATH_BYTES - length, "[%lld]", (long long)at->index);
  }
}

/* "FILE" or, for a line of JSON Lines, "FILE: line 7"; then the path. */
static void fail_sentence(const plim_json_at *at, const char *key, plim_status status, const char *sentence) {
  char path[PATH_BYTES] = "", line[32] = "";
  plim_json_at field = {.doc = at->doc, .parent = at, .key = key};
  write_path(key ? &field : at, path);
  if (at->doc->line > 0) (void)snprintf(line, sizeof line, ": line %lld", (long long)at->doc->line);
  at->doc->status =
      plim_fail(at->doc->ctx, status, "%s%s%s%s: %s", at->doc->file, line, path[0] ? ": " : "", path, sentence);
}

void plim_json_fail(const plim_json_at *at, const char *key, const char *format, ...) {
  if (at->doc->status != PLIM_OK) return;
  char sentence[SENTENCE_BYTES];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  fail_sentence(at, key, PLIM_EDATA, sentence);
}

void plim_json_take(const plim_json_at *at, plim_status status) {
  if (status == PLIM_OK || at->doc->status != PLIM_OK) return;
  if (status == PLIM_ENOMEM) {
    at->doc->status = status; /* no fault of the file */
    return;
  }
  fail_sentence(at, NULL, status, plim_context_error(at->doc->ctx));
}

/* ---- parsing ---- */

static int depth_of(const json_t *node, int left) {
  if (left == 0) return 1;
  int deepest = 0;
  const char *key;
  json_t *child;
  size_t i;
  if (json_is_array(node)) {
    json_array_foreach(node, i, child) {
      int depth = depth_of(child, left - 1);
      if (depth > deepest) deepest = depth;
    }
  } else if (json_is_object(node)) {
    json_object_foreach((json_t *)node, key, child) {
      int depth = depth_of(child, left - 1);
      if (depth > deepest) deepest = depth;
    }
  } else {
    return 0;
  }
  return deepest + 1;
}

/* The error in words that need no knowledge of JSON's grammar; NULL: the parser's own words are as good. */
static const char *sentence_of(enum json_error_code code) {
  switch (code) {
    case json_error_premature_end_of_input:
      return "ends in the middle: the file was cut";
    case json_error_end_of_input_expected:
      return "goes on after the end of the JSON document, at this line";
    case json_error_invalid_syntax:
      return "is not JSON, from this line on";
    case json_error_invalid_utf8:
      return "is not text in UTF-8";
    default:
      return NULL;
  }
}

plim_status plim_json_parse(plim_context *ctx, const char *file, int64_t line, const char *text, int64_t bytes,
                            plim_json *doc) {
  json_error_t error;
  *doc = (plim_json){.ctx = ctx, .file = file, .line = line};
  plim_json_memory_begin(&doc->memory, ctx, bytes < INT32_MAX ? CHUNKS_A_TEXT * bytes : bytes);
  doc->root = json_loadb(text, (size_t)bytes, JSON_REJECT_DUPLICATES, &error);
  plim_json_memory_end(&doc->memory);
  if (doc->memory.refused || (!doc->root && json_error_code(&error) == json_error_out_of_memory)) {
    doc->status =
        plim_fail(ctx, PLIM_ENOMEM, "%s: out of memory while its %lld bytes were read", file, (long long)bytes);
  } else if (!doc->root) {
    const char *sentence = bytes > 0 ? sentence_of(json_error_code(&error)) : "is empty";
    doc->status = plim_fail(ctx, PLIM_EDATA, "%s: line %lld: %s", file, (long long)(line > 0 ? line : error.line),
                            sentence ? sentence : error.text);
  } else if (depth_of(doc->root, PLIM_JSON_MAX_DEPTH + 1) > PLIM_JSON_MAX_DEPTH) {
    doc->status = plim_fail(ctx, PLIM_EDATA, "%s: nested deeper than %d", file, PLIM_JSON_MAX_DEPTH);
  }
  return doc->status;
}

void plim_json_close(plim_json *doc) {
  plim_json_memory_free(&doc->memory);
  doc->root = NULL;
}

/* ---- walking ---- */

static const char *type_name(const json_t *node) {
  static const char *const names[] = {"an object", "a list", "a text", "an integer",
                                      "a number",  "true",   "false",  "null"};
  return names[json_typeof(node)];
}

/* The field, noted as read; NULL after a failure. */
static const json_t *field_of(plim_json_at *at, const char *key) {
  if (at->doc->status != PLIM_OK || !at->node) return NULL;
  assert(at->n_asked < PLIM_JSON_MAX_FIELDS);
  at->asked[at->n_asked++] = key;
  const json_t *node = json_object_get(at->node, key);
  if (!node) plim_json_fail(at, key, "is missing");
  return node;
}

static const json_t *item_of(const plim_json_at *list, int32_t i) {
  return list->doc->status == PLIM_OK && list->node ? json_array_get(list->node, (size_t)i) : NULL;
}

/* Check that the node is present and of the type; if not, record the failure and return 0. */
static int is_type(const plim_json_at *at, const json_t *node, json_type type, const char *wanted) {
  if (!node) return 0;
  if (json_typeof(node) == type) return 1;
  plim_json_fail(at, NULL, "is %s, not %s", type_name(node), wanted);
  return 0;
}

static plim_json_at cursor(const plim_json_at *parent, const char *key, int64_t index, const json_t *node) {
  return (plim_json_at){.doc = parent->doc, .parent = parent, .key = key, .index = index, .node = node};
}

static int32_t list_size(plim_json_at *at) {
  if (!is_type(at, at->node, JSON_ARRAY, "a list")) at->node = NULL;
  size_t n = at->node ? json_array_size(at->node) : 0;
  if (n >= INT32_MAX) plim_json_fail(at, NULL, "has %zu items", n);
  return n < INT32_MAX ? (int32_t)n : 0;
}

static void need_object(plim_json_at *at) {
  if (!is_type(at, at->node, JSON_OBJECT, "an object")) at->node = NULL;
}

plim_json_at plim_json_root(plim_json *doc) {
  plim_json_at root = {.doc = doc, .node = doc->root};
  need_object(&root);
  return root;
}

plim_json_at plim_json_object(plim_json_at *at, const char *key) {
  plim_json_at object = cursor(at, key, 0, field_of(at, key));
  need_object(&object);
  return object;
}

plim_json_at plim_json_list(plim_json_at *at, const char *key, int32_t *n) {
  plim_json_at list = cursor(at, key, 0, field_of(at, key));
  *n = list_size(&list);
  return list;
}

int plim_json_has(const plim_json_at *at, const char *key) {
  return at->doc->status == PLIM_OK && at->node && json_object_get(at->node, key);
}

plim_json_at plim_json_item(const plim_json_at *list, int32_t i) {
  plim_json_at item = cursor(list, NULL, i, item_of(list, i));
  need_object(&item);
  return item;
}

plim_json_at plim_json_row(const plim_json_at *list, int32_t i, int32_t *n) {
  plim_json_at row = cursor(list, NULL, i, item_of(list, i));
  *n = list_size(&row);
  return row;
}

void plim_json_end(plim_json_at *at) {
  const char *key;
  json_t *child;
  if (at->doc->status != PLIM_OK || !at->node) return;
  json_object_foreach((json_t *)at->node, key, child) {
    int i = 0;
    while (i < at->n_asked && strcmp(at->asked[i], key) != 0) i++;
    if (i == at->n_asked) {
      plim_json_fail(at, NULL, "unknown field '%.80s'", key);
      return;
    }
  }
}

/* ---- values ---- */

static int64_t int_at(const plim_json_at *at, int64_t least, int64_t most) {
  if (!is_type(at, at->node, JSON_INTEGER, "an integer")) return 0;
  int64_t x = json_integer_value(at->node);
  if (x >= least && x <= most) return x;
  plim_json_fail(at, NULL, "%lld is not in [%lld, %lld]", (long long)x, (long long)least, (long long)most);
  return 0;
}

static float float_at(const plim_json_at *at) {
  if (!at->node) return 0;
  if (json_typeof(at->node) != JSON_INTEGER && !is_type(at, at->node, JSON_REAL, "a number")) return 0;
  float x = (float)json_number_value(at->node);
  if (isfinite(x)) return x;
  plim_json_fail(at, NULL, "%g does not fit in 32 bits", json_number_value(at->node));
  return 0;
}

static double real_at(const plim_json_at *at, double least, double most) {
  if (!at->node) return 0;
  if (json_typeof(at->node) != JSON_INTEGER && !is_type(at, at->node, JSON_REAL, "a number")) return 0;
  double x = json_number_value(at->node);
  if (x >= least && x <= most) return x;
  plim_json_fail(at, NULL, "%g is not in [%g, %g]", x, least, most);
  return 0;
}

static int64_t int_or_null_at(const plim_json_at *at, int64_t least, int64_t most, int64_t none) {
  if (at->node && json_typeof(at->node) == JSON_NULL) return none;
  return int_at(at, least, most);
}

int64_t plim_json_int(plim_json_at *at, const char *key, int64_t least, int64_t most) {
  plim_json_at field = cursor(at, key, 0, field_of(at, key));
  return int_at(&field, least, most);
}

int64_t plim_json_int_or_null(plim_json_at *at, const char *key, int64_t least, int64_t most, int64_t none) {
  plim_json_at field = cursor(at, key, 0, field_of(at, key));
  return int_or_null_at(&field, least, most, none);
}

int64_t plim_json_int_item(const plim_json_at *list, int32_t i, int64_t least, int64_t most) {
  plim_json_at item = cursor(list, NULL, i, item_of(list, i));
  return int_at(&item, least, most);
}

int64_t plim_json_int_or_null_item(const plim_json_at *list, int32_t i, int64_t least, int64_t most, int64_t none) {
  plim_json_at item = cursor(list, NULL, i, item_of(list, i));
  return int_or_null_at(&item, least, most, none);
}

int64_t plim_json_amount(plim_json_at *at, const char *key) {
  return plim_json_int(at, key, 0, INT64_MAX);
}

int64_t plim_json_limit(plim_json_at *at, const char *key) {
  return plim_json_int_or_null(at, key, 0, INT64_MAX - 1, INT64_MAX);
}

int32_t plim_json_index(plim_json_at *at, const char *key) {
  return (int32_t)plim_json_int(at, key, 0, INT32_MAX);
}

int32_t plim_json_index_or_none(plim_json_at *at, const char *key) {
  return (int32_t)plim_json_int_or_null(at, key, 0, INT32_MAX, PLIM_NONE);
}

double plim_json_real(plim_json_at *at, const char *key, double least, double most) {
  plim_json_at field = cursor(at, key, 0, field_of(at, key));
  return real_at(&field, least, most);
}

double plim_json_real_or_null(plim_json_at *at, const char *key, double least, double most, double none) {
  plim_json_at field = cursor(at, key, 0, field_of(at, key));
  if (field.node && json_typeof(field.node) == JSON_NULL) return none;
  return real_at(&field, least, most);
}

float plim_json_float(plim_json_at *at, const char *key) {
  plim_json_at field = cursor(at, key, 0, field_of(at, key));
  return float_at(&field);
}

float plim_json_float_item(const plim_json_at *list, int32_t i) {
  plim_json_at item = cursor(list, NULL, i, item_of(list, i));
  return float_at(&item);
}

int plim_json_bool(plim_json_at *at, const char *key) {
  plim_json_at field = cursor(at, key, 0, field_of(at, key));
  if (!field.node) return 0;
  if (json_typeof(field.node) == JSON_TRUE) return 1;
  (void)is_type(&field, field.node, JSON_FALSE, "true or false");
  return 0;
}

const char *plim_json_text(plim_json_at *at, const char *key) {
  plim_json_at field = cursor(at, key, 0, field_of(at, key));
  return is_type(&field, field.node, JSON_STRING, "a text") ? json_string_value(field.node) : "";
}

const char *plim_json_text_item(const plim_json_at *list, int32_t i) {
  plim_json_at item = cursor(list, NULL, i, item_of(list, i));
  return is_type(&item, item.node, JSON_STRING, "a text") ? json_string_value(item.node) : "";
}

void plim_json_copy(plim_json_at *at, const char *key, char *to, size_t size) {
  const char *text = plim_json_text(at, key);
  size_t length = strlen(text);
  if (length >= size) {
    plim_json_fail(at, key, "has %zu characters, at most %zu are allowed", length, size - 1);
    length = 0;
  }
  memcpy(to, text, length);
  to[length] = '\0';
}

int plim_json_name(plim_json_at *at, const char *key, int (*find)(const char *name)) {
  const char *text = plim_json_text(at, key);
  if (at->doc->status != PLIM_OK) return 0;
  int number = find(text);
  if (number >= 0) return number;
  plim_json_fail(at, key, "'%.80s' is not a name that is known here", text);
  return 0;
}
