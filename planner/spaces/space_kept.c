/* Keeps plans over spaces on disk, and finds those of earlier calls. Each plan has a file. Its name has two hashes.
 * The first one is of graph, devices, spaces and links: a call reads all plans that share it. The second one is of
 * everything that was asked for. The figures in a file are for the rates of the call that wrote it, so the reader
 * lowers the commands again for its own rates. So a later call for no fewer bytes and no slower links has a plan that
 * is as good. */
#include "planner/front/front.h"
#include "planner/spaces/space_make_internal.h"

#include <stdio.h>

#include "runtime/base/effort.h"
#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/base/text.h"
#include "runtime/graph/space/space_plan_text.h"

static const int64_t max_bytes = INT64_C(64) << 20; /* of all such files together; a larger one holds no plan */
enum { HASH = 24, PREFIX_BYTES = HASH + 16, READING_PARTS = 4 /* of a time limit one is for reading */ };

/* ---- names ---- */

static void write_structure(plim_text *t, const plim_graph *graph, const plim_platform *p) {
  plim_text_format(t, "plimsoll spaces 1\ngraph %s\n", graph->fingerprint);
  for (int32_t d = 0; d < p->n_devices; d++)
    plim_text_format(t, "device %s %d\n", p->device[d].name, p->device[d].space);
  for (int32_t s = 0; s < p->n_spaces; s++) plim_text_format(t, "space %s\n", p->space[s].name);
  for (int32_t l = 0; l < p->n_links; l++) plim_text_format(t, "link %d %d\n", p->link[l].from, p->link[l].to);
}

static void write_question(plim_text *t, const plim_platform *p, const plim_space_options *o) {
  plim_text_format(t, "planner %s\nobjective %d\n%d %d %d %d\ndeadline %.17g %lld\n", o->planner ? o->planner : "",
                   o->objective, o->page, o->recompute, o->place, o->together, o->deadline_factor,
                   (long long)o->deadline_ns);
  for (int32_t s = 0; s < p->n_spaces; s++) {
    plim_text_format(t, "budget %lld\n", (long long)(o->budget ? o->budget[s] : p->space[s].budget_bytes));
  }
  for (int32_t d = 0; d < p->n_devices; d++) {
    const plim_platform_device *v = &p->device[d];
    plim_text_format(t, "device %.17g %.17g %.17g %.17g\n", v->flop_per_second, v->flop_per_joule, v->watt,
                     v->idle_watt);
  }
  for (int32_t l = 0; l < p->n_links; l++) {
    const plim_platform_link *v = &p->link[l];
    plim_text_format(t, "link %d %d %.17g %.17g %.17g\n", v->duplex, v->given, v->latency_s, v->bytes_per_second,
                     v->watt);
  }
}

/* prefix [PREFIX_BYTES] */
static plim_status find_names(const plim_graph *graph, const plim_platform *platform, const plim_space_options *o,
                              char *prefix, char *path) {
  char structure[PLIM_SHA256_HEX_BYTES], question[PLIM_SHA256_HEX_BYTES], name[2 * PREFIX_BYTES];
  plim_text of_structure = {.ctx = graph->ctx}, of_question = {.ctx = graph->ctx};
  write_structure(&of_structure, graph, platform);
  PLIM_TRY(plim_front_hash(&of_structure, structure));
  write_question(&of_question, platform, o);
  PLIM_TRY(plim_front_hash(&of_question, question));
  (void)snprintf(prefix, PREFIX_BYTES, "spaces-%.*s-", (int)HASH, structure);
  (void)snprintf(name, sizeof name, "%s%.*s.json", prefix, (int)HASH, question);
  plim_cache_path(o->front_folder[0] ? o->front_folder : NULL, name, path);
  return PLIM_OK;
}

/* ---- reading ---- */

