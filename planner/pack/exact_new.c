/* Prepares a problem for exact search: sections, which boxes overlap in time, and the memory of all searches. */
#include "planner/pack/exact.h"

#include "planner/pack/pack_tuning.h"
#include "planner/pack/units.h"

enum { CHUNK_BOXES = 1 << 16 /* boxes of a block of memory for lists; several times PLIM_EXACT_MAX */ };

static void fill_masks(plim_exact *e) {
  const plim_sections *s = &e->sections;
  const plim_boxes *b = e->units->boxes;
  for (int32_t x = 0; x < e->n; x++) {
    int partly = 0; /* a box of which gaps leave a part does not count in section floors */
    for (int32_t g = b->gap ? b->gap_first[x] : 0; b->gap && g < b->gap_first[x + 1]; g++) {
      partly |= b->gap[g].low < b->gap[g].high;
    }
    for (int32_t i = s->span_first[x]; i < s->span_first[x + 1] && !partly; i++) {
      for (int32_t k = s->span[i].first; k < s->span[i].last; k++) e->mask[(int64_t)x * e->lanes + k] = -1;
    }
  }
}

static void fill_totals(plim_exact *e, double *live_units) {
  const plim_sections *s = &e->sections;
  for (int32_t x = 0; x < e->n; x++) {
    for (int32_t i = s->span_first[x]; i < s->span_first[x + 1]; i++) {
      for (int32_t k = s->span[i].first; k < s->span[i].last; k++) live_units[k] += (double)e->units->size[x];
    }
  }
  for (int32_t x = 0; x < e->n; x++) {
    for (int32_t i = s->span_first[x]; i < s->span_first[x + 1]; i++) {
      for (int32_t k = s->span[i].first; k < s->span[i].last; k++) {
        if (live_units[k] > e->total[x]) e->total[x] = live_units[k];
      }
    }
  }
}

static void fill_pairs(plim_exact *e) {
  for (int32_t x = 0; x < e->n; x++) {
    for (int32_t y = 0; y < e->n; y++) {
      int64_t separation = x == y ? PLIM_NO_SEPARATION : plim_units_separation(e->units, x, y);
      if (separation == PLIM_NO_SEPARATION) continue;
      e->together[(int64_t)x * e->words + y / PLIM_WORD] |= (uint64_t)1 << (y % PLIM_WORD);
      if (e->separation) e->separation[(int64_t)x * e->n + y] = (int32_t)separation;
    }
  }
}

static void lay_out(plim_exact *e, plim_block *b) {
  int64_t n = e->n, sections = e->sections.n_sections;
  e->total = plim_block_take(b, n, sizeof *e->total);
  e->order = plim_block_take(b, n, sizeof *e->order);
  e->number = plim_block_take(b, n, sizeof *e->number);
  e->shape = plim_block_take(b, n, sizeof *e->shape);
  e->mask = plim_block_take(b, n * e->lanes, sizeof *e->mask);
  e->together = plim_block_take(b, n * e->words, sizeof *e->together);
  e->over = plim_block_take(b, n * e->words, sizeof *e->over);
  e->raised = plim_block_take(b, e->words, sizeof *e->raised);
  if (e->units->windows) e->separation = plim_block_take(b, n * n, sizeof *e->separation);
  e->place = plim_block_take(b, n, sizeof *e->place);
  e->cut = plim_block_take(b, sections, sizeof *e->cut);
  e->section_floor = plim_block_take(b, e->lanes, sizeof *e->section_floor);
  e->rivals = plim_block_take(b, sections, sizeof *e->rivals);
  e->blame = plim_block_take(b, n, sizeof *e->blame);
  e->frame = plim_block_take(b, 2 * n + 1, sizeof *e->frame);
  e->chunk = plim_block_take(b, e->n_chunks, sizeof *e->chunk);
  e->failed = plim_block_take(b, e->n_memo, sizeof *e->failed);
}

static plim_status allocate_search(plim_exact *e) {
  plim_context *ctx = e->units->ctx;
  int64_t n = e->n, room = n * (n + 3); /* of all lists on the longest way down */
  e->words = (int32_t)((n + PLIM_WORD - 1) / PLIM_WORD);
  e->lanes = (int32_t)((e->sections.n_sections + PLIM_LANES - 1) / PLIM_LANES * PLIM_LANES);
  e->chunk_boxes = (int32_t)(room < CHUNK_BOXES ? room : CHUNK_BOXES);
  e->n_chunks = room <= CHUNK_BOXES ? 2 : (int32_t)(room / (CHUNK_BOXES - n) + 2); /* n boxes may be left at an end */
  lay_out(e, &e->block);
  PLIM_TRY(plim_block_allocate(ctx, &e->block));
  lay_out(e, &e->block);
  if (e->units->windows) PLIM_TRY(plim_pairs_new(e->units, &e->pairs));
  return plim_allocate(ctx, e->chunk_boxes, sizeof *e->chunk->boxes, &e->chunk[0].boxes);
}

plim_status plim_exact_new(const plim_units *units, int64_t nodes, plim_exact **out) {
  plim_context *ctx = units->ctx;
  plim_exact *e = NULL;
  double *live_units = NULL;
  plim_status status;
  if (units->n > (units->windows ? PLIM_EXACT_MAX_WITH_GAPS : PLIM_EXACT_MAX)) {
    return plim_fail(ctx, PLIM_EUNSUPPORTED, "exact packing of %d boxes is not possible", units->n);
  }
  PLIM_CHECK(plim_allocate(ctx, 1, sizeof *e, &e));
  e->units = units;
  e->n = units->n;
  int64_t states = e->n < pack_tuning.exact.few_boxes ? INT64_C(1) << e->n : pack_tuning.exact.memo_max;
  for (e->n_memo = pack_tuning.exact.memo_min; e->n_memo < nodes && e->n_memo < states;) e->n_memo *= 2;
  PLIM_CHECK(plim_sections_make(units, &e->sections));
  PLIM_CHECK(allocate_search(e));
  PLIM_CHECK(plim_allocate(ctx, e->sections.n_sections, sizeof *live_units, &live_units));
  fill_masks(e);
  fill_totals(e, live_units);
  fill_pairs(e);
  *out = e;
done:
  if (live_units) plim_release(ctx, live_units, e->sections.n_sections, sizeof *live_units);
  if (status != PLIM_OK) plim_exact_free(e);
  return status;
}

void plim_exact_free(plim_exact *e) {
  if (!e) return;
  plim_context *ctx = e->units->ctx;
  for (int32_t k = 0; e->chunk && k < e->n_chunks; k++) {
    plim_release(ctx, e->chunk[k].boxes, e->chunk_boxes, sizeof *e->chunk->boxes);
  }
  plim_block_release(ctx, &e->block);
  plim_pairs_free(e->pairs);
  plim_sections_free(&e->sections);
  plim_release(ctx, e, 1, sizeof *e);
}
