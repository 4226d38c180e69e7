/* Checks that every document parser must stand. */
#include "tests/support/documents.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/failing_memory.h"

const char *plim_test_golden(const char *name) {
  static char text[1 << 16];
  char path[512];
  (void)snprintf(path, sizeof path, "%s/tests/golden/%s", PLIM_SOURCE_DIR, name);
  FILE *file = fopen(path, "rb");
  cr_assert_not_null(file, "%s is not there", path);
  size_t bytes = fread(text, 1, sizeof text - 1, file);
  text[bytes] = '\0';
  fclose(file);
  return text;
}

static char *replaced(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  cr_assert_not_null(at, "the document has no '%s'", from);
  char *result = malloc(strlen(text) + strlen(to) + 1);
  cr_assert_not_null(result);
  memcpy(result, text, (size_t)(at - text));
  strcpy(result + (at - text), to);
  strcat(result, at + strlen(from));
  return result;
}

static plim_context *new_context(void) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  return ctx;
}

void plim_test_faults(plim_test_parse *parse, const char *text, const plim_test_fault *fault, int n) {
  plim_context *ctx = new_context();
  for (int i = 0; i < n; i++) {
    char *bad = replaced(text, fault[i].from, fault[i].to);
    plim_status status = parse(ctx, bad, (int64_t)strlen(bad), NULL);
    cr_expect_eq(status, PLIM_EDATA, "%s -> %s: %s", fault[i].from, fault[i].to, plim_status_name(status));
    cr_expect_not_null(strstr(plim_context_error(ctx), fault[i].sentence), "%s -> %s: \"%s\" is not in \"%s\"",
                       fault[i].from, fault[i].to, fault[i].sentence, plim_context_error(ctx));
    cr_expect_eq(strncmp(plim_context_error(ctx), "doc.json: ", 10), 0, "no file in \"%s\"", plim_context_error(ctx));
    cr_expect_eq(plim_context_memory(ctx).bytes, 0, "%s -> %s leaks", fault[i].from, fault[i].to);
    free(bad);
  }
  plim_context_free(ctx);
}

void plim_test_canonical(plim_test_parse *parse, const char *text) {
  plim_context *ctx = new_context();
  plim_text again = {ctx, NULL, 0, 0, PLIM_OK};
  cr_assert_eq(parse(ctx, text, (int64_t)strlen(text), &again), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_str_eq(again.chars, text);
  plim_text_free(&again);
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  plim_context_free(ctx);
}

void plim_test_cuts(plim_test_parse *parse, const char *text) {
  plim_context *ctx = new_context();
  for (int64_t bytes = 0; bytes < (int64_t)strlen(text) - 1; bytes++) {
    char *cut = malloc((size_t)bytes + 1); /* exactly as long, so that reading after it is found */
    cr_assert_not_null(cut);
    memcpy(cut, text, (size_t)bytes);
    cut[bytes] = '\0';
    cr_assert_eq(parse(ctx, cut, bytes, NULL), PLIM_EDATA, "accepted after %lld bytes", (long long)bytes);
    free(cut);
  }
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  plim_context_free(ctx);
}

typedef struct parse_of {
  plim_test_parse *parse;
  const char *text;
} parse_of;

static plim_status parse_and_write(plim_context *ctx, void *user) {
  const parse_of *of = user;
  plim_text again = {ctx, NULL, 0, 0, PLIM_OK};
  plim_status status = of->parse(ctx, of->text, (int64_t)strlen(of->text), &again);
  if (status == PLIM_OK) status = again.status;
  plim_text_free(&again);
  return status;
}

void plim_test_allocations(plim_test_parse *parse, const char *text) {
  parse_of of = {parse, text};
  cr_assert_gt(plim_test_each_allocation(parse_and_write, &of), 3);
}

/* What is accepted is written, and that is accepted and written alike. */
static void assert_settles(plim_test_parse *parse, plim_context *ctx, const char *text, int64_t bytes) {
  plim_text once = {ctx, NULL, 0, 0, PLIM_OK}, twice = {ctx, NULL, 0, 0, PLIM_OK};
  if (parse(ctx, text, bytes, &once) == PLIM_OK) {
    cr_assert_eq(parse(ctx, once.chars, once.length, &twice), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_str_eq(once.chars, twice.chars);
  }
  plim_text_free(&once);
  plim_text_free(&twice);
}

void plim_test_bytes(plim_test_parse *parse, const char *text) {
  static const char others[] = {'\0', '9', '-', '"', ']', '}', ' ', 'e', (char)0xff};
  plim_context *ctx = new_context();
  size_t bytes = strlen(text);
  char *changed = replaced(text, "", "");
  for (size_t i = 0; i < bytes; i++) {
    for (size_t k = 0; k < sizeof others; k++) {
      changed[i] = others[k];
      assert_settles(parse, ctx, changed, (int64_t)bytes);
    }
    changed[i] = text[i];
  }
  free(changed);
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  plim_context_free(ctx);
}
