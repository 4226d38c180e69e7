/* Keep-all: every op once with its fastest choice, in the order found that needs the smallest arena. First runs are
 * moved about by annealing against a limit that is always a little below the best peak so far; each new best is packed.
 */
#include "planner/planning.h"
#include "planner/search/anneal.h"

enum { KEEP_ALL_EFFORT = 16 };

typedef struct keeper {
  plim_planning *pl;
  plim_schedule schedule;
} keeper;

static plim_status on_fit(void *user, plim_anneal *a) {
  keeper *k = user;
  PLIM_TRY(plim_track_store(a->mover.track, &k->schedule));
  PLIM_TRY(plim_planning_offer(k->pl, &k->schedule, KEEP_ALL_EFFORT, NULL));
  a->mover.limit = plim_track_peak(a->mover.track) - 1;
  return PLIM_OK;
}

static plim_status improve_order(keeper *k) {
  const plim_problem *p = k->pl->problem;
  plim_track *track = NULL;
  PLIM_TRY(plim_track_new(p, p->n_ops + 64, &track));
  plim_track_load(track, &k->schedule);
  plim_anneal a = {.mover = {.track = track, .random = {1}, .limit = plim_track_peak(track) - 1},
                   .hot = 2,
                   .cold = 0.01,
                   .weight = 1,
                   .iterations = 300 * (int64_t)p->n_ops + 2000,
                   .deadline_ns = INT64_MAX,
                   .share = {[PLIM_MOVE_FIRST] = 1},
                   .on_fit = on_fit,
                   .user = k,
                   .faster_than_ns = INT64_MAX};
  plim_status status = plim_anneal_run(&a);
  plim_track_free(track);
  return status;
}

plim_status plim_keep_all_run(plim_planning *pl) {
  keeper k = {pl, {.ctx = pl->problem->ctx}};
  plim_status status = plim_schedule_program_order(pl->problem, &k.schedule);
  if (status == PLIM_OK) status = plim_planning_offer(pl, &k.schedule, KEEP_ALL_EFFORT, NULL);
  if (status == PLIM_OK && !pl->problem->fixed_order) status = improve_order(&k);
  plim_schedule_free(&k.schedule);
  return status;
}
