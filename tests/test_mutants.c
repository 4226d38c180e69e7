/* The checker against 6,000 changed plans of 30 kinds: what an independent judge calls wrong is refused, every one.
 *
 * After a change the figures are made to fit where they can be, so that the meaning alone is wrong. The seed is
 * printed; PLIM_TEST_SEED sets another. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/graph/check.h"
#include "runtime/graph/generate.h"
#include "tests/support/context.h"
#include "tests/support/judge.h"
#include "tests/support/plan_draft.h"
#include "tests/support/random.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"

/* ---- base plans: random ones, and planners' ones of random and generated graphs ---- */

enum { BASES = 60, EACH = 200 };

typedef struct base {
  plim_graph *graph;
  plim_plan *plan;
} base;

static plim_graph *base_graph(plim_context *ctx, int i, uint64_t seed) {
  plim_graph *graph = NULL;
  random_graph_options g = random_graph_options_default(seed);
  plim_generate_options l = plim_generate_options_default("layered");
  plim_status status;
  g.max_bytes = 3000;
  l.n = 20 + i;
  l.seed = seed;
  l.packed = i % 2;
  if (i % 3 == 0) {
    status = random_chain_make(ctx, 2 + i % 9, seed, &graph);
  } else {
    status = i % 3 == 1 ? random_graph_make(ctx, &g, &graph) : plim_graph_generate(ctx, &l, &graph);
  }
  cr_assert_eq(status, PLIM_OK, "base %d: %s", i, plim_context_error(ctx));
  return graph;
}

/* A plan of the planner's at a share of what keep-all needs; the first that there is. */
static plim_plan *planned(plim_context *ctx, const plim_graph *graph, const plim_profile *profile, int unpacked) {
  plim_plan_options o = plim_plan_options_default();
  plim_plan *all = NULL, *plan = NULL;
  o.unpacked = unpacked;
  o.iterations = 100;
  cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &o, &all), PLIM_OK, "%s", plim_context_error(ctx));
  for (int percent = 85; percent <= 100 && !plan; percent += 5) {
    o.budget_bytes = (unpacked ? all->peak_bytes : all->arena_bytes) / 100 * percent + 100;
    if (plim_plan_make(ctx, graph, profile, &o, &plan) != PLIM_OK) plan = NULL;
  }
  plim_plan_free(all);
  cr_assert_not_null(plan);
  return plan;
}

static base make_base(plim_context *ctx, int i, uint64_t seed) {
  base b = {base_graph(ctx, i, seed), NULL};
  plim_profile *profile = NULL;
  random_plan_options r = random_plan_options_default(seed);
  plim_status status =
      i % 3 == 2 ? plim_profile_from_graph(b.graph, &profile) : random_profile_make(b.graph, seed, 3, &profile);
  cr_assert_eq(status, PLIM_OK, "base %d: %s", i, plim_context_error(ctx));
  if (i % 3 == 2 || i % 4 == 3) {
    b.plan = planned(ctx, b.graph, profile, i % 2 == 0);
  } else {
    r = (random_plan_options){.seed = seed,
                              .shuffle_percent = 25,
                              .repeat_percent = 30,
                              .pair_percent = 60,
                              .merge_percent = 50,
                              .packed = i % 8 != 4};
    status = random_plan_make(b.graph, profile, &r, &b.plan);
    cr_assert_eq(status, PLIM_OK, "base %d: %s", i, plim_context_error(ctx));
  }
  plim_profile_free(profile);
  cr_assert_eq(plim_plan_check(ctx, b.graph, b.plan), PLIM_OK, "base %d: %s", i, plim_context_error(ctx));
  cr_assert_null(judge_plan(b.graph, b.plan), "base %d: %s", i, judge_plan(b.graph, b.plan));
  return b;
}

/* ---- changes: 1 when there was something to change ---- */

typedef struct mutant {
  plan_draft d;
  const plim_graph *graph;
  uint64_t *random;
} mutant;

static int32_t draw(const mutant *m, int64_t low, int64_t high) {
  return (int32_t)test_random_between(m->random, low, high);
}

static plim_life *any_life(mutant *m) {
  return &m->d.life[draw(m, 0, m->d.plan.n_lives - 1)];
}

