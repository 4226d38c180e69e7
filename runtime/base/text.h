/* A text that grows, into which canonical documents are written. A text belongs to one thread at a time. */
#ifndef PLIM_RUNTIME_BASE_TEXT_H
#define PLIM_RUNTIME_BASE_TEXT_H

#include "runtime/base/array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_text {
  plim_context *ctx;
  char *chars; /* [length] and a NUL; NULL while empty */
  int64_t length, capacity;
  plim_status status; /* first failure; later additions do nothing */
} plim_text;

/* An empty text is plim_text t = {ctx, NULL, 0, 0, PLIM_OK}. Free it, also after a failure. */
void plim_text_free(plim_text *text);

/* Append characters, or what printf would print. */
void plim_text_add(plim_text *text, const char *chars);
void plim_text_format(plim_text *text, const char *format, ...) PLIM_PRINTF(2, 3);

/* Printable ASCII, the space included: what names and texts of documents may have. */
static inline int plim_text_is_printable(char c) {
  return c >= 0x20 && c <= 0x7e;
}
/* Put a question mark in place of each other character of `chars`. */
void plim_text_make_printable(char *chars);

/* Append a JSON string with its quotes; `chars` is UTF-8. */
void plim_text_quote(plim_text *text, const char *chars);

/* The shortest decimal number that reads back as the same float or double, with a point whatever the locale; finite
 * only. */
void plim_text_float(plim_text *text, float x);
void plim_text_real(plim_text *text, double x);

#ifdef __cplusplus
}
#endif
#endif
