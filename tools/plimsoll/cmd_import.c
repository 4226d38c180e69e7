/* plimsoll import: a graph of another program as a graph document. */
#include "runtime/graph/import.h"

#include <string.h>

#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/session.h"

static void print_table(const session *s, const plim_graph *graph) {
  int64_t bytes = 0, time_ns = 0, links = 0;
  figures f;
  for (int32_t i = 0; i < graph->n_storages; i++) bytes += graph->storage[i].bytes;
  for (int32_t i = 0; i < graph->n_ops; i++) {
    links += graph->op[i].n_reads;
    time_ns += graph->op[i].time_ns > 0 ? graph->op[i].time_ns : 0;
  }
  figures_begin(&f, 1, NULL, NULL);
  figures_text(&f, 0, "graph", "graph", graph->name);
  figures_count(&f, 0, "ops", "ops", graph->n_ops);
  figures_count(&f, 0, "links", "links", links);
  figures_count(&f, 0, "sum_bytes", "sum of sizes", bytes);
  figures_count(&f, 0, "sum_time", "sum of durations", time_ns);
  figures_text(&f, 0, "addresses", "addresses", graph->unpacked ? "none" : "packed");
  figures_text(&f, 0, "fingerprint", "fingerprint", graph->fingerprint);
  figures_print(&f, s->o->json);
  figures_end(&f);
}

static plim_status import(session *s) {
  plim_graph *graph = NULL;
  if (!s->o->output) return plim_fail(s->ctx, PLIM_EUSAGE, "import needs -o FILE: where the graph document goes");
  PLIM_TRY(plim_graph_import(s->ctx, s->o->file, s->o->second, &graph));
  plim_status status = plim_graph_save(graph, s->o->output);
  if (status == PLIM_OK) print_table(s, graph);
  plim_graph_free(graph);
  return status;
}

static int run_import(const options *o) {
  session s;
  plim_status status = session_open(&s, o);
  if (status == PLIM_OK) status = import(&s);
  return session_close(&s, status);
}

const command command_import = {
    .name = "import",
    .mask = COMMAND_IMPORT,
    .file = "FORMAT",
    .second = "FILE",
    .summary = "make a graph document of another program's graph",
    .about =
        "Read a graph that another program wrote and write it as a graph document, ops in the file's input order with "
        "their costs and ids. FORMAT nx: networkx node-link JSON, in the dialect of Checkmate's networks (cost_ram, "
        "cost_cpu) or of random layered graphs (out_cost, duration). Budgets of such graphs bound sums of live bytes, "
        "without rounding and addresses, as publications count them.",
    .after =
        "EXAMPLES\n"
        "  plimsoll import nx resnet50_train.json -o g.json\n"
        "  plimsoll plan --graph g.json --memory 70% --time-limit 10s -o plan.json\n"
        "  plimsoll check plan.json --graph g.json\n\n" COMMAND_EXIT_STATUS,
    .run = run_import,
};
