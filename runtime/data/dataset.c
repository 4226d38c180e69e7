/* Data sets by name: where their files are, what they must hold, and the constants that belong to them. */
#include "runtime/data/dataset.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/name.h"
#include "runtime/base/philox_stream.h"
#include "runtime/data/cifar.h"
#include "runtime/data/idx.h"
#include "runtime/data/text_data.h"

enum { CIFAR_TRAIN_FILES = 5 };

typedef struct dataset_row {
  plim_dataset constants; /* name, sizes, mean, deviation, pad, flip */
  const char *dir;        /* where the system's package puts it, NULL: no package */
  const char *remedy;     /* what to do when it is not there */
  plim_status (*load)(const struct dataset_row *source, const plim_dataset_options *options, plim_dataset *dataset);
} dataset_row;

plim_dataset_options plim_dataset_options_default(void) {
  return (plim_dataset_options){.struct_bytes = sizeof(plim_dataset_options),
                                .height = 32,
                                .width = 32,
                                .channels = 3,
                                .train_count = 4096,
                                .test_count = 1024,
                                .context = 256,
                                .words = 256};
}

int64_t plim_dataset_image_bytes(const plim_dataset *dataset) {
  return plim_mul_checked((int64_t)dataset->height * dataset->width, dataset->channels);
}

/* Take ownership of a split's arrays. */
static void split_set(plim_split *split, int32_t count, const uint8_t *image, const uint8_t *label) {
  *split = (plim_split){.count = count, .image = image, .label = label};
}

static plim_status split_allocate(plim_dataset *dataset, plim_split *split, int32_t count, uint8_t **image,
                                  uint8_t **label) {
  PLIM_TRY(plim_allocate(dataset->ctx, count, (size_t)plim_dataset_image_bytes(dataset), image));
  plim_status status = plim_allocate(dataset->ctx, count, 1, label);
  if (status != PLIM_OK) {
    plim_release(dataset->ctx, *image, count, (size_t)plim_dataset_image_bytes(dataset));
    return status;
  }
  split_set(split, count, *image, *label);
  return PLIM_OK;
}

static void split_free(plim_dataset *dataset, plim_split *split) {
  if (split->token || dataset->source.fill) return; /* both have one array, or none */
  plim_release(dataset->ctx, (void *)split->image, split->count, (size_t)plim_dataset_image_bytes(dataset));
  plim_release(dataset->ctx, (void *)split->label, split->count, 1);
}

/* Replace the sentence about a missing file by one that says how to get the data set. */
static plim_status with_remedy(plim_context *ctx, const dataset_row *source, plim_status status) {
  if (status != PLIM_ENOFILE) return status;
  return plim_fail(ctx, status, "the data set %s is not there (%s); %s", source->constants.name,
                   plim_context_error(ctx), source->remedy);
}

static plim_status path_join(plim_context *ctx, const char *dir, const char *name, char path[PLIM_FILE_PATH_BYTES]) {
  int length = snprintf(path, PLIM_FILE_PATH_BYTES, "%s/%s", dir, name);
  if (length < 0 || length >= PLIM_FILE_PATH_BYTES) {
    return plim_fail(ctx, PLIM_EUSAGE, "the path %.40s.../%s is longer than %d bytes", dir, name, PLIM_FILE_PATH_BYTES);
  }
  return PLIM_OK;
}

/* ---- four IDX files ---- */

static plim_status load_idx_labels(plim_dataset *dataset, const char *path, int32_t images, uint8_t **label) {
  int32_t count = 0;
  PLIM_TRY(plim_idx_load(dataset->ctx, path, 1, &count, label));
  plim_status status = PLIM_OK;
  if (count != images) {
    status = plim_fail(dataset->ctx, PLIM_EDATA, "%s: %d labels for %d images", path, count, images);
  }
  for (int32_t i = 0; i < count && status == PLIM_OK; i++) {
    if ((*label)[i] < dataset->classes) continue;
    status = plim_fail(dataset->ctx, PLIM_EDATA, "%s: label %d of image %d is not 0 to %d", path, (*label)[i], i,
                       dataset->classes - 1);
  }
  if (status != PLIM_OK) plim_release(dataset->ctx, *label, count, 1);
  return status;
}

