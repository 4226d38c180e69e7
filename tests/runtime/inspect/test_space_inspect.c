/* runtime/inspect/space_inspect.c: queues, waits and reasons of a plan written by hand, whose times are known. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/spaces/problem/space_problem.h"
#include "runtime/import/importers.h"
#include "runtime/inspect/space_inspect.h"
#include "tests/support/test_context.h"

/* a, b reads a, c reads b, d reads c and a: 10, 20, 30, 40 ns on one device; a is paged out while b and c run. */
static const char text[] =
    "{\"graph\": {\"name\": \"hand\", \"devices\": [\"d\"]}, \"nodes\": ["
    "{\"id\": 0, \"name\": \"a\", \"out_cost\": 100, \"durations\": {\"d\": 10}, \"copies\": {}},"
    "{\"id\": 1, \"name\": \"b\", \"out_cost\": 50, \"durations\": {\"d\": 20}, \"copies\": {}},"
    "{\"id\": 2, \"name\": \"c\", \"out_cost\": 50, \"durations\": {\"d\": 30}, \"copies\": {}},"
    "{\"id\": 3, \"name\": \"d\", \"out_cost\": 10, \"durations\": {\"d\": 40}, \"copies\": {}}],"
    "\"links\": [{\"source\": 0, \"target\": 1}, {\"source\": 1, \"target\": 2}, {\"source\": 2, \"target\": 3},"
    "{\"source\": 0, \"target\": 3}]}\n";

enum { A, OUT, B, C, IN, D, COMMANDS };

typedef struct hand {
  plim_context *ctx;
  plim_graph *graph;
  plim_space_plan *plan;
  plim_space_inspect in;
} hand;

static int32_t storage(const hand *h, int32_t op) {
  return h->graph->op[op].writes[0];
}

/* Copies take 5 ns each: out [10, 15), in [60, 65). d begins at 65 and waits 5 for it. */
static void open_hand_with(hand *h, int32_t end_of_b, int32_t begin_of_c) {
  static const plim_space_device device[] = {{.name = "d", .space = 0}};
  static const plim_space_queue queue[] = {{.name = "d", .device = 0}, {.name = "d>s", .device = -1}};
  static const int32_t after_a[] = {A}, after_c[] = {OUT, C}, after_in[] = {IN};
  const plim_space_memory space[] = {{.name = "d", .budget_bytes = 180}, {.name = "s", .budget_bytes = INT64_MAX}};
  h->ctx = plim_test_context();
  cr_assert_eq(plim_import_nx(h->ctx, "hand.json", text, (int64_t)sizeof text - 1, &h->graph), PLIM_OK, "%s",
               plim_context_error(h->ctx));
  const int32_t a = storage(h, 0), b = storage(h, 1), c = storage(h, 2), d = storage(h, 3);
  const int32_t of_a[] = {a};
  const plim_space_command command[COMMANDS] = {
      [A] = {.kind = PLIM_SPACE_COMMAND_RUN, .op = 0, .time_ns = 10},
      [OUT] = {.kind = PLIM_SPACE_COMMAND_COPY,
               .queue = 1,
               .n_storages = 1,
               .storage = of_a,
               .to = 1,
               .n_wait = 1,
               .wait = after_a,
               .time_ns = 5},
      [B] = {.kind = PLIM_SPACE_COMMAND_RUN, .op = 1, .time_ns = 20},
      [C] = {.kind = PLIM_SPACE_COMMAND_RUN, .op = 2, .time_ns = 30},
      [IN] = {.kind = PLIM_SPACE_COMMAND_COPY,
              .queue = 1,
              .n_storages = 1,
              .storage = of_a,
              .from = 1,
              .n_wait = 1,
              .wait = after_c + 1,
              .time_ns = 5},
      [D] = {.kind = PLIM_SPACE_COMMAND_RUN, .op = 3, .n_wait = 1, .wait = after_in, .time_ns = 40}};
  const plim_space_buffer buffer[] = {{a, 0, A, C, 100},       {a, 1, OUT, IN + 1, 100},
                                      {b, 0, B, end_of_b, 50}, {c, 0, begin_of_c, D + 1, 50},
                                      {a, 0, IN, D + 1, 100},  {d, 0, D, D + 1, 10}};
  plim_space_plan draft = {.planner = "hand",
                           .n_devices = 1,
                           .n_spaces = 2,
                           .n_queues = 2,
                           .n_commands = COMMANDS,
                           .n_buffers = 6,
                           .device = device,
                           .space = space,
                           .queue = queue,
                           .command = command,
                           .buffer = buffer,
                           .deadline_ns = INT64_MAX};
  cr_assert_eq(plim_space_plan_from_parts(h->ctx, &draft, &h->plan), PLIM_OK, "%s", plim_context_error(h->ctx));
  cr_assert_eq(plim_space_inspect_open(h->ctx, h->graph, h->plan, &h->in), PLIM_OK);
}

