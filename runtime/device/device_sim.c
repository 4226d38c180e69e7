/* The sim device pretends to run a plan: its clock advances by the times of the plan, memory is only reserved, nothing
 * is computed. */
#include "runtime/device/device_sim.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/device/device_internal.h"
#include "runtime/device/guarded.h"
#include "runtime/device/machine.h"
#include "runtime/device/threads.h"

typedef struct sim_state {
  plim_kernel_table *table; /* of the cpu, whose variants it lists */
  const plim_plan *plan;    /* of the current step: the times of its variants advance the clock */
  int64_t clock_ns;         /* time of all steps of plans */
  int64_t take_ns;          /* time of the next run or copy on a queue */
  int64_t *queue_ns;        /* [queue_capacity] clocks of the queues */
  int64_t *event_ns;        /* [event_capacity] time of the last mark of each event */
  int64_t queue_capacity, event_capacity;
  int64_t calls_left; /* calls before an injected failure, PLIM_NONE: none fails */
} sim_state;

static plim_status spend_call(plim_device *device) {
  sim_state *sim = device->state;
  if (sim->calls_left < 0) return PLIM_OK;
  if (sim->calls_left == 0) return plim_fail(device->ctx, PLIM_EDEVICE, "sim: the failure that was asked for");
  sim->calls_left--;
  return PLIM_OK;
}

void plim_sim_fail_after(plim_device *sim, int64_t calls) {
  ((sim_state *)sim->state)->calls_left = calls;
}

static plim_status sim_open(plim_context *ctx, const plim_device_options *options, plim_device *device) {
  sim_state *sim = NULL;
  if (options->threads < 0 || options->threads > PLIM_THREADS_MAX) {
    return plim_fail(ctx, PLIM_EUSAGE, "%d threads: give 0 to %d", (int)options->threads, (int)PLIM_THREADS_MAX);
  }
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *sim, &sim));
  plim_status status = plim_device_table(ctx, options, &sim->table);
  if (status != PLIM_OK) {
    plim_release(ctx, sim, 1, sizeof *sim);
    return status;
  }
  sim->calls_left = PLIM_NONE;
  int32_t threads = options->threads > 0 ? options->threads : plim_threads_default();
  plim_machine_describe("sim", sim->table, threads, &device->machine);
  plim_machine_layouts(device);
  device->state = sim;
  return PLIM_OK;
}

static void sim_close(plim_device *device) {
  sim_state *sim = device->state;
  plim_kernel_table_free(sim->table);
  plim_release(device->ctx, sim->queue_ns, sim->queue_capacity, sizeof *sim->queue_ns);
  plim_release(device->ctx, sim->event_ns, sim->event_capacity, sizeof *sim->event_ns);
  plim_release(device->ctx, sim, 1, sizeof *sim);
}

static plim_status sim_alloc(plim_device *device, int64_t bytes, void **out) {
  PLIM_TRY(spend_call(device));
  return plim_guarded_alloc(device->ctx, bytes, 0, out);
}

static plim_status sim_resize(plim_device *device, void *ptr, int64_t from_bytes, int64_t to_bytes, int64_t *returned) {
  return plim_guarded_resize(device->ctx, ptr, from_bytes, to_bytes, 0, returned);
}

static void sim_release(plim_device *device, void *ptr, int64_t bytes) {
  (void)device;
  plim_guarded_free(ptr, bytes);
}

/* Lists the cpu's variants of an op; one variant "sim" of an op for which the cpu has none. */
static int sim_variants(plim_device *device, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  const sim_state *sim = device->state;
  int count = plim_kernel_list(sim->table, op, device->machine.threads, info, capacity);
  if (count > 0) return count;
  if (capacity > 0) {
    memset(&info[0], 0, sizeof info[0]);
    (void)snprintf(info[0].name, sizeof info[0].name, "sim");
    (void)snprintf(info[0].numerics_key, sizeof info[0].numerics_key, "sim");
  }
  return 1;
}

static int sim_add_kernel(plim_device *device, plim_op_kind kind, const plim_own_kernel *kernel) {
  return plim_kernel_table_add_own(((sim_state *)device->state)->table, kind, kernel);
}

static plim_status sim_prepare(plim_device *device, const plim_op_desc *op, const char *variant, void **kernel) {
  (void)op, (void)variant;
  PLIM_TRY(spend_call(device));
  *kernel = device->state; /* any pointer that is not NULL */
  return PLIM_OK;
}

static int64_t sim_workspace(plim_device *device, const void *kernel) {
  (void)device, (void)kernel;
  return PLIM_NONE;
}

static void sim_unprepare(plim_device *device, void *kernel) {
  (void)device, (void)kernel;
}

/* ---- queues ---- */

/* Make room for n clocks. New clocks begin at 0. */
static plim_status reserve_clocks(plim_device *device, int64_t **clock, int64_t *clocks, int64_t n) {
  int64_t before = *clocks;
  PLIM_TRY(plim_array_reserve(device->ctx, clock, clocks, n, sizeof **clock));
  if (*clocks > before) memset(*clock + before, 0, (size_t)(*clocks - before) * sizeof **clock);
  return PLIM_OK;
}

