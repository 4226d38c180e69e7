/* Open: check the program, prepare each kernel once, bind every plan, allocate the arena, rehearse. Close frees all of
 * it. plim_exec_open and open_plans, near the end, have the steps in their order. */
#include "runtime/exec/exec.h"

#include <stdio.h>
#include <string.h>

#include "kernels/parts.h"
#include "runtime/exec/exec_device.h"
#include "runtime/exec/exec_unchecked.h"
#include "runtime/exec/streams.h"
#include "runtime/graph/check/check.h"
#include "runtime/profile/equal_parts.h"

plim_status plim_exec_check_machine(const plim_exec *exec, int32_t plan_index, const plim_plan *plan) {
  char what[32];
  if (exec->options.own_kernels || !exec->device->api->computes) return PLIM_OK; /* such a device replays any plan */
  (void)snprintf(what, sizeof what, "plan %d", (int)plan_index);
  return plim_machine_match(exec->ctx, what, &plan->numerics.machine, &exec->device->machine, PLIM_MACHINE_HOLDS);
}

/* ---- the variants of a plan, on this device ---- */

/* A variant of a plan that is to run on the device of an executor. */
typedef struct wanted_variant {
  const plim_exec *exec;
  const plim_graph *graph;
  const plim_plan_variant *row; /* what the plan says of it */
  const char *here; /* the numerics key that the device gives it (plim_prepared_get); "": it does not list it */
} wanted_variant;

static plim_status refuse_key(const wanted_variant *wanted) {
  const plim_variant *planned = &wanted->row->variant;
  const char *op = wanted->graph->op[wanted->row->op].name;
  if (wanted->here[0] == '\0') {
    return plim_fail(
        wanted->exec->ctx, PLIM_EPLAN,
        "op \"%s\", variant \"%s\": this device does not list it, so its bits are not known: plan again here", op,
        planned->name);
  }
  return plim_fail(
      wanted->exec->ctx, PLIM_EPLAN,
      "op \"%s\", variant \"%s\": the plan says numerics key \"%s\", this device gives \"%s\": plan again here", op,
      planned->name, planned->numerics_key, wanted->here);
}

/* A variant in parts has a key of its own, its name, or that of its whole variant. The latter is a claim of equal bits:
 * both are run and compared. */
static plim_status check_key_of_parts(const wanted_variant *wanted, const char *whole) {
  const plim_variant *planned = &wanted->row->variant;
  int equal;
  if (strcmp(planned->numerics_key, planned->name) == 0) return PLIM_OK;
  if (strcmp(planned->numerics_key, wanted->here) != 0) return refuse_key(wanted);
  PLIM_TRY(
      plim_equal_parts_compare(wanted->exec->device, wanted->graph, wanted->row->op, whole, planned->name, &equal));
  if (equal) return PLIM_OK;
  return plim_fail(wanted->exec->ctx, PLIM_EPLAN,
                   "op \"%s\", variant \"%s\": the plan says that its bits are those of \"%s\", and on this device "
                   "they are not: plan again here",
                   wanted->graph->op[wanted->row->op].name, planned->name, whole);
}

/* Check that the variant gives the bits that the plan says: the hash of a plan's numerics is computed from its numerics
 * keys. A device that computes nothing has no bits. */
static plim_status check_numerics_key(const wanted_variant *wanted) {
  char whole[PLIM_VARIANT_NAME_BYTES];
  if (!wanted->exec->device->api->computes) return PLIM_OK;
  if (plim_parts_whole(wanted->row->variant.name, whole)) return check_key_of_parts(wanted, whole);
  const int is_listed = wanted->here[0] != '\0';
  return is_listed && strcmp(wanted->row->variant.numerics_key, wanted->here) == 0 ? PLIM_OK : refuse_key(wanted);
}

/* Check that the plan gives the variant the workspace that its kernel asks for. */
static plim_status check_workspace(const wanted_variant *wanted, int64_t asked_bytes) {
  const plim_variant *planned = &wanted->row->variant;
  if (plim_align_up(asked_bytes, PLIM_ALIGN) == plim_align_up(planned->workspace_bytes, PLIM_ALIGN)) return PLIM_OK;
  return plim_fail(wanted->exec->ctx, PLIM_EDIFF,
                   "op \"%s\", variant \"%s\" needs a workspace of %lld bytes here, the plan gives it %lld",
                   wanted->graph->op[wanted->row->op].name, planned->name, (long long)asked_bytes,
                   (long long)planned->workspace_bytes);
}

