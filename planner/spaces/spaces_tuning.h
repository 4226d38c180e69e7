/* Tuning constants of planner/spaces, in one table. Only files of this folder and those below it include it.
 *
 * A row has the value, its unit and where it counts; "more" says what a larger value trades. "Measured" refers to the
 * end of this comment; the others were set by trial on the published placement and paging instances and on random
 * graphs of up to 20,000 ops. What depends on a value: plans over spaces, and how sharp their bounds are. Proofs do
 * not.
 *
 * Measured: patience_anew, on 150 graphs of bench joint on two devices: 120, 250, 500 and 1,000 rounds gave 1.002 to
 * 1.004 of the least makespan that any setting found, and no new beginnings 1.009. slack, on 12 cases of bench poet:
 * 0, 0.02, 0.1 and 0.3 gave the same excess within 1 %. */
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
       PLIM_SPACE_DRAWN_HIDDEN = 4,
       PLIM_SPACE_START_COPIES = 3,
       PLIM_SPACE_START_TIMES = 3
};

static const struct plim_spaces_tuning {
  struct {
    int32_t patience, patience_anew, rounds_anew, anew, starts, drawn_starts, large_nodes, large_starts, alone;
    double slack, copies_free, copies_first, copies_last, copies_factor;
    double start_copies[PLIM_SPACE_START_COPIES], start_by_time[PLIM_SPACE_START_TIMES], haste, haste_late;
  } search;
  struct {
    int32_t devices_of_ten, run_of_ten, out_of_ten, out_whole, out_width, out_percent, devices_width, one_percent,
        turn_percent, later_percent, drawn_order_percent;
  } move;
  struct {
    double copies[PLIM_SPACE_DRAWN_COPIES], prices[PLIM_SPACE_DRAWN_PRICES], by_bytes[PLIM_SPACE_DRAWN_BYTES],
        by_time[PLIM_SPACE_DRAWN_TIMES], hidden_shares[PLIM_SPACE_DRAWN_HIDDEN], noise;
    int32_t noise_percent, first_percent, stay_percent;
  } draw;
  struct {
    int32_t percent;
    int64_t reserve_ns_a_node;
  } first;
  struct {
    int32_t nodes, tries, iterations, patience, passes;
    double above_first, above_min, above_factor, gain, rounding;
  } bound;
  struct {
    int32_t fetches, steps_a_node, steps_more, steps_a_report, work_a_buffer;
  } cover;
  struct {
    int32_t looked_max, preds_max, events_a_node;
  } demand;
  struct {
    int32_t trials, deadline_rounds;
  } smallest;
  struct {
    int32_t candidates, events;
  } gather;
  struct {
    int32_t columns, rounds, events_alone, events_before, events_small, rounds_max, bound_parts, refusal_parts,
        search_parts;
    int64_t search_ns_min, unlimited_ns, solver_ns_min;
  } program;
} spaces_tuning = {
    .search =
        {
            .patience = 150,      /* rounds without a gain, after which a search goes back to the best */
            .patience_anew = 500, /* the same of a long search. Measured. More: fewer new beginnings */
            .rounds_anew = 100,   /* rounds for each node, from which on a search is long */
            .anew = 50,           /* percent of a long search's returns that begin anew instead */
            .starts = 18,         /* starts in program order. More: a better first plan, fewer rounds in a limit */
            .drawn_starts = 60,   /* starts in drawn orders, where none in program order fits */
            .large_nodes = 1000,  /* nodes from which on a graph is large: it begins with starts on demand */
            .large_starts = 2,    /* starts of a large graph in program order, each of which takes long */
            .alone = 4,           /* one part in so many of the time is for recompute alone, as much for pages alone */
            .slack = 0.1,         /* share of what lies above the bound that a first round may lose. Measured */
            .copies_free = 1e-12, /* share of what copies cost where they count next to nothing */
            .copies_first = 0x1p-15,        /* share of what copies cost that counts in the first start on demand ... */
            .copies_factor = 8,             /* ... the factor from one start to the next ... */
            .copies_last = 1,               /* ... and the last share */
            .start_copies = {1, 0.2, 0.02}, /* the same share in starts in program order, in turn */
            .start_by_time = {1, 0.5, 0},   /* exponents of the events relieved in those starts */
            .haste = 2,                     /* with a deadline the weight of time is drawn up to this */
            .haste_late = 4, /* factor of that while the best is late. More: in time sooner, at more energy */
        },
    .move =
        {
            .devices_of_ten = 3,       /* of ten moves so many change devices, or on one device move a run */
            .run_of_ten = 2,           /* so many of the others move a run */
            .out_of_ten = 6,           /* so many take events out: one of them has moved a run before */
            .out_whole = 8,            /* events below which the window may be the whole sequence, else up to a half */
            .out_width = 200,          /* events of a window, at most. More: larger steps, each with more to cover */
            .out_percent = 20,         /* percent of a window's events that are taken out, at least */
            .devices_width = 12,       /* neighbouring nodes that change devices, at most */
            .one_percent = 50,         /* percent of changes of devices that concern one node */
            .turn_percent = 30,        /* percent of them that turn devices, so that nodes change places */
            .later_percent = 60,       /* percent of moved runs that move later */
            .drawn_order_percent = 50, /* percent of new beginnings in a drawn order */
        },
    .draw = /* the weights of a round (plim_space_weights): each is drawn from its list */
    {
        .copies = {0.02, 0.2, 0.5, 1},        /* share of a copy's time that counts: the rest is beside compute */
        .prices = {1, 1, 1, 0.5, 2, 0.1, 10}, /* factor of a copy's joules: some rounds would rather recompute */
        .by_bytes = {0.5, 1},                 /* exponent of the bytes relieved. More: large buffers go first */
        .by_time = {0, 0.5, 1},               /* exponent of the events relieved. More: long gaps go first */
        .hidden_shares = {0, 0, 0.5, 1},      /* share of a copy's time that runs must hide */
        .noise = 1.5,                         /* of the logarithm of a score, at most */
        .noise_percent = 50,                  /* percent of rounds with noise */
        .first_percent = 30, /* percent that cover the first event short of bytes, the others the one most short */
        .stay_percent = 30,  /* percent in which no run moves later instead of being repeated */
    },
    .first =
        {
            .percent = 70, /* percent of the search's time for a planner of one arena, which anneals too */
            .reserve_ns_a_node = 200000, /* ns a node that are kept for starts on demand, where pages are allowed */
        },
    .bound =
        {
            .nodes = 20000,      /* nodes, at most: a larger graph gets no bound */
            .tries = 8,          /* cuts of a stretch of program order that are tried for one row */
            .iterations = 400,   /* steps of the subgradient method. More: sharper, in as much more time */
            .patience = 12,      /* steps without a gain, after which the target comes nearer */
            .above_first = 0.1,  /* share of keep-all by which the first target is above the best bound ... */
            .above_factor = 0.5, /* ... the factor of that share where nothing was gained ... */
            .above_min = 1e-7,   /* ... and the share at which the method ends */
            .gain = 0.1,         /* share of the way from bound to target that counts as a gain */
            .passes = 20,        /* of a projection of multipliers onto their limits, at most; then they are scaled */
            .rounding = 1e-6,    /* ns, from 10^6 ns on a share of the bound: rounded up from that far below */
        },
    .cover =
        {
            .fetches = 1000,      /* depth of calls that bring one node to a space, at most */
            .steps_a_node = 6,    /* decisions a node, after which covering is given up, ... */
            .steps_more = 100,    /* ... and so many more */
            .work_a_buffer = 200, /* ns that weighing a buffer takes, about: for deadlines */
            .steps_a_report = 50, /* decisions between two reports of progress */
        },
    .demand =
        {
            .looked_max = 200,  /* buffers that one look for victims weighs. More: better ones, slower */
            .preds_max = 8,     /* inputs of a buffer by which its return is weighed */
            .events_a_node = 8, /* events a node, at which a start on demand is given up */
        },
    .smallest =
        {
            .trials = 24,            /* halvings between budgets without a plan and twice as large ones with one */
            .deadline_rounds = 1000, /* rounds of the search for the earliest deadline */
        },
    .gather =
        {
            .candidates = 4,   /* copies of one link after a copy that it may be joined with */
            .events = 2000000, /* events that all trials look at, at most. More: fewer latencies, slower */
        },
    .program =
        {
            .columns = 4000000,           /* columns, at most: a larger program is not given to a solver */
            .rounds = 4,                  /* programs, each for less where the plan of the one before does not fit */
            .events_alone = 750000,       /* events that the rounds of a search look at, without a program ... */
            .events_before = 200000,      /* ... and before one */
            .events_small = 250,          /* nodes below which a graph gets more rounds ... */
            .rounds_max = 50000,          /* ... up to so many. More: better plans of small graphs, slower */
            .bound_parts = 8,             /* one part in so many of a time limit is for the bound */
            .refusal_parts = 4,           /* one part in so many is for a refusal after a search */
            .search_parts = 5,            /* one part in so many is for the search before a program */
            .search_ns_min = 20000000,    /* ns of the search before a program, at least */
            .unlimited_ns = 120000000000, /* ns of a call without a time limit, after which its solver ends */
            .solver_ns_min = 10000000,    /* ns left, below which no solver is started */
        },
};

#endif
