/* The effort in a context: its deadline, and that planner and packer end soon after it. Time is a clock of the test
 * that counts how often it is read, so that nothing depends on how busy the machine is. */
#include "runtime/base/effort.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "planner/chain/chain.h"
#include "planner/pack/pack.h"
#include "planner/pack/packers.h"
#include "planner/planner.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/profile.h"
#include "runtime/import/generate.h"
#include "runtime/import/import.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

static int64_t count(void *user) {
  return ++*(int64_t *)user;
}

static plim_context *context_with_clock(int64_t *reads) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  plim_effort_set_clock(ctx, count, reads);
  return ctx;
}

Test(effort, without_a_deadline_it_is_never_over_and_the_clock_is_not_read) {
  int64_t reads = 0;
  plim_context *ctx = context_with_clock(&reads);
  for (int i = 0; i < 1000; i++) cr_assert(!plim_effort_over(ctx, PLIM_EFFORT_LOOK));
  cr_assert_eq(reads, 0);
  cr_assert_eq(plim_effort_left_ns(ctx), INT64_MAX);
  plim_context_free(ctx);
}

Test(effort, the_clock_is_read_once_for_so_much_work_and_the_end_is_remembered) {
  int64_t reads = 0;
  plim_context *ctx = context_with_clock(&reads);
  int64_t outer_ns = plim_effort_begin(ctx, 4);
  int32_t asked = 0;
  while (!plim_effort_over(ctx, PLIM_EFFORT_LOOK / 10)) asked++;
  cr_assert_eq(reads, 4);
  cr_assert(asked > 20 && asked <= 40, "%d", (int)asked);
  cr_assert(plim_effort_over(ctx, 7));
  cr_assert_eq(reads, 4);
  cr_assert_eq(plim_effort_late(ctx), 7);
  cr_assert_eq(plim_effort_end(ctx, outer_ns, PLIM_OK), PLIM_OK);
  plim_context_free(ctx);
}

Test(effort, the_end_of_a_part_is_not_the_end_of_the_whole) {
  int64_t reads = 0;
  plim_context *ctx = context_with_clock(&reads);
  int64_t none = plim_effort_begin(ctx, 1000), outer_ns = plim_effort_begin(ctx, 1);
  cr_assert_eq(plim_effort_deadline(ctx), 1);
  cr_assert_eq(plim_effort_begin(ctx, 500), 1); /* no part has more than the whole */
  cr_assert_eq(plim_effort_deadline(ctx), 1);
  cr_assert(plim_effort_over(ctx, 0));
  cr_assert_eq(plim_effort_end(ctx, outer_ns, PLIM_ECANCEL), PLIM_OK);
  cr_assert(!plim_effort_over(ctx, 0));
  int64_t held_ns = plim_effort_begin_last(ctx, 2000);
  cr_assert_eq(plim_effort_deadline(ctx), 2000);
  cr_assert_eq(plim_effort_end(ctx, held_ns, PLIM_ENOFIT), PLIM_ENOFIT);
  cr_assert_eq(plim_effort_deadline(ctx), 1000);
  plim_context_cancel(ctx);
  cr_assert_eq(plim_effort_end(ctx, none, PLIM_ECANCEL), PLIM_ECANCEL);
  plim_context_free(ctx);
}

/* ---- the planner ---- */

enum { MOST_LATE = 20000000 /* work after the end, about nanoseconds */ };
static const int64_t ends[] = {1, 2, 5, 20, 100, 500, 2000};
enum { ENDS = sizeof ends / sizeof *ends };

