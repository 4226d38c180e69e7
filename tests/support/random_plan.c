/* A sequence is drawn step by step among the ops that may run now; buffers follow from it: a storage is read from its
 * latest write. Boxes are buffers, in-place chains as one, placed by first fit in a drawn order. */
#include "tests/support/random_plan.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test_random.h"

enum { NONE = -1 };

typedef struct plan_maker {
  const plim_graph *graph;
  const plim_profile *profile;
  random_plan_options options;
  uint64_t random;
  int32_t n_steps, n_buffers, n_variants, max_steps, max_buffers;
  plim_command *command;    /* [max_steps] */
  plim_plan_buffer *buffer; /* [max_buffers] */
  int32_t *over;            /* [max_buffers] buffer whose address it takes, NONE: none */
  int32_t *latest;          /* [n_storages] buffer begun last */
  char *done;               /* [n_ops] the op has run */
  char *numbered;           /* [max_steps] the step's variant is an index into the plan's variants already */
  int32_t *chosen;          /* [n_ops] label: index of the variant that the first run takes */
  plim_plan_variant *variant;
} plan_maker;

random_plan_options random_plan_options_default(uint64_t seed) {
  return (random_plan_options){seed, 25, 30, 60, 50, 1, 0};
}

/* ---- sequence ---- */

static int updated(const plan_maker *m, int32_t storage) {
  const plim_graph *g = m->graph;
  for (int32_t i = g->updater_first[storage]; i < g->updater_first[storage + 1]; i++) {
    if (m->done[g->updater[i]]) return 1;
  }
  return 0;
}

/* Operands are made, params not yet updated, and, for an effect op, all other ops that use what it updates have run
 * if they come first in program order. */
static int may_run(const plan_maker *m, int32_t id) {
  const plim_graph *g = m->graph;
  const plim_op *op = &g->op[id];
  for (int32_t i = 0; i < op->n_reads; i++) {
    int32_t producer = g->storage[op->reads[i]].producer;
    if (producer >= 0 && !m->done[producer]) return 0;
    if (!m->options.lawless && updated(m, op->reads[i])) return 0;
  }
  if (m->options.lawless) return 1;
  for (int32_t i = 0; i < op->n_updates; i++) {
    int32_t s = op->updates[i];
    for (int32_t k = g->reader_first[s]; k < g->reader_first[s + 1]; k++) {
      if (!m->done[g->reader[k]]) return 0;
    }
    for (int32_t k = g->updater_first[s]; k < g->updater_first[s + 1]; k++) {
      if (g->updater[k] < id && !m->done[g->updater[k]]) return 0;
    }
  }
  return 1;
}

static void add_step(plan_maker *m, int32_t op) {
  int32_t first = m->profile->first[op], n = m->profile->first[op + 1] - first;
  if (!m->done[op]) m->chosen[op] = first + (int32_t)test_random_between(&m->random, 0, n - 1);
  int32_t variant = first + (int32_t)test_random_between(&m->random, 0, n - 1);
  int same = strcmp(m->profile->variant[variant].numerics_key, m->profile->variant[m->chosen[op]].numerics_key) == 0;
  if (!same && !(m->options.lawless && test_random_chance(&m->random, 20))) {
    variant = m->chosen[op];
  }
  m->command[m->n_steps++] = (plim_command){.kind = PLIM_COMMAND_RUN, .op = op, .variant = variant};
  m->done[op] = 1;
}

static void add_repeats(plan_maker *m) {
  while (m->n_steps < m->max_steps - m->graph->n_ops && test_random_chance(&m->random, m->options.repeat_percent)) {
    int32_t op = (int32_t)test_random_between(&m->random, 0, m->graph->n_ops - 1);
    int again = !plim_op_class_once(m->graph->op[op].cls) || (m->options.lawless && test_random_chance(&m->random, 10));
    if (m->done[op] && again && may_run(m, op)) add_step(m, op);
  }
}

static void draw_sequence(plan_maker *m) {
  for (int32_t left = m->graph->n_ops; left > 0; left--) {
    add_repeats(m);
    int32_t next = 0, any = NONE, ready = 0;
    while (m->done[next]) next++;
    for (int32_t op = next; op < m->graph->n_ops; op++) {
      if (!m->done[op] && may_run(m, op) && test_random_between(&m->random, 0, ready++) == 0) any = op;
    }
    add_step(m, test_random_chance(&m->random, m->options.shuffle_percent) ? any : next);
  }
}

/* ---- buffers ---- */

static int32_t add_buffer(plan_maker *m, int32_t storage, int32_t begin, int64_t bytes) {
  int64_t rounded = m->options.packed ? plim_align_up(bytes, PLIM_ALIGN) : bytes;
  m->buffer[m->n_buffers] = (plim_plan_buffer){storage, begin, begin + 1, 0, -1, rounded};
  m->over[m->n_buffers] = NONE;
  return m->n_buffers++;
}

