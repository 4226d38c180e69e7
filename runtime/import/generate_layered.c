/* Random layered graphs, after the generator of Gagrani et al., "Neural Topological Ordering for Computation Graphs",
 * 2022, appendix A: layers of random size, links between neighbouring layers, links that skip layers, one source and
 * one sink. Sizes are multiples of 10 from half a normal distribution, times are uniform below 1000. Program order is
 * layer by layer. */
#include <math.h>

#include "runtime/import/generate_draft.h"

enum { SIZE_SPREAD = 2500, SIZE_UNIT = 10, TIME_MAX = 1000 };

/* A draw from half a normal distribution, by the sum of twelve uniform draws. */
static int64_t draw_size(plim_generated *generated) {
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += plim_generated_unit(generated);
  return (int64_t)(fabs(sum) * SIZE_SPREAD / SIZE_UNIT) * SIZE_UNIT + SIZE_UNIT;
}

static int32_t draw_node(plim_generated *generated) {
  int64_t size = draw_size(generated);
  return plim_generated_node(generated, NULL, PLIM_PHASE_FORWARD, size, plim_generated_below(generated, TIME_MAX));
}

static int64_t draw_layer(plim_generated *generated, int64_t left) {
  const plim_generate_options *o = generated->options;
  double mean = 2 * o->width * sqrt((double)o->n);
  int64_t size = (int64_t)floor(mean * (1 + o->spread * (2 * plim_generated_unit(generated) - 1)) + 0.5);
  if (size < 1) size = 1;
  return size < left ? size : left;
}

/* Make every node of a layer read a node of the previous layer, and every node of that layer be read. */
static void link_layers(plim_generated *generated, int32_t before, int32_t n_before, int32_t first, int32_t n) {
  for (int32_t v = 0; v < n; v++) {
    plim_generated_link(generated, before + (int32_t)plim_generated_below(generated, n_before), first + v);
    for (int32_t u = 0; u < n_before; u++) {
      if (plim_generated_unit(generated) < generated->options->edges) {
        plim_generated_link(generated, before + u, first + v);
      }
    }
  }
  for (int32_t u = 0; u < n_before; u++) {
    plim_generated_link(generated, before + u, first + (int32_t)plim_generated_below(generated, n));
  }
}

/* Add links from a layer to one that is not its neighbour; they are a share of all links. */
static void skip_layers(plim_generated *generated, const int32_t *layer_of) {
  double share = generated->options->skips < 0.9 ? generated->options->skips : 0.9;
  int64_t wanted = (int64_t)((double)generated->n_links * share / (1 - share)), tries = 20 * wanted;
  while (wanted > 0 && tries-- > 0 && generated->status == PLIM_OK) {
    int32_t from = (int32_t)plim_generated_below(generated, generated->n),
            to = (int32_t)plim_generated_below(generated, generated->n);
    if (layer_of[from] + 1 >= layer_of[to]) continue;
    plim_generated_link(generated, from, to);
    wanted--;
  }
}

void plim_generate_layered(plim_generated *generated) {
  int64_t left = generated->options->n - 1;
  int32_t *layer_of = NULL, layer = 0;
  generated->status = plim_allocate(generated->ctx, generated->options->n, sizeof *layer_of, &layer_of);
  if (generated->status != PLIM_OK) return;
  int32_t before = draw_node(generated), n_before = 1;
  while (left > 0 && generated->status == PLIM_OK) {
    int32_t n = left > 1 ? (int32_t)draw_layer(generated, left - 1) : 1,
            first = (int32_t)generated->n; /* the last is the sink */
    layer++;
    for (int32_t v = 0; v < n; v++) layer_of[draw_node(generated)] = layer;
    link_layers(generated, before, n_before, first, n);
    before = first;
    n_before = n;
    left -= n;
  }
  if (generated->status == PLIM_OK) skip_layers(generated, layer_of);
  plim_release(generated->ctx, layer_of, generated->options->n, sizeof *layer_of);
}
