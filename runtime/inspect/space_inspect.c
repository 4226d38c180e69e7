/* Answers questions about a plan over spaces. An index has the commands and the buffers of each storage. The cost of a
 * recompute is found as a planner would find it. The op of the storage runs at the command that fills the storage
 * again. Operands in another space are copied. Operands in no space are computed before it, once. */
#include "runtime/inspect/space_inspect.h"

#include "runtime/base/array.h"
#include "runtime/base/groups.h"
#include "runtime/base/integers.h"

enum { RUNS_MAX = 2000 }; /* of a recompute; with so many runs the cost is a lower bound */

static void set_live(const plim_space_inspect *in) {
  const plim_space_plan *p = in->plan;
  for (int32_t i = 0; i < p->n_buffers; i++) {
    const plim_space_buffer *b = &p->buffer[i];
    int64_t *live = in->live + (int64_t)b->space * p->n_commands;
    live[b->begin] += b->bytes;
    if (b->end < p->n_commands) live[b->end] -= b->bytes;
  }
  for (int32_t s = 0; s < p->n_spaces; s++) {
    int64_t *live = in->live + (int64_t)s * p->n_commands;
    for (int32_t c = 1; c < p->n_commands; c++) live[c] += live[c - 1];
  }
}

/* ---- the index ---- */

/* Number of storages that a command reads, writes or copies; each one may be listed twice. */
static int32_t n_operands(const plim_space_inspect *in, const plim_space_command *m) {
  if (m->kind == PLIM_SPACE_COMMAND_COPY) return m->n_storages;
  return in->graph->op[m->op].n_reads + in->graph->op[m->op].n_writes;
}

static int32_t operand(const plim_space_inspect *in, const plim_space_command *m, int32_t i) {
  if (m->kind == PLIM_SPACE_COMMAND_COPY) return m->storage[i];
  const plim_op *op = &in->graph->op[m->op];
  return i < op->n_reads ? op->reads[i] : op->writes[i - op->n_reads];
}

/* Note that command c uses storage s. Returns 0 when that was noted before. */
static int note_use(int32_t *noted, int32_t s, int32_t c) {
  if (noted[s] == c) return 0;
  noted[s] = c;
  return 1;
}

/* Count the commands that use each storage. noted [n_storages]: scratch */
static void count_uses(plim_space_inspect *in, int32_t *noted) {
  for (int32_t s = 0; s < in->graph->n_storages; s++) noted[s] = PLIM_NONE;
  for (int32_t c = 0; c < in->plan->n_commands; c++) {
    const plim_space_command *m = &in->plan->command[c];
    for (int32_t i = 0; i < n_operands(in, m); i++) {
      if (note_use(noted, operand(in, m, i), c)) in->use_first[operand(in, m, i)]++;
    }
  }
  plim_groups_sum(in->use_first, in->graph->n_storages);
  in->n_uses = in->use_first[in->graph->n_storages];
}

/* List them, from the last to the first. */
static void list_uses(const plim_space_inspect *in, int32_t *noted) {
  for (int32_t s = 0; s < in->graph->n_storages; s++) noted[s] = PLIM_NONE;
  for (int32_t c = in->plan->n_commands - 1; c >= 0; c--) {
    const plim_space_command *m = &in->plan->command[c];
    for (int32_t i = 0; i < n_operands(in, m); i++) {
      const int32_t s = operand(in, m, i);
      if (note_use(noted, s, c)) in->use[--in->use_first[s]] = c;
    }
  }
}

static plim_status index_uses(plim_space_inspect *in) {
  int32_t *noted = NULL;
  PLIM_TRY(plim_allocate(in->ctx, in->graph->n_storages, sizeof *noted, &noted));
  count_uses(in, noted);
  const plim_status status = plim_allocate(in->ctx, in->n_uses, sizeof *in->use, &in->use);
  if (status == PLIM_OK) list_uses(in, noted);
  plim_release(in->ctx, noted, in->graph->n_storages, sizeof *noted);
  return status;
}

static void index_buffers(const plim_space_inspect *in) {
  const plim_space_plan *p = in->plan; /* its buffers are sorted by begin */
  for (int32_t i = 0; i < p->n_buffers; i++) {
    if (p->buffer[i].storage >= 0) in->buffer_first[p->buffer[i].storage]++;
  }
  plim_groups_sum(in->buffer_first, in->graph->n_storages);
  for (int32_t i = p->n_buffers - 1; i >= 0; i--) {
    if (p->buffer[i].storage >= 0) in->buffer[--in->buffer_first[p->buffer[i].storage]] = i;
  }
}

