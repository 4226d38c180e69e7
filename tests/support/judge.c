/* Plans without addresses are interpreted at addresses given here: every buffer has its own, what an in-place pair
 * writes has that of what it overwrites. */
#include "tests/support/judge.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/sha256.h"
#include "runtime/base/text.h"
#include "tests/support/interpret.h"
#include "tests/support/plan_draft.h"

/* ---- the steps ---- */

/* Everything that the figures follow is in range. */
static int legible(const plim_graph *graph, const plim_plan *plan) {
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    if (command->kind != PLIM_COMMAND_RUN || command->queue != 0 || command->n_wait != 0) return 0;
    if (command->op < 0 || command->op >= graph->n_ops || command->variant < 0 || command->variant >= plan->n_variants)
      return 0;
    if (plan->variant[command->variant].op != command->op) return 0;
    if (command->n_pairs < 0 || command->n_pairs > PLIM_OP_MAX_PAIRS) return 0;
    for (int32_t k = 0; k < command->n_pairs; k++) {
      const plim_pair *p = &command->pair[k];
      if (p->in < 0 || p->in >= graph->op[command->op].n_in || p->out < 0 || p->out >= graph->op[command->op].n_out)
        return 0;
    }
  }
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &plan->buffer[i];
    if (buffer->begin < 0 || buffer->begin >= buffer->end || buffer->end > plan->n_commands || buffer->space != 0)
      return 0;
    if (buffer->bytes <= 0 || buffer->bytes > INT64_MAX >> 12 || buffer->storage < -1) return 0;
    if (buffer->storage >= graph->n_storages || (buffer->storage < 0 && buffer->end != buffer->begin + 1)) return 0;
    if (plan->packed && (buffer->offset < 0 || buffer->offset % PLIM_ALIGN || buffer->offset > INT64_MAX >> 12))
      return 0;
  }
  return 1;
}

static plim_plan_buffer *find_buffer(plan_draft *d, int32_t storage, int32_t j, int ending) {
  for (int32_t i = 0; i < d->plan.n_buffers; i++) {
    if (d->buffer[i].storage == storage && (ending ? d->buffer[i].end : d->buffer[i].begin) == j) return &d->buffer[i];
  }
  return NULL;
}

static void give_addresses(const plim_graph *graph, plan_draft *d) {
  int64_t top = 0;
  for (int32_t i = 0; i < d->plan.n_buffers; i++) {
    d->buffer[i].offset = top;
    top += (d->buffer[i].bytes + PLIM_ALIGN - 1) / PLIM_ALIGN * PLIM_ALIGN;
  }
  for (int32_t j = 0; j < d->plan.n_commands; j++) {
    const plim_op *op = &graph->op[d->command[j].op];
    for (int32_t k = 0; k < d->command[j].n_pairs; k++) {
      plim_plan_buffer *in = find_buffer(d, graph->value[op->in[d->command[j].pair[k].in]].storage, j, 1);
      plim_plan_buffer *out = find_buffer(d, graph->value[op->out[d->command[j].pair[k].out]].storage, j, 0);
      if (in && out) out->offset = in->offset;
    }
  }
  d->plan.packed = 1;
  d->plan.arena_bytes = top;
}

static int leaves_program_order(const plim_graph *graph, const plim_plan *plan) {
  if (plan->packed) return interpret_equals_program_order(graph, plan);
  plan_draft draft = plan_draft_make(plan);
  give_addresses(graph, &draft);
  int equal = interpret_equals_program_order(graph, &draft.plan);
  plan_draft_free(&draft);
  return equal;
}

/* A numerics key that changes between runs of an op changes its results, also where the interpreter sees a single one.
 * */
static int keys_stay(const plim_plan *plan) {
  for (int32_t j = 0; j < plan->n_commands; j++) {
    for (int32_t i = 0; i < j; i++) {
      const plim_plan_variant *a = &plan->variant[plan->command[i].variant],
                              *b = &plan->variant[plan->command[j].variant];
      if (a->op == b->op && strcmp(a->variant.numerics_key, b->variant.numerics_key) != 0) return 0;
    }
  }
  return 1;
}

