/* The budget of everything on a GPU: read, and checked once the first steps have run. */
#include "tools/plimsoll/vram_limit.h"

#include <string.h>

#include "runtime/base/size.h"
#include "runtime/device/vram.h"

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

plim_status vram_first_steps(run *r) {
  session *s = r->s;
  if (s->vram_bytes == 0) return PLIM_OK;
  PLIM_TRY(run_steps(r, smaller(r->total, 2)));
  return plim_vram_check(s->device, s->vram_bytes, plim_exec_arena_bytes(plim_trainer_exec(r->trainer)));
}
