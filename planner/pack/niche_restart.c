/* What a restart of niche search tries: a policy, an order of boxes, and compounds (niche.c). All are drawn at random
 * from the number of the restart; the first restarts are without noise in the order. Here is also what passes from one
 * restart to the next: weights of sections, and the offsets at the deepest node. */
#include <math.h>
#include <string.h>

#include "planner/pack/niche.h"
#include "planner/pack/pack_tuning.h"
#include "runtime/base/random.h"

enum { KEYS = 4 };

typedef plim_niche_shape shape;

/* What a restart tries; the first ones take turns without noise. */
typedef struct trial {
  plim_niche_policy policy;
  int32_t key, stacked, following; /* percent of compounds that are made where they can be */
  double noise;
  double waste, spare; /* of a loose compound, what may stay empty; of the slack of a section, what they may take */
} trial;

static trial draw(int32_t restart, plim_random *random) {
  static const int32_t percent[][2] = {{0, 0}, {100, 0}, {100, 100}, {50, 50}};
  enum { ROWS = sizeof percent / sizeof *percent };
  int32_t row = restart == 0 ? 0 : plim_random_below(random, ROWS);
  int loosely = restart > 0 && plim_random_percent(random, 50);
  return (trial){
      .policy = (plim_niche_policy)(restart % PLIM_POLICIES),
      .key = restart == 0 ? 0 : plim_random_below(random, KEYS),
      .waste = loosely ? pack_tuning.niche.waste * plim_random_unit(random) : 0,
      .spare = loosely ? pack_tuning.niche.spare * plim_random_unit(random) : 0,
      .stacked = percent[row][0],
      .following = percent[row][1],
      .noise = restart < pack_tuning.niche.quiet_restarts ? 0 : pack_tuning.niche.noise * plim_random_unit(random)};
}

static void set_keys(plim_niche *e, const trial *t, plim_random *random) {
  for (int32_t x = 0; x < e->n; x++) {
    double length = (double)(e->shape[x].last - e->shape[x].first), size = (double)e->shape[x].size;
    const double key[KEYS] = {length * size, length, size, length * length * size};
    e->key[x] = key[t->key] * (1 + t->noise * plim_random_unit(random));
  }
}

static double extent(const shape *b) {
  return (double)(b->last - b->first) * b->size;
}

/* Put what compound `from` has into compound `to`, `up` units above its bottom. */
static void join(plim_niche *e, int32_t to, int32_t from, int32_t up) {
  for (int32_t x = 0; x < e->n; x++) {
    if (e->owner[x] != from) continue;
    e->owner[x] = to;
    e->up[x] += up;
  }
  e->shape[from].size = 0;
}

/* Join two compounds if they can be and chance allows it. */
static int join_pair(plim_niche *e, int32_t x, int32_t y, const trial *t, plim_random *random) {
  shape *a = &e->shape[x];
  const shape *b = &e->shape[y];
  int32_t up = 0;
  if (x == y || b->size == 0) return 0;
  if (a->first == b->first && a->last == b->last && a->size <= e->capacity - b->size &&
      plim_random_percent(random, t->stacked)) {
    up = a->size;
    a->size += b->size;
  } else if (a->last == b->first && a->size == b->size && plim_random_percent(random, t->following)) {
    a->last = b->last;
  } else {
    return 0;
  }
  join(e, x, y, up);
  return 1;
}

static int32_t size_at(const shape *b, int32_t s) {
  return b->first <= s && s < b->last ? b->size : 0;
}

/* Join two compounds if little stays empty in the new one, and in no section more than may stay empty. Those that
 * overlap in time are stacked; of others the size is the larger. */
static int join_loosely(plim_niche *e, int32_t x, int32_t y, double waste) {
  shape *a = &e->shape[x];
  const shape b = e->shape[y];
  if (x == y || b.size == 0) return 0;
  int stacked = a->first < b.last && b.first < a->last;
  shape both = {a->first < b.first ? a->first : b.first, a->last > b.last ? a->last : b.last,
                stacked            ? a->size + b.size
                : a->size > b.size ? a->size
                                   : b.size};
  double whole = extent(&both);
  if (both.size > e->capacity || whole - extent(a) - extent(&b) > waste * whole) return 0;
  for (int32_t s = both.first; s < both.last; s++) {
    if (both.size - size_at(a, s) - size_at(&b, s) > e->spare[s]) return 0;
  }
  for (int32_t s = both.first; s < both.last; s++) e->spare[s] -= both.size - size_at(a, s) - size_at(&b, s);
  join(e, x, y, stacked ? a->size : 0);
  *a = both;
  return 1;
}

