/* Reads and writes measured times. The profile cache is a document like the others ("plimsoll": "profile cache"), and
 * read as strictly. But a wrong file is ignored and not reported. Rows are sorted, so that equal contents give equal
 * bytes. */
#include "runtime/profile/profile_cache.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/sha256.h"
#include "runtime/device/desc.h"
#include "runtime/graph/document.h"
#include "runtime/profile/device_memo.h"

static const char kind[] = "profile cache";

/* ---- the file ---- */

static plim_status name_file(plim_profile_cache *cache, const char *folder) {
  plim_text text = {cache->ctx, NULL, 0, 0, PLIM_OK};
  char hash[PLIM_FINGERPRINT_BYTES], name[PLIM_FINGERPRINT_BYTES];
  plim_document_write_machine(&text, &cache->machine);
  if (cache->busy_devices > 0) plim_text_format(&text, ", \"beside\": %d", (int)cache->busy_devices);
  plim_status status = text.status;
  if (status == PLIM_OK) plim_sha256_hex(text.chars, (size_t)text.length, hash);
  plim_text_free(&text);
  if (status != PLIM_OK) return status;
  (void)snprintf(name, sizeof name, "profile-%.16s.json", hash);
  plim_cache_path(folder, name, cache->path);
  return PLIM_OK;
}

/* ---- rows ---- */

static int compare(const char *op, const char *variant, const plim_profile_row *row) {
  int order = strcmp(op, row->op);
  return order != 0 ? order : strcmp(variant, row->variant);
}

