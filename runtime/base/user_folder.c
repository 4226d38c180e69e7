/* Finds folders of the user: by the variable first, then by HOME. */
#include "runtime/base/user_folder.h"

#include <stdio.h>
#include <stdlib.h>

void plim_user_folder(const char *variable, const char *below_home, const char *name, char *path, size_t bytes) {
  const char *named = getenv(variable), *home = getenv("HOME");
  int length = 0;
  if (named && named[0] == '/') {
    length = snprintf(path, bytes, "%s/%s", named, name);
  } else if (home && home[0] == '/') {
    length = snprintf(path, bytes, "%s/%s/%s", home, below_home, name);
  }
  if (length <= 0 || (size_t)length >= bytes) path[0] = '\0';
}

const char *plim_user_folder_ignored(const char *variable) {
  const char *const names[] = {variable, "HOME"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *text = getenv(names[i]);
    if (text && text[0] && text[0] != '/') return names[i];
    if (text && text[0]) return NULL;
  }
  return NULL;
}
