/* Every command gets a start and an end from drawn durations. Then each byte is looked at in time: a buffer is in use
 * from the start of the command that fills it to the end of the last one that touches it; what is read must have been
 * filled before the reader starts; the buffers in use at one moment are no more than the stated peak. Plain loops over
 * all pairs: the plans are small. Contents are right when they were computed from right contents; of a storage that ops
 * update, when they have seen as many updates as program order has before the reader, and none is on its way. */
#include "tests/support/space_interpret.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test_random.h"

enum { MOST = 256 };

typedef struct run {
  const plim_graph *graph;
  const plim_space_plan *plan;
  int64_t begin[MOST], end[MOST]; /* of commands */
  int64_t used_until[MOST];       /* of buffers */
  int base[MOST];                 /* of buffers: updates that what fills it has seen */
} run;

static int32_t space_of(const plim_space_plan *p, const plim_space_command *c) {
  return c->kind == PLIM_SPACE_COMMAND_RUN ? p->device[c->device].space : c->from;
}

/* There from the start: no op writes the storage, and no copy fills it. */
static int is_initial(const plim_graph *g, const plim_space_plan *p, const plim_space_buffer *b) {
  const plim_space_command *m = &p->command[0];
  if (b->storage < 0 || b->begin > 0 || g->storage[b->storage].producer >= 0) return 0;
  for (int i = 0; m->kind == PLIM_SPACE_COMMAND_COPY && m->to == b->space && i < m->n_storages; i++) {
    if (m->storage[i] == b->storage) return 0;
  }
  return 1;
}

static int64_t workspace_of(const plim_graph *g, int32_t op) {
  return g->costs ? g->costs->workspace[op] : 0;
}

/* The buffer that is named by storage and space at a command; `first`: the one that begins there. */
static int find(const run *r, int32_t storage, int32_t space, int32_t at, int first) {
  const plim_space_plan *p = r->plan;
  for (int i = 0; i < p->n_buffers; i++) {
    const plim_space_buffer *b = &p->buffer[i];
    if (b->storage != storage || b->space != space) continue;
    int initial = is_initial(r->graph, p, b);
    if (first ? b->begin == at && !initial : b->begin < at + initial && at < b->end) return i;
  }
  return -1;
}

static void draw_times(run *r, uint64_t *random) {
  const plim_space_plan *p = r->plan;
  static const int64_t length[] = {1, 1, 2, 5, 40, 400};
  for (int c = 0; c < p->n_commands; c++) {
    const plim_space_command *m = &p->command[c];
    r->begin[c] = 0;
    for (int k = 0; k < c; k++) {
      int follows = p->command[k].queue == m->queue;
      for (int w = 0; w < m->n_wait; w++) follows |= m->wait[w] == k;
      if (follows && r->end[k] > r->begin[c]) r->begin[c] = r->end[k];
    }
    r->end[c] = r->begin[c] + length[test_random_between(random, 0, 5)];
  }
}

static const char *read_one(run *r, int c, int32_t storage) {
  const plim_space_command *m = &r->plan->command[c];
  int b = find(r, storage, space_of(r->plan, m), c, 0);
  if (b < 0) return "a command reads what is not there";
  if (!is_initial(r->graph, r->plan, &r->plan->buffer[b]) && r->end[r->plan->buffer[b].begin] > r->begin[c])
    return "a command reads what is not filled yet";
  if (r->end[c] > r->used_until[b]) r->used_until[b] = r->end[c];
  return NULL;
}

static const char *write_one(run *r, int c, int32_t storage, int32_t space) {
  int b = find(r, storage, space, c, 1);
  if (b < 0) return "a command writes where no buffer begins";
  if (r->end[c] > r->used_until[b]) r->used_until[b] = r->end[c];
  return NULL;
}

static int updates(const run *r, int c, int32_t storage) {
  const plim_space_command *m = &r->plan->command[c];
  if (m->kind != PLIM_SPACE_COMMAND_RUN || m->op >= r->graph->n_ops) return 0;
  const plim_op *op = &r->graph->op[m->op];
  for (int i = 0; i < op->n_upd; i++) {
    if (r->graph->value[op->upd[i]].storage == storage) return 1;
  }
  return 0;
}

/* Updates that the buffer from which command c reads has seen when it does; -1: one is on its way. */
static int version_of(const run *r, int c, int b) {
  const plim_space_plan *p = r->plan;
  int seen = r->base[b];
  for (int u = 0; u < p->n_commands; u++) {
    if (u == c || !updates(r, u, p->buffer[b].storage)) continue;
    if (find(r, p->buffer[b].storage, space_of(p, &p->command[u]), u, 0) != b) continue;
    if (r->end[u] <= r->begin[c]) {
      seen++;
    } else if (r->begin[u] < r->end[c]) {
      return -1;
    }
  }
  return seen;
}

static const char *look_at_version(const run *r, int c, int32_t storage) {
  const plim_space_command *m = &r->plan->command[c];
  int wanted = 0;
  for (int o = 0; o < m->op; o++) {
    for (int i = 0; i < r->graph->op[o].n_upd; i++) {
      wanted += r->graph->value[r->graph->op[o].upd[i]].storage == storage;
    }
  }
  int seen = version_of(r, c, find(r, storage, space_of(r->plan, m), c, 0));
  return seen == wanted ? NULL : "a run reads another version than program order has";
}

