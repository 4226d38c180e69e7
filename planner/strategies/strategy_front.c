/* Work with the plan front on disk: that of equal graph, profile, strategy and options, by the same build. */
#include <stdio.h>

#include "planner/strategies/strategy.h"
#include "planner_hash.h"
#include "runtime/base/sha256.h"
#include "runtime/base/text.h"
#include "runtime/graph/document.h"
#include "runtime/graph/profile_internal.h"

static plim_status hash_profile(const plim_profile *profile, char *hash) {
  plim_text text = {.ctx = profile->ctx};
  plim_profile_write(&text, profile);
  plim_status status = text.status;
  if (status == PLIM_OK) plim_sha256_hex(text.chars, (size_t)text.length, hash);
  plim_text_free(&text);
  return status;
}

/* What decides which plans are allowed, as a hash. A build from other sources, or by another compiler, starts anew. The
 * words of the text are those of the format, which older releases wrote: "curve" is a plan front, "labels" numerics. */
static plim_status make_key(const plim_strategy_call *call, char *key) {
  const plim_problem *p = call->problem;
  const plim_plan_options *options = call->options;
  char profile[PLIM_FINGERPRINT_BYTES];
  PLIM_TRY(hash_profile(p->profile, profile));
  plim_text text = {.ctx = p->ctx};
  plim_text_format(&text, "plimsoll curve 2\nbuild %s\ngraph %s\nprofile %s\nplanner %s\nclass %s\n", PLIM_PLANNER_HASH,
                   p->graph->fingerprint, profile, call->strategy->name, plim_plan_class_name(p->plan_class));
  plim_text_format(&text, "unpacked %d\nlabels %d\n", options->unpacked, (int)options->numerics);
  if (p->plan_class == PLIM_CLASS_COPIES) {
    plim_text_format(&text, "copies %d\n", options->copies > 0 ? options->copies : PLIM_COPIES_DEFAULT);
  }
  for (int32_t op = 0; options->numerics == PLIM_NUMERICS_GIVEN && op < p->n_ops; op++) {
    plim_text_format(&text, "%s\n", options->numerics_key[op]);
  }
  plim_status status = text.status;
  if (status == PLIM_OK) plim_sha256_hex(text.chars, (size_t)text.length, key);
  plim_text_free(&text);
  return status;
}

plim_status plim_strategy_front(const plim_strategy_call *call, plim_front_file *file, plim_front *front) {
  const char *folder = call->options->front_folder;
  char key[PLIM_FINGERPRINT_BYTES] = "";
  if (folder) PLIM_TRY(make_key(call, key));
  return plim_front_open(folder, key, file, front);
}

/* A file that could not be written must not take the place of the sentence of a refusal. */
static plim_status save_front(const plim_front_file *file, const plim_front *front, plim_status refused) {
  char sentence[PLIM_ERROR_BYTES];
  (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(front->ctx));
  PLIM_TRY(plim_front_save(file, front));
  return refused == PLIM_OK ? PLIM_OK : plim_fail(front->ctx, refused, "%s", sentence);
}

plim_status plim_strategy_with_front(const plim_strategy_call *call, plim_front_work *work, void *user) {
  plim_front front = {.ctx = call->problem->ctx};
  plim_front_file file;
  PLIM_TRY(plim_strategy_front(call, &file, &front));
  plim_status status = work(user, &front);
  if (status == PLIM_EPLAN) {
    plim_front_free(&front);
    status = work(user, &front);
  }
  if (status == PLIM_OK || status == PLIM_ENOFIT) status = save_front(&file, &front, status);
  plim_front_free(&front);
  return status;
}
