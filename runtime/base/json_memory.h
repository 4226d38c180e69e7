/* The memory of one JSON document: chunks from the context's hook, counted, and released together.
 *
 * jansson's parser reports most refused allocations as errors of syntax, or leaks a block then. Its allocation
 * functions belong to the whole process. So they are replaced while any thread parses a document, and restored after
 * the last one. A thread that parses allocates from its document. For all other threads, such as those of a host
 * program that uses jansson itself, the replacements call the previous functions. If the host sets functions of its own
 * meanwhile, these stay. */
#ifndef PLIM_RUNTIME_BASE_JSON_MEMORY_H
#define PLIM_RUNTIME_BASE_JSON_MEMORY_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_json_memory {
  plim_context *ctx;
  struct plim_json_chunk *chunk; /* list: the chunk in use, then the full ones */
  int64_t chunk_bytes;           /* size of the next chunk */
  int refused;                   /* 1: the hook returned NULL; the context's sentence has the bytes */
} plim_json_memory;

/* Between begin and end, which one thread calls, jansson's allocations on that thread come from `memory`, which must
 * not move. The calls do not nest. A block that jansson frees stays allocated until plim_json_memory_free. chunk_bytes:
 * a guess of the bytes needed. */
void plim_json_memory_begin(plim_json_memory *memory, plim_context *ctx, int64_t chunk_bytes);
void plim_json_memory_end(plim_json_memory *memory);

/* Release all chunks. The values in them become invalid, and must not be released with jansson. */
void plim_json_memory_free(plim_json_memory *memory);

#ifdef __cplusplus
}
#endif
#endif
