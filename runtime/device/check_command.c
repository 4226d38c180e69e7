/* Checks one command of the check device, which looks for kernels and plans that read or write what they must not. It
 * fills the bytes that hold nothing, runs, compares with the snapshot, runs again over other bytes, and compares the
 * results. */
#include "runtime/device/check_command.h"

#include <string.h>

enum { PATTERN_FIRST = 0xA5, PATTERN_SECOND = 0x5A };

/* ---- memory of a plan ---- */

/* Bytes of the largest results of one op. Each result begins at a multiple of PLIM_ALIGN, as kernels expect. */
static int64_t largest_results(const plim_graph *graph) {
  int64_t largest = 0;
  for (int32_t i = 0; i < graph->n_ops; i++) {
    const plim_op *op = &graph->op[i];
    int64_t sum = 0;
    for (int32_t k = 0; k < op->n_out; k++) sum += plim_align_up(graph->value[op->out[k]].bytes, PLIM_ALIGN);
    for (int32_t k = 0; k < op->n_upd; k++) sum += plim_align_up(graph->value[op->upd[k]].bytes, PLIM_ALIGN);
    if (sum > largest) largest = sum;
  }
  return largest > 0 ? largest : PLIM_ALIGN;
}

static int32_t most_results(const plim_graph *graph) {
  int32_t most = 1;
  for (int32_t i = 0; i < graph->n_ops; i++) {
    const int32_t n = graph->op[i].n_out + graph->op[i].n_upd;
    if (n > most) most = n;
  }
  return most;
}

void plim_device_check_release(plim_device_check *check, plim_context *ctx) {
  plim_release(ctx, check->snapshot, check->arena_bytes, 1);
  plim_release(ctx, check->saved, check->result_bytes, 1);
  if (check->in_place) check->inner->api->memory.release(check->inner, check->in_place, check->result_bytes);
  plim_release(ctx, check->holds, check->n_buffers, sizeof *check->holds);
  plim_release(ctx, check->first_command, check->n_ops, sizeof *check->first_command);
  plim_release(ctx, check->first_hash, check->n_values, sizeof *check->first_hash);
  plim_release(ctx, check->results, check->most_results, sizeof *check->results);
  plim_release(ctx, check->may, (int64_t)check->most_results + 1, sizeof *check->may);
  plim_release(ctx, check->out, check->most_results, sizeof *check->out);
  *check = (plim_device_check){.inner = check->inner};
}

plim_status plim_device_check_begin(plim_device *device, const plim_graph *graph, const plim_plan *plan, void *arena,
                                    int64_t arena_bytes, int timed) {
  (void)timed;
  plim_device_check *check = device->state;
  if (!arena) return plim_fail(device->ctx, PLIM_EUSAGE, "the check device needs planned addresses in one arena");
  plim_device_check_release(check, device->ctx);
  check->graph = graph;
  check->plan = plan;
  check->n_ops = graph->n_ops;
  check->n_values = graph->n_values;
  check->most_results = most_results(graph);
  check->n_buffers = plan->n_buffers;
  check->arena = arena;
  check->arena_bytes = arena_bytes;
  check->result_bytes = largest_results(graph);
  PLIM_TRY(plim_allocate(device->ctx, arena_bytes, 1, &check->snapshot));
  PLIM_TRY(plim_allocate(device->ctx, check->result_bytes, 1, &check->saved));
  PLIM_TRY(plim_allocate(device->ctx, plan->n_buffers, sizeof *check->holds, &check->holds));
  PLIM_TRY(plim_allocate(device->ctx, graph->n_ops, sizeof *check->first_command, &check->first_command));
  PLIM_TRY(plim_allocate(device->ctx, graph->n_values, sizeof *check->first_hash, &check->first_hash));
  PLIM_TRY(plim_allocate(device->ctx, check->most_results, sizeof *check->results, &check->results));
  PLIM_TRY(plim_allocate(device->ctx, (int64_t)check->most_results + 1, sizeof *check->may, &check->may));
  PLIM_TRY(plim_allocate(device->ctx, check->most_results, sizeof *check->out, &check->out));
  void *in_place = NULL;
  PLIM_TRY(check->inner->api->memory.alloc(check->inner, check->result_bytes, &in_place));
  check->in_place = in_place;
  return PLIM_OK;
}

