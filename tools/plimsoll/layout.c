/* Layouts by measured time. Which one is faster depends on the instruction set, the shapes and the library, so nothing
 * is assumed; the profile cache makes the second run free. Where a library builds the kernels of convolutions, which
 * takes most of a start, the heaviest convolutions decide, and all are measured in the layout that wins. */
#include "tools/plimsoll/layout.h"

#include <string.h>

static const double tie = 0.97;
enum { SAMPLE = 6 /* convolutions, of the 2 to 3 x 23 of ResNet-50 */ };

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

/* Which of two layouts: the earlier one unless the later one is faster by more than a tie. */
static int is_faster(int64_t later_ns, int64_t earlier_ns) {
  return (double)later_ns < tie * (double)earlier_ns;
}

static plim_status decide_by_sample(session *s, int count, plim_layout *layout) {
  int64_t best_ns = 0;
  plim_layout best = layout[0];
  for (int i = 0; i < count; i++) {
    plim_profile *sample = NULL;
    PLIM_TRY(session_sample(s, layout[i], SAMPLE, &sample));
    const int64_t ns = fastest_ns(sample);
    plim_profile_free(sample);
    if (i > 0 && !is_faster(ns, best_ns)) continue;
    best = layout[i];
    best_ns = ns;
  }
  layout[0] = best;
  return PLIM_OK;
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
  if (count > 1 && s->device->builds && !s->o->model_costs) {
    PLIM_TRY(decide_by_sample(s, count, layout));
    count = 1;
  }
  for (int i = 0; i < count; i++) {
    plim_program *p;
    plim_status status = session_begin_program(s, layout[i], (int32_t)s->o->batch, s->o->model_costs, &p);
    if (status != PLIM_OK) {
      plim_program_free(best);
      return status;
    }
    int64_t ns = fastest_ns(p->profile[PLIM_PROGRAM_TRAIN]);
    if (best && !is_faster(ns, best_ns)) {
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
