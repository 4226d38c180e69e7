/* Makes buffers that fill an arena tightly, in two ways.
 *
 * Cuts: a full arena is cut again and again along a line, in time or in space (guillotine cuts).
 *
 * Steps: buffers with random lifetimes, the long ones small, are placed first-fit as long as they fit. Then they grow
 * until they touch, and what is still free is filled. Such packings are no guillotine cuts.
 *
 * The order of the buffers is shuffled, since it would tell the packing. */
#include "tools/plimsoll-bench/tight_boxes.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/base/integers.h"
#include "runtime/base/random.h"

enum { TRIES = 400 };

typedef struct family {
  const char *name, *like;
  int32_t least, most;        /* buffers */
  int64_t steps, arena, unit; /* horizon; units of space; every size and every offset is a multiple of unit */
  int64_t time_unit;          /* every time is a multiple */
  int32_t cuts;               /* percent of the arena's space that is cut; the rest is filled in steps */
  /* cuts */
  int32_t rivals;     /* of so many random parts the largest is cut */
  int32_t in_time;    /* percent of cuts in time */
  int32_t whole_rows; /* buffers of the whole horizon, cut first */
  int32_t left_out;   /* percent of buffers */
  /* steps */
  double shortest, longest; /* lengths, in percent of the horizon; their logarithms are uniform */
  double extent;            /* length x size, in percent of the whole: long ones are small */
  double spread;            /* sizes are multiplied by up to this */
  int32_t twins;            /* percent of buffers that have the lifetime of the one before */
  double noise;             /* 0: the long ones lie below the short ones */
  int32_t hole_percent;     /* of free ranges left empty */
  double slack;             /* of the published instance: capacity / arena - 1 */
} family;

#define CUTS .steps = 1024, .arena = 1024, .unit = 1, .time_unit = 1, .cuts = 100
static const family families[] = {
    /* guillotine cuts of the largest of three parts */
    {"cuts", NULL, 200, 200, CUTS, .rivals = 3, .in_time = 50},
    /* guillotine cuts of any part: sizes from 1 to a half of the arena */
    {"fine", NULL, 200, 200, CUTS, .rivals = 1, .in_time = 50},
    /* guillotine cuts on a grid of 128 units */
    {"grid", NULL, 200, 200, .steps = 128, .arena = 128, .unit = 1, .time_unit = 1, .cuts = 100, .rivals = 3,
     .in_time = 50},
    /* guillotine cuts on a grid of 128 units by multiples of 4: few distinct sizes */
    {"coarse", NULL, 150, 300, .steps = 128, .arena = 128, .unit = 4, .time_unit = 1, .cuts = 100, .rivals = 2,
     .in_time = 50},
    /* steps: few long and small buffers, many short and large ones, long ones below */
    {"steps", NULL, 150, 450, .steps = 100, .arena = 1024, .unit = 1, .time_unit = 1, .shortest = 1, .longest = 100,
     .extent = 0.5, .spread = 2, .twins = 40, .hole_percent = 10},
    /* the same, long ones anywhere */
    {"noisy", NULL, 150, 450, .steps = 100, .arena = 1024, .unit = 1, .time_unit = 1, .shortest = 1, .longest = 100,
     .extent = 0.5, .spread = 2, .twins = 40, .noise = 3, .hole_percent = 10},
    /* the same with holes */
    {"loose", NULL, 150, 450, .steps = 100, .arena = 1024, .unit = 1, .time_unit = 1, .shortest = 1, .longest = 100,
     .extent = 0.5, .spread = 2, .twins = 40, .noise = 1, .hole_percent = 60},
    /* a half cut, a half of steps */
    {"mixed", NULL, 150, 450, .steps = 120, .arena = 1024, .unit = 1, .time_unit = 1, .cuts = 50, .rivals = 3,
     .in_time = 50, .whole_rows = 2, .shortest = 1, .longest = 100, .extent = 1.2, .spread = 2, .twins = 40, .noise = 1,
     .hole_percent = 10},
    /* cuts with the figures of A, some left out */
    {"like-a", "a", 160, 160, .steps = 200, .arena = 1024, .unit = 1, .time_unit = 1, .cuts = 100, .rivals = 6,
     .in_time = 40, .whole_rows = 3, .left_out = 4},
    /* cuts with the figures of C */
    {"like-c", "c", 203, 203, .steps = 200, .arena = 1015, .unit = 1, .time_unit = 1, .cuts = 100, .rivals = 6,
     .in_time = 45, .whole_rows = 8, .slack = 0.0089},
    /* cuts with the figures of D, some left out */
    {"like-d", "d", 225, 225, .steps = 200, .arena = 963, .unit = 1, .time_unit = 1, .cuts = 100, .rivals = 6,
     .in_time = 32, .whole_rows = 12, .left_out = 5, .slack = 0.0888},
    /* steps with the figures of G */
    {"like-g", "g", 280, 340, .steps = 190, .arena = 1024, .unit = 1, .time_unit = 1, .shortest = 2, .longest = 4.5,
     .extent = 0.15, .spread = 2, .twins = 20, .noise = 1, .hole_percent = 90},
};
enum { FAMILIES = sizeof families / sizeof *families };

