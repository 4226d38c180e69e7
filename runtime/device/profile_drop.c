/* An error that stays (an illegal address, a lost device) shows when the device is waited for: nothing that follows
 * would succeed, so it ends the run. Any other is one kernel's. */
#include "runtime/device/profile_drop.h"

#include <stdio.h>
#include <string.h>

plim_status plim_profile_drop(plim_profile_set *set, const plim_profile_group *group, plim_profile_case *c,
                              const char *why) {
  int32_t left = 0;
  if (c->kernel) set->device->api->unprepare(set->device, c->kernel);
  c->kernel = NULL;
  c->dropped = 1;
  c->left_out_ns = INT64_MAX; /* no start has more time than that */
  c->variant.time_ns = -1;
  (void)snprintf(c->why, sizeof c->why, "%s", why);
  for (char *at = c->why; *at; at++) *at = *at < 0x20 || *at > 0x7e ? '?' : *at; /* what a document may hold */
  for (int32_t i = group->first; i < group->first + group->n; i++) left += !set->cases[i].dropped;
  if (left > 0) return PLIM_OK;
  return plim_fail(set->device->ctx, PLIM_EDEVICE, "op \"%s\" has no variant left; the last, \"%s\": %s",
                   set->graph->op[group->op].name, c->variant.name, c->why);
}

plim_status plim_profile_drop_failed(plim_profile_set *set, const plim_profile_group *group, plim_profile_case *c,
                                     plim_status failed) {
  plim_device *device = set->device;
  plim_context *ctx = device->ctx;
  const int of_kernel = failed == PLIM_EDEVICE || failed == PLIM_EUNSUPPORTED;
  char why[PLIM_ERROR_BYTES / 2], after[PLIM_ERROR_BYTES / 2];
  (void)snprintf(why, sizeof why, "%s", plim_context_error(ctx));
  plim_status recovered = failed == PLIM_EUNSUPPORTED ? PLIM_OK : failed; /* the device has not been asked yet */
  if (of_kernel && device->api->recover) recovered = device->api->recover(device);
  if (recovered == PLIM_OK) return plim_profile_drop(set, group, c, why);
  (void)snprintf(after, sizeof after, "%s", plim_context_error(ctx));
  const int same = strcmp(why, after) == 0;
  return plim_fail(ctx, failed, "op \"%s\", variant \"%s\": %s%s%s", set->graph->op[group->op].name, c->variant.name,
                   why, same ? "" : "; then ", same ? "" : after);
}
