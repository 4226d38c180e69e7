/* Batches from a program's own function. The labels and tokens that it writes are checked, because kernels do not check
 * them. */
#include "runtime/data/data_source.h"

#include <stdio.h>

static plim_status check_images(plim_context *ctx, const plim_data_source *source) {
  if (source->channels >= 1 && source->channels <= 4 && source->height >= 1 && source->width >= 1) return PLIM_OK;
  return plim_fail(ctx, PLIM_EUSAGE,
                   "data source %s has images of %d x %d x %d; sizes are positive, channels at most 4", source->name,
                   source->height, source->width, source->channels);
}

static plim_status check_source(plim_context *ctx, const plim_data_source *source) {
  PLIM_TRY(plim_check_options(ctx, "plim_data_source", source->struct_bytes, sizeof *source));
  if (!source->name || !source->fill) return plim_fail(ctx, PLIM_EUSAGE, "a data source needs a name and a function");
  if (source->context < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "data source %s has sequences of %d", source->name, source->context);
  }
  if (source->context == 0) PLIM_TRY(check_images(ctx, source));
  if (source->classes < 2) {
    return plim_fail(ctx, PLIM_EUSAGE, "data source %s has %d classes; at least 2 are needed", source->name,
                     source->classes);
  }
  if (source->train_count >= 1 && source->test_count >= 1) return PLIM_OK;
  return plim_fail(ctx, PLIM_EUSAGE, "data source %s has %d + %d examples; both numbers are positive", source->name,
                   source->train_count, source->test_count);
}

plim_status plim_dataset_from_source(plim_context *ctx, const plim_data_source *source, plim_dataset **out) {
  plim_dataset *dataset = NULL;
  PLIM_TRY(check_source(ctx, source));
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *dataset, &dataset));
  *dataset = (plim_dataset){.ctx = ctx,
                            .name = source->name,
                            .height = source->height,
                            .width = source->width,
                            .channels = source->channels,
                            .classes = source->classes,
                            .context = source->context,
                            .train = {.count = source->train_count},
                            .test = {.count = source->test_count},
                            .source = *source};
  *out = dataset;
  return PLIM_OK;
}

static const char *part_of(const plim_data_batch *batch) {
  return batch->test ? "test" : "training";
}

/* Index of the first of n numbers outside least .. most - 1; n: there is none. */
static int64_t find_outside(const int32_t *number, int64_t n, int32_t least, int32_t most) {
  int64_t i = 0;
  while (i < n && number[i] >= least && number[i] < most) i++;
  return i;
}

static void check_numbers(const plim_dataset *dataset, const plim_data_batch *batch, const char *what,
                          const int32_t *number, int32_t least, plim_data_fault *fault) {
  const int64_t n = (int64_t)batch->count * (dataset->context > 0 ? dataset->context : 1);
  const int64_t at = find_outside(number, n, least, dataset->classes);
  if (at == n || fault->status != PLIM_OK) return;
  fault->status = PLIM_EDATA;
  (void)snprintf(fault->sentence, sizeof fault->sentence,
                 "data source %.64s, %s batch %lld: %s %lld is %d; %d to %d are allowed", dataset->name, part_of(batch),
                 (long long)batch->number, what, (long long)at, number[at], least, dataset->classes - 1);
}

void plim_data_source_fill(const plim_dataset *dataset, const plim_data_batch *batch, plim_data_fault *fault) {
  const int error = dataset->source.fill(dataset->source.user, batch);
  *fault = (plim_data_fault){.status = PLIM_OK};
  if (error != 0) {
    fault->status = PLIM_EIO;
    (void)snprintf(fault->sentence, sizeof fault->sentence, "data source %.64s failed with %d at %s batch %lld",
                   dataset->name, error, part_of(batch), (long long)batch->number);
    return;
  }
  check_numbers(dataset, batch, "label", batch->label, -1, fault);
  if (batch->token) check_numbers(dataset, batch, "token", batch->token, 0, fault);
}
