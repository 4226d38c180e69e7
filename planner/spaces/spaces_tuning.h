/* Tuning constants of planner/spaces, in one table. Only files of this folder and those below it include it.
 *
 * Each row states the unit and what a larger value does. All were set by trial on the published placement and paging
 * instances and on random graphs of up to 20,000 ops. A change of a value changes plans over spaces, and how sharp
 * their bounds are; it changes no proof. */
#ifndef PLIM_PLANNER_SPACES_SPACES_TUNING_H
#define PLIM_PLANNER_SPACES_SPACES_TUNING_H

#include <stdint.h>

enum { PLIM_SPACE_BOUND_ROWS = 250, PLIM_SPACE_REFILLS = 400 /* insertions of one decision: size of arrays */ };
enum { PLIM_SPACE_LEAVERS = 32 /* buffers that a start on demand evicts after one look: size of an array */ };

enum { /* numbers of weights to draw from */
       PLIM_SPACE_DRAWN_COPIES = 4,
       PLIM_SPACE_DRAWN_PRICES = 7,
       PLIM_SPACE_DRAWN_BYTES = 2,
       PLIM_SPACE_DRAWN_TIMES = 3,
       PLIM_SPACE_DRAWN_BESIDE = 4,
       PLIM_SPACE_START_COPIES = 3,
       PLIM_SPACE_START_TIMES = 3
};

