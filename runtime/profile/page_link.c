/* Measures copies to and from a page space. Two sizes give a line: the slope is the bandwidth, the rest the latency.
 * Each copy takes other bytes, as in a step. Where there is room, all of them together take more than most caches hold.
 */
#include "runtime/profile/page_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/cache.h"
#include "runtime/base/integers.h"
#include "runtime/device/guarded.h"
#include "runtime/device/threads.h"
#include "runtime/profile/page_beside.h"

enum { REPEATS = 7 };
static const int64_t small_bytes = (int64_t)64 << 10;
/* Tried in this order until the file system has room. */
static const int64_t large_sizes[] = {(int64_t)4 << 20, (int64_t)1 << 20, (int64_t)256 << 10};
enum { LARGE_SIZES = sizeof large_sizes / sizeof *large_sizes };
static const int64_t wake_ns = 20000; /* to wake the thread that copies, and the thread that waits for the copy */

/* Median time of copies of that size. Each copy has its own source and target bytes. */
static int time_copies(const plim_memory_region *page, plim_page_ring *ring, char *memory, int in, int64_t bytes,
                       int64_t *out) {
  int64_t time_ns[REPEATS], slot_bytes = page->bytes / REPEATS;
  for (int i = 0; i < REPEATS; i++) {
    char *paged = page->base + i * slot_bytes, *own = memory + i * slot_bytes;
    int64_t begin_ns = plim_now_ns();
    int error = in ? plim_memory_region_read(page, ring, own, paged, bytes)
                   : plim_memory_region_write(page, ring, paged, own, bytes);
    time_ns[i] = plim_now_ns() - begin_ns;
    if (error != 0) return error;
  }
  plim_integers_sort(time_ns, REPEATS);
  *out = time_ns[REPEATS / 2];
  return 0;
}

void plim_page_link_fit(plim_page_link *link, int in, int64_t few_bytes, int64_t small_ns, int64_t many_bytes,
                        int64_t large_ns) {
  int64_t slope_ns = plim_integers_larger(large_ns - small_ns, large_ns / 2); /* a small copy may be disturbed */
  if (slope_ns < 1) slope_ns = 1;
  link->bytes_per_ns[in] = (double)(many_bytes - few_bytes) / (double)slope_ns;
  const int64_t rest_ns = small_ns - (int64_t)((double)few_bytes / link->bytes_per_ns[in]);
  link->latency_ns[in] = rest_ns > 0 ? rest_ns : 1;
}

static int measure(const plim_memory_region *page, plim_page_ring *ring, char *memory, plim_page_link *out) {
  const int64_t large_bytes = page->bytes / REPEATS;
  for (int in = 0; in < 2; in++) {
    int64_t small_ns = 0, large_ns = 0;
    int error = time_copies(page, ring, memory, in, large_bytes, &large_ns);
    if (error == 0) error = time_copies(page, ring, memory, in, small_bytes, &small_ns);
    if (error != 0) return error;
    plim_page_link_fit(out, in, small_bytes, small_ns, large_bytes, large_ns);
    out->latency_ns[in] += wake_ns;
  }
  return 0;
}

static plim_status open_page(plim_context *ctx, const char *space, const char *page_file, plim_memory_region *page) {
  plim_status status = PLIM_ENOFIT;
  if (!plim_page_is_file(space)) return plim_memory_region_open(ctx, REPEATS * large_sizes[0], page);
  for (int i = 0; i < LARGE_SIZES && status == PLIM_ENOFIT; i++) {
    status = plim_memory_region_open_file(ctx, page_file, REPEATS * large_sizes[i], page);
  }
  if (status != PLIM_ENOFIT) return status;
  char sentence[PLIM_ERROR_BYTES];
  (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(ctx));
  return plim_fail(ctx, status, "copies to space disk are measured before anything is planned: %s", sentence);
}

static plim_status measure_link(plim_context *ctx, const char *space, const char *page_file, plim_page_link *out) {
  plim_memory_region page = {.fd = -1};
  plim_page_link link = {.latency_ns = {0}};
  void *memory = NULL;
  PLIM_TRY(open_page(ctx, space, page_file, &page));
  const int64_t bytes = page.bytes;
  plim_status status = plim_guarded_alloc(ctx, bytes, 1, &memory);
  plim_page_ring *ring = page.fd >= 0 ? plim_page_ring_open(ctx) : NULL;
  int error = status == PLIM_OK ? measure(&page, ring, memory, &link) : 0;
  plim_page_ring_close(ring);
  if (status == PLIM_OK && error == 0) {
    error = plim_page_beside_measure(ctx, &page, memory, REPEATS, bytes / REPEATS, &link);
  }
  if (error != 0) {
    status = plim_fail(ctx, error == ENOMEM ? PLIM_ENOMEM : PLIM_EIO, "while copies to space %s%s%s are measured: %s",
                       space, page.fd < 0 ? "" : ", page file ", page.fd < 0 ? "" : page.name, strerror(error));
  }
  plim_guarded_free(memory, bytes);
  plim_memory_region_close(&page);
  if (status == PLIM_OK) *out = link;
  return status;
}

