/* A folder of its own for a test's files, removed when the test's process ends. */
#ifndef PLIM_TESTS_SUPPORT_SCRATCH_H
#define PLIM_TESTS_SUPPORT_SCRATCH_H

#include <stddef.h>

/* Path of a file (not created) in the folder; valid until the sixteenth next call. */
const char *scratch_path(const char *name);

/* Write a file there; returns its path. */
const char *scratch_write(const char *name, const void *bytes, size_t count);

#endif
