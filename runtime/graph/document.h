/* What all document files share: reading the text, the first two fields, replacing the file. */
#ifndef PLIM_RUNTIME_GRAPH_DOCUMENT_H
#define PLIM_RUNTIME_GRAPH_DOCUMENT_H

#include "runtime/base/json.h"
#include "runtime/base/text.h"
#include "runtime/graph/profile.h"

enum { PLIM_DOCUMENT_VERSION = 1 };

/* Make something of a document's text; `file` names it in sentences. */
typedef plim_status plim_document_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                        void *out);

/* Read the file and hand its text to `parse`. */
PLIM_MUST_USE plim_status plim_document_load(plim_context *ctx, const char *path, plim_document_parse *parse,
                                             void *out);

/* Replace the file by the text (and free it); a failure of the text is returned. */
PLIM_MUST_USE plim_status plim_document_save(plim_text *text, const char *path);

/* plim_json_parse; PLIM_EDATA also when it is no document of this program. */
PLIM_MUST_USE plim_status plim_document_open(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                             plim_json *doc);

/* The fields "plimsoll" and "version". */
void plim_document_write_head(plim_text *text, const char *kind);
void plim_document_read_head(plim_json_at *root, const char *kind);

/* The same for a kind with several versions; reading accepts 1 to `newest` and returns the version. */
void plim_document_write_version(plim_text *text, const char *kind, int version);
int plim_document_read_version(plim_json_at *root, const char *kind, int newest);

/* A field with a SHA-256; hex [PLIM_FINGERPRINT_BYTES]. */
void plim_document_read_hash(plim_json_at *at, const char *key, char *hex);

/* The fields of a machine, without braces; reading leaves plim_json_end to the caller. */
void plim_document_write_machine(plim_text *text, const plim_machine *machine);
void plim_document_read_machine(plim_json_at *at, plim_machine *machine);

/* One row of variants: {"op": 0, "name": ...}. */
void plim_document_write_variant(plim_text *text, int32_t op, const plim_variant *variant);
void plim_document_read_variant(plim_json_at *at, int32_t *op, plim_variant *variant);

/* "[[0, 1]]": in-place pairs; reading takes at most `most` and returns the count. */
void plim_document_write_pairs(plim_text *text, const plim_pair *pair, int32_t n);
int32_t plim_document_read_pairs(plim_json_at *at, plim_pair *pair, int32_t most);

/* "[0, 1]". */
void plim_document_write_ids(plim_text *text, const int32_t *id, int32_t n);

/* A number, or null where it is `none`. */
void plim_document_write_int(plim_text *text, int64_t x, int64_t none);

#endif
