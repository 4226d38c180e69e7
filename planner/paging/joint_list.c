/* Between plans of a step and sequences of its problem over spaces.
 *
 * A sequence knows nodes, a list knows storages. So first each event gets the storages that it reads and fills: a
 * version is a storage in a space from the event that fills it. Then what nothing reads is found, from the last event
 * to the first. At last the events become commands.
 *
 * planner/spaces/problem/space_lower.c walks sequences in the same three steps. There a node has one output, a drop
 * ends it, a command may copy several, and waits and a plan come out. Here a node has several storages, results are
 * written over inputs, updates wait for their readers, and a list comes out, in which copies still move. */
#include "planner/paging/joint_problem.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/integers.h"

/* ---- from a plan ---- */

static int32_t device_of(const plim_joint_problem *j, int32_t space) {
  for (int32_t d = 0; d < j->platform->n_devices; d++) {
    if (j->platform->device[d].space == space) return d;
  }
  return -1;
}

static int has_spaces(const plim_joint_problem *j, const plim_plan *plan) {
  for (int32_t i = 0; i < plan->n_page_spaces; i++) {
    const plim_page_space *page = &plan->page[i];
    if (i + 1 >= j->spaces->n || page->computes != j->spaces->computes[i + 1]) return 0;
    if (strcmp(page->name, j->spaces->page[i].name) != 0) return 0;
  }
  return 1;
}

plim_status plim_joint_events(const plim_joint_problem *j, const plim_plan *plan, plim_space_events *out,
                              int32_t *known) {
  *known = has_spaces(j, plan);
  for (int32_t v = 0; v < j->n_given; v++) plim_space_events_add(out, PLIM_SPACE_RUN, v, 0);
  for (int32_t c = 0; c < plan->n_commands && *known; c++) {
    const plim_command *command = &plan->command[c];
    if (command->kind == PLIM_COMMAND_RUN) {
      int32_t node = j->n_given + command->op, device = device_of(j, command->space);
      *known = device >= 0 && plim_space_run_ns(j->problem, node, device) >= 0;
      if (*known) plim_space_events_add(out, PLIM_SPACE_RUN, node, device);
      continue;
    }
    int32_t node = j->node[command->storage], link = plim_platform_find_link(j->platform, command->from, command->to);
    *known = node >= 0 && link >= 0 && plim_space_copy_ns(j->problem, node, link) >= 0;
    if (*known) plim_space_events_add(out, PLIM_SPACE_COPY, node, link);
  }
  return out->status;
}

/* ---- versions ---- */

typedef struct version {
  int32_t storage, space, filler; /* event; -1: it is there from the start */
  int32_t source;                 /* of a copy: the version that it reads; -1: a run fills it */
  int32_t last;                   /* event that reads it last; -1: none does; n: it stays to the end */
  int32_t buffer;                 /* of the list; -1: none */
} version;

typedef struct list_maker {
  const plim_joint_problem *joint;
  const plim_graph *graph;
  const plim_plan *base;
  plim_command_list *list;
  int32_t n;               /* events */
  plim_space_event *event; /* [n] RUN and COPY */
  int32_t *latest;         /* [spaces][n_storages] version; -1: it is not there */
  version *version;        /* [n_versions] */
  int64_t n_versions, room_versions;
  int32_t *read; /* [n_reads] versions that the events read */
  int64_t n_reads, room_reads;
  int64_t *first_read, *first_version; /* [n + 1] of each event; versions there from the start are before those of 0 */
} list_maker;

static int32_t *latest_of(const list_maker *l, int32_t storage, int32_t space) {
  return &l->latest[(int64_t)space * l->graph->n_storages + storage];
}

static plim_status add_version(list_maker *l, int32_t storage, int32_t space, int32_t filler, int32_t source) {
  PLIM_TRY(plim_array_reserve(l->joint->ctx, &l->version, &l->room_versions, l->n_versions + 1, sizeof *l->version));
  l->version[l->n_versions] = (version){storage, space, filler, source, -1, -1};
  *latest_of(l, storage, space) = (int32_t)l->n_versions++;
  return PLIM_OK;
}

