/* What a run holds outside its arenas. */
#ifndef PLIM_TOOLS_PLIMSOLL_RSS_H
#define PLIM_TOOLS_PLIMSOLL_RSS_H

#include <stdint.h>

#include "runtime/base/context.h"

typedef struct outside {
  int64_t total;         /* most resident bytes of the process, without the arenas */
  int64_t dataset;       /* images and labels */
  int64_t documents;     /* documents and planning: the most that the memory hook held, without the data set */
  int64_t rest;          /* program, libraries, thread stacks */
  int64_t gpu, gpu_free; /* on the GPU: beside the arenas, and left; gpu -1: there is none */
  int64_t gpu_growth;    /* beside the arenas since the second run of each plan */
  int32_t gpu_others;    /* 1: what other programs hold there is among `gpu`, since no one can tell it apart */
} outside;

/* Now, with `arena_bytes` of arenas that were all touched. */
outside outside_measure(const plim_context *ctx, int64_t arena_bytes, int64_t dataset_bytes);

enum { OUTSIDE_TEXT_BYTES = 200 };

/* "38.2 MiB (data set 30.0 MiB, documents and planning 1.2 MiB, program, libraries and thread stacks 7.0 MiB)" */
const char *outside_print(const outside *o, char *text);

#endif
