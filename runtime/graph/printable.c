/* Checks names and texts of documents. */
#include "runtime/graph/printable.h"

#include <string.h>

#include "runtime/base/text.h"

static plim_status check_printable(plim_context *ctx, const char *what, const char *whose, const char *text,
                                   size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (!plim_text_is_printable(text[i])) {
      return plim_fail(ctx, PLIM_EDATA, "%s%s has byte 0x%02x at %zu: printable ASCII is allowed", what, whose,
                       (unsigned)(unsigned char)text[i], i);
    }
  }
  return PLIM_OK;
}

plim_status plim_printable_name(plim_context *ctx, const char *what, const char *name) {
  size_t length = name ? strnlen(name, PLIM_PRINTABLE_NAME_MAX + 1) : 0;
  if (length == 0) return plim_fail(ctx, PLIM_EDATA, "the %s's name is empty", what);
  if (length > PLIM_PRINTABLE_NAME_MAX) {
    return plim_fail(ctx, PLIM_EDATA, "the %s's name is longer than %d characters", what, PLIM_PRINTABLE_NAME_MAX);
  }
  return check_printable(ctx, what, "'s name", name, length);
}

plim_status plim_printable_text(plim_context *ctx, const char *what, const char *text, size_t size) {
  size_t length = strnlen(text, size);
  if (length == size) return plim_fail(ctx, PLIM_EDATA, "%s is longer than %zu characters", what, size - 1);
  return check_printable(ctx, what, "", text, length);
}
