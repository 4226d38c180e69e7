/* Data sets in memory: images as bytes with their labels, or text as tokens. Pixels stay bytes, since the image op
 * converts them to floats.
 *
 * A data set is immutable once it is made, and any number of threads may read it. Equal files, or equal options of
 * "synthetic", give equal data sets. The functions that take a name and no context only read static tables: they are
 * safe from any thread.
 *
 * data_source.c has the function that takes a source, dataset.c the rest. */
#ifndef PLIM_RUNTIME_DATA_DATASET_H
#define PLIM_RUNTIME_DATA_DATASET_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The examples for training, or those for the test. The sequences of a text lie side by side in it. The label of a
 * token is the token after it. */
typedef struct plim_split {
  int32_t count;         /* images, or sequences */
  const uint8_t *image;  /* [count][height][width][channels]; NULL: text */
  const uint8_t *label;  /* [count], each < classes; NULL: text */
  const uint16_t *token; /* [n_tokens], each < classes; NULL: images */
  int64_t n_tokens;
} plim_split;

/* ---- a program's own data ---- */

/* A batch that the library asks a source for. The source of images writes `image`, that of text writes `token`; the
 * other pointer is NULL. The image op converts the bytes in `image` (plim_net_options.pixel_scale). */
typedef struct plim_data_batch {
  int32_t test;   /* 0: for training; 1: for evaluation */
  int32_t count;  /* number of examples to write: a whole batch, or the rest of the epoch or of the test */
  int64_t number; /* training: the step, from 0 over all epochs; evaluation: the batch, from 0 */
  uint8_t *image; /* [count][height][width][channels] out; NULL: text */
  int32_t *token; /* [count][context] out, each 0 .. classes - 1; NULL: images */
  int32_t *label; /* [count], or [count][context] of a text, out; each 0 .. classes - 1, or -1: not counted */
} plim_data_batch;

/* Write a batch. Returns 0, or a number that says what failed; the error's sentence shows this number.
 *   Threads      A trainer calls the function on its reader's thread, one call at a time, while the previous step runs.
 *                Two trainers, as in plim_verify, call it at the same time. It must not call the library.
 *   Determinism  The batch must depend on `test` and `number` alone. The library may ask for a batch again: after an
 *                evaluation, after a failure, and when a run continues. It may also ask for one that no step reads.
 *   Order        The source decides the order. The library neither shuffles nor augments its examples. */
typedef int plim_data_fill(void *user, const plim_data_batch *batch);

typedef struct plim_data_source {
  size_t struct_bytes;             /* sizeof(plim_data_source) */
  const char *name;                /* named in error sentences; borrowed, as `user` is */
  int32_t height, width, channels; /* sizes of an image, at most 4 channels; not read when context > 0 */
  int32_t context;                 /* tokens of a sequence; 0: images */
  int32_t classes;                 /* classes of images, or words of the vocabulary; at least 2 */
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
  plim_data_source source; /* fill NULL: the splits hold all examples; else they only hold the counts */
} plim_dataset;

/* Make a data set whose batches come from the source.
 *   source  [1] in   copied
 *   out     [1] out  free with plim_dataset_free
 * PLIM_EUSAGE: sizes that are not allowed, no name or no function. PLIM_ENOMEM. O(1).
 * A batch that fails later ends plim_trainer_run or plim_trainer_evaluate. The status is PLIM_EIO, with the number that
 * `fill` returned, or PLIM_EDATA for a label or token out of range. The step has not run then, and the next call asks
 * for the same batch again. */
PLIM_MUST_USE plim_status plim_dataset_from_source(plim_context *ctx, const plim_data_source *source,
                                                   plim_dataset **out);

typedef struct plim_dataset_options {
  size_t struct_bytes;             /* sizeof(plim_dataset_options) */
  const char *dir;                 /* folder of the files; NULL: the folder of the system's package */
  int32_t height, width, channels; /* synthetic only; > 0, at most 4 channels */
  int32_t train_count, test_count; /* images, synthetic only; > 0 */
  uint64_t seed;                   /* synthetic only */
  int32_t context;                 /* text only: tokens of a sequence, > 0 */
  int32_t words;                   /* tokens only: the vocabulary, 2 to 65536 */
} plim_dataset_options;

/* The system's folder. Synthetic: 4096 + 1024 images of 32 x 32 x 3, seed 0. Text: sequences of 256 tokens, 256 words.
 */
plim_dataset_options plim_dataset_options_default(void);

/* Load "fashion-mnist" (four gzip IDX files) or "cifar10" (the binary version), or make "synthetic" (noise, 10
 * classes). "text:FILE" is any file, each of whose bytes is a token; "tokens:FILE" has tokens of two bytes, the lower
 * one first. The last tenth of a text is for the test.
 *   options  in       must not be NULL
 *   out      [1] out  free with plim_dataset_free
 * PLIM_EUSAGE: no data set has that name (the sentence suggests the nearest), or options that are not allowed.
 * PLIM_ENOFILE: its files are missing; the sentence says what to install or download. PLIM_EDATA: a file is wrong; the
 * sentence names the file and the fault. PLIM_ECANCEL: the context was cancelled while noise was made or a pipe was
 * read. PLIM_EIO, PLIM_ENOMEM. O(bytes of the data set). */
PLIM_MUST_USE plim_status plim_dataset_load(plim_context *ctx, const char *name, const plim_dataset_options *options,
                                            plim_dataset **out);
void plim_dataset_free(plim_dataset *dataset); /* NULL is legal */

/* Bytes of an image: height x width x channels. */
int64_t plim_dataset_image_bytes(const plim_dataset *dataset);

/* Name of row i of the table (0, 1, ...), a static string; NULL after the last row. */
const char *plim_dataset_name(int32_t row);

/* What a name says of a text. */
typedef enum plim_text_kind {
  PLIM_TEXT_NONE,  /* it is not that of a text */
  PLIM_TEXT_BYTES, /* "text:FILE": a token is a byte */
  PLIM_TEXT_TOKENS /* "tokens:FILE": a token is two bytes, the lower first */
} plim_text_kind;

/* Find the kind of text that a name says.
 *   file  [1]  out  the part of the name after the colon; may be NULL; untouched for PLIM_TEXT_NONE */
plim_text_kind plim_dataset_text(const char *name, const char **file);

/* Find the image size of a data set that has its own. For such a set, height, width and channels of the options are not
 * read.
 *   size  [3]  out  height, width, channels; untouched when the result is 0
 * Returns 1, or 0 for "synthetic" and for a name that no data set has. */
int plim_dataset_size(const char *name, int32_t *size);

/* The factors that make an input of a pixel byte: byte * scale + shift has mean 0 and deviation 1 over the training
 * images.
 *   scale, shift  [4]  out  by channel, 0 after the last channel; untouched when no data set has that name */
void plim_dataset_pixels(const char *name, float *scale, float *shift);

/* Bytes of images and labels, or of tokens, that the data set holds in memory; 0 for a source. O(1). */
int64_t plim_dataset_bytes(const plim_dataset *dataset);

#ifdef __cplusplus
}
#endif
#endif
