/* Platforms: the built-in ones, JSON and XEngine's device files, a sentence for everything wrong; budgets by space. */
#include "runtime/graph/space/platform.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "planner/spaces/problem/space_problem.h"
#include "tests/support/documents.h"
#include "tests/support/space_rig.h"
#include "tests/support/test_context.h"

static const char json[] =
    "{\"name\": \"rpi\",\n"
    " \"devices\": [{\"name\": \"cpu\", \"flop_per_second\": 2e9, \"flop_per_joule\": 4e7, \"idle_watt\": 0.5, "
    "\"spaces\": [\"ram\", \"sd\"]},\n"
    "             {\"name\": \"npu\", \"flop_per_second\": 1e10, \"flop_per_joule\": null, \"watt\": 7.5, "
    "\"idle_watt\": 0, "
    "\"spaces\": "
    "[\"sram\"]}],\n"
    " \"links\": [{\"from\": \"ram\", \"to\": \"sd\", \"latency_s\": 1e-3, \"bytes_per_second\": 17e6, \"watt\": 0.15, "
    "\"duplex\": false},\n"
    "           {\"from\": \"sd\", \"to\": \"ram\", \"latency_s\": 0, \"bytes_per_second\": 45500000, \"watt\": 0.15, "
    "\"duplex\": false}]}\n";

static const char lines[] = "cpu_0;cpu;0;1;6442450944\ngpu_0;gpu;0;2;0\n";

static plim_status parse(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_platform *p = NULL;
  (void)again;
  plim_status status = plim_platform_parse(ctx, "doc.json", text, bytes, &p);
  plim_platform_free(p);
  return status;
}

static plim_platform *load(plim_context *ctx, const char *text) {
  plim_platform *p = NULL;
  cr_assert_eq(plim_platform_parse(ctx, "doc.json", text, (int64_t)strlen(text), &p), PLIM_OK, "%s",
               plim_context_error(ctx));
  return p;
}

Test(platform, json_gives_devices_spaces_in_order_and_links) {
  plim_context *ctx = plim_test_context();
  plim_platform *p = load(ctx, json);
  cr_assert_eq(p->n_devices, 2);
  cr_assert_eq(p->n_spaces, 3);
  cr_assert_str_eq(p->space[1].name, "sd");
  cr_assert_eq(p->device[1].space, 2);
  cr_assert_eq(p->device[1].flop_per_joule, 0);
  cr_assert_eq(p->device[0].watt, 0);
  cr_assert_eq(p->device[1].watt, 7.5);
  cr_assert_eq(plim_platform_find_link(p, 1, 0), 1);
  cr_assert_eq(plim_platform_find_link(p, 0, 2), -1);
  cr_assert_eq(p->link[0].bytes_per_second, 17e6);
  plim_platform_free(p);
  plim_test_context_end(ctx);
}

Test(platform, a_device_file_of_xengine_gives_devices_with_budgets) {
  plim_context *ctx = plim_test_context();
  plim_platform *p = load(ctx, lines);
  cr_assert_eq(p->n_devices, 2);
  cr_assert_eq(p->n_links, 2);
  cr_assert_eq(p->space[0].budget_bytes, 6442450944);
  cr_assert_eq(p->space[1].budget_bytes, INT64_MAX);
  cr_assert_str_eq(p->device[1].name, "gpu_0");
  plim_platform_free(p);
  plim_test_context_end(ctx);
}

Test(platform, every_wrong_field_gets_one_sentence) {
  static const plim_test_fault faults[] = {
      {"\"watt\": 0.15", "\"watts\": 0.15", "links[0].watt: is missing"},
      {"\"idle_watt\": 0.5", "\"idle_watt\": -1", "devices[0].idle_watt: -1 is not in [0,"},
      {"\"flop_per_second\": 2e9", "\"flop_per_second\": 0", "devices[0].flop_per_second: 0 is not in"},
      {"\"flop_per_second\": 2e9", "\"flop_per_second\": \"2e9\"", "flop_per_second: is a text, not a number"},
      {"\"name\": \"npu\"", "\"name\": \"cpu\"", "devices[1].name: two devices are called 'cpu'"},
      {"\"name\": \"npu\"", "\"name\": \"n=u\"", "devices[1].name: 'n=u' is not 1 to 31 printable characters"},
      {"[\"sram\"]", "[]", "devices[1].spaces: is empty"},
      {"\"to\": \"sd\"", "\"to\": \"disk\"", "links[0].to: no device has a space 'disk'"},
      {"\"to\": \"sd\"", "\"to\": \"ram\"", "links[0].to: a link leads from a space to another"},
      {"\"from\": \"sd\", \"to\": \"ram\"", "\"from\": \"ram\", \"to\": \"sd\"", "links[1]: is there twice"},
      {"\"duplex\": false", "\"duplex\": 1", "links[0].duplex: is an integer, not true or false"},
      {"\"bytes_per_second\": 17e6", "\"bytes_per_second\": -5", "bytes_per_second: -5 is not in"},
      {"\"links\"", "\"wires\"", "links: is missing"},
      {"{\"name\": \"rpi\"", "{\"extra\": 1, \"name\": \"rpi\"", "unknown field 'extra'"},
  };
  static const plim_test_fault of_lines[] = {
      {"cpu_0;cpu;", "cpu_0;tpu;", "device 0 is not name;cpu|gpu;number;streams;budget"},
      {"gpu_0;gpu;0;2;0", "gpu_0;gpu;0;2", "device 1 is not name;cpu|gpu"},
      {"gpu_0;gpu;0;2;0", "gpu_0;gpu;0;2;-1", "device 1 is not name;cpu|gpu"},
      {"gpu_0;", "cpu_0;", "two devices are called 'cpu_0'"},
  };
  plim_test_faults(parse, json, faults, (int)(sizeof faults / sizeof *faults));
  plim_test_faults(parse, lines, of_lines, (int)(sizeof of_lines / sizeof *of_lines));
}

