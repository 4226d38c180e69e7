/* The binary version of CIFAR-10. Functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_DATA_CIFAR_H
#define PLIM_RUNTIME_DATA_CIFAR_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PLIM_CIFAR_SIDE = 32,
  PLIM_CIFAR_CHANNELS = 3,
  PLIM_CIFAR_CLASSES = 10,
  PLIM_CIFAR_FILE_IMAGES = 10000,
  PLIM_CIFAR_IMAGE_BYTES = PLIM_CIFAR_SIDE * PLIM_CIFAR_SIDE * PLIM_CIFAR_CHANNELS
};

/* Read one batch file: 10,000 records of a label byte and 3072 pixels (planes of red, green, blue).
 *   image  [10000][32][32][3]  out  channels last
 *   label  [10000]             out
 * PLIM_ENOFILE when it cannot be opened, PLIM_EDATA when it has not exactly 30,730,000 bytes or a label above 9;
 * then image and label are unspecified. Source: cs.toronto.edu/~kriz/cifar.html. */
PLIM_MUST_USE plim_status plim_cifar_load(plim_context *ctx, const char *path, uint8_t *image, uint8_t *label);

#ifdef __cplusplus
}
#endif
#endif
