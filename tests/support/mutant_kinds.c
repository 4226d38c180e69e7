/* Changes to a plan: each returns 1 when there was something to change. */
#include <string.h>

#include "tests/support/mutants.h"
#include "tests/support/test_random.h"

static int32_t draw(const mutant *m, int64_t low, int64_t high) {
  return (int32_t)test_random_between(m->random, low, high);
}

static plim_plan_buffer *any_buffer(mutant *m) {
  return &m->d.buffer[draw(m, 0, m->d.plan.n_buffers - 1)];
}

static plim_command *any_step(mutant *m) {
  return &m->d.command[draw(m, 0, m->d.plan.n_commands - 1)];
}

static plim_plan_buffer *workspace_of(mutant *m, int32_t j) {
  for (int32_t i = 0; i < m->d.plan.n_buffers; i++) {
    if (m->d.buffer[i].storage < 0 && m->d.buffer[i].begin == j) return &m->d.buffer[i];
  }
  return NULL;
}

static void remove_buffer(mutant *m, plim_plan_buffer *buffer) {
  *buffer = m->d.buffer[--m->d.plan.n_buffers];
}

static void swap_steps(mutant *m, int32_t i, int32_t j) {
  plim_plan_buffer *a = workspace_of(m, i), *b = workspace_of(m, j);
  plim_command kept = m->d.command[i];
  m->d.command[i] = m->d.command[j];
  m->d.command[j] = kept;
  if (a) a->begin = j, a->end = j + 1;
  if (b) b->begin = i, b->end = i + 1;
}

/* Buffers that ran over the step continue over what comes in its place. */
static void remove_step(mutant *m, int32_t at) {
  plim_plan *p = &m->d.plan;
  memmove(&m->d.command[at], &m->d.command[at + 1], (size_t)(p->n_commands - at - 1) * sizeof *m->d.command);
  p->n_commands--;
  for (int32_t i = p->n_buffers - 1; i >= 0; i--) {
    plim_plan_buffer *buffer = &m->d.buffer[i];
    int workspace = buffer->storage < 0 && buffer->begin == at;
    buffer->begin -= buffer->begin > at;
    buffer->end -= buffer->end > at;
    if (workspace || buffer->end <= buffer->begin) remove_buffer(m, buffer);
  }
}

static void insert_step(mutant *m, int32_t at, plim_command command, plim_plan_buffer workspace) {
  plim_plan *p = &m->d.plan;
  int32_t last = p->n_commands;
  memmove(&m->d.command[at + 1], &m->d.command[at], (size_t)(p->n_commands - at) * sizeof *m->d.command);
  m->d.command[at] = command;
  p->n_commands++;
  for (int32_t i = 0; i < p->n_buffers; i++) {
    m->d.buffer[i].begin += m->d.buffer[i].begin >= at;
    m->d.buffer[i].end += m->d.buffer[i].end > at || m->d.buffer[i].end == last;
  }
  if (workspace.bytes == 0) return;
  workspace.begin = at;
  workspace.end = at + 1;
  m->d.buffer[p->n_buffers++] = workspace;
}

static plim_plan_buffer copy_of_workspace(mutant *m, int32_t j) {
  const plim_plan_buffer *buffer = workspace_of(m, j);
  return buffer ? *buffer : (plim_plan_buffer){.bytes = 0};
}

static void move_step(mutant *m, int32_t from, int32_t to) {
  plim_command command = m->d.command[from];
  plim_plan_buffer workspace = copy_of_workspace(m, from);
  remove_step(m, from);
  insert_step(m, to < m->d.plan.n_commands ? to : m->d.plan.n_commands, command, workspace);
}

/* A step that satisfies what is asked, from a random one on; -1: none. */
typedef int asked(const mutant *m, int32_t j);
static int32_t find_step(mutant *m, asked *wanted) {
  int32_t n = m->d.plan.n_commands, from = draw(m, 0, n - 1);
  for (int32_t i = 0; i < n; i++) {
    if (wanted(m, (from + i) % n)) return (from + i) % n;
  }
  return -1;
}

static int is_repeat(const mutant *m, int32_t j) {
  for (int32_t i = 0; i < j; i++) {
    if (m->d.command[i].op == m->d.command[j].op) return 1;
  }
  return 0;
}
static int is_effect(const mutant *m, int32_t j) {
  return m->graph->op[m->d.command[j].op].cls == PLIM_OP_EFFECT;
}
static int has_pair(const mutant *m, int32_t j) {
  return m->d.command[j].n_pairs > 0;
}
static int may_pair(const mutant *m, int32_t j) {
  return m->d.command[j].n_pairs == 0 && m->graph->op[m->d.command[j].op].n_pairs > 0;
}
static int has_workspace(const mutant *m, int32_t j) {
  return m->d.plan.variant[m->d.command[j].variant].variant.workspace_bytes > 0;
}