Test(platform, refused_allocations_and_changed_bytes_do_no_harm) {
  plim_context *ctx = plim_test_context();
  plim_test_allocations(parse, json);
  plim_test_allocations(parse, lines);
  for (size_t i = 0; i + 2 < sizeof json; i++) cr_assert_neq(parse(ctx, json, (int64_t)i, NULL), PLIM_OK);
  plim_test_context_end(ctx);
}

Test(platform, figures_of_the_built_in_ones_are_those_published) {
  static const struct {
    const char *name;
    double flop_per_joule, flop_per_second;
  } rows[] = {{"m0", 2525252.5, 166666.7},
              {"m4", 580010757.7, 6369910.1},
              {"a72", 40115792.1, 2e9},
              {"a72nocache", 40115792.1, 120347376.2}};
  plim_context *ctx = plim_test_context();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    plim_platform *p = NULL;
    cr_assert_eq(plim_platform_built_in(ctx, rows[i].name, &p), PLIM_OK);
    cr_expect_lt(fabs(p->device[0].flop_per_joule / rows[i].flop_per_joule - 1), 1e-7);
    cr_expect_lt(fabs(p->device[0].flop_per_second / rows[i].flop_per_second - 1), 1e-6);
    cr_expect_eq(plim_platform_find_space(p, "sd"), 1);
    plim_platform_free(p);
  }
  plim_test_context_end(ctx);
}

Test(platform, of_costs_has_a_link_where_some_op_has_a_copy_and_no_other) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = space_case_graph(ctx, &space_rig_small);
  plim_platform *p = NULL;
  cr_assert_eq(plim_platform_from_costs(graph->costs, &p), PLIM_OK);
  cr_assert_eq(p->n_links, 2);
  plim_platform_free(p);
  for (int32_t o = 0; o < graph->n_ops; o++) {
    graph->costs->copy[plim_costs_copy_at(graph->costs, o, 1, 0)] = PLIM_NONE;
    if (o > 0) graph->costs->copy[plim_costs_copy_at(graph->costs, o, 0, 1)] = PLIM_NONE;
  }
  cr_assert_eq(plim_platform_from_costs(graph->costs, &p), PLIM_OK);
  cr_assert_eq(p->n_links, 1);
  cr_assert_eq(plim_platform_find_link(p, 0, 1), 0);
  plim_platform_free(p);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}

Test(platform, budgets_name_spaces_once_each) {
  static const struct {
    const char *text, *sentence;
    int64_t ram, sd;
  } rows[] = {{"1000", NULL, 1000, INT64_MAX},
              {"ram=50%,sd=2KiB", NULL, 500, 2048},
              {"sd=7", NULL, INT64_MAX, 7},
              {"ram=1,ram=2", "space ram has two budgets", 0, 0},
              {"ram=1,2", "'2' names no space", 0, 0},
              {"rom=1", "has no space 'rom'; it has ram, sd, sram", 0, 0},
              {"ram=", "is not a size", 0, 0},
              {"ram=1,", "names no space", 0, 0},
              {"ram=-1", "is not a size", 0, 0},
              {"ram=9999999999999GiB", "ram", 0, 0}};
  plim_context *ctx = plim_test_context();
  plim_platform *p = load(ctx, json);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int64_t budget[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
    plim_status status = plim_space_budget_parse(p, rows[i].text, 1000, budget);
    cr_expect_eq(status, rows[i].sentence ? PLIM_EUSAGE : PLIM_OK, "%s: %s", rows[i].text, plim_context_error(ctx));
    if (status != PLIM_OK) continue;
    cr_expect_eq(budget[0], rows[i].ram);
    cr_expect_eq(budget[1], rows[i].sd);
  }
  plim_platform_free(p);
  plim_test_context_end(ctx);
}
