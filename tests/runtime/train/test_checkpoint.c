/* runtime/train/checkpoint.c: a run goes on from a checkpoint, damaged ones change nothing, and what they say of their
 * run. */
#include "runtime/train/checkpoint.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "tests/support/comma.h"
#include "tests/support/failing_memory.h"
#include "tests/support/folder.h"
#include "tests/support/trainer_rig.h"

enum { STEPS = 6 };

static trainer_rig rig;

static void setup(void) {
  trainer_rig_begin(&rig);
}
static void teardown(void) {
  trainer_rig_end(&rig);
}
TestSuite(checkpoint, .init = setup, .fini = teardown);

static const char *save(plim_trainer *t) {
  const char *path = plim_test_path("weights.ck");
  cr_assert_eq(plim_checkpoint_save(t, path), PLIM_OK, "%s", plim_context_error(rig.ctx));
  return path;
}

Test(checkpoint, continues_from_a_checkpoint_as_if_it_had_never_stopped) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *a = trainer_rig_open(&rig, program, 0.05f), *b = trainer_rig_open(&rig, program, 0.05f);
  trainer_rig_run(&rig, a, STEPS);
  const char *path = save(a);
  trainer_rig_run(&rig, a, STEPS);
  trainer_rig_run(&rig, b, 1);
  cr_assert_eq(plim_checkpoint_load(b, path), PLIM_OK, "%s", plim_context_error(rig.ctx));
  cr_assert_eq(plim_trainer_steps(b), STEPS);
  trainer_rig_run(&rig, b, STEPS);
  cr_assert_eq(trainer_rig_differences(&rig, a, b), 0);
  plim_trainer_close(a);
  plim_trainer_close(b);
  plim_program_free(program);
}

Test(checkpoint, refuses_a_damaged_checkpoint_and_stays_as_it_was) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *a = trainer_rig_open(&rig, program, 0.05f), *b = trainer_rig_open(&rig, program, 0.05f);
  char *data;
  int64_t bytes;
  trainer_rig_run(&rig, a, STEPS);
  cr_assert_eq(plim_file_read(rig.ctx, save(a), 1 << 30, &data, &bytes), PLIM_OK);
  plim_trainer_close(a);
  a = trainer_rig_open(&rig, program, 0.05f);
  const char *path = plim_test_path("damaged.ck");
  for (int64_t i = 0; i < 40; i++) {
    int64_t cut = i * bytes / 40, at = i < 20 ? i : i * bytes / 40;
    cr_assert_eq(plim_file_save(rig.ctx, path, data, cut), PLIM_OK);
    cr_assert_eq(plim_checkpoint_load(b, path), PLIM_EDATA, "cut at %lld", (long long)cut);
    data[at] ^= 4;
    cr_assert_eq(plim_file_save(rig.ctx, path, data, bytes), PLIM_OK);
    cr_assert_eq(plim_checkpoint_load(b, path), PLIM_EDATA, "byte %lld changed", (long long)at);
    data[at] ^= 4;
  }
  cr_assert_eq(plim_trainer_steps(b), 0);
  cr_assert_eq(trainer_rig_differences(&rig, a, b), 0);
  plim_file_release(rig.ctx, data, bytes);
  plim_trainer_close(a);
  plim_trainer_close(b);
  plim_program_free(program);
}

Test(checkpoint, says_what_checkpoint_is_missing) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *t = trainer_rig_open(&rig, program, 0.05f);
  cr_assert_eq(plim_checkpoint_load(t, plim_test_path("none.ck")), PLIM_ENOFILE);
  plim_trainer_close(t);
  plim_program_free(program);
}

