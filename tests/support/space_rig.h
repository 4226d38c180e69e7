/* Plans over spaces for tests, by hand: a small sequence, copies of several storages, updates; and drafts of plans that
 * can be changed. */
#ifndef PLIM_TESTS_SUPPORT_SPACE_RIG_H
#define PLIM_TESTS_SUPPORT_SPACE_RIG_H

#include "planner/spaces/problem/space_sequence.h"
#include "runtime/graph/space/space_plan.h"
#include "tests/support/space_cases.h"

typedef struct space_rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_platform *platform;
  plim_space_plan *plan;
  double keep_all;
} space_rig;

/* Four ops on two devices: 0 on d0, copied; 1 and 3 on d1, 2 on d0, copied; 0 runs again on d1. */
extern const space_case space_rig_small;
/* A sequence for it of six commands, with events that drop outputs. */
enum { SPACE_RIG_SEQUENCE = 8 };
extern const plim_space_event space_rig_sequence[SPACE_RIG_SEQUENCE];

/* The graph and the platform of an instance; no plan. */
void space_rig_begin(space_rig *r, const space_case *c);
void space_rig_end(space_rig *r);

/* r->plan becomes the plan of a sequence within budgets of two spaces: without a solver. */
void space_rig_lower(space_rig *r, const plim_space_event *event, int n, int64_t d0, int64_t d1);

/* The same with a workspace of 3 bytes of op 1, and of 2 bytes of op 2. */
extern const space_case space_rig_workspaces;

/* Begin base plan `which`: 0, 1 sequences by hand, 2, 3 of a planner, 4 with several storages in a copy, 5 with
 * workspaces. 0: there is no solver for it, and no plan. */
enum { SPACE_RIG_BASES = 6 };
int space_rig_base(space_rig *r, int which);

/* Begin a graph and a plan where w is read, copied, read elsewhere and updated twice; loss may run once only. Ops:
 * make, probe, loss, update, update again. */
enum { SPACE_RIG_PROBE = 1, SPACE_RIG_UPDATE = 3, SPACE_RIG_UPDATE_AGAIN };
void space_rig_updates(space_rig *r);

/* A plan that can be changed. */
enum { SPACE_DRAFT_ROWS = 128, SPACE_DRAFT_IDS = 8 };
typedef struct space_draft {
  plim_space_plan plan;
  plim_space_command command[SPACE_DRAFT_ROWS];
  plim_space_buffer buffer[SPACE_DRAFT_ROWS];
  plim_space_memory space[4];
  int32_t ids[SPACE_DRAFT_ROWS][2][SPACE_DRAFT_IDS]; /* storages and waits of a command */
} space_draft;

void space_draft_copy(space_draft *d, const plim_space_plan *p);

/* Figures as the simulator has them, so that what is wrong is not told by them alone. NULL: it cannot even be read. */
plim_space_plan *space_draft_finish(plim_context *ctx, space_draft *d);

#endif
