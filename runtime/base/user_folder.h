/* Folders of the user, as the XDG base directory specification names them. Safe on any thread while none changes the
 * environment. */
#ifndef PLIM_RUNTIME_BASE_USER_FOLDER_H
#define PLIM_RUNTIME_BASE_USER_FOLDER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* $VARIABLE/NAME, or $HOME/BELOW_HOME/NAME when the variable does not hold an absolute path. A relative path is invalid
 * there by the specification: it would mean another folder in each working directory.
 *   path [bytes]  out  "" when HOME holds no absolute path either, or when the path is too long */
void plim_user_folder(const char *variable, const char *below_home, const char *name, char *path, size_t bytes);

/* The name of the variable, `variable` or else HOME, whose relative path plim_user_folder ignores; NULL: it ignores
 * none. */
const char *plim_user_folder_ignored(const char *variable);

#ifdef __cplusplus
}
#endif
#endif
