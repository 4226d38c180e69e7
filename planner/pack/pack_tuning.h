/* Tuning constants of planner/pack, in one table. Only files of this folder include it.
 *
 * A field says what it counts and where; the table below it has the values. "Measured" cites the row of
 * docs/experiments.md that set the value. The others were set by trial on MiniMalloc's instances and on plans. Those of
 * niche search were set on the families of plimsoll bench tight, and then changed one by one (f69dcba).
 * What depends on a value: `pack`, `bottom_up`, `fit`, `exact`, `order` and `pairs` change plans; `solve` and `niche`
 * change only what plimsoll pack finds in its time. Sizes of arrays are enumerators beside the array. */
#ifndef PLIM_PLANNER_PACK_PACK_TUNING_H
#define PLIM_PLANNER_PACK_PACK_TUNING_H

#include <stdint.h>

enum { PLIM_PACK_SIZES = 5, PLIM_ORDER_NOISES = 6 };

static const struct plim_pack_tuning {
  struct {
    int32_t nodes_a_round;         /* nodes x boxes of exact search, a round. Measured: d7cac5a0, 1c834ad7 */
    int32_t exact_tries;           /* packed sizes that exact search is asked for, where there is no target */
    int32_t bottom_up_max;         /* bottom-up packings of one call; priorities learn little after that */
    int32_t bottom_up_a_round;     /* bottom-up packings for each packing round */
    int32_t bottom_up_work;        /* boxes^2 x packings for each packing round, at most */
    int32_t bottom_up_min_many;    /* packings of more than many_boxes boxes, where first-fit takes longer */
    int32_t many_boxes;            /* boxes above which an order of first-fit takes longer than a bottom-up packing */
    int32_t skyline_boxes;         /* boxes from which skyline packing may replace first-fit when the time is over */
    int32_t skyline_boxes_at_once; /* the same with no rounds: first-fit takes 0.2 s an order */
    int32_t repaired_boxes;        /* boxes above which an order is repaired only once */
  } pack;
  struct {
    int32_t boxes;               /* boxes, at most: more are not packed from the bottom up */
    int32_t few_boxes;           /* boxes up to which any of them may change its priority */
    int32_t change_percent;      /* percent of those that do */
    int32_t change_percent_near; /* percent that do of more boxes, and only near those that stick out */
    double sticking_factor;      /* the priority of a box that sticks out is multiplied by 1 to 1 + this */
    double factor_min;           /* that of another box by this ... */
    double factor_range;         /* ... to factor_min + this */
  } bottom_up;
  struct {
    int32_t list_boxes; /* plain boxes up to which a list holds them; more perhaps lie in a tree */
    int32_t list_part;  /* the tree visits one part in so many of all boxes for one, by guess: for deadlines */
    int32_t list_scan;  /* boxes of the list passed over in the time that the tree takes for one overlap */
  } fit;
  struct {
    int32_t section_floor; /* units of a section floor, at most: sums of them fit in 16 bits */
    int32_t nodes_a_look;  /* nodes between two looks at the clock */
    int32_t memo_min;      /* failed states that are remembered, at least */
    int32_t memo_max;      /* failed states that are remembered, at most */
    int32_t few_boxes;     /* boxes below which there are at most 2^boxes states to remember */
  } exact;
  struct {
    double noise[PLIM_ORDER_NOISES]; /* by round: keys are multiplied by up to 1 + this */
    double blame;                    /* in every other round those of boxes that often failed are, by up to 1 + this */
  } order;
  struct {
    int32_t orders_a_size;            /* static orders that are tried for one packed size */
    int32_t bottom_up_all;            /* bottom-up packings where exact search is not possible */
    int32_t bottom_up_a_round;        /* the same beside exact search, each round */
    int32_t bottom_up_work;           /* boxes^2 x packings of a round, at most */
    int32_t first_fit_part;           /* one part in so many of the time is for first-fit of many boxes */
    int32_t rounds_first;             /* packing rounds at first; they double ... */
    int32_t rounds_max;               /* ... up to this */
    int32_t nodes_to_remember;        /* failed states of one searcher */
    int32_t hint_work;                /* boxes x hints up to which hints are followed: some tenths of a second */
    int64_t eighths[PLIM_PACK_SIZES]; /* eighths of the way from bound to best: sizes asked for, a tight one first */
  } solve;
  struct {
    int32_t kept_bytes; /* bytes that a search by pairs may keep; deeper nodes are not searched */
  } pairs;
  struct {
    int32_t memo;               /* failed states that are remembered, a power of two */
    int32_t nodes_a_look;       /* nodes between two looks at the clock */
    int32_t box_ns;             /* time of a node for each box, by guess: for deadlines */
    int32_t nodes_a_restart;    /* nodes of the shortest restart */
    int32_t quiet_restarts;     /* restarts without noise in the order of boxes */
    double nodes_an_exact_node; /* nodes for each one of exact search: 2/3 of the time. Measured: 536bba47 */
    double slack_weight;        /* sections with slack are decided later: answers count 1 + this x its share */
    double noise_max;           /* keys of boxes are multiplied by up to 1 + this */
    double kept_weight;         /* share of a section's weight that stays from restart to restart */
    double wall_bonus;          /* keys count 1 + this for each wall that a box fits against. Measured: 096c2a4 */
    double waste_max;           /* share of a loose compound that stays empty, at most */
    double spare_max;           /* share of a section's slack that those take, at most. Measured: f69dcba */
    double saved_factor;        /* factor of the key of a box where it is saved. Measured: d775d65a */
    double forget;              /* share by which saved offsets may leave more open, restart by restart */
  } niche;
} pack_tuning = {
    .pack = {.nodes_a_round = 16384,
             .exact_tries = 5,
             .bottom_up_max = 192,
             .bottom_up_a_round = 2,
             .bottom_up_work = 300000,
             .bottom_up_min_many = 4,
             .many_boxes = 1500,
             .skyline_boxes = 2000,
             .skyline_boxes_at_once = 24000,
             .repaired_boxes = 32768},
    .bottom_up = {.boxes = 32768,
                  .few_boxes = 1500,
                  .change_percent = 10,
                  .change_percent_near = 3,
                  .sticking_factor = 3,
                  .factor_min = 0.3,
                  .factor_range = 2},
    .fit = {.list_boxes = 32768, .list_part = 8, .list_scan = 16},
    .exact = {.section_floor = 16000, .nodes_a_look = 256, .memo_min = 1 << 10, .memo_max = 1 << 20, .few_boxes = 20},
    .order = {.noise = {0, 0, 1, 0, 0, 0.3}, .blame = 2},
    .solve = {.orders_a_size = 3,
              .bottom_up_all = 1 << 16,
              .bottom_up_a_round = 16,
              .bottom_up_work = 10000000,
              .first_fit_part = 5,
              .rounds_first = 16,
              .rounds_max = 1 << 20,
              .nodes_to_remember = 1 << 18,
              .hint_work = 1 << 27,
              .eighths = {0, 6, 7, 4, 2}},
    .pairs = {.kept_bytes = 1 << 23},
    .niche = {.memo = 1 << 14,
              .nodes_a_look = 64,
              .box_ns = 20,
              .nodes_a_restart = 500,
              .quiet_restarts = 12,
              .nodes_an_exact_node = 1,
              .slack_weight = 16,
              .noise_max = 1,
              .kept_weight = 0.5,
              .wall_bonus = 8,
              .waste_max = 0.3,
              .spare_max = 0.2,
              .saved_factor = 1e6,
              .forget = 0.02},
};

#endif
