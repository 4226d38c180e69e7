/* A platform's file gives the powers of this machine by the names of its devices and spaces; times are those of the
 * profile and of the measured links. */
#include "tools/plimsoll/energy_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/space/platform.h"

int energy_wanted(const options *o) {
  return o->objective && strcmp(o->objective, "energy") == 0;
}

/* ---- deadline ---- */

static plim_status choose_deadline(session *s) {
  const char *text = s->o->deadline;
  double x, seconds = 0;
  char *end;
  if (!text) return PLIM_OK;
  errno = 0;
  x = strtod(text, &end);
  if (errno == 0 && end != text && x > 0 && isfinite(x) && strcmp(end, "x") == 0) {
    seconds = x * (double)s->prep.keep_all->time_ns * 1e-9;
  } else if (end == text || *end == 0 || !options_time(text, &seconds)) {
    seconds = 0;
  }
  if (!(seconds >= 1e-9 && seconds < 1e9)) {
    return plim_fail(s->ctx, PLIM_EUSAGE,
                     "--deadline %.80s is neither a factor of keep-all as in 1.5x nor a time as in 3s or 20ms", text);
  }
  s->paging.deadline_ns = llround(seconds * 1e9);
  return PLIM_OK;
}

/* ---- powers ---- */

/* The device of the file: by its name, or for the first one by that without a number. */
static plim_status find_device(const session *s, const plim_platform *p, const char *name, const char *other,
                               int32_t *out) {
  int32_t d = plim_platform_find_device(p, name);
  if (d < 0) d = plim_platform_find_device(p, other);
  if (d >= 0 && p->device[d].watt > 0) {
    *out = d;
    return PLIM_OK;
  }
  return plim_fail(s->ctx, PLIM_EDATA, "%s: %s device '%s'%s: no power of it is known", s->o->platform,
                   d < 0 ? "there is no" : "no `watt` of", name, d < 0 ? " with its `watt`" : "");
}

static plim_status find_link(const session *s, const plim_platform *p, int32_t from, int32_t to, const char *what,
                             double *watt) {
  int32_t l = from < 0 || to < 0 ? -1 : plim_platform_find_link(p, from, to);
  if (l < 0) {
    return plim_fail(s->ctx, PLIM_EDATA, "%s: no link %s: no power of these copies is known", s->o->platform, what);
  }
  *watt = p->link[l].watt;
  return PLIM_OK;
}

static plim_status set_powers(session *s, const plim_platform *p) {
  int32_t first = -1, second = -1;
  const char *name = s->o->device;
  PLIM_TRY(find_device(s, p, s->paging.device ? "cpu:0" : name, s->paging.device ? name : "cpu:0", &first));
  s->powers.device_watt[0] = p->device[first].watt;
  s->powers.idle_watt = p->device[first].idle_watt;
  int32_t arena = p->device[first].space, page = s->paging.space ? plim_platform_find_space(p, s->paging.space) : -1;
  if (s->paging.device) {
    PLIM_TRY(find_device(s, p, s->paging.device, s->paging.device, &second));
    s->powers.device_watt[1] = p->device[second].watt;
    s->powers.idle_watt += p->device[second].idle_watt;
    PLIM_TRY(find_link(s, p, arena, p->device[second].space, "between the devices", &s->powers.device_link_watt));
  }
  if (!s->paging.space) return PLIM_OK;
  PLIM_TRY(find_link(s, p, arena, page, "from the arena to the page space", &s->powers.link_watt[PLIM_LINK_OUT]));
  return find_link(s, p, page, arena, "from the page space to the arena", &s->powers.link_watt[PLIM_LINK_IN]);
}

plim_status energy_choose(session *s) {
  plim_platform *platform = NULL;
  if (!energy_wanted(s->o)) return PLIM_OK;
  if (!s->planning.paging) {
    return plim_fail(s->ctx, PLIM_EUSAGE,
                     "--objective energy requires --memory of several spaces, as in cpu=48MiB,host=1GiB: in one the "
                     "plan of least time takes least energy");
  }
  PLIM_TRY(choose_deadline(s));
  PLIM_TRY(plim_platform_load(s->ctx, s->o->platform, &platform));
  plim_status status = set_powers(s, platform);
  plim_platform_free(platform);
  if (status == PLIM_OK) s->paging.powers = &s->powers;
  return status;
}

/* ---- figures ---- */

void energy_figures(figures *f, int column, const session *s, const plim_plan *plan) {
  if (!s->paging.powers || s->planning.paging != &s->paging) return;
  const double whole = plim_plan_energy(s->prep.keep_all, s->paging.powers);
  figures_real(f, column, "energy_joule", "energy, predicted", "%.6g J", plim_plan_energy(plan, s->paging.powers));
  figures_real(f, column, "keep_all_joule", NULL, "%.6g", whole);
  figures_note(f, column, ", keep-all %.6g J", whole);
  if (s->paging.deadline_ns <= 0) return;
  figures_count(f, column, "deadline_ns", NULL, s->paging.deadline_ns);
  figures_real(f, column, NULL, "deadline", "%.3f ms", (double)s->paging.deadline_ns * 1e-6);
  figures_note(f, column, ", the plan takes %.3f ms", (double)plan->time_ns * 1e-6);
}
