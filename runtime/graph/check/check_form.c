/* The form of a plan: everything that can be checked without following the commands. The plan may be of any origin, so
 * no index is followed before it was compared with its count. */
#include <string.h>

#include "runtime/graph/check/check_internal.h"

static int is_text(const char *text, size_t size) {
  return text[0] != 0 && memchr(text, 0, size) != NULL;
}

/* Check a page space: it has a name of its own, and no device computes in "disk", which is a file. */
static plim_status check_page(const plim_checker *check, int32_t k) {
  const plim_plan_space *page = check->plan->page;
  if (!is_text(page[k].name, sizeof page[k].name)) {
    return plim_fail(check->ctx, PLIM_EPLAN, "space %d has no name", plim_page_space_at(k));
  }
  for (int32_t i = 0; i < k; i++) {
    if (strcmp(page[i].name, page[k].name) != 0) continue;
    return plim_fail(check->ctx, PLIM_EPLAN, "spaces %d and %d are both named \"%s\"", plim_page_space_at(i),
                     plim_page_space_at(k), page[k].name);
  }
  if (page[k].delay_permille < 0 || page[k].delay_permille > PLIM_PAGE_DELAY_PERMILLE) {
    return plim_fail(check->ctx, PLIM_EPLAN,
                     "copies of space %d delay runs by %d thousandths of their time; 0 to %d do", plim_page_space_at(k),
                     page[k].delay_permille, PLIM_PAGE_DELAY_PERMILLE);
  }
  if (!page[k].computes || !plim_page_is_file(page[k].name)) return PLIM_OK;
  return plim_fail(check->ctx, PLIM_EPLAN, "space %d is \"disk\", a file: no device computes in it",
                   plim_page_space_at(k));
}

static plim_status check_counts(const plim_checker *check) {
  const plim_plan *plan = check->plan;
  if (plan->n_page_spaces < 0 || plan->n_page_spaces > PLIM_PAGE_SPACES || (plan->n_page_spaces > 0 && !plan->packed)) {
    return plim_fail(check->ctx, PLIM_EPLAN, "the plan has %d page spaces; 0 to %d are allowed, and need addresses",
                     plan->n_page_spaces, PLIM_PAGE_SPACES);
  }
  if (plan->n_commands < 1 || plan->n_buffers < 0 || plan->n_variants < 1) {
    return plim_fail(check->ctx, PLIM_EPLAN, "the plan has %d commands, %d buffers and %d variants", plan->n_commands,
                     plan->n_buffers, plan->n_variants);
  }
  if (plan->packed != 0 && plan->packed != 1) {
    return plim_fail(check->ctx, PLIM_EPLAN, "packed is %d, not 0 or 1", plan->packed);
  }
  if (!plim_plan_class_name(plan->plan_class)) {
    return plim_fail(check->ctx, PLIM_EPLAN, "there is no class of plans number %d", (int)plan->plan_class);
  }
  for (int32_t k = 0; k < plan->n_page_spaces; k++) PLIM_TRY(check_page(check, k));
  return PLIM_OK;
}

static plim_status check_variants(const plim_checker *check) {
  for (int32_t i = 0; i < check->plan->n_variants; i++) {
    const plim_plan_variant *v = &check->plan->variant[i];
    if (v->op < 0 || v->op >= check->graph->n_ops) {
      return plim_fail(check->ctx, PLIM_EPLAN, "variant %d is of op %d; the graph has %d ops", i, v->op,
                       check->graph->n_ops);
    }
    if (!is_text(v->variant.name, sizeof v->variant.name) ||
        !is_text(v->variant.numerics_key, sizeof v->variant.numerics_key)) {
      return plim_fail(check->ctx, PLIM_EPLAN, "variant %d of op \"%s\" has no name or no numerics key", i,
                       check->graph->op[v->op].name);
    }
    if (v->variant.time_ns < 0 || v->variant.workspace_bytes < 0) {
      return plim_fail(check->ctx, PLIM_EPLAN, "variant \"%s\" of op \"%s\" takes %lld ns and %lld bytes",
                       v->variant.name, check->graph->op[v->op].name, (long long)v->variant.time_ns,
                       (long long)v->variant.workspace_bytes);
    }
  }
  return PLIM_OK;
}

static int pair_allowed(const plim_op *op, plim_pair pair) {
  for (int32_t i = 0; i < op->n_pairs; i++) {
    if (op->pair[i].out == pair.out && op->pair[i].in == pair.in) return 1;
  }
  return 0;
}

