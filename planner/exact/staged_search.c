/* Depth first over sets of repeats, driven by conflicts: where the schedule of what is decided has too many bytes, one
 * repeat that would help is tried, then forbidden. A set that fits ends its branch, since more repeats only cost. The
 * tree is complete; what leaves it unfinished is the effort allowed. Then large neighbourhoods: some repeats of the
 * best are given up and the rest is completed by short descents, whose choices are a little random. */
#include "planner/exact/staged_search.h"

#include "planner/exact/conflict.h"

enum { NEIGHBOURHOOD_NODES = 300, DESCENT_NODES = 1000, TREE_SHARE = 4 };

typedef struct tree {
  plim_staged_search *search;
  plim_conflicts c;
  plim_repeats now;
  plim_repeat *trail; /* [n_trail] what is forbidden on the way from the root */
  int32_t n_trail, room_trail;
  int64_t nodes, most_nodes, deadline_ns;
  int32_t stopped; /* 1: nodes or time ran out */
} tree;

static int may_go_on(tree *t) {
  plim_staged_search *s = t->search;
  if (t->nodes >= t->most_nodes || plim_context_cancelled(s->dag->ctx)) t->stopped = 1;
  if (t->deadline_ns < INT64_MAX && plim_now_ns() >= t->deadline_ns) t->stopped = 1;
  if (s->found && s->best_ns <= s->bound_ns) t->stopped = 1;
  return !t->stopped;
}

static plim_status keep_best(tree *t) {
  plim_staged_search *s = t->search;
  PLIM_TRY(plim_repeats_copy(&s->best, &t->now));
  s->best_ns = s->faster_than_ns = t->c.staged.time_ns;
  s->found = 1;
  return PLIM_OK;
}

static plim_status put_in(tree *t, plim_repeat r) {
  PLIM_TRY(plim_repeats_add(&t->now, r));
  t->c.count[r.node]++;
  return PLIM_OK;
}

static void take_out(tree *t, plim_repeat r) {
  int32_t i = 0;
  while (t->now.at[i].stage != r.stage || t->now.at[i].node != r.node) i++;
  plim_repeats_remove(&t->now, i);
  t->c.count[r.node]--;
}

/* Evaluate what is decided. *branch: the repeat to decide; 0 when this branch of the tree ends here. */
static plim_status visit(tree *t, plim_repeat *branch, int *goes_on) {
  plim_staged_search *s = t->search;
  int64_t bound;
  *goes_on = 0;
  if (!may_go_on(t)) return PLIM_OK;
  t->nodes++;
  PLIM_TRY(plim_staged_evaluate(&t->c.staged, &t->now));
  if (t->c.staged.time_ns >= s->faster_than_ns) return PLIM_OK;
  if (t->c.staged.peak_bytes <= s->limit_bytes) return keep_best(t);
  plim_conflicts_look(&t->c, &bound, branch);
  /* times come in steps of a unit */
  *goes_on = bound < INT64_MAX && t->c.staged.time_ns + bound <= s->faster_than_ns - s->dag->time_unit;
  return PLIM_OK;
}

static plim_status forbid(tree *t, plim_repeat r) {
  if (t->n_trail == t->room_trail) {
    int32_t room = 2 * t->room_trail + 64;
    PLIM_TRY(plim_resize_array(t->search->dag->ctx, &t->trail, t->room_trail, room, sizeof *t->trail));
    t->room_trail = room;
  }
  t->trail[t->n_trail++] = r;
  plim_conflicts_forbid(&t->c, r, 1);
  return PLIM_OK;
}

static plim_status descend(tree *t) {
  int32_t begin = t->n_trail;
  plim_status status;
  for (;;) {
    plim_repeat branch;
    int goes_on;
    PLIM_CHECK(visit(t, &branch, &goes_on));
    if (!goes_on) break;
    PLIM_CHECK(put_in(t, branch));
    status = descend(t);
    take_out(t, branch);
    PLIM_CHECK(status);
    PLIM_CHECK(forbid(t, branch));
  }
done:
  while (t->n_trail > begin) plim_conflicts_forbid(&t->c, t->trail[--t->n_trail], 0);
  return status;
}

