/* The arena while a schedule is replayed in it: which storage sits in which piece, what is pinned, what may be evicted;
 * and the plan that comes out: steps and lives, written as they happen. */
#ifndef PLIM_RUNTIME_ARENA_TENANTS_H
#define PLIM_RUNTIME_ARENA_TENANTS_H

#include "runtime/arena/forecast.h"
#include "runtime/arena/missing.h"
#include "runtime/arena/pieces.h"
#include "runtime/arena/replay.h"
#include "runtime/arena/window.h"

typedef struct plim_tenant {
  int32_t piece;     /* PLIM_NEVER: not resident */
  int32_t life;      /* index of its latest life */
  int32_t pins;      /* runs that need it where it is, or will when it has been computed again */
  int32_t next_read; /* position that reads it next, PLIM_NEVER: nobody; persistent storages and inputs: not used */
  int32_t last_read; /* last position that reads it before it is written again */
} plim_tenant;

typedef struct plim_tenants {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_forecast *forecast;
  plim_replay_counts *counts;
  int32_t two_ends; /* 1: cheap storages at the high end, dear ones at the low end; 0: all at the low end */
  int32_t position; /* of the schedule */
  plim_pieces *pieces;
  plim_missing missing;
  plim_tenant *tenant; /* [n_storages] */
  /* the plan so far; the lives' ends follow their latest use */
  int32_t n_steps, n_lives;
  int64_t step_capacity, life_capacity;
  plim_step *step;
  plim_life *life;
  /* scratch of the eviction: rows of the window search with their pieces; ops met while a window is priced */
  int64_t row_capacity, stamp;
  plim_window_row *row;
  int32_t *row_piece;
  int64_t *op_stamp; /* [n_ops] */
  int32_t *op_stack; /* [n_ops] */
} plim_tenants;

PLIM_MUST_USE plim_status plim_tenants_open(plim_context *ctx, const plim_forecast *forecast, int64_t bytes,
                                            int32_t two_ends, plim_replay_counts *counts, plim_tenants *out);
void plim_tenants_close(plim_tenants *tenants);

int plim_tenants_resident(const plim_tenants *tenants, int32_t storage);

/* Does a later position need the storage (for inputs: or may)? */
int plim_tenants_wanted(const plim_tenants *tenants, int32_t storage);

/* A piece and a life for a storage that is not resident, or for the workspace of the op (storage -1, with its bytes);
 * evicts what is cheapest when no free piece is large enough. `op` is named when there is no room: PLIM_ENOFIT. */
PLIM_MUST_USE plim_status plim_tenants_place(plim_tenants *tenants, int32_t op, int32_t storage, int64_t bytes,
                                             int32_t *piece);

/* In place: `out` takes the piece of `in`, whose life ends at the next step to be written. */
PLIM_MUST_USE plim_status plim_tenants_hand_over(plim_tenants *tenants, int32_t in, int32_t out);

/* The storage leaves its piece. *hole (may be NULL) is the free piece that contains it then. */
PLIM_MUST_USE plim_status plim_tenants_drop(plim_tenants *tenants, int32_t storage, int32_t *hole);

/* Drop it when it is resident, not pinned and not wanted. */
PLIM_MUST_USE plim_status plim_tenants_drop_unwanted(plim_tenants *tenants, int32_t storage);

/* Append a step; the next one is tenants->n_steps. */
PLIM_MUST_USE plim_status plim_tenants_add_step(plim_tenants *tenants, const plim_step *step);

/* The latest life of the storage is used at the step. */
void plim_tenants_use(plim_tenants *tenants, int32_t storage, int32_t step);

/* ---- evict.c ---- */

/* Evict the cheapest window of at least `bytes`; *hole is the free piece that it leaves, -1 when there is no window. */
PLIM_MUST_USE plim_status plim_tenants_evict(plim_tenants *tenants, int64_t bytes, int32_t *hole);

/* What it costs to evict one storage beside what is missing already: its own time and that of the classes of missing
 * inputs of its op and of missing wanted outputs of its readers. */
int64_t plim_tenants_price(plim_tenants *tenants, int32_t storage);

/* Time of the distinct ops that would have to run to have all of `storage` [n] again when all are gone together. */
int64_t plim_tenants_price_together(plim_tenants *tenants, int32_t n, const int32_t *storage);

#endif