static void make_loose_compounds(plim_niche *e, const trial *t, plim_random *random) {
  for (int32_t s = 0; s < e->m; s++) e->spare[s] = e->capacity;
  for (int32_t x = 0; x < e->n; x++) {
    for (int32_t s = e->shape[x].first; s < e->shape[x].last; s++) e->spare[s] -= e->shape[x].size;
  }
  for (int32_t s = 0; s < e->m; s++) e->spare[s] = (int32_t)(e->spare[s] * t->spare);
  for (double waste = t->waste / 4; waste > 0 && waste <= t->waste; waste *= 2) {
    for (int changed = 1; changed;) {
      changed = 0;
      for (int32_t x = 0; x < e->n; x++) {
        int32_t start = plim_random_below(random, e->n);
        for (int32_t k = 0; k < e->n && e->shape[x].size > 0; k++) {
          changed |= join_loosely(e, x, (start + k) % e->n, waste);
        }
      }
    }
  }
}

/* A compound of each box, then compounds of compounds, until nothing changes. By chance they are made in one pass. */
static void make_compounds(plim_niche *e, const trial *t, plim_random *random) {
  for (int32_t x = 0; x < e->n; x++) {
    const plim_span *span = &e->sections.span[e->sections.span_first[x]];
    e->shape[x] = (shape){span->first, span->last, (int32_t)e->units->size[x]};
    e->owner[x] = x;
    e->up[x] = 0;
  }
  for (int changed = t->stacked > 0; changed;) {
    changed = 0;
    for (int32_t x = 0; x < e->n; x++) {
      int32_t start = plim_random_below(random, e->n);
      for (int32_t k = 0; k < e->n && e->shape[x].size > 0; k++) {
        changed |= join_pair(e, x, (start + k) % e->n, t, random);
      }
    }
    changed = changed && t->stacked == 100;
  }
  make_loose_compounds(e, t, random);
  for (int32_t x = 0; x < e->n; x++) { /* equal compounds have equal codes */
    const shape *b = &e->shape[x];
    plim_random code = {(uint64_t)b->first << 48 ^ (uint64_t)b->last << 32 ^ (uint64_t)b->size};
    e->code[x] = plim_random_next(&code);
  }
}

void plim_niche_keep(plim_niche *e, const plim_niche_frame *f, const int64_t *offset) {
  if (f->n_waiting >= e->best.fewest) return;
  e->best.fewest = f->n_waiting;
  e->best.open = 0;
  memset(e->best.deepest, 0, (size_t)e->n * sizeof *e->best.deepest);
  for (int32_t i = 0; i < f->n_waiting; i++) {
    int32_t y = f->waiting[i].box;
    e->best.open += extent(&e->shape[y]);
    e->best.deepest[y] = -1;
  }
  for (int32_t x = 0; x < e->n; x++) {
    int is_open = e->best.deepest[e->owner[x]] < 0;
    e->best.deepest[x] = is_open ? -1 : (int32_t)offset[e->owner[x]] + e->up[x];
  }
}

void plim_niche_save(plim_niche *e) {
  if (e->best.fewest == INT32_MAX) return;
  if (e->best.open > e->best.saved_open) {
    e->best.saved_open *= 1 + pack_tuning.niche.forget;
    return;
  }
  e->best.saved_open = e->best.open;
  memcpy(e->best.saved, e->best.deepest, (size_t)e->n * sizeof *e->best.saved);
}

int plim_niche_prepare(plim_niche *e, int32_t restart) {
  plim_random random = {(uint64_t)restart};
  trial t = draw(restart, &random);
  plim_niche_frame *root = &e->stack.frame[0];
  e->policy = t.policy;
  for (int32_t s = 0; s < e->m; s++) e->weight[s] = 1 + fmax(e->weight[s] - 1, 0) * pack_tuning.niche.kept_weight;
  make_compounds(e, &t, &random);
  set_keys(e, &t, &random);
  e->best.fewest = INT32_MAX;
  e->best.use_saved = e->best.saved_open < INFINITY && restart >= pack_tuning.niche.quiet_restarts && restart % 4 >= 2;
  root->n_waiting = 0;
  root->placed = -1;
  root->touched = (plim_span){0, e->m};
  for (int32_t x = 0; x < e->n; x++) {
    if (e->shape[x].size > 0) root->waiting[root->n_waiting++] = (plim_niche_waiting_box){0, (int16_t)x, 0, 0};
  }
  return t.stacked == 0 && t.waste <= 0;
}
