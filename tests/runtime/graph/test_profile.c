/* Profiles: made from rows, from a graph's costs, from a roofline; and the profile document. */
#include "runtime/graph/profile.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/graph/profile_internal.h"
#include "tests/support/documents.h"
#include "tests/support/folder.h"
#include "tests/support/small_graph.h"

static plim_status parse(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_profile *profile = NULL;
  plim_status status = plim_profile_parse(ctx, "doc.json", text, bytes, &profile);
  if (again && profile) plim_profile_write(again, profile);
  plim_profile_free(profile);
  return status;
}

Test(profile, golden_document_is_written_again_byte_for_byte) {
  plim_test_canonical(parse, plim_test_golden("profile.json"));
}

Test(profile, file_cut_at_any_byte_is_refused) {
  plim_test_cuts(parse, plim_test_golden("profile.json"));
}

Test(profile, refused_allocation_leaves_nothing_after) {
  plim_test_allocations(parse, plim_test_golden("profile.json"));
}

Test(profile, changed_byte_never_does_harm) {
  plim_test_bytes(parse, plim_test_golden("profile.json"));
}

Test(profile, every_wrong_field_is_named_with_its_path) {
  static const plim_test_fault faults[] = {
      {"\"profile\"", "\"graph\"", "doc.json: the document is a 'graph', not a 'profile'"},
      {"\"graph\": \"", "\"graph\": \"0", "graph: is not 64"},
      {"\"isa\": \"x86-64-v3\", ", "", "machine.isa: is missing"},
      {"\"isa\": \"x86-64-v3\"", "\"isa\": \"0123456789012345678901234567890123\"",
       "machine.isa: has 34 characters, at most 31 are allowed"},
      {"\"isa\": \"x86-64-v3\"", "\"isa\": \"\\u00e4\"", "isa has byte 0xc3"},
      {"\"threads\": 2", "\"threads\": -2", "machine.threads: -2 is not in"},
      {"\"threads\": 2", "\"threads\": 2, \"cores\": 2", "machine: unknown field 'cores'"},
      {"\"measured\": true", "\"measured\": 1", "measured: is an integer, not true or false"},
      {"\"ops\": 4", "\"ops\": 5", "variants: op 4 has no row"},
      {"\"ops\": 4", "\"ops\": 3", "variants[4].op: 3 after 2"},
      {"\"ops\": 4", "\"ops\": 2000000000", "variants: has 5 rows for 2000000000 ops"},
      {"\"op\": 2", "\"op\": 3", "variants[3].op: 3 after 1"},
      {"\"op\": 2", "\"op\": 0", "variants[3].op: 0 after 1"},
      {"\"direct-small\"", "\"direct\"", "op 1 has two variants 'direct'"},
      {"\"label\": \"a b\"", "\"label\": \"\"", "a variant's name or numerics key is empty"},
      {"\"time_ns\": 100", "\"time_ns\": -1", "variants[0].time_ns: -1 is not in"},
      {"\"workspace_bytes\": 1000", "\"workspace_bytes\": 9223372036854775807", "is not a size"},
  };
  plim_test_faults(parse, plim_test_golden("profile.json"), faults, (int)(sizeof faults / sizeof *faults));
}

Test(profile, saved_file_is_loaded) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  plim_profile *made = NULL, *loaded = NULL;
  (void)plim_test_folder();
  cr_assert_eq(plim_profile_from_graph(g, &made), PLIM_OK);
  cr_assert_eq(plim_profile_save(made, plim_test_path("p.json")), PLIM_OK);
  cr_assert_eq(plim_profile_load(ctx, plim_test_path("p.json"), &loaded), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_str_eq(loaded->fingerprint, g->fingerprint);
  cr_assert_eq(loaded->n_ops, SMALL_OPS);
  cr_assert_eq(loaded->first[SMALL_OPS], SMALL_OPS);
  cr_assert_eq(loaded->variant[SMALL_WEIGHTS].time_ns, 800);
  plim_profile_free(loaded);
  plim_profile_free(made);
  plim_graph_free(g);
  plim_test_folder_remove();
  plim_context_free(ctx);
}

