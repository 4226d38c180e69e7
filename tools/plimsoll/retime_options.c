/* How many steps are timed, and what came of it. */
#include "tools/plimsoll/retime_options.h"

#include <stdio.h>
#include <string.h>

#include "tools/plimsoll/session.h"

enum { GPU_STEPS = 8 /* kernels alone and kernels in a step differ more there: timed unless told otherwise */ };

static void on_retime(void *user, const plim_retime_report *report) {
  session *s = user;
  s->retime.report = *report;
  s->retime.reported = 1;
  progress_clear(&s->bar);
  if (s->o->json) return;
  printf("operations timed in place: %.3f ms a step, predicted were %.3f; ", (double)report->measured_ns / 1e6,
         (double)report->predicted_ns / 1e6);
  if (report->taken) {
    printf("from step %lld on a plan made with these times: %.3f ms, overhead %.2f %%\n", (long long)report->step,
           (double)report->again_ns / 1e6, report->overhead_percent);
  } else {
    printf("no plan made with these times is faster\n");
  }
  (void)fflush(stdout);
}

plim_status retime_set(session *s, plim_trainer_options *wanted) {
  int can = !s->o->online && strcmp(s->o->addresses, "planned") == 0;
  int64_t steps = s->o->retime;
  if (steps < 0) steps = can && strcmp(s->device->machine.device, "cuda") == 0 ? GPU_STEPS : 0;
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
