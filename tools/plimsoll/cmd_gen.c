/* plimsoll gen: graphs made up by seed. */
#include <stdio.h>

#include "runtime/import/generate.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/process.h"
#include "tools/plimsoll/session.h"

static plim_generate_options wanted(const options *o) {
  plim_generate_options g = plim_generate_options_default(o->file);
  g.seed = (uint64_t)o->seed;
  if (o->ops > 0) g.n = (int32_t)o->ops;
  if (o->width > 0) g.width = o->width;
  if (o->spread >= 0) g.spread = o->spread;
  if (o->edges >= 0) g.edges = o->edges;
  if (o->skips >= 0) g.skips = o->skips;
  g.packed = o->packing && o->packing[0] == 'p';
  return g;
}

static plim_status generate(session *s) {
  plim_generate_options g = wanted(s->o);
  plim_graph *graph = NULL;
  interrupt_at_once(1);
  PLIM_TRY(plim_graph_generate(s->ctx, &g, &graph));
  plim_status status = plim_graph_save(graph, s->o->output);
  if (status == PLIM_OK) graph_figures_print(graph, s->o->json);
  plim_graph_free(graph);
  return status;
}

static int run_gen(const options *o) {
  return session_run(o, generate);
}

static const command_list lists[] = {{"SHAPES", plim_generate_name, plim_generate_about}, {NULL, NULL, NULL}};

const command command_gen = {
    .name = "gen",
    .mask = COMMAND_GEN,
    .file = "SHAPE",
    .summary = "make up a graph: random layers or an unrolled training step",
    .about =
        "Make a graph document by seed, for planners to be tried on. Training steps have as many whole blocks as fit "
        "into --ops. Equal options give equal graphs on every machine.",
    .lists = lists,
    .after =
        "EXAMPLES\n"
        "  plimsoll gen layered --ops 10000 --seed 7 -o g.json\n"
        "  plimsoll gen transformer --ops 2000 -o g.json\n"
        "  plimsoll plan --graph g.json --memory 60% --time-limit 30s\n",
    .run = run_gen,
};