static plim_status add_read(list_maker *l, int32_t at) {
  PLIM_TRY(plim_array_reserve(l->joint->ctx, &l->read, &l->room_reads, l->n_reads + 1, sizeof *l->read));
  l->read[l->n_reads++] = at;
  return PLIM_OK;
}

static int32_t space_of_run(const list_maker *l, const plim_space_event *v) {
  return l->joint->platform->device[v->at].space;
}

static plim_status walk_run(list_maker *l, int32_t e, int32_t *fits) {
  const plim_space_event *v = &l->event[e];
  int32_t o = plim_joint_op(l->joint, v->node), space = space_of_run(l, v);
  if (o < 0) return PLIM_OK;
  const plim_op *op = &l->graph->op[o];
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (l->graph->storage[op->reads[i]].bytes == 0) continue;
    *fits &= *latest_of(l, op->reads[i], space) >= 0;
    if (!*fits) return PLIM_OK;
    PLIM_TRY(add_read(l, *latest_of(l, op->reads[i], space)));
  }
  for (int32_t i = 0; i < op->n_writes; i++) {
    if (l->graph->storage[op->writes[i]].bytes > 0) PLIM_TRY(add_version(l, op->writes[i], space, e, -1));
  }
  return PLIM_OK;
}

static plim_status walk_copy_of(list_maker *l, int32_t e, int32_t storage, int32_t from, int32_t to) {
  int32_t source = *latest_of(l, storage, from);
  if (source < 0 || l->graph->storage[storage].bytes == 0) return PLIM_OK;
  PLIM_TRY(add_read(l, source));
  return add_version(l, storage, to, e, source);
}

static plim_status walk_copy(list_maker *l, int32_t e) {
  const plim_space_event *v = &l->event[e];
  const plim_platform_link *link = &l->joint->platform->link[v->at];
  int32_t o = plim_joint_op(l->joint, v->node);
  if (o < 0) return walk_copy_of(l, e, l->joint->given[v->node], link->from, link->to);
  for (int32_t i = 0; i < l->graph->op[o].n_writes; i++) {
    PLIM_TRY(walk_copy_of(l, e, l->graph->op[o].writes[i], link->from, link->to));
  }
  return PLIM_OK;
}

static plim_status walk_events(list_maker *l, int32_t *fits) {
  memset(l->latest, -1, (size_t)l->graph->n_storages * (size_t)l->joint->spaces->n * sizeof *l->latest);
  for (int32_t s = 0; s < l->graph->n_storages; s++) {
    if (l->graph->storage[s].producer < 0 && l->graph->storage[s].bytes > 0) PLIM_TRY(add_version(l, s, 0, -1, -1));
  }
  for (int32_t e = 0; e < l->n && *fits; e++) {
    l->first_read[e] = l->n_reads;
    l->first_version[e] = l->n_versions;
    if (l->event[e].kind == PLIM_SPACE_RUN) PLIM_TRY(walk_run(l, e, fits));
    if (l->event[e].kind == PLIM_SPACE_COPY) PLIM_TRY(walk_copy(l, e));
    if (l->n_reads > INT32_MAX / 2 || l->n_versions > INT32_MAX / 2) {
      return plim_fail(l->joint->ctx, PLIM_EOVERFLOW, "the sequence has too many reads");
    }
  }
  l->first_read[l->n] = l->n_reads;
  l->first_version[l->n] = l->n_versions;
  return PLIM_OK;
}

/* Versions that are read; a copy that fills none of them reads nothing. An output of the graph has to be in space 0 at
 * the end. */
