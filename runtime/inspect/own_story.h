/* What a story holds; for this folder. */
#ifndef PLIM_RUNTIME_INSPECT_OWN_STORY_H
#define PLIM_RUNTIME_INSPECT_OWN_STORY_H

#include "runtime/arena/tenants.h"
#include "runtime/inspect/story.h"

struct plim_story {
  plim_context *ctx;
  plim_story_options options;
  plim_replay_way way;
  plim_plan *plan;
  char *failure; /* NULL: the run ended */
  int32_t thrashed;
  int64_t failure_bytes;
  int32_t n_steps, n_choices, n_evicted;
  int64_t depth_capacity, choice_capacity, evicted_capacity;
  int32_t *depth;            /* [n_steps] */
  plim_story_choice *choice; /* `evicted` points into the list once it grows no more */
  int32_t *evicted;
  plim_story_reasons reasons; /* of the last decision that was explained */
  int64_t piece_capacity;
  int64_t enough_most, enough_bytes; /* what plim_story_enough found last; most 0: nothing yet */
};

/* Play the story's run once more. */
plim_status plim_story_play(const plim_story *story, const plim_arena_watch *watch, plim_plan **out);

#endif
