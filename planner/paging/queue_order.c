/* List scheduling of runs on devices: of all runs whose operands are written, the one that can begin first is next, on
 * the device where it can; of several the one with the longest chain of runs after it. Copies of operands take their
 * turn on their link, and begin when their source is written. Bytes are not looked at: decoding sees to them.
 *
 * A run follows what writes its operands, and, where it writes, all that touched the storage before: versions and
 * recomputes stay in order. So the chain of data gradients does not wait for the updates of weights whose gradients
 * another device computes. Hwang et al., Scheduling precedence graphs in systems with interprocessor communication
 * times, SIAM J. Comput. 1989. */
#include <stdlib.h>

#include "planner/paging/queue_search.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

typedef struct arrow {
  int32_t from, to;
} arrow;

typedef struct ordering {
  const plim_queue_runs *runs;
  const plim_queue_spaces *spaces;
  const uint8_t *fixed;
  arrow *arrow; /* [n_arrows], by `from` after sorting */
  int64_t n_arrows, room_arrows;
  int64_t *first;     /* [n + 1] into arrow */
  int32_t *waiting;   /* [n] runs before it that are not placed */
  int64_t *chain_ns;  /* [n] of the longest chain from its begin on */
  int64_t *free_from; /* [n] the end of all runs that it follows */
  int32_t *ready;     /* [n_ready] */
  int32_t n_ready;
  int64_t *ready_ns; /* [spaces][n_storages] INT64_MAX: not there */
  int64_t device_ns[PLIM_PLAN_SPACES], link_ns[PLIM_PLAN_SPACES][PLIM_PLAN_SPACES]; /* free from */
} ordering;

static int64_t time_of(const ordering *k, int32_t run) {
  return k->runs->plan->variant[k->runs->plan->command[run].variant].variant.time_ns;
}

static const plim_op *op_of(const ordering *k, int32_t run) {
  return &k->runs->graph->op[k->runs->plan->command[run].op];
}

/* ---- what follows what ---- */

static void add_arrow(ordering *k, int32_t from, int32_t to) {
  if (from < 0 || from == to) return;
  k->arrow[k->n_arrows++] = (arrow){from, to};
  k->waiting[to]++;
}

/* At most two arrows an access: from the last writer, and to the next. */
static void add_storage(ordering *k, int32_t storage) {
  const plim_queue_runs *r = k->runs;
  int32_t writer = -1, readers = r->first[storage];
  for (int32_t i = r->first[storage]; i < r->first[storage + 1]; i++) {
    const struct plim_run_access *a = &r->access[i];
    if (a->run == INT32_MAX) break;
    add_arrow(k, writer, a->run);
    if (!a->writes) continue;
    for (; readers < i; readers++) {
      if (r->access[readers].run != writer) add_arrow(k, r->access[readers].run, a->run);
    }
    writer = a->run;
  }
}

/* Arrows by the run that they leave: a counting sort. */
static plim_status sort_arrows(ordering *k) {
  plim_context *ctx = k->runs->ctx;
  arrow *sorted = NULL;
  PLIM_TRY(plim_allocate(ctx, k->room_arrows, sizeof *sorted, &sorted));
  for (int64_t i = 0; i < k->n_arrows; i++) k->first[k->arrow[i].from + 1]++;
  for (int32_t j = 0; j < k->runs->n; j++) k->first[j + 1] += k->first[j];
  for (int64_t i = k->n_arrows - 1; i >= 0; i--) sorted[--k->first[k->arrow[i].from + 1]] = k->arrow[i];
  for (int32_t j = 0; j < k->runs->n; j++) k->first[j] = k->first[j + 1];
  k->first[k->runs->n] = k->n_arrows;
  plim_release(ctx, k->arrow, k->room_arrows, sizeof *k->arrow);
  k->arrow = sorted;
  return PLIM_OK;
}

static void find_chains(ordering *k) {
  for (int32_t j = k->runs->n - 1; j >= 0; j--) {
    int64_t longest = 0;
    for (int64_t i = k->first[j]; i < k->first[j + 1]; i++) {
      if (k->chain_ns[k->arrow[i].to] > longest) longest = k->chain_ns[k->arrow[i].to];
    }
    k->chain_ns[j] = longest + time_of(k, j);
  }
}

/* ---- placing ---- */

static int64_t *ready_of(const ordering *k, int32_t storage, int32_t space) {
  return &k->ready_ns[(int64_t)space * k->runs->graph->n_storages + storage];
}

/* When a storage is in a space; *from: the space that it is copied from, -1: it is there. */
static int64_t arrival(const ordering *k, int32_t storage, int32_t space, int32_t *from) {
  int64_t least = *ready_of(k, storage, space);
  *from = -1;
  for (int32_t s = 0; s < k->spaces->n && least == INT64_MAX; s++) {
    int64_t ns = *ready_of(k, storage, s), link_ns = k->link_ns[s][space];
    if (ns == INT64_MAX || k->spaces->bytes_per_ns[s][space] <= 0) continue;
    *from = s;
    least =
        (ns > link_ns ? ns : link_ns) + plim_queue_copy_ns(k->spaces, s, space, k->runs->graph->storage[storage].bytes);
  }
  return least;
}

