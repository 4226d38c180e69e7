/* Residency. The walk follows the commands once and keeps, for each storage and space, the buffer that began last. Two
 * buffers of a storage in one space never overlap in time, so no other buffer can hold the storage there now.
 *
 * At command j a storage can be read in the buffer whose lifetime contains j. An input that the command overwrites in
 * place is in the buffer that ends at j; the output's buffer begins at j at the same address. */
#include "runtime/graph/check/check_internal.h"

#include "runtime/base/groups.h"

typedef struct walk {
  const plim_checker *check;
  int32_t *begin_first; /* [n_commands + 1]; buffers that begin at j are begin[begin_first[j] .. begin_first[j + 1]) */
  int32_t *begin;       /* [n_buffers] */
  int32_t *latest;      /* [spaces][n_storages] buffer that began last, PLIM_NONE before the first */
  int32_t *tight_end;   /* [spaces][n_storages] where that buffer must end, by its uses so far */
  int32_t *home;        /* [n_storages] space of the storage before the first command, or PLIM_NONE */
} walk;

static int64_t key_at(const walk *w, int32_t storage, int32_t space) {
  return (int64_t)space * w->check->graph->n_storages + storage;
}

static const plim_plan_buffer *buffer_in(const walk *w, int32_t storage, int32_t space) {
  int32_t buffer = w->latest[key_at(w, storage, space)];
  return buffer < 0 ? NULL : &w->check->plan->buffer[buffer];
}

static int is_home(const walk *w, int32_t storage, int32_t space) {
  return w->home[storage] == space && plim_role_persistent(w->check->graph->storage[storage].role);
}

/* Sort the buffers by their begin. */
static void sort_by_begin(walk *w) {
  const plim_plan *plan = w->check->plan;
  for (int32_t i = 0; i < plan->n_buffers; i++) w->begin_first[plan->buffer[i].begin]++;
  plim_groups_sum(w->begin_first, plan->n_commands);
  for (int32_t i = plan->n_buffers - 1; i >= 0; i--) w->begin[--w->begin_first[plan->buffer[i].begin]] = i;
}

/* Check that the storage's latest buffer is tight: it ends right after its last use, or where it is overwritten. */
static plim_status check_tight(const walk *w, int32_t storage, int32_t space) {
  const plim_plan_buffer *buffer = buffer_in(w, storage, space);
  if (!buffer || buffer->end == w->tight_end[key_at(w, storage, space)]) return PLIM_OK;
  return plim_check_fault(w->check, buffer->begin, "\"%s\" has a buffer [%d, %d), its last use ends at %d",
                          plim_check_storage_name(w->check, storage), buffer->begin, buffer->end,
                          w->tight_end[key_at(w, storage, space)]);
}

/* Check that command j may begin the buffer. A run begins buffers of storages that it writes, in its space. A copy
 * begins a buffer of its storage in its target space. A storage that is written from outside begins a buffer in its
 * home at command 0, or at a copy. */
