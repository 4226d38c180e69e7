/* Lives of a plan: they are written down as rows of a CSV file and read again, so that they obey its rules. Lives come
 * in order of their begin, so the life that an in-place pair writes over is the last one of its storage so far. */
#include "planner/pack/plan_lives.h"

#include <string.h>

typedef struct collector {
  const plim_graph *graph;
  const plim_plan *plan;
  const char **name; /* [n_storages] of the first value in it */
  int32_t *last;     /* [n_storages] life begun last, -1: none */
  int32_t *root;     /* [n_lives] the first life of a chain of copies written over each other */
  int32_t *end;      /* [n_lives] of the chain, at its root */
} collector;

/* The storage whose copy step j writes over to make `storage`, -1: none. */
static int32_t written_over(const collector *c, int32_t j, int32_t storage) {
  const plim_step *step = &c->plan->step[j];
  const plim_op *op = &c->graph->op[step->op];
  for (int32_t i = 0; i < step->n_pairs; i++) {
    if (c->graph->value[op->out[step->pair[i].out]].storage == storage) {
      return c->graph->value[op->in[step->pair[i].in]].storage;
    }
  }
  return -1;
}

static void chain_lives(collector *c) {
  for (int32_t s = 0; s < c->graph->n_storages; s++) c->last[s] = -1;
  for (int32_t i = 0; i < c->plan->n_lives; i++) {
    const plim_life *life = &c->plan->life[i];
    c->root[i] = i;
    c->end[i] = life->end;
    if (life->storage < 0) continue;
    int32_t from = written_over(c, life->begin, life->storage), before = from >= 0 ? c->last[from] : -1;
    if (before >= 0 && c->plan->life[before].end == life->begin) {
      c->root[i] = c->root[before];
      c->end[c->root[i]] = life->end;
    }
    c->last[life->storage] = i;
  }
}

static void name_storages(collector *c) {
  for (int32_t v = c->graph->n_values; v-- > 0;) c->name[c->graph->value[v].storage] = c->graph->value[v].name;
}

/* Names are free text, ids are fields of a row. */
static void add_id(plim_text *text, const collector *c, const plim_life *life) {
  int64_t from = text->length;
  if (life->storage >= 0) {
    plim_text_add(text, c->name[life->storage]);
  } else {
    plim_text_format(text, "%s workspace", c->graph->op[c->plan->step[life->begin].op].name);
  }
  for (char *at = text->chars ? text->chars + from : NULL; at && *at; at++) {
    if ((unsigned char)*at < 0x20 || *at == 0x7f || *at == ',') *at = '_';
  }
  plim_text_format(text, "@%d", life->begin);
}

static void write_rows(plim_text *text, const collector *c) {
  plim_text_add(text, "id,lower,upper,size\n");
  for (int32_t i = 0; i < c->plan->n_lives; i++) {
    const plim_life *life = &c->plan->life[i];
    if (c->root[i] != i) continue;
    add_id(text, c, life);
    plim_text_format(text, ",%d,%d,%lld\n", life->begin, c->end[i], (long long)life->bytes);
  }
}

plim_status plim_lives_of_plan(plim_context *ctx, const plim_graph *graph, const plim_plan *plan, plim_lives **out) {
  collector c = {.graph = graph, .plan = plan};
  plim_text text = {ctx, NULL, 0, 0, PLIM_OK};
  plim_status status;
  if (strcmp(graph->fingerprint, plan->fingerprint) != 0) {
    return plim_fail(ctx, PLIM_EDATA, "the plan is not one of graph \"%s\"", graph->name);
  }
  PLIM_CHECK(plim_allocate(ctx, graph->n_storages, sizeof *c.name, &c.name));
  PLIM_CHECK(plim_allocate(ctx, graph->n_storages, sizeof *c.last, &c.last));
  PLIM_CHECK(plim_allocate(ctx, plan->n_lives, sizeof *c.root, &c.root));
  PLIM_CHECK(plim_allocate(ctx, plan->n_lives, sizeof *c.end, &c.end));
  name_storages(&c);
  chain_lives(&c);
  write_rows(&text, &c);
  PLIM_CHECK(text.status);
  status = plim_lives_parse(ctx, "lives of the plan", text.chars, text.length, out);
done:
  plim_text_free(&text);
  plim_release(ctx, c.name, graph->n_storages, sizeof *c.name);
  plim_release(ctx, c.last, graph->n_storages, sizeof *c.last);
  plim_release(ctx, c.root, plan->n_lives, sizeof *c.root);
  plim_release(ctx, c.end, plan->n_lives, sizeof *c.end);
  return status;
}
