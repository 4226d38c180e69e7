/* The shares of the batch that there are variants for, and their names. */
#include "kernels/cuda/batch_shares.h"

#include <stdio.h>
#include <string.h>

#include "kernels/launch.h"

static const int32_t shares[PLIM_BATCH_SHARES] = {1, 4, 16};

void plim_batch_choices_add(plim_batch_choices *choices, int64_t images, int64_t blas_bytes) {
  choices->choice[choices->n++] = (plim_batch_choice){images, blas_bytes};
}

void plim_batch_choices_add_larger_blas(plim_batch_choices *choices, int64_t images, int64_t blas_bytes) {
  if (blas_bytes > PLIM_CUDA_BLAS_BYTES_MIN) plim_batch_choices_add(choices, images, blas_bytes);
}

void plim_batch_choices_add_shares(plim_batch_choices *choices, int64_t n) {
  int64_t last = 0;
  for (int i = 0; i < PLIM_BATCH_SHARES; i++) {
    const int64_t images = k_divide_up(n, shares[i]);
    if (images != last) plim_batch_choices_add(choices, images, PLIM_CUDA_BLAS_BYTES_MIN);
    last = images;
  }
}

static void name_choice(const plim_batch_choices *choices, const plim_batch_choice *choice,
                        char name[PLIM_KERNEL_NAME_BYTES]) {
  char images[16] = "", blas[16] = "", whole[64];
  if (choices->has_share) (void)snprintf(images, sizeof images, "-%d", (int)choice->share);
  if (choice->blas_bytes > PLIM_CUDA_BLAS_BYTES_MIN) {
    (void)snprintf(blas, sizeof blas, "-%dm", (int)(choice->blas_bytes >> 20));
  }
  (void)snprintf(whole, sizeof whole, "%.15s%s%s%s", choices->family,
                 choices->precision == PLIM_PRECISION_TF32 ? "-tf32" : "", images, blas);
  (void)snprintf(name, PLIM_KERNEL_NAME_BYTES, "%.*s", PLIM_KERNEL_NAME_BYTES - 1, whole);
}

int plim_batch_choices_list(const plim_batch_choices *choices, plim_kernel_info *info, int capacity) {
  for (int i = 0; i < choices->n && i < capacity; i++) {
    const plim_batch_choice *choice = &choices->choice[i];
    memset(&info[i], 0, sizeof info[i]);
    name_choice(choices, choice, info[i].name);
    memcpy(info[i].numerics_key, info[i].name, sizeof info[i].numerics_key);
    info[i].workspace_bytes = choices->workspace_bytes(choices->op, choice);
  }
  return choices->n;
}

const plim_batch_choice *plim_batch_choices_find(const plim_batch_choices *choices, const char *variant) {
  char name[PLIM_KERNEL_NAME_BYTES];
  for (int i = 0; i < choices->n; i++) {
    name_choice(choices, &choices->choice[i], name);
    if (strcmp(name, variant) == 0) return &choices->choice[i];
  }
  return NULL;
}
