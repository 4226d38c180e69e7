/* Logs changed at random: whatever comes, the importer answers with a graph that holds together or with a sentence that
 * names a line. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/data/gzip.h"
#include "runtime/import/importers.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/random_log.h"
#include "tests/support/test_random.h"

#include "runtime/base/file.h"
#include "tests/support/test_seed.h"

enum { SEEDS = 40, MOST_LINES = 600 };

static plim_context *ctx;

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void teardown(void) {
  plim_context_free(ctx);
}
TestSuite(dtr_fuzz, .init = setup, .fini = teardown);

typedef struct lines {
  int32_t n;
  const char *begin[MOST_LINES];
  int length[MOST_LINES]; /* with the end of the line */
} lines;

static void split(const plim_text *log, lines *out) {
  out->n = 0;
  for (const char *at = log->chars; *at && out->n < MOST_LINES; out->n++) {
    const char *end = strchr(at, '\n');
    out->begin[out->n] = at;
    out->length[out->n] = (int)(end - at) + 1;
    at = end + 1;
  }
}

static void expect_answer(const char *log, int64_t bytes, uint64_t seed, const char *what) {
  plim_graph *graph = NULL;
  int64_t peak = 0;
  plim_status status = plim_import_dtr(ctx, "f.log", log, bytes, &graph);
  if (status == PLIM_OK) {
    cr_expect_eq(plim_handles_match(graph->handles, graph), PLIM_OK, "seed %d, %s", (int)seed, what);
    cr_expect_neq(plim_handles_peak(graph->handles, 1, &peak), PLIM_EDATA, "seed %d, %s", (int)seed, what);
  } else {
    const char *sentence = plim_context_error(ctx);
    cr_expect_eq(status, PLIM_EDATA, "seed %d, %s: %s", (int)seed, what, sentence);
    cr_expect(strstr(sentence, "line"), "seed %d, %s: %s", (int)seed, what, sentence);
    cr_expect_null(graph);
  }
  plim_graph_free(graph);
}

static plim_text make_log(uint64_t seed) {
  plim_text log = {ctx, NULL, 0, 0, PLIM_OK};
  random_log_write((random_log_kind)(seed % RANDOM_LOG_KIND_COUNT), 1, seed, &log);
  cr_assert_eq(log.status, PLIM_OK);
  return log;
}

Test(dtr_fuzz, changed_bytes_get_a_graph_or_a_line) {
  static const char bytes[] = "\0\n{}[]\",:-9x\xff";
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    plim_text log = make_log(seed);
    for (int round = 0; round < 4; round++) {
      int64_t at = test_random_between(&random, 0, log.length - 1);
      log.chars[at] = bytes[test_random_between(&random, 0, (int64_t)sizeof bytes - 2)];
      expect_answer(log.chars, log.length, seed, "bytes");
    }
    plim_text_free(&log);
  }
}

Test(dtr_fuzz, log_cut_anywhere_gets_a_graph_or_a_line) {
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    plim_text log = make_log(seed);
    for (int round = 0; round < 4; round++) {
      expect_answer(log.chars, test_random_between(&random, 0, log.length), seed, "cut");
    }
    plim_text_free(&log);
  }
}

/* Lines left out, written twice, exchanged. */
Test(dtr_fuzz, lines_out_of_order_get_a_graph_or_a_line) {
  static lines from;
  for (uint64_t seed = test_seed(1), end = seed + 3 * SEEDS; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    plim_text log = make_log(seed), changed = {ctx, NULL, 0, 0, PLIM_OK};
    split(&log, &from);
    int32_t a = (int32_t)test_random_between(&random, 0, from.n - 1);
    int32_t b = (int32_t)test_random_between(&random, 0, from.n - 1), way = (int32_t)(seed % 3);
    for (int32_t i = 0; i < from.n; i++) {
      int32_t line = way == 2 && i == a ? b : way == 2 && i == b ? a : i;
      if (way == 0 && i == a) continue;
      for (int times = way == 1 && i == a ? 2 : 1; times > 0; times--) {
        plim_text_format(&changed, "%.*s", from.length[line], from.begin[line]);
      }
    }
    expect_answer(changed.chars, changed.length, seed, "lines");
    plim_text_free(&changed);
    plim_text_free(&log);
  }
}

Test(dtr_fuzz, compressed_log_cut_or_changed_anywhere_is_refused_or_read_whole) {
  plim_text log = make_log(3);
  char *packed = NULL, *text = NULL;
  int64_t n = 0, bytes = 0;
  uint64_t random = test_seed(7);
  (void)plim_test_folder();
  cr_assert_eq(plim_file_save(ctx, plim_test_path("a.log"), log.chars, log.length), PLIM_OK);
  (void)plim_test_shell("gzip -n a.log");
  cr_assert_eq(plim_file_read(ctx, plim_test_path("a.log.gz"), 1 << 20, &packed, &n), PLIM_OK);
  for (int64_t round = 0; round < 100; round++) {
    int64_t cut = round % 2 ? n : test_random_between(&random, 0, n - 1), at = test_random_between(&random, 0, n - 1);
    char kept = packed[at];
    if (round % 2) packed[at] = (char)(packed[at] ^ (1 << test_random_between(&random, 0, 7)));
    cr_assert_eq(plim_file_save(ctx, plim_test_path("b.log.gz"), packed, cut), PLIM_OK);
    plim_status status = plim_gzip_read(ctx, plim_test_path("b.log.gz"), 1 << 20, &text, &bytes);
    if (status == PLIM_OK) {
      cr_expect(cut == n && bytes == log.length && memcmp(text, log.chars, (size_t)bytes) == 0, "cut at %d", (int)cut);
      plim_file_release(ctx, text, bytes);
    } else {
      cr_expect_eq(status, PLIM_EDATA, "%s", plim_context_error(ctx));
    }
    packed[at] = kept;
  }
  plim_file_release(ctx, packed, n);
  plim_text_free(&log);
  plim_test_folder_remove();
}
