/* Costs by device: what node-link JSON carries of them, what the graph document keeps, a sentence for what is wrong. */
#include "runtime/graph/costs.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/graph/graph_text.h"
#include "runtime/import/importers.h"
#include "tests/support/documents.h"
#include "tests/support/small_graph.h"

/* Id order differs from level order: level order is 0, 3, 1, 2. */
static const char network[] =
    "{\"graph\": {\"name\": \"two devices\", \"devices\": [\"d0\", \"d1\"]},\n"
    " \"nodes\": [{\"id\": 0, \"out_cost\": 4, \"durations\": {\"d0\": 5, \"d1\": 6}, \"copies\": {\"d0>d1\": 3, "
    "\"d1>d0\": 8}},\n"
    "           {\"id\": 1, \"out_cost\": 5, \"durations\": {\"d1\": 7}, \"copies\": {\"d1>d0\": 0}},\n"
    "           {\"id\": 2, \"out_cost\": 6, \"flops\": 9},\n"
    "           {\"id\": 3, \"out_cost\": 7, \"duration\": 11}],\n"
    " \"links\": [{\"source\": 0, \"target\": 3}, {\"source\": 0, \"target\": 1}, {\"source\": 1, \"target\": 2},\n"
    "           {\"source\": 2, \"target\": 3}]}\n";

static plim_status parse_nx(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_graph *graph = NULL;
  plim_status status = plim_import_nx(ctx, "doc.json", text, bytes, &graph);
  if (again && graph) plim_graph_write(again, graph, 1);
  plim_graph_free(graph);
  return status;
}

static plim_status parse_graph(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_graph *graph = NULL;
  plim_status status = plim_graph_parse(ctx, "doc.json", text, bytes, &graph);
  if (again && graph) plim_graph_write(again, graph, 1);
  plim_graph_free(graph);
  return status;
}

Test(costs, a_network_keeps_flops_durations_and_copies_by_op_and_device) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = NULL;
  cr_assert_eq(plim_import_nx(ctx, "doc.json", network, (int64_t)sizeof network - 1, &g), PLIM_OK, "%s",
               plim_context_error(ctx));
  const plim_costs *c = g->costs;
  cr_assert_not_null(c);
  cr_assert_eq(c->n_devices, 2);
  cr_assert_str_eq(c->device[1], "d1");
  for (int32_t o = 0; o < 4; o++) cr_assert_eq(g->op[o].id, o, "program order is that of the ids");
  cr_assert_eq(c->duration[plim_costs_duration_at(c, 0, 0)], 5);
  cr_assert_eq(c->duration[plim_costs_duration_at(c, 0, 1)], 6);
  cr_assert_eq(c->duration[plim_costs_duration_at(c, 1, 0)], -1);
  cr_assert_eq(c->copy[plim_costs_copy_at(c, 0, 0, 1)], 3);
  cr_assert_eq(c->copy[plim_costs_copy_at(c, 0, 1, 0)], 8);
  cr_assert_eq(c->copy[plim_costs_copy_at(c, 1, 0, 1)], -1);
  cr_assert_eq(c->copy[plim_costs_copy_at(c, 1, 1, 0)], 0);
  cr_assert_eq(c->flops[2], 9);
  cr_assert_eq(c->flops[3], -1);
  cr_assert_eq(g->op[0].time_ns, -1);
  cr_assert_eq(g->op[3].time_ns, 11);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(costs, the_document_of_a_network_is_golden_canonical_and_fails_at_every_cut) {
  plim_context *ctx = plim_test_context();
  plim_text text = {.ctx = ctx};
  cr_assert_eq(parse_nx(ctx, network, (int64_t)sizeof network - 1, &text), PLIM_OK);
  cr_assert_str_eq(text.chars, plim_test_golden("costs.json"));
  plim_text_free(&text);
  plim_test_canonical(parse_graph, plim_test_golden("costs.json"));
  plim_test_cuts(parse_graph, plim_test_golden("costs.json"));
  plim_context_free(ctx);
}

Test(costs, refused_allocations_and_changed_bytes_do_no_harm) {
  plim_test_allocations(parse_nx, network);
  plim_test_allocations(parse_graph, plim_test_golden("costs.json"));
  plim_test_bytes(parse_graph, plim_test_golden("costs.json"));
}

/* A graph whose nodes have workspaces beside one time each: for planners of one arena too. */
static const char workspaces[] =
    "{\"graph\": {\"name\": \"w\"}, \"nodes\": [{\"id\": 0, \"out_cost\": 4, \"duration\": 5, \"workspace\": 70}, "
    "{\"id\": 1, \"out_cost\": 4, \"duration\": 5, \"workspace\": 0}], \"links\": [{\"source\": 0, \"target\": 1}]}\n";

