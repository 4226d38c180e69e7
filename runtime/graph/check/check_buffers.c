/* Checks the lifetimes of buffers: each begins where something writes its storage, ends right after its last use, and
 * holds its bytes whenever a command uses the storage.
 *
 * The walk follows the commands once and keeps, for each storage and space, the buffer that began last. Two buffers of
 * a storage in one space never overlap in time, so no other buffer can hold the storage there now.
 *
 * At command j a storage can be read in the buffer whose lifetime contains j. An input that the command overwrites in
 * place is in the buffer that ends at j; the output's buffer begins at j at the same address. */
#include "runtime/graph/check/check_internal.h"

#include "runtime/base/groups.h"

typedef struct buffer_walk {
  const plim_checker *check;
  int32_t *begin_first; /* [n_commands + 1]; buffers that begin at j are begin[begin_first[j] .. begin_first[j + 1]) */
  int32_t *begin;       /* [n_buffers] */
  int32_t *latest;      /* [spaces][n_storages] buffer that began last, PLIM_NONE before the first */
  int32_t *tight_end;   /* [spaces][n_storages] where that buffer must end, by its uses so far */
  int32_t *home;        /* [n_storages] space of the storage before the first command, or PLIM_NONE */
} buffer_walk;

/* Where a storage in a space stands in `latest` and `tight_end`. */
static int64_t key_at(const buffer_walk *walk, int32_t storage, int32_t space) {
  return (int64_t)space * walk->check->graph->n_storages + storage;
}

/* The buffer of the storage that began last in the space; NULL: none so far. */
static const plim_plan_buffer *buffer_in(const buffer_walk *walk, int32_t storage, int32_t space) {
  int32_t buffer = walk->latest[key_at(walk, storage, space)];
  return buffer < 0 ? NULL : &walk->check->plan->buffer[buffer];
}

/* Does the persistent storage live in this space from the first command to the last? */
static int is_home(const buffer_walk *walk, int32_t storage, int32_t space) {
  return walk->home[storage] == space && plim_role_persistent(walk->check->graph->storage[storage].role);
}

/* Sort the buffers by their begin. */
static void sort_by_begin(buffer_walk *walk) {
  const plim_plan *plan = walk->check->plan;
  for (int32_t i = 0; i < plan->n_buffers; i++) walk->begin_first[plan->buffer[i].begin]++;
  plim_groups_sum(walk->begin_first, plan->n_commands);
  for (int32_t i = plan->n_buffers - 1; i >= 0; i--) walk->begin[--walk->begin_first[plan->buffer[i].begin]] = i;
}

/* Check that the storage's latest buffer is tight: it ends right after its last use, or where it is overwritten. */
static plim_status check_tight(const buffer_walk *walk, int32_t storage, int32_t space) {
  const plim_plan_buffer *buffer = buffer_in(walk, storage, space);
  if (!buffer || buffer->end == walk->tight_end[key_at(walk, storage, space)]) return PLIM_OK;
  return plim_check_fault(walk->check, buffer->begin, "\"%s\" has a buffer [%d, %d), its last use ends at %d",
                          plim_check_storage_name(walk->check, storage), buffer->begin, buffer->end,
                          walk->tight_end[key_at(walk, storage, space)]);
}

/* Check that command j may begin the buffer. A run begins buffers of storages that it writes, in its space. A copy
 * begins a buffer of its storage in its target space. A storage that is written from outside begins a buffer in its
 * home at command 0, or at a copy. */
static plim_status check_writer(const buffer_walk *walk, int32_t j, int32_t storage, int32_t space) {
  const plim_checker *check = walk->check;
  const plim_command *command = &check->plan->command[j];
  int32_t producer = check->graph->storage[storage].producer;
  int copied = command->kind == PLIM_COMMAND_COPY && command->storage == storage && command->to == space;
  if (producer < 0 && !copied && (j != 0 || walk->home[storage] != space)) {
    return plim_check_fault(check, j, "\"%s\" is written from outside and cannot begin a buffer here",
                            plim_check_storage_name(check, storage));
  }
  if (producer >= 0 && command->kind == PLIM_COMMAND_COPY && !copied) {
    return plim_check_fault(check, j, "\"%s\" begins a buffer in space %d, which the copy does not write",
                            plim_check_storage_name(check, storage), space);
  }
  if (producer >= 0 && command->kind == PLIM_COMMAND_RUN && (producer != command->op || space != command->space)) {
    return plim_check_fault(check, j, "\"%s\" begins a buffer here but only op \"%s\" writes it",
                            plim_check_storage_name(check, storage), check->graph->op[producer].name);
  }
  if (space == 0 || producer >= 0 || copied || is_home(walk, storage, space)) return PLIM_OK;
  return plim_check_fault(check, j, "\"%s\" is an input, written in the arena and not in space %d",
                          plim_check_storage_name(check, storage), space);
}

/* Let a buffer of a storage begin at command j: the buffer before it must have ended, tight, and command j must write
 * the storage. */