static void find_last_reads(list_maker *l, int32_t *fits) {
  for (int32_t s = 0; s < l->graph->n_storages; s++) {
    int32_t at = *latest_of(l, s, 0);
    if (l->graph->storage[s].role != PLIM_ROLE_OUTPUT || l->graph->storage[s].bytes == 0) continue;
    *fits &= at >= 0;
    if (at >= 0) l->version[at].last = l->n;
  }
  for (int32_t e = l->n - 1; e >= 0; e--) {
    if (l->event[e].kind == PLIM_SPACE_RUN) {
      for (int64_t i = l->first_read[e]; i < l->first_read[e + 1]; i++) {
        version *v = &l->version[l->read[i]];
        if (v->last < e) v->last = e;
      }
      continue;
    }
    for (int64_t i = l->first_version[e]; i < l->first_version[e + 1]; i++) {
      version *source = &l->version[l->version[i].source];
      if (l->version[i].last >= 0 && source->last < e) source->last = e;
    }
  }
}

/* ---- commands ---- */

static plim_status begin_given(list_maker *l) {
  for (int32_t i = 0; i < l->base->n_buffers; i++) {
    const plim_plan_buffer *b = &l->base->buffer[i];
    if (b->storage < 0 || b->space != 0 || l->graph->storage[b->storage].producer >= 0) continue;
    for (int64_t v = 0; v < l->n_versions; v++) {
      if (l->version[v].storage != b->storage || l->version[v].filler >= 0) continue;
      l->version[v].buffer = plim_command_list_add_buffer(l->list, b->storage, 0, -1, b->bytes, b->offset);
      PLIM_TRY(l->list->status);
      l->list->buffer[l->version[v].buffer].stays = plim_role_persistent(l->graph->storage[b->storage].role);
      break;
    }
  }
  return PLIM_OK;
}

static int32_t add_buffer(list_maker *l, version *v) {
  int64_t bytes = plim_align_up(l->graph->storage[v->storage].bytes, PLIM_ALIGN);
  v->buffer = plim_command_list_add_buffer(l->list, v->storage, v->space, l->list->n, bytes, -1);
  if (l->list->status == PLIM_OK) l->list->buffer[v->buffer].stays = v->last == l->n;
  return v->buffer;
}

/* The version of the storage that event e reads; -1: none. */
static int32_t version_read(const list_maker *l, int32_t e, int32_t storage) {
  for (int64_t i = l->first_read[e]; i < l->first_read[e + 1]; i++) {
    if (l->version[l->read[i]].storage == storage) return l->read[i];
  }
  return -1;
}

/* The buffer that the output is written over: of an input that nothing reads after event e; -1: none. The pair is noted
 * in the command. */
static int32_t take_pair(const list_maker *l, int32_t e, const plim_op *op, int32_t output, plim_command *command) {
  const plim_graph *g = l->graph;
  for (int32_t i = 0; i < op->n_pairs; i++) {
    plim_pair pair = op->pair[i];
    int32_t in = g->value[op->in[pair.in]].storage, taken = 0;
    if (g->value[op->out[pair.out]].storage != output || g->storage[in].producer < 0) continue;
    if (!plim_op_may_overwrite(g, op, pair)) continue;
    for (int32_t k = 0; k < command->n_pairs; k++) taken |= command->pair[k].in == pair.in;
    int32_t at = version_read(l, e, in);
    if (taken || at < 0 || l->version[at].last != e) continue;
    if (l->list->buffer[l->version[at].buffer].over >= 0) continue;
    command->pair[command->n_pairs++] = pair;
    return l->version[at].buffer;
  }
  return -1;
}

