/* What the options say of training, handed to the trainer; what the trainer reports, printed as it happens. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/base/size.h"
#include "tools/plimsoll/session.h"

/* ---- budgets by step ---- */

static plim_status parse(session *s, const char *text, plim_budget_change *out) {
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
  *out = (plim_budget_change){step, plim_size_bytes(&size, s->prep.keep_all->arena_bytes)};
  if (out->bytes > 0) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EUSAGE, "--memory-at %s: no such size is a budget", text);
}

static int by_step(const void *a, const void *b) {
  const plim_budget_change *x = a, *y = b;
  return plim_integers_compare(x->step, y->step);
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

static void print_turn(const plim_budget_report *r) {
  if (r->switched_at >= 0) {
    printf("; step %lld went on online after its op %d, at %.2f %% overhead", (long long)r->step - 1,
           (int)r->switched_at, r->switched_percent);
  } else if (r->wanted_bytes < r->arena_before && r->arena_after < r->arena_before) {
    printf("; step %lld could not shrink while it ran; the new budget applies after it", (long long)r->step - 1);
  }
}

/* A budget that grew could have faster kernels, if they gave the bits of the run's first plan. */
static void print_kept_numerics(const session *s, const plim_budget_report *r) {
  const plim_plan *first = s->program->plan[PLIM_PROGRAM_TRAIN];
  int changed = numerics_changed(s, first);
  if (changed == 0 || r->wanted_bytes <= r->arena_before) return;
  printf("; %d op%s the numerics that the run began with, which are not the fastest", changed,
         changed == 1 ? " keeps" : "s keep");
}

static void print_report(const session *s, const plim_budget_report *r) {
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

static void on_limit(void *user, const plim_budget_report *report) {
  session *s = user;
  limits *l = &s->limits;
  if (l->n_reports < OPTION_VALUES) l->report[l->n_reports++] = *report;
  progress_clear(&s->bar);
  if (!s->o->json) print_report(s, report);
}

/* Into the options of a trainer of the session's program; what happens is kept, and printed as it happens. */
static void set_limits(session *s, plim_trainer_options *wanted) {
  if (s->limits.n == 0) return;
  wanted->replan = &s->prep.replan;
  wanted->budget_change = s->limits.row;
  wanted->n_budget_changes = s->limits.n;
  wanted->on_budget_change = on_limit;
  wanted->on_budget_change_user = s;
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
    const plim_budget_report *r = &l->report[i];
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
  const plim_budget_report *last = &l->report[l->n_reports - 1];
  figures_bytes(f, 0, "arena_last_bytes", "arena, at the end", last->arena_after);
  figures_note(f, 0, " at %.2f %% overhead, predicted", last->overhead_percent);
}

/* ---- times in place ---- */

enum { GPU_STEPS = 8 /* kernels alone and kernels in a step differ more there: timed unless told otherwise */ };

static void on_retime(void *user, const plim_retime_report *report) {
  session *s = user;
  s->retime.report = *report;
  s->retime.reported = 1;
  progress_clear(&s->bar);
  if (s->o->json) return;
  printf("ops timed in place: %.3f ms a step, predicted were %.3f; ", (double)report->measured_ns / 1e6,
         (double)report->predicted_ns / 1e6);
  if (report->taken) {
    printf("from step %lld on a plan made with these times: %.3f ms, overhead %.2f %%\n", (long long)report->step,
           (double)report->again_ns / 1e6, report->overhead_percent);
  } else {
    printf("no plan made with these times is faster\n");
  }
  (void)fflush(stdout);
}

/* The same of times in place. Called after session_plan. */
static plim_status set_retime(session *s, plim_trainer_options *wanted) {
  const plim_plan *plan = s->program->plan[PLIM_PROGRAM_TRAIN];
  int can = !s->o->online && strcmp(s->o->addresses, "planned") == 0 && !(plan && plan->n_page_spaces > 0);
  int64_t steps = s->o->retime;
  if (steps < 0) steps = can && plim_device_is_gpu(s->device) ? GPU_STEPS : 0;
  if (steps == 0) return PLIM_OK;
  wanted->replan = &s->prep.replan;
  wanted->retime_steps = (int32_t)steps;
  wanted->on_retime = on_retime;
  wanted->on_retime_user = s;
  return PLIM_OK;
}

void retime_figures(figures *f, const options *o, const retime *r) {
  if (!r->reported && o->retime > 0) {
    figures_text(f, 0, NULL, "timed in place", "nothing");
    figures_note(f, 0, ": the run has too few steps for --retime %lld, which two that warm up precede",
                 (long long)o->retime);
  }
  if (!r->reported) return;
  const plim_retime_report *p = &r->report;
  (void)json_object_set_new(
      f->object, "retimed",
      json_pack("{s:I, s:I, s:I, s:I, s:b, s:f, s:f}", "step", (json_int_t)p->step, "predicted_ns",
                (json_int_t)p->predicted_ns, "measured_ns", (json_int_t)p->measured_ns, "again_ns",
                (json_int_t)p->again_ns, "taken", p->taken, "overhead_percent", p->overhead_percent, "seconds",
                (double)p->time_ns / 1e9));
  figures_real(f, 0, NULL, "timed in place", "%.3f ms a step", (double)p->measured_ns / 1e6);
  figures_note(f, 0, ", %+.1f %% of what was predicted",
               (double)(p->measured_ns - p->predicted_ns) * 100 / (double)p->predicted_ns);
  if (p->taken) figures_note(f, 0, "; planned again: overhead %.2f %%", p->overhead_percent);
}

/* ---- the trainer ---- */

static int64_t epochs_in_steps(const session *s) {
  return s->o->epochs * (s->dataset->train.count / s->o->batch + (session_last_batch(s) > 0));
}

int64_t session_steps(const session *s) {
  const options *o = s->o;
  if (o->steps > 0) return o->steps;
  return o->total_steps > 0 && !options_given(o, "epochs") ? o->total_steps : epochs_in_steps(s);
}

int64_t session_total_steps(const session *s) {
  int64_t steps = session_steps(s), epochs = options_given(s->o, "epochs") ? epochs_in_steps(s) : 0;
  if (s->o->total_steps > 0) return s->o->total_steps;
  return steps > epochs ? steps : epochs;
}

plim_status session_check_steps(const session *s) {
  int64_t steps = session_steps(s), total = session_total_steps(s);
  if (steps <= total) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EUSAGE,
                   "%lld steps go beyond --total-steps %lld, where the rate is 0: give --total-steps %lld or more",
                   (long long)steps, (long long)total, (long long)steps);
}

int session_uses_heap(const session *s) {
  return strcmp(s->o->addresses, "jemalloc") == 0;
}

/* An option, or what the optimizer has where it was not given. */
static float given_or(double given, float otherwise) {
  return given >= 0 ? (float)given : otherwise;
}

plim_rate_schedule session_schedule(const session *s, int64_t steps) {
  const options *o = s->o;
  const plim_optimizer_row *optimizer = plim_optimizer_at((int32_t)session_optimizer(s));
  return (plim_rate_schedule){.rate = given_or(o->rate, (float)plim_optimizer_rate(optimizer, o->model, o->batch)),
                              .momentum = given_or(o->momentum, optimizer->momentum),
                              .weight_decay = given_or(o->weight_decay, optimizer->weight_decay),
                              .warmup_steps = o->warmup >= 0 ? o->warmup : plim_optimizer_warmup(optimizer, steps),
                              .total_steps = steps,
                              .beta2 = given_or(o->beta2, optimizer->beta2),
                              .epsilon = optimizer->epsilon,
                              .norm_max = (float)o->clip};
}

plim_trainer_options session_trainer_options(const session *s, int64_t steps) {
  const options *o = s->o;
  plim_trainer_options wanted = plim_trainer_options_default();
  wanted.seed = (uint64_t)o->seed;
  wanted.schedule = session_schedule(s, steps);
  wanted.augment = !o->no_augment;
  wanted.exec.page_file = o->page_file;
  return wanted;
}

plim_status session_trainer(session *s, plim_program *program, int64_t steps, plim_trainer **out) {
  plim_trainer_options wanted = session_trainer_options(s, steps);
  if (session_uses_heap(s) && program == s->program) {
    PLIM_TRY(heap_arena_open(s->ctx, &s->heap));
    wanted.exec.addresses = PLIM_ADDRESSES_EACH;
    wanted.exec.buffer_alloc = heap_buffer_alloc;
    wanted.exec.buffer_free = heap_buffer_free;
    wanted.exec.user = &s->heap;
  }
  if (program == s->program) {
    set_limits(s, &wanted);
    PLIM_TRY(set_retime(s, &wanted));
  }
  plim_status status = plim_trainer_open(s->device, s->dataset, program, &wanted, out);
  return status == PLIM_ENOFIT ? refusal_explain_room(s, program) : status;
}