/* The kernels of a plan while they are prepared. */
typedef struct plan_kernels {
  plim_exec *exec;
  const plim_graph *graph;
  const plim_plan *plan;
  int checked;              /* 1: each kernel must have the numerics key and the workspace that the plan says */
  uint8_t *runs;            /* [spaces][n_variants] 1: the plan runs the variant in the space */
  void **kernel;            /* [spaces][n_variants] */
  int64_t *workspace_bytes; /* [n_variants] */
} plan_kernels;

/* Where the kernel of a variant in a space stands in arrays [spaces][n_variants]. */
static int64_t kernel_index(const plim_plan *plan, int32_t space, int32_t variant) {
  return (int64_t)space * plan->n_variants + variant;
}

/* Prepare the kernel of one variant in one space, and find its workspace: as the kernel asks for, that of the plan
 * where no kernel says. The kernel stays as it is with own kernels, and where the device refuses the variant, which is
 * then listed. */
static plim_status prepare_variant(const plan_kernels *k, int32_t space, int32_t i) {
  plim_exec *exec = k->exec;
  const plim_plan_variant *variant = &k->plan->variant[i];
  void **kernel = &k->kernel[kernel_index(k->plan, space, i)];
  wanted_variant wanted = {.exec = exec, .graph = k->graph, .row = variant, .here = ""};
  k->workspace_bytes[i] = variant->variant.workspace_bytes;
  if (exec->options.own_kernels || plim_refused_has(exec, k->graph, variant)) return PLIM_OK;
  plim_status status = plim_prepared_get(&exec->spaces.kernels[space], k->graph, variant, kernel, &wanted.here);
  if (status != PLIM_OK) return plim_refused_add(exec, k->graph, variant, status);
  const int64_t asked_bytes = exec->device->api->kernels.workspace(exec->device, *kernel);
  if (k->checked) PLIM_TRY(check_numerics_key(&wanted));
  if (asked_bytes < 0) return PLIM_OK; /* the device does not say */
  if (k->checked) PLIM_TRY(check_workspace(&wanted, asked_bytes));
  k->workspace_bytes[i] = asked_bytes;
  return PLIM_OK;
}

/* Mark the variants that the plan runs in each space. A plan with one space runs all of its variants there. */
static void mark_runs(const plan_kernels *k) {
  const plim_plan *plan = k->plan;
  if (plan->n_page_spaces == 0) memset(k->runs, 1, (size_t)plan->n_variants);
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    if (command->kind == PLIM_COMMAND_RUN) k->runs[kernel_index(plan, command->space, command->variant)] = 1;
  }
}

/* Prepare the variants that the plan runs in each space. */
static plim_status prepare_kernels(const plan_kernels *k) {
  for (int32_t space = 0; space <= k->plan->n_page_spaces; space++) {
    for (int32_t i = 0; i < k->plan->n_variants; i++) {
      if (k->runs[kernel_index(k->plan, space, i)]) PLIM_TRY(prepare_variant(k, space, i));
    }
  }
  return PLIM_OK;
}

plim_status plim_exec_bind(plim_exec *exec, const plim_graph *graph, const plim_plan *plan, int checked,
                           plim_bound_plan *out) {
  plan_kernels k = {.exec = exec, .graph = graph, .plan = plan, .checked = checked};
  const int64_t n_kernels = kernel_index(plan, plan->n_page_spaces + 1, 0);
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(exec->ctx, n_kernels, sizeof *k.kernel, &k.kernel));
  PLIM_TRY_OR_DONE(plim_allocate(exec->ctx, n_kernels, sizeof *k.runs, &k.runs));
  PLIM_TRY_OR_DONE(plim_allocate(exec->ctx, plan->n_variants, sizeof *k.workspace_bytes, &k.workspace_bytes));
  mark_runs(&k);
  PLIM_TRY_OR_DONE(prepare_kernels(&k));
  PLIM_TRY_OR_DONE(plim_refused_report(exec));
  PLIM_TRY_OR_DONE(plim_bind(exec->ctx, graph, plan, k.kernel, k.workspace_bytes, out));
