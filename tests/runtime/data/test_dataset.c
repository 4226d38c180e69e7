/* runtime/data/dataset.c and cifar.c: names, missing and wrong files, what the constants say about the images. */
#include "runtime/data/dataset.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/data/cifar.h"
#include "tests/support/folder.h"
#include "tests/support/test_seed.h"

static plim_context *ctx;
static plim_dataset_options options;

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  options = plim_dataset_options_default();
  (void)plim_test_folder();
}
static void teardown(void) {
  plim_test_folder_remove();
  plim_context_free(ctx);
}
TestSuite(dataset, .init = setup, .fini = teardown);

static void expect_failure(const char *name, plim_status status, const char *words) {
  plim_dataset *d = NULL;
  cr_assert_eq(plim_dataset_load(ctx, name, &options, &d), status, "%s", plim_context_error(ctx));
  cr_assert_null(d);
  cr_assert_not_null(strstr(plim_context_error(ctx), words), "\"%s\" lacks \"%s\"", plim_context_error(ctx), words);
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
}

Test(dataset, suggests_the_nearest_name) {
  expect_failure("fashion_mnist", PLIM_EUSAGE, "did you mean \"fashion-mnist\"?");
  expect_failure("cifar-10", PLIM_EUSAGE, "did you mean \"cifar10\"?");
}

Test(dataset, says_what_to_install_when_files_are_not_there) {
  options.dir = "/no/such/folder";
  expect_failure("fashion-mnist", PLIM_ENOFILE, "install the Debian package dataset-fashion-mnist");
  expect_failure("fashion-mnist", PLIM_ENOFILE, "/no/such/folder/train-images-idx3-ubyte.gz: No such file");
  expect_failure("cifar10", PLIM_ENOFILE, "data_batch_1.bin");
  options.dir = NULL;
  expect_failure("cifar10", PLIM_ENOFILE, "name the folder of data_batch_1.bin");
}

Test(dataset, makes_the_same_noise_for_the_same_seed) {
  plim_dataset *a, *b, *c;
  options.train_count = 20;
  options.test_count = 10;
  options.seed = test_seed(0);
  cr_assert_eq(plim_dataset_load(ctx, "synthetic", &options, &a), PLIM_OK);
  cr_assert_eq(plim_dataset_load(ctx, "synthetic", &options, &b), PLIM_OK);
  options.seed++;
  cr_assert_eq(plim_dataset_load(ctx, "synthetic", &options, &c), PLIM_OK);
  size_t bytes = 20 * 32 * 32 * 3;
  cr_assert_arr_eq(a->train.image, b->train.image, bytes);
  cr_assert_arr_eq(a->train.label, b->train.label, 20);
  cr_assert_arr_neq(a->train.image, c->train.image, bytes);
  cr_assert_arr_neq(a->train.image, a->test.image, bytes / 2);
  cr_assert_eq(plim_dataset_bytes(a), 30 * (32 * 32 * 3 + 1));
  plim_dataset_free(a);
  plim_dataset_free(b);
  plim_dataset_free(c);
}

/* Mean and deviation of the training images, channel c, of pixel / 255. */
static void measure(const plim_dataset *d, int c, double *mean, double *deviation) {
  double sum = 0, squares = 0;
  int64_t n = (int64_t)d->train.count * d->height * d->width;
  for (int64_t i = 0; i < n; i++) {
    double x = d->train.image[i * d->channels + c] / 255.0;
    sum += x;
    squares += x * x;
  }
  *mean = sum / (double)n;
  *deviation = sqrt(squares / (double)n - *mean * *mean);
}

static void check_constants(const plim_dataset *d) {
  for (int c = 0; c < d->channels; c++) {
    double mean, deviation;
    measure(d, c, &mean, &deviation);
    cr_assert(fabs(mean - (double)d->mean[c]) < 1e-3, "mean %g, constant %g", mean, (double)d->mean[c]);
    cr_assert(fabs(deviation - (double)d->deviation[c]) < 1e-3, "deviation %g, constant %g", deviation,
              (double)d->deviation[c]);
  }
}

static void keep_progress(void *user, const plim_progress *progress) {
  plim_progress *last = user;
  cr_assert(progress->done > 0 && progress->done <= progress->total);
  if (progress->total >= last->total) *last = *progress;
}

Test(dataset, reports_all_of_the_noise_at_its_end) {
  plim_progress last = {.total = 0}; /* of the images for training, the largest part */
  plim_dataset *d;
  options.train_count = 3000; /* in three pieces */
  options.test_count = 10;
  plim_context_set_progress(ctx, keep_progress, &last);
  cr_assert_eq(plim_dataset_load(ctx, "synthetic", &options, &d), PLIM_OK);
  plim_context_set_progress(ctx, NULL, NULL);
  cr_expect_eq(last.total, (int64_t)3000 * 32 * 32 * 3);
  cr_expect_eq(last.done, last.total);
  plim_dataset_free(d);
}

