/* Prepares a problem for niche search: which problems it can take, sections, and the memory of all restarts. */
#include "planner/pack/niche.h"

#include <math.h>

#include "planner/pack/pack_tuning.h"
#include "planner/pack/units.h"
#include "runtime/base/array.h"

enum { DEPTH_FACTOR = 4 /* nodes of the stack for each box: floors rise between boxes */ };

int plim_niche_can(const plim_units *u) {
  int can = u->plain && u->n > 0 && u->n <= PLIM_NICHE_MAX;
  for (int32_t b = 0; b < u->n && can; b++) can = u->fixed[b] < 0;
  return can;
}

static void lay_out(plim_niche *e, plim_block *b) {
  int64_t n = e->n, m = e->m + 1, depth = e->depth_max;
  e->shape = plim_block_take(b, n, sizeof *e->shape);
  e->owner = plim_block_take(b, n, sizeof *e->owner);
  e->up = plim_block_take(b, n, sizeof *e->up);
  e->code = plim_block_take(b, n, sizeof *e->code);
  e->key = plim_block_take(b, n, sizeof *e->key);
  e->rank = plim_block_take(b, n, sizeof *e->rank);
  e->weight = plim_block_take(b, m, sizeof *e->weight);
  e->spare = plim_block_take(b, m, sizeof *e->spare);
  e->stack.frame = plim_block_take(b, depth, sizeof *e->stack.frame);
  e->stack.boxes = plim_block_take(b, depth * n, sizeof *e->stack.boxes);
  e->stack.options = plim_block_take(b, depth * (n + 1), sizeof *e->stack.options);
  e->stack.reasons = plim_block_take(b, 2 * depth * e->words, sizeof *e->stack.reasons);
  e->stack.numbers = plim_block_take(b, 2 * depth * m, sizeof *e->stack.numbers);
  e->stack.counts = plim_block_take(b, depth * m, sizeof *e->stack.counts);
  e->node.top = plim_block_take(b, m, sizeof *e->node.top);
  e->node.span_low = plim_block_take(b, m, sizeof *e->node.span_low);
  e->node.ending = plim_block_take(b, m, sizeof *e->node.ending);
  e->node.beginning = plim_block_take(b, m, sizeof *e->node.beginning);
  e->node.starting = plim_block_take(b, m, sizeof *e->node.starting);
  e->node.answers = plim_block_take(b, m, sizeof *e->node.answers);
  e->node.from_left = plim_block_take(b, m, sizeof *e->node.from_left);
  e->node.from_right = plim_block_take(b, m, sizeof *e->node.from_right);
  e->node.next_starting = plim_block_take(b, n, sizeof *e->node.next_starting);
  e->node.next_ending = plim_block_take(b, n, sizeof *e->node.next_ending);
  e->node.next_beginning = plim_block_take(b, n, sizeof *e->node.next_beginning);
  e->best.deepest = plim_block_take(b, n, sizeof *e->best.deepest);
  e->best.saved = plim_block_take(b, n, sizeof *e->best.saved);
  e->memo.hash = plim_block_take(b, e->memo.n, sizeof *e->memo.hash);
  e->memo.reasons = plim_block_take(b, e->memo.n * e->words, sizeof *e->memo.reasons);
}

plim_status plim_niche_new(const plim_units *units, plim_niche **out) {
  plim_context *ctx = units->ctx;
  plim_niche *e = NULL;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, 1, sizeof *e, &e));
  *e = (plim_niche){.units = units, .n = units->n, .memo.n = pack_tuning.niche.memo, .best.saved_open = INFINITY};
  PLIM_CHECK(plim_sections_make(units, &e->sections));
  e->m = e->sections.n_sections;
  e->words = (e->m + PLIM_WORD - 1) / PLIM_WORD;
  e->depth_max = DEPTH_FACTOR * e->n + 2;
  lay_out(e, &e->block);
  PLIM_CHECK(plim_block_allocate(ctx, &e->block));
  lay_out(e, &e->block);
  for (int64_t d = 0, m = e->m + 1; d < e->depth_max; d++) {
    e->stack.frame[d] = (plim_niche_frame){.waiting = e->stack.boxes + d * e->n,
                                           .option = e->stack.options + d * (e->n + 1),
                                           .reason = e->stack.reasons + 2 * d * e->words,
                                           .raised = e->stack.reasons + (2 * d + 1) * e->words,
                                           .floors = e->stack.numbers + 2 * d * m,
                                           .slacks = e->stack.numbers + (2 * d + 1) * m,
                                           .crossings = e->stack.counts + d * m};
  }
  *out = e;
done:
  if (status != PLIM_OK) plim_niche_free(e);
  return status;
}

void plim_niche_free(plim_niche *e) {
  if (!e) return;
  plim_context *ctx = e->units->ctx;
  plim_block_release(ctx, &e->block);
  plim_sections_free(&e->sections);
  plim_release(ctx, e, 1, sizeof *e);
}