done:
  plim_release(exec->ctx, k.workspace_bytes, plan->n_variants, sizeof *k.workspace_bytes);
  plim_release(exec->ctx, k.runs, n_kernels, sizeof *k.runs);
  plim_release(exec->ctx, k.kernel, n_kernels, sizeof *k.kernel);
  return status;
}

/* ---- the steps of opening ---- */

/* Mark the values of inputs that an op reads.
 *   reads  [n_values]  out  zero before */
static void mark_reads(const plim_graph *graph, uint8_t *reads) {
  for (int32_t i = 0; i < graph->n_ops; i++) {
    const plim_op *op = &graph->op[i];
    for (int32_t k = 0; k < op->n_in; k++) {
      reads[op->in[k]] = graph->storage[graph->value[op->in[k]].storage].role == PLIM_ROLE_INPUT;
    }
  }
}

static plim_status open_plan(plim_exec *exec, int32_t plan_index, const plim_graph *graph, const plim_plan *plan,
                             int checked) {
  plim_exec_plan *exec_plan = &exec->plan[plan_index];
  PLIM_TRY(plim_exec_check_machine(exec, plan_index, plan));
  PLIM_TRY(plim_exec_bind(exec, graph, plan, checked, &exec_plan->bound));
  PLIM_TRY(plim_allocate(exec->ctx, graph->n_values, sizeof *exec_plan->written, &exec_plan->written));
  PLIM_TRY(plim_allocate(exec->ctx, graph->n_values, sizeof *exec_plan->reads, &exec_plan->reads));
  mark_reads(graph, exec_plan->reads);
  if (!plim_exec_allocates_each(exec)) return PLIM_OK;
  return plim_allocate(exec->ctx, plan->n_buffers, sizeof *exec_plan->allocation, &exec_plan->allocation);
}

/* Allocate the arena of the plan that needs most, and set the addresses of all operands. */
static plim_status open_arena(plim_exec *exec, const plim_plan *const *plan) {
  int64_t bytes = PLIM_ALIGN;
  void *base = NULL;
  for (int32_t i = 0; i < exec->n_plans; i++) {
    if (plan[i]->arena_bytes > bytes) bytes = plan[i]->arena_bytes;
  }
  PLIM_TRY(plim_exec_device_alloc(exec, bytes, 1, &base));
  exec->spaces.memory[0] = (plim_memory_region){.base = base, .bytes = bytes, .fd = -1};
  exec->arena.first_bytes = bytes;
  for (int32_t i = 0; i < exec->n_plans; i++) {
    plim_bound_plan_set_addresses(&exec->plan[i].bound, exec->spaces.memory);
  }
  return PLIM_OK;
}

plim_exec_options plim_exec_options_default(void) {
  return (plim_exec_options){.struct_bytes = sizeof(plim_exec_options), .addresses = PLIM_ADDRESSES_PLANNED};
}

static plim_status check_options(plim_context *ctx, const plim_device *device, const plim_exec_options *options) {
  PLIM_TRY(plim_check_options(ctx, "plim_exec_options", options->struct_bytes, sizeof *options));
  if (!device && !options->own_kernels) {
    return plim_fail(ctx, PLIM_EUSAGE, "no device: own_kernels must be 1, since no one could prepare kernels");
  }
  if (!options->buffer_alloc != !options->buffer_free) {
    return plim_fail(ctx, PLIM_EUSAGE, "buffer_alloc and buffer_free: give both or none");
  }
  if (options->buffer_alloc && device && !device->api->host_visible) {
    return plim_fail(
        ctx, PLIM_EUSAGE,
        "buffer_alloc gives host memory, which device %s cannot use: leave it out and the device allocates",
        device->api->name);
  }
  return PLIM_OK;
}

