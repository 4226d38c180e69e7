/* A text is one array of tokens. Its last tenth is for the test; sequences of a context each lie side by side. */
#include "runtime/data/text_data.h"

#include <string.h>

#include "runtime/base/file.h"

enum { TEST_PARTS = 10 };
#define TEXT_MAX_BYTES (INT64_C(1) << 40)

static plim_status check_bytes(plim_context *ctx, const char *path, int64_t length, int bytes) {
  if (length == 0) return plim_fail(ctx, PLIM_EDATA, "%s is empty", path);
  if (length % bytes == 0) return PLIM_OK;
  return plim_fail(ctx, PLIM_EDATA, "%s has %lld bytes, an odd number; a token has two", path, (long long)length);
}

static plim_status check_length(const plim_dataset *dataset, const char *path, int64_t n) {
  const int64_t train = n - n / TEST_PARTS, labels = dataset->context, least = labels + 1 + labels / (TEST_PARTS - 1);
  if (train > dataset->context && n / TEST_PARTS >= 2) return PLIM_OK;
  return plim_fail(dataset->ctx, PLIM_EDATA,
                   "%s has %lld tokens, the last tenth of them for the test; sequences of %d need %lld or more", path,
                   (long long)n, (int)dataset->context, (long long)(least < 2 * TEST_PARTS ? 2 * TEST_PARTS : least));
}

static plim_status copy_tokens(const plim_dataset *dataset, const char *path, const unsigned char *from, int bytes,
                               int64_t n, uint16_t *token) {
  for (int64_t i = 0, offset = 0; i < n; i++, offset += bytes) {
    const unsigned char *at = from + offset;
    token[i] = (uint16_t)(bytes == 1 ? at[0] : at[0] | at[1] << 8);
    if (token[i] < dataset->classes) continue;
    return plim_fail(dataset->ctx, PLIM_EDATA, "%s: token %d at byte %lld is not below the vocabulary, %d words", path,
                     (int)token[i], (long long)offset, (int)dataset->classes);
  }
  return PLIM_OK;
}

/* The number of sequences that so many tokens make. `all_labelled` 1: only those whose tokens all have a label; 0: also
 * a last one of which only some have. */
static int64_t sequences(const plim_dataset *dataset, int64_t tokens, int all_labelled) {
  const int64_t labels = tokens - 1, n = labels / dataset->context + (!all_labelled && labels % dataset->context != 0);
  return n < INT32_MAX ? n : INT32_MAX;
}

plim_status plim_text_data_load(plim_dataset *dataset, const char *path, int bytes) {
  char *text = NULL;
  int64_t length = 0;
  uint16_t *token = NULL;
  plim_status status = PLIM_OK;
  PLIM_TRY(plim_file_read(dataset->ctx, path, TEXT_MAX_BYTES, &text, &length));
  const int64_t n = length / bytes, test = n / TEST_PARTS;
  PLIM_TRY_OR_DONE(check_bytes(dataset->ctx, path, length, bytes));
  PLIM_TRY_OR_DONE(check_length(dataset, path, n));
  PLIM_TRY_OR_DONE(plim_allocate(dataset->ctx, n, sizeof *token, &token));
  dataset->train = (plim_split){.token = token, .n_tokens = n - test};
  dataset->test = (plim_split){.token = token + (n - test), .n_tokens = test};
  PLIM_TRY_OR_DONE(copy_tokens(dataset, path, (const unsigned char *)text, bytes, n, token));
  dataset->train.count = (int32_t)sequences(dataset, n - test, 1);
  dataset->test.count = (int32_t)sequences(dataset, test, 0);
done:
  plim_file_release(dataset->ctx, text, length);
  return status;
}

int64_t plim_text_data_shifts(const plim_dataset *dataset) {
  return dataset->train.n_tokens - 1 - (int64_t)dataset->train.count * dataset->context;
}

void plim_text_data_sequence(const plim_dataset *dataset, const plim_split *split, int64_t index, int64_t shift,
                             int32_t *token, int32_t *label) {
  const int64_t first = index * dataset->context + shift;
  for (int64_t i = 0; i < dataset->context; i++) {
    const int64_t at = first + i;
    token[i] = at < split->n_tokens ? split->token[at] : 0;
    label[i] = at + 1 < split->n_tokens ? split->token[at + 1] : -1;
  }
}
