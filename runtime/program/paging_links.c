/* Fills the paging options with links that were measured or modelled. Copies run beside ops, so plans are made with the
 * bandwidth that a copy has while the threads compute. Powers come from a platform's file. */
#include "runtime/program/paging_links.h"

#include <assert.h>
#include <string.h>

#include "runtime/graph/space/platform.h"
#include "runtime/profile/device_link.h"

/* ---- links ---- */

/* A GPU has page-locked memory, and its copies take nothing from the processors of the host. */
static plim_status measure(plim_device *device, const plim_link_place *place, const char *space, plim_page_link *link) {
  if (place->modelled) {
    *link = plim_device_has_pinned(device) ? plim_device_link_model() : plim_page_link_model(space);
    return PLIM_OK;
  }
  if (plim_device_has_pinned(device)) return plim_device_link_measure(device, link);
  return plim_page_link_measure(device->ctx, space, place->page_file, place->cache_dir, link);
}

plim_status plim_paging_add_space(plim_device *device, const plim_link_place *place, const char *space,
                                  int64_t budget_bytes, plim_paging *paging) {
  plim_page_link link;
  PLIM_TRY(measure(device, place, space, &link));
  paging->space = space;
  paging->budget_bytes = budget_bytes;
  for (int in = 0; in < PLIM_LINK_DIRECTIONS; in++) {
    paging->latency_ns[in] = link.latency_ns[in];
    paging->bytes_per_ns[in] = link.beside_bytes_per_ns[in];
  }
  paging->delay_share = (link.delay_share[PLIM_LINK_OUT] + link.delay_share[PLIM_LINK_IN]) / 2;
  return PLIM_OK;
}

static plim_status check_devices(plim_context *ctx, int32_t n, int32_t least) {
  if (n >= least && n <= PLIM_PAGE_DEVICES) return PLIM_OK;
  return plim_fail(ctx, PLIM_EUSAGE, "%d devices beside the first one: %d to %d", (int)n, (int)least,
                   (int)PLIM_PAGE_DEVICES);
}

plim_status plim_paging_add_devices(plim_device *device, const plim_link_place *place, int32_t n,
                                    const int64_t *budget_bytes, plim_paging *paging) {
  static const char *const name[PLIM_PAGE_DEVICES] = {"cpu:1", "cpu:2", "cpu:3", "cpu:4", "cpu:5", "cpu:6", "cpu:7"};
  plim_page_link link;
  PLIM_TRY(check_devices(device->ctx, n, 1));
  PLIM_TRY(measure(device, place, "host", &link));
  for (int32_t i = 0; i < n; i++) paging->device[i] = (plim_paging_device){name[i], budget_bytes[i]};
  paging->n_devices = n;
  paging->device_latency_ns = link.latency_ns[PLIM_LINK_OUT];
  paging->device_bytes_per_ns = link.beside_bytes_per_ns[PLIM_LINK_OUT];
  return PLIM_OK;
}

plim_status plim_paging_of_plan(plim_device *device, const plim_link_place *place, const plim_plan *plan,
                                plim_paging *paging) {
  plim_paging found = plim_paging_default();
  int64_t budget_bytes[PLIM_PAGE_SPACES];
  int32_t n = 0;
  for (int32_t k = 0; k < plan->n_page_spaces; k++) {
    const plim_plan_space *page = &plan->page[k];
    const char *space = plim_page_is_file(page->name) ? "disk" : "host"; /* static, as *paging outlives the plan */
    if (page->computes) {
      budget_bytes[n++] = page->budget_bytes;
    } else {
      PLIM_TRY(plim_paging_add_space(device, place, space, page->budget_bytes, &found));
    }
  }
  if (n > PLIM_PAGE_DEVICES) {
    return plim_fail(device->ctx, PLIM_EDATA, "the plan has %d devices, %d are the most", (int)n + 1,
                     (int)PLIM_PAGE_DEVICES + 1);
  }
  if (n > 0) PLIM_TRY(plim_paging_add_devices(device, place, n, budget_bytes, &found));
  if (plan->n_page_spaces > 0) *paging = found;
  return PLIM_OK;
}

/* ---- powers ---- */

typedef struct power_source {
  const plim_platform *platform;
  const char *path, *device; /* of the file; of the first device */
  const plim_paging *paging;
} power_source;

/* The name of a space of the plan, and of the device that computes there. */
static const char *space_name(const power_source *s, int32_t space) {
  const plim_paging *o = s->paging;
  if (space > o->n_devices) return o->space;
  if (space > 0) return o->device[space - 1].name;
  return o->n_devices > 0 ? "cpu:0" : s->device;
}

/* The other name of the first device: "cpu" where the plan says "cpu:0", and the reverse. NULL: it has none. */
static const char *other_name(const power_source *s) {
  if (s->paging->n_devices > 0) return s->device;
  return strcmp(s->device, "cpu") == 0 ? "cpu:0" : NULL;
}

/* The device of the file, by its name or by its other name. */
static plim_status find_device(const power_source *s, int32_t space, const plim_platform_device **out) {
  const plim_platform *p = s->platform;
  const char *name = space_name(s, space);
  const char *other = space == 0 ? other_name(s) : NULL;
  int32_t d = plim_platform_find_device(p, name);
  if (d < 0 && other) d = plim_platform_find_device(p, other);
  if (d >= 0 && p->device[d].watt > 0) {
    *out = &p->device[d];
    return PLIM_OK;
  }
  return plim_fail(p->ctx, PLIM_EDATA, "%s: %s device '%s'%s: no power of it is known", s->path,
                   d < 0 ? "there is no" : "no `watt` of", name, d < 0 ? " with its `watt`" : "");
}

/* The powers of all links between n spaces. The file has them by its own numbers of spaces, `of` [n] in, -1: none. */
static plim_status set_links(const power_source *s, int32_t n, const int32_t *of, plim_powers *powers) {
  const plim_platform *p = s->platform;
  for (int32_t from = 0; from < n; from++) {
    for (int32_t to = 0; to < n; to++) {
      if (from == to) continue;
      const int32_t l = of[from] < 0 || of[to] < 0 ? -1 : plim_platform_find_link(p, of[from], of[to]);
      if (l < 0) {
        return plim_fail(p->ctx, PLIM_EDATA, "%s: no link from %s to %s: no power of these copies is known", s->path,
                         space_name(s, from), space_name(s, to));
      }
      powers->link_watt[from][to] = p->link[l].watt;
    }
  }
  return PLIM_OK;
}

static plim_status set_powers(const power_source *s, plim_powers *powers) {
  const plim_platform_device *device = NULL;
  int32_t of[PLIM_PLAN_SPACES], n = 0;
  for (; n <= s->paging->n_devices; n++) {
    PLIM_TRY(find_device(s, n, &device));
    assert(device);
    powers->device_watt[n] = device->watt;
    powers->idle_watt += device->idle_watt;
    of[n] = device->space;
  }
  if (s->paging->space) of[n++] = plim_platform_find_space(s->platform, s->paging->space);
  return set_links(s, n, of, powers);
}

plim_status plim_powers_load(plim_context *ctx, const char *path, const char *device, const plim_paging *paging,
                             plim_powers *powers) {
  plim_platform *platform = NULL;
  plim_powers found = {.idle_watt = 0};
  PLIM_TRY(check_devices(ctx, paging->n_devices, 0));
  PLIM_TRY(plim_platform_load(ctx, path, &platform));
  const power_source source = {platform, path, device, paging};
  plim_status status = set_powers(&source, &found);
  plim_platform_free(platform);
  if (status == PLIM_OK) *powers = found;
  return status;
}