/* Put `to` in place of `from` in the header of a checkpoint, with length and checksum made right again. */
static void edit_header(const char *path, const char *from, const char *to) {
  char *data = NULL, *edited = NULL;
  int64_t bytes, grown = (int64_t)strlen(to) - (int64_t)strlen(from);
  cr_assert_eq(plim_file_read(rig.ctx, path, 1 << 24, &data, &bytes), PLIM_OK);
  uint32_t length = 0;
  for (int i = 0; i < 4; i++) length |= (uint32_t)(uint8_t)data[8 + i] << 8 * i;
  int64_t at = 12;
  while (at < 12 + (int64_t)length && strncmp(data + at, from, strlen(from)) != 0) at++;
  cr_assert_lt(at, 12 + (int64_t)length, "no %s", from);
  cr_assert_eq(plim_allocate(rig.ctx, bytes + grown, 1, &edited), PLIM_OK);
  memcpy(edited, data, (size_t)at);
  memcpy(edited + at, to, strlen(to));
  memcpy(edited + at + strlen(to), data + at + strlen(from), (size_t)(bytes - at) - strlen(from));
  length += (uint32_t)grown;
  for (int i = 0; i < 4; i++) edited[8 + i] = (char)(length >> 8 * i);
  plim_sha256 sha;
  plim_sha256_begin(&sha);
  plim_sha256_add(&sha, edited, (size_t)(bytes + grown) - PLIM_SHA256_BYTES);
  plim_sha256_end(&sha, (uint8_t *)edited + bytes + grown - PLIM_SHA256_BYTES);
  cr_assert_eq(plim_file_save(rig.ctx, path, edited, bytes + grown), PLIM_OK);
  plim_release(rig.ctx, edited, bytes + grown, 1);
  plim_file_release(rig.ctx, data, bytes);
}

Test(checkpoint, a_checkpoint_that_says_more_steps_than_any_run_has_is_refused) {
  static const char *const steps[] = {"9007199254740993", "9223372036854775807"};
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    char to[64];
    plim_trainer *t = trainer_rig_open(&rig, program, 0.05f);
    trainer_rig_run(&rig, t, 2);
    cr_assert_eq(plim_checkpoint_save(t, plim_test_path("w.ckpt")), PLIM_OK);
    (void)snprintf(to, sizeof to, "\"step\": %s,", steps[i]);
    edit_header(plim_test_path("w.ckpt"), "\"step\": 2,", to);
    cr_assert_eq(plim_checkpoint_load(t, plim_test_path("w.ckpt")), PLIM_EDATA);
    cr_assert_not_null(strstr(plim_context_error(rig.ctx), steps[i]), "%s", plim_context_error(rig.ctx));
    cr_assert_eq(plim_trainer_steps(t), 2);
    plim_trainer_close(t);
  }
  plim_program_free(program);
}

Test(checkpoint, a_checkpoint_of_another_value_names_both) {
  static const char named[] = "(state, f32, ";
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *t = trainer_rig_open(&rig, program, 0.05f);
  const char *path = save(t);
  edit_header(path, "\"role\": \"param\"", "\"role\": \"state\"");
  cr_assert_eq(plim_checkpoint_load(t, path), PLIM_EDATA);
  const char *error = plim_context_error(rig.ctx), *found = strstr(error, named), *own = strstr(error, "(param, f32, ");
  cr_assert(found && own && found < own, "%s", error);
  const size_t rest = strcspn(found, ")") - strlen("(state");
  cr_assert_eq(strncmp(found + strlen("(state"), own + strlen("(param"), rest), 0, "%s", error);
  cr_assert_not_null(strstr(error, " where this run has '"), "%s", error);
  plim_trainer_close(t);
  plim_program_free(program);
}

/* ---- what it says of its run ---- */

Test(checkpoint, a_checkpoint_says_which_kernels_and_which_training_made_it) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *t = trainer_rig_open(&rig, program, 0.05f);
  const plim_plan *plan = program->plan[PLIM_PROGRAM_TRAIN];
  const plim_graph *graph = program->graph[PLIM_PROGRAM_TRAIN];
  plim_checkpoint_info *info = NULL;
  trainer_rig_run(&rig, t, STEPS);
  cr_assert_eq(plim_checkpoint_read(rig.ctx, save(t), &info), PLIM_OK, "%s", plim_context_error(rig.ctx));
  cr_assert_eq(info->step, STEPS);
  cr_assert_eq(info->batch, TRAINER_RIG_BATCH);
  cr_assert_str_eq(info->numerics, plan->numerics.hash);
  cr_assert_str_eq(info->graph, graph->fingerprint);
  cr_assert_eq(memcmp(&info->machine, &plan->numerics.machine, sizeof info->machine), 0);
  cr_assert_eq(info->n_ops, graph->n_ops);
  for (int32_t i = 0; i < plan->n_variants; i++) {
    cr_assert_str_eq(info->numerics_key[info->key_of_op[plan->variant[i].op]], plan->variant[i].variant.numerics_key);
  }
  const char *key[4096];
  cr_assert_leq(graph->n_ops, 4096);
  cr_assert_null(plim_checkpoint_numerics_keys(info, graph, &plan->numerics.machine, key));
  for (int32_t i = 0; i < plan->n_variants; i++) {
    cr_assert_str_eq(key[plan->variant[i].op], plan->variant[i].variant.numerics_key);
  }
  cr_assert_eq(plim_checkpoint_numerics_differ(info, plan), 0);
  info->numerics_key[info->key_of_op[plan->variant[0].op]][0] ^= 1;
  cr_assert_gt(plim_checkpoint_numerics_differ(info, plan), 0);
  plim_machine other = plan->numerics.machine;
  other.threads++;
  cr_assert_str_eq(plim_checkpoint_numerics_keys(info, graph, &other, NULL),
                   "other threads, instructions or libraries made it");
  cr_assert_str_eq(plim_checkpoint_numerics_keys(info, program->graph[PLIM_PROGRAM_EVAL], &other, NULL),
                   "it is of a network with other ops");
  cr_assert_eq(info->has_training, 1);
  cr_assert_eq(info->rate, 0.05f);
  cr_assert_eq(info->total_steps, plim_trainer_options_of(t)->schedule.total_steps);
  cr_assert_eq(info->seed, plim_trainer_options_of(t)->seed);
  plim_checkpoint_info_free(info);
  plim_trainer_close(t);
  plim_program_free(program);
}