static plim_step *any_step(mutant *m) {
  return &m->d.step[draw(m, 0, m->d.plan.n_steps - 1)];
}

static plim_life *workspace_of(mutant *m, int32_t j) {
  for (int32_t i = 0; i < m->d.plan.n_lives; i++) {
    if (m->d.life[i].storage < 0 && m->d.life[i].begin == j) return &m->d.life[i];
  }
  return NULL;
}

static void remove_life(mutant *m, plim_life *life) {
  *life = m->d.life[--m->d.plan.n_lives];
}

static void swap_steps(mutant *m, int32_t i, int32_t j) {
  plim_life *a = workspace_of(m, i), *b = workspace_of(m, j);
  plim_step kept = m->d.step[i];
  m->d.step[i] = m->d.step[j];
  m->d.step[j] = kept;
  if (a) a->begin = j, a->end = j + 1;
  if (b) b->begin = i, b->end = i + 1;
}

/* Lives that ran over the step go on over what comes in its place. */
static void remove_step(mutant *m, int32_t at) {
  plim_plan *p = &m->d.plan;
  memmove(&m->d.step[at], &m->d.step[at + 1], (size_t)(p->n_steps - at - 1) * sizeof *m->d.step);
  p->n_steps--;
  for (int32_t i = p->n_lives - 1; i >= 0; i--) {
    plim_life *life = &m->d.life[i];
    int workspace = life->storage < 0 && life->begin == at;
    life->begin -= life->begin > at;
    life->end -= life->end > at;
    if (workspace || life->end <= life->begin) remove_life(m, life);
  }
}

static void insert_step(mutant *m, int32_t at, plim_step step, plim_life workspace) {
  plim_plan *p = &m->d.plan;
  int32_t last = p->n_steps;
  memmove(&m->d.step[at + 1], &m->d.step[at], (size_t)(p->n_steps - at) * sizeof *m->d.step);
  m->d.step[at] = step;
  p->n_steps++;
  for (int32_t i = 0; i < p->n_lives; i++) {
    m->d.life[i].begin += m->d.life[i].begin >= at;
    m->d.life[i].end += m->d.life[i].end > at || m->d.life[i].end == last;
  }
  if (workspace.bytes == 0) return;
  workspace.begin = at;
  workspace.end = at + 1;
  m->d.life[p->n_lives++] = workspace;
}

static plim_life copy_of_workspace(mutant *m, int32_t j) {
  const plim_life *life = workspace_of(m, j);
  return life ? *life : (plim_life){.bytes = 0};
}

static void move_step(mutant *m, int32_t from, int32_t to) {
  plim_step step = m->d.step[from];
  plim_life workspace = copy_of_workspace(m, from);
  remove_step(m, from);
  insert_step(m, to < m->d.plan.n_steps ? to : m->d.plan.n_steps, step, workspace);
}

/* A step that satisfies what is asked, from a random one on; -1: none. */
typedef int asked(const mutant *m, int32_t j);
static int32_t find_step(mutant *m, asked *wanted) {
  int32_t n = m->d.plan.n_steps, from = draw(m, 0, n - 1);
  for (int32_t i = 0; i < n; i++) {
    if (wanted(m, (from + i) % n)) return (from + i) % n;
  }
  return -1;
}

static int is_repeat(const mutant *m, int32_t j) {
  for (int32_t i = 0; i < j; i++) {
    if (m->d.step[i].op == m->d.step[j].op) return 1;
  }
  return 0;
}
static int is_effect(const mutant *m, int32_t j) {
  return m->graph->op[m->d.step[j].op].cls == PLIM_OP_EFFECT;
}
static int has_pair(const mutant *m, int32_t j) {
  return m->d.step[j].n_pairs > 0;
}
static int may_pair(const mutant *m, int32_t j) {
  return m->d.step[j].n_pairs == 0 && m->graph->op[m->d.step[j].op].n_pairs > 0;
}
static int has_workspace(const mutant *m, int32_t j) {
  return m->d.plan.variant[m->d.step[j].variant].variant.workspace_bytes > 0;
}

static int swap_neighbours(mutant *m) {
  if (m->d.plan.n_steps < 2) return 0;
  int32_t j = draw(m, 0, m->d.plan.n_steps - 2);
  swap_steps(m, j, j + 1);
  return 1;
}

