/* Copies a plan into memory of its own, after the checks that need only the plan. A plan that is refused here could not
 * be read safely. */
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/graph/plan_internal.h"
#include "runtime/graph/profile_internal.h"

/* Give each array of `own` its address in the block. Returns the address of the whole. */
static plim_own_plan *carve(const plim_plan *draft, int64_t n_wait, plim_block *block, plim_own_plan *own) {
  plim_own_plan *place = plim_block_take(block, 1, sizeof *own);
  own->command = plim_block_take(block, draft->n_commands, sizeof *own->command);
  own->buffer = plim_block_take(block, draft->n_buffers, sizeof *own->buffer);
  own->variant = plim_block_take(block, draft->n_variants, sizeof *own->variant);
  own->page = plim_block_take(block, draft->n_page_spaces, sizeof *own->page);
  own->wait = plim_block_take(block, n_wait, sizeof *own->wait);
  return place;
}

static plim_status check_waits(plim_context *ctx, const plim_plan *plan, int32_t j) {
  const plim_command *command = &plan->command[j];
  if (command->queue < 0 || command->queue >= PLIM_PLAN_QUEUES) {
    return plim_fail(ctx, PLIM_EDATA, "command %d: queue %d is not below %d", j, command->queue, PLIM_PLAN_QUEUES);
  }
  if (command->n_wait < 0) return plim_fail(ctx, PLIM_EDATA, "command %d waits for %d commands", j, command->n_wait);
  for (int32_t i = 0; i < command->n_wait; i++) {
    if (command->wait[i] < 0 || command->wait[i] >= j || (i > 0 && command->wait[i] <= command->wait[i - 1])) {
      return plim_fail(ctx, PLIM_EDATA, "command %d: wait[%d] = %d is not an earlier command, in ascending order", j, i,
                       command->wait[i]);
    }
  }
  return PLIM_OK;
}

static plim_status check_run(plim_context *ctx, const plim_plan *plan, int32_t j) {
  const plim_command *command = &plan->command[j];
  if (command->op < 0) return plim_fail(ctx, PLIM_EDATA, "command %d: op %d is negative", j, command->op);
  if (command->variant < 0 || command->variant >= plan->n_variants ||
      plan->variant[command->variant].op != command->op) {
    return plim_fail(ctx, PLIM_EDATA, "command %d: variant %d is none of op %d", j, command->variant, command->op);
  }
  if (command->space < 0 || command->space > plan->n_page_spaces) {
    return plim_fail(ctx, PLIM_EDATA, "command %d: space %d is none of %d", j, command->space, plan->n_page_spaces + 1);
  }
  if (command->n_pairs < 0 || command->n_pairs > PLIM_OP_MAX_PAIRS) {
    return plim_fail(ctx, PLIM_EDATA, "command %d: %d pairs, at most %d are allowed", j, command->n_pairs,
                     PLIM_OP_MAX_PAIRS);
  }
  for (int32_t i = 0; i < command->n_pairs; i++) {
    if (command->pair[i].out < 0 || command->pair[i].in < 0) {
      return plim_fail(ctx, PLIM_EDATA, "command %d: pair [%d, %d] is no pair of operands", j, command->pair[i].out,
                       command->pair[i].in);
    }
  }
  return PLIM_OK;
}

static plim_status check_command(plim_context *ctx, const plim_plan *plan, int32_t j) {
  const plim_command *command = &plan->command[j];
  PLIM_TRY(check_waits(ctx, plan, j));
  if (command->kind == PLIM_COMMAND_RUN) return check_run(ctx, plan, j);
  if (command->kind != PLIM_COMMAND_COPY) {
    return plim_fail(ctx, PLIM_EDATA, "command %d: kind %d is none", j, (int)command->kind);
  }
  if (command->storage < 0 || command->from < 0 || command->to < 0 || command->time_ns < 0) {
    return plim_fail(ctx, PLIM_EDATA, "command %d: copy of storage %d from space %d to space %d in %lld ns", j,
                     command->storage, command->from, command->to, (long long)command->time_ns);
  }
  return PLIM_OK;
}

static plim_status check_buffer(plim_context *ctx, const plim_plan *plan, int32_t i) {
  const plim_plan_buffer *buffer = &plan->buffer[i];
  if (buffer->storage < -1 || buffer->space < 0) {
    return plim_fail(ctx, PLIM_EDATA, "buffer %d: storage %d in space %d", i, buffer->storage, buffer->space);
  }
  if (buffer->begin < 0 || buffer->begin >= buffer->end || buffer->end > plan->n_commands) {
    return plim_fail(ctx, PLIM_EDATA, "buffer %d: [%d, %d) is not a part of [0, %d)", i, buffer->begin, buffer->end,
                     plan->n_commands);
  }
  if (buffer->bytes <= 0) return plim_fail(ctx, PLIM_EDATA, "buffer %d: %lld bytes", i, (long long)buffer->bytes);
  if (plan->packed ? buffer->offset < 0 || buffer->offset > INT64_MAX - buffer->bytes : buffer->offset != PLIM_NONE) {
    return plim_fail(ctx, PLIM_EDATA, "buffer %d: offset %lld in a plan %s addresses", i, (long long)buffer->offset,
                     plan->packed ? "with" : "without");
  }
  return PLIM_OK;
}

