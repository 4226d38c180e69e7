/* Packing of buffers that fill an arena tightly: what share of the instances of each family is packed in 1 s, in 5 s
 * and in the time limit, and the figures of the family beside those of the published instances. */
#include <stdio.h>
#include <string.h>

#include "planner/pack/buffers_csv.h"
#include "runtime/base/file.h"
#include "runtime/base/name.h"
#include "tools/plimsoll-bench/bench.h"
#include "tools/plimsoll-bench/tight_boxes.h"

enum { INSTANCES = 8, INSTANCES_LIKE = 50 };
static const int32_t slacks[] = {0, 1, 5};
enum { SLACKS = sizeof slacks / sizeof *slacks };
static const int64_t published_capacity = 1048576;

/* A row of the table: sums over its instances until it is printed. */
typedef struct row {
  char name[BENCH_NAME];
  int32_t slack_percent, instances, packed, in_1_s, in_5_s;
  double seconds; /* of all */
  tight_figures sum;
} row;

typedef struct table {
  session *s;
  json_t *rows;
} table;

static void print_head(const table *t) {
  if (t->s->o->json) return;
  printf("%-10s %5s %9s %8s %6s %8s %8s  %-20s %-20s %6s %6s %7s %6s %6s %9s\n", "family", "slack", "instances",
         "buffers", "times", "sections", "overlaps", "length 10/50/90 %", "size 10/50/90 %", "peak", "fill", "packed",
         "in 1 s", "in 5 s", "seconds");
}

static void add_figures(tight_figures *sum, const tight_figures *f) {
  sum->buffers += f->buffers;
  sum->times += f->times;
  sum->sections += f->sections;
  sum->overlap += f->overlap;
  sum->peak += f->peak;
  sum->fill += f->fill;
  for (int i = 0; i < 3; i++) sum->length[i] += f->length[i];
  for (int i = 0; i < 3; i++) sum->size[i] += f->size[i];
}

static void print_row(const table *t, const row *r) {
  const tight_figures *f = &r->sum;
  double n = r->instances;
  char length[BENCH_NAME], size[BENCH_NAME], slack[BENCH_NAME] = "";
  (void)snprintf(length, sizeof length, "%.2f %.2f %.2f", f->length[0] / n, f->length[1] / n, f->length[2] / n);
  (void)snprintf(size, sizeof size, "%.2f %.2f %.2f", f->size[0] / n, f->size[1] / n, f->size[2] / n);
  if (r->slack_percent >= 0) (void)snprintf(slack, sizeof slack, "%d %%", r->slack_percent);
  progress_clear(&t->s->bar);
  printf("%-10s %5s %9d %8.0f %6.0f %8.0f %8.2f  %-20s %-20s %6.2f %6.2f %7d %6d %6d %9.2f\n", r->name, slack,
         r->instances, f->buffers / n, f->times / n, f->sections / n, f->overlap / n, length, size, f->peak / n,
         f->fill / n, r->packed, r->in_1_s, r->in_5_s, r->seconds);
  (void)fflush(stdout);
}

static void end_row(const table *t, const row *r) {
  if (r->instances == 0) return;
  if (!t->s->o->json) {
    print_row(t, r);
    return;
  }
  const tight_figures *f = &r->sum;
  double n = r->instances;
  bench_row_add(t->s, t->rows,
                json_pack("{s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:[f,f,f], s:[f,f,f], s:f, s:f, s:i, s:i, s:i, s:f}",
                          "family", r->name, "slack_percent", (int)r->slack_percent, "instances", (int)r->instances,
                          "buffers", f->buffers / n, "event_times", f->times / n, "sections", f->sections / n,
                          "overlap_percent", f->overlap / n, "length_percent", f->length[0] / n, f->length[1] / n,
                          f->length[2] / n, "size_percent", f->size[0] / n, f->size[1] / n, f->size[2] / n,
                          "peak_percent", f->peak / n, "fill_percent", f->fill / n, "packed", (int)r->packed,
                          "packed_in_1_s", (int)r->in_1_s, "packed_in_5_s", (int)r->in_5_s, "seconds", r->seconds));
}

static plim_status run_boxes(const table *t, const plim_boxes *boxes, int64_t capacity, row *r) {
  plim_context *ctx = t->s->ctx;
  plim_pack_solution found;
  tight_figures f;
  double seconds;
  int64_t *offset = NULL;
  PLIM_TRY(tight_measure(ctx, boxes->n, boxes->box, capacity, &f));
  PLIM_TRY(plim_allocate(ctx, boxes->n, sizeof *offset, &offset));
  plim_status status = bench_pack_once(t->s, boxes, capacity, offset, &found, &seconds);
  int packed = status == PLIM_OK;
  plim_release(ctx, offset, boxes->n, sizeof *offset);
  if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  add_figures(&r->sum, &f);
  r->instances++;
  r->packed += packed;
  r->in_1_s += packed && seconds <= 1;
  r->in_5_s += packed && seconds <= 5;
  r->seconds += seconds;
  return bench_go_on(t->s);
}

