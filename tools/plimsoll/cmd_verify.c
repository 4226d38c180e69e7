/* plimsoll verify: train a few steps within the budget and without one, and compare every bit. */
#include <stdio.h>

#include "runtime/train/verification.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/run_train.h"

enum { DEFAULT_STEPS = 5 };

typedef struct verification {
  int64_t steps;
  plim_program *unlimited; /* keep-all, with the numerics of the plan */
  plim_state_difference difference;
} verification;

static void print_table(session *s, const verification *v, double seconds) {
  static const char *const title[] = {"under the budget", "keep-all"}, *const key[] = {"capped", "keep_all"};
  const plim_state_difference *d = &v->difference;
  char values[HUMAN_BYTES], bytes[HUMAN_BYTES], steps[HUMAN_BYTES];
  figures f;
  figures_begin(&f, 2, title, key);
  run_figures_setting(&f, s);
  run_figures_plan(&f, 0, s, s->program);
  run_figures_plan(&f, 1, s, v->unlimited);
  run_figures_last(&f, s);
  limits_figures(&f, &s->limits);
  retime_figures(&f, s->o, &s->retime);
  json_t *o = f.object;
  (void)json_object_set_new(o, "steps", json_integer(v->steps));
  (void)json_object_set_new(o, "tensors_compared", json_integer(d->values));
  (void)json_object_set_new(o, "bytes_compared", json_integer(d->bytes));
  (void)json_object_set_new(o, "tensors_different", json_integer(d->different));
  (void)json_object_set_new(o, "values_compared", json_integer(d->values)); /* earlier names of the two counts */
  (void)json_object_set_new(o, "values_different", json_integer(d->different));
  (void)json_object_set_new(o, "identical", json_boolean(d->different == 0));
  (void)json_object_set_new(o, "seconds", json_real(seconds));
  figures_flag(&f, 0, NULL, "weights identical", d->different == 0);
  figures_note(&f, 0, " (%s, %s after %s)", human_items(d->values, "tensor", values),
               human_items(d->bytes, "byte", bytes), human_items(v->steps, "step", steps));
  figures_print(&f, s->o->json);
  s->answered = 1;
  figures_end(&f);
}

static void on_step(void *user, int64_t done, int64_t steps) {
  session *s = user;
  progress_draw(&s->bar, "verify", done, steps, "under the budget and without one");
}

static plim_status run_both(session *s, verification *v) {
  plim_trainer *trainer = NULL;
  PLIM_TRY(plim_verify_make_reference(s->program, s->device, &s->source, &v->unlimited));
  PLIM_TRY(session_trainer(s, s->program, v->steps, &trainer));
  plim_status status = plim_verify(trainer, v->unlimited, v->steps, on_step, s, &v->difference);
  plim_trainer_close(trainer);
  progress_clear(&s->bar);
  return status;
}

static plim_status verify(session *s) {
  verification v = {.steps = s->o->steps > 0 ? s->o->steps : DEFAULT_STEPS};
  char steps[HUMAN_BYTES];
  PLIM_TRY(session_device(s));
  PLIM_TRY(session_data(s));
  PLIM_TRY(session_program(s));
  PLIM_TRY(session_planning(s));
  PLIM_TRY(session_plan(s));
  int64_t begin = plim_now_ns();
  plim_status status = run_both(s, &v);
  if (status == PLIM_OK) {
    print_table(s, &v, (double)(plim_now_ns() - begin) / 1e9);
    if (v.difference.different > 0) {
      status = plim_fail(s->ctx, PLIM_EDIFF, "%lld of %lld tensors differ after %s; the first is %s at byte %lld",
                         (long long)v.difference.different, (long long)v.difference.values,
                         human_items(v.steps, "step", steps), v.difference.name, (long long)v.difference.first_byte);
    }
  }
  plim_program_free(v.unlimited);
  return status;
}

static int run_verify(const options *o) {
  session s;
  plim_status status = session_open(&s, o);
  if (status == PLIM_OK) status = verify(&s);
  return session_close(&s, status);
}

const command command_verify = {
    .name = "verify",
    .mask = COMMAND_VERIFY,
    .summary = "show that a budget changes no bit of the weights",
    .about =
        "Train a few steps under a budget and the same steps under keep-all, with the same numerics, and compare every "
        "parameter, batch-norm statistic and optimizer state bit for bit. The keep-all run pages nothing. It runs one "
        "op after another in program order, each on the device and with the kernel of the plan.",
    .after =
        "EXAMPLES\n"
        "  plimsoll verify --model resnet20 --data fashion-mnist --memory 45%\n"
        "  plimsoll verify --model mlp --data synthetic --plan plan.json --steps 20\n",
    .run = run_verify,
};