static int swap_far(mutant *m) {
  swap_steps(m, draw(m, 0, m->d.plan.n_steps - 1), draw(m, 0, m->d.plan.n_steps - 1));
  return 1;
}

static int move_any_step(mutant *m) {
  move_step(m, draw(m, 0, m->d.plan.n_steps - 1), draw(m, 0, m->d.plan.n_steps - 1));
  return 1;
}

static int drop_step(mutant *m) {
  if (m->d.plan.n_steps < 2) return 0;
  remove_step(m, draw(m, 0, m->d.plan.n_steps - 1));
  return 1;
}

static int repeat_step(mutant *m) {
  int32_t j = draw(m, 0, m->d.plan.n_steps - 1);
  plim_step step = m->d.step[j];
  step.n_pairs = 0;
  insert_step(m, draw(m, j + 1, m->d.plan.n_steps), step, copy_of_workspace(m, j));
  return 1;
}

static int run_another_op(mutant *m) {
  plim_step *step = any_step(m);
  const plim_step *other = any_step(m);
  step->op = other->op;
  step->variant = other->variant;
  return 1;
}

/* The earlier copy stays instead of being computed again. */
static int drop_recompute(mutant *m) {
  int32_t j = find_step(m, is_repeat);
  if (j < 0) return 0;
  const plim_op *op = &m->graph->op[m->d.step[j].op];
  for (int32_t o = 0; o < op->n_out; o++) {
    int32_t storage = m->graph->value[op->out[o]].storage;
    plim_life *again = NULL, *before = NULL;
    for (int32_t i = 0; i < m->d.plan.n_lives; i++) {
      plim_life *life = &m->d.life[i];
      if (life->storage == storage && life->begin == j) again = life;
      if (life->storage == storage && life->end <= j && (!before || life->end > before->end)) before = life;
    }
    if (!again || !before || test_random_chance(m->random, 30)) continue;
    before->end = again->end;
    remove_life(m, again);
  }
  remove_step(m, j);
  return 1;
}

static int move_update(mutant *m) {
  int32_t j = find_step(m, is_effect);
  if (j < 0) return 0;
  move_step(m, j, draw(m, 0, m->d.plan.n_steps - 1));
  return 1;
}

static int swap_updates(mutant *m) {
  int32_t i = find_step(m, is_effect), j = find_step(m, is_effect);
  if (i < 0 || i == j) return 0;
  swap_steps(m, i, j);
  return 1;
}

static int repeat_update(mutant *m) {
  int32_t j = find_step(m, is_effect);
  if (j < 0) return 0;
  insert_step(m, draw(m, j + 1, m->d.plan.n_steps), m->d.step[j], copy_of_workspace(m, j));
  return 1;
}

static int change_variant(mutant *m) {
  any_step(m)->variant = draw(m, 0, m->d.plan.n_variants - 1);
  return 1;
}

static int relabel_repeat(mutant *m) {
  int32_t j = find_step(m, is_repeat), row = m->d.plan.n_variants;
  if (j < 0) return 0;
  m->d.variant[row] = m->d.variant[m->d.step[j].variant];
  m->d.variant[row].variant.name[0] ^= 1;
  m->d.variant[row].variant.label[0] ^= 1;
  m->d.step[j].variant = row;
  m->d.plan.n_variants++;
  return 1;
}

static int need_more_workspace(mutant *m) {
  m->d.variant[draw(m, 0, m->d.plan.n_variants - 1)].variant.workspace_bytes += draw(m, 1, 2000);
  return 1;
}

static int drop_workspace(mutant *m) {
  int32_t j = find_step(m, has_workspace);
  if (j < 0 || !workspace_of(m, j)) return 0;
  remove_life(m, workspace_of(m, j));
  return 1;
}

static int move_offset(mutant *m) {
  any_life(m)->offset += PLIM_ALIGN * (int64_t)draw(m, -8, 8);
  return m->d.plan.packed;
}

static int share_offset(mutant *m) {
  const plim_life *other = any_life(m);
  any_life(m)->offset = other->offset;
  return m->d.plan.packed;
}

static int misalign(mutant *m) {
  any_life(m)->offset += draw(m, 1, PLIM_ALIGN - 1);
  return m->d.plan.packed;
}

