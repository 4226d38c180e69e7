/* jemalloc as our executables use it: the memory hook of the context, and an arena of its own for buffers that are
 * allocated one by one (--addresses jemalloc). Without jemalloc the hook is malloc and there is no such arena. */
#ifndef PLIM_TOOLS_PLIMSOLL_HEAP_H
#define PLIM_TOOLS_PLIMSOLL_HEAP_H

#include "runtime/base/context.h"

/* plim_resize; user is not read. */
void *heap_resize(void *user, void *ptr, size_t old_bytes, size_t new_bytes);

typedef struct heap_arena {
  unsigned index;
  int64_t held, peak; /* bytes as jemalloc rounds them */
} heap_arena;

/* PLIM_EUNSUPPORTED when this program was built without jemalloc. */
PLIM_MUST_USE plim_status heap_arena_open(plim_context *ctx, heap_arena *arena);
void heap_arena_close(heap_arena *arena);

/* Fit buffer_alloc and buffer_free of plim_exec_options; user is a heap_arena. */
void *heap_buffer_alloc(void *user, int64_t bytes);
void heap_buffer_free(void *user, void *ptr, int64_t bytes);

/* Resident bytes of the arena now: what rounding and fragmentation cost shows here. -1: unknown. */
int64_t heap_arena_resident(const heap_arena *arena);

/* Bytes that this thread has ever allocated, by the hook, malloc or a library; -1: unknown. */
int64_t heap_thread_allocated(void);

/* "jemalloc 5.3.0", or "malloc". */
const char *heap_name(char *text, size_t size);

#endif
