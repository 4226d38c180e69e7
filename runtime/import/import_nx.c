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

typedef struct link {
  int32_t from, to; /* nodes */
  int32_t place;    /* among the links */
} link;

typedef struct id_row {
  int64_t id;
  int32_t node;
} id_row;

typedef struct draft {
  plim_context *ctx;
  plim_json *doc;
  const char *name;
  int32_t n, n_links;
  int32_t link_capacity;
  int32_t by_device; /* 1: a node has flops or durations */
  int32_t has_workspace;
  plim_costs *costs; /* by op; NULL: none */
  plim_node *node;   /* [n] */
  id_row *by_id;     /* [n] sorted */
  link *link;        /* [n_links] without repeats */
  plim_link *ends;   /* [n_links] the same */
  int32_t *first;    /* [n + 1] links of a node, by `from` or by `to` */
  int32_t *order;    /* [n] nodes in program order */
  int32_t *place;    /* [n] of a node in the order */
  int32_t *degree;   /* [n] scratch */
} draft;

/* ---- nodes ---- */

static int64_t read_cost(plim_json_at *at, const char *network, const char *layered) {
  return plim_json_int(at, plim_json_has(at, layered) ? layered : network, 0, INT64_MAX / 4);
}

static void read_node(draft *d, plim_json_at *at, int32_t i, plim_node *to) {
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
  if (costed) d->by_device = 1;
  if (plim_json_has(at, "workspace")) d->has_workspace = 1;
  if (plim_json_has(at, "backward") && plim_json_bool(at, "backward")) to->phase = PLIM_PHASE_BACKWARD;
}

static int by_id(const void *a, const void *b) {
  const id_row *x = a, *y = b;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return plim_integers_compare(x->node, y->node);
}

/* Check that the sums of sizes and times do not overflow, and that each id names one node. */
static void check_nodes(draft *d, const plim_json_at *list) {
  int64_t bytes = 0, time_ns = 0;
  for (int32_t i = 0; i < d->n; i++) {
    bytes = plim_add_checked(bytes, d->node[i].bytes);
    if (d->node[i].time_ns >= 0) time_ns = plim_add_checked(time_ns, d->node[i].time_ns);
    if (bytes < 0 || bytes > INT64_MAX / 4) plim_json_fail(list, NULL, "the sizes add up to more than 2^61 bytes");
    if (time_ns < 0) plim_json_fail(list, NULL, "the durations add up to more than 63 bits hold");
    if (d->doc->status != PLIM_OK) return;
    d->by_id[i] = (id_row){d->node[i].id, i};
  }
  qsort(d->by_id, (size_t)d->n, sizeof *d->by_id, by_id);
  for (int32_t i = 1; i < d->n; i++) {
    if (d->by_id[i - 1].id == d->by_id[i].id) {
      plim_json_fail(list, NULL, "two nodes, number %d and %d of the list, have the id %lld", d->by_id[i - 1].node,
                     d->by_id[i].node, (long long)d->by_id[i].id);
    }
  }
}

static plim_status read_nodes(draft *d, plim_json_at *root) {
  plim_json_at list = plim_json_list(root, "nodes", &d->n);
  if (d->doc->status == PLIM_OK && d->n == 0) plim_json_fail(&list, NULL, "is empty: a graph has at least one op");
  PLIM_TRY(d->doc->status);
  PLIM_TRY(plim_allocate(d->ctx, d->n, sizeof *d->node, &d->node));
  PLIM_TRY(plim_allocate(d->ctx, d->n, sizeof *d->by_id, &d->by_id));
  for (int32_t i = 0; i < d->n && d->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    if (d->doc->status == PLIM_OK) read_node(d, &at, i, &d->node[i]);
  }
  if (d->doc->status == PLIM_OK) check_nodes(d, &list);
  return d->doc->status;
}

/* ---- links ---- */

/* The node with that id; -1 and a failure when there is none. */
static int32_t find_node(draft *d, const plim_json_at *at, const char *key, int64_t id) {
  id_row wanted = {id, -1};
  int32_t low = 0, high = d->n;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (by_id(&wanted, &d->by_id[middle]) > 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < d->n && d->by_id[low].id == id) return d->by_id[low].node;
  plim_json_fail(at, key, "%lld is the id of no node", (long long)id);
  return -1;
}

static int32_t read_end(draft *d, plim_json_at *at, const char *network, const char *layered) {
  const char *key = plim_json_has(at, network) ? network : layered;
  if (!plim_json_has(at, key)) key = network; /* so that the failure names this field as missing */
  int64_t id = plim_json_int(at, key, INT64_MIN, INT64_MAX);
  return d->doc->status == PLIM_OK ? find_node(d, at, key, id) : -1;
}

static int by_ends(const void *a, const void *b) {
  const link *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  return plim_integers_compare(x->place, y->place);
}

