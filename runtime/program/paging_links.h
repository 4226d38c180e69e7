/* Paging: the options of a plan (plim_plan_options.paging), with the links that are measured on this machine.
 *
 * Measuring a link takes half a second, or no time when the cache has it. On failure *paging is untouched.
 * PLIM_ENOMEM, PLIM_EIO, PLIM_ENOFIT: a link cannot be measured, for lack of memory, or of a page file or room for it.
 * PLIM_EDEVICE: a GPU failed. The functions belong to the thread of the device. */
#ifndef PLIM_RUNTIME_PROGRAM_PAGING_LINKS_H
#define PLIM_RUNTIME_PROGRAM_PAGING_LINKS_H

#include "planner/planner.h"
#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a link is measured, and where its figures are kept. */
typedef struct plim_link_place {
  const char *page_file; /* of space "disk", as in plim_exec_options */
  const char *cache_dir; /* NULL: the user's cache folder; "": no cache */
  int32_t modelled;      /* 1: with modelled costs of ops: a typical link, nothing is measured */
} plim_link_place;

/* Add a page space, and the link to it.
 *   space         in      "host" or "disk"; borrowed by *paging
 *   budget_bytes  in      of the space */
PLIM_MUST_USE plim_status plim_paging_add_space(plim_device *device, const plim_link_place *place, const char *space,
                                                int64_t budget_bytes, plim_paging *paging);

/* Add n devices like this one, "cpu:1" and so on, and the link between two arenas, which is that of space "host".
 *   n             in  1 to PLIM_PAGE_DEVICES
 *   budget_bytes  in  [n] of their arenas */
PLIM_MUST_USE plim_status plim_paging_add_devices(plim_device *device, const plim_link_place *place, int32_t n,
                                                  const int64_t *budget_bytes, plim_paging *paging);

/* Set the options with which a plan that pages is planned again: its spaces with their budgets.
 *   paging  out  untouched when the plan has one space
 * PLIM_EDATA: the plan has more devices than paging. Otherwise the first failure. */
PLIM_MUST_USE plim_status plim_paging_of_plan(plim_device *device, const plim_link_place *place, const plim_plan *plan,
                                              plim_paging *paging);

#ifdef __cplusplus
}
#endif
#endif
