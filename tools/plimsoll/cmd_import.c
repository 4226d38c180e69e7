/* plimsoll import: a graph of another program as a graph document. */
#include "runtime/import/import.h"

#include "runtime/base/file.h"
#include "runtime/data/gzip.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/process.h"
#include "tools/plimsoll/session.h"

/* ---- files that may be compressed ---- */

/* A stream has no name that could end with .gz: its first bytes say what it is. */
static plim_status import_stream(plim_context *ctx, const char *format, const char *path, plim_graph **out) {
  char *text = NULL, *inflated = NULL;
  int64_t bytes = 0, inflated_bytes = 0;
  PLIM_TRY(plim_file_read(ctx, path, PLIM_IMPORT_MAX_BYTES, &text, &bytes));
  plim_status status = plim_gzip_inflate(ctx, path, text, bytes, PLIM_IMPORT_MAX_BYTES, &inflated, &inflated_bytes);
  if (status == PLIM_OK) {
    status =
        plim_graph_import_text(ctx, format, path, inflated ? inflated : text, inflated ? inflated_bytes : bytes, out);
  }
  if (inflated) plim_file_release(ctx, inflated, inflated_bytes);
  plim_file_release(ctx, text, bytes);
  return status;
}

plim_status import_file(plim_context *ctx, const char *format, const char *path, plim_graph **out) {
  char *text = NULL;
  int64_t bytes = 0;
  if (plim_file_is_direct(path)) return import_stream(ctx, format, path, out);
  if (!path_ends_in(path, ".gz")) return plim_graph_import(ctx, format, path, out);
  PLIM_TRY(plim_gzip_read(ctx, path, PLIM_IMPORT_MAX_BYTES, &text, &bytes));
  plim_status status = plim_graph_import_text(ctx, format, path, text, bytes, out);
  plim_file_release(ctx, text, bytes);
  return status;
}

/* ---- the command ---- */

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
