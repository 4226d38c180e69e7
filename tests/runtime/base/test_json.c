/* Cursors over JSON: the first failure is kept, carries the path, and silences the rest. */
#include "runtime/base/json.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/small_graph.h"

static plim_context *ctx;

static void open_context(void) {
  ctx = plim_test_context();
}

static void close_context(void) {
  plim_context_free(ctx);
}

TestSuite(json, .init = open_context, .fini = close_context);

static plim_json parse(const char *text, int64_t line) {
  plim_json doc;
  cr_assert_eq(plim_json_parse(ctx, "f", line, text, (int64_t)strlen(text), &doc), PLIM_OK, "%s",
               plim_context_error(ctx));
  return doc;
}

static int find_color(const char *name) {
  return strcmp(name, "red") == 0 ? 0 : strcmp(name, "blue") == 0 ? 1 : -1;
}

Test(json, gives_fields_and_items_of_every_type) {
  plim_json doc = parse(
      "{\"i\": -3, \"n\": null, \"b\": true, \"f\": 0.5, \"t\": \"text\", \"c\": \"blue\","
      " \"l\": [1, null, 2.5, {\"x\": 1}, [7, 8]], \"o\": {\"y\": 9223372036854775807}}",
      0);
  plim_json_at at = plim_json_root(&doc);
  int32_t n = 0, m = 0;
  char copy[5];
  cr_assert_eq(plim_json_int(&at, "i", -3, 0), -3);
  cr_assert_eq(plim_json_int_or_null(&at, "n", 0, 1, 42), 42);
  cr_assert_eq(plim_json_bool(&at, "b"), 1);
  cr_assert_eq(plim_json_float(&at, "f"), 0.5F);
  plim_json_copy(&at, "t", copy, sizeof copy);
  cr_assert_str_eq(copy, "text");
  cr_assert_eq(plim_json_name(&at, "c", find_color), 1);
  plim_json_at list = plim_json_list(&at, "l", &n);
  cr_assert_eq(n, 5);
  cr_assert_eq(plim_json_int_item(&list, 0, 0, 1), 1);
  cr_assert_eq(plim_json_int_or_null_item(&list, 1, 0, 1, -1), -1);
  cr_assert_eq(plim_json_float_item(&list, 2), 2.5F);
  plim_json_at item = plim_json_item(&list, 3);
  cr_assert_eq(plim_json_int(&item, "x", 0, 1), 1);
  plim_json_end(&item);
  plim_json_at row = plim_json_row(&list, 4, &m);
  cr_assert_eq(m, 2);
  cr_assert_eq(plim_json_int_item(&row, 1, 0, 9), 8);
  plim_json_at object = plim_json_object(&at, "o");
  cr_assert_eq(plim_json_int(&object, "y", 0, INT64_MAX), INT64_MAX);
  cr_assert_not(plim_json_has(&at, "z"));
  plim_json_end(&at);
  cr_assert_eq(doc.status, PLIM_OK, "%s", plim_context_error(ctx));
  plim_json_close(&doc);
}

Test(json, first_failure_stays_and_later_questions_get_harmless_answers) {
  plim_json doc = parse("{\"ops\": [{\"in\": [1, \"x\"]}], \"more\": 1}", 0);
  plim_json_at at = plim_json_root(&doc);
  int32_t n = 0, m = 0;
  plim_json_at ops = plim_json_list(&at, "ops", &n);
  plim_json_at op = plim_json_item(&ops, 0);
  plim_json_at in = plim_json_list(&op, "in", &m);
  cr_assert_eq(plim_json_int_item(&in, 1, 0, 9), 0);
  cr_assert_str_eq(plim_context_error(ctx), "f: ops[0].in[1]: is a text, not an integer");
  cr_assert_eq(plim_json_int(&at, "none", 5, 9), 0);
  cr_assert_str_eq(plim_json_text(&at, "none"), "");
  plim_json_at none = plim_json_list(&at, "more", &n);
  cr_assert_eq(n, 0);
  cr_assert_eq(plim_json_int_item(&none, 0, 5, 9), 0);
  plim_json_end(&at);
  cr_assert_str_eq(plim_context_error(ctx), "f: ops[0].in[1]: is a text, not an integer");
  cr_assert_eq(doc.status, PLIM_EDATA);
  plim_json_close(&doc);
}

Test(json, field_that_no_one_asked_for_is_named) {
  plim_json doc = parse("{\"a\": 1, \"b\": 2}", 0);
  plim_json_at at = plim_json_root(&doc);
  cr_assert_eq(plim_json_int(&at, "a", 0, 9), 1);
  plim_json_end(&at);
  cr_assert_eq(doc.status, PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(ctx), "unknown field 'b'"), "%s", plim_context_error(ctx));
  plim_json_close(&doc);
}

Test(json, line_of_a_lines_file_stands_before_the_path) {
  plim_json doc = parse("{\"a\": 1}", 7);
  plim_json_at at = plim_json_root(&doc);
  (void)plim_json_text(&at, "a");
  cr_assert_str_eq(plim_context_error(ctx), "f: line 7: a: is an integer, not a text");
  plim_json_close(&doc);
  cr_assert_eq(plim_json_parse(ctx, "f", 7, "{", 1, &doc), PLIM_EDATA);
  cr_assert_eq(strncmp(plim_context_error(ctx), "f: line 7: ", 11), 0);
  plim_json_close(&doc);
}

Test(json, taken_failure_keeps_its_status_and_gets_the_path) {
  plim_json doc = parse("{\"a\": {}}", 0);
  plim_json_at at = plim_json_root(&doc);
  plim_json_at a = plim_json_object(&at, "a");
  plim_json_take(&a, PLIM_OK);
  cr_assert_eq(doc.status, PLIM_OK);
  plim_json_take(&a, plim_fail(ctx, PLIM_EOVERFLOW, "too much"));
  cr_assert_eq(doc.status, PLIM_EOVERFLOW);
  cr_assert_str_eq(plim_context_error(ctx), "f: a: too much");
  plim_json_close(&doc);
}

Test(json, depth_is_limited_without_recursion_running_away) {
  enum { DEPTH = 1500 };
  char text[2 * DEPTH + 1];
  plim_json doc;
  memset(text, '[', DEPTH);
  memset(text + DEPTH, ']', DEPTH);
  cr_assert_eq(plim_json_parse(ctx, "f", 0, text, 2 * DEPTH, &doc), PLIM_EDATA);
  cr_assert_str_eq(plim_context_error(ctx), "f: nested deeper than 16");
  plim_json_close(&doc);
  cr_assert_eq(plim_json_parse(ctx, "f", 0, text + DEPTH - 16, 32, &doc), PLIM_OK);
  plim_json_close(&doc);
  cr_assert_eq(plim_json_parse(ctx, "f", 0, text + DEPTH - 17, 34, &doc), PLIM_EDATA);
  plim_json_close(&doc);
}

Test(json, document_that_is_no_object_is_refused) {
  plim_json doc = parse("[1]", 0);
  (void)plim_json_root(&doc);
  cr_assert_str_eq(plim_context_error(ctx), "f: is a list, not an object");
  plim_json_close(&doc);
}
