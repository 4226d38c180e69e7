/* runtime/data/augment.c: the draw depends on its arguments alone, the copy moves every pixel where it should. */
#include "runtime/data/augment.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/test_seed.h"

enum { H = 5, W = 4, C = 3 };

/* Pixel (y, x, c) of a crop, straight from the definition. */
static uint8_t expected(const plim_crop *crop, const uint8_t *from, int y, int x, int c) {
  int row = crop->row + y, column = crop->column + (crop->mirror ? W - 1 - x : x);
  if (row < 0 || row >= H || column < 0 || column >= W) return 0;
  return from[(row * W + column) * C + c];
}

Test(augment, copies_every_crop_as_defined) {
  uint8_t from[H * W * C], to[H * W * C];
  for (int i = 0; i < H * W * C; i++) from[i] = (uint8_t)(i + 1);
  for (int row = -3; row <= 3; row++) {
    for (int column = -3; column <= 3; column++) {
      for (int mirror = 0; mirror < 2; mirror++) {
        plim_crop crop = {row, column, mirror};
        memset(to, 0xee, sizeof to);
        plim_crop_copy(&crop, H, W, C, from, to);
        for (int i = 0; i < H * W * C; i++) {
          cr_assert_eq(to[i], expected(&crop, from, i / C / W, i / C % W, i % C), "crop %d %d %d, byte %d", row, column,
                       mirror, i);
        }
      }
    }
  }
}

Test(augment, draws_the_same_for_the_same_seed_epoch_and_image) {
  const uint64_t seed = test_seed(1);
  plim_crop a = plim_crop_draw(seed, 2, 3, 4, 1), b = plim_crop_draw(seed, 2, 3, 4, 1);
  cr_assert(a.row == b.row && a.column == b.column && a.mirror == b.mirror);
}

static int differ(plim_crop a, plim_crop b) {
  return a.row != b.row || a.column != b.column || a.mirror != b.mirror;
}

Test(augment, draws_differently_for_other_seeds_epochs_and_images) {
  const uint64_t of = test_seed(1);
  int seed = 0, epoch = 0, image = 0;
  for (int i = 0; i < 100; i++) {
    plim_crop base = plim_crop_draw(of, 0, i, 4, 1);
    seed += differ(base, plim_crop_draw(of + 1, 0, i, 4, 1));
    epoch += differ(base, plim_crop_draw(of, 1, i, 4, 1));
    image += differ(base, plim_crop_draw(of, 0, i + 1, 4, 1));
  }
  cr_assert(seed > 90 && epoch > 90 && image > 90, "of 100 draws %d, %d, %d differ", seed, epoch, image);
}

Test(augment, uses_every_place_within_the_border_and_none_outside) {
  const uint64_t seed = test_seed(5);
  int seen[9] = {0}, mirrors = 0;
  for (int i = 0; i < 2000; i++) {
    plim_crop crop = plim_crop_draw(seed, 0, i, 4, 1);
    cr_assert(crop.row >= -4 && crop.row <= 4 && crop.column >= -4 && crop.column <= 4);
    seen[crop.row + 4]++;
    mirrors += crop.mirror;
  }
  for (int i = 0; i < 9; i++) cr_assert_gt(seen[i], 100, "row %d came %d times", i - 4, seen[i]);
  cr_assert(mirrors > 800 && mirrors < 1200);
}

Test(augment, never_mirrors_where_a_mirror_changes_the_label) {
  for (int i = 0; i < 100; i++) cr_assert_eq(plim_crop_draw(test_seed(5), 0, i, 4, 0).mirror, 0);
}