static plim_status begin_buffer(buffer_walk *walk, int32_t j, int32_t id) {
  const plim_checker *check = walk->check;
  int32_t storage = check->plan->buffer[id].storage, space = check->plan->buffer[id].space;
  const plim_plan_buffer *before = buffer_in(walk, storage, space);
  if (before && before->end > j) {
    return plim_check_fault(check, j, "\"%s\" begins a buffer while another one, [%d, %d), has not ended",
                            plim_check_storage_name(check, storage), before->begin, before->end);
  }
  PLIM_TRY(check_tight(walk, storage, space));
  PLIM_TRY(check_writer(walk, j, storage, space));
  walk->latest[key_at(walk, storage, space)] = id;
  return PLIM_OK;
}

/* Let the buffers of command j begin, and check that the plan has a workspace for it if and only if its variant needs
 * one. */
static plim_status begin_buffers(buffer_walk *walk, int32_t j) {
  const plim_checker *check = walk->check;
  int32_t workspaces = 0;
  for (int32_t k = walk->begin_first[j]; k < walk->begin_first[j + 1]; k++) {
    if (check->plan->buffer[walk->begin[k]].storage >= 0) {
      PLIM_TRY(begin_buffer(walk, j, walk->begin[k]));
    } else {
      workspaces++;
    }
  }
  if (check->plan->command[j].kind == PLIM_COMMAND_COPY) return PLIM_OK; /* its form has been checked */
  int64_t bytes = check->plan->variant[check->plan->command[j].variant].variant.workspace_bytes;
  if (workspaces != (bytes > 0)) {
    return plim_check_fault(check, j, "%d workspaces for a variant that needs %lld bytes", workspaces,
                            (long long)bytes);
  }
  return PLIM_OK;
}

/* Does an in-place pair of the command overwrite this storage, which it reads? */
static int is_overwritten_by_pair(const buffer_walk *walk, int32_t j, int32_t storage) {
  const plim_command *command = &walk->check->plan->command[j];
  const plim_op *op = &walk->check->graph->op[command->op];
  for (int32_t i = 0; i < command->n_pairs; i++) {
    if (walk->check->graph->value[op->in[command->pair[i].in]].storage == storage) return 1;
  }
  return 0;
}

/* Check an in-place pair. The graph guarantees that its operands are whole storages of equal bytes, and that the op
 * reads the input once. */
static plim_status check_pair(const buffer_walk *walk, int32_t j, plim_pair pair) {
  const plim_graph *graph = walk->check->graph;
  const plim_op *op = &graph->op[walk->check->plan->command[j].op];
  const plim_value *in = &graph->value[op->in[pair.in]];
  const plim_value *out = &graph->value[op->out[pair.out]];
  int32_t space = walk->check->plan->command[j].space;
  const plim_plan_buffer *old = buffer_in(walk, in->storage, space), *fresh = buffer_in(walk, out->storage, space);
  if (!old || old->end != j) {
    return plim_check_fault(walk->check, j, "\"%s\" is written over \"%s\", whose buffer does not end here", out->name,
                            in->name);
  }
  if (!fresh || fresh->begin != j) {
    return plim_check_fault(walk->check, j, "\"%s\" is written over \"%s\" but its buffer does not begin here",
                            out->name, in->name);
  }
  if (old->offset != fresh->offset) {
    return plim_check_fault(walk->check, j, "\"%s\" at %lld is written over \"%s\" at %lld", out->name,
                            (long long)fresh->offset, in->name, (long long)old->offset);
  }
  return PLIM_OK;
}

/* Has the storage no bytes? Then it has no buffers, and can be read as soon as it was written. */
static int is_empty(const buffer_walk *walk, int32_t storage) {
  return walk->check->graph->storage[storage].bytes == 0;
}

/* Check a read, write or update by command j, a run, and note it: the storage's latest buffer in the run's space must
 * contain j. An empty storage must only have been written.
 *   verb  in  for the sentence: "reads", "writes", "updates" */
static plim_status use(buffer_walk *walk, int32_t j, int32_t storage, const char *verb) {
  int32_t space = walk->check->plan->command[j].space;
  const plim_plan_buffer *buffer = buffer_in(walk, storage, space);
  int written =
      walk->tight_end[storage] > 0 || walk->check->graph->storage[storage].producer == walk->check->plan->command[j].op;
  if (is_empty(walk, storage) && written) {
    walk->tight_end[storage] = j + 1;
    return PLIM_OK;
  }
  walk->tight_end[key_at(walk, storage, space)] = j + 1;
  if (buffer && j < buffer->end) return PLIM_OK;
  return plim_check_fault(walk->check, j, "%s \"%s\", which has no buffer here", verb,
                          plim_check_storage_name(walk->check, storage));
}

