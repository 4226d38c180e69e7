/* Answers as objects: commands, tensors, decisions, trees of what is recomputed. */
#include "runtime/base/size.h"
#include "tools/plimsoll/trace/trace_run.h"

/* ==== commands and tensors ==== */

void trace_json_print(json_t *object, FILE *to) {
  (void)json_dumpf(object, to, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  (void)fprintf(to, "\n");
  (void)fflush(to);
  json_decref(object);
}

static json_t *storage_json(const traced *t, int32_t storage) {
  return storage < 0 ? json_null() : json_string(plim_inspect_name(t->inspect, storage));
}

static json_t *op_json(const traced *t, int32_t op) {
  return op < 0 ? json_null() : json_string(traced_op(t, op));
}

static void add(json_t *object, const char *key, json_t *value) {
  (void)json_object_set_new(object, key, value);
}

static json_t *command_or_null(int32_t command) {
  return command < 0 ? json_null() : json_integer(command);
}

static json_t *bytes_or_null(int64_t bytes) {
  return bytes < 0 ? json_null() : json_integer(bytes);
}

/* ---- absences ---- */

static json_t *instead_json(const traced *t, const plim_absence *a) {
  if (a->other < 0) return json_null();
  return json_pack("{s:o, s:I, s:I}", "tensor", storage_json(t, a->other), "bytes", (json_int_t)a->other_bytes,
                   "time_ns", (json_int_t)a->other_ns);
}

static json_t *absence_json(const traced *t, int32_t storage, const plim_absence *a) {
  static const char *const breaks[] = {
      [PLIM_BREAKS_NOTHING] = "nothing", [PLIM_BREAKS_BUDGET] = "budget", [PLIM_BREAKS_ADDRESSES] = "addresses"};
  const plim_decision *by = traced_eviction(t, storage, a);
  json_t *o = json_pack("{s:o, s:i, s:i, s:s}", "tensor", storage_json(t, storage), "gone", (int)a->gone, "back",
                        (int)a->back, "breaks", breaks[a->breaks]);
  add(o, "full_command", command_or_null(a->full_command));
  add(o, "full_op", a->full_command < 0 ? json_null() : json_string(traced_op_name(t, a->full_command)));
  add(o, "over_bytes", json_integer(a->over_bytes));
  add(o, "free_address", bytes_or_null(a->free_offset));
  add(o, "taker", storage_json(t, a->blocker));
  add(o, "again_ns", json_integer(a->again_ns));
  add(o, "again_runs", json_integer(a->again_runs));
  add(o, "again_depth", json_integer(a->again_depth));
  add(o, "along", storage_json(t, a->sibling));
  add(o, "instead", instead_json(t, a));
  add(o, "evicted_at", by ? json_integer(by->command) : json_null());
  add(o, "evicted_for_op", by ? op_json(t, by->request.op) : json_null());
  add(o, "evicted_for", by ? storage_json(t, by->request.storage) : json_null());
  return o;
}

static plim_status absences_json(const traced *t, int32_t command, json_t *list) {
  for (int32_t s = 0; s < t->graph->n_storages; s++) {
    plim_absence a;
    PLIM_TRY(plim_inspect_absence(t->inspect, s, command, &a));
    if (a.kind == PLIM_ABSENT_DROPPED) (void)json_array_append_new(list, absence_json(t, s, &a));
  }
  return PLIM_OK;
}

/* ==== why ==== */

/* Decisions of an online run, and trees of what is recomputed, as objects. */

/* ---- blocks ---- */

static const char *state_name(plim_arena_block_state state) {
  static const char *const name[] = {
      [PLIM_ARENA_BLOCK_UNUSED] = "free",           [PLIM_ARENA_BLOCK_EVICTABLE] = "may go",
      [PLIM_ARENA_BLOCK_PERSISTENT] = "persistent", [PLIM_ARENA_BLOCK_INPUT] = "input",
      [PLIM_ARENA_BLOCK_SMALL] = "small",           [PLIM_ARENA_BLOCK_PINNED] = "pinned",
      [PLIM_ARENA_BLOCK_TOO_LATE] = "too late",
  };
  return name[state];
}

static json_t *block_json(const traced *t, const plim_decision_block *p) {
  json_t *o = json_pack("{s:I, s:I, s:s, s:o}", "address", (json_int_t)p->offset, "bytes", (json_int_t)p->bytes,
                        "state", state_name(p->state), "tensor", storage_json(t, p->storage));
  if (p->state == PLIM_ARENA_BLOCK_PINNED) (void)json_object_set_new(o, "by", op_json(t, p->by));
  if (p->state == PLIM_ARENA_BLOCK_TOO_LATE) (void)json_object_set_new(o, "by", storage_json(t, p->by));
  if (p->state != PLIM_ARENA_BLOCK_EVICTABLE) return o;
  (void)json_object_set_new(o, "score", json_real(p->score));
  (void)json_object_set_new(o, "own_ns", json_integer(p->own_ns));
  (void)json_object_set_new(o, "missing_ns", json_integer(p->neighbour_ns));
  (void)json_object_set_new(o, "distance_ns", json_integer(p->distance_ns));
  (void)json_object_set_new(o, "unused_ns", json_integer(p->stale_ns));
  return o;
}

static json_t *blocks_json(const traced *t, const plim_decision_reasons *why) {
  json_t *list = json_array();
  for (int32_t i = 0; i < why->n_blocks; i++) (void)json_array_append_new(list, block_json(t, &why->block[i]));
  return list;
}

/* ---- windows ---- */

static json_t *window_json(const plim_decision_reasons *why, const plim_decision_window *w) {
  return json_pack("{s:i, s:i, s:I, s:I, s:I, s:f, s:f}", "begin", (int)w->begin, "end", (int)w->end, "address",
                   (json_int_t)why->block[w->begin].offset, "bytes", (json_int_t)w->bytes, "evicts_bytes",
                   (json_int_t)w->evicted_bytes, "score", w->together, "score_of_blocks", w->score);
}

static json_t *windows_json(const plim_decision_reasons *why) {
  json_t *list = json_array();
  for (int32_t i = 0; i < why->n_windows; i++) (void)json_array_append_new(list, window_json(why, &why->window[i]));
  return list;
}

static json_t *block_or_null(int32_t block) {
  return block < 0 ? json_null() : json_integer(block);
}

/* ---- decisions ---- */

static json_t *evicted_json(const traced *t, const plim_decision *c) {
  json_t *list = json_array();
  for (int32_t i = 0; i < c->n_evicted; i++) (void)json_array_append_new(list, storage_json(t, c->evicted[i]));
  return list;
}

/* Nothing could go: how much would have done. */
static plim_status add_way_out(const traced *t, const plim_decision_reasons *why, json_t *o) {
  int64_t bytes;
  (void)json_object_set_new(o, "extra_bytes", json_integer(why->extra_bytes));
  PLIM_TRY(plim_decision_log_enough(t->decisions, 2 * t->plan->budget_bytes + why->extra_bytes, &bytes));
  (void)json_object_set_new(o, "enough_bytes", bytes < 0 ? json_null() : json_integer(bytes));
  return PLIM_OK;
}

static plim_status add_decision(const traced *t, const plim_decision *c, int32_t id, json_t *list) {
  const plim_decision_reasons *why;
  PLIM_TRY(plim_decision_log_explain(t->decisions, id, &why));
  json_t *o = json_pack("{s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "op", op_json(t, c->request.op), "tensor",
                        storage_json(t, c->request.storage), "bytes", (json_int_t)c->request.bytes, "free_bytes",
                        (json_int_t)why->free_bytes, "largest_free_bytes", (json_int_t)why->largest_free_bytes,
                        "evicted", evicted_json(t, c), "windows", windows_json(why), "taken", block_or_null(why->taken),
                        "runner_up", block_or_null(why->runner_up), "blocks", blocks_json(t, why));
  (void)json_array_append_new(list, o);
  return c->n_evicted == 0 ? add_way_out(t, why, o) : PLIM_OK;
}

static plim_status decisions_json(const traced *t, int32_t command, json_t **out) {
  const plim_decision *choice;
  int32_t first, n = traced_choices(t, command, &choice, &first);
  json_t *list = json_array();
  plim_status status = PLIM_OK;
  for (int32_t i = 0; i < n && status == PLIM_OK; i++) status = add_decision(t, &choice[i], first + i, list);
  if (status == PLIM_OK) {
    *out = list;
  } else {
    json_decref(list);
  }
  return status;
}

/* ---- the tree ---- */

static json_t *tree_json(const traced *t, int32_t command) {
  int32_t begin, root = traced_tree(t, command, &begin);
  json_t *runs = json_array();
  int64_t sum_ns = 0;
  if (begin == root) {
    json_decref(runs);
    return json_null();
  }
  for (int32_t j = begin; j < root; j++) {
    sum_ns += traced_planned_ns(t, j);
    (void)json_array_append_new(runs, json_pack("{s:i, s:s, s:i, s:I}", "command", (int)j, "op", traced_op_name(t, j),
                                                "depth", (int)plim_decision_log_depth(t->decisions, j), "planned_ns",
                                                (json_int_t)traced_planned_ns(t, j)));
  }
  return json_pack("{s:i, s:s, s:I, s:o}", "command", (int)root, "op", traced_op_name(t, root), "planned_ns",
                   (json_int_t)sum_ns, "runs", runs);
}

/* ==== a command, a tensor ==== */

/* ---- a command ---- */

static json_t *resident_json(const traced *t, const plim_resident *r) {
  const plim_plan_buffer *buffer = &t->plan->buffer[r->buffer];
  json_t *o = json_pack("{s:o}", "tensor", storage_json(t, r->storage));
  add(o, "role", json_string(r->storage < 0 ? "workspace" : plim_role_name(t->graph->storage[r->storage].role)));
  add(o, "address", bytes_or_null(t->plan->packed ? buffer->offset : -1));
  add(o, "bytes", json_integer(buffer->bytes));
  add(o, "begin", json_integer(buffer->begin));
  add(o, "end", json_integer(buffer->end));
  add(o, "next_use", command_or_null(r->next_use));
  add(o, "next_op", r->next_use < 0 ? json_null() : json_string(traced_op_name(t, r->next_use)));
  return o;
}

static plim_status residents_json(const traced *t, int32_t command, json_t *list) {
  plim_resident *row = NULL;
  int32_t n = plim_inspect_residents(t->inspect, command, NULL, 0);
  PLIM_TRY(plim_allocate(t->ctx, n, sizeof *row, &row));
  (void)plim_inspect_residents(t->inspect, command, row, n);
  for (int32_t i = 0; i < n; i++) (void)json_array_append_new(list, resident_json(t, &row[i]));
  plim_release(t->ctx, row, n, sizeof *row);
  return PLIM_OK;
}

/* Tensors that begin (ends 0) at the command, or are used last there (ends 1). */
static json_t *changes_json(const traced *t, int32_t command, int ends) {
  json_t *list = json_array();
  for (int32_t i = 0; i < t->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[i];
    if (buffer->storage < 0 || plim_role_persistent(t->graph->storage[buffer->storage].role)) continue;
    int here = ends ? buffer->end == command + 1 && buffer->begin != command && !traced_fails_at(t, command)
                    : buffer->begin == command;
    if (here) (void)json_array_append_new(list, storage_json(t, buffer->storage));
  }
  return list;
}

static json_t *clock_json(const traced *t, int32_t command) {
  int64_t again_ns, clock_ns = traced_clock_ns(t, command, &again_ns), all_ns = t->plan->keep_all_ns;
  return json_pack("{s:I, s:I, s:f}", "time_ns", (json_int_t)clock_ns, "again_ns", (json_int_t)again_ns,
                   "again_percent", all_ns > 0 ? (double)again_ns * 100 / (double)all_ns : 0.0);
}

static json_t *command_json(const traced *t, int32_t command) {
  const plim_plan *plan = t->plan;
  const plim_command *s = &plan->command[command];
  int64_t cap = plan->budget_bytes < PLIM_BYTES_UNLIMITED ? plan->budget_bytes : -1;
  json_t *o = json_pack("{s:i, s:i, s:s}", "command", (int)command, "commands", (int)plan->n_commands, "op",
                        traced_op_name(t, command));
  add(o, "variant", json_string(s->kind == PLIM_COMMAND_RUN ? plan->variant[s->variant].variant.name : ""));
  add(o, "again", json_boolean(plim_inspect_is_repeat(t->inspect, command)));
  add(o, "status", json_string(plim_online_end_name(traced_fails_at(t, command) ? traced_end(t) : PLIM_ONLINE_OK)));
  add(o, "planned_ns", json_integer(traced_planned_ns(t, command)));
  add(o, "measured_ns", t->runs > 0 ? json_integer(t->measured_ns[command]) : json_null());
  add(o, "live_bytes", json_integer(plim_inspect_live_bytes(t->inspect, command)));
  add(o, "budget_bytes", bytes_or_null(cap));
  add(o, "arena_bytes", bytes_or_null(plan->packed ? plan->arena_bytes : -1));
  add(o, "before", clock_json(t, command));
  add(o, "made", changes_json(t, command, 0));
  add(o, "last_used", changes_json(t, command, 1));
  return o;
}

plim_status trace_json_command(const traced *t, int32_t command, FILE *to) {
  json_t *o = command_json(t, command), *residents = json_array(), *absent = json_array(), *decisions = NULL;
  plim_status status = residents_json(t, command, residents);
  if (status == PLIM_OK) status = absences_json(t, command, absent);
  if (status == PLIM_OK) status = decisions_json(t, command, &decisions);
  add(o, "residents", residents);
  add(o, "absent", absent);
  add(o, "decisions", decisions ? decisions : json_array());
  add(o, "tree", tree_json(t, command));
  if (status == PLIM_OK) {
    trace_json_print(o, to);
  } else {
    json_decref(o);
  }
  return status;
}

/* ---- a tensor ---- */

static json_t *uses_json(const traced *t, int32_t storage, const plim_plan_buffer *buffer) {
  json_t *list = json_array();
  for (int32_t u = plim_inspect_next_use(t->inspect, storage, buffer->begin); u >= 0 && u <= buffer->end;
       u = plim_inspect_next_use(t->inspect, storage, u + 1)) {
    (void)json_array_append_new(list, json_pack("{s:i, s:s, s:b}", "command", (int)u, "op", traced_op_name(t, u),
                                                "again", plim_inspect_is_repeat(t->inspect, u)));
  }
  return list;
}

/* The buffers, each with the absence before it. */
static plim_status buffers_json(const traced *t, int32_t storage, json_t *list) {
  for (int32_t i = 0; i < t->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[i];
    plim_absence a = {.kind = PLIM_ABSENT_UNMADE};
    if (buffer->storage != storage) continue;
    if (json_array_size(list) > 0) PLIM_TRY(plim_inspect_absence(t->inspect, storage, buffer->begin - 1, &a));
    (void)json_array_append_new(
        list, json_pack("{s:i, s:i, s:o, s:I, s:o, s:o}", "begin", (int)buffer->begin, "end", (int)buffer->end,
                        "address", bytes_or_null(t->plan->packed ? buffer->offset : -1), "bytes",
                        (json_int_t)buffer->bytes, "uses", uses_json(t, storage, buffer), "absence",
                        a.kind == PLIM_ABSENT_DROPPED ? absence_json(t, storage, &a) : json_null()));
  }
  return PLIM_OK;
}

plim_status trace_json_tensor(const traced *t, const char *name, FILE *to) {
  int32_t value;
  json_t *buffers = json_array();
  plim_status status = traced_find_tensor(t, name, &value);
  if (status == PLIM_OK) status = buffers_json(t, t->graph->value[value].storage, buffers);
  if (status != PLIM_OK) {
    json_decref(buffers);
    return status;
  }
  const plim_storage *storage = &t->graph->storage[t->graph->value[value].storage];
  trace_json_print(
      json_pack("{s:s, s:s, s:I, s:o, s:o}", "tensor", name, "role", plim_role_name(storage->role), "bytes",
                (json_int_t)storage->bytes, "producer", op_json(t, storage->producer), "buffers", buffers),
      to);
  return PLIM_OK;
}