static int swap_neighbours(mutant *m) {
  if (m->d.plan.n_commands < 2) return 0;
  int32_t j = draw(m, 0, m->d.plan.n_commands - 2);
  swap_steps(m, j, j + 1);
  return 1;
}

static int swap_far(mutant *m) {
  swap_steps(m, draw(m, 0, m->d.plan.n_commands - 1), draw(m, 0, m->d.plan.n_commands - 1));
  return 1;
}

static int move_any_step(mutant *m) {
  move_step(m, draw(m, 0, m->d.plan.n_commands - 1), draw(m, 0, m->d.plan.n_commands - 1));
  return 1;
}

static int drop_step(mutant *m) {
  if (m->d.plan.n_commands < 2) return 0;
  remove_step(m, draw(m, 0, m->d.plan.n_commands - 1));
  return 1;
}

static int repeat_step(mutant *m) {
  int32_t j = draw(m, 0, m->d.plan.n_commands - 1);
  plim_command command = m->d.command[j];
  command.n_pairs = 0;
  insert_step(m, draw(m, j + 1, m->d.plan.n_commands), command, copy_of_workspace(m, j));
  return 1;
}

static int run_another_op(mutant *m) {
  plim_command *command = any_step(m);
  const plim_command *other = any_step(m);
  command->op = other->op;
  command->variant = other->variant;
  return 1;
}

/* The earlier copy stays instead of being recomputed. */
static int drop_recompute(mutant *m) {
  int32_t j = find_step(m, is_repeat);
  if (j < 0) return 0;
  const plim_op *op = &m->graph->op[m->d.command[j].op];
  for (int32_t o = 0; o < op->n_out; o++) {
    int32_t storage = m->graph->value[op->out[o]].storage;
    plim_plan_buffer *again = NULL, *before = NULL;
    for (int32_t i = 0; i < m->d.plan.n_buffers; i++) {
      plim_plan_buffer *buffer = &m->d.buffer[i];
      if (buffer->storage == storage && buffer->begin == j) again = buffer;
      if (buffer->storage == storage && buffer->end <= j && (!before || buffer->end > before->end)) before = buffer;
    }
    if (!again || !before || test_random_chance(m->random, 30)) continue;
    before->end = again->end;
    remove_buffer(m, again);
  }
  remove_step(m, j);
  return 1;
}

static int move_update(mutant *m) {
  int32_t j = find_step(m, is_effect);
  if (j < 0) return 0;
  move_step(m, j, draw(m, 0, m->d.plan.n_commands - 1));
  return 1;
}

static int swap_updates(mutant *m) {
  int32_t i = find_step(m, is_effect), j = find_step(m, is_effect);
  if (i < 0 || i == j) return 0;
  swap_steps(m, i, j);
  return 1;
}

static int repeat_update(mutant *m) {
  int32_t j = find_step(m, is_effect);
  if (j < 0) return 0;
  insert_step(m, draw(m, j + 1, m->d.plan.n_commands), m->d.command[j], copy_of_workspace(m, j));
  return 1;
}

static int change_variant(mutant *m) {
  any_step(m)->variant = draw(m, 0, m->d.plan.n_variants - 1);
  return 1;
}

static int rekey_repeat(mutant *m) {
  int32_t j = find_step(m, is_repeat), row = m->d.plan.n_variants;
  if (j < 0) return 0;
  m->d.variant[row] = m->d.variant[m->d.command[j].variant];
  m->d.variant[row].variant.name[0] ^= 1;
  m->d.variant[row].variant.numerics_key[0] ^= 1;
  m->d.command[j].variant = row;
  m->d.plan.n_variants++;
  return 1;
}

static int need_more_workspace(mutant *m) {
  m->d.variant[draw(m, 0, m->d.plan.n_variants - 1)].variant.workspace_bytes += draw(m, 1, 2000);
  return 1;
}

static int drop_workspace(mutant *m) {
  int32_t j = find_step(m, has_workspace);
  if (j < 0 || !workspace_of(m, j)) return 0;
  remove_buffer(m, workspace_of(m, j));
  return 1;
}