/* Check a copy: its source was filled before, and it begins its target buffer or overwrites the storage's home. */
static plim_status use_copy(buffer_walk *walk, int32_t j) {
  const plim_command *command = &walk->check->plan->command[j];
  const plim_plan_buffer *from = buffer_in(walk, command->storage, command->from),
                         *to = buffer_in(walk, command->storage, command->to);
  int before =
      from && (from->begin < j || walk->home[command->storage] == command->from); /* j 0: there from the start */
  if (!before || from->end <= j) {
    return plim_check_fault(walk->check, j, "reads \"%s\", which has no buffer there",
                            plim_check_storage_name(walk->check, command->storage));
  }
  if (!to || (to->begin != j && !is_home(walk, command->storage, command->to))) {
    return plim_check_fault(walk->check, j, "writes \"%s\", which begins no buffer there",
                            plim_check_storage_name(walk->check, command->storage));
  }
  walk->tight_end[key_at(walk, command->storage, command->from)] = j + 1;
  walk->tight_end[key_at(walk, command->storage, command->to)] = j + 1;
  return PLIM_OK;
}

/* Check all operands of command j, a run. The buffer of an operand that a pair overwrites ends at j. */
static plim_status use_operands(buffer_walk *walk, int32_t j) {
  const plim_command *command = &walk->check->plan->command[j];
  const plim_op *op = &walk->check->graph->op[command->op];
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (is_overwritten_by_pair(walk, j, op->reads[i])) {
      walk->tight_end[key_at(walk, op->reads[i], command->space)] = j;
    } else {
      PLIM_TRY(use(walk, j, op->reads[i], "reads"));
    }
  }
  for (int32_t i = 0; i < op->n_writes; i++) PLIM_TRY(use(walk, j, op->writes[i], "writes"));
  for (int32_t i = 0; i < op->n_updates; i++) PLIM_TRY(use(walk, j, op->updates[i], "updates"));
  for (int32_t i = 0; i < command->n_pairs; i++) PLIM_TRY(check_pair(walk, j, command->pair[i]));
  return PLIM_OK;
}

/* After the last command: check which storages are live at the end, and that all other buffers are tight. */
static plim_status check_end(buffer_walk *walk) {
  const plim_checker *check = walk->check;
  int32_t n_commands = check->plan->n_commands;
  for (int32_t s = 0; s < check->graph->n_storages; s++) {
    plim_role role = check->graph->storage[s].role;
    int32_t home = walk->home[s] < 0 ? 0 : walk->home[s];
    const plim_plan_buffer *buffer = buffer_in(walk, s, plim_role_persistent(role) ? home : 0);
    if (plim_role_persistent(role) && (!buffer || buffer->begin != 0 || buffer->end != n_commands)) {
      return plim_fail(check->ctx, PLIM_EPLAN, "%s storage %d (\"%s\") does not live over all %d commands",
                       plim_role_name(role), s, plim_check_storage_name(check, s), n_commands);
    }
    if (role == PLIM_ROLE_OUTPUT && (!buffer || buffer->end != n_commands)) {
      return plim_fail(check->ctx, PLIM_EPLAN, "output storage %d (\"%s\") does not live to the end, command %d", s,
                       plim_check_storage_name(check, s), n_commands);
    }
    for (int32_t space = 0; space <= check->plan->n_page_spaces; space++) {
      if ((space == 0 && role == PLIM_ROLE_OUTPUT) || (plim_role_persistent(role) && space == home)) continue;
      PLIM_TRY(check_tight(walk, s, space));
    }
  }
  return PLIM_OK;
}

plim_status plim_check_buffers(const plim_checker *check) {
  const plim_plan *plan = check->plan;
  buffer_walk walk = {.check = check};
  int64_t keys = plim_mul_checked(check->graph->n_storages, plan->n_page_spaces + 1);
  plim_status status = PLIM_OK;
  PLIM_TRY_OR_DONE(
      plim_allocate(check->ctx, (int64_t)plan->n_commands + 1, sizeof *walk.begin_first, &walk.begin_first));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, plan->n_buffers, sizeof *walk.begin, &walk.begin));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, keys, sizeof *walk.latest, &walk.latest));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, keys, sizeof *walk.tight_end, &walk.tight_end));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, check->graph->n_storages, sizeof *walk.home, &walk.home));
  PLIM_TRY_OR_DONE(plim_check_homes(check, walk.home));
  for (int64_t k = 0; k < keys; k++) walk.latest[k] = PLIM_NONE;
  sort_by_begin(&walk);
  for (int32_t j = 0; j < plan->n_commands; j++) {
    PLIM_TRY_OR_DONE(begin_buffers(&walk, j));
    PLIM_TRY_OR_DONE(plan->command[j].kind == PLIM_COMMAND_COPY ? use_copy(&walk, j) : use_operands(&walk, j));
  }
  PLIM_TRY_OR_DONE(check_end(&walk));
done:
  plim_release(check->ctx, walk.begin_first, (int64_t)plan->n_commands + 1, sizeof *walk.begin_first);
  plim_release(check->ctx, walk.begin, plan->n_buffers, sizeof *walk.begin);
  plim_release(check->ctx, walk.latest, keys, sizeof *walk.latest);
  plim_release(check->ctx, walk.tight_end, keys, sizeof *walk.tight_end);
  plim_release(check->ctx, walk.home, check->graph->n_storages, sizeof *walk.home);
  return status;
}
