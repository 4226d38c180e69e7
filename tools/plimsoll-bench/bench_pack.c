/* Packing of published instances: time to the first packing under a capacity, and the lowest packed size in the time
 * given, beside the times that others reached under that capacity. Every packing is validated. */
#include <stdio.h>
#include <string.h>

#include "planner/pack/buffers_csv.h"
#include "planner/pack/pack.h"
#include "runtime/base/size.h"
#include "tools/plimsoll-bench/bench.h"

enum { NAME = 64 };
static const int64_t usual_capacity = 1048576;
static const double usual_seconds = 5;

/* Milliseconds under the usual capacity, by instances known by their size. Sources: Moffitt, MiniMalloc, ASPLOS 2023
 * (its own machine); SuperMalloc of OmniMalloc, 2026, measured by us on two cores. */
static const struct {
  const char *name;
  int32_t buffers;
  int64_t peak_bytes, minimalloc_ms, supermalloc_ms;
} published[] = {{"A", 154, 1048576, 4910, 177},
                 {"C", 203, 1039360, 637, 80},
                 {"D", 213, 986112, 2674, 250},
                 {"G", 308, 1048576, 1181, 30}};
enum { PUBLISHED = sizeof published / sizeof published[0] };

typedef struct table {
  session *s;
  json_t *rows;
  int64_t capacity;
  int has_head; /* printed with the first row: a folder without instances gets a sentence alone */
} table;

typedef struct result {
  const plim_buffer_list *buffers;
  char name[NAME];
  int known;                        /* row of published, -1: none */
  int fits;                         /* under the capacity */
  plim_pack_solution under, lowest; /* under: only if it fits */
  double under_ms, lowest_seconds;
} result;

static void print_head(const table *t) {
  printf("%-16s %7s %13s %13s %15s %8s %15s %7s %8s  %12s %12s\n", "instance", "buffers", "peak", "first-fit",
         "under capacity", "ms", "packed", "gap", "seconds", "MiniMalloc", "SuperMalloc");
  printf("%-16s %7s %13s %13s %15lld %8s %15s %7s %8s  %12s %12s\n", "", "", "", "", (long long)t->capacity, "", "", "",
         "", "ms, theirs", "ms, 2 cores");
}

static double gap_percent(const plim_pack_solution *found) {
  return found->bound > 0 ? 100.0 * (double)(found->packed_bytes - found->bound) / (double)found->bound : 0;
}

static void print_row(const result *r) {
  char under[NAME] = "not found", ms[NAME];
  (void)snprintf(ms, sizeof ms, "%.1f", r->under_ms);
  if (r->fits) (void)snprintf(under, sizeof under, "%lld", (long long)r->under.packed_bytes);
  printf("%-16s %7d %13lld %13lld %15s %8s %15lld %6.2f%% %8.2f", r->name, r->buffers->n,
         (long long)r->lowest.peak_bytes, (long long)r->lowest.first_fit, under, ms, (long long)r->lowest.packed_bytes,
         gap_percent(&r->lowest), r->lowest_seconds);
  if (r->known >= 0) {
    printf("  %12lld %12lld", (long long)published[r->known].minimalloc_ms,
           (long long)published[r->known].supermalloc_ms);
  }
  printf("%s\n", r->lowest.proved ? "  proved" : "");
  (void)fflush(stdout);
}

static void add_row(const table *t, const result *r) {
  json_t *row =
      json_pack("{s:s, s:i, s:I, s:I, s:I, s:f, s:I, s:I, s:f, s:b, s:f}", "instance", r->name, "buffers",
                (int)r->buffers->n, "peak_bytes", (json_int_t)r->lowest.peak_bytes, "first_fit_bytes",
                (json_int_t)r->lowest.first_fit, "capacity_bytes", (json_int_t)t->capacity, "milliseconds", r->under_ms,
                "packed_bytes", (json_int_t)r->lowest.packed_bytes, "bound_bytes", (json_int_t)r->lowest.bound,
                "gap_percent", gap_percent(&r->lowest), "proved", r->lowest.proved, "seconds", r->lowest_seconds);
  if (r->fits) (void)json_object_set_new(row, "packed_under_capacity_bytes", json_integer(r->under.packed_bytes));
  if (r->known >= 0) {
    (void)json_object_set_new(row, "minimalloc_milliseconds", json_integer(published[r->known].minimalloc_ms));
    (void)json_object_set_new(row, "supermalloc_milliseconds", json_integer(published[r->known].supermalloc_ms));
  }
  bench_row_add(t->s, t->rows, row);
}

