/* Tuning constants of planner/paging, in one table. Only files of this folder include it.
 *
 * A row has the value, its unit and where it counts; "more" says what a larger value trades. All were set by trial on
 * training graphs of tens to thousands of ops. What depends on a value: plans that page. Proofs do not. */
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
    int32_t fewer_part, joined_part, last_part, once_part, joined_moves_part, joined_moves_an_op;
    double lean[PLIM_PAGING_LEAN], joined[PLIM_PAGING_JOINED];
  } plan;
  struct {
    int32_t packing_rounds;
    double share[PLIM_PAGING_SPREADS];
  } lower;
  struct {
    int32_t tightenings, window, narrow_window, narrow_percent, rounds_max, round_work, draws, many_runs, ordered_runs,
        part_of_time;
    double share[PLIM_QUEUE_SPREADS], tighter, noise, slack, unread_weight;
  } queue;
  struct {
    int64_t events;
    int32_t searches, tighter_part;
  } joint;
  struct {
    int32_t small_part;
  } homes;
} paging_tuning = {
    .plan =
        {
            .fewer_part = 2,                /* one part in so many of the time left is for a plan of one device fewer */
            .once_part = 3,                 /* one part in so many is for plans that recompute nothing */
            .last_part = 2,                 /* one part in so many is for a plan without copies */
            .joined_part = 4,               /* one part in so many is for each plan of all spaces as one arena ... */
            .joined_moves_part = 4,         /* ... or one part in so many of the iterations ... */
            .joined_moves_an_op = 300,      /* ... and so many moves an op where nothing is limited */
            .joined = {1, 0.6, 0.3, 0.1},   /* shares of the page space that count there, one plan each */
            .lean = {1, 0.5, 0.25, 0.1, 0}, /* shares of the room beside an op's operands, for its workspace */
        },
    .lower =
        {
            .packing_rounds = 16,                /* tries to pack a list. More: fuller spaces, slower */
            .share = {1, 0.97, 0.94, 0.9, 0.85}, /* shares of the budgets in which copies spread, until one packs */
        },
    .queue =
        {
            .tightenings = 4,         /* decodings with less and less room, until one packs ... */
            .tighter = 0.05,          /* ... and the share of the budgets that each takes away */
            .share = {1, 0.95, 0.88}, /* as lower.share, for the many lists of a search */
            .window = 12,             /* runs that a move puts on another device, at most */
            .narrow_percent = 50,     /* percent of moves that are narrow: ... */
            .narrow_window = 2,       /* ... of so many runs, at most */
            .rounds_max = 3000,       /* moves, at most */
            .round_work = 600000,     /* runs that all moves together decode. More: better devices, slower */
            .draws = 12,              /* decodings with victims drawn at random */
            .many_runs = 1500,        /* runs above which a list is not drawn */
            .ordered_runs = 5000,     /* runs above which a list is not ordered by list scheduling */
            .noise = 0.5,   /* of the logarithm of a victim's worth in the first draw; later ones have multiples */
            .slack = 0.002, /* share by which a move may be slower, at first */
            .unread_weight = 0.01, /* of the time until the next read, against that of copies */
            .part_of_time = 3,     /* one part in so many of the time left is for one search */
        },
    .joint =
        {
            .events = 100000,   /* events that the rounds of one search look at */
            .searches = 6,      /* searches, each from the best plan */
            .tighter_part = 30, /* one part in so many of the bytes is taken away where a plan does not pack */
        },
    .homes =
        {
            .small_part = 256, /* a parameter below one part in so many of all parameters stays in the arena */
        },
};

#endif
