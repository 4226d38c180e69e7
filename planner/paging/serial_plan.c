/* The plan that a plan on several devices is compared with. It runs every op once, in program order, on the device and
 * with the variant of the op's first run in the other plan. Nothing pages, and each command waits for the one before.
 *
 * A storage is present in the spaces that have its present version. Before an op runs, a copy brings what it uses from
 * such a space. An update leaves the storage present in its own space alone. At the end what persists is brought home,
 * and outputs to the arena.
 *
 * Example: f reads w in space 1, u updates w in space 0, g reads w in space 1. The commands are: copy w, f, u, copy w,
 * g. */
#include <assert.h>
#include <string.h>

#include "planner/paging/paging_internal.h"

typedef struct serial_pass {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *as;
  plim_queue_spaces spaces;
  int32_t space_of[PLIM_PLAN_SPACES]; /* of a space of `as` that computes */
  int32_t *first;                     /* [n_ops] command of its first run in `as`; -1: none */
  int32_t *present;                   /* [spaces][n_storages] buffer with the present version; -1: none */
  int32_t *given;                     /* [n_storages] buffer that is there from the start; -1: none */
  plim_command_list list;
} serial_pass;

/* ---- spaces and first runs ---- */

static plim_status find_spaces(serial_pass *pass, const plim_paging *devices) {
  plim_plan_options options = plim_plan_options_default();
  plim_paging paging = *devices;
  int32_t n = 1;
  for (int32_t k = 0; k < pass->as->n_page_spaces; k++) {
    if (pass->as->page[k].computes) pass->space_of[plim_page_space_at(k)] = n++;
  }
  if (paging.n_devices != n - 1) {
    return plim_fail(pass->ctx, PLIM_EUSAGE, "a plan on %d devices is compared with one on %d", (int)n,
                     (int)paging.n_devices + 1);
  }
  for (int32_t d = 0; d < paging.n_devices; d++) paging.device[d].budget_bytes = PLIM_BYTES_UNLIMITED;
  paging.space = NULL;
  options.paging = &paging;
  plim_queue_spaces_make(&options, &pass->spaces);
  return PLIM_OK;
}

static plim_status find_first_runs(serial_pass *pass) {
  const plim_graph *graph = pass->graph;
  PLIM_TRY(plim_allocate(pass->ctx, graph->n_ops, sizeof *pass->first, &pass->first));
  memset(pass->first, -1, (size_t)graph->n_ops * sizeof *pass->first);
  for (int32_t j = pass->as->n_commands - 1; j >= 0; j--) {
    if (pass->as->command[j].kind == PLIM_COMMAND_RUN) pass->first[pass->as->command[j].op] = j;
  }
  for (int32_t o = 0; o < graph->n_ops; o++) {
    if (pass->first[o] >= 0) continue;
    return plim_fail(pass->ctx, PLIM_EDATA, "the plan does not run op \"%s\"", graph->op[o].name);
  }
  return PLIM_OK;
}

/* ---- where storages are ---- */

static int32_t *present_in(const serial_pass *pass, int32_t space) {
  return pass->present + (int64_t)space * pass->graph->n_storages;
}

/* What is there from the start lies where the keep-all plan has it. */
static plim_status add_given(serial_pass *pass, const plim_plan *keep_all) {
  const int64_t cells = (int64_t)pass->spaces.n * pass->graph->n_storages;
  PLIM_TRY(plim_allocate(pass->ctx, cells, sizeof *pass->present, &pass->present));
  PLIM_TRY(plim_allocate(pass->ctx, pass->graph->n_storages, sizeof *pass->given, &pass->given));
  for (int64_t i = 0; i < cells; i++) pass->present[i] = -1;
  for (int32_t s = 0; s < pass->graph->n_storages; s++) pass->given[s] = -1;
  for (int32_t i = 0; i < keep_all->n_buffers; i++) {
    const plim_plan_buffer *b = &keep_all->buffer[i];
    if (b->storage < 0 || pass->graph->storage[b->storage].producer >= 0) continue;
    const int32_t buffer = plim_command_list_add_buffer(&pass->list, b->storage, 0, -1, b->bytes, b->offset);
    PLIM_TRY(pass->list.status);
    pass->list.buffer[buffer].stays = plim_role_persistent(pass->graph->storage[b->storage].role);
    pass->given[b->storage] = present_in(pass, 0)[b->storage] = buffer;
  }
  return PLIM_OK;
}

static int32_t add_buffer(serial_pass *pass, int32_t storage, int32_t space) {
  const int64_t bytes = plim_align_up(pass->graph->storage[storage].bytes, PLIM_ALIGN);
  return plim_command_list_add_buffer(&pass->list, storage, space, pass->list.n, bytes, -1);
}

/* Copy the storage to a space where its present version is not. */
static void bring(serial_pass *pass, int32_t storage, int32_t to) {
  const plim_queue_spaces *spaces = &pass->spaces;
  const int64_t bytes = pass->graph->storage[storage].bytes;
  int32_t from = 0, *target = &present_in(pass, to)[storage];
  if (bytes == 0 || *target >= 0) return;
  while (from < spaces->n && present_in(pass, from)[storage] < 0) from++;
  assert(from < spaces->n); /* in program order a producer comes before its readers */
  const plim_command command = {
      .kind = PLIM_COMMAND_COPY, .queue = spaces->copy_queue[from][to], .storage = storage, .from = from, .to = to};
  *target = to == 0 && pass->given[storage] >= 0 ? pass->given[storage] : add_buffer(pass, storage, to);
  plim_command_list_add_use(&pass->list, present_in(pass, from)[storage], 0);
  plim_command_list_add_use(&pass->list, *target, 1);
  (void)plim_command_list_add(&pass->list, &command, plim_queue_copy_ns(spaces, from, to, bytes));
}