static void write_storage(plan_maker *m, int32_t j, int32_t storage) {
  int32_t old = m->latest[storage];
  if (old >= 0 && test_random_chance(&m->random, m->options.merge_percent)) {
    m->buffer[old].end = j + 1;
  } else {
    m->latest[storage] = add_buffer(m, storage, j, m->graph->storage[storage].bytes);
  }
}

static void read_storage(plan_maker *m, int32_t j, int32_t storage) {
  m->buffer[m->latest[storage]].end = j + 1;
}

static int is_read(const plim_graph *graph, int32_t storage) {
  return graph->reader_first[storage] < graph->reader_first[storage + 1];
}

static void add_source_buffers(plan_maker *m) {
  for (int32_t s = 0; s < m->graph->n_storages; s++) {
    const plim_storage *storage = &m->graph->storage[s];
    m->latest[s] = NONE;
    if (storage->producer >= 0 || (storage->role == PLIM_ROLE_INPUT && !is_read(m->graph, s))) continue;
    m->latest[s] = add_buffer(m, s, 0, storage->bytes);
    if (plim_role_persistent(storage->role)) m->buffer[m->latest[s]].end = m->n_steps;
  }
}

/* Buffers that each step's operands use, by step and operand: recorded so that pairs can be drawn when ends are known.
 */
static void follow_sequence(plan_maker *m, int32_t *read_buffer, int32_t *write_buffer) {
  for (int32_t j = 0; j < m->n_steps; j++) {
    const plim_op *op = &m->graph->op[m->command[j].op];
    for (int32_t i = 0; i < op->n_in; i++) {
      int32_t s = m->graph->value[op->in[i]].storage;
      if (!plim_role_persistent(m->graph->storage[s].role)) read_storage(m, j, s);
      read_buffer[j * PLIM_OP_MAX_IN + i] = m->latest[s];
    }
    for (int32_t i = 0; i < op->n_writes; i++) write_storage(m, j, op->writes[i]);
    for (int32_t i = 0; i < op->n_out; i++) {
      write_buffer[j * PLIM_OP_MAX_OUT + i] = m->latest[m->graph->value[op->out[i]].storage];
    }
    int64_t workspace = m->profile->variant[m->command[j].variant].workspace_bytes;
    if (workspace > 0) (void)add_buffer(m, NONE, j, workspace);
  }
  for (int32_t s = 0; s < m->graph->n_storages; s++) {
    if (m->graph->storage[s].role == PLIM_ROLE_OUTPUT) m->buffer[m->latest[s]].end = m->n_steps;
  }
}

/* Use the pair when the input's buffer has no use behind this step and the output's lifetime begins here. */
static void draw_pair(plan_maker *m, int32_t j, plim_pair pair, int32_t in, int32_t out) {
  plim_command *command = &m->command[j];
  for (int32_t i = 0; i < command->n_pairs; i++) {
    if (command->pair[i].out == pair.out || command->pair[i].in == pair.in) return;
  }
  if (m->buffer[in].end != j + 1 || m->buffer[in].begin >= j || m->buffer[out].begin != j) return;
  if (!test_random_chance(&m->random, m->options.pair_percent)) return;
  m->buffer[in].end = j;
  m->over[out] = in;
  command->pair[command->n_pairs++] = pair;
}

static plim_status draw_buffers(plan_maker *m) {
  int32_t *read_buffer = calloc((size_t)m->n_steps * PLIM_OP_MAX_IN + 1, sizeof *read_buffer);
  int32_t *write_buffer = calloc((size_t)m->n_steps * PLIM_OP_MAX_OUT + 1, sizeof *write_buffer);
  if (read_buffer && write_buffer) {
    add_source_buffers(m);
    follow_sequence(m, read_buffer, write_buffer);
    for (int32_t j = 0; j < m->n_steps; j++) {
      const plim_op *op = &m->graph->op[m->command[j].op];
      for (int32_t i = 0; i < op->n_pairs; i++) {
        draw_pair(m, j, op->pair[i], read_buffer[j * PLIM_OP_MAX_IN + op->pair[i].in],
                  write_buffer[j * PLIM_OP_MAX_OUT + op->pair[i].out]);
      }
    }
  }
  plim_status status = read_buffer && write_buffer ? PLIM_OK : PLIM_ENOMEM;
  free(read_buffer);
  free(write_buffer);
  return status;
}

/* ---- addresses ---- */

static int touches(const plim_plan_buffer *a, const plim_plan_buffer *b) {
  return a->begin < b->end && b->begin < a->end;
}

/* Lowest multiple of the alignment where no member of the chain that begins with `head` meets a placed buffer. */
static void place_chain(plan_maker *m, const int32_t *next, int32_t head) {
  int64_t offset = 0;
  for (int moved = 1; moved;) {
    moved = 0;
    for (int32_t a = head; a != NONE; a = next[a]) {
      for (int32_t b = 0; b < m->n_buffers; b++) {
        const plim_plan_buffer *other = &m->buffer[b];
        if (other->offset < 0 || !touches(&m->buffer[a], other)) continue;
        if (offset >= other->offset + other->bytes || other->offset >= offset + m->buffer[a].bytes) continue;
        offset = other->offset + other->bytes;
        moved = 1;
      }
    }
  }
  for (int32_t a = head; a != NONE; a = next[a]) m->buffer[a].offset = offset;
}