plim_status plim_space_inspect_open(plim_context *ctx, const plim_graph *graph, const plim_space_plan *plan,
                                    plim_space_inspect *out) {
  plim_space_inspect in = {.ctx = ctx, .graph = graph, .plan = plan};
  plim_space_figures f = {.makespan_ns = 0};
  int32_t *last = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_commands, sizeof *in.begin_ns, &in.begin_ns));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_commands, sizeof *in.end_ns, &in.end_ns));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_spaces, sizeof *in.peak_bytes, &in.peak_bytes));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_commands, sizeof *in.before, &in.before));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)plan->n_spaces * plan->n_commands, sizeof *in.live, &in.live));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_ops, sizeof *in.run_of, &in.run_of));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_queues, sizeof *last, &last));
  f.begin_ns = in.begin_ns;
  f.end_ns = in.end_ns;
  f.peak_bytes = in.peak_bytes;
  PLIM_TRY_OR_DONE(plim_space_plan_simulate(plan, &f));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_storages + 1, sizeof *in.use_first, &in.use_first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_storages + 1, sizeof *in.buffer_first, &in.buffer_first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_buffers, sizeof *in.buffer, &in.buffer));
  PLIM_TRY_OR_DONE(index_uses(&in));
  index_buffers(&in);
  for (int32_t o = 0; o < graph->n_ops; o++) in.run_of[o] = PLIM_NONE;
  set_live(&in);
  for (int32_t c = 0; c < plan->n_commands; c++) {
    const plim_space_command *m = &plan->command[c];
    in.before[c] = last[m->queue] - 1;
    last[m->queue] = c + 1;
    if (m->kind == PLIM_SPACE_COMMAND_RUN && in.run_of[m->op] < 0) in.run_of[m->op] = c;
  }
done:
  plim_release(ctx, last, plan->n_queues, sizeof *last);
  if (status != PLIM_OK) plim_space_inspect_close(&in);
  if (status == PLIM_OK) *out = in;
  return status;
}

void plim_space_inspect_close(plim_space_inspect *in) {
  if (!in->plan) return;
  plim_release(in->ctx, in->begin_ns, in->plan->n_commands, sizeof *in->begin_ns);
  plim_release(in->ctx, in->end_ns, in->plan->n_commands, sizeof *in->end_ns);
  plim_release(in->ctx, in->peak_bytes, in->plan->n_spaces, sizeof *in->peak_bytes);
  plim_release(in->ctx, in->live, (int64_t)in->plan->n_spaces * in->plan->n_commands, sizeof *in->live);
  plim_release(in->ctx, in->before, in->plan->n_commands, sizeof *in->before);
  plim_release(in->ctx, in->run_of, in->graph->n_ops, sizeof *in->run_of);
  plim_release(in->ctx, in->use_first, in->graph->n_storages + 1, sizeof *in->use_first);
  plim_release(in->ctx, in->use, in->n_uses, sizeof *in->use);
  plim_release(in->ctx, in->buffer_first, in->graph->n_storages + 1, sizeof *in->buffer_first);
  plim_release(in->ctx, in->buffer, in->plan->n_buffers, sizeof *in->buffer);
  *in = (plim_space_inspect){.ctx = NULL};
}

/* ---- queues ---- */

int32_t plim_space_inspect_cause(const plim_space_inspect *in, int32_t c, int64_t *idle_ns) {
  const plim_space_command *m = &in->plan->command[c];
  int64_t free_ns = in->before[c] >= 0 ? in->end_ns[in->before[c]] : 0;
  int32_t cause = PLIM_NONE;
  if (idle_ns) *idle_ns = in->begin_ns[c] - free_ns;
  for (int32_t w = 0; w < m->n_wait && in->begin_ns[c] > free_ns; w++) {
    if (in->end_ns[m->wait[w]] == in->begin_ns[c]) cause = m->wait[w];
  }
  return cause;
}

