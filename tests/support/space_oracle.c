/* Exhaustive searches over what is resident where. They share no code with a planner. */
#include "tests/support/space_oracle.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums: the shortest path ---- */

enum { STATES = 1 << 14, MOST_SUM = 2000 };

typedef struct oracle {
  const space_case *c;
  const int64_t *budget;
  int64_t best[STATES]; /* least time to a state: a mask of resident outputs a device */
  uint8_t done[STATES];
} oracle;

static int64_t resident_bytes(const space_case *c, int mask) {
  int64_t bytes = 0;
  for (int i = 0; i < c->n; i++) bytes += mask >> i & 1 ? c->bytes[i] : 0;
  return bytes;
}

static void relax(oracle *o, int state, int64_t time) {
  if (time < o->best[state]) o->best[state] = time;
}

static int inputs_of(const space_case *c, int op) {
  int mask = 0;
  for (int e = 0; e < c->n_edges; e++) mask |= c->edge[e][1] == op ? 1 << c->edge[e][0] : 0;
  return mask;
}

static void expand(oracle *o, int state) {
  const space_case *c = o->c;
  int n = c->n, full = (1 << n) - 1, mask[2] = {state & full, state >> n};
  for (int d = 0; d < 2; d++) {
    int64_t used = resident_bytes(c, mask[d]);
    for (int i = 0; i < n; i++) {
      int there = mask[d] >> i & 1, other = mask[1 - d] >> i & 1, bit = 1 << (i + d * n);
      if (there) relax(o, state & ~bit, o->best[state]);
      if (there || used + c->bytes[i] > o->budget[d]) continue;
      if (c->time[d][i] >= 0 && used + c->bytes[i] + c->workspace[i] <= o->budget[d] &&
          (mask[d] & inputs_of(c, i)) == inputs_of(c, i)) {
        relax(o, state | bit, o->best[state] + c->time[d][i]);
      }
      if (other) relax(o, state | bit, o->best[state] + c->copy[1 - d][i]);
    }
  }
}

/* Least time until the last op's output is anywhere; -1: never. States are few: the next is found by looking at all. */
static int64_t least_sum(oracle *o) {
  int n = o->c->n, states = 1 << 2 * n;
  for (int s = 0; s < states; s++) o->best[s] = INT64_MAX;
  memset(o->done, 0, sizeof o->done);
  o->best[0] = 0;
  /* times are small whole numbers: states by time, one bucket after another */
  for (int64_t time = 0; time < MOST_SUM; time++) {
    for (int again = 1; again;) {
      again = 0;
      for (int s = 0; s < states; s++) {
        if (o->done[s] || o->best[s] != time) continue;
        if ((s >> (n - 1) & 1) || (s >> (2 * n - 1) & 1)) return time;
        o->done[s] = 1;
        expand(o, s);
        again = 1;
      }
    }
  }
  return -1;
}

int64_t space_oracle_sum(const space_case *c, const int64_t *budget) {
  oracle *o = malloc(sizeof *o);
  cr_assert_not_null(o);
  cr_assert_leq(c->n, 7);
  *o = (oracle){.c = c, .budget = budget};
  int64_t least = least_sum(o);
  free(o);
  return least;
}

/* ---- the makespan: states one unit of time after another ---- */

/* What a queue does: 0 nothing, else 1 + 3 node + (units left - 1). */
enum { UNITS = 3, NODES = 5, ALL = 1 << 22, MOST_TIME = 200 };

typedef struct moment {
  int here, there;  /* masks of what is filled */
  int run, out, in; /* queues */
} moment;

typedef struct timed {
  const space_case *c;
  int64_t budget;
  int duplex, page;
  uint8_t *seen; /* [ALL] */
  uint32_t *now, *next;
  int n_now, n_next;
} timed;

static uint32_t pack(const moment *m) {
  return (uint32_t)(m->here | m->there << 5 | m->run << 10 | m->out << 14 | m->in << 18);
}

static moment unpack(uint32_t state) {
  return (moment){state & 31, state >> 5 & 31, state >> 10 & 15, state >> 14 & 15, state >> 18 & 15};
}

