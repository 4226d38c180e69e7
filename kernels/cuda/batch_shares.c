/* The shares of the batch that gemm.c and gemm_flat.c have variants for. */
#include "kernels/cuda/batch_shares.h"

#include <string.h>

#include "kernels/launch.h"

static const int32_t shares[PLIM_BATCH_SHARES] = {1, 4, 16};

void plim_batch_choices_add(plim_batch_choices *choices, int64_t images, int64_t blas_bytes) {
  choices->choice[choices->n++] = (plim_batch_choice){images, blas_bytes};
}

void plim_batch_choices_add_shares(plim_batch_choices *choices, int64_t n, int64_t blas_bytes) {
  int64_t last = 0;
  for (int i = 0; i < PLIM_BATCH_SHARES; i++) {
    const int64_t images = k_parts(n, shares[i]);
    if (images != last) plim_batch_choices_add(choices, images, blas_bytes);
    last = images;
  }
}

int plim_batch_choices_list(const plim_batch_choices *choices, plim_kernel_info *info, int capacity) {
  for (int i = 0; i < choices->n && i < capacity; i++) {
    const plim_batch_choice *choice = &choices->choice[i];
    memset(&info[i], 0, sizeof info[i]);
    choices->name(choices->op, choice, info[i].name);
    memcpy(info[i].numerics_key, info[i].name, sizeof info[i].numerics_key);
    info[i].workspace_bytes = choices->workspace_bytes(choices->op, choice);
  }
  return choices->n;
}

const plim_batch_choice *plim_batch_choices_find(const plim_batch_choices *choices, const char *variant) {
  char name[32];
  for (int i = 0; i < choices->n; i++) {
    choices->name(choices->op, &choices->choice[i], name);
    if (strcmp(name, variant) == 0) return &choices->choice[i];
  }
  return NULL;
}
