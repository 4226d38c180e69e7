/* A hash of op, position and every byte read; workspaces are scribbled over before and after. */
#include "tests/support/hash_kernels.h"

#include <assert.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test_random.h"

static void fill(unsigned char *at, int64_t bytes, uint64_t hash) {
  assert(at);
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t word = test_mix(hash, (uint64_t)i);
    memcpy(at + i, &word, bytes - i < 8 ? (size_t)(bytes - i) : 8);
  }
}

static uint64_t hash_bytes(uint64_t hash, const unsigned char *at, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
  return test_mix(hash, (uint64_t)bytes);
}

/* What the op reads, as one number. */
static uint64_t hash_operands(const plim_run_call *call) {
  const plim_op *op = &call->graph->op[call->op];
  uint64_t hash = test_mix(7, (uint64_t)call->op);
  if (op->cls == PLIM_OP_RANDOM) {
    hash = test_mix(test_mix(hash, call->args.seed), (uint64_t)call->args.step + (uint64_t)call->args.op);
  }
  for (int32_t i = 0; i < op->n_in; i++) {
    hash = hash_bytes(hash, call->args.in[i], call->graph->value[op->in[i]].bytes);
  }
  for (int32_t i = 0; i < op->n_upd; i++) {
    hash = hash_bytes(hash, call->args.upd[i], call->graph->value[op->upd[i]].bytes);
  }
  return hash;
}

static void write_results(const plim_run_call *call, uint64_t hash) {
  const plim_op *op = &call->graph->op[call->op];
  for (int32_t i = 0; i < op->n_out; i++) {
    fill(call->args.out[i], call->graph->value[op->out[i]].bytes, test_mix(hash, (uint64_t)i));
  }
  for (int32_t i = 0; i < op->n_upd; i++) {
    fill(call->args.upd[i], call->graph->value[op->upd[i]].bytes, test_mix(hash, 100 + (uint64_t)i));
  }
}

/* What the fault adds to the hash before anything is written. */
static uint64_t fault_before(hash_kernels *kernels, const plim_run_call *call) {
  if (kernels->fault == HASH_READS_WORKSPACE) return *(const unsigned char *)call->args.workspace;
  if (kernels->fault != HASH_COUNTS_CALLS) return 0;
  if (kernels->last_step != call->command) kernels->runs++;
  kernels->last_step = call->command;
  return (uint64_t)kernels->runs;
}

static void fault_after(const hash_kernels *kernels, const plim_run_call *call, unsigned char last_was) {
  unsigned char *last = call->args.out[0];
  last += call->graph->value[call->graph->op[call->op].out[0]].bytes - 1;
  if (kernels->fault == HASH_LEAVES_LAST_BYTE) *last = last_was;
  if (kernels->fault == HASH_LEAVES_LAST_BITS) *last = (unsigned char)((last_was & 0xF0) | (*last & 0x0F));
  if (kernels->fault == HASH_WRITES_AFTER) last[1] ^= 1;
}

plim_status hash_run(void *user, const plim_run_call *call) {
  hash_kernels *kernels = user;
  const plim_op *op = &call->graph->op[call->op];
  int faulty = kernels->fault != HASH_RIGHT && kernels->op == call->op;
  kernels->calls++;
  if (kernels->spends) {
    char *spent;
    if (plim_allocate(kernels->spends, 1, 1, &spent) != PLIM_OK) return PLIM_ENOMEM;
    plim_release(kernels->spends, spent, 1, 1);
  }
  if (faulty && kernels->fault == HASH_FAILS) return PLIM_ENOTFINITE;
  uint64_t hash = hash_operands(call);
  if (faulty) hash += fault_before(kernels, call);
  const unsigned char *first = op->n_out > 0 ? call->args.out[0] : NULL;
  unsigned char last_was = first ? first[call->graph->value[op->out[0]].bytes - 1] : 0;
  if (call->args.workspace) fill(call->args.workspace, call->workspace_bytes, hash + 1);
  write_results(call, hash);
  if (faulty && op->n_out > 0) fault_after(kernels, call, last_was);
  return PLIM_OK;
}

void hash_fill_source(int32_t storage, int64_t step, void *to, int64_t bytes) {
  fill(to, bytes, test_mix(test_mix(11, (uint64_t)storage), (uint64_t)step));
}

static int has_buffer(const plim_plan *plan, int32_t storage) {
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    if (plan->buffer[i].storage == storage) return 1;
  }
  return 0;
}

void hash_write_sources(plim_exec *exec, int32_t which, const plim_graph *graph, const plim_plan *plan, int persistent,
                        int64_t step) {
  static unsigned char bytes[16384];
  for (int32_t v = 0; v < graph->n_values; v++) {
    const plim_value *value = &graph->value[v];
    const plim_storage *storage = &graph->storage[value->storage];
    int wanted = persistent ? plim_role_persistent(storage->role) : storage->role == PLIM_ROLE_INPUT;
    if (!wanted || value->bytes != storage->bytes || !has_buffer(plan, value->storage)) continue;
    hash_fill_source(value->storage, step, bytes, value->bytes);
    cr_assert_eq(plim_exec_write(exec, which, v, bytes, value->bytes), PLIM_OK, "\"%s\" is not written", value->name);
  }
}

hash_reference hash_reference_new(const plim_graph *graph) {
  hash_reference reference = {graph, calloc((size_t)graph->n_storages, sizeof(unsigned char *))};
  for (int32_t s = 0; s < graph->n_storages; s++) {
    reference.storage[s] = calloc((size_t)graph->storage[s].bytes, 1);
    if (plim_role_persistent(graph->storage[s].role)) {
      hash_fill_source(s, 0, reference.storage[s], graph->storage[s].bytes);
    }
  }
  return reference;
}

void hash_reference_free(hash_reference *reference) {
  for (int32_t s = 0; s < reference->graph->n_storages; s++) free(reference->storage[s]);
  free(reference->storage);
}

static void point(const hash_reference *reference, int32_t n, const int32_t *value, void **to) {
  for (int32_t i = 0; i < n; i++) {
    const plim_value *v = &reference->graph->value[value[i]];
    to[i] = reference->storage[v->storage] + v->offset;
  }
}

void hash_reference_step(hash_reference *reference, uint64_t seed, int64_t step) {
  const plim_graph *graph = reference->graph;
  hash_kernels kernels = {.fault = HASH_RIGHT};
  for (int32_t s = 0; s < graph->n_storages; s++) {
    if (graph->storage[s].role != PLIM_ROLE_INPUT) continue;
    hash_fill_source(s, step, reference->storage[s], graph->storage[s].bytes);
  }
  for (int32_t i = 0; i < graph->n_ops; i++) {
    const plim_op *op = &graph->op[i];
    void *in[PLIM_OP_MAX_IN], *out[PLIM_OP_MAX_OUT], *upd[PLIM_OP_MAX_UPD];
    point(reference, op->n_in, op->in, in);
    point(reference, op->n_out, op->out, out);
    point(reference, op->n_upd, op->upd, upd);
    plim_run_call call = {.graph = graph, .command = i, .op = i};
    call.args = (plim_kernel_args){.in = in, .out = out, .upd = upd, .seed = seed, .step = step, .op = i};
    (void)hash_run(&kernels, &call);
  }
}
