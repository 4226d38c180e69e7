/* The caller's side of the library: memory hook, the sentence that explains the last failure, progress and
 * cancellation.
 *
 * A context belongs to one thread at a time, except where a function says otherwise. So does everything made with it
 * that calls change: builders, executors, devices, trainers. Documents (graph, profile, plan, trace) are immutable, and
 * any number of threads may read them. A context must outlive all that was made with it. */
#ifndef PLIM_RUNTIME_BASE_CONTEXT_H
#define PLIM_RUNTIME_BASE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/size.h"
#include "runtime/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_context plim_context;

/* The memory hook: resize `ptr` (NULL: allocate) from old_bytes to new_bytes (0: free, return NULL). NULL on failure;
 * `ptr` is kept then. Memory is aligned as malloc's. Must be safe to call from several threads where the context is
 * forked, or an option asks for more than one thread. */
typedef void *plim_resize(void *user, void *ptr, size_t old_bytes, size_t new_bytes);

/* The progress that long work reports. Unknown figures are PLIM_UNKNOWN. */
typedef struct plim_progress {
  const char *stage;   /* "profile", "search", ... */
  int64_t done, total; /* work units; total or PLIM_UNKNOWN */
  int64_t elapsed_ns;
  double best_percent;  /* overhead of the best plan */
  double bound_percent; /* proven lower bound on it */
} plim_progress;
/* Called on the thread of the context, during a call of the library; `progress` is borrowed for the call. It may cancel
 * the context, and must not make another call with it. */
typedef void plim_on_progress(void *user, const plim_progress *progress);

/* Make a context. `resize` NULL: malloc, realloc and free. PLIM_ENOMEM: the hook returned NULL; `out` is untouched. */
PLIM_MUST_USE plim_status plim_context_new(plim_resize *resize, void *user, plim_context **out);
void plim_context_free(plim_context *ctx); /* NULL is legal */

/* Make a context for another thread that works for the calling one, which owns the parent. The fork shares the parent's
 * memory hook, counters and cancellation, and copies its deadline. It has its own sentence and reports no progress.
 * Free the fork before the parent. PLIM_ENOMEM: the sentence is in the parent. */
PLIM_MUST_USE plim_status plim_context_fork(plim_context *parent, plim_context **out);

/* Set the progress callback. NULL: none, as after plim_context_new. */
void plim_context_set_progress(plim_context *ctx, plim_on_progress *on_progress, void *user);

/* Cancel: ask the work of a context and of all its forks to stop soon. Later calls stop too, until
 * plim_context_resume. All three functions are safe from a signal handler and from any thread. */
void plim_context_cancel(plim_context *ctx);
void plim_context_resume(plim_context *ctx);
int plim_context_cancelled(const plim_context *ctx);

enum { PLIM_ERROR_BYTES = 2048 };

/* One sentence about the last failure, with numbers; "" when there was none. At most PLIM_ERROR_BYTES with the NUL.
 * Borrowed; valid until the next failure. Only the status of a call says whether it failed. */
const char *plim_context_error(const plim_context *ctx);

/* Counters of the memory hook, over the context and its forks: calls that allocated or grew, bytes held now, most bytes
 * held. Safe from any thread. */
typedef struct plim_memory_use {
  int64_t allocations, bytes, bytes_peak;
} plim_memory_use;
plim_memory_use plim_context_memory(const plim_context *ctx);

/* ---- for the library's own layers ---- */

/* Record a sentence and return `status`: return plim_fail(ctx, PLIM_EDATA, "...", ...). The arguments may be the
 * sentence before: plim_fail(ctx, status, "%s: %s", what, plim_context_error(ctx)). */
plim_status plim_fail(plim_context *ctx, plim_status status, const char *format, ...) PLIM_PRINTF(3, 4);

/* Check that the caller's option struct has the size that this library knows. PLIM_EUSAGE: it has another size, because
 * it was not filled or belongs to another version. The sentence names the function that fills it. */
PLIM_MUST_USE plim_status plim_check_options(plim_context *ctx, const char *type, size_t struct_bytes, size_t known);

/* Call the progress callback, if there is one. */
void plim_context_report(plim_context *ctx, const plim_progress *progress);

/* Allocate [count] elements of `size` bytes each, zeroed; a count of 0 gives a valid pointer. PLIM_ENOMEM,
 * PLIM_EOVERFLOW with a sentence. Release them with plim_release and the same count and size; NULL is legal. */
PLIM_MUST_USE plim_status plim_allocate(plim_context *ctx, int64_t count, size_t size, void *out /* T** */);
void plim_release(plim_context *ctx, void *ptr, int64_t count, size_t size);
/* Grow or shrink an array to `new_count` elements. New elements are zeroed. On failure *ptr is kept. */
PLIM_MUST_USE plim_status plim_resize_array(plim_context *ctx, void *ptr /* T** */, int64_t old_count,
                                            int64_t new_count, size_t size);

/* A memory hook that calls and counts the context's hook, with the context as `user`. It is for code that takes a hook
 * and no context. As thread-safe as the context's hook. */
plim_resize plim_context_resize;

/* Monotonic clock, nanoseconds. */
int64_t plim_now_ns(void);

/* The two ways to pass a failure on. Each evaluates `call`, a plim_status, once.
 *
 * PLIM_TRY returns it from the function: nothing has been made that must be freed. */
#define PLIM_TRY(call)                                      \
  do {                                                      \
    plim_status plim_try_status = (call);                   \
    if (plim_try_status != PLIM_OK) return plim_try_status; \
  } while (0)

/* PLIM_TRY_OR_DONE uses two things of the function that the call does not show: it assigns to a variable
 * `plim_status status`, and after a failure it jumps to a label `done:`. The code after the label frees what was made,
 * on success too, and returns `status`. A function that hands over all that it made may return PLIM_OK before the
 * label; the code after it then runs only after a failure. */
#define PLIM_TRY_OR_DONE(call)        \
  do {                                \
    status = (call);                  \
    if (status != PLIM_OK) goto done; \
  } while (0)

#ifdef __cplusplus
}
#endif
#endif