static int move_offset(mutant *m) {
  any_buffer(m)->offset += PLIM_ALIGN * (int64_t)draw(m, -8, 8);
  return m->d.plan.packed;
}

static int share_offset(mutant *m) {
  const plim_plan_buffer *other = any_buffer(m);
  any_buffer(m)->offset = other->offset;
  return m->d.plan.packed;
}

static int misalign(mutant *m) {
  any_buffer(m)->offset += draw(m, 1, PLIM_ALIGN - 1);
  return m->d.plan.packed;
}

static int swap_offsets(mutant *m) {
  plim_plan_buffer *a = any_buffer(m), *b = any_buffer(m);
  int64_t offset = a->offset;
  a->offset = b->offset;
  b->offset = offset;
  return m->d.plan.packed;
}

static int move_end(mutant *m) {
  any_buffer(m)->end += draw(m, -3, 3);
  return 1;
}

static int move_begin(mutant *m) {
  any_buffer(m)->begin += draw(m, -3, 3);
  return 1;
}

static int end_before_last_use(mutant *m) {
  plim_plan_buffer *buffer = any_buffer(m);
  if (buffer->storage < 0 || buffer->end - buffer->begin < 2) return 0;
  buffer->end--;
  return 1;
}

static int join_buffers(mutant *m) {
  plim_plan_buffer *buffer = any_buffer(m);
  for (int32_t i = 0; i < m->d.plan.n_buffers; i++) {
    plim_plan_buffer *next = &m->d.buffer[i];
    if (next == buffer || next->storage != buffer->storage || buffer->storage < 0 || next->begin < buffer->end)
      continue;
    buffer->end = next->end;
    remove_buffer(m, next);
    return 1;
  }
  return 0;
}

static int split_buffer(mutant *m) {
  plim_plan_buffer *buffer = any_buffer(m);
  if (buffer->end - buffer->begin < 2) return 0;
  plim_plan_buffer *rest = &m->d.buffer[m->d.plan.n_buffers++];
  *rest = *buffer;
  rest->begin = buffer->end = draw(m, buffer->begin + 1, buffer->end - 1);
  if (m->d.plan.packed && test_random_chance(m->random, 30)) rest->offset = m->d.plan.arena_bytes;
  return 1;
}

static int drop_buffer(mutant *m) {
  remove_buffer(m, any_buffer(m));
  return 1;
}

static int double_buffer(mutant *m) {
  plim_plan_buffer buffer = *any_buffer(m);
  if (m->d.plan.packed && test_random_chance(m->random, 70)) buffer.offset = m->d.plan.arena_bytes;
  m->d.buffer[m->d.plan.n_buffers++] = buffer;
  return 1;
}

static int swap_storages(mutant *m) {
  plim_plan_buffer *a = any_buffer(m), *b = any_buffer(m);
  int32_t storage = a->storage;
  if (a->bytes != b->bytes || storage == b->storage) return 0;
  a->storage = b->storage;
  b->storage = storage;
  return 1;
}

static int change_bytes(mutant *m) {
  static const int64_t change[] = {1, -1, PLIM_ALIGN, -PLIM_ALIGN};
  any_buffer(m)->bytes += change[draw(m, 0, 3)];
  return 1;
}

static int drop_pair(mutant *m) {
  int32_t j = find_step(m, has_pair);
  if (j < 0) return 0;
  m->d.command[j].n_pairs--;
  return 1;
}

/* With buffers shaped as a pair's would be, sometimes at one address. */
static int add_pair(mutant *m) {
  int32_t j = find_step(m, may_pair);
  if (j < 0) return 0;
  plim_command *command = &m->d.command[j];
  const plim_op *op = &m->graph->op[command->op];
  command->n_pairs = 1;
  command->pair[0] = op->pair[draw(m, 0, op->n_pairs - 1)];
  int32_t in = m->graph->value[op->in[command->pair[0].in]].storage;
  int32_t out = m->graph->value[op->out[command->pair[0].out]].storage;
  plim_plan_buffer *a = NULL, *b = NULL;
  for (int32_t i = 0; i < m->d.plan.n_buffers; i++) {
    plim_plan_buffer *buffer = &m->d.buffer[i];
    if (buffer->storage == in && buffer->begin < j && j < buffer->end) a = buffer;
    if (buffer->storage == out && buffer->begin == j) b = buffer;
  }
  if (!a || !b) return 1;
  a->end = j;
  if (test_random_chance(m->random, 80)) b->offset = a->offset;
  return 1;
}

