/* Instances are written as node-link JSON and imported, so that every test of a planner goes through the importer. */
#include "tests/support/space_cases.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/import/importers.h"

#define M7 \
  { 1000000, 4000000, 1000000, 1000000, 3000000, 1500000, 1000000 }
#define LINEAR                                \
  {                                           \
    {0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, { \
      5, 6                                    \
    }                                         \
  }
#define SKIP                                                  \
  {                                                           \
    {0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {1, 3}, { \
      2, 6                                                    \
    }                                                         \
  }
#define ONE                                       \
  {                                               \
    { 1000, 10000, 5000, 1000, 4000, 2000, 1000 } \
  }
#define TWO                                          \
  {                                                  \
    {1000, 1000, 1000, 10000, 1000, 1000, 1000}, {   \
      10000, 10000, 10000, 1000, 10000, 10000, 10000 \
    }                                                \
  }
#define SLOW                                       \
  {                                                \
    {1000, 10000, 5000, 1000, 4000, 2000, 1000}, { \
      500, 2000, 1500, 500, 7000, 4000, 2000       \
    }                                              \
  }

/* After XEngine's unit tests (ACM TACO 2022); a value's copy is the least over its edges. */
static const space_case table[] = {
    {"simple_linear", 7, 1, 6, M7, ONE, {{0}}, LINEAR, {0}},
    {"simple_skip", 7, 1, 8, M7, ONE, {{0}}, SKIP, {0}},
    {"very_tiny_copy", 2, 2, 1, {1000000, 4000000}, {{1000, 10000}, {10000, 1000}}, {{3000}, {8000}}, {{0, 1}}, {0}},
    {"multi_tiny_linear",
     3,
     2,
     2,
     {1000000, 4000000, 1000000},
     {{1000, 10000, 1000}, {10000, 1000, 10000}},
     {{3000, 5000}, {8000, 1000}},
     {{0, 1}, {1, 2}},
     {0}},
    {"multi_linear",
     7,
     2,
     6,
     M7,
     TWO,
     {{6000, 3000, 2000, 8000, 7000, 5000}, {5000, 8000, 9000, 3000, 8000, 1000}},
     LINEAR,
     {0}},
    {"multi_skip_free", 7, 2, 8, M7, SLOW, {{0}, {0}}, SKIP, {0}},
    {"multi_skip_unit",
     7,
     2,
     8,
     M7,
     SLOW,
     {{1000, 1000, 1000, 1000, 1000, 1000}, {1000, 1000, 1000, 1000, 1000, 1000}},
     SKIP,
     {0}},
    {"multi_skip_copy",
     7,
     2,
     8,
     M7,
     TWO,
     {{6000, 3000, 2000, 8000, 7000, 5000}, {5000, 4000, 1000, 3000, 8000, 1000}},
     SKIP,
     {0}},
};

const space_optimum space_optima[] = {
    {"simple_linear", {5000000}, 24000},
    {"simple_skip", {6000000}, 24000},
    {"very_tiny_copy", {5000000, 5000000}, 5000}, /* with directions swapped it would be 10000 */
    {"multi_tiny_linear", {5000000, 5000000}, 7000},
    {"multi_linear", {5000000, 5000000}, 12000}, /* with free copies it would be 7000 */
    {"multi_linear", {5000000, 1500000}, 16000},
    {"multi_skip_free", {6000000, 6000000}, 11500},
    {"multi_skip_unit", {6000000, 6000000}, 13500},
    {"multi_skip_unit", {5000000, 6000000}, 13500},
    {"multi_skip_unit", {6000000, 5000000}, 14000},
    {"multi_skip_unit", {6000000, 4500000}, 24000},
    {"multi_skip_copy", {5000000, 5000000}, -1}, /* memory summed over devices lets 16000 pass */
    {"multi_skip_copy", {6000000, 6000000}, 15000},
    {"multi_skip_copy", {6000000, 5000000}, 16000},
    {"multi_skip_copy", {5000000, 6000000}, 16000},
    {NULL, {0}, 0},
};

const space_case *space_case_named(const char *name) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (strcmp(table[i].name, name) == 0) return &table[i];
  }
  cr_assert_fail("no instance is called %s", name);
  return NULL;
}