static plim_status load_idx_split(plim_dataset *dataset, const char *dir, const char *prefix, plim_split *split) {
  char name[64], path[PLIM_FILE_PATH_BYTES];
  int32_t dim[3];
  uint8_t *image = NULL, *label = NULL;
  (void)snprintf(name, sizeof name, "%s-images-idx3-ubyte.gz", prefix);
  PLIM_TRY(path_join(dataset->ctx, dir, name, path));
  PLIM_TRY(plim_idx_load(dataset->ctx, path, 3, dim, &image));
  plim_status status = PLIM_OK;
  if (dim[1] != dataset->height || dim[2] != dataset->width) {
    status = plim_fail(dataset->ctx, PLIM_EDATA, "%s: images of %d x %d, expected %d x %d", path, dim[1], dim[2],
                       dataset->height, dataset->width);
    goto done;
  }
  (void)snprintf(name, sizeof name, "%s-labels-idx1-ubyte.gz", prefix);
  PLIM_TRY_OR_DONE(path_join(dataset->ctx, dir, name, path));
  PLIM_TRY_OR_DONE(load_idx_labels(dataset, path, dim[0], &label));
  split_set(split, dim[0], image, label);
done:
  if (status != PLIM_OK) plim_release(dataset->ctx, image, (int64_t)dim[0] * dim[1] * dim[2], 1);
  return status;
}

static plim_status load_idx(const dataset_row *source, const plim_dataset_options *options, plim_dataset *dataset) {
  const char *dir = options->dir ? options->dir : source->dir;
  PLIM_TRY(load_idx_split(dataset, dir, "train", &dataset->train));
  return load_idx_split(dataset, dir, "t10k", &dataset->test);
}

/* ---- CIFAR-10 ---- */

static plim_status load_cifar(const dataset_row *source, const plim_dataset_options *options, plim_dataset *dataset) {
  (void)source;
  char name[32], path[PLIM_FILE_PATH_BYTES];
  uint8_t *image, *label;
  if (!options->dir) return plim_fail(dataset->ctx, PLIM_ENOFILE, "no folder is given");
  PLIM_TRY(split_allocate(dataset, &dataset->train, CIFAR_TRAIN_FILES * PLIM_CIFAR_FILE_IMAGES, &image, &label));
  for (int32_t i = 0; i < CIFAR_TRAIN_FILES; i++) {
    int64_t first = (int64_t)i * PLIM_CIFAR_FILE_IMAGES;
    (void)snprintf(name, sizeof name, "data_batch_%d.bin", i + 1);
    PLIM_TRY(path_join(dataset->ctx, options->dir, name, path));
    PLIM_TRY(plim_cifar_load(dataset->ctx, path, image + first * PLIM_CIFAR_IMAGE_BYTES, label + first));
  }
  PLIM_TRY(split_allocate(dataset, &dataset->test, PLIM_CIFAR_FILE_IMAGES, &image, &label));
  PLIM_TRY(path_join(dataset->ctx, options->dir, "test_batch.bin", path));
  return plim_cifar_load(dataset->ctx, path, image, label);
}

/* ---- noise ---- */

enum { NOISE_PIECE = 1 << 22 /* bytes between two looks at Ctrl-C; whole draws */ };

static void fill_piece(uint64_t seed, uint64_t stream, uint8_t *to, int64_t from, int64_t end) {
  for (int64_t i = from; i < end; i += (int64_t)sizeof(plim_philox)) {
    plim_philox draw = plim_philox_at(seed, stream, (uint64_t)i);
    memcpy(to + i, &draw, end - i < (int64_t)sizeof draw ? (size_t)(end - i) : sizeof draw);
  }
}

static plim_status fill_noise(plim_context *ctx, uint64_t seed, uint64_t stream, uint8_t *to, int64_t bytes) {
  plim_progress progress = {.stage = "noise", .total = bytes, .best_percent = -1, .bound_percent = -1};
  const int64_t begin_ns = plim_now_ns();
  for (int64_t i = 0; i < bytes; i += NOISE_PIECE) {
    if (plim_context_cancelled(ctx)) return plim_fail(ctx, PLIM_ECANCEL, "cancelled while images were made");
    progress.done = bytes - i < NOISE_PIECE ? bytes : i + NOISE_PIECE;
    fill_piece(seed, stream, to, i, progress.done);
    progress.elapsed_ns = plim_now_ns() - begin_ns;
    plim_context_report(ctx, &progress);
  }
  return PLIM_OK;
}

