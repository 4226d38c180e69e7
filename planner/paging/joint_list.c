/* Turns plans of a training step into sequences of its problem over spaces, and sequences into command lists.
 *
 * A sequence has nodes, a list has storages. A version is a storage in a space, from the event that fills it on. First
 * each event gets the versions that it reads and fills. Then the last reader of each version is found, from the last
 * event to the first: what nothing reads gets no command. At last the events become commands.
 *
 * Example: f reads the parameter w, u updates it, and the sequence is f, u, f'. A sequence knows no versions: the
 * second run of f must see w as the first did, so u moves after it: f, f', u.
 *
 * planner/spaces/problem/space_lower.c walks sequences in the same three steps. There a node has one output, a drop
 * ends it, a command may copy several, and waits and a plan come out. Here a node has several storages, results are
 * written over inputs, updates wait for their readers, and a list comes out, in which copies still move. */
#include "planner/paging/paging_internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/integers.h"

/* ---- from a plan ---- */

static int32_t device_of(const plim_joint_problem *joint, int32_t space) {
  for (int32_t d = 0; d < joint->platform->n_devices; d++) {
    if (joint->platform->device[d].space == space) return d;
  }
  return -1;
}

static int has_spaces(const plim_joint_problem *joint, const plim_plan *plan) {
  for (int32_t i = 0; i < plan->n_page_spaces; i++) {
    const plim_plan_space *page = &plan->page[i];
    if (i + 1 >= joint->spaces->n || page->computes != joint->spaces->computes[i + 1]) return 0;
    if (strcmp(page->name, joint->spaces->page[i].name) != 0) return 0;
  }
  return 1;
}