static int64_t begin_on(const ordering *k, int32_t run, int32_t space) {
  const plim_op *op = op_of(k, run);
  int64_t begin = k->free_from[run] > k->device_ns[space] ? k->free_from[run] : k->device_ns[space];
  for (int32_t i = 0; i < op->n_reads; i++) {
    int32_t from;
    int64_t ns = arrival(k, op->reads[i], space, &from);
    if (ns < INT64_MAX && ns > begin) begin = ns;
  }
  return begin;
}

static void write_storages(const ordering *k, int32_t n, const int32_t *storage, int32_t space, int64_t ns) {
  for (int32_t i = 0; i < n; i++) {
    for (int32_t s = 0; s < k->spaces->n; s++) *ready_of(k, storage[i], s) = s == space ? ns : INT64_MAX;
  }
}

static void place(ordering *k, int32_t at, int32_t space, int64_t begin) {
  int32_t run = k->ready[at];
  const plim_op *op = op_of(k, run);
  int64_t end = begin + time_of(k, run);
  for (int32_t i = 0; i < op->n_reads; i++) {
    int32_t from;
    int64_t ns = arrival(k, op->reads[i], space, &from);
    if (from < 0) continue;
    *ready_of(k, op->reads[i], space) = ns;
    k->link_ns[from][space] = ns;
  }
  write_storages(k, op->n_writes, op->writes, space, end);
  write_storages(k, op->n_updates, op->updates, space, end);
  k->device_ns[space] = end;
  k->ready[at] = k->ready[--k->n_ready];
  for (int64_t i = k->first[run]; i < k->first[run + 1]; i++) {
    int32_t next = k->arrow[i].to;
    if (end > k->free_from[next]) k->free_from[next] = end;
    if (--k->waiting[next] == 0) k->ready[k->n_ready++] = next;
  }
}

/* The run of `ready` that can begin first, and where. */
static int32_t choose(const ordering *k, int32_t *space, int64_t *begin) {
  int32_t best = -1;
  for (int32_t i = 0; i < k->n_ready; i++) {
    int32_t run = k->ready[i];
    for (int32_t s = 0; s < k->spaces->n && (s == 0 || !k->fixed[run]); s++) {
      if (!k->spaces->computes[s] || (best >= 0 && k->device_ns[s] > *begin)) continue;
      int64_t ns = begin_on(k, run, s);
      if (best >= 0 && (ns > *begin || (ns == *begin && k->chain_ns[run] <= k->chain_ns[k->ready[best]]))) continue;
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

static plim_status place_all(ordering *k, int32_t *order, int32_t *space) {
  plim_context *ctx = k->runs->ctx;
  int32_t storages = k->runs->graph->n_storages;
  plim_status status = PLIM_OK;
  placed *row = NULL;
  PLIM_TRY(plim_allocate(ctx, k->runs->n, sizeof *row, &row));
  for (int64_t i = 0; i < (int64_t)storages * k->spaces->n; i++) k->ready_ns[i] = i < storages ? 0 : INT64_MAX;
  for (int32_t j = 0; j < k->runs->n; j++) {
    if (k->waiting[j] == 0) k->ready[k->n_ready++] = j;
  }
  for (int32_t j = 0; j < k->runs->n && status == PLIM_OK; j++) {
    int32_t to = 0;
    int64_t begin = 0;
    int32_t at = choose(k, &to, &begin), run = k->ready[at];
    if (plim_effort_over(ctx, 20 * (int64_t)k->n_ready)) status = PLIM_ECANCEL;
    space[run] = to;
    row[j] = (placed){begin, j, run};
    place(k, at, to, begin);
  }
  if (status == PLIM_OK) {
    qsort(row, (size_t)k->runs->n, sizeof *row, by_begin);
    for (int32_t j = 0; j < k->runs->n; j++) order[j] = row[j].run;
  }
  plim_release(ctx, row, k->runs->n, sizeof *row);
  return status;
}

plim_status plim_queue_order(const plim_queue_runs *runs, const plim_queue_spaces *spaces, const uint8_t *fixed,
                             int32_t *order, int32_t *space) {
  plim_context *ctx = runs->ctx;
  int64_t n = runs->n, cells = (int64_t)runs->graph->n_storages * spaces->n;
  ordering k = {.runs = runs, .spaces = spaces, .fixed = fixed, .room_arrows = 2 * runs->n_accesses};
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, k.room_arrows, sizeof *k.arrow, &k.arrow));
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *k.first, &k.first));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *k.waiting, &k.waiting));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *k.chain_ns, &k.chain_ns));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *k.free_from, &k.free_from));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *k.ready, &k.ready));
  PLIM_CHECK(plim_allocate(ctx, cells, sizeof *k.ready_ns, &k.ready_ns));
  for (int32_t s = 0; s < runs->graph->n_storages; s++) add_storage(&k, s);
  PLIM_CHECK(sort_arrows(&k));
  find_chains(&k);
  PLIM_CHECK(place_all(&k, order, space));
done:
  plim_release(ctx, k.arrow, k.room_arrows, sizeof *k.arrow);
  plim_release(ctx, k.first, n + 1, sizeof *k.first);
  plim_release(ctx, k.waiting, n, sizeof *k.waiting);
  plim_release(ctx, k.chain_ns, n, sizeof *k.chain_ns);
  plim_release(ctx, k.free_from, n, sizeof *k.free_from);
  plim_release(ctx, k.ready, n, sizeof *k.ready);
  plim_release(ctx, k.ready_ns, cells, sizeof *k.ready_ns);
  return status;
}
