/* libFuzzer on every format that is read: no input may crash, leak or be read twice in two ways. The first byte picks
 * the format, so that one corpus serves all. Built with -DPLIM_FUZZ=ON by clang; tests/fuzz builds and runs it. With
 * PLIM_FUZZ_CHECKPOINT=FILE it writes a checkpoint there, which is a seed, before it begins. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "planner/front/front.h"
#include "planner/pack/buffers_csv.h"
#include "runtime/graph/graph_text.h"
#include "runtime/graph/plan_text.h"
#include "runtime/graph/plans_text.h"
#include "runtime/graph/profile_internal.h"
#include "runtime/graph/space/platform.h"
#include "runtime/graph/space/space_plan_text.h"
#include "runtime/graph/trace_text.h"
#include "runtime/import/importers.h"
#include "tests/fuzz_files.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Parse; what is accepted is written into `again`. */
typedef plim_status parse_again(plim_context *ctx, const char *text, int64_t bytes, plim_text *again);

static plim_status graph(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_graph *made = NULL;
  plim_status status = plim_graph_parse(ctx, "input", text, bytes, &made);
  if (made) plim_graph_write(again, made, 1);
  plim_graph_free(made);
  return status;
}

static plim_status profile(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_profile *made = NULL;
  plim_status status = plim_profile_parse(ctx, "input", text, bytes, &made);
  if (made) plim_profile_write(again, made);
  plim_profile_free(made);
  return status;
}

static plim_status space_plan(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_space_plan *made = NULL;
  plim_status status = plim_space_plan_parse(ctx, "input", text, bytes, &made);
  if (made) plim_space_plan_write(again, made);
  plim_space_plan_free(made);
  return status;
}

/* Platforms have no writer. */
static void platform(plim_context *ctx, const char *text, int64_t bytes) {
  plim_platform *made = NULL;
  if (plim_platform_parse(ctx, "input", text, bytes, &made) == PLIM_OK) plim_platform_free(made);
}

/* Of either version; what is no plan may be a platform. */
static plim_status plan(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_plan *made = NULL;
  plim_status status = plim_plan_parse(ctx, "input", text, bytes, &made);
  if (made) plim_plan_write(again, made);
  plim_plan_free(made);
  if (status == PLIM_OK) return status;
  platform(ctx, text, bytes);
  return space_plan(ctx, text, bytes, again);
}

static plim_status program(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_plans *made = NULL;
  plim_status status = plim_plans_parse(ctx, "input", text, bytes, &made);
  if (made) {
    const char *name[PLIM_PLANS_MAX];
    const plim_plan *plans[PLIM_PLANS_MAX];
    for (int32_t i = 0; i < made->n; i++) {
      name[i] = made->name[i];
      plans[i] = made->plan[i];
    }
    plim_plans_write(again, made->n, name, plans);
  }
  plim_plans_free(made);
  return status;
}

static plim_status trace(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_trace *made = NULL;
  plim_status status = plim_trace_parse(ctx, "input", text, bytes, &made);
  if (made) {
    plim_trace_write_head(again, made);
    for (int64_t i = 0; i < made->n_rows; i++) plim_trace_write_row(again, made, &made->row[i]);
    plim_trace_write_end(again, made->n_rows / made->n_commands);
  }
  plim_trace_free(made);
  return status;
}

static plim_status buffers(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_buffer_list *made = NULL;
  plim_status status = plim_buffer_list_parse(ctx, "input", text, bytes, &made);
  if (made) plim_buffer_list_write(again, made, NULL);
  plim_buffer_list_free(made);
  return status;
}

/* What an import makes is a graph document, which is what is read the second time. */
typedef plim_status import(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_graph **out);

static plim_status imported(import *from, plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_graph *made = NULL;
  if (graph(ctx, text, bytes, again) == PLIM_OK) return PLIM_OK;
  plim_status status = from(ctx, "input", text, bytes, &made);
  if (made) plim_graph_write(again, made, 1);
  plim_graph_free(made);
  return status;
}

static plim_status imported_nx(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  return imported(plim_import_nx, ctx, text, bytes, again);
}

static plim_status imported_dtr(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  return imported(plim_import_dtr, ctx, text, bytes, again);
}

static plim_status curve(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  static const char key[] = "00000000000000000000000000000000000000000000000000000000000000ab";
  plim_front made = {.ctx = ctx};
  plim_status status = plim_front_parse(ctx, "input", text, bytes, key, &made);
  if (status == PLIM_OK) plim_front_write(again, key, &made);
  plim_front_free(&made);
  return status;
}

static void require(int holds) {
  if (!holds) abort();
}

/* The order is that of the first byte; tests/fuzz knows it. */
static parse_again *const parsers[] = {graph, profile, plan, program, trace, buffers, imported_nx, curve, imported_dtr};
static fuzz_file *const files[] = {fuzz_gzip, fuzz_idx, fuzz_cifar, fuzz_profile_cache, fuzz_checkpoint};
enum { PARSERS = sizeof parsers / sizeof *parsers, FILES = sizeof files / sizeof *files };

static char folder[] = "/tmp/plimsoll-fuzz-XXXXXX";

static void remove_folder(void) {
  static const char *const names[] = {"log.gz", "images.gz", "batch.bin", "weights.ckpt"};
  char path[64];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    (void)unlink(path);
  }
  (void)rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  const char *seed = getenv("PLIM_FUZZ_CHECKPOINT");
  plim_context *ctx = NULL;
  require(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
  require(plim_context_new(NULL, NULL, &ctx) == PLIM_OK);
  if (seed) fuzz_checkpoint_seed(ctx, seed);
  plim_context_free(ctx);
  return 0;
}

static void read_twice(plim_context *ctx, parse_again *parse, const char *data, int64_t size) {
  plim_text once = {ctx, NULL, 0, 0, PLIM_OK}, twice = once;
  if (parse(ctx, data, size, &once) == PLIM_OK) {
    require(parse(ctx, once.chars, once.length, &twice) == PLIM_OK);
    require(strcmp(once.chars, twice.chars) == 0);
  }
  plim_text_free(&once);
  plim_text_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  plim_context *ctx = NULL;
  if (size == 0 || plim_context_new(NULL, NULL, &ctx) != PLIM_OK) return 0;
  int format = data[0] % (PARSERS + FILES);
  if (format < PARSERS) {
    read_twice(ctx, parsers[format], (const char *)data + 1, (int64_t)size - 1);
  } else {
    files[format - PARSERS](ctx, folder, data + 1, size - 1);
  }
  require(plim_context_memory(ctx).bytes == 0);
  plim_context_free(ctx);
  return 0;
}