/* ---- what a command may read and change ---- */

static int lists(const plim_graph *graph, const int32_t *value, int32_t n, int32_t storage) {
  for (int32_t i = 0; i < n; i++) {
    if (graph->value[value[i]].storage == storage) return 1;
  }
  return 0;
}

/* Does the buffer hold contents that command j may read? The command's own outputs do not yet. */
static int holds_something(const plim_device_check *check, int32_t j, const plim_plan_buffer *buffer) {
  if (buffer->storage < 0 || buffer->begin > j) return 0;
  if (buffer->end == j) return plim_command_result_over(check->graph, &check->plan->command[j], buffer->storage) >= 0;
  const plim_op *op = &check->graph->op[check->plan->command[j].op];
  return buffer->end > j && !lists(check->graph, op->out, op->n_out, buffer->storage);
}

static void collect_holds(plim_device_check *check, int32_t j) {
  const plim_plan *plan = check->plan;
  check->n_holds = 0;
  for (int32_t i = 0; i < plan->n_buffers && plan->buffer[i].begin <= j; i++) {
    const plim_plan_buffer *buffer = &plan->buffer[i];
    if (!holds_something(check, j, buffer)) continue;
    check->holds[check->n_holds++] = (plim_range){buffer->offset, buffer->offset + buffer->bytes, i};
  }
  plim_ranges_sort(check->holds, check->n_holds);
}

static plim_status add_result(plim_device *device, int32_t value, const void *pointer) {
  plim_device_check *check = device->state;
  int64_t at = (const char *)pointer - check->arena, bytes = check->graph->value[value].bytes;
  if (at < 0 || at + bytes > check->arena_bytes) {
    return plim_fail(device->ctx, PLIM_EDIFF, "\"%s\" lies at %lld, outside the arena of %lld bytes",
                     check->graph->value[value].name, (long long)at, (long long)check->arena_bytes);
  }
  const plim_check_result *last = check->n_results > 0 ? &check->results[check->n_results - 1] : NULL;
  int64_t saved = last ? last->saved + plim_align_up(last->bytes, PLIM_ALIGN) : 0;
  check->results[check->n_results++] = (plim_check_result){value, at, bytes, saved, check->arena + at};
  return PLIM_OK;
}

static plim_status collect_results(plim_device *device, const plim_run_call *call) {
  plim_device_check *check = device->state;
  const plim_op *op = &check->graph->op[call->op];
  check->n_results = 0;
  for (int32_t i = 0; i < op->n_out; i++) PLIM_TRY(add_result(device, op->out[i], call->args.out[i]));
  for (int32_t i = 0; i < op->n_upd; i++) PLIM_TRY(add_result(device, op->upd[i], call->args.upd[i]));
  return PLIM_OK;
}

/* ---- after the first run ---- */

static plim_status fail_outside(plim_device *device, int64_t at) {
  const plim_device_check *check = device->state;
  for (int32_t i = 0; i < check->n_holds; i++) {
    const plim_range *range = &check->holds[i];
    if (at < range->begin || at >= range->end) continue;
    const plim_plan_buffer *buffer = &check->plan->buffer[range->buffer];
    return plim_fail(device->ctx, PLIM_EDIFF, "it changed byte %lld of the arena, which holds \"%s\" until command %d",
                     (long long)at, plim_graph_storage_name(check->graph, buffer->storage, "workspace"),
                     (int)buffer->end);
  }
  return plim_fail(device->ctx, PLIM_EDIFF,
                   "it changed byte %lld of the arena, which is in none of its outputs, updates or workspace",
                   (long long)at);
}

