/* The same facts as objects: docs/formats.md, plans over spaces. */
#include <jansson.h>

#include "tools/plimsoll/trace/space_reason.h"
#include "tools/plimsoll/trace/trace_spaces.h"

static json_t *number_or_null(int32_t id) {
  return id >= 0 ? json_integer(id) : json_null();
}

static json_t *command_json(const traced_spaces *t, int32_t c) {
  const plim_space_plan *p = t->plan;
  char words[SPACE_WORDS];
  int64_t idle;
  int32_t cause;
  if (c < 0) return json_null();
  cause = plim_space_inspect_cause(&t->in, c, &idle);
  return json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:o}", "command", (int)c, "does",
                   space_command_words(t->graph, p, c, words), "kind",
                   p->command[c].kind == PLIM_SPACE_COMMAND_RUN ? "run" : "copy", "queue",
                   p->queue[p->command[c].queue].name, "begin_ns", (json_int_t)t->in.begin_ns[c], "end_ns",
                   (json_int_t)t->in.end_ns[c], "idle_ns", (json_int_t)idle, "waited_for", number_or_null(cause));
}

static json_t *queues_json(const traced_spaces *t, int64_t now) {
  json_t *list = json_array();
  for (int32_t q = 0; q < t->plan->n_queues; q++) {
    plim_space_queue_state s = plim_space_inspect_queue(&t->in, q, now);
    (void)json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "queue", t->plan->queue[q].name, "now",
                                                command_json(t, s.now), "next", command_json(t, s.next)));
  }
  return list;
}

static json_t *spaces_json(const traced_spaces *t, int32_t c) {
  const plim_space_plan *p = t->plan;
  json_t *list = json_array();
  char words[SPACE_WORDS];
  for (int32_t s = 0; s < p->n_spaces; s++) {
    json_t *residents = json_array();
    int64_t budget = p->space[s].budget_bytes;
    for (int32_t i = 0; i < p->n_buffers && p->buffer[i].begin <= c; i++) {
      const plim_space_buffer *b = &p->buffer[i];
      if (b->space != s || c >= b->end) continue;
      int32_t use = plim_space_inspect_next_use(&t->in, b->storage, s, c);
      (void)json_array_append_new(
          residents, json_pack("{s:s, s:I, s:i, s:i, s:o}", "storage", space_storage_words(t->graph, b->storage, words),
                               "bytes", (json_int_t)b->bytes, "begin", (int)b->begin, "end", (int)b->end, "next_use",
                               number_or_null(use < b->end ? use : -1)));
    }
    (void)json_array_append_new(
        list, json_pack("{s:s, s:I, s:o, s:o}", "space", p->space[s].name, "live_bytes",
                        (json_int_t)plim_space_inspect_live(&t->in, s, c), "budget_bytes",
                        budget < INT64_MAX ? json_integer(budget) : json_null(), "residents", residents));
  }
  return list;
}

/* NULL: no memory. */
static json_t *gap_json(const traced_spaces *t, const plim_space_gap *g) {
  char words[SPACE_WORDS], reason[SPACE_WORDS];
  plim_space_why w;
  if (plim_space_inspect_why(&t->in, g, &w) != PLIM_OK) return NULL;
  json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:b, s:o, s:o, s:o, s:I}", "storage",
                        space_storage_words(t->graph, g->storage, words), "space", t->plan->space[g->space].name,
                        "from", (int)g->from, "until", (int)g->until, "paged", (int)g->paged, "copied_out_by",
                        number_or_null(w.out), "next_use", number_or_null(w.next_use), "worst", number_or_null(w.worst),
                        "with_it_bytes", (json_int_t)w.with_it_bytes);
  (void)json_object_set_new(o, "copy_ns", g->paged ? json_integer(w.copy_ns) : json_null());
  (void)json_object_set_new(o, "window_ns", json_integer(w.window_ns));
  (void)json_object_set_new(o, "link_free_ns", w.link_free_ns >= 0 ? json_integer(w.link_free_ns) : json_null());
  (void)json_object_set_new(o, "recompute_ns", w.can_recompute ? json_integer(w.recompute_ns) : json_null());
  (void)json_object_set_new(o, "recompute_runs", json_integer(w.recompute_runs));
  (void)json_object_set_new(o, "recompute_copies", json_integer(w.recompute_copies));
  (void)json_object_set_new(o, "recompute_joule",
                            w.can_recompute && t->plan->has_energy ? json_real(w.recompute_joule) : json_null());
  (void)json_object_set_new(o, "reason", json_string(space_reason_words(&t->in, g, &w, reason)));
  return o;
}

/* Takes the reference. */
static plim_status print(const traced_spaces *t, json_t *o, FILE *to) {
  int written = o && json_dumpf(o, to, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) == 0 && fputc('\n', to) != EOF;
  json_decref(o);
  return written ? PLIM_OK : plim_fail(t->ctx, PLIM_ENOMEM, "out of memory");
}

plim_status trace_spaces_step_json(const traced_spaces *t, int32_t c, FILE *to) {
  json_t *o = command_json(t, c), *away = json_array();
  (void)json_object_set_new(o, "commands", json_integer(t->plan->n_commands));
  (void)json_object_set_new(o, "queues", queues_json(t, t->in.begin_ns[c]));
  (void)json_object_set_new(o, "spaces", spaces_json(t, c));
  for (int32_t i = 0; i < t->n_gaps; i++) {
    if (t->gap[i].from > c || c >= t->gap[i].until) continue;
    (void)json_array_append_new(away, gap_json(t, &t->gap[i]));
  }
  (void)json_object_set_new(o, "away", away);
  return print(t, o, to);
}

plim_status trace_spaces_storage_json(const traced_spaces *t, const char *name, FILE *to) {
  const plim_space_plan *p = t->plan;
  int32_t s = trace_spaces_find(t, name);
  if (s < 0) return plim_fail(t->ctx, PLIM_EUSAGE, "the graph has no op or tensor '%s'", name);
  json_t *buffers = json_array(), *gaps = json_array();
  for (int32_t i = 0; i < p->n_buffers; i++) {
    const plim_space_buffer *b = &p->buffer[i];
    if (b->storage != s) continue;
    (void)json_array_append_new(buffers, json_pack("{s:s, s:i, s:i}", "space", p->space[b->space].name, "begin",
                                                   (int)b->begin, "end", (int)b->end));
  }
  for (int32_t i = 0; i < t->n_gaps; i++) {
    if (t->gap[i].storage == s) (void)json_array_append_new(gaps, gap_json(t, &t->gap[i]));
  }
  return print(t,
               json_pack("{s:s, s:I, s:o, s:o}", "storage", name, "bytes", (json_int_t)t->graph->storage[s].bytes,
                         "buffers", buffers, "away", gaps),
               to);
}
