/* Pad, crop, mirror: one draw an image and epoch, one pass over its pixels. */
#include "runtime/data/augment.h"

#include <string.h>

#include "runtime/base/philox_stream.h"

plim_crop plim_crop_draw(uint64_t seed, int64_t epoch, int32_t image, int32_t pad, int32_t flip) {
  plim_philox draw = plim_philox_at(seed, plim_philox_stream("augment") + (uint64_t)epoch, (uint64_t)image);
  uint32_t places = 2 * (uint32_t)pad + 1;
  return (plim_crop){.row = (int32_t)(draw.word[0] % places) - pad,
                     .column = (int32_t)(draw.word[1] % places) - pad,
                     .mirror = flip && (draw.word[2] & 1)};
}

/* One row of the crop; `from` is the image's row, x the image column of its first pixel. */
static void copy_row(const uint8_t *from, int32_t x, int32_t width, int32_t channels, int32_t mirror, uint8_t *to) {
  for (int32_t i = 0; i < width; i++, x++) {
    int32_t at = mirror ? width - 1 - i : i;
    uint8_t *pixel = to + (int64_t)at * channels;
    if (x < 0 || x >= width) {
      memset(pixel, 0, (size_t)channels);
    } else {
      memcpy(pixel, from + (int64_t)x * channels, (size_t)channels);
    }
  }
}

void plim_crop_copy(const plim_crop *crop, int32_t height, int32_t width, int32_t channels, const uint8_t *from,
                    uint8_t *to) {
  size_t row_bytes = (size_t)width * (size_t)channels;
  for (int32_t i = 0; i < height; i++, to += row_bytes) {
    int32_t y = crop->row + i;
    if (y < 0 || y >= height) {
      memset(to, 0, row_bytes);
    } else if (crop->column == 0 && !crop->mirror) {
      memcpy(to, from + (size_t)y * row_bytes, row_bytes);
    } else {
      copy_row(from + (size_t)y * row_bytes, crop->column, width, channels, crop->mirror, to);
    }
  }
}
