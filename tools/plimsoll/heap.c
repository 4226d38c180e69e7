/* The memory hook of the programs: jemalloc's functions where they are linked, else malloc. */
#include "tools/plimsoll/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLIM_HAVE_JEMALLOC

#include <jemalloc/jemalloc.h>

void *heap_resize(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
  (void)user;
  if (new_bytes == 0) {
    if (ptr) sdallocx(ptr, old_bytes, 0);
    return NULL;
  }
  return ptr ? rallocx(ptr, new_bytes, 0) : mallocx(new_bytes, 0);
}

plim_status heap_arena_open(plim_context *ctx, heap_arena *arena) {
  size_t size = sizeof arena->index;
  *arena = (heap_arena){0};
  int error = mallctl("arenas.create", &arena->index, &size, NULL, 0);
  if (error != 0) return plim_fail(ctx, PLIM_ENOMEM, "jemalloc makes no arena: %s", strerror(error));
  return PLIM_OK;
}

void heap_arena_close(heap_arena *arena) {
  char name[64];
  if (arena->index == 0) return;
  (void)snprintf(name, sizeof name, "arena.%u.destroy", arena->index);
  (void)mallctl(name, NULL, NULL, NULL, 0);
  arena->index = 0;
}

static int buffer_flags(const heap_arena *arena) {
  return MALLOCX_ALIGN(PLIM_ALIGN) | MALLOCX_ARENA(arena->index) | MALLOCX_TCACHE_NONE;
}

void *heap_buffer_alloc(void *user, int64_t bytes) {
  heap_arena *arena = user;
  void *ptr = mallocx((size_t)bytes, buffer_flags(arena));
  if (!ptr) return NULL;
  arena->held += (int64_t)nallocx((size_t)bytes, buffer_flags(arena));
  if (arena->held > arena->peak) arena->peak = arena->held;
  return ptr;
}

void heap_buffer_free(void *user, void *ptr, int64_t bytes) {
  heap_arena *arena = user;
  sdallocx(ptr, (size_t)bytes, buffer_flags(arena));
  arena->held -= (int64_t)nallocx((size_t)bytes, buffer_flags(arena));
}

int64_t heap_arena_resident(const heap_arena *arena) {
  char name[64];
  uint64_t epoch = 1;
  size_t resident, size = sizeof epoch;
  if (mallctl("epoch", &epoch, &size, &epoch, sizeof epoch) != 0) return -1;
  (void)snprintf(name, sizeof name, "stats.arenas.%u.resident", arena->index);
  size = sizeof resident;
  return mallctl(name, &resident, &size, NULL, 0) == 0 ? (int64_t)resident : -1;
}

int64_t heap_thread_allocated(void) {
  uint64_t bytes = 0;
  size_t size = sizeof bytes;
  return mallctl("thread.allocated", &bytes, &size, NULL, 0) == 0 ? (int64_t)bytes : -1;
}

const char *heap_name(char *text, size_t size) {
  const char *version = "";
  size_t bytes = sizeof(void *);
  (void)mallctl("version", &version, &bytes, NULL, 0);
  (void)snprintf(text, size, "jemalloc %.*s", (int)strcspn(version, "-"), version);
  return text;
}

#else

void *heap_resize(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
  (void)user;
  (void)old_bytes;
  if (new_bytes > 0) return realloc(ptr, new_bytes);
  free(ptr);
  return NULL;
}

plim_status heap_arena_open(plim_context *ctx, heap_arena *arena) {
  *arena = (heap_arena){0};
  return plim_fail(ctx, PLIM_EUNSUPPORTED, "this program was built without jemalloc (PLIM_JEMALLOC=OFF)");
}

void heap_arena_close(heap_arena *arena) {
  (void)arena;
}

void *heap_buffer_alloc(void *user, int64_t bytes) {
  (void)user;
  return aligned_alloc(PLIM_ALIGN, (size_t)bytes);
}

void heap_buffer_free(void *user, void *ptr, int64_t bytes) {
  (void)user;
  (void)bytes;
  free(ptr);
}

int64_t heap_arena_resident(const heap_arena *arena) {
  (void)arena;
  return -1;
}

int64_t heap_thread_allocated(void) {
  return -1;
}

const char *heap_name(char *text, size_t size) {
  (void)snprintf(text, size, "malloc");
  return text;
}

#endif