static const struct plim_spaces_tuning {
  struct {
    int32_t patience, patience_anew, rounds_anew, anew, starts, drawn_starts, large_nodes, large_starts, alone;
    double slack, least_copies, most_copies, more_copies;
    double start_copies[PLIM_SPACE_START_COPIES], start_by_time[PLIM_SPACE_START_TIMES], haste, haste_late;
  } search;
  struct {
    int32_t devices_below, run_below, out_from, out_whole, out_width, out_percent, devices_width, one_percent,
        turn_percent, later_percent, drawn_order_percent;
  } move;
  struct {
    double copies[PLIM_SPACE_DRAWN_COPIES], prices[PLIM_SPACE_DRAWN_PRICES], by_bytes[PLIM_SPACE_DRAWN_BYTES],
        by_time[PLIM_SPACE_DRAWN_TIMES], beside[PLIM_SPACE_DRAWN_BESIDE], noise;
    int32_t noise_percent, first_percent, stay_percent;
  } draw;
  struct {
    int32_t percent;
    int64_t reserve_ns_a_node;
  } first;
  struct {
    int32_t nodes, tries, iterations, patience, passes;
    double above_first, above_least, above_part, gain, rounding;
  } bound;
  struct {
    int32_t fetches, steps_a_node, steps_least, steps_a_report, work_a_buffer;
  } cover;
  struct {
    int32_t looked, preds, events_a_node;
  } demand;
  struct {
    int32_t trials, rounds;
  } smallest;
  struct {
    int32_t candidates, events;
  } gather;
  struct {
    int32_t columns, rounds, events_alone, events_before, bound_parts, refusal_parts, search_parts;
    int64_t search_ns_min, unlimited_ns, solver_ns_min;
  } program;
} spaces_tuning = {
    .search =
        {
            .patience = 150, /* rounds of local search without a gain before it goes back to the best */
            /* patience of a long search, which has at least rounds_anew rounds for each node. 120, 250, 500
             * and 1,000 rounds: 1.002 to 1.004 of the least makespan that any setting found; without beginning anew
             * 1.009 (150 graphs of bench joint on two devices) */
            .patience_anew = 500,
            .rounds_anew = 100,  /* rounds for each node from which a search counts as long */
            .anew = 50,          /* percent of the returns to the best of a long search that begin anew instead */
            .starts = 18,        /* starts in program order */
            .drawn_starts = 60,  /* starts in drawn orders, where none in program order fits */
            .large_nodes = 1000, /* graphs of so many nodes are large: they begin with starts on demand */
            .large_starts = 2,   /* starts of a large graph in program order, each of which takes long */
            .alone = 4, /* one part in so many of the time is for a search without paging, as much without recompute */
            /* share of what lies above the bound that a round may lose, at most, in the first rounds. 0, 0.02, 0.1 and
             * 0.3 gave the same excess within 1 % on 12 cases of bench poet */
            .slack = 0.1,
            .least_copies = 0x1p-15,        /* first share of what copies cost that a start on demand counts */
            .most_copies = 1,               /* last share of what copies cost that a start on demand counts */
            .more_copies = 8,               /* factor from one such share to the next */
            .start_copies = {1, 0.2, 0.02}, /* shares of what copies cost that starts in program order count, in turn */
            .start_by_time = {1, 0.5, 0},   /* exponents of the events relieved, of starts in program order */
            .haste = 2,                     /* with a deadline the weight of time is drawn up to this */
            .haste_late = 4,                /* factor of that while the best is late */
        },
    .move =
        {
            .devices_below = 3,        /* of draws from 0 to 9, those below change devices, or with one device a run */
            .run_below = 5,            /* of such draws, the others below this move a run */
            .out_from = 4,             /* of such draws, those from here on take events out */
            .out_whole = 8,            /* a window of fewer events may be the whole sequence, else up to a half */
            .out_width = 200,          /* events of a window, at most */
            .out_percent = 20,         /* percent of a window's events that are taken out, at least */
            .devices_width = 12,       /* neighbouring nodes that change devices, at most */
            .one_percent = 50,         /* of changes of devices concern one node */
            .turn_percent = 30,        /* of changes of devices turn them, so that nodes change places */
            .later_percent = 60,       /* of moved runs move later */
            .drawn_order_percent = 50, /* of new beginnings have a drawn order */
        },
    .draw = /* weights of a round, of which space_search_state.h says what they do */
    {
        .copies = {0.02, 0.2, 0.5, 1},
        .prices = {1, 1, 1, 0.5, 2, 0.1, 10}, /* so that some rounds would rather page, some recompute */
        .by_bytes = {0.5, 1},
        .by_time = {0, 0.5, 1},
        .beside = {0, 0, 0.5, 1},
        .noise = 1.5,
        .noise_percent = 50,
        .first_percent = 30,
        .stay_percent = 30,
    },
    .first =
        {
            .percent = 70, /* of the time of the search is for a planner of one arena, which anneals too */
            .reserve_ns_a_node =
                200000, /* ns for each node that are left for starts on demand, where pages are allowed */
        },
    .bound =
        {
            .nodes = 20000,      /* larger graphs get no bound */
            .tries = 8,          /* cuts of a stretch of program order that are tried for one row */
            .iterations = 400,   /* of the subgradient method */
            .patience = 12,      /* iterations without a gain after which the target comes nearer */
            .above_first = 0.1,  /* target above the best bound, as a share of keep-all, at first */
            .above_least = 1e-7, /* such a share at which the method ends */
            .above_part = 0.5,   /* factor of that share where nothing was gained */
            .gain = 0.1,         /* share of the way from bound to target that counts as a gain */
            .passes = 20,        /* of a projection of multipliers onto their limits, at most; then they are scaled */
            .rounding =
                1e-6, /* ns, and from 10^6 ns on times a millionth of the bound: it is rounded up from that far below */
        },
    .cover =
        {
            .fetches = 1000,      /* depth of calls that bring one node to a space */
            .steps_a_node = 6,    /* decisions for each node */
            .steps_least = 100,   /* decisions on top of steps_a_node */
            .work_a_buffer = 200, /* ns that weighing a buffer takes, about: for deadlines */
            .steps_a_report = 50, /* decisions between two reports of progress */
        },
    .demand =
        {
            .looked = 200,      /* buffers of a space that one look for victims weighs, at most */
            .preds = 8,         /* inputs of a buffer that its return is weighed by, at most */
            .events_a_node = 8, /* events for each node, at which a start on demand is given up */
        },
    .smallest =
        {
            .trials = 24, /* budgets of the bisection */
            .rounds = 20, /* rounds of each search, in fifties */
        },
    .gather =
        {
            .candidates = 4,   /* copies of one link after a copy that it may be joined with */
            .events = 2000000, /* that all trials look at */
        },
    .program =
        {
            .columns = 4000000,           /* larger programs are not given to a solver */
            .rounds = 4,                  /* of a program, whose limit falls where the plan does not fit */
            .events_alone = 750000,       /* events that the rounds of one search look at, without a program */
            .events_before = 200000,      /* events that the rounds of one search look at, before a program */
            .bound_parts = 8,             /* one part in so many of a time limit is for the bound */
            .refusal_parts = 4,           /* one part in so many of it is for a refusal after a search */
            .search_parts = 5,            /* one part in so many of it is for the search before a program */
            .search_ns_min = 20000000,    /* ns of the search before a program, at least */
            .unlimited_ns = 120000000000, /* ns of a call without a time limit, after which its solver ends */
            .solver_ns_min = 10000000,    /* ns left, below which no solver is started */
        },
};

#endif
