/* Tuning constants of planner/spaces, in one table. Only files of this folder and those below it include it.
 *
 * A field says its unit and where it counts; the table below it has the values. "More" says what a larger value trades.
 * "Measured" cites the row of docs/experiments.md that set the value; the others were set by trial on the published
 * placement and paging instances and on random graphs of up to 20,000 ops. What depends on a value: plans over spaces,
 * and how sharp their bounds are. Proofs do not. */
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
    int32_t patience;      /* rounds without a gain, after which a search goes back to the best */
    int32_t patience_anew; /* the same of a long search. More: fewer new beginnings. Measured: b1aba8c5 */
    int32_t rounds_anew;   /* rounds for each node, from which on a search is long */
    int32_t anew;          /* percent of a long search's returns that begin anew instead */
    int32_t starts;        /* starts in program order. More: a better first plan, fewer rounds in a limit */
    int32_t drawn_starts;  /* starts in drawn orders, where none in program order fits */
    int32_t large_nodes;   /* nodes from which on a graph is large: it begins with starts on demand */
    int32_t large_starts;  /* starts of a large graph in program order, each of which takes long */
    int32_t
        alone; /* one part in so many of the time is for recompute alone, as much for pages alone. Measured: 5757be6 */
    double slack;         /* share of what lies above the bound that a first round may lose. Measured: bff5200 */
    double copies_free;   /* share of what copies cost where they count next to nothing */
    double copies_first;  /* share of what copies cost that counts in the first start on demand ... */
    double copies_factor; /* ... the factor from one start to the next ... */
    double copies_last;   /* ... and the last share */
    double start_copies[PLIM_SPACE_START_COPIES]; /* the same share in starts in program order, in turn */
    double start_by_time[PLIM_SPACE_START_TIMES]; /* exponents of the events relieved in those starts */
    double haste;                                 /* with a deadline the weight of time is drawn up to this */
    double haste_late; /* factor of that while the best is late. More: in time sooner, at more energy */
  } search;
  struct {
    int32_t devices_of_ten; /* of ten moves so many change devices, or on one device move a run */
    int32_t run_of_ten;     /* so many of the others move a run */
    int32_t out_of_ten;     /* so many take events out: one of them has moved a run before */
    int32_t out_whole;      /* events below which the window may be the whole sequence, else up to a half */
    int32_t out_width;      /* events of a window, at most. More: larger steps, each with more to cover */
    int32_t out_percent;    /* percent of a window's events that are taken out, at least */
    int32_t devices_width;  /* neighbouring nodes that change devices, at most */
    int32_t one_percent;    /* percent of changes of devices that concern one node */
    int32_t turn_percent;   /* percent of them that turn devices, so that nodes change places. Measured: b1aba8c5 */
    int32_t later_percent;  /* percent of moved runs that move later */
    int32_t drawn_order_percent;   /* percent of new beginnings in a drawn order */
    int32_t drawn_devices_percent; /* percent of them with each run on a drawn device. Measured: e2315b7c */
  } move;
  struct {
    double copies[PLIM_SPACE_DRAWN_COPIES];        /* share of a copy's time that counts: the rest is beside compute */
    double prices[PLIM_SPACE_DRAWN_PRICES];        /* factor of a copy's joules: some rounds would rather recompute */
    double by_bytes[PLIM_SPACE_DRAWN_BYTES];       /* exponent of the bytes relieved. More: large buffers go first */
    double by_time[PLIM_SPACE_DRAWN_TIMES];        /* exponent of the events relieved. More: long gaps go first */
    double hidden_shares[PLIM_SPACE_DRAWN_HIDDEN]; /* share of a copy's time that runs must hide */
    double noise;                                  /* added to the logarithm of a score, at most */
    int32_t noise_percent;                         /* percent of rounds with noise */
    int32_t first_percent; /* percent that cover the first event short of bytes, the others the one most short */
    int32_t stay_percent;  /* percent in which no run moves later instead of being repeated */
  } draw;                  /* the weights of a round (plim_space_weights): each is drawn from its list */
  struct {
    int32_t percent;           /* percent of the search's time for a planner of one arena, which anneals too */
    int64_t reserve_ns_a_node; /* ns a node that are kept for starts on demand, where pages are allowed */
  } first;
  struct {
    int32_t nodes;       /* nodes, at most: a larger graph gets no bound */
    int32_t tries;       /* cuts of a stretch of program order that are tried for one row */
    int32_t iterations;  /* steps of the subgradient method. More: sharper, in as much more time */
    int32_t patience;    /* steps without a gain, after which the target comes nearer */
    double above_first;  /* share of keep-all by which the first target is above the best bound ... */
    double above_factor; /* ... the factor of that share where nothing was gained ... */
    double above_min;    /* ... and the share at which the method ends */
    double gain;         /* share of the way from bound to target that counts as a gain */
    int32_t passes;      /* passes of a projection of multipliers onto their limits, at most; then they are scaled */
    double rounding;     /* ns, from 10^6 ns on a share of the bound: rounded up from that far below */
  } bound;
  struct {
    int32_t fetches;        /* depth of calls that bring one node to a space, at most */
    int32_t steps_a_node;   /* decisions a node, after which covering is given up, ... */
    int32_t steps_more;     /* ... and so many more */
    int32_t work_a_buffer;  /* ns that weighing a buffer takes, about: for deadlines */
    int32_t steps_a_report; /* decisions between two reports of progress */
  } cover;
  struct {
    int32_t looked_max;    /* buffers that one look for victims weighs. More: better ones, slower */
    int32_t preds_max;     /* inputs of a buffer by which its return is weighed */
    int32_t events_a_node; /* events a node, at which a start on demand is given up */
  } demand;
  struct {
    int32_t trials;          /* halvings between budgets without a plan and twice as large ones with one */
    int32_t deadline_rounds; /* rounds of the search for the earliest deadline */
  } smallest;
  struct {
    int32_t candidates; /* copies of one link after a copy that it may be joined with */
    int32_t events;     /* events that all trials look at, at most. More: fewer latencies, slower */
  } gather;
  struct {
    int32_t columns;       /* columns, at most: a larger program is not given to a solver */
    int32_t rounds;        /* programs, each for less where the plan of the one before does not fit */
    int32_t events_alone;  /* events that the rounds of a search look at, without a program ... */
    int32_t events_before; /* ... and before one */
    int32_t small_nodes;   /* nodes, and ten more, below which a graph gets more rounds ... */
    int32_t rounds_max;    /* ... up to so many. More: better plans of small graphs, slower. Measured: e2315b7c */
    int32_t bound_parts;   /* one part in so many of a time limit is for the bound */
    int32_t refusal_parts; /* one part in so many is for a refusal after a search */
    int32_t search_parts;  /* one part in so many is for the search before a program */
    int64_t search_ns_min; /* ns of the search before a program, at least */
    int64_t unlimited_ns;  /* ns of a call without a time limit, after which its solver ends */
    int64_t solver_ns_min; /* ns left, below which no solver is started */
  } program;
} spaces_tuning = {
    .search = {.patience = 150,
               .patience_anew = 500,
               .rounds_anew = 100,
               .anew = 50,
               .starts = 18,
               .drawn_starts = 60,
               .large_nodes = 1000,
               .large_starts = 2,
               .alone = 4,
               .slack = 0.1,
               .copies_free = 1e-12,
               .copies_first = 0x1p-15,
               .copies_factor = 8,
               .copies_last = 1,
               .start_copies = {1, 0.2, 0.02},
               .start_by_time = {1, 0.5, 0},
               .haste = 2,
               .haste_late = 4},
    .move = {.devices_of_ten = 3,
             .run_of_ten = 2,
             .out_of_ten = 6,
             .out_whole = 8,
             .out_width = 200,
             .out_percent = 20,
             .devices_width = 12,
             .one_percent = 50,
             .turn_percent = 30,
             .later_percent = 60,
             .drawn_order_percent = 50,
             .drawn_devices_percent = 50},
    .draw = {.copies = {0.02, 0.2, 0.5, 1},
             .prices = {1, 1, 1, 0.5, 2, 0.1, 10},
             .by_bytes = {0.5, 1},
             .by_time = {0, 0.5, 1},
             .hidden_shares = {0, 0, 0.5, 1},
             .noise = 1.5,
             .noise_percent = 50,
             .first_percent = 30,
             .stay_percent = 30},
    .first = {.percent = 70, .reserve_ns_a_node = 200000},
    .bound = {.nodes = 20000,
              .tries = 8,
              .iterations = 400,
              .patience = 12,
              .above_first = 0.1,
              .above_factor = 0.5,
              .above_min = 1e-7,
              .gain = 0.1,
              .passes = 20,
              .rounding = 1e-6},
    .cover = {.fetches = 1000, .steps_a_node = 6, .steps_more = 100, .work_a_buffer = 200, .steps_a_report = 50},
    .demand = {.looked_max = 200, .preds_max = 8, .events_a_node = 8},
    .smallest = {.trials = 24, .deadline_rounds = 1000},
    .gather = {.candidates = 4, .events = 2000000},
    .program = {.columns = 4000000,
                .rounds = 4,
                .events_alone = 750000,
                .events_before = 200000,
                .small_nodes = 250,
                .rounds_max = 200000,
                .bound_parts = 8,
                .refusal_parts = 4,
                .search_parts = 5,
                .search_ns_min = 20000000,
                .unlimited_ns = 120000000000,
                .solver_ns_min = 10000000},
};

#endif