typedef struct shape {
  const char *name;
  int32_t n, unpacked, percent;
} shape;
static const shape shapes[] = {
    {"layered", 300, 0, 80}, {"layered", 3200, 1, 70}, {"transformer", 900, 0, 60}, {"chain", 3200, 0, 50}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Ends of the effort at several moments: a checked plan or a refusal, and little work after the end. */
static void plan_until(const shape *s, int64_t end_ns) {
  int64_t reads = 0;
  plim_context *ctx = context_with_clock(&reads);
  plim_generate_options generate = plim_generate_options_default(s->name);
  plim_plan_options options = plim_plan_options_default();
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  plim_plan *all = NULL, *plan = NULL;
  plim_plan_floor floor;
  generate.n = s->n;
  cr_assert_eq(plim_graph_generate(ctx, &generate, &graph), PLIM_OK);
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  options.unpacked = s->unpacked;
  int64_t none = plim_effort_begin(ctx, end_ns), before = plim_effort_late(ctx);
  cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &all), PLIM_OK, "%s", plim_context_error(ctx));
  options.budget_bytes = (s->unpacked ? all->peak_bytes : all->arena_bytes) / 100 * s->percent;
  plim_status status = plim_plan_make(ctx, graph, profile, &options, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s, %lld: %s", s->name, (long long)end_ns,
            plim_context_error(ctx));
  if (plan) cr_assert_eq(plim_plan_check(ctx, graph, plan), PLIM_OK);
  status = plim_plan_smallest(ctx, graph, profile, &options, &floor, NULL);
  cr_assert_eq(status, PLIM_OK, "%s, %lld: %s", s->name, (long long)end_ns, plim_context_error(ctx));
  cr_assert(floor.cut_short);
  int64_t late = plim_effort_late(ctx) - before;
  cr_assert_lt(late, MOST_LATE, "%s, %lld: %lld", s->name, (long long)end_ns, (long long)late);
  cr_assert_eq(plim_effort_end(ctx, none, PLIM_OK), PLIM_OK);
  plim_plan_free(plan);
  plim_plan_free(all);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(ctx);
}

Test(effort, a_plan_or_a_refusal_comes_soon_after_the_end_whenever_that_is) {
  for (int s = 0; s < SHAPES; s++) {
    for (int e = 0; e < ENDS; e++) plan_until(&shapes[s], ends[e]);
  }
}

enum { READ = 200000 /* by one op; their squares would take many seconds */ };

/* READ ops that the last one reads. */
static plim_graph *star(plim_context *ctx) {
  enum { OP_BYTES = 128 };
  size_t room = (READ + 2) * (size_t)OP_BYTES, used = 0;
  char *text = malloc(room);
  plim_graph *graph = NULL;
  cr_assert(text);
  used += (size_t)snprintf(text, room, "{\"directed\": true, \"multigraph\": false, \"graph\": {}, \"nodes\": [");
  for (int32_t v = 0; v <= READ; v++) {
    used += (size_t)snprintf(text + used, room - used, "%s{\"id\": %d, \"out_cost\": 1, \"duration\": 1}",
                             v ? ", " : "", v);
  }
  used += (size_t)snprintf(text + used, room - used, "], \"links\": [");
  for (int32_t v = 0; v < READ; v++) {
    used += (size_t)snprintf(text + used, room - used, "%s{\"source\": %d, \"target\": %d}", v ? ", " : "", v, READ);
  }
  used += (size_t)snprintf(text + used, room - used, "]}");
  cr_assert_eq(plim_graph_import_text(ctx, "nx", "star", text, (int64_t)used, &graph), PLIM_OK, "%s",
               plim_context_error(ctx));
  free(text);
  return graph;
}

Test(effort, what_an_op_of_very_many_reads_misses_is_made_in_linear_time_and_until_the_end_of_the_effort) {
  enum { MOST_SECONDS = 2 };
  int64_t reads = 0;
  plim_context *ctx = context_with_clock(&reads);
  plim_graph *graph = star(ctx);
  plim_profile *profile = NULL;
  plim_problem *problem = NULL;
  plim_plan_options options = plim_plan_options_default();
  plim_demand demand = {0};
  plim_schedule schedule = {.ctx = ctx};
  cr_assert_eq(plim_profile_from_graph(graph, &profile), PLIM_OK);
  cr_assert_eq(plim_problem_make(ctx, graph, profile, &options, PLIM_CLASS_FIXED, &problem), PLIM_OK);
  cr_assert_eq(plim_demand_make(problem, &demand), PLIM_OK);
  plim_demand_begin(&demand, &schedule, INT32_MAX);
  clock_t begin = clock();
  cr_assert_eq(plim_demand_run(&demand, READ), PLIM_OK);
  cr_assert_lt(clock() - begin, MOST_SECONDS * CLOCKS_PER_SEC);
  cr_assert_eq(schedule.n, READ + 1);
  for (int32_t j = 0; j <= READ; j++) cr_assert_eq(schedule.op[j], j);
  plim_demand_begin(&demand, &schedule, INT32_MAX);
  int64_t none = plim_effort_begin(ctx, 3);
  cr_assert_eq(plim_demand_run(&demand, READ), PLIM_ECANCEL);
  cr_assert(schedule.n > 0 && schedule.n < 1000, "%d", schedule.n);
  cr_assert_eq(plim_effort_end(ctx, none, PLIM_OK), PLIM_OK);
  plim_schedule_free(&schedule);
  plim_demand_free(&demand);
  plim_problem_free(problem);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(ctx);
}

