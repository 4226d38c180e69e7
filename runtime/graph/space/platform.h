/* A platform: devices that compute, memory spaces, and links that copy between spaces, with the costs of computing and
 * copying in time and energy. graph.h has the rules for every document.
 *
 * platform_read.c reads the document, platform.c has the rest. */
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
  double watt;      /* drawn while it runs an op, where flop_per_joule is not known; 0: not known */
  double idle_watt; /* drawn during the whole makespan */
  int32_t space;    /* where it computes; links lead to its other spaces in the file */
} plim_platform_device;

typedef struct plim_platform_space {
  char name[PLIM_COSTS_NAME_BYTES];
  int64_t budget_bytes; /* from the platform's file, or PLIM_BYTES_UNLIMITED */
} plim_platform_space;

/* A link. A copy takes latency_s + bytes / bytes_per_second, and draws `watt` for this time. */
typedef struct plim_platform_link {
  int32_t from, to; /* spaces */
  int32_t duplex;   /* 1: it and the opposite link copy at the same time; 0: only one of them does */
  int32_t given;    /* 1: times of copies come from the graph, and latency and bandwidth are not read */
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

/* The name of built-in platform `row`, NULL after the last. */
const char *plim_platform_name(int32_t row);

/* Make a built-in platform. Free it with plim_platform_free, also below. PLIM_EUSAGE: there is none of that name; the
 * sentence has the nearest. PLIM_EDATA: its published figures are incomplete; the sentence says which are missing. */
PLIM_MUST_USE plim_status plim_platform_built_in(plim_context *ctx, const char *name, plim_platform **out);

/* Make the platform that a graph's costs describe: a device and a space for each name, and a link for each pair of
 * devices between which an op has a copy. PLIM_EDATA: they name no device. */
PLIM_MUST_USE plim_status plim_platform_from_costs(const plim_costs *costs, plim_platform **out);

/* Read a platform file: JSON (docs/formats.md), or the device file of XEngine, each of whose lines is
 * `name;cpu|gpu;number;streams;budget`. PLIM_ENOFILE, PLIM_EIO, PLIM_EDATA. */
PLIM_MUST_USE plim_status plim_platform_load(plim_context *ctx, const char *path, plim_platform **out);

/* Make a platform from the text of such a file; `file` names it in sentences. PLIM_EDATA. */
PLIM_MUST_USE plim_status plim_platform_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                              plim_platform **out);

void plim_platform_free(plim_platform *platform); /* NULL is legal */

/* The index of the device, or of the space, of that name, or PLIM_NONE. */
int32_t plim_platform_find_device(const plim_platform *platform, const char *name);
int32_t plim_platform_find_space(const plim_platform *platform, const char *name);
/* The link from a space to another, or PLIM_NONE. */
int32_t plim_platform_find_link(const plim_platform *platform, int32_t from, int32_t to);
/* Does one of the first n_devices devices compute in the space? O(n_devices). */
int plim_platform_computes(const plim_platform *platform, int32_t space, int32_t n_devices);
/* Do devices compute at both ends of the link? Copies over such a link place, those over any other link page.
 * O(devices). */
int plim_platform_link_places(const plim_platform *platform, int32_t link);
/* The link on whose queue the copies of a link run: the link itself, or the opposite link when that has a lower index
 * and the two are not both duplex. */
int32_t plim_platform_queue_link(const plim_platform *platform, int32_t link);

/* Are times in the unit of the graph's file, which is not stated? They are when the costs name a device of the
 * platform; otherwise times are nanoseconds. costs NULL is legal. */
int plim_platform_has_own_times(const plim_platform *platform, const plim_costs *costs);

/* Make a platform for the caller to fill in: every field is zero, except budgets, which are PLIM_BYTES_UNLIMITED.
 * PLIM_EDATA: more than the largest numbers above. */
PLIM_MUST_USE plim_status plim_platform_new(plim_context *ctx, int32_t n_devices, int32_t n_spaces, int32_t n_links,
                                            plim_platform **out);

#ifdef __cplusplus
}
#endif
#endif
