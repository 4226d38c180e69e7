/* Batches by number. The permutation of an epoch depends on (seed, epoch) alone, so any batch can be made without its
 * predecessors. */
#include "runtime/data/sampler.h"

#include <string.h>

#include "runtime/base/philox_stream.h"
#include "runtime/data/augment.h"
#include "runtime/data/text_data.h"

struct plim_sampler {
  const plim_dataset *dataset;
  plim_sampler_options options;
  int64_t epoch;  /* of `order`, PLIM_NONE: none yet */
  int32_t *order; /* [train.count]; NULL: a source has an order of its own */
  plim_data_fault fault;
};

plim_sampler_options plim_sampler_options_default(void) {
  return (plim_sampler_options){.struct_bytes = sizeof(plim_sampler_options), .batch = 128, .seed = 1};
}

plim_status plim_sampler_new(const plim_dataset *dataset, const plim_sampler_options *options, plim_sampler **out) {
  plim_context *ctx = dataset->ctx;
  plim_sampler *s = NULL;
  PLIM_TRY(plim_check_options(ctx, "plim_sampler_options", options->struct_bytes, sizeof *options));
  if (options->batch < 1 || options->batch > dataset->train.count) {
    return plim_fail(ctx, PLIM_EUSAGE, "a batch of %d %s cannot be drawn from the %d of %s", options->batch,
                     dataset->context > 0 ? "sequences" : "images", dataset->train.count, dataset->name);
  }
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *s, &s));
  s->dataset = dataset;
  s->options = *options;
  s->epoch = PLIM_NONE;
  plim_status status = PLIM_OK;
  if (!dataset->source.fill) status = plim_allocate(ctx, dataset->train.count, sizeof *s->order, &s->order);
  if (status != PLIM_OK) {
    plim_sampler_free(s);
    return status;
  }
  *out = s;
  return PLIM_OK;
}

void plim_sampler_free(plim_sampler *sampler) {
  if (!sampler) return;
  plim_context *ctx = sampler->dataset->ctx;
  if (sampler->order) plim_release(ctx, sampler->order, sampler->dataset->train.count, sizeof *sampler->order);
  plim_release(ctx, sampler, 1, sizeof *sampler);
}

int64_t plim_sampler_train_batches(const plim_sampler *sampler) {
  int32_t count = sampler->dataset->train.count, batch = sampler->options.batch;
  return count / batch + (sampler->options.last && count % batch > 0);
}

int64_t plim_sampler_test_batches(const plim_sampler *sampler) {
  int64_t batch = sampler->options.batch;
  return (sampler->dataset->test.count + batch - 1) / batch;
}

/* Fisher-Yates over the identity. */
static void shuffle(plim_sampler *sampler, int64_t epoch) {
  int32_t n = sampler->dataset->train.count;
  uint64_t stream = plim_philox_stream("shuffle") + (uint64_t)epoch;
  for (int32_t i = 0; i < n; i++) sampler->order[i] = i;
  for (uint64_t left = (uint64_t)n; left > 1; left--) {
    uint64_t i = left - 1, word = plim_philox_at(sampler->options.seed, stream, i).word[0], other = word * left >> 32;
    int32_t swap = sampler->order[i];
    sampler->order[i] = sampler->order[other];
    sampler->order[other] = swap;
  }
  sampler->epoch = epoch;
}

/* The number of tokens by which the sequences of an epoch are shifted. */
static int64_t text_shift(const plim_sampler *sampler, int64_t epoch) {
  const uint64_t shifts = (uint64_t)plim_text_data_shifts(sampler->dataset) + 1;
  if (!sampler->options.augment) return 0;
  return (int64_t)(plim_philox_at(sampler->options.seed, plim_philox_stream("shift"), (uint64_t)epoch).word[0] %
                   shifts);
}

const plim_data_fault *plim_sampler_fault(const plim_sampler *sampler) {
  return &sampler->fault;
}

/* Get a batch from the program's own source. */
static int fill(plim_sampler *sampler, plim_data_batch batch, uint8_t *image, int32_t *label) {
  const int text = sampler->dataset->context > 0;
  batch.image = text ? NULL : image;
  batch.token = text ? (int32_t *)(void *)image : NULL;
  batch.label = label;
  plim_data_source_fill(sampler->dataset, &batch, &sampler->fault);
  return sampler->fault.status == PLIM_OK;
}

int plim_sampler_train(plim_sampler *sampler, int64_t step, uint8_t *image, int32_t *label) {
  const plim_dataset *dataset = sampler->dataset;
  int64_t batches = plim_sampler_train_batches(sampler);
  int64_t epoch = step / batches, first = step % batches * sampler->options.batch;
  int64_t left = dataset->train.count - first, images = left < sampler->options.batch ? left : sampler->options.batch;
  if (dataset->source.fill) {
    return fill(sampler, (plim_data_batch){.number = step, .count = (int32_t)images}, image, label);
  }
  if (sampler->epoch != epoch) shuffle(sampler, epoch);
  int64_t shift = dataset->context > 0 ? text_shift(sampler, epoch) : 0;
  for (int64_t i = 0; i < images; i++) {
    int32_t sample = sampler->order[first + i];
    if (dataset->context > 0) {
      int32_t *token = (int32_t *)(void *)image;
      plim_text_data_sequence(dataset, &dataset->train, sample, shift, token + i * dataset->context,
                              label + i * dataset->context);
      continue;
    }
    plim_crop crop = {0, 0, 0};
    if (sampler->options.augment) {
      crop = plim_crop_draw(sampler->options.seed, epoch, sample, dataset->pad, dataset->flip);
    }
    plim_crop_copy(&crop, dataset->height, dataset->width, dataset->channels,
                   dataset->train.image + sample * plim_dataset_image_bytes(dataset),
                   image + i * plim_dataset_image_bytes(dataset));
    label[i] = dataset->train.label[sample];
  }
  return 1;
}

/* Fill the places from `from` on with zeros and label -1. */
static void fill_rest(const plim_dataset *dataset, int64_t from, int64_t batch, uint8_t *image, int32_t *label) {
  const int64_t labels = dataset->context > 0 ? dataset->context : 1;
  const int64_t bytes =
      dataset->context > 0 ? dataset->context * (int64_t)sizeof(int32_t) : plim_dataset_image_bytes(dataset);
  memset(image + from * bytes, 0, (size_t)((batch - from) * bytes));
  for (int64_t i = from * labels; i < batch * labels; i++) label[i] = -1;
}

int plim_sampler_test(plim_sampler *sampler, int64_t index, uint8_t *image, int32_t *label) {
  const plim_dataset *dataset = sampler->dataset;
  int64_t batch = sampler->options.batch, first = index * batch;
  int64_t count = dataset->test.count - first < batch ? dataset->test.count - first : batch;
  if (dataset->source.fill) {
    fill_rest(dataset, count, batch, image, label);
    return fill(sampler, (plim_data_batch){.test = 1, .number = index, .count = (int32_t)count}, image, label);
  }
  for (int64_t i = 0; dataset->context > 0 && i < batch; i++) {
    int32_t *token = (int32_t *)(void *)image;
    plim_text_data_sequence(dataset, &dataset->test, first + i, 0, token + i * dataset->context,
                            label + i * dataset->context);
  }
  if (dataset->context > 0) return 1;
  memcpy(image, dataset->test.image + first * plim_dataset_image_bytes(dataset),
         (size_t)(count * plim_dataset_image_bytes(dataset)));
  fill_rest(dataset, count, batch, image, label);
  for (int64_t i = 0; i < count; i++) label[i] = dataset->test.label[first + i];
  return 1;
}
