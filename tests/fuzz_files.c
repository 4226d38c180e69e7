/* The checkpoint's reader asks a trainer for its graph and hands it values: here that trainer is these few functions
 * over one graph, so that the fuzzer needs no kernels. */
#include "tests/fuzz_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/data/cifar.h"
#include "runtime/data/gzip.h"
#include "runtime/data/idx.h"
#include "runtime/profile/profile_cache.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/state.h"

static void require(int holds) {
  if (!holds) abort();
}

static void write_file(const char *path, const uint8_t *data, size_t size) {
  FILE *file = fopen(path, "wb");
  require(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static void write_gzip(const char *path, const uint8_t *data, size_t size) {
  gzFile file = gzopen(path, "wb1");
  require(file && gzwrite(file, data, (unsigned)size) == (int)size && gzclose(file) == Z_OK);
}

/* After its first byte, compressed when that is odd. */
static void write_either(const char *path, const uint8_t *data, size_t size) {
  if (data[0] & 1 && size > 1) {
    write_gzip(path, data + 1, size - 1);
  } else {
    write_file(path, data + 1, size - 1);
  }
}

static const char *path_in(const char *folder, const char *name) {
  static char path[4096];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

void fuzz_gzip(plim_context *ctx, const char *folder, const uint8_t *data, size_t size) {
  const char *path = path_in(folder, "log.gz");
  char *text = NULL;
  int64_t bytes = 0;
  if (size == 0) return;
  write_either(path, data, size);
  plim_status status = plim_gzip_read(ctx, path, 1 << 20, &text, &bytes);
  require(status == PLIM_OK || !text);
  if (status != PLIM_OK) return;
  require(bytes >= 0 && bytes <= 1 << 20 && text[bytes] == 0);
  if (data[0] & 1 && size > 1) require(bytes == (int64_t)size - 1 && memcmp(text, data + 1, size - 1) == 0);
  plim_file_release(ctx, text, bytes);
}

void fuzz_idx(plim_context *ctx, const char *folder, const uint8_t *data, size_t size) {
  const char *path = path_in(folder, "images.gz");
  if (size == 0) return;
  write_either(path, data, size);
  for (int32_t rank = 1; rank <= PLIM_IDX_MAX_RANK; rank++) {
    int32_t dim[PLIM_IDX_MAX_RANK] = {0};
    uint8_t *pixels = NULL;
    int64_t bytes = 1;
    if (plim_idx_load(ctx, path, rank, dim, &pixels) != PLIM_OK) continue;
    for (int32_t i = 0; i < rank; i++) {
      require(dim[i] > 0);
      bytes *= dim[i];
    }
    plim_release(ctx, pixels, bytes, 1);
  }
}

/* A file of the right size but for a few bytes, with the input somewhere in it. */
void fuzz_cifar(plim_context *ctx, const char *folder, const uint8_t *data, size_t size) {
  enum { IMAGES = PLIM_CIFAR_FILE_IMAGES, RECORD = PLIM_CIFAR_IMAGE_BYTES + 1 };
  static uint8_t image[IMAGES * PLIM_CIFAR_IMAGE_BYTES], label[IMAGES];
  const char *path = path_in(folder, "batch.bin");
  if (size == 0) return;
  int off_by = data[0] % 5 == 4 ? 0 : data[0] % 5 - 2;
  write_file(path, data + 1, size - 1);
  require(truncate(path, (off_t)IMAGES * RECORD + off_by) == 0);
  plim_status status = plim_cifar_load(ctx, path, image, label);
  require(off_by == 0 || status == PLIM_EDATA);
  for (int i = 0; i < IMAGES && status == PLIM_OK; i++) require(label[i] < PLIM_CIFAR_CLASSES);
  require(unlink(path) == 0);
}

/* The machine of the seeds: a cache of another one is empty. */
static const plim_machine machine = {"cpu", "AMD EPYC", "x86-64-v4", "onednn 2.6.3", "0.1.0-9703a0991928", 1};

void fuzz_profile_cache(plim_context *ctx, const char *folder, const uint8_t *data, size_t size) {
  plim_profile_cache cache = {.n = 0}, again = {.n = 0};
  const plim_profile_set nothing = {.n_groups = 0};
  require(plim_profile_cache_open(ctx, folder, &machine, 0, &cache) == PLIM_OK);
  write_file(cache.path, data, size);
  plim_profile_cache_close(&cache);
  require(plim_profile_cache_open(ctx, folder, &machine, 0, &cache) == PLIM_OK);
  require(plim_profile_cache_store(&cache, &nothing) == PLIM_OK);
  require(plim_profile_cache_open(ctx, folder, &machine, 0, &again) == PLIM_OK);
  require(again.n == cache.n);
  for (int32_t i = 0; i < cache.n; i++) {
    require(strcmp(cache.row[i].op, again.row[i].op) == 0 && cache.row[i].time_ns == again.row[i].time_ns);
  }
  (void)unlink(cache.path);
  plim_profile_cache_close(&again);
  plim_profile_cache_close(&cache);
}

/* ---- a trainer that has a graph and forgets its values ---- */

static plim_program program;
static plim_plan plan;
static int64_t seeked;

const plim_program *plim_trainer_program(const plim_trainer *trainer) {
  (void)trainer;
  return &program;
}
const plim_trainer_options *plim_trainer_options_of(const plim_trainer *trainer) {
  static const plim_trainer_options options = {.schedule = {.rate = 0.1F, .total_steps = 9}};
  (void)trainer;
  return &options;
}
plim_exec *plim_trainer_exec(const plim_trainer *trainer) {
  (void)trainer;
  return NULL;
}
int64_t plim_trainer_steps(const plim_trainer *trainer) {
  (void)trainer;
  return seeked;
}
void plim_trainer_seek(plim_trainer *trainer, int64_t step) {
  (void)trainer;
  seeked = step;
}
plim_status plim_exec_read(plim_exec *exec, int32_t which, int32_t value, void *to, int64_t bytes) {
  (void)exec, (void)which, (void)value;
  memset(to, 0, (size_t)bytes);
  return PLIM_OK;
}
plim_status plim_exec_write(plim_exec *exec, int32_t which, int32_t value, const void *from, int64_t bytes) {
  (void)exec, (void)which;
  require(bytes == program.graph[PLIM_PROGRAM_TRAIN]->value[value].bytes);
  volatile uint8_t sum = 0;
  for (int64_t i = 0; i < bytes; i++) sum = (uint8_t)(sum + ((const uint8_t *)from)[i]);
  return PLIM_OK;
}

/* A graph's own context would count as a leak: it is opened for each use. */
static void open_trainer(plim_context *ctx) {
  memset(plan.numerics.hash, 'a', sizeof plan.numerics.hash - 1);
  require(plim_graph_load(ctx, PLIM_SOURCE_DIR "/tests/golden/graph.json", &program.graph[PLIM_PROGRAM_TRAIN]) ==
          PLIM_OK);
  program.ctx = ctx;
  program.n_graphs = 2;
  program.plan[PLIM_PROGRAM_TRAIN] = &plan;
  seeked = 0;
}

static void close_trainer(void) {
  plim_graph_free(program.graph[PLIM_PROGRAM_TRAIN]);
}

void fuzz_checkpoint_seed(plim_context *ctx, const char *path) {
  open_trainer(ctx);
  require(plim_checkpoint_save(NULL, path) == PLIM_OK);
  close_trainer();
}

void fuzz_checkpoint(plim_context *ctx, const char *folder, const uint8_t *data, size_t size) {
  char path[4096];
  if (size < 1) return;
  (void)snprintf(path, sizeof path, "%s", path_in(folder, "weights.ckpt"));
  write_file(path, data + 1, size - 1);
  if (data[0] & 1 && size > 1 + PLIM_SHA256_BYTES) { /* the last bytes become the right checksum */
    uint8_t digest[PLIM_SHA256_BYTES];
    plim_sha256 sha;
    FILE *file = fopen(path, "r+b");
    plim_sha256_begin(&sha);
    plim_sha256_add(&sha, data + 1, size - 1 - sizeof digest);
    plim_sha256_end(&sha, digest);
    require(file && fseek(file, -(long)sizeof digest, SEEK_END) == 0);
    require(fwrite(digest, 1, sizeof digest, file) == sizeof digest && fclose(file) == 0);
  }
  open_trainer(ctx);
  plim_checkpoint_info *info = NULL;
  plim_status status = plim_checkpoint_read(ctx, path, &info);
  for (int32_t i = 0; info && i < info->n_ops; i++) {
    require(info->key_of_op[i] >= 0 && info->key_of_op[i] < info->n_keys);
    require(memchr(info->numerics_key[info->key_of_op[i]], 0, sizeof *info->numerics_key) != NULL);
  }
  plim_checkpoint_info_free(info);
  status = plim_checkpoint_load(NULL, path);
  require(status == PLIM_OK || seeked == 0);
  if (status == PLIM_OK) { /* what is read is written and read again, at the same step */
    int64_t step = seeked;
    require(plim_checkpoint_save(NULL, path) == PLIM_OK);
    require(plim_checkpoint_load(NULL, path) == PLIM_OK && seeked == step);
  }
  close_trainer();
}