static int swap_offsets(mutant *m) {
  plim_life *a = any_life(m), *b = any_life(m);
  int64_t offset = a->offset;
  a->offset = b->offset;
  b->offset = offset;
  return m->d.plan.packed;
}

static int move_end(mutant *m) {
  any_life(m)->end += draw(m, -3, 3);
  return 1;
}

static int move_begin(mutant *m) {
  any_life(m)->begin += draw(m, -3, 3);
  return 1;
}

static int end_before_last_use(mutant *m) {
  plim_life *life = any_life(m);
  if (life->storage < 0 || life->end - life->begin < 2) return 0;
  life->end--;
  return 1;
}

static int join_lives(mutant *m) {
  plim_life *life = any_life(m);
  for (int32_t i = 0; i < m->d.plan.n_lives; i++) {
    plim_life *next = &m->d.life[i];
    if (next == life || next->storage != life->storage || life->storage < 0 || next->begin < life->end) continue;
    life->end = next->end;
    remove_life(m, next);
    return 1;
  }
  return 0;
}

static int split_life(mutant *m) {
  plim_life *life = any_life(m);
  if (life->end - life->begin < 2) return 0;
  plim_life *rest = &m->d.life[m->d.plan.n_lives++];
  *rest = *life;
  rest->begin = life->end = draw(m, life->begin + 1, life->end - 1);
  if (m->d.plan.packed && test_random_chance(m->random, 30)) rest->offset = m->d.plan.arena_bytes;
  return 1;
}

static int drop_life(mutant *m) {
  remove_life(m, any_life(m));
  return 1;
}

static int double_life(mutant *m) {
  plim_life life = *any_life(m);
  if (m->d.plan.packed && test_random_chance(m->random, 70)) life.offset = m->d.plan.arena_bytes;
  m->d.life[m->d.plan.n_lives++] = life;
  return 1;
}

static int swap_storages(mutant *m) {
  plim_life *a = any_life(m), *b = any_life(m);
  int32_t storage = a->storage;
  if (a->bytes != b->bytes || storage == b->storage) return 0;
  a->storage = b->storage;
  b->storage = storage;
  return 1;
}

static int change_bytes(mutant *m) {
  static const int64_t change[] = {1, -1, PLIM_ALIGN, -PLIM_ALIGN};
  any_life(m)->bytes += change[draw(m, 0, 3)];
  return 1;
}

static int drop_pair(mutant *m) {
  int32_t j = find_step(m, has_pair);
  if (j < 0) return 0;
  m->d.step[j].n_pairs--;
  return 1;
}

/* With lives shaped as a pair's would be, sometimes at one address. */
static int add_pair(mutant *m) {
  int32_t j = find_step(m, may_pair);
  if (j < 0) return 0;
  plim_step *step = &m->d.step[j];
  const plim_op *op = &m->graph->op[step->op];
  step->n_pairs = 1;
  step->pair[0] = op->pair[draw(m, 0, op->n_pairs - 1)];
  int32_t in = m->graph->value[op->in[step->pair[0].in]].storage;
  int32_t out = m->graph->value[op->out[step->pair[0].out]].storage;
  plim_life *a = NULL, *b = NULL;
  for (int32_t i = 0; i < m->d.plan.n_lives; i++) {
    plim_life *life = &m->d.life[i];
    if (life->storage == in && life->begin < j && j < life->end) a = life;
    if (life->storage == out && life->begin == j) b = life;
  }
  if (!a || !b) return 1;
  a->end = j;
  if (test_random_chance(m->random, 80)) b->offset = a->offset;
  return 1;
}

static int change_pair(mutant *m) {
  plim_step *step = any_step(m);
  step->n_pairs = 1;
  step->pair[0] = (plim_pair){draw(m, -1, PLIM_OP_MAX_OUT), draw(m, -1, PLIM_OP_MAX_IN)};
  return 1;
}

static int change_figure(mutant *m) {
  int64_t *const figure[] = {&m->d.plan.peak_bytes,  &m->d.plan.arena_bytes, &m->d.plan.time_ns,
                             &m->d.plan.keep_all_ns, &m->d.plan.bound_ns,    &m->d.plan.budget_bytes};
  int64_t *x = figure[draw(m, 0, 5)];
  if (*x == INT64_MAX) *x = m->d.plan.peak_bytes; /* no budget */
  *x += test_random_chance(m->random, 50) ? draw(m, -600, 600) : *x / 100 * draw(m, -30, 30);
  return 1;
}

