/* Memory without addresses: every row of the published sweeps (overhead and score evaluations), and small programs. */
#include "runtime/simulate/ideal_memory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/effort.h"
#include "tests/support/dtr_logs.h"
#include "tests/support/failing_memory.h"

static plim_context *ctx;

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}

static void teardown(void) {
  plim_context_free(ctx);
}
TestSuite(ideal, .init = setup, .fini = teardown);

/* ---- golden sweeps: budgets of 10 % .. 90 % of the peak, "overhead/scores" ---- */

typedef struct sweep {
  const char *policy, *row;
} sweep;

static const sweep resnet32[] = {
    {"dtr",
     "thrash/32258 1.37108/9555 1.17825/5327 1.14039/4746 1.10678/4290 1.07367/3748 1.04626/2856 1.02483/1955 "
     "1.01314/1115"},
    {"dtr-eq",
     "oom/31431 1.33216/8837 1.17863/5182 1.14039/4746 1.10678/4290 1.07367/3748 1.04626/2856 1.02483/1955 "
     "1.01314/1115"},
    {"dtr-local",
     "oom/4376 thrash/59553 thrash/71734 thrash/75003 1.19653/5723 1.13331/3617 1.06746/2550 1.04135/1955 "
     "1.01314/1115"},
    {"msps",
     "oom/64388 1.43056/17438 1.20875/9687 1.14560/7082 1.10618/6846 1.06310/6128 1.03714/3959 1.02442/1955 "
     "1.01269/1115"},
    {"lru",
     "oom/1213 thrash/13271 thrash/26861 thrash/34749 thrash/41658 1.13008/5987 1.09519/5266 1.06725/4324 "
     "1.03229/2562"},
    {"size",
     "oom/5074 thrash/44665 thrash/35066 1.73842/25065 1.45163/14411 1.23363/6819 1.09249/2358 1.06456/1955 "
     "1.02987/1115"},
};
static const sweep unet[] = {
    {"dtr", "oom/0 oom/12034 oom/18128 oom/18728 1.15875/3745 1.13080/2626 1.08458/1579 1.05769/1317 1.03310/793"},
    {"dtr-eq", "oom/0 oom/13731 oom/21247 oom/18376 1.15875/3849 1.14893/2962 1.08458/1579 1.05769/1317 1.03310/793"},
    {"dtr-local",
     "oom/0 oom/13875 thrash/28917 oom/28205 1.84685/22012 1.13700/2233 1.09105/1404 1.05614/780 1.02786/463"},
    {"msps",
     "oom/0 oom/13728 1.58510/15380 1.24133/6109 1.13248/4418 1.08780/2602 1.04929/1512 1.03333/1011 1.01600/355"},
    {"lru", "oom/0 oom/4897 thrash/15707 oom/17467 thrash/19360 1.22452/6425 1.10417/3707 1.06195/2006 1.03869/788"},
    {"size", "oom/0 oom/13365 oom/25218 oom/17823 1.65908/9000 1.59207/6616 1.15844/2404 1.12810/2230 1.04343/598"},
};
static const sweep densenet121[] = {
    {"dtr",
     "oom/445672 1.67943/174219 1.44648/96915 1.27145/48336 1.17635/24259 1.14139/18568 1.10356/11313 1.06378/9557 "
     "1.02582/3982"},
    {"dtr-eq",
     "oom/447306 1.61601/159215 1.42579/81415 1.29280/52981 1.17635/24259 1.14139/18568 1.10356/11313 1.06378/9557 "
     "1.02582/3982"},
    {"dtr-local",
     "oom/457385 1.65033/194985 1.50897/104969 1.40153/72612 1.33464/30111 1.11815/12937 1.08671/11516 1.05416/6893 "
     "1.03011/4479"},
    {"msps",
     "oom/466390 1.46536/162952 1.33078/111806 1.23209/88065 1.16448/36644 1.11405/24816 1.09789/22094 1.05349/23608 "
     "1.02815/6554"},
    {"lru",
     "thrash/213342 thrash/438563 thrash/425710 thrash/773886 thrash/944306 thrash/991149 1.09554/27849 1.06227/21546 "
     "1.03099/11945"},
    {"size",
     "thrash/872660 thrash/556569 thrash/476766 thrash/473134 thrash/622933 1.21085/22240 1.15196/12789 1.07401/5155 "
     "1.05461/2915"},
};
enum { SWEEPS = sizeof resnet32 / sizeof *resnet32, BUDGETS = 9 };

