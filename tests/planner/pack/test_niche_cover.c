/* planner/pack/niche_cover.c: which boxes can lie on a floor that must be covered. */
#include <criterion/criterion.h>

#include "planner/pack/niche_internal.h"
#include "tests/support/test_context.h"

/* Three sections. Boxes 0 and 1 leave a section of the floor to each other, which box 2 fills after box 0. */
enum { BOXES = 5, SECTIONS = 3 };
static const plim_box box[BOXES] = {{0, 2, 1, -1}, {1, 3, 1, -1}, {2, 3, 1, -1}, {0, 1, 1, -1}, {0, 3, 1, -1}};

static plim_context *ctx;
static plim_units units;
static plim_niche *niche;

/* Boxes 0 to 2 have these lows, the others lie high; every floor is 0. */
static plim_niche_frame *begin(const int32_t low[3], const int32_t slack[SECTIONS]) {
  static const plim_boxes boxes = {.n = BOXES, .align = 1, .box = box};
  ctx = plim_test_context();
  cr_assert_eq(plim_units_make(ctx, &boxes, &units), PLIM_OK);
  cr_assert_eq(plim_niche_new(&units, &niche), PLIM_OK);
  cr_assert_eq(niche->m, SECTIONS);
  niche->capacity = 9;
  (void)plim_niche_prepare(niche, 0);
  plim_niche_frame *root = &niche->stack.frame[0];
  niche->node.floor = root->floors;
  niche->node.slack = root->slacks;
  for (int32_t s = 0; s < SECTIONS; s++) {
    niche->node.floor[s] = 0;
    niche->node.slack[s] = slack[s];
  }
  for (int32_t i = 0; i < root->n_waiting; i++)
    root->waiting[i].low = root->waiting[i].box < 3 ? low[root->waiting[i].box] : 5;
  plim_niche_list_candidates(niche, root);
  return root;
}

static void end(void) {
  plim_niche_free(niche);
  plim_units_free(&units);
  plim_test_context_end(ctx);
}

static int covers(int32_t x) {
  return plim_niche_can_cover(niche, &niche->shape[x]);
}

Test(niche_cover, boxes_that_leave_a_gap_before_or_after_them_are_in_no_cover) {
  const plim_niche_frame *root = begin((int32_t[]){0, 0, 0}, (int32_t[]){0, 0, 0});
  cr_assert(plim_niche_cover(niche, root, (plim_section_range){0, SECTIONS}));
  cr_assert(covers(0) && !covers(1) && covers(2));
  for (int32_t s = 0; s < SECTIONS; s++) {
    cr_assert_eq(niche->node.answers[s], 1, "section %d", s);
    cr_assert_not(plim_niche_can_rise(niche, s));
  }
  end();
}

Test(niche_cover, a_floor_that_its_boxes_cannot_fill_has_no_cover) {
  const plim_niche_frame *root = begin((int32_t[]){0, 0, 1}, (int32_t[]){0, 0, 0});
  cr_assert_not(plim_niche_cover(niche, root, (plim_section_range){0, SECTIONS}));
  end();
}

Test(niche_cover, a_section_with_slack_may_stay_empty_where_the_rest_can_be_filled) {
  const plim_niche_frame *root = begin((int32_t[]){0, 0, 1}, (int32_t[]){2, 0, 2});
  cr_assert(plim_niche_cover(niche, root, (plim_section_range){0, SECTIONS}));
  cr_assert(covers(0) && covers(1));
  cr_assert(plim_niche_can_rise(niche, 0) && !plim_niche_can_rise(niche, 1) && plim_niche_can_rise(niche, 2));
  cr_assert_eq(niche->node.answers[0], 2);
  cr_assert_eq(niche->node.answers[1], 2);
  cr_assert_eq(niche->node.answers[2], 2);
  end();
}