static int claim(mutant *m) {
  plim_plan *p = &m->d.plan;
  switch (draw(m, 0, 4)) {
    case 0: /* nothing is lost */
      p->keep_all_ns = p->bound_ns = p->time_ns;
      p->proved = 1;
      break;
    case 1: /* less is lost */
      p->keep_all_ns += test_random_between(m->random, 0, p->time_ns - p->keep_all_ns);
      if (p->bound_ns < p->keep_all_ns) p->bound_ns = p->keep_all_ns;
      break;
    case 2: /* a gap of 0 */
      p->proved = 1;
      break;
    case 3: /* the best of a narrower class */
      p->plan_class = (plim_plan_class)draw(m, 0, PLIM_PLAN_CLASS_COUNT - 1);
      break;
    default: /* what the bound says is what keep-all takes */
      p->keep_all_ns = p->bound_ns;
  }
  return 1;
}

static int change_identity(mutant *m) {
  char *const at[] = {m->d.plan.fingerprint, m->d.plan.arithmetic.hash, m->d.plan.arithmetic.machine.cpu,
                      m->d.variant[draw(m, 0, m->d.plan.n_variants - 1)].variant.label};
  at[draw(m, 0, 3)][0] ^= 1;
  return 1;
}

static int leave_the_format(mutant *m) {
  plim_step *step = any_step(m);
  switch (draw(m, 0, 4)) {
    case 0:
      any_life(m)->space = draw(m, -1, 2);
      break;
    case 1:
      step->queue = draw(m, -1, 2);
      break;
    case 2:
      step->kind = PLIM_STEP_COPY;
      break;
    case 3:
      step->op = draw(m, -2, m->graph->n_ops + 1);
      break;
    default:
      any_life(m)->storage = draw(m, -2, m->graph->n_storages + 1);
  }
  return 1;
}