/* The plan of a file; none where it is wrong. *left_bytes falls by those that were read. */
static plim_status read_plan(plim_space_kept *kept, const plim_graph *graph, const char *path, int64_t *left_bytes) {
  plim_space_plan *plan = NULL;
  char *text = NULL;
  int64_t bytes = 0;
  plim_status status = plim_file_read(kept->ctx, path, *left_bytes, &text, &bytes);
  *left_bytes -= bytes;
  if (status == PLIM_OK) status = plim_space_plan_parse(kept->ctx, path, text, bytes, &plan);
  plim_file_release(kept->ctx, text, bytes);
  if (status == PLIM_OK) status = plim_space_plan_check(kept->ctx, graph, plan);
  if (status == PLIM_OK) {
    kept->plan[kept->n++] = plan;
    return PLIM_OK;
  }
  plim_space_plan_free(plan);
  return status == PLIM_ENOMEM ? status : PLIM_OK;
}

static plim_status read_all(plim_space_kept *kept, const plim_graph *graph, const char *prefix) {
  char(*path)[PLIM_FILE_PATH_BYTES] = NULL;
  plim_status status;
  int64_t left_bytes = max_bytes;
  int32_t n = 0;
  PLIM_TRY_OR_DONE(plim_allocate(kept->ctx, PLIM_SPACE_KEPT, sizeof *path, &path));
  PLIM_TRY_OR_DONE(plim_cache_recent(kept->ctx, kept->path, prefix, PLIM_SPACE_KEPT, path, &n));
  for (int32_t i = 0; i < n && !plim_effort_over(kept->ctx, PLIM_EFFORT_LOOK); i++) {
    PLIM_TRY_OR_DONE(read_plan(kept, graph, path[i], &left_bytes));
  }
done:
  plim_release(kept->ctx, path, PLIM_SPACE_KEPT, sizeof *path);
  return status;
}

static plim_status open_folder(const plim_graph *graph, const plim_platform *platform, const plim_space_options *o,
                               plim_space_kept *kept) {
  char prefix[PREFIX_BYTES];
  PLIM_TRY(find_names(graph, platform, o, prefix, kept->path));
  if (kept->path[0]) {
    const int64_t part_ns = plim_effort_share(o->time_limit_ns, READING_PARTS);
    const int64_t outer_ns = plim_effort_begin(kept->ctx, plim_effort_deadline_of(plim_now_ns(), part_ns));
    PLIM_TRY(plim_effort_end(kept->ctx, outer_ns, read_all(kept, graph, prefix)));
  }
  kept->known_capacity = o->n_known + kept->n;
  PLIM_TRY(plim_allocate(kept->ctx, kept->known_capacity, sizeof(const plim_space_plan *), &kept->known));
  for (int32_t i = 0; i < o->n_known; i++) kept->known[kept->n_known++] = o->known[i];
  for (int32_t i = 0; i < kept->n; i++) kept->known[kept->n_known++] = kept->plan[i];
  return PLIM_OK;
}

plim_status plim_space_kept_open(const plim_graph *graph, const plim_platform *platform, const plim_space_options *o,
                                 plim_space_kept *out) {
  *out = (plim_space_kept){.ctx = graph->ctx};
  if (!o->front_folder) return PLIM_OK;
  plim_status status = open_folder(graph, platform, o, out);
  if (status != PLIM_OK) plim_space_kept_close(out);
  return status;
}

/* ---- the end ---- */

plim_status plim_space_kept_save(const plim_space_kept *kept, const plim_space_plan *plan) {
  plim_text text = {.ctx = kept->ctx};
  if (!kept->path[0]) return PLIM_OK;
  plim_space_plan_write(&text, plan);
  plim_status status = plim_cache_save(&text, kept->path);
  if (status == PLIM_ENOMEM) return status;
  return status == PLIM_OK ? plim_cache_trim(kept->ctx, kept->path, "spaces-", max_bytes) : PLIM_OK;
}

void plim_space_kept_close(plim_space_kept *kept) {
  for (int32_t i = 0; i < kept->n; i++) plim_space_plan_free(kept->plan[i]);
  plim_release(kept->ctx, kept->known, kept->known_capacity, sizeof(const plim_space_plan *));
  *kept = (plim_space_kept){.ctx = NULL};
}