plim_space_queue_state plim_space_inspect_queue(const plim_space_inspect *in, int32_t queue, int64_t t_ns) {
  plim_space_queue_state s = {.now = PLIM_NONE, .next = PLIM_NONE, .caused_by = PLIM_NONE};
  for (int32_t c = 0; c < in->plan->n_commands; c++) {
    if (in->plan->command[c].queue != queue) continue;
    if (in->begin_ns[c] > t_ns) {
      s.next = c;
      s.caused_by = plim_space_inspect_cause(in, c, &s.idle_ns);
      return s;
    }
    if (in->end_ns[c] > t_ns) s.now = c;
  }
  return s;
}

/* ---- bytes ---- */

static int is_there(const plim_space_inspect *in, int32_t storage, int32_t space, int32_t c) {
  for (int32_t i = in->buffer_first[storage]; i < in->buffer_first[storage + 1]; i++) {
    const plim_space_buffer *b = &in->plan->buffer[in->buffer[i]];
    if (b->space == space && b->begin <= c && c < b->end) return 1;
  }
  return 0;
}

static int is_listed(const int32_t *id, int32_t n, int32_t wanted) {
  for (int32_t i = 0; i < n; i++) {
    if (id[i] == wanted) return 1;
  }
  return 0;
}

static int reads(const plim_space_inspect *in, int32_t c, int32_t storage, int32_t space) {
  const plim_space_command *m = &in->plan->command[c];
  if (m->kind == PLIM_SPACE_COMMAND_COPY) return m->from == space && is_listed(m->storage, m->n_storages, storage);
  const plim_op *op = &in->graph->op[m->op];
  return in->plan->device[m->device].space == space && is_listed(op->reads, op->n_reads, storage);
}

static int fills(const plim_space_inspect *in, int32_t c, int32_t storage, int32_t space) {
  const plim_space_command *m = &in->plan->command[c];
  if (m->kind == PLIM_SPACE_COMMAND_COPY) return m->to == space && is_listed(m->storage, m->n_storages, storage);
  const plim_op *op = &in->graph->op[m->op];
  return in->plan->device[m->device].space == space && is_listed(op->writes, op->n_writes, storage);
}

int32_t plim_space_inspect_next_use(const plim_space_inspect *in, int32_t storage, int32_t space, int32_t c) {
  for (int32_t i = in->use_first[storage]; i < in->use_first[storage + 1]; i++) {
    if (in->use[i] >= c && reads(in, in->use[i], storage, space)) return in->use[i];
  }
  return PLIM_NONE;
}

/* ---- gaps ---- */

plim_status plim_space_inspect_gaps(const plim_space_inspect *in, plim_space_gap **out, int32_t *n_out) {
  const plim_space_plan *p = in->plan;
  int64_t cells = (int64_t)in->graph->n_storages * p->n_spaces;
  int32_t *latest = NULL, *before = NULL, n = 0;
  plim_space_gap *gap = NULL;
  plim_status status;
  *out = NULL;
  *n_out = 0;
  PLIM_TRY_OR_DONE(plim_allocate(in->ctx, cells, sizeof *latest, &latest));
  PLIM_TRY_OR_DONE(plim_allocate(in->ctx, p->n_buffers, sizeof *before, &before));
  for (int32_t i = 0; i < p->n_buffers; i++) {
    before[i] = PLIM_NONE;
    if (p->buffer[i].storage < 0) continue;
    int32_t *at = &latest[(int64_t)p->buffer[i].storage * p->n_spaces + p->buffer[i].space];
    before[i] = *at - 1;
    *at = i + 1;
    n += before[i] >= 0;
  }
  PLIM_TRY_OR_DONE(plim_allocate(in->ctx, n, sizeof *gap, &gap));
  for (int32_t i = 0; i < p->n_buffers; i++) {
    const plim_space_buffer *b = &p->buffer[i];
    if (before[i] < 0) continue;
    int paged = p->command[b->begin].kind == PLIM_SPACE_COMMAND_COPY;
    gap[(*n_out)++] = (plim_space_gap){b->storage, b->space, p->buffer[before[i]].end, b->begin, paged};
  }
  *out = gap;
done:
  plim_release(in->ctx, before, p->n_buffers, sizeof *before);
  plim_release(in->ctx, latest, cells, sizeof *latest);
  return status;
}

/* Time of a copy of the storage to the gap's space from another space that has it when the gap ends. It is the time of
 * a later copy of it in the plan, or in proportion to the bytes of the gap's own copy. PLIM_NONE: no space has it, or
 * no copy is known. */
