/* Numerics by name, by the keys of a plan or of a checkpoint. */
#include "tools/plimsoll/session.h"

#include <stdio.h>
#include <string.h>

static const plim_graph *graph_of(const session *s) {
  return s->program->graph[PLIM_PROGRAM_TRAIN];
}

/* The session's array of numerics keys, all NULL at first. */
static plim_status keys_begin(session *s, plim_plan_options *planning) {
  if (!s->numerics_key) PLIM_TRY(plim_allocate(s->ctx, graph_of(s)->n_ops, sizeof *s->numerics_key, &s->numerics_key));
  planning->numerics = PLIM_NUMERICS_GIVEN;
  planning->numerics_key = s->numerics_key;
  return PLIM_OK;
}

plim_status numerics_of_plan(session *s, const plim_plan *plan, plim_plan_options *planning) {
  PLIM_TRY(keys_begin(s, planning));
  plim_plan_numerics_keys(plan, s->numerics_key);
  return PLIM_OK;
}

static plim_status numerics_of_file_plan(session *s) {
  const plim_graph *graph = graph_of(s);
  PLIM_TRY(plim_plan_load(s->ctx, s->o->numerics, &s->numerics_plan));
  if (strcmp(s->numerics_plan->fingerprint, graph->fingerprint) != 0) {
    return plim_fail(s->ctx, PLIM_EDATA, "%s: made for graph %.12s, this is %s, batch %d: graph %.12s", s->o->numerics,
                     s->numerics_plan->fingerprint, graph->name, graph->batch, graph->fingerprint);
  }
  return numerics_of_plan(s, s->numerics_plan, &s->planning);
}

/* ---- of a checkpoint ---- */

/* Why the numerics keys of a checkpoint say nothing about this run; NULL: they do. */
static const char *saved_unfit(const session *s, const plim_checkpoint_info *saved) {
  return plim_checkpoint_numerics_keys(saved, graph_of(s), &s->device->machine, NULL);
}

static plim_status numerics_of_saved(session *s, const plim_checkpoint_info *saved) {
  PLIM_TRY(keys_begin(s, &s->planning));
  (void)plim_checkpoint_numerics_keys(saved, graph_of(s), &s->device->machine, s->numerics_key);
  return PLIM_OK;
}

static plim_status numerics_of_checkpoint(session *s) {
  PLIM_TRY(plim_checkpoint_read(s->ctx, s->o->numerics, &s->numerics_file));
  const char *why = saved_unfit(s, s->numerics_file);
  if (!why) return numerics_of_saved(s, s->numerics_file);
  return plim_fail(s->ctx, PLIM_EDATA, "--numerics %s: %s", s->o->numerics, why);
}

static plim_status numerics_of_file(session *s) {
  int is_checkpoint = 0;
  plim_status status = plim_checkpoint_is(s->ctx, s->o->numerics, &is_checkpoint);
  if (status == PLIM_ENOFILE) {
    return plim_fail(s->ctx, PLIM_ENOFILE,
                     "--numerics %s: there is no such file, and it is none of auto, fastest and small", s->o->numerics);
  }
  PLIM_TRY(status);
  return is_checkpoint ? numerics_of_checkpoint(s) : numerics_of_file_plan(s);
}

/* A resumed run keeps its numerics, unless another choice or a plan is given. */
plim_status numerics_choose(session *s) {
  const char *name = s->o->numerics;
  if (s->o->load) PLIM_TRY(plim_checkpoint_read(s->ctx, s->o->load, &s->saved));
  if (!name) return s->saved && !s->o->plan && !saved_unfit(s, s->saved) ? numerics_of_saved(s, s->saved) : PLIM_OK;
  if (strcmp(name, "auto") == 0) return PLIM_OK;
  if (strcmp(name, "fastest") != 0 && strcmp(name, "small") != 0) return numerics_of_file(s);
  s->planning.numerics = name[0] == 'f' ? PLIM_NUMERICS_FASTEST : PLIM_NUMERICS_SMALL;
  return PLIM_OK;
}

void numerics_close(session *s) {
  if (s->numerics_key) plim_release(s->ctx, s->numerics_key, graph_of(s)->n_ops, sizeof *s->numerics_key);
  plim_plan_free(s->numerics_plan);
  plim_checkpoint_info_free(s->numerics_file);
  plim_checkpoint_info_free(s->saved);
}

/* ---- what is told ---- */

const char *numerics_fixed_by(const session *s) {
  switch (s->planning.numerics) {
    case PLIM_NUMERICS_FASTEST:
      return " and the kernels of the unlimited run";
    case PLIM_NUMERICS_SMALL:
      return " and the kernels of least workspace";
    case PLIM_NUMERICS_GIVEN:
      if (!s->program->plan[PLIM_PROGRAM_TRAIN]) return " and the kernels of the file given";
      return s->o->plan ? " and the kernels of the plan given" : " and the kernels of the run's first plan";
    default:
      return "";
  }
}

const char *numerics_remedy(const session *s) {
  if (s->planning.numerics == PLIM_NUMERICS_SMALL) return "--numerics auto";
  return s->program->plan[PLIM_PROGRAM_TRAIN] ? "--numerics small, or the lowest budget from the start"
                                              : "--numerics auto";
}

int numerics_changed(const session *s, const plim_plan *plan) {
  return plim_plan_numerics_differ(plan, s->prep.keep_all);
}

void numerics_tell(const session *s, const plim_plan *plan) {
  int changed = numerics_changed(s, plan);
  if (changed == 0 || s->o->json) return;
  printf(
      "numerics: %d of %d ops run other kernels than in the unlimited run, so bits differ from it; --numerics fastest "
      "forbids that\n",
      changed, graph_of(s)->n_ops);
  (void)fflush(stdout);
}

static void tell_numerics(const session *s) {
  const char *why = saved_unfit(s, s->saved);
  if (why) {
    printf("resumed: the bits of %s cannot be continued: %s\n", s->o->load, why);
    return;
  }
  const int changed = plim_checkpoint_numerics_differ(s->saved, s->program->plan[PLIM_PROGRAM_TRAIN]);
  if (changed == 0) return;
  printf("resumed: %d of %d ops run other kernels than those that made %s\n", changed, graph_of(s)->n_ops, s->o->load);
}

/* Rates were rounded to floats. */
static double decimal(float x) {
  char text[32];
  double out = 0;
  (void)snprintf(text, sizeof text, "%.6g", (double)x);
  (void)sscanf(text, "%lf", &out);
  return out;
}

static void tell_number(const char *what, double then, double now) {
  if (then != now) printf("resumed: %s is %.12g, it was %.12g\n", what, now, then);
}

void numerics_tell_resumed(const session *s) {
  const plim_checkpoint_info *saved = s->saved;
  if (!saved || !s->o->load || s->o->json) return;
  tell_numerics(s);
  tell_number("--batch", saved->batch, (double)s->o->batch);
  if (saved->has_training) {
    const plim_trainer_options now = session_trainer_options(s, session_total_steps(s));
    tell_number("--rate", decimal(saved->rate), decimal(now.schedule.rate));
    tell_number("--momentum", decimal(saved->momentum), decimal(now.schedule.momentum));
    tell_number("--weight-decay", decimal(saved->weight_decay), decimal(now.schedule.weight_decay));
    tell_number("--seed", (double)saved->seed, (double)now.seed);
    tell_number("--total-steps", (double)saved->total_steps, (double)now.schedule.total_steps);
  }
  (void)fflush(stdout);
}
