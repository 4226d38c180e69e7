/* Orders of runs over queues: the search, the pass that adds copies, and the order by the simulator. */
#ifndef PLIM_PLANNER_PAGING_QUEUE_SEARCH_H
#define PLIM_PLANNER_PAGING_QUEUE_SEARCH_H

#include "planner/paging/command_list.h"
#include "runtime/base/random.h"

/* ==== runs on queues (queue_decode.c, queue_order.c, queue_runs.c) ==== */

/* Runs with a device each, in an order, and the command list that they need: copies bring operands to where they are
 * read, and page out what does not fit. */

/* Runs of a plan of one arena, and who reads and writes what in them. */
typedef struct plim_queue_runs {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *plan; /* borrowed */
  int32_t n;             /* runs */
  int64_t *begin_ns;     /* [n + 1] one after another */
  int64_t n_accesses;
  int32_t *first; /* [n_storages + 1] into access */
  struct plim_run_access {
    int32_t run;
    int32_t reads, writes; /* both: an update */
  } * access;              /* by storage, then run */
} plim_queue_runs;

/* Find the runs of a plan that has one queue. O(plan). */
PLIM_MUST_USE plim_status plim_queue_runs_make(const plim_graph *graph, const plim_plan *plan, plim_queue_runs *out);
void plim_queue_runs_free(plim_queue_runs *runs);

/* Make the command list of the runs. Memory is treated as a cache: where a space has no room for what a run needs, the
 * buffer leaves whose next read is the latest for what its copies take.
 *   space   [n]  in      where each run is; a run that updates is in space 0, where persistent storages are at home
 *   noise        in      > 0: victims are chosen at random to that degree, drawn from `random`
 *   list    [1]  out     empty before
 *   fits    [1]  out     0: no room was found; the list is then incomplete
 * Uses are in the order of their commands. Packing may still ask for more than the budgets. O(runs x live buffers). */
PLIM_MUST_USE plim_status plim_queue_decode(const plim_queue_runs *runs, const plim_queue_spaces *spaces,
                                            const int32_t *space, double noise, plim_random *random,
                                            plim_command_list *list, int32_t *fits);

/* Order the runs, and choose a device for each, by list scheduling on the spaces that compute: runs that others wait
 * for come first. Bytes are not looked at.
 *   fixed  [n]  in   1: the run is in space 0
 *   order  [n]  out  runs, by when they would begin; a run comes after all that it depends on
 *   space  [n]  out  where each run is
 * O(runs x those that are ready at once x operands). Deterministic. PLIM_ECANCEL: the effort is over. */
PLIM_MUST_USE plim_status plim_queue_order(const plim_queue_runs *runs, const plim_queue_spaces *spaces,
                                           const uint8_t *fixed, int32_t *order, int32_t *space);

/* ==== search (queue_search.c) ==== */

/* Devices and copies for the runs of a plan of one arena. */

/* Search for the fastest checked plan that has the runs of `base`, with its recomputes and variants. `base` is a plan
 * of one arena of any size.
 *   options  in      budget_bytes, seed, iterations and paging are read
 *   best     in out  replaced (and freed) where a faster one is found; NULL: none yet
 * A plan that is not found is no failure. Deterministic without a deadline of the context. */
PLIM_MUST_USE plim_status plim_queue_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, const plim_plan *base,
                                            int64_t keep_all_ns, plim_plan **best);

/* ==== one pass with copies ==== */

/* A command list in the making: what is where after the runs so far, and what moves it. queue_places.c has what is
 * where, queue_room.c copies and what leaves, queue_decode.c the runs. No other file uses this. */

/* Storage s in a space. */
typedef struct plim_queue_place {
  int32_t last_use; /* run after which nothing has touched it, there or no longer there; -1: none has */
  int32_t at;       /* in open */
} plim_queue_place;

typedef struct plim_decoder {
  const plim_queue_runs *runs;
  const plim_graph *graph;
  const plim_queue_spaces *spaces;
  const int32_t *space;
  double noise;
  plim_random *random;
  plim_command_list *list;
  int32_t now;                     /* run */
  plim_queue_place *place;         /* [spaces][n_storages] */
  int32_t *buffer;                 /* [spaces][n_storages] of the list; -1: it is not there */
  int32_t *cursor;                 /* [n_storages] first access after the run in hand, or at it */
  int32_t *pinned;                 /* [n_storages] run + 1 for which it stays */
  int32_t *stuck;                  /* [n_storages] run + 1 for which it has nowhere to go */
  int32_t *open[PLIM_PLAN_SPACES]; /* [n_storages] storages that may leave */
  int32_t n_open[PLIM_PLAN_SPACES];
  int64_t live_bytes[PLIM_PLAN_SPACES];
  int64_t *most_bytes[PLIM_PLAN_SPACES]; /* [n + 1] live bytes at the end of each run */
  int32_t *over;                         /* by output of the op in hand: the storage that it overwrites, or -1 */
  int64_t *key;                          /* of commands */
  int64_t room_keys;
} plim_decoder;

/* ==== what is where (queue_places.c) ==== */

plim_queue_place *plim_decoder_place_of(const plim_decoder *d, int32_t storage, int32_t space);
int32_t *plim_decoder_buffer_of(const plim_decoder *d, int32_t storage, int32_t space);
int64_t plim_decoder_bytes_of(const plim_decoder *d, int32_t storage);

/* The next run after `run` that reads the storage with what it has now, in a space (-1: anywhere); INT32_MAX: none. */
int32_t plim_decoder_next_read(const plim_decoder *d, int32_t storage, int32_t space, int32_t run);

/* Has another space a buffer of it? */
int plim_decoder_is_elsewhere(const plim_decoder *d, int32_t storage, int32_t space);

/* An output that no later run writes is to be in space 0 at the end. */
int plim_decoder_is_last_output(const plim_decoder *d, int32_t storage, int32_t run);

/* Is the buffer of the storage there read, copied or handed over after `run`? */
int plim_decoder_is_wanted(const plim_decoder *d, int32_t storage, int32_t space, int32_t run);

/* A buffer of the list begins in the space, or ends there. */
void plim_decoder_open_place(plim_decoder *d, int32_t storage, int32_t space, int32_t buffer);
void plim_decoder_close_place(plim_decoder *d, int32_t storage, int32_t space);

/* ==== copies and room (queue_room.c) ==== */

void plim_decoder_add_command(plim_decoder *d, const plim_command *command, int64_t time_ns, int64_t key);

/* The target must have room. after: the last run before it in the order. */
void plim_decoder_add_copy(plim_decoder *d, int32_t storage, int32_t from, int32_t to, int64_t key, int32_t after);

/* Copy the storage to where it may wait for its next reader, after its last use. 0: there is no such space, or no room
 * there. Its buffer stays. */
int plim_decoder_page_out(plim_decoder *d, int32_t storage, int32_t space);

/* Buffers leave until so many bytes are free. 0: too few can. */
int plim_decoder_make_room(plim_decoder *d, int32_t space, int64_t bytes);

#endif
