/* Functions that all document files share: reading and replacing the file, the first two fields, and rows that several
 * documents have. A failure of reading a field is left in the JSON document. Functions run on the thread of the
 * context. */
#ifndef PLIM_RUNTIME_GRAPH_DOCUMENT_H
#define PLIM_RUNTIME_GRAPH_DOCUMENT_H

#include "runtime/base/json.h"
#include "runtime/base/text.h"
#include "runtime/graph/profile.h"

enum { PLIM_DOCUMENT_VERSION = 1 };

/* Make a document from its text; `file` names it in sentences. */
typedef plim_status plim_document_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                        void *out);

/* Read the file, and call `parse` with its text. PLIM_ENOFILE, PLIM_EIO, or the status of `parse`. */
PLIM_MUST_USE plim_status plim_document_load(plim_context *ctx, const char *path, plim_document_parse *parse,
                                             void *out);

/* Replace the file by the text, and free the text. Returns a failure that the text has already, or PLIM_ENOFILE,
 * PLIM_EIO. */
PLIM_MUST_USE plim_status plim_document_save(plim_text *text, const char *path);

/* Like plim_json_parse, but PLIM_EDATA also when the text is no document of this program. */
PLIM_MUST_USE plim_status plim_document_open(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                             plim_json *doc);

/* The fields "plimsoll" and "version" of a kind with one version. */
void plim_document_write_head(plim_text *text, const char *kind);
void plim_document_read_head(plim_json_at *root, const char *kind);

/* The same fields of a kind with several versions. Reading accepts versions 1 to `newest`, and returns the version. */
void plim_document_write_version(plim_text *text, const char *kind, int version);
int plim_document_read_version(plim_json_at *root, const char *kind, int newest);

/* Read a field with a SHA-256: hex [PLIM_FINGERPRINT_BYTES] out. */
void plim_document_read_hash(plim_json_at *at, const char *key, char *hex);

/* The fields of a machine, without braces. Reading does not call plim_json_end: the caller may read more fields. */
void plim_document_write_machine(plim_text *text, const plim_machine *machine);
void plim_document_read_machine(plim_json_at *at, plim_machine *machine);

/* A row of a list of variants: {"op": 0, "name": ...}. */
void plim_document_write_variant(plim_text *text, int32_t op, const plim_variant *variant);
void plim_document_read_variant(plim_json_at *at, int32_t *op, plim_variant *variant);

/* In-place pairs, as "[[0, 1]]". Reading accepts at most `most` pairs, and returns their number. */
void plim_document_write_pairs(plim_text *text, const plim_pair *pair, int32_t n);
int32_t plim_document_read_pairs(plim_json_at *at, plim_pair *pair, int32_t most);

/* Begin a list of rows, and allocate [*count] elements of `size` bytes for them. After a failure *count and the array
 * stay as they are. */
plim_json_at plim_document_list(plim_json_at *root, const char *key, int32_t *count, void *array /* T** */,
                                size_t size);

/* A list of ids, as "[0, 1]". */
void plim_document_write_ids(plim_text *text, const int32_t *id, int32_t n);

/* A number, or null when it equals `none`. */
void plim_document_write_int(plim_text *text, int64_t x, int64_t none);

#endif
