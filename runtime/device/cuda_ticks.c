/* Ticks are made once and recorded again and again. */
#include "runtime/device/cuda_ticks.h"

plim_status plim_cuda_ticks_reserve(plim_cuda_ticks *ticks, plim_context *ctx, const plim_cuda_driver *driver,
                                    int32_t n, int *code) {
  *code = 0;
  if (n > ticks->room) {
    PLIM_TRY(plim_resize_array(ctx, &ticks->tick, ticks->room, n, sizeof *ticks->tick));
    ticks->room = n;
  }
  for (; ticks->n < n; ticks->n++) {
    *code = driver->tick_new(&ticks->tick[ticks->n]);
    if (*code != 0) return PLIM_EDEVICE;
  }
  return PLIM_OK;
}

void plim_cuda_ticks_free(plim_cuda_ticks *ticks, plim_context *ctx, const plim_cuda_driver *driver) {
  for (int32_t i = 0; i < ticks->n; i++) (void)driver->tick_free(ticks->tick[i]);
  plim_release(ctx, ticks->tick, ticks->room, sizeof *ticks->tick);
  *ticks = (plim_cuda_ticks){0};
}

int plim_cuda_ticks_read(const plim_cuda_ticks *ticks, const plim_cuda_driver *driver, int32_t n, int64_t *time_ns) {
  for (int32_t i = 0; i < n; i++) {
    int code = driver->elapsed(ticks->tick[i], ticks->tick[i + 1], &time_ns[i]);
    if (code != 0) return code;
  }
  return 0;
}

int64_t plim_cuda_ticks_less(int64_t time_ns, int64_t tick_ns) {
  return time_ns > tick_ns + 1 ? time_ns - tick_ns : 1;
}

void plim_cuda_ticks_share(int64_t *time_ns, int32_t n, int64_t tick_ns, int64_t whole_ns) {
  int64_t sum_ns = 0, before_ns = 0, shared_ns = 0;
  for (int32_t i = 0; i < n; i++) {
    time_ns[i] = plim_cuda_ticks_less(time_ns[i], tick_ns);
    sum_ns += time_ns[i];
  }
  for (int32_t i = 0; i < n && whole_ns > 0; i++) {
    before_ns += time_ns[i];
    const int64_t end_ns = (int64_t)((double)before_ns / (double)sum_ns * (double)whole_ns + 0.5);
    time_ns[i] = end_ns - shared_ns;
    shared_ns = end_ns;
  }
}