/* Copies within memory take what they take from the ops beside them; a disk's controller copies by itself. */
plim_page_link plim_page_link_model(const char *space) {
  static const plim_page_link host = {.latency_ns = {20000, 20000},
                                      .bytes_per_ns = {20, 20},
                                      .beside_bytes_per_ns = {16, 16, 12},
                                      .delay_share = {1, 1, 0.8}};
  static const plim_page_link disk = {.latency_ns = {80000, 80000},
                                      .bytes_per_ns = {2, 3},
                                      .beside_bytes_per_ns = {2, 3, 1.5},
                                      .delay_share = {0.05, 0.05, 0.05}};
  return plim_page_is_file(space) ? disk : host;
}

/* ---- kept between runs ---- */

/* Path of the cached result. The device number of the page file's folder names the file system; for memory it is 0. */
static void cache_path(const char *space, const char *page_file, const char *cache_dir, char *path) {
  char folder[PLIM_FILE_PATH_BYTES] = ".", name[64];
  const char *slash = page_file ? strrchr(page_file, '/') : NULL, *temporary = getenv("TMPDIR");
  struct stat about = {0};
  if (!page_file) (void)snprintf(folder, sizeof folder, "%s", temporary && temporary[0] ? temporary : "/tmp");
  if (slash) (void)snprintf(folder, sizeof folder, "%.*s/", (int)(slash - page_file), page_file);
  if (plim_page_is_file(space)) (void)stat(folder, &about);
  (void)snprintf(name, sizeof name, "link-%.16s-%llx-%d.txt", space, (unsigned long long)about.st_dev,
                 (int)plim_threads_now());
  plim_cache_path(cache_dir, name, path);
}

static int is_link(const plim_page_link *link) {
  for (int in = 0; in < 2; in++) {
    if (link->latency_ns[in] <= 0 || !(link->bytes_per_ns[in] > 0) || link->bytes_per_ns[in] > 1e6) return 0;
  }
  for (int i = 0; i < PLIM_LINK_CASES; i++) {
    if (!(link->beside_bytes_per_ns[i] > 0) || link->beside_bytes_per_ns[i] > 1e6) return 0;
    if (!(link->delay_share[i] >= 0 && link->delay_share[i] <= 1)) return 0;
  }
  return 1;
}

/* Load the cached result. Returns 0 when there is none that can be used. */
static int load(const char *path, plim_page_link *out) {
  static const char head[] = "plimsoll link 4 ";
  char line[512] = "", *at = line + sizeof head - 1;
  FILE *file = path[0] ? fopen(path, "re") : NULL;
  if (!file) return 0;
  int read = fgets(line, sizeof line, file) != NULL && strncmp(line, head, sizeof head - 1) == 0;
  (void)fclose(file);
  if (!read) return 0;
  plim_page_link link = {.latency_ns = {0}};
  for (int in = 0; in < 2; in++) link.latency_ns[in] = strtoll(at, &at, 10);
  for (int in = 0; in < 2; in++) link.bytes_per_ns[in] = strtod(at, &at);
  for (int i = 0; i < PLIM_LINK_CASES; i++) link.beside_bytes_per_ns[i] = strtod(at, &at);
  for (int i = 0; i < PLIM_LINK_CASES; i++) link.delay_share[i] = strtod(at, &at);
  if (!is_link(&link) || *at != '\n') return 0;
  *out = link;
  return 1;
}

static void keep(plim_context *ctx, const char *path, const plim_page_link *link) {
  plim_text text = {.ctx = ctx};
  if (!path[0]) return;
  plim_text_format(&text, "plimsoll link 4 %lld %lld %.17g %.17g", (long long)link->latency_ns[PLIM_LINK_OUT],
                   (long long)link->latency_ns[PLIM_LINK_IN], link->bytes_per_ns[PLIM_LINK_OUT],
                   link->bytes_per_ns[PLIM_LINK_IN]);
  for (int i = 0; i < PLIM_LINK_CASES; i++) plim_text_format(&text, " %.17g", link->beside_bytes_per_ns[i]);
  for (int i = 0; i < PLIM_LINK_CASES; i++) plim_text_format(&text, " %.17g", link->delay_share[i]);
  plim_text_format(&text, "\n");
  (void)!plim_cache_save(&text, path); /* without the cache the next call measures again */
}

plim_status plim_page_link_measure(plim_context *ctx, const char *space, const char *page_file, const char *cache_dir,
                                   plim_page_link *out) {
  char path[PLIM_FILE_PATH_BYTES];
  cache_path(space, page_file, cache_dir, path);
  if (load(path, out)) return PLIM_OK;
  PLIM_TRY(measure_link(ctx, space, page_file, out));
  keep(ctx, path, out);
  return PLIM_OK;
}
