/* Augmentation: a random crop out of the image with a border, and a random mirror. */
#ifndef PLIM_RUNTIME_DATA_AUGMENT_H
#define PLIM_RUNTIME_DATA_AUGMENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the crop begins and whether it is mirrored. */
typedef struct plim_crop {
  int32_t row, column; /* of the image's first pixel, -pad .. pad */
  int32_t mirror;
} plim_crop;

/* The draw for one image in one epoch: a function of its arguments. */
plim_crop plim_crop_draw(uint64_t seed, int64_t epoch, int32_t image, int32_t pad, int32_t flip);

/* Write the crop of `from` to `to`; pixels outside the image are 0.
 *   from  [height][width][channels]  in
 *   to    [height][width][channels]  out */
void plim_crop_copy(const plim_crop *crop, int32_t height, int32_t width, int32_t channels, const uint8_t *from,
                    uint8_t *to);

#ifdef __cplusplus
}
#endif
#endif
