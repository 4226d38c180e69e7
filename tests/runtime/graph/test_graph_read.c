/* The graph document: golden text, canonical form, and a sentence with the path for every wrong field. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/graph_text.h"
#include "tests/support/documents.h"
#include "tests/support/folder.h"
#include "tests/support/random_graph.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

static plim_status parse(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_graph *graph = NULL;
  plim_status status = plim_graph_parse(ctx, "doc.json", text, bytes, &graph);
  if (again && graph) plim_graph_write(again, graph, 1);
  plim_graph_free(graph);
  return status;
}

Test(graph_read, golden_document_is_written_again_byte_for_byte) {
  plim_test_canonical(parse, plim_test_golden("graph.json"));
}

Test(graph_read, file_cut_at_any_byte_is_refused) {
  plim_test_cuts(parse, plim_test_golden("graph.json"));
}

Test(graph_read, refused_allocation_leaves_nothing_after) {
  plim_test_allocations(parse, plim_test_golden("graph.json"));
}

Test(graph_read, needs_no_newline_after_its_last_line) {
  plim_context *ctx = plim_test_context();
  const char *text = plim_test_golden("graph.json");
  cr_assert_eq(parse(ctx, text, (int64_t)strlen(text) - 1, NULL), PLIM_OK, "%s", plim_context_error(ctx));
  plim_test_context_end(ctx);
}

Test(graph_read, changed_byte_never_does_harm) {
  plim_test_bytes(parse, plim_test_golden("graph.json"));
}

Test(graph_read, every_wrong_field_is_named_with_its_path) {
  static const plim_test_fault faults[] = {
      {"{\n", "{{\n", "doc.json: line 1: "},
      {"\"batch\": 2,", "\"batch\": 2,,", "doc.json: line 6: "},
      {"\"batch\": 2,", "\"batch\": 2, \"batch\": 2,", "doc.json: line 6: duplicate"},
      {"\"batch\": 2,", "\"batch\": 99999999999999999999,", "doc.json: line 6: too big integer"},
      {"\n}\n", "\n}\n}\n", "line 39: goes on after the end of the JSON document"},
      {"[[0, 0]]", "[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]", "nested deeper than 16"},
      {"\"graph\"", "\"plan\"", "doc.json: the document is a 'plan', not a 'graph'"},
      {"\"version\": 1", "\"version\": 2", "addresses: is missing"},
      {"\"version\": 1", "\"version\": 3", "addresses: is missing"},
      {"\"version\": 1", "\"version\": 4", "addresses: is missing"},
      {"\"version\": 1", "\"version\": 6", "version: version 6 of the format; this program reads versions 1 to 5"},
      {"\"version\": 1", "\"version\": 1.0", "version: is a number, not an integer"},
      {"\"fingerprint\": \"", "\"fingerprint\": \"A", "fingerprint: is not 64"},
      {"\"batch\": 2", "\"batch\": 3", "fingerprint: is not that of the contents"},
      {"\"batch\": 2", "\"batch\": -1", "batch: -1 is not in [0, 2147483647]"},
      {"\"batch\": 2", "\"batch\": 2, \"extra\": 0", "unknown field 'extra'"},
      {"  \"batch\": 2,\n", "", "batch: is missing"},
      {"\"a \\\"golden\\\" graph \\\\ 1\"", "7", "name: is an integer, not a text"},
      {"\"a \\\"golden\\\" graph \\\\ 1\"", "\"\"", "the graph's name is empty"},
      {"\"role\": \"input\"", "\"role\": \"inputs\"", "storages[0].role: 'inputs' is not a name"},
      {"\"bytes\": 64", "\"bytes\": 0", "storages[1]: storage 1: 0 bytes is not a size"},
      {"\"bytes\": 64", "\"bytes\": null", "storages[1].bytes: is null, not an integer"},
      {"{\"role\": \"input\", \"bytes\": 6272}", "3", "storages[0]: is an integer, not an object"},
      {"\"storage\": 1", "\"storage\": 10", "values[1]: value 'affine': storage 10 is none of the 10 storages"},
      {"\"offset\": 1", "\"offset\": 2", "values[3]: value 'next': 2 bytes at offset 2 leave storage 3 of 3 bytes"},
      {"\"shape\": [2, 8]", "\"shape\": []", "values[1].shape: has 0 sizes, 1 to 8 are allowed"},
      {"\"shape\": [2, 8]", "\"shape\": [2, 8, 1, 1, 1, 1, 1, 1, 1]",
       "values[1].shape: has 9 sizes, 1 to 8 are allowed"},
      {"\"shape\": [2, 8]", "\"shape\": [2, 0]", "values[1]: value 'affine': the shape is not allowed"},
      {"\"shape\": [2, 8]", "\"shape\": {}", "values[1].shape: is an object, not a list"},
      {"\"layout\": \"nhwc\"", "\"layout\": \"nchw8c\"", "values[0]: value 'image': the shape is not allowed"},
      {"\"dtype\": \"u8\"", "\"dtype\": \"f16\"", "values[0].dtype: 'f16' is not a name"},
      {"\"kind\": \"image\"", "\"kind\": \"images\"", "ops[0].kind: 'images' is not a name"},
      {"\"class\": \"random\"", "\"class\": \"pure\"", "ops[1].class: a dropout is random, not pure"},
      {"\"pairs\": [[0, 0]]", "\"pairs\": []", "ops[1].pairs: are not the 1 that"},
      {"\"pairs\": [[0, 0]]", "\"pairs\": [[0]]", "ops[1].pairs[0]: has 1 numbers, not 2"},
      {"\"pairs\": [[0, 0]]", "\"pairs\": [[-1, 0]]", "ops[1].pairs[0][0]: -1 is not in [0, 2147483647]"},
      {"\"kernel\": [3, 1]", "\"kernel\": [3]", "ops[2].attrs.kernel: has 1 numbers, not 2"},
      {"\"kernel\": [3, 1]", "\"kernel\": [0, 0]", "ops[2].attrs.kernel: is zero"},
      {"\"relu\": 1", "\"relu\": 2", "ops[2].attrs.relu: 2 is not in [1, 1]"},
      {"\"eps\": 1e-05", "\"eps\": 0.0", "ops[2].attrs.eps: is zero"},
      {"\"eps\": 1e-05", "\"eps\": 1e+39", "ops[2].attrs.eps: 1e+39 does not fit in 32 bits"},
      {"\"eps\": 1e-05", "\"eps\": \"x\"", "ops[2].attrs.eps: is a text, not a number"},
      {"\"eps\": 1e-05", "\"epsilon\": 1e-05", "ops[2].attrs: unknown field 'epsilon'"},
      {"[-0.25, 0, 0, 1e-10]", "[0, 0, 0, 0]", "ops[0].attrs.shift: is zero"},
      {"[-0.25, 0, 0, 1e-10]", "[-0.25, 0, 0, 1e-10, 0]", "ops[0].attrs.shift: has 5 numbers, not 4"},
      {"\"in\": [6, 7, 1]", "\"in\": [6, 7, 11]", "ops[2]: op 'mine': in[2] = 11 is none of the 11 values"},
      {"\"in\": [6, 7, 1]", "\"in\": [6, 7, -1]", "ops[2].in[2]: -1 is not in [0,"},
      {"\"in\": [6, 7, 1]", "\"in\": [6, 7, 1, 1, 1, 1, 1, 1, 1]", "version: is 1, the contents belong into version 2"},
      {"\"upd\": [1, 2]", "\"upd\": [1]", "version: is 1, the contents belong into version 5"},
      {"\"time_ns\": 12", "\"time_ns\": -1", "ops[2].time_ns: -1 is not in [0,"},
      {"\"name\": \"y\"", "\"name\": \"d\"", "two values are called 'd'"},
      {"\"name\": \"mine\"", "\"name\": \"a\\u0001b\"", "ops[2]: op's name has byte 0x01 at 1"},
  };
  plim_test_faults(parse, plim_test_golden("graph.json"), faults, (int)(sizeof faults / sizeof *faults));
}

Test(graph_read, saved_file_is_loaded_and_saved_alike) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx), *loaded = NULL;
  plim_text one = {ctx, NULL, 0, 0, PLIM_OK}, two = one;
  (void)plim_test_folder();
  cr_assert_eq(plim_graph_save(g, plim_test_path("g.json")), PLIM_OK);
  cr_assert_eq(plim_graph_load(ctx, plim_test_path("g.json"), &loaded), PLIM_OK, "%s", plim_context_error(ctx));
  plim_graph_write(&one, g, 1);
  plim_graph_write(&two, loaded, 1);
  cr_assert_str_eq(one.chars, two.chars);
  cr_assert_eq(loaded->op[SMALL_SGD].n_updates, 2);
  plim_text_free(&one);
  plim_text_free(&two);
  plim_graph_free(loaded);
  loaded = NULL;
  cr_assert_eq(plim_graph_load(ctx, plim_test_path("none.json"), &loaded), PLIM_ENOFILE);
  cr_assert_null(loaded);
  plim_graph_free(g);
  plim_test_folder_remove();
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
  plim_context_free(ctx);
}

Test(graph_read, other_white_space_and_order_of_fields_are_accepted) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx), *loaded = NULL;
  plim_text text = {ctx, NULL, 0, 0, PLIM_OK};
  plim_graph_write(&text, g, 1);
  json_t *tree = json_loads(text.chars, 0, NULL);
  char *other = json_dumps(tree, JSON_INDENT(1) | JSON_SORT_KEYS);
  cr_assert_not_null(other);
  plim_text_free(&text);
  plim_text_format(&text, "%s\n", other);
  cr_assert_eq(plim_graph_parse(ctx, "doc.json", text.chars, text.length, &loaded), PLIM_OK);
  cr_assert_str_eq(loaded->fingerprint, g->fingerprint);
  free(other);
  json_decref(tree);
  plim_text_free(&text);
  plim_graph_free(loaded);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(graph_read, random_graphs_come_back_byte_for_byte) {
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    plim_context *ctx = plim_test_context();
    plim_graph *g = NULL, *again = NULL;
    plim_text one = {ctx, NULL, 0, 0, PLIM_OK}, two = one;
    random_graph_options options = random_graph_options_default(seed);
    cr_assert_eq(random_graph_make(ctx, &options, &g), PLIM_OK);
    plim_graph_write(&one, g, 1);
    cr_assert_eq(plim_graph_parse(ctx, "doc.json", one.chars, one.length, &again), PLIM_OK, "seed %llu: %s",
                 (unsigned long long)seed, plim_context_error(ctx));
    plim_graph_write(&two, again, 1);
    cr_assert_str_eq(one.chars, two.chars, "seed %llu", (unsigned long long)seed);
    plim_text_free(&one);
    plim_text_free(&two);
    plim_graph_free(again);
    plim_graph_free(g);
    plim_context_free(ctx);
  }
}
