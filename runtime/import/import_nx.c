/* networkx node-link JSON: {"directed": true, "nodes": [...], "links": [...]}.
 *
 * Two dialects. Networks: nodes have `id`, `name` (a text), `cost_ram`, `cost_cpu`, links `source` and `target`.
 * Random layered graphs: `out_cost`, `duration`, an id only in `name` (a number) or by place in the list, links the
 * keys "0" and "1", and the input order in `graph.order`. For each field, the reader takes the one that the file has.
 * A node may carry `flops` or `durations` by device in place of one time, and `copies` by "from>to"; `graph.devices`
 * names the devices, and a node may carry a `workspace` (import_nx_costs.c).
 *
 * Program order is the file's `order`, if there is one. Else, when a node has `flops` or `durations` and every link
 * leads to a larger id, it is the order of the ids. Else it is that of networkx.topological_sort: level by level, the
 * nodes of a level in order, their successors in the order of the links. Every op makes one value; parallel links count
 * once. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/groups.h"
#include "runtime/base/integers.h"
#include "runtime/base/json.h"
#include "runtime/import/import_nx_costs.h"
#include "runtime/import/importers.h"
#include "runtime/import/node_link.h"

typedef struct nx_link {
  int32_t from, to; /* nodes */
  int32_t place;    /* among the links of the file */
} nx_link;

typedef struct id_row {
  int64_t id; /* as in the file */
  int32_t node;
} id_row;

/* A file while it is read. Its nodes become ops, whose ids are their places in `order`. */
typedef struct nx_draft {
  plim_context *ctx;
  plim_json *doc;
  const char *name; /* of the graph; NULL: the file has none */
  int32_t n_nodes, n_links;
  int32_t link_capacity;
  int32_t by_device;     /* 1: a node has flops or durations */
  int32_t has_workspace; /* 1: a node has a workspace */
  plim_costs *costs;     /* by op; NULL: none */
  plim_node *node;       /* [n_nodes] in the order of the file */
  id_row *by_id;         /* [n_nodes] sorted */
  nx_link *link;         /* [n_links] without repeats */
  plim_link *graph_link; /* [n_links] of the same, as plim_node_link_graph wants them */
  int32_t *first_link;   /* [n_nodes + 1] links of a node, by `from` or by `to` (group_links) */
  int32_t *order;        /* [n_nodes] nodes in program order */
  int32_t *place_of;     /* [n_nodes] of a node in the file's order, from 1; 0: not seen yet */
  int32_t *degree;       /* [n_nodes] links to a node whose source is not in the order yet */
} nx_draft;

/* ---- nodes ---- */

static int64_t read_cost(plim_json_at *at, const char *network, const char *layered) {
  return plim_json_int(at, plim_json_has(at, layered) ? layered : network, 0, INT64_MAX / 4);
}

static void read_node(nx_draft *draft, plim_json_at *at, int32_t i, plim_node *to) {
  int timed = plim_json_has(at, "cost_cpu") || plim_json_has(at, "duration");
  int costed = plim_json_has(at, "flops") || plim_json_has(at, "durations");
  const json_t *name = json_object_get(at->node, "name");
  *to = (plim_node){.id = i, .phase = PLIM_PHASE_FORWARD};
  if (json_is_string(name)) to->name = json_string_value(name);
  if (plim_json_has(at, "id")) {
    to->id = plim_json_amount(at, "id");
  } else if (json_is_integer(name)) {
    to->id = plim_json_amount(at, "name");
  }
  to->bytes = read_cost(at, "cost_ram", "out_cost");
  to->time_ns = timed || !costed ? read_cost(at, "cost_cpu", "duration") : -1;
  if (costed) draft->by_device = 1;
  if (plim_json_has(at, "workspace")) draft->has_workspace = 1;
  if (plim_json_has(at, "backward") && plim_json_bool(at, "backward")) to->phase = PLIM_PHASE_BACKWARD;
}

static int by_id(const void *a, const void *b) {
  const id_row *x = a, *y = b;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return plim_integers_compare(x->node, y->node);
}