static plim_status add_run(list_maker *l, int32_t e) {
  const plim_space_event *v = &l->event[e];
  int32_t o = plim_joint_op(l->joint, v->node), space = space_of_run(l, v);
  if (o < 0) return PLIM_OK;
  const plim_op *op = &l->graph->op[o];
  const plim_variant *variant = &l->base->variant[l->joint->variant[o]].variant;
  int64_t workspace_bytes = plim_align_up(variant->workspace_bytes, PLIM_ALIGN);
  plim_command command = {.kind = PLIM_COMMAND_RUN,
                          .op = o,
                          .variant = l->joint->variant[o],
                          .space = space,
                          .queue = l->joint->spaces->run_queue[space]};
  for (int64_t i = l->first_read[e]; i < l->first_read[e + 1]; i++) {
    plim_command_list_add_use(l->list, l->version[l->read[i]].buffer, 0);
  }
  for (int64_t i = l->first_version[e]; i < l->first_version[e + 1]; i++) {
    int32_t over = take_pair(l, e, op, l->version[i].storage, &command), fresh = add_buffer(l, &l->version[i]);
    PLIM_TRY(l->list->status);
    if (over >= 0) plim_command_list_overwrite(l->list, over, fresh);
    plim_command_list_add_use(l->list, fresh, 1);
  }
  for (int32_t i = 0; i < op->n_updates; i++) {
    int32_t at = *latest_of(l, op->updates[i], 0);
    if (at >= 0) plim_command_list_add_use(l->list, l->version[at].buffer, 1);
  }
  if (workspace_bytes > 0) {
    plim_command_list_add_use(l->list,
                              plim_command_list_add_buffer(l->list, -1, space, l->list->n, workspace_bytes, -1), 1);
  }
  (void)plim_command_list_add(l->list, &command, variant->time_ns);
  return l->list->status;
}

static plim_status add_copies(list_maker *l, int32_t e) {
  for (int64_t i = l->first_version[e]; i < l->first_version[e + 1]; i++) {
    version *to = &l->version[i];
    const version *from = &l->version[to->source];
    if (to->last < 0) continue;
    const plim_command command = {.kind = PLIM_COMMAND_COPY,
                                  .queue = l->joint->spaces->copy_queue[from->space][to->space],
                                  .storage = to->storage,
                                  .from = from->space,
                                  .to = to->space};
    int64_t bytes = l->graph->storage[to->storage].bytes;
    plim_command_list_add_use(l->list, from->buffer, 0);
    plim_command_list_add_use(l->list, add_buffer(l, to), 1);
    (void)plim_command_list_add(l->list, &command, plim_queue_copy_ns(l->joint->spaces, from->space, to->space, bytes));
    PLIM_TRY(l->list->status);
  }
  return PLIM_OK;
}

static plim_status add_commands(list_maker *l) {
  PLIM_TRY(begin_given(l));
  for (int32_t e = 0; e < l->n; e++) {
    PLIM_TRY(l->event[e].kind == PLIM_SPACE_RUN ? add_run(l, e) : add_copies(l, e));
  }
  return PLIM_OK;
}

/* ---- order ---- */

typedef struct keyed {
  int64_t key;
  plim_space_event event;
} keyed;

/* Several updates have one key where they wait for the same event: program order then, which nodes have. */
static int by_key(const void *a, const void *b) {
  const keyed *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return plim_integers_compare(x->event.node, y->event.node);
}

/* Event e has the key 2 e. An update that runs too early has the next odd key after what it waits for. */
typedef struct key_table {
  keyed *row;       /* [events] */
  int64_t *last;    /* [n_storages] greatest key of what touched a storage so far, in program order */
  int32_t *effects; /* [n_ops] the event of an op that updates; -1: none */
} key_table;

/* Keys of what updates nothing, which stays where it is. */
static void set_own_keys(const list_maker *l, const key_table *keys) {
  memset(keys->last, 0, (size_t)l->graph->n_storages * sizeof *keys->last);
  memset(keys->effects, -1, (size_t)l->graph->n_ops * sizeof *keys->effects);
  for (int32_t e = 0; e < l->n; e++) {
    int32_t o = l->event[e].kind == PLIM_SPACE_RUN ? plim_joint_op(l->joint, l->event[e].node) : -1;
    keys->row[e] = (keyed){2 * (int64_t)e, l->event[e]};
    if (o >= 0 && l->graph->op[o].n_updates > 0) {
      keys->effects[o] = e;
    } else if (o >= 0) {
      for (int32_t i = 0; i < l->graph->op[o].n_reads; i++) keys->last[l->graph->op[o].reads[i]] = 2 * (int64_t)e;
    }
  }
}

