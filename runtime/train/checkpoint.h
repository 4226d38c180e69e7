/* Saved training state: parameters, running statistics and momentum, with the arithmetic that made them.
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

#ifdef __cplusplus
}
#endif
#endif
