/* Budgets by step: read, handed to the trainer, told. */
#include "tools/plimsoll/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/size.h"
#include "tools/plimsoll/numerics.h"
#include "tools/plimsoll/session.h"

static plim_status parse(session *s, const char *text, plim_limit *out) {
  plim_size size;
  char *end;
  errno = 0;
  long long step = strtoll(text, &end, 10);
  if (end == text || *end != '=' || step < 0 || errno == ERANGE) {
    return plim_fail(s->ctx, PLIM_EUSAGE, "--memory-at %s is not STEP=SIZE, as in 100=48MiB or 100=45%%", text);
  }
  if (plim_size_parse(s->ctx, end + 1, &size) != PLIM_OK) {
    char sentence[PLIM_ERROR_BYTES];
    (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(s->ctx));
    return plim_fail(s->ctx, PLIM_EUSAGE, "--memory-at %s: %s", text, sentence);
  }
  *out = (plim_limit){step, plim_size_bytes(&size, s->prep.keep_all->arena_bytes)};
  if (out->bytes > 0) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EUSAGE, "--memory-at %s: no such size is a budget", text);
}

static int by_step(const void *a, const void *b) {
  const plim_limit *x = a, *y = b;
  return (x->step > y->step) - (x->step < y->step);
}

plim_status limits_parse(session *s) {
  limits *l = &s->limits;
  l->n = s->o->memory_at.count;
  for (int32_t i = 0; i < l->n; i++) PLIM_TRY(parse(s, s->o->memory_at.at[i], &l->row[i]));
  qsort(l->row, (size_t)l->n, sizeof *l->row, by_step);
  for (int32_t i = 1; i < l->n; i++) {
    if (l->row[i].step != l->row[i - 1].step) continue;
    return plim_fail(s->ctx, PLIM_EUSAGE, "--memory-at: step %lld has two budgets", (long long)l->row[i].step);
  }
  return PLIM_OK;
}

int32_t limits_reached(const session *s) {
  const limits *l = &s->limits;
  int64_t steps = l->n > 0 ? session_steps(s) : 0;
  int32_t n = 0;
  while (n < l->n && l->row[n].step < steps) n++;
  return n;
}

/* ---- what happens ---- */

static void print_turn(const plim_limit_report *r) {
  if (r->switched_at >= 0) {
    printf("; step %lld went on online after its operation %d, at %.2f %% overhead", (long long)r->step - 1,
           (int)r->switched_at, r->switched_percent);
  } else if (r->arena_after < r->arena_before) {
    printf("; step %lld could not shrink while it ran; the new budget applies after it", (long long)r->step - 1);
  }
}

/* A budget that grew could have faster kernels, if they gave the bits of the run's first plan. */
static void print_kept_numerics(const session *s, const plim_limit_report *r) {
  const plim_plan *first = s->program->plan[PLIM_PROGRAM_TRAIN];
  int changed = numerics_changed(s, first);
  if (changed == 0 || r->wanted_bytes <= r->arena_before) return;
  printf("; %d op%s the numerics that the run began with, which are not the fastest", changed,
         changed == 1 ? " keeps" : "s keep");
}

static void print_report(const session *s, const plim_limit_report *r) {
  char wanted[PLIM_SIZE_TEXT_BYTES], before[PLIM_SIZE_TEXT_BYTES], after[PLIM_SIZE_TEXT_BYTES],
      returned[PLIM_SIZE_TEXT_BYTES], moved[PLIM_SIZE_TEXT_BYTES];
  printf("budget of %s", plim_size_print(r->wanted_bytes, wanted));
  print_turn(r);
  if (r->status != PLIM_OK) {
    printf("; refused, the run goes on as before: %s\n", plim_context_error(s->ctx));
  } else {
    printf("; from step %lld on the plan for it: overhead %.2f %%, arena %s after %s; so far %s given back, %s moved",
           (long long)r->step, r->overhead_percent, plim_size_print(r->arena_after, after),
           plim_size_print(r->arena_before, before), plim_size_print(r->returned_bytes, returned),
           plim_size_print(r->moved_bytes, moved));
    print_kept_numerics(s, r);
    printf("\n");
  }
  (void)fflush(stdout);
}

static void on_limit(void *user, const plim_limit_report *report) {
  session *s = user;
  limits *l = &s->limits;
  if (l->n_reports < OPTION_VALUES) l->report[l->n_reports++] = *report;
  progress_clear(&s->bar);
  if (!s->o->json) print_report(s, report);
}

void limits_set(session *s, plim_trainer_options *wanted) {
  if (s->limits.n == 0) return;
  wanted->replan = &s->prep.replan;
  wanted->limit = s->limits.row;
  wanted->n_limits = s->limits.n;
  wanted->on_limit = on_limit;
  wanted->on_limit_user = s;
}

int limits_plan_at(const limits *l, int64_t step) {
  for (int32_t i = 0; i < l->n; i++) {
    if (step == l->row[i].step || step == l->row[i].step + 1) return 1;
  }
  return 0;
}

/* A budget whose plan never ran. */
static void note_missed(figures *f, const limits *l) {
  int64_t begun = l->n_reports > 0 ? l->report[l->n_reports - 1].step : 0;
  int32_t i = 0;
  while (i < l->n && l->row[i].step < begun) i++;
  if (i < l->n) {
    figures_note(f, 0, " of %d: the run ended before that of step %lld took over", (int)l->n,
                 (long long)l->row[i].step);
  }
}

void limits_figures(figures *f, const limits *l) {
  if (l->n == 0) return;
  json_t *rows = json_array();
  for (int32_t i = 0; i < l->n_reports; i++) {
    const plim_limit_report *r = &l->report[i];
    (void)json_array_append_new(
        rows,
        json_pack("{s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:i, s:f, s:f, s:f}", "step", (json_int_t)r->step,
                  "budget_bytes", (json_int_t)r->wanted_bytes, "taken", r->status == PLIM_OK, "arena_before_bytes",
                  (json_int_t)r->arena_before, "arena_bytes", (json_int_t)r->arena_after, "returned_bytes",
                  (json_int_t)r->returned_bytes, "moved_bytes", (json_int_t)r->moved_bytes, "online_from_operation",
                  (int)r->switched_at, "online_overhead_percent", r->switched_at >= 0 ? r->switched_percent : 0.0,
                  "overhead_percent", r->overhead_percent, "seconds", (double)r->time_ns / 1e9));
  }
  (void)json_object_set_new(f->object, "limits", rows);
  figures_count(f, 0, NULL, "changes of budget", l->n_reports);
  note_missed(f, l);
  if (l->n_reports == 0) return;
  const plim_limit_report *last = &l->report[l->n_reports - 1];
  figures_bytes(f, 0, "arena_last_bytes", "arena, at the end", last->arena_after);
  figures_note(f, 0, " at %.2f %% overhead, predicted", last->overhead_percent);
}
