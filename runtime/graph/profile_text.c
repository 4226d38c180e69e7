/* Writes and reads the profile document (docs/formats.md). */
#include "runtime/graph/document.h"
#include "runtime/graph/profile_internal.h"

static void write_dropped(plim_text *text, const plim_profile *profile) {
  plim_text_add(text, ",\n  \"dropped\": [");
  for (int32_t i = 0; i < profile->n_dropped; i++) {
    plim_text_format(text, "%s\n    {\"op\": %d, \"name\": ", i > 0 ? "," : "", profile->dropped[i].op);
    plim_text_quote(text, profile->dropped[i].name);
    plim_text_add(text, ", \"why\": ");
    plim_text_quote(text, profile->dropped[i].why);
    plim_text_add(text, "}");
  }
  plim_text_add(text, "\n  ]");
}

void plim_profile_write(plim_text *text, const plim_profile *profile) {
  plim_document_write_head(text, "profile");
  plim_text_format(text, "  \"graph\": \"%s\",\n  \"machine\": {", profile->fingerprint);
  plim_document_write_machine(text, &profile->machine);
  plim_text_format(text, "},\n  \"measured\": %s,\n  \"ops\": %d,\n  \"variants\": [",
                   profile->measured ? "true" : "false", profile->n_ops);
  const char *comma = "";
  for (int32_t o = 0; o < profile->n_ops; o++) {
    for (int32_t i = profile->first[o]; i < profile->first[o + 1]; i++) {
      plim_text_format(text, "%s\n    ", comma);
      plim_document_write_variant(text, o, &profile->variant[i]);
      comma = ",";
    }
  }
  plim_text_add(text, "\n  ]");
  if (profile->n_dropped > 0) write_dropped(text, profile);
  plim_text_add(text, "\n}\n");
}

plim_status plim_profile_save(const plim_profile *profile, const char *path) {
  plim_text text = {profile->ctx, NULL, 0, 0, PLIM_OK};
  plim_profile_write(&text, profile);
  return plim_document_save(&text, path);
}

/* Read n rows, which must be sorted by op, into first [n_ops + 1] and variant [n]. */
static void read_rows(const plim_json_at *list, int32_t n, int32_t n_ops, int32_t *first, plim_variant *variant) {
  int32_t last = PLIM_NONE;
  for (int32_t i = 0; i < n && list->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(list, i);
    int32_t op = 0;
    plim_document_read_variant(&at, &op, &variant[i]);
    if (op < last || op > last + 1 || op >= n_ops) {
      plim_json_fail(&at, "op", "%d after %d: rows are sorted, and each of the %d ops has one", op, last, n_ops);
      return;
    }
    last = op;
    first[op + 1] = i + 1;
  }
  if (last + 1 < n_ops) plim_json_fail(list, NULL, "op %d has no row", last + 1);
}

/* Read the notes about dropped variants into a profile without such notes. */
static void read_dropped(const plim_json_at *list, int32_t n, plim_profile **profile) {
  plim_context *ctx = list->doc->ctx;
  plim_dropped *dropped = NULL;
  plim_json_take(list, plim_allocate(ctx, n, sizeof *dropped, &dropped));
  for (int32_t i = 0; i < n && list->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(list, i);
    dropped[i].op = (int32_t)plim_json_int(&at, "op", 0, INT32_MAX - 1);
    plim_json_copy(&at, "name", dropped[i].name, sizeof dropped[i].name);
    plim_json_copy(&at, "why", dropped[i].why, sizeof dropped[i].why);
    plim_json_end(&at);
  }
  if (list->doc->status == PLIM_OK) plim_json_take(list, plim_profile_note_dropped(profile, n, dropped));
  plim_release(ctx, dropped, n, sizeof *dropped);
}

static void read_profile(plim_json *doc, plim_profile **out) {
  char fingerprint[PLIM_FINGERPRINT_BYTES] = "";
  plim_machine machine = {.threads = 0};
  plim_variant *variant = NULL;
  int32_t *first = NULL, n = 0, n_dropped = 0;
  plim_profile *made = NULL;
  plim_json_at root = plim_json_root(doc);
  plim_document_read_head(&root, "profile");
  plim_document_read_hash(&root, "graph", fingerprint);
  plim_json_at machine_at = plim_json_object(&root, "machine");
  plim_document_read_machine(&machine_at, &machine);
  plim_json_end(&machine_at);
  int measured = plim_json_bool(&root, "measured");
  int32_t n_ops = (int32_t)plim_json_int(&root, "ops", 1, INT32_MAX - 1);
  plim_json_at list = plim_json_list(&root, "variants", &n), dropped = list;
  if (plim_json_has(&root, "dropped")) dropped = plim_json_list(&root, "dropped", &n_dropped);
  plim_json_end(&root);
  if (doc->status == PLIM_OK && n < n_ops) plim_json_fail(&list, NULL, "has %d rows for %d ops", n, n_ops);
  if (doc->status != PLIM_OK) return;
  plim_json_take(&root, plim_allocate(doc->ctx, (int64_t)n_ops + 1, sizeof *first, &first));
  plim_json_take(&root, plim_allocate(doc->ctx, n, sizeof *variant, &variant));
  if (doc->status == PLIM_OK) read_rows(&list, n, n_ops, first, variant);
  if (doc->status == PLIM_OK) {
    plim_json_take(&list,
                   plim_profile_from_rows(doc->ctx, fingerprint, n_ops, &machine, measured, first, variant, &made));
  }
  if (doc->status == PLIM_OK && n_dropped > 0) read_dropped(&dropped, n_dropped, &made);
  if (doc->status == PLIM_OK) {
    *out = made;
  } else {
    plim_profile_free(made);
  }
  plim_release(doc->ctx, variant, n, sizeof *variant);
  plim_release(doc->ctx, first, (int64_t)n_ops + 1, sizeof *first);
}

plim_status plim_profile_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                               plim_profile **out) {
  plim_json doc;
  if (plim_document_open(ctx, file, text, bytes, &doc) == PLIM_OK) read_profile(&doc, out);
  plim_json_close(&doc);
  return doc.status;
}

static plim_status parse(plim_context *ctx, const char *file, const char *text, int64_t bytes, void *out) {
  return plim_profile_parse(ctx, file, text, bytes, out);
}

plim_status plim_profile_load(plim_context *ctx, const char *path, plim_profile **out) {
  return plim_document_load(ctx, path, parse, out);
}
