/* Works out, once for each plan, where every argument of every kernel call lies, so that a step only walks arrays of
 * pointers. plim_bind, near the end, has the parts in their order.
 *
 * One walk over the commands finds the buffer of each operand. It keeps, for each storage and space, the buffer that
 * began last. Lifetimes of one storage in one space never overlap, so an operand of command j lies in that buffer: its
 * lifetime contains j, or it ends at j where the command overwrites it in place. */
#include "runtime/exec/bind.h"

#include <string.h>

#include "runtime/base/groups.h"

typedef struct binder {
  plim_bound_plan *bound;
  int32_t *latest;     /* [spaces][n_storages] buffer that began last, PLIM_NONE before the first */
  int32_t next_buffer; /* first buffer that has not begun */
  int32_t workspace;   /* buffer of this command's workspace, or PLIM_NONE */
  int32_t n_operands;  /* bound so far */
} binder;

static int32_t *latest_in(const binder *binding, int32_t storage, int32_t space) {
  return &binding->latest[(int64_t)space * binding->bound->graph->n_storages + storage];
}

/* Note the buffers that begin at command j. The plan has its buffers in the order of their begin. */
static void begin_buffers(binder *binding, int32_t j) {
  const plim_plan *plan = binding->bound->plan;
  binding->workspace = PLIM_NONE;
  for (; binding->next_buffer < plan->n_buffers && plan->buffer[binding->next_buffer].begin <= j;
       binding->next_buffer++) {
    int32_t storage = plan->buffer[binding->next_buffer].storage;
    if (storage < 0) {
      binding->workspace = binding->next_buffer;
    } else {
      *latest_in(binding, storage, plan->buffer[binding->next_buffer].space) = binding->next_buffer;
    }
  }
}

/* Append the operand of a value that command j, a run, reads or writes: the buffer it lies in, and where. */
static plim_status bind_value(binder *binding, int32_t j, int32_t value) {
  const plim_graph *graph = binding->bound->graph;
  const plim_value *v = &graph->value[value];
  int32_t buffer = *latest_in(binding, v->storage, binding->bound->plan->command[j].space);
  if (buffer < 0 && graph->storage[v->storage].bytes > 0) {
    return plim_fail(binding->bound->ctx, PLIM_EPLAN, "command %d (op \"%s\") uses \"%s\", which has no buffer so far",
                     (int)j, graph->op[binding->bound->plan->command[j].op].name, v->name);
  }
  binding->bound->operand[binding->n_operands++] = (plim_bound_operand){buffer, v->offset};
  return PLIM_OK;
}

/* Fill in command j, a copy, with two operands: the buffers of its storage in the space it reads and in the one it
 * writes. */
static plim_status bind_copy(binder *binding, int32_t j) {
  const plim_command *command = &binding->bound->plan->command[j];
  const int32_t space[] = {command->from, command->to};
  binding->bound->command[j] = (plim_bound_command){
      .variant = "copy", .op = PLIM_NONE, .queue = command->queue, .first = binding->n_operands, .n_in = 1, .n_out = 1};
  for (int i = 0; i < 2; i++) {
    int32_t buffer = *latest_in(binding, command->storage, space[i]);
    if (buffer < 0) {
      return plim_fail(binding->bound->ctx, PLIM_EPLAN,
                       "command %d copies storage %d, which has no buffer in space %d so far", (int)j,
                       (int)command->storage, (int)space[i]);
    }
    binding->bound->operand[binding->n_operands++] = (plim_bound_operand){buffer, 0};
  }
  return PLIM_OK;
}

