/* Reads platform files. JSON is read strictly; the spaces are those that the devices list, in order of first mention.
 * In XEngine's device file each device has a space of the same name; the costs of the devices are in the graph. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/json.h"
#include "runtime/graph/document.h"
#include "runtime/graph/space/platform.h"

enum { BYTES_MAX = 1 << 20 };
static const double most_rate = 1e30;

typedef struct platform_reader {
  plim_json *doc;
  plim_platform *platform; /* with room for as many spaces as the devices list, repeats included */
} platform_reader;

/* Copy a name of a device or a space, if it is one that costs may have. */
static void copy_name(plim_json_at *at, const char *key, const char *name, char *to) {
  if (!plim_costs_is_name(name)) {
    plim_json_fail(at, key, "'%.80s' is not 1 to 31 printable characters without blank, =, comma, > and ;", name);
    return;
  }
  memcpy(to, name, strlen(name) + 1);
}

/* The space of that name; adds a new one. */
static int32_t space_of(platform_reader *reader, plim_json_at *list, const char *name) {
  plim_platform *p = reader->platform;
  char clean[PLIM_COSTS_NAME_BYTES] = "";
  copy_name(list, NULL, name, clean);
  int32_t s = plim_platform_find_space(p, clean);
  if (reader->doc->status != PLIM_OK || s >= 0) return s;
  memcpy(p->space[p->n_spaces].name, clean, sizeof clean);
  return p->n_spaces++;
}

static void read_device(platform_reader *reader, plim_json_at *at, int32_t i) {
  plim_platform_device *d = &reader->platform->device[i];
  int32_t n = 0;
  char name[PLIM_COSTS_NAME_BYTES] = "";
  copy_name(at, "name", plim_json_text(at, "name"), name);
  if (reader->doc->status == PLIM_OK && plim_platform_find_device(reader->platform, name) >= 0) {
    plim_json_fail(at, "name", "two devices are called '%s'", name);
  }
  memcpy(d->name, name, sizeof name);
  if (plim_json_has(at, "flop_per_second")) {
    d->flop_per_second = plim_json_real_or_null(at, "flop_per_second", 1e-9, most_rate, 0);
  }
  if (plim_json_has(at, "flop_per_joule")) {
    d->flop_per_joule = plim_json_real_or_null(at, "flop_per_joule", 1e-9, most_rate, 0);
  }
  if (plim_json_has(at, "watt")) d->watt = plim_json_real(at, "watt", 0, 1e9);
  d->idle_watt = plim_json_real(at, "idle_watt", 0, 1e9);
  plim_json_at list = plim_json_list(at, "spaces", &n);
  if (reader->doc->status == PLIM_OK && n == 0) plim_json_fail(&list, NULL, "is empty: a device computes in a space");
  for (int32_t k = 0; k < n && reader->doc->status == PLIM_OK; k++) {
    const char *text = plim_json_text_item(&list, k);
    int32_t s = reader->doc->status == PLIM_OK ? space_of(reader, &list, text) : PLIM_NONE;
    if (k == 0) d->space = s;
  }
  plim_json_end(at);
}

static int32_t read_end(platform_reader *reader, plim_json_at *at, const char *key) {
  const char *name = plim_json_text(at, key);
  int32_t s = reader->doc->status == PLIM_OK ? plim_platform_find_space(reader->platform, name) : 0;
  if (s < 0) plim_json_fail(at, key, "no device has a space '%.80s'", name);
  return s;
}

static void read_link(platform_reader *reader, plim_json_at *at, int32_t i) {
  plim_platform_link l = {.from = read_end(reader, at, "from")};
  l.to = read_end(reader, at, "to");
  l.latency_s = plim_json_real(at, "latency_s", 0, 1e6);
  l.bytes_per_second = plim_json_real(at, "bytes_per_second", 1e-3, most_rate);
  l.watt = plim_json_real(at, "watt", 0, 1e9);
  l.duplex = plim_json_bool(at, "duplex");
  plim_json_end(at);
  if (reader->doc->status != PLIM_OK) return;
  if (l.from == l.to) plim_json_fail(at, "to", "a link leads from a space to another");
  reader->platform->n_links = i; /* so that only the links before are searched */
  if (plim_platform_find_link(reader->platform, l.from, l.to) >= 0) plim_json_fail(at, NULL, "is there twice");
  reader->platform->link[i] = l;
}

