/* libgomp's threads spin for milliseconds at the end of every parallel region. Beside other programs that turns time
 * slices into waiting (3 to 8 times slower, measured); sleeping at once costs a wake-up at each of hundreds of regions
 * a step (10 % slower on an idle machine). A few microseconds of spinning give the better of both. */
#include "tools/plimsoll/spin.h"

#include <stdlib.h>
#include <unistd.h>

void spin_shortly(char **argv) {
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
  if (setenv("GOMP_SPINCOUNT", "2000", 1) == 0) (void)execv("/proc/self/exe", argv);
}
