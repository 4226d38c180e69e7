/* Paging: the options of a plan (plim_plan_options.paging), with the links that are measured on this machine, and the
 * powers that a file gives for it.
 *
 * Measuring a link takes half a second, or no time when the cache has it. On failure *paging and *powers are untouched.
 * PLIM_ENOMEM, PLIM_EIO, PLIM_ENOFIT: a link cannot be measured, for lack of memory, or of a page file or room for it.
 * PLIM_EDEVICE: a GPU failed. The functions that take a device belong to its thread. */
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
 *   n             in  1 to PLIM_PAGE_DEVICES; PLIM_EUSAGE for another number
 *   budget_bytes  in  [n] of their arenas */
PLIM_MUST_USE plim_status plim_paging_add_devices(plim_device *device, const plim_link_place *place, int32_t n,
                                                  const int64_t *budget_bytes, plim_paging *paging);

/* Set the options with which a plan that pages is planned again: its spaces with their budgets.
 *   paging  out  untouched when the plan has one space
 * PLIM_EDATA: the plan has more devices than paging. Otherwise the first failure. */
PLIM_MUST_USE plim_status plim_paging_of_plan(plim_device *device, const plim_link_place *place, const plim_plan *plan,
                                              plim_paging *paging);

/* Read the powers of the devices and links of a plan from a platform file (docs/formats.md), by the names of its
 * devices and spaces. Times come from the profile and the measured links, not from the file.
 *   device  in   name of the first device, as "cpu"; with other devices beside it, "cpu:0" comes first. The file
 *                may have either name for a first CPU
 *   paging  in   with its spaces and devices; powers are not read
 *   powers  out  of all devices and of all links between the spaces
 * PLIM_EUSAGE: `paging` has more devices than there may be. PLIM_EDATA: the file has no power for a device or no link
 * between two spaces; the sentence names them. Otherwise the errors of reading a document. O(file). Thread-safe with
 * different contexts. */
PLIM_MUST_USE plim_status plim_powers_load(plim_context *ctx, const char *path, const char *device,
                                           const plim_paging *paging, plim_powers *powers);

#ifdef __cplusplus
}
#endif
#endif