plim_status plim_joint_events(const plim_joint_problem *joint, const plim_plan *plan, plim_space_events *out,
                              int32_t *known) {
  *known = has_spaces(joint, plan);
  for (int32_t v = 0; v < joint->n_given; v++) plim_space_events_add(out, PLIM_SPACE_RUN, v, 0);
  for (int32_t c = 0; c < plan->n_commands && *known; c++) {
    const plim_command *command = &plan->command[c];
    if (command->kind == PLIM_COMMAND_RUN) {
      int32_t node = joint->n_given + command->op, device = device_of(joint, command->space);
      *known = device >= 0 && plim_space_run_ns(joint->problem, node, device) >= 0;
      if (*known) plim_space_events_add(out, PLIM_SPACE_RUN, node, device);
      continue;
    }
    int32_t node = joint->node[command->storage],
            link = plim_platform_find_link(joint->platform, command->from, command->to);
    *known = node >= 0 && link >= 0 && plim_space_copy_ns(joint->problem, node, link) >= 0;
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

typedef struct list_pass {
  const plim_joint_problem *joint;
  const plim_graph *graph;
  const plim_plan *base;
  plim_command_list *list;
  int32_t n;               /* events */
  plim_space_event *event; /* [n] RUN and COPY */
  int32_t *latest;         /* [spaces][n_storages] version; -1: it is not there */
  version *version;        /* [n_versions] */
  int64_t n_versions, version_capacity;
  int32_t *read; /* [n_reads] versions that the events read */
  int64_t n_reads, read_capacity;
  int64_t *first_read, *first_version; /* [n + 1] of each event; versions there from the start are before those of 0 */
} list_pass;

static int32_t *latest_of(const list_pass *pass, int32_t storage, int32_t space) {
  return &pass->latest[(int64_t)space * pass->graph->n_storages + storage];
}

static plim_status add_version(list_pass *pass, int32_t storage, int32_t space, int32_t filler, int32_t source) {
  PLIM_TRY(plim_array_reserve(pass->joint->ctx, &pass->version, &pass->version_capacity, pass->n_versions + 1,
                              sizeof *pass->version));
  pass->version[pass->n_versions] = (version){storage, space, filler, source, -1, -1};
  *latest_of(pass, storage, space) = (int32_t)pass->n_versions++;
  return PLIM_OK;
}

static plim_status add_read(list_pass *pass, int32_t at) {
  PLIM_TRY(
      plim_array_reserve(pass->joint->ctx, &pass->read, &pass->read_capacity, pass->n_reads + 1, sizeof *pass->read));
  pass->read[pass->n_reads++] = at;
  return PLIM_OK;
}

static int32_t space_of_run(const list_pass *pass, const plim_space_event *v) {
  return pass->joint->platform->device[v->at].space;
}

static plim_status walk_run(list_pass *pass, int32_t e, int32_t *fits) {
  const plim_space_event *v = &pass->event[e];
  int32_t o = plim_joint_op(pass->joint, v->node), space = space_of_run(pass, v);
  if (o < 0) return PLIM_OK;
  const plim_op *op = &pass->graph->op[o];
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (pass->graph->storage[op->reads[i]].bytes == 0) continue;
    *fits &= *latest_of(pass, op->reads[i], space) >= 0;
    if (!*fits) return PLIM_OK;
    PLIM_TRY(add_read(pass, *latest_of(pass, op->reads[i], space)));
  }
  for (int32_t i = 0; i < op->n_writes; i++) {
    if (pass->graph->storage[op->writes[i]].bytes > 0) PLIM_TRY(add_version(pass, op->writes[i], space, e, -1));
  }
  return PLIM_OK;
}

static plim_status walk_copy_of(list_pass *pass, int32_t e, int32_t storage, int32_t from, int32_t to) {
  int32_t source = *latest_of(pass, storage, from);
  if (source < 0 || pass->graph->storage[storage].bytes == 0) return PLIM_OK;
  PLIM_TRY(add_read(pass, source));
  return add_version(pass, storage, to, e, source);
}

static plim_status walk_copy(list_pass *pass, int32_t e) {
  const plim_space_event *v = &pass->event[e];
  const plim_platform_link *link = &pass->joint->platform->link[v->at];
  int32_t o = plim_joint_op(pass->joint, v->node);
  if (o < 0) return walk_copy_of(pass, e, pass->joint->given[v->node], link->from, link->to);
  for (int32_t i = 0; i < pass->graph->op[o].n_writes; i++) {
    PLIM_TRY(walk_copy_of(pass, e, pass->graph->op[o].writes[i], link->from, link->to));
  }
  return PLIM_OK;
}

static plim_status walk_events(list_pass *pass, int32_t *fits) {
  memset(pass->latest, -1, (size_t)pass->graph->n_storages * (size_t)pass->joint->spaces->n * sizeof *pass->latest);
  for (int32_t s = 0; s < pass->graph->n_storages; s++) {
    if (pass->graph->storage[s].producer < 0 && pass->graph->storage[s].bytes > 0)
      PLIM_TRY(add_version(pass, s, 0, -1, -1));
  }
  for (int32_t e = 0; e < pass->n && *fits; e++) {
    pass->first_read[e] = pass->n_reads;
    pass->first_version[e] = pass->n_versions;
    if (pass->event[e].kind == PLIM_SPACE_RUN) PLIM_TRY(walk_run(pass, e, fits));
    if (pass->event[e].kind == PLIM_SPACE_COPY) PLIM_TRY(walk_copy(pass, e));
    if (pass->n_reads > INT32_MAX / 2 || pass->n_versions > INT32_MAX / 2) {
      return plim_fail(pass->joint->ctx, PLIM_EOVERFLOW, "the sequence has too many reads");
    }
  }
  pass->first_read[pass->n] = pass->n_reads;
  pass->first_version[pass->n] = pass->n_versions;
  return PLIM_OK;
}

/* Find the last event that reads each version. A copy reads nothing where nothing reads what it fills. An output of the
 * graph must be in space 0 at the end. */
static void find_last_reads(list_pass *pass, int32_t *fits) {
  for (int32_t s = 0; s < pass->graph->n_storages; s++) {
    int32_t at = *latest_of(pass, s, 0);
    if (pass->graph->storage[s].role != PLIM_ROLE_OUTPUT || pass->graph->storage[s].bytes == 0) continue;
    *fits &= at >= 0;
    if (at >= 0) pass->version[at].last = pass->n;
  }
  for (int32_t e = pass->n - 1; e >= 0; e--) {
    if (pass->event[e].kind == PLIM_SPACE_RUN) {
      for (int64_t i = pass->first_read[e]; i < pass->first_read[e + 1]; i++) {
        version *v = &pass->version[pass->read[i]];
        if (v->last < e) v->last = e;
      }
      continue;
    }
    for (int64_t i = pass->first_version[e]; i < pass->first_version[e + 1]; i++) {
      version *source = &pass->version[pass->version[i].source];
      if (pass->version[i].last >= 0 && source->last < e) source->last = e;
    }
  }
}

/* ---- commands ---- */

static plim_status begin_given(list_pass *pass) {
  for (int32_t i = 0; i < pass->base->n_buffers; i++) {
    const plim_plan_buffer *b = &pass->base->buffer[i];
    if (b->storage < 0 || b->space != 0 || pass->graph->storage[b->storage].producer >= 0) continue;
    for (int64_t v = 0; v < pass->n_versions; v++) {
      if (pass->version[v].storage != b->storage || pass->version[v].filler >= 0) continue;
      pass->version[v].buffer = plim_command_list_add_buffer(pass->list, b->storage, 0, -1, b->bytes, b->offset);
      PLIM_TRY(pass->list->status);
      pass->list->buffer[pass->version[v].buffer].stays = plim_role_persistent(pass->graph->storage[b->storage].role);
      break;
    }
  }
  return PLIM_OK;
}

static int32_t add_buffer(list_pass *pass, version *v) {
  int64_t bytes = plim_align_up(pass->graph->storage[v->storage].bytes, PLIM_ALIGN);
  v->buffer = plim_command_list_add_buffer(pass->list, v->storage, v->space, pass->list->n, bytes, -1);
  if (pass->list->status == PLIM_OK) pass->list->buffer[v->buffer].stays = v->last == pass->n;
  return v->buffer;
}

/* The version of the storage that event e reads; -1: none. */
static int32_t version_read(const list_pass *pass, int32_t e, int32_t storage) {
  for (int64_t i = pass->first_read[e]; i < pass->first_read[e + 1]; i++) {
    if (pass->version[pass->read[i]].storage == storage) return pass->read[i];
  }
  return -1;
}

/* Choose an input that the output overwrites, and add the pair to the command. Nothing reads the input after event e.
 * Returns the buffer of the input; -1: there is none. */
static int32_t choose_pair(const list_pass *pass, int32_t e, const plim_op *op, int32_t output, plim_command *command) {
  const plim_graph *g = pass->graph;
  for (int32_t i = 0; i < op->n_pairs; i++) {
    plim_pair pair = op->pair[i];
    int32_t in = g->value[op->in[pair.in]].storage, taken = 0;
    if (g->value[op->out[pair.out]].storage != output || g->storage[in].producer < 0) continue;
    if (!plim_op_may_overwrite(g, op, pair)) continue;
    for (int32_t k = 0; k < command->n_pairs; k++) taken |= command->pair[k].in == pair.in;
    int32_t at = version_read(pass, e, in);
    if (taken || at < 0 || pass->version[at].last != e) continue;
    if (pass->list->buffer[pass->version[at].buffer].over >= 0) continue;
    command->pair[command->n_pairs++] = pair;
    return pass->version[at].buffer;
  }
  return -1;
}

static plim_status add_run(list_pass *pass, int32_t e) {
  const plim_space_event *v = &pass->event[e];
  int32_t o = plim_joint_op(pass->joint, v->node), space = space_of_run(pass, v);
  if (o < 0) return PLIM_OK;
  const plim_op *op = &pass->graph->op[o];
  const plim_variant *variant = &pass->base->variant[pass->joint->variant[o]].variant;
  int64_t workspace_bytes = plim_align_up(variant->workspace_bytes, PLIM_ALIGN);
  plim_command command = {.kind = PLIM_COMMAND_RUN,
                          .op = o,
                          .variant = pass->joint->variant[o],
                          .space = space,
                          .queue = pass->joint->spaces->run_queue[space]};
  for (int64_t i = pass->first_read[e]; i < pass->first_read[e + 1]; i++) {
    plim_command_list_add_use(pass->list, pass->version[pass->read[i]].buffer, 0);
  }
  for (int64_t i = pass->first_version[e]; i < pass->first_version[e + 1]; i++) {
    int32_t over = choose_pair(pass, e, op, pass->version[i].storage, &command),
            fresh = add_buffer(pass, &pass->version[i]);
    PLIM_TRY(pass->list->status);
    if (over >= 0) plim_command_list_overwrite(pass->list, over, fresh);
    plim_command_list_add_use(pass->list, fresh, 1);
  }
  for (int32_t i = 0; i < op->n_updates; i++) {
    int32_t at = *latest_of(pass, op->updates[i], 0);
    if (at >= 0) plim_command_list_add_use(pass->list, pass->version[at].buffer, 1);
  }
  plim_command_list_add_workspace(pass->list, space, workspace_bytes, -1);
  (void)plim_command_list_add(pass->list, &command, variant->time_ns);
  return pass->list->status;
}

static plim_status add_copies(list_pass *pass, int32_t e) {
  for (int64_t i = pass->first_version[e]; i < pass->first_version[e + 1]; i++) {
    version *to = &pass->version[i];
    const version *from = &pass->version[to->source];
    if (to->last < 0) continue;
    const plim_command command = {.kind = PLIM_COMMAND_COPY,
                                  .queue = pass->joint->spaces->copy_queue[from->space][to->space],
                                  .storage = to->storage,
                                  .from = from->space,
                                  .to = to->space};
    int64_t bytes = pass->graph->storage[to->storage].bytes;
    plim_command_list_add_use(pass->list, from->buffer, 0);
    plim_command_list_add_use(pass->list, add_buffer(pass, to), 1);
    (void)plim_command_list_add(pass->list, &command,
                                plim_queue_copy_ns(pass->joint->spaces, from->space, to->space, bytes));
    PLIM_TRY(pass->list->status);
  }
  return PLIM_OK;
}

static plim_status add_commands(list_pass *pass) {
  PLIM_TRY(begin_given(pass));
  for (int32_t e = 0; e < pass->n; e++) {
    PLIM_TRY(pass->event[e].kind == PLIM_SPACE_RUN ? add_run(pass, e) : add_copies(pass, e));
  }
  return PLIM_OK;
}

/* ---- order ---- */

typedef struct keyed_event {
  int64_t key;
  plim_space_event event;
} keyed_event;

/* Updates that wait for the same event have equal keys. Nodes are in program order, so that decides among them. */
static int by_key(const void *a, const void *b) {
  const keyed_event *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return plim_integers_compare(x->event.node, y->event.node);
}

/* Sorting by keys moves updates. Event e has the key 2 e, and so stays. An update that runs too early has the odd key
 * that follows the key of what it waits for. */
typedef struct key_table {
  keyed_event *row; /* [events] */
  int64_t *last;    /* [n_storages] greatest key of what touched a storage so far, in program order */
  int32_t *effects; /* [n_ops] the event of an op that updates; -1: none */
} key_table;

/* Set the keys of all events, and list the updates. Note the last reader of each storage. */
static void set_own_keys(const list_pass *pass, const key_table *keys) {
  memset(keys->last, 0, (size_t)pass->graph->n_storages * sizeof *keys->last);
  memset(keys->effects, -1, (size_t)pass->graph->n_ops * sizeof *keys->effects);
  for (int32_t e = 0; e < pass->n; e++) {
    int32_t o = pass->event[e].kind == PLIM_SPACE_RUN ? plim_joint_op(pass->joint, pass->event[e].node) : -1;
    keys->row[e] = (keyed_event){2 * (int64_t)e, pass->event[e]};
    if (o >= 0 && pass->graph->op[o].n_updates > 0) {
      keys->effects[o] = e;
    } else if (o >= 0) {
      for (int32_t i = 0; i < pass->graph->op[o].n_reads; i++) keys->last[pass->graph->op[o].reads[i]] = 2 * (int64_t)e;
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

/* Move updates after the readers of the version before them, and after earlier updates. */
static plim_status delay_updates(list_pass *pass) {
  key_table keys = {0};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(pass->joint->ctx, pass->graph->n_storages, sizeof *keys.last, &keys.last));
  PLIM_TRY_OR_DONE(plim_allocate(pass->joint->ctx, pass->graph->n_ops, sizeof *keys.effects, &keys.effects));
  PLIM_TRY_OR_DONE(plim_allocate(pass->joint->ctx, pass->n, sizeof *keys.row, &keys.row));
  set_own_keys(pass, &keys);
  for (int32_t o = 0; o < pass->graph->n_ops; o++) {
    if (keys.effects[o] >= 0) set_update_key(&pass->graph->op[o], &keys, &keys.row[keys.effects[o]].key);
  }
  qsort(keys.row, (size_t)pass->n, sizeof *keys.row, by_key);
  for (int32_t e = 0; e < pass->n; e++) pass->event[e] = keys.row[e].event;
done:
  plim_release(pass->joint->ctx, keys.last, pass->graph->n_storages, sizeof *keys.last);
  plim_release(pass->joint->ctx, keys.effects, pass->graph->n_ops, sizeof *keys.effects);
  plim_release(pass->joint->ctx, keys.row, pass->n, sizeof *keys.row);
  return status;
}

/* ---- the whole ---- */

static plim_status make_list(list_pass *pass, int32_t *fits) {
  *fits = 1;
  PLIM_TRY(delay_updates(pass));
  PLIM_TRY(walk_events(pass, fits));
  if (!*fits) return PLIM_OK;
  find_last_reads(pass, fits);
  return *fits ? add_commands(pass) : PLIM_OK;
}

plim_status plim_joint_list(const plim_joint_problem *joint, const plim_space_events *events, const plim_plan *base,
                            plim_command_list *list, int32_t *fits) {
  plim_context *ctx = joint->ctx;
  list_pass pass = {.joint = joint, .graph = joint->graph, .base = base, .list = list};
  int64_t cells = (int64_t)joint->graph->n_storages * joint->spaces->n;
  plim_status status;
  if (events->n >= INT32_MAX) return plim_fail(ctx, PLIM_EOVERFLOW, "the sequence has too many events");
  PLIM_TRY_OR_DONE(plim_allocate(ctx, events->n, sizeof *pass.event, &pass.event));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, events->n + 1, sizeof *pass.first_read, &pass.first_read));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, events->n + 1, sizeof *pass.first_version, &pass.first_version));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, cells, sizeof *pass.latest, &pass.latest));
  for (int64_t e = 0; e < events->n; e++) {
    plim_space_event v = events->event[e];
    if (v.kind == PLIM_SPACE_DROP) continue;
    if (v.kind == PLIM_SPACE_JOIN) v.kind = PLIM_SPACE_COPY;
    pass.event[pass.n++] = v;
  }
  PLIM_TRY_OR_DONE(make_list(&pass, fits));
done:
  plim_release(ctx, pass.event, events->n, sizeof *pass.event);
  plim_release(ctx, pass.first_read, events->n + 1, sizeof *pass.first_read);
  plim_release(ctx, pass.first_version, events->n + 1, sizeof *pass.first_version);
  plim_release(ctx, pass.latest, cells, sizeof *pass.latest);
  plim_release(ctx, pass.version, pass.version_capacity, sizeof *pass.version);
  plim_release(ctx, pass.read, pass.read_capacity, sizeof *pass.read);
  return status;
}
