/* Selects variants for a fixed sequence of ops (see the header for the idea).
 *
 * For each op and numerics key, sums over the op's runs say what the runs would take with the variants of that key:
 * their time, and the most bytes that one of them is short. The key that is short of the fewest bytes wins, then the
 * fastest. Each run then gets the fastest variant of that key that fits beside what is alive at its position.
 *
 * Example: op v has variant a of 2 ms and 8 bytes of workspace, and variant b of 3 ms and none, each with a key of its
 * own. It runs twice, with 10 and 5 bytes of room. Key a is short of 3 bytes at the second run, key b of none: b wins,
 * and both runs take 3 ms. With one key for both, the first run would take a and the second b. */
#include "planner/core/evaluation.h"

/* Sums over the runs of an op, with the variants of one numerics key. They stand at the first choice that has the key.
 */
typedef struct plim_selection_key {
  int64_t missing_bytes; /* largest excess over the limit of one run; <= 0: all fit */
  int64_t time_ns;       /* of all runs */
} key_sum;

/* The first choice with the numerics key of this choice. */
static int32_t row_of_key(const plim_planned_op *op, int32_t choice) {
  int32_t k = 0;
  while (op->choice[k].numerics_key != op->choice[choice].numerics_key) k++;
  return k;
}

static int is_useful(const plim_problem *p) {
  for (int32_t v = 0; v < p->n_ops; v++) {
    for (int32_t k = 1; k < p->op[v].n_choices; k++) {
      if (p->op[v].choice[k].workspace_bytes < p->op[v].choice[0].workspace_bytes) return 1;
    }
  }
  return 0;
}

plim_status plim_variant_selection_make(const plim_problem *p, plim_variant_selection *out) {
  plim_status status;
  *out = (plim_variant_selection){.problem = p, .is_useful = is_useful(p)};
  if (!out->is_useful) return PLIM_OK;
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, (int64_t)p->n_ops + 1, sizeof *out->first, &out->first));
  for (int32_t v = 0; v < p->n_ops; v++) out->first[v + 1] = out->first[v] + p->op[v].n_choices;
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, out->first[p->n_ops], sizeof *out->key_sum, &out->key_sum));
done:
  if (status != PLIM_OK) plim_variant_selection_free(out);
  return status;
}

void plim_variant_selection_free(plim_variant_selection *selection) {
  const plim_problem *p = selection->problem;
  if (selection->key_sum) {
    plim_release(p->ctx, selection->key_sum, selection->first[p->n_ops], sizeof *selection->key_sum);
  }
  if (selection->first) plim_release(p->ctx, selection->first, (int64_t)p->n_ops + 1, sizeof *selection->first);
  *selection = (plim_variant_selection){0};
}

/* Live bytes at a position without the run's workspace. */
static int64_t bytes_without_workspace(const plim_timeline *timeline, const plim_schedule *schedule, int32_t j) {
  return timeline->level[j] - timeline->problem->op[schedule->op[j]].choice[schedule->choice[j]].workspace_bytes;
}

int64_t plim_variant_selection_least(const plim_timeline *timeline, const plim_schedule *schedule) {
  int64_t least = timeline->problem->persistent_bytes;
  for (int32_t j = 0; j < schedule->n; j++) {
    const plim_planned_op *op = &timeline->problem->op[schedule->op[j]];
    int64_t workspace = INT64_MAX;
    for (int32_t k = 0; k < op->n_choices; k++) {
      if (op->choice[k].workspace_bytes < workspace) workspace = op->choice[k].workspace_bytes;
    }
    const int64_t bytes = bytes_without_workspace(timeline, schedule, j) + workspace;
    if (bytes > least) least = bytes;
  }
  return least;
}

/* Bytes that the workspace of run j may have within the limit. */
static int64_t room_at(const plim_timeline *timeline, const plim_schedule *schedule, int32_t j, int64_t limit) {
  int64_t bytes = bytes_without_workspace(timeline, schedule, j);
  return limit - (bytes <= limit ? bytes : plim_bound_without_workspace(timeline->problem, schedule->op[j]));
}

/* The fastest choice of the numerics key whose workspace is within `room`; where none is, the one with the least
 * workspace. */
static int32_t choose(const plim_planned_op *op, int32_t numerics_key, int64_t room) {
  int32_t best = -1;
  for (int32_t k = 0; k < op->n_choices; k++) {
    const plim_choice *a = &op->choice[k], *b = best >= 0 ? &op->choice[best] : NULL;
    if (a->numerics_key != numerics_key) continue;
    int fits = a->workspace_bytes <= room, best_fits = b && b->workspace_bytes <= room;
    if (!b || fits > best_fits || (fits && best_fits && a->time_ns < b->time_ns) ||
        (!fits && !best_fits && a->workspace_bytes < b->workspace_bytes)) {
      best = k;
    }
  }
  return best;
}

/* Add a run of op v, whose workspace may have `room` bytes, to the sums. */
static void add_run(plim_variant_selection *selection, int32_t v, int64_t room) {
  const plim_planned_op *op = &selection->problem->op[v];
  for (int32_t row = 0; row < op->n_choices; row++) {
    if (row_of_key(op, row) != row) continue;
    key_sum *sum = &selection->key_sum[selection->first[v] + row];
    const plim_choice *c = &op->choice[choose(op, op->choice[row].numerics_key, room)];
    int64_t missing = c->workspace_bytes - room;
    if (missing > sum->missing_bytes) sum->missing_bytes = missing;
    sum->time_ns += c->time_ns;
  }
}

static int32_t best_key(const plim_variant_selection *selection, int32_t v) {
  const plim_planned_op *op = &selection->problem->op[v];
  const key_sum *sum = &selection->key_sum[selection->first[v]];
  int32_t best = 0;
  for (int32_t row = 1; row < op->n_choices; row++) {
    if (row_of_key(op, row) != row) continue;
    if (sum[row].missing_bytes > sum[best].missing_bytes) continue;
    if (sum[row].missing_bytes < sum[best].missing_bytes || sum[row].time_ns < sum[best].time_ns) best = row;
  }
  return op->choice[best].numerics_key;
}

int plim_variant_selection_run(plim_variant_selection *selection, const plim_timeline *timeline,
                               plim_schedule *schedule, int64_t limit) {
  int changed = 0;
  if (!selection->is_useful) return 0;
  for (int32_t i = 0; i < selection->first[selection->problem->n_ops]; i++) selection->key_sum[i] = (key_sum){0};
  for (int32_t j = 0; j < schedule->n; j++) add_run(selection, schedule->op[j], room_at(timeline, schedule, j, limit));
  for (int32_t j = 0; j < schedule->n; j++) {
    int32_t v = schedule->op[j];
    int32_t choice = choose(&selection->problem->op[v], best_key(selection, v), room_at(timeline, schedule, j, limit));
    changed |= choice != schedule->choice[j];
    schedule->choice[j] = choice;
  }
  return changed;
}
