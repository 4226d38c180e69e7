/* What a graph has: ops, links, sums. */
#include "tools/plimsoll/graph_figures.h"

#include "tools/plimsoll/figures.h"

void graph_figures_print(const plim_graph *graph, int as_json) {
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
  figures_print(&f, as_json);
  figures_end(&f);
}
