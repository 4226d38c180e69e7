/* Which images, or sequences of a text, make up a batch: shuffled and augmented for training, in order for evaluation.
 */
#ifndef PLIM_RUNTIME_DATA_SAMPLER_H
#define PLIM_RUNTIME_DATA_SAMPLER_H

#include "runtime/data/data_source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_sampler plim_sampler;

typedef struct plim_sampler_options {
  size_t struct_bytes; /* sizeof(plim_sampler_options) */
  int32_t batch;       /* 1 .. training images */
  uint64_t seed;
  int32_t augment; /* 1: for training batches, random crop and mirror; sequences begin elsewhere in each epoch */
  int32_t last;    /* 1: what is left of an epoch after its whole batches is a batch, too */
} plim_sampler_options;

/* Batches of 128, no augmentation, whole batches alone. */
plim_sampler_options plim_sampler_options_default(void);

/* The data set must outlive the sampler. PLIM_EUSAGE when a batch is larger than the training set. Holds one
 * permutation of the training images, whatever the batch. */
PLIM_MUST_USE plim_status plim_sampler_new(const plim_dataset *dataset, const plim_sampler_options *options,
                                           plim_sampler **out);
void plim_sampler_free(plim_sampler *sampler); /* NULL is legal */

/* Training batches an epoch (the last partial one among them when it counts), evaluation batches (the last one is
 * padded). */
int64_t plim_sampler_train_batches(const plim_sampler *sampler);
int64_t plim_sampler_test_batches(const plim_sampler *sampler);

/* The two below write a batch and return 1. Of a program's own source they return 0 where it has failed, and
 * plim_sampler_fault says why: a sentence that stays until the next call. */
const plim_data_fault *plim_sampler_fault(const plim_sampler *sampler);

/* Write the training batch of a step counted from 0 over all epochs; of a partial one the first places. A function of
 * (data set, options, step). Of a text, `image` gets tokens of four bytes, and must be aligned for them.
 *   image  [batch][H][W][C], or tokens i32 [batch][context]  out
 *   label  [batch], or [batch][context]                      out
 * Not thread-safe: it keeps the permutation of the epoch it was last asked for. */
int plim_sampler_train(plim_sampler *sampler, int64_t step, uint8_t *image, int32_t *label);

/* Write evaluation batch `index`; places after the last image get zeros and label -1. */
int plim_sampler_test(plim_sampler *sampler, int64_t index, uint8_t *image, int32_t *label);

#ifdef __cplusplus
}
#endif
#endif
