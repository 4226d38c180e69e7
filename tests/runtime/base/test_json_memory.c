/* runtime/base/json_memory.c: every refused allocation of a reader is told as such, jansson's too, and a host program
 * that uses jansson itself notices nothing. */
#include "runtime/base/json_memory.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/json.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/plan.h"
#include "runtime/graph/plans.h"
#include "runtime/graph/profile.h"
#include "runtime/graph/trace.h"
#include "runtime/import/importers.h"
#include "tests/support/failing_memory.h"
#include "tests/support/test_context.h"

#define GOLDEN PLIM_SOURCE_DIR "/tests/golden/"

static const char text[] =
    "{\"a\": [1, -2.5e3, true, false, null, \"text \\u00e9\\n\", [], {}, {\"b\": {\"c\": [[1], [2, 3], 12345678901]}}],"
    " \"a long key that does not fit into a small buffer\": \"a text that does not fit into a small buffer either\"}";

static plim_status parse_text(plim_context *ctx, void *user) {
  plim_json doc;
  (void)user;
  plim_status status = plim_json_parse(ctx, "f", 0, text, sizeof text - 1, &doc);
  plim_json_close(&doc);
  return status;
}

Test(json_memory, a_document_that_lacks_memory_anywhere_is_told_so) {
  cr_assert_gt(plim_test_each_allocation(parse_text, NULL), 1);
}

/* Each reader of a file, by what reads it. */
#define LOADER(noun)                                                                              \
  static plim_status load_##noun(plim_context *ctx, void *user) {                                 \
    plim_##noun *document = NULL;                                                                 \
    plim_status status = plim_##noun##_load(ctx, user, &document);                                \
    if (status == PLIM_ENOMEM) {                                                                  \
      cr_assert(strstr(plim_context_error(ctx), "out of memory"), "%s", plim_context_error(ctx)); \
    }                                                                                             \
    plim_##noun##_free(document);                                                                 \
    return status;                                                                                \
  }
LOADER(graph)
LOADER(profile)
LOADER(plan)
LOADER(plans)
LOADER(trace)

Test(json_memory, every_file_that_lacks_memory_anywhere_is_told_so) {
  static char graph[] = GOLDEN "graph.json", profile[] = GOLDEN "profile.json", plan[] = GOLDEN "plan.json";
  static char plans[] = GOLDEN "program.json", trace[] = GOLDEN "trace.jsonl";
  cr_assert_gt(plim_test_each_allocation(load_graph, graph), 3);
  cr_assert_gt(plim_test_each_allocation(load_profile, profile), 3);
  cr_assert_gt(plim_test_each_allocation(load_plan, plan), 3);
  cr_assert_gt(plim_test_each_allocation(load_plans, plans), 3);
  cr_assert_gt(plim_test_each_allocation(load_trace, trace), 3);
}

static plim_status import(plim_context *ctx, void *user) {
  static const char network[] =
      "{\"directed\": true, \"multigraph\": false, \"graph\": {\"name\": \"a net\"},"
      " \"nodes\": [{\"id\": 4, \"name\": \"b\", \"backward\": true, \"cost_cpu\": 20, \"cost_ram\": 6},"
      " {\"id\": 7, \"name\": \"a\", \"backward\": false, \"cost_cpu\": 5, \"cost_ram\": 5}],"
      " \"links\": [{\"source\": 7, \"target\": 4}]}\n";
  plim_graph *graph = NULL;
  (void)user;
  plim_status status = plim_import_nx(ctx, "g.json", network, sizeof network - 1, &graph);
  plim_graph_free(graph);
  return status;
}

Test(json_memory, a_network_that_lacks_memory_anywhere_is_told_so) {
  cr_assert_gt(plim_test_each_allocation(import, NULL), 3);
}

/* ---- a host program ---- */

static int64_t host_blocks;

static void *host_malloc(size_t size) {
  host_blocks++;
  return malloc(size);
}

static void host_free(void *pointer) {
  if (pointer) host_blocks--;
  free(pointer);
}

Test(json_memory, a_host_keeps_its_own_functions_and_its_own_values) {
  plim_context *ctx = plim_test_context();
  json_malloc_t malloc_now;
  json_free_t free_now;
  json_set_alloc_funcs(host_malloc, host_free);
  json_t *own = json_pack("{s:[i, i, s]}", "list", 1, 2, "three");
  int64_t before = host_blocks;
  plim_json doc;
  cr_assert_eq(plim_json_parse(ctx, "f", 0, text, sizeof text - 1, &doc), PLIM_OK);
  cr_assert_eq(host_blocks, before);
  cr_assert_gt(plim_context_memory(ctx).bytes, 500);
  json_get_alloc_funcs(&malloc_now, &free_now);
  cr_assert(malloc_now == host_malloc && free_now == host_free);
  json_decref(own); /* while a document of ours is open */
  cr_assert_eq(host_blocks, 0);
  plim_json_close(&doc);
  cr_assert_eq(host_blocks, 0);
  plim_test_context_end(ctx);
}

static void *parse_often(void *user) {
  plim_context *ctx = NULL;
  (void)user;
  plim_status status = plim_context_new(NULL, NULL, &ctx);
  for (int i = 0; i < 200 && status == PLIM_OK; i++) status = parse_text(ctx, NULL);
  int fine = status == PLIM_OK && plim_context_memory(ctx).bytes == 0;
  plim_context_free(ctx);
  return fine ? &host_blocks : NULL;
}

static void *use_jansson(void *user) {
  (void)user;
  for (int i = 0; i < 2000; i++) json_decref(json_pack("{s:[i, i, s]}", "list", 1, 2, "three"));
  return &host_blocks;
}

Test(json_memory, threads_read_side_by_side_and_beside_a_host_that_uses_jansson) {
  enum { THREADS = 4 };
  pthread_t thread[THREADS];
  for (int i = 0; i < THREADS; i++) {
    cr_assert_eq(pthread_create(&thread[i], NULL, i == 0 ? use_jansson : parse_often, NULL), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    void *fine = NULL;
    cr_assert_eq(pthread_join(thread[i], &fine), 0);
    cr_assert_not_null(fine);
  }
  json_malloc_t malloc_now;
  json_free_t free_now;
  json_get_alloc_funcs(&malloc_now, &free_now);
  cr_assert(malloc_now == malloc && free_now == free);
}
