/* Data sets in memory: images as bytes, with labels, or text as tokens. Pixels stay bytes: the image op converts them
 * to floats.
 *
 * A data set is immutable once it is made, and any number of threads may read it. Equal files, or equal options of
 * "synthetic", give equal data sets. The functions without a context read static tables alone: they are safe from
 * any thread. */
#ifndef PLIM_RUNTIME_DATA_DATASET_H
#define PLIM_RUNTIME_DATA_DATASET_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is for training, or what is for the test. Sequences lie side by side in the text; the label of a token is the
 * token after it. */
typedef struct plim_split {
  int32_t count;         /* images, or sequences */
  const uint8_t *image;  /* [count][height][width][channels]; NULL: text */
  const uint8_t *label;  /* [count], each < classes; NULL: text */
  const uint16_t *token; /* [n_tokens], each < classes; NULL: images */
  int64_t n_tokens;
} plim_split;

/* ---- a program's own data ---- */

/* A batch that is asked for. Of images `image` is there, of text `token`, which overlie the same memory otherwise.
 * What is in `image` counts as the image op has it (plim_net_options.pixel_scale). */
typedef struct plim_data_batch {
  int32_t test;   /* 0: for training; 1: for evaluation */
  int32_t count;  /* examples that are wanted: the batch, or what is left of the epoch or the test */
  int64_t number; /* training: the step, from 0 over all epochs; evaluation: of the batch, from 0 */
  uint8_t *image; /* [count][height][width][channels] out; NULL: text */
  int32_t *token; /* [count][context] out, each 0 .. classes - 1; NULL: images */
  int32_t *label; /* [count], or [count][context], out, each 0 .. classes - 1, or -1: not counted */
} plim_data_batch;

/* Write a batch. Returns 0, or a number that says what failed, which the error has.
 *   Threads      A trainer calls this on its reader's thread, one call at a time, while the step before runs. Two
 *                trainers, as plim_verify has, call it at the same time. It may not call the library.
 *   Determinism  What it writes must depend on `test` and `number` alone: a batch is asked for again after an
 *                evaluation, after a failure and when a run continues, and one may be asked for that no step reads.
 *   Order        The source decides it; the library neither shuffles nor augments its examples. */
typedef int plim_data_fill(void *user, const plim_data_batch *batch);

typedef struct plim_data_source {
  size_t struct_bytes;             /* sizeof(plim_data_source) */
  const char *name;                /* for sentences; borrowed, as `user` is */
  int32_t height, width, channels; /* of images, at most 4 channels; not read where there is a context */
  int32_t context;                 /* tokens of a sequence; 0: images */
  int32_t classes;                 /* or words */
  int32_t train_count, test_count; /* examples of an epoch, and of the test */
  plim_data_fill *fill;
  void *user;
} plim_data_source;

typedef struct plim_dataset {
  plim_context *ctx;
  const char *name;
  int32_t height, width, channels, classes;
  float mean[4], deviation[4]; /* by channel, of pixel / 255 over the training images */
  int32_t pad;                 /* pixels of border for random crops */
  int32_t flip;                /* 1: a mirrored image keeps its label */
  int32_t context;             /* tokens of a sequence; 0: images */
  plim_split train, test;
  plim_data_source source; /* fill NULL: the splits have all examples; else they have their numbers alone */
} plim_dataset;

/* A data set whose batches come from the source.
 *   source  [1] in   copied
 *   out     [1] out  free with plim_dataset_free
 * PLIM_EUSAGE: sizes that are not allowed, no name or no function. PLIM_ENOMEM. A batch that fails later ends
 * plim_trainer_run or plim_trainer_evaluate: PLIM_EIO with the number that `fill` returned, PLIM_EDATA for a label or
 * token out of range. The step has not run then, and the next call asks for the same batch again. */
PLIM_MUST_USE plim_status plim_dataset_from_source(plim_context *ctx, const plim_data_source *source,
                                                   plim_dataset **out);

typedef struct plim_dataset_options {
  size_t struct_bytes;             /* sizeof(plim_dataset_options) */
  const char *dir;                 /* folder of the files; NULL: where the system's package puts them */
  int32_t height, width, channels; /* synthetic only; > 0, at most 4 channels */
  int32_t train_count, test_count; /* images, synthetic only; > 0 */
  uint64_t seed;                   /* synthetic only */
  int32_t context;                 /* text only: tokens of a sequence, > 0 */
  int32_t words;                   /* tokens only: the vocabulary, 2 to 65536 */
} plim_dataset_options;

/* The system's folder. Synthetic: 4096 + 1024 images of 32 x 32 x 3, seed 0. Text: sequences of 256, 256 words. */
plim_dataset_options plim_dataset_options_default(void);

/* Load "fashion-mnist" (four gzip IDX files) or "cifar10" (the binary version), or make "synthetic" (noise, 10
 * classes). "text:FILE" is any file, each of whose bytes is a token; "tokens:FILE" has tokens of two bytes, the lower
 * one first. The last tenth of a text is for the test.
 *   options  in       must not be NULL
 *   out      [1] out  free with plim_dataset_free
 * PLIM_EUSAGE: no data set has that name (the sentence has the nearest), or options that are not allowed.
 * PLIM_ENOFILE: its files are not there; the sentence says what to install or download. PLIM_EDATA: a file is wrong;
 * the sentence has file, field and both numbers. PLIM_EIO, PLIM_ENOMEM. O(bytes of the images). */
PLIM_MUST_USE plim_status plim_dataset_load(plim_context *ctx, const char *name, const plim_dataset_options *options,
                                            plim_dataset **out);
void plim_dataset_free(plim_dataset *dataset); /* NULL is legal */

/* Name of row i of the table (0, 1, ...), a static string; NULL for a row that is not there. */
const char *plim_dataset_name(int32_t row);

/* Is it the name of a text, "text:FILE" or "tokens:FILE"? *file out (NULL: not wanted): what follows the colon. 1, or 2
 * for tokens of two bytes; 0: it is not. */
int plim_dataset_text(const char *name, const char **file);

/* Does the data set bring its own image size? Then height, width and channels of the options are not read.
 *   size  [3]  out  height, width, channels; untouched where the result is 0
 * 1: it does. 0: it is "synthetic", or no data set has that name. */
int plim_dataset_size(const char *name, int32_t *size);

/* How a pixel byte becomes an input: byte * scale + shift has mean 0 and deviation 1 over the training images.
 *   scale, shift  [4]  out  by channel, 0 beyond the last; untouched when no data set has that name */
void plim_dataset_pixels(const char *name, float *scale, float *shift);

/* Bytes of images and labels that the data set holds in memory; 0 of a source. O(1). */
int64_t plim_dataset_bytes(const plim_dataset *dataset);

#ifdef __cplusplus
}
#endif
#endif
