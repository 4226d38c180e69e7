/* The binary version of CIFAR-10: records of one label and three colour planes, turned to channels last. */
#include "runtime/data/cifar.h"

#include "runtime/base/file.h"

enum { PLANE = PLIM_CIFAR_SIDE * PLIM_CIFAR_SIDE, RECORD_BYTES = 1 + PLIM_CIFAR_IMAGE_BYTES };

static plim_status read_records(plim_context *ctx, const char *path, FILE *file, uint8_t *image, uint8_t *label) {
  uint8_t record[RECORD_BYTES];
  for (int32_t i = 0; i < PLIM_CIFAR_FILE_IMAGES; i++) {
    size_t got = fread(record, 1, RECORD_BYTES, file);
    if (got != RECORD_BYTES) {
      return plim_fail(ctx, PLIM_EDATA, "%s: truncated in image %d of %d: %zu of %d bytes", path, i,
                       PLIM_CIFAR_FILE_IMAGES, got, RECORD_BYTES);
    }
    if (record[0] >= PLIM_CIFAR_CLASSES) {
      return plim_fail(ctx, PLIM_EDATA, "%s: label %d of image %d is not 0 to %d", path, record[0], i,
                       PLIM_CIFAR_CLASSES - 1);
    }
    label[i] = record[0];
    uint8_t *to = image + (int64_t)i * PLIM_CIFAR_IMAGE_BYTES;
    for (int32_t c = 0; c < PLIM_CIFAR_CHANNELS; c++) {
      for (int32_t p = 0; p < PLANE; p++) to[p * PLIM_CIFAR_CHANNELS + c] = record[1 + c * PLANE + p];
    }
  }
  if (fgetc(file) != EOF) {
    return plim_fail(ctx, PLIM_EDATA, "%s: bytes follow after its %d images", path, PLIM_CIFAR_FILE_IMAGES);
  }
  return PLIM_OK;
}

plim_status plim_cifar_load(plim_context *ctx, const char *path, uint8_t *image, uint8_t *label) {
  FILE *file = NULL;
  PLIM_TRY(plim_file_open(ctx, path, &file));
  plim_status status = read_records(ctx, path, file, image, label);
  (void)fclose(file);
  return status;
}