static plim_graph *import(plim_context *ctx, plim_text *text) {
  plim_graph *graph = NULL;
  cr_assert_eq(text->status, PLIM_OK);
  cr_assert_eq(plim_import_nx(ctx, "case.json", text->chars, text->length, &graph), PLIM_OK, "%s",
               plim_context_error(ctx));
  plim_text_free(text);
  return graph;
}

static void add_costs(plim_text *t, const space_case *c, int32_t i) {
  if (c->workspace[i] > 0) plim_text_format(t, ", \"workspace\": %lld", (long long)c->workspace[i]);
  plim_text_format(t, ", \"durations\": {\"d0\": %lld", (long long)c->time[0][i]);
  if (c->n_devices > 1) plim_text_format(t, ", \"d1\": %lld", (long long)c->time[1][i]);
  plim_text_add(t, "}");
  if (c->n_devices > 1) {
    plim_text_format(t, ", \"copies\": {\"d0>d1\": %lld, \"d1>d0\": %lld}", (long long)c->copy[0][i],
                     (long long)c->copy[1][i]);
  }
}

plim_graph *space_case_graph(plim_context *ctx, const space_case *c) {
  plim_text t = {.ctx = ctx};
  plim_text_format(&t, "{\"graph\": {\"name\": \"%s\", \"devices\": [\"d0\"%s]}, \"nodes\": [", c->name,
                   c->n_devices > 1 ? ", \"d1\"" : "");
  for (int32_t i = 0; i < c->n; i++) {
    plim_text_format(&t, "%s{\"id\": %d, \"out_cost\": %lld", i > 0 ? ", " : "", i, (long long)c->bytes[i]);
    add_costs(&t, c, i);
    plim_text_add(&t, "}");
  }
  plim_text_add(&t, "], \"links\": [");
  for (int32_t e = 0; e < c->n_edges; e++) {
    plim_text_format(&t, "%s{\"source\": %d, \"target\": %d}", e > 0 ? ", " : "", c->edge[e][0], c->edge[e][1]);
  }
  plim_text_add(&t, "]}\n");
  return import(ctx, &t);
}

enum { NONE = -1 };

static void add_node(plim_text *t, int32_t i, int64_t bytes, int64_t flops) {
  plim_text_format(t, "%s{\"id\": %d, \"out_cost\": %lld, \"flops\": %lld}", i > 0 ? ", " : "", i, (long long)bytes,
                   (long long)flops);
}

static void add_link(plim_text *t, int *count, int32_t from, int32_t to) {
  if (from == NONE) return;
  plim_text_format(t, "%s{\"source\": %d, \"target\": %d}", (*count)++ > 0 ? ", " : "", from, to);
}

plim_graph *space_case_flops(plim_context *ctx, const space_case *c) {
  plim_text t = {.ctx = ctx};
  int links = 0;
  plim_text_format(&t, "{\"graph\": {\"name\": \"%s\"}, \"nodes\": [", c->name);
  for (int32_t i = 0; i < c->n; i++) add_node(&t, i, c->bytes[i], c->time[0][i]);
  plim_text_add(&t, "], \"links\": [");
  for (int32_t e = 0; e < c->n_edges; e++) add_link(&t, &links, c->edge[e][0], c->edge[e][1]);
  plim_text_add(&t, "]}\n");
  return import(ctx, &t);
}

/* ---- POET's networks: forward ops, then a gradient each (Patil et al., ICML 2022; rules and figures of their code)
 * ---- */

enum { MOST_INPUTS = 2 };
typedef struct layer {
  int64_t bytes, flops;
  int32_t in[MOST_INPUTS]; /* NONE: none */
} layer;

