/* The buffers of a plan as a list to pack. They are written as rows of a CSV file and read again, so that they obey its
 * rules. Buffers are in order of begin. So the buffer that an in-place pair writes over is the latest of its storage.
 */
#include "planner/pack/buffers_csv.h"

#include <string.h>

typedef struct collector {
  const plim_graph *graph;
  const plim_plan *plan;
  const char **name; /* [n_storages] of the first value in it */
  int32_t *last;     /* [n_storages] buffer begun last, -1: none */
  int32_t *root;     /* [n_buffers] the first buffer of a chain of copies written over each other */
  int32_t *end;      /* [n_buffers] of the chain, at its root */
} collector;

/* The storage whose copy step j writes over to make `storage`, -1: none. */
static int32_t written_over(const collector *list, int32_t j, int32_t storage) {
  const plim_command *command = &list->plan->command[j];
  const plim_op *op = &list->graph->op[command->op];
  for (int32_t i = 0; i < command->n_pairs; i++) {
    if (list->graph->value[op->out[command->pair[i].out]].storage == storage) {
      return list->graph->value[op->in[command->pair[i].in]].storage;
    }
  }
  return -1;
}

static void chain_buffers(collector *list) {
  for (int32_t s = 0; s < list->graph->n_storages; s++) list->last[s] = -1;
  for (int32_t i = 0; i < list->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &list->plan->buffer[i];
    list->root[i] = i;
    list->end[i] = buffer->end;
    if (buffer->storage < 0) continue;
    int32_t from = written_over(list, buffer->begin, buffer->storage), before = from >= 0 ? list->last[from] : -1;
    if (before >= 0 && list->plan->buffer[before].end == buffer->begin) {
      list->root[i] = list->root[before];
      list->end[list->root[i]] = buffer->end;
    }
    list->last[buffer->storage] = i;
  }
}

static void name_storages(collector *list) {
  for (int32_t v = list->graph->n_values; v-- > 0;) {
    list->name[list->graph->value[v].storage] = list->graph->value[v].name;
  }
}

/* Names are free text, ids are fields of a row. */
static void add_id(plim_text *text, const collector *list, const plim_plan_buffer *buffer) {
  int64_t from = text->length;
  if (buffer->storage >= 0) {
    plim_text_add(text, list->name[buffer->storage]);
  } else {
    plim_text_format(text, "%s workspace", list->graph->op[list->plan->command[buffer->begin].op].name);
  }
  for (char *at = text->chars ? text->chars + from : NULL; at && *at; at++) {
    if ((unsigned char)*at < 0x20 || *at == 0x7f || *at == ',') *at = '_';
  }
  plim_text_format(text, "@%d", buffer->begin);
}

static void write_rows(plim_text *text, const collector *list) {
  plim_text_add(text, "id,lower,upper,size\n");
  for (int32_t i = 0; i < list->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &list->plan->buffer[i];
    if (list->root[i] != i) continue;
    add_id(text, list, buffer);
    plim_text_format(text, ",%d,%d,%lld\n", buffer->begin, list->end[i], (long long)buffer->bytes);
  }
}

plim_status plim_buffer_list_of_plan(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                     plim_buffer_list **out) {
  collector list = {.graph = graph, .plan = plan};
  plim_text text = {ctx, NULL, 0, 0, PLIM_OK};
  plim_status status;
  if (strcmp(graph->fingerprint, plan->fingerprint) != 0) {
    return plim_fail(ctx, PLIM_EDATA, "the plan is not one of graph \"%s\"", graph->name);
  }
  PLIM_CHECK(plim_allocate(ctx, graph->n_storages, sizeof *list.name, &list.name));
  PLIM_CHECK(plim_allocate(ctx, graph->n_storages, sizeof *list.last, &list.last));
  PLIM_CHECK(plim_allocate(ctx, plan->n_buffers, sizeof *list.root, &list.root));
  PLIM_CHECK(plim_allocate(ctx, plan->n_buffers, sizeof *list.end, &list.end));
  name_storages(&list);
  chain_buffers(&list);
  write_rows(&text, &list);
  PLIM_CHECK(text.status);
  status = plim_buffer_list_parse(ctx, "buffers of the plan", text.chars, text.length, out);
done:
  plim_text_free(&text);
  plim_release(ctx, list.name, graph->n_storages, sizeof *list.name);
  plim_release(ctx, list.last, graph->n_storages, sizeof *list.last);
  plim_release(ctx, list.root, plan->n_buffers, sizeof *list.root);
  plim_release(ctx, list.end, plan->n_buffers, sizeof *list.end);
  return status;
}
