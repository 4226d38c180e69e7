/* What a restart of niche search tries: a policy, an order of boxes, and compounds (niche.c). All are drawn at random
 * from the number of the restart; the first restarts are without noise in the order. Here is also what passes from one
 * restart to the next: weights of sections, and the offsets at the deepest node. */
#include <math.h>
#include <string.h>

#include "planner/pack/niche_internal.h"
#include "planner/pack/pack_tuning.h"
#include "runtime/base/random.h"

enum { KEYS = 4 };

typedef plim_niche_shape shape;

/* What a restart tries. */
typedef struct restart_trial {
  plim_niche_policy policy;
  int32_t key, stacked, following; /* percent of compounds that are made where they can be */
  double noise;
  double waste, spare; /* of a loose compound, what may stay empty; of the slack of a section, what they may take */
} restart_trial;

static restart_trial draw_trial(int32_t restart, plim_random *random) {
  static const int32_t percent[][2] = {{0, 0}, {100, 0}, {100, 100}, {50, 50}};
  enum { ROWS = sizeof percent / sizeof *percent };
  int32_t row = restart == 0 ? 0 : plim_random_below(random, ROWS);
  int loosely = restart > 0 && plim_random_percent(random, 50);
  return (restart_trial){
      .policy = (plim_niche_policy)(restart % PLIM_POLICIES),
      .key = restart == 0 ? 0 : plim_random_below(random, KEYS),
      .waste = loosely ? pack_tuning.niche.waste_max * plim_random_unit(random) : 0,
      .spare = loosely ? pack_tuning.niche.spare_max * plim_random_unit(random) : 0,
      .stacked = percent[row][0],
      .following = percent[row][1],
      .noise = restart < pack_tuning.niche.quiet_restarts ? 0 : pack_tuning.niche.noise_max * plim_random_unit(random)};
}

static void set_keys(plim_niche *niche, const restart_trial *trial, plim_random *random) {
  for (int32_t x = 0; x < niche->n; x++) {
    double length = (double)(niche->shape[x].last - niche->shape[x].first), size = (double)niche->shape[x].size;
    const double key[KEYS] = {length * size, length, size, length * length * size};
    niche->key[x] = key[trial->key] * (1 + trial->noise * plim_random_unit(random));
  }
}

static double extent(const shape *b) {
  return (double)(b->last - b->first) * b->size;
}

/* Put what compound `from` has into compound `to`, `up` units above its bottom. */
static void add_compound(plim_niche *niche, int32_t to, int32_t from, int32_t up) {
  for (int32_t x = 0; x < niche->n; x++) {
    if (niche->owner[x] != from) continue;
    niche->owner[x] = to;
    niche->up[x] += up;
  }
  niche->shape[from].size = 0;
}

/* Join two compounds if they can be and chance allows it. */
static int join_pair(plim_niche *niche, int32_t x, int32_t y, const restart_trial *trial, plim_random *random) {
  shape *a = &niche->shape[x];
  const shape *b = &niche->shape[y];
  int32_t up = 0;
  if (x == y || b->size == 0) return 0;
  if (a->first == b->first && a->last == b->last && a->size <= niche->capacity - b->size &&
      plim_random_percent(random, trial->stacked)) {
    up = a->size;
    a->size += b->size;
  } else if (a->last == b->first && a->size == b->size && plim_random_percent(random, trial->following)) {
    a->last = b->last;
  } else {
    return 0;
  }
  add_compound(niche, x, y, up);
  return 1;
}

static int32_t size_at(const shape *b, int32_t s) {
  return b->first <= s && s < b->last ? b->size : 0;
}

/* Join two compounds if little stays empty in the new one, and in no section more than may stay empty. Those that
 * overlap in time are stacked; of others the size is the larger. */
static int join_loosely(plim_niche *niche, int32_t x, int32_t y, double waste) {
  shape *a = &niche->shape[x];
  const shape b = niche->shape[y];
  if (x == y || b.size == 0) return 0;
  int stacked = a->first < b.last && b.first < a->last;
  shape both = {a->first < b.first ? a->first : b.first, a->last > b.last ? a->last : b.last,
                stacked            ? a->size + b.size
                : a->size > b.size ? a->size
                                   : b.size};
  double whole = extent(&both);
  if (both.size > niche->capacity || whole - extent(a) - extent(&b) > waste * whole) return 0;
  for (int32_t s = both.first; s < both.last; s++) {
    if (both.size - size_at(a, s) - size_at(&b, s) > niche->spare[s]) return 0;
  }
  for (int32_t s = both.first; s < both.last; s++) niche->spare[s] -= both.size - size_at(a, s) - size_at(&b, s);
  add_compound(niche, x, y, stacked ? a->size : 0);
  *a = both;
  return 1;
}

