/* Derives the options of a net from the data set that it reads. All data sets of images have ten classes. */
#include <string.h>

#include "runtime/base/name.h"
#include "runtime/train/preparation.h"

enum { CLASSES = 10 };

/* Usual height, width and channels of the images of a model, and its data where none are named. fashion-mnist has
 * 28x28 pixels, which vgg16 and unet halve too often. The first row is for all models that are not listed. */
typedef struct usual_row {
  const char *model;
  int32_t image[3];
  const char *data;
} usual_row;

static const usual_row usual[] = {
    {"", {32, 32, 3}, "fashion-mnist"},           {"mlp", {28, 28, 1}, "fashion-mnist"},
    {"resnet50", {224, 224, 3}, "fashion-mnist"}, {"tinyres", {16, 16, 3}, "fashion-mnist"},
    {"unet", {64, 64, 3}, "synthetic"},           {"vgg16", {32, 32, 3}, "synthetic"}};

static const usual_row *usual_of(const char *model) {
  for (size_t i = 1; i < sizeof usual / sizeof *usual && model; i++) {
    if (strcmp(usual[i].model, model) == 0) return &usual[i];
  }
  return &usual[0];
}

const char *plim_preparation_usual_data(const char *model) {
  return usual_of(model)->data;
}

plim_status plim_preparation_net_options(plim_context *ctx, const char *model, const char *data, const int32_t *image,
                                         plim_net_options *out) {
  char advice[PLIM_NAME_ADVICE_BYTES];
  plim_net_options net = plim_net_options_default();
  const int reads_text = model && strcmp(model, "gpt") == 0, text = plim_dataset_text(data, NULL) != PLIM_TEXT_NONE;
  int32_t own[3];
  if (model && reads_text != (text > 0)) {
    return plim_fail(ctx, PLIM_EUSAGE, "model %s reads %s: %s is %s", model,
                     reads_text ? "tokens, as text:FILE or tokens:FILE" : "images", data, text ? "text" : "images");
  }
  if (text && image) return plim_fail(ctx, PLIM_EUSAGE, "an image size does not apply to a text");
  if (text) {
    net.context = plim_dataset_options_default().context;
    net.classes = plim_dataset_options_default().words;
    *out = net;
    return PLIM_OK;
  }
  if (plim_name_find(plim_dataset_name, data) < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "no data set is called \"%s\"%s", data,
                     plim_name_advice(plim_dataset_name, data, advice));
  }
  int has_own = plim_dataset_size(data, own);
  if (has_own && image) {
    return plim_fail(ctx, PLIM_EUSAGE, "an image size does not apply to data set %s, whose images are %dx%dx%d", data,
                     (int)own[0], (int)own[1], (int)own[2]);
  }
  const int32_t *size = has_own ? own : image ? image : usual_of(model)->image;
  net.height = size[0];
  net.width = size[1];
  net.channels = size[2];
  net.classes = CLASSES;
  plim_dataset_pixels(data, net.pixel_scale, net.pixel_shift);
  *out = net;
  return PLIM_OK;
}
