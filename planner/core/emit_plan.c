/* Writes a plan document: a command for each run, with its variant and in-place pairs; a buffer for each persistent
 * storage, lifetime and workspace, with its offset; and the figures. Variants that the plan uses are numbered in the
 * order of their first use. */
#include "planner/core/timeline.h"

#include <stdio.h>

typedef struct writer {
  const plim_problem *problem;
  const plim_timeline *timeline;
  const plim_schedule *schedule;
  const plim_placement *placement;
  plim_command *command;                       /* [runs] */
  plim_plan_buffer *buffer;                    /* [room_buffers] */
  plim_plan_variant *variant;                  /* [runs] */
  int32_t *variant_at;                         /* [n_choices] index + 1 of the choice among the plan's variants */
  int32_t n_buffers, n_variants, room_buffers; /* written so far; room for buffers */
} writer;

static void write_steps(writer *w) {
  const plim_problem *p = w->problem;
  for (int32_t j = 0; j < w->schedule->n; j++) {
    int32_t op = w->schedule->op[j];
    const plim_choice *choice = &p->op[op].choice[w->schedule->choice[j]];
    int32_t *at = &w->variant_at[choice - p->choice];
    if (*at == 0) {
      const plim_variant *row = &p->profile->variant[p->profile->first[op] + choice->variant];
      w->variant[w->n_variants] = (plim_plan_variant){.op = op, .variant = *row};
      *at = ++w->n_variants;
    }
    w->command[j] = (plim_command){.kind = PLIM_COMMAND_RUN, .op = op, .variant = *at - 1};
  }
  for (int32_t c = 0; c < w->timeline->n_lifetimes; c++) {
    const plim_lifetime *lifetime = &w->timeline->lifetime[c];
    if (lifetime->successor < 0) continue;
    plim_command *command = &w->command[lifetime->end];
    command->pair[command->n_pairs++] = lifetime->pair;
  }
}

static void add_buffer(writer *w, int32_t storage, int32_t begin, int32_t end, int64_t offset, int64_t bytes) {
  w->buffer[w->n_buffers++] =
      (plim_plan_buffer){.storage = storage, .begin = begin, .end = end, .offset = offset, .bytes = bytes};
}

/* -1: the plan has no addresses. */
static int64_t offset_of(const writer *w, int32_t box) {
  return w->placement ? w->placement->offset[box] : -1;
}

static void write_buffers(writer *w) {
  const plim_problem *p = w->problem;
  int64_t below = 0;
  for (int32_t s = 0; s < p->graph->n_storages; s++) {
    if (!plim_role_persistent(p->graph->storage[s].role)) continue;
    int64_t bytes = plim_align_up(p->graph->storage[s].bytes, p->align);
    if (bytes > 0) add_buffer(w, s, 0, w->schedule->n, w->placement ? below : -1, bytes);
    below += bytes;
  }
  for (int32_t c = 0; c < w->timeline->n_lifetimes; c++) {
    const plim_lifetime *lifetime = &w->timeline->lifetime[c];
    const plim_item *item = &p->item[lifetime->item];
    int64_t offset = item->bytes > 0 && w->placement ? offset_of(w, w->placement->box_of_lifetime[c]) : -1;
    if (item->bytes > 0) add_buffer(w, item->storage, lifetime->begin, lifetime->end, offset, item->bytes);
  }
  for (int32_t j = 0; j < w->schedule->n; j++) {
    int64_t bytes = p->op[w->schedule->op[j]].choice[w->schedule->choice[j]].workspace_bytes;
    int64_t offset = bytes > 0 && w->placement ? offset_of(w, w->placement->box_of_run[j]) : -1;
    if (bytes > 0) add_buffer(w, -1, j, j + 1, offset, bytes);
  }
}

static plim_status write_plan(const writer *w, const plim_emission *emission, plim_plan **out) {
  const plim_problem *p = w->problem;
  plim_plan draft = {.plan_class = emission->plan_class,
                     .packed = w->placement != NULL,
                     .n_commands = w->schedule->n,
                     .n_buffers = w->n_buffers,
                     .n_variants = w->n_variants,
                     .command = w->command,
                     .buffer = w->buffer,
                     .variant = w->variant,
                     .budget_bytes = emission->budget_bytes,
                     .keep_all_ns = p->keep_all_ns,
                     .bound_ns = emission->bound_ns,
                     .proved = w->timeline->time_ns == emission->bound_ns};
  draft.numerics.machine = p->profile->machine;
  (void)snprintf(draft.planner, sizeof draft.planner, "%s", emission->planner);
  return plim_plan_from_parts(p->graph, &draft, out);
}

plim_status plim_emit(const plim_timeline *timeline, const plim_schedule *schedule, const plim_placement *placement,
                      const plim_emission *emission, plim_plan **out) {
  const plim_problem *p = timeline->problem;
  plim_context *ctx = p->ctx;
  writer w = {.problem = p, .timeline = timeline, .schedule = schedule, .placement = placement};
  w.room_buffers = timeline->n_lifetimes + schedule->n + p->graph->n_storages;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, schedule->n, sizeof *w.command, &w.command));
  PLIM_CHECK(plim_allocate(ctx, w.room_buffers, sizeof *w.buffer, &w.buffer));
  PLIM_CHECK(plim_allocate(ctx, schedule->n, sizeof *w.variant, &w.variant));
  PLIM_CHECK(plim_allocate(ctx, p->n_choices, sizeof *w.variant_at, &w.variant_at));
  write_steps(&w);
  write_buffers(&w);
  PLIM_CHECK(write_plan(&w, emission, out));
done:
  plim_release(ctx, w.command, schedule->n, sizeof *w.command);
  plim_release(ctx, w.buffer, w.room_buffers, sizeof *w.buffer);
  plim_release(ctx, w.variant, schedule->n, sizeof *w.variant);
  plim_release(ctx, w.variant_at, p->n_choices, sizeof *w.variant_at);
  return status;
}
