/* Reads the lines of a DTR log. Every line is parsed strictly by itself, so that a failure names it. Fields may come in
 * any order. Unknown fields are ignored, since loggers add their own. */
#include "runtime/import/dtr_lines.h"

#include <string.h>

#define PLIM_X(id) #id,
static const char *const kind_names[] = {PLIM_DTR_KINDS(PLIM_X)};
#undef PLIM_X

void plim_dtr_lines_begin(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_dtr_lines *out) {
  *out = (plim_dtr_lines){.ctx = ctx, .file = file, .next = text, .end = text + bytes};
}

void plim_dtr_lines_end(plim_dtr_lines *l) {
  if (l->open) plim_json_close(&l->doc);
  l->open = 0;
}

static int find_kind(const char *name) {
  for (int i = 0; i < PLIM_DTR_KIND_COUNT; i++) {
    if (strcmp(kind_names[i], name) == 0) return i;
  }
  return -1;
}

static plim_status fail_line(const plim_dtr_lines *l, const char *sentence) {
  return plim_fail(l->ctx, PLIM_EDATA, "%s: line %lld: %s", l->file, (long long)l->number, sentence);
}

plim_status plim_dtr_next(plim_dtr_lines *l, int *more) {
  plim_dtr_lines_end(l);
  *more = l->next < l->end;
  if (!*more) return PLIM_OK;
  const char *line = l->next, *stop = memchr(line, '\n', (size_t)(l->end - line));
  l->number++;
  if (line[0] == '(') {
    return fail_line(l, "is of the form \"(r,) = op(a, )\", which is not read: logs are JSON, an object a line");
  }
  if (!stop) return fail_line(l, "does not end: the log was cut");
  l->next = stop + 1;
  l->open = 1;
  PLIM_TRY(plim_json_parse(l->ctx, l->file, l->number, line, stop - line, &l->doc));
  l->root = plim_json_root(&l->doc);
  int kind = plim_json_name(&l->root, "INSTRUCTION", find_kind);
  if (l->doc.status == PLIM_OK) l->kind = (plim_dtr_kind)kind;
  return l->doc.status;
}

const char *plim_dtr_text(plim_dtr_lines *l, const char *key) {
  return plim_json_text(&l->root, key);
}

int64_t plim_dtr_number(plim_dtr_lines *l, const char *key, int64_t least) {
  const char *text = plim_json_text(&l->root, key), *digit = text;
  int64_t x = 0;
  int negative = *digit == '-';
  if (l->doc.status != PLIM_OK) return least;
  digit += negative;
  if (!*digit) plim_json_fail(&l->root, key, "'%.40s' is no decimal number", text);
  for (; *digit && l->doc.status == PLIM_OK; digit++) {
    if (*digit < '0' || *digit > '9') plim_json_fail(&l->root, key, "'%.40s' is no decimal number", text);
    if (x > (INT64_MAX - 9) / 10) plim_json_fail(&l->root, key, "'%.40s' does not fit in 63 bits", text);
    x = l->doc.status == PLIM_OK ? 10 * x + (*digit - '0') : 0;
  }
  if (negative) x = -x;
  if (l->doc.status == PLIM_OK && x < least) {
    plim_json_fail(&l->root, key, "%lld is less than %lld", (long long)x, (long long)least);
  }
  return l->doc.status == PLIM_OK ? x : least;
}
