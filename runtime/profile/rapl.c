/* Reads the energy counters of processor packages. A zone is a folder "intel-rapl:K" with one number a file: name,
 * energy_uj, max_energy_range_uj. The driver has that name on AMD's processors too. Zones below a package, as those of
 * its cores, are part of it and are not read. */
#include "runtime/profile/rapl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/size.h"

enum { LINE_BYTES = 64 };

/* The first line of a file, without its end. 0: it cannot be read. */
static int read_line(const char *path, char line[LINE_BYTES]) {
  FILE *f = fopen(path, "r");
  if (!f) return 0;
  const int found = fgets(line, LINE_BYTES, f) != NULL;
  (void)fclose(f);
  if (found) line[strcspn(line, "\n")] = 0;
  return found;
}

/* The number that a file holds; PLIM_UNKNOWN: it holds none. */
static int64_t read_number(const char *path) {
  char line[LINE_BYTES], *end;
  if (!read_line(path, line) || line[0] < '0' || line[0] > '9') return PLIM_UNKNOWN;
  errno = 0;
  const long long number = strtoll(line, &end, 10);
  return errno == 0 && *end == 0 ? number : PLIM_UNKNOWN;
}

static int join(char path[PLIM_RAPL_PATH_BYTES], const char *folder, int zone, const char *file) {
  const int n = snprintf(path, PLIM_RAPL_PATH_BYTES, "%s/intel-rapl:%d/%s", folder, zone, file);
  return n > 0 && n < PLIM_RAPL_PATH_BYTES;
}

static void add_zone(plim_rapl *r, const char *folder, int zone) {
  static const char package[] = "package";
  char path[PLIM_RAPL_PATH_BYTES], name[LINE_BYTES];
  if (!join(path, folder, zone, "name") || !read_line(path, name)) return;
  if (strncmp(name, package, sizeof package - 1) != 0) return;
  if (!join(path, folder, zone, "max_energy_range_uj")) return;
  r->range_uj[r->n] = read_number(path);
  if (!join(r->path[r->n], folder, zone, "energy_uj")) return;
  r->last_uj[r->n] = read_number(r->path[r->n]);
  if (r->range_uj[r->n] > 0 && r->last_uj[r->n] >= 0) r->n++;
}

void plim_rapl_open(const char *folder, plim_rapl *out) {
  const char *given = getenv("PLIM_POWERCAP");
  if (!folder) folder = given ? given : "/sys/class/powercap";
  *out = (plim_rapl){.n = 0};
  for (int zone = 0; zone < 2 * PLIM_RAPL_PACKAGES && out->n < PLIM_RAPL_PACKAGES; zone++) add_zone(out, folder, zone);
}

void plim_rapl_start(plim_rapl *rapl) {
  const double before = rapl->joule;
  plim_rapl_add(rapl);
  rapl->joule = before;
}

void plim_rapl_add(plim_rapl *rapl) {
  for (int32_t i = 0; i < rapl->n; i++) {
    const int64_t now_uj = read_number(rapl->path[i]);
    if (now_uj < 0 || now_uj > rapl->range_uj[i]) {
      rapl->n = 0;
      return;
    }
    /* the counter has passed the end of its range where it shows less than before */
    const int64_t passed_uj = now_uj < rapl->last_uj[i] ? rapl->range_uj[i] : 0;
    rapl->joule += (double)(now_uj - rapl->last_uj[i] + passed_uj) * 1e-6;
    rapl->last_uj[i] = now_uj;
  }
}