Test(checkpoint, a_checkpoint_written_where_numbers_have_a_comma_is_read) {
  if (!plim_test_set_comma()) cr_skip_test("no locale with a decimal comma here");
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *t = trainer_rig_open(&rig, program, 0.05f);
  plim_checkpoint_info *info = NULL;
  cr_assert_eq(plim_checkpoint_read(rig.ctx, save(t), &info), PLIM_OK, "%s", plim_context_error(rig.ctx));
  cr_assert_eq(info->rate, 0.05f);
  plim_checkpoint_info_free(info);
  plim_trainer_close(t);
  plim_program_free(program);
}

Test(checkpoint, numerics_of_a_checkpoint_that_are_none_are_refused_and_without_any_it_is_read) {
  static const char *const edit[][2] = {{"\"ops\": [0", "\"ops\": [99"},
                                        {"\"ops\": [0", "\"ops\": [-1"},
                                        {"\"ops\": [0", "\"ops\": [null"},
                                        {"\"labels\": [\"", "\"labels\": [7, \""},
                                        {"\"isa\": \"", "\"isb\": \""}};
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *t = trainer_rig_open(&rig, program, 0.05f);
  plim_checkpoint_info *info = NULL;
  trainer_rig_run(&rig, t, 2);
  for (size_t i = 0; i < sizeof edit / sizeof *edit; i++) {
    cr_assert_eq(plim_checkpoint_save(t, plim_test_path("w.ckpt")), PLIM_OK);
    edit_header(plim_test_path("w.ckpt"), edit[i][0], edit[i][1]);
    cr_assert_eq(plim_checkpoint_read(rig.ctx, plim_test_path("w.ckpt"), &info), PLIM_EDATA, "%s", edit[i][1]);
  }
  cr_assert_eq(plim_checkpoint_save(t, plim_test_path("w.ckpt")), PLIM_OK);
  edit_header(plim_test_path("w.ckpt"), "\"numerics\"", "\"something\"");
  edit_header(plim_test_path("w.ckpt"), "\"training\"", "\"else\"");
  cr_assert_eq(plim_checkpoint_read(rig.ctx, plim_test_path("w.ckpt"), &info), PLIM_OK, "%s",
               plim_context_error(rig.ctx));
  cr_assert_eq(info->n_ops, 0);
  cr_assert_eq(info->has_training, 0);
  cr_assert_eq(plim_checkpoint_load(t, plim_test_path("w.ckpt")), PLIM_OK, "%s", plim_context_error(rig.ctx));
  plim_checkpoint_info_free(info);
  plim_trainer_close(t);
  plim_program_free(program);
}

static plim_status read_info(plim_context *failing, void *user) {
  plim_checkpoint_info *info = NULL;
  plim_status status = plim_checkpoint_read(failing, user, &info);
  plim_checkpoint_info_free(info);
  return status;
}

Test(checkpoint, every_allocation_of_reading_what_a_checkpoint_says_may_be_refused) {
  plim_program *program = trainer_rig_program(&rig, TRAINER_RIG_BATCH);
  plim_trainer *t = trainer_rig_open(&rig, program, 0.05f);
  char path[4096];
  trainer_rig_run(&rig, t, 1);
  (void)snprintf(path, sizeof path, "%s", save(t));
  cr_assert_gt(plim_test_each_allocation(read_info, path), 2);
  plim_trainer_close(t);
  plim_program_free(program);
}