static plim_status place(plan_maker *m) {
  int32_t *next = malloc(((size_t)m->n_buffers + 1) * sizeof *next);
  if (!next) return PLIM_ENOMEM;
  for (int32_t i = 0; i < m->n_buffers; i++) next[i] = NONE;
  for (int32_t i = 0; i < m->n_buffers; i++) {
    if (m->over[i] != NONE) next[m->over[i]] = i;
  }
  for (int32_t i = 0; i < m->n_buffers; i++) { /* persistent storages first, at the low end in graph order */
    int32_t s = m->buffer[i].storage;
    if (s >= 0 && plim_role_persistent(m->graph->storage[s].role)) place_chain(m, next, i);
  }
  int32_t turn = m->n_buffers > 0 ? (int32_t)test_random_between(&m->random, 0, m->n_buffers - 1) : 0;
  for (int32_t k = 0; k < m->n_buffers; k++) {
    int32_t i = (k + turn) % m->n_buffers;
    if (m->buffer[i].offset < 0 && m->over[i] == NONE) place_chain(m, next, i);
  }
  free(next);
  return PLIM_OK;
}

/* ---- whole ---- */

static int64_t fastest_ns(const plim_profile *profile, int32_t op) {
  int64_t best = INT64_MAX;
  for (int32_t i = profile->first[op]; i < profile->first[op + 1]; i++) {
    if (profile->variant[i].time_ns < best) best = profile->variant[i].time_ns;
  }
  return best;
}

/* The rows of the profile that steps use, and the steps renumbered. */
static void take_used_variants(plan_maker *m) {
  for (int32_t op = 0; op < m->profile->n_ops; op++) {
    for (int32_t i = m->profile->first[op]; i < m->profile->first[op + 1]; i++) {
      int used = 0;
      for (int32_t j = 0; j < m->n_steps; j++) {
        if (m->command[j].op != op || m->command[j].variant != i || m->numbered[j]) continue;
        m->command[j].variant = m->n_variants;
        m->numbered[j] = 1;
        used = 1;
      }
      if (used) m->variant[m->n_variants++] = (plim_plan_variant){op, m->profile->variant[i]};
    }
  }
}

/* A storage without bytes has no buffers. */
static void leave_out_empty(plan_maker *m) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_buffers; i++) {
    if (m->buffer[i].bytes > 0) m->buffer[n++] = m->buffer[i];
  }
  m->n_buffers = n;
}

static plim_status finish(plan_maker *m, plim_plan **out) {
  const plim_profile *profile = m->profile;
  take_used_variants(m);
  leave_out_empty(m);
  plim_plan draft = {.numerics.machine = profile->machine,
                     .planner = "random",
                     .packed = m->options.packed,
                     .n_commands = m->n_steps,
                     .n_buffers = m->n_buffers,
                     .n_variants = m->n_variants,
                     .command = m->command,
                     .buffer = m->buffer,
                     .variant = m->variant,
                     .budget_bytes = INT64_MAX};
  for (int32_t op = 0; op < profile->n_ops; op++) draft.keep_all_ns += fastest_ns(profile, op);
  draft.bound_ns = draft.keep_all_ns;
  return plim_plan_from_parts(m->graph, &draft, out);
}

static int allocate(plan_maker *m) {
  size_t n_ops = (size_t)m->graph->n_ops, n_storages = (size_t)m->graph->n_storages;
  m->max_steps = 4 * m->graph->n_ops;
  m->max_buffers = m->max_steps * (PLIM_OP_MAX_OUT + 1) + m->graph->n_storages;
  m->command = calloc((size_t)m->max_steps, sizeof *m->command);
  m->buffer = calloc((size_t)m->max_buffers, sizeof *m->buffer);
  m->over = calloc((size_t)m->max_buffers, sizeof *m->over);
  m->latest = calloc(n_storages + 1, sizeof *m->latest);
  m->done = calloc(n_ops, 1);
  m->numbered = calloc((size_t)m->max_steps, 1);
  m->chosen = calloc(n_ops, sizeof *m->chosen);
  m->variant = calloc((size_t)m->profile->first[m->profile->n_ops], sizeof *m->variant);
  return m->command && m->buffer && m->over && m->latest && m->done && m->numbered && m->chosen && m->variant;
}

plim_status random_plan_make(const plim_graph *graph, const plim_profile *profile, const random_plan_options *options,
                             plim_plan **out) {
  plan_maker m = {.graph = graph, .profile = profile, .options = *options, .random = options->seed};
  plim_status status = PLIM_ENOMEM;
  if (allocate(&m)) {
    draw_sequence(&m);
    status = draw_buffers(&m);
    if (status == PLIM_OK && options->packed) status = place(&m);
    if (status == PLIM_OK) status = finish(&m, out);
  }
  free(m.command);
  free(m.buffer);
  free(m.over);
  free(m.latest);
  free(m.done);
  free(m.numbered);
  free(m.chosen);
  free(m.variant);
  return status;
}
