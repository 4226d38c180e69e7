/* Prepares a problem for exact search: sections, which boxes overlap in time, and the memory of all searches. */
#include "planner/pack/exact_internal.h"

#include "planner/pack/pack_tuning.h"
#include "planner/pack/packers.h"

enum { CHUNK_BOXES = 1 << 16 /* boxes of a block of memory for lists; several times PLIM_EXACT_MAX */ };

static void fill_masks(plim_exact *exact) {
  const plim_sections *sections = &exact->sections;
  const plim_boxes *boxes = exact->units->boxes;
  for (int32_t x = 0; x < exact->n; x++) {
    int partly = 0; /* a box of which gaps leave a part does not count in section floors */
    for (int32_t g = boxes->gap ? boxes->gap_first[x] : 0; boxes->gap && g < boxes->gap_first[x + 1]; g++) {
      partly |= boxes->gap[g].low < boxes->gap[g].high;
    }
    for (int32_t i = sections->span_first[x]; i < sections->span_first[x + 1] && !partly; i++) {
      for (int32_t k = sections->span[i].first; k < sections->span[i].last; k++) {
        exact->mask[(int64_t)x * exact->lanes + k] = -1;
      }
    }
  }
}

static void fill_totals(plim_exact *exact, double *live_units) {
  const plim_sections *sections = &exact->sections;
  for (int32_t x = 0; x < exact->n; x++) {
    for (int32_t i = sections->span_first[x]; i < sections->span_first[x + 1]; i++) {
      for (int32_t k = sections->span[i].first; k < sections->span[i].last; k++) {
        live_units[k] += (double)exact->units->size[x];
      }
    }
  }
  for (int32_t x = 0; x < exact->n; x++) {
    for (int32_t i = sections->span_first[x]; i < sections->span_first[x + 1]; i++) {
      for (int32_t k = sections->span[i].first; k < sections->span[i].last; k++) {
        if (live_units[k] > exact->total[x]) exact->total[x] = live_units[k];
      }
    }
  }
}

static void fill_pairs(plim_exact *exact) {
  for (int32_t x = 0; x < exact->n; x++) {
    for (int32_t y = 0; y < exact->n; y++) {
      int64_t separation = x == y ? PLIM_NO_SEPARATION : plim_units_separation(exact->units, x, y);
      if (separation == PLIM_NO_SEPARATION) continue;
      exact->together[(int64_t)x * exact->words + y / PLIM_WORD] |= (uint64_t)1 << (y % PLIM_WORD);
      if (exact->separation) exact->separation[(int64_t)x * exact->n + y] = (int32_t)separation;
    }
  }
}

static void lay_out(plim_exact *exact, plim_block *block) {
  int64_t n = exact->n, sections = exact->sections.n_sections;
  exact->total = plim_block_take(block, n, sizeof *exact->total);
  exact->order = plim_block_take(block, n, sizeof *exact->order);
  exact->number = plim_block_take(block, n, sizeof *exact->number);
  exact->shape = plim_block_take(block, n, sizeof *exact->shape);
  exact->mask = plim_block_take(block, n * exact->lanes, sizeof *exact->mask);
  exact->together = plim_block_take(block, n * exact->words, sizeof *exact->together);
  exact->over = plim_block_take(block, n * exact->words, sizeof *exact->over);
  exact->raised = plim_block_take(block, exact->words, sizeof *exact->raised);
  if (exact->units->has_partial_gaps) exact->separation = plim_block_take(block, n * n, sizeof *exact->separation);
  exact->place = plim_block_take(block, n, sizeof *exact->place);
  exact->crossing = plim_block_take(block, sections, sizeof *exact->crossing);
  exact->section_floor = plim_block_take(block, exact->lanes, sizeof *exact->section_floor);
  exact->rivals = plim_block_take(block, sections, sizeof *exact->rivals);
  exact->blame = plim_block_take(block, n, sizeof *exact->blame);
  exact->frame = plim_block_take(block, 2 * n + 1, sizeof *exact->frame);
  exact->chunk = plim_block_take(block, exact->n_chunks, sizeof *exact->chunk);
  exact->failed = plim_block_take(block, exact->n_memo, sizeof *exact->failed);
}

static plim_status allocate_search(plim_exact *exact) {
  plim_context *ctx = exact->units->ctx;
  int64_t n = exact->n, way_boxes = n * (n + 3); /* of all lists on the longest way down */
  exact->words = (int32_t)((n + PLIM_WORD - 1) / PLIM_WORD);
  exact->lanes = (int32_t)((exact->sections.n_sections + PLIM_LANES - 1) / PLIM_LANES * PLIM_LANES);
  exact->chunk_boxes = (int32_t)(way_boxes < CHUNK_BOXES ? way_boxes : CHUNK_BOXES);
  exact->n_chunks =
      way_boxes <= CHUNK_BOXES ? 2 : (int32_t)(way_boxes / (CHUNK_BOXES - n) + 2); /* n boxes may be left at an end */
  lay_out(exact, &exact->block);
  PLIM_TRY(plim_block_allocate(ctx, &exact->block));
  lay_out(exact, &exact->block);
  if (exact->units->has_partial_gaps) PLIM_TRY(plim_pairs_new(exact->units, &exact->pairs));
  return plim_allocate(ctx, exact->chunk_boxes, sizeof *exact->chunk->boxes, &exact->chunk[0].boxes);
}

int plim_exact_can(const plim_units *units) {
  return units->n <= (units->has_partial_gaps ? PLIM_EXACT_MAX_WITH_GAPS : PLIM_EXACT_MAX);
}

plim_status plim_exact_new(const plim_units *units, int64_t nodes, plim_exact **out) {
  plim_context *ctx = units->ctx;
  plim_exact *exact = NULL;
  double *live_units = NULL;
  plim_status status;
  if (!plim_exact_can(units)) {
    return plim_fail(ctx, PLIM_EUNSUPPORTED, "exact packing of %d boxes is not possible", units->n);
  }
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 1, sizeof *exact, &exact));
  exact->units = units;
  exact->n = units->n;
  int64_t states = exact->n < pack_tuning.exact.few_boxes ? INT64_C(1) << exact->n : pack_tuning.exact.memo_max;
  for (exact->n_memo = pack_tuning.exact.memo_min; exact->n_memo < nodes && exact->n_memo < states;) exact->n_memo *= 2;
  PLIM_TRY_OR_DONE(plim_sections_make(units, &exact->sections));
  PLIM_TRY_OR_DONE(allocate_search(exact));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, exact->sections.n_sections, sizeof *live_units, &live_units));
  fill_masks(exact);
  fill_totals(exact, live_units);
  fill_pairs(exact);
  *out = exact;
done:
  if (live_units) plim_release(ctx, live_units, exact->sections.n_sections, sizeof *live_units);
  if (status != PLIM_OK) plim_exact_free(exact);
  return status;
}

void plim_exact_free(plim_exact *exact) {
  if (!exact) return;
  plim_context *ctx = exact->units->ctx;
  for (int32_t k = 0; exact->chunk && k < exact->n_chunks; k++) {
    plim_release(ctx, exact->chunk[k].boxes, exact->chunk_boxes, sizeof *exact->chunk->boxes);
  }
  plim_block_release(ctx, &exact->block);
  plim_pairs_free(exact->pairs);
  plim_sections_free(&exact->sections);
  plim_release(ctx, exact, 1, sizeof *exact);
}
