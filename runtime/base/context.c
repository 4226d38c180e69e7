/* Memory hook with counters, the last failure's sentence, progress, cancellation. */
#include "runtime/base/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/context_internal.h"

static void *resize_malloc(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
  (void)user;
  (void)old_bytes;
  if (new_bytes == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, new_bytes);
}

plim_status plim_context_new(plim_resize *resize, void *user, plim_context **out) {
  if (!resize) resize = resize_malloc;
  plim_context *ctx = resize(user, NULL, 0, sizeof *ctx);
  if (!ctx) return PLIM_ENOMEM;
  memset(ctx, 0, sizeof *ctx);
  ctx->resize = resize;
  ctx->user = user;
  atomic_init(&ctx->effort.deadline_ns, PLIM_TIME_UNLIMITED);
  *out = ctx;
  return PLIM_OK;
}

void plim_context_free(plim_context *ctx) {
  if (!ctx) return;
  if (ctx->parent) {
    plim_release(ctx->parent, ctx, 1, sizeof *ctx);
  } else {
    (void)ctx->resize(ctx->user, ctx, sizeof *ctx, 0);
  }
}

static plim_context *root(plim_context *ctx) {
  while (ctx->parent) ctx = ctx->parent;
  return ctx;
}

void plim_context_set_progress(plim_context *ctx, plim_on_progress *on_progress, void *user) {
  ctx->on_progress = on_progress;
  ctx->progress_user = user;
}

void plim_context_report(plim_context *ctx, const plim_progress *progress) {
  if (ctx->on_progress) ctx->on_progress(ctx->progress_user, progress);
}

void plim_context_cancel(plim_context *ctx) {
  atomic_store(&root(ctx)->cancelled, 1);
}
void plim_context_resume(plim_context *ctx) {
  atomic_store(&root(ctx)->cancelled, 0);
}
int plim_context_cancelled(const plim_context *ctx) {
  while (ctx->parent) ctx = ctx->parent;
  return atomic_load(&ctx->cancelled);
}

/* The text that failures of one context on this thread write their sentence to, instead of the context's own. */
static _Thread_local struct {
  const plim_context *ctx;
  char *text;
} redirected;

void plim_context_fail_into(const plim_context *ctx, char *text) {
  redirected.ctx = ctx;
  redirected.text = text;
}

const char *plim_context_error(const plim_context *ctx) {
  return redirected.ctx == ctx ? redirected.text : ctx->error;
}

plim_status plim_fail(plim_context *ctx, plim_status status, const char *format, ...) {
  char text[sizeof ctx->error]; /* the arguments may point into the old sentence */
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  memcpy(redirected.ctx == ctx ? redirected.text : ctx->error, text, sizeof text);
  return status;
}

plim_memory_use plim_context_memory(const plim_context *ctx) {
  while (ctx->parent) ctx = ctx->parent;
  return (plim_memory_use){atomic_load(&ctx->allocations), atomic_load(&ctx->bytes), atomic_load(&ctx->bytes_peak)};
}

/* Call the hook once, and count the call. */
static void *hook(plim_context *ctx, void *ptr, size_t old_bytes, size_t new_bytes) {
  ctx = root(ctx);
  void *result = ctx->resize(ctx->user, ptr, old_bytes, new_bytes);
  if (!result && new_bytes > 0) return NULL;
  if (new_bytes > old_bytes) atomic_fetch_add(&ctx->allocations, 1);
  long long change = (long long)new_bytes - (long long)old_bytes;
  long long now = atomic_fetch_add(&ctx->bytes, change) + change;
  long long peak = atomic_load(&ctx->bytes_peak);
  while (now > peak && !atomic_compare_exchange_weak(&ctx->bytes_peak, &peak, now)) {
  }
  return result;
}

void *plim_context_resize(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
  return hook(user, ptr, old_bytes, new_bytes);
}

/* Bytes of an array; an empty one takes one byte, so that its pointer is valid. -1 on overflow. */
static int64_t array_bytes(int64_t count, size_t size) {
  int64_t bytes = plim_mul_checked(count, (int64_t)size);
  return bytes == 0 ? 1 : bytes;
}

plim_status plim_allocate(plim_context *ctx, int64_t count, size_t size, void *out) {
  int64_t bytes = array_bytes(count, size);
  if (bytes < 0) {
    return plim_fail(ctx, PLIM_EOVERFLOW, "%lld elements of %zu bytes overflow a size", (long long)count, size);
  }
  void *ptr = hook(ctx, NULL, 0, (size_t)bytes);
  if (!ptr) return plim_fail(ctx, PLIM_ENOMEM, "out of memory: %lld bytes were refused", (long long)bytes);
  memset(ptr, 0, (size_t)bytes);
  memcpy(out, &ptr, sizeof ptr);
  return PLIM_OK;
}

plim_status plim_context_fork(plim_context *parent, plim_context **out) {
  plim_context *ctx = hook(parent, NULL, 0, sizeof *ctx);
  if (!ctx) return plim_fail(parent, PLIM_ENOMEM, "out of memory: a context of %zu bytes was refused", sizeof *ctx);
  memset(ctx, 0, sizeof *ctx);
  ctx->parent = parent;
  ctx->effort.clock = parent->effort.clock;
  ctx->effort.clock_user = parent->effort.clock_user;
  atomic_init(&ctx->effort.deadline_ns, atomic_load(&parent->effort.deadline_ns));
  *out = ctx;
  return PLIM_OK;
}

void plim_release(plim_context *ctx, void *ptr, int64_t count, size_t size) {
  if (ptr) (void)hook(ctx, ptr, (size_t)array_bytes(count, size), 0);
}

plim_status plim_resize_array(plim_context *ctx, void *ptr, int64_t old_count, int64_t new_count, size_t size) {
  void *old;
  memcpy(&old, ptr, sizeof old);
  int64_t old_bytes = old ? array_bytes(old_count, size) : 0;
  int64_t new_bytes = array_bytes(new_count, size);
  if (new_bytes < 0) {
    return plim_fail(ctx, PLIM_EOVERFLOW, "%lld elements of %zu bytes overflow a size", (long long)new_count, size);
  }
  char *fresh = hook(ctx, old, (size_t)old_bytes, (size_t)new_bytes);
  if (!fresh) return plim_fail(ctx, PLIM_ENOMEM, "out of memory: %lld bytes were refused", (long long)new_bytes);
  if (new_bytes > old_bytes) memset(fresh + old_bytes, 0, (size_t)(new_bytes - old_bytes));
  memcpy(ptr, &fresh, sizeof fresh);
  return PLIM_OK;
}

int64_t plim_now_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec;
}

plim_status plim_check_options(plim_context *ctx, const char *type, size_t struct_bytes, size_t known) {
  if (struct_bytes == known) return PLIM_OK;
  return plim_fail(ctx, PLIM_EUSAGE, "a %s has struct_bytes %zu, and this library knows %zu: begin with %s_default()",
                   type, struct_bytes, known, type);
}
