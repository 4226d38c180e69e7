/* Makes built-in platforms, and platforms of a graph's own costs.
 *
 * Figures of the built-in platforms are from POET's code (Patil et al., ICML 2022). FLOP per joule and per second
 * follow from the rates measured there. The energy of a copy is its time multiplied by the power of the memory. */
#include "runtime/graph/space/platform.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/name.h"

typedef struct built_in {
  const char *name, *what;
  double flop_per_joule, flop_per_second; /* 0: was not published */
  double in_latency_s, in_bytes_per_second, out_latency_s, out_bytes_per_second, watt;
} built_in;

static const built_in table[] = {
    {"m0", "MKR1000", 2000 / (0.012 * 0.020 * 3.3), 2000 / 0.012, 0.109e-3, 4616510, 0.113e-3, 4440000, 0.33},
    {"m4", "Cortex-M4F at 64 MHz", 1628300000 / (255.6237 * 0.003328 * 3.3), 1628300000 / 255.6237, 0.109e-3, 4616510,
     0.113e-3, 4440000, 0.33},
    {"a72", "Raspberry Pi, cached writes", 1628300000 / (13.53 * 0.6 * 5), 2e9, 5.09561e-6, 45.5e6, 18.5314e-6, 24.5e6,
     0.15},
    {"a72nocache", "Raspberry Pi", 1628300000 / (13.53 * 0.6 * 5), 1628300000 / 13.53, 5.09561e-6, 45.5e6, 4.23532e-3,
     17.1e6, 0.15},
    {"jetsontx2", "Jetson TX2", 0, 0, 0.54e-3, 108.5e6, 2.396e-3, 94.37e6, 0.309},
};
enum { BUILT_IN = sizeof table / sizeof table[0] };

const char *plim_platform_name(int32_t row) {
  return row >= 0 && row < BUILT_IN ? table[row].name : NULL;
}

plim_status plim_platform_new(plim_context *ctx, int32_t n_devices, int32_t n_spaces, int32_t n_links,
                              plim_platform **out) {
  plim_platform *p = NULL;
  if (n_devices > PLIM_PLATFORM_DEVICES || n_spaces > PLIM_PLATFORM_SPACES || n_links > PLIM_PLATFORM_LINKS) {
    return plim_fail(ctx, PLIM_EDATA,
                     "a platform of %d devices, %d spaces and %d links: at most %d, %d and %d are allowed", n_devices,
                     n_spaces, n_links, PLIM_PLATFORM_DEVICES, PLIM_PLATFORM_SPACES, PLIM_PLATFORM_LINKS);
  }
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *p, &p));
  *p = (plim_platform){.ctx = ctx, .n_devices = n_devices, .n_spaces = n_spaces, .n_links = n_links};
  plim_status status = plim_allocate(ctx, n_devices, sizeof *p->device, &p->device);
  if (status == PLIM_OK) status = plim_allocate(ctx, n_spaces, sizeof *p->space, &p->space);
  if (status == PLIM_OK) status = plim_allocate(ctx, n_links, sizeof *p->link, &p->link);
  if (status != PLIM_OK) {
    plim_platform_free(p);
    return status;
  }
  for (int32_t s = 0; s < n_spaces; s++) p->space[s].budget_bytes = PLIM_BYTES_UNLIMITED;
  *out = p;
  return PLIM_OK;
}

void plim_platform_free(plim_platform *platform) {
  if (!platform) return;
  plim_release(platform->ctx, platform->device, platform->n_devices, sizeof *platform->device);
  plim_release(platform->ctx, platform->space, platform->n_spaces, sizeof *platform->space);
  plim_release(platform->ctx, platform->link, platform->n_links, sizeof *platform->link);
  plim_release(platform->ctx, platform, 1, sizeof *platform);
}

int32_t plim_platform_find_device(const plim_platform *platform, const char *name) {
  int32_t d = platform->n_devices - 1;
  while (d >= 0 && strcmp(platform->device[d].name, name) != 0) d--;
  return d;
}

int32_t plim_platform_find_space(const plim_platform *platform, const char *name) {
  int32_t s = platform->n_spaces - 1;
  while (s >= 0 && strcmp(platform->space[s].name, name) != 0) s--;
  return s;
}

int32_t plim_platform_find_link(const plim_platform *platform, int32_t from, int32_t to) {
  int32_t l = platform->n_links - 1;
  while (l >= 0 && (platform->link[l].from != from || platform->link[l].to != to)) l--;
  return l;
}

