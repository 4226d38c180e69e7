/* A platform: devices that compute, the memory spaces beside them, and links that copy between spaces, with what
 * computing and copying cost there in time and energy. */
#ifndef PLIM_RUNTIME_GRAPH_SPACE_PLATFORM_H
#define PLIM_RUNTIME_GRAPH_SPACE_PLATFORM_H

#include "runtime/graph/costs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_PLATFORM_DEVICES = PLIM_COSTS_MAX_DEVICES, PLIM_PLATFORM_SPACES = 128, PLIM_PLATFORM_LINKS = 4096 };

typedef struct plim_platform_device {
  char name[PLIM_COSTS_NAME_BYTES];
  double flop_per_second, flop_per_joule; /* 0: not known */
  double idle_watt;                       /* drawn during the whole makespan */
  int32_t space;                          /* where it computes; the others that the file lists are reached by links */
} plim_platform_device;

typedef struct plim_platform_space {
  char name[PLIM_COSTS_NAME_BYTES];
  int64_t budget_bytes; /* that the platform's file gives; INT64_MAX: none */
} plim_platform_space;

/* A copy takes latency_s + bytes / bytes_per_second and draws `watt` meanwhile. The link's times come from the graph
 * where `given` is 1. */
typedef struct plim_platform_link {
  int32_t from, to; /* spaces */
  int32_t duplex;   /* 1: copies at once with the link of the opposite direction; 0: one after the other */
  int32_t given;
  double latency_s, bytes_per_second, watt;
} plim_platform_link;

typedef struct plim_platform {
  plim_context *ctx;
  char name[PLIM_COSTS_NAME_BYTES];
  int32_t n_devices, n_spaces, n_links;
  plim_platform_device *device; /* [n_devices] */
  plim_platform_space *space;   /* [n_spaces] */
  plim_platform_link *link;     /* [n_links] no two alike in from and to */
} plim_platform;

/* Name of a built-in platform by its row, NULL after the last. */
const char *plim_platform_name(int32_t row);

/* A built-in platform. PLIM_EUSAGE with the nearest name; PLIM_EDATA, with what to give, for one whose figures are
 * incomplete. */
PLIM_MUST_USE plim_status plim_platform_built_in(plim_context *ctx, const char *name, plim_platform **out);

/* The platform that a graph's costs describe: a device and a space of each name, and a link wherever an op has a copy.
 * PLIM_EDATA when they name no device. */
PLIM_MUST_USE plim_status plim_platform_from_costs(const plim_costs *costs, plim_platform **out);

/* Read a file: JSON (docs/formats.md), or the device file of XEngine, `name;cpu|gpu;number;streams;budget` a line. */
PLIM_MUST_USE plim_status plim_platform_load(plim_context *ctx, const char *path, plim_platform **out);

/* The same for a text; `file` names it in sentences. */
PLIM_MUST_USE plim_status plim_platform_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                              plim_platform **out);

void plim_platform_free(plim_platform *platform); /* NULL is legal */

/* By name, -1: none. */
int32_t plim_platform_find_device(const plim_platform *platform, const char *name);
int32_t plim_platform_find_space(const plim_platform *platform, const char *name);
/* The link from a space to another, -1: none. */
int32_t plim_platform_find_link(const plim_platform *platform, int32_t from, int32_t to);
/* The link whose queue the copies of a link take: the link itself, or the one of the opposite direction where that
 * comes before it and not both are duplex. */
int32_t plim_platform_queue_link(const plim_platform *platform, int32_t link);

/* 1 when the graph names a device of the platform: its times are then in the unit of the graph's file, which no one
 * names. Else 0: times are nanoseconds. costs NULL is legal. */
int plim_platform_has_own_times(const plim_platform *platform, const plim_costs *costs);

/* ---- for those who make platforms ---- */
PLIM_MUST_USE plim_status plim_platform_new(plim_context *ctx, int32_t n_devices, int32_t n_spaces, int32_t n_links,
                                            plim_platform **out);

#ifdef __cplusplus
}
#endif
#endif
