/* Writes a plan document: a command for each run, with its variant and in-place pairs; a buffer for each persistent
 * storage, lifetime and workspace, with its offset; and the figures. Variants that the plan uses are numbered in the
 * order of their first use. */
#include "planner/core/evaluation.h"

#include <stdio.h>

typedef struct plan_writer {
  const plim_problem *problem;
  const plim_timeline *timeline;
  const plim_schedule *schedule;
  const plim_placement *placement;
  plim_command *command;                          /* [runs] */
  plim_plan_buffer *buffer;                       /* [buffer_capacity] */
  plim_plan_variant *variant;                     /* [runs] */
  int32_t *variant_at;                            /* [n_choices] index + 1 of the choice among the plan's variants */
  int32_t n_buffers, n_variants, buffer_capacity; /* written so far; room for buffers */
} plan_writer;

/* A command for each run, with its variant; then the in-place pairs, from the lifetimes that have a successor. */
static void write_commands(plan_writer *writer) {
  const plim_problem *p = writer->problem;
  for (int32_t j = 0; j < writer->schedule->n; j++) {
    int32_t op = writer->schedule->op[j];
    const plim_choice *choice = &p->op[op].choice[writer->schedule->choice[j]];
    int32_t *at = &writer->variant_at[choice - p->choice];
    if (*at == 0) {
      const plim_variant *row = &p->profile->variant[p->profile->first[op] + choice->variant];
      writer->variant[writer->n_variants] = (plim_plan_variant){.op = op, .variant = *row};
      *at = ++writer->n_variants;
    }
    writer->command[j] = (plim_command){.kind = PLIM_COMMAND_RUN, .op = op, .variant = *at - 1};
  }
  for (int32_t c = 0; c < writer->timeline->n_lifetimes; c++) {
    const plim_lifetime *lifetime = &writer->timeline->lifetime[c];
    if (lifetime->successor < 0) continue;
    plim_command *command = &writer->command[lifetime->end];
    command->pair[command->n_pairs++] = lifetime->pair;
  }
}

/* `offset` -1: the plan has no addresses. */
static void add_buffer(plan_writer *writer, int32_t storage, int32_t begin, int32_t end, int64_t offset,
                       int64_t bytes) {
  writer->buffer[writer->n_buffers++] =
      (plim_plan_buffer){.storage = storage, .begin = begin, .end = end, .offset = offset, .bytes = bytes};
}

/* Persistent storages, from offset 0 on, for all of the plan. */
static void write_persistent(plan_writer *writer) {
  const plim_problem *p = writer->problem;
  int64_t below = 0;
  for (int32_t s = 0; s < p->graph->n_storages; s++) {
    if (!plim_role_persistent(p->graph->storage[s].role)) continue;
    int64_t bytes = plim_align_up(p->graph->storage[s].bytes, p->align);
    if (bytes > 0) add_buffer(writer, s, 0, writer->schedule->n, writer->placement ? below : -1, bytes);
    below += bytes;
  }
}

static void write_lifetimes(plan_writer *writer) {
  for (int32_t c = 0; c < writer->timeline->n_lifetimes; c++) {
    const plim_lifetime *lifetime = &writer->timeline->lifetime[c];
    const plim_item *item = &writer->problem->item[lifetime->item];
    if (item->bytes == 0) continue;
    int64_t offset = writer->placement ? writer->placement->offset[writer->placement->box_of_lifetime[c]] : -1;
    add_buffer(writer, item->storage, lifetime->begin, lifetime->end, offset, item->bytes);
  }
}

static void write_workspaces(plan_writer *writer) {
  for (int32_t j = 0; j < writer->schedule->n; j++) {
    int64_t bytes = writer->problem->op[writer->schedule->op[j]].choice[writer->schedule->choice[j]].workspace_bytes;
    if (bytes <= 0) continue;
    int64_t offset = writer->placement ? writer->placement->offset[writer->placement->box_of_run[j]] : -1;
    add_buffer(writer, PLIM_WORKSPACE, j, j + 1, offset, bytes);
  }
}

static plim_status write_plan(const plan_writer *writer, const plim_emission *emission, plim_plan **out) {
  const plim_problem *p = writer->problem;
  plim_plan draft = {.plan_class = emission->plan_class,
                     .packed = writer->placement != NULL,
                     .n_commands = writer->schedule->n,
                     .n_buffers = writer->n_buffers,
                     .n_variants = writer->n_variants,
                     .command = writer->command,
                     .buffer = writer->buffer,
                     .variant = writer->variant,
                     .budget_bytes = emission->budget_bytes,
                     .keep_all_ns = p->keep_all_ns,
                     .bound_ns = emission->bound_ns,
                     .proved = writer->timeline->time_ns <= emission->bound_ns};
  draft.numerics.machine = p->profile->machine;
  (void)snprintf(draft.planner, sizeof draft.planner, "%s", emission->planner);
  return plim_plan_from_parts(p->graph, &draft, out);
}

plim_status plim_emit(const plim_timeline *timeline, const plim_schedule *schedule, const plim_placement *placement,
                      const plim_emission *emission, plim_plan **out) {
  const plim_problem *p = timeline->problem;
  plim_context *ctx = p->ctx;
  plan_writer writer = {.problem = p, .timeline = timeline, .schedule = schedule, .placement = placement};
  writer.buffer_capacity = timeline->n_lifetimes + schedule->n + p->graph->n_storages;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, schedule->n, sizeof *writer.command, &writer.command));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, writer.buffer_capacity, sizeof *writer.buffer, &writer.buffer));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, schedule->n, sizeof *writer.variant, &writer.variant));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, p->n_choices, sizeof *writer.variant_at, &writer.variant_at));
  write_commands(&writer);
  write_persistent(&writer);
  write_lifetimes(&writer);
  write_workspaces(&writer);
  PLIM_TRY_OR_DONE(write_plan(&writer, emission, out));
done:
  plim_release(ctx, writer.command, schedule->n, sizeof *writer.command);
  plim_release(ctx, writer.buffer, writer.buffer_capacity, sizeof *writer.buffer);
  plim_release(ctx, writer.variant, schedule->n, sizeof *writer.variant);
  plim_release(ctx, writer.variant_at, p->n_choices, sizeof *writer.variant_at);
  return status;
}