/* Check that the sums of sizes and times do not overflow, and that each id names one node. */
static void check_nodes(nx_draft *draft, const plim_json_at *list) {
  int64_t bytes = 0, time_ns = 0;
  for (int32_t i = 0; i < draft->n_nodes; i++) {
    bytes = plim_add_checked(bytes, draft->node[i].bytes);
    if (draft->node[i].time_ns >= 0) time_ns = plim_add_checked(time_ns, draft->node[i].time_ns);
    if (bytes < 0 || bytes > INT64_MAX / 4) plim_json_fail(list, NULL, "the sizes add up to more than 2^61 bytes");
    if (time_ns < 0) plim_json_fail(list, NULL, "the durations add up to more than 63 bits hold");
    if (draft->doc->status != PLIM_OK) return;
    draft->by_id[i] = (id_row){draft->node[i].id, i};
  }
  qsort(draft->by_id, (size_t)draft->n_nodes, sizeof *draft->by_id, by_id);
  for (int32_t i = 1; i < draft->n_nodes; i++) {
    if (draft->by_id[i - 1].id == draft->by_id[i].id) {
      plim_json_fail(list, NULL, "two nodes, number %d and %d of the list, have the id %lld", draft->by_id[i - 1].node,
                     draft->by_id[i].node, (long long)draft->by_id[i].id);
    }
  }
}

static plim_status read_nodes(nx_draft *draft, plim_json_at *root) {
  plim_json_at list = plim_json_list(root, "nodes", &draft->n_nodes);
  if (draft->doc->status == PLIM_OK && draft->n_nodes == 0) {
    plim_json_fail(&list, NULL, "is empty: a graph has at least one op");
  }
  PLIM_TRY(draft->doc->status);
  PLIM_TRY(plim_allocate(draft->ctx, draft->n_nodes, sizeof *draft->node, &draft->node));
  PLIM_TRY(plim_allocate(draft->ctx, draft->n_nodes, sizeof *draft->by_id, &draft->by_id));
  for (int32_t i = 0; i < draft->n_nodes && draft->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    if (draft->doc->status == PLIM_OK) read_node(draft, &at, i, &draft->node[i]);
  }
  if (draft->doc->status == PLIM_OK) check_nodes(draft, &list);
  return draft->doc->status;
}

/* ---- links ---- */

/* The node with that id; -1 and a failure when there is none. */
static int32_t find_node(nx_draft *draft, const plim_json_at *at, const char *key, int64_t id) {
  id_row wanted = {id, -1};
  int32_t low = 0, high = draft->n_nodes;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (by_id(&wanted, &draft->by_id[middle]) > 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < draft->n_nodes && draft->by_id[low].id == id) return draft->by_id[low].node;
  plim_json_fail(at, key, "%lld is the id of no node", (long long)id);
  return -1;
}

static int32_t read_end(nx_draft *draft, plim_json_at *at, const char *network, const char *layered) {
  const char *key = plim_json_has(at, network) ? network : layered;
  if (!plim_json_has(at, key)) key = network; /* so that the failure names this field as missing */
  int64_t id = plim_json_int(at, key, INT64_MIN, INT64_MAX);
  return draft->doc->status == PLIM_OK ? find_node(draft, at, key, id) : -1;
}

static int by_ends(const void *a, const void *b) {
  const nx_link *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  return plim_integers_compare(x->place, y->place);
}

static int by_place(const void *a, const void *b) {
  const nx_link *x = a, *y = b;
  return plim_integers_compare(x->place, y->place);
}

/* Of several links between the same two nodes, keep the first. */
static void drop_repeats(nx_draft *draft) {
  int32_t kept = 0;
  qsort(draft->link, (size_t)draft->n_links, sizeof *draft->link, by_ends);
  for (int32_t i = 0; i < draft->n_links; i++) {
    int repeat = i > 0 && draft->link[i].from == draft->link[i - 1].from && draft->link[i].to == draft->link[i - 1].to;
    if (!repeat) draft->link[kept++] = draft->link[i];
  }
  draft->n_links = kept;
  qsort(draft->link, (size_t)draft->n_links, sizeof *draft->link, by_place);
}

static plim_status read_links(nx_draft *draft, plim_json_at *root) {
  plim_json_at list = plim_json_list(root, plim_json_has(root, "links") ? "links" : "edges", &draft->n_links);
  PLIM_TRY(draft->doc->status);
  draft->link_capacity = draft->n_links;
  PLIM_TRY(plim_allocate(draft->ctx, draft->link_capacity, sizeof *draft->link, &draft->link));
  for (int32_t i = 0; i < draft->n_links && draft->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    if (draft->doc->status != PLIM_OK) break;
    draft->link[i] = (nx_link){.from = read_end(draft, &at, "source", "0"), .place = i};
    draft->link[i].to = read_end(draft, &at, "target", "1");
  }
  if (draft->doc->status == PLIM_OK) drop_repeats(draft);
  return draft->doc->status;
}

static int by_from(const void *a, const void *b) {
  const nx_link *x = a, *y = b;
  return x->from != y->from ? plim_integers_compare(x->from, y->from) : by_place(a, b);
}

