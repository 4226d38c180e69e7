/* Selects some boxes as a problem of its own. The unit is the greatest common divisor of all sizes, fixed offsets and
 * gaps: offsets of a canonical packing are sums of those, so nothing is lost, and searches have fewer units. Sizes of
 * 12, 20 and 8 bytes become 3, 5 and 2 units of 4. */
#include "planner/pack/packers.h"

#include "runtime/base/integers.h"

static int64_t gaps_of(const plim_boxes *boxes) {
  return boxes->gap ? boxes->gap_first[boxes->n] : 0;
}

static void add_gaps(plim_selection *selection, int32_t x, int32_t *n_gaps) {
  const plim_boxes *boxes = selection->from;
  for (int32_t g = boxes->gap ? boxes->gap_first[x] : 0; boxes->gap && g < boxes->gap_first[x + 1]; g++) {
    selection->gap[(*n_gaps)++] = boxes->gap[g];
    selection->boxes.align =
        plim_integers_gcd(plim_integers_gcd(selection->boxes.align, boxes->gap[g].low), boxes->gap[g].high);
  }
}

static void add_box(plim_selection *selection, int32_t x, int32_t *n_gaps) {
  const plim_boxes *boxes = selection->from;
  int32_t at = selection->boxes.n;
  int64_t own = boxes->own_align ? boxes->own_align[x] : 1;
  selection->original[at] = x;
  selection->box[at] = boxes->box[x];
  selection->own_align[at] = own / plim_integers_gcd(own, boxes->align) * boxes->align;
  selection->boxes.align = plim_integers_gcd(plim_integers_gcd(selection->boxes.align, boxes->box[x].bytes),
                                             boxes->box[x].fixed > 0 ? boxes->box[x].fixed : 0);
  add_gaps(selection, x, n_gaps);
  selection->gap_first[++selection->boxes.n] = *n_gaps;
}

/* Every sum of sizes is a multiple of the unit. An alignment must be one as well, unless it divides the unit. */
static void choose_unit(plim_selection *selection) {
  if (selection->boxes.align == 0) selection->boxes.align = 1;
  for (int changed = 1; changed;) {
    changed = 0;
    for (int32_t x = 0; x < selection->boxes.n; x++) {
      int64_t unit = selection->boxes.align, own = selection->own_align[x];
      if (unit % own == 0 || own % unit == 0) continue;
      selection->boxes.align = plim_integers_gcd(unit, own);
      changed = 1;
    }
  }
}

plim_status plim_selection_make(plim_context *ctx, const plim_boxes *from, const uint8_t *wanted, plim_selection *out) {
  plim_selection selection = {.ctx = ctx, .from = from};
  int64_t n = from->n;
  int32_t n_gaps = 0;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *selection.original, &selection.original));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *selection.box, &selection.box));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *selection.own_align, &selection.own_align));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n + 1, sizeof *selection.gap_first, &selection.gap_first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, gaps_of(from), sizeof *selection.gap, &selection.gap));
  for (int32_t x = 0; x < from->n; x++) {
    if (from->box[x].bytes > 0 && (!wanted || wanted[x])) add_box(&selection, x, &n_gaps);
  }
  choose_unit(&selection);
  selection.boxes.box = selection.box;
  selection.boxes.own_align = selection.own_align;
  selection.boxes.gap_first = selection.gap_first;
  selection.boxes.gap = n_gaps > 0 ? selection.gap : NULL;
  *out = selection;
done:
  if (status != PLIM_OK) plim_selection_free(&selection);
  return status;
}

void plim_selection_free(plim_selection *selection) {
  if (!selection->ctx) return;
  int64_t n = selection->from->n;
  plim_release(selection->ctx, selection->original, n, sizeof *selection->original);
  plim_release(selection->ctx, selection->box, n, sizeof *selection->box);
  plim_release(selection->ctx, selection->own_align, n, sizeof *selection->own_align);
  plim_release(selection->ctx, selection->gap_first, n + 1, sizeof *selection->gap_first);
  plim_release(selection->ctx, selection->gap, gaps_of(selection->from), sizeof *selection->gap);
  *selection = (plim_selection){0};
}