plim_status bench_pack_once(const session *s, const plim_boxes *boxes, int64_t capacity, int64_t *offset,
                            plim_pack_solution *found, double *seconds) {
  const options *o = s->o;
  plim_pack_options wanted = plim_pack_options_default();
  wanted.capacity = capacity;
  wanted.time_limit_ns = (int64_t)((o->time_limit > 0 ? o->time_limit : usual_seconds) * 1e9);
  wanted.threads = (int32_t)o->threads;
  int64_t begin = plim_now_ns();
  plim_status status = plim_pack_solve(s->ctx, boxes, &wanted, offset, found);
  *seconds = (double)(plim_now_ns() - begin) / 1e9;
  return status;
}

static void name_instance(result *r, const char *path) {
  const char *slash = strrchr(path, '/');
  (void)snprintf(r->name, sizeof r->name, "%s", slash ? slash + 1 : path);
  char *dot = strrchr(r->name, '.');
  if (dot) *dot = 0;
  r->known = -1;
  for (int i = 0; i < PUBLISHED; i++) {
    if (published[i].buffers == r->buffers->n && published[i].peak_bytes == r->lowest.peak_bytes) r->known = i;
  }
}

static plim_status bench_instance(void *user, const char *path) {
  table *t = user;
  plim_context *ctx = t->s->ctx;
  plim_buffer_list *buffers = NULL;
  int64_t *offset = NULL;
  plim_status status;
  PLIM_TRY(plim_buffer_list_load(ctx, path, &buffers));
  result r = {.buffers = buffers};
  plim_boxes boxes = plim_buffer_list_boxes(buffers, 1);
  PLIM_TRY_OR_DONE(plim_allocate(ctx, buffers->n, sizeof *offset, &offset));
  status = bench_pack_once(t->s, &boxes, t->capacity, offset, &r.under, &r.under_ms);
  r.fits = status == PLIM_OK;
  r.under_ms *= 1000;
  if (status != PLIM_OK && status != PLIM_ENOFIT) goto done;
  PLIM_TRY_OR_DONE(bench_go_on(t->s));
  PLIM_TRY_OR_DONE(bench_pack_once(t->s, &boxes, INT64_MAX, offset, &r.lowest, &r.lowest_seconds));
  name_instance(&r, path);
  progress_clear(&t->s->bar);
  if (t->s->o->json) {
    add_row(t, &r);
  } else {
    if (!t->has_head) print_head(t);
    t->has_head = 1;
    print_row(&r);
  }
  status = bench_go_on(t->s);
done:
  plim_release(ctx, offset, buffers->n, sizeof *offset);
  plim_buffer_list_free(buffers);
  return status;
}

plim_status bench_pack(session *s, const char *folder) {
  if (!folder) return bench_buffers(s);
  table t = {.s = s, .capacity = usual_capacity};
  if (s->o->capacity) {
    plim_size size;
    PLIM_TRY(plim_size_parse(s->ctx, s->o->capacity, &size));
    if (size.bytes < 0)
      return plim_fail(s->ctx, PLIM_EUSAGE, "--capacity %s: percentages are not allowed here; give bytes",
                       s->o->capacity);
    t.capacity = size.bytes;
  }
  t.rows = json_array();
  plim_status status = bench_files(s, folder, ".csv", bench_instance, &t);
  bench_rows_end(s, status, t.rows);
  return status;
}
