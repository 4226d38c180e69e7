/* Reads the costs of a networkx document. Walks the objects by their own keys, since they may have more fields than a
 * cursor remembers. */
#include "runtime/import/import_nx_costs.h"

#include <string.h>

static const int64_t most = INT64_MAX / 4;

int plim_nx_has_costs(const plim_json_at *root, int costed) {
  const json_t *graph = json_object_get(root->node, "graph");
  return costed || json_object_get(graph, "devices") != NULL;
}

plim_status plim_nx_costs_begin(plim_json_at *root, int32_t n_ops, plim_costs **out) {
  plim_json *doc = root->doc;
  int32_t n = 0;
  plim_json_at graph = {.doc = doc}, list = {.doc = doc};
  if (plim_json_has(root, "graph")) {
    graph = plim_json_object(root, "graph");
    if (plim_json_has(&graph, "devices")) list = plim_json_list(&graph, "devices", &n);
  }
  PLIM_TRY(doc->status);
  plim_json_take(&list, plim_costs_new(doc->ctx, n_ops, n, out));
  for (int32_t d = 0; d < n && doc->status == PLIM_OK; d++) {
    const char *name = plim_json_text_item(&list, d);
    if (doc->status == PLIM_OK) plim_json_take(&list, plim_costs_name_device(*out, d, name));
  }
  return doc->status;
}

/* The device whose name is text[0 .. length), or PLIM_NONE. */
static int32_t find_device(const plim_costs *costs, const char *text, size_t length) {
  char name[PLIM_COSTS_NAME_BYTES];
  if (length >= sizeof name) return -1;
  memcpy(name, text, length);
  name[length] = '\0';
  return plim_costs_find_device(costs, name);
}

/* Read the number under that key. A cursor of its own does it, so that any number of fields can be read. */
static int64_t read_time(const plim_json_at *object, const char *key) {
  plim_json_at again = *object;
  again.n_asked = 0;
  return plim_json_int(&again, key, 0, most);
}

static void read_durations(plim_json_at *node, plim_costs *costs, int32_t op) {
  plim_json_at object = plim_json_object(node, "durations");
  const char *key;
  json_t *item;
  if (node->doc->status != PLIM_OK) return;
  json_object_foreach((json_t *)object.node, key, item) {
    int32_t d = find_device(costs, key, strlen(key));
    if (d < 0) {
      plim_json_fail(&object, NULL, "has device '%.80s', which graph.devices does not name", key);
      return;
    }
    costs->duration[plim_costs_duration_at(costs, op, d)] = read_time(&object, key);
  }
}

static void read_copies(plim_json_at *node, plim_costs *costs, int32_t op) {
  plim_json_at object = plim_json_object(node, "copies");
  const char *key;
  json_t *item;
  if (node->doc->status != PLIM_OK) return;
  json_object_foreach((json_t *)object.node, key, item) {
    const char *arrow = strchr(key, '>');
    int32_t from = arrow ? find_device(costs, key, (size_t)(arrow - key)) : -1;
    int32_t to = arrow ? find_device(costs, arrow + 1, strlen(arrow + 1)) : -1;
    if (from < 0 || to < 0 || from == to) {
      plim_json_fail(&object, NULL, "has '%.80s', not FROM>TO of two devices of graph.devices", key);
      return;
    }
    costs->copy[plim_costs_copy_at(costs, op, from, to)] = read_time(&object, key);
  }
}

plim_status plim_nx_costs_read(plim_json_at *node, plim_costs *costs, int32_t op) {
  if (plim_json_has(node, "flops")) costs->flops[op] = plim_json_int(node, "flops", 0, most);
  if (plim_json_has(node, "workspace")) costs->workspace[op] = plim_json_int(node, "workspace", 0, most);
  if (plim_json_has(node, "durations")) read_durations(node, costs, op);
  if (plim_json_has(node, "copies")) read_copies(node, costs, op);
  return node->doc->status;
}