static int by_place(const void *a, const void *b) {
  const link *x = a, *y = b;
  return plim_integers_compare(x->place, y->place);
}

/* Of several links between the same two nodes, keep the first. */
static void drop_repeats(draft *d) {
  int32_t kept = 0;
  qsort(d->link, (size_t)d->n_links, sizeof *d->link, by_ends);
  for (int32_t i = 0; i < d->n_links; i++) {
    int repeat = i > 0 && d->link[i].from == d->link[i - 1].from && d->link[i].to == d->link[i - 1].to;
    if (!repeat) d->link[kept++] = d->link[i];
  }
  d->n_links = kept;
  qsort(d->link, (size_t)d->n_links, sizeof *d->link, by_place);
}

static plim_status read_links(draft *d, plim_json_at *root) {
  plim_json_at list = plim_json_list(root, plim_json_has(root, "links") ? "links" : "edges", &d->n_links);
  PLIM_TRY(d->doc->status);
  d->link_capacity = d->n_links;
  PLIM_TRY(plim_allocate(d->ctx, d->link_capacity, sizeof *d->link, &d->link));
  for (int32_t i = 0; i < d->n_links && d->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    if (d->doc->status != PLIM_OK) break;
    d->link[i] = (link){.from = read_end(d, &at, "source", "0"), .place = i};
    d->link[i].to = read_end(d, &at, "target", "1");
  }
  if (d->doc->status == PLIM_OK) drop_repeats(d);
  return d->doc->status;
}

static int by_from(const void *a, const void *b) {
  const link *x = a, *y = b;
  return x->from != y->from ? (x->from < y->from ? -1 : 1) : by_place(a, b);
}

static int by_to(const void *a, const void *b) {
  const link *x = a, *y = b;
  return x->to != y->to ? (x->to < y->to ? -1 : 1) : by_place(a, b);
}

/* Sort the links by one end, stably. Set d->first: the links of node v are first[v] .. first[v + 1]. */
static void group_links(draft *d, int by_target) {
  qsort(d->link, (size_t)d->n_links, sizeof *d->link, by_target ? by_to : by_from);
  memset(d->first, 0, ((size_t)d->n + 1) * sizeof *d->first);
  for (int32_t i = 0; i < d->n_links; i++) d->first[(by_target ? d->link[i].to : d->link[i].from) + 1]++;
  plim_groups_sum(d->first, d->n);
}

/* ---- order ---- */

/* A node whose degree is not 0 has a predecessor whose degree is not 0. Following such predecessors n times ends on a
 * cycle. */
static void refuse_cycle(draft *d, const plim_json_at *root) {
  int32_t v = 0;
  group_links(d, 1);
  while (d->degree[v] == 0) v++;
  for (int32_t i = 0; i < d->n; i++) {
    int32_t k = d->first[v];
    while (d->degree[d->link[k].from] == 0) k++;
    v = d->link[k].from;
  }
  plim_json_fail(root, NULL, "the links have a cycle through the node with id %lld", (long long)d->node[v].id);
}

/* Topological order, breadth first: a node is appended once the last of its predecessors has been visited. */
static void level_order(draft *d, const plim_json_at *root) {
  int32_t n = 0;
  group_links(d, 0);
  for (int32_t i = 0; i < d->n_links; i++) d->degree[d->link[i].to]++;
  for (int32_t v = 0; v < d->n; v++) {
    if (d->degree[v] == 0) d->order[n++] = v;
  }
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = d->first[d->order[i]]; k < d->first[d->order[i] + 1]; k++) {
      if (--d->degree[d->link[k].to] == 0) d->order[n++] = d->link[k].to;
    }
  }
  if (n < d->n) refuse_cycle(d, root);
}

static void read_order(draft *d, plim_json_at *graph) {
  int32_t n = 0;
  plim_json_at list = plim_json_list(graph, "order", &n);
  if (d->doc->status == PLIM_OK && n != d->n) plim_json_fail(&list, NULL, "has %d ids for %d nodes", n, d->n);
  for (int32_t i = 0; i < n && d->doc->status == PLIM_OK; i++) {
    int64_t id = plim_json_int_item(&list, i, INT64_MIN, INT64_MAX);
    int32_t v = d->doc->status == PLIM_OK ? find_node(d, &list, NULL, id) : -1;
    if (v < 0) return;
    if (d->place[v] > 0) plim_json_fail(&list, NULL, "has the id %lld twice", (long long)id);
    d->place[v] = i + 1;
    d->order[i] = v;
  }
  for (int32_t i = 0; i < d->n_links && d->doc->status == PLIM_OK; i++) {
    const link *l = &d->link[i];
    if (d->place[l->from] < d->place[l->to]) continue;
    plim_json_fail(&list, NULL, "has id %lld before id %lld, which it reads", (long long)d->node[l->to].id,
                   (long long)d->node[l->from].id);
  }
}

