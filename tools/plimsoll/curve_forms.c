/* The forms of curves: JSON and CSV. */
#include "tools/plimsoll/curve_forms.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"

enum { DEFAULT_POINTS = 41 };

int32_t curve_points(const options *o) {
  return o->points > 0 ? (int32_t)o->points : DEFAULT_POINTS;
}

int curve_ends_in(const char *path, const char *ending) {
  size_t length = path ? strlen(path) : 0, tail = strlen(ending);
  return length >= tail && strcmp(path + length - tail, ending) == 0;
}

plim_status curve_write_form(session *s, curve_writer *json, curve_writer *csv, const void *curve) {
  const char *path = s->o->output;
  plim_text t = {.ctx = s->ctx};
  (curve_ends_in(path, ".csv") ? csv : json)(&t, curve);
  plim_status status = t.status;
  if (status == PLIM_OK && path) status = plim_file_save(s->ctx, path, t.chars, t.length);
  if (status == PLIM_OK && !path) (void)fputs(t.chars, stdout);
  plim_text_free(&t);
  return status;
}