/* One figure as the rows print it. */
static void print_figure(const plim_online_result *r, char *text, size_t size) {
  int64_t clock = r->total_ns + r->recomputed_ns + 1;
  if (r->end == PLIM_ONLINE_OK) {
    (void)snprintf(text, size, "%.5f/%lld", (double)clock / (double)r->total_ns, (long long)r->scores);
  } else {
    (void)snprintf(text, size, "%s/%lld", plim_online_end_name(r->end), (long long)r->scores);
  }
}

static void check_sweep(const plim_handles *h, const sweep *s) {
  int64_t peak = 0, total = plim_handles_total_ns(h);
  char found[64];
  const char *want = s->row;
  cr_assert_eq(plim_handles_peak(h, 0, &peak), PLIM_OK);
  for (int tenth = 1; tenth <= BUDGETS; tenth++) {
    plim_online_result r;
    size_t length = strcspn(want, " ");
    cr_assert_eq(plim_ideal_run(ctx, h, plim_policy_find(s->policy), peak * tenth / 10, total, &r), PLIM_OK);
    print_figure(&r, found, sizeof found);
    cr_expect(strlen(found) == length && strncmp(found, want, length) == 0, "%s at .%d: %s, not %.*s", s->policy, tenth,
              found, (int)length, want);
    want += length + (want[length] == ' ');
  }
}

static void check_sweeps(const char *name, const sweep *s) {
  plim_graph *g = dtr_published(ctx, name);
  for (int i = 0; i < SWEEPS; i++) check_sweep(g->handles, &s[i]);
  plim_graph_free(g);
}

Test(ideal, resnet32_sweep_is_the_published_one) {
  check_sweeps("resnet32", resnet32);
}
Test(ideal, unet_sweep_is_the_published_one) {
  check_sweeps("unet", unet);
}
Test(ideal, densenet121_sweep_is_the_published_one) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  check_sweeps("densenet121", densenet121);
}

/* ---- feasibility inversions of ResNet-32 under dtr, limit 20: ratio in thousandths, overhead ---- */

typedef struct inversion {
  int thousandths;
  const char *figure;
} inversion;

static const inversion inversions[] = {{97, "oom"},      {98, "2.22286"},  {101, "2.22286"}, {102, "oom"},
                                       {106, "oom"},     {107, "2.07676"}, {111, "3.21221"}, {116, "3.32986"},
                                       {125, "2.92404"}, {134, "2.88146"}, {147, "1.84302"}, {151, "1.83080"},
                                       {152, "1.59587"}, {160, "1.44537"}, {169, "2.29732"}, {170, "2.29674"},
                                       {186, "1.37586"}, {200, "1.37108"}, {209, "1.32367"}, {231, "1.25151"}};

Test(ideal, resnet32_has_the_published_inversions) {
  plim_graph *g = dtr_published(ctx, "resnet32");
  int64_t peak = 0, total = plim_handles_total_ns(g->handles);
  cr_assert_eq(plim_handles_peak(g->handles, 0, &peak), PLIM_OK);
  for (size_t i = 0; i < sizeof inversions / sizeof *inversions; i++) {
    plim_online_result r;
    char found[64];
    int64_t budget = peak * inversions[i].thousandths / 1000;
    cr_assert_eq(plim_ideal_run(ctx, g->handles, plim_policy_find("dtr"), budget, 20 * total, &r), PLIM_OK);
    print_figure(&r, found, sizeof found);
    cr_expect_eq(strncmp(found, inversions[i].figure, strlen(inversions[i].figure)), 0, ".%03d: %s, not %s",
                 inversions[i].thousandths, found, inversions[i].figure);
  }
  plim_graph_free(g);
}

/* ---- small programs ---- */

#define START "{\"ANNOTATION\":\"START\",\"INSTRUCTION\":\"ANNOTATE\"}\n"

/* A chain x0 .. xn of calls with 10 bytes each, whose last result is kept; all are read again from the end. */
static plim_graph *chain(int32_t n) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  char from[32], to[32], back[32] = "x0", args[100];
  plim_text_add(&log, START);
  dtr_constant(&log, "x0", 10);
  for (int32_t i = 1; i <= n; i++) {
    (void)snprintf(from, sizeof from, "x%d", i - 1);
    (void)snprintf(to, sizeof to, "x%d", i);
    dtr_call(&log, "f", from, to, 10, -1, 1);
  }
  (void)snprintf(back, sizeof back, "x%d", n);
  for (int32_t i = n - 1; i >= 1; i--) {
    (void)snprintf(args, sizeof args, "%s x%d", back, i);
    (void)snprintf(to, sizeof to, "g%d", i);
    dtr_call(&log, "b", args, to, 10, -1, 1);
    dtr_release(&log, back);
    (void)snprintf(from, sizeof from, "x%d", i);
    dtr_release(&log, from);
    (void)snprintf(back, sizeof back, "g%d", i);
  }
  plim_graph *g = dtr_graph(ctx, log.chars);
  plim_text_free(&log);
  return g;
}