/* Fill in command j, a run: its operands in the order of plim_bound_command.first, and the bytes of its workspace. */
static plim_status bind_run(binder *binding, int32_t j, void *kernel, int64_t workspace_bytes) {
  const plim_plan *plan = binding->bound->plan;
  const plim_command *command = &plan->command[j];
  const plim_op *op = &binding->bound->graph->op[command->op];
  binding->bound->command[j] = (plim_bound_command){.kernel = kernel,
                                                    .variant = plan->variant[command->variant].variant.name,
                                                    .op = command->op,
                                                    .queue = command->queue,
                                                    .space = command->space,
                                                    .first = binding->n_operands,
                                                    .n_in = op->n_in,
                                                    .n_out = op->n_out,
                                                    .n_upd = op->n_upd,
                                                    .n_workspace = workspace_bytes > 0,
                                                    .workspace_bytes = workspace_bytes};
  for (int32_t i = 0; i < op->n_in; i++) PLIM_TRY(bind_value(binding, j, op->in[i]));
  for (int32_t i = 0; i < op->n_out; i++) PLIM_TRY(bind_value(binding, j, op->out[i]));
  for (int32_t i = 0; i < op->n_upd; i++) PLIM_TRY(bind_value(binding, j, op->upd[i]));
  if (workspace_bytes == 0) return PLIM_OK;
  if (binding->workspace < 0) {
    return plim_fail(binding->bound->ctx, PLIM_EPLAN,
                     "command %d (op \"%s\", variant \"%s\") needs a workspace of %lld bytes and the plan has none",
                     (int)j, op->name, binding->bound->command[j].variant, (long long)workspace_bytes);
  }
  binding->bound->buffer[binding->workspace].bytes = plim_align_up(workspace_bytes, PLIM_ALIGN);
  binding->bound->operand[binding->n_operands++] = (plim_bound_operand){binding->workspace, 0};
  return PLIM_OK;
}

/* Set the bytes of the buffers of storages; bind_run sets those of workspaces. */
static void fill_bytes(plim_bound_plan *bound) {
  for (int32_t i = 0; i < bound->plan->n_buffers; i++) {
    int32_t storage = bound->plan->buffer[i].storage;
    if (storage >= 0) bound->buffer[i].bytes = plim_align_up(bound->graph->storage[storage].bytes, PLIM_ALIGN);
  }
}

/* Find where each storage lies between two steps: the arrays buffer_before and buffer_after. Buffers in the arena come
 * first; then the homes of persistent storages, in any space, take their place. */
static void fill_before_and_after(plim_bound_plan *bound) {
  const int32_t n_storages = bound->graph->n_storages;
  for (int32_t s = 0; s < n_storages; s++) bound->buffer_before[s] = bound->buffer_after[s] = PLIM_NONE;
  for (int32_t i = 0; i < bound->plan->n_buffers; i++) {
    const plim_plan_buffer *b = &bound->plan->buffer[i];
    if (b->storage < 0 || b->space > 0) continue;
    bound->buffer_after[b->storage] = i;
    if (b->begin == 0) bound->buffer_before[b->storage] = i;
  }
  for (int32_t i = bound->plan->n_buffers - 1; i >= 0; i--) {
    const plim_plan_buffer *buffer = &bound->plan->buffer[i];
    if (!plim_plan_is_home(bound->graph, bound->plan, buffer)) continue;
    bound->buffer_before[buffer->storage] = bound->buffer_after[buffer->storage] = i;
  }
}

/* Set the ends of the buffers whose bytes stay after the last command: homes, and outputs, which lie in the arena. All
 * others end where they begin, until a use is seen. */
static void fill_least_ends(const binder *binding) {
  plim_bound_plan *bound = binding->bound;
  const plim_plan *plan = bound->plan;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const int stays = plim_plan_is_home(bound->graph, plan, &plan->buffer[i]);
    bound->buffer[i].end = stays ? plan->n_commands : plan->buffer[i].begin + 1;
  }
  for (int32_t s = 0; s < bound->graph->n_storages; s++) {
    const int32_t in_arena = *latest_in(binding, s, 0);
    const int stays = bound->graph->storage[s].role == PLIM_ROLE_OUTPUT && in_arena >= 0;
    if (stays) bound->buffer[in_arena].end = plan->n_commands;
  }
}

/* Find the end of each buffer: after its last use, or where the output of an in-place pair overwrites it. */
static void fill_ends(const binder *binding) {
  plim_bound_plan *bound = binding->bound;
  const plim_plan *plan = bound->plan;
  fill_least_ends(binding);
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_bound_command *command = &bound->command[j];
    for (int32_t k = command->first; k < bound->command[j + 1].first; k++) {
      int32_t buffer = bound->operand[k].buffer;
      if (buffer >= 0 && bound->buffer[buffer].end < j + 1) bound->buffer[buffer].end = j + 1;
    }
    for (int32_t i = 0; i < plan->command[j].n_pairs; i++) {
      int32_t buffer = bound->operand[command->first + plan->command[j].pair[i].in].buffer;
      if (buffer >= 0) bound->buffer[buffer].end = j;
    }
  }
}

