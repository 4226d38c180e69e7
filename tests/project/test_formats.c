/* The examples of docs/formats.md are documents: each is read, belongs to the others, and its plans pass the checkers.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "planner/pack/buffers_csv.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/space/platform.h"
#include "runtime/graph/space/space_plan.h"
#include "runtime/graph/trace.h"
#include "runtime/import/import.h"
#include "tests/support/folder.h"

static plim_context *ctx;
static int n_examples;

/* A fence "```KIND FILE" begins an example that is a file. */
static void write_examples(void) {
  char line[4096], kind[16], name[64];
  FILE *page = fopen(PLIM_SOURCE_DIR "/docs/formats.md", "r"), *file = NULL;
  cr_assert_not_null(page);
  while (fgets(line, sizeof line, page)) {
    if (file && strncmp(line, "```", 3) == 0) {
      cr_assert_eq(fclose(file), 0);
      file = NULL;
    } else if (file) {
      cr_assert_geq(fputs(line, file), 0);
    } else if (sscanf(line, "```%15s %63s", kind, name) == 2) {
      file = fopen(plim_test_path(name), "w");
      cr_assert_not_null(file);
      n_examples++;
    }
  }
  cr_assert_null(file, "the last example does not end");
  (void)fclose(page);
}

static void setup(void) {
  (void)plim_test_folder();
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  write_examples();
}
static void teardown(void) {
  plim_context_free(ctx);
  plim_test_folder_remove();
}
TestSuite(formats, .init = setup, .fini = teardown);

#define OK(call) cr_assert_eq(call, PLIM_OK, "%s", plim_context_error(ctx))

static plim_graph *imported(const char *name) {
  plim_graph *graph;
  OK(plim_graph_import(ctx, "nx", plim_test_path(name), &graph));
  return graph;
}

Test(formats, graph_profile_plan_and_trace_belong_together) {
  plim_graph *graph, *source = imported("four.nx.json");
  plim_profile *profile;
  plim_plan *plan;
  plim_trace *trace;
  char hex[PLIM_FINGERPRINT_BYTES];
  OK(plim_graph_load(ctx, plim_test_path("four.graph.json"), &graph));
  cr_assert_str_eq(graph->fingerprint, source->fingerprint);
  OK(plim_profile_load(ctx, plim_test_path("four.profile.json"), &profile));
  cr_assert_str_eq(profile->fingerprint, graph->fingerprint);
  OK(plim_plan_load(ctx, plim_test_path("four.plan.json"), &plan));
  OK(plim_plan_check(ctx, graph, plan));
  cr_assert_gt(plan->n_commands, graph->n_ops, "it recomputes an op");
  OK(plim_trace_load(ctx, plim_test_path("four.trace.jsonl"), &trace));
  OK(plim_plan_fingerprint(plan, hex));
  cr_assert_str_eq(trace->plan, hex);
  plim_trace_free(trace);
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_graph_free(source);
}

Test(formats, platform_and_plan_over_spaces_belong_together) {
  plim_graph *graph = imported("flops.nx.json");
  plim_platform *platform;
  plim_plan *none = NULL;
  plim_space_plan *plan = NULL;
  OK(plim_platform_load(ctx, plim_test_path("rpi.platform.json"), &platform));
  OK(plim_space_plan_load_any(ctx, plim_test_path("flops.plan.json"), &none, &plan));
  cr_assert_null(none);
  OK(plim_space_plan_check(ctx, graph, plan));
  cr_assert_str_eq(plan->device[0].name, platform->device[0].name);
  plim_space_plan_free(plan);
  plim_platform_free(platform);
  plim_graph_free(graph);
}

Test(formats, lifetimes_are_packed) {
  plim_buffer_list *buffers;
  OK(plim_buffer_list_load(ctx, plim_test_path("buffers.csv"), &buffers));
  cr_assert_eq(buffers->n, 3);
  plim_buffer_list_free(buffers);
}

Test(formats, every_example_is_read_by_a_test) {
  cr_assert_eq(n_examples, 9);
}
