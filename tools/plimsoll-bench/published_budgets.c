/* Sources: Moccasin, ICML 2023 (MILP and its own: 16 cores, 32 GB); FastSA, NeurIPS 2023 (one core of a Xeon 8380).
 * Times of other machines are orders of magnitude only. */
#include "tools/plimsoll-bench/published_budgets.h"

#include <stddef.h>

const char *const published_title[PUBLISHED_COUNT] = {"MILP", "Moccasin", "FastSA"};

#define NONE \
  { -1, 0, 0 }

static const struct {
  const char *name;
  int32_t ops;
  int64_t links, peak_bytes;
  int32_t percent;
  published_result result[PUBLISHED_COUNT];
} rows[] = {
    {"RL1", 100, 236, 46319, 90, {{0.8, 18.5, 0}, {0.8, 9.3, 0}, {0.0, 11.7, 0}}},
    {"RL1", 100, 236, 46319, 80, {{2.3, 22.7, 0}, {2.3, 9.5, 0}, {0.3, 11.5, 0}}},
    {"RL1", 100, 236, 46319, 70, {NONE, NONE, {2.2, 12.0, 1}}},
    {"RL3", 500, 2461, 284439, 90, {NONE, {0.7, 1803, 0}, {0.03, 21.0, 0}}},
    {"RL3", 500, 2461, 284439, 80, {NONE, {3.4, 1805, 0}, {2.3, 20.9, 0}}},
    {"RL3", 500, 2461, 284439, 70, {NONE, NONE, {4.8, 21.2, 1}}},
    {"CM1", 73, 149, 13484795520, 90, {{0.0, 6.3, 0}, {0.0, 3.1, 0}, {0.1, 9.4, 0}}},
    {"CM1", 73, 149, 13484795520, 80, {{0.1, 5.6, 0}, {0.1, 3.1, 0}, {0.1, 9.7, 0}}},
    {"CM1", 73, 149, 13484795520, 70, {NONE, NONE, {3.0, 9.7, 0}}},
    {"CM2", 353, 751, 38059356160, 90, {{0.1, 434, 0}, {0.2, 65.2, 0}, {0.2, 10.9, 0}}},
    {"CM2", 353, 751, 38059356160, 80, {{0.3, 485, 0}, {0.3, 69.3, 0}, {0.4, 10.9, 0}}},
    {"CM2", 353, 751, 38059356160, 70, {NONE, NONE, {0.8, 11.0, 0}}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

const published_result *published_find(int32_t ops, int64_t links, int64_t peak_bytes, int32_t percent,
                                       const char **name) {
  for (int i = 0; i < ROWS; i++) {
    if (rows[i].ops != ops || rows[i].links != links || rows[i].peak_bytes != peak_bytes) continue;
    *name = rows[i].name;
    if (rows[i].percent == percent) return rows[i].result;
  }
  return NULL;
}