/* An update follows all that read the version before it, and the update of that version. */
static void set_update_key(const plim_op *op, const key_table *keys, int64_t *key) {
  for (int32_t i = 0; i < op->n_updates; i++) {
    if (keys->last[op->updates[i]] > *key) *key = keys->last[op->updates[i]] | 1;
  }
  for (int32_t i = 0; i < op->n_updates; i++) keys->last[op->updates[i]] = *key;
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (keys->last[op->reads[i]] < *key) keys->last[op->reads[i]] = *key;
  }
}

/* Updates that run before a reader of the old version, or before an earlier update, move after it. */
static plim_status delay_updates(list_maker *l) {
  key_table keys = {0};
  plim_status status;
  PLIM_CHECK(plim_allocate(l->joint->ctx, l->graph->n_storages, sizeof *keys.last, &keys.last));
  PLIM_CHECK(plim_allocate(l->joint->ctx, l->graph->n_ops, sizeof *keys.effects, &keys.effects));
  PLIM_CHECK(plim_allocate(l->joint->ctx, l->n, sizeof *keys.row, &keys.row));
  set_own_keys(l, &keys);
  for (int32_t o = 0; o < l->graph->n_ops; o++) {
    if (keys.effects[o] >= 0) set_update_key(&l->graph->op[o], &keys, &keys.row[keys.effects[o]].key);
  }
  qsort(keys.row, (size_t)l->n, sizeof *keys.row, by_key);
  for (int32_t e = 0; e < l->n; e++) l->event[e] = keys.row[e].event;
done:
  plim_release(l->joint->ctx, keys.last, l->graph->n_storages, sizeof *keys.last);
  plim_release(l->joint->ctx, keys.effects, l->graph->n_ops, sizeof *keys.effects);
  plim_release(l->joint->ctx, keys.row, l->n, sizeof *keys.row);
  return status;
}

/* ---- all of it ---- */

static plim_status make_list(list_maker *l, int32_t *fits) {
  *fits = 1;
  PLIM_TRY(delay_updates(l));
  PLIM_TRY(walk_events(l, fits));
  if (!*fits) return PLIM_OK;
  find_last_reads(l, fits);
  return *fits ? add_commands(l) : PLIM_OK;
}

plim_status plim_joint_list(const plim_joint_problem *j, const plim_space_events *events, const plim_plan *base,
                            plim_command_list *list, int32_t *fits) {
  plim_context *ctx = j->ctx;
  list_maker l = {.joint = j, .graph = j->graph, .base = base, .list = list};
  int64_t cells = (int64_t)j->graph->n_storages * j->spaces->n;
  plim_status status;
  if (events->n >= INT32_MAX) return plim_fail(ctx, PLIM_EOVERFLOW, "the sequence has too many events");
  PLIM_CHECK(plim_allocate(ctx, events->n, sizeof *l.event, &l.event));
  PLIM_CHECK(plim_allocate(ctx, events->n + 1, sizeof *l.first_read, &l.first_read));
  PLIM_CHECK(plim_allocate(ctx, events->n + 1, sizeof *l.first_version, &l.first_version));
  PLIM_CHECK(plim_allocate(ctx, cells, sizeof *l.latest, &l.latest));
  for (int64_t e = 0; e < events->n; e++) {
    plim_space_event v = events->event[e];
    if (v.kind == PLIM_SPACE_DROP) continue;
    if (v.kind == PLIM_SPACE_JOIN) v.kind = PLIM_SPACE_COPY;
    l.event[l.n++] = v;
  }
  PLIM_CHECK(make_list(&l, fits));
done:
  plim_release(ctx, l.event, events->n, sizeof *l.event);
  plim_release(ctx, l.first_read, events->n + 1, sizeof *l.first_read);
  plim_release(ctx, l.first_version, events->n + 1, sizeof *l.first_version);
  plim_release(ctx, l.latest, cells, sizeof *l.latest);
  plim_release(ctx, l.version, l.room_versions, sizeof *l.version);
  plim_release(ctx, l.read, l.room_reads, sizeof *l.read);
  return status;
}
