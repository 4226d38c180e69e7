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

void plim_dtr_lines_end(plim_dtr_lines *lines) {
  if (lines->open) plim_json_close(&lines->doc);
  lines->open = 0;
}

static int find_kind(const char *name) {
  for (int i = 0; i < PLIM_DTR_KIND_COUNT; i++) {
    if (strcmp(kind_names[i], name) == 0) return i;
  }
  return -1;
}

static plim_status fail_line(const plim_dtr_lines *lines, const char *sentence) {
  return plim_fail(lines->ctx, PLIM_EDATA, "%s: line %lld: %s", lines->file, (long long)lines->number, sentence);
}

plim_status plim_dtr_next(plim_dtr_lines *lines, int *more) {
  plim_dtr_lines_end(lines);
  *more = lines->next < lines->end;
  if (!*more) return PLIM_OK;
  const char *line = lines->next, *stop = memchr(line, '\n', (size_t)(lines->end - line));
  lines->number++;
  if (line[0] == '(') {
    return fail_line(lines, "is of the form \"(r,) = op(a, )\", which is not read: logs are JSON, an object a line");
  }
  if (!stop) return fail_line(lines, "does not end: the log was cut");
  lines->next = stop + 1;
  lines->open = 1;
  PLIM_TRY(plim_json_parse(lines->ctx, lines->file, lines->number, line, stop - line, &lines->doc));
  lines->root = plim_json_root(&lines->doc);
  int kind = plim_json_name(&lines->root, "INSTRUCTION", find_kind);
  if (lines->doc.status == PLIM_OK) lines->kind = (plim_dtr_kind)kind;
  return lines->doc.status;
}

const char *plim_dtr_text(plim_dtr_lines *lines, const char *key) {
  return plim_json_text(&lines->root, key);
}

int64_t plim_dtr_number(plim_dtr_lines *lines, const char *key, int64_t least) {
  const char *text = plim_json_text(&lines->root, key), *digit = text;
  int64_t x = 0;
  int negative = *digit == '-';
  if (lines->doc.status != PLIM_OK) return least;
  digit += negative;
  if (!*digit) plim_json_fail(&lines->root, key, "'%.40s' is no decimal number", text);
  for (; *digit && lines->doc.status == PLIM_OK; digit++) {
    if (*digit < '0' || *digit > '9') plim_json_fail(&lines->root, key, "'%.40s' is no decimal number", text);
    if (x > (INT64_MAX - 9) / 10) plim_json_fail(&lines->root, key, "'%.40s' does not fit in 63 bits", text);
    x = lines->doc.status == PLIM_OK ? 10 * x + (*digit - '0') : 0;
  }
  if (negative) x = -x;
  if (lines->doc.status == PLIM_OK && x < least) {
    plim_json_fail(&lines->root, key, "%lld is less than %lld", (long long)x, (long long)least);
  }
  return lines->doc.status == PLIM_OK ? x : least;
}
