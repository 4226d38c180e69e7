/* Layouts by measured time. Which one is faster depends on the instruction set, the shapes and the library, so nothing
 * is assumed; the profile cache makes the second run free. */
#include "tools/plimsoll/layout.h"

#include <string.h>

static const double tie = 0.97;

/* Those that the device's kernels are made for; a network without images in between has no use for more than one. */
static int candidates(const session *s, plim_layout *layout) {
  memcpy(layout, s->device->layout, sizeof s->device->layout);
  return strcmp(s->o->model, "mlp") == 0 ? 1 : (int)s->device->n_layouts;
}

/* Every op of the training step once, with its fastest variant. */
static int64_t fastest_ns(const plim_profile *profile) {
  int64_t sum = 0;
  for (int32_t op = 0; op < profile->n_ops; op++) {
    int64_t best = INT64_MAX;
    for (int32_t i = profile->first[op]; i < profile->first[op + 1]; i++) {
      if (profile->variant[i].time_ns < best) best = profile->variant[i].time_ns;
    }
    sum += best;
  }
  return sum;
}

plim_status layout_choose(session *s, plim_program **out) {
  plim_layout layout[PLIM_DEVICE_LAYOUTS];
  plim_program *best = NULL;
  int64_t best_ns = 0;
  int count = candidates(s, layout), given = plim_layout_find(s->o->layout);
  if (given >= 0) {
    count = 1;
    layout[0] = (plim_layout)given;
  }
  for (int i = 0; i < count; i++) {
    plim_program *p;
    plim_status status = session_begin_program(s, layout[i], (int32_t)s->o->batch, s->o->model_costs, &p);
    if (status != PLIM_OK) {
      plim_program_free(best);
      return status;
    }
    int64_t ns = fastest_ns(p->profile[PLIM_PROGRAM_TRAIN]);
    if (best && (double)ns >= tie * (double)best_ns) {
      plim_program_free(p);
      continue;
    }
    plim_program_free(best);
    best = p;
    best_ns = ns;
    s->layout = layout[i];
  }
  *out = best;
  return PLIM_OK;
}