static plim_status check_pairs(const plim_checker *check, int32_t j) {
  const plim_command *command = &check->plan->command[j];
  const plim_op *op = &check->graph->op[command->op];
  if (command->n_pairs < 0 || command->n_pairs > op->n_out || command->n_pairs > PLIM_OP_MAX_PAIRS) {
    return plim_check_fault(check, j, "%d in-place pairs for %d outputs, of %d at most", command->n_pairs, op->n_out,
                            PLIM_OP_MAX_PAIRS);
  }
  for (int32_t i = 0; i < command->n_pairs; i++) {
    if (!pair_allowed(op, command->pair[i])) {
      return plim_check_fault(check, j, "the op does not allow output %d to be written over input %d",
                              command->pair[i].out, command->pair[i].in);
    }
    for (int32_t k = 0; k < i; k++) {
      if (command->pair[k].out == command->pair[i].out) {
        return plim_check_fault(check, j, "output %d is written over two inputs", command->pair[i].out);
      }
      if (command->pair[k].in == command->pair[i].in) {
        return plim_check_fault(check, j, "outputs %d and %d are written over one input", command->pair[k].out,
                                command->pair[i].out);
      }
    }
  }
  return PLIM_OK;
}

static plim_status check_waits(const plim_checker *check, int32_t j) {
  const plim_command *command = &check->plan->command[j];
  if (command->n_wait < 0 || (command->n_wait > 0 && check->plan->n_page_spaces == 0)) {
    return plim_fail(check->ctx, PLIM_EPLAN, "command %d waits for %d commands of other queues; the plan has one queue",
                     j, command->n_wait);
  }
  for (int32_t w = 0; w < command->n_wait; w++) {
    if (command->wait[w] >= 0 && command->wait[w] < j && (w == 0 || command->wait[w] > command->wait[w - 1])) continue;
    return plim_fail(check->ctx, PLIM_EPLAN, "command %d waits for command %d, not for earlier ones in ascending order",
                     j, command->wait[w]);
  }
  return PLIM_OK;
}

static plim_status check_copy(const plim_checker *check, int32_t j) {
  const plim_command *command = &check->plan->command[j];
  const plim_graph *graph = check->graph;
  if (command->storage < 0 || command->storage >= graph->n_storages || graph->storage[command->storage].bytes <= 0) {
    return plim_fail(check->ctx, PLIM_EPLAN,
                     "command %d copies storage %d, which the graph does not have, or not as bytes", j,
                     command->storage);
  }
  if (command->from < 0 || command->from > check->plan->n_page_spaces || command->to < 0 ||
      command->to > check->plan->n_page_spaces || command->from == command->to) {
    return plim_fail(check->ctx, PLIM_EPLAN, "command %d copies from space %d to space %d of %d", j, command->from,
                     command->to, check->plan->n_page_spaces + 1);
  }
  if (command->queue > 0 && command->queue < PLIM_PLAN_QUEUES && command->time_ns >= 0) return PLIM_OK;
  return plim_fail(check->ctx, PLIM_EPLAN, "command %d copies on queue %d in %lld ns; queues 1 to %d take copies", j,
                   command->queue, (long long)command->time_ns, PLIM_PLAN_QUEUES - 1);
}

static plim_status check_command(const plim_checker *check, int32_t j) {
  const plim_command *command = &check->plan->command[j];
  PLIM_TRY(check_waits(check, j));
  if (command->kind == PLIM_COMMAND_COPY) return check_copy(check, j);
  if (command->kind != PLIM_COMMAND_RUN) {
    return plim_fail(check->ctx, PLIM_EPLAN, "command %d is of unknown kind %d", j, (int)command->kind);
  }
  if (command->space < 0 || command->space > check->plan->n_page_spaces ||
      !plim_plan_computes(check->plan, command->space)) {
    return plim_fail(check->ctx, PLIM_EPLAN, "command %d runs in space %d, where no device computes", j,
                     command->space);
  }
  if ((command->space == 0) != (command->queue == 0) || command->queue < 0 || command->queue >= PLIM_PLAN_QUEUES) {
    return plim_fail(check->ctx, PLIM_EPLAN,
                     "command %d runs in space %d on queue %d; queue 0 takes the runs of space 0", j, command->space,
                     command->queue);
  }
  if (command->op < 0 || command->op >= check->graph->n_ops) {
    return plim_fail(check->ctx, PLIM_EPLAN, "command %d runs op %d; the graph has %d ops", j, command->op,
                     check->graph->n_ops);
  }
  if (command->variant < 0 || command->variant >= check->plan->n_variants ||
      check->plan->variant[command->variant].op != command->op) {
    return plim_check_fault(check, j, "variant %d is not one of this op", command->variant);
  }
  return check_pairs(check, j);
}

static plim_status check_place(const plim_checker *check, int32_t i) {
  const plim_plan_buffer *buffer = &check->plan->buffer[i];
  if (!check->plan->packed) {
    if (buffer->offset == PLIM_NONE) return PLIM_OK;
    return plim_check_fault(check, buffer->begin, "the buffer of \"%s\" has offset %lld in a plan without addresses",
                            plim_check_storage_name(check, buffer->storage), (long long)buffer->offset);
  }
  if (buffer->offset < 0 || buffer->offset % PLIM_ALIGN != 0) {
    return plim_check_fault(check, buffer->begin, "the buffer of \"%s\" has offset %lld, not a multiple of %d",
                            plim_check_storage_name(check, buffer->storage), (long long)buffer->offset, PLIM_ALIGN);
  }
  int64_t top = plim_add_checked(buffer->offset, buffer->bytes);
  int64_t arena_bytes = plim_plan_space_of(check->plan, buffer->space).arena_bytes;
  if (top < 0 || top > arena_bytes) {
    return plim_check_fault(check, buffer->begin,
                            "the buffer of \"%s\" has offset %lld and %lld bytes in an arena of %lld bytes",
                            plim_check_storage_name(check, buffer->storage), (long long)buffer->offset,
                            (long long)buffer->bytes, (long long)arena_bytes);
  }
  return PLIM_OK;
}

