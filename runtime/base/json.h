/* Strict reading of JSON documents.
 *
 * A document is walked with cursors: each knows its parent, so that an error names the whole path
 * ("ops[3].in[1]"). The first failure is kept in the document, and later calls return harmless values. So a reader is a
 * list of calls and one check of `status` at its end. An object remembers which fields were read; plim_json_end refuses
 * the others. A document belongs to the thread of its context. */
#ifndef PLIM_RUNTIME_BASE_JSON_H
#define PLIM_RUNTIME_BASE_JSON_H

#include <jansson.h>

#include "runtime/base/json_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_JSON_MAX_DEPTH = 16, PLIM_JSON_MAX_FIELDS = 24 };

typedef struct plim_json {
  plim_context *ctx;
  const char *file; /* name in sentences */
  int64_t line;     /* of a JSON Lines file, 0: the whole file is one document */
  json_t *root;
  plim_status status;      /* first failure */
  plim_json_memory memory; /* holds the root and all values below it */
} plim_json;

typedef struct plim_json_at {
  plim_json *doc;
  const struct plim_json_at *parent; /* must outlive this cursor; NULL: the root */
  const char *key;                   /* in the parent, NULL for an item of a list */
  int64_t index;                     /* in the parent's list */
  const json_t *node;                /* NULL after a failure */
  const char *asked[PLIM_JSON_MAX_FIELDS];
  int n_asked;
} plim_json_at;

/* Parse a text of `bytes` bytes. PLIM_EDATA: an error of syntax, also a field given twice, or nesting deeper than
 * PLIM_JSON_MAX_DEPTH; the sentence names the line. PLIM_ENOMEM. Close the document, also after a failure. */
PLIM_MUST_USE plim_status plim_json_parse(plim_context *ctx, const char *file, int64_t line, const char *text,
                                          int64_t bytes, plim_json *doc);
void plim_json_close(plim_json *doc);

/* The root, an object. */
plim_json_at plim_json_root(plim_json *doc);

/* A field that must be present: an object; a list with *n items. */
plim_json_at plim_json_object(plim_json_at *at, const char *key);
plim_json_at plim_json_list(plim_json_at *at, const char *key, int32_t *n);

/* Whether the (optional) field is present. */
int plim_json_has(const plim_json_at *at, const char *key);

/* Item i of a list: an object; a list with *n items. */
plim_json_at plim_json_item(const plim_json_at *list, int32_t i);
plim_json_at plim_json_row(const plim_json_at *list, int32_t i, int32_t *n);

/* Fields and items by type. Integers and reals are in [least, most]; the or_null form gives `none` for null. A text is
 * borrowed from the document; `copy` puts it into an array of `size` chars. `name` returns the number that `find` gives
 * a text. After a failure: 0, "" or -1. */
int64_t plim_json_int(plim_json_at *at, const char *key, int64_t least, int64_t most);
int64_t plim_json_int_or_null(plim_json_at *at, const char *key, int64_t least, int64_t most, int64_t none);
int64_t plim_json_int_item(const plim_json_at *list, int32_t i, int64_t least, int64_t most);
int64_t plim_json_int_or_null_item(const plim_json_at *list, int32_t i, int64_t least, int64_t most, int64_t none);
/* What most integers are: an amount of bytes or nanoseconds, in [0, INT64_MAX]; a limit on one, null for none
 * (PLIM_BYTES_UNLIMITED, PLIM_TIME_UNLIMITED); an index or a count, in [0, INT32_MAX], or null for PLIM_NONE. */
int64_t plim_json_amount(plim_json_at *at, const char *key);
int64_t plim_json_limit(plim_json_at *at, const char *key);
int32_t plim_json_index(plim_json_at *at, const char *key);
int32_t plim_json_index_or_none(plim_json_at *at, const char *key);
int plim_json_bool(plim_json_at *at, const char *key);
double plim_json_real(plim_json_at *at, const char *key, double least, double most);
double plim_json_real_or_null(plim_json_at *at, const char *key, double least, double most, double none);
float plim_json_float(plim_json_at *at, const char *key);
float plim_json_float_item(const plim_json_at *list, int32_t i);
const char *plim_json_text(plim_json_at *at, const char *key);
const char *plim_json_text_item(const plim_json_at *list, int32_t i);
void plim_json_copy(plim_json_at *at, const char *key, char *to, size_t size);
int plim_json_name(plim_json_at *at, const char *key, int (*find)(const char *name));

/* Refuse fields of the object that were not read. */
void plim_json_end(plim_json_at *at);

/* Record a failure at the cursor, or at its field `key` (may be NULL), as "FILE: path: sentence". */
void plim_json_fail(const plim_json_at *at, const char *key, const char *format, ...) PLIM_PRINTF(3, 4);

/* Record the failure of another call, whose sentence is in the context, as one at the cursor. Make that call only while
 * the document's status is PLIM_OK, since it would replace the sentence of the first failure. */
void plim_json_take(const plim_json_at *at, plim_status status);

#ifdef __cplusplus
}
#endif
#endif