/* Make an executor of n plans that has no memory yet. PLIM_EUSAGE, PLIM_ENOMEM. */
static plim_status new_exec(plim_context *ctx, plim_device *device, const plim_exec_options *options, int32_t n,
                            plim_exec **out) {
  const plim_exec_options defaults = plim_exec_options_default();
  plim_exec *exec = NULL;
  if (!options) options = &defaults;
  PLIM_TRY(check_options(ctx, device, options));
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *exec, &exec));
  exec->ctx = ctx;
  exec->device = device;
  exec->options = *options;
  exec->n_plans = n;
  exec->spaces.n = 1;
  for (int32_t space = 0; space < PLIM_PLAN_SPACES; space++) exec->spaces.memory[space].fd = -1;
  exec->contents.outputs_of = exec->contents.inputs_of = PLIM_NONE;
  plim_refused_clear(exec);
  *out = exec;
  return PLIM_OK;
}

/* Open the plans of a new executor, in this order: the kernels and the flat arrays of each plan; page spaces and
 * queues; the arena; a rehearsal in it. After a failure the executor is closed. */
static plim_status open_plans(plim_exec *exec, const plim_graph *const *graph, const plim_plan *const *plan,
                              int checked, plim_exec **out) {
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(exec->ctx, exec->n_plans, sizeof *exec->plan, &exec->plan));
  plim_exec_begin_kernels(exec, plan);
  for (int32_t i = 0; i < exec->n_plans; i++) PLIM_TRY_OR_DONE(open_plan(exec, i, graph[i], plan[i], checked));
  PLIM_TRY_OR_DONE(plim_exec_grow_spaces(exec, plan));
  PLIM_TRY_OR_DONE(plim_exec_allocates_each(exec) ? plim_each_open(exec) : open_arena(exec, plan));
  for (int32_t i = 0; i < exec->n_plans; i++) PLIM_TRY_OR_DONE(plim_exec_rehearse(exec, &exec->plan[i].bound));
  *out = exec;
  exec = NULL;
done:
  plim_exec_close(exec);
  return status;
}

plim_status plim_exec_open(plim_context *ctx, plim_device *device, const plim_exec_options *options, int32_t n,
                           const plim_graph *const *graph, const plim_plan *const *plan, plim_exec **out) {
  plim_exec *exec = NULL;
  if (device && device->ctx != ctx) {
    return plim_fail(ctx, PLIM_EUSAGE, "an executor on device %s needs the context of the device", device->api->name);
  }
  PLIM_TRY(plim_program_check(ctx, n, graph, plan));
  PLIM_TRY(new_exec(ctx, device, options, n, &exec));
  return open_plans(exec, graph, plan, 1, out);
}

plim_status plim_exec_open_unchecked(plim_context *ctx, plim_device *device, const plim_exec_options *options,
                                     int32_t n, const plim_graph *const *graph, const plim_plan *const *plan,
                                     plim_exec **out) {
  plim_exec *exec = NULL;
  PLIM_TRY(new_exec(ctx, device, options, n, &exec));
  return open_plans(exec, graph, plan, 0, out);
}

static void close_plan(plim_exec *exec, plim_exec_plan *exec_plan) {
  if (!exec_plan->bound.ctx) return; /* it was not opened */
  plim_plan_switch_end(exec, exec_plan);
  plim_release(exec->ctx, exec_plan->written, exec_plan->bound.graph->n_values, sizeof *exec_plan->written);
  plim_release(exec->ctx, exec_plan->reads, exec_plan->bound.graph->n_values, sizeof *exec_plan->reads);
  plim_release(exec->ctx, exec_plan->allocation, exec_plan->bound.plan->n_buffers, sizeof *exec_plan->allocation);
  plim_bound_plan_free(&exec_plan->bound);
}

void plim_exec_close(plim_exec *exec) {
  if (!exec) return;
  plim_context *ctx = exec->ctx;
  plim_exec_close_spaces(exec);
  if (exec->plan) plim_each_close(exec);
  plim_exec_device_release(exec, exec->spaces.memory[0].base, exec->arena.first_bytes);
  for (int32_t space = 0; space < PLIM_PLAN_SPACES; space++) plim_prepared_free(&exec->spaces.kernels[space]);
  for (int32_t i = 0; exec->plan && i < exec->n_plans; i++) close_plan(exec, &exec->plan[i]);
  plim_release(ctx, exec->plan, exec->n_plans, sizeof *exec->plan);
  plim_release(ctx, exec, 1, sizeof *exec);
}
