/* Places runs in the order given. Each is on the device where it ends first, as if copies never waited for each other.
 * Bytes are not counted, as decoding does that. */
#include "planner/paging/paging_internal.h"

typedef struct end_placement {
  const plim_queue_runs *runs;
  const plim_queue_spaces *spaces;
  int64_t *ready_ns;                 /* [spaces][n_storages] INT64_MAX: not there */
  int64_t free_ns[PLIM_PLAN_SPACES]; /* each device is free from */
} end_placement;

static int64_t *ready_cell(const end_placement *placement, int32_t storage, int32_t space) {
  return &placement->ready_ns[(int64_t)space * placement->runs->graph->n_storages + storage];
}

/* When a storage is in a space at the earliest, there already or by a copy. */
static int64_t ready_at(const end_placement *placement, int32_t storage, int32_t space) {
  const plim_queue_spaces *spaces = placement->spaces;
  int64_t least = *ready_cell(placement, storage, space);
  for (int32_t s = 0; s < spaces->n; s++) {
    int64_t there = *ready_cell(placement, storage, s);
    if (s == space || spaces->bytes_per_ns[s][space] <= 0 || there == INT64_MAX) continue;
    int64_t ns = there + plim_queue_copy_ns(spaces, s, space, placement->runs->graph->storage[storage].bytes);
    if (ns < least) least = ns;
  }
  return least;
}

static int64_t begin_in(const end_placement *placement, const plim_op *op, int32_t space) {
  int64_t begin_ns = placement->free_ns[space];
  for (int32_t i = 0; i < op->n_reads; i++) {
    int64_t ns = ready_at(placement, op->reads[i], space);
    if (ns > begin_ns) begin_ns = ns;
  }
  return begin_ns;
}

static void set_ready(const end_placement *placement, int32_t n, const int32_t *storage, int32_t space, int64_t ns) {
  for (int32_t i = 0; i < n; i++) {
    for (int32_t s = 0; s < placement->spaces->n; s++) {
      *ready_cell(placement, storage[i], s) = s == space ? ns : INT64_MAX;
    }
  }
}

/* Returns the space of the run; fixed 1: space 0. */
static int32_t place_run(end_placement *placement, int32_t run, int fixed) {
  const plim_command *command = &placement->runs->plan->command[run];
  const plim_op *op = &placement->runs->graph->op[command->op];
  int32_t to = 0;
  int64_t begin_ns = begin_in(placement, op, 0);
  for (int32_t s = 1; s < placement->spaces->n && !fixed; s++) {
    if (!placement->spaces->computes[s]) continue;
    int64_t ns = begin_in(placement, op, s);
    if (ns >= begin_ns) continue;
    begin_ns = ns;
    to = s;
  }
  for (int32_t i = 0; i < op->n_reads; i++) {
    *ready_cell(placement, op->reads[i], to) = ready_at(placement, op->reads[i], to);
  }
  placement->free_ns[to] = begin_ns + placement->runs->plan->variant[command->variant].variant.time_ns;
  set_ready(placement, op->n_writes, op->writes, to, placement->free_ns[to]);
  set_ready(placement, op->n_updates, op->updates, to, placement->free_ns[to]);
  return to;
}

plim_status plim_queue_place(const plim_queue_runs *runs, const plim_queue_spaces *spaces, const uint8_t *fixed,
                             int32_t *space) {
  end_placement placement = {.runs = runs, .spaces = spaces};
  const int64_t storages = runs->graph->n_storages, cells = storages * spaces->n;
  PLIM_TRY(plim_allocate(runs->ctx, cells, sizeof *placement.ready_ns, &placement.ready_ns));
  for (int64_t i = 0; i < cells; i++) placement.ready_ns[i] = i < storages ? 0 : INT64_MAX;
  for (int32_t r = 0; r < runs->n; r++) space[r] = place_run(&placement, r, fixed[r]);
  plim_release(runs->ctx, placement.ready_ns, cells, sizeof *placement.ready_ns);
  return PLIM_OK;
}
