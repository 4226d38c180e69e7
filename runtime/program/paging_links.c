/* Fills the paging options with links that were measured or modelled. Copies run beside ops, so plans are made with the
 * bandwidth that a copy has while the threads compute. */
#include "runtime/program/paging_links.h"
#include "runtime/profile/device_link.h"

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

plim_status plim_paging_add_devices(plim_device *device, const plim_link_place *place, int32_t n,
                                    const int64_t *budget_bytes, plim_paging *paging) {
  static const char *const name[PLIM_PAGE_DEVICES] = {"cpu:1", "cpu:2", "cpu:3", "cpu:4", "cpu:5", "cpu:6", "cpu:7"};
  plim_page_link link;
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