static plim_status make_split(plim_dataset *dataset, plim_split *split, int32_t count, uint64_t seed,
                              const char *name) {
  uint8_t *image, *label;
  PLIM_TRY(split_allocate(dataset, split, count, &image, &label));
  uint64_t stream = plim_philox_stream(name);
  PLIM_TRY(fill_noise(dataset->ctx, seed, stream, image, count * plim_dataset_image_bytes(dataset)));
  PLIM_TRY(fill_noise(dataset->ctx, seed, stream + 1, label, count));
  for (int32_t i = 0; i < count; i++) label[i] = (uint8_t)(label[i] % dataset->classes);
  return PLIM_OK;
}

/* A system may promise more memory than it has, and end the process when that is used. */
static plim_status check_memory(const plim_dataset *dataset, const plim_dataset_options *options) {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const int64_t image = plim_dataset_image_bytes(dataset), memory = pages * page;
  const int64_t count = (int64_t)options->train_count + options->test_count;
  if (image < 0) return plim_fail(dataset->ctx, PLIM_EUSAGE, "synthetic images have more bytes than 63 bits count");
  if (pages < 1 || page < 1 || count <= memory / image) return PLIM_OK;
  return plim_fail(dataset->ctx, PLIM_ENOMEM, "synthetic data of %lld images of %lld bytes: the machine has %lld bytes",
                   (long long)count, (long long)image, (long long)memory);
}

static plim_status make_noise(const dataset_row *source, const plim_dataset_options *options, plim_dataset *dataset) {
  (void)source;
  if (options->height < 1 || options->width < 1 || options->channels < 1 || options->channels > 4) {
    return plim_fail(dataset->ctx, PLIM_EUSAGE,
                     "synthetic images of %d x %d x %d: sizes are positive, channels at most 4", options->height,
                     options->width, options->channels);
  }
  if (options->train_count < 1 || options->test_count < 1) {
    return plim_fail(dataset->ctx, PLIM_EUSAGE, "synthetic data of %d + %d images: both numbers are positive",
                     options->train_count, options->test_count);
  }
  dataset->height = options->height;
  dataset->width = options->width;
  dataset->channels = options->channels;
  PLIM_TRY(check_memory(dataset, options));
  PLIM_TRY(make_split(dataset, &dataset->train, options->train_count, options->seed, "train"));
  return make_split(dataset, &dataset->test, options->test_count, options->seed, "test");
}

/* ---- the table ---- */

static const dataset_row sources[] = {
    {.constants = {.name = "fashion-mnist",
                   .height = 28,
                   .width = 28,
                   .channels = 1,
                   .classes = 10,
                   .mean = {0.2860F},
                   .deviation = {0.3530F},
                   .pad = 2,
                   .flip = 1},
     .dir = "/usr/share/datasets/fashion-mnist",
     .remedy = "install the Debian package dataset-fashion-mnist, or name the folder of its four .gz files",
     .load = load_idx},
    {.constants = {.name = "cifar10",
                   .height = PLIM_CIFAR_SIDE,
                   .width = PLIM_CIFAR_SIDE,
                   .channels = PLIM_CIFAR_CHANNELS,
                   .classes = PLIM_CIFAR_CLASSES,
                   .mean = {0.4914F, 0.4822F, 0.4465F},
                   .deviation = {0.2470F, 0.2435F, 0.2616F},
                   .pad = 4,
                   .flip = 1},
     .remedy = "name the folder of data_batch_1.bin to data_batch_5.bin and test_batch.bin, the binary version of "
               "CIFAR-10",
     .load = load_cifar},
    {.constants = {.name = "synthetic",
                   .classes = 10,
                   .mean = {0.5F, 0.5F, 0.5F, 0.5F},
                   .deviation = {0.2898F, 0.2898F, 0.2898F, 0.2898F},
                   .pad = 4,
                   .flip = 1},
     .remedy = "",
     .load = make_noise},
};

enum { SOURCE_COUNT = sizeof sources / sizeof *sources };

static const dataset_row *source_find(const char *name) {
  for (int32_t i = 0; i < SOURCE_COUNT; i++) {
    if (strcmp(sources[i].constants.name, name) == 0) return &sources[i];
  }
  return NULL;
}

const char *plim_dataset_name(int32_t row) {
  return row >= 0 && row < SOURCE_COUNT ? sources[row].constants.name : NULL;
}

