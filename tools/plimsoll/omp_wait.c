/* libgomp's threads spin for milliseconds at the end of every parallel region. Beside other programs that turns time
 * slices into waiting (3 to 8 times slower, measured); sleeping at once costs a wake-up at each of hundreds of regions
 * a step (10 % slower on an idle machine). A few microseconds of spinning give the better of both.
 *
 * libgomp reads the environment when it is loaded, before main, and has no function for it: hence the restart. */
#include "tools/plimsoll/omp_wait.h"

#include <stdlib.h>
#include <unistd.h>

enum { PATH = 4096 };

/* By its own path rather than /proc/self/exe, which would become the name of the process. */
void spin_shortly(char **argv) {
  char path[PATH];
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0 || length == PATH - 1) return;
  path[length] = 0;
  if (setenv("GOMP_SPINCOUNT", "2000", 1) == 0) (void)execv(path, argv);
}
