/* Random layered graphs, after the generator of Gagrani et al., "Neural Topological Ordering for Computation Graphs",
 * 2022, appendix A: layers of random size, links between neighbouring layers, links that skip layers, one source and
 * one sink. Sizes are multiples of 10 from half a normal distribution, times are uniform below 1000. Program order is
 * layer by layer. */
#include <math.h>

#include "runtime/import/generate_draft.h"

enum { SIZE_SPREAD = 2500, SIZE_UNIT = 10, TIME_MAX = 1000 };

/* A draw from half a normal distribution, by the sum of twelve uniform draws. */
static int64_t draw_size(plim_generated *g) {
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += plim_generated_unit(g);
  return (int64_t)(fabs(sum) * SIZE_SPREAD / SIZE_UNIT) * SIZE_UNIT + SIZE_UNIT;
}

static int32_t draw_node(plim_generated *g) {
  int64_t size = draw_size(g);
  return plim_generated_node(g, NULL, PLIM_PHASE_FORWARD, size, plim_generated_below(g, TIME_MAX));
}

static int64_t draw_layer(plim_generated *g, int64_t left) {
  const plim_generate_options *o = g->options;
  double mean = 2 * o->width * sqrt((double)o->n);
  int64_t size = (int64_t)floor(mean * (1 + o->spread * (2 * plim_generated_unit(g) - 1)) + 0.5);
  if (size < 1) size = 1;
  return size < left ? size : left;
}

/* Make every node of a layer read a node of the previous layer, and every node of that layer be read. */
static void link_layers(plim_generated *g, int32_t before, int32_t n_before, int32_t first, int32_t n) {
  for (int32_t v = 0; v < n; v++) {
    plim_generated_link(g, before + (int32_t)plim_generated_below(g, n_before), first + v);
    for (int32_t u = 0; u < n_before; u++) {
      if (plim_generated_unit(g) < g->options->edges) plim_generated_link(g, before + u, first + v);
    }
  }
  for (int32_t u = 0; u < n_before; u++) {
    plim_generated_link(g, before + u, first + (int32_t)plim_generated_below(g, n));
  }
}

/* Add links from a layer to one that is not its neighbour; they are a share of all links. */
static void skip_layers(plim_generated *g, const int32_t *layer_of) {
  double share = g->options->skips < 0.9 ? g->options->skips : 0.9;
  int64_t wanted = (int64_t)((double)g->n_links * share / (1 - share)), tries = 20 * wanted;
  while (wanted > 0 && tries-- > 0 && g->status == PLIM_OK) {
    int32_t from = (int32_t)plim_generated_below(g, g->n), to = (int32_t)plim_generated_below(g, g->n);
    if (layer_of[from] + 1 >= layer_of[to]) continue;
    plim_generated_link(g, from, to);
    wanted--;
  }
}

void plim_generate_layered(plim_generated *g) {
  int64_t left = g->options->n - 1;
  int32_t *layer_of = NULL, layer = 0;
  g->status = plim_allocate(g->ctx, g->options->n, sizeof *layer_of, &layer_of);
  if (g->status != PLIM_OK) return;
  int32_t before = draw_node(g), n_before = 1;
  while (left > 0 && g->status == PLIM_OK) {
    int32_t n = left > 1 ? (int32_t)draw_layer(g, left - 1) : 1, first = (int32_t)g->n; /* the last is the sink */
    layer++;
    for (int32_t v = 0; v < n; v++) layer_of[draw_node(g)] = layer;
    link_layers(g, before, n_before, first, n);
    before = first;
    n_before = n;
    left -= n;
  }
  if (g->status == PLIM_OK) skip_layers(g, layer_of);
  plim_release(g->ctx, layer_of, g->options->n, sizeof *layer_of);
}
