/* Makes, copies and checks costs by device. Each array is one allocation. Every number is set at the start: to
 * PLIM_UNKNOWN or PLIM_NONE, and workspaces to 0. */
#include "runtime/graph/costs.h"

#include <string.h>

#include "runtime/base/text.h"

static int64_t durations(const plim_costs *costs) {
  return (int64_t)costs->n_ops * costs->n_devices;
}

static int64_t copies(const plim_costs *costs) {
  return durations(costs) * costs->n_devices; /* below 2^31 * 2^12 */
}

static plim_status allocate(plim_costs *costs) {
  PLIM_TRY(plim_allocate(costs->ctx, costs->n_devices, sizeof *costs->device, &costs->device));
  PLIM_TRY(plim_allocate(costs->ctx, costs->n_ops, sizeof *costs->flops, &costs->flops));
  PLIM_TRY(plim_allocate(costs->ctx, durations(costs), sizeof *costs->duration, &costs->duration));
  PLIM_TRY(plim_allocate(costs->ctx, copies(costs), sizeof *costs->copy, &costs->copy));
  PLIM_TRY(plim_allocate(costs->ctx, costs->n_ops, sizeof *costs->workspace, &costs->workspace));
  for (int32_t o = 0; o < costs->n_ops; o++) costs->flops[o] = PLIM_UNKNOWN;
  for (int64_t i = 0; i < durations(costs); i++) costs->duration[i] = PLIM_NONE;
  for (int64_t i = 0; i < copies(costs); i++) costs->copy[i] = PLIM_NONE;
  return PLIM_OK;
}

plim_status plim_costs_new(plim_context *ctx, int32_t n_ops, int32_t n_devices, plim_costs **out) {
  plim_costs *c = NULL;
  if (n_devices > PLIM_COSTS_MAX_DEVICES) {
    return plim_fail(ctx, PLIM_EDATA, "%d devices are named, at most %d are allowed", n_devices,
                     PLIM_COSTS_MAX_DEVICES);
  }
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *c, &c));
  *c = (plim_costs){.ctx = ctx, .n_ops = n_ops, .n_devices = n_devices};
  plim_status status = allocate(c);
  if (status != PLIM_OK) {
    plim_costs_free(c);
    return status;
  }
  *out = c;
  return PLIM_OK;
}

void plim_costs_free(plim_costs *costs) {
  if (!costs) return;
  plim_release(costs->ctx, costs->device, costs->n_devices, sizeof *costs->device);
  plim_release(costs->ctx, costs->flops, costs->n_ops, sizeof *costs->flops);
  plim_release(costs->ctx, costs->duration, durations(costs), sizeof *costs->duration);
  plim_release(costs->ctx, costs->copy, copies(costs), sizeof *costs->copy);
  plim_release(costs->ctx, costs->workspace, costs->n_ops, sizeof *costs->workspace);
  plim_release(costs->ctx, costs, 1, sizeof *costs);
}

int plim_costs_any(const plim_costs *costs) {
  int any = costs->n_devices > 0;
  for (int32_t o = 0; o < costs->n_ops && !any; o++) any = costs->flops[o] >= 0 || costs->workspace[o] > 0;
  return any;
}

int32_t plim_costs_find_device(const plim_costs *costs, const char *name) {
  for (int32_t d = 0; d < costs->n_devices; d++) {
    if (strcmp(costs->device[d], name) == 0) return d;
  }
  return PLIM_NONE;
}

int plim_costs_find_copy(const plim_costs *costs, int32_t op, const char *from, const char *to, int64_t *time) {
  int32_t a = plim_costs_find_device(costs, from), b = plim_costs_find_device(costs, to);
  int64_t squared = (int64_t)costs->n_devices * costs->n_devices;
  int any = 0;
  if (a < 0 || b < 0) return 0;
  for (int64_t i = op * squared; i < (op + 1) * squared && !any; i++) any = costs->copy[i] >= 0;
  if (any) *time = costs->copy[plim_costs_copy_at(costs, op, a, b)];
  return any;
}

int plim_costs_is_name(const char *name) {
  size_t n = 0;
  for (; name[n]; n++) {
    if (name[n] == ' ' || !plim_text_is_printable(name[n]) || strchr("=,>;", name[n])) return 0;
  }
  return n > 0 && n < PLIM_COSTS_NAME_BYTES;
}

plim_status plim_costs_name_device(plim_costs *costs, int32_t device, const char *name) {
  if (!plim_costs_is_name(name)) {
    return plim_fail(costs->ctx, PLIM_EDATA,
                     "'%.80s' names no device: 1 to 31 printable characters without blank, =, comma, > and ;", name);
  }
  if (plim_costs_find_device(costs, name) >= 0) {
    return plim_fail(costs->ctx, PLIM_EDATA, "two devices are called '%s'", name);
  }
  (void)memcpy(costs->device[device], name, strlen(name) + 1);
  return PLIM_OK;
}

/* The sum of the known numbers at every stride-th index; -1 when it is too large. */
static int64_t sum_known(const int64_t *number, int64_t n, int64_t stride) {
  int64_t total = 0;
  for (int64_t i = 0; i < n && total >= 0; i += stride) {
    if (number[i] >= 0) total = plim_add_checked(total, number[i]);
    if (total > INT64_MAX / 4) total = -1;
  }
  return total;
}

plim_status plim_costs_check(const plim_costs *costs, int32_t n_ops) {
  if (costs->n_ops != n_ops) {
    return plim_fail(costs->ctx, PLIM_EDATA, "there are costs of %d ops, the graph has %d", costs->n_ops, n_ops);
  }
  if (sum_known(costs->flops, costs->n_ops, 1) < 0) {
    return plim_fail(costs->ctx, PLIM_EDATA, "the FLOP of all ops add up to more than 2^61");
  }
  for (int32_t d = 0; d < costs->n_devices; d++) {
    if (sum_known(costs->duration + d, durations(costs) - d, costs->n_devices) < 0) {
      return plim_fail(costs->ctx, PLIM_EDATA, "the durations on device %s add up to more than 2^61", costs->device[d]);
    }
  }
  if (sum_known(costs->copy, copies(costs), 1) < 0) {
    return plim_fail(costs->ctx, PLIM_EDATA, "the times of all copies add up to more than 2^61");
  }
  if (sum_known(costs->workspace, costs->n_ops, 1) < 0) {
    return plim_fail(costs->ctx, PLIM_EDATA, "the workspaces of all ops add up to more than 2^61 bytes");
  }
  return PLIM_OK;
}