/* fit: figures are made right again, else the change is to them. */
static const struct {
  const char *name;
  int (*change)(mutant *m);
  int fit;
} kinds[] = {
    {"swap neighbours", swap_neighbours, 1},
    {"swap far", swap_far, 1},
    {"move step", move_any_step, 1},
    {"drop step", drop_step, 1},
    {"repeat step", repeat_step, 1},
    {"run another op", run_another_op, 1},
    {"drop recompute", drop_recompute, 1},
    {"move update", move_update, 1},
    {"swap updates", swap_updates, 1},
    {"repeat update", repeat_update, 1},
    {"change variant", change_variant, 1},
    {"relabel repeat", relabel_repeat, 1},
    {"more workspace", need_more_workspace, 1},
    {"drop workspace", drop_workspace, 1},
    {"move offset", move_offset, 1},
    {"share offset", share_offset, 1},
    {"misalign", misalign, 1},
    {"swap offsets", swap_offsets, 1},
    {"move end", move_end, 1},
    {"move begin", move_begin, 1},
    {"end before last use", end_before_last_use, 1},
    {"join lives", join_lives, 1},
    {"split life", split_life, 1},
    {"drop life", drop_life, 1},
    {"double life", double_life, 1},
    {"swap storages", swap_storages, 1},
    {"change bytes", change_bytes, 1},
    {"drop pair", drop_pair, 1},
    {"add pair", add_pair, 1},
    {"change pair", change_pair, 1},
    {"change figure", change_figure, 0},
    {"claim", claim, 0},
    {"change identity", change_identity, 0},
    {"leave the format", leave_the_format, 0},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- the run ---- */

typedef struct tally {
  int mutants, harmful, refused, survivors, harmless_refused;
} tally;

static int same_plan(const plim_plan *a, const plim_plan *b) {
  if (a->n_steps != b->n_steps || a->n_lives != b->n_lives || a->n_variants != b->n_variants) return 0;
  return memcmp(a->step, b->step, (size_t)a->n_steps * sizeof *a->step) == 0 &&
         memcmp(a->life, b->life, (size_t)a->n_lives * sizeof *a->life) == 0 &&
         memcmp(a->variant, b->variant, (size_t)a->n_variants * sizeof *a->variant) == 0 &&
         a->peak_bytes == b->peak_bytes && a->arena_bytes == b->arena_bytes && a->time_ns == b->time_ns &&
         a->keep_all_ns == b->keep_all_ns && a->bound_ns == b->bound_ns && a->budget_bytes == b->budget_bytes &&
         a->proved == b->proved && a->plan_class == b->plan_class && strcmp(a->fingerprint, b->fingerprint) == 0 &&
         memcmp(&a->arithmetic, &b->arithmetic, sizeof a->arithmetic) == 0;
}

static void decide(plim_context *ctx, const base *b, const plim_plan *plan, const char *kind, uint64_t seed, tally *t) {
  const char *why = judge_plan(b->graph, plan);
  int refused = plim_plan_check(ctx, b->graph, plan) != PLIM_OK;
  t->mutants++;
  t->harmful += why != NULL;
  t->refused += refused;
  t->harmless_refused += refused && !why;
  t->survivors += why && !refused;
  cr_expect(!why || refused, "seed %llu, kind %s: accepted, but wrong: %s", (unsigned long long)seed, kind, why);
}

/* One mutant of the kind, or 0 when the base has nothing to change. */
static int try_kind(plim_context *ctx, const base *b, int kind, uint64_t seed, tally *t) {
  uint64_t random = seed;
  mutant m = {plan_draft_make(b->plan), b->graph, &random};
  plim_plan *fitted = NULL;
  int changed = m.d.plan.n_lives > 0 && kinds[kind].change(&m) && !same_plan(&m.d.plan, b->plan);
  if (changed && kinds[kind].fit) {
    if (test_random_chance(&random, 70)) m.d.plan.budget_bytes = 1 << 26; /* what the interpreter can allocate */
    if (m.d.plan.bound_ns > m.d.plan.keep_all_ns) m.d.plan.bound_ns = m.d.plan.keep_all_ns;
    m.d.plan.proved = 0;
    if (plim_plan_from_parts(b->graph, &m.d.plan, &fitted) != PLIM_OK) fitted = NULL;
  }
  if (changed) decide(ctx, b, fitted ? fitted : &m.d.plan, kinds[kind].name, seed, t);
  plim_plan_free(fitted);
  plan_draft_free(&m.d);
  return changed;
}

Test(mutants, every_wrong_plan_of_34_kinds_of_change_is_refused) {
  const char *given = getenv("PLIM_TEST_SEED");
  uint64_t seed = given ? strtoull(given, NULL, 10) : 20240917, random = seed;
  plim_context *ctx = plim_test_context();
  static base bases[BASES];
  tally all = {0};
  printf("PLIM_TEST_SEED=%llu\n", (unsigned long long)seed);
  for (int i = 0; i < BASES; i++) bases[i] = make_base(ctx, i, test_random(&random));
  for (int k = 0; k < KINDS; k++) {
    tally t = {0};
    for (int tries = 0; t.mutants < EACH && tries < 100 * EACH; tries++) {
      (void)try_kind(ctx, &bases[test_random_between(&random, 0, BASES - 1)], k, test_random(&random), &t);
    }
    printf("%-20s %4d mutants, %4d harmful, %4d refused, %d survivors, %d harmless refused\n", kinds[k].name, t.mutants,
           t.harmful, t.refused, t.survivors, t.harmless_refused);
    cr_expect_eq(t.mutants, EACH, "%s", kinds[k].name);
    all.mutants += t.mutants;
    all.harmful += t.harmful;
    all.survivors += t.survivors;
    all.harmless_refused += t.harmless_refused;
    all.refused += t.refused;
  }
  printf("%d mutants, %d harmful, %d refused, %d survivors\n", all.mutants, all.harmful, all.refused, all.survivors);
  cr_assert_geq(all.mutants, 6000);
  cr_assert_gt(all.harmful, 4000);
  cr_assert_gt(all.mutants - all.refused, 100, "a checker that refuses everything proves nothing");
  for (int i = 0; i < BASES; i++) {
    plim_plan_free(bases[i].plan);
    plim_graph_free(bases[i].graph);
  }
  plim_test_context_end(ctx);
}