Test(ideal, enough_memory_costs_nothing) {
  plim_graph *g = chain(20);
  int64_t peak = 0;
  plim_online_result r;
  cr_assert_eq(plim_handles_peak(g->handles, 0, &peak), PLIM_OK);
  for (int32_t i = 0; plim_policy_at(i); i++) {
    cr_assert_eq(plim_ideal_run(ctx, g->handles, plim_policy_at(i), peak, 0, &r), PLIM_OK);
    cr_expect(r.end == PLIM_ONLINE_OK && r.recomputed_ns == 0 && r.evictions == 0, "%s", plim_policy_at(i)->name);
  }
  plim_graph_free(g);
}

Test(ideal, long_chain_is_recomputed_without_recursion) {
  enum { LENGTH = 20000 };
  plim_graph *g = chain(LENGTH);
  plim_online_result r;
  int64_t total = plim_handles_total_ns(g->handles);
  cr_assert_eq(plim_ideal_run(ctx, g->handles, plim_policy_find("lru"), 40, 100 * total, &r), PLIM_OK);
  cr_expect_gt(r.depth, LENGTH / 2, "depth %lld", (long long)r.depth);
  plim_graph_free(g);
}

Test(ideal, what_does_not_fit_is_out_of_memory_and_limits_end_as_thrash) {
  plim_graph *g = chain(20);
  plim_online_result r;
  cr_assert_eq(plim_ideal_run(ctx, g->handles, plim_policy_find("dtr"), 29, 1000, &r), PLIM_OK);
  cr_expect_eq(r.end, PLIM_ONLINE_OOM);
  cr_assert_eq(plim_ideal_run(ctx, g->handles, plim_policy_find("dtr"), 50, 0, &r), PLIM_OK);
  cr_expect_eq(r.end, PLIM_ONLINE_THRASH);
  plim_graph_free(g);
}

Test(ideal, a_cancel_or_a_deadline_ends_the_simulation) {
  plim_graph *g = chain(2000);
  plim_online_result r = {.evictions = -1};
  plim_context_cancel(ctx);
  cr_expect_eq(plim_ideal_run(ctx, g->handles, plim_policy_find("dtr"), 60, 1000000, &r), PLIM_ECANCEL);
  plim_context_resume(ctx);
  int64_t outer_ns = plim_effort_begin(ctx, plim_now_ns() - 1);
  cr_expect_eq(plim_ideal_run(ctx, g->handles, plim_policy_find("dtr"), 60, 1000000, &r), PLIM_ECANCEL);
  cr_expect_eq(plim_effort_end(ctx, outer_ns, PLIM_OK), PLIM_OK);
  cr_expect_eq(r.evictions, -1, "the result is untouched");
  plim_graph_free(g);
}

static plim_status run_chain(plim_context *c, void *user) {
  plim_graph *g = user;
  plim_online_result r;
  return plim_ideal_run(c, g->handles, plim_policy_find("dtr-eq"), 60, 1000, &r);
}

Test(ideal, refused_allocation_leaves_nothing_after) {
  plim_graph *g = chain(10);
  cr_expect_gt(plim_test_each_allocation(run_chain, g), 5);
  plim_graph_free(g);
}

/* One call that reads a constant MANY times and makes as many tensors: 400,000,000 pairs, 3.2 GB. */
Test(ideal, a_call_of_more_pairs_than_are_kept_is_refused_before_memory_is_asked_for) {
  enum { MANY = 20000 };
  static plim_handle_tensor tensor[MANY + 1];
  static int32_t in[MANY], out[MANY];
  const plim_event event[] = {
      {.kind = PLIM_EVENT_CONSTANT},
      {.kind = PLIM_EVENT_CALL, .time_ns = 1, .n_in = MANY, .n_out = MANY, .in = in, .out = out}};
  const plim_handles handles = {.ctx = ctx, .n_tensors = MANY + 1, .n_events = 2, .tensor = tensor, .event = event};
  plim_online_result r;
  for (int32_t i = 0; i <= MANY; i++) tensor[i] = (plim_handle_tensor){.base = i, .bytes = 10};
  for (int32_t i = 0; i < MANY; i++) out[i] = i + 1;
  cr_assert_eq(plim_ideal_run(ctx, &handles, plim_policy_find("dtr"), 100 * MANY, 0, &r), PLIM_EOVERFLOW);
  cr_assert_not_null(strstr(plim_context_error(ctx), "400000000 pairs"), "%s", plim_context_error(ctx));
}