static void open_hand(hand *h) {
  open_hand_with(h, C + 1, C);
}

static void close_hand(hand *h) {
  plim_space_inspect_close(&h->in);
  plim_space_plan_free(h->plan);
  plim_graph_free(h->graph);
  plim_test_context_end(h->ctx);
}

Test(space_inspect, a_queue_runs_or_stands_idle_and_the_wait_that_ends_last_is_the_cause) {
  hand h;
  int64_t idle;
  open_hand(&h);
  cr_expect_eq(plim_space_inspect_queue(&h.in, 1, 12).now, OUT);
  plim_space_queue_state s = plim_space_inspect_queue(&h.in, 1, 15);
  cr_expect_eq(s.now, -1);
  cr_expect_eq(s.next, IN);
  cr_expect_eq(s.idle_ns, 45);
  cr_expect_eq(s.caused_by, C);
  s = plim_space_inspect_queue(&h.in, 0, 62);
  cr_expect_eq(s.now, -1);
  cr_expect_eq(s.next, D);
  cr_expect_eq(s.caused_by, IN);
  cr_expect_eq(plim_space_inspect_cause(&h.in, D, &idle), IN);
  cr_expect_eq(idle, 5);
  cr_expect_eq(plim_space_inspect_cause(&h.in, B, &idle), -1);
  cr_expect_eq(idle, 0);
  cr_expect_eq(plim_space_inspect_queue(&h.in, 0, 105).next, -1);
  close_hand(&h);
}

Test(space_inspect, bytes_and_next_uses_are_those_of_the_buffers) {
  hand h;
  open_hand(&h);
  const int64_t live[] = {100, 100, 150, 100, 200, 160}; /* a is dropped as c begins */
  for (int32_t c = 0; c < COMMANDS; c++) {
    int64_t expected = c == IN ? 150 : live[c];
    cr_expect_eq(plim_space_inspect_live(&h.in, 0, c), expected, "command %d", c);
  }
  cr_expect_eq(plim_space_inspect_next_use(&h.in, storage(&h, 0), 0, A + 1), OUT);
  cr_expect_eq(plim_space_inspect_next_use(&h.in, storage(&h, 0), 0, C), D);
  cr_expect_eq(plim_space_inspect_next_use(&h.in, storage(&h, 0), 1, A), IN);
  close_hand(&h);
}

Test(space_inspect, a_gap_tells_what_was_missing_what_a_recompute_costs_and_what_the_link_has_free) {
  hand h;
  plim_space_gap *gap = NULL;
  plim_space_why why;
  int32_t n = 0;
  open_hand(&h);
  cr_assert_eq(plim_space_inspect_gaps(&h.in, &gap, &n), PLIM_OK);
  cr_assert_eq(n, 1);
  cr_expect_eq(gap[0].storage, storage(&h, 0));
  cr_expect_eq(gap[0].from, C);
  cr_expect_eq(gap[0].until, IN);
  cr_expect_eq(gap[0].paged, 1);
  cr_assert_eq(plim_space_inspect_why(&h.in, &gap[0], &why), PLIM_OK);
  cr_expect_eq(why.out, OUT);
  cr_expect_eq(why.next_use, D);
  cr_expect_eq(why.worst, C);
  cr_expect_eq(why.with_it_bytes, 200); /* b, c and a */
  cr_expect_eq(why.copy_ns, 10);
  cr_expect_eq(why.window_ns, 35);    /* from the end of b to the begin of d */
  cr_expect_eq(why.link_free_ns, 35); /* nobody else takes it */
  cr_expect_eq(why.can_recompute, 1);
  cr_expect_eq(why.recompute_runs, 1);
  cr_expect_eq(why.recompute_ns, 10);
  plim_release(h.ctx, gap, n, sizeof *gap);
  close_hand(&h);
}

