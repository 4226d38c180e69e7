/* Tuning constants of planner/paging, in one table. Only files of this folder include it.
 *
 * A field says its unit and where it counts; the table below it has the values. "More" says what a larger value trades.
 * "Measured" cites the row of docs/experiments.md in which the search that the value is for was measured. All values
 * were set by trial on training graphs of tens to thousands of ops. What depends on a value: plans that page. Proofs do
 * not. */
#ifndef PLIM_PLANNER_PAGING_PAGING_TUNING_H
#define PLIM_PLANNER_PAGING_PAGING_TUNING_H

#include <stdint.h>

enum {
  PLIM_PAGING_SPREADS = 5 /* sizes of the arrays of shares */,
  PLIM_PAGING_LEAN = 5,
  PLIM_QUEUE_SPREADS = 3,
  PLIM_PAGING_JOINED = 4
};

static const struct plim_paging_tuning {
  struct {
    int32_t fewer_part;         /* one part in so many of the time left is for a plan of one device fewer */
    int32_t once_part;          /* one part in so many is for plans that recompute nothing */
    int32_t last_part;          /* one part in so many is for a plan without copies */
    int32_t joined_part;        /* one part in so many is for each plan of all spaces as one arena ... */
    int32_t joined_moves_part;  /* ... or one part in so many of the iterations ... */
    int32_t joined_moves_an_op; /* ... and so many moves an op where nothing is limited */
    double
        joined[PLIM_PAGING_JOINED]; /* shares of the page space that count there, one plan each. Measured: e067056c */
    double lean[PLIM_PAGING_LEAN];  /* shares of the room beside an op's operands, for its workspace */
  } plan;
  struct {
    int32_t packing_rounds;            /* tries to pack a list. More: fuller spaces, slower */
    double share[PLIM_PAGING_SPREADS]; /* shares of the budgets in which copies spread, until one packs */
  } lower;
  struct {
    int32_t tightenings;              /* decodings with less and less room, until one packs ... */
    double tighter;                   /* ... and the share of the budgets that each takes away */
    double share[PLIM_QUEUE_SPREADS]; /* as lower.share, for the many lists of a search */
    int32_t window;                   /* runs that a move puts on another device, at most */
    int32_t narrow_percent;           /* percent of moves that are narrow: ... */
    int32_t narrow_window;            /* ... of so many runs, at most */
    int32_t rounds_max;               /* moves, at most */
    int32_t round_work;               /* runs that all moves together decode. More: better devices, slower */
    int32_t draws;                    /* decodings with victims drawn at random */
    int32_t many_runs;                /* runs above which a list is not drawn */
    int32_t ordered_runs;             /* runs above which a list is not ordered by list scheduling. Measured: 444c7c9 */
    double noise;         /* added to the logarithm of a victim's worth in the first draw, at most; then multiples */
    double slack;         /* share by which a move may be slower, at first */
    double unread_weight; /* weight of the time until the next read, against that of copies */
    int32_t part_of_time; /* one part in so many of the time left is for one search */
  } queue;
  struct {
    int64_t events;       /* events that the rounds of one search look at */
    int32_t searches;     /* searches, each from the best plan. Measured: 8758aaf1 */
    int32_t tighter_part; /* one part in so many of the bytes is taken away where a plan does not pack */
  } joint;
  struct {
    int32_t small_part; /* a parameter below one part in so many of all parameters stays in the arena */
  } homes;
} paging_tuning = {
    .plan = {.fewer_part = 2,
             .once_part = 3,
             .last_part = 2,
             .joined_part = 4,
             .joined_moves_part = 4,
             .joined_moves_an_op = 300,
             .joined = {1, 0.6, 0.3, 0.1},
             .lean = {1, 0.5, 0.25, 0.1, 0}},
    .lower = {.packing_rounds = 16, .share = {1, 0.97, 0.94, 0.9, 0.85}},
    .queue = {.tightenings = 4,
              .tighter = 0.05,
              .share = {1, 0.95, 0.88},
              .window = 12,
              .narrow_percent = 50,
              .narrow_window = 2,
              .rounds_max = 3000,
              .round_work = 600000,
              .draws = 12,
              .many_runs = 1500,
              .ordered_runs = 5000,
              .noise = 0.5,
              .slack = 0.002,
              .unread_weight = 0.01,
              .part_of_time = 3},
    .joint = {.events = 100000, .searches = 6, .tighter_part = 30},
    .homes = {.small_part = 256},
};

#endif