static const family *find_family(int32_t row) {
  return row >= 0 && row < FAMILIES ? &families[row] : NULL;
}

const char *tight_name(int32_t row) {
  return find_family(row) ? find_family(row)->name : NULL;
}

const char *tight_like(int32_t row) {
  return find_family(row) ? find_family(row)->like : NULL;
}

/* ---- making ---- */

/* Steps [begin, end) of units [low, high). */
typedef struct area {
  int64_t begin, end, low, high;
} area;

static int64_t between(plim_random *random, int64_t least, int64_t most) {
  return least + plim_random_below(random, (int32_t)(most - least + 1));
}

static void add(tight_instance *t, area a) {
  t->box[t->n] = (plim_box){a.begin, a.end, a.high - a.low, -1};
  t->offset[t->n++] = a.low;
}

static double extent(const plim_box *b) {
  return (double)(b->end - b->begin) * (double)b->bytes;
}

/* Cut box x at a random line; 0: it is too small for that. */
static int cut(tight_instance *t, const family *f, plim_random *random, int32_t x, int in_time) {
  plim_box *from = &t->box[x], *to = &t->box[t->n];
  int64_t unit = in_time ? f->time_unit : f->unit, length = in_time ? from->end - from->begin : from->bytes;
  if (length < 2 * unit) return 0;
  int64_t at = unit * between(random, 1, length / unit - 1);
  *to = *from;
  t->offset[t->n] = t->offset[x];
  if (in_time) {
    from->end = to->begin = from->begin + at;
  } else {
    from->bytes = at;
    to->bytes -= at;
    t->offset[t->n] += at;
  }
  t->n++;
  return 1;
}

/* Cut an area into n boxes. */
static void cut_area(tight_instance *t, const family *f, plim_random *random, area a, int32_t n) {
  int32_t first, wanted = t->n + n;
  for (int32_t i = 0; i < f->whole_rows && a.high - a.low > 8 * f->unit; i++) {
    int64_t size = f->unit * between(random, 1, (a.high - a.low) / f->unit / 32 + 1);
    add(t, (area){a.begin, a.end, a.low, a.low + size});
    a.low += size;
  }
  first = t->n;
  add(t, a);
  for (int32_t failed = 0; t->n < wanted && t->n < TIGHT_MAX && failed < TRIES;) {
    int32_t x = first + plim_random_below(random, t->n - first);
    for (int32_t i = 1; i < f->rivals; i++) {
      int32_t y = first + plim_random_below(random, t->n - first);
      if (extent(&t->box[y]) > extent(&t->box[x])) x = y;
    }
    failed = cut(t, f, random, x, plim_random_percent(random, f->in_time)) ? 0 : failed + 1;
  }
}

/* The lowest range of the area from `low` on that is free at a step; 0: there is none. */
static int find_free(const tight_instance *t, int32_t first, int64_t step, area a, int64_t low, area *free_range) {
  int64_t high = a.high;
  for (int again = 1; again;) {
    again = 0;
    for (int32_t x = first; x < t->n; x++) {
      int lies_here = t->box[x].begin <= step && t->box[x].end > step && t->offset[x] <= low &&
                      t->offset[x] + t->box[x].bytes > low;
      if (lies_here) low = t->offset[x] + t->box[x].bytes;
      again |= lies_here;
    }
  }
  for (int32_t x = first; x < t->n; x++) {
    if (t->box[x].begin <= step && t->box[x].end > step && t->offset[x] > low && t->offset[x] < high)
      high = t->offset[x];
  }
  *free_range = (area){step, a.end, low, high};
  return low < a.high;
}

static int overlap(const plim_box *a, const plim_box *b) {
  return a->begin < b->end && b->begin < a->end;
}