/* Number of spaces that the devices list, repeats included; at most one above the largest number allowed. */
static int32_t count_spaces(const plim_json_at *devices, int32_t n) {
  size_t most = 0;
  for (int32_t i = 0; i < n; i++) {
    most += json_array_size(json_object_get(json_array_get(devices->node, (size_t)i), "spaces"));
  }
  return most <= PLIM_PLATFORM_SPACES ? (int32_t)most : PLIM_PLATFORM_SPACES + 1;
}

static void read_json(plim_json *doc, plim_platform **out) {
  platform_reader reader = {.doc = doc};
  int32_t n = 0, n_links = 0;
  plim_json_at root = plim_json_root(doc);
  if (plim_json_has(&root, "plimsoll") || plim_json_has(&root, "version")) plim_document_read_head(&root, "platform");
  const char *name = plim_json_has(&root, "name") ? plim_json_text(&root, "name") : "platform";
  plim_json_at devices = plim_json_list(&root, "devices", &n);
  plim_json_at links = plim_json_list(&root, "links", &n_links);
  plim_json_end(&root);
  if (doc->status == PLIM_OK && n == 0) plim_json_fail(&devices, NULL, "is empty: a platform has a device");
  if (doc->status != PLIM_OK) return;
  plim_json_take(&root, plim_platform_new(doc->ctx, n, count_spaces(&devices, n), n_links, &reader.platform));
  if (doc->status != PLIM_OK) return;
  plim_platform *p = reader.platform;
  int32_t capacity = p->n_spaces;
  p->n_spaces = 0;
  copy_name(&root, "name", name, p->name);
  for (int32_t i = 0; i < n && doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&devices, i);
    if (doc->status == PLIM_OK) read_device(&reader, &at, i);
  }
  for (int32_t i = 0; i < n_links && doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&links, i);
    if (doc->status == PLIM_OK) read_link(&reader, &at, i);
  }
  p->n_links = n_links;
  if (doc->status == PLIM_OK) {
    plim_json_take(&root, plim_resize_array(doc->ctx, &p->space, capacity, p->n_spaces, sizeof *p->space));
    if (doc->status == PLIM_OK) capacity = p->n_spaces;
  }
  p->n_spaces = capacity;
  if (doc->status == PLIM_OK) {
    *out = p;
  } else {
    plim_platform_free(p);
  }
}

/* ---- XEngine's device file ---- */

typedef struct line {
  const char *begin, *end;
} line;

/* The next line that is not empty; 0: there is none. */
static int next_line(const char **at, const char *end, line *out) {
  while (*at < end) {
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    out->begin = *at;
    out->end = stop ? stop : end;
    *at = stop ? stop + 1 : end;
    if (out->end > out->begin && out->end[-1] == '\r') out->end--;
    if (out->end > out->begin) return 1;
  }
  return 0;
}

/* The next field of a line, up to ';'; 0: there is none or it is too long. */
static int next_field(line *l, char field[PLIM_COSTS_NAME_BYTES]) {
  if (l->begin > l->end) return 0;
  const char *stop = memchr(l->begin, ';', (size_t)(l->end - l->begin));
  size_t n = (size_t)((stop ? stop : l->end) - l->begin);
  if (n >= PLIM_COSTS_NAME_BYTES) return 0;
  memcpy(field, l->begin, n);
  field[n] = '\0';
  l->begin = stop ? stop + 1 : l->end + 1;
  return 1;
}