int plim_dataset_size(const char *name, int32_t *size) {
  const dataset_row *source = source_find(name);
  if (!source || source->constants.height == 0) return 0;
  size[0] = source->constants.height;
  size[1] = source->constants.width;
  size[2] = source->constants.channels;
  return 1;
}

void plim_dataset_pixels(const char *name, float *scale, float *shift) {
  const dataset_row *source = source_find(name);
  for (int c = 0; source && c < 4; c++) {
    int used = source->constants.deviation[c] > 0;
    scale[c] = used ? 1 / (255 * source->constants.deviation[c]) : 0;
    shift[c] = used ? -source->constants.mean[c] / source->constants.deviation[c] : 0;
  }
}

plim_text_kind plim_dataset_text(const char *name, const char **file) {
  static const struct {
    const char *prefix;
    plim_text_kind kind;
  } rows[] = {{"text:", PLIM_TEXT_BYTES}, {"tokens:", PLIM_TEXT_TOKENS}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const size_t length = strlen(rows[i].prefix);
    if (strncmp(name, rows[i].prefix, length) != 0) continue;
    if (file) *file = name + length;
    return rows[i].kind;
  }
  return PLIM_TEXT_NONE;
}

static plim_status load_text(plim_context *ctx, const char *name, const plim_dataset_options *options,
                             plim_dataset **out) {
  const char *file = NULL;
  const int bytes = plim_dataset_text(name, &file) == PLIM_TEXT_BYTES ? 1 : 2; /* a token's */
  const int32_t words = bytes == 1 ? 256 : options->words;
  plim_dataset *dataset = NULL;
  plim_status status = PLIM_OK;
  assert(file);
  if (!*file) return plim_fail(ctx, PLIM_EUSAGE, "data set \"%s\" names no file: %sFILE", name, name);
  if (options->context < 1 || words < 2 || words > 65536) {
    return plim_fail(ctx, PLIM_EUSAGE, "sequences of %d tokens and %d words; at least 1, and 2 to 65536, are needed",
                     (int)options->context, (int)words);
  }
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *dataset, &dataset));
  *dataset = (plim_dataset){.ctx = ctx, .name = "text", .classes = words, .context = options->context};
  PLIM_TRY_OR_DONE(plim_text_data_load(dataset, file, bytes));
  *out = dataset;
  dataset = NULL;
done:
  plim_dataset_free(dataset);
  return status;
}

plim_status plim_dataset_load(plim_context *ctx, const char *name, const plim_dataset_options *options,
                              plim_dataset **out) {
  const dataset_row *source = source_find(name);
  char advice[PLIM_NAME_ADVICE_BYTES];
  plim_dataset *dataset = NULL;
  plim_status status = PLIM_OK;
  PLIM_TRY(plim_check_options(ctx, "plim_dataset_options", options->struct_bytes, sizeof *options));
  if (plim_dataset_text(name, NULL) != PLIM_TEXT_NONE) return load_text(ctx, name, options, out);
  if (!source) {
    return plim_fail(ctx, PLIM_EUSAGE, "no data set is called \"%s\"%s", name,
                     plim_name_advice(plim_dataset_name, name, advice));
  }
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *dataset, &dataset));
  *dataset = source->constants;
  dataset->ctx = ctx;
  PLIM_TRY_OR_DONE(with_remedy(ctx, source, source->load(source, options, dataset)));
  *out = dataset;
  dataset = NULL;
done:
  plim_dataset_free(dataset);
  return status;
}

void plim_dataset_free(plim_dataset *dataset) {
  if (!dataset) return;
  plim_release(dataset->ctx, (void *)dataset->train.token, dataset->train.n_tokens + dataset->test.n_tokens,
               sizeof *dataset->train.token);
  split_free(dataset, &dataset->train);
  split_free(dataset, &dataset->test);
  plim_release(dataset->ctx, dataset, 1, sizeof *dataset);
}

int64_t plim_dataset_bytes(const plim_dataset *dataset) {
  const plim_split *train = &dataset->train, *test = &dataset->test;
  if (dataset->source.fill) return 0;
  if (train->token) return (train->n_tokens + test->n_tokens) * (int64_t)sizeof *train->token;
  return ((int64_t)train->count + test->count) * (plim_dataset_image_bytes(dataset) + 1);
}