static int64_t fetch_ns(const plim_space_inspect *in, const plim_space_gap *gap, int32_t storage) {
  const plim_space_plan *p = in->plan;
  const plim_space_command *back = &p->command[gap->until];
  const int64_t bytes = in->graph->storage[storage].bytes, own_bytes = in->graph->storage[gap->storage].bytes;
  for (int32_t k = 0; k < p->n_spaces; k++) {
    if (k == gap->space || !is_there(in, storage, k, gap->until)) continue;
    for (int32_t i = in->use_first[storage]; i < in->use_first[storage + 1]; i++) {
      const plim_space_command *m = &p->command[in->use[i]];
      const int is_copy = m->kind == PLIM_SPACE_COMMAND_COPY && m->from == k && m->to == gap->space;
      if (in->use[i] >= gap->until && is_copy) return m->time_ns;
    }
    if (!gap->paged || back->from != k || own_bytes <= 0) continue;
    return plim_integers_from_real((double)back->time_ns * ((double)bytes / (double)own_bytes));
  }
  return PLIM_NONE;
}

/* Find the cost of recomputing the gap's storage. stack [n_ops], seen [n_ops], copied
 * [n_storages] are scratch; seen and copied are 0. */
static void weigh_recompute(const plim_space_inspect *in, const plim_space_gap *gap, int32_t *stack, uint8_t *seen,
                            uint8_t *copied, plim_space_why *why) {
  int32_t n = 0, first = in->graph->storage[gap->storage].producer;
  why->can_recompute = first >= 0;
  if (first >= 0) {
    stack[n++] = first;
    seen[first] = 1;
  }
  while (n > 0 && why->can_recompute && why->recompute_runs < RUNS_MAX) {
    int32_t o = stack[--n];
    const plim_op *op = &in->graph->op[o];
    const plim_space_command *run = &in->plan->command[in->run_of[o]];
    why->can_recompute = op->cls != PLIM_OP_ONCE && op->cls != PLIM_OP_EFFECT;
    why->recompute_runs++;
    why->recompute_ns += run->time_ns;
    why->recompute_joule += in->plan->has_energy ? run->joule : 0;
    for (int32_t i = 0; i < op->n_reads && why->can_recompute; i++) {
      int32_t producer = in->graph->storage[op->reads[i]].producer;
      if (copied[op->reads[i]] || is_there(in, op->reads[i], gap->space, gap->until)) continue;
      const int64_t copy_ns = fetch_ns(in, gap, op->reads[i]);
      if (copy_ns >= 0) {
        copied[op->reads[i]] = 1;
        why->recompute_copies++;
        why->recompute_ns += copy_ns;
        continue;
      }
      if (producer < 0) why->can_recompute = 0;
      if (producer < 0 || seen[producer]) continue;
      stack[n++] = producer;
      seen[producer] = 1;
    }
  }
  if (why->can_recompute) return;
  why->recompute_runs = why->recompute_copies = 0;
  why->recompute_ns = 0;
  why->recompute_joule = 0;
}

static int64_t overlap(int64_t begin, int64_t end, int64_t from, int64_t to) {
  int64_t a = begin > from ? begin : from, b = end < to ? end : to;
  return b > a ? b - a : 0;
}

static void weigh_link(const plim_space_inspect *in, const plim_space_gap *gap, int64_t from_ns, plim_space_why *why) {
  const plim_space_plan *p = in->plan;
  const plim_space_command *back = &p->command[gap->until];
  for (int32_t i = in->use_first[gap->storage]; i < in->use_first[gap->storage + 1]; i++) {
    const plim_space_command *m = &p->command[in->use[i]];
    const int is_away = m->kind == PLIM_SPACE_COMMAND_COPY && m->from == gap->space && m->to == back->from;
    if (in->use[i] < gap->until && is_away) why->out = in->use[i];
  }
  why->copy_ns = back->time_ns + (why->out >= 0 ? p->command[why->out].time_ns : 0);
  why->link_free_ns = why->window_ns;
  for (int32_t c = 0; c < p->n_commands; c++) {
    if (p->command[c].queue != back->queue || c == gap->until || c == why->out) continue;
    why->link_free_ns -= overlap(in->begin_ns[c], in->end_ns[c], from_ns, from_ns + why->window_ns);
  }
}

