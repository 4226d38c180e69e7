/* The graph builder: what it derives, and what it refuses with which sentence. */
#include "runtime/graph/graph.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/base/sha256.h"
#include "tests/support/small_graph.h"

static void assert_ids(const int32_t *id, int32_t n, const int32_t *expected, int32_t n_expected) {
  cr_assert_eq(n, n_expected, "%d ids, not %d", n, n_expected);
  for (int32_t i = 0; i < n; i++) cr_assert_eq(id[i], expected[i], "id %d is %d, not %d", i, id[i], expected[i]);
}
#define IDS(...) (const int32_t[]){__VA_ARGS__}, (int32_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

Test(graph, derives_reads_writes_and_updates) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  assert_ids(g->op[SMALL_RELU].reads, g->op[SMALL_RELU].n_reads, IDS(SMALL_Y));
  assert_ids(g->op[SMALL_RELU].writes, g->op[SMALL_RELU].n_writes, IDS(SMALL_R, SMALL_MASK));
  cr_assert_eq(g->op[SMALL_RELU].n_updates, 0);
  assert_ids(g->op[SMALL_SGD].reads, g->op[SMALL_SGD].n_reads, IDS(SMALL_DW, SMALL_HYPER));
  assert_ids(g->op[SMALL_SGD].updates, g->op[SMALL_SGD].n_updates, IDS(SMALL_W, SMALL_VELOCITY));
  assert_ids(g->reader + g->reader_first[SMALL_X], g->reader_first[SMALL_X + 1] - g->reader_first[SMALL_X],
             IDS(SMALL_LINEAR, SMALL_WEIGHTS));
  assert_ids(g->updater + g->updater_first[SMALL_W], g->updater_first[SMALL_W + 1] - g->updater_first[SMALL_W],
             IDS(SMALL_SGD));
  cr_assert_eq(g->storage[SMALL_MASK].producer, SMALL_RELU);
  cr_assert_eq(g->storage[SMALL_W].producer, -1);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(graph, gives_kinds_their_class_and_the_pairs_that_their_bytes_allow) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  cr_assert_eq(g->op[SMALL_SGD].cls, PLIM_OP_EFFECT);
  cr_assert_eq(g->op[SMALL_LINEAR].cls, PLIM_OP_PURE);
  cr_assert_eq(g->op[SMALL_LINEAR].n_pairs, 0);
  cr_assert_eq(g->op[SMALL_XENT].n_pairs, 1);
  cr_assert_eq(g->op[SMALL_XENT].pair[0].out, 2);
  cr_assert_eq(g->op[SMALL_RELU_BWD].n_pairs, 1);
  cr_assert_eq(g->op[SMALL_RELU_BWD].pair[0].in, 1);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(graph, lets_nothing_be_written_over_outputs_and_empty_storages) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  const plim_op *op = &g->op[SMALL_RELU_BWD];
  int32_t in = g->value[op->in[op->pair[0].in]].storage;
  plim_storage changed[32];
  plim_graph other = *g;
  other.storage = changed;
  cr_assert_leq(g->n_storages, 32);
  memcpy(changed, g->storage, (size_t)g->n_storages * sizeof *changed);
  cr_assert_eq(plim_op_may_overwrite(&other, op, op->pair[0]), 1);
  changed[in].role = PLIM_ROLE_OUTPUT;
  cr_assert_eq(plim_op_may_overwrite(&other, op, op->pair[0]), 0);
  changed[in].role = g->storage[in].role;
  changed[in].bytes = 0;
  cr_assert_eq(plim_op_may_overwrite(&other, op, op->pair[0]), 0);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(graph, counts_persistent_bytes_rounded) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  cr_assert_eq(plim_graph_persistent_bytes(g), 2 * 12288 + 512); /* w, velocity (12000 each), 4 staged labels */
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(graph, finds_by_name_and_describes) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx);
  plim_op_desc desc;
  cr_assert_eq(plim_graph_find_value(g, "w.grad"), SMALL_DW);
  cr_assert_eq(plim_graph_find_value(g, "w.gra"), -1);
  cr_assert_eq(plim_graph_find_op(g, "sgd"), SMALL_SGD);
  plim_graph_describe(g, SMALL_SGD, &desc);
  cr_assert_eq(desc.kind, PLIM_OP_SGD);
  cr_assert_eq(desc.n_upd, 2);
  cr_assert_eq(plim_shape_bytes(&desc.upd[1]), 12000);
  cr_assert_eq(plim_shape_bytes(&desc.in[1]), 16);
  plim_graph_free(g);
  plim_context_free(ctx);
}

Test(graph, has_a_fingerprint_that_every_field_changes) {
  plim_context *ctx = plim_test_context();
  plim_graph *g = plim_test_small_graph(ctx), *same = plim_test_small_graph(ctx), *other = NULL;
  cr_assert(plim_sha256_is_hex(g->fingerprint));
  cr_assert_str_eq(g->fingerprint, same->fingerprint);
  plim_graph_builder *b = plim_test_small_values(ctx);
  for (int o = 0; o < SMALL_OPS; o++) {
    plim_op_spec spec = plim_test_small_op(o);
    int32_t id;
    if (o == SMALL_RELU) spec.time_ns++;
    cr_assert_eq(plim_graph_add_op(b, &spec, &id), PLIM_OK);
  }
  cr_assert_eq(plim_graph_end(b, &other), PLIM_OK);
  cr_assert_str_neq(g->fingerprint, other->fingerprint);
  plim_graph_free(g);
  plim_graph_free(same);
  plim_graph_free(other);
  plim_context_free(ctx);
}