/* Gradient p of n follows forward op n: it reads n - p, n - p + 1 and the gradient before it. */
static plim_graph *with_gradients(plim_context *ctx, const char *name, const layer *forward, int32_t n) {
  plim_text t = {.ctx = ctx};
  int links = 0;
  plim_text_format(&t, "{\"graph\": {\"name\": \"%s\"}, \"nodes\": [", name);
  for (int32_t i = 0; i <= n; i++) add_node(&t, i, forward[i].bytes, forward[i].flops);
  for (int32_t p = 1; p <= n; p++) add_node(&t, n + p, forward[n - p + 1].bytes, 2 * forward[n - p].flops);
  plim_text_add(&t, "], \"links\": [");
  for (int32_t i = 1; i <= n; i++) {
    for (int k = 0; k < MOST_INPUTS; k++) add_link(&t, &links, forward[i].in[k], i);
  }
  for (int32_t p = 1; p <= n; p++) {
    add_link(&t, &links, n - p, n + p);
    add_link(&t, &links, n - p + 1, n + p);
    if (p > 1) add_link(&t, &links, n + p - 1, n + p);
  }
  plim_text_add(&t, "]}\n");
  return import(ctx, &t);
}

plim_graph *space_linear(plim_context *ctx) {
  static const layer forward[] = {
      {3136, 0, {NONE, NONE}}, {40, 15710, {0, NONE}},  {40, 10, {1, NONE}},   {480, 2760, {2, NONE}},
      {480, 120, {3, NONE}},   {400, 24300, {4, NONE}}, {400, 100, {5, NONE}}, {800, 40600, {6, NONE}},
      {800, 200, {7, NONE}},   {40, 4030, {8, NONE}},   {40, 10, {9, NONE}},   {40, 230, {10, NONE}},
      {40, 10, {11, NONE}},    {40, 100, {12, NONE}},
  };
  return with_gradients(ctx, "linear", forward, 13);
}

plim_graph *space_transformer(plim_context *ctx) {
  static const layer forward[] = {
      {1572864, 0, {NONE, NONE}},      {4718592, 905969664, {0, NONE}}, {12582912, 207618048, {1, NONE}},
      {1572864, 402653184, {2, NONE}}, {1572864, 1181952, {3, NONE}},   {1572864, 393216, {0, 4}},
      {6291456, 6300672, {5, NONE}},   {1572864, 4720896, {6, NONE}},   {1572864, 393216, {4, 7}},
      {2048, 201326592, {8, NONE}},
  };
  return with_gradients(ctx, "transformer", forward, 9);
}

plim_graph *space_chain(plim_context *ctx, int32_t layers) {
  plim_text t = {.ctx = ctx};
  int links = 0;
  plim_text_add(&t, "{\"graph\": {\"name\": \"chain\"}, \"nodes\": [");
  for (int32_t i = 0; i < layers; i++) add_node(&t, i, 100, 1000000);
  add_node(&t, layers, 1, 100000);
  for (int32_t k = layers + 1; k <= 2 * layers; k++) add_node(&t, k, 100, 2000000);
  plim_text_add(&t, "], \"links\": [");
  for (int32_t i = 1; i <= layers; i++) add_link(&t, &links, i - 1, i);
  for (int32_t k = layers + 1; k <= 2 * layers; k++) {
    int32_t behind = 2 * layers - k;
    add_link(&t, &links, k - 1, k);
    add_link(&t, &links, behind, k);
    if (behind > 0) add_link(&t, &links, behind - 1, k);
  }
  plim_text_add(&t, "]}\n");
  return import(ctx, &t);
}

void space_case_random(uint64_t *random, int32_t n, space_case *out) {
  *out = (space_case){.name = "random", .n = n, .n_devices = 2};
  for (int32_t i = 0; i < n; i++) {
    out->bytes[i] = test_random_between(random, 1, 6);
    for (int d = 0; d < 2; d++) {
      out->time[d][i] = test_random_between(random, 1, 12);
      out->copy[d][i] = test_random_between(random, 0, 6);
    }
    for (int32_t k = 0; k < i; k++) {
      if (k < i - 1 && !test_random_chance(random, 30)) continue;
      out->edge[out->n_edges][0] = k;
      out->edge[out->n_edges++][1] = i;
    }
  }
}
