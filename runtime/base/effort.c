/* The deadline of a context. The clock is read once in PLIM_EFFORT_LOOK of work. Once the deadline is over, `over`
 * stays 1 until the deadline changes. */
#include "runtime/base/effort.h"

#include "runtime/base/context_internal.h"

static long long load(const atomic_llong *value) {
  return atomic_load_explicit(value, memory_order_relaxed);
}

static void store(atomic_llong *value, long long to) {
  atomic_store_explicit(value, to, memory_order_relaxed);
}

static int64_t effort_now(const plim_effort *effort) {
  return effort->clock ? effort->clock(effort->clock_user) : plim_now_ns();
}

static void set_deadline(plim_effort *effort, int64_t deadline_ns) {
  store(&effort->deadline_ns, deadline_ns);
  store(&effort->unseen, PLIM_EFFORT_LOOK); /* the next call reads the clock */
  atomic_store(&effort->over, 0);
}

int64_t plim_effort_begin(plim_context *ctx, int64_t deadline_ns) {
  int64_t outer_ns = load(&ctx->effort.deadline_ns);
  if (deadline_ns < outer_ns) set_deadline(&ctx->effort, deadline_ns);
  return outer_ns;
}

int64_t plim_effort_begin_last(plim_context *ctx, int64_t deadline_ns) {
  int64_t outer_ns = load(&ctx->effort.deadline_ns);
  if (deadline_ns > outer_ns) set_deadline(&ctx->effort, deadline_ns);
  return outer_ns;
}

plim_status plim_effort_end(plim_context *ctx, int64_t outer_ns, plim_status status) {
  if (outer_ns != load(&ctx->effort.deadline_ns)) set_deadline(&ctx->effort, outer_ns);
  return status == PLIM_ECANCEL && !plim_effort_over(ctx, 0) ? PLIM_OK : status;
}

/* Read the clock, and set `over` when the deadline is over. */
static int look(plim_effort *effort) {
  store(&effort->unseen, 0);
  if (effort_now(effort) < load(&effort->deadline_ns)) return 0;
  atomic_store_explicit(&effort->over, 1, memory_order_relaxed);
  return 1;
}

int plim_effort_over(plim_context *ctx, int64_t work) {
  plim_effort *e = &ctx->effort;
  int over = plim_context_cancelled(ctx) || atomic_load_explicit(&e->over, memory_order_relaxed);
  if (over) {
    store(&e->late, load(&e->late) + work);
    return 1;
  }
  if (load(&e->deadline_ns) == PLIM_TIME_UNLIMITED) return 0;
  store(&e->unseen, load(&e->unseen) + work);
  return load(&e->unseen) >= PLIM_EFFORT_LOOK && look(e);
}

int64_t plim_effort_deadline_of(int64_t start_ns, int64_t limit_ns) {
  return limit_ns > 0 && limit_ns < INT64_MAX - start_ns ? start_ns + limit_ns : PLIM_TIME_UNLIMITED;
}

/* A part of a limit is a limit. */
static int64_t part_of(int64_t limit_ns, int64_t part_ns) {
  if (limit_ns <= 0) return 0;
  return part_ns > 1 ? part_ns : 1;
}

int64_t plim_effort_share(int64_t limit_ns, int64_t parts) {
  return part_of(limit_ns, limit_ns / parts);
}

int64_t plim_effort_percent(int64_t limit_ns, int32_t percent) {
  return part_of(limit_ns, limit_ns / 100 * percent + limit_ns % 100 * percent / 100);
}

int64_t plim_effort_rest(int64_t limit_ns, int64_t start_ns) {
  return part_of(limit_ns, limit_ns - (plim_now_ns() - start_ns));
}

int64_t plim_effort_deadline(const plim_context *ctx) {
  return load(&ctx->effort.deadline_ns);
}

int64_t plim_effort_left_ns(const plim_context *ctx) {
  int64_t deadline_ns = plim_effort_deadline(ctx);
  if (deadline_ns == PLIM_TIME_UNLIMITED) return PLIM_TIME_UNLIMITED;
  int64_t left_ns = deadline_ns - effort_now(&ctx->effort);
  return left_ns > 0 ? left_ns : 0;
}

void plim_effort_set_clock(plim_context *ctx, plim_effort_clock *clock, void *user) {
  ctx->effort.clock = clock;
  ctx->effort.clock_user = user;
}

int64_t plim_effort_late(const plim_context *ctx) {
  return load(&ctx->effort.late);
}
