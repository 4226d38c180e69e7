/* runtime/data/sampler.c on a small synthetic data set. */
#include "runtime/data/sampler.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/failing_memory.h"
#include "tests/support/test_seed.h"

enum { SIDE = 6, TRAIN = 50, TEST_IMAGES = 19, BATCH = 8, PIXELS = SIDE * SIDE * 3, EPOCH = TRAIN / BATCH };

static plim_context *ctx;
static plim_dataset *dataset;

static plim_status load(plim_context *with, plim_dataset **out) {
  plim_dataset_options options = plim_dataset_options_default();
  options.height = options.width = SIDE;
  options.train_count = TRAIN;
  options.test_count = TEST_IMAGES;
  return plim_dataset_load(with, "synthetic", &options, out);
}

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(load(ctx, &dataset), PLIM_OK);
}
static void teardown(void) {
  plim_dataset_free(dataset);
  plim_context_free(ctx);
}
TestSuite(sampler, .init = setup, .fini = teardown);

static plim_sampler *make(uint64_t seed, int augment) {
  plim_sampler_options options = {sizeof options, BATCH, seed, augment, 0};
  plim_sampler *sampler;
  cr_assert_eq(plim_sampler_new(dataset, &options, &sampler), PLIM_OK);
  return sampler;
}

/* Index of the training image with exactly these bytes, -1: none. */
static int find_image(const uint8_t *image) {
  for (int i = 0; i < TRAIN; i++) {
    if (memcmp(dataset->train.image + i * PIXELS, image, PIXELS) == 0) return i;
  }
  return -1;
}

Test(sampler, drops_the_last_partial_batch_in_training_and_keeps_it_in_evaluation) {
  plim_sampler *s = make(test_seed(1), 0);
  cr_assert_eq(plim_sampler_train_batches(s), 6);
  cr_assert_eq(plim_sampler_test_batches(s), 3);
  plim_sampler_free(s);
}

Test(sampler, trains_what_is_left_of_an_epoch_when_asked_and_changes_no_whole_batch) {
  enum { LEFT = TRAIN % BATCH };
  plim_sampler_options options = {sizeof options, BATCH, test_seed(1), 1, 1};
  plim_sampler *all, *whole = make(test_seed(1), 1);
  uint8_t image[BATCH * PIXELS], same[BATCH * PIXELS];
  int32_t label[BATCH], other[BATCH], seen = 0;
  cr_assert_eq(plim_sampler_new(dataset, &options, &all), PLIM_OK);
  cr_assert_eq(plim_sampler_train_batches(all), EPOCH + 1);
  for (int step = 0; step <= EPOCH; step++) {
    memset(label, -1, sizeof label);
    plim_sampler_train(all, EPOCH + 1 + step, image, label);
    for (int i = 0; i < BATCH; i++) seen += label[i] >= 0;
    if (step == EPOCH) continue;
    plim_sampler_train(whole, EPOCH + step, same, other);
    cr_assert_arr_eq(image, same, sizeof image);
  }
  cr_assert_eq(seen, TRAIN);
  cr_assert_geq(label[LEFT - 1], 0);
  cr_assert_eq(label[LEFT], -1, "places after the last image are left alone");
  plim_sampler_free(whole);
  plim_sampler_free(all);
}

Test(sampler, shows_no_image_twice_in_an_epoch_and_keeps_labels_with_images) {
  uint8_t image[BATCH * PIXELS];
  int32_t label[BATCH];
  plim_sampler *s = make(test_seed(1), 0);
  for (int epoch = 0; epoch < 3; epoch++) {
    int seen[TRAIN] = {0};
    for (int step = 0; step < EPOCH; step++) {
      plim_sampler_train(s, epoch * EPOCH + step, image, label);
      for (int i = 0; i < BATCH; i++) {
        int which = find_image(image + i * PIXELS);
        cr_assert_geq(which, 0);
        cr_assert_eq(seen[which]++, 0);
        cr_assert_eq(label[i], dataset->train.label[which]);
      }
    }
  }
  plim_sampler_free(s);
}

Test(sampler, makes_a_batch_from_its_number_alone) {
  uint8_t forward[2 * EPOCH][BATCH * PIXELS], image[BATCH * PIXELS];
  int32_t label[BATCH];
  plim_sampler *s = make(test_seed(9), 1);
  for (int step = 0; step < 2 * EPOCH; step++) plim_sampler_train(s, step, forward[step], label);
  for (int step = 2 * EPOCH - 1; step >= 0; step--) {
    plim_sampler_train(s, step, image, label);
    cr_assert_arr_eq(image, forward[step], sizeof image);
  }
  plim_sampler_free(s);
}

Test(sampler, orders_images_differently_by_epoch_and_seed) {
  uint8_t a[BATCH * PIXELS], b[BATCH * PIXELS];
  int32_t label[BATCH];
  plim_sampler *one = make(test_seed(1), 0), *two = make(test_seed(1) + 1, 0);
  plim_sampler_train(one, 0, a, label);
  plim_sampler_train(one, EPOCH, b, label);
  cr_assert_arr_neq(a, b, sizeof a);
  plim_sampler_train(two, 0, b, label);
  cr_assert_arr_neq(a, b, sizeof a);
  plim_sampler_free(one);
  plim_sampler_free(two);
}

Test(sampler, pads_the_last_evaluation_batch_with_ignored_labels) {
  uint8_t image[BATCH * PIXELS];
  int32_t label[BATCH];
  plim_sampler *s = make(test_seed(1), 1);
  memset(image, 0xee, sizeof image);
  plim_sampler_test(s, 2, image, label);
  for (int i = 0; i < BATCH; i++) {
    int inside = 2 * BATCH + i < TEST_IMAGES;
    cr_assert_eq(label[i], inside ? dataset->test.label[2 * BATCH + i] : -1);
  }
  cr_assert_arr_eq(image, dataset->test.image + 2 * BATCH * PIXELS, 3 * PIXELS);
  for (int i = 3 * PIXELS; i < BATCH * PIXELS; i++) cr_assert_eq(image[i], 0);
  plim_sampler_free(s);
}

Test(sampler, refuses_a_batch_larger_than_the_data_set) {
  plim_sampler_options options = {sizeof options, TRAIN + 1, 1, 0, 0};
  plim_sampler *s;
  cr_assert_eq(plim_sampler_new(dataset, &options, &s), PLIM_EUSAGE);
  cr_assert_str_eq(plim_context_error(ctx), "a batch of 51 images cannot be drawn from the 50 of synthetic");
}

static plim_status make_all(plim_context *faulty, void *user) {
  (void)user;
  plim_dataset *d;
  plim_sampler *s = NULL;
  plim_sampler_options options = {sizeof options, BATCH, 1, 0, 0};
  PLIM_TRY(load(faulty, &d));
  plim_status status = plim_sampler_new(d, &options, &s);
  plim_sampler_free(s);
  plim_dataset_free(d);
  return status;
}

Test(sampler, survives_any_allocation_that_fails) {
  cr_assert_gt(plim_test_each_allocation(make_all, NULL), 4);
}
