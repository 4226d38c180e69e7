/* One form for all failures, those of options included. */
#include "tools/plimsoll/failure.h"

#include <stdio.h>

json_t *failure_object(plim_status status, const char *sentence) {
  return json_pack("{s:s, s:s}", "status", plim_status_name(status), "error", sentence);
}

void failure_print(const char *sentence, json_t *object) {
  (void)fprintf(stderr, "plimsoll: %s\n", sentence);
  if (!object) return;
  (void)json_dumpf(object, stdout, JSON_INDENT(2));
  printf("\n");
  json_decref(object);
}