static plim_status check_variant(plim_context *ctx, const plim_plan *plan, int32_t i) {
  if (plan->variant[i].op < 0) {
    return plim_fail(ctx, PLIM_EDATA, "variant %d: op %d is negative", i, plan->variant[i].op);
  }
  return plim_variant_check(ctx, &plan->variant[i].variant);
}

static plim_status check_head(plim_context *ctx, const plim_plan *plan) {
  PLIM_TRY(plim_machine_check(ctx, &plan->numerics.machine));
  PLIM_TRY(plim_printable_text(ctx, "planner", plan->planner, sizeof plan->planner));
  if (!plim_plan_class_name(plan->plan_class)) {
    return plim_fail(ctx, PLIM_EDATA, "plan class %d is none", (int)plan->plan_class);
  }
  if (plan->n_commands < 0 || plan->n_buffers < 0 || plan->n_variants < 0) {
    return plim_fail(ctx, PLIM_EDATA, "a plan of %d commands, %d buffers, %d variants", plan->n_commands,
                     plan->n_buffers, plan->n_variants);
  }
  if (plan->budget_bytes < 0 || plan->keep_all_ns < 0 || plan->bound_ns < 0) {
    return plim_fail(ctx, PLIM_EDATA, "a negative figure: budget_bytes %lld, keep_all_ns %lld, bound_ns %lld",
                     (long long)plan->budget_bytes, (long long)plan->keep_all_ns, (long long)plan->bound_ns);
  }
  return PLIM_OK;
}

static plim_status check_pages(plim_context *ctx, const plim_plan *plan) {
  if (plan->n_page_spaces < 0 || plan->n_page_spaces > PLIM_PAGE_SPACES) {
    return plim_fail(ctx, PLIM_EDATA, "a plan has %d page spaces, at most %d are allowed", plan->n_page_spaces,
                     PLIM_PAGE_SPACES);
  }
  for (int32_t k = 0; k < plan->n_page_spaces; k++) {
    PLIM_TRY(plim_printable_text(ctx, "page space", plan->page[k].name, sizeof plan->page[k].name));
    const plim_plan_space *page = &plan->page[k];
    const int delays = page->delay_permille >= 0 && page->delay_permille <= PLIM_PAGE_DELAY_PERMILLE;
    if (page->budget_bytes >= 0 && delays) continue;
    return plim_fail(ctx, PLIM_EDATA, "space %d has a budget of %lld bytes, and a delay of %d permille",
                     plim_page_space_at(k), (long long)page->budget_bytes, page->delay_permille);
  }
  return PLIM_OK;
}

static plim_status check_parts(plim_context *ctx, const plim_plan *plan, int64_t *n_wait) {
  PLIM_TRY(check_head(ctx, plan));
  PLIM_TRY(check_pages(ctx, plan));
  *n_wait = 0;
  for (int32_t i = 0; i < plan->n_variants; i++) PLIM_TRY(check_variant(ctx, plan, i));
  for (int32_t j = 0; j < plan->n_commands; j++) {
    PLIM_TRY(check_command(ctx, plan, j));
    *n_wait += plan->command[j].n_wait;
  }
  for (int32_t i = 0; i < plan->n_buffers; i++) PLIM_TRY(check_buffer(ctx, plan, i));
  return PLIM_OK;
}

static void copy_array(void *to, const void *from, int32_t count, size_t size) {
  if (count > 0) memcpy(to, from, (size_t)count * size);
}

static void copy_parts(const plim_plan *draft, plim_own_plan *own) {
  copy_array(own->command, draft->command, draft->n_commands, sizeof *own->command);
  copy_array(own->buffer, draft->buffer, draft->n_buffers, sizeof *own->buffer);
  copy_array(own->variant, draft->variant, draft->n_variants, sizeof *own->variant);
  copy_array(own->page, draft->page, draft->n_page_spaces, sizeof *own->page);
  int32_t *wait = own->wait;
  for (int32_t j = 0; j < draft->n_commands; j++) {
    copy_array(wait, draft->command[j].wait, draft->command[j].n_wait, sizeof *wait);
    own->command[j].wait = wait;
    wait += draft->command[j].n_wait;
  }
  own->plan = *draft;
  own->plan.command = own->command;
  own->plan.buffer = own->buffer;
  own->plan.variant = own->variant;
  own->plan.page = own->page;
}

plim_status plim_plan_copy(plim_context *ctx, const plim_plan *draft, plim_own_plan **out) {
  int64_t n_wait = 0;
  PLIM_TRY(check_parts(ctx, draft, &n_wait));
  plim_own_plan own = {.block_bytes = 0};
  plim_block block = {NULL, 0};
  (void)carve(draft, n_wait, &block, &own);
  PLIM_TRY(plim_block_allocate(ctx, &block));
  *out = carve(draft, n_wait, &block, &own);
  own.block_bytes = block.bytes;
  copy_parts(draft, &own);
  own.plan.ctx = ctx;
  **out = own;
  return PLIM_OK;
}

void plim_plan_free(plim_plan *plan) {
  if (!plan) return;
  plim_own_plan *own = (plim_own_plan *)plan; /* the plan is its first member */
  plim_release(plan->ctx, own, own->block_bytes, 1);
}
