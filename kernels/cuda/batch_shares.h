/* Variants that work on a share of the batch at a time. Smaller shares need less workspace. Each has a numerics key of
 * its own, because the library may sum another size in another order. For this folder. */
#ifndef PLIM_KERNELS_CUDA_BATCH_SHARES_H
#define PLIM_KERNELS_CUDA_BATCH_SHARES_H

#include "kernels/table.h"

enum { PLIM_BATCH_SHARES = 3, PLIM_MOST_BATCH_CHOICES = PLIM_BATCH_SHARES + 1 };

/* Images that are worked on at a time, and the library's part of the workspace. */
typedef struct plim_batch_choice {
  int64_t images, blas_bytes;
} plim_batch_choice;

/* The variants of one op, the fastest by expectation first; `name` writes that of one, `workspace_bytes` says what it
 * needs. Both get `op`. */
typedef struct plim_batch_choices {
  int n;
  plim_batch_choice choice[PLIM_MOST_BATCH_CHOICES];
  const void *op;
  void (*name)(const void *op, const plim_batch_choice *choice, char name[32]);
  int64_t (*workspace_bytes)(const void *op, const plim_batch_choice *choice);
} plim_batch_choices;

/* Add the shares of a batch of n > 0 images: all, a quarter, a sixteenth, rounded up, each size once. */
void plim_batch_choices_add_shares(plim_batch_choices *choices, int64_t n, int64_t blas_bytes);
void plim_batch_choices_add(plim_batch_choices *choices, int64_t images, int64_t blas_bytes);

/* Writes at most `capacity` of them, numerics key and name being one. Returns how many there are. */
int plim_batch_choices_list(const plim_batch_choices *choices, plim_kernel_info *info, int capacity);

/* NULL: none has that name. */
const plim_batch_choice *plim_batch_choices_find(const plim_batch_choices *choices, const char *variant);

#endif