Test(costs, a_workspace_is_kept_by_the_document_and_is_that_of_the_given_variant) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = NULL;
  plim_profile *profile = NULL;
  plim_text text = {.ctx = ctx};
  cr_assert_eq(plim_import_nx(ctx, "doc.json", workspaces, (int64_t)sizeof workspaces - 1, &g), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_assert_not_null(g->costs);
  cr_expect_eq(g->costs->workspace[0], 70);
  cr_expect_eq(g->costs->workspace[1], 0);
  cr_assert_eq(plim_profile_from_graph(g, &profile), PLIM_OK);
  cr_expect_eq(profile->variant[0].workspace_bytes, 70);
  plim_graph_write(&text, g, 1);
  cr_expect_not_null(strstr(text.chars, "\"workspace_bytes\": 70}"), "%s", text.chars);
  plim_test_canonical(parse_graph, text.chars);
  plim_test_cuts(parse_graph, text.chars);
  static const plim_test_fault faults[] = {
      {"\"workspace_bytes\": 70", "\"workspace_bytes\": 0", "ops[0].workspace_bytes: 0 is not in [1,"}};
  plim_test_faults(parse_graph, text.chars, faults, 1);
  plim_text_free(&text);
  plim_profile_free(profile);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(costs, every_wrong_workspace_of_a_network_gets_one_sentence) {
  static const plim_test_fault faults[] = {
      {"\"workspace\": 70", "\"workspace\": -70", "nodes[0].workspace: -70 is not in [0,"},
      {"\"workspace\": 70", "\"workspace\": \"70\"", "nodes[0].workspace: is a text, not an integer"},
  };
  plim_test_faults(parse_nx, workspaces, faults, (int)(sizeof faults / sizeof *faults));
}

Test(costs, every_wrong_cost_of_a_network_gets_one_sentence) {
  static const plim_test_fault faults[] = {
      {"[\"d0\", \"d1\"]", "[\"d0\", \"d0\"]", "graph.devices: two devices are called 'd0'"},
      {"[\"d0\", \"d1\"]", "[\"d0\", \"d=1\"]", "graph.devices: 'd=1' names no device"},
      {"[\"d0\", \"d1\"]", "[\"d0\", 1]", "graph.devices[1]: is an integer, not a text"},
      {"[\"d0\", \"d1\"]", "{}", "graph.devices: is an object, not a list"},
      {"{\"d1\": 7}", "{\"d2\": 7}", "nodes[1].durations: has device 'd2', which graph.devices does not name"},
      {"{\"d1\": 7}", "{\"d1\": -7}", "nodes[1].durations.d1: -7 is not in [0,"},
      {"{\"d1\": 7}", "{\"d1\": 7.5}", "nodes[1].durations.d1: is a number, not an integer"},
      {"{\"d1\": 7}", "{\"d1\": 9223372036854775807}", "nodes[1].durations.d1: 9223372036854775807 is not in [0,"},
      {"{\"d1\": 7}", "{\"d1\": 2305843009213693951}", "nodes: the durations on device d1 add up to more than 2^61"},
      {"{\"d1\": 7}", "[7]", "nodes[1].durations: is a list, not an object"},
      {"\"d1>d0\": 0", "\"d1>d1\": 0", "nodes[1].copies: has 'd1>d1', not FROM>TO of two devices"},
      {"\"d1>d0\": 0", "\"d1\": 0", "nodes[1].copies: has 'd1', not FROM>TO of two devices"},
      {"\"d1>d0\": 0", "\"d1>d0\": -1", "nodes[1].copies.d1>d0: -1 is not in [0,"},
      {"\"d1>d0\": 0", "\"d1>d0\": 2305843009213693951", "nodes: the times of all copies add up to more than 2^61"},
      {"\"flops\": 9", "\"flops\": 1.5", "nodes[2].flops: is a number, not an integer"},
      {"\"flops\": 9", "\"flop\": 9", "nodes[2].cost_cpu: is missing"},
  };
  plim_test_faults(parse_nx, network, faults, (int)(sizeof faults / sizeof *faults));
}

Test(costs, every_wrong_cost_of_a_document_gets_one_sentence) {
  static const plim_test_fault faults[] = {
      {"\"version\": 4", "\"version\": 3", "unknown field"},
      {"\"devices\": [\"d0\", \"d1\"]", "\"devices\": [\"d0\"]", "ops[0].durations: has 2 numbers for 1 devices"},
      {"\"devices\": [\"d0\", \"d1\"]", "\"devices\": [\"d0\", \"d0\"]", "devices: two devices are called 'd0'"},
      {"[null, 3]", "[4, 3]", "ops[0].copies[0]: has a copy from device 0 to itself"},
      {"[null, 3]", "[null]", "ops[0].copies[0]: has 1 numbers for 2 devices"},
      {"[[null, 3], [8, null]]", "[[null, 3]]", "ops[0].copies: has 1 rows for 2 devices"},
      {"[5, 6]", "[null, null]", "ops[0].durations: has no number"},
      {"[5, 6]", "[5, 7]", "fingerprint: is not that of the contents"},
      {"\"flops\": 9", "\"flops\": -9", "ops[2].flops: -9 is not in [0,"},
  };
  plim_test_faults(parse_graph, plim_test_golden("costs.json"), faults, (int)(sizeof faults / sizeof *faults));
}