/* Sort the buffers by the command at which they end. */
static void sort_by_end(plim_bound_plan *bound) {
  int32_t *first = bound->ending_first, n_buffers = bound->plan->n_buffers;
  for (int32_t i = 0; i < n_buffers; i++) first[bound->buffer[i].end]++;
  plim_groups_sum(first, (int64_t)bound->plan->n_commands + 1);
  for (int32_t i = n_buffers - 1; i >= 0; i--) bound->ending[--first[bound->buffer[i].end]] = i;
}

/* Take each array from the memory of the bound plan. The first call, before there is memory, counts the bytes; the
 * second sets the addresses (plim_block). */
static void carve(plim_bound_plan *bound) {
  plim_block *memory = &bound->memory;
  const int64_t n_commands = bound->plan->n_commands, n_buffers = bound->plan->n_buffers;
  const int64_t n_storages = bound->graph->n_storages;
  bound->command = plim_block_take(memory, n_commands + 1, sizeof *bound->command);
  bound->operand = plim_block_take(memory, bound->n_operands, sizeof *bound->operand);
  bound->pointer = plim_block_take(memory, bound->n_operands, sizeof *bound->pointer);
  bound->buffer = plim_block_take(memory, n_buffers, sizeof *bound->buffer);
  bound->ending_first = plim_block_take(memory, n_commands + 2, sizeof *bound->ending_first);
  bound->ending = plim_block_take(memory, n_buffers, sizeof *bound->ending);
  bound->buffer_before = plim_block_take(memory, n_storages, sizeof *bound->buffer_before);
  bound->buffer_after = plim_block_take(memory, n_storages, sizeof *bound->buffer_after);
  bound->time_ns = plim_block_take(memory, n_commands, sizeof *bound->time_ns);
  if (bound->plan->n_page_spaces == 0) return;
  bound->wait = plim_block_take(memory, n_commands, sizeof *bound->wait);
  bound->queue_command = plim_block_take(memory, n_commands, sizeof *bound->queue_command);
  bound->begin_ns = plim_block_take(memory, n_commands, sizeof *bound->begin_ns);
  bound->waited_ns = plim_block_take(memory, n_commands, sizeof *bound->waited_ns);
}

/* Count the operands, and allocate all arrays at once. */
static plim_status allocate(plim_bound_plan *bound) {
  const plim_plan *plan = bound->plan;
  int64_t operands = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    if (plan->command[j].kind == PLIM_COMMAND_COPY) {
      operands += 2;
      continue;
    }
    const plim_op *op = &bound->graph->op[plan->command[j].op];
    operands += op->n_in + op->n_out + op->n_upd + 1;
  }
  if (operands > INT32_MAX) {
    return plim_fail(bound->ctx, PLIM_EOVERFLOW, "%lld operands in one plan; at most %d can be bound",
                     (long long)operands, (int)INT32_MAX);
  }
  bound->n_operands = (int32_t)operands;
  carve(bound);
  PLIM_TRY(plim_block_allocate(bound->ctx, &bound->memory));
  carve(bound);
  return PLIM_OK;
}

/* List the commands of each queue in their order. */
static void list_queues(plim_bound_plan *bound) {
  const plim_plan *plan = bound->plan;
  int32_t n = 0;
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
    for (int32_t j = 0; j < plan->n_commands; j++) {
      if (plan->command[j].queue == q) bound->queue_command[n++] = j;
    }
    bound->queue_first[q + 1] = n;
  }
}