static plim_status check_writer(const walk *w, int32_t j, int32_t storage, int32_t space) {
  const plim_checker *check = w->check;
  const plim_command *command = &check->plan->command[j];
  int32_t producer = check->graph->storage[storage].producer;
  int copied = command->kind == PLIM_COMMAND_COPY && command->storage == storage && command->to == space;
  if (producer < 0 && !copied && (j != 0 || w->home[storage] != space)) {
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
  if (space == 0 || producer >= 0 || copied || is_home(w, storage, space)) return PLIM_OK;
  return plim_check_fault(check, j, "\"%s\" is an input, written in the arena and not in space %d",
                          plim_check_storage_name(check, storage), space);
}

static plim_status begin_buffer(walk *w, int32_t j, int32_t id) {
  const plim_checker *check = w->check;
  int32_t storage = check->plan->buffer[id].storage, space = check->plan->buffer[id].space;
  const plim_plan_buffer *before = buffer_in(w, storage, space);
  if (before && before->end > j) {
    return plim_check_fault(check, j, "\"%s\" begins a buffer while another one, [%d, %d), has not ended",
                            plim_check_storage_name(check, storage), before->begin, before->end);
  }
  PLIM_TRY(check_tight(w, storage, space));
  PLIM_TRY(check_writer(w, j, storage, space));
  w->latest[key_at(w, storage, space)] = id;
  return PLIM_OK;
}

static plim_status begin_buffers(walk *w, int32_t j) {
  const plim_checker *check = w->check;
  int32_t workspaces = 0;
  for (int32_t k = w->begin_first[j]; k < w->begin_first[j + 1]; k++) {
    if (check->plan->buffer[w->begin[k]].storage >= 0) {
      PLIM_TRY(begin_buffer(w, j, w->begin[k]));
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

/* Does a pair of the command write over an operand in this storage? */
static int pair_over(const walk *w, int32_t j, int32_t storage) {
  const plim_command *command = &w->check->plan->command[j];
  const plim_op *op = &w->check->graph->op[command->op];
  for (int32_t i = 0; i < command->n_pairs; i++) {
    if (w->check->graph->value[op->in[command->pair[i].in]].storage == storage) return 1;
  }
  return 0;
}

/* Check an in-place pair. The graph guarantees that its operands are whole storages of equal bytes, and that the op
 * reads the input once. */
static plim_status check_pair(const walk *w, int32_t j, plim_pair pair) {
  const plim_graph *graph = w->check->graph;
  const plim_op *op = &graph->op[w->check->plan->command[j].op];
  const plim_value *in = &graph->value[op->in[pair.in]];
  const plim_value *out = &graph->value[op->out[pair.out]];
  int32_t space = w->check->plan->command[j].space;
  const plim_plan_buffer *old = buffer_in(w, in->storage, space), *fresh = buffer_in(w, out->storage, space);
  if (!old || old->end != j) {
    return plim_check_fault(w->check, j, "\"%s\" is written over \"%s\", whose buffer does not end here", out->name,
                            in->name);
  }
  if (!fresh || fresh->begin != j) {
    return plim_check_fault(w->check, j, "\"%s\" is written over \"%s\" but its buffer does not begin here", out->name,
                            in->name);
  }
  if (old->offset != fresh->offset) {
    return plim_check_fault(w->check, j, "\"%s\" at %lld is written over \"%s\" at %lld", out->name,
                            (long long)fresh->offset, in->name, (long long)old->offset);
  }
  return PLIM_OK;
}

/* Has the storage no bytes? Then it has no buffers, and can be read as soon as it was written. */
static int is_empty(const walk *w, int32_t storage) {
  return w->check->graph->storage[storage].bytes == 0;
}

/* Check a read, write or update: the storage's latest buffer in the space of the run contains the command. */
static plim_status use(walk *w, int32_t j, int32_t storage, const char *verb) {
  int32_t space = w->check->plan->command[j].space;
  const plim_plan_buffer *buffer = buffer_in(w, storage, space);
  int made = w->tight_end[storage] > 0 || w->check->graph->storage[storage].producer == w->check->plan->command[j].op;
  if (is_empty(w, storage) && made) {
    w->tight_end[storage] = j + 1;
    return PLIM_OK;
  }
  w->tight_end[key_at(w, storage, space)] = j + 1;
  if (buffer && j < buffer->end) return PLIM_OK;
  return plim_check_fault(w->check, j, "%s \"%s\", which has no buffer here", verb,
                          plim_check_storage_name(w->check, storage));
}

/* Check a copy: its source was filled before, and it begins its target buffer or overwrites the storage's home. */
static plim_status use_copy(walk *w, int32_t j) {
  const plim_command *command = &w->check->plan->command[j];
  const plim_plan_buffer *from = buffer_in(w, command->storage, command->from),
                         *to = buffer_in(w, command->storage, command->to);
  int before = from && (from->begin < j || w->home[command->storage] == command->from); /* j 0: there from the start */
  if (!before || from->end <= j) {
    return plim_check_fault(w->check, j, "reads \"%s\", which has no buffer there",
                            plim_check_storage_name(w->check, command->storage));
  }
  if (!to || (to->begin != j && !is_home(w, command->storage, command->to))) {
    return plim_check_fault(w->check, j, "writes \"%s\", which begins no buffer there",
                            plim_check_storage_name(w->check, command->storage));
  }
  w->tight_end[key_at(w, command->storage, command->from)] = j + 1;
  w->tight_end[key_at(w, command->storage, command->to)] = j + 1;
  return PLIM_OK;
}

static plim_status use_operands(walk *w, int32_t j) {
  const plim_command *command = &w->check->plan->command[j];
  const plim_op *op = &w->check->graph->op[command->op];
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (pair_over(w, j, op->reads[i])) {
      w->tight_end[key_at(w, op->reads[i], command->space)] = j;
    } else {
      PLIM_TRY(use(w, j, op->reads[i], "reads"));
    }
  }
  for (int32_t i = 0; i < op->n_writes; i++) PLIM_TRY(use(w, j, op->writes[i], "writes"));
  for (int32_t i = 0; i < op->n_updates; i++) PLIM_TRY(use(w, j, op->updates[i], "updates"));
  for (int32_t i = 0; i < command->n_pairs; i++) PLIM_TRY(check_pair(w, j, command->pair[i]));
  return PLIM_OK;
}

/* After the last command: check which storages are live at the end, and that all other buffers are tight. */
static plim_status check_end(walk *w) {
  const plim_checker *check = w->check;
  int32_t n_commands = check->plan->n_commands;
  for (int32_t s = 0; s < check->graph->n_storages; s++) {
    plim_role role = check->graph->storage[s].role;
    int32_t home = w->home[s] < 0 ? 0 : w->home[s];
    const plim_plan_buffer *buffer = buffer_in(w, s, plim_role_persistent(role) ? home : 0);
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
      PLIM_TRY(check_tight(w, s, space));
    }
  }
  return PLIM_OK;
}

plim_status plim_check_buffers(const plim_checker *check) {
  const plim_plan *plan = check->plan;
  walk w = {.check = check};
  int64_t keys = plim_mul_checked(check->graph->n_storages, plan->n_page_spaces + 1);
  plim_status status = PLIM_OK;
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, (int64_t)plan->n_commands + 1, sizeof *w.begin_first, &w.begin_first));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, plan->n_buffers, sizeof *w.begin, &w.begin));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, keys, sizeof *w.latest, &w.latest));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, keys, sizeof *w.tight_end, &w.tight_end));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, check->graph->n_storages, sizeof *w.home, &w.home));
  PLIM_TRY_OR_DONE(plim_check_homes(check, w.home));
  for (int64_t k = 0; k < keys; k++) w.latest[k] = PLIM_NONE;
  sort_by_begin(&w);
  for (int32_t j = 0; j < plan->n_commands; j++) {
    PLIM_TRY_OR_DONE(begin_buffers(&w, j));
    PLIM_TRY_OR_DONE(plan->command[j].kind == PLIM_COMMAND_COPY ? use_copy(&w, j) : use_operands(&w, j));
  }
  PLIM_TRY_OR_DONE(check_end(&w));
done:
  plim_release(check->ctx, w.begin_first, (int64_t)plan->n_commands + 1, sizeof *w.begin_first);
  plim_release(check->ctx, w.begin, plan->n_buffers, sizeof *w.begin);
  plim_release(check->ctx, w.latest, keys, sizeof *w.latest);
  plim_release(check->ctx, w.tight_end, keys, sizeof *w.tight_end);
  plim_release(check->ctx, w.home, check->graph->n_storages, sizeof *w.home);
  return status;
}