static int by_to(const void *a, const void *b) {
  const nx_link *x = a, *y = b;
  return x->to != y->to ? plim_integers_compare(x->to, y->to) : by_place(a, b);
}

/* Sort the links by one end, stably. The links of node v are then first_link[v] .. first_link[v + 1]. */
static void group_links(nx_draft *draft, int by_target) {
  qsort(draft->link, (size_t)draft->n_links, sizeof *draft->link, by_target ? by_to : by_from);
  memset(draft->first_link, 0, ((size_t)draft->n_nodes + 1) * sizeof *draft->first_link);
  for (int32_t i = 0; i < draft->n_links; i++) {
    draft->first_link[(by_target ? draft->link[i].to : draft->link[i].from) + 1]++;
  }
  plim_groups_sum(draft->first_link, draft->n_nodes);
}

/* ---- order ---- */

/* A node whose degree is not 0 has a predecessor whose degree is not 0. Following such predecessors n times ends on a
 * cycle. */
static void refuse_cycle(nx_draft *draft, const plim_json_at *root) {
  int32_t v = 0;
  group_links(draft, 1);
  while (draft->degree[v] == 0) v++;
  for (int32_t i = 0; i < draft->n_nodes; i++) {
    int32_t k = draft->first_link[v];
    while (draft->degree[draft->link[k].from] == 0) k++;
    v = draft->link[k].from;
  }
  plim_json_fail(root, NULL, "the links have a cycle through the node with id %lld", (long long)draft->node[v].id);
}

/* Topological order, breadth first: a node is appended once the last of its predecessors has been visited. */
static void level_order(nx_draft *draft, const plim_json_at *root) {
  int32_t n = 0;
  group_links(draft, 0);
  for (int32_t i = 0; i < draft->n_links; i++) draft->degree[draft->link[i].to]++;
  for (int32_t v = 0; v < draft->n_nodes; v++) {
    if (draft->degree[v] == 0) draft->order[n++] = v;
  }
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = draft->first_link[draft->order[i]]; k < draft->first_link[draft->order[i] + 1]; k++) {
      if (--draft->degree[draft->link[k].to] == 0) draft->order[n++] = draft->link[k].to;
    }
  }
  if (n < draft->n_nodes) refuse_cycle(draft, root);
}

static void read_order(nx_draft *draft, plim_json_at *graph) {
  int32_t n = 0;
  plim_json_at list = plim_json_list(graph, "order", &n);
  if (draft->doc->status == PLIM_OK && n != draft->n_nodes) {
    plim_json_fail(&list, NULL, "has %d ids for %d nodes", n, draft->n_nodes);
  }
  for (int32_t i = 0; i < n && draft->doc->status == PLIM_OK; i++) {
    int64_t id = plim_json_int_item(&list, i, INT64_MIN, INT64_MAX);
    int32_t v = draft->doc->status == PLIM_OK ? find_node(draft, &list, NULL, id) : -1;
    if (v < 0) return;
    if (draft->place_of[v] > 0) plim_json_fail(&list, NULL, "has the id %lld twice", (long long)id);
    draft->place_of[v] = i + 1;
    draft->order[i] = v;
  }
  for (int32_t i = 0; i < draft->n_links && draft->doc->status == PLIM_OK; i++) {
    const nx_link *l = &draft->link[i];
    if (draft->place_of[l->from] < draft->place_of[l->to]) continue;
    plim_json_fail(&list, NULL, "has id %lld before id %lld, which it reads", (long long)draft->node[l->to].id,
                   (long long)draft->node[l->from].id);
  }
}

/* Take the order of the ids, if every link leads to a larger id. */
static void id_order(nx_draft *draft) {
  for (int32_t i = 0; i < draft->n_links; i++) {
    if (draft->node[draft->link[i].from].id > draft->node[draft->link[i].to].id) return;
  }
  for (int32_t i = 0; i < draft->n_nodes; i++) draft->order[i] = draft->by_id[i].node;
}