/* The tree below `from` (borrowed), with so many nodes at most. */
static plim_status explore(tree *t, const plim_repeats *from, int64_t nodes, double noise) {
  int64_t left = t->search->nodes - t->nodes;
  t->most_nodes = t->nodes + (nodes < left ? nodes : left);
  t->stopped = 0;
  t->c.noise = noise;
  PLIM_TRY(plim_repeats_copy(&t->now, from));
  for (int32_t v = 0; v < t->search->dag->n; v++) t->c.count[v] = 0;
  for (int32_t i = 0; i < t->now.n; i++) t->c.count[t->now.at[i].node]++;
  return descend(t);
}

/* The best without the repeats of some stages, or of a random share. */
static plim_status give_up_part(tree *t, plim_repeats *out) {
  plim_random *random = &t->c.random;
  int32_t n = t->search->dag->n, low = plim_random_below(random, n);
  int32_t high = low + 1 + plim_random_below(random, n / 3 + 1);
  int scattered = plim_random_percent(random, 40), percent = 5 + plim_random_below(random, 50);
  PLIM_TRY(plim_repeats_copy(out, &t->search->best));
  for (int32_t i = out->n - 1; i >= 0; i--) {
    int inside = out->at[i].stage >= low && out->at[i].stage < high;
    if (scattered ? plim_random_percent(random, percent) : inside) plim_repeats_remove(out, i);
  }
  return PLIM_OK;
}

static int effort_is_left(tree *t) {
  t->most_nodes = t->search->nodes;
  t->deadline_ns = t->search->deadline_ns;
  t->stopped = 0;
  return may_go_on(t);
}

static plim_status improve(tree *t, const plim_repeats *start) {
  plim_staged_search *s = t->search;
  plim_repeats part = {.ctx = s->dag->ctx};
  plim_status status = PLIM_OK;
  while (effort_is_left(t)) {
    if (s->found) {
      PLIM_CHECK(give_up_part(t, &part));
    } else {
      PLIM_CHECK(plim_repeats_copy(&part, start));
    }
    PLIM_CHECK(explore(t, &part, s->found ? NEIGHBOURHOOD_NODES : DESCENT_NODES + 4 * (int64_t)s->dag->n, 1));
  }
done:
  plim_repeats_free(&part);
  return status;
}

/* When the tree has to be done: with a quarter of the time that is left. */
static int64_t tree_deadline(const plim_staged_search *s) {
  int64_t now = plim_now_ns();
  return s->deadline_ns == INT64_MAX ? INT64_MAX : now + (s->deadline_ns - now) / TREE_SHARE;
}

plim_status plim_staged_search_run(plim_staged_search *s, const plim_repeats *start) {
  plim_context *ctx = s->dag->ctx;
  plim_repeats empty = {.ctx = ctx};
  tree t = {.search = s, .now = {.ctx = ctx}, .deadline_ns = tree_deadline(s)};
  plim_status status;
  PLIM_CHECK(plim_conflicts_make(s->dag, s->copies, s->limit_bytes, &t.c));
  t.c.random = (plim_random){s->seed};
  if (start) PLIM_CHECK(explore(&t, start, DESCENT_NODES, 0));
  PLIM_CHECK(explore(&t, &empty, s->nodes / TREE_SHARE, 0));
  s->exhausted = !t.stopped;
  if (!s->exhausted) PLIM_CHECK(improve(&t, start ? start : &empty));
  if (plim_context_cancelled(ctx)) status = plim_fail(ctx, PLIM_ECANCEL, "planning was cancelled");
done:
  plim_conflicts_free(&t.c);
  plim_repeats_free(&t.now);
  plim_release(ctx, t.trail, t.room_trail, sizeof *t.trail);
  return status;
}