static void weigh_gap(const plim_space_inspect *in, const plim_space_gap *gap, plim_space_why *why) {
  int64_t most = -1, from_ns = 0;
  for (int32_t c = gap->from; c < gap->until; c++) {
    int64_t live = plim_space_inspect_live(in, gap->space, c);
    if (live <= most) continue;
    most = live;
    why->worst = c;
  }
  why->with_it_bytes = why->worst >= 0 ? most + in->graph->storage[gap->storage].bytes : 0;
  for (int32_t i = in->use_first[gap->storage]; i < in->use_first[gap->storage + 1]; i++) {
    const int32_t c = in->use[i];
    if (c >= gap->from) break;
    if (in->plan->command[c].kind != PLIM_SPACE_COMMAND_RUN || in->end_ns[c] < from_ns) continue;
    if (reads(in, c, gap->storage, gap->space) || fills(in, c, gap->storage, gap->space)) {
      from_ns = in->end_ns[c];
    }
  }
  why->next_use = plim_space_inspect_next_use(in, gap->storage, gap->space, gap->until + 1);
  int64_t to_ns = in->begin_ns[why->next_use >= 0 ? why->next_use : gap->until];
  why->window_ns = to_ns > from_ns ? to_ns - from_ns : 0;
  if (gap->paged) weigh_link(in, gap, from_ns, why);
}

plim_status plim_space_inspect_why(const plim_space_inspect *in, const plim_space_gap *gap, plim_space_why *out) {
  plim_space_why w = {.out = PLIM_NONE, .worst = PLIM_NONE, .next_use = PLIM_NONE, .link_free_ns = PLIM_NONE};
  int32_t *stack = NULL, n = in->graph->n_ops;
  uint8_t *seen = NULL, *copied = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(in->ctx, n, sizeof *stack, &stack));
  PLIM_TRY_OR_DONE(plim_allocate(in->ctx, n, sizeof *seen, &seen));
  PLIM_TRY_OR_DONE(plim_allocate(in->ctx, in->graph->n_storages, sizeof *copied, &copied));
  weigh_gap(in, gap, &w);
  weigh_recompute(in, gap, stack, seen, copied, &w);
  *out = w;
done:
  plim_release(in->ctx, stack, n, sizeof *stack);
  plim_release(in->ctx, seen, n, sizeof *seen);
  plim_release(in->ctx, copied, in->graph->n_storages, sizeof *copied);
  return status;
}

/* ---- decisions ---- */

/* The share of a command that is the storage's: of a copy by bytes; storages without bytes share alike. */
static double share_of(const plim_graph *graph, const plim_space_command *command, int32_t storage) {
  double all_bytes = 0;
  if (command->kind != PLIM_SPACE_COMMAND_COPY || command->n_storages == 1) return 1;
  for (int32_t i = 0; i < command->n_storages; i++) all_bytes += (double)graph->storage[command->storage[i]].bytes;
  return all_bytes > 0 ? (double)graph->storage[storage].bytes / all_bytes : 1.0 / command->n_storages;
}

plim_space_decision plim_space_inspect_decision(const plim_space_inspect *in, const plim_space_gap *gap, int32_t n,
                                                int32_t storage) {
  plim_space_decision d = {.gap = PLIM_NONE};
  const plim_space_plan *p = in->plan;
  const int32_t op = in->graph->storage[storage].producer;
  for (int32_t i = in->use_first[storage]; i < in->use_first[storage + 1]; i++) {
    const plim_space_command *m = &p->command[in->use[i]];
    const int run = m->kind == PLIM_SPACE_COMMAND_RUN && m->op == op, copy = m->kind == PLIM_SPACE_COMMAND_COPY;
    if (run && d.runs++ == 0) {
      d.device = m->device;
      continue;
    }
    d.copies += copy;
    if (!run && !copy) continue;
    double share = share_of(in->graph, m, storage);
    d.time_ns += share < 1 ? (int64_t)((double)m->time_ns * share) : m->time_ns;
    d.joule += p->has_energy ? m->joule * share : 0;
  }
  for (int32_t i = 0; i < n && d.gap == PLIM_NONE; i++) {
    if (gap[i].storage == storage) d.gap = i;
  }
  return d;
}

const char *plim_space_decision_name(const plim_space_decision *d) {
  if (d->runs > 1) return d->copies > 0 ? "recompute, copy" : "recompute";
  if (d->copies > 0) return d->gap != PLIM_NONE ? "page" : "copy";
  return d->device > 0 ? "place" : "keep";
}