/* The lowest offset at which box x fits among the boxes [first, x); -1: none. */
static int64_t first_fit(const tight_instance *t, int32_t first, int32_t x, area a) {
  const plim_box *b = &t->box[x];
  int64_t low = a.low;
  for (int again = 1; again;) {
    again = 0;
    for (int32_t y = first; y < x; y++) {
      int64_t top = t->offset[y] + t->box[y].bytes;
      int blocks = overlap(&t->box[y], b) && t->offset[y] < low + b->bytes && top > low;
      if (blocks) low = top;
      again |= blocks;
    }
  }
  return low + b->bytes <= a.high ? low : -1;
}

/* A random lifetime, and a size such that size x length is about the family's. */
static plim_box draw(const family *f, plim_random *random, area a, const plim_box *last) {
  int64_t steps = a.end - a.begin;
  double share = f->shortest * pow(f->longest / f->shortest, plim_random_unit(random)); /* percent of the horizon */
  int64_t length = (int64_t)((double)steps * share / 100 + 0.5);
  if (length < 1) length = 1;
  int64_t begin = a.begin + between(random, 0, steps - length);
  if (last && plim_random_percent(random, f->twins)) {
    begin = last->begin;
    length = last->end - last->begin;
    share = 100.0 * (double)length / (double)steps;
  }
  double size = (double)(a.high - a.low) * f->extent / share * (1 + (f->spread - 1) * plim_random_unit(random));
  int64_t bytes = (int64_t)size / f->unit * f->unit, most = (a.high - a.low) * 2 / 3;
  return (plim_box){begin, begin + length, bytes < f->unit ? f->unit : bytes < most ? bytes : most, -1};
}

typedef struct ranked {
  plim_box box;
  double key;
} ranked;

static int by_key(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  return (x->key < y->key) - (x->key > y->key);
}

/* Boxes at random as long as they fit, the long ones first, but for noise. */
static void place_some(tight_instance *t, const family *f, plim_random *random, area a, int32_t n) {
  static ranked drawn[TIGHT_MAX];
  int32_t first = t->n;
  n = n < TIGHT_MAX - t->n ? n : TIGHT_MAX - t->n;
  for (int32_t i = 0; i < n; i++) {
    drawn[i].box = draw(f, random, a, i > 0 ? &drawn[i - 1].box : NULL);
    drawn[i].key = log((double)(drawn[i].box.end - drawn[i].box.begin)) + f->noise * plim_random_unit(random);
  }
  qsort(drawn, (size_t)n, sizeof *drawn, by_key);
  for (int32_t i = 0; i < n; i++) {
    t->box[t->n] = drawn[i].box;
    t->offset[t->n] = first_fit(t, first, t->n, a);
    t->n += t->offset[t->n] >= 0;
  }
}

/* Let boxes grow until each touches others or the border below and above, but by a half at most. */
static void grow(tight_instance *t, int32_t first, area a) {
  for (int32_t x = first; x < t->n; x++) {
    int64_t low = a.low, high = a.high, offset = t->offset[x], top = offset + t->box[x].bytes;
    for (int32_t y = first; y < t->n; y++) {
      if (y == x || !overlap(&t->box[x], &t->box[y])) continue;
      int64_t top_of_other = t->offset[y] + t->box[y].bytes;
      if (top_of_other <= offset && top_of_other > low) low = top_of_other;
      if (t->offset[y] >= top && t->offset[y] < high) high = t->offset[y];
    }
    if (high - low > t->box[x].bytes + t->box[x].bytes / 2 + 1) continue;
    t->offset[x] = low;
    t->box[x].bytes = high - low;
  }
}

/* Is [low, high) free at a step? */
static int is_free(const tight_instance *t, int32_t first, int64_t step, area r) {
  for (int32_t x = first; x < t->n; x++) {
    const plim_box *b = &t->box[x];
    if (b->begin <= step && step < b->end && t->offset[x] < r.high && t->offset[x] + b->bytes > r.low) return 0;
  }
  return 1;
}

/* Fill what is free by boxes, but for holes. */
static void fill_rest(tight_instance *t, const family *f, plim_random *random, int32_t first, area a) {
  area r;
  for (int64_t step = a.begin; step < a.end; step += f->time_unit) {
    for (int64_t low = a.low; t->n < TIGHT_MAX && find_free(t, first, step, a, low, &r); low = r.high) {
      for (r.end = step + 1; r.end < a.end && is_free(t, first, r.end, r);) r.end++;
      if (!plim_random_percent(random, f->hole_percent)) add(t, r);
    }
  }
}

static void fill_area(tight_instance *t, const family *f, plim_random *random, area a, int32_t n) {
  int32_t first = t->n;
  place_some(t, f, random, a, n);
  grow(t, first, a);
  fill_rest(t, f, random, first, a);
}

