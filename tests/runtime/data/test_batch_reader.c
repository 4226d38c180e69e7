/* runtime/data/reader.c: the thread gives the batches that a plain call gives. Also run under the thread sanitizer. */
#include "runtime/data/reader.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SIDE = 12, BATCH = 16, PIXELS = SIDE * SIDE * 3, BATCH_BYTES = BATCH * PIXELS };

static plim_context *ctx;
static plim_dataset *dataset;
static plim_sampler *threaded, *plain;
static uint8_t image[BATCH_BYTES];
static int32_t label[BATCH];
static plim_reader *reader;

static void setup(void) {
  plim_dataset_options options = plim_dataset_options_default();
  plim_sampler_options sampling = {sizeof sampling, BATCH, 3, 1, 0};
  options.height = options.width = SIDE;
  options.train_count = 200;
  options.test_count = 50;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_dataset_load(ctx, "synthetic", &options, &dataset), PLIM_OK);
  cr_assert_eq(plim_sampler_new(dataset, &sampling, &threaded), PLIM_OK);
  cr_assert_eq(plim_sampler_new(dataset, &sampling, &plain), PLIM_OK);
  cr_assert_eq(plim_reader_open(ctx, threaded, image, label, &reader), PLIM_OK);
}

static void teardown(void) {
  plim_reader_close(reader);
  plim_sampler_free(threaded);
  plim_sampler_free(plain);
  plim_dataset_free(dataset);
  plim_context_free(ctx);
}
TestSuite(reader, .init = setup, .fini = teardown);

static void expect_batch(plim_reader_part part, int64_t number) {
  static uint8_t wanted[BATCH_BYTES];
  static int32_t wanted_label[BATCH];
  if (part == PLIM_READ_TRAIN) {
    plim_sampler_train(plain, number, wanted, wanted_label);
  } else {
    plim_sampler_test(plain, number, wanted, wanted_label);
  }
  cr_assert_arr_eq(image, wanted, BATCH_BYTES, "batch %d", (int)number);
  cr_assert_arr_eq(label, wanted_label, sizeof label);
}

Test(reader, gives_the_batches_that_synchronous_reading_gives) {
  for (int64_t step = 0; step < 100; step++) {
    plim_reader_request(reader, PLIM_READ_TRAIN, step);
    cr_assert_eq(plim_reader_wait(reader), PLIM_OK);
    expect_batch(PLIM_READ_TRAIN, step);
  }
}

Test(reader, changes_between_training_and_evaluation) {
  for (int64_t i = 0; i < 4; i++) {
    plim_reader_request(reader, PLIM_READ_TRAIN, i);
    plim_reader_request(reader, PLIM_READ_TEST, i); /* the training batch is overwritten */
    cr_assert_eq(plim_reader_wait(reader), PLIM_OK);
    expect_batch(PLIM_READ_TEST, i);
  }
}

Test(reader, leaves_the_batch_alone_until_the_next_request) {
  plim_reader_request(reader, PLIM_READ_TRAIN, 7);
  cr_assert_eq(plim_reader_wait(reader), PLIM_OK);
  image[0] ^= 1;
  cr_assert_eq(plim_reader_wait(reader), PLIM_OK);
  image[0] ^= 1;
  expect_batch(PLIM_READ_TRAIN, 7);
}

Test(reader, closes_with_a_request_under_way_or_none) {
  for (int i = 0; i < 50; i++) {
    plim_reader *other;
    cr_assert_eq(plim_reader_open(ctx, plain, image, label, &other), PLIM_OK);
    if (i % 2) plim_reader_request(other, PLIM_READ_TRAIN, i);
    plim_reader_close(other);
  }
  cr_assert_eq(plim_context_cancelled(ctx), 0);
}

Test(reader, allocates_nothing_after_it_was_opened) {
  int64_t before = plim_context_memory(ctx).allocations;
  for (int64_t step = 0; step < 30; step++) plim_reader_request(reader, PLIM_READ_TRAIN, step);
  cr_assert_eq(plim_reader_wait(reader), PLIM_OK);
  cr_assert_eq(plim_context_memory(ctx).allocations, before);
}