Test(dataset, has_the_right_constants_for_noise) {
  plim_dataset *d;
  cr_assert_eq(plim_dataset_load(ctx, "synthetic", &options, &d), PLIM_OK);
  check_constants(d);
  plim_dataset_free(d);
}

Test(dataset, reads_fashion_mnist_as_its_package_installs_it) {
  plim_dataset *d;
  plim_status status = plim_dataset_load(ctx, "fashion-mnist", &options, &d);
  if (status == PLIM_ENOFILE) cr_skip_test("dataset-fashion-mnist is not installed");
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert(d->train.count == 60000 && d->test.count == 10000);
  check_constants(d);
  int per_class[10] = {0};
  for (int i = 0; i < d->test.count; i++) per_class[d->test.label[i]]++;
  for (int i = 0; i < 10; i++) cr_assert_eq(per_class[i], 1000);
  cr_assert_eq(plim_dataset_bytes(d), plim_context_memory(ctx).bytes - (int64_t)sizeof *d);
  plim_dataset_free(d);
}

/* ---- CIFAR-10 ---- */

enum { RECORD = 1 + PLIM_CIFAR_IMAGE_BYTES };

/* A whole batch file with pixel p of plane c in image i = i + 3 p + c; `extra` bytes more or fewer. */
static const char *write_cifar(const char *name, long extra, int label) {
  const char *path = plim_test_path(name);
  uint8_t record[RECORD];
  FILE *file = fopen(path, "wb");
  cr_assert_not_null(file);
  for (int i = 0; i < PLIM_CIFAR_FILE_IMAGES; i++) {
    record[0] = (uint8_t)(i == 77 ? label : i % 10);
    for (int j = 0; j < PLIM_CIFAR_IMAGE_BYTES; j++) record[1 + j] = (uint8_t)(i + 3 * (j % 1024) + j / 1024);
    cr_assert_eq(fwrite(record, 1, RECORD, file), RECORD);
  }
  cr_assert_eq(fclose(file), 0);
  cr_assert_eq(truncate(path, (long)PLIM_CIFAR_FILE_IMAGES * RECORD + extra), 0);
  return path;
}

static void expect_cifar(long extra, int label, plim_status status, const char *words) {
  uint8_t *image = malloc((size_t)PLIM_CIFAR_FILE_IMAGES * PLIM_CIFAR_IMAGE_BYTES);
  uint8_t *labels = malloc(PLIM_CIFAR_FILE_IMAGES);
  cr_assert_eq(plim_cifar_load(ctx, write_cifar("batch.bin", extra, label), image, labels), status);
  cr_assert_not_null(strstr(plim_context_error(ctx), words), "\"%s\" lacks \"%s\"", plim_context_error(ctx), words);
  if (status == PLIM_OK) {
    for (int i = 0; i < 3 * 1024; i++) cr_assert_eq(image[5 * 3072 + i], (uint8_t)(5 + i));
    cr_assert_eq(labels[9999], 9);
  }
  free(image);
  free(labels);
}

Test(dataset, turns_cifar_planes_to_channels_last) {
  expect_cifar(0, 7, PLIM_OK, "");
}

Test(dataset, refuses_a_cifar_file_that_is_short_long_or_has_a_label_of_ten) {
  expect_cifar(-1, 7, PLIM_EDATA, "truncated in image 9999 of 10000: 3072 of 3073 bytes");
  expect_cifar(1, 7, PLIM_EDATA, "bytes follow");
  expect_cifar(0, 10, PLIM_EDATA, "label 10 of image 77");
}

Test(dataset, reads_six_cifar_files_as_fifty_and_ten_thousand_images) {
  static const char *const names[] = {"data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin",
                                      "test_batch.bin"};
  plim_dataset *d;
  char folder[512];
  (void)write_cifar("data_batch_1.bin", 0, 7);
  for (int i = 0; i < 5; i++) cr_assert_eq(symlink("data_batch_1.bin", plim_test_path(names[i])), 0);
  const char *path = plim_test_path("");
  (void)snprintf(folder, sizeof folder, "%s", path);
  options.dir = folder;
  cr_assert_eq(plim_dataset_load(ctx, "cifar10", &options, &d), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert(d->train.count == 50000 && d->test.count == 10000);
  cr_assert_arr_eq(d->train.image + 40000L * 3072, d->test.image, 10000L * 3072);
  plim_dataset_free(d);
}