/* Turn the commands that each command waits for into counts of ended commands of their queues. PLIM_ENOMEM. */
static plim_status count_waits(plim_bound_plan *bound) {
  const plim_plan *plan = bound->plan;
  int32_t *place = NULL, count[PLIM_PLAN_QUEUES] = {0}; /* place [n_commands] in the command's queue, from 1 */
  PLIM_TRY(plim_allocate(bound->ctx, plan->n_commands, sizeof *place, &place));
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    place[j] = ++count[command->queue];
    for (int32_t w = 0; w < command->n_wait; w++) {
      const int32_t before = command->wait[w], queue = plan->command[before].queue;
      int32_t *need = &bound->wait[j].need[queue];
      if (queue == command->queue) continue; /* the queue's order implies the wait */
      if (place[before] > *need) *need = place[before];
      bound->wait[j].any = 1;
    }
  }
  plim_release(bound->ctx, place, plan->n_commands, sizeof *place);
  return PLIM_OK;
}

/* Mark the commands whose end is the last one that a command of another queue needs. */
static void mark_awaited(plim_bound_plan *bound) {
  for (int32_t j = 0; j < bound->plan->n_commands; j++) {
    for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
      const int32_t need = bound->wait[j].need[q];
      if (need > 0) bound->wait[bound->queue_command[bound->queue_first[q] + need - 1]].awaited = 1;
    }
  }
}

static plim_status fill_queues(plim_bound_plan *bound) {
  list_queues(bound);
  PLIM_TRY(count_waits(bound));
  mark_awaited(bound);
  return PLIM_OK;
}

/* Fill in all commands with their operands. Arguments as of plim_bind. */
static plim_status bind_commands(binder *binding, void *const *kernel, const int64_t *workspace_bytes) {
  const plim_plan *plan = binding->bound->plan;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    begin_buffers(binding, j);
    if (command->kind == PLIM_COMMAND_COPY) {
      PLIM_TRY(bind_copy(binding, j));
    } else {
      void *prepared = kernel[(int64_t)command->space * plan->n_variants + command->variant];
      PLIM_TRY(bind_run(binding, j, prepared, workspace_bytes[command->variant]));
    }
  }
  binding->bound->command[plan->n_commands].first = binding->n_operands;
  return PLIM_OK;
}

plim_status plim_bind(plim_context *ctx, const plim_graph *graph, const plim_plan *plan, void *const *kernel,
                      const int64_t *workspace_bytes, plim_bound_plan *bound) {
  binder binding = {.bound = bound};
  int64_t keys = plim_mul_checked(graph->n_storages, plan->n_page_spaces + 1);
  plim_status status;
  *bound = (plim_bound_plan){.ctx = ctx, .graph = graph, .plan = plan};
  PLIM_TRY(allocate(bound));
  fill_bytes(bound);
  PLIM_TRY(plim_allocate(ctx, keys, sizeof *binding.latest, &binding.latest));
  for (int64_t k = 0; k < keys; k++) binding.latest[k] = PLIM_NONE;
  PLIM_TRY_OR_DONE(bind_commands(&binding, kernel, workspace_bytes));
  fill_before_and_after(bound);
  fill_ends(&binding);
  sort_by_end(bound);
  if (plim_bound_plan_has_queues(bound)) PLIM_TRY_OR_DONE(fill_queues(bound));
done:
  plim_release(ctx, binding.latest, keys, sizeof *binding.latest);
  return status;
}

void plim_bound_plan_free(plim_bound_plan *bound) {
  if (!bound->ctx) return; /* a zeroed one */
  plim_block_release(bound->ctx, &bound->memory);
}

void plim_bound_plan_set_addresses(plim_bound_plan *bound, const plim_memory_region *memory) {
  int32_t used = bound->command[bound->plan->n_commands].first;
  for (int32_t k = 0; k < used; k++) {
    const plim_bound_operand *operand = &bound->operand[k];
    const plim_plan_buffer *buffer = operand->buffer < 0 ? NULL : &bound->plan->buffer[operand->buffer];
    bound->pointer[k] = buffer ? memory[buffer->space].base + buffer->offset + operand->offset : memory[0].base;
  }
}

plim_kernel_args plim_bound_plan_args(const plim_bound_plan *bound, int32_t j) {
  const plim_bound_command *command = &bound->command[j];
  void **in = bound->pointer + command->first, **out = in + command->n_in, **upd = out + command->n_out;
  return (plim_kernel_args){.in = in,
                            .out = out,
                            .upd = upd,
                            .workspace = command->n_workspace ? upd[command->n_upd] : NULL,
                            .op = command->op};
}
