/* Prepares a problem for niche search: which problems it can take, sections, and the memory of all restarts. */
#include "planner/pack/niche_internal.h"

#include <math.h>

#include "planner/pack/pack_tuning.h"
#include "planner/pack/packers.h"
#include "runtime/base/array.h"

enum { DEPTH_FACTOR = 4 /* nodes of the stack for each box: floors rise between boxes */ };

int plim_niche_can(const plim_units *units) {
  int can = units->is_plain && units->n > 0 && units->n <= PLIM_NICHE_MAX;
  for (int32_t b = 0; b < units->n && can; b++) can = units->fixed[b] < 0;
  return can;
}

static void lay_out(plim_niche *niche, plim_block *block) {
  int64_t n = niche->n, m = niche->m + 1, depth = niche->depth_max;
  niche->shape = plim_block_take(block, n, sizeof *niche->shape);
  niche->owner = plim_block_take(block, n, sizeof *niche->owner);
  niche->up = plim_block_take(block, n, sizeof *niche->up);
  niche->code = plim_block_take(block, n, sizeof *niche->code);
  niche->key = plim_block_take(block, n, sizeof *niche->key);
  niche->rank = plim_block_take(block, n, sizeof *niche->rank);
  niche->weight = plim_block_take(block, m, sizeof *niche->weight);
  niche->spare = plim_block_take(block, m, sizeof *niche->spare);
  niche->stack.frame = plim_block_take(block, depth, sizeof *niche->stack.frame);
  niche->stack.boxes = plim_block_take(block, depth * n, sizeof *niche->stack.boxes);
  niche->stack.options = plim_block_take(block, depth * (n + 1), sizeof *niche->stack.options);
  niche->stack.reasons = plim_block_take(block, 2 * depth * niche->words, sizeof *niche->stack.reasons);
  niche->stack.numbers = plim_block_take(block, 2 * depth * m, sizeof *niche->stack.numbers);
  niche->stack.counts = plim_block_take(block, depth * m, sizeof *niche->stack.counts);
  niche->node.top = plim_block_take(block, m, sizeof *niche->node.top);
  niche->node.span_low = plim_block_take(block, m, sizeof *niche->node.span_low);
  niche->node.ending = plim_block_take(block, m, sizeof *niche->node.ending);
  niche->node.beginning = plim_block_take(block, m, sizeof *niche->node.beginning);
  niche->node.starting = plim_block_take(block, m, sizeof *niche->node.starting);
  niche->node.answers = plim_block_take(block, m, sizeof *niche->node.answers);
  niche->node.from_left = plim_block_take(block, m, sizeof *niche->node.from_left);
  niche->node.from_right = plim_block_take(block, m, sizeof *niche->node.from_right);
  niche->node.next_starting = plim_block_take(block, n, sizeof *niche->node.next_starting);
  niche->node.next_ending = plim_block_take(block, n, sizeof *niche->node.next_ending);
  niche->node.next_beginning = plim_block_take(block, n, sizeof *niche->node.next_beginning);
  niche->best.deepest = plim_block_take(block, n, sizeof *niche->best.deepest);
  niche->best.saved = plim_block_take(block, n, sizeof *niche->best.saved);
  niche->memo.hash = plim_block_take(block, niche->memo.n, sizeof *niche->memo.hash);
  niche->memo.reasons = plim_block_take(block, niche->memo.n * niche->words, sizeof *niche->memo.reasons);
}

plim_status plim_niche_new(const plim_units *units, plim_niche **out) {
  plim_context *ctx = units->ctx;
  plim_niche *niche = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 1, sizeof *niche, &niche));
  *niche = (plim_niche){.units = units, .n = units->n, .memo.n = pack_tuning.niche.memo, .best.saved_open = INFINITY};
  PLIM_TRY_OR_DONE(plim_sections_make(units, &niche->sections));
  niche->m = niche->sections.n_sections;
  niche->words = (niche->m + PLIM_WORD - 1) / PLIM_WORD;
  niche->depth_max = DEPTH_FACTOR * niche->n + 2;
  lay_out(niche, &niche->block);
  PLIM_TRY_OR_DONE(plim_block_allocate(ctx, &niche->block));
  lay_out(niche, &niche->block);
  for (int64_t d = 0, m = niche->m + 1; d < niche->depth_max; d++) {
    niche->stack.frame[d] = (plim_niche_frame){.waiting = niche->stack.boxes + d * niche->n,
                                               .option = niche->stack.options + d * (niche->n + 1),
                                               .reason = niche->stack.reasons + 2 * d * niche->words,
                                               .raised = niche->stack.reasons + (2 * d + 1) * niche->words,
                                               .floors = niche->stack.numbers + 2 * d * m,
                                               .slacks = niche->stack.numbers + (2 * d + 1) * m,
                                               .crossings = niche->stack.counts + d * m};
  }
  *out = niche;
done:
  if (status != PLIM_OK) plim_niche_free(niche);
  return status;
}

void plim_niche_free(plim_niche *niche) {
  if (!niche) return;
  plim_context *ctx = niche->units->ctx;
  plim_block_release(ctx, &niche->block);
  plim_sections_free(&niche->sections);
  plim_release(ctx, niche, 1, sizeof *niche);
}
