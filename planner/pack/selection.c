/* Selects some boxes as a problem of its own. The unit is the greatest common divisor of all sizes, fixed offsets and
 * gaps: offsets of a canonical packing are sums of those, so nothing is lost, and searches have fewer units. */
#include "planner/pack/units.h"

#include "runtime/base/integers.h"

static int64_t gaps_of(const plim_boxes *b) {
  return b->gap ? b->gap_first[b->n] : 0;
}

static void add_gaps(plim_selection *s, int32_t x, int32_t *n_gaps) {
  const plim_boxes *b = s->from;
  for (int32_t g = b->gap ? b->gap_first[x] : 0; b->gap && g < b->gap_first[x + 1]; g++) {
    s->gap[(*n_gaps)++] = b->gap[g];
    s->boxes.align = plim_integers_gcd(plim_integers_gcd(s->boxes.align, b->gap[g].low), b->gap[g].high);
  }
}

static void add_box(plim_selection *s, int32_t x, int32_t *n_gaps) {
  const plim_boxes *b = s->from;
  int32_t at = s->boxes.n;
  int64_t own = b->own_align ? b->own_align[x] : 1;
  s->original[at] = x;
  s->box[at] = b->box[x];
  s->own_align[at] = own / plim_integers_gcd(own, b->align) * b->align;
  s->hint[at] = b->hint ? b->hint[x] : -1;
  s->boxes.align =
      plim_integers_gcd(plim_integers_gcd(s->boxes.align, b->box[x].bytes), b->box[x].fixed > 0 ? b->box[x].fixed : 0);
  add_gaps(s, x, n_gaps);
  s->gap_first[++s->boxes.n] = *n_gaps;
}

/* Every sum of sizes is a multiple of the unit. An alignment must be one as well, unless it divides the unit. */
static void choose_unit(plim_selection *s) {
  if (s->boxes.align == 0) s->boxes.align = 1;
  for (int again = 1; again;) {
    again = 0;
    for (int32_t x = 0; x < s->boxes.n; x++) {
      int64_t unit = s->boxes.align, own = s->own_align[x];
      if (unit % own == 0 || own % unit == 0) continue;
      s->boxes.align = plim_integers_gcd(unit, own);
      again = 1;
    }
  }
}

plim_status plim_selection_make(plim_context *ctx, const plim_boxes *from, const uint8_t *wanted, plim_selection *out) {
  plim_selection s = {.ctx = ctx, .from = from};
  int64_t n = from->n;
  int32_t n_gaps = 0;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *s.original, &s.original));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *s.box, &s.box));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *s.own_align, &s.own_align));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *s.hint, &s.hint));
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *s.gap_first, &s.gap_first));
  PLIM_CHECK(plim_allocate(ctx, gaps_of(from), sizeof *s.gap, &s.gap));
  for (int32_t x = 0; x < from->n; x++) {
    if (from->box[x].bytes > 0 && (!wanted || wanted[x])) add_box(&s, x, &n_gaps);
  }
  choose_unit(&s);
  s.boxes.box = s.box;
  s.boxes.own_align = s.own_align;
  s.boxes.hint = s.hint;
  s.boxes.gap_first = s.gap_first;
  s.boxes.gap = n_gaps > 0 ? s.gap : NULL;
  *out = s;
done:
  if (status != PLIM_OK) plim_selection_free(&s);
  return status;
}

void plim_selection_free(plim_selection *s) {
  if (!s->ctx) return;
  int64_t n = s->from->n;
  plim_release(s->ctx, s->original, n, sizeof *s->original);
  plim_release(s->ctx, s->box, n, sizeof *s->box);
  plim_release(s->ctx, s->own_align, n, sizeof *s->own_align);
  plim_release(s->ctx, s->hint, n, sizeof *s->hint);
  plim_release(s->ctx, s->gap_first, n + 1, sizeof *s->gap_first);
  plim_release(s->ctx, s->gap, gaps_of(s->from), sizeof *s->gap);
  *s = (plim_selection){0};
}