/* A whole number >= 0; PLIM_NONE: it is none. */
static int64_t whole_number(const char *text) {
  size_t n = strlen(text);
  if (n == 0 || n > 18 || strspn(text, "0123456789") != n) return PLIM_NONE;
  return strtoll(text, NULL, 10);
}

static plim_status read_device_line(plim_platform *platform, const char *file, int32_t i, line l) {
  char name[PLIM_COSTS_NAME_BYTES], kind[PLIM_COSTS_NAME_BYTES], number[3][PLIM_COSTS_NAME_BYTES];
  int good = next_field(&l, name) && next_field(&l, kind) && next_field(&l, number[0]) && next_field(&l, number[1]) &&
             next_field(&l, number[2]) && l.begin > l.end;
  good = good && plim_costs_is_name(name) && (strcmp(kind, "cpu") == 0 || strcmp(kind, "gpu") == 0);
  for (int k = 0; good && k < 3; k++) good = whole_number(number[k]) >= 0;
  if (!good) {
    return plim_fail(platform->ctx, PLIM_EDATA,
                     "%s: device %d is not name;cpu|gpu;number;streams;budget, as in cpu_0;cpu;0;1;0", file, i);
  }
  platform->n_devices = i;
  if (plim_platform_find_device(platform, name) >= 0) {
    return plim_fail(platform->ctx, PLIM_EDATA, "%s: two devices are called '%s'", file, name);
  }
  int64_t budget = whole_number(number[2]);
  platform->device[i].space = i;
  memcpy(platform->device[i].name, name, sizeof name);
  memcpy(platform->space[i].name, name, sizeof name);
  platform->space[i].budget_bytes = budget > 0 ? budget : PLIM_BYTES_UNLIMITED;
  return PLIM_OK;
}

static plim_status read_lines(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                              plim_platform **out) {
  const char *at = text, *end = text + bytes;
  plim_platform *p = NULL;
  line l;
  int32_t n = 0, links = 0;
  while (next_line(&at, end, &l)) n++;
  if (n > PLIM_PLATFORM_DEVICES) {
    return plim_fail(ctx, PLIM_EDATA, "%s: %d devices, at most %d are allowed", file, n, PLIM_PLATFORM_DEVICES);
  }
  PLIM_TRY(plim_platform_new(ctx, n, n, n * (n - 1), &p));
  memcpy(p->name, "devices", sizeof "devices");
  plim_status status = PLIM_OK;
  at = text;
  for (int32_t i = 0; next_line(&at, end, &l) && status == PLIM_OK; i++) status = read_device_line(p, file, i, l);
  p->n_devices = n;
  for (int32_t pair = 0; pair < n * n; pair++) {
    if (pair / n == pair % n) continue;
    p->link[links++] = (plim_platform_link){.from = pair / n, .to = pair % n, .duplex = 1, .given = 1};
  }
  if (status == PLIM_OK) {
    *out = p;
  } else {
    plim_platform_free(p);
  }
  return status;
}

/* Does the text begin as JSON, with a brace or a bracket? An empty text counts as JSON. */
static int is_json(const char *text, int64_t bytes) {
  int64_t i = 0;
  while (i < bytes && strchr(" \t\r\n", text[i]) && text[i]) i++;
  return i == bytes || text[i] == '{' || text[i] == '[';
}

plim_status plim_platform_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                plim_platform **out) {
  plim_json doc;
  if (!is_json(text, bytes)) return read_lines(ctx, file, text, bytes, out);
  if (plim_json_parse(ctx, file, 0, text, bytes, &doc) == PLIM_OK) read_json(&doc, out);
  plim_json_close(&doc);
  return doc.status;
}

plim_status plim_platform_load(plim_context *ctx, const char *path, plim_platform **out) {
  char *text = NULL;
  int64_t bytes = 0;
  PLIM_TRY(plim_file_read(ctx, path, BYTES_MAX, &text, &bytes));
  plim_status status = plim_platform_parse(ctx, path, text, bytes, out);
  plim_file_release(ctx, text, bytes);
  return status;
}