int plim_platform_computes(const plim_platform *platform, int32_t space, int32_t n_devices) {
  for (int32_t d = 0; d < n_devices; d++) {
    if (platform->device[d].space == space) return 1;
  }
  return 0;
}

int plim_platform_link_places(const plim_platform *platform, int32_t link) {
  return plim_platform_computes(platform, platform->link[link].from, platform->n_devices) &&
         plim_platform_computes(platform, platform->link[link].to, platform->n_devices);
}

int32_t plim_platform_queue_link(const plim_platform *platform, int32_t l) {
  int32_t back = plim_platform_find_link(platform, platform->link[l].to, platform->link[l].from);
  return back >= 0 && back < l && !(platform->link[l].duplex && platform->link[back].duplex) ? back : l;
}

int plim_platform_has_own_times(const plim_platform *platform, const plim_costs *costs) {
  for (int32_t d = 0; costs && d < platform->n_devices; d++) {
    if (plim_costs_find_device(costs, platform->device[d].name) >= 0) return 1;
  }
  return 0;
}

plim_status plim_platform_built_in(plim_context *ctx, const char *name, plim_platform **out) {
  char advice[PLIM_NAME_ADVICE_BYTES];
  plim_platform *p = NULL;
  int32_t row = plim_name_find(plim_platform_name, name);
  if (row < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "no platform is called \"%s\", and no file%s", name,
                     plim_name_advice(plim_platform_name, name, advice));
  }
  const built_in *b = &table[row];
  if (b->flop_per_joule <= 0 || b->flop_per_second <= 0) {
    return plim_fail(ctx, PLIM_EDATA,
                     "platform %s (%s): its FLOP per second and FLOP per joule were not published; give both in a "
                     "platform file, with links of %g and %g s latency, %g and %g bytes per second, %g W",
                     b->name, b->what, b->in_latency_s, b->out_latency_s, b->in_bytes_per_second,
                     b->out_bytes_per_second, b->watt);
  }
  PLIM_TRY(plim_platform_new(ctx, 1, 2, 2, &p));
  assert(p);
  (void)snprintf(p->name, sizeof p->name, "%s", b->name);
  p->device[0] = (plim_platform_device){.flop_per_second = b->flop_per_second, .flop_per_joule = b->flop_per_joule};
  (void)snprintf(p->device[0].name, sizeof p->device[0].name, "%s", b->name);
  (void)snprintf(p->space[0].name, sizeof p->space[0].name, "ram");
  (void)snprintf(p->space[1].name, sizeof p->space[1].name, "sd");
  p->link[0] = (plim_platform_link){.from = 0,
                                    .to = 1,
                                    .duplex = 1,
                                    .latency_s = b->out_latency_s,
                                    .bytes_per_second = b->out_bytes_per_second,
                                    .watt = b->watt};
  p->link[1] = (plim_platform_link){.from = 1,
                                    .to = 0,
                                    .duplex = 1,
                                    .latency_s = b->in_latency_s,
                                    .bytes_per_second = b->in_bytes_per_second,
                                    .watt = b->watt};
  *out = p;
  return PLIM_OK;
}

/* Does any op have a copy from a device to another? */
static int has_copy(const plim_costs *costs, int32_t from, int32_t to) {
  for (int32_t o = 0; o < costs->n_ops; o++) {
    if (costs->copy[plim_costs_copy_at(costs, o, from, to)] >= 0) return 1;
  }
  return 0;
}

plim_status plim_platform_from_costs(const plim_costs *costs, plim_platform **out) {
  plim_platform *p = NULL;
  int32_t n = costs->n_devices, n_links = 0;
  if (n == 0) return plim_fail(costs->ctx, PLIM_EDATA, "the graph names no devices: --platform NAME or FILE has some");
  for (int32_t pair = 0; pair < n * n; pair++) n_links += has_copy(costs, pair / n, pair % n);
  PLIM_TRY(plim_platform_new(costs->ctx, n, n, n_links, &p));
  assert(p);
  (void)snprintf(p->name, sizeof p->name, "graph");
  for (int32_t d = 0; d < n; d++) {
    p->device[d].space = d;
    memcpy(p->device[d].name, costs->device[d], sizeof p->device[d].name);
    memcpy(p->space[d].name, costs->device[d], sizeof p->space[d].name);
  }
  n_links = 0;
  for (int32_t pair = 0; pair < n * n; pair++) {
    if (!has_copy(costs, pair / n, pair % n)) continue;
    p->link[n_links++] = (plim_platform_link){.from = pair / n, .to = pair % n, .duplex = 1, .given = 1};
  }
  *out = p;
  return PLIM_OK;
}