/* Check that nothing outside results and workspace has changed. */
static plim_status check_outside(plim_device *device, const plim_run_call *call) {
  const plim_device_check *check = device->state;
  plim_range *may = check->may;
  int32_t n = 0;
  for (int32_t i = 0; i < check->n_results; i++) {
    may[n++] = (plim_range){check->results[i].at, check->results[i].at + check->results[i].bytes, PLIM_NONE};
  }
  if (call->workspace_bytes > 0) {
    int64_t at = (const char *)call->args.workspace - check->arena;
    may[n++] = (plim_range){at, at + call->workspace_bytes, PLIM_NONE};
  }
  plim_ranges_sort(may, n);
  for (int32_t i = 1; i < n; i++) {
    if (may[i].begin >= may[i - 1].end) continue;
    return plim_fail(device->ctx, PLIM_EDIFF,
                     "two of its results, or one and its workspace, share byte %lld of the arena",
                     (long long)may[i].begin);
  }
  int64_t found = plim_differs_outside(check->arena, check->snapshot, check->arena_bytes, may, n);
  return found < 0 ? PLIM_OK : fail_outside(device, found);
}

/* Check that no live buffer has changed, even where the command's own results or workspace overlap it. */
static plim_status check_overlap(plim_device *device, const plim_run_call *call) {
  const plim_device_check *check = device->state;
  const plim_op *op = &check->graph->op[call->op];
  for (int32_t i = 0; i < check->n_holds; i++) {
    const plim_range *range = &check->holds[i];
    const plim_plan_buffer *buffer = &check->plan->buffer[range->buffer];
    if (buffer->end == call->command || lists(check->graph, op->upd, op->n_upd, buffer->storage)) continue;
    int64_t found = plim_differs(check->arena, check->snapshot, range->begin, range->end);
    if (found >= 0) return fail_outside(device, found);
  }
  return PLIM_OK;
}

/* ---- the second run ---- */

/* The live buffer of an operand; NULL when the operand is read after the end of its buffer. */
static const plim_plan_buffer *holder(const plim_device_check *check, int32_t value) {
  for (int32_t i = 0; i < check->n_holds; i++) {
    const plim_plan_buffer *buffer = &check->plan->buffer[check->holds[i].buffer];
    if (buffer->storage == check->graph->value[value].storage) return buffer;
  }
  return NULL;
}

static void restore_operand(plim_device_check *check, int32_t value, const void *pointer) {
  if (!holder(check, value)) return;
  int64_t at = (const char *)pointer - check->arena;
  memcpy(check->arena + at, check->snapshot + at, (size_t)check->graph->value[value].bytes);
}

/* Put in-place outputs beside the arena, so that their inputs stay whole. There they overwrite the complement of the
 * bytes that the first run found, so that a byte that is not written differs. */
static void place_in_place_outputs(plim_device_check *check, const plim_run_call *call) {
  const plim_command *command = &check->plan->command[call->command];
  for (int32_t i = 0; i < command->n_pairs; i++) {
    plim_check_result *r = &check->results[command->pair[i].out];
    r->second = check->in_place + r->saved;
    for (int64_t k = 0; k < r->bytes; k++) r->second[k] = (char)~check->snapshot[r->at + k];
    check->out[command->pair[i].out] = r->second;
  }
}

static plim_status run_again(plim_device_check *check, const plim_run_call *call, plim_run *run, void *user) {
  const plim_op *op = &check->graph->op[call->op];
  memset(check->arena, PATTERN_SECOND, (size_t)check->arena_bytes);
  for (int32_t i = 0; i < op->n_in; i++) restore_operand(check, op->in[i], call->args.in[i]);
  for (int32_t i = 0; i < op->n_upd; i++) restore_operand(check, op->upd[i], call->args.upd[i]);
  for (int32_t i = 0; i < op->n_out; i++) check->out[i] = call->args.out[i];
  place_in_place_outputs(check, call);
  plim_run_call again = *call;
  again.args.out = check->out;
  return run(user, &again);
}