Test(profile, roofline_takes_the_slower_of_arithmetic_and_memory) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  plim_profile *p = NULL;
  plim_roofline roofline = {.flops_per_ns = 1, .bytes_per_ns = 1e9, .launch_ns = 7};
  cr_assert_eq(plim_profile_model(g, &roofline, &p), PLIM_OK);
  cr_assert_eq(p->variant[SMALL_LINEAR].time_ns, 2 * 4 * 10 * 300 + 7);
  cr_assert_eq(p->measured, 0);
  plim_profile_free(p);
  roofline = (plim_roofline){.flops_per_ns = 1e9, .bytes_per_ns = 0.5, .launch_ns = 0};
  cr_assert_eq(plim_profile_model(g, &roofline, &p), PLIM_OK);
  cr_assert_eq(p->variant[SMALL_LINEAR].time_ns, 2 * (4800 + 12000 + 160));
  plim_profile_free(p);
  p = NULL;
  roofline.flops_per_ns = 0;
  cr_assert_eq(plim_profile_model(g, &roofline, &p), PLIM_EUSAGE);
  cr_assert_null(p);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(profile, machines_differ_by_what_is_asked_of_them) {
  const plim_machine here = {"cpu", "a cpu", "an isa", "a library", "a build", 3};
  plim_machine changed = here;
  plim_machine_difference first = {"untouched", "", ""};
  for (int q = PLIM_MACHINE_SAME; q <= PLIM_MACHINE_BITS; q++) {
    cr_assert_eq(plim_machine_differs(&changed, &here, (plim_machine_question)q, &first), 0);
  }
  cr_assert_str_eq(first.field, "untouched");
  strcpy(changed.cpu, "another cpu");
  cr_assert_eq(plim_machine_differs(&changed, &here, PLIM_MACHINE_SAME, NULL), 1);
  cr_assert_eq(plim_machine_differs(&changed, &here, PLIM_MACHINE_HOLDS, &first), 1);
  cr_assert_str_eq(first.field, "the CPU");
  cr_assert_str_eq(first.made_for, "another cpu");
  cr_assert_str_eq(first.here, "a cpu");
  cr_assert_eq(plim_machine_differs(&changed, &here, PLIM_MACHINE_BITS, NULL), 0, "its model decides no bit");
  changed = here;
  strcpy(changed.library, "");
  changed.threads = 0;
  cr_assert_eq(plim_machine_differs(&changed, &here, PLIM_MACHINE_HOLDS, NULL), 0,
               "what is not known differs from nothing");
  cr_assert_eq(plim_machine_differs(&here, &changed, PLIM_MACHINE_HOLDS, NULL), 1, "but what is known does");
  cr_assert_eq(plim_machine_differs(&changed, &here, PLIM_MACHINE_BITS, &first), 1);
  cr_assert_str_eq(first.field, "the library");
  changed = here;
  changed.threads = 2;
  for (int q = PLIM_MACHINE_SAME; q <= PLIM_MACHINE_BITS; q++) {
    cr_assert_eq(plim_machine_differs(&changed, &here, (plim_machine_question)q, &first), 1);
    cr_assert_str_eq(first.field, "threads");
  }
}

Test(profile, rows_that_no_graph_has_are_refused) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  plim_profile *p = NULL;
  plim_machine machine = {.threads = 1};
  plim_variant variant[SMALL_OPS];
  int32_t first[SMALL_OPS + 1];
  memset(variant, 0, sizeof variant);
  for (int o = 0; o < SMALL_OPS; o++) {
    first[o] = o;
    strcpy(variant[o].name, "v");
    strcpy(variant[o].numerics_key, "v");
  }
  first[SMALL_OPS] = SMALL_OPS - 1;
  cr_assert_eq(plim_profile_make(g, &machine, 1, first, variant, &p), PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(ctx), "op 6 has no variant"));
  first[SMALL_OPS] = SMALL_OPS;
  memset(variant[3].name, 'x', sizeof variant[3].name);
  cr_assert_eq(plim_profile_make(g, &machine, 1, first, variant, &p), PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(ctx), "longer than 31"));
  strcpy(variant[3].name, "v");
  variant[2].time_ns = -5;
  cr_assert_eq(plim_profile_make(g, &machine, 1, first, variant, &p), PLIM_EDATA);
  cr_assert_not_null(strstr(plim_context_error(ctx), "-5"));
  cr_assert_null(p);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(profile, within_a_limit_the_fastest_variant_is_chosen_and_else_the_one_with_least_workspace) {
  static const plim_variant variant[] = {
      {.name = "quick", .numerics_key = "a", .time_ns = 10, .workspace_bytes = 4096},
      {.name = "other", .numerics_key = "b", .time_ns = 5, .workspace_bytes = 0},
      {.name = "middle", .numerics_key = "a", .time_ns = 20, .workspace_bytes = 1024},
      {.name = "lean", .numerics_key = "a", .time_ns = 30, .workspace_bytes = 512},
      {.name = "twin", .numerics_key = "a", .time_ns = 10, .workspace_bytes = 2048},
  };
  static const struct {
    const char *numerics_key;
    int64_t limit;
    const plim_variant *first;
    const char *wanted; /* NULL: none */
  } rows[] = {{"a", 4096, NULL, "quick"},      {"a", 2048, NULL, "twin"},        {"a", 1023, NULL, "lean"},
              {"a", 0, NULL, "lean"},          {NULL, 0, NULL, "other"},         {"c", 4096, NULL, NULL},
              {"c", 4096, variant, "quick"},   {"a", 2048, &variant[4], "twin"}, {"a", 4096, &variant[4], "twin"},
              {"a", 512, &variant[1], "other"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const plim_variant *found = plim_variants_within(variant, 5, rows[i].numerics_key, rows[i].limit, rows[i].first);
    cr_expect_eq(found != NULL, rows[i].wanted != NULL, "row %d", (int)i);
    if (found && rows[i].wanted) cr_expect_str_eq(found->name, rows[i].wanted, "row %d: %s", (int)i, found->name);
  }
  cr_expect_null(plim_variants_within(variant, 0, NULL, 4096, NULL));
}

/* A time that a graph gives is that of its profile, none is 1 ns. */
Test(profile, from_a_graph_has_its_times_and_those_of_no_time_at_all) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  plim_profile *p = NULL;
  plim_op op[SMALL_OPS];
  plim_graph changed = *g;
  memcpy(op, g->op, sizeof op);
  op[SMALL_RELU].time_ns = 0;
  op[SMALL_SGD].time_ns = -1;
  changed.op = op;
  cr_assert_eq(plim_profile_from_graph(&changed, &p), PLIM_OK);
  cr_assert_eq(p->variant[SMALL_RELU].time_ns, 0);
  cr_assert_eq(p->variant[SMALL_SGD].time_ns, 1);
  cr_assert_eq(p->variant[SMALL_WEIGHTS].time_ns, 800);
  plim_profile_free(p);
  plim_graph_free(g);
  plim_context_free(ctx);
}
