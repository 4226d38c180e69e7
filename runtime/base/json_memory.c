/* Gives jansson the memory of one document. Blocks follow one another in a chunk. All values of a document are released
 * together, so blocks need no header. */
#include "runtime/base/json_memory.h"

#include <assert.h>
#include <jansson.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { CHUNK_BYTES_MIN = 1 << 10, CHUNK_BYTES_MAX = 1 << 20 };

typedef struct plim_json_chunk {
  alignas(max_align_t) struct plim_json_chunk *next;
  int64_t bytes, used; /* both with this head */
} chunk;

static _Thread_local plim_json_memory *current; /* NULL: this thread parses nothing */

/* The previous functions. They stay set after the last document, since another thread may be about to call ours. */
static _Atomic(json_malloc_t) malloc_before = malloc;
static _Atomic(json_free_t) free_before = free;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int parsing; /* number of threads that parse; under the lock */

static chunk *add_chunk(plim_json_memory *memory, int64_t block_bytes) {
  chunk *fresh = NULL;
  int64_t least = plim_add_checked(block_bytes, (int64_t)sizeof *fresh);
  int64_t bytes = least < 0 || least > memory->chunk_bytes ? least : memory->chunk_bytes;
  if (plim_allocate(memory->ctx, bytes, 1, &fresh) != PLIM_OK) {
    memory->refused = 1;
    return NULL;
  }
  *fresh = (chunk){.next = memory->chunk, .bytes = bytes, .used = (int64_t)sizeof *fresh};
  memory->chunk = fresh;
  return fresh;
}

static void *allocate(plim_json_memory *memory, size_t size) {
  int64_t bytes = size < INT64_MAX / 2 ? plim_align_up((int64_t)size, (int64_t)alignof(max_align_t)) : -1;
  chunk *c = memory->chunk;
  if (bytes < 0 || !c || bytes > c->bytes - c->used) c = add_chunk(memory, bytes);
  if (!c) return NULL;
  char *block = (char *)c + c->used;
  c->used += bytes;
  return block;
}

static void *document_malloc(size_t size) {
  return current ? allocate(current, size) : atomic_load(&malloc_before)(size);
}

static void document_free(void *pointer) {
  if (!current) atomic_load (&free_before)(pointer);
}

void plim_json_memory_begin(plim_json_memory *memory, plim_context *ctx, int64_t chunk_bytes) {
  json_malloc_t malloc_now;
  json_free_t free_now;
  assert(!current);
  if (chunk_bytes < CHUNK_BYTES_MIN) chunk_bytes = CHUNK_BYTES_MIN;
  if (chunk_bytes > CHUNK_BYTES_MAX) chunk_bytes = CHUNK_BYTES_MAX;
  *memory = (plim_json_memory){.ctx = ctx, .chunk_bytes = chunk_bytes};
  (void)pthread_mutex_lock(&lock);
  if (parsing++ == 0) {
    json_get_alloc_funcs(&malloc_now, &free_now);
    if (malloc_now != document_malloc) {
      atomic_store(&malloc_before, malloc_now);
      atomic_store(&free_before, free_now);
      json_set_alloc_funcs(document_malloc, document_free);
    }
  }
  (void)pthread_mutex_unlock(&lock);
  current = memory;
}

void plim_json_memory_end(plim_json_memory *memory) {
  json_malloc_t malloc_now;
  json_free_t free_now;
  assert(current == memory);
  if (current == memory) current = NULL;
  (void)pthread_mutex_lock(&lock);
  if (--parsing == 0) {
    json_get_alloc_funcs(&malloc_now, &free_now);
    if (malloc_now == document_malloc) json_set_alloc_funcs(atomic_load(&malloc_before), atomic_load(&free_before));
  }
  (void)pthread_mutex_unlock(&lock);
}

void plim_json_memory_free(plim_json_memory *memory) {
  while (memory->chunk) {
    chunk *full = memory->chunk;
    memory->chunk = full->next;
    plim_release(memory->ctx, full, full->bytes, 1);
  }
}
