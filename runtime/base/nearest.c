/* Edit distance by one row of the usual table. Source: Wagner and Fischer, JACM 1974. */
#include "runtime/base/nearest.h"

#include <string.h>

enum { NAMES_MAX_LENGTH = 63 };

int32_t plim_name_find(plim_name_at *at, const char *name) {
  for (int32_t row = 0; at(row); row++) {
    if (strcmp(at(row), name) == 0) return row;
  }
  return -1;
}

static int min_of(int a, int b) {
  return a < b ? a : b;
}

static int edit_distance(const char *a, const char *b) {
  int row[NAMES_MAX_LENGTH + 1];
  int n = min_of((int)strlen(a), NAMES_MAX_LENGTH);
  int m = min_of((int)strlen(b), NAMES_MAX_LENGTH);
  for (int j = 0; j <= m; j++) row[j] = j;
  for (int i = 1; i <= n; i++) {
    int diagonal = row[0]; /* distance of a[0, i - 1) and b[0, j - 1) */
    row[0] = i;
    for (int j = 1; j <= m; j++) {
      int replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = min_of(replaced, 1 + min_of(row[j], row[j - 1]));
    }
  }
  return row[m];
}

const char *plim_name_nearest(plim_name_at *at, const char *name) {
  const char *best = "";
  int best_distance = 0;
  for (int32_t row = 0; at(row); row++) {
    int distance = edit_distance(name, at(row));
    if (row > 0 && distance >= best_distance) continue;
    best = at(row);
    best_distance = distance;
  }
  return best;
}