Test(space_inspect, a_decision_sums_up_the_commands_of_a_storage) {
  hand h;
  plim_space_gap *gap = NULL;
  int32_t n = 0;
  open_hand(&h);
  cr_assert_eq(plim_space_inspect_gaps(&h.in, &gap, &n), PLIM_OK);
  const plim_space_decision a = plim_space_inspect_decision(&h.in, gap, n, storage(&h, 0));
  cr_expect(a.runs == 1 && a.copies == 2 && a.gap == 0 && a.device == 0);
  cr_expect_eq(a.time_ns, 10); /* of the copies alone */
  cr_expect_str_eq(plim_space_decision_name(&a), "page");
  const plim_space_decision b = plim_space_inspect_decision(&h.in, gap, n, storage(&h, 1));
  cr_expect(b.runs == 1 && b.copies == 0 && b.gap == PLIM_NONE && b.time_ns == 0);
  cr_expect_str_eq(plim_space_decision_name(&b), "keep");
  const plim_space_decision copied = {.runs = 1, .copies = 1, .gap = PLIM_NONE},
                            placed = {.device = 1, .gap = PLIM_NONE};
  const plim_space_decision again = {.runs = 2, .gap = 0}, both = {.runs = 2, .copies = 1, .gap = 0};
  cr_expect_str_eq(plim_space_decision_name(&copied), "copy");
  cr_expect_str_eq(plim_space_decision_name(&placed), "place");
  cr_expect_str_eq(plim_space_decision_name(&again), "recompute");
  cr_expect_str_eq(plim_space_decision_name(&both), "recompute, copy");
  plim_release(h.ctx, gap, n, sizeof *gap);
  close_hand(&h);
}

Test(space_inspect, a_recompute_copies_what_it_reads_and_another_space_has) {
  hand h;
  plim_space_why why;
  open_hand(&h);
  const plim_space_gap of_b = {.storage = storage(&h, 1), .space = 0, .from = C, .until = C}; /* a is paged out then */
  cr_assert_eq(plim_space_inspect_why(&h.in, &of_b, &why), PLIM_OK);
  cr_expect_eq(why.can_recompute, 1);
  cr_expect_eq(why.recompute_runs, 1);
  cr_expect_eq(why.recompute_copies, 1);
  cr_expect_eq(why.recompute_ns, 25); /* 5 of them for the copy */
  close_hand(&h);
}

/* Does the command read, write or copy the storage? */
static int uses(const hand *h, int32_t c, int32_t s) {
  const plim_space_command *m = &h->plan->command[c];
  const plim_op *op = &h->graph->op[m->op];
  int found = 0;
  for (int32_t i = 0; i < m->n_storages; i++) found |= m->storage[i] == s;
  if (m->kind == PLIM_SPACE_COMMAND_COPY) return found;
  for (int32_t i = 0; i < op->n_reads; i++) found |= op->reads[i] == s;
  for (int32_t i = 0; i < op->n_writes; i++) found |= op->writes[i] == s;
  return found;
}

Test(space_inspect, the_index_has_every_use_and_buffer_of_a_storage_once_and_in_order) {
  hand h;
  open_hand(&h);
  for (int32_t s = 0; s < h.graph->n_storages; s++) {
    int32_t use = h.in.use_first[s], at = h.in.buffer_first[s];
    for (int32_t c = 0; c < COMMANDS; c++) {
      if (uses(&h, c, s)) cr_expect_eq(h.in.use[use++], c);
    }
    for (int32_t i = 0; i < h.plan->n_buffers; i++) {
      if (h.plan->buffer[i].storage == s) cr_expect_eq(h.in.buffer[at++], i);
    }
    cr_expect_eq(use, h.in.use_first[s + 1]);
    cr_expect_eq(at, h.in.buffer_first[s + 1]);
  }
  close_hand(&h);
}

/* c and b run again for d; b and d read a. */
Test(space_inspect, what_two_recomputed_ops_read_is_copied_once) {
  hand h;
  plim_space_why why;
  open_hand_with(&h, C, IN);
  const plim_space_gap of_d = {.storage = storage(&h, 3), .space = 0, .from = C, .until = C};
  cr_assert_eq(plim_space_inspect_why(&h.in, &of_d, &why), PLIM_OK);
  cr_expect_eq(why.can_recompute, 1);
  cr_expect_eq(why.recompute_runs, 3);
  cr_expect_eq(why.recompute_copies, 1, "%d", why.recompute_copies);
  cr_expect_eq(why.recompute_ns, 40 + 30 + 20 + 5);
  close_hand(&h);
}
