/* Energy of a step: powers from --platform, joules that counters measured. A platform's file gives the powers of
 * this machine by the names of its devices and spaces; times are those of the profile and of the measured links. */
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

/* The name of a space of the plan, and of the device that computes there. */
static const char *space_name(const session *s, int32_t space) {
  const plim_paging *o = &s->paging;
  if (space > o->n_devices) return o->space;
  if (space > 0) return o->device[space - 1].name;
  return o->n_devices > 0 ? "cpu:0" : s->o->device;
}

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

/* The powers of all links between n spaces. The file has them by its own numbers of spaces, `of` [n] in, -1: none. */
static plim_status set_links(session *s, const plim_platform *p, int32_t n, const int32_t *of) {
  for (int32_t from = 0; from < n; from++) {
    for (int32_t to = 0; to < n; to++) {
      if (from == to) continue;
      const int32_t l = of[from] < 0 || of[to] < 0 ? -1 : plim_platform_find_link(p, of[from], of[to]);
      if (l < 0) {
        return plim_fail(s->ctx, PLIM_EDATA, "%s: no link from %s to %s: no power of these copies is known",
                         s->o->platform, space_name(s, from), space_name(s, to));
      }
      s->powers.link_watt[from][to] = p->link[l].watt;
    }
  }
  return PLIM_OK;
}

static plim_status set_powers(session *s, const plim_platform *p) {
  const plim_paging *o = &s->paging;
  int32_t of[PLIM_PLAN_SPACES], n = 0, d = -1;
  s->powers.idle_watt = 0;
  for (; n <= o->n_devices; n++) {
    const char *other = n > 0 ? o->device[n - 1].name : o->n_devices > 0 ? s->o->device : "cpu:0";
    PLIM_TRY(find_device(s, p, space_name(s, n), other, &d));
    s->powers.device_watt[n] = p->device[d].watt;
    s->powers.idle_watt += p->device[d].idle_watt;
    of[n] = p->device[d].space;
  }
  if (o->space) of[n++] = plim_platform_find_space(p, o->space);
  return set_links(s, p, n, of);
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
