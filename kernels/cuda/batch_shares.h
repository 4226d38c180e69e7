/* Variants that work on a share of the batch at a time. Smaller shares need less workspace. Each has a numerics key of
 * its own, because the library may sum another size in another order. For this folder. */
#ifndef PLIM_KERNELS_CUDA_BATCH_SHARES_H
#define PLIM_KERNELS_CUDA_BATCH_SHARES_H

#include "kernels/table.h"

enum { PLIM_BATCH_SHARES = 3, PLIM_BATCH_CHOICES_MAX = PLIM_BATCH_SHARES + 1 };
enum { PLIM_CUDA_BLAS_BYTES_MIN = 4 << 20 /* of workspace for the library of products, in every variant */ };

/* Images, lines or rows that are worked on at a time, and the library's part of the workspace. */
typedef struct plim_batch_choice {
  int64_t share, blas_bytes;
} plim_batch_choice;

/* The variants of one op, the fastest by expectation first. A name is "cublas-tf32-16-32m": the family, the precision
 * where it is tf32, the share where has_share, and MiB of the library's workspace where more than the least. */
typedef struct plim_batch_choices {
  int n;
  plim_batch_choice choice[PLIM_BATCH_CHOICES_MAX];
  const char *family;
  plim_precision precision;
  int has_share;
  const void *op;
  int64_t (*workspace_bytes)(const void *op, const plim_batch_choice *choice);
} plim_batch_choices;

/* Add the shares of a batch of n > 0 images: all, a quarter, a sixteenth, rounded up, each size once, with the least
 * workspace for the library. */
void plim_batch_choices_add_shares(plim_batch_choices *choices, int64_t n);
void plim_batch_choices_add(plim_batch_choices *choices, int64_t images, int64_t blas_bytes);
/* Add one with so much workspace for the library, where that is more than the least. */
void plim_batch_choices_add_larger_blas(plim_batch_choices *choices, int64_t images, int64_t blas_bytes);

/* Writes at most `capacity` of them, numerics key and name being one. Returns how many there are. */
int plim_batch_choices_list(const plim_batch_choices *choices, plim_kernel_info *info, int capacity);

/* NULL: none has that name. */
const plim_batch_choice *plim_batch_choices_find(const plim_batch_choices *choices, const char *variant);

#endif