/* By begin, then storage; the workspace of a command, storage -1, is the last that begins there. */
static int in_order(const plim_plan_buffer *a, const plim_plan_buffer *b) {
  return a->begin != b->begin ? a->begin < b->begin : (uint32_t)a->storage <= (uint32_t)b->storage;
}

static plim_status check_buffer(const plim_checker *check, int32_t i) {
  const plim_plan_buffer *buffer = &check->plan->buffer[i];
  if (buffer->storage < -1 || buffer->storage >= check->graph->n_storages) {
    return plim_fail(check->ctx, PLIM_EPLAN, "buffer %d is of storage %d; the graph has %d storages", i,
                     buffer->storage, check->graph->n_storages);
  }
  if (buffer->begin < 0 || buffer->begin >= buffer->end || buffer->end > check->plan->n_commands) {
    return plim_fail(check->ctx, PLIM_EPLAN, "buffer %d (\"%s\") is [%d, %d) in a plan of %d commands", i,
                     plim_check_storage_name(check, buffer->storage), buffer->begin, buffer->end,
                     check->plan->n_commands);
  }
  if (buffer->space < 0 || buffer->space > check->plan->n_page_spaces) {
    return plim_fail(check->ctx, PLIM_EPLAN, "buffer %d (\"%s\") is in space %d; the plan has %d page spaces", i,
                     plim_check_storage_name(check, buffer->storage), buffer->space, check->plan->n_page_spaces);
  }
  if (buffer->storage < 0 && check->plan->command[buffer->begin].kind != PLIM_COMMAND_RUN) {
    return plim_check_fault(check, buffer->begin, "a copy has a workspace");
  }
  if (buffer->storage < 0 && check->plan->command[buffer->begin].space != buffer->space) {
    return plim_check_fault(check, buffer->begin, "its workspace is in space %d", buffer->space);
  }
  int64_t bytes = plim_check_buffer_bytes(check, buffer->storage, buffer->begin);
  if (bytes <= 0 || buffer->bytes != bytes) {
    return plim_check_fault(check, buffer->begin, "the buffer of \"%s\" has %lld bytes, it needs %lld",
                            plim_check_storage_name(check, buffer->storage), (long long)buffer->bytes,
                            (long long)bytes);
  }
  if (buffer->storage == PLIM_WORKSPACE && buffer->end != buffer->begin + 1) {
    return plim_check_fault(check, buffer->begin, "the workspace is alive [%d, %d), longer than its command",
                            buffer->begin, buffer->end);
  }
  if (i > 0 && !in_order(buffer - 1, buffer)) {
    return plim_check_fault(check, buffer->begin, "the buffer of \"%s\" comes after one that is later in their order",
                            plim_check_storage_name(check, buffer->storage));
  }
  return check_place(check, i);
}

/* Check that each queue takes only copies, or only the runs of one space, and that each space has one queue of runs. */
static plim_status check_queue_use(const plim_checker *check) {
  enum { COPIES = -2 };
  int32_t space_of[PLIM_PLAN_QUEUES], queue_of[PLIM_PLAN_SPACES]; /* or COPIES */
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) space_of[q] = PLIM_UNKNOWN;
  for (int32_t space = 0; space < PLIM_PLAN_SPACES; space++) queue_of[space] = PLIM_UNKNOWN;
  for (int32_t j = 0; j < check->plan->n_commands; j++) {
    const plim_command *command = &check->plan->command[j];
    int32_t run = command->kind == PLIM_COMMAND_RUN, space = run ? command->space : COPIES;
    if ((space_of[command->queue] != PLIM_UNKNOWN && space_of[command->queue] != space) ||
        (run && queue_of[space] != PLIM_UNKNOWN && queue_of[space] != command->queue)) {
      return plim_check_fault(check, j, "is on queue %d; a queue takes copies, or all runs of one space",
                              command->queue);
    }
    space_of[command->queue] = space;
    if (run) queue_of[space] = command->queue;
  }
  return PLIM_OK;
}

plim_status plim_check_form(const plim_checker *check) {
  PLIM_TRY(check_counts(check));
  PLIM_TRY(check_variants(check));
  for (int32_t j = 0; j < check->plan->n_commands; j++) PLIM_TRY(check_command(check, j));
  PLIM_TRY(check_queue_use(check));
  for (int32_t i = 0; i < check->plan->n_buffers; i++) PLIM_TRY(check_buffer(check, i));
  return PLIM_OK;
}
