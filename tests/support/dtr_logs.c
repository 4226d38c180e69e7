#include "tests/support/dtr_logs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/data/gzip.h"
#include "runtime/import/importers.h"
#include "tests/support/published_graphs.h"

plim_graph *dtr_graph(plim_context *ctx, const char *text) {
  plim_graph *graph = NULL;
  plim_status status = plim_import_dtr(ctx, "test.log", text, (int64_t)strlen(text), &graph);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

plim_graph *dtr_published(plim_context *ctx, const char *name) {
  char file[256], *text = NULL;
  int64_t bytes = 0;
  plim_graph *graph = NULL;
  (void)snprintf(file, sizeof file, "dtr/%s.log.gz", name);
  const char *path = plim_test_published(file);
  cr_assert_eq(plim_gzip_read(ctx, path, INT64_C(1) << 30, &text, &bytes), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_import_dtr(ctx, path, text, bytes, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  plim_file_release(ctx, text, bytes);
  return graph;
}

/* "a b" becomes "a","b". */
static void add_names(plim_text *log, const char *names) {
  plim_text_add(log, *names ? "\"" : "");
  for (const char *c = names; *c; c++) {
    if (*c == ' ') plim_text_add(log, "\",\"");
    if (*c != ' ') plim_text_format(log, "%c", *c);
  }
  plim_text_add(log, *names ? "\"" : "");
}

void dtr_constant(plim_text *log, const char *name, int64_t bytes) {
  plim_text_format(log, "{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"%s\"}\n", name);
  plim_text_format(log, "{\"INSTRUCTION\":\"MEMORY\",\"MEMORY\":\"%lld\",\"NAME\":\"%s\"}\n", (long long)bytes, name);
}

void dtr_call(plim_text *log, const char *op, const char *args, const char *result, int64_t bytes, int alias,
              int64_t time_ns) {
  plim_text_add(log, "{\"ARGS\":[");
  add_names(log, args);
  plim_text_format(log, "],\"INSTRUCTION\":\"CALL\",\"NAME\":\"%s\",\"RESULT\":[", op);
  add_names(log, result);
  plim_text_format(log, "],\"TIME\":\"%lld\"}\n", (long long)time_ns);
  for (const char *name = result; *name;) {
    int length = (int)strcspn(name, " ");
    plim_text_format(log, "{\"INSTRUCTION\":\"MEMORY\",\"MEMORY\":\"%lld\",\"NAME\":\"%.*s\"}\n", (long long)bytes,
                     length, name);
    plim_text_format(log, "{\"ALIAS\":\"%d\",\"INSTRUCTION\":\"ALIAS\",\"NAME\":\"%.*s\"}\n", alias, length, name);
    name += length + (name[length] == ' ');
  }
}

void dtr_mutate(plim_text *log, const char *op, const char *args, int index, int64_t time_ns) {
  plim_text_add(log, "{\"ARGS\":[");
  add_names(log, args);
  plim_text_format(log, "],\"INSTRUCTION\":\"MUTATE\",\"MUTATE\":[%d],\"NAME\":\"%s\",\"TIME\":\"%lld\"}\n", index, op,
                   (long long)time_ns);
}

void dtr_release(plim_text *log, const char *name) {
  plim_text_format(log, "{\"INSTRUCTION\":\"RELEASE\",\"NAME\":\"%s\"}\n", name);
}