/* ---- commands ---- */

/* The update of a storage in one space. The other spaces have an old version. */
static void set_updated(const serial_pass *pass, const plim_op *op, int32_t space) {
  for (int32_t other = 0; other < pass->spaces.n; other++) {
    for (int32_t i = 0; i < op->n_updates && other != space; i++) present_in(pass, other)[op->updates[i]] = -1;
  }
}

static plim_status add_run(serial_pass *pass, int32_t o) {
  const plim_op *op = &pass->graph->op[o];
  const plim_command *as = &pass->as->command[pass->first[o]];
  const plim_variant *variant = &pass->as->variant[as->variant].variant;
  const int32_t space = pass->space_of[as->space];
  const plim_command command = {.kind = PLIM_COMMAND_RUN,
                                .op = o,
                                .variant = as->variant,
                                .space = space,
                                .queue = pass->spaces.run_queue[space]};
  int32_t *present = present_in(pass, space);
  for (int32_t i = 0; i < op->n_reads; i++) bring(pass, op->reads[i], space);
  for (int32_t i = 0; i < op->n_updates; i++) bring(pass, op->updates[i], space);
  plim_command_list_add_uses(&pass->list, op->n_reads, op->reads, present, 0);
  for (int32_t i = 0; i < op->n_writes; i++) {
    if (pass->graph->storage[op->writes[i]].bytes > 0) present[op->writes[i]] = add_buffer(pass, op->writes[i], space);
  }
  plim_command_list_add_uses(&pass->list, op->n_writes, op->writes, present, 1);
  plim_command_list_add_uses(&pass->list, op->n_updates, op->updates, present, 1);
  plim_command_list_add_workspace(&pass->list, space, plim_align_up(variant->workspace_bytes, PLIM_ALIGN), -1);
  (void)plim_command_list_add(&pass->list, &command, variant->time_ns);
  set_updated(pass, op, space);
  return pass->list.status;
}

static plim_status add_last_copies(serial_pass *pass) {
  for (int32_t s = 0; s < pass->graph->n_storages; s++) {
    const plim_storage *storage = &pass->graph->storage[s];
    const int is_output = storage->role == PLIM_ROLE_OUTPUT && storage->producer >= 0 && storage->bytes > 0;
    if (is_output || (pass->given[s] >= 0 && plim_role_persistent(storage->role))) bring(pass, s, 0);
    PLIM_TRY(pass->list.status);
    if (is_output) pass->list.buffer[present_in(pass, 0)[s]].stays = 1;
  }
  return PLIM_OK;
}

/* ---- all of it ---- */

static plim_status write_plan(serial_pass *pass, const plim_plan *keep_all, int64_t bound_ns,
                              const plim_paging *devices, plim_plan **out) {
  plim_plan base = *keep_all;
  base.n_variants = pass->as->n_variants;
  base.variant = pass->as->variant;
  const plim_lowering lowering = {.paging = devices,
                                  .spaces = &pass->spaces,
                                  .base = &base,
                                  .planner = "keep-all",
                                  .keep_all_ns = keep_all->keep_all_ns,
                                  .bound_ns = bound_ns};
  int32_t fits;
  pass->list.serial = 1;
  PLIM_TRY(plim_lower(&lowering, &pass->list, &fits, out));
  return fits ? PLIM_OK : plim_fail(pass->ctx, PLIM_ENOFIT, "no addresses were found in time for one op after another");
}

static plim_status make(serial_pass *pass, const plim_profile *profile, const plim_paging *devices,
                        const plim_plan *keep_all, plim_plan **out) {
  int64_t bound_ns;
  PLIM_TRY(find_spaces(pass, devices));
  PLIM_TRY(find_first_runs(pass));
  PLIM_TRY(add_given(pass, keep_all));
  for (int32_t o = 0; o < pass->graph->n_ops; o++) PLIM_TRY(add_run(pass, o));
  PLIM_TRY(add_last_copies(pass));
  PLIM_TRY(plim_queue_bound(pass->graph, profile, devices, keep_all->keep_all_ns, &bound_ns));
  return write_plan(pass, keep_all, bound_ns, devices, out);
}

plim_status plim_plan_serial(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                             const plim_paging *devices, const plim_plan *as, plim_plan **out) {
  serial_pass pass = {.ctx = ctx, .graph = graph, .as = as, .list = {.ctx = ctx, .graph = graph}};
  plim_plan_options options = plim_plan_options_default();
  plim_plan *keep_all = NULL;
  PLIM_TRY(plim_check_options(ctx, "plim_paging", devices->struct_bytes, sizeof *devices));
  if (strcmp(as->fingerprint, graph->fingerprint) != 0) {
    return plim_fail(ctx, PLIM_EDATA, "the plan is of graph %.12s, not of %.12s", as->fingerprint, graph->fingerprint);
  }
  options.order = PLIM_ORDER_FIXED;
  PLIM_TRY(plim_plan_keep_all(ctx, graph, profile, &options, &keep_all));
  assert(keep_all);
  const plim_status status = make(&pass, profile, devices, keep_all, out);
  plim_release(ctx, pass.first, graph->n_ops, sizeof *pass.first);
  plim_release(ctx, pass.present, (int64_t)pass.spaces.n * graph->n_storages, sizeof *pass.present);
  plim_release(ctx, pass.given, graph->n_storages, sizeof *pass.given);
  plim_command_list_free(&pass.list);
  plim_plan_free(keep_all);
  return status;
}
