/* Data sets: images as bytes with labels, held in memory as they are stored (nothing is decoded to floats here). */
#ifndef PLIM_RUNTIME_DATA_DATASET_H
#define PLIM_RUNTIME_DATA_DATASET_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_split {
  int32_t count;
  const uint8_t *image; /* [count][H][W][C] */
  const uint8_t *label; /* [count], each < classes */
} plim_split;

typedef struct plim_dataset {
  plim_context *ctx;
  const char *name;
  int32_t height, width, channels, classes;
  float mean[4], deviation[4]; /* by channel, of pixel / 255 over the training images */
  int32_t pad;                 /* pixels of border for random crops */
  int32_t flip;                /* 1: a mirrored image keeps its label */
  plim_split train, test;
} plim_dataset;

typedef struct plim_dataset_options {
  size_t struct_bytes;             /* sizeof(plim_dataset_options) */
  const char *dir;                 /* folder of the files; NULL: where the system's package puts them */
  int32_t height, width, channels; /* synthetic only; > 0 */
  int32_t train_count, test_count; /* synthetic only; > 0 */
  uint64_t seed;                   /* synthetic only */
} plim_dataset_options;
plim_dataset_options plim_dataset_options_default(void);

/* Load "fashion-mnist" (four gzip IDX files), "cifar10" (the binary version) or make "synthetic" (noise, 10 classes).
 * PLIM_EUSAGE for a name that is none (with the nearest), PLIM_ENOFILE when its files are not there (with what to
 * install or download), PLIM_EDATA when one is wrong (with file, field and both numbers). Frees with
 * plim_dataset_free. */
PLIM_MUST_USE plim_status plim_dataset_load(plim_context *ctx, const char *name, const plim_dataset_options *options,
                                            plim_dataset **out);
void plim_dataset_free(plim_dataset *dataset); /* NULL is legal */

/* Names, in order: name of row i, or NULL after the last. */
const char *plim_dataset_name(int32_t row);

/* Does the data set bring its own image size (so that height, width and channels of the options are not read)?
 * Writes it to size [3] = height, width, channels when it does. 0 for synthetic and for names that are none. */
int plim_dataset_size(const char *name, int32_t *size);

/* What turns a pixel byte of the data set into an input: pixel * scale + shift has mean 0 and deviation 1 over the
 * training images. scale [4], shift [4] out, by channel; untouched for a name that is none. */
void plim_dataset_pixels(const char *name, float *scale, float *shift);

/* Bytes of images and labels that the data set holds in memory. */
int64_t plim_dataset_bytes(const plim_dataset *dataset);

#ifdef __cplusplus
}
#endif
#endif
