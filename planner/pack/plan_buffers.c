/* The buffers of a plan as a list to pack. They are written as rows of a CSV file and read again, so that they obey its
 * rules. Buffers are in order of begin. So the buffer that an in-place pair writes over is the latest of its storage.
 */
#include "planner/pack/buffers_csv.h"

#include <string.h>

/* Buffers that overwrite each other in place share their bytes. A chain of them is one buffer of the list. */
typedef struct buffer_chains {
  const plim_graph *graph;
  const plim_plan *plan;
  const char **name; /* [n_storages] of the first value in it */
  int32_t *last;     /* [n_storages] buffer begun last, -1: none */
  int32_t *root;     /* [n_buffers] the first buffer of a chain of buffers written over each other */
  int32_t *end;      /* [n_buffers] of the chain, at its root */
} buffer_chains;

/* The storage whose bytes command j writes over to make `storage`, -1: none. */
static int32_t written_over(const buffer_chains *chains, int32_t j, int32_t storage) {
  const plim_command *command = &chains->plan->command[j];
  const plim_op *op = &chains->graph->op[command->op];
  for (int32_t i = 0; i < command->n_pairs; i++) {
    if (chains->graph->value[op->out[command->pair[i].out]].storage == storage) {
      return chains->graph->value[op->in[command->pair[i].in]].storage;
    }
  }
  return -1;
}

static void chain_buffers(buffer_chains *chains) {
  for (int32_t s = 0; s < chains->graph->n_storages; s++) chains->last[s] = -1;
  for (int32_t i = 0; i < chains->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &chains->plan->buffer[i];
    chains->root[i] = i;
    chains->end[i] = buffer->end;
    if (buffer->storage < 0) continue;
    int32_t from = written_over(chains, buffer->begin, buffer->storage), before = from >= 0 ? chains->last[from] : -1;
    if (before >= 0 && chains->plan->buffer[before].end == buffer->begin) {
      chains->root[i] = chains->root[before];
      chains->end[chains->root[i]] = buffer->end;
    }
    chains->last[buffer->storage] = i;
  }
}

static void name_storages(buffer_chains *chains) {
  for (int32_t v = chains->graph->n_values; v-- > 0;) {
    chains->name[chains->graph->value[v].storage] = chains->graph->value[v].name;
  }
}

/* Names are printable characters, ids are fields of a row. */
static void add_id(plim_text *text, const buffer_chains *chains, const plim_plan_buffer *buffer) {
  int64_t from = text->length;
  if (buffer->storage >= 0) {
    plim_text_add(text, chains->name[buffer->storage]);
  } else {
    plim_text_format(text, "%s workspace", chains->graph->op[chains->plan->command[buffer->begin].op].name);
  }
  for (char *at = text->chars ? text->chars + from : NULL; at && *at; at++) {
    if (*at == ',') *at = '_';
  }
  plim_text_format(text, "@%d", buffer->begin);
}

static void write_rows(plim_text *text, const buffer_chains *chains) {
  plim_text_add(text, "id,lower,upper,size\n");
  for (int32_t i = 0; i < chains->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &chains->plan->buffer[i];
    if (chains->root[i] != i) continue;
    add_id(text, chains, buffer);
    plim_text_format(text, ",%d,%d,%lld\n", buffer->begin, chains->end[i], (long long)buffer->bytes);
  }
}

plim_status plim_buffer_list_of_plan(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                     plim_buffer_list **out) {
  buffer_chains chains = {.graph = graph, .plan = plan};
  plim_text text = {ctx, NULL, 0, 0, PLIM_OK};
  plim_status status;
  if (strcmp(graph->fingerprint, plan->fingerprint) != 0) {
    return plim_fail(ctx, PLIM_EDATA, "the plan is not one of graph \"%s\"", graph->name);
  }
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_storages, sizeof *chains.name, &chains.name));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_storages, sizeof *chains.last, &chains.last));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_buffers, sizeof *chains.root, &chains.root));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_buffers, sizeof *chains.end, &chains.end));
  name_storages(&chains);
  chain_buffers(&chains);
  write_rows(&text, &chains);
  PLIM_TRY_OR_DONE(text.status);
  status = plim_buffer_list_parse(ctx, "buffers of the plan", text.chars, text.length, out);
done:
  plim_text_free(&text);
  plim_release(ctx, chains.name, graph->n_storages, sizeof *chains.name);
  plim_release(ctx, chains.last, graph->n_storages, sizeof *chains.last);
  plim_release(ctx, chains.root, plan->n_buffers, sizeof *chains.root);
  plim_release(ctx, chains.end, plan->n_buffers, sizeof *chains.end);
  return status;
}