/* Write an instance as NAME-FAMILY-CAPACITY-SEED.csv for other packers, NAME as --output says. */
static plim_status save(const table *t, const row *r, uint64_t seed, const tight_instance *made) {
  char path[4096];
  plim_text text = {t->s->ctx, NULL, 0, 0, PLIM_OK};
  plim_text_add(&text, "id,lower,upper,size\n");
  for (int32_t x = 0; x < made->n; x++) {
    const plim_box *b = &made->box[x];
    plim_text_format(&text, "%d,%lld,%lld,%lld\n", x, (long long)b->begin, (long long)b->end, (long long)b->bytes);
  }
  (void)snprintf(path, sizeof path, "%s-%s-%lld-%llu.csv", t->s->o->output, r->name, (long long)made->capacity,
                 (unsigned long long)seed);
  plim_status status = text.status;
  if (status == PLIM_OK) status = plim_file_save(t->s->ctx, path, text.chars, text.length);
  plim_text_free(&text);
  return status;
}

static plim_status run_family(const table *t, int32_t which, int32_t slack_percent) {
  static tight_instance made; /* large */
  row r = {.slack_percent = slack_percent};
  plim_status status = PLIM_OK;
  int32_t instances = tight_like(which) ? INSTANCES_LIKE : INSTANCES;
  (void)snprintf(r.name, sizeof r.name, "%s", tight_name(which));
  for (int32_t i = 0; i < instances && status == PLIM_OK; i++) {
    uint64_t seed = (uint64_t)t->s->o->seed + (uint64_t)i;
    tight_make(which, seed, slack_percent, &made);
    const plim_boxes boxes = {.n = made.n, .align = 1, .box = made.box};
    status = t->s->o->output ? save(t, &r, seed, &made) : PLIM_OK;
    if (status == PLIM_OK) status = run_boxes(t, &boxes, made.capacity, &r);
  }
  end_row(t, &r);
  return status;
}

static plim_status run_published(void *user, const char *path) {
  const table *t = user;
  const char *slash = strrchr(path, '/');
  plim_buffer_list *buffers = NULL;
  row r = {.slack_percent = -1};
  PLIM_TRY(plim_buffer_list_load(t->s->ctx, path, &buffers));
  plim_boxes boxes = plim_buffer_list_boxes(buffers, 1);
  (void)snprintf(r.name, sizeof r.name, "%s", slash ? slash + 1 : path);
  plim_status status = run_boxes(t, &boxes, published_capacity, &r);
  end_row(t, &r);
  plim_buffer_list_free(buffers);
  return status;
}

static int is_wanted(const table *t, int32_t which) {
  const char *next = t->s->o->shapes ? t->s->o->shapes : "";
  char name[BENCH_NAME];
  int wanted = !*next;
  while (*next) {
    next = bench_next_name(next, name);
    wanted |= strcmp(name, tight_name(which)) == 0;
  }
  return wanted;
}

/* The names of --shapes, before the table begins. */
static plim_status check_names(const session *s) {
  const char *next = s->o->shapes ? s->o->shapes : "";
  char name[BENCH_NAME], advice[PLIM_NAME_ADVICE_BYTES];
  while (*next) {
    next = bench_next_name(next, name);
    if (plim_name_find(tight_name, name) >= 0) continue;
    return plim_fail(s->ctx, PLIM_EUSAGE, "--shapes: no family is called \"%s\"%s", name,
                     plim_name_advice(tight_name, name, advice));
  }
  return PLIM_OK;
}

plim_status bench_tight(session *s, const char *folder) {
  PLIM_TRY(check_names(s));
  table t = {.s = s, .rows = json_array()};
  plim_status status = PLIM_OK;
  print_head(&t);
  if (folder) status = bench_files(s, folder, ".csv", run_published, &t);
  for (int32_t which = 0; tight_name(which) && status == PLIM_OK; which++) {
    if (!is_wanted(&t, which)) continue;
    int like = tight_like(which) != NULL;
    for (int i = 0; i < SLACKS && status == PLIM_OK; i++) {
      if (!like || i == 0) status = run_family(&t, which, like ? -1 : slacks[i]);
    }
  }
  bench_rows_end(s, status, t.rows);
  return status;
}
