/* Tuning constants of planner/pack, in one table. Only files of this folder include it.
 *
 * A row has the value, what it counts and where it counts. "Measured" cites the row of docs/experiments.md that set the
 * value. The others were set by trial on MiniMalloc's instances and on plans. Those of niche search were set on the
 * families of plimsoll bench tight, and then changed one by one (f69dcba).
 * What depends on a value: `pack`, `bottom_up`, `fit`, `exact`, `order` and `pairs` change plans; `solve` and `niche`
 * change only what plimsoll pack finds in its time. Sizes of arrays are enumerators beside the array. */
#ifndef PLIM_PLANNER_PACK_PACK_TUNING_H
#define PLIM_PLANNER_PACK_PACK_TUNING_H

#include <stdint.h>

enum { PLIM_PACK_SIZES = 5, PLIM_ORDER_NOISES = 6 };

static const struct plim_pack_tuning {
  struct {
    int32_t nodes_a_round, exact_tries, bottom_up_max, bottom_up_a_round, bottom_up_work, bottom_up_min_many;
    int32_t many_boxes, skyline_boxes, skyline_boxes_at_once, repaired_boxes;
  } pack;
  struct {
    int32_t boxes, few_boxes, change_percent, change_percent_near;
    double sticking_factor, factor_min, factor_range;
  } bottom_up;
  struct {
    int32_t list_boxes, list_part, list_scan;
  } fit;
  struct {
    int32_t section_floor, nodes_a_look, memo_min, memo_max, few_boxes;
  } exact;
  struct {
    double noise[PLIM_ORDER_NOISES], blame;
  } order;
  struct {
    int32_t orders_a_size, bottom_up_all, bottom_up_a_round, bottom_up_work, first_fit_part, rounds_first, rounds_max;
    int32_t nodes_to_remember;
    int64_t eighths[PLIM_PACK_SIZES];
  } solve;
  struct {
    int32_t kept_bytes;
  } pairs;
  struct {
    int32_t memo, nodes_a_look, box_ns, nodes_a_restart, quiet_restarts;
    double nodes_an_exact_node, slack_weight, noise_max, kept_weight, wall_bonus, waste_max, spare_max, saved_factor,
        forget;
  } niche;
} pack_tuning = {
    .pack =
        {
            .nodes_a_round = 16384,   /* nodes x boxes of exact search, a round. Measured: d7cac5a0, 1c834ad7 */
            .exact_tries = 5,         /* packed sizes that exact search is asked for, where there is no target */
            .bottom_up_max = 192,     /* bottom-up packings of one call; priorities learn little after that */
            .bottom_up_a_round = 2,   /* of them for each packing round */
            .bottom_up_work = 300000, /* boxes^2 x packings for each packing round, at most */
            .bottom_up_min_many = 4,  /* packings of more than many_boxes boxes, where first-fit takes longer */
            .many_boxes = 1500,    /* boxes above which an order of first-fit takes longer than a bottom-up packing */
            .skyline_boxes = 2000, /* boxes from which skyline packing may replace first-fit when the time is over */
            .skyline_boxes_at_once = 24000, /* the same with no rounds: first-fit takes 0.2 s an order */
            .repaired_boxes = 32768,        /* boxes above which an order is repaired only once */
        },
    .bottom_up =
        {
            .boxes = 32768,           /* boxes, at most: more are not packed from the bottom up */
            .few_boxes = 1500,        /* boxes up to which any of them may change its priority */
            .change_percent = 10,     /* percent of those that do */
            .change_percent_near = 3, /* percent that do of more boxes, and only near those that stick out */
            .sticking_factor = 3,     /* the priority of a box that sticks out is multiplied by 1 to 1 + this */
            .factor_min = 0.3,        /* that of another box by this ... */
            .factor_range = 2,        /* ... to factor_min + this */
        },
    .fit =
        {
            .list_boxes = 32768, /* plain boxes up to which a list holds them; more perhaps lie in a tree */
            .list_part = 8,      /* the tree visits one part in so many of all boxes for one, by guess: for deadlines */
            .list_scan = 16,     /* boxes of the list passed over in the time that the tree takes for one overlap */
        },
    .exact =
        {
            .section_floor = 16000, /* units of a section floor, at most: sums of them fit in 16 bits */
            .nodes_a_look = 256,    /* nodes between two looks at the clock */
            .memo_min = 1 << 10,    /* failed states that are remembered, at least */
            .memo_max = 1 << 20,    /* and at most */
            .few_boxes = 20,        /* boxes below which there are at most 2^boxes states to remember */
        },
    .order =
        {
            .noise = {0, 0, 1, 0, 0, 0.3}, /* by round: keys are multiplied by up to 1 + this */
            .blame = 2, /* in every other round those of boxes that often failed are, by up to 1 + this */
        },
    .solve =
        {
            .orders_a_size = 3,           /* static orders that are tried for one packed size */
            .bottom_up_all = 1 << 16,     /* bottom-up packings where exact search is not possible */
            .bottom_up_a_round = 16,      /* the same beside exact search, each round */
            .bottom_up_work = 10000000,   /* boxes^2 x packings of a round, at most */
            .first_fit_part = 5,          /* of the time, one part in so many for first-fit of many boxes */
            .rounds_first = 16,           /* packing rounds at first; they double ... */
            .rounds_max = 1 << 20,        /* ... up to this */
            .nodes_to_remember = 1 << 18, /* failed states of one searcher */
            .eighths = {0, 6, 7, 4, 2}, /* eighths of the way from bound to best: sizes asked for, a tight one first */
        },
    .pairs = {.kept_bytes = 1 << 23 /* memory of a search by pairs; deeper nodes are not searched */},
    .niche =
        {
            .memo = 1 << 14,          /* failed states that are remembered, a power of two */
            .nodes_a_look = 64,       /* nodes between two looks at the clock */
            .box_ns = 20,             /* time of a node for each box, by guess: for deadlines */
            .nodes_a_restart = 500,   /* of the shortest restart */
            .quiet_restarts = 12,     /* restarts without noise in the order of boxes */
            .nodes_an_exact_node = 1, /* for each node of exact search: 2/3 of the time. Measured: 536bba47 */
            .slack_weight = 16,       /* sections with slack are decided later: answers count 1 + this x its share */
            .noise_max = 1,           /* keys of boxes are multiplied by up to 1 + this */
            .kept_weight = 0.5,       /* share of a section's weight that stays from restart to restart */
            .wall_bonus = 8,          /* keys count 1 + this for each wall that a box fits against. Measured: 096c2a4 */
            .waste_max = 0.3,         /* share of a loose compound that stays empty, at most */
            .spare_max = 0.2,         /* share of a section's slack that those take, at most. Measured: f69dcba */
            .saved_factor = 1e6,      /* factor of the key of a box where it is saved. Measured: d775d65a */
            .forget = 0.02,           /* share by which saved offsets may leave more open, restart by restart */
        },
};

#endif
