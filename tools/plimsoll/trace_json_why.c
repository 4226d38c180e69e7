/* Decisions of an online run, and trees of what is recomputed, as objects. */
#include "tools/plimsoll/trace_json.h"

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
                        "state", state_name(p->state), "value", trace_json_storage(t, p->storage));
  if (p->state == PLIM_ARENA_BLOCK_PINNED) (void)json_object_set_new(o, "by", trace_json_op(t, p->by));
  if (p->state == PLIM_ARENA_BLOCK_TOO_LATE) (void)json_object_set_new(o, "by", trace_json_storage(t, p->by));
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
                   (json_int_t)w->evicted_bytes, "score", w->together, "score_of_pieces", w->score);
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
  for (int32_t i = 0; i < c->n_evicted; i++) (void)json_array_append_new(list, trace_json_storage(t, c->evicted[i]));
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
  json_t *o =
      json_pack("{s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "op", trace_json_op(t, c->request.op), "value",
                trace_json_storage(t, c->request.storage), "bytes", (json_int_t)c->request.bytes, "free_bytes",
                (json_int_t)why->free_bytes, "largest_free_bytes", (json_int_t)why->largest_free_bytes, "evicted",
                evicted_json(t, c), "windows", windows_json(why), "taken", block_or_null(why->taken), "runner_up",
                block_or_null(why->runner_up), "pieces", blocks_json(t, why));
  (void)json_array_append_new(list, o);
  return c->n_evicted == 0 ? add_way_out(t, why, o) : PLIM_OK;
}

plim_status trace_json_decisions(const traced *t, int32_t step, json_t **out) {
  const plim_decision *choice;
  int32_t first, n = traced_choices(t, step, &choice, &first);
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

json_t *trace_json_tree(const traced *t, int32_t step) {
  int32_t begin, root = traced_tree(t, step, &begin);
  json_t *runs = json_array();
  int64_t sum_ns = 0;
  if (begin == root) {
    json_decref(runs);
    return json_null();
  }
  for (int32_t j = begin; j < root; j++) {
    sum_ns += traced_planned_ns(t, j);
    (void)json_array_append_new(runs, json_pack("{s:i, s:s, s:i, s:I}", "step", (int)j, "op", traced_op_name(t, j),
                                                "depth", (int)plim_decision_log_depth(t->decisions, j), "planned_ns",
                                                (json_int_t)traced_planned_ns(t, j)));
  }
  return json_pack("{s:i, s:s, s:I, s:o}", "step", (int)root, "op", traced_op_name(t, root), "planned_ns",
                   (json_int_t)sum_ns, "runs", runs);
}
