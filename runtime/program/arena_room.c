/* Replays a plan's schedule in the online arena, which decides the addresses. The arena moves no buffer, so a schedule
 * that was packed into the last byte may find no block that is large enough. It is tried again with more room each
 * time. Under a budget the plan is made for fewer bytes; without one the arena grows. */
#include "runtime/base/size.h"
#include "runtime/program/program.h"

static const int32_t room_percent[] = {3, 6, 12, 25};
enum { ROOMS = sizeof room_percent / sizeof room_percent[0] };

typedef struct room {
  const plim_program *program;
  plim_replay_counts *counts;
  int64_t bytes; /* the room in the last try */
} room;

static plim_status replay(const room *trying, const plim_plan *schedule, int64_t bytes, plim_plan **out) {
  const plim_program *program = trying->program;
  return plim_arena_replay(program->ctx, program->graph[PLIM_PROGRAM_TRAIN], schedule, bytes, trying->counts, out);
}

static int64_t part(int64_t bytes, int i) {
  return bytes / 100 * room_percent[i] + bytes % 100 * room_percent[i] / 100;
}

/* Plan for less than the budget until the arena finds room for it. The program keeps its plan. */
static plim_status replay_within(room *trying, const plim_plan *plan, const plim_plan_options *planning,
                                 plim_plan **out) {
  const plim_program *program = trying->program;
  const int64_t bytes = plan->budget_bytes;
  plim_status status = replay(trying, plan, bytes, out);
  for (int i = 0; i < ROOMS && status == PLIM_ENOFIT && planning; i++) {
    plim_plan_options less = *planning;
    plim_plan *smaller = NULL;
    trying->bytes = part(bytes, i);
    less.budget_bytes = bytes - trying->bytes;
    PLIM_TRY(plim_plan_make(program->ctx, program->graph[PLIM_PROGRAM_TRAIN], program->profile[PLIM_PROGRAM_TRAIN],
                            &less, &smaller));
    status = replay(trying, smaller, bytes, out);
    plim_plan_free(smaller);
  }
  return status;
}

/* Give the arena more bytes than were planned for. */
static plim_status replay_beyond(room *trying, const plim_plan *plan, int64_t bytes, plim_plan **out) {
  plim_status status = replay(trying, plan, bytes, out);
  for (int i = 0; i < ROOMS && status == PLIM_ENOFIT; i++) {
    trying->bytes = part(bytes, i);
    status = replay(trying, plan, bytes + trying->bytes, out);
  }
  return status;
}

static plim_status refuse(room *trying, const plim_plan *plan) {
  plim_plan *larger = NULL;
  char text[PLIM_SIZE_TEXT_BYTES];
  const int64_t bytes = plan->budget_bytes;
  PLIM_TRY(replay_beyond(trying, plan, bytes, &larger));
  plim_plan_free(larger);
  const int64_t enough = bytes + trying->bytes;
  return plim_fail(trying->program->ctx, PLIM_ENOFIT,
                   "the arena, which moves nothing, finds no room for the plan in %s (%lld bytes); it does in %lld "
                   "bytes, and planned addresses need no more",
                   plim_size_print(bytes, text), (long long)bytes, (long long)enough);
}

plim_status plim_program_replay(plim_program *program, const plim_plan_options *planning, plim_replay_counts *counts,
                                int64_t *room_bytes) {
  const plim_plan *plan = program->plan[PLIM_PROGRAM_TRAIN];
  const int is_limited = plan->budget_bytes < PLIM_BYTES_UNLIMITED;
  plim_plan *replayed = NULL;
  room trying = {.program = program, .counts = counts};
  plim_status status = is_limited ? replay_within(&trying, plan, planning, &replayed)
                                  : replay_beyond(&trying, plan, plan->arena_bytes, &replayed);
  if (status == PLIM_ENOFIT && is_limited) status = refuse(&trying, plan);
  if (status == PLIM_OK) status = plim_program_adopt(program, replayed);
  if (status == PLIM_OK) *room_bytes = trying.bytes;
  return status;
}
