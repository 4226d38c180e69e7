/* Exact searches side by side: each thread has a searcher of its own, which remembers failed states from batch to
 * batch. */
#include "planner/pack/packers.h"

#include "planner/pack/pack_tuning.h"
#include "runtime/base/batch.h"

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
  plim_restarts *restarts = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, 1, sizeof *restarts, &restarts));
  restarts->units = units;
  restarts->threads = threads > 1 ? threads : 1;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, restarts->threads, sizeof *restarts->searcher, &restarts->searcher));
  for (int32_t i = 0; i < restarts->threads; i++) {
    PLIM_TRY_OR_DONE(plim_exact_new(units, pack_tuning.solve.nodes_to_remember, &restarts->searcher[i].exact));
    PLIM_TRY_OR_DONE(plim_allocate(ctx, units->n, sizeof *restarts->searcher[i].offset, &restarts->searcher[i].offset));
  }
  *out = restarts;
done:
  if (status != PLIM_OK) plim_restarts_free(restarts);
  return status;
}

void plim_restarts_free(plim_restarts *restarts) {
  if (!restarts) return;
  plim_context *ctx = restarts->units->ctx;
  for (int32_t i = 0; restarts->searcher && i < restarts->threads; i++) {
    plim_exact_free(restarts->searcher[i].exact);
    plim_release(ctx, restarts->searcher[i].offset, restarts->units->n, sizeof *restarts->searcher[i].offset);
  }
  plim_release(ctx, restarts->searcher, restarts->threads, sizeof *restarts->searcher);
  plim_release(ctx, restarts, 1, sizeof *restarts);
}

static void search_restart(void *user, int32_t i) {
  searcher *s = &((plim_restarts *)user)->searcher[i];
  plim_pack_restart *r = s->task;
  r->offset = s->offset;
  r->outcome = plim_exact_run(s->exact, r->capacity, r->restart, &r->limits, r->offset, &r->nodes);
}

plim_status plim_restarts_run(plim_restarts *restarts, plim_pack_restart *task, int32_t n) {
  for (int32_t i = 0; i < n; i++) restarts->searcher[i].task = &task[i];
  plim_batch_run(search_restart, restarts, n);
  for (int32_t i = 0; i < n; i++) PLIM_TRY(plim_exact_status(restarts->searcher[i].exact));
  return PLIM_OK;
}
