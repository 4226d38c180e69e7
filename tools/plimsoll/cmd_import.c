/* plimsoll import: a graph of another program as a graph document. */
#include "runtime/import/import.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/import_file.h"
#include "tools/plimsoll/process.h"
#include "tools/plimsoll/session.h"

static plim_status import(session *s) {
  plim_graph *graph = NULL;
  interrupt_at_once(1);
  PLIM_TRY(import_file(s->ctx, s->o->file, s->o->second, &graph));
  plim_status status = plim_graph_save(graph, s->o->output);
  if (status == PLIM_OK) graph_figures_print(graph, s->o->json);
  plim_graph_free(graph);
  return status;
}

static int run_import(const options *o) {
  return session_run(o, import);
}

static const command_list lists[] = {{"FORMATS", plim_import_name, plim_import_about}, {NULL, NULL, NULL}};

const command command_import = {
    .name = "import",
    .mask = COMMAND_IMPORT,
    .file = "FORMAT",
    .second = "FILE",
    .summary = "make a graph document of another program's graph",
    .about =
        "Read a graph that another program wrote and write it as a graph document, ops in the file's input order with "
        "their costs and ids. Nodes of nx have cost_ram and cost_cpu, or out_cost and duration; in place of a time "
        "they may have flops, or durations by device and copies by \"from>to\". Budgets of such graphs bound sums of "
        "live bytes, without rounding and addresses, as publications count them. Graphs of dtr have the views and "
        "handles of their program, for plimsoll simulate. A FILE whose name ends with .gz is inflated first.",
    .lists = lists,
    .after =
        "EXAMPLES\n"
        "  plimsoll import nx resnet50_train.json -o g.json\n"
        "  plimsoll plan --graph g.json --memory 70% --time-limit 10s -o plan.json\n"
        "  plimsoll check plan.json --graph g.json\n"
        "  plimsoll import dtr resnet32.log.gz -o r.json\n",
    .run = run_import,
};
