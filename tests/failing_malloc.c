/* Preloaded into a program under test (LD_PRELOAD): malloc, calloc and realloc number PLIM_FAIL_AT, counted from main
 * on, gives NULL. PLIM_COUNT_TO names a file that gets the number of all at the end. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *(*real_malloc)(size_t size);
static void *(*real_calloc)(size_t n, size_t size);
static void *(*real_realloc)(void *pointer, size_t size);
static atomic_long count;
static long fail_at;
static atomic_int counting;

static void find(const char *name, void *function) {
  void *address = dlsym(RTLD_NEXT, name);
  memcpy(function, &address, sizeof address);
}

static int fails(void) {
  if (!atomic_load(&counting) || atomic_fetch_add(&count, 1) + 1 != fail_at) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) {
  if (!real_malloc) find("malloc", &real_malloc);
  return fails() ? NULL : real_malloc(size);
}

/* The loader asks for memory while calloc is looked up; it gets some of this. */
void *calloc(size_t nmemb, size_t size) {
  static _Alignas(max_align_t) char early[4096];
  static size_t used;
  static int looking;
  if (!real_calloc && looking) {
    void *block = early + used;
    used += (nmemb * size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    return used <= sizeof early ? block : NULL;
  }
  looking = 1;
  if (!real_calloc) find("calloc", &real_calloc);
  return fails() ? NULL : real_calloc(nmemb, size);
}

void *realloc(void *ptr, size_t size) {
  if (!real_realloc) find("realloc", &real_realloc);
  return size > 0 && fails() ? NULL : real_realloc(ptr, size);
}

/* What C++ allocates by, counted as malloc: jemalloc has an operator new of its own, which the loader prefers to that
 * of libstdc++ where jemalloc stands before it, and which calls no malloc. Where memory is refused it calls the handler
 * that was set, as C++ has it; without one an exception would leave a C interface, which ends the program. */
void *operator_new(size_t size) __asm__("_Znwm");
void *operator_new(size_t size) {
  typedef void handler(void);
  void *block;
  while (!(block = malloc(size > 0 ? size : 1))) {
    handler *(*get_handler)(void) = NULL, *called = NULL;
    find("_ZSt15get_new_handlerv", &get_handler);
    if (get_handler) called = get_handler();
    if (!called) abort();
    called();
  }
  return block;
}

/* Those of jemalloc, by which a context of the program allocates; without jemalloc no one calls them. */
void *mallocx(size_t size, int flags);
void *mallocx(size_t size, int flags) {
  static void *(*real)(size_t, int);
  if (!real) find("mallocx", &real);
  return fails() ? NULL : real(size, flags);
}

void *rallocx(void *pointer, size_t size, int flags);
void *rallocx(void *pointer, size_t size, int flags) {
  static void *(*real)(void *, size_t, int);
  if (!real) find("rallocx", &real);
  return fails() ? NULL : real(pointer, size, flags);
}

static void finish(void) {
  const char *name = getenv("PLIM_COUNT_TO");
  atomic_store(&counting, 0);
  FILE *file = name ? fopen(name, "w") : NULL;
  if (!file) return;
  (void)fprintf(file, "%ld\n", atomic_load(&count));
  (void)fclose(file);
}

typedef int program(int argc, char **argv, char **environment);
static program *real_main;

static int counted_main(int argc, char **argv, char **environment) {
  const char *number = getenv("PLIM_FAIL_AT");
  fail_at = number ? strtol(number, NULL, 10) : 0;
  (void)atexit(finish);
  atomic_store(&counting, 1);
  return real_main(argc, argv, environment);
}

/* glibc calls main through this: constructors of libraries, which are not the program's, have run when it is called. */
int __libc_start_main(program *its_main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end);
int __libc_start_main(program *its_main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end) {
  int (*real)(program *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *) = NULL;
  find("__libc_start_main", &real);
  real_main = its_main;
  return real(counted_main, argc, argv, init, fini, loader_fini, stack_end);
}
