/* Graphs imported from networkx node-link JSON: both dialects, their order, and a sentence for everything wrong. */
#include "runtime/import/import.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/graph/graph_text.h"
#include "runtime/import/importers.h"
#include "tests/support/documents.h"
#include "tests/support/folder.h"
#include "tests/support/small_graph.h"

/* Ids are not places; link 7 -> 4 is there twice; the op with id 9 makes nothing and takes no time. */
static const char network[] =
    "{\"directed\": true, \"multigraph\": false, \"graph\": {\"name\": \"a net\"},\n"
    " \"nodes\": [{\"id\": 4, \"name\": \"b\", \"backward\": true, \"cost_cpu\": 20, \"cost_ram\": 6},\n"
    "           {\"id\": 7, \"name\": \"a\", \"backward\": false, \"cost_cpu\": 5000000000, \"cost_ram\": "
    "5000000000},\n"
    "           {\"id\": 9, \"name\": \"c\\u00e9\", \"backward\": true, \"cost_cpu\": 0, \"cost_ram\": 0},\n"
    "           {\"id\": 1, \"name\": \"a\", \"backward\": true, \"cost_cpu\": 1, \"cost_ram\": 1}],\n"
    " \"links\": [{\"source\": 7, \"target\": 9}, {\"source\": 7, \"target\": 4}, {\"source\": 9, \"target\": 1},\n"
    "           {\"source\": 7, \"target\": 4}, {\"source\": 4, \"target\": 1}]}\n";

static const char layered[] =
    "{\"directed\": true, \"multigraph\": false,\n"
    " \"graph\": {\"name\": \"layers\", \"order\": [2, 0, 1], \"source_node\": 0, \"pos\": {\"0\": [0.5, 1]}},\n"
    " \"nodes\": [{\"out_cost\": 1, \"param_cost\": 0, \"duration\": 2, \"name\": 0},\n"
    "           {\"out_cost\": 3, \"param_cost\": 0, \"duration\": 4, \"name\": 1},\n"
    "           {\"out_cost\": 5, \"param_cost\": 0, \"duration\": 6, \"name\": 2}],\n"
    " \"links\": [{\"0\": 0, \"1\": 1}, {\"0\": 2, \"1\": 1}]}\n";

static plim_status parse(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_graph *graph = NULL;
  plim_status status = plim_import_nx(ctx, "doc.json", text, bytes, &graph);
  if (again && graph) plim_graph_write(again, graph, 1);
  plim_graph_free(graph);
  return status;
}

static plim_graph *import(plim_context *ctx, const char *text) {
  plim_graph *graph = NULL;
  plim_status status = plim_import_nx(ctx, "doc.json", text, (int64_t)strlen(text), &graph);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
  return graph;
}

static void check_op(const plim_graph *g, int32_t op, int64_t id, int64_t bytes, int64_t time_ns, int32_t n_in) {
  cr_assert_eq(g->op[op].id, id);
  cr_assert_eq(g->op[op].time_ns, time_ns);
  cr_assert_eq(g->op[op].n_in, n_in);
  cr_assert_eq(g->op[op].cls, PLIM_OP_PURE);
  cr_assert_eq(g->storage[g->op[op].writes[0]].bytes, bytes);
}

Test(import, network_comes_in_level_order_with_parallel_links_once) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = import(ctx, network);
  cr_assert_eq(g->unpacked, 1);
  cr_assert_str_eq(g->name, "a net");
  cr_assert_eq(g->n_ops, 4);
  check_op(g, 0, 7, 5000000000, 5000000000, 0);
  check_op(g, 1, 9, 0, 0, 1);
  check_op(g, 2, 4, 6, 20, 1);
  check_op(g, 3, 1, 1, 1, 2);
  cr_assert_str_eq(g->op[1].name, "c??#9");
  cr_assert_eq(g->op[0].phase, PLIM_PHASE_FORWARD);
  cr_assert_eq(g->op[2].phase, PLIM_PHASE_BACKWARD);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(import, layered_graph_comes_in_its_own_order_with_places_as_ids) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = import(ctx, layered);
  cr_assert_eq(g->n_ops, 3);
  check_op(g, 0, 2, 5, 6, 0);
  check_op(g, 1, 0, 1, 2, 0);
  check_op(g, 2, 1, 3, 4, 2);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(import, document_of_an_imported_graph_is_golden_and_canonical) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = import(ctx, network), *again = NULL;
  plim_text text = {.ctx = ctx}, two = {.ctx = ctx};
  plim_graph_write(&text, g, 1);
  cr_assert_str_eq(text.chars, plim_test_golden("imported.json"));
  cr_assert_eq(plim_graph_parse(ctx, "doc.json", text.chars, text.length, &again), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_assert_str_eq(again->fingerprint, g->fingerprint);
  plim_graph_write(&two, again, 1);
  cr_assert_str_eq(text.chars, two.chars);
  plim_text_free(&text);
  plim_text_free(&two);
  plim_graph_free(g);
  plim_graph_free(again);
  plim_context_free(ctx);
}

Test(import, an_op_may_have_more_inputs_than_a_kernel) {
  plim_context *ctx = plim_test_context();
  plim_text text = {.ctx = ctx};
  plim_text_add(&text, "{\"nodes\": [");
  for (int i = 0; i < 40; i++) plim_text_format(&text, "{\"id\": %d, \"cost_ram\": 1, \"cost_cpu\": 1}, ", i);
  plim_text_add(&text, "{\"id\": 40, \"cost_ram\": 1, \"cost_cpu\": 1}], \"edges\": [");
  for (int i = 0; i < 40; i++) plim_text_format(&text, "%s{\"source\": %d, \"target\": 40}", i > 0 ? ", " : "", i);
  plim_text_add(&text, "]}");
  plim_graph *g = import(ctx, text.chars);
  cr_assert_eq(g->op[40].n_in, 40);
  plim_graph_free(g);
  plim_text_free(&text);
  plim_context_free(ctx);
}

