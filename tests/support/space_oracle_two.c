/* The makespan on two devices: states one unit of time after another. Shares no code with a planner. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/space_oracle.h"

/* What a queue does: 0 nothing, else 1 + 3 node + (units left - 1). */
enum { UNITS = 3, NODES = 4, STATES = 1 << 24, MOST_TIME = 100 };

/* By device: masks of what is there, its run; copies to it. */
typedef struct moment {
  int has[2], run[2], copy[2];
} moment;

typedef struct timed {
  const space_case *c;
  const int64_t *budget;
  uint8_t *seen;
  uint32_t *now, *next;
  int n_now, n_next;
} timed;

static uint32_t pack(const moment *m) {
  return (uint32_t)(m->has[0] | m->has[1] << 4 | m->run[0] << 8 | m->run[1] << 12 | m->copy[0] << 16 |
                    m->copy[1] << 20);
}

static moment unpack(uint32_t s) {
  return (moment){{s & 15, s >> 4 & 15}, {s >> 8 & 15, s >> 12 & 15}, {s >> 16 & 15, s >> 20 & 15}};
}

static int node_of(int queue) {
  return (queue - 1) / UNITS;
}

static int begin_of(int node, int64_t units) {
  return 1 + node * UNITS + (int)units - 1;
}

static int bit_of(int queue) {
  return queue ? 1 << node_of(queue) : 0;
}

static void add_now(timed *t, const moment *m) {
  uint32_t state = pack(m);
  if (t->seen[state]) return;
  t->seen[state] = 1;
  t->now[t->n_now++] = state;
}

static int inputs_of(const space_case *c, int op) {
  int mask = 0;
  for (int e = 0; e < c->n_edges; e++) mask |= c->edge[e][1] == op ? 1 << c->edge[e][0] : 0;
  return mask;
}

/* Everything that can begin or end on device d at this moment. */
static void decide(timed *t, const moment *m, int d) {
  const space_case *c = t->c;
  int taken = m->has[d] | bit_of(m->run[d]) | bit_of(m->copy[d]);
  int pinned = (m->run[d] ? inputs_of(c, node_of(m->run[d])) : 0) | bit_of(m->copy[1 - d]);
  int64_t used = 0;
  for (int i = 0; i < c->n; i++) used += taken >> i & 1 ? c->bytes[i] : 0;
  for (int i = 0; i < c->n; i++) {
    int bit = 1 << i, room = !(taken & bit) && used + c->bytes[i] <= t->budget[d];
    moment to = *m;
    to.has[d] &= ~bit;
    if ((m->has[d] & bit) && !(pinned & bit)) add_now(t, &to);
    to = *m;
    to.run[d] = begin_of(i, c->time[d][i]);
    if (!m->run[d] && room && (m->has[d] & inputs_of(c, i)) == inputs_of(c, i)) add_now(t, &to);
    to = *m;
    to.copy[d] = begin_of(i, c->copy[1 - d][i]);
    if (!m->copy[d] && room && (m->has[1 - d] & bit)) add_now(t, &to);
  }
}

static void pass_unit(int *queue, int *filled) {
  if (*queue == 0) return;
  if ((*queue - 1) % UNITS == 0) {
    *filled |= bit_of(*queue);
    *queue = 0;
  } else {
    --*queue;
  }
}

static int64_t least_makespan(timed *t) {
  const moment empty = {{0, 0}, {0, 0}, {0, 0}};
  add_now(t, &empty);
  for (int64_t time = 0; time < MOST_TIME && t->n_now > 0; time++) {
    t->n_next = 0;
    for (int i = 0; i < t->n_now; i++) {
      moment m = unpack(t->now[i]);
      if ((m.has[0] | m.has[1]) >> (t->c->n - 1) & 1) return time;
      for (int d = 0; d < 2; d++) decide(t, &m, d);
      for (int d = 0; d < 2; d++) pass_unit(&m.run[d], &m.has[d]);
      for (int d = 0; d < 2; d++) pass_unit(&m.copy[d], &m.has[d]);
      t->next[t->n_next++] = pack(&m);
    }
    t->n_now = 0;
    for (int i = 0; i < t->n_next; i++) {
      moment m = unpack(t->next[i]);
      add_now(t, &m);
    }
  }
  return -1;
}

int64_t space_oracle_makespan_two(const space_case *c, const int64_t *budget) {
  timed t = {.c = c, .budget = budget};
  cr_assert_leq(c->n, NODES);
  t.seen = calloc(STATES, 1);
  t.now = malloc(STATES * sizeof *t.now);
  t.next = malloc(STATES * sizeof *t.next);
  cr_assert(t.seen && t.now && t.next);
  int64_t least = least_makespan(&t);
  free(t.seen);
  free(t.now);
  free(t.next);
  return least;
}