static void make_loose_compounds(plim_niche *niche, const restart_trial *trial, plim_random *random) {
  for (int32_t s = 0; s < niche->m; s++) niche->spare[s] = niche->capacity;
  for (int32_t x = 0; x < niche->n; x++) {
    for (int32_t s = niche->shape[x].first; s < niche->shape[x].last; s++) niche->spare[s] -= niche->shape[x].size;
  }
  for (int32_t s = 0; s < niche->m; s++) niche->spare[s] = (int32_t)(niche->spare[s] * trial->spare);
  for (double waste = trial->waste / 4; waste > 0 && waste <= trial->waste; waste *= 2) {
    for (int changed = 1; changed;) {
      changed = 0;
      for (int32_t x = 0; x < niche->n; x++) {
        int32_t start = plim_random_below(random, niche->n);
        for (int32_t k = 0; k < niche->n && niche->shape[x].size > 0; k++) {
          changed |= join_loosely(niche, x, (start + k) % niche->n, waste);
        }
      }
    }
  }
}

/* Begin with a compound of each box, and join compounds until nothing changes. Some restarts, drawn at random, end
 * after one pass. */
static void make_compounds(plim_niche *niche, const restart_trial *trial, plim_random *random) {
  for (int32_t x = 0; x < niche->n; x++) {
    const plim_section_range *span = &niche->sections.span[niche->sections.span_first[x]];
    niche->shape[x] = (shape){span->first, span->last, (int32_t)niche->units->size[x]};
    niche->owner[x] = x;
    niche->up[x] = 0;
  }
  for (int changed = trial->stacked > 0; changed;) {
    changed = 0;
    for (int32_t x = 0; x < niche->n; x++) {
      int32_t start = plim_random_below(random, niche->n);
      for (int32_t k = 0; k < niche->n && niche->shape[x].size > 0; k++) {
        changed |= join_pair(niche, x, (start + k) % niche->n, trial, random);
      }
    }
    changed = changed && trial->stacked == 100;
  }
  make_loose_compounds(niche, trial, random);
  for (int32_t x = 0; x < niche->n; x++) { /* equal compounds have equal codes */
    const shape *b = &niche->shape[x];
    plim_random code = {(uint64_t)b->first << 48 ^ (uint64_t)b->last << 32 ^ (uint64_t)b->size};
    niche->code[x] = plim_random_next(&code);
  }
}

void plim_niche_keep(plim_niche *niche, const plim_niche_frame *frame, const int64_t *offset) {
  if (frame->n_waiting >= niche->best.fewest) return;
  niche->best.fewest = frame->n_waiting;
  niche->best.open = 0;
  memset(niche->best.deepest, 0, (size_t)niche->n * sizeof *niche->best.deepest);
  for (int32_t i = 0; i < frame->n_waiting; i++) {
    int32_t y = frame->waiting[i].box;
    niche->best.open += extent(&niche->shape[y]);
    niche->best.deepest[y] = -1;
  }
  for (int32_t x = 0; x < niche->n; x++) {
    int is_open = niche->best.deepest[niche->owner[x]] < 0;
    niche->best.deepest[x] = is_open ? -1 : (int32_t)offset[niche->owner[x]] + niche->up[x];
  }
}

void plim_niche_save(plim_niche *niche) {
  if (niche->best.fewest == INT32_MAX) return;
  if (niche->best.open > niche->best.saved_open) {
    niche->best.saved_open *= 1 + pack_tuning.niche.forget;
    return;
  }
  niche->best.saved_open = niche->best.open;
  memcpy(niche->best.saved, niche->best.deepest, (size_t)niche->n * sizeof *niche->best.saved);
}

int plim_niche_prepare(plim_niche *niche, int32_t restart) {
  plim_random random = {(uint64_t)restart};
  restart_trial trial = draw_trial(restart, &random);
  plim_niche_frame *root = &niche->stack.frame[0];
  niche->policy = trial.policy;
  for (int32_t s = 0; s < niche->m; s++) {
    niche->weight[s] = 1 + fmax(niche->weight[s] - 1, 0) * pack_tuning.niche.kept_weight;
  }
  make_compounds(niche, &trial, &random);
  set_keys(niche, &trial, &random);
  niche->best.fewest = INT32_MAX;
  niche->best.use_saved =
      niche->best.saved_open < INFINITY && restart >= pack_tuning.niche.quiet_restarts && restart % 4 >= 2;
  root->n_waiting = 0;
  root->placed = -1;
  root->touched = (plim_section_range){0, niche->m};
  for (int32_t x = 0; x < niche->n; x++) {
    if (niche->shape[x].size > 0) root->waiting[root->n_waiting++] = (plim_niche_waiting_box){0, (int16_t)x, 0, 0};
  }
  return trial.stacked == 0 && trial.waste <= 0;
}