static const char *run_command(run *r, int c) {
  const plim_space_command *m = &r->plan->command[c];
  const char *wrong = NULL;
  if (m->kind == PLIM_SPACE_COMMAND_COPY) {
    for (int i = 0; i < m->n_storages && !wrong; i++) {
      if (m->storage[i] >= r->graph->n_storages) return "a copy of a storage that is none";
      wrong = read_one(r, c, m->storage[i]);
      if (!wrong) wrong = write_one(r, c, m->storage[i], m->to);
      if (wrong) break;
      int seen = version_of(r, c, find(r, m->storage[i], m->from, c, 0));
      if (seen < 0) return "a copy beside an update of what it reads";
      r->base[find(r, m->storage[i], m->to, c, 1)] = seen;
    }
    return wrong;
  }
  if (m->op >= r->graph->n_ops) return "a run of an op that is none";
  const plim_op *op = &r->graph->op[m->op];
  for (int i = 0; i < op->n_in + op->n_upd && !wrong; i++) {
    int32_t storage = r->graph->value[i < op->n_in ? op->in[i] : op->upd[i - op->n_in]].storage;
    wrong = read_one(r, c, storage);
    if (!wrong) wrong = look_at_version(r, c, storage);
  }
  for (int i = 0; i < op->n_out && !wrong; i++) {
    wrong = write_one(r, c, r->graph->value[op->out[i]].storage, space_of(r->plan, m));
  }
  if (!wrong && workspace_of(r->graph, m->op) > 0) wrong = write_one(r, c, PLIM_WORKSPACE, space_of(r->plan, m));
  return wrong;
}

/* Bytes in use are most where a buffer begins. */
static const char *look_at_bytes(const run *r) {
  const plim_space_plan *p = r->plan;
  for (int i = 0; i < p->n_buffers; i++) {
    int64_t now = r->begin[p->buffer[i].begin], live = 0;
    for (int k = 0; k < p->n_buffers; k++) {
      if (p->buffer[k].space != p->buffer[i].space) continue;
      if (r->begin[p->buffer[k].begin] <= now && now < r->used_until[k]) live += p->buffer[k].bytes;
    }
    if (live > p->space[p->buffer[i].space].peak_bytes) return "more bytes are in use at once than the peak";
  }
  return NULL;
}

/* What does not depend on the speed. */
static const char *look_at_form(const plim_graph *g, const plim_space_plan *p) {
  int ran[MOST] = {0};
  for (int i = 0; i < p->n_buffers; i++) {
    const plim_space_buffer *b = &p->buffer[i];
    const plim_space_command *m = &p->command[b->begin];
    if (b->storage < 0) {
      int of_run = m->kind == PLIM_SPACE_COMMAND_RUN && m->op < g->n_ops && space_of(p, m) == b->space;
      if (!of_run || workspace_of(g, m->op) != b->bytes) return "a workspace that is none of its run";
      if (b->end != b->begin + 1) return "a workspace that outlives its run";
      continue;
    }
    if (b->storage >= g->n_storages || b->bytes != g->storage[b->storage].bytes) return "a buffer of the wrong size";
    if (is_initial(g, p, b)) continue;
    int filled = m->kind == PLIM_SPACE_COMMAND_COPY && m->to == b->space;
    for (int k = 0; filled && k < m->n_storages; k++) {
      if (m->storage[k] == b->storage) break;
      if (k + 1 == m->n_storages) filled = 0;
    }
    if (m->kind == PLIM_SPACE_COMMAND_RUN && m->op < g->n_ops) {
      filled =
          g->op[m->op].n_out > 0 && g->value[g->op[m->op].out[0]].storage == b->storage && space_of(p, m) == b->space;
    }
    if (!filled) return "a buffer that nothing fills";
  }
  for (int c = 0; c < p->n_commands; c++) {
    if (p->command[c].kind == PLIM_SPACE_COMMAND_RUN && p->command[c].op < g->n_ops) ran[p->command[c].op]++;
  }
  for (int o = 0; o < g->n_ops; o++) {
    if (!ran[o]) return "an op that never runs";
    int once = g->op[o].cls == PLIM_OP_EFFECT || g->op[o].cls == PLIM_OP_ONCE;
    if (once && ran[o] > 1) return "an op that runs once runs again";
  }
  for (int s = 0; s < p->n_spaces; s++) {
    if (p->space[s].peak_bytes > p->space[s].budget_bytes) return "a peak above its budget";
  }
  return NULL;
}

const char *space_interpret(const plim_graph *graph, const plim_space_plan *plan, uint64_t *random, int runs) {
  if (plan->n_commands > MOST || plan->n_buffers > MOST || graph->n_ops > MOST) return "too large for this interpreter";
  const char *wrong = look_at_form(graph, plan);
  for (int i = 0; i < runs && !wrong; i++) {
    run r = {.graph = graph, .plan = plan};
    draw_times(&r, random);
    for (int c = 0; c < plan->n_commands && !wrong; c++) wrong = run_command(&r, c);
    if (!wrong) wrong = look_at_bytes(&r);
  }
  return wrong;
}
