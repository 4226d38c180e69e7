/* What a storage's commands come to. A reason is a fact of the plan: the command between two buffers of the storage
 * where the bytes of the space and its own would be most. */
#include "tools/plimsoll/plan_explain.h"

#include <stdio.h>

enum { WORDS = 256 };

typedef struct row {
  int32_t storage, op;
  int32_t runs, copies, device; /* device: of the first run */
  int32_t between;              /* 1: it is away between two buffers of one space */
  int64_t time_ns;
  double joule;
  char reason[WORDS];
} row;

static int copies_storage(const plim_command *c, int32_t storage) {
  for (int32_t i = 0; c->kind == PLIM_COMMAND_COPY && i < c->n_storages; i++) {
    if (c->storage[i] == storage) return 1;
  }
  return 0;
}

/* The share of a command that is the storage's: of a copy by bytes; storages without bytes share alike. */
static double share_of(const plim_graph *g, const plim_command *c, int32_t storage) {
  double whole = 0;
  if (c->kind != PLIM_COMMAND_COPY || c->n_storages == 1) return 1;
  for (int32_t i = 0; i < c->n_storages; i++) whole += (double)g->storage[c->storage[i]].bytes;
  return whole > 0 ? (double)g->storage[storage].bytes / whole : 1.0 / c->n_storages;
}

static void count(const plim_graph *g, const plim_space_plan *p, row *r) {
  for (int32_t c = 0; c < p->n_commands; c++) {
    const plim_command *m = &p->command[c];
    int run = m->kind == PLIM_COMMAND_RUN && m->op == r->op, copy = copies_storage(m, r->storage);
    if (run && r->runs++ == 0) {
      r->device = m->device;
      continue;
    }
    r->copies += copy;
    if (!run && !copy) continue;
    double share = share_of(g, m, r->storage);
    r->time_ns += share < 1 ? (int64_t)((double)m->time_ns * share) : m->time_ns;
    r->joule += p->has_energy ? m->joule * share : 0;
  }
}

static int64_t live_bytes(const plim_space_plan *p, int32_t space, int32_t command) {
  int64_t live = 0;
  for (int32_t i = 0; i < p->n_buffers; i++) {
    const plim_buffer *b = &p->buffer[i];
    if (b->space == space && b->begin <= command && command < b->end) live += b->bytes;
  }
  return live;
}

/* The end of the first buffer of the storage in a space that has a later one there, and the begin of that one. */
static int find_gap(const plim_space_plan *p, int32_t storage, int32_t *space, int32_t *begin, int32_t *end) {
  for (int32_t i = 0; i < p->n_buffers; i++) {
    for (int32_t k = i + 1; k < p->n_buffers && p->buffer[i].storage == storage; k++) {
      if (p->buffer[k].storage != storage || p->buffer[k].space != p->buffer[i].space) continue;
      *space = p->buffer[i].space;
      *begin = p->buffer[i].end;
      *end = p->buffer[k].begin;
      return 1;
    }
  }
  return 0;
}

static void explain_gap(const plim_graph *g, const plim_space_plan *p, row *r) {
  int32_t space, begin, end, worst = -1;
  int64_t most = -1, bytes = g->storage[r->storage].bytes;
  if (!find_gap(p, r->storage, &space, &begin, &end)) return;
  for (int32_t c = begin; c < end; c++) {
    int64_t live = live_bytes(p, space, c);
    if (live > most) {
      most = live;
      worst = c;
    }
  }
  r->between = 1;
  if (worst < 0) return;
  const plim_command *m = &p->command[worst];
  int64_t with_it = most + bytes;
  int above = with_it > p->space[space].budget_bytes;
  (void)snprintf(r->reason, WORDS, "between its uses command %d (%s%s) has %lld bytes in %s; with it %lld, %s", worst,
                 m->kind == PLIM_COMMAND_RUN ? "run of " : "a copy",
                 m->kind == PLIM_COMMAND_RUN ? g->op[m->op].name : "", (long long)most, p->space[space].name,
                 (long long)with_it, above ? "more than the budget" : "which would fit: it costs no more this way");
}

static row make_row(const plim_graph *g, const plim_space_plan *p, int32_t storage) {
  row r = {.storage = storage, .op = g->storage[storage].producer};
  count(g, p, &r);
  explain_gap(g, p, &r);
  if (r.reason[0]) return r;
  if (r.copies > 0) {
    (void)snprintf(r.reason, WORDS, "another device reads it");
  } else {
    (void)snprintf(r.reason, WORDS, "one buffer from its run to its last reader");
  }
  return r;
}

static const char *decision(const row *r) {
  int gap = r->between;
  if (r->runs > 1) return r->copies > 0 ? "recompute, copy" : "recompute";
  if (r->copies > 0) return gap ? "page" : "copy";
  return r->device > 0 ? "place" : "keep";
}

void plan_explain_print(const plim_graph *g, const plim_space_plan *p) {
  printf("\n%-24s %-16s %-10s %14s %14s %12s  %s\n", "storage", "decision", "device", "bytes", "time", "energy, J",
         "reason");
  for (int32_t s = 0; s < g->n_storages; s++) {
    if (g->storage[s].producer < 0) continue;
    row r = make_row(g, p, s);
    printf("%-24s %-16s %-10s %14lld %14lld %12.6g  %s\n", g->op[r.op].name, decision(&r), p->device[r.device].name,
           (long long)g->storage[s].bytes, (long long)r.time_ns, r.joule, r.reason);
  }
  (void)fflush(stdout);
}

json_t *plan_explain_json(const plim_graph *g, const plim_space_plan *p) {
  json_t *rows = json_array();
  for (int32_t s = 0; s < g->n_storages; s++) {
    if (g->storage[s].producer < 0) continue;
    row r = make_row(g, p, s);
    (void)json_array_append_new(
        rows, json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:i, s:i, s:s}", "storage", g->op[r.op].name, "decision",
                        decision(&r), "device", p->device[r.device].name, "bytes", (json_int_t)g->storage[s].bytes,
                        "time_ns", (json_int_t)r.time_ns, "energy_joule", r.joule, "runs", (int)r.runs, "copies",
                        (int)r.copies, "reason", r.reason));
  }
  return rows;
}
