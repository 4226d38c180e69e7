/* One form for all failures, those of options included. */
#include "tools/plimsoll/failure.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LONG_SENTENCE = 100 };

json_t *failure_object(plim_status status, const char *sentence) {
  return json_pack("{s:s, s:s}", "status", plim_status_name(status), "error", sentence);
}

/* On a terminal a long sentence gets a line for each of its parts; a program reads one line. */
static void print_sentence(const char *sentence) {
  size_t shown = strlen(sentence) > LONG_SENTENCE && isatty(STDERR_FILENO) ? 0 : strlen(sentence);
  (void)fprintf(stderr, "plimsoll: %.*s", (int)shown, sentence);
  while (sentence[shown]) {
    const char *end = strstr(sentence + shown, "; ");
    size_t part = end ? (size_t)(end - sentence) - shown + 1 : strlen(sentence + shown);
    (void)fprintf(stderr, "%s%.*s", shown > 0 ? "\n  " : "", (int)part, sentence + shown);
    shown += part + (end != NULL);
  }
  (void)fprintf(stderr, "\n");
}

void failure_print(const char *sentence, json_t *object) {
  print_sentence(sentence);
  if (!object) return;
  (void)json_dumpf(object, stdout, JSON_INDENT(2));
  printf("\n");
  json_decref(object);
}
