/* Orders runs, and chooses a device for each, by list scheduling. It does not count bytes, as decoding does.
 *
 * The next run is, of all whose operands are written, the one that can begin first, on the device where it can. Of
 * several it is the one with the longest chain of runs after it. A copy of an operand begins when its source is written
 * and its link is free. A run follows the runs that write its operands. A run that writes a storage also follows all
 * that touched it before, so versions and recomputes stay in order. The chain of data gradients then does not wait for
 * updates of weights whose gradients another device computes. Hwang et al., Scheduling precedence graphs in systems
 * with interprocessor communication times, SIAM J. Comput. 1989. */
#include <stdlib.h>

#include "planner/paging/paging_internal.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

typedef struct arrow {
  int32_t from, to;
} arrow;

typedef struct list_schedule {
  const plim_queue_runs *runs;
  const plim_queue_spaces *spaces;
  const uint8_t *fixed;
  arrow *arrow; /* [n_arrows], by `from` after sorting */
  int64_t n_arrows, arrow_capacity;
  int64_t *first;     /* [n + 1] into arrow */
  int32_t *waiting;   /* [n] runs before it that are not placed */
  int64_t *chain_ns;  /* [n] of the longest chain from its begin on */
  int64_t *free_from; /* [n] the end of all runs that it follows */
  int32_t *ready;     /* [n_ready] */
  int32_t n_ready;
  int64_t *ready_ns; /* [spaces][n_storages] INT64_MAX: not there */
  int64_t device_ns[PLIM_PLAN_SPACES], link_ns[PLIM_PLAN_SPACES][PLIM_PLAN_SPACES]; /* free from */
} list_schedule;

static int64_t time_of(const list_schedule *schedule, int32_t run) {
  return schedule->runs->plan->variant[schedule->runs->plan->command[run].variant].variant.time_ns;
}

static const plim_op *op_of(const list_schedule *schedule, int32_t run) {
  return &schedule->runs->graph->op[schedule->runs->plan->command[run].op];
}

/* ---- what follows what ---- */

static void add_arrow(list_schedule *schedule, int32_t from, int32_t to) {
  if (from < 0 || from == to) return;
  schedule->arrow[schedule->n_arrows++] = (arrow){from, to};
  schedule->waiting[to]++;
}

/* At most two arrows an access: from the last writer, and to the next. */
static void add_storage(list_schedule *schedule, int32_t storage) {
  const plim_queue_runs *r = schedule->runs;
  int32_t writer = -1, readers = r->first[storage];
  for (int32_t i = r->first[storage]; i < r->first[storage + 1]; i++) {
    const struct plim_run_access *a = &r->access[i];
    if (a->run == INT32_MAX) break;
    add_arrow(schedule, writer, a->run);
    if (!a->writes) continue;
    for (; readers < i; readers++) {
      if (r->access[readers].run != writer) add_arrow(schedule, r->access[readers].run, a->run);
    }
    writer = a->run;
  }
}

/* Arrows by the run that they leave: a counting sort. */
static plim_status sort_arrows(list_schedule *schedule) {
  plim_context *ctx = schedule->runs->ctx;
  arrow *sorted = NULL;
  PLIM_TRY(plim_allocate(ctx, schedule->arrow_capacity, sizeof *sorted, &sorted));
  for (int64_t i = 0; i < schedule->n_arrows; i++) schedule->first[schedule->arrow[i].from + 1]++;
  for (int32_t j = 0; j < schedule->runs->n; j++) schedule->first[j + 1] += schedule->first[j];
  for (int64_t i = schedule->n_arrows - 1; i >= 0; i--)
    sorted[--schedule->first[schedule->arrow[i].from + 1]] = schedule->arrow[i];
  for (int32_t j = 0; j < schedule->runs->n; j++) schedule->first[j] = schedule->first[j + 1];
  schedule->first[schedule->runs->n] = schedule->n_arrows;
  plim_release(ctx, schedule->arrow, schedule->arrow_capacity, sizeof *schedule->arrow);
  schedule->arrow = sorted;
  return PLIM_OK;
}

