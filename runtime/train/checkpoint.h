/* Saved training state: parameters, running statistics and momentum, with the numerics that made them.
 *
 * The file: the 8 bytes "PLIMCKPT", the header's length in bytes (32 bits, little-endian), the header (JSON on one
 * line: version, model, batch, step, arithmetic, values), the values' bytes in the header's order, and the SHA-256 of
 * all that came before. docs/formats.md has the details. */
#ifndef PLIM_RUNTIME_TRAIN_CHECKPOINT_H
#define PLIM_RUNTIME_TRAIN_CHECKPOINT_H

#include "runtime/train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_CHECKPOINT_VERSION = 1 };

/* Write the state between two steps. The file is replaced whole or not at all. */
PLIM_MUST_USE plim_status plim_checkpoint_save(const plim_trainer *trainer, const char *path);

/* Read a state into a trainer of the same model (any batch, budget and plan) and continue at its step. PLIM_EDATA when
 * the file is damaged or of another model or version; then the trainer is untouched. */
PLIM_MUST_USE plim_status plim_checkpoint_load(plim_trainer *trainer, const char *path);

/* What a checkpoint says of the run that made it, its values aside. */
typedef struct plim_checkpoint_info {
  plim_context *ctx;
  int64_t step;
  int32_t batch;
  char numerics[PLIM_FINGERPRINT_BYTES]; /* hash of its numerics */
  /* Its numerics; n_ops 0: the file, of an earlier version, does not say. */
  char graph[PLIM_FINGERPRINT_BYTES];
  plim_machine machine;
  int32_t n_ops, n_labels;
  int32_t *label_of_op;                   /* [n_ops] */
  char (*label)[PLIM_VARIANT_NAME_BYTES]; /* [n_labels] */
  /* Its training; has_training 0: the file does not say. */
  int32_t has_training;
  float rate, momentum, weight_decay;
  uint64_t seed;
  int64_t total_steps;
} plim_checkpoint_info;

/* PLIM_EDATA when the file is damaged. */
PLIM_MUST_USE plim_status plim_checkpoint_read(plim_context *ctx, const char *path, plim_checkpoint_info **out);
void plim_checkpoint_info_free(plim_checkpoint_info *info); /* NULL is legal */

/* *yes: does the file begin as checkpoints do? Fails when it cannot be read. */
PLIM_MUST_USE plim_status plim_checkpoint_is(plim_context *ctx, const char *path, int *yes);

#ifdef __cplusplus
}
#endif
#endif
