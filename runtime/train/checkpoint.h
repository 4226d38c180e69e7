/* Saved training state: parameters, running statistics and momentum, with the numerics that made them.
 *
 * The file: the 8 bytes "PLIMCKPT", the header's length in bytes (32 bits, little-endian), the header (JSON on one
 * line: version, model, batch, step, arithmetic, numerics, training, values), the values' bytes in the header's order,
 * and the SHA-256 of everything before it. docs/formats.md has the details.
 *
 * Functions with a trainer belong to the trainer's thread, between two steps. The others belong to the thread of the
 * context. Equal states give equal files. Reading takes memory for the whole file, which may have 2^46 bytes. */
#ifndef PLIM_RUNTIME_TRAIN_CHECKPOINT_H
#define PLIM_RUNTIME_TRAIN_CHECKPOINT_H

#include "runtime/train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_CHECKPOINT_VERSION = 1 };

/* Write the state of a trainer. The file is replaced whole, or stays as it was.
 * PLIM_ENOFILE, PLIM_EIO: the file cannot be written. PLIM_EDEVICE, PLIM_EIO (a page file): a value cannot be read.
 * PLIM_ECANCEL: cancelled while the reader of a pipe was waited for. PLIM_ENOMEM. O(bytes of the state and of the
 * header), and memory for both the header and the largest value. */
PLIM_MUST_USE plim_status plim_checkpoint_save(const plim_trainer *trainer, const char *path);

/* Read a state into a trainer of the same model, and continue at its step. Batch, layout, budget and plan may differ.
 * PLIM_EDATA: the file is damaged, or of another model or version. PLIM_ENOFILE, PLIM_EIO: it cannot be read.
 * PLIM_ECANCEL: cancelled while the writer of a pipe was waited for. PLIM_ENOMEM. After these the trainer is untouched.
 * PLIM_EDEVICE, PLIM_EIO (a page file): a value cannot be written; the trainer may then hold a part of the values, and
 * the sentence names the device's failure or the page file. O(file). */
PLIM_MUST_USE plim_status plim_checkpoint_load(plim_trainer *trainer, const char *path);

/* The header of a checkpoint: what it says about the run that made it. */
typedef struct plim_checkpoint_info {
  plim_context *ctx;
  int64_t step;                          /* training steps that are done */
  int32_t batch;                         /* images a step; PLIM_UNKNOWN: the file does not say */
  char numerics[PLIM_FINGERPRINT_BYTES]; /* hash of its numerics; "": the file does not say */
  /* Numerics of the run; n_ops 0: the file does not say, because an earlier version wrote it. */
  char graph[PLIM_FINGERPRINT_BYTES]; /* fingerprint of the training step's graph */
  plim_machine machine;
  int32_t n_ops, n_keys;
  int32_t *key_of_op;                            /* [n_ops] index into `numerics_key` */
  char (*numerics_key)[PLIM_VARIANT_NAME_BYTES]; /* [n_keys] the different numerics keys */
  /* Options of the training; has_training 0: the file does not say. */
  int32_t has_training;
  float rate, momentum, weight_decay; /* of its plim_rate_schedule */
  uint64_t seed;
  int64_t total_steps; /* of its plim_rate_schedule */
} plim_checkpoint_info;

/* Read the header of a checkpoint.
 *   out  [1]  out  free with plim_checkpoint_info_free
 * PLIM_EDATA: the file is damaged or of another version. PLIM_ENOFILE, PLIM_EIO, PLIM_ECANCEL, PLIM_ENOMEM. O(file),
 * since the checksum is compared. */
PLIM_MUST_USE plim_status plim_checkpoint_read(plim_context *ctx, const char *path, plim_checkpoint_info **out);
void plim_checkpoint_info_free(plim_checkpoint_info *info); /* NULL is legal */

/* Get the numerics keys with which a run gives the bits of a checkpoint's run (PLIM_NUMERICS_GIVEN).
 *   graph, here   in                  of the run: its training step, and its device's machine
 *   numerics_key  [graph->n_ops] out  borrowed from `info`; may be NULL; untouched when there are none
 * Returns NULL, or why the checkpoint has no keys for this run: the static end of a sentence about it. O(ops). Reads
 * only its arguments. */
const char *plim_checkpoint_numerics_keys(const plim_checkpoint_info *info, const plim_graph *graph,
                                          const plim_machine *here, const char **numerics_key);

/* Number of ops that the plan runs with another numerics key than the checkpoint's run. plim_checkpoint_numerics_keys
 * must have keys for the plan's graph and machine. O(variants). */
int32_t plim_checkpoint_numerics_differ(const plim_checkpoint_info *info, const plim_plan *plan);

/* Does the file begin with the 8 bytes of a checkpoint? *yes out: 1 or 0. PLIM_ENOFILE, PLIM_EIO. PLIM_EDATA: the path
 * is a pipe or a device, whose reader might wait for ever. O(1). */
PLIM_MUST_USE plim_status plim_checkpoint_is(plim_context *ctx, const char *path, int *yes);

#ifdef __cplusplus
}
#endif
#endif