/* Does another run over the same bytes as the first give the same result? */
static plim_status repeats(plim_device_check *check, const plim_run_call *call, plim_run *run, void *user,
                           const plim_check_result *r, int *yes) {
  memcpy(check->arena, check->snapshot, (size_t)check->arena_bytes);
  PLIM_TRY(run(user, call));
  *yes = plim_differs(check->saved + r->saved, check->arena + r->at, 0, r->bytes) < 0;
  return PLIM_OK;
}

static plim_status fail_results(plim_device *device, const plim_run_call *call, plim_run *run, void *user,
                                const plim_check_result *r, int64_t at) {
  plim_device_check *check = device->state;
  const plim_op *op = &check->graph->op[call->op];
  int yes = 0;
  PLIM_TRY(repeats(check, call, run, user, r, &yes));
  if (!yes) {
    return plim_fail(device->ctx, PLIM_EDIFF,
                     "two runs over equal bytes differ in \"%s\": the kernel keeps something between runs, or draws "
                     "without seed, command and op. An op of class %s may not",
                     check->graph->value[r->value].name, plim_op_class_name(op->cls));
  }
  for (int32_t i = 0; i < op->n_in; i++) {
    if (holder(check, op->in[i])) continue;
    return plim_fail(device->ctx, PLIM_EDIFF, "it reads \"%s\" after the end of its buffer",
                     check->graph->value[op->in[i]].name);
  }
  return plim_fail(device->ctx, PLIM_EDIFF,
                   "byte %lld of %lld of \"%s\" depends on what was in memory before: it is not written, or made from "
                   "bytes that nothing wrote",
                   (long long)at, (long long)r->bytes, check->graph->value[r->value].name);
}

static plim_status compare_results(plim_device *device, const plim_run_call *call, plim_run *run, void *user) {
  const plim_device_check *check = device->state;
  for (int32_t i = 0; i < check->n_results; i++) {
    const plim_check_result *r = &check->results[i];
    int64_t found = plim_differs(check->saved + r->saved, r->second, 0, r->bytes);
    if (found >= 0) return fail_results(device, call, run, user, r, found);
  }
  return PLIM_OK;
}

/* ---- recomputes ---- */

static plim_status compare_first(plim_device *device, const plim_run_call *call) {
  const plim_device_check *check = device->state;
  const plim_op *op = &check->graph->op[call->op];
  int32_t *first = &check->first_command[call->op];
  for (int32_t i = 0; i < op->n_out; i++) {
    uint64_t hash = plim_bytes_hash(check->saved + check->results[i].saved, check->results[i].bytes);
    if (*first > 0 && hash != check->first_hash[op->out[i]]) {
      return plim_fail(device->ctx, PLIM_EDIFF, "this recompute of \"%s\" differs from its first run at command %d",
                       check->graph->value[op->out[i]].name, (int)*first - 1);
    }
    check->first_hash[op->out[i]] = hash;
  }
  if (*first == 0) *first = call->command + 1;
  return PLIM_OK;
}

plim_status plim_device_check_command(plim_device *device, const plim_run_call *call, plim_run *run, void *user) {
  plim_device_check *check = device->state;
  size_t bytes = (size_t)check->arena_bytes;
  collect_holds(check, call->command);
  PLIM_TRY(collect_results(device, call));
  plim_fill_outside(check->arena, check->arena_bytes, check->holds, check->n_holds, PATTERN_FIRST);
  memcpy(check->snapshot, check->arena, bytes);
  PLIM_TRY(run(user, call));
  PLIM_TRY(check_outside(device, call));
  PLIM_TRY(check_overlap(device, call));
  for (int32_t i = 0; i < check->n_results; i++) {
    const plim_check_result *r = &check->results[i];
    memcpy(check->saved + r->saved, check->arena + r->at, (size_t)r->bytes);
  }
  PLIM_TRY(run_again(check, call, run, user));
  PLIM_TRY(compare_results(device, call, run, user));
  memcpy(check->arena, check->snapshot, bytes);
  for (int32_t i = 0; i < check->n_results; i++) {
    const plim_check_result *r = &check->results[i];
    memcpy(check->arena + r->at, check->saved + r->saved, (size_t)r->bytes);
  }
  return compare_first(device, call);
}
