/* The arena's window search over random rows: nanoseconds of one search, its four best windows kept as `best` does. */
#include <stdio.h>

#include "runtime/arena/window.h"
#include "runtime/base/random.h"
#include "tools/plimsoll-bench/bench.h"
#include "tools/plimsoll/figures.h"

enum { LEAST_BLOCKS = 1000, MOST_BLOCKS = 100000, SEARCHES = 51, CANDIDATES = 4, MOST_UNITS = 64, NEEDED_UNITS = 400 };

/* One in sixteen must stay, one is free, the others may go. */
static void fill(plim_random *random, int32_t n, plim_window_row *row) {
  for (int32_t i = 0; i < n; i++) {
    int32_t kind = plim_random_below(random, 16);
    row[i].bytes = (int64_t)PLIM_ALIGN * (1 + plim_random_below(random, MOST_UNITS));
    row[i].cost = plim_random_below(random, 1 << 16);
    row[i].state = kind == 0 ? PLIM_ROW_BREAKER : kind == 1 ? PLIM_ROW_FREE : PLIM_ROW_EVICTABLE;
  }
}

static void measure(int32_t n, const plim_window_row *row, times *t) {
  plim_window window[CANDIDATES];
  for (int i = 0; i < SEARCHES; i++) {
    int64_t begin_ns = plim_now_ns();
    (void)plim_window_find(n, row, (int64_t)NEEDED_UNITS * PLIM_ALIGN, 0, CANDIDATES, window);
    times_add(t, plim_now_ns() - begin_ns);
  }
}

static void show(const session *s, json_t *rows, int32_t n, const times *t) {
  int64_t median = times_percentile(t, 50);
  if (!s->o->json) printf("%8d blocks  %9lld ns  %5.2f ns a block\n", n, (long long)median, (double)median / n);
  bench_row_add(s, rows, json_pack("{s:i, s:I}", "blocks", (int)n, "search_ns", (json_int_t)median));
}

plim_status bench_window(session *s, const char *folder) {
  plim_random random = {(uint64_t)s->o->seed};
  json_t *rows = json_array();
  plim_window_row *row = NULL;
  (void)folder;
  plim_status status = plim_allocate(s->ctx, MOST_BLOCKS, sizeof *row, &row);
  for (int32_t n = LEAST_BLOCKS; n <= MOST_BLOCKS && status == PLIM_OK; n *= 10) {
    static times t; /* large */
    t.count = 0;
    fill(&random, n, row);
    measure(n, row, &t);
    show(s, rows, n, &t);
    status = bench_go_on(s);
  }
  plim_release(s->ctx, row, MOST_BLOCKS, sizeof *row);
  bench_rows_end(s, status, rows);
  return status;
}
