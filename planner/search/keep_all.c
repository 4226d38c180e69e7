/* Keep-all: every op once with its fastest choice, in the order found that needs the smallest arena. First runs are
 * moved about by annealing against a limit that is always a little below the best peak so far; each new best is
 * packed, well now and then and at the end. In a long graph a packing takes as long as all the moves between two good
 * ones, so there are only those. A peak at the lower bound on bytes ends it: no order has a lower one. */
#include "planner/core/core.h"
#include "planner/search/search_internal.h"
#include "planner/search/searches.h"
#include "runtime/base/effort.h"

enum {
  QUICK = 4,
  STRONG = 24 /* efforts of packing */,
  MOVES_BETWEEN_STRONG = 40,
  MOVES_AN_OP = 300, /* for each op */
  MOST_MOVES = 3002000
};
/* of the time limit: for moves, and for moves and packings together */
enum { MOVES_PERCENT = 10, ALL_PERCENT = 15 };

typedef struct keeper {
  plim_incumbent *inc;
  plim_schedule schedule;
  int64_t next_strong; /* in moves */
  int64_t bound_bytes; /* of every plan's peak */
} keeper;

/* A front wants it with its fastest choices too, where the lowest plan has others. */
static plim_status submit_well(plim_incumbent *inc, const plim_schedule *schedule) {
  if (inc->min_memory) PLIM_TRY(plim_incumbent_submit_exact(inc, schedule, STRONG));
  return plim_incumbent_submit(inc, schedule, STRONG, NULL);
}

static plim_status on_fit(void *user, plim_anneal *a) {
  keeper *k = user;
  PLIM_TRY(plim_track_store(a->mover.track, &k->schedule));
  int strong = a->done >= k->next_strong;
  a->mover.limit = plim_track_peak(a->mover.track) - 1;
  a->stop = a->mover.limit < k->bound_bytes;
  if (!strong && k->inc->problem->n_ops > PLIM_LONG_OPS) return PLIM_OK;
  if (strong) k->next_strong = a->done + MOVES_BETWEEN_STRONG * (int64_t)k->inc->problem->n_ops;
  return plim_incumbent_submit(k->inc, &k->schedule, strong ? STRONG : QUICK, NULL);
}

static plim_status improve_order(keeper *k) {
  const plim_problem *p = k->inc->problem;
  int64_t moves = MOVES_AN_OP * (int64_t)p->n_ops + 2000;
  plim_track *track = NULL;
  PLIM_TRY(plim_track_new(p, p->n_ops + 64, &track));
  plim_track_load(track, &k->schedule);
  plim_anneal a = {.mover = {.track = track, .random = {1}, .limit = plim_track_peak(track) - 1},
                   .hot = 2,
                   .cold = 0.01,
                   .weight = 1,
                   .iterations = moves < MOST_MOVES ? moves : MOST_MOVES,
                   .deadline_ns = plim_incumbent_deadline(k->inc, MOVES_PERCENT),
                   .share = {[PLIM_MOVE_FIRST] = 1},
                   .on_fit = on_fit,
                   .user = k,
                   .faster_than_ns = INT64_MAX};
  int best = a.mover.limit < k->bound_bytes;
  plim_status status = best ? PLIM_OK : plim_anneal_run(&a);
  plim_track_free(track);
  return status == PLIM_OK && !best ? submit_well(k->inc, &k->schedule) : status;
}

static plim_status run(plim_incumbent *inc) {
  if (inc->keep_all) return submit_well(inc, inc->keep_all);
  keeper k = {.inc = inc, .schedule = {.ctx = inc->problem->ctx}};
  int32_t op;
  k.bound_bytes = plim_bound_bytes(inc->problem, &op);
  plim_status status = plim_schedule_program_order(inc->problem, &k.schedule);
  if (status == PLIM_OK) status = submit_well(inc, &k.schedule);
  int may_improve = !inc->problem->fixed_order && !plim_effort_over(inc->problem->ctx, 0);
  if (status == PLIM_OK && may_improve) status = improve_order(&k);
  plim_schedule_free(&k.schedule);
  return status;
}

plim_status plim_keep_all_run(plim_incumbent *inc) {
  int64_t outer_ns = plim_effort_begin(inc->problem->ctx, plim_incumbent_deadline(inc, ALL_PERCENT));
  return plim_effort_end(inc->problem->ctx, outer_ns, run(inc));
}
