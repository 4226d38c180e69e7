/* Order within a step: scribble over the workspace and the outputs, except those that a pair writes over an input;
 * read; scribble over those too; write; scribble over the workspace again. */
#include "tests/support/interpret.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test_random.h"

enum { MOST_IN = 256 }; /* custom ops take more inputs than a kernel does */

/* Where the operands of one op are. */
typedef struct operands {
  unsigned char *in[MOST_IN], *out[PLIM_OP_MAX_OUT], *upd[PLIM_OP_MAX_UPD], *workspace;
  int64_t workspace_bytes;
  int in_place[PLIM_OP_MAX_OUT];
} operands;

static void fill(unsigned char *at, int64_t bytes, uint64_t hash) {
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t word = test_mix(hash, (uint64_t)i);
    memcpy(at + i, &word, bytes - i < 8 ? (size_t)(bytes - i) : 8);
  }
}

static uint64_t hash_bytes(uint64_t hash, const unsigned char *at, int64_t bytes) {
  hash = test_mix(hash, (uint64_t)bytes);
  for (int64_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
  return test_mix(hash, 1);
}

static int64_t value_bytes(const plim_graph *graph, int32_t value) {
  return graph->value[value].bytes;
}

static void run_op(const plim_graph *graph, int32_t id, const char *numerics_key, const operands *at,
                   uint64_t scribble) {
  const plim_op *op = &graph->op[id];
  if (at->workspace) fill(at->workspace, at->workspace_bytes, scribble);
  for (int32_t i = 0; i < op->n_out; i++) {
    if (!at->in_place[i]) fill(at->out[i], value_bytes(graph, op->out[i]), scribble + 1);
  }
  uint64_t hash = hash_bytes((uint64_t)id, (const unsigned char *)numerics_key, (int64_t)strlen(numerics_key));
  for (int32_t i = 0; i < op->n_in; i++) hash = hash_bytes(hash, at->in[i], value_bytes(graph, op->in[i]));
  for (int32_t i = 0; i < op->n_upd; i++) hash = hash_bytes(hash, at->upd[i], value_bytes(graph, op->upd[i]));
  for (int32_t i = 0; i < op->n_out; i++) fill(at->out[i], value_bytes(graph, op->out[i]), scribble + 2);
  for (int32_t i = 0; i < op->n_out; i++) {
    fill(at->out[i], value_bytes(graph, op->out[i]), test_mix(hash, (uint64_t)i));
  }
  for (int32_t i = 0; i < op->n_upd; i++) {
    fill(at->upd[i], value_bytes(graph, op->upd[i]), test_mix(hash, 16 + (uint64_t)i));
  }
  if (at->workspace) fill(at->workspace, at->workspace_bytes, scribble + 3);
}

/* ---- program order ---- */

static void operands_apart(const plim_graph *graph, const plim_op *op, unsigned char *const *storage, operands *at) {
  const plim_value *v = graph->value;
  for (int32_t i = 0; i < op->n_in; i++) at->in[i] = storage[v[op->in[i]].storage] + v[op->in[i]].offset;
  for (int32_t i = 0; i < op->n_out; i++) at->out[i] = storage[v[op->out[i]].storage] + v[op->out[i]].offset;
  for (int32_t i = 0; i < op->n_upd; i++) at->upd[i] = storage[v[op->upd[i]].storage] + v[op->upd[i]].offset;
}

static const char *first_key(const plim_plan *plan, int32_t op) {
  for (int32_t j = 0; j < plan->n_commands; j++) {
    int32_t variant = plan->command[j].variant;
    if (plan->command[j].op == op && variant >= 0 && variant < plan->n_variants) {
      return plan->variant[variant].variant.numerics_key;
    }
  }
  return "";
}

static void run_program_order(const plim_graph *graph, const plim_plan *plan, unsigned char *const *storage) {
  for (int32_t s = 0; s < graph->n_storages; s++) fill(storage[s], graph->storage[s].bytes, (uint64_t)s);
  for (int32_t op = 0; op < graph->n_ops; op++) {
    operands at = {.workspace = NULL};
    operands_apart(graph, &graph->op[op], storage, &at);
    run_op(graph, op, first_key(plan, op), &at, 77);
  }
}

/* ---- the plan ---- */

typedef struct machine {
  const plim_graph *graph;
  const plim_plan *plan;
  unsigned char *arena; /* [arena_bytes] */
} machine;

static unsigned char *buffer_place(const machine *m, const plim_plan_buffer *buffer, int64_t bytes) {
  if (buffer->bytes < bytes || buffer->offset < 0 || buffer->offset > m->plan->arena_bytes) return NULL;
  return buffer->bytes > m->plan->arena_bytes - buffer->offset ? NULL : m->arena + buffer->offset;
}

/* The storage's place in the one buffer that contains the step (when `ending`: that ends there); NULL: none or two. */
static unsigned char *place_of(const machine *m, int32_t storage, int32_t j, int ending, int64_t bytes) {
  unsigned char *found = NULL;
  int32_t n = 0;
  for (int32_t i = 0; i < m->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &m->plan->buffer[i];
    int here = ending ? buffer->end == j : buffer->begin <= j && j < buffer->end;
    if (buffer->storage != storage || buffer->space != 0 || !here) continue;
    if (storage < 0 && buffer->begin != j) continue;
    found = buffer_place(m, buffer, bytes);
    n++;
  }
  return n == 1 ? found : NULL;
}

static unsigned char *value_place(const machine *m, int32_t value, int32_t j, int ending) {
  const plim_value *v = &m->graph->value[value];
  unsigned char *at = place_of(m, v->storage, j, ending, m->graph->storage[v->storage].bytes);
  return at ? at + v->offset : NULL;
}

static int step_legible(const machine *m, const plim_command *command) {
  if (command->kind != PLIM_COMMAND_RUN || command->queue != 0 || command->op < 0 || command->op >= m->graph->n_ops)
    return 0;
  if (command->variant < 0 || command->variant >= m->plan->n_variants) return 0;
  if (m->plan->variant[command->variant].op != command->op) return 0;
  return command->n_pairs >= 0 && command->n_pairs <= PLIM_OP_MAX_PAIRS;
}

/* Pairs that the op allows and whose places agree; 0 when one does not. over [n_in]: the operand is overwritten. */
static int follow_pairs(const plim_op *op, const plim_command *command, operands *at, int *over) {
  for (int32_t k = 0; k < command->n_pairs; k++) {
    plim_pair pair = command->pair[k];
    int allowed = 0;
    for (int32_t i = 0; i < op->n_pairs; i++) {
      allowed |= op->pair[i].out == pair.out && op->pair[i].in == pair.in;
    }
    if (!allowed || over[pair.in]) return 0;
    over[pair.in] = 1;
    at->in_place[pair.out] = 1;
  }
  return 1;
}

static int operands_in_arena(const machine *m, int32_t j, operands *at) {
  const plim_command *command = &m->plan->command[j];
  const plim_op *op = &m->graph->op[command->op];
  int over[MOST_IN] = {0};
  if (!follow_pairs(op, command, at, over)) return 0;
  for (int32_t i = 0; i < op->n_in; i++) {
    at->in[i] = value_place(m, op->in[i], j, over[i]);
    if (!at->in[i]) return 0;
  }
  for (int32_t i = 0; i < op->n_out; i++) {
    at->out[i] = value_place(m, op->out[i], j, 0);
    if (!at->out[i]) return 0;
  }
  for (int32_t i = 0; i < op->n_upd; i++) {
    at->upd[i] = value_place(m, op->upd[i], j, 0);
    if (!at->upd[i]) return 0;
  }
  for (int32_t k = 0; k < command->n_pairs; k++) {
    if (at->out[command->pair[k].out] != at->in[command->pair[k].in]) return 0;
  }
  at->workspace_bytes = m->plan->variant[command->variant].variant.workspace_bytes;
  if (at->workspace_bytes > 0) at->workspace = place_of(m, -1, j, 0, at->workspace_bytes);
  return at->workspace_bytes == 0 || at->workspace != NULL;
}

/* Contents from outside are there before step 0, where a lifetime begins there. */
static void load_sources(const machine *m) {
  for (int32_t s = 0; s < m->graph->n_storages; s++) {
    if (m->graph->storage[s].producer >= 0) continue;
    unsigned char *at = place_of(m, s, 0, 0, m->graph->storage[s].bytes);
    if (at) fill(at, m->graph->storage[s].bytes, (uint64_t)s);
  }
}

static int run_steps(const machine *m) {
  for (int32_t j = 0; j < m->plan->n_commands; j++) {
    if (!step_legible(m, &m->plan->command[j])) return 0;
    operands at = {.workspace = NULL};
    if (!operands_in_arena(m, j, &at)) return 0;
    const plim_command *command = &m->plan->command[j];
    run_op(m->graph, command->op, m->plan->variant[command->variant].variant.numerics_key, &at, 1000 + (uint64_t)j);
  }
  return 1;
}

static int same_contents(const machine *m, unsigned char *const *storage) {
  for (int32_t s = 0; s < m->graph->n_storages; s++) {
    const plim_storage *st = &m->graph->storage[s];
    if (!plim_role_persistent(st->role) && st->role != PLIM_ROLE_OUTPUT) continue;
    const unsigned char *at = place_of(m, s, m->plan->n_commands - 1, 0, st->bytes);
    if (!at || !storage[s] || memcmp(at, storage[s], (size_t)st->bytes) != 0) return 0;
  }
  return 1;
}

int interpret_equals_program_order(const plim_graph *graph, const plim_plan *plan) {
  enum { MOST_BYTES = 1 << 28 };
  for (int32_t op = 0; op < graph->n_ops; op++) {
    if (graph->op[op].n_in > MOST_IN) return 0;
  }
  if (plan->n_commands < 1 || plan->packed != 1 || plan->arena_bytes < 0 || plan->arena_bytes > MOST_BYTES) return 0;
  int64_t bytes = 1;
  for (int32_t s = 0; s < graph->n_storages; s++) bytes += graph->storage[s].bytes;
  machine m = {graph, plan, malloc((size_t)plan->arena_bytes + 1)};
  unsigned char *block = malloc((size_t)bytes);
  unsigned char **storage = calloc((size_t)graph->n_storages + 1, sizeof *storage);
  int equal = 0;
  if (m.arena && block && storage) {
    bytes = 0;
    for (int32_t s = 0; s < graph->n_storages; bytes += graph->storage[s++].bytes) storage[s] = block + bytes;
    run_program_order(graph, plan, storage);
    memset(m.arena, 0xa5, (size_t)plan->arena_bytes);
    load_sources(&m);
    equal = run_steps(&m) && same_contents(&m, storage);
  }
  free(m.arena);
  free(block);
  free(storage);
  return equal;
}
