/* Finds the small storages, which may have a part of the arena for themselves, so that they do not split the room for
 * large ones. They are the smallest ones that together have at most 1/1024 of all bytes that ops write. They are half
 * of a network's storages (statistics, losses, gradients of biases), and use hardly any of its memory. Of storages of
 * equal size either all are small or none is. Nothing in the small area is evicted, so it is as large as their peak.
 *
 * Source of the share: OneFlow's Coop keeps 10 MiB for requests of at most 10 KiB, in arenas of several GiB. Fixed
 * sizes would not suit smaller arenas. */
#include "runtime/arena/small.h"

#include "runtime/base/integers.h"

enum { SHARE = 1024 };

static int64_t rounded_bytes(const plim_forecast *forecast, int32_t storage) {
  return plim_align_up(forecast->graph->storage[storage].bytes, PLIM_ALIGN);
}

/* The size of the largest small storage; 0: none is small. bytes [n_storages] is scratch. */
static int64_t find_limit(const plim_forecast *forecast, int64_t *bytes) {
  int32_t n = 0;
  int64_t limit = 0;
  double total = 0, below = 0;
  for (int32_t s = 0; s < forecast->graph->n_storages; s++) {
    if (forecast->graph->storage[s].producer < 0) continue;
    bytes[n] = rounded_bytes(forecast, s);
    total += (double)bytes[n++];
  }
  plim_integers_sort(bytes, n);
  for (int32_t i = 0; i < n; i++) {
    below += (double)bytes[i];
    if (below * SHARE > total) break;
    if (i + 1 == n || bytes[i + 1] > bytes[i]) limit = bytes[i];
  }
  return limit;
}

/* The peak of the bytes of small storages when nothing is evicted. change [n_commands + 1] is scratch, zeros. */
static int64_t find_peak(const plim_forecast *forecast, int64_t *change) {
  int32_t n = forecast->schedule->n_commands;
  int64_t bytes_now = 0, most = 0;
  for (int32_t j = 0; j < n; j++) {
    const plim_op *op = &forecast->graph->op[forecast->schedule->command[j].op];
    for (int32_t k = 0; k < op->n_writes; k++) {
      int32_t last = forecast->last_read[forecast->first_use[j] + op->n_reads + k]; /* n: an output */
      int64_t bytes = rounded_bytes(forecast, op->writes[k]);
      if (bytes > forecast->small_bytes) continue;
      change[j] += bytes;
      if (last < n) change[(last > j ? last : j) + 1] -= bytes;
    }
  }
  for (int32_t j = 0; j < n; j++) {
    bytes_now += change[j];
    if (bytes_now > most) most = bytes_now;
  }
  return most;
}

plim_status plim_forecast_find_small(plim_forecast *forecast) {
  int64_t n_storages = forecast->graph->n_storages, n_commands = forecast->schedule->n_commands;
  int64_t *bytes = NULL, *change = NULL;
  plim_status status = PLIM_OK;
  PLIM_TRY_OR_DONE(plim_allocate(forecast->ctx, n_storages, sizeof *bytes, &bytes));
  PLIM_TRY_OR_DONE(plim_allocate(forecast->ctx, n_commands + 1, sizeof *change, &change));
  forecast->small_bytes = find_limit(forecast, bytes);
  forecast->small_peak_bytes = find_peak(forecast, change);
done:
  plim_release(forecast->ctx, bytes, n_storages, sizeof *bytes);
  plim_release(forecast->ctx, change, n_commands + 1, sizeof *change);
  return status;
}
