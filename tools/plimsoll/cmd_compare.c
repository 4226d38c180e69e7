/* plimsoll compare: the same training under a budget and without one, side by side.
 *
 * Both runs live in one process and take turns in chunks of 20 steps, so that what disturbs the machine disturbs both
 * alike; the measured overhead is the ratio of their median step times. */
#include <string.h>

#include "runtime/train/verification.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/page_options.h"
#include "tools/plimsoll/run_train.h"
#include "tools/plimsoll/session.h"

enum { CAPPED, FREE, RUNS, CHUNK = 20 };

typedef struct comparison {
  session *s;
  plim_program *program[RUNS];
  run run[RUNS];
  int64_t steps;
  const char *length; /* why so many steps */
  outside outside;    /* of the runs, before anything else is opened */
  plim_state_difference difference;
} comparison;

/* One epoch, or with --minutes what the profile says fits into them. */
static void choose_steps(comparison *c) {
  const session *s = c->s;
  const int64_t epoch = s->dataset->train.count / s->o->batch;
  c->steps = session_steps(s);
  c->length = s->o->steps > 0 ? "as asked for" : s->o->epochs == 1 ? "one epoch each" : "as many epochs as asked for";
  if (s->o->minutes <= 0 || s->o->steps > 0) return;
  const double test_batches = (double)s->dataset->test.count / (double)s->o->batch;
  const double left_ns = s->o->minutes * 60e9 - (double)(plim_now_ns() - s->begin_ns);
  const int64_t fitting = plim_verify_steps_within(c->program[CAPPED], c->program[FREE], test_batches, left_ns);
  if (fitting >= epoch) return;
  c->steps = fitting;
  c->length = "what the profile says fits into the time given";
}

static plim_status prepare(comparison *c) {
  session *s = c->s;
  PLIM_TRY(session_device(s));
  PLIM_TRY(session_data(s));
  PLIM_TRY(session_program(s));
  PLIM_TRY(session_planning(s));
  PLIM_TRY(session_plan(s));
  c->program[CAPPED] = s->program;
  PLIM_TRY(plim_verify_make_unlimited(s->program, s->device, &s->source, &c->program[FREE]));
  choose_steps(c);
  for (int i = 0; i < RUNS; i++) {
    c->run[i] = (run){.s = s, .total = c->steps};
    PLIM_TRY(session_trainer(s, c->program[i], c->steps, &c->run[i].trainer));
  }
  return PLIM_OK;
}

static void measure_outside(comparison *c) {
  int64_t arenas = 0, pages = 0;
  for (int i = 0; i < RUNS; i++) {
    const plim_exec *exec = plim_trainer_exec(c->run[i].trainer);
    arenas += plim_exec_first_bytes(exec);
    pages += paging_resident_bytes(exec);
  }
  c->outside = run_outside(c->s, arenas, pages);
}

static plim_status run_chunks(comparison *c) {
  for (int64_t done = 0; done < c->steps; done += CHUNK) {
    int64_t steps = c->steps - done < CHUNK ? c->steps - done : CHUNK;
    for (int i = 0; i < RUNS; i++) PLIM_TRY(run_steps(&c->run[i], steps));
  }
  for (int i = 0; i < RUNS && session_computes(c->s); i++) PLIM_TRY(run_evaluate(&c->run[i]));
  return PLIM_OK;
}

/* Compare what the two runs learnt: both have the numerics of the plan under the budget. */
static plim_status compare_weights(comparison *c) {
  return plim_state_compare(c->run[CAPPED].trainer, c->run[FREE].trainer, &c->difference);
}

static void add_measured_overhead(figures *f, const comparison *c) {
  double capped = (double)times_percentile(&c->run[CAPPED].times, 50);
  double unlimited = (double)times_percentile(&c->run[FREE].times, 50);
  if (unlimited <= 0) return;
  figures_real(f, CAPPED, "overhead_measured_percent", "overhead, measured", "%.2f %%", (capped / unlimited - 1) * 100);
  figures_text(f, FREE, NULL, "overhead, measured", "0 by definition");
}

