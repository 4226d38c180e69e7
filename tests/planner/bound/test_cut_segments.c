/* planner/bound/segments.c: the segments of time in which a recomputation must be when an output is gone. */
#include <criterion/criterion.h>

#include "planner/bound/cut_model.h"
#include "tests/support/dag_cases.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_seed.h"

static plim_context *ctx;
static void make_context(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void free_context(void) {
  plim_context_free(ctx);
}
TestSuite(cut_segments, .init = make_context, .fini = free_context);

/* A graph with what is certain of its order and its segments. */
typedef struct segmented {
  plim_graph *graph;
  plim_profile *profile;
  plim_problem *problem;
  plim_cut_order order;
  plim_cut_segments segments;
} segmented;

static segmented segmented_make(plim_graph *graph, int32_t fixed) {
  segmented s = {.graph = graph};
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  plim_plan_class plan_class = fixed ? PLIM_CLASS_FIXED : PLIM_CLASS_FREE;
  cr_assert_eq(plim_profile_from_graph(graph, &s.profile), PLIM_OK);
  cr_assert_eq(plim_problem_make(ctx, graph, s.profile, &options, plan_class, &s.problem), PLIM_OK);
  cr_assert_eq(plim_cut_order_make(s.problem, fixed, &s.order), PLIM_OK);
  cr_assert_eq(plim_cut_segments_make(s.problem, &s.order, &s.segments), PLIM_OK);
  return s;
}

static void segmented_free(segmented *s) {
  plim_cut_segments_free(&s->segments);
  plim_cut_order_free(&s->order);
  plim_problem_free(s->problem);
  plim_profile_free(s->profile);
  plim_graph_free(s->graph);
}

static plim_cut_segment_range span_of(const segmented *s, int32_t op, int32_t v) {
  plim_cut_segment_range span = plim_cut_segment_range_of(&s->segments, &s->order, op, v);
  return (plim_cut_segment_range){span.first - s->segments.first[op], span.end - s->segments.first[op]};
}

static void expect_span(const segmented *s, int32_t op, int32_t v, int32_t first, int32_t end) {
  plim_cut_segment_range span = span_of(s, op, v);
  cr_assert(span.first == first && span.end == end, "op %d at %d: segments [%d, %d), not [%d, %d)", op, v, span.first,
            span.end, first, end);
}

/* 0 is read by 1, 3 and 5; 2 stands between 1 and 3 in a fixed order alone. */
static plim_graph *small(void) {
  const int64_t ones[] = {1, 1, 1, 1, 1, 1};
  const dag_edge edge[] = {{0, 1}, {1, 3}, {0, 3}, {3, 5}, {0, 5}, {3, 4}, {2, 5}};
  return dag_make(ctx, 6, ones, ones, 7, edge);
}

Test(cut_segments, in_program_order_one_is_under_way) {
  segmented s = segmented_make(small(), 1);
  cr_assert_eq(s.segments.first[1] - s.segments.first[0], 4, "at 0 and its three readers");
  expect_span(&s, 0, 1, 1, 2);
  expect_span(&s, 0, 2, 1, 2);
  expect_span(&s, 0, 3, 2, 3);
  expect_span(&s, 0, 4, 2, 3);
  expect_span(&s, 0, 5, 3, 4);
  segmented_free(&s);
}

Test(cut_segments, in_a_free_order_several_may_be) {
  segmented s = segmented_make(small(), 0);
  expect_span(&s, 0, 1, 1, 2);
  expect_span(&s, 0, 3, 2, 3);
  expect_span(&s, 0, 4, 2, 4); /* 5 may come first */
  expect_span(&s, 0, 5, 3, 4);
  segmented_free(&s);
}

static int op_reads(const plim_problem *p, int32_t v, int32_t item) {
  int found = 0;
  for (int32_t i = 0; i < p->op[v].reads.n; i++) found |= p->op[v].reads.at[i] == item;
  return found;
}

/* At v the segments from one that has certainly begun to one whose beginning certainly comes after v and reads all
 * that the op makes for anybody. */
static int check_span(const segmented *s, int32_t op, int32_t v, int32_t fixed) {
  const plim_problem *p = s->problem;
  plim_cut_segment_range span = plim_cut_segment_range_of(&s->segments, &s->order, op, v);
  int32_t begun = s->segments.begins[span.first];
  cr_assert(span.first >= s->segments.first[op] && span.first < span.end && span.end <= s->segments.first[op + 1]);
  cr_assert(begun == v || plim_cut_before(&s->order, begun, v));
  if (fixed) cr_assert_eq(span.end, span.first + 1);
  if (span.end == s->segments.first[op + 1]) return 0;
  int32_t next = s->segments.begins[span.end];
  cr_assert(plim_cut_before(&s->order, v, next));
  for (int32_t k = 0; k < p->op[op].writes.n; k++) {
    int32_t item = p->op[op].writes.at[k];
    if (p->item[item].readers.n > 0 || p->item[item].is_output) cr_assert(op_reads(p, next, item));
  }
  return 1;
}

Test(cut_segments, each_ends_where_all_that_the_op_makes_is_read) {
  int bounded = 0;
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    for (int32_t fixed = 0; fixed < 2; fixed++) {
      random_graph_options options = random_graph_options_default(seed);
      plim_graph *graph = NULL;
      options.two_out_percent = 30;
      cr_assert_eq(random_graph_make(ctx, &options, &graph), PLIM_OK);
      segmented s = segmented_make(graph, fixed);
      for (int32_t op = 0; op < s.problem->n_ops; op++) {
        for (int32_t v = op + 1; v < s.problem->n_ops; v++) {
          if (plim_cut_before(&s.order, op, v)) bounded += check_span(&s, op, v, fixed);
        }
      }
      segmented_free(&s);
    }
  }
  cr_assert_gt(bounded, 1000);
}