Test(import, every_wrong_network_gets_one_sentence) {
  static const plim_test_fault faults[] = {
      {"\"directed\": true", "\"directed\": false", "directed: is false"},
      {"\"directed\": true", "\"directed\": 1", "directed: is an integer, not true or false"},
      {"\"id\": 4", "\"id\": 7", "nodes: two nodes, number 0 and 1 of the list, have the id 7"},
      {"\"id\": 4", "\"id\": -4", "nodes[0].id: -4 is not in [0,"},
      {"\"id\": 4", "\"id\": \"four\"", "nodes[0].id: is a text, not an integer"},
      {"\"cost_ram\": 6", "\"cost_ram\": -6", "nodes[0].cost_ram: -6 is not in [0,"},
      {"\"cost_ram\": 6", "\"cost_ram\": 6.5", "nodes[0].cost_ram: is a number, not an integer"},
      {"\"cost_ram\": 6", "\"cost_ram\": 99999999999999999999", "doc.json: line 2: too big integer"},
      {"\"cost_ram\": 6", "\"cost_ram\": 2305843009213693951", "nodes: the sizes add up to more than 2^61 bytes"},
      {"\"cost_ram\": 6", "\"cost\": 6", "nodes[0].cost_ram: is missing"},
      {"\"cost_cpu\": 20", "\"cost_cpu\": -1", "nodes[0].cost_cpu: -1 is not in [0,"},
      {"\"cost_cpu\": 20", "\"cost_cpu\": null", "nodes[0].cost_cpu: is null, not an integer"},
      {"\"source\": 9", "\"source\": 8", "links[2].source: 8 is the id of no node"},
      {"\"target\": 1}]", "\"target\": 2}]", "links[4].target: 2 is the id of no node"},
      {"\"source\": 9, ", "", "links[2].source: is missing"},
      {"\"source\": 9", "\"source\": 1", "doc.json: the links have a cycle through the node with id 1"},
      {"{\"source\": 7, \"target\": 9}", "{\"source\": 1, \"target\": 7}", "the links have a cycle through the node"},
      {"\"links\"", "\"arrows\"", "edges: is missing"},
      {"\"nodes\"", "\"vertices\"", "nodes: is missing"},
      {"{\"name\": \"a net\"}", "{\"name\": \"a net\"", "doc.json: line"},
  };
  plim_test_faults(parse, network, faults, (int)(sizeof faults / sizeof *faults));
}

Test(import, every_wrong_order_gets_one_sentence) {
  static const plim_test_fault faults[] = {
      {"[2, 0, 1]", "[2, 0]", "graph.order: has 2 ids for 3 nodes"},
      {"[2, 0, 1]", "[2, 0, 0]", "graph.order: has the id 0 twice"},
      {"[2, 0, 1]", "[2, 0, 3]", "graph.order: 3 is the id of no node"},
      {"[2, 0, 1]", "[2, 1, 0]", "graph.order: has id 1 before id 0, which it reads"},
      {"[2, 0, 1]", "{}", "graph.order: is an object, not a list"},
      {"\"duration\": 4", "\"duration\": -4", "nodes[1].duration: -4 is not in [0,"},
      {"\"name\": 2", "\"name\": 1", "two nodes, number 1 and 2 of the list, have the id 1"},
  };
  plim_test_faults(parse, layered, faults, (int)(sizeof faults / sizeof *faults));
}

Test(import, empty_graph_is_refused) {
  static const plim_test_fault faults[] = {{"[]", "[ ]", "nodes: is empty: a graph has at least one op"}};
  plim_test_faults(parse, "{\"directed\": true, \"nodes\": [], \"links\": []}\n", faults, 1);
}

Test(import, text_is_read_to_its_end_and_not_after_it) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  static const char log[] = "{\"INSTRUCTION\": 1";
  cr_assert_eq(plim_import_nx(ctx, "doc.json", log, 0, &graph), PLIM_EDATA);
  cr_expect_null(strstr(plim_context_error(ctx), "DTR"), "%s", plim_context_error(ctx));
  cr_assert_eq(plim_import_nx(ctx, "doc.json", log, (int64_t)strlen(log), &graph), PLIM_EDATA);
  cr_expect_not_null(strstr(plim_context_error(ctx), "DTR"), "%s", plim_context_error(ctx));
  plim_test_context_end(ctx);
}

Test(import, refused_allocation_leaves_nothing_after) {
  plim_test_allocations(parse, layered);
}

Test(import, format_and_file_must_be_there) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = NULL;
  (void)plim_test_folder();
  cr_assert_eq(plim_graph_import(ctx, "xn", "f", &g), PLIM_EUSAGE);
  cr_assert_str_eq(plim_context_error(ctx), "graphs are not imported from \"xn\"; did you mean \"nx\"?");
  cr_assert_eq(plim_graph_import(ctx, "nx", plim_test_path("none.json"), &g), PLIM_ENOFILE);
  cr_assert_eq(plim_file_save(ctx, plim_test_path("net.json"), network, (int64_t)sizeof network - 1), PLIM_OK);
  cr_assert_eq(plim_graph_import(ctx, "nx", plim_test_path("net.json"), &g), PLIM_OK, "%s", plim_context_error(ctx));
  plim_graph_free(g);
  plim_test_folder_remove();
  plim_context_free(ctx);
}