/* ---- the packer ---- */

static plim_box *overlapping(int32_t n, int64_t *sum) {
  plim_box *box = malloc((size_t)n * sizeof *box);
  uint64_t random = test_seed(3);
  cr_assert(box);
  *sum = 0;
  for (int32_t i = 0; i < n; i++) {
    box[i] = (plim_box){i, n + i, 512 * test_random_between(&random, 1, 2000), -1};
    *sum += box[i].bytes;
  }
  return box;
}

Test(effort, very_many_buffers_that_all_overlap_are_packed_when_there_is_no_time) {
  enum { MANY = 100000 };
  int64_t reads = 0, sum, packed_bytes, *offset = malloc(MANY * sizeof *offset);
  plim_context *ctx = context_with_clock(&reads);
  plim_box *box = overlapping(MANY, &sum);
  plim_boxes boxes = {.n = MANY, .align = 512, .box = box};
  cr_assert(offset);
  int64_t none = plim_effort_begin(ctx, 1);
  cr_assert_eq(plim_pack(ctx, &boxes, (plim_pack_goal){.rounds = 24}, offset, &packed_bytes, NULL), PLIM_OK);
  cr_assert_eq(packed_bytes, sum);
  cr_assert_eq(plim_boxes_check(ctx, &boxes, offset, INT64_MAX, packed_bytes), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_lt(plim_effort_late(ctx), MOST_LATE);
  cr_assert_eq(plim_effort_end(ctx, none, PLIM_OK), PLIM_OK);
  free(box);
  free(offset);
  plim_context_free(ctx);
}

Test(effort, boxes_stacked_on_the_skyline_never_overlap) {
  enum { N = 300, ROUNDS = 50 };
  plim_context *ctx = NULL;
  uint64_t random = test_seed(5);
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  for (int round = 0; round < ROUNDS; round++) {
    int32_t n = (int32_t)test_random_between(&random, 1, N), order[N];
    int64_t offset[N], longest = test_random_between(&random, 1, N);
    plim_box box[N];
    plim_units units;
    plim_skyline *skyline = NULL;
    for (int32_t b = 0; b < n; b++) {
      int64_t begin = test_random_between(&random, 0, N), length = test_random_between(&random, 1, longest);
      box[b] = (plim_box){begin, begin + length, test_random_between(&random, 1, 100), -1};
      order[b] = b;
    }
    plim_boxes boxes = {.n = n, .align = 1, .box = box};
    cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
    cr_assert_eq(plim_skyline_new(&units, &skyline), PLIM_OK);
    int64_t packed_bytes = plim_skyline_run(skyline, order, offset);
    cr_assert_geq(packed_bytes, units.peak_units);
    cr_assert_eq(plim_boxes_check(ctx, &boxes, offset, INT64_MAX, packed_bytes), PLIM_OK, "%s",
                 plim_context_error(ctx));
    plim_skyline_free(skyline);
    plim_units_free(&units);
  }
  plim_context_free(ctx);
}

Test(effort, a_part_of_a_limit_is_a_limit) {
  const int64_t limit[] = {1, 2, 99, 100, 12345, INT64_MAX};
  for (size_t i = 0; i < sizeof limit / sizeof *limit; i++) {
    cr_assert_geq(plim_effort_percent(limit[i], 25), 1, "%lld", (long long)limit[i]);
    cr_assert_eq(plim_effort_percent(limit[i], 100), limit[i]);
    cr_assert_geq(plim_effort_share(limit[i], 1000), 1);
    cr_assert_eq(plim_effort_share(limit[i], 1), limit[i]);
    cr_assert_geq(plim_effort_rest(limit[i], plim_now_ns() - INT64_C(1000000)), 1);
  }
  cr_assert_eq(plim_effort_percent(0, 25), 0);
  cr_assert_eq(plim_effort_share(0, 4), 0);
  cr_assert_eq(plim_effort_rest(0, plim_now_ns()), 0, "no limit has no part");
}
