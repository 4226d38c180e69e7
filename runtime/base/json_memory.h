/* The memory of one JSON document: chunks from the context's hook, counted, and given back together.
 *
 * jansson's parser reports most refused allocations as errors of syntax, or leaks a block then. Its allocation
 * functions are the process's. So they are replaced while a document is parsed in any thread, and put back after the
 * last one. A thread that parses allocates from its document. All others, those of a host program that uses jansson
 * itself among them, get what the functions before gave. Where a host sets functions of its own meanwhile, those serve.
 */
#ifndef PLIM_RUNTIME_BASE_JSON_MEMORY_H
#define PLIM_RUNTIME_BASE_JSON_MEMORY_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_json_memory {
  plim_context *ctx;
  struct plim_json_chunk *chunk; /* the one that is used, then those that are full */
  int64_t chunk_bytes;           /* of the next one */
  int refused;                   /* 1: the hook gave NULL; the sentence in the context says how much was asked for */
} plim_json_memory;

/* From begin to end, in one thread, jansson allocates from `memory`, which must not move. They do not nest. What is
 * freed there stays until all of it is. chunk_bytes: a guess at what is needed. */
void plim_json_memory_begin(plim_json_memory *memory, plim_context *ctx, int64_t chunk_bytes);
void plim_json_memory_end(plim_json_memory *memory);

/* All values that were made there end; none is given back to jansson. */
void plim_json_memory_free(plim_json_memory *memory);

#ifdef __cplusplus
}
#endif
#endif