static int node_of(int queue) {
  return (queue - 1) / UNITS;
}

static int begin_of(int node, int64_t units) {
  return 1 + node * UNITS + (int)units - 1;
}

static void add_now(timed *t, const moment *m) {
  uint32_t state = pack(m);
  if (t->seen[state]) return;
  t->seen[state] = 1;
  t->now[t->n_now++] = state;
}

static int64_t used_bytes(const timed *t, const moment *m) {
  int64_t bytes = resident_bytes(t->c, m->here);
  if (m->run) bytes += t->c->bytes[node_of(m->run)];
  if (m->in) bytes += t->c->bytes[node_of(m->in)];
  return bytes;
}

/* What a command reads stays while it runs. */
static int pinned(const timed *t, const moment *m) {
  return (m->run ? inputs_of(t->c, node_of(m->run)) : 0) | (m->out ? 1 << node_of(m->out) : 0);
}

/* Everything that can begin or end at this moment. */
static void decide(timed *t, const moment *m) {
  const space_case *c = t->c;
  int coming = (m->run ? 1 << node_of(m->run) : 0) | (m->in ? 1 << node_of(m->in) : 0);
  for (int i = 0; i < c->n; i++) {
    int bit = 1 << i;
    moment to = *m;
    to.here &= ~bit;
    if ((m->here & bit) && !(pinned(t, m) & bit)) add_now(t, &to);
    int fits = used_bytes(t, m) + c->bytes[i] <= t->budget && !((m->here | coming) & bit);
    to = *m;
    to.run = begin_of(i, c->time[0][i]);
    if (!m->run && fits && (m->here & inputs_of(c, i)) == inputs_of(c, i)) add_now(t, &to);
    to = *m;
    to.in = begin_of(i, c->copy[1][i]);
    if (t->page && !m->in && (t->duplex || !m->out) && fits && (m->there & bit)) add_now(t, &to);
    to = *m;
    to.out = begin_of(i, c->copy[0][i]);
    if (t->page && !m->out && (t->duplex || !m->in) && (m->here & bit) && !(m->there & bit)) add_now(t, &to);
  }
}

static void pass_unit(int *queue, int *filled) {
  if (*queue == 0) return;
  if ((*queue - 1) % UNITS == 0) {
    *filled |= 1 << node_of(*queue);
    *queue = 0;
  } else {
    --*queue;
  }
}

/* States of a unit of time earlier than others: a state seen before is no better later. */
static int64_t least_makespan(timed *t) {
  const moment empty = {0, 0, 0, 0, 0};
  add_now(t, &empty);
  for (int64_t time = 0; time < MOST_TIME; time++) {
    t->n_next = 0;
    for (int i = 0; i < t->n_now; i++) {
      moment m = unpack(t->now[i]);
      if (m.here >> (t->c->n - 1) & 1) return time;
      decide(t, &m);
      pass_unit(&m.run, &m.here);
      pass_unit(&m.in, &m.here);
      pass_unit(&m.out, &m.there);
      t->next[t->n_next++] = pack(&m);
    }
    uint32_t *now = t->now;
    int n_next = t->n_next;
    t->now = t->next;
    t->next = now;
    t->n_now = 0;
    for (int i = 0; i < n_next; i++) { /* in place: no more than are read */
      moment m = unpack(t->now[i]);
      add_now(t, &m);
    }
    if (t->n_now == 0) return -1;
  }
  return -1;
}

int64_t space_oracle_makespan(const space_case *c, int64_t budget, int duplex, int page) {
  timed t = {.c = c, .budget = budget, .duplex = duplex, .page = page};
  cr_assert_leq(c->n, NODES);
  t.seen = calloc(ALL, 1);
  t.now = malloc(ALL * sizeof *t.now);
  t.next = malloc(ALL * sizeof *t.next);
  cr_assert(t.seen && t.now && t.next);
  int64_t least = least_makespan(&t);
  free(t.seen);
  free(t.now);
  free(t.next);
  return least;
}