static plim_status make_order(nx_draft *draft, plim_json_at *root) {
  PLIM_TRY(plim_allocate(draft->ctx, (int64_t)draft->n_nodes + 1, sizeof *draft->first_link, &draft->first_link));
  PLIM_TRY(plim_allocate(draft->ctx, draft->n_nodes, sizeof *draft->order, &draft->order));
  PLIM_TRY(plim_allocate(draft->ctx, draft->n_nodes, sizeof *draft->place_of, &draft->place_of));
  PLIM_TRY(plim_allocate(draft->ctx, draft->n_nodes, sizeof *draft->degree, &draft->degree));
  level_order(draft, root); /* finds cycles, too */
  if (draft->doc->status == PLIM_OK && draft->by_device) id_order(draft);
  if (draft->doc->status == PLIM_OK && plim_json_has(root, "graph")) {
    plim_json_at graph = plim_json_object(root, "graph");
    const json_t *name = json_object_get(graph.node, "name");
    if (json_is_string(name)) draft->name = json_string_value(name);
    if (plim_json_has(&graph, "order")) read_order(draft, &graph);
  }
  return draft->doc->status;
}

/* Read the costs by device, which are by op, once the order is known. */
static plim_status read_costs(nx_draft *draft, plim_json_at *root) {
  if (!plim_nx_has_costs(root, draft->by_device || draft->has_workspace)) return PLIM_OK;
  PLIM_TRY(plim_nx_costs_begin(root, draft->n_nodes, &draft->costs));
  plim_json_at list = {.doc = root->doc, .key = "nodes", .parent = root, .node = json_object_get(root->node, "nodes")};
  for (int32_t o = 0; o < draft->n_nodes; o++) {
    plim_json_at node = plim_json_item(&list, draft->order[o]);
    PLIM_TRY(plim_nx_costs_read(&node, draft->costs, o));
  }
  plim_json_take(&list, plim_costs_check(draft->costs, draft->n_nodes));
  return draft->doc->status;
}

static plim_status build(nx_draft *draft, plim_graph **out) {
  plim_node_link nodes = {.name = draft->name,
                          .unpacked = 1,
                          .n = draft->n_nodes,
                          .n_links = draft->n_links,
                          .node = draft->node,
                          .order = draft->order};
  PLIM_TRY(plim_allocate(draft->ctx, draft->n_links, sizeof *draft->graph_link, &draft->graph_link));
  qsort(draft->link, (size_t)draft->n_links, sizeof *draft->link, by_place);
  for (int32_t i = 0; i < draft->n_links; i++) {
    draft->graph_link[i] = (plim_link){draft->link[i].from, draft->link[i].to};
  }
  nodes.link = draft->graph_link;
  nodes.costs = &draft->costs;
  return plim_node_link_graph(draft->ctx, &nodes, out);
}

static plim_status read_graph(nx_draft *draft, plim_graph **out) {
  plim_json_at root = plim_json_root(draft->doc);
  if (plim_json_has(&root, "directed") && !plim_json_bool(&root, "directed")) {
    plim_json_fail(&root, "directed", "is false: in an undirected graph nothing says who reads whom");
  }
  PLIM_TRY(draft->doc->status);
  PLIM_TRY(read_nodes(draft, &root));
  PLIM_TRY(read_links(draft, &root));
  PLIM_TRY(make_order(draft, &root));
  PLIM_TRY(read_costs(draft, &root));
  return build(draft, out);
}

plim_status plim_import_nx(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_graph **out) {
  plim_json doc;
  nx_draft draft = {.ctx = ctx, .doc = &doc};
  plim_status status = plim_json_parse(ctx, file, 0, text, bytes, &doc);
  if (status == PLIM_EDATA) {
    static const char log[] = "{\"INSTR"; /* how a log begins */
    int is_log = bytes >= (int64_t)sizeof log - 1 && memcmp(text, log, sizeof log - 1) == 0;
    status = plim_fail(ctx, PLIM_EDATA, "%s; nx is node-link JSON of networkx, one document a file%s",
                       plim_context_error(ctx), is_log ? "; this is a log of DTR: import dtr reads it" : "");
  }
  if (status == PLIM_OK) status = read_graph(&draft, out);
  plim_costs_free(draft.costs);
  plim_release(ctx, draft.node, draft.n_nodes, sizeof *draft.node);
  plim_release(ctx, draft.by_id, draft.n_nodes, sizeof *draft.by_id);
  plim_release(ctx, draft.link, draft.link_capacity, sizeof *draft.link);
  plim_release(ctx, draft.first_link, (int64_t)draft.n_nodes + 1, sizeof *draft.first_link);
  plim_release(ctx, draft.order, draft.n_nodes, sizeof *draft.order);
  plim_release(ctx, draft.place_of, draft.n_nodes, sizeof *draft.place_of);
  plim_release(ctx, draft.degree, draft.n_nodes, sizeof *draft.degree);
  plim_release(ctx, draft.graph_link, draft.n_links, sizeof *draft.graph_link);
  plim_json_close(&doc);
  return status;
}
