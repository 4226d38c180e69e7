/* The story of an online run: who asked for room, what was evicted for it, what was computed again for whom. Nothing of
 * it is stored by the run. Policies are deterministic, so the same policy plays the same order again in an arena
 * without memory, watched; why a decision fell as it did is read from the state of a further play, stopped at that
 * decision. */
#ifndef PLIM_RUNTIME_INSPECT_STORY_H
#define PLIM_RUNTIME_INSPECT_STORY_H

#include "runtime/arena/replay.h"
#include "runtime/arena/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_story plim_story;

typedef struct plim_story_options {
  const plim_graph *graph;
  const plim_plan *order; /* a plan of program order with the run's variants; addresses are not read */
  const plim_policy *policy;
  int64_t budget_bytes;
  int64_t limit_ns; /* on time spent computing again; 0: none */
} plim_story_options;

/* Play the run. A run that finds no room, or takes too long, is a story too, which ends with the request that failed or
 * the run that would have come. graph and order must outlive it. Deterministic; costs what the run itself cost to
 * decide. */
PLIM_MUST_USE plim_status plim_story_new(plim_context *ctx, const plim_story_options *options, plim_story **out);
void plim_story_free(plim_story *story); /* NULL is legal */

/* What was run. Of a run that did not end well: what was run until then, and as a last step the run that would have
 * come, beside what was resident; the checker would not accept that. NULL when not even a first step was reached. */
const plim_plan *plim_story_plan(const plim_story *story);

/* Why the run ended early: the sentence; NULL when it did not. */
const char *plim_story_failure(const plim_story *story);

/* 1: it was given up because computing again took too long. */
int plim_story_thrashed(const plim_story *story);

/* What would come of another policy from step `from` on within arena_bytes, as plim_arena_what_if says it; of a story
 * that ended early from its last step too. */
PLIM_MUST_USE plim_status plim_story_what_if(const plim_story *story, const plim_policy *policy, int32_t from,
                                             int64_t arena_bytes, plim_replay_counts *counts, plim_plan **out);

/* The way the policy took: one that knows the program tries several. */
const plim_replay_way *plim_story_way(const plim_story *story);

/* Is that, step by step and address by address, what this plan says? *step: the first at which it is not. */
int plim_story_equals(const plim_story *story, const plim_plan *plan, int32_t *step);

/* 0: a step of the program; else how many runs waited for this one. The tree of what is computed again for a step of
 * the program stands in front of it; a run serves the first one behind it that is less deep. */
int32_t plim_story_depth(const plim_story *story, int32_t step);

/* A decision: what goes, so that a request finds room in front of a step. Policies that evict one storage after another
 * decide several times for one request. */
typedef struct plim_story_choice {
  int32_t step;
  plim_arena_request request;
  int32_t n_evicted; /* 0: nothing could go any more, and the run ended */
  const int32_t *evicted;
} plim_story_choice;

/* All decisions, in order; returns how many. */
int32_t plim_story_choices(const plim_story *story, const plim_story_choice **out);

/* ---- why ---- */

/* May a piece go; if not, why. */
typedef enum plim_piece_state {
  PLIM_PIECE_IS_FREE,
  PLIM_PIECE_MAY_GO,
  PLIM_PIECE_PERSISTENT, /* a parameter, a state, the staged batch */
  PLIM_PIECE_INPUT,      /* written from outside: nothing makes it again */
  PLIM_PIECE_SMALL,      /* in the area of small requests, where nothing is evicted */
  PLIM_PIECE_PINNED,     /* a run that is under way needs it: `by` is its op, -1: the end of the step */
  PLIM_PIECE_TOO_LATE,   /* cannot be made again when it is read last: `by` is the param or state that is new then,
                            -1: what it is made from is gone */
} plim_piece_state;

typedef struct plim_story_piece {
  int64_t offset, bytes;
  int32_t storage; /* -1: free */
  plim_piece_state state;
  int32_t by;
  /* of pieces that may go */
  int64_t own_ns;       /* time of its op */
  int64_t neighbour_ns; /* of missing neighbours that the policy counts in */
  int64_t distance_ns;  /* until it is read again, or since it was used: as the policy has it */
  int64_t stale_ns;     /* since it was used */
  double score;
} plim_story_piece;

typedef struct plim_story_window {
  int32_t begin, end;           /* of the pieces */
  int64_t bytes, evicted_bytes; /* of them, of those that would go */
  double score;                 /* sum of its pieces' */
  double together;              /* looked at as a whole; as `score` when the policy does not */
} plim_story_window;

enum { PLIM_STORY_WINDOWS = 8 };

typedef struct plim_story_reasons {
  int32_t n_pieces;
  plim_story_piece *piece; /* [n_pieces] by address */
  int64_t free_bytes, largest_free_bytes;
  /* by windows: the best by score, the first what was taken, [1] the runner-up */
  int32_t n_windows;
  plim_story_window window[PLIM_STORY_WINDOWS];
  int32_t taken, runner_up; /* one after another: pieces; -1: none */
  int64_t extra_bytes;      /* when nothing can go: bytes at the end of the arena that would be room enough */
} plim_story_reasons;

/* Why decision `choice` fell as it did. Borrowed until the next call with this story. */
PLIM_MUST_USE plim_status plim_story_explain(plim_story *story, int32_t choice, const plim_story_reasons **out);

/* A budget above the run's in which the policy ends, found by halving between the smallest step up and `most_bytes`;
 * -1: not in that either. A smaller one may exist, since policies are not monotone. Asked again, it is remembered. */
PLIM_MUST_USE plim_status plim_story_enough(plim_story *story, int64_t most_bytes, int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