static void add_weights(figures *f, const comparison *c) {
  const plim_state_difference *d = &c->difference;
  char values[HUMAN_BYTES], count[HUMAN_BYTES];
  (void)json_object_set_new(f->object, "identical", json_boolean(d->different == 0));
  (void)json_object_set_new(f->object, "tensors_compared", json_integer(d->values));
  figures_text(f, 0, NULL, "weights identical", d->different == 0 ? "yes" : "NO");
  figures_note(f, 0, " (%s, every bit, after %s with equal numerics)", human_items(d->values, "tensor", values),
               human_items(plim_trainer_steps(c->run[CAPPED].trainer), "step", count));
}

static void print_table(const comparison *c, int compared) {
  static const char *const title[] = {"under the budget", "without"}, *const key[] = {"capped", "keep_all"};
  const session *s = c->s;
  char count[HUMAN_BYTES];
  figures f;
  figures_begin(&f, RUNS, title, key);
  run_figures_setting(&f, s);
  figures_text(&f, 0, NULL, "length", human_items(plim_trainer_steps(c->run[CAPPED].trainer), "step", count));
  figures_note(&f, 0, ", %s, taking turns of %d", c->length, CHUNK);
  for (int i = 0; i < RUNS; i++) {
    run_figures_plan(&f, i, s, c->program[i]);
    run_figures_measured(&f, i, &c->run[i]);
  }
  run_figures_last(&f, s);
  retime_figures(&f, s->o, &s->retime);
  add_measured_overhead(&f, c);
  if (compared) add_weights(&f, c);
  if (session_computes(s)) run_figures_outside(&f, &c->outside);
  figures_real(&f, 0, NULL, "seconds", "%.1f", (double)(plim_now_ns() - s->begin_ns) / 1e9);
  (void)json_object_set_new(f.object, "seconds", json_real((double)(plim_now_ns() - s->begin_ns) / 1e9));
  figures_print(&f, s->o->json);
  figures_end(&f);
}

static plim_status compare(comparison *c) {
  plim_status status = PLIM_OK;
  PLIM_TRY_OR_DONE(prepare(c));
  if (c->s->o->svg) PLIM_TRY_OR_DONE(run_save_picture(c->s));
  status = run_chunks(c);
  measure_outside(c);
  int compares = session_computes(c->s);
  if (status == PLIM_OK && compares) status = compare_weights(c);
  progress_clear(&c->s->bar);
  if (status == PLIM_OK || (status == PLIM_ECANCEL && c->run[FREE].times.count > 0)) {
    print_table(c, status == PLIM_OK && compares);
    c->s->answered = 1;
  }
  if (status == PLIM_OK && c->difference.different > 0) {
    status = plim_fail(c->s->ctx, PLIM_EDIFF, "%lld of %lld tensors differ; the first is %s",
                       (long long)c->difference.different, (long long)c->difference.values, c->difference.name);
  }
done:
  for (int i = 0; i < RUNS; i++) plim_trainer_close(c->run[i].trainer);
  plim_program_free(c->program[FREE]);
  return status;
}

static int run_compare(const options *o) {
  static comparison c; /* step times make it large */
  session s;
  plim_status status = session_open(&s, o);
  c.s = &s;
  if (status == PLIM_OK) status = compare(&c);
  c.s = NULL;
  return session_close(&s, status);
}

const command command_compare = {
    .name = "compare",
    .mask = COMMAND_COMPARE,
    .summary = "train under a budget and without one, taking turns",
    .about =
        "Train the same model twice in one process, under a budget and without one. The two runs take turns in chunks "
        "of 20 steps, so that noise hits both alike. Ends with a table of bytes, predicted and measured overhead, "
        "speed, test accuracy, and whether the weights are identical. Both runs use the numerics of the plan under the "
        "budget. Beside a run on several devices the other one is on the first of them, with its threads alone.",
    .after =
        "EXAMPLES\n"
        "  plimsoll compare --model resnet20 --memory 45% --svg memory.svg\n"
        "  plimsoll compare --model tinyres --data synthetic --memory 60% --steps 100\n",
    .run = run_compare,
};
