/* The table of shapes. Makes a graph of a draft: removes repeated links, and makes the name from the options. */
#include "runtime/import/generate.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/philox.h"
#include "runtime/base/array.h"
#include "runtime/base/integers.h"
#include "runtime/base/name.h"
#include "runtime/import/generate_draft.h"

enum { OPS_MIN = 8, OPS_MAX = 1000000 };

static const struct {
  const char *name, *about;
  plim_generator *run;
} shapes[] = {
    {"layered", "random layers with links that skip some (Gagrani et al. 2022)", plim_generate_layered},
    {"chain", "training of a plain chain of convolutions", plim_generate_chain},
    {"residual", "training of a residual network with stages", plim_generate_residual},
    {"unet", "training of a U-shaped network with long skips", plim_generate_unet},
    {"transformer", "training of a transformer's blocks", plim_generate_transformer},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

const char *plim_generate_name(int32_t row) {
  return row >= 0 && row < SHAPES ? shapes[row].name : NULL;
}

const char *plim_generate_about(int32_t row) {
  return row >= 0 && row < SHAPES ? shapes[row].about : NULL;
}

plim_generate_options plim_generate_options_default(const char *shape) {
  return (plim_generate_options){.struct_bytes = sizeof(plim_generate_options),
                                 .shape = shape,
                                 .n = 1000,
                                 .seed = 1,
                                 .width = 0.27,
                                 .spread = 0.75,
                                 .edges = 0.2,
                                 .skips = 0.14};
}

/* ---- what the shapes use ---- */

double plim_generated_unit(plim_generated *generated) {
  plim_philox draw = plim_philox_at(generated->options->seed, 0, generated->draws++);
  uint64_t bits = ((uint64_t)draw.word[0] << 21) ^ (draw.word[1] >> 11);
  return (double)bits * (1.0 / 9007199254740992.0);
}

int64_t plim_generated_below(plim_generated *generated, int64_t below) {
  return (int64_t)(plim_generated_unit(generated) * (double)below);
}

int32_t plim_generated_node(plim_generated *generated, const char *name, plim_phase phase, int64_t bytes,
                            int64_t time_ns) {
  int64_t id = generated->n;
  if (generated->status == PLIM_OK) {
    generated->status = plim_array_reserve(generated->ctx, &generated->node, &generated->capacity, generated->n + 1,
                                           sizeof *generated->node);
  }
  if (generated->status != PLIM_OK) return 0;
  generated->node[generated->n++] =
      (plim_node){.id = id, .bytes = bytes, .time_ns = time_ns, .name = name, .phase = phase};
  return (int32_t)id;
}

void plim_generated_link(plim_generated *generated, int32_t from, int32_t to) {
  if (generated->status == PLIM_OK) {
    generated->status = plim_array_reserve(generated->ctx, &generated->link, &generated->link_capacity,
                                           generated->n_links + 1, sizeof *generated->link);
  }
  if (generated->status == PLIM_OK) generated->link[generated->n_links++] = (plim_link){from, to};
}

/* ---- the graph ---- */

static int by_ends(const void *a, const void *b) {
  const plim_link *x = a, *y = b;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  return plim_integers_compare(x->from, y->from);
}

static void drop_repeats(plim_generated *generated) {
  int64_t kept = 0;
  if (generated->n_links > 0) qsort(generated->link, (size_t)generated->n_links, sizeof *generated->link, by_ends);
  for (int64_t i = 0; i < generated->n_links; i++) {
    if (i == 0 || by_ends(&generated->link[i - 1], &generated->link[i]) != 0) {
      generated->link[kept++] = generated->link[i];
    }
  }
  generated->n_links = kept;
}

static int is_share(double x) {
  return x >= 0 && x <= 1;
}

static plim_status check(plim_context *ctx, const plim_generate_options *options, int32_t row) {
  char advice[PLIM_NAME_ADVICE_BYTES];
  if (row < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "no graphs are generated of shape \"%s\"%s", options->shape,
                     plim_name_advice(plim_generate_name, options->shape, advice));
  }
  if (options->n < OPS_MIN || options->n > OPS_MAX) {
    return plim_fail(ctx, PLIM_EUSAGE, "%d ops are not generated, %d to %d are", options->n, OPS_MIN, OPS_MAX);
  }
  if (options->width > 0 && options->width <= 10 && is_share(options->spread) && is_share(options->edges) &&
      is_share(options->skips)) {
    return PLIM_OK;
  }
  return plim_fail(ctx, PLIM_EUSAGE,
                   "layers of width %g, spread %g, edges %g, skips %g: the width is above 0 and at most 10, the others "
                   "are shares from 0 to 1",
                   options->width, options->spread, options->edges, options->skips);
}

plim_status plim_graph_generate(plim_context *ctx, const plim_generate_options *options, plim_graph **out) {
  int32_t row = plim_name_find(plim_generate_name, options->shape);
  char name[96];
  plim_generated g = {.ctx = ctx, .options = options};
  PLIM_TRY(plim_check_options(ctx, "plim_generate_options", options->struct_bytes, sizeof *options));
  PLIM_TRY(check(ctx, options, row));
  shapes[row].run(&g);
  if (g.status == PLIM_OK) {
    drop_repeats(&g);
    (void)snprintf(name, sizeof name, "%s n%lld seed %llu", options->shape, (long long)g.n,
                   (unsigned long long)options->seed);
    plim_node_link nodes = {.name = name,
                            .unpacked = !options->packed,
                            .n = (int32_t)g.n,
                            .n_links = (int32_t)g.n_links,
                            .node = g.node,
                            .link = g.link};
    g.status = plim_node_link_graph(ctx, &nodes, out);
  }
  plim_release(ctx, g.node, g.capacity, sizeof *g.node);
  plim_release(ctx, g.link, g.link_capacity, sizeof *g.link);
  return g.status;
}