static void find_chains(list_schedule *schedule) {
  for (int32_t j = schedule->runs->n - 1; j >= 0; j--) {
    int64_t longest = 0;
    for (int64_t i = schedule->first[j]; i < schedule->first[j + 1]; i++) {
      if (schedule->chain_ns[schedule->arrow[i].to] > longest) longest = schedule->chain_ns[schedule->arrow[i].to];
    }
    schedule->chain_ns[j] = longest + time_of(schedule, j);
  }
}

/* ---- placing ---- */

static int64_t *ready_of(const list_schedule *schedule, int32_t storage, int32_t space) {
  return &schedule->ready_ns[(int64_t)space * schedule->runs->graph->n_storages + storage];
}

/* When a storage is in a space; *from: the space that it is copied from, -1: it is there. */
static int64_t arrival(const list_schedule *schedule, int32_t storage, int32_t space, int32_t *from) {
  int64_t least = *ready_of(schedule, storage, space);
  *from = -1;
  for (int32_t s = 0; s < schedule->spaces->n && least == INT64_MAX; s++) {
    int64_t ns = *ready_of(schedule, storage, s), link_ns = schedule->link_ns[s][space];
    if (ns == INT64_MAX || schedule->spaces->bytes_per_ns[s][space] <= 0) continue;
    *from = s;
    least = (ns > link_ns ? ns : link_ns) +
            plim_queue_copy_ns(schedule->spaces, s, space, schedule->runs->graph->storage[storage].bytes);
  }
  return least;
}

static int64_t begin_on(const list_schedule *schedule, int32_t run, int32_t space) {
  const plim_op *op = op_of(schedule, run);
  int64_t begin =
      schedule->free_from[run] > schedule->device_ns[space] ? schedule->free_from[run] : schedule->device_ns[space];
  for (int32_t i = 0; i < op->n_reads; i++) {
    int32_t from;
    int64_t ns = arrival(schedule, op->reads[i], space, &from);
    if (ns < INT64_MAX && ns > begin) begin = ns;
  }
  return begin;
}

static void write_storages(const list_schedule *schedule, int32_t n, const int32_t *storage, int32_t space,
                           int64_t ns) {
  for (int32_t i = 0; i < n; i++) {
    for (int32_t s = 0; s < schedule->spaces->n; s++) *ready_of(schedule, storage[i], s) = s == space ? ns : INT64_MAX;
  }
}

static void place_ready(list_schedule *schedule, int32_t at, int32_t space, int64_t begin) {
  int32_t run = schedule->ready[at];
  const plim_op *op = op_of(schedule, run);
  int64_t end = begin + time_of(schedule, run);
  for (int32_t i = 0; i < op->n_reads; i++) {
    int32_t from;
    int64_t ns = arrival(schedule, op->reads[i], space, &from);
    if (from < 0) continue;
    *ready_of(schedule, op->reads[i], space) = ns;
    schedule->link_ns[from][space] = ns;
  }
  write_storages(schedule, op->n_writes, op->writes, space, end);
  write_storages(schedule, op->n_updates, op->updates, space, end);
  schedule->device_ns[space] = end;
  schedule->ready[at] = schedule->ready[--schedule->n_ready];
  for (int64_t i = schedule->first[run]; i < schedule->first[run + 1]; i++) {
    int32_t next = schedule->arrow[i].to;
    if (end > schedule->free_from[next]) schedule->free_from[next] = end;
    if (--schedule->waiting[next] == 0) schedule->ready[schedule->n_ready++] = next;
  }
}

/* The run of `ready` that can begin first, and where. */
static int32_t choose_ready(const list_schedule *schedule, int32_t *space, int64_t *begin) {
  int32_t best = -1;
  for (int32_t i = 0; i < schedule->n_ready; i++) {
    int32_t run = schedule->ready[i];
    for (int32_t s = 0; s < schedule->spaces->n && (s == 0 || !schedule->fixed[run]); s++) {
      if (!schedule->spaces->computes[s] || (best >= 0 && schedule->device_ns[s] > *begin)) continue;
      int64_t ns = begin_on(schedule, run, s);
      if (best >= 0 &&
          (ns > *begin || (ns == *begin && schedule->chain_ns[run] <= schedule->chain_ns[schedule->ready[best]])))
        continue;
      best = i;
      *begin = ns;
      *space = s;
    }
  }
  return best;
}