/* Leave out some boxes at random. */
static void leave_out(tight_instance *t, plim_random *random, int32_t percent) {
  int32_t kept = 0;
  for (int32_t x = 0; x < t->n; x++) {
    if (plim_random_percent(random, percent)) continue;
    t->box[kept] = t->box[x];
    t->offset[kept++] = t->offset[x];
  }
  t->n = kept;
}

static void shuffle(tight_instance *t, plim_random *random) {
  for (int32_t i = t->n - 1; i > 0; i--) {
    int32_t k = plim_random_below(random, i + 1);
    plim_box box = t->box[i];
    int64_t offset = t->offset[i];
    t->box[i] = t->box[k];
    t->offset[i] = t->offset[k];
    t->box[k] = box;
    t->offset[k] = offset;
  }
}

void tight_make(int32_t row, uint64_t seed, int32_t slack_percent, tight_instance *out) {
  const family *f = &families[row];
  plim_random random = {seed};
  for (int32_t tries = 0; tries < TRIES; tries++) {
    int64_t border = f->arena * f->cuts / 100 / f->unit * f->unit;
    int32_t n = (int32_t)between(&random, f->least, f->most);
    out->n = 0;
    if (border > 0) cut_area(out, f, &random, (area){0, f->steps, 0, border}, f->cuts < 100 ? n / 2 : n);
    if (border < f->arena) fill_area(out, f, &random, (area){0, f->steps, border, f->arena}, n);
    if (out->n >= f->least && out->n <= f->most) break;
  }
  leave_out(out, &random, f->left_out);
  shuffle(out, &random);
  out->arena = f->arena;
  out->capacity =
      f->arena + (slack_percent < 0 ? (int64_t)((double)f->arena * f->slack) : f->arena * slack_percent / 100);
}

/* ---- measuring ---- */

static void find_shares(int64_t *number, int32_t n, double whole, double share[3]) {
  plim_integers_sort(number, n);
  static const int32_t tenths[] = {1, 5, 9};
  for (int i = 0; i < 3; i++) {
    int32_t at = (n - 1) * tenths[i] / 10;
    share[i] = 100.0 * (double)number[at] / whole;
  }
}

/* Count event times, and sections: maximal sets of live boxes. Ends come before begins. */
static void count_events(const plim_box *box, int32_t n, const int64_t *time, tight_figures *out) {
  int open = 0;
  for (int32_t i = 0; i < 2 * n; i++) {
    int begins = 0, ends = 0;
    if (i > 0 && time[i] == time[i - 1]) continue;
    out->times++;
    for (int32_t x = 0; x < n; x++) {
      begins |= box[x].begin == time[i];
      ends |= box[x].end == time[i];
    }
    out->sections += open && ends;
    open = begins || (open && !ends);
  }
}

static int64_t live_at(const plim_box *box, int32_t n, int64_t time) {
  int64_t sum = 0;
  for (int32_t x = 0; x < n; x++) sum += box[x].begin <= time && time < box[x].end ? box[x].bytes : 0;
  return sum;
}

plim_status tight_measure(plim_context *ctx, int32_t n, const plim_box *box, int64_t capacity, tight_figures *out) {
  tight_figures f = {.buffers = n};
  int64_t *number = NULL, pairs = 0, most = 0;
  double sum = 0;
  PLIM_TRY(plim_allocate(ctx, 2 * (int64_t)n + 1, sizeof *number, &number));
  for (int32_t x = 0; x < n; x++) {
    for (int32_t y = 0; y < x; y++) pairs += box[x].begin < box[y].end && box[y].begin < box[x].end;
    int64_t live = live_at(box, n, box[x].begin);
    most = live > most ? live : most;
    sum += extent(&box[x]);
    number[2 * x] = box[x].begin;
    number[2 * x + 1] = box[x].end;
  }
  plim_integers_sort(number, 2 * (int64_t)n);
  double horizon = n > 0 ? (double)(number[2 * n - 1] - number[0]) : 1;
  count_events(box, n, number, &f);
  for (int32_t x = 0; x < n; x++) number[x] = box[x].end - box[x].begin;
  if (n > 0) find_shares(number, n, horizon, f.length);
  for (int32_t x = 0; x < n; x++) number[x] = box[x].bytes;
  if (n > 0) find_shares(number, n, (double)capacity, f.size);
  f.overlap = n > 1 ? 200.0 * (double)pairs / ((double)n * (n - 1)) : 0;
  f.peak = 100.0 * (double)most / (double)capacity;
  f.fill = 100.0 * sum / (horizon * (double)capacity);
  *out = f;
  plim_release(ctx, number, 2 * (int64_t)n + 1, sizeof *number);
  return PLIM_OK;
}
