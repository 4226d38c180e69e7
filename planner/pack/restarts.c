/* A batch of searches, each by a searcher of its own that remembers its failed states from batch to batch. */
#include "planner/pack/pack_internal.h"

#include "runtime/base/batch.h"

enum { NODES_TO_REMEMBER = 1 << 18 };

typedef struct searcher {
  plim_exact *exact;
  int64_t *offset;
  plim_pack_restart *task;
} searcher;

struct plim_restarts {
  const plim_units *units;
  int32_t threads;
  searcher *searcher; /* [threads] */
};

plim_status plim_restarts_new(const plim_units *units, int32_t threads, plim_restarts **out) {
  plim_context *ctx = units->ctx;
  plim_restarts *t = NULL;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, 1, sizeof *t, &t));
  t->units = units;
  t->threads = threads > 1 ? threads : 1;
  PLIM_CHECK(plim_allocate(ctx, t->threads, sizeof *t->searcher, &t->searcher));
  for (int32_t i = 0; i < t->threads; i++) {
    PLIM_CHECK(plim_exact_new(units, NODES_TO_REMEMBER, &t->searcher[i].exact));
    PLIM_CHECK(plim_allocate(ctx, units->n, sizeof *t->searcher[i].offset, &t->searcher[i].offset));
  }
  *out = t;
done:
  if (status != PLIM_OK) plim_restarts_free(t);
  return status;
}

void plim_restarts_free(plim_restarts *t) {
  if (!t) return;
  plim_context *ctx = t->units->ctx;
  for (int32_t i = 0; t->searcher && i < t->threads; i++) {
    plim_exact_free(t->searcher[i].exact);
    plim_release(ctx, t->searcher[i].offset, t->units->n, sizeof *t->searcher[i].offset);
  }
  plim_release(ctx, t->searcher, t->threads, sizeof *t->searcher);
  plim_release(ctx, t, 1, sizeof *t);
}

static void search(void *user, int32_t i) {
  searcher *s = &((plim_restarts *)user)->searcher[i];
  plim_pack_restart *t = s->task;
  t->offset = s->offset;
  t->outcome = plim_exact_run(s->exact, t->capacity, t->restart, &t->limits, t->offset, &t->nodes);
}

plim_status plim_restarts_run(plim_restarts *t, plim_pack_restart *task, int32_t n) {
  for (int32_t i = 0; i < n; i++) t->searcher[i].task = &task[i];
  plim_batch_run(search, t, n);
  for (int32_t i = 0; i < n; i++) PLIM_TRY(plim_exact_status(t->searcher[i].exact));
  return PLIM_OK;
}
