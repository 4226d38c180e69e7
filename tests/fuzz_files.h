/* The formats that are read from files, not from a text: logs and data sets, compressed or not, the profile cache,
 * checkpoints. Each function writes the input to a file in `folder`, reads it, and aborts when something is not as it
 * must be; refusals are expected. An odd first byte wraps what follows as its writer would: compressed, or with a right
 * checksum. */
#ifndef PLIM_TESTS_FUZZ_FILES_H
#define PLIM_TESTS_FUZZ_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/context.h"

typedef void fuzz_file(plim_context *ctx, const char *folder, const uint8_t *data, size_t size);

fuzz_file fuzz_gzip, fuzz_idx, fuzz_cifar, fuzz_profile_cache, fuzz_checkpoint;

/* Write a checkpoint of the graph that fuzz_checkpoint reads into, as a seed. */
void fuzz_checkpoint_seed(plim_context *ctx, const char *path);

#endif
