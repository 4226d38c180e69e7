/* Which kernels run, and so what they load, follows from the plan, and the plan from the arena's bytes. So a first plan
 * is made for somewhat less than what is left when nothing has run, and run until everything is loaded and captured;
 * the real one gets all that is left then. */
#include "tools/plimsoll/vram_limit.h"

#include <string.h>

#include "runtime/base/size.h"
#include "runtime/device/vram.h"
#include "runtime/train/warm_up.h"
#include "tools/plimsoll/numerics.h"

enum { HEADROOM = 8 /* the first plan leaves one part in so many to what it loads */ };

plim_status vram_parse(session *s) {
  plim_size size;
  if (!s->o->vram) return PLIM_OK;
  if (strchr(s->o->vram, '%')) {
    return plim_fail(s->ctx, PLIM_EUSAGE,
                     "--vram %s: percentages are not allowed here, since it bounds more than the arena; give bytes",
                     s->o->vram);
  }
  PLIM_TRY(plim_size_parse(s->ctx, s->o->vram, &size));
  s->vram_bytes = plim_size_bytes(&size, 0);
  if (s->vram_bytes <= 0) return plim_fail(s->ctx, PLIM_EUSAGE, "--vram %s does not fit in 63 bits", s->o->vram);
  if (strcmp(s->device->machine.device, "cuda") == 0) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_EUSAGE, "--vram requires --device cuda:0; --memory bounds the arena of %s",
                   s->device->machine.device);
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* A plan within `bytes`, with its refusal. */
static plim_status plan_within(session *s, int64_t bytes) {
  char left[PLIM_SIZE_TEXT_BYTES];
  s->planning.budget_bytes = bytes;
  plim_status status = session_plan(s);
  if (status != PLIM_ENOFIT) return status;
  return plim_fail(s->ctx, PLIM_ENOFIT, "--vram %s leaves %s for the arena: %s", s->o->vram,
                   plim_size_print(bytes, left), plim_context_error(s->ctx));
}

/* What is not fixed by --plan or --online may be planned for less at first. */
static plim_status plan_first(session *s, int64_t bytes) {
  if (!s->o->plan && !s->o->online) {
    int again = 1;
    plim_status status = PLIM_OK;
    s->planning.budget_bytes = bytes - bytes / HEADROOM;
    while (again && status == PLIM_OK) {
      again = 0;
      status = plim_program_plan(s->program, &s->planning);
      if (status == PLIM_OK) status = variants_rehearse(s, &again);
    }
    if (status != PLIM_ENOFIT) return status;
  }
  return plan_within(s, bytes);
}

plim_status vram_plan(session *s) {
  int64_t wanted = s->planning.budget_bytes, left = 0, captured = 0;
  PLIM_TRY(plim_vram_left(s->device, s->vram_bytes, 0, &left));
  PLIM_TRY(plan_first(s, smaller(wanted, left)));
  plim_trainer_options training = session_trainer_options(s, session_total_steps(s));
  PLIM_TRY(plim_vram_warm_up(s->device, s->dataset, s->program, &training, &captured));
  PLIM_TRY(plim_vram_left(s->device, s->vram_bytes, captured, &left));
  return plan_within(s, smaller(wanted, left));
}

plim_status vram_first_steps(run *r) {
  session *s = r->s;
  if (s->vram_bytes == 0) return PLIM_OK;
  PLIM_TRY(run_steps(r, smaller(r->total, 2)));
  return plim_vram_check(s->device, s->vram_bytes, plim_exec_arena_bytes(plim_trainer_exec(r->trainer)));
}
