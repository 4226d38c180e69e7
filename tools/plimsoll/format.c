/* Numbers for people. */
#include "tools/plimsoll/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/size.h"

const char *human_count(int64_t count, char *text) {
  char digits[HUMAN_BYTES / 2];
  int length = snprintf(digits, sizeof digits, "%" PRId64, count < 0 ? -count : count), to = 0;
  if (count < 0) text[to++] = '-';
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0) text[to++] = ',';
    text[to++] = digits[i];
  }
  text[to] = 0;
  return text;
}

const char *human_bytes(int64_t bytes, char *text) {
  size_t length = strlen(plim_size_print(bytes, text));
  if (bytes >= 1024) (void)snprintf(text + length, HUMAN_BYTES - length, " (%lld bytes)", (long long)bytes);
  return text;
}

const char *human_items(int64_t count, const char *noun, char *text) {
  size_t length = strlen(human_count(count, text));
  (void)snprintf(text + length, HUMAN_BYTES - length, " %s%s", noun, count == 1 ? "" : "s");
  return text;
}

const char *human_seconds(double seconds, char *text) {
  int64_t s = seconds < 0 ? 0 : (int64_t)(seconds + 0.5);
  if (s >= 3600) {
    (void)snprintf(text, HUMAN_BYTES, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
  } else {
    (void)snprintf(text, HUMAN_BYTES, "%d:%02d", (int)(s / 60), (int)(s % 60));
  }
  return text;
}
