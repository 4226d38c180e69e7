/* Decides which images, or sequences of a text, make up a batch, and writes it. Training batches are shuffled and may
 * be augmented; evaluation batches are in order. A program's own source decides by itself. */
#ifndef PLIM_RUNTIME_DATA_SAMPLER_H
#define PLIM_RUNTIME_DATA_SAMPLER_H

#include "runtime/data/data_source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_sampler plim_sampler;

typedef struct plim_sampler_options {
  size_t struct_bytes; /* sizeof(plim_sampler_options) */
  int32_t batch;       /* 1 .. number of training examples */
  uint64_t seed;
  int32_t augment; /* 1: random crop and mirror of training images; sequences start elsewhere in each epoch */
  int32_t last;    /* 1: the examples left after an epoch's whole batches make a partial batch; 0: they are skipped */
} plim_sampler_options;

/* Batches of 128, seed 1, no augmentation, no partial batch. */
plim_sampler_options plim_sampler_options_default(void);

/* Make a sampler of a data set, which must outlive it. It holds one permutation of the training examples, except for a
 * program's own source. PLIM_EUSAGE when a batch is empty or larger than the training set. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_sampler_new(const plim_dataset *dataset, const plim_sampler_options *options,
                                           plim_sampler **out);
void plim_sampler_free(plim_sampler *sampler); /* NULL is legal */

/* Number of training batches an epoch, with the partial one if the options ask for it; number of evaluation batches,
 * the last of which is padded. */
int64_t plim_sampler_train_batches(const plim_sampler *sampler);
int64_t plim_sampler_test_batches(const plim_sampler *sampler);

/* Why plim_sampler_train or plim_sampler_test returned 0: a program's own source failed. Valid until the next of these
 * calls. With other data sets they always return 1. */
const plim_data_fault *plim_sampler_fault(const plim_sampler *sampler);

/* Write the training batch of a step, which is counted from 0 over all epochs. A partial batch fills the first places
 * only. The batch is a function of (data set, options, step). For a text, `image` gets tokens of four bytes, and must
 * be aligned for them.
 *   image  [batch][H][W][C], or tokens i32 [batch][context]  out
 *   label  [batch], or [batch][context]                      out
 * O(batch), and O(training examples) at the first batch of an epoch. Not thread-safe: the sampler keeps the permutation
 * of one epoch. */
int plim_sampler_train(plim_sampler *sampler, int64_t step, uint8_t *image, int32_t *label);

/* Write evaluation batch `index`, as plim_sampler_train does. Places after the last example get zeros and label -1. */
int plim_sampler_test(plim_sampler *sampler, int64_t index, uint8_t *image, int32_t *label);

#ifdef __cplusplus
}
#endif
#endif