/* In all classes but free, an op runs first when all ops before it in program order have run. */
static int class_is_true(const plim_plan *plan) {
  int32_t next = 0;
  for (int32_t j = 0; j < plan->n_commands && plan->plan_class != PLIM_CLASS_FREE; j++) {
    if (plan->command[j].op > next) return 0;
    next += plan->command[j].op == next;
  }
  return 1;
}

/* ---- figures ---- */

static int bytes_are_true(const plim_plan *plan) {
  int64_t peak = 0, top = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    int64_t live = 0;
    for (int32_t i = 0; i < plan->n_buffers; i++) {
      if (plan->buffer[i].begin <= j && j < plan->buffer[i].end) live += plan->buffer[i].bytes;
    }
    if (live > peak) peak = live;
  }
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    int64_t end = plan->buffer[i].offset + plan->buffer[i].bytes;
    if (end > top) top = end;
  }
  if (plan->peak_bytes != peak || plan->arena_bytes != (plan->packed ? top : -1)) return 0;
  return (plan->packed ? top : peak) <= plan->budget_bytes;
}

static int times_are_true(const plim_graph *graph, const plim_plan *plan) {
  int64_t time = 0, once = 0;
  for (int32_t op = 0; op < graph->n_ops; op++) {
    int64_t least = INT64_MAX;
    for (int32_t j = 0; j < plan->n_commands; j++) {
      int64_t ns = plan->variant[plan->command[j].variant].variant.time_ns;
      if (ns < 0 || ns > INT64_MAX >> 16) return 0;
      if (plan->command[j].op != op) continue;
      time += ns;
      if (ns < least) least = ns;
    }
    if (least < INT64_MAX) once += least;
  }
  if (plan->time_ns != time || plan->keep_all_ns < 0 || plan->keep_all_ns > once) return 0;
  if (plan->bound_ns < plan->keep_all_ns || plan->bound_ns > time) return 0;
  return plan->proved == 0 || (plan->proved == 1 && plan->bound_ns == time);
}

static int hash_is_true(const plim_graph *graph, const plim_plan *plan) {
  const plim_machine *m = &plan->numerics.machine;
  char hex[PLIM_SHA256_HEX_BYTES];
  plim_text t = {graph->ctx, NULL, 0, 0, PLIM_OK};
  plim_text_format(&t, "plimsoll arithmetic 1\ngraph %s\ndevice %s\ncpu %s\n", graph->fingerprint, m->device, m->cpu);
  plim_text_format(&t, "isa %s\nlibrary %s\nbuild %s\nthreads %d\n", m->isa, m->library, m->build, m->threads);
  for (int32_t op = 0; op < graph->n_ops; op++) {
    int32_t j = 0;
    while (j < plan->n_commands && plan->command[j].op != op) j++;
    if (j == plan->n_commands) continue;
    plim_text_format(&t, "%d %s\n", op, plan->variant[plan->command[j].variant].variant.numerics_key);
  }
  cr_assert_eq(t.status, PLIM_OK);
  plim_sha256_hex(t.chars, (size_t)t.length, hex);
  plim_text_free(&t);
  return strcmp(hex, plan->numerics.hash) == 0 && strcmp(plan->fingerprint, graph->fingerprint) == 0;
}

const char *judge_plan(const plim_graph *graph, const plim_plan *plan) {
  if (plan->n_commands < 1 || !legible(graph, plan)) return "form";
  if (!leaves_program_order(graph, plan)) return "results";
  if (!keys_stay(plan)) return "numerics keys";
  if (!class_is_true(plan)) return "class";
  if (!bytes_are_true(plan)) return "bytes";
  if (!times_are_true(graph, plan)) return "times";
  return hash_is_true(graph, plan) ? NULL : "hash";
}