/* The index of the row in the sorted list, or the index where it must be inserted. */
static int32_t find(const plim_profile_cache *cache, const char *op, const char *variant) {
  int32_t low = 0, high = cache->n;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (compare(op, variant, &cache->row[middle]) > 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static int is_at(const plim_profile_cache *cache, int32_t i, const char *op, const char *variant) {
  return i < cache->n && compare(op, variant, &cache->row[i]) == 0;
}

static plim_status insert(plim_profile_cache *cache, int32_t i, const char *op, const char *variant) {
  plim_profile_row fresh = {NULL, "", "", PLIM_UNKNOWN, 0, "", ""};
  int64_t length = (int64_t)strlen(op) + 1;
  PLIM_TRY(plim_allocate(cache->ctx, length, 1, &fresh.op));
  plim_status status = plim_array_reserve(cache->ctx, &cache->row, &cache->capacity, cache->n + 1, sizeof *cache->row);
  if (status != PLIM_OK) {
    plim_release(cache->ctx, fresh.op, length, 1);
    return status;
  }
  memcpy(fresh.op, op, (size_t)length);
  (void)snprintf(fresh.variant, sizeof fresh.variant, "%s", variant);
  memmove(&cache->row[i + 1], &cache->row[i], (size_t)(cache->n - i) * sizeof *cache->row);
  cache->row[i] = fresh;
  cache->n++;
  return PLIM_OK;
}

/* Find the row of an op and variant, or insert it. */
static plim_status reach(plim_profile_cache *cache, const char *op, const char *variant, plim_profile_row **row) {
  int32_t i = find(cache, op, variant);
  if (!is_at(cache, i, op, variant)) PLIM_TRY(insert(cache, i, op, variant));
  *row = &cache->row[i];
  return PLIM_OK;
}

static void clear(plim_profile_cache *cache) {
  for (int32_t i = 0; i < cache->n; i++) {
    plim_release(cache->ctx, cache->row[i].op, (int64_t)strlen(cache->row[i].op) + 1, 1);
  }
  plim_release(cache->ctx, cache->row, cache->capacity, sizeof *cache->row);
  cache->row = NULL;
  cache->n = 0;
  cache->capacity = 0;
}

/* ---- reading ----
 * The file has older words than the code: "label" is the numerics key of a variant, "beside" the number of busy
 * devices. */

/* Read a field that may be missing. */
static void read_text(plim_json_at *at, const char *key, char *text, size_t size) {
  if (plim_json_has(at, key)) plim_json_copy(at, key, text, size);
}

static void read_row(plim_json_at *list, int32_t i, plim_profile_cache *cache) {
  plim_json_at at = plim_json_item(list, i);
  plim_profile_row read = {.time_ns = PLIM_UNKNOWN}, *row = NULL;
  const char *op = plim_json_text(&at, "op");
  plim_json_copy(&at, "variant", read.variant, sizeof read.variant);
  read_text(&at, "label", read.numerics_key, sizeof read.numerics_key);
  read_text(&at, "how", read.how, sizeof read.how);
  read_text(&at, "why", read.why, sizeof read.why);
  if (plim_json_has(&at, "left_out_ns")) {
    read.left_out_ns = plim_json_int(&at, "left_out_ns", 1, INT64_MAX);
  } else if (!read.how[0] || plim_json_has(&at, "time_ns")) {
    read.time_ns = plim_json_amount(&at, "time_ns");
  }
  plim_json_end(&at);
  if (at.doc->status == PLIM_OK) plim_json_take(&at, reach(cache, op, read.variant, &row));
  if (!row) return;
  read.op = row->op;
  *row = read;
}

static void read_cache(plim_json *doc, plim_profile_cache *cache) {
  plim_machine machine = {.threads = 0};
  int32_t n = 0;
  int64_t busy_devices = 0;
  plim_json_at root = plim_json_root(doc);
  plim_document_read_head(&root, kind);
  plim_json_at machine_at = plim_json_object(&root, "machine");
  plim_document_read_machine(&machine_at, &machine);
  plim_json_end(&machine_at);
  if (plim_json_has(&root, "beside")) busy_devices = plim_json_int(&root, "beside", 1, INT32_MAX);
  plim_json_at list = plim_json_list(&root, "rows", &n);
  plim_json_end(&root);
  if (doc->status == PLIM_OK && plim_machine_differs(&machine, &cache->machine, PLIM_MACHINE_SAME, NULL)) {
    plim_json_fail(&machine_at, NULL, "is another machine");
  }
  if (doc->status == PLIM_OK && busy_devices != cache->busy_devices) {
    plim_json_fail(&root, "beside", "is another number");
  }
  for (int32_t i = 0; i < n && doc->status == PLIM_OK; i++) read_row(&list, i, cache);
}

static plim_status parse(plim_context *ctx, const char *file, const char *text, int64_t bytes, void *out) {
  plim_json doc;
  if (plim_document_open(ctx, file, text, bytes, &doc) == PLIM_OK) read_cache(&doc, out);
  plim_json_close(&doc);
  return doc.status;
}

static plim_status load(plim_profile_cache *out) {
  if (!out->path[0]) return PLIM_OK;
  plim_status status = plim_document_load(out->ctx, out->path, parse, out);
  if (status == PLIM_OK) return PLIM_OK;
  clear(out);
  return status == PLIM_ENOMEM ? status : PLIM_OK;
}

plim_status plim_profile_cache_open(plim_context *ctx, const char *folder, const plim_machine *machine,
                                    int32_t busy_devices, plim_profile_cache *out) {
  memset(out, 0, sizeof *out);
  out->ctx = ctx;
  out->machine = *machine;
  out->busy_devices = busy_devices;
  PLIM_TRY(name_file(out, folder));
  return load(out);
}

void plim_profile_cache_close(plim_profile_cache *cache) {
  if (!cache->ctx) return;
  clear(cache);
  memset(cache, 0, sizeof *cache);
}

/* ---- use ---- */

/* The text of a description, in memory that grows. */
typedef struct op_text {
  plim_context *ctx;
  char *chars;
  int64_t capacity;
} op_text;

static plim_status write_text(op_text *text, const plim_op_desc *desc) {
  const int64_t bytes = plim_desc_text_bytes(desc);
  PLIM_TRY(plim_array_reserve(text->ctx, &text->chars, &text->capacity, bytes, 1));
  plim_desc_text(desc, text->chars, (size_t)bytes);
  return PLIM_OK;
}

static void release_text(op_text *text) {
  plim_release(text->ctx, text->chars, text->capacity, 1);
}

static void apply(const plim_profile_cache *cache, const char *op, int parts, int64_t limit_ns,
                  plim_profile_case *profile_case) {
  int32_t i = find(cache, op, profile_case->variant.name);
  if (!is_at(cache, i, op, profile_case->variant.name) || (parts && !cache->row[i].numerics_key[0])) return;
  const plim_profile_row *row = &cache->row[i];
  if (row->left_out_ns >= limit_ns) {
    profile_case->left_out_ns = row->left_out_ns;
    profile_case->dropped = 1;
    memcpy(profile_case->why, row->why, sizeof profile_case->why);
  }
  if (row->left_out_ns > 0) return;
  profile_case->variant.time_ns = row->time_ns;
  if (parts) memcpy(profile_case->variant.numerics_key, row->numerics_key, sizeof profile_case->variant.numerics_key);
}

plim_status plim_profile_cache_apply(const plim_profile_cache *cache, int64_t limit_ns, plim_profile_set *set) {
  op_text op = {.ctx = cache->ctx};
  plim_status status = PLIM_OK;
  for (int32_t g = 0; cache->n > 0 && g < set->n_groups; g++) {
    const plim_profile_group *group = &set->group[g];
    PLIM_TRY_OR_DONE(write_text(&op, &group->desc));
    for (int32_t k = 0; k < group->n; k++) apply(cache, op.chars, 0, limit_ns, &set->cases[group->first + k]);
    for (int32_t k = 0; k < group->n_parts; k++) {
      apply(cache, op.chars, 1, limit_ns, &set->cases[group->first_part + k]);
    }
  }
done:
  release_text(&op);
  return status;
}

/* Add a field, unless its text is "". */
static void write_text_field(plim_text *text, const char *key, const char *value) {
  if (!value[0]) return;
  plim_text_format(text, ", \"%s\": ", key);
  plim_text_quote(text, value);
}

static void write_row(plim_text *text, const plim_profile_row *row) {
  plim_text_add(text, "    {\"op\": ");
  plim_text_quote(text, row->op);
  plim_text_add(text, ", \"variant\": ");
  plim_text_quote(text, row->variant);
  write_text_field(text, "label", row->numerics_key);
  write_text_field(text, "how", row->how);
  write_text_field(text, "why", row->why);
  if (row->left_out_ns > 0) plim_text_format(text, ", \"left_out_ns\": %lld", (long long)row->left_out_ns);
  if (row->time_ns >= 0) plim_text_format(text, ", \"time_ns\": %lld", (long long)row->time_ns);
  plim_text_add(text, "}");
}

static plim_status write_file(const plim_profile_cache *cache) {
  plim_text text = {cache->ctx, NULL, 0, 0, PLIM_OK};
  plim_document_write_head(&text, kind);
  plim_text_add(&text, "  \"machine\": {");
  plim_document_write_machine(&text, &cache->machine);
  plim_text_add(&text, "},\n");
  if (cache->busy_devices > 0) plim_text_format(&text, "  \"beside\": %d,\n", (int)cache->busy_devices);
  plim_text_add(&text, "  \"rows\": [");
  for (int32_t i = 0; i < cache->n; i++) {
    plim_text_add(&text, i > 0 ? ",\n" : "\n");
    write_row(&text, &cache->row[i]);
  }
  plim_text_add(&text, "\n  ]\n}\n");
  return plim_cache_save(&text, cache->path);
}

plim_status plim_profile_cache_recall(plim_device *device, const plim_op_desc *desc) {
  const plim_profile_cache *cache = plim_device_memo_of(device).variants;
  plim_kernel_info info[PLIM_KERNEL_VARIANTS];
  op_text op = {.ctx = device->ctx};
  plim_status status = PLIM_OK;
  int n = 0;
  if (!cache || !device->api->kernels.recall) return PLIM_OK;
  PLIM_TRY_OR_DONE(write_text(&op, desc));
  for (int32_t i = find(cache, op.chars, ""); i < cache->n && strcmp(cache->row[i].op, op.chars) == 0; i++) {
    if (!cache->row[i].how[0] || n == PLIM_KERNEL_VARIANTS) continue;
    memset(&info[n], 0, sizeof info[n]);
    memcpy(info[n].name, cache->row[i].variant, sizeof info[n].name);
    memcpy(info[n++].how, cache->row[i].how, sizeof info->how);
  }
  if (n > 0) device->api->kernels.recall(device, desc, info, n);
done:
  release_text(&op);
  return status;
}

static plim_status store_case(plim_profile_cache *cache, const char *op, int parts,
                              const plim_profile_case *profile_case) {
  plim_profile_row *row;
  const int known = (profile_case->variant.time_ns >= 0 || profile_case->left_out_ns > 0) && profile_case->round >= 0;
  if (!known && !profile_case->how[0]) return PLIM_OK;
  PLIM_TRY(reach(cache, op, profile_case->variant.name, &row));
  if (row->left_out_ns == PLIM_TIME_INFINITE) return PLIM_OK; /* it failed, maybe for another process meanwhile */
  memcpy(row->how, profile_case->how, sizeof row->how);
  if (!known) return PLIM_OK;
  row->time_ns = profile_case->variant.time_ns;
  row->left_out_ns = profile_case->variant.time_ns < 0 ? profile_case->left_out_ns : 0;
  (void)snprintf(row->why, sizeof row->why, "%s", row->left_out_ns > 0 ? profile_case->why : "");
  (void)snprintf(row->numerics_key, sizeof row->numerics_key, "%s", parts ? profile_case->variant.numerics_key : "");
  return PLIM_OK;
}

plim_status plim_profile_cache_store(plim_profile_cache *cache, const plim_profile_set *set) {
  op_text op = {.ctx = cache->ctx};
  plim_status status;
  if (!cache->path[0]) return PLIM_OK;
  const int lock = plim_cache_lock(cache->path);
  clear(cache); /* other processes may have stored since it was read */
  PLIM_TRY_OR_DONE(load(cache));
  for (int32_t g = 0; g < set->n_groups; g++) {
    const plim_profile_group *group = &set->group[g];
    PLIM_TRY_OR_DONE(write_text(&op, &group->desc));
    for (int32_t k = 0; k < group->n; k++) {
      PLIM_TRY_OR_DONE(store_case(cache, op.chars, 0, &set->cases[group->first + k]));
    }
    for (int32_t k = 0; k < group->n_parts; k++) {
      PLIM_TRY_OR_DONE(store_case(cache, op.chars, 1, &set->cases[group->first_part + k]));
    }
  }
  status = write_file(cache);
  if (status != PLIM_ENOMEM) status = PLIM_OK;
done:
  plim_cache_unlock(lock);
  release_text(&op);
  return status;
}

plim_status plim_profile_cache_drop(const plim_device *device, const plim_op_desc *desc, const char *variant,
                                    const char *why) {
  op_text op = {.ctx = device->ctx};
  plim_profile_cache cache = {.ctx = device->ctx, .machine = device->machine};
  plim_profile_row *row = NULL;
  plim_status status;
  const plim_profile_cache *known = plim_device_memo_of(device).variants;
  if (!known || !known->path[0]) return PLIM_OK;
  memcpy(cache.path, known->path, sizeof cache.path); /* its rows may be older than the file's */
  const int lock = plim_cache_lock(cache.path);
  PLIM_TRY_OR_DONE(write_text(&op, desc));
  PLIM_TRY_OR_DONE(load(&cache));
  PLIM_TRY_OR_DONE(reach(&cache, op.chars, variant, &row));
  row->time_ns = PLIM_UNKNOWN;
  row->left_out_ns = PLIM_TIME_INFINITE;
  (void)snprintf(row->why, sizeof row->why, "%s", why);
  status = write_file(&cache);
  if (status != PLIM_ENOMEM) status = PLIM_OK;
done:
  plim_cache_unlock(lock);
  release_text(&op);
  plim_profile_cache_close(&cache);
  return status;
}