static plim_status reserve_queue(plim_device *device, int32_t queue) {
  sim_state *sim = device->state;
  return reserve_clocks(device, &sim->queue_ns, &sim->queue_capacity, (int64_t)queue + 1);
}

void plim_sim_take(plim_device *device, int64_t time_ns) {
  ((sim_state *)device->state)->take_ns = time_ns;
}

int64_t plim_sim_queue_ns(plim_device *device, int32_t queue) {
  const sim_state *sim = device->state;
  return queue < sim->queue_capacity ? sim->queue_ns[queue] : 0;
}

/* Advance the clock of a queue by the time of a run or copy. */
static plim_status pass_time(plim_device *device, int32_t queue) {
  sim_state *sim = device->state;
  if (sim->take_ns == 0) return PLIM_OK;
  PLIM_TRY(reserve_queue(device, queue));
  int64_t end = plim_add_checked(sim->queue_ns[queue], sim->take_ns);
  sim->take_ns = 0;
  if (end < 0) {
    return plim_fail(device->ctx, PLIM_EOVERFLOW, "sim: the clock of queue %d needs more than 63 bits", queue);
  }
  sim->queue_ns[queue] = end;
  return PLIM_OK;
}

static plim_status sim_run(plim_device *device, int32_t queue, void *kernel, const plim_kernel_args *args) {
  (void)kernel, (void)args;
  PLIM_TRY(spend_call(device));
  return pass_time(device, queue);
}

static plim_status sim_copy(plim_device *device, int32_t queue, void *to, const void *from, int64_t bytes) {
  PLIM_TRY(spend_call(device));
  if (bytes > 0) memcpy(to, from, (size_t)bytes);
  return pass_time(device, queue);
}

static plim_status sim_fill(plim_device *device, int32_t queue, void *to, int byte, int64_t bytes) {
  (void)queue;
  PLIM_TRY(spend_call(device));
  memset(to, byte, (size_t)bytes);
  return PLIM_OK;
}

static plim_status sim_mark(plim_device *device, int32_t queue, int32_t event) {
  sim_state *sim = device->state;
  PLIM_TRY(reserve_queue(device, queue));
  PLIM_TRY(reserve_clocks(device, &sim->event_ns, &sim->event_capacity, (int64_t)event + 1));
  sim->event_ns[event] = sim->queue_ns[queue];
  return PLIM_OK;
}

static plim_status sim_wait(plim_device *device, int32_t queue, int32_t event) {
  sim_state *sim = device->state;
  PLIM_TRY(reserve_queue(device, queue));
  if (event < sim->event_capacity && sim->event_ns[event] > sim->queue_ns[queue]) {
    sim->queue_ns[queue] = sim->event_ns[event];
  }
  return PLIM_OK;
}

static int64_t latest_queue(const sim_state *sim) {
  int64_t latest = 0;
  for (int64_t q = 0; q < sim->queue_capacity; q++) latest = sim->queue_ns[q] > latest ? sim->queue_ns[q] : latest;
  return latest;
}

static plim_status sim_sync(plim_device *device) {
  sim_state *sim = device->state;
  int64_t latest = latest_queue(sim);
  for (int64_t q = 0; q < sim->queue_capacity; q++) sim->queue_ns[q] = latest;
  return PLIM_OK;
}

/* Time of the steps of plans in one arena, plus the latest time of the queues: the two never run at the same time. */
static int64_t sim_clock(plim_device *device) {
  const sim_state *sim = device->state;
  return sim->clock_ns + latest_queue(sim);
}

static plim_status sim_begin(plim_device *device, const plim_graph *graph, const plim_plan *plan, void *arena,
                             int64_t arena_bytes, int timed) {
  (void)graph, (void)arena, (void)arena_bytes, (void)timed;
  ((sim_state *)device->state)->plan = plan;
  return PLIM_OK;
}

static plim_status sim_command(plim_device *device, const plim_run_call *call, plim_run *run, void *user) {
  (void)run, (void)user;
  sim_state *sim = device->state;
  PLIM_TRY(spend_call(device));
  sim->clock_ns += sim->plan->variant[sim->plan->command[call->command].variant].variant.time_ns;
  return PLIM_OK;
}

static const plim_device_watch sim_watch = {.begin = sim_begin, .command = sim_command};

const plim_device_api plim_device_sim = {
    .name = "sim",
    .host_visible = 1,
    .open = sim_open,
    .close = sim_close,
    .memory = {.alloc = sim_alloc, .release = sim_release, .resize = sim_resize},
    .kernels = {.variants = sim_variants,
                .add = sim_add_kernel,
                .prepare = sim_prepare,
                .workspace = sim_workspace,
                .unprepare = sim_unprepare,
                .run = sim_run},
    .queues =
        {.copy = sim_copy, .fill = sim_fill, .mark = sim_mark, .wait = sim_wait, .sync = sim_sync, .clock = sim_clock},
    .watch = &sim_watch,
};
