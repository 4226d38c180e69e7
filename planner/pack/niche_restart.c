/* What a restart of niche search tries: a policy, an order of boxes, and compounds (niche.c). */
#include <math.h>

#include "planner/pack/niche_internal.h"
#include "planner/pack/pack_tuning.h"
#include "runtime/base/random.h"

enum { KEYS = 4 };

typedef plim_niche_shape shape;

/* What a restart tries; the first ones take turns without noise. */
typedef struct trial {
  plim_niche_policy policy;
  int32_t key, stacked, following; /* percent of compounds that are made where they can be */
  double noise;
} trial;

static trial draw(int32_t restart, plim_random *random) {
  static const int32_t percent[][2] = {{0, 0}, {100, 0}, {100, 100}, {50, 50}};
  enum { ROWS = sizeof percent / sizeof *percent };
  int32_t row = restart == 0 ? 0 : plim_random_below(random, ROWS);
  return (trial){.policy = (plim_niche_policy)(restart % PLIM_POLICIES),
                 .key = restart == 0 ? 0 : plim_random_below(random, KEYS),
                 .stacked = percent[row][0],
                 .following = percent[row][1],
                 .noise = restart < tuning.niche.quiet_restarts ? 0 : tuning.niche.noise * plim_random_unit(random)};
}

static void set_keys(plim_niche *e, const trial *t, plim_random *random) {
  for (int32_t x = 0; x < e->n; x++) {
    double length = (double)(e->shape[x].last - e->shape[x].first), size = (double)e->shape[x].size;
    const double key[KEYS] = {length * size, length, size, length * length * size};
    e->key[x] = key[t->key] * (1 + t->noise * plim_random_unit(random));
  }
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
  for (int32_t x = 0; x < e->n; x++) { /* equal compounds have equal codes */
    const shape *b = &e->shape[x];
    plim_random code = {(uint64_t)b->first << 48 ^ (uint64_t)b->last << 32 ^ (uint64_t)b->size};
    e->code[x] = plim_random_next(&code);
  }
}

int plim_niche_prepare(plim_niche *e, int32_t restart) {
  plim_random random = {(uint64_t)restart};
  trial t = draw(restart, &random);
  plim_niche_frame *root = &e->frame[0];
  e->policy = t.policy;
  for (int32_t s = 0; s < e->m; s++) e->weight[s] = 1 + fmax(e->weight[s] - 1, 0) * tuning.niche.kept_weight;
  make_compounds(e, &t, &random);
  set_keys(e, &t, &random);
  root->n_items = 0;
  for (int32_t x = 0; x < e->n; x++) {
    if (e->shape[x].size > 0) root->item[root->n_items++] = (plim_niche_item){0, (int16_t)x, 0, 0};
  }
  return t.stacked == 0;
}
