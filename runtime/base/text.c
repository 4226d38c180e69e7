/* Growing text with a sticky status, so that a writer is a list of additions and one check at the end. */
#include "runtime/base/text.h"

#include <assert.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 64 };

void plim_text_free(plim_text *text) {
  plim_release(text->ctx, text->chars, text->capacity, 1);
  *text = (plim_text){text->ctx, NULL, 0, 0, PLIM_OK};
}

/* Make room for `more` characters and a NUL. NULL after a failure. */
static char *reserve(plim_text *text, int64_t more) {
  if (text->status != PLIM_OK) return NULL;
  text->status = plim_array_reserve(text->ctx, &text->chars, &text->capacity, text->length + more + 1, 1);
  return text->status == PLIM_OK ? text->chars + text->length : NULL;
}

static void add_bytes(plim_text *text, const char *chars, size_t bytes) {
  char *to = reserve(text, (int64_t)bytes);
  if (!to) return;
  memcpy(to, chars, bytes);
  to[bytes] = '\0';
  text->length += (int64_t)bytes;
}

void plim_text_add(plim_text *text, const char *chars) {
  add_bytes(text, chars, strlen(chars));
}

void plim_text_format(plim_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  assert(length >= 0);
  char *to = reserve(text, length);
  if (to) {
    (void)vsnprintf(to, (size_t)length + 1, format, again);
    text->length += length;
  }
  va_end(again);
}

void plim_text_make_printable(char *chars) {
  for (; *chars; chars++) *chars = plim_text_is_printable(*chars) ? *chars : '?';
}

void plim_text_quote(plim_text *text, const char *chars) {
  plim_text_add(text, "\"");
  for (const char *c = chars; *c; c++) {
    if (*c == '"' || *c == '\\') {
      plim_text_format(text, "\\%c", *c);
    } else if ((unsigned char)*c < 0x20) {
      plim_text_format(text, "\\u%04x", (unsigned)*c);
    } else {
      add_bytes(text, c, 1);
    }
  }
  plim_text_add(text, "\"");
}

/* A number as printf writes it, with a point whatever the locale; number [NUMBER_BYTES]. */
static void add_number(plim_text *text, char *number) {
  size_t before = strspn(number, "+-0123456789e"), point = strlen(localeconv()->decimal_point);
  if (number[before]) {
    number[before] = '.';
    memmove(number + before + 1, number + before + point, strlen(number + before + point) + 1);
  }
  plim_text_add(text, number);
}

void plim_text_float(plim_text *text, float x) {
  char number[NUMBER_BYTES];
  assert(isfinite(x));
  for (int digits = 1; digits <= 9; digits++) {
    (void)snprintf(number, sizeof number, "%.*g", digits, (double)x);
    if ((float)strtod(number, NULL) == x) break; /* as a reader of JSON does it: through a double */
  }
  add_number(text, number);
}

void plim_text_real(plim_text *text, double x) {
  char number[NUMBER_BYTES];
  assert(isfinite(x));
  for (int digits = 1; digits <= 17; digits++) {
    (void)snprintf(number, sizeof number, "%.*g", digits, x);
    if (strtod(number, NULL) == x) break;
  }
  add_number(text, number);
}