typedef struct placed {
  int64_t begin_ns;
  int32_t place, run;
} placed;

static int by_begin(const void *a, const void *b) {
  const placed *x = a, *y = b;
  if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
  return plim_integers_compare(x->place, y->place);
}

static plim_status place_all(list_schedule *schedule, int32_t *order, int32_t *space) {
  plim_context *ctx = schedule->runs->ctx;
  int32_t storages = schedule->runs->graph->n_storages;
  plim_status status = PLIM_OK;
  placed *row = NULL;
  PLIM_TRY(plim_allocate(ctx, schedule->runs->n, sizeof *row, &row));
  for (int64_t i = 0; i < (int64_t)storages * schedule->spaces->n; i++)
    schedule->ready_ns[i] = i < storages ? 0 : INT64_MAX;
  for (int32_t j = 0; j < schedule->runs->n; j++) {
    if (schedule->waiting[j] == 0) schedule->ready[schedule->n_ready++] = j;
  }
  for (int32_t j = 0; j < schedule->runs->n && status == PLIM_OK; j++) {
    int32_t to = 0;
    int64_t begin = 0;
    int32_t at = choose_ready(schedule, &to, &begin), run = schedule->ready[at];
    if (plim_effort_over(ctx, 20 * (int64_t)schedule->n_ready)) status = PLIM_ECANCEL;
    space[run] = to;
    row[j] = (placed){begin, j, run};
    place_ready(schedule, at, to, begin);
  }
  if (status == PLIM_OK) {
    qsort(row, (size_t)schedule->runs->n, sizeof *row, by_begin);
    for (int32_t j = 0; j < schedule->runs->n; j++) order[j] = row[j].run;
  }
  plim_release(ctx, row, schedule->runs->n, sizeof *row);
  return status;
}

plim_status plim_queue_order(const plim_queue_runs *runs, const plim_queue_spaces *spaces, const uint8_t *fixed,
                             int32_t *order, int32_t *space) {
  plim_context *ctx = runs->ctx;
  int64_t n = runs->n, cells = (int64_t)runs->graph->n_storages * spaces->n;
  list_schedule schedule = {.runs = runs, .spaces = spaces, .fixed = fixed, .arrow_capacity = 2 * runs->n_accesses};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, schedule.arrow_capacity, sizeof *schedule.arrow, &schedule.arrow));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n + 1, sizeof *schedule.first, &schedule.first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *schedule.waiting, &schedule.waiting));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *schedule.chain_ns, &schedule.chain_ns));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *schedule.free_from, &schedule.free_from));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *schedule.ready, &schedule.ready));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, cells, sizeof *schedule.ready_ns, &schedule.ready_ns));
  for (int32_t s = 0; s < runs->graph->n_storages; s++) add_storage(&schedule, s);
  PLIM_TRY_OR_DONE(sort_arrows(&schedule));
  find_chains(&schedule);
  PLIM_TRY_OR_DONE(place_all(&schedule, order, space));
done:
  plim_release(ctx, schedule.arrow, schedule.arrow_capacity, sizeof *schedule.arrow);
  plim_release(ctx, schedule.first, n + 1, sizeof *schedule.first);
  plim_release(ctx, schedule.waiting, n, sizeof *schedule.waiting);
  plim_release(ctx, schedule.chain_ns, n, sizeof *schedule.chain_ns);
  plim_release(ctx, schedule.free_from, n, sizeof *schedule.free_from);
  plim_release(ctx, schedule.ready, n, sizeof *schedule.ready);
  plim_release(ctx, schedule.ready_ns, cells, sizeof *schedule.ready_ns);
  return status;
}
