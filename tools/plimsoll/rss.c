/* Resident bytes from the kernel's count, split by what is known. */
#include "tools/plimsoll/rss.h"

#include <stdio.h>
#include <sys/resource.h>

#include "runtime/base/size.h"

outside outside_measure(const plim_context *ctx, int64_t arena_bytes, int64_t dataset_bytes) {
  struct rusage usage;
  (void)getrusage(RUSAGE_SELF, &usage);
  outside o = {.total = (int64_t)usage.ru_maxrss * 1024 - arena_bytes, .dataset = dataset_bytes, .gpu = -1};
  o.documents = plim_context_memory(ctx).bytes_peak - dataset_bytes;
  o.rest = o.total - o.dataset - o.documents;
  if (o.rest < 0) o.rest = 0;
  return o;
}

const char *outside_print(const outside *o, char *text) {
  char total[PLIM_SIZE_TEXT_BYTES], dataset[PLIM_SIZE_TEXT_BYTES], documents[PLIM_SIZE_TEXT_BYTES],
      rest[PLIM_SIZE_TEXT_BYTES];
  (void)snprintf(text, OUTSIDE_TEXT_BYTES, "%s (data set %s, planning %s, program and libraries %s)",
                 plim_size_print(o->total, total), plim_size_print(o->dataset, dataset),
                 plim_size_print(o->documents, documents), plim_size_print(o->rest, rest));
  return text;
}