/* Take the order of the ids, if every link leads to a larger id. */
static void id_order(draft *d) {
  for (int32_t i = 0; i < d->n_links; i++) {
    if (d->node[d->link[i].from].id > d->node[d->link[i].to].id) return;
  }
  for (int32_t i = 0; i < d->n; i++) d->order[i] = d->by_id[i].node;
}

static plim_status make_order(draft *d, plim_json_at *root) {
  PLIM_TRY(plim_allocate(d->ctx, (int64_t)d->n + 1, sizeof *d->first, &d->first));
  PLIM_TRY(plim_allocate(d->ctx, d->n, sizeof *d->order, &d->order));
  PLIM_TRY(plim_allocate(d->ctx, d->n, sizeof *d->place, &d->place));
  PLIM_TRY(plim_allocate(d->ctx, d->n, sizeof *d->degree, &d->degree));
  level_order(d, root); /* finds cycles, too */
  if (d->doc->status == PLIM_OK && d->by_device) id_order(d);
  if (d->doc->status == PLIM_OK && plim_json_has(root, "graph")) {
    plim_json_at graph = plim_json_object(root, "graph");
    const json_t *name = json_object_get(graph.node, "name");
    if (json_is_string(name)) d->name = json_string_value(name);
    if (plim_json_has(&graph, "order")) read_order(d, &graph);
  }
  return d->doc->status;
}

/* Read the costs by device, which are by op, once the order is known. */
static plim_status read_costs(draft *d, plim_json_at *root) {
  if (!plim_nx_has_costs(root, d->by_device || d->has_workspace)) return PLIM_OK;
  PLIM_TRY(plim_nx_costs_begin(root, d->n, &d->costs));
  plim_json_at list = {.doc = root->doc, .key = "nodes", .parent = root, .node = json_object_get(root->node, "nodes")};
  for (int32_t o = 0; o < d->n; o++) {
    plim_json_at node = plim_json_item(&list, d->order[o]);
    PLIM_TRY(plim_nx_costs_read(&node, d->costs, o));
  }
  plim_json_take(&list, plim_costs_check(d->costs, d->n));
  return d->doc->status;
}

static plim_status build(draft *d, plim_graph **out) {
  plim_node_link nodes = {
      .name = d->name, .unpacked = 1, .n = d->n, .n_links = d->n_links, .node = d->node, .order = d->order};
  PLIM_TRY(plim_allocate(d->ctx, d->n_links, sizeof *d->ends, &d->ends));
  qsort(d->link, (size_t)d->n_links, sizeof *d->link, by_place);
  for (int32_t i = 0; i < d->n_links; i++) d->ends[i] = (plim_link){d->link[i].from, d->link[i].to};
  nodes.link = d->ends;
  nodes.costs = &d->costs;
  return plim_node_link_graph(d->ctx, &nodes, out);
}

static plim_status read_graph(draft *d, plim_graph **out) {
  plim_json_at root = plim_json_root(d->doc);
  if (plim_json_has(&root, "directed") && !plim_json_bool(&root, "directed")) {
    plim_json_fail(&root, "directed", "is false: in an undirected graph nothing says who reads whom");
  }
  PLIM_TRY(d->doc->status);
  PLIM_TRY(read_nodes(d, &root));
  PLIM_TRY(read_links(d, &root));
  PLIM_TRY(make_order(d, &root));
  PLIM_TRY(read_costs(d, &root));
  return build(d, out);
}

plim_status plim_import_nx(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_graph **out) {
  plim_json doc;
  draft d = {.ctx = ctx, .doc = &doc};
  plim_status status = plim_json_parse(ctx, file, 0, text, bytes, &doc);
  if (status == PLIM_EDATA) {
    static const char log[] = "{\"INSTR"; /* how a log begins */
    int is_log = bytes >= (int64_t)sizeof log - 1 && memcmp(text, log, sizeof log - 1) == 0;
    status = plim_fail(ctx, PLIM_EDATA, "%s; nx is node-link JSON of networkx, one document a file%s",
                       plim_context_error(ctx), is_log ? "; this is a log of DTR: import dtr reads it" : "");
  }
  if (status == PLIM_OK) status = read_graph(&d, out);
  plim_costs_free(d.costs);
  plim_release(ctx, d.node, d.n, sizeof *d.node);
  plim_release(ctx, d.by_id, d.n, sizeof *d.by_id);
  plim_release(ctx, d.link, d.link_capacity, sizeof *d.link);
  plim_release(ctx, d.first, (int64_t)d.n + 1, sizeof *d.first);
  plim_release(ctx, d.order, d.n, sizeof *d.order);
  plim_release(ctx, d.place, d.n, sizeof *d.place);
  plim_release(ctx, d.degree, d.n, sizeof *d.degree);
  plim_release(ctx, d.ends, d.n_links, sizeof *d.ends);
  plim_json_close(&doc);
  return status;
}