static int change_pair(mutant *m) {
  plim_command *command = any_step(m);
  command->n_pairs = 1;
  command->pair[0] = (plim_pair){draw(m, -1, PLIM_OP_MAX_OUT), draw(m, -1, PLIM_OP_MAX_IN)};
  return 1;
}

static int change_figure(mutant *m) {
  int64_t *const figure[] = {&m->d.plan.peak_bytes,  &m->d.plan.arena_bytes, &m->d.plan.time_ns,
                             &m->d.plan.keep_all_ns, &m->d.plan.bound_ns,    &m->d.plan.budget_bytes};
  int64_t *x = figure[draw(m, 0, 5)];
  if (*x == INT64_MAX) *x = m->d.plan.peak_bytes; /* no budget */
  *x += test_random_chance(m->random, 50) ? draw(m, -600, 600) : *x / 100 * draw(m, -30, 30);
  return 1;
}

static int claim(mutant *m) {
  plim_plan *p = &m->d.plan;
  switch (draw(m, 0, 4)) {
    case 0: /* nothing is lost */
      p->keep_all_ns = p->bound_ns = p->time_ns;
      p->proved = 1;
      break;
    case 1: /* less is lost */
      p->keep_all_ns += test_random_between(m->random, 0, p->time_ns - p->keep_all_ns);
      if (p->bound_ns < p->keep_all_ns) p->bound_ns = p->keep_all_ns;
      break;
    case 2: /* a gap of 0 */
      p->proved = 1;
      break;
    case 3: /* the best of a narrower class */
      p->plan_class = (plim_plan_class)draw(m, 0, PLIM_PLAN_CLASS_COUNT - 1);
      break;
    default: /* what the bound says is what keep-all takes */
      p->keep_all_ns = p->bound_ns;
  }
  return 1;
}

static int change_identity(mutant *m) {
  char *const at[] = {m->d.plan.fingerprint, m->d.plan.numerics.hash, m->d.plan.numerics.machine.cpu,
                      m->d.variant[draw(m, 0, m->d.plan.n_variants - 1)].variant.numerics_key};
  at[draw(m, 0, 3)][0] ^= 1;
  return 1;
}

static int leave_the_format(mutant *m) {
  plim_command *command = any_step(m);
  switch (draw(m, 0, 4)) {
    case 0:
      any_buffer(m)->space = draw(m, -1, 2);
      break;
    case 1:
      command->queue = draw(m, -1, 2);
      break;
    case 2:
      command->kind = PLIM_COMMAND_COPY;
      break;
    case 3:
      command->op = draw(m, -2, m->graph->n_ops + 1);
      break;
    default:
      any_buffer(m)->storage = draw(m, -2, m->graph->n_storages + 1);
  }
  return 1;
}

static const mutant_kind kinds[] = {
    {"swap neighbours", swap_neighbours, 1},
    {"swap far", swap_far, 1},
    {"move step", move_any_step, 1},
    {"drop step", drop_step, 1},
    {"repeat step", repeat_step, 1},
    {"run another op", run_another_op, 1},
    {"drop recompute", drop_recompute, 1},
    {"move update", move_update, 1},
    {"swap updates", swap_updates, 1},
    {"repeat update", repeat_update, 1},
    {"change variant", change_variant, 1},
    {"another key in a repeat", rekey_repeat, 1},
    {"more workspace", need_more_workspace, 1},
    {"drop workspace", drop_workspace, 1},
    {"move offset", move_offset, 1},
    {"share offset", share_offset, 1},
    {"misalign", misalign, 1},
    {"swap offsets", swap_offsets, 1},
    {"move end", move_end, 1},
    {"move begin", move_begin, 1},
    {"end before last use", end_before_last_use, 1},
    {"join buffers", join_buffers, 1},
    {"split buffer", split_buffer, 1},
    {"drop buffer", drop_buffer, 1},
    {"double buffer", double_buffer, 1},
    {"swap storages", swap_storages, 1},
    {"change bytes", change_bytes, 1},
    {"drop pair", drop_pair, 1},
    {"add pair", add_pair, 1},
    {"change pair", change_pair, 1},
    {"change figure", change_figure, 0},
    {"claim", claim, 0},
    {"change identity", change_identity, 0},
    {"leave the format", leave_the_format, 0},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const mutant_kind *mutant_kind_at(int i) {
  return i < KINDS ? &kinds[i] : NULL;
}
