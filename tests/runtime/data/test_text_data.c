/* runtime/data/text_data.c: files that are wrong, what is for the test, sequences and their labels. */
#include "runtime/data/text_data.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/data/sampler.h"
#include "tests/support/folder.h"

static plim_context *ctx;
static plim_dataset_options options;
static char path[4096], name[4112];

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  options = plim_dataset_options_default();
  options.context = 8;
  (void)snprintf(path, sizeof path, "%s/text", plim_test_folder());
  (void)snprintf(name, sizeof name, "text:%s", path);
}
static void teardown(void) {
  plim_test_folder_remove();
  plim_context_free(ctx);
}
TestSuite(text_data, .init = setup, .fini = teardown);

/* A file of so many bytes: 0, 1, 2, ... */
static void write_bytes(int64_t count) {
  FILE *file = fopen(path, "wb");
  cr_assert_not_null(file);
  for (int64_t i = 0; i < count; i++) cr_assert_neq(fputc((int)(i & 255), file), EOF);
  cr_assert_eq(fclose(file), 0);
}

static void expect_failure(const char *data, plim_status status, const char *words) {
  plim_dataset *d = NULL;
  cr_assert_eq(plim_dataset_load(ctx, data, &options, &d), status, "%s", plim_context_error(ctx));
  cr_assert_null(d);
  cr_assert_not_null(strstr(plim_context_error(ctx), words), "\"%s\" lacks \"%s\"", plim_context_error(ctx), words);
  cr_assert_eq(plim_context_memory(ctx).bytes, 0);
}

static plim_dataset *load(const char *data) {
  plim_dataset *d = NULL;
  cr_assert_eq(plim_dataset_load(ctx, data, &options, &d), PLIM_OK, "%s", plim_context_error(ctx));
  return d;
}

Test(text_data, a_file_that_is_wrong_gets_a_sentence) {
  char tokens[4112];
  (void)snprintf(tokens, sizeof tokens, "tokens:%s", path);
  expect_failure("text:/no/such/file", PLIM_ENOFILE, "/no/such/file");
  write_bytes(0);
  expect_failure(name, PLIM_EDATA, "is empty");
  write_bytes(21);
  expect_failure(tokens, PLIM_EDATA, "has 21 bytes, an odd number");
  write_bytes(19);
  expect_failure(name, PLIM_EDATA,
                 "has 19 tokens, the last tenth of them for the test; sequences of 8 need 20 or more");
  write_bytes(60);
  options.words = 0x0100;
  expect_failure(tokens, PLIM_EDATA, "token 256 at byte 0 is not below the vocabulary, 256 words");
  options.words = 1;
  expect_failure(tokens, PLIM_EUSAGE, "2 to 65536");
  options.context = 0;
  expect_failure(name, PLIM_EUSAGE, "sequences of 0 tokens");
}

Test(text_data, the_least_number_of_tokens_is_enough) {
  static const int32_t contexts[] = {1, 17, 18, 19, 100};
  for (int i = 0; i < 5; i++) {
    char words[64];
    plim_dataset *d = NULL;
    int64_t need = 1;
    options.context = contexts[i];
    do {
      write_bytes(++need);
    } while (plim_dataset_load(ctx, name, &options, &d) != PLIM_OK);
    cr_assert_geq(d->train.count, 1);
    cr_assert_geq(d->test.count, 1);
    plim_dataset_free(d);
    write_bytes(need - 1);
    (void)snprintf(words, sizeof words, "need %d or more", (int)need);
    expect_failure(name, PLIM_EDATA, words);
  }
}

Test(text_data, the_last_tenth_is_for_the_test_and_labels_are_the_tokens_after) {
  int32_t token[8], label[8];
  write_bytes(205);
  plim_dataset *d = load(name);
  cr_assert_eq(d->train.n_tokens, 185);
  cr_assert_eq(d->test.n_tokens, 20);
  cr_assert_eq(d->train.count, 184 / 8);
  cr_assert_eq(d->test.count, 3);
  cr_assert_eq(d->classes, 256);
  cr_assert_eq(plim_dataset_bytes(d), 410);
  plim_text_data_sequence(d, &d->train, 2, 0, token, label);
  for (int i = 0; i < 8; i++) cr_assert(token[i] == 16 + i && label[i] == 17 + i);
  plim_text_data_sequence(d, &d->test, 2, 0, token, label);
  for (int i = 0; i < 8; i++) {
    cr_assert_eq(token[i], i < 4 ? 201 + i : 0);
    cr_assert_eq(label[i], i < 3 ? 202 + i : -1);
  }
  plim_dataset_free(d);
}

Test(text_data, tokens_of_two_bytes_have_the_lower_one_first) {
  char tokens[4112];
  int32_t token[8], label[8];
  (void)snprintf(tokens, sizeof tokens, "tokens:%s", path);
  options.words = 65536;
  write_bytes(60);
  plim_dataset *d = load(tokens);
  cr_assert_eq(d->train.n_tokens, 27);
  plim_text_data_sequence(d, &d->train, 0, 0, token, label);
  for (int i = 0; i < 8; i++) cr_assert_eq(token[i], 2 * i + (2 * i + 1) * 256);
  plim_dataset_free(d);
}

/* Every sequence once an epoch; another order, and with augmentation another beginning, in the next. */
Test(text_data, an_epoch_has_every_sequence_once) {
  enum { BATCH = 3, SEQUENCES = 21 };
  int32_t token[BATCH * 8], label[BATCH * 8];
  plim_sampler *sampler = NULL;
  plim_sampler_options sampling = plim_sampler_options_default();
  write_bytes(195);
  plim_dataset *d = load(name);
  cr_assert_eq(d->train.count, SEQUENCES);
  cr_assert_eq(plim_text_data_shifts(d), 176 - 1 - SEQUENCES * 8);
  sampling.batch = BATCH;
  sampling.augment = 1;
  cr_assert_eq(plim_sampler_new(d, &sampling, &sampler), PLIM_OK);
  for (int epoch = 0; epoch < 4; epoch++) {
    int seen[SEQUENCES] = {0};
    for (int step = 0; step < SEQUENCES / BATCH; step++) {
      plim_sampler_train(sampler, epoch * (SEQUENCES / BATCH) + step, (uint8_t *)token, label);
      for (int i = 0; i < BATCH; i++) {
        seen[token[i * 8] / 8]++;
        for (int t = 0; t < 8; t++) cr_assert_eq(label[i * 8 + t], token[i * 8] + t + 1);
      }
    }
    for (int i = 0; i < SEQUENCES; i++) cr_assert_eq(seen[i], 1);
  }
  plim_sampler_free(sampler);
  plim_dataset_free(d);
}
