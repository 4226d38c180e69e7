/* Finds names, and names that are nearly the same: an edit distance by three rows of the usual table.
 * Source: Wagner and Fischer, JACM 1974; swaps of neighbours: Lowrance and Wagner, JACM 1975. */
#include "runtime/base/name.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_MAX_LENGTH = 63 };

int32_t plim_name_find(plim_name_at *at, const char *name) {
  for (int32_t row = 0; at(row); row++) {
    if (strcmp(at(row), name) == 0) return row;
  }
  return PLIM_NONE;
}

static int min_of(int a, int b) {
  return a < b ? a : b;
}

static int edit_distance(const char *a, const char *b) {
  int rows[3][NAMES_MAX_LENGTH + 1]; /* of the last three prefixes of a */
  int n = min_of((int)strlen(a), NAMES_MAX_LENGTH);
  int m = min_of((int)strlen(b), NAMES_MAX_LENGTH);
  for (int j = 0; j <= m; j++) rows[0][j] = j;
  for (int i = 1; i <= n; i++) {
    const int *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
    int *row = rows[i % 3];
    row[0] = i;
    for (int j = 1; j <= m; j++) {
      row[j] = min_of(above[j - 1] + (a[i - 1] != b[j - 1]), 1 + min_of(above[j], row[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = min_of(row[j], second[j - 2] + 1);
    }
  }
  return rows[n % 3][m];
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

const char *plim_name_near(plim_name_at *at, const char *name) {
  const char *nearest = plim_name_nearest(at, name);
  int most = min_of((int)strlen(name) + 2, NAMES_MAX_LENGTH) / 3;
  return *nearest && *name && edit_distance(name, nearest) <= most ? nearest : NULL;
}

const char *plim_name_advice(plim_name_at *at, const char *name, char text[PLIM_NAME_ADVICE_BYTES]) {
  const char *near = plim_name_near(at, name);
  size_t used = 0;
  text[0] = 0;
  if (near) (void)snprintf(text, PLIM_NAME_ADVICE_BYTES, "; did you mean \"%s\"?", near);
  for (int32_t row = 0; at(row) && !near; row++) {
    const char *before = row == 0 ? "; there are" : at(row + 1) ? "," : " and";
    used += (size_t)snprintf(text + used, PLIM_NAME_ADVICE_BYTES - used, "%s \"%s\"", before, at(row));
    if (used < PLIM_NAME_ADVICE_BYTES) continue;
    text[0] = 0; /* too many to be of help */
    break;
  }
  return text;
}
