/* Creates temporary files beside the file that they will replace, and removes those that a killed writer left. */
#ifndef PLIM_RUNTIME_BASE_TEMPORARY_H
#define PLIM_RUNTIME_BASE_TEMPORARY_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_TEMPORARY_SUFFIX_BYTES = 48 };

/* Create TARGET.tmp-HOST-PID-NUMBER with those permissions, open for writing and locked (flock) for as long as it is
 * open.
 *   path [bytes]  out  its name; bytes >= strlen(target) + PLIM_TEMPORARY_SUFFIX_BYTES
 * Returns its descriptor, or -1 and errno. */
int plim_temporary_open(const char *target, mode_t mode, char *path, size_t bytes);

/* Does the name end as those of temporaries do? *is_ours out: its writer is of this host; untouched when it does not
 * end so. Safe from any thread. */
int plim_temporary_is(const char *name, int *is_ours);

/* Remove the temporaries in the folder of `target` whose writers are dead. A file is removed when its name has that
 * form, it belongs to this user, and its lock is free. The lock is free when the writer was killed, also by SIGKILL.
 * Locks may not reach other machines (NFS), so a file of another host must also be a day old. If the folder does not
 * support locks, nothing is removed. Reads at most 10,000 names. */
void plim_temporary_sweep(const char *target);

#ifdef __cplusplus
}
#endif
#endif
