/* Documents that are read have their memory elsewhere (runtime/base/json_memory.h): what is noticed here is output. */
#include "tools/plimsoll/json_output.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/status.h"

static atomic_int refused;

static void *watched_malloc(size_t size) {
  void *block = malloc(size);
  if (!block) atomic_store(&refused, 1);
  return block;
}

void json_output_watch(void) {
  json_set_alloc_funcs(watched_malloc, free);
}

int json_output_end(int status) {
  if (status != 0 || !atomic_load(&refused)) return status;
  (void)fprintf(stderr, "plimsoll: out of memory while figures were written: what was printed is not complete\n");
  return plim_status_exit(PLIM_ENOMEM);
}
